"""The manual says all that there is, and nothing that there is not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import click
import pytest
from click.testing import CliRunner

from stackmap import __version__, errors
from stackmap.cli import COMMANDS, load, stackmap
from stackmap.model.health import ERROR_COUNTS
from stackmap.model.load import METRICS
from stackmap.render.columns import ALIASES
from tests.paths import ROOT
from tests.test_readme import PROMPT, README

MAN = ROOT / "man"
SAMPLES = MAN.parent / "sample_topologies"
PAGES = sorted(MAN.glob("*.8"))
ALL_PAGES = sorted(MAN.glob("*.[1-9]"))
WIDTH = 80
USAGE = 2  # click's exit status

# Options of other programs, where a page speaks of them.
FOREIGN = {"--noflush", "-init", "--human", "-C", "-d", "-Tsvg", "--nosync"}

FONT = re.compile(r"\\f(?:\[\w*\]|\(..|.)")
ESCAPES = {
    r"\-": "-",
    r"\(en": "–",
    r"\(bu": "•",
    r"\(lq": '"',
    r"\(rq": '"',
    r"\(dq": '"',
    r"\(aq": "'",
    r"\(mu": "×",
    r"\(di": "÷",
    r"\e": "\\",
}
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def plain(source):
    """Return roff as the words that are read, a line a line."""
    text = FONT.sub("", source)
    for escape, character in ESCAPES.items():
        text = text.replace(escape, character)
    return "\n".join(_line(line) for line in text.splitlines())


def _line(line):
    """Return a macro's arguments as the words that they print; what structures a page stays."""
    macro, _, rest = line.partition(" ")
    if not line.startswith(".") or macro in (".SH", ".SS", ".TH", ".TP"):
        return line
    apart = "" if len(macro) == 3 else " "  # .BR alternates fonts and joins its arguments
    words = re.findall(r'"((?:[^"]|"")*)"|(\S+)', rest)
    return apart.join((quoted or bare).replace('""', '"') for quoted, bare in words)


def test_plain():
    """What a page prints is what is compared: fonts, joined arguments, escapes."""
    assert plain('.BR \\-i ", " \\-\\-ascii') == "-i, --ascii"
    assert plain(".B stackmap tree \\-P") == "stackmap tree -P"
    assert plain("a \\fIFILE\\fR") == "a FILE"


def page(command=""):
    """Return the page of *command*, of stackmap itself if none."""
    return plain((MAN / f"stackmap{'-' * bool(command)}{command}.8").read_text())


def section(text, name):
    """Return what stands in the section *name* of a page."""
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {name}"
    return found[1]


def command_of(name):
    return load(name) if name else stackmap


def options_of(command):
    """Return every option *command* takes, long and short; --help, which it takes too."""
    taken = {"-h", "--help"}
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            taken.update((*parameter.opts, *parameter.secondary_opts))
    return taken


NAMES = ["", *COMMANDS]
ALL = set().union(*(options_of(command_of(name)) for name in NAMES))


def test_a_page_a_command():
    """Each command has a page, and no page is left of one that went."""
    assert {path.stem for path in PAGES} == {
        "stackmap",
        *(f"stackmap-{name}" for name in COMMANDS),
    }


@pytest.mark.parametrize("name", NAMES)
def test_no_option_that_there_is_not(name):
    """Wherever a page names an option, some command takes it."""
    assert set(OPTION.findall(page(name))) - ALL - FOREIGN == set()


def test_readme_names_no_option_that_there_is_not():
    """The commands in README.md can be typed."""
    text = README.read_text()
    commands = re.findall(
        rf"^(?:{re.escape(PROMPT)}|stackmap )(.*?)(?: {{2,}}#.*)?$", text, re.MULTILINE
    )

    assert len(commands) > 5
    assert {o for words in commands for o in OPTION.findall(words)} <= ALL


def keys_of(value):
    """Return every key in a value of JSON, but those of facts, which are what a device has."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    return {*value, *keys_of([inner for key, inner in value.items() if key != "facts"])}


@pytest.mark.parametrize(
    "words",
    [
        ["tree"],
        ["tree", "--diff", str(SAMPLES / "laptop-luks-lvm")],
        ["iostat", "--totals"],
        ["iostat", "--per-layer"],
        ["blame", "sda", "vm-disk1"],
        ["explain"],
        ["check"],
        ["fiojob", "vm-disk1"],
        ["compare", str(SAMPLES / "vghdd"), str(SAMPLES / "vghdd")],
        ["whatif", "vm-disk1", "--to", "raid10"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_keys_of_json_are_told(words):
    """JSON names each key; stackmap(8) has those of what a device did, stackmap-kernel(7) those of errors."""
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLES / "vghdd"), *words, "-J"])
    text = section(page(words[0]), "JSON")
    told = set(re.findall(r"\w+", text)) | {metric.key for metric in METRICS} | {*ERROR_COUNTS}

    assert keys_of(json.loads(result.stdout)) - told == set()
    assert json.loads(result.stdout)["schema"] in text


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_named(name):
    """SEE ALSO of stackmap(8) has the page of each command."""
    assert f"stackmap-{name}(8)" in section(page(), "SEE ALSO")


def test_the_table_of_letters_has_each_letter_of_each_command():
    """A letter that a command has must be there, with that command where it means something else elsewhere."""
    source = (MAN / "stackmap.8").read_text()
    table = re.search(r"^\.SS Letters\n.*?\.EX\n(.*?)\.EE", source, re.MULTILINE | re.DOTALL)[1]
    rows = re.sub(r"\n +", " ", plain(table)).splitlines()
    meanings = {letter: row for row in rows for letter in re.findall(r"^(?:-\w )+", row)[0].split()}
    options = {}
    for name in COMMANDS:
        for option in load(name).params:
            for letter in option.opts:
                if re.fullmatch(r"-\w", letter):
                    long = next(
                        (each for each in option.opts if each.startswith("--")), option.name
                    )
                    options.setdefault(letter, {}).setdefault(long, []).append(name)

    assert set(options) | {"-h", "-V"} == set(meanings)
    for letter, by_meaning in options.items():
        most = max(map(len, by_meaning.values()))
        for names in by_meaning.values():
            named = any(re.search(rf"\b{name}\b", meanings[letter]) for name in names)
            assert named or len(names) == most, (letter, names)


def test_lsblks_names_are_told():
    """OPTIONS of stackmap-tree(8) names what -o takes besides."""
    told = section(page("tree"), "OPTIONS")

    assert {alias for alias in ALIASES if alias not in told} == set()


def exit_statuses():
    """Return every status that is returned on purpose."""
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    from stackmap.cli.options import NOT_JUDGED, STATUSES
    from stackmap.cli.session import SOME_MISSING

    raised = {kind.exit_code for kind in classes if issubclass(kind, errors.StackmapError)}
    return {0, USAGE, SOME_MISSING, NOT_JUDGED, *STATUSES.values(), *raised}


def test_exit_statuses_are_told():
    """The table has each, and no other."""
    assert set(errors.EXIT_STATUSES) == exit_statuses()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_version_is_this_one(path):
    """So are the name and the section in the title."""
    title = path.read_text().splitlines()[0]

    assert f'"stackmap {__version__}"' in title
    assert title.startswith(f".TH {path.stem.upper().replace('-', chr(92) + '-')} 8 ")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_are_sections_in_the_usual_order(path):
    """As man-pages(7) has them, with those of our own where they belong."""
    usual = (
        "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMON OPTIONS", "COMMANDS", "NAMES", "VIEWS", "COLUMNS", "KEYS", "USERS",
        "OUTPUT IN WORDS", "JSON", "HOW THE RATIOS ARE COMPUTED", "STATISTICS", "CAVEATS", "EXIT STATUS",
        "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
    )  # fmt: skip
    found = re.findall(r"^\.SH (.+)$", path.read_text(), re.MULTILINE)

    assert found == sorted(found, key=usual.index)
    assert {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES"} <= set(found)


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: path.name)
def test_pages_have_no_lint(path):
    """mandoc finds no error, no warning and no fault of style."""
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(
        ["mandoc", "-T", "lint", str(path)], capture_output=True, text=True, check=False
    )

    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: path.name)
def test_words_are_not_joined(path):
    """A macro that alternates fonts joins its arguments: two words need a quoted space."""
    lines = re.findall(r"^\.(?:BR|RB|BI|IB|IR|RI) .*$", path.read_text(), re.MULTILINE)
    joined = re.compile(r" [a-z]+ [a-z]+( |$)")

    assert [line for line in lines if joined.search(re.sub(r'"[^"]*"', '""', line))] == []


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: path.name)
def test_pages_render_without_warnings(path):
    """man prints no warning, and tables and formulas fit 80 columns."""
    if not (shutil.which("man") and shutil.which("groff")):
        pytest.skip("man and groff are not both installed")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": str(WIDTH), "PAGER": "cat"}
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0
    assert "EXIT STATUS" in done.stdout or path.suffix == ".7"
    assert [line for line in done.stdout.splitlines() if len(line) > WIDTH] == []
