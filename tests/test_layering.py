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
    "document": {"errors", "model", "analysis"},
    "render": {"errors", "model", "analysis", "document"},
    "discover": {"errors", "model", "host", "sources"},
    "find": {"errors", "model", "sources"},
    "sampling": {"errors", "model", "host", "sources"},
    # Of analysis: averages of intervals, the devices that names in a text mean, corrected counters.
    "measurement": {
        "errors",
        "model",
        "host",
        "sources",
        "discover",
        "find",
        "sampling",
        "analysis",
    },
    # It answers within a keystroke, so it knows neither click's commands nor the scan.
    "completion": {"errors", "host", "sources"},
    "api": {"errors", "model", "host", "find", "sampling", "analysis", "measurement"},
    "cli": {
        "errors",
        "model",
        "host",
        "sources",
        "analysis",
        "document",
        "render",
        "discover",
        "find",
        "sampling",
        "measurement",
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
            module = node.module or ""
            if node.level:  # relative: what it names may be any part
                module = f"stackmap.{module or node.names[0].name}"
            if module == "stackmap":
                names += [f"stackmap.{alias.name}" for alias in node.names]
            names.append(module)
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
    assert {"render"} == imports_of("from ..render import units")
    assert set() == imports_of(for_types)


# Modules and calls that reach the world; only hosts, the command line and its completion may have them.
WORLDLY_MODULES = {
    "subprocess", "os", "io", "time", "socket", "pathlib", "gi", "pyudev", "tarfile", "importlib",
    "signal", "shutil", "click", "sys",
}  # fmt: skip
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "now", "today", "utcnow"}
PURE = [p for p in FILES if part_of(p) not in {"host", "cli", "completion"}]


def worldly(source: str) -> set[str]:
    """Return what in *source* reaches the world."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names} & WORLDLY_MODULES
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").split(".")[0]} & WORLDLY_MODULES
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            found |= {name} & WORLDLY_CALLS
    return found


@pytest.mark.parametrize("path", PURE, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_hosts_and_the_command_line_reach_the_world(path):
    """Files, commands, the clock and the terminal are asked of a host, or told by the command line."""
    assert worldly(path.read_text()) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import os.path",
        "from subprocess import run",
        "def f():\n    return open('/etc/passwd')",
        "print('x')",
        "datetime.now()",
        "import importlib",
    ],
)
def test_what_reaches_the_world_is_seen(source):
    """Wherever it stands."""
    assert worldly(source)
