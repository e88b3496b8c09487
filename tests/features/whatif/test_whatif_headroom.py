"""``iostat -l --headroom``: the rate at which a recorded disk served all it could, and how far it is."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from stackmap.cli import stackmap
from stackmap.features.whatif.additions import headroom_blocks, knee_rate
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.timing import Scenario
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.layout_request import parse
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Edge, Topology
from tests.drawn import disk, passing
from tests.paths import ROOT

STACK = Topology([passing("web"), disk("sda")], [Edge("web", "sda", Role.DATA)])


def loads(most, queues):
    """A disk that serves one request in 1 / *most* seconds: its rate grows with the queue, up to *most*."""
    for queue in queues:
        rate = most * min(1.0, queue)
        yield Load(
            Flow(0.0, 0.0, 0.0, 0.0),
            Flow(rate, 0.0, rate * 4096, 1000 * queue),
            aqu=queue,
            busy=min(1.0, queue),
        )


def blocks_of(series):
    """Return what is said of web in intervals of a second, in each of which web and its disk have a load of *series*."""
    intervals = (
        Interval({"web": each, "sda": each}, time=float(n), seconds=1.0)
        for n, each in enumerate(series)
    )
    return headroom_blocks(STACK, intervals, ["web"])


@given(
    st.floats(10, 1e6),
    st.lists(st.floats(0.01, 0.85), min_size=3, max_size=9),
    st.floats(2.1, 50),
)
def test_the_knee_is_where_the_rate_no_longer_grows(most, low, deep):
    """Seen only if queues were more than twice as deep as there; what the order of the intervals is does not matter."""
    seen = [*low, 0.95, deep / 2, deep]
    assert knee_rate(loads(most, seen)) == pytest.approx(most)
    assert knee_rate(loads(most, reversed(seen))) == pytest.approx(most)
    assert knee_rate(loads(most, [*low, 0.7, 0.8, 0.85])) is None


@pytest.mark.parametrize("count", range(6))
def test_a_few_intervals_show_no_knee(count):
    """Six are needed."""
    seen = [0.2, 0.5, 0.9, 1.0, 2.0, 4.0]
    assert knee_rate(loads(100.0, seen[-count:] if count else [])) is None
    assert knee_rate(loads(100.0, seen)) == pytest.approx(100)


def test_a_disk_that_was_not_busy_could_have_served_more():
    """The program sent no more: a long queue for a short time."""
    lazy = [each._replace(busy=0.5) for each in loads(100.0, (0.2, 0.5, 0.95, 1.0, 2.0, 4.0))]
    assert knee_rate(lazy) is None


@given(st.floats(10, 1e5), st.floats(0.05, 0.5))
def test_headroom_is_the_knee_by_the_mean_rate(most, low):
    """Whatever the rates: factor × mean rate = rate at the knee."""
    table, *others = blocks_of(loads(most, [low] * 6 + [0.95, 2.0, 4.0]))
    ((_, factor, name, rate, knee),) = table.groups[0].rows

    assert (name, others) == ("sda", [])
    assert knee.number == pytest.approx(most)
    assert factor.number * rate.number == pytest.approx(knee.number)
    assert rate.number == pytest.approx(most * (6 * low + 0.95 + 2) / 9)
    assert str(knee) != "-"


def test_where_no_knee_was_seen_nothing_is_a_figure():
    """And a sentence says what helps."""
    table, remark = blocks_of(loads(100.0, [0.1] * 9))
    ((_, factor, name, rate, knee),) = table.groups[0].rows

    assert (str(factor), name, str(rate), str(knee)) == ("-", "-", "-", "-")
    assert "whatif" in remark.text


def test_a_missed_latency_limit_is_no_overload():
    """20 reads per second of 5 ms: none answers in a microsecond, but a mirror serves as many and more."""
    reads = Load(Flow(20.0, 0.0, 20 * 4096.0, 100.0), *[Flow(0.0, 0.0, 0.0, 0.0)] * 3, busy=0.1)
    interval = Interval({"web": reads, "sda": reads}, time=1.0, seconds=100.0)
    projector = Projector(STACK, [interval], "web")
    free, limited = (
        projector.project(parse("raid1"), Scenario(limit=limit)).time for limit in (None, 0.001)
    )

    assert (limited.reason, limited.projected) == ("", free.projected)
    assert limited.headroom.high < 0.1
    assert free.headroom.low > 1


def test_the_command_prints_a_row_per_stack():
    """After the reports; it is refused without layers and as JSON."""
    words = ["--from", str(ROOT / "sample_topologies" / "vghdd"), "iostat"]
    result = CliRunner().invoke(stackmap, [*words, "-l", "--headroom", "vm-disk1"])
    assert result.exit_code == 0, result.output
    assert "headroom" in result.stdout
    assert "Headroom is - where" in result.stdout.replace("\n", " ")
    for more in (["--headroom"], ["-l", "--headroom", "-J"]):
        refused = CliRunner().invoke(stackmap, [*words, *more])
        assert refused.exit_code == 2
        assert "--headroom needs --per-layer" in refused.stderr
