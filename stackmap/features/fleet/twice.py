"""
Targets that show a machine once more: two jobs that scrape it, or two exporters on it. Sums count a machine once.

Targets are of one machine if they have its name and one textfile, which is known by the time in it: it has fractions
of a second. Or they have its name, address, time of boot and volumes, in textfiles of their own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stackmap.features.fleet.host_source import quoted
from stackmap.features.fleet.promql import Expressions, any_of, joined
from stackmap.model import exported

if TYPE_CHECKING:
    from stackmap.features.fleet.http import Sample, Series

# In these seconds the times in textfiles are looked up: a scrape may be a minute late.
TIMES_SECONDS, TIMES_STEP = 300, 15
SAME_BOOT = 1  # seconds
NAME = "nodename"


class Target(NamedTuple):
    """A target of Prometheus, which is a host to ``fleet``. ``cluster``: "" without such a label."""

    cluster: str
    job: str
    instance: str


Ask = Callable[[str], Sequence["Sample"]]
AskRange = Callable[[str, float, float, float], Sequence["Series"]]


def again(scope: Expressions, ask: Ask, ask_range: AskRange, end: float) -> list[Target]:
    """Return the targets of *scope* that show a machine which another target shows, too; the first of each is not among them."""
    alike = ask(f"count by ({scope.cluster}, {NAME}) ({_named(scope)}) > 1")
    names = {sample.labels.get(NAME, "") for sample in alike} - {""}
    if not names:
        return []
    targets: dict[tuple[str, str], list[Target]] = {}
    for sample in ask(_named(scope, f"{NAME}=~{quoted(any_of(names))}")):
        target = target_of(scope, sample.labels)
        targets.setdefault((target.cluster, sample.labels.get(NAME, "")), []).append(target)
    several = [sorted(group) for group in targets.values() if len(group) > 1]
    hosts = _only(scope, several)
    read = f"max by ({scope.of_host}) ({exported.TIMESTAMP}{{{hosts.hosts}}})"
    times = {
        target_of(scope, series.labels): {value for _, value in series.values}
        for series in ask_range(read, end - TIMES_SECONDS, end, TIMES_STEP)
    }
    left: list[list[Target]] = []
    found = []
    for group in several:
        seen: set[float] = set()
        by_address: dict[str, list[Target]] = {}
        for target in group:
            written = times.get(target, set())
            if written & seen:
                found.append(target)
            else:
                seen |= written
                by_address.setdefault(_address(target), []).append(target)
        left += [alike for alike in by_address.values() if len(alike) > 1]
    return [*found, *_with_other_textfiles(scope, ask, left)] if left else found


def _with_other_textfiles(scope: Expressions, ask: Ask, groups: list[list[Target]]) -> list[Target]:
    """Return the targets of a group, which have one address, whose volumes and time of boot an earlier one has, too."""
    hosts = _only(scope, groups)
    boots = {
        target_of(scope, sample.labels): sample.value
        for sample in ask(f"max by ({scope.of_host}) (node_boot_time_seconds{{{hosts.hosts}}})")
    }
    volumes: dict[Target, set[tuple[str, str]]] = {}
    for sample in ask(f"group by ({scope.id}) (stackmap_stack_info{{{hosts.hosts}}})"):
        volume = sample.labels.get("top", ""), sample.labels.get("name", "")
        volumes.setdefault(target_of(scope, sample.labels), set()).add(volume)

    def is_same(one: Target, other: Target) -> bool:
        ours, theirs = boots.get(one), boots.get(other)
        booted = ours is not None and theirs is not None and abs(ours - theirs) <= SAME_BOOT
        return booted and volumes.get(one, set()) <= volumes.get(other, set())

    found: list[Target] = []
    for group in groups:
        first: list[Target] = []
        for target in group:
            same = any(is_same(target, other) for other in first)
            (found if same else first).append(target)
    return found


def _only(scope: Expressions, groups: Iterable[Iterable[Target]]) -> Expressions:
    return scope._replace(host=any_of({target.instance for group in groups for target in group}))


def _named(scope: Expressions, more: str = "") -> str:
    """Return the targets with volumes, and the names of their machines."""
    series = f"node_uname_info{{{joined(more, scope.hosts)}}}"
    return f"max by ({scope.of_host}, {NAME}) ({series} and on ({scope.of_host}) {scope.counted()})"


def target_of(scope: Expressions, labels: Mapping[str, str]) -> Target:
    """Return the target with these *labels*."""
    return Target(*(labels.get(key, "") for key in (scope.cluster, "job", "instance")))


def _address(target: Target) -> str:
    """
    Return the address without the port.

    >>> _address(Target("", "node", "db1:9100")), _address(Target("", "node", "[fe80::1]:9100"))
    ('db1', '[fe80::1]')
    """
    head, colon, port = target.instance.rpartition(":")
    return head if colon and port.isdecimal() else target.instance


def leaving_out(targets: Iterable[Target], cluster: str) -> str:
    """Return what a query needs to leave out *targets*, "" without any; *cluster*: the label."""
    by_job: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        by_job.setdefault((target.cluster, target.job), []).append(target.instance)
    parts = []
    for (site, job), instances in sorted(by_job.items()):
        hosts = quoted(any_of(instances))
        given = f"{cluster}={quoted(site)},job={quoted(job)},instance=~{hosts}"
        parts.append(f"{exported.TIMESTAMP}{{{given}}}")
    return f" unless on ({cluster}, job, instance) ({' or '.join(parts)})" if parts else ""
