"""
Tables → data frames of pandas and polars, with the columns of CSV.

stackmap needs neither library: the one that is asked for is imported then.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from stackmap.document.blocks import Table
from stackmap.errors import InputError
from stackmap.render.csv import Plain, fields, records
from stackmap.render.text import safe

Of = TypeVar("Of")
Columns = Mapping[str, Sequence[Plain]]
# Debian has no package of polars.
NEEDED = {
    "pandas": "a frame of pandas needs pandas: apt install python3-pandas (Debian), or in a venv: pip install pandas",
    "polars": "a frame of polars needs polars, of which Debian has no package; in a venv: pip install polars",
}


class Results(list[Of]):
    """A list of results that is also a data frame."""

    def __init__(self, results: Iterable[Of], tables: Callable[[], Iterable[Table]]) -> None:
        super().__init__(results)
        self._tables = tables

    def frame(self, library: str = "pandas") -> Any:
        """Return a data frame of *library*, "pandas" or "polars"; see the function ``frame``."""
        return frame(self._tables(), library)


def frame(tables: Iterable[Table], library: str) -> Any:
    """
    Return the rows of *tables* as one data frame, with the columns of all; unknown values are null, numbers NaN in pandas.

    ``InputError`` if *library* is neither "pandas" nor "polars", or is not installed.
    """
    if library not in NEEDED:
        raise InputError(f"no frames of {library!r}: give 'pandas' or 'polars'")
    forms: dict[str, type] = {}
    rows: list[Mapping[str, Plain]] = []
    for table in tables:
        known = fields(table)
        forms |= known
        rows += [dict(zip(known, map(_visible, record), strict=True)) for record in records(table)]
    columns = {name: [row.get(name) for row in rows] for name in forms}
    try:
        return (_pandas if library == "pandas" else _polars)(columns, forms)
    except ImportError as error:
        raise InputError(NEEDED[library]) from error


def _pandas(columns: Columns, forms: Mapping[str, type]) -> Any:
    import pandas as pd

    kinds = {str: "object", float: "float64", bool: "boolean"}  # of which only numbers have NaN
    return pd.DataFrame(
        {n: pd.Series(cells, dtype=kinds[forms[n]]) for n, cells in columns.items()}
    )


def _polars(columns: Columns, forms: Mapping[str, type]) -> Any:
    import polars as pl

    kinds = {str: pl.String, float: pl.Float64, bool: pl.Boolean}
    return pl.DataFrame(columns, schema={name: kinds[form] for name, form in forms.items()})


def _visible(value: Plain) -> Plain:
    """Return *value*, a name in it escaped: frames are printed, too."""
    return safe(value) if isinstance(value, str) else value
