"""Empty flushes that device-mapper sends to several disks: what arrived there, request by request."""

import random

import pytest

from stackmap.ledger.amplification import figures_of
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Kind, Role
from stackmap.model.load import Flow, Load
from stackmap.model.raid import layout
from stackmap.model.topology import Edge
from tests.drawn import DISKS, disk, moved, passing, topology

CHUNK = 65536


class Stripes:
    """
    Striped volumes on disks, with writes and flushes drawn from a seed.

    ``sent``: by volume and disk, what left the volume; ``counted``: by volume, its own writes. *chunk*: bytes.
    """

    def __init__(self, seed, volumes, chunk=CHUNK):
        draw = random.Random(seed)
        self.devices = [disk(name) for name in DISKS]
        self.edges, self.sent, self.counted = [], {}, {}
        for volume in volumes:
            disks = DISKS[: draw.randint(2, len(DISKS))]
            flushes, sizes = draw.randint(11, 97), (512, 4096, 12288)
            self.devices.append(
                passing(volume, target="striped", layout=layout("striped", len(disks), chunk))
            )
            self.edges += [Edge(volume, name, Role.DATA, length=1 << 30) for name in disks]
            data = {
                name: [draw.choice(sizes) for _ in range(draw.randint(5, 60))] for name in disks
            }
            for name, written in data.items():
                self.sent[volume, name] = len(written) + flushes, sum(written)
            everything = [size for written in data.values() for size in written]
            self.counted[volume] = len(everything) + flushes, sum(everything)

    def at_disks(self, *volumes):
        """What left *volumes* for all disks: requests and bytes."""
        sent = [what for (volume, _), what in self.sent.items() if volume in volumes]
        return tuple(map(sum, zip(*sent, strict=True)))

    def ledger(self, more=0, flushed=5.0):
        """
        The ledger of the counters.

        *more*: bytes that something else wrote to the first disk; *flushed*: the flushes of each disk.
        """
        loads: dict[str, Load] = {}
        for name in DISKS:
            arrived = [what for (_, below), what in self.sent.items() if below == name]
            ios, size = map(sum, zip(*arrived, strict=True)) if arrived else (0, 0)
            other = more if name == DISKS[0] else 0
            merges = ios // 3
            written = Flow(ios - merges + other // 4096, merges, size + other, 1.0)
            loads[name] = moved(write=written)._replace(flush=Flow(ios=flushed))
        for volume, (ios, size) in self.counted.items():
            loads[volume] = moved(write=Flow(ios, 0.0, size, 1.0))
        return Ledger(topology((self.devices, self.edges)), loads, 1.0)


def disks_of(ledger, top):
    """The layer of the disks of *top*."""
    return next(f for f in figures_of(ledger, [top])[0].layers if f.layer.devices[0] in DISKS)


@pytest.mark.parametrize("seed", range(20))
def test_disks_of_a_striped_volume_have_a_copy_of_each_flush(seed):
    """Exactly as many as left it, together and at each disk; the layer's accounting says why they are more."""
    stripes = Stripes(seed, ["lv"])
    ledger = stripes.ledger()
    disks = disks_of(ledger, "lv")

    requests, size = stripes.at_disks("lv")
    write = disks.share.write
    assert (write.arrivals, write.bytes, write.is_range) == (pytest.approx(requests), size, False)
    assert disks.accounted["write"] == pytest.approx(requests / stripes.counted["lv"][0])
    assert "sends it to each device" in disks.diagnosis
    for row in ledger.rows("lv"):
        if row.direction == "write" and row.edge.above == "lv":
            assert row.traffic.arrivals == pytest.approx(stripes.sent["lv", row.edge.below][0])
            assert not row.traffic.is_range


@pytest.mark.parametrize("seed", range(20))
def test_flushes_of_two_volumes_are_a_range(seed):
    """No counter tells whose they were; bytes stay exact."""
    stripes = Stripes(seed, ["one", "two"])
    ledger = stripes.ledger()

    for volume in ("one", "two"):
        write = disks_of(ledger, volume).share.write
        requests, size = stripes.at_disks(volume)
        low, high = write.bounds
        assert low.arrivals - 1e-6 <= requests <= high.arrivals + 1e-6
        assert low.arrivals + 1e-6 >= stripes.counted[volume][0]
        assert [low.bytes, high.bytes] == pytest.approx([size, size])


@pytest.mark.parametrize("seed", range(20))
def test_large_chunks_make_it_a_range(seed):
    """A disk may have split them."""
    stripes = Stripes(seed, ["lv"], chunk=1 << 20)
    write = disks_of(stripes.ledger(), "lv").share.write

    low, high = write.bounds
    requests, _ = stripes.at_disks("lv")
    assert "pieces of requests that the disks split" in disks_of(stripes.ledger(), "lv").diagnosis
    assert low.arrivals == stripes.counted["lv"][0]
    assert high.arrivals == pytest.approx(requests)


def test_without_a_flush_at_any_disk_there_are_no_copies():
    """The disks split large requests."""
    stripes = Stripes(7, ["lv"])
    disks = disks_of(stripes.ledger(flushed=0.0), "lv")

    assert disks.share.write.arrivals == stripes.counted["lv"][0]
    assert "split on the way" in disks.diagnosis


def test_who_only_reads_sent_no_flush():
    """Two volumes on a striped one: 100 reads of one, 100 writes of the other, 50 of them flushes."""
    devices = [*map(disk, ("sda", "sdb")), passing("reader"), passing("writer"),
               passing("base", target="striped", layout=layout("striped", 2, CHUNK))]  # fmt: skip
    edges = [Edge("base", name, Role.DATA, length=1 << 30) for name in ("sda", "sdb")]
    edges += [Edge(name, "base", Role.DATA, length=1 << 20) for name in ("reader", "writer")]
    reads, writes = Flow(100, 0.0, 100 * 4096, 1.0), Flow(100, 0.0, 50 * 4096, 1.0)
    half = Flow(50, 0.0, 50 * 4096, 1.0), Flow(75, 0.0, 25 * 4096, 1.0)
    loads = {
        "reader": moved(read=reads),
        "writer": moved(write=writes),
        "base": moved(reads, writes),
    }
    loads |= {name: moved(*half)._replace(flush=Flow(ios=50.0)) for name in ("sda", "sdb")}
    ledger = Ledger(topology((devices, edges)), loads, 1.0)

    reader, writer = (disks_of(ledger, name).share for name in ("reader", "writer"))
    figures = [reader.part(d).arrivals for d in ("read", "write", "total")]
    assert figures == pytest.approx([100, 0, 100])
    assert not reader.part("total").is_range
    low, high = writer.write.bounds
    assert low.arrivals <= 150 <= high.arrivals
    assert low.bytes == high.bytes == 50 * 4096


def test_what_something_else_writes_is_no_flush():
    """More bytes arrived than were sent."""
    stripes = Stripes(7, ["lv"])
    disks = disks_of(stripes.ledger(more=90 * 4096), "lv")

    assert disks.share.write.arrivals == stripes.counted["lv"][0]
    assert "something else" in disks.diagnosis


def test_a_volume_of_two_segments_on_one_disk_may_send_two():
    """Linux before 6.11 sends a flush to each segment: 41 writes with 10 flushes are 51 there, or 41 and ten splits."""
    edges = [Edge("lv", "sda", Role.DATA, length=1 << n) for n in (30, 31)]
    loads = {
        "lv": moved(write=Flow(41, 0.0, 31 * 4096, 1.0)),
        "sda": moved(write=Flow(51, 0.0, 31 * 4096, 1.0))._replace(flush=Flow(ios=10.0)),
    }
    ledger = Ledger(topology(([disk("sda"), passing("lv")], edges)), loads, 1.0)

    low, high = disks_of(ledger, "lv").share.write.bounds
    assert (low.arrivals, high.arrivals) == pytest.approx((41, 51))


def test_what_does_not_count_flushes_has_none():
    """A dm device below splits requests, and counts the pieces: these are no copies."""
    devices = [passing("lv", target="striped", layout=layout("striped", 2, CHUNK))]
    devices += [passing(name, Kind.CRYPT, "crypt") for name in ("left", "right")]
    edges = [Edge("lv", name, Role.DATA, length=1 << 30) for name in ("left", "right")]
    loads = {name: moved(write=Flow(30, 0.0, 20 * CHUNK, 1.0)) for name in ("left", "right")}
    loads["lv"] = moved(write=Flow(40, 0.0, 40 * CHUNK, 1.0))
    ledger = Ledger(topology((devices, edges)), loads, 1.0)

    assert ledger.share("lv", ["left", "right"]).write.arrivals == 40
