"""Imports point inwards: each folder is a layer, and knows only those below it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "stackmap"

# What each part may import of the others. `find` and `sampling` stand beside `discover`.
MAY_IMPORT = {
    "errors": set(),
    "model": {"errors"},
    "host": {"errors"},
    "sources": {"errors", "model", "host"},
    "analysis": {"errors", "model"},
    "render": {"errors", "model", "analysis"},
    "discover": {"errors", "model", "host", "sources"},
    "find": {"errors", "model", "sources"},
    "sampling": {"errors", "model", "host", "sources"},
    "cli": {
        "errors",
        "model",
        "host",
        "sources",
        "analysis",
        "render",
        "discover",
        "find",
        "sampling",
    },
}
TOPS = {"__init__", "__main__"}


def imports_of(source: str) -> set[str]:
    """Return the parts of stackmap that *source* imports; for types alone does not count."""
    tree = ast.parse(source)
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            if node.module == "stackmap":
                names += [f"stackmap.{alias.name}" for alias in node.names]
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("stackmap.")} - {"__version__"}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(p for p in PACKAGE.rglob("*.py") if part_of(p) not in TOPS)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_inwards(path):
    """A file imports its own part and those its part may know."""
    part = part_of(path)
    allowed = MAY_IMPORT[part] | {part}

    strange = imports_of(path.read_text()) - allowed

    assert strange == set()


def test_a_broken_layer_is_seen():
    """An import that points outwards is found wherever it stands, one for types is not."""
    inside_a_function = "def f():\n    from stackmap.render import tree\n"
    for_types = "if TYPE_CHECKING:\n    from stackmap.host import Host\n"

    assert {"render"} == imports_of(inside_a_function)
    assert {"errors"} == imports_of("from stackmap import errors")
    assert set() == imports_of(for_types)


def test_only_the_live_host_opens_and_runs():
    """Files, commands and the clock are asked of a host; nothing else opens, runs or sleeps."""
    worldly = {"subprocess", "os", "time", "socket", "pathlib", "gi", "pyudev", "tarfile"}
    pure = [p for p in FILES if part_of(p) in {"model", "analysis", "render", "discover"}]

    found = {
        f"{p.name}: {name}"
        for p in pure
        for node in ast.walk(ast.parse(p.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
        if name and name.split(".")[0] in worldly
    }

    assert found == set()
