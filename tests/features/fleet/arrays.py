"""The series of a host with one array, in promtool's notation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KIB = 1024
MINUTES = 300
# Labels of stackmap's metrics; Prometheus renames them where the target has a label of that name.
OWN = frozenset({"top", "name", "layer", "role", "device", "disk", "kind", "level"})


@dataclass(frozen=True)
class Array:
    """
    Host *instance* with the md RAID5 of *members* disks under full-stripe writes, *writes* per second.

    ``target``: more labels of the target. ``state``: by metric after ``stackmap_stack_``, its values.
    """

    instance: str
    target: Mapping[str, str] = field(default_factory=dict)
    members: int = 5
    chunk: int = 64 * KIB
    writes: float = 32
    state: Mapping[str, str] = field(default_factory=dict)
    minutes: int = MINUTES

    def series(self) -> dict[str, str]:
        """Return the series of node_exporter, of the textfile and of the scrape."""
        return {
            **self._counters("md0", self.writes, self.writes * self.chunk * (self.members - 1)),
            **{
                key: values
                for disk in self._disks
                for key, values in self._counters(
                    disk, self.writes, self.writes * self.chunk
                ).items()
            },
            **self._textfile(),
            self._of("up"): f"1x{self.minutes}",
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

    def _counters(self, device: str, writes: float, written: float) -> dict[str, str]:
        rates = {
            "read_bytes": 0.0, "written_bytes": written, "reads_completed": 0.0, "reads_merged": 0.0,
            "writes_completed": writes, "writes_merged": 0.0,
            "read_time_seconds": 0.0, "write_time_seconds": writes * 0.001,
        }  # fmt: skip
        return {
            self._of(f"node_disk_{name}_total", device=device): f"0+{60 * rate:.6f}x{self.minutes}"
            for name, rate in rates.items()
        }

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
        states = {"sync_active": f"0x{self.minutes}", "degraded": f"0x{self.minutes}", **self.state}
        return {
            **{series: f"{value}x{self.minutes}" for series, value in constant.items()},
            **{self._of(f"stackmap_stack_{name}", **of): values for name, values in states.items()},
            self._of("stackmap_topology_timestamp_seconds"): f"0+60x{self.minutes}",
            self._of("node_time_seconds"): f"0+60x{self.minutes}",
        }
