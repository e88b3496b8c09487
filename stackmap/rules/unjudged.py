"""
What the figures cannot tell: questions that a measurement leaves open, and counters that were corrected.

Nothing found is no all-clear where nothing was judged.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stackmap.ledger.corrections import RULES as CORRECTIONS
from stackmap.model.device import Device
from stackmap.model.load import Load
from stackmap.model.reason import Reason
from stackmap.model.topology import ASK_FOR_IT, NO_TOPOLOGY
from stackmap.rules.context import Context
from stackmap.rules.disk import sick_disk
from stackmap.rules.hung import STUCK, impossible
from stackmap.rules.peers import slow_member
from stackmap.rules.queue_depth import evident_overload, long_queue
from stackmap.rules.rule import (
    Finding,
    Limits,
    Observation,
    Observations,
    Outcome,
    Rule,
    Severity,
    observe,
)
from stackmap.rules.saturation import lasting_load, overloaded, quiet_and_loaded


@Rule(
    "SM802",
    Severity.INFO,
    title="Counters were corrected ({rule})",
    outcome=Outcome.STATE,
    sentence="stackmap corrected the figures of {devices} ({rule}): {why}.",
    caveat="Other tools show them uncorrected, so their figures differ.",
    advice="Nothing to do.",
    source="stackmap-kernel(7), Corrections; Linux admin-guide/iostats.rst",
)
def counters_corrected(context: Context, _: Limits) -> Observations:
    """Yield each other correction of the kernel's counters, with all its devices."""
    why = {rule.name: rule.why for rule in CORRECTIONS}
    corrected: dict[str, list[Device]] = {}
    for correction in context.corrections:
        rule, name = correction.partition(": ")[::2]
        if name in context.topology and rule != STUCK:
            corrected.setdefault(rule, []).append(context.topology[name])
    for rule, devices in corrected.items():
        titles = ", ".join(device.title for device in devices)
        words = {"devices": titles, "why": why.get(rule, rule), "rule": rule}
        yield observe(devices[0].name, words=words)


class Question(NamedTuple):
    """A question that may stay open: why, and what would answer it; templates like those of a rule."""

    subject: str
    reason: Reason
    advice: str


ANY = Reason("", "{why}.")  # its code is that of the word
LOAD = Question(
    "the load",
    ANY,
    "Measure while the load runs: `stackmap explain 10 6`, or `iostat -dxty 10 6` for `--input`.",
)
DISKS = Question(
    "slow disks",
    Reason("", "{why} {devices}."),
    "Use `iostat -x` with all disks, or run `stackmap explain` on the host.",
)
PARTLY = Question(
    DISKS.subject,
    Reason("not-throughout", "{devices}: there only during a part of the measurement."),
    "Measure again, or select a part of a recording with `--since` and `--until`.",
)
OVERLOAD = Question(
    "overload",
    Reason(
        "no-quiet-time",
        "{device} has {queue} requests in flight{when} with an await of {await}; its await at a low "
        "queue depth is unknown{others}.",
    ),
    "Give figures of a quiet time: `stackmap explain --baseline FILE`.",
)
LAYOUT = Question(
    "layout",
    Reason(
        "no-topology",
        "without a topology, devices are judged by the names in the text. Array members, partial stripes "
        "and the disks below volumes are unknown.",
    ),
    f"Add to the text what {ASK_FOR_IT} prints on that host; or run "
    "`stackmap record DIR` there and add `--from DIR`.",
)


class Unjudged(NamedTuple):
    """An open question; ``observed`` fills its templates."""

    question: Question
    observed: Observation

    @property
    def code(self) -> str:
        """The code of the reason."""
        why = self.observed.words.get("why")
        return why.code if isinstance(why, Reason) else self.question.reason.code


IDLE = Reason("idle", "no device had I/O in the interval")
NO_INTERVAL = Reason("no-interval", "no interval was measured: need two samples to compute a rate")
NO_COUNTERS = Reason("no-counters", "no device has figures")
BLIND = Reason("no-await", "the input has no await or no queue depth of")
CONTRADICTION = Reason("contradiction", "rate and await cannot make the queue depth of")
NO_DISK = Reason("no-disks", "no topology tells which of these are disks:")
SINCE_BOOT = Reason("since-boot", "averages since boot hide the present load")
TOO_FEW = (
    "no disk had {least:g} requests, or one per second where the length of the interval is unknown"
)


def unjudged(context: Context, findings: Iterable[Finding], part: Iterable[str]) -> list[Unjudged]:
    """Return the open questions about the devices in *part*, about which there are *findings*."""
    explained: set[str] = set()
    for finding in findings:
        if finding.rule.id in (overloaded.id, evident_overload.id):
            explained.update(context.peers_of(finding.device))
        elif finding.rule.id == long_queue.id and "alike" in finding.observed.evidence:
            explained.update((finding.device, *finding.peers))
        elif finding.rule.id in (sick_disk.id, slow_member.id):
            explained.add(finding.device)
    known = frozenset(part)
    open_questions = [*_load(context, known)] or [
        *_disks(context, known),
        *_overload(context, known - explained),
    ]
    no_topology = NO_TOPOLOGY in context.topology.unknown
    return [*open_questions, *([Unjudged(LAYOUT, observe(""))] if no_topology else [])]


def is_judged(context: Context, device: Device) -> bool:
    """Whether *device* is a disk with enough requests to find it slow; unknown rates are enough."""
    rate = context.load(device.name).total.ios
    enough = rate is None or context.enough(rate, sick_disk.limits["requests"])
    return context.is_disk(device) and enough and not context.load(device.name).idle


def _load(context: Context, part: frozenset[str]) -> Iterator[Unjudged]:
    """Yield why there is no load to judge."""
    loads = [load for name, load in context.loads.items() if name in part]
    least = sick_disk.limits["requests"]
    if not context.loads and context.interval.seconds is None:
        why = NO_INTERVAL
    elif not loads:
        why = NO_COUNTERS
    elif context.interval.since_boot:
        why = SINCE_BOOT
    elif all(load.idle for load in loads):
        why = IDLE
    elif all(load.total.ios is not None for load in loads) and not any(
        context.enough(load.total.ios, least) for load in loads
    ):
        why = Reason("few-requests", TOO_FEW.format(least=least))
    else:
        return
    yield Unjudged(LOAD, observe("", words={"why": why}))


def _disks(context: Context, part: frozenset[str]) -> Iterator[Unjudged]:
    """Yield the disks below a load whose await or queue depth is unknown; all names if no disk is known."""
    topology = context.topology
    judged = {
        device.name
        for device in context.disks
        if None not in (context.load(device.name).total.await_ms, context.load(device.name).aqu)
    }
    judged.update(topology.with_all_below(*judged))
    loaded = {name for name, load in context.loads.items() if name in part and not load.idle}
    used = {*topology.with_all_below(*loaded)} - judged
    blind = [
        device.title
        for device in topology
        if device.name in used
        and not topology.below(device.name)
        and context.is_disk(device)
        and not context.load(device.name).idle
    ]
    why = BLIND
    if not blind and not any(context.is_disk(topology[name]) for name in loaded):
        why, blind = NO_DISK, [device.title for device in topology if device.name in loaded]
    odd = impossible.find(context, impossible.limits)
    if not blind and (devices := [topology[wrong.device] for wrong in odd if wrong.device in part]):
        why, blind = CONTRADICTION, [device.title for device in devices if context.is_disk(device)]
    seen = {topology[n].title for part in context.series for n in part.loads if n in topology}
    if why is BLIND and blind and seen.issuperset(blind):
        yield Unjudged(PARTLY, observe("", words={"devices": ", ".join(blind)}))
    elif blind:
        yield Unjudged(DISKS, observe("", words={"why": why, "devices": ", ".join(blind)}))


def _overload(context: Context, part: frozenset[str]) -> Iterator[Unjudged]:
    """Yield the disks with a long queue that lasts, for which no load at a low queue depth is known."""
    limits = overloaded.limits
    queued = [
        (load.aqu, load.total.await_ms, device)
        for device in context.disks
        if device.name in part
        and (load := _longest_queue(context, device.name, limits)).aqu is not None
        and load.aqu >= limits["high_queue"]
        and (load.busy is None or load.busy >= limits["busy"])
        # A shorter await cannot have risen enough.
        and (load.total.await_ms or 0.0) >= limits["await"]
        and quiet_and_loaded(context, device.name) is None
    ]
    if not queued:
        return
    (queue, wait, worst), *rest = sorted(queued, key=lambda entry: -entry[0])
    others = ", ".join(device.title for *_, device in rest)
    figures = {"queue": (queue, "requests"), "await": (wait, "ms")}
    lasts = (context.load(worst.name).aqu or 0.0) >= limits["high_queue"]
    words = {
        "others": f" (also: {others})" if others else "",
        "when": "" if lasts else " in some intervals",
    }
    yield Unjudged(OVERLOAD, observe(worst.name, figures, words))


def _longest_queue(context: Context, name: str, limits: Limits) -> Load:
    """Return the load of *name* if its queue is long on average, otherwise that of the intervals with the longest."""
    mean = context.load(name)
    return mean if (mean.aqu or 0.0) >= limits["high_queue"] else lasting_load(context, name)
