r"""
Write the generated parts of the documentation: ``./run docs``.

Options, columns, metrics, corrections, rules and exit statuses are defined once, in the program. This script
writes them to the lists in the manual pages, the table of exit statuses in ``README.md`` and the completion's words.

A generated part of a page is between ``.\" made by ./run docs: NAME`` and ``.\" end``. The lines of an
entry below ``.\" by hand`` are kept. All other text of a page is written by hand.
"""

from __future__ import annotations

import re
import runpy
import string
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from stackmap.cli import COMMANDS, load, options, stackmap
from stackmap.completion import FILE, LIST, NAMES, REPEATED
from stackmap.document import blame, blocks, iostat, layers
from stackmap.document.rule_words import thresholds
from stackmap.errors import EXIT_STATUSES
from stackmap.ledger import corrections
from stackmap.ledger.amplification import COLUMNS as LAYER_METRICS
from stackmap.model.load import METRICS, TOGETHER, on_one_line
from stackmap.model.raid import RAID_LEVELS
from stackmap.render.columns import COLUMNS
from stackmap.rules.rule import Rule
from stackmap.rules.table import RULES

ROOT = Path(__file__).parent.parent
KERNELS = runpy.run_path(str(Path(__file__).with_name("kernel_facts.py")))
COMPLETION = f"stackmap/completion/{FILE}"
README = "README.md"
WIDTH = 79
HELP = ("-h", "--help")
SEE = "See \\fBstackmap\\fR(8)."

BEGIN = '.\\" made by ./run docs: '
BY_HAND = '.\\" by hand'
END = '.\\" end'
PART = re.compile(rf"^{re.escape(BEGIN)}(\S+)\n(.*?)^{re.escape(END)}$", re.MULTILINE | re.DOTALL)
STATUSES = re.compile(r"(?<=^\| status \| meaning \|\n\|--:\|---\|\n)(?:\|.*\n)+", re.MULTILINE)


class StaleText(Exception):
    """Text written by hand has lost its entry, or a page lacks a generated part."""


class Entry(NamedTuple):
    """An entry of a list: its heading and its text, both in roff."""

    heading: str
    text: str

    def source(self, by_hand: str) -> str:
        """Return the lines of the entry, with those written by hand."""
        more = f"{BY_HAND}\n{by_hand}" if by_hand else ""
        return f".TP\n{self.heading}\n{wrapped(self.text)}\n{more}"


# Words in roff. Commands are in backticks, placeholders in braces; names of options are bold.
CHARACTERS = {
    "\\": "\\e",
    "-": "\\-",
    "×": "\\(mu",
    "÷": "\\(di",
    "–": "\\(en",
    "…": "...",
    '"': "\\(dq",
}
MARKED = re.compile(
    r"`(?P<command>[^`]*)`|\{(?P<place>\w+)\}|(?P<option>(?<![\w-])--?[A-Za-z][\w-]*)"
)


def roff(text: str, italic: Iterable[str] = ()) -> str:
    r"""
    Return *text* as roff, with the words *italic* in italics.

    >>> print(roff("-o: use `a-b` of LIST", ["LIST"]))
    \fB\-o\fR: use \fBa\-b\fR of \fILIST\fR
    """
    parts, end = [], 0
    for found in MARKED.finditer(text):
        parts.append(_plain(text[end : found.start()], italic))
        end = found.end()
        if found["place"]:
            parts.append(f"\\fI{placeholder(found['place'])}\\fR")
        else:
            bold = found["option"] or placeholders(found["command"])
            parts.append(f"\\fB{_escaped(bold)}\\fR")
    return "".join((*parts, _plain(text[end:], italic)))


def _plain(text: str, italic: Iterable[str]) -> str:
    names = "|".join(map(re.escape, italic))
    escaped = _escaped(text)
    return re.sub(rf"\b({names})\b", r"\\fI\1\\fR", escaped) if names else escaped


def _escaped(text: str) -> str:
    known = "".join(CHARACTERS.get(character, character) for character in text)
    return re.sub(r"[^\x00-\x7f]", lambda character: f"\\[u{ord(character[0]):04X}]", known)


def wrapped(text: str) -> str:
    """Return roff in lines; a line begins with no control character, and a name in italics is not split."""
    glued = re.sub(r"\\fI[^\\]*\\fR", lambda name: name[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(glued, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(
        f"\\&{line}" if line.startswith((".", "'")) else line for line in lines
    ).replace("\0", " ")


def sentence(text: str) -> str:
    """Return *text* with a capital letter and a full stop."""
    first = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return f"{first}{text[1:].rstrip('.')}."


# Options.


def option_entry(option: click.Option, names: Iterable[str]) -> Entry:
    """Return the entry of an option; *names*: the words that stand for values."""
    default = ""
    if option.show_default and option.default is not None:
        words = option.show_default if isinstance(option.show_default, str) else option.default
        shown = f"{words:g}" if isinstance(words, float) else str(words)
        default = f" The default is {shown}."
    return Entry(option_heading(option), roff((option.help or "") + default, names))


def option_heading(option: click.Option) -> str:
    """Return the words of an option, and what follows it."""
    words = ", ".join(
        f"\\fB{_escaped(word)}\\fR" for word in (*option.opts, *option.secondary_opts)
    )
    return f"{words} {_value(option)}".rstrip()


def _value(option: click.Option) -> str:
    """Return what follows an option: names in italics, words that are typed in bold."""
    if option.is_flag:
        return ""
    choices = getattr(option.type, "choices", ())
    if not option.metavar and not choices:
        raise StaleText(f"{option.opts[-1]} needs a metavar: what follows it")
    shown = option.metavar or "|".join(choices)
    return re.sub(
        r"[\w-]+",
        lambda word: (
            f"\\f{'I' if word[0].isupper() and option.metavar else 'B'}{_escaped(word[0])}\\fR"
        ),
        shown,
    )


def value_names(command: click.Command) -> set[str]:
    """Return the words in capitals that stand for the values of *command*."""
    shown = " ".join(p.metavar or "" for p in (*stackmap.params, *command.params))
    return set(re.findall(r"\b[A-Z]+\b", f"{shown} FILE CAPTURE NAME INTERVAL COUNT"))


def options_of(command: click.Command) -> list[click.Option]:
    """Return the options of *command*, --help last."""
    given = [each for each in command.params if isinstance(each, click.Option)]
    return [*given, click.Option(HELP, is_flag=True, help="Print help.")]


def _shared() -> list[click.Option]:
    """Return the options that stackmap(8) describes for all commands."""
    shared = (
        *options.OPTIONS, options.json_option, options.csv_option, options.markdown_option,
        options.no_heading_option, options.legend_option(dict), options.why_option,
        options.exit_code_option,
    )  # fmt: skip

    def nothing() -> None: ...

    for decorate in reversed(shared):
        decorate(nothing)
    return list(reversed(nothing.__click_params__))  # type: ignore[attr-defined]


SHARED = {(*option.opts, option.help) for option in _shared()}


def is_shared(option: click.Option) -> bool:
    """Return whether stackmap(8) describes *option* as this command means it."""
    return option.opts == list(HELP) or (*option.opts, option.help) in SHARED


def command_options(name: str) -> Iterator[Entry]:
    """Yield the entries of a command's own options, and one of those that stackmap(8) describes."""
    command = load(name)
    for option in options_of(command):
        if not is_shared(option):
            yield option_entry(option, value_names(command))
    shared = [option_heading(option) for option in options_of(command) if is_shared(option)]
    yield Entry(", ".join(shared), SEE)


def global_options() -> Iterator[Entry]:
    """Yield the entries of the options before the command."""
    for option in options_of(stackmap):
        yield option_entry(option, value_names(stackmap))


def common_options() -> Iterator[Entry]:
    """Yield the entries of the options that several commands have."""
    for option in _shared():
        yield option_entry(option, value_names(stackmap))


# Commands, exit statuses, columns and corrections.


def bold(text: str) -> str:
    """Return *text* as it is typed or printed."""
    return f"\\fB{_escaped(text)}\\fR"


def commands() -> Iterator[Entry]:
    """Yield the commands, in the words of --help."""
    for name, command in COMMANDS.items():
        yield Entry(f"{bold(f'stackmap-{name}')}(8)", roff(sentence(command.help)))


def exit_statuses() -> Iterator[Entry]:
    """Yield the exit statuses."""
    for status, meaning in EXIT_STATUSES.items():
        yield Entry(bold(str(status)), roff(meaning))


def metrics(*, extended: bool) -> Iterator[Entry]:
    """Yield the figures of a device by heading, with key and unit in JSON."""
    for metric in (*METRICS, *TOGETHER):
        if metric.extended == extended:
            heading = f"{bold(metric.heading)} ({roff(metric.key)}, {metric.unit})"
            yield Entry(heading, roff(iostat.MEANINGS[metric.heading]))


def layer_metrics() -> Iterator[Entry]:
    """Yield the figures of a layer by heading, with their place in JSON."""
    for metric in LAYER_METRICS:
        place = metric.path.replace("{}.", "").replace(".{}", "")
        yield Entry(f"{bold(metric.title)} ({place})", roff(layers.MEANINGS[metric.title]))


def tree_columns() -> Iterator[Entry]:
    """Yield the columns of ``tree``."""
    for name, column in COLUMNS.items():
        yield Entry(bold(name), roff(sentence(column.help)))


DISK_HEADINGS = {on_one_line(column.heading) for column in blame.COLUMNS}


def blame_columns(columns: Iterable[blocks.Column]) -> Iterator[Entry]:
    """Yield the columns of a table of ``blame``; those that its table of a disk has too are described there."""
    for heading in (on_one_line(column.heading) for column in columns):
        if columns is blame.COLUMNS or heading not in DISK_HEADINGS:
            yield Entry(bold(heading), roff(blame.MEANINGS[heading]))


def counter_corrections() -> Iterator[Entry]:
    """Yield the corrections of counters; where each is proved is not the reader's business."""
    for rule in corrections.RULES:
        why = re.sub(r" \(KERNEL [\d., ]+\)", "", rule.why)
        yield Entry(bold(rule.name), roff(sentence(why)))


def kernel_versions() -> Iterator[Entry]:
    """Yield what differs between kernels, and what was seen on each that was booted."""
    for fact in KERNELS["KERNEL_FACTS"]:
        origin = [f"Linux {fact.since}"] if fact.since else []
        origin += [f"commit {fact.commit}"] if fact.commit else []
        seen = [
            f"{kernel}: {fact.seen.get(kernel, 'not looked at')}" for kernel in KERNELS["BOOTED"]
        ]
        text = f"{'; '.join(seen)}. {fact.relied_on[0].upper()}{fact.relied_on[1:]}."
        yield Entry(roff(fact.name), roff(f"[{', '.join(origin)}] {text}" if origin else text))


# Rules.

# Placeholders that the page prints with a clearer word than their name; the others are printed as they are.
PLACEHOLDERS = {
    "ahead": "READ AHEAD",
    "asked": "READS",
    "below": "DEVICE BELOW",
    "does": "WORK",
    "done": "PRESENT",
    "failed": "DEVICES",
    "fs": "FILE SYSTEM",
    "grain": "ALIGNMENT",
    "holds": "CAPACITY",
    "least": "MINIMUM",
    "other_volumes": "VOLUMES",
    "others": "MEDIAN",
    "others_bytes": "MEDIAN",
    "past": "REMAINDER",
    "slow": "ORIGIN READS",
    "start_of": "START KIND",
    "told": "PRESENT",
    "took": "AWAIT",
    "unasked": "EXCESS",
    "unit": "UNITS",
    "usual": "LIMIT",
    "what": "KIND",
    "why": "REASON",
    "width": "FS STRIPE",
}


def placeholder(name: str) -> str:
    """Return how the manual prints a placeholder of a sentence."""
    return PLACEHOLDERS.get(name, name.upper().replace("_", " "))


def placeholders(template: str) -> str:
    """Return *template* with its placeholders as the manual prints them."""
    names = [name for _, name, _, _ in string.Formatter().parse(template) if name]
    return template.format_map({name: placeholder(name) for name in names})


def rule_section(rule: Rule) -> str:
    """Return the section of a rule."""
    limits = thresholds(rule)
    parts = {
        "Caveat": rule.caveat,
        "Expected": rule.expected and f"{rule.expected}.",
        "Reason": rule.reason and f"{rule.reason}.",
        "Thresholds": limits and f"{limits}.",
        "Superseded by": rule.superseded_by and f"{', '.join(rule.superseded_by)}.",
    }
    words = " ".join(f"\\fB{name}:\\fR {roff(str(text))}" for name, text in parts.items() if text)
    title = _escaped(f"{rule.id} {rule.name} ({rule.severity})")
    return "\n".join(
        (f'.SS "{title}"', wrapped(roff(rule.sentence)), *([wrapped(words)] if words else []), "")
    )


def rule_sections(*, needs_load: bool) -> str:
    """Return the sections of the rules of ``explain`` or of ``check``, sorted by id."""
    chosen = [rule for rule in RULES if rule.needs_load == needs_load]
    return "".join(map(rule_section, sorted(chosen, key=lambda rule: rule.id)))


# Pages.

Part = Callable[[str], str]  # its text as it is → as it must be


def list_of(entries: Callable[[], Iterator[Entry]]) -> Part:
    """Return the part that lists *entries*, each with what was written by hand below it."""

    def made(old: str) -> str:
        kept = _by_hand(old)
        sources = []
        for entry in entries():
            headings = [heading for heading in kept if _is_of(entry, heading)]
            sources.append(entry.source("".join(kept.pop(heading) for heading in headings)))
        if kept:
            raise StaleText(f"no entry is left for the text written below {' and '.join(kept)}")
        return "".join(sources)

    return made


def _by_hand(text: str) -> dict[str, str]:
    """Return the lines written by hand in a list, by the heading of their entry."""
    kept = {}
    for entry in re.split(r"^\.TP\n", text, flags=re.MULTILINE)[1:]:
        heading, _, rest = entry.partition("\n")
        _, _, by_hand = rest.partition(f"{BY_HAND}\n")
        if by_hand:
            kept[heading] = by_hand
    return kept


def _is_of(entry: Entry, heading: str) -> bool:
    """Return whether *heading*, of the text as it was, begins with a name that *entry* has."""
    names = re.compile(r"\\fB.*?\\fR")
    return names.findall(heading)[0] in names.findall(entry.heading)


PAGES: Mapping[str, Mapping[str, Part]] = {
    "stackmap.8": {
        "options": list_of(global_options),
        "common-options": list_of(common_options),
        "commands": list_of(commands),
        "metrics": list_of(partial(metrics, extended=False)),
        "extended-metrics": list_of(partial(metrics, extended=True)),
        "layer-metrics": list_of(layer_metrics),
        "exit-statuses": list_of(exit_statuses),
    },
    "stackmap-tree.8": {"columns": list_of(tree_columns)},
    "stackmap-blame.8": {
        "disk-columns": list_of(partial(blame_columns, blame.COLUMNS)),
        "volume-columns": list_of(partial(blame_columns, blame.VOLUME_COLUMNS)),
    },
    "stackmap-kernel.7": {
        "corrections": list_of(counter_corrections),
        "versions": list_of(kernel_versions),
    },
    "stackmap-findings.7": {
        "rules": lambda _: rule_sections(needs_load=True),
        "checks": lambda _: rule_sections(needs_load=False),
    },
}


def parts_of(name: str) -> Mapping[str, Part]:
    """Return the generated parts of the page *name*: a command's has its options."""
    command = name.removeprefix("stackmap-").removesuffix(".8")
    options = {"options": list_of(partial(command_options, command))} if command in COMMANDS else {}
    return {**options, **PAGES.get(name, {})}


def page(name: str, text: str) -> str:
    """Return the page *name* with its generated parts anew; ``StaleText`` if it lacks one."""
    parts = parts_of(name)
    if sorted(found[1] for found in PART.finditer(text)) != sorted(parts):
        raise StaleText(f"man/{name} must have the generated parts {', '.join(parts)}")

    def anew(found: re.Match[str]) -> str:
        try:
            return f"{BEGIN}{found[1]}\n{parts[found[1]](found[2])}{END}"
        except StaleText as error:
            raise StaleText(f"man/{name}: {found[1]}: {error}") from error

    return PART.sub(anew, text)


def readme(text: str) -> str:
    """Return README.md with the exit statuses anew."""
    rows = "".join(f"| {status} | {meaning} |\n" for status, meaning in EXIT_STATUSES.items())
    if not STATUSES.search(text):
        raise StaleText(f"{README} must have a table of exit statuses")
    return STATUSES.sub(lambda _: rows, text)


# Completion.

FILES, FREE = "files", "free"
LISTS = {"tree": list(COLUMNS), "iostat": [metric.heading for metric in METRICS]}
# By metavar without brackets and dots; one that is missing is free text.
METAVARS = {
    "CAPTURE": FILES,
    "CAPTURE|FILE": FILES,
    "DEVICE": NAMES,
    "FILE": FILES,
    "LAYOUT": "|".join(RAID_LEVELS),
    "N|last|average|all": "last|average|all",
    "NAME": NAMES,
    "NAME=NAME": NAMES,
    "OUT": FILES,
    "PATH|NAME": NAMES,
}
# Arguments without a metavar of their own.
ARGUMENTS = {"before": FILES, "after": FILES, "out": FILES, "name": NAMES, "text": FILES}


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the lines that completion reads: command, words, what follows, help."""
    for name, about in COMMANDS.items():
        yield name, "", "", about.help
    for name in ("", *COMMANDS):
        command = load(name) if name else stackmap
        place = 0
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                many = REPEATED if parameter.nargs < 0 else ""
                yield name, str(place), many + following(name, parameter), ""
                place += 1
            elif isinstance(parameter, click.Option) and not parameter.hidden:
                words = ",".join((*parameter.opts, *parameter.secondary_opts))
                yield name, words, following(name, parameter), parameter.help or ""
        yield name, "-h,--help", "", "Show this help and exit."


def following(command: str, parameter: click.Parameter) -> str:
    """Return what follows *parameter*, as the file says it; "" for a flag."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return ""
    if isinstance(parameter.type, click.Choice):
        return "|".join(parameter.type.choices)
    metavar = parameter.metavar or ""
    if metavar in {"LIST", "COLUMN"} and command in LISTS:
        return (LIST if metavar == "LIST" else "") + "|".join(LISTS[command])
    metavar = metavar.split(" ")[0].strip("[].")
    return METAVARS.get(metavar) or ARGUMENTS.get(parameter.name or "") or FREE


def generated() -> Iterator[tuple[Path, str]]:
    """Yield each file with generated parts, and the text that it must have."""
    for path in sorted((ROOT / "man").iterdir()):
        yield path, page(path.name, path.read_text())
    yield ROOT / README, readme((ROOT / README).read_text())
    yield ROOT / COMPLETION, "".join("\t".join(row) + "\n" for row in rows())


def main() -> None:
    """Write the files that changed, and name them."""
    try:
        texts = dict(generated())
    except StaleText as error:
        sys.exit(f"docs: {error}")
    for path, text in texts.items():
        if path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"docs: wrote {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
