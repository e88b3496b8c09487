"""Which volumes load a disk: shares sum to 1, and no volume has a share without a counter."""

import pytest

from stackmap.ledger.blame import blame, targets
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.load import IDLE, Load
from stackmap.model.topology import Edge
from tests.drawn import DISKS, did, moved, passing, topology
from tests.ledger.test_amplification import ARRAY, OTHER, VM, array_loads, loads_of


def test_each_sender_has_its_requests():
    """Of 250 requests at sda, vm sent 100, other 143, vm's metadata 7; none are left."""
    found = blame(Ledger(topology(VM, OTHER), loads_of()), "sda")
    by_name = {(each.tops, each.metadata): each for each in found.loaders}

    assert by_name[("vm",), False].arrivals == 100
    assert by_name[("other",), False].arrivals == 143
    assert by_name[("vm",), True].arrivals == 7
    assert by_name[(), False].arrivals == 0
    assert found.accounted == 1.0
    assert found.loaders[0].tops == ("other",)


def test_shares_sum_to_one():
    """Of requests and of bytes, whoever sent them."""
    loads = loads_of()
    loads["sdb"] = moved(did(61, 4096, 25), did(97, 4096, 150))
    found = blame(Ledger(topology(VM, OTHER), loads), "sdb")

    assert sum(found.share(each) for each in found.loaders) == pytest.approx(1)
    assert sum(found.byte_share(each) for each in found.loaders) == pytest.approx(1)


def test_what_nobody_sent_is_nobodys():
    """333 arrived where 250 were sent: 83 came from no device above."""
    loads = loads_of()
    loads["sda"] = moved(did(86, 4096), did(247, 4096))
    found = blame(Ledger(topology(VM, OTHER), loads), "sda")

    assert next(each for each in found.loaders if not each.tops).arrivals == 83
    assert found.accounted == pytest.approx(333 / 250)


def test_volumes_that_share_an_array_are_blamed_together():
    """Both wrote: the array's members cannot tell whose it was, and neither can we."""
    found = blame(Ledger(topology(ARRAY), array_loads(29)), "sda")

    assert found.loaders[0].tops == ("data", "home")
    assert found.loaders[0].through == "md0"


def test_the_highest_shared_device_is_named():
    """Between the array and its disks are partitions: the volumes meet at the array."""
    devices, edges = ARRAY
    parts = [Device(f"{name}1", Kind.PARTITION, "", merges=True) for name in DISKS]
    below = [e._replace(below=f"{e.below}1") if e.above == "md0" else e for e in edges]
    below += [Edge(f"{name}1", name, Role.DATA) for name in DISKS]
    loads = array_loads(29) | {f"{name}1": array_loads(29)[name] for name in DISKS}
    found = blame(Ledger(topology(([*devices, *parts], below)), loads), "sda")

    assert (found.loaders[0].tops, found.loaders[0].through) == (("data", "home"), "md0")


def test_a_volume_whose_neighbour_was_idle_is_blamed_alone():
    """data did nothing in this interval."""
    found = blame(Ledger(topology(ARRAY), array_loads(0)), "sda")

    assert found.loaders[0].tops == ("home",)


def test_a_sender_that_a_text_does_not_list_is_not_guessed():
    """Its requests are among those without a known sender; accounted is unknown."""
    loads = loads_of()
    del loads["vm_rmeta_0"]
    found = blame(Ledger(topology(VM, OTHER), loads), "sda")

    assert [each.tops for each in found.unseen] == [("vm",)]
    assert next(each for each in found.loaders if not each.tops).arrivals == 7
    assert sum(found.share(each) for each in found.loaders) == pytest.approx(1)
    assert found.accounted is None


def test_a_volume_loads_its_disks():
    """A quarter each; 100 of the 250 requests that arrived there."""
    found = targets(Ledger(topology(VM, OTHER), loads_of()), "vm")

    assert {each.device for each in found} == {"sda", "sdb", "sdc", "sdd"}
    for each in found:
        assert (each.of_volume, each.of_device) == (0.25, pytest.approx(100 / 250))


# One table over two disks, one part of it on the first and three on the second.
SPREAD = (
    [passing("lv", target="striped")],
    [
        Edge("lv", "sda", Role.DATA, length=1000),
        Edge("lv", "sdb", Role.DATA, length=3000),
    ],
)


def spread(here: float, there: float) -> dict[str, Load]:
    """40 requests to the volume, and what arrived at its disks."""
    return {n: moved(did(r, 512)) for n, r in (("lv", 40), ("sda", here), ("sdb", there))}


def test_what_a_striped_volume_sent_its_disks_is_known_where_nobody_else_was():
    """Half arrived at the first, whatever its length: it can have come from nowhere else."""
    found = {each.device: each for each in targets(Ledger(topology(SPREAD), spread(20, 20)), "lv")}

    assert [found[d].part.arrivals for d in ("sda", "sdb")] == [20, 20]
    assert not any(each.estimated for each in found.values())
    assert blame(Ledger(topology(SPREAD), spread(20, 20)), "sda").accounted == 1.0


def test_a_striped_volume_beside_others_is_divided_by_length_within_a_range():
    """At least 10 of 40 went to the first, for the second has only 30, and at most 25, all it got."""
    found = {each.device: each for each in targets(Ledger(topology(SPREAD), spread(25, 30)), "lv")}
    first, second = found["sda"].part, found["sdb"].part

    assert (first.arrivals, second.arrivals) == (10, 30)
    assert [end.arrivals for end in first.bounds] == [10, 25]
    assert [end.arrivals for end in second.bounds] == [15, 30]
    assert found["sda"].estimated


def test_where_a_disk_has_no_room_the_rest_went_to_the_other():
    """By length 30 to the second, but only 22 arrived there: the guesses sum to what was sent."""
    found = {each.device: each for each in targets(Ledger(topology(SPREAD), spread(29, 22)), "lv")}

    assert [found[d].part.arrivals for d in ("sda", "sdb")] == [18, 22]


def test_what_nobody_sent_is_a_range_beside_a_guess():
    """15 of the 55 have no sender: at the first disk 0 to 15; accounted is unknown."""
    found = blame(Ledger(topology(SPREAD), spread(25, 30)), "sda")
    nobody = next(each for each in found.loaders if not each.tops)

    assert found.loaders[0].estimated
    assert nobody.parts["read"].arrivals == 15
    assert [end.arrivals for end in nobody.parts["read"].bounds] == [0, 15]
    assert found.accounted is None


def test_segments_on_one_disk_add_up():
    """Two pieces there, one elsewhere."""
    devices, edges = SPREAD
    parts = (devices, [*edges, Edge("lv", "sda", Role.DATA, start=5000, length=4000)])
    found = {each.device: each for each in targets(Ledger(topology(parts), spread(20, 20)), "lv")}

    assert [found[d].part.arrivals for d in ("sda", "sdb")] == [20, 20]


def test_segments_on_one_disk_alone_add_up():
    """An LV that was extended has two pieces on its disk: what it sent went there once."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA, start, 1000) for start in (0, 5000)])
    loads = {name: moved(did(23, 4096), did(29, 512)) for name in ("lv", "sda")}
    (found,) = targets(Ledger(topology(parts), loads), "lv")
    whose = blame(Ledger(topology(parts), loads), "sda")

    assert (found.part.arrivals, found.part.bytes) == (52, 23 * 4096 + 29 * 512)
    assert not found.estimated
    assert [each.arrivals for each in whose.loaders if each.tops] == [52]
    assert whose.accounted == 1.0


def test_volumes_above_two_segments_are_told_once():
    """Below a crypt of two volumes lies an LV that was extended: 13 and 29, not twice so many."""
    parts = (
        [passing("luks", Kind.CRYPT, "crypt"), passing("root"), passing("home"), passing("lv")],
        [
            Edge("root", "luks", Role.DATA),
            Edge("home", "luks", Role.DATA),
            Edge("luks", "lv", Role.DATA),
            *(Edge("lv", "sda", Role.DATA, start, 1000) for start in (0, 5000)),
        ],
    )
    counts = (("root", 13), ("home", 29), ("luks", 42), ("lv", 42), ("sda", 42))
    found = blame(Ledger(topology(parts), {n: moved(did(ios, 512)) for n, ios in counts}), "sda")

    assert [(each.tops, each.arrivals) for each in found.loaders[:2]] == [
        (("home",), 29),
        (("root",), 13),
    ]


def test_a_partition_hands_on_what_arrived():
    """Merges count at both: 20 arrivals, not the 5 that were completed."""
    parts = (
        [Device("sda1", Kind.PARTITION, "8:1", merges=True)],
        [Edge("sda1", "sda", Role.DATA)],
    )
    load = moved(write=did(5, 4096, 15))
    found = blame(Ledger(topology(parts), {"sda1": load, "sda": load}), "sda")

    assert found.loaders[0].arrivals == 20
    assert found.accounted == 1.0


def test_volumes_on_one_crypt_are_told_apart():
    """It passes on what they send, so each volume's own counters say who it was: 13 and 29."""
    parts = (
        [passing("luks", Kind.CRYPT, "crypt"), passing("root"), passing("home")],
        [
            Edge("root", "luks", Role.DATA),
            Edge("home", "luks", Role.DATA),
            Edge("luks", "sda", Role.DATA),
        ],
    )
    loads = {name: moved(did(ios, 512)) for name, ios in (("root", 13), ("home", 29), ("luks", 42))}
    found = blame(Ledger(topology(parts), loads | {"sda": moved(did(42, 512))}), "sda")

    assert [(each.tops, each.arrivals) for each in found.loaders[:2]] == [
        (("home",), 29),
        (("root",), 13),
    ]


def test_a_pools_metadata_is_a_row_of_its_own():
    """Two volumes of one pool: 30 requests of data and 7 of metadata, whose they were nobody can say."""
    devices = [
        passing("thin1", Kind.THIN, "thin"),
        passing("thin2", Kind.THIN, "thin"),
        passing("pool", Kind.THIN_POOL, "thin-pool"),
        passing("tdata", Kind.MEMBER),
        passing("tmeta", Kind.MEMBER),
    ]
    edges = [
        Edge("thin1", "pool", Role.DATA),
        Edge("thin2", "pool", Role.DATA),
        Edge("pool", "tdata", Role.DATA),
        Edge("pool", "tmeta", Role.METADATA),
        Edge("tdata", "sda", Role.DATA),
        Edge("tmeta", "sda", Role.DATA),
    ]
    sent = {"thin1": 11, "thin2": 13, "pool": 30, "tdata": 30, "tmeta": 7, "sda": 37}
    loads = {name: moved(did(requests, 512)) for name, requests in sent.items()}
    found = blame(Ledger(topology((devices, edges)), loads), "sda")

    rows = [(each.tops, each.metadata, each.arrivals) for each in found.loaders]
    both = ("thin1", "thin2")
    assert [(both, False, 30), (both, True, 7), ((), False, 0)] == rows


def test_idle_devices_may_be_left_out():
    """A disk under thousands of volumes has few that do something: top asks for these only."""
    edges = [Edge(name, "sda", Role.DATA) for name in ("one", "two")]
    drawn = topology(([passing("one"), passing("two")], edges))
    loads = {"one": moved(did(8, 4096)), "two": IDLE, "sda": moved(did(10, 4096))}
    ledger = Ledger(drawn, loads, 1.0)

    whole, busy = blame(ledger, "sda"), blame(ledger, "sda", idle=False)
    assert [each.tops for each in whole.loaders] == [("one",), (), ("two",)]
    assert [each.tops for each in busy.loaders] == [("one",), ()]
    assert [busy.share(each) for each in busy.loaders] == [0.8, 0.2]
    assert busy.accounted == whole.accounted


def test_one_guess_among_exact_senders_leaves_accounted_unknown():
    """11 requests are exactly the other volume's; what the striped one sent there is a range."""
    other = ([passing("other")], [Edge("other", "sda", Role.DATA)])
    loads = spread(25 + 11, 30) | {"other": moved(did(11, 512))}
    found = blame(Ledger(topology(SPREAD, other), loads), "sda")

    guessed = {loader.tops: loader.estimated for loader in found.loaders if loader.tops}
    assert guessed == {("lv",): True, ("other",): False}
    assert found.accounted is None


def test_an_array_that_was_not_started_hides_no_source():
    """It has no size, and sends nothing; another one without a member in the input may be the source."""
    devices = [
        Device("md127", Kind.ARRAY, "9:127", size=0, state="inactive"),
        Device("md5", Kind.ARRAY, "9:5", size=1 << 30),
    ]
    assert topology((devices, [])).open_ends == {"md5"}
