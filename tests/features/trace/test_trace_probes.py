"""The texts of probes and triggers: what the kernel's parser accepts is limited."""

from __future__ import annotations

import re

import pytest

from stackmap.errors import SourceMissing
from stackmap.features.trace import probes, tracefs
from stackmap.features.trace.probes import (
    latency_triggers,
    of_rows,
    require,
    row_probe,
    sequence_triggers,
    size_triggers,
    submit_probe,
)

BIO = dict(zip(probes.BIO, (8, 16, 56, 28, 40, 32, 36, 4), strict=True))
RAID = dict(zip(probes.RAID456, (40, 40, 16, 28), strict=True))
DM = dict(zip((*probes.DM_RAID, *probes.DM_MOD), (88, 0, 0, 0, 184), strict=True))


def test_the_fields_of_a_bio():
    line = submit_probe(BIO).line
    assert line.startswith(
        "p:stackmap/submit submit_bio_noacct bio=$arg1:x64 dev=+36(+8($arg1)):u32"
    )
    assert "size=+40($arg1):u32" in line


def test_the_way_from_a_row_to_the_number_of_its_volume():
    """As read by hand for Debian's 6.1: stripe_head to the gendisk of the LV."""
    line = row_probe({**BIO, **RAID, **DM}).line
    assert "dm=+4(+184(+0(+0(-88(+40(+40($arg1))))))):s32" in line
    assert "unit=+16(+40(+40($arg1))):u32" in line
    assert all(len(word.partition("=")[2]) <= 63 for word in line.split())


def test_native_md_needs_no_offsets_of_dm():
    rows = of_rows({**BIO, **RAID}, 0x10, has_dm=False)
    assert "dm=" not in rows.probes[0].line
    texts = [trigger.text for trigger in rows.triggers]
    assert not any("dm," in text for text in texts)


def test_every_latency_is_in_exactly_one_histogram_with_buckets_of_5_percent():
    ranges = [t.text for t in latency_triggers((), None) if "lat.buckets" in t.text]
    edges = []
    for text in ranges:
        width = int(text.split("buckets=")[1].split(":")[0])
        low = int(text.split("lat >= ")[1].split(" ")[0])
        edges.append(low)
        assert width <= 0.051 * max(low, 1000)
    assert edges == sorted(set(edges))
    assert edges[0] == 0
    assert "lat <" not in ranges[-1]


@pytest.mark.parametrize("count", [1, 48, 49])
def test_a_filter_of_devices_fits_a_page(count):
    numbers = tuple(range(4_000_000_000, 4_000_000_000 + count))
    for trigger in (*size_triggers(probes.QUEUE_EVENT, numbers), *latency_triggers(numbers, 7)):
        assert len(trigger.text) < 4096
        assert ("dev ==" in trigger.text) == (
            count <= tracefs.MAX_FILTERED and "synthetic" not in trigger.event
        )


def test_a_missing_member_is_named():
    with pytest.raises(SourceMissing, match=r"bio\.bi_bdev"):
        require({}, probes.BIO)


def test_few_devices_have_small_histograms():
    """They are sized for the devices that are named, for many without names."""

    def sizes(numbers):
        return [
            int(size)
            for t in latency_triggers(numbers, 7)
            if t.counts
            for size in re.findall(r"size=(\d+)", t.text)
        ]

    assert max(sizes((1,))) < max(sizes(tuple(range(30)))) <= max(sizes(()))


def test_only_what_is_shown_is_counted():
    """Triggers that remember a request's place or hand on a value are no histograms of the result."""
    for trigger in (*latency_triggers((), None), *sequence_triggers((), None)):
        hands_on = "onmatch(" in trigger.text
        remembers = re.search(r":\w+=(common_timestamp|sector\+nr_sector)", trigger.text)
        assert trigger.counts is not bool(hands_on or remembers), trigger.text
    assert [t.counts for t in sequence_triggers((), None)] == [False, False, True]
