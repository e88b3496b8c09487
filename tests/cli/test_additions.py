"""What features add to ``iostat``: the tables they print, and the options that they refuse."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.trace.additions import _with_trace
from stackmap.features.whatif.additions import knee_rate
from stackmap.model.load import Flow
from tests.drawn import moved
from tests.paths import ROOT

VGHDD = str(ROOT / "sample_topologies" / "vghdd")


def ran(*words):
    return CliRunner().invoke(stackmap, ["--from", VGHDD, "iostat", *words])


def test_headroom_is_a_table_after_the_layers():
    """A row per stack; the option has no value, and belongs to the layers."""
    plain, more = ran("-l", "vm-disk1"), ran("-l", "--headroom", "vm-disk1")
    assert plain.exit_code == more.exit_code == 0, more.output
    assert more.output.startswith(plain.output.rstrip())
    assert "STACK" in more.output.removeprefix(plain.output.rstrip())
    for words in (["--headroom"], ["-l", "--headroom", "-J"]):
        assert ran(*words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prove"], "--prove needs --why"),
        (["--why", "--prove", "-J"], "cannot be combined with JSON"),
        (["--why", "--prove", "--since-boot"], "leave out --input and --since-boot"),
    ],
)
def test_a_proof_needs_a_measurement(words, said):
    done = ran(*words)
    assert done.exit_code == 2
    assert said in done.output


def test_without_a_proof_nothing_is_refused():
    text = ROOT / "sample_topologies" / "raid5-raid10-medusa" / "input" / "iostat-3.txt"
    assert ran("--why", "--input", str(text)).exit_code == 0


def load(rate, queue, busy=1.0):
    return moved(Flow(rate, 0.0, rate * 4096, queue * 1000), aqu=queue, busy=busy)


def test_the_knee_is_where_the_rate_no_longer_grows():
    """100, 200 … per second with 1, 2 … in flight, up to 400; twice as many in flight give no more."""
    rising = [load(100.0 * n, float(n)) for n in (1, 2, 3)]
    flat = [load(400.0, 4.0), load(399.0, 8.0), load(398.0, 16.0)]

    assert knee_rate([*rising, *flat]) == 400.0
    assert knee_rate([*flat, *rising]) == 400.0
    assert knee_rate([*rising, *flat[:2]]) is None  # five intervals
    assert (
        knee_rate([*rising, *rising, load(400.0, 4.0), load(401.0, 7.0)]) is None
    )  # no queue twice as deep
    assert (
        knee_rate([*rising, load(400.0, 4.0), load(250.0, 8.0), load(250.0, 16.0)]) is None
    )  # it fell
    assert knee_rate([*rising, *(each._replace(busy=0.5) for each in flat)]) is None
    assert knee_rate([*rising, *(each._replace(busy=None) for each in flat)]) == 400.0


def test_the_limit_of_a_trace_is_a_percentage():
    """7 of the command line are 0.07 of all CPU time; without --trace nothing is added, and no limit is given."""
    given = []

    @click.command()
    @_with_trace("Trace.", lambda **more: given.append(more))
    def command(additions=()):
        for each in additions:
            each()

    runner = CliRunner()
    for words, limits in (
        ([], []),
        (["--trace"], [0.05]),
        (["--trace", "--max-overhead", "7"], [0.07]),
    ):
        given.clear()
        assert runner.invoke(command, words).exit_code == 0
        assert [each["max_overhead"] for each in given] == limits
    assert runner.invoke(command, ["--max-overhead", "7"]).exit_code == 2
