"""
The counters support every number of every finding.

Each evidence on every sample and text is calculated again from the corrected
loads, with formulas of its own and no code of the rules.
"""

from __future__ import annotations

import re
import string
from statistics import median

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.document.rule_words import OPERANDS, OPTIONAL, PLACE, filled, words_of
from stackmap.rules import decision
from stackmap.rules.table import RULES, findings
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
# Recorded captures with loads; judged too if they are beside this repository.
CAPTURES = SAMPLES.parents[1] / "shared" / "captures"
CASES = [
    *((text.parents[1], text) for text in sorted(SAMPLES.glob("*/input/*"))),
    (SAMPLES / "vghdd", None),
    *(
        (text.parents[1] / "capture.tar.gz", text)
        for text in sorted(CAPTURES.glob("*/load/*.diskstats"))
    ),
]


@pytest.fixture
def judged(monkeypatch):
    """Every context that the command judged, with its findings."""
    seen = []

    def kept(context, part=None):
        found = findings(context, part)
        seen.append((context, found))
        return found

    monkeypatch.setattr(decision, "findings", kept)
    return seen


def run(capture, text, *more):
    words = ["--from", str(capture), "explain", "-J", *more]
    if text:
        words += ["--input", str(text)]
    CliRunner().invoke(stackmap, words, catch_exceptions=False)


def both(load, field):
    """Reads and writes together, or the text's sum of both."""
    whole = load.whole and getattr(load.whole, field)
    if whole is not None:
        return whole
    return getattr(load.read, field) + getattr(load.write, field)


class Recalculated:
    """The figures of a finding, calculated again: one method per evidence."""

    def __init__(self, context, finding):
        self.context = context
        self.finding = finding
        self.loads = context.interval.loads
        self.device = finding.device
        self.load = self.loads.get(finding.device)
        self.quiet = None
        if finding.rule.name == "overloaded":
            self._two_depths()
        if finding.rule.name in ("sick-disk", "slow-transfer"):
            self._median_interval()
        data = context.topology.below(finding.device)
        self.members = [
            self.loads[e.below] for e in data if e.role == "data" and e.below in self.loads
        ]
        self.layout = context.topology[finding.device].layout

    def _two_depths(self):
        """The load at a low queue depth and the one to judge, from the baseline or the series."""
        if self.context.baseline is not None:
            self.quiet = self.context.baseline.loads[self.device]
            return
        parts = [part for part in self.context.series if self.device in part.loads]
        loads = [part.loads[self.device] for part in parts]
        many = [x for x in loads if both(x, "ios") * parts[0].seconds >= 10]
        self.load = max(many, key=lambda x: x.aqu)
        self.quiet = min((x for x in many if self._is_like_the_load(x)), key=lambda x: x.aqu)

    def _is_like_the_load(self, other):
        """A tenth of the rate or more, at most twice or half the size, at most 20 % more or fewer reads."""
        rates, sizes, reads = (
            [each(x) for x in (other, self.load)]
            for each in (
                lambda x: both(x, "ios"),
                lambda x: both(x, "bytes") / both(x, "ios"),
                lambda x: (x.read.ios or 0) / both(x, "ios"),
            )
        )
        similar = max(sizes) <= 2 * min(sizes) and abs(reads[0] - reads[1]) <= 0.2
        return similar and min(rates) >= 0.1 * max(rates)

    def _median_interval(self):
        """The interval with the median await; of two, that with the shorter one."""
        parts = [part.loads[self.device] for part in self.context.series]
        known = sorted(((both(x, "wait") / both(x, "ios"), n) for n, x in enumerate(parts)))
        if known:
            self.load = parts[known[(len(known) - 1) // 2][1]]

    def value(self, name, device):
        if self.finding.rule.name == "fsync-storm" and name == "took":
            return self.load.flush.wait / self.load.flush.ios
        if name == "took" or name.startswith("await_"):
            return self.awaited(device)
        return getattr(self, f"_{name}")()

    def awaited(self, device, loads=None):
        """Return the await in the finding's direction; None if no request completed."""
        load, what = (loads or self.loads)[device], self.finding.observed.words.get("what")
        if self.finding.rule.name == "metadata-writes":
            what = "write"
        if what in ("read", "write"):
            flow = getattr(load, what)
            return flow.wait / flow.ios if flow.ios else None
        return both(load, "wait") / both(load, "ios") if both(load, "ios") else None

    def _rate(self):
        what = self.finding.observed.words.get("what")
        if what in ("read", "write"):
            return getattr(self.load, what).ios
        return both(self.load, "ios")

    def _await(self):
        return both(self.load, "wait") / both(self.load, "ios")

    def _size(self):
        if self.finding.rule.name == "metadata-writes":
            return self.load.write.bytes / self.load.write.ios
        return both(self.load, "bytes") / both(self.load, "ios")

    def _queue(self):
        return self.load.aqu

    def _busy(self):
        """iostat's rounding, and samples a little late, make more than the whole time."""
        return min(1.0, self.load.busy)

    def _service(self):
        return 1000 * self.load.busy / both(self.load, "ios")

    def _needed(self):
        waited = self._await() / max(1.0, self.load.aqu)
        return self._service() if self._service() <= 1.1 * waited else waited

    def _medium(self):
        """Return the access time in ms and the bytes per ms."""
        return {True: (15, 1e5), False: (5, 2e5), None: (15, 1e5)}[
            self.context.topology[self.device].rotational
        ]

    def _usual(self):
        return self._medium()[0] + self._transfer()

    def _transfer(self):
        return self._size() / self._medium()[1]

    def _others(self):
        names = [n[6:] for n in self.finding.observed.evidence if n.startswith("await_")]
        return median(self.awaited(name) for name in names)

    # Waits in a layer: the longest of reads, writes and flushes in the slowest device below.

    def _below_wait(self):
        flows = [
            f for m in self.members for f in (m.read, m.write, m.flush, m.whole) if f and f.ios
        ]
        return max(flow.wait / flow.ios for flow in flows)

    def _own(self):
        passes_on = self.context.topology[self.device].target in ("linear", "crypt", "delay")
        return self._await() - self._below_wait() * (1 if passes_on else 3)

    def _flushes(self):
        return self.load.flush.ios

    def _per(self):
        return self.load.write.ios / self.load.flush.ios

    def _ratio(self):
        if self.finding.rule.name == "overloaded":
            return self._await() / self._before()
        if self.finding.rule.name == "metadata-writes":
            return self._metadata_rate() / self._writes()
        return self.awaited(self.device) / self._others()

    # Metadata: that of its devices which is written most.

    def _writes(self):
        return self.load.write.ios

    def _metadata_rate(self):
        edges = self.context.topology.below(self.device)
        return max(self.loads[e.below].write.ios for e in edges if e.role == "metadata")

    def _series(self):
        names = [n[6:] for n in self.finding.observed.evidence if n.startswith("await_")]
        for part in self.context.series:
            awaits = {n: self.awaited(n, part.loads) for n in (*names, self.device)}
            if None not in awaits.values() and any(awaits[n] for n in names):
                yield awaits, names

    def _judged(self):
        return len(list(self._series()))

    def _slow(self):
        limit = self.finding.rule.limits["slower"]
        return sum(
            awaits[self.device] >= limit * median(awaits[n] for n in names)
            for awaits, names in self._series()
        )

    # Overloaded, against a baseline.

    def _before(self):
        return both(self.quiet, "wait") / both(self.quiet, "ios")

    def _before_queue(self):
        return self.quiet.aqu

    def _before_rate(self):
        return both(self.quiet, "ios")

    # Parity: bytes at the members against the volume's.

    def _written(self):
        return self.load.write.bytes

    def _cost(self):
        below = sum(m.read.bytes + m.write.bytes for m in self.members)
        return (below - self.load.read.bytes) / self.load.write.bytes

    def _member_rate(self):
        """Members merge nothing: those of dm and md arrays are counted as they arrive."""
        merges = sum(both(m, "merges") or 0 for m in self.members)
        return sum(both(m, "ios") for m in self.members) + merges

    def _merged_rate(self):
        """The disks serve fewer than half as many requests as their members get."""
        below = self.context.topology.with_all_below(self.device)
        disks = [name for name in below if not self.context.topology.below(name)]
        served = sum(both(self.loads[name], "ios") for name in disks)
        assert 2 * served <= self._member_rate()
        return served

    def _done(self):
        return self._cost() * self._written()

    def _ideal(self):
        return self.layout.members / self.layout.data

    def _extra(self):
        return (self._cost() - self._ideal()) * self._written()

    def _extra_read(self):
        read = sum(m.read.bytes for m in self.members) - self.load.read.bytes
        return read / self.load.write.bytes

    def _pages(self):
        parity = sum(m.write.bytes for m in self.members) - self.load.write.bytes
        pages = self.load.write.bytes * self.layout.parity / parity
        return min(self.layout.data, max(1.0, pages))

    # Reads that the array's load does not explain.

    def _asked(self):
        return self.load.read.bytes

    def _members(self):
        return sum(m.read.bytes for m in self.members)

    def _explained(self):
        caused = (self.layout.data - 1) * self.load.write.bytes if self.layout.parity else 0.0
        return self.load.read.bytes + caused

    def _unasked(self):
        return self._members() - self._explained()

    # Merging, at the disks of the stack.

    def _disks(self):
        topology = self.context.topology
        metadata = {e.below for e in topology.edges if e.role == "metadata"}
        names = [n for n in topology.with_all_below(self.device) if not topology.below(n)]
        return [self.loads[n] for n in names if n not in metadata]

    def _disk_rate(self):
        return sum(both(disk, "ios") for disk in self._disks())

    def _disk_size(self):
        return sum(both(disk, "bytes") for disk in self._disks()) / self._disk_rate()

    def _merged(self):
        merges = sum(both(disk, "merges") for disk in self._disks())
        return (merges + self._disk_rate()) / self._disk_rate()


@pytest.mark.parametrize(
    ("capture", "text"), CASES, ids=[f"{c.parent.name}-{t and t.stem}" for c, t in CASES]
)
def test_evidence_is_what_the_counters_say(capture, text, judged):
    """Judged as one interval, and each report by itself."""
    run(capture, text)
    run(capture, text, "--report", "all")

    assert len(judged) >= 2
    for context, found in judged:
        for finding in found:
            again = Recalculated(context, finding)
            for name, figure in finding.observed.evidence.items():
                expected = again.value(name, figure.device)
                assert figure.value == pytest.approx(expected, rel=1e-9), (finding.rule.id, name)


def test_evidence_against_a_baseline(judged):
    """The same device before and now."""
    sample = SAMPLES / "mysql-raid"
    alone = str(sample / "input" / "iostat-1-thread.txt")
    run(sample, sample / "input" / "iostat-64-threads.txt", "--baseline", alone)
    ((context, (finding, *_)),) = judged

    assert finding.rule.name == "overloaded"
    again = Recalculated(context, finding)
    for name, figure in finding.observed.evidence.items():
        assert figure.value == pytest.approx(again.value(name, figure.device)), name


NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


@pytest.mark.parametrize(
    ("capture", "text"), CASES, ids=[f"{c.parent.name}-{t and t.stem}" for c, t in CASES]
)
def test_every_number_of_a_sentence_is_evidence(capture, text, judged):
    """Each placeholder of a sentence has a word or an evidence, but for a part that is optional."""
    run(capture, text)
    for context, found in judged:
        for finding in found:
            words = words_of(context.topology, finding.observed)
            for template in (finding.rule.sentence, finding.rule.caveat, finding.rule.advice):
                told = OPTIONAL.sub(lambda p: p[1] if p[2] in words else "", template)  # noqa: B023
                places = {n for _, n, _, _ in string.Formatter().parse(told) if n}
                assert places <= set(words), (finding.rule.id, places - set(words))
                assert "{" not in filled(template, words)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_operand_of_a_command_has_a_type(rule):
    """The words in backticks are quoted for a shell by their type."""
    for template in (rule.sentence, rule.caveat, rule.advice, rule.reason):
        for words in template.split("`")[1::2]:
            assert OPERANDS.keys() >= set(PLACE.findall(words)), words


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_sentence_has_no_number_of_its_own(rule):
    """A sentence contains no number except evidence."""
    assert NUMBER.findall(rule.sentence) == []
