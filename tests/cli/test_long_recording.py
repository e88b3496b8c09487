"""A recording of more than 3,600 samples is shown in longer intervals; a note says so, and sums stay exact."""

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import explain, stackmap
from stackmap.cli.record import samples
from stackmap.errors import UsageError
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.measurement.capture_part import Resolution
from stackmap.sources import diskstats
from tests.long import START, Repeated

SECONDS = 4000
NOTE = "long recording: intervals of {} s, from samples of 1 s; shorter peaks are averaged"
COMMANDS = {
    ("report", "-o", "-", "--markdown"): 3,
    ("whatif", "vg/lv3", "--to", "raid10"): 3,
    ("explain",): 6,
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    out = str(tmp_path_factory.mktemp("long") / "c")
    with RecordingHost(Repeated(30, 27), out) as host:
        for _ in samples(host, 1.0, SECONDS):
            pass
    return out


def run(recording, *words):
    result = CliRunner().invoke(stackmap, ["--from", recording, *words], env={"COLUMNS": "1000"})
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    ("words", "step"),
    COMMANDS.items(),
    ids=lambda each: str(each[0]) if isinstance(each, tuple) else "",
)
def test_the_resolution_is_said(recording, words, step):
    """On stdout and on stderr, with the option for each sample."""
    result = run(recording, *words)

    assert NOTE.format(step) in result.stderr
    assert NOTE.format(step).casefold() in result.stdout.casefold()
    assert "--every 1 " in result.stdout


@pytest.mark.parametrize(
    "part", [("--since", f"@{START + 100}", "--until", f"@{START + 3700}"), ("--every", "2")]
)
def test_an_hour_and_a_chosen_step_are_as_asked_for(recording, part):
    """Up to 3,600 intervals of one sample, and whatever --every says, are not changed."""
    result = run(recording, *part, "whatif", "vg/lv3", "--to", "raid10")

    assert "long recording" not in result.output.casefold()
    assert f"{3600 if part[0] == '--since' else SECONDS // 2} intervals" in result.stdout


def test_too_many_intervals_at_once_are_refused(recording, monkeypatch):
    """explain holds all intervals of --every in memory, unless each is judged by itself; its note does not advise too many."""
    monkeypatch.setattr(explain, "RESOLUTION", Resolution(1800, 720, 1000))
    words = ["--from", recording, "--every", "1", "explain"]
    with pytest.raises(
        UsageError, match="4000 intervals of 1 s are too many at once, at most 1000"
    ):
        CliRunner().invoke(stackmap, words, catch_exceptions=False)
    note = run(recording, "explain").stderr
    assert "use --since and --until with --every 1 for each sample" in note

    assert run(recording, "--every", "4", "explain").stdout
    first = run(recording, "--every", "1", "explain", "--report", "1").stdout
    assert "average of" not in first


def counted(recording, name, until):
    """Return what arrived at a device in *until* seconds: reads, writes, and bytes read."""
    host = CapturedHost(recording)
    texts = [
        host.read(diskstats.PATH)
        for _, _ in zip(host.ticks(1, None), range(until + 1), strict=False)
    ]
    before, after = (diskstats.parse(text.splitlines())[name] for text in (texts[0], texts[-1]))
    return (
        after.reads - before.reads + after.read_merges - before.read_merges,
        after.writes - before.writes + after.write_merges - before.write_merges,
        after.read_bytes - before.read_bytes,
    )


@pytest.mark.parametrize("device", ["vg/lv0", "vg/lv3"])
def test_sums_are_those_of_the_counters(recording, device):
    """The load that whatif projects is the difference of the counters at its ends."""
    found = json.loads(run(recording, "whatif", device, "--to", "raid10", "-J").stdout)
    seconds = found["seconds"]
    reads, writes, read_bytes = counted(recording, f"dm-{device[-1]}", round(seconds))

    assert seconds == pytest.approx(SECONDS // 3 * 3)
    assert found["load"]["read"]["iops"] * seconds == pytest.approx(reads)
    assert found["load"]["write"]["iops"] * seconds == pytest.approx(writes)
    assert found["load"]["read"]["bytes"] * seconds == pytest.approx(read_bytes)
