"""Imports point inwards: each folder is a layer, and knows only those below it."""

import ast
from pathlib import Path

import pytest

from stackmap.commands import COMMANDS
from tests.paths import ROOT

PACKAGE = ROOT / "stackmap"

# What each part of the core may import of the others. None imports a feature: `commands` names those.
CORE = {
    "errors": set(),
    "commands": set(),
    "model": {"errors"},
    # Of the model: which dm targets have keys in their tables, which must not leave the host.
    "host": {"errors", "model"},
    "sources": {"errors", "model", "host"},
    "discover": {"errors", "model", "host", "sources"},
    "sampling": {"errors", "model", "host", "sources"},
    "ledger": {"errors", "model"},
    "rules": {"errors", "model", "ledger"},
    "document": {"errors", "model", "ledger", "rules"},
    "render": {"errors", "model", "ledger", "rules", "document"},
    # Of document and render: annotate writes names into the text that it reads.
    "text": {"errors", "model", "host", "sources", "ledger", "document", "render"},
    # Of the ledger: averages of intervals and corrected counters.
    "measurement": {
        "errors",
        "commands",
        "model",
        "host",
        "sources",
        "discover",
        "sampling",
        "text",
        "ledger",
    },
    # It answers within a keystroke, so it knows neither click's commands nor the scan.
    "completion": {"errors", "host", "sources"},
}
EVERYTHING = set(CORE)
# The features that a feature may import, and what it takes of them.
FEATURES = {
    "trace": set(),
    "top": set(),
    "whatif": set(),
    "plan": set(),
    "compare": set(),
    "export": set(),
    "fleet": {"report"},  # the style of its page
    "fiojob": {"plan", "whatif"},  # which devices are unused; the pattern of the measured writes
    "report": {"plan", "whatif"},  # its proposals
    "setup_files": set(),
}
MAY_IMPORT = {
    **CORE,
    **{
        f"features.{name}": EVERYTHING | {"cli"} | {f"features.{other}" for other in others}
        for name, others in FEATURES.items()
    },
    "api": EVERYTHING,
    "features": set(),
    "cli": EVERYTHING,
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
    return {_part(name) for name in names if name.startswith("stackmap.")} - {"__version__"}


def _part(name: str) -> str:
    """Return the part that a dotted *name* belongs to: "model", or "features.trace"."""
    _, first, *rest = name.split(".")
    return f"features.{rest[0]}" if first == "features" and rest else first


def part_of(path: Path) -> str:
    names = path.relative_to(PACKAGE).with_suffix("").parts
    package = names[:-1] if len(names) > 1 and names[-1] == "__init__" else names
    return _part(".".join(("stackmap", *package)))


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
# The table of commands imports what it names.
WORLDLY_MODULES = {
    "subprocess", "os", "io", "time", "socket", "pathlib", "gi", "pyudev", "tarfile", "importlib",
    "signal", "shutil", "click", "sys",
}  # fmt: skip
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "now", "today", "utcnow"}
# In a feature: its commands, the screen of top, the connection to Prometheus, the readers of tables, and what
# pip installed.
AT_THE_EDGE = {
    "command", "textfile_command", "target", "terminal", "program", "judge",
    "http", "http_config", "recordings", "recording_files", "inputs", "additions", "installed",
}  # fmt: skip
PURE = [
    p
    for p in FILES
    if part_of(p) not in {"host", "cli", "completion", "commands"}
    and not (part_of(p).startswith("features.") and p.stem in AT_THE_EDGE)
]


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


def imported_by(path):
    """Return the modules that a file imports, whole or a name of them."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


PROGRAMS = {"stackmap", "stackmap.__main__"}  # what Python itself runs or imports
FOR_ONE_FEATURE = {"stackmap.sources.trace_text", "stackmap.render.html.page"}  # trace, report


def test_every_module_is_used():
    """A parser, a reader, a rule or a writer that no table names is only half added."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    used = set().union(*map(imported_by, paths.values()))
    begun = {command.module for command in COMMANDS.values()}
    begun |= {
        f"stackmap.{command.place}.{added.partition(':')[0]}"
        for command in COMMANDS.values()
        for added in command.adds.values()
    }
    used |= {name.rpartition(".")[0] for name in used | begun}  # the packages of these modules

    assert paths.keys() - used - begun - PROGRAMS - FOR_ONE_FEATURE == set()
