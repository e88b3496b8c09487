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
from stackmap.document import blame
from stackmap.ledger.amplification import COLUMNS as LAYER_METRICS
from stackmap.ledger.corrections import RULES
from stackmap.model.load import METRICS, on_one_line
from stackmap.render.columns import ALIASES, COLUMNS
from tests.paths import ROOT
from tests.test_readme import PROMPT, README

MAN = ROOT / "man"
SAMPLES = MAN.parent / "sample_topologies"
PAGES = sorted(MAN.glob("*.8"))
ALL_PAGES = sorted(MAN.glob("*.[1-9]"))
WIDTH = 80
USAGE = 2  # click's exit status

# Options of other programs, where a page speaks of them.
FOREIGN = {"--noflush", "--human", "-C", "-d", "-Tsvg", "--nosync"}

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


def entries(text):
    """Return what stands in a section below each heading of a .TP, by that heading."""
    parts = re.split(r"^\.(?:TP|S[SH]\b.*)\n", text, flags=re.MULTILINE)[1:]
    return {
        heading: " ".join(rest.split()) for heading, _, rest in (p.partition("\n") for p in parts)
    }


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
def test_options_are_those_of_the_command(name):
    """OPTIONS has an entry for each option, long and short, and for no other."""
    told = entries(section(page(name), "OPTIONS"))

    assert {o for entry in told for o in OPTION.findall(entry)} == options_of(command_of(name))


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


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_listed(name):
    """stackmap(8) lists each command in the words of its help, and points to its page."""
    text = page()
    help_text = COMMANDS[name].help

    assert f"stackmap-{name}(8)" in section(text, "COMMANDS")
    assert help_text.casefold() in " ".join(section(text, "COMMANDS").split()).casefold()
    assert f"stackmap-{name}(8)" in section(text, "SEE ALSO")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_metrics_are_told(metric):
    """COLUMNS has each metric by heading and key, with its help."""
    told = entries(section(page(), "COLUMNS"))[f"{metric.heading} ({metric.key})"]

    assert told.replace(" in milliseconds", "").startswith(metric.help.rstrip("."))


@pytest.mark.parametrize("metric", LAYER_METRICS, ids=lambda metric: metric.key)
def test_columns_of_a_layer_are_told(metric):
    """COLUMNS has each heading of the per-layer table."""
    assert metric.title in entries(section(page(), "COLUMNS").partition(".SS Of a layer")[2])


@pytest.mark.parametrize(
    "heading", sorted({column.heading for column in blame.DISK_COLUMNS + blame.VOLUME_COLUMNS})
)
def test_columns_of_blame_are_told(heading):
    """COLUMNS of stackmap-blame(8) has each heading of its two tables."""
    assert on_one_line(heading) in entries(section(page("blame"), "COLUMNS"))


def test_columns_of_the_tree_are_told():
    """COLUMNS of stackmap-tree(8) has each, in their order, with its help, and no other."""
    told = entries(section(page("tree"), "COLUMNS"))
    helps = {name: column.help.replace(" …", " and so on") for name, column in COLUMNS.items()}

    assert list(told) == list(COLUMNS)
    assert {n: words for n, words in helps.items() if not _says(told[n], words)} == {}


def _says(text, words):
    return words.casefold() in text.casefold()


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
    """JSON names each key; what a device did is told by COLUMNS of stackmap(8)."""
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLES / "vghdd"), *words, "-J"])
    text = section(page(words[0]), "JSON")
    told = set(re.findall(r"\w+", text)) | {metric.key for metric in METRICS}

    assert keys_of(json.loads(result.stdout)) - told == set()
    assert json.loads(result.stdout)["schema"] in text


def test_lsblks_names_are_told():
    """OPTIONS of stackmap-tree(8) names what -o takes besides."""
    told = section(page("tree"), "OPTIONS")

    assert {alias for alias in ALIASES if alias not in told} == set()


def corrections():
    """Return the entries on what is put right, by the name of the rule."""
    kernel = plain((MAN / "stackmap-kernel.7").read_text())
    return entries(".SS Corrections" + kernel.partition(".SS Corrections")[2].partition(".SH ")[0])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_corrections_are_told(rule):
    """Each rule has an entry with its reason; where that is proved is not the reader's business."""
    assert _says(corrections()[rule.name], re.sub(r" \(KERNEL [\d., ]+\)", "", rule.why))


def test_no_correction_that_there_is_not():
    """A rule that went has no entry."""
    assert [name for name in corrections() if " " not in name] == [rule.name for rule in RULES]


def exit_statuses():
    """Return every status that is returned on purpose."""
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    from stackmap.cli.options import NOT_JUDGED, STATUSES
    from stackmap.cli.session import SOME_MISSING

    raised = {kind.exit_code for kind in classes if issubclass(kind, errors.StackmapError)}
    return {0, USAGE, SOME_MISSING, NOT_JUDGED, *STATUSES.values(), *raised}


def test_exit_statuses_are_told():
    """EXIT STATUS has each, and no other; README.md has the same."""
    told = {int(status) for status in entries(section(page(), "EXIT STATUS"))}
    in_readme = {int(n) for n in re.findall(r"^\| (\d+) \|", README.read_text(), re.MULTILINE)}

    assert told == exit_statuses()
    assert in_readme == exit_statuses()


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
        "OUTPUT IN WORDS", "JSON", "HOW THE RATIOS ARE COMPUTED", "THE MODEL", "STATISTICS", "CAVEATS", "EXIT STATUS",
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
