"""
Does the fleet name what is wrong, and nothing else? 200 hosts, 6 hours, 12 troubles, on a fast clock.

    ./run bench troubles [HOSTS]

``fastclock`` has Prometheus' storage, PromQL and rules: it stores the simulated series minute by minute, evaluates the
shipped rules, and prints each alert. Then the real ``stackmap fleet`` asks it at the hour of each trouble. Between the
troubles are what must not alarm: a reboot, counters that go back, a rename, a resync, a skew of 20 s, a jump of a pool,
a new host and one that is removed. Needs Go, which builds ``fastclock`` from its module proxy. Exit status 1 if a
trouble is missed, if anything is false, or if an alert stays for more than 10 minutes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.features.fleet.arrays import MINUTES, Array
from tests.features.fleet.servers import RULES

FASTCLOCK = Path(__file__).with_name("fastclock")
HOSTS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
START = 1_795_255_200  # seconds since the epoch: a whole hour, as the hourly rules need one
CLEARED = 10  # minutes after its end in which an alert must stop
SAMPLES = re.compile(r"(?P<first>[-\d.]+)(?P<step>[+-][\d.]+)?x(?P<count>\d+)")
STALE = "stale"
Series = dict[str, list[str]]
FROM_NODE = ("node_",)
FROM_FILE = ("stackmap_",)


class Trouble(NamedTuple):
    """``what`` fleet says of ``host`` from ``begin`` to ``end``, in minutes; ``alert``: its name."""

    what: str
    alert: str
    host: str
    begin: int
    end: int
    apply: Callable[[Series, Trouble], None]


def expanded(values: str) -> list[str]:
    """Return one value per minute from promtool's notation."""
    found: list[str] = []
    for word in values.split():
        match = SAMPLES.fullmatch(word)
        if match is None:
            found.append(word)
            continue
        first, step = float(match["first"]), float(match["step"] or 0)
        found += [f"{first + step * n:.17g}" for n in range(int(match["count"]) + 1)]
    return (found + [STALE] * MINUTES)[:MINUTES]


def name(host: str, metric: str, **labels: str) -> str:
    text = "".join(f',{key}="{value}"' for key, value in labels.items())
    return f'{metric}{{job="n",instance="{host}"{text}}}'


def during(trouble: Trouble, inside: str, outside: str = STALE) -> list[str]:
    return [inside if trouble.begin <= n < trouble.end else outside for n in range(MINUTES)]


def hide(series: Series, begin: int, end: int, metrics: tuple[str, ...]) -> None:
    """End the series of these metrics in a part of the time."""
    for key, values in series.items():
        if key.startswith(metrics):
            values[begin:end] = [STALE] * (end - begin)


def broken(what: str) -> Callable[[Series, Trouble], None]:
    def apply(series: Series, trouble: Trouble) -> None:
        key = name(trouble.host, "stackmap_broken", device="md0", name="md0", what=what)
        series[key] = during(trouble, "1")

    return apply


def blind(series: Series, trouble: Trouble) -> None:
    """Break it, and lose the textfile for half of the time."""
    broken("degraded")(series, trouble)
    hide(series, (trouble.begin + trouble.end) // 2, trouble.end, FROM_FILE)


def full(metric: str) -> Callable[[Series, Trouble], None]:
    def apply(series: Series, trouble: Trouble) -> None:
        key = name(trouble.host, metric, device="dm-2", name="vg/pool")
        series[key] = during(trouble, "0.97", "0.4")

    return apply


def of_disk(metric: str, value: str, **labels: str) -> Callable[[Series, Trouble], None]:
    def apply(series: Series, trouble: Trouble) -> None:
        series[name(trouble.host, metric, device="sdb", **labels)] = during(trouble, value)

    return apply


def down(series: Series, trouble: Trouble) -> None:
    hide(series, trouble.begin, trouble.end, FROM_FILE + FROM_NODE)
    series[name(trouble.host, "up")][trouble.begin : trouble.end] = ["0"] * (
        trouble.end - trouble.begin
    )


def no_file(series: Series, trouble: Trouble) -> None:
    hide(series, trouble.begin, trouble.end, FROM_FILE)


def old_file(series: Series, trouble: Trouble) -> None:
    """The timer stops 15 minutes before its file is old."""
    stopped = trouble.begin - 15
    times = series[name(trouble.host, "stackmap_topology_timestamp_seconds")]
    times[stopped : trouble.end] = [times[stopped]] * (trouble.end - stopped)


def wrong_clock(series: Series, trouble: Trouble) -> None:
    for metric in ("node_time_seconds", "stackmap_topology_timestamp_seconds"):
        values = series[name(trouble.host, metric)]
        for n in range(trouble.begin, trouble.end):
            values[n] = str(float(values[n]) + 300)


TROUBLES = (
    Trouble("degraded", "StackmapDegraded", "h003", 70, 130, broken("degraded")),
    Trouble("degraded", "StackmapDegraded", "h019", 90, 170, blind),
    Trouble("failed", "StackmapFailed", "h031", 100, 140, broken("failed")),
    Trouble("full", "StackmapPoolFull", "h047", 110, 200, full("stackmap_thin_pool_data_used_ratio")),
    Trouble("full", "StackmapPoolFull", "h059", 120, 200, full("stackmap_thin_pool_metadata_used_ratio")),
    Trouble("full", "StackmapPoolFull", "h071", 150, 230, full("stackmap_snapshot_used_ratio")),
    Trouble("sick", "StackmapSlowMember", "h083", 160, 220, of_disk("stackmap_slow_member_ratio", "4.5", top="md0", name="md0")),
    Trouble("hung", "StackmapHung", "h097", 180, 210, of_disk("stackmap_device_hung", "1", name="sdb")),
    Trouble("silent", "StackmapHostSilent", "h109", 190, 250, down),
    Trouble("silent", "StackmapStacksGone", "h127", 200, 260, no_file),
    Trouble("silent", "StackmapTopologyStale", "h139", 240, 300, old_file),
    Trouble("clock", "StackmapClockWrong", "h151", 260, 320, wrong_clock),
)  # fmt: skip
# Without the textfile of a broken host, two things are wrong; and a host that reboots is silent, which is no alert.
ALSO = {("silent", "h019"): (130, 170), ("silent", "h010"): (100, 104)}


def harmless(host: str, series: Series) -> Series:
    """Return *series* after what happens on some hosts and is no trouble."""
    if host == "h010":  # a reboot of 4 minutes: counters begin anew
        down(series, Trouble("", "", host, 100, 104, down))
        for key, values in series.items():
            if "_total{" in key:
                start = float(values[104])
                values[104:] = [f"{float(value) - start:.17g}" for value in values[104:]]
    if host == "h020":  # the kernel name of the array changes
        for key in list(series):
            if "md0" in key:
                values = series[key]
                series[key.replace('"md0"', '"md127"')] = [STALE] * 150 + values[150:]
                series[key] = values[:150] + [STALE] * (MINUTES - 150)
    if host == "h030":  # a resync
        series[name(host, "stackmap_stack_sync_active", top="md0", name="md0")][100:200] = [
            "1"
        ] * 100
    if host == "h040":  # an ordinary skew
        series[name(host, "node_time_seconds")] = [
            str(float(each) + 20) for each in series[name(host, "node_time_seconds")]
        ]
    if host == "h050":  # a jump is no trend
        key = name(host, "stackmap_thin_pool_data_used_ratio", device="dm-2", name="vg/pool")
        series[key] = ["0.4"] * 100 + ["0.75"] * (MINUTES - 100)
    if host == "h060":  # it is new
        hide(series, 0, 200, ("",))
    if host == "h080":  # its target is removed
        hide(series, 200, MINUTES, ("",))
    return series


def fleet_series() -> Iterator[tuple[str, str]]:
    """Yield each series of all hosts with its values."""
    for number in range(HOSTS):
        host = f"h{number:03}"
        series = {key: expanded(values) for key, values in Array(host).series().items()}
        for metric in ("node_time_seconds", "stackmap_topology_timestamp_seconds"):
            series[name(host, metric)] = [str(START + 60 * n) for n in range(MINUTES)]
        for disk in "abcde":
            key = name(host, "node_disk_info", device=f"sd{disk}", major="8", minor="0", model="HGST HUS726", path="p", revision="1", serial=f"{host}{disk}", wwn="w")  # fmt: skip
            series[key] = ["1"] * MINUTES
        series = harmless(host, series)
        for trouble in TROUBLES:
            if trouble.host == host:
                trouble.apply(series, trouble)
        for key, values in series.items():
            # Only the first of stale values is stored, as Prometheus does.
            yield (
                key,
                " ".join(
                    "_" if each == STALE and (n == 0 or values[n - 1] == STALE) else each
                    for n, each in enumerate(values)
                ),
            )


def said(url: str, minute: int) -> dict[tuple[str, str], str]:
    """Return what ``stackmap fleet`` says is wrong at *minute*, as its table begins."""
    stackmap = Path(sys.executable).with_name("stackmap")
    words = [stackmap, "fleet", "--url", url, "--at", f"@{START + 60 * minute}", "-J"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    keys = ("name", "device", "model", "serial", "reason", "value", "since")
    return {
        (each["what"], each["host"]): " ".join(str(each[key]) for key in keys if each[key])
        for each in report["health"]
    }


def expected(minute: int) -> set[tuple[str, str]]:
    present = {(each.what, each.host) for each in TROUBLES if each.begin <= minute < each.end}
    return present | {key for key, (begin, end) in ALSO.items() if begin <= minute < end}


def judged(changes: list[dict], url: str) -> int:
    """Print the table; return how many troubles were missed, false or late."""
    wrong = 0
    used: set[int] = set()
    print(
        f"{'trouble':10} {'host':5} {'minutes':>9} {'alert':24} {'fired':>6} {'ended':>6}  fleet says"
    )
    for trouble in TROUBLES:
        mine = [
            (number, each)
            for number, each in enumerate(changes)
            if each["labels"]["instance"] == trouble.host
            and each["labels"]["alertname"] == trouble.alert
        ]
        used |= {number for number, _ in mine}
        fired = next((each["minute"] for _, each in mine if each["fires"]), None)
        ended = max((each["minute"] for _, each in mine if not each["fires"]), default=None)
        middle = (trouble.begin + trouble.end) // 2
        found = said(url, middle)
        text = found.get((trouble.what, trouble.host), "NOTHING")
        false = found.keys() ^ expected(middle)
        late = ended is None or ended - trouble.end > CLEARED
        missed = fired is None or not trouble.begin <= fired < trouble.end or text == "NOTHING"
        wrong += missed + late + len(false)
        print(
            f"{trouble.what:10} {trouble.host:5} {trouble.begin:4}-{trouble.end:<4} {trouble.alert:24} {fired!s:>6} {ended!s:>6}  {text}"
            + (f"; FALSE OR MISSING: {sorted(false)}" if false else "")
        )
    others = [
        each
        for number, each in enumerate(changes)
        if number not in used and each["fires"] and not _is_second(each)
    ]
    for each in others:
        print(f"FALSE ALERT at minute {each['minute']}: {each['labels']}")
    print(f"{len(TROUBLES)} troubles, {len(others)} false alerts, {wrong} faults")
    return wrong + len(others)


def _is_second(change: dict) -> bool:
    """Whether an alert is of the second thing that is wrong on a host."""
    labels = change["labels"]
    key = labels.get("what", ""), labels["instance"]
    return key in ALSO and ALSO[key][0] <= change["minute"] < ALSO[key][1]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="stackmap-troubles-") as folder:
        program = Path(folder) / "fastclock"
        subprocess.run(["go", "build", "-o", program, "."], cwd=FASTCLOCK, check=True)
        file = Path(folder) / "series.json"
        file.write_text(json.dumps([{"series": k, "values": v} for k, v in fleet_series()]))
        words = [program, file, RULES, str(START), str(MINUTES - 1)]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            changes = []
            for line in process.stdout:
                told = json.loads(line)
                if "url" in told:
                    status = judged(changes, told["url"])
                    process.stdin.close()
                    break
                changes.append(told)
            else:
                return 2  # it has said why
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
