"""The series of a host with one array, in promtool's notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

KIB = 1024
MINUTES = 361
# Labels of stackmap's metrics; Prometheus renames them where the target has a label of that name.
OWN = frozenset({"top", "name", "layer", "role", "device", "disk", "kind", "level"})


@dataclass(frozen=True)
class Array:
    """
    Host *instance* with the md RAID5 of *members* disks under full-stripe writes.

    ``writes``: pairs of minutes and full stripes per second. ``up``: by minute. ``state``: by metric
    after ``stackmap_stack_``, its value by minute. ``file``: minutes in which there is a textfile.

    ``target``: more labels of the target. ``slower``: by disk, how many times its await is that of others.
    """

    instance: str
    target: Mapping[str, str] = field(default_factory=dict)
    members: int = 5
    chunk: int = 64 * KIB
    writes: tuple[tuple[int, float], ...] = ((MINUTES, 32),)
    state: Mapping[str, list[float]] = field(default_factory=dict)
    up: tuple[float, ...] = (1,) * MINUTES
    file: int = MINUTES
    slower: Mapping[str, float] = field(default_factory=dict)

    def series(self) -> dict[str, str]:
        """Return the series of node_exporter, of the textfile and of the scrape."""
        return {
            **self._counters("md0", self.chunk * (self.members - 1)),
            **{
                key: values
                for disk in self._disks
                for key, values in self._counters(disk, self.chunk).items()
            },
            **self._textfile(),
            self._of("up"): _values(self.up),
            self._of("node_time_seconds"): _values(60 * n for n in range(MINUTES)),
        }

    @property
    def _disks(self) -> list[str]:
        return [f"sd{letter}" for letter in "abcdefgh"[: self.members]]

    def _of(self, metric: str, **labels: str) -> str:
        """Return a series as Prometheus stores it after a scrape of the target."""
        target = {"job": "n", "instance": self.instance, **self.target}
        renamed = {
            f"exported_{key}" if key in target else key: value for key, value in labels.items()
        }
        text = ",".join(f'{key}="{value}"' for key, value in {**target, **renamed}.items())
        return f"{metric}{{{text}}}"

    def _counters(self, device: str, size: float) -> dict[str, str]:
        """Return the counters of *device*, which writes *size* bytes per full stripe."""
        per_stripe = {
            "read_bytes": 0.0, "written_bytes": size, "reads_completed": 0.0, "reads_merged": 0.0,
            "writes_completed": 1.0, "writes_merged": 0.0,
            "read_time_seconds": 0.0, "write_time_seconds": 0.001 * self.slower.get(device, 1),
        }  # fmt: skip
        return {
            self._of(f"node_disk_{name}_total", device=device): self._growing(amount)
            for name, amount in per_stripe.items()
        }

    def _growing(self, per_stripe: float) -> str:
        """Return the values of a counter, one per minute."""
        parts, value = [], 0.0
        for minutes, stripes in self.writes:
            step = 60 * stripes * per_stripe
            parts.append(f"{value:.6f}+{step:.6f}x{minutes - 1}")
            value += step * minutes
        return " ".join(parts)

    def _textfile(self) -> dict[str, str]:
        of = {"top": "md0", "name": "md0"}
        weights = [("volume", "md0"), *(("members", disk) for disk in self._disks)]
        weights += [("disks", disk) for disk in self._disks]
        constant = {
            **{
                self._of("stackmap_layer_weight", **of, layer=layer, role="data", device=device): 1
                for layer, device in weights
            },
            **{
                self._of("stackmap_device_disk_info", device=disk, disk=disk): 1
                for disk in self._disks
            },
            self._of("stackmap_stack_info", **of, kind="array", level="raid5"): 1,
            self._of("stackmap_stack_members", **of): self.members,
            self._of("stackmap_stack_parity_members", **of): 1,
            self._of("stackmap_stack_chunk_bytes", **of): self.chunk,
            self._of("stackmap_stack_ideal_write_ratio", **of): self.members / (self.members - 1),
        }
        states = {
            "sync_active": [0] * MINUTES,
            "degraded": [0] * MINUTES,
            **self.state,
        }
        series = {
            **{series: [value] * MINUTES for series, value in constant.items()},
            **{self._of(f"stackmap_stack_{name}", **of): values for name, values in states.items()},
            # Prometheus marks as stale what the textfile has no longer.
            self._of("stackmap_broken", device="md0", name="md0", what="degraded"): [
                1 if degraded else "stale" for degraded in states["degraded"]
            ],
            self._of("stackmap_topology_timestamp_seconds"): [60 * n for n in range(MINUTES)],
        }
        return {key: _values(values[: self.file]) for key, values in series.items()}


def _values(values: Iterable[float]) -> str:
    """Return values by minute, after which the series ends."""
    return " ".join([*map(str, values), "stale"])
