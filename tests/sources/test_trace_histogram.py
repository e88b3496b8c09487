"""The text of hist triggers, as kernels 6.1 and 6.12 print it."""

from stackmap.sources.trace_text import parse_histograms

TEXT = """# event histogram
#
# trigger info: hist:keys=dev,op,end:vals=hitcount,size:sort=hitcount:size=2048 if op == 1 [active]
#

{ dev:  266338304, op:          1, end: 0xffffffffc0aa2720 } hitcount:         40  size:    7864320

Totals:
    Hits: 40
    Entries: 1
    Dropped: 0


# event histogram
#
# trigger info: hist:keys=dev,lat.buckets=400:vals=hitcount:sort=hitcount:size=4096 [active]
#

{ dev:  266338307, lat: ~ 63600-63999 } hitcount:         33
{ dev:    8388608, lat: ~ 64000-64399 } hitcount:          2

Totals:
    Hits: 35
    Entries: 2
    Dropped: 3
"""


def test_keys_counts_and_sums():
    (first, second) = parse_histograms(TEXT)
    assert (first.hits, first.dropped, second.hits, second.dropped) == (40, 0, 35, 3)
    (entry,) = first.entries
    assert (entry.number("dev"), entry.number("end")) == (266338304, 0xFFFFFFFFC0AA2720)
    assert (entry.hits, entry.sums) == (40, {"size": 7864320})
    assert second.trigger.startswith("hist:keys=dev,lat.buckets=400")
    assert [e.bucket("lat") for e in second.entries] == [(63600, 64000), (64000, 64400)]


def test_a_histogram_without_entries():
    assert parse_histograms("# event histogram\n#\n\nTotals:\n    Hits: 0\n")[0].entries == ()
    assert parse_histograms("") == []
