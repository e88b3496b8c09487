"""
Tables → CSV, quoted as in RFC 4180: a header with units, raw numbers, nothing for what is unknown.

A line ends with a newline alone: with CRLF, the last field that awk and cut print would end with a control character.

A table with other columns than the one before it follows after an empty line, with a header of its own.
"""

from collections.abc import Iterable, Iterator, Sequence

from stackmap.document.blocks import Block, Cell, Column, Label, Row, Table, Value
from stackmap.model.topology import Topology
from stackmap.render.columns import Column as TreeColumn
from stackmap.render.text import safe

Plain = str | float | bool | None
FORMULA = ("=", "+", "-", "@", "\t")  # a spreadsheet runs text that begins so: names are untrusted
END = "\n"


class CsvWriter:
    """Writes the tables of one command, whose reports may repeat; without *heading* no header."""

    def __init__(self, *, heading: bool) -> None:
        self._heading = heading
        self._header: tuple[str, ...] = ()  # of the newest table

    def lines(self, blocks: Iterable[Block]) -> Iterator[str]:
        """Yield the lines of the tables in *blocks* with their ends."""
        for table in blocks:
            if not isinstance(table, Table):
                continue
            header = tuple(fields(table))
            if header != self._header:
                yield from [END] * bool(self._header)
                yield from [csv_line(header) + END] * self._heading
            self._header = header
            for record in records(table):
                yield csv_line(record) + END


def fields(table: Table) -> dict[str, type]:
    """Return the names of the columns of *table*, and what they hold: text, a number or a flag; each may be None."""
    kinds: dict[str, type] = {key: str for key, _ in table.about}
    if table.group:
        kinds[table.group] = str
    for column in table.columns:
        if column.key:
            kinds[column.key] = str if column.is_text else float
            for name in column.beside:
                if column.is_text:
                    kinds[name] = str
                else:
                    kinds[f"{column.key}_{name}"] = bool if name == "estimated" else float
    return kinds


def records(table: Table) -> Iterator[list[Plain]]:
    """Yield the values of each row of *table*, in the order of ``fields``."""
    about = [value for _, value in table.about]
    for group in table.groups:
        names = [*about, *([group.name] if table.group else [])]
        for row in group.rows:
            yield [*names, *_values(table, row)]


def _values(table: Table, row: Row) -> Iterator[Plain]:
    """Yield the values of *row*, which may end early."""
    cells = (*row, *[""] * (len(table.columns) - len(row)))
    for column, cell in zip(table.columns, cells, strict=True):
        if column.key:
            yield from _parts(column, cell)


def _parts(column: Column, cell: Cell) -> Iterable[Plain]:
    if isinstance(cell, Label):
        return cell.names
    if isinstance(cell, Value):
        return [cell.number, *(getattr(cell, name) for name in column.beside)]
    return [cell or None, *[None] * len(column.beside)]


def devices_csv(topology: Topology, columns: Sequence[TreeColumn], *, heading: bool = True) -> str:
    """Return a line per device with the *columns* of ``tree``, sizes in bytes."""
    lines = [[column.csv_name for column in columns]] if heading else []
    lines += [[column.of_device(device, exact=True) for column in columns] for device in topology]
    return "".join(csv_line(line) + END for line in lines)


def csv_line(values: Iterable[Plain]) -> str:
    r"""
    Return *values* as a line without its end; numbers with all digits, nothing for None.

    >>> csv_line(["=a,b", 0.5, None, True])
    '"\'=a,b",0.5,,true'
    """
    return ",".join(map(_field, values))


def _field(value: Plain) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    text = safe(value)
    text = f"'{text}" if text.startswith(FORMULA) else text
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"\n\r') else text
