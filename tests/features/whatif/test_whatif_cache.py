"""``whatif --cache``: what a cache would have answered, by a plain cache; and how long requests take behind it."""

from __future__ import annotations

import json
from collections import OrderedDict
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from stackmap.cli import stackmap
from stackmap.features.trace.arrivals import TracedRequest
from stackmap.features.whatif.cache import Cache, SimulatedCache, hits_of, shares_of, uses_of
from stackmap.features.whatif.services import constant
from stackmap.features.whatif.simulation import Simulation
from stackmap.model.units import GIB, KIB, MIB
from tests.features.whatif.test_whatif_simulation import mean, poisson, stack
from tests.test_expected import SAMPLES

BLOCK = 64 * KIB
REQUEST = st.tuples(
    st.sampled_from(["read", "write"]),
    st.integers(0, 40 * BLOCK // 512).map(lambda sector: 512 * sector),
    st.sampled_from([512, 4096, BLOCK, 3 * BLOCK]),
)


def traced(requests):
    """A request per millisecond."""
    return [
        TracedRequest(n / 1000, operation, offset, size, 1, n / 1000 + 0.0005)
        for n, (operation, offset, size) in enumerate(requests)
    ]


def answered(requests, capacity, kept=()):
    """Operation, and whether a cache of *capacity* blocks that keeps what was used last had all blocks."""
    cache = OrderedDict.fromkeys(kept)
    for operation, offset, size in requests:
        blocks = range(offset // BLOCK, (offset + size - 1) // BLOCK + 1)
        found = []
        for block in blocks:
            found.append(block in cache)
            cache[block] = None
            cache.move_to_end(block)
            while len(cache) > capacity:
                cache.popitem(last=False)
        yield operation, all(found)


def share(answers, operation):
    own = [hit for way, hit in answers if way == operation]
    return sum(own) / len(own)


@given(st.lists(REQUEST, min_size=1, max_size=80), st.integers(1, 50))
def test_an_empty_cache_answers_the_low_end(requests, capacity):
    """And a cache that held any of the blocks before answers no more than the high end."""
    shares = shares_of(list(uses_of(traced(requests), BLOCK)), capacity)
    filled = Random(capacity).sample(range(45), 45)[:capacity]

    for operation, band in shares.items():
        assert band.low == pytest.approx(share(answered(requests, capacity), operation))
        assert band.low <= band.likely <= band.high
        warm = share(answered(requests, capacity, filled), operation)
        assert warm <= band.high + 1e-9


def test_a_loop_over_more_than_the_cache_holds_never_hits():
    """The worst case of a cache that keeps what was used last; one block more, and all but the first round hits."""
    rounds = [("read", n % 20 * BLOCK, 4096) for n in range(400)]

    small, large = (hits_of(traced(rounds), cache(blocks)) for blocks in (19, 20))

    assert (small.shares["read"].low, small.shares["read"].likely) == (0, 0)
    assert large.shares["read"].low == pytest.approx(380 / 400)
    assert large.shares["read"].likely == 1
    assert large.used == 20 * BLOCK
    assert "write" not in large.shares


def cache(blocks, **more):
    return Cache(blocks * BLOCK, constant(1e-4, 32), **more)


def test_fewer_than_a_hundred_requests_give_no_share():
    one = [("read", 0, 4096)]

    assert hits_of(traced(one * 99), cache(1)) is None
    assert hits_of(traced(one * 100), cache(1)) is not None


@pytest.mark.parametrize(
    ("size", "block"), [(MIB, 64 * KIB), (61 * GIB, 64 * KIB), (100 * GIB, 128 * KIB)]
)
def test_blocks_are_as_lvm_chooses_them(size, block):
    """At most a million, in steps of 32 KiB: ``lvcreate --type cache-pool -L 100g`` says 128.00k."""
    assert Cache(size, constant(1e-4, 1)).block == block


def behind(hits, *, writeback, operation):
    """The mean time of *operation* on RAID5 behind a cache of 100 µs."""
    front = SimulatedCache(constant(1e-4, 32), (hits, hits), writeback, BLOCK, 0)
    made = stack("raid5")._replace(front=front)
    return mean(Simulation(made).run(poisson(5, 4000, operation)).latencies[operation])


def test_reads_are_a_mixture_of_both_times():
    miss, half, hit = (behind(hits, writeback=False, operation="read") for hits in (0.0, 0.5, 1.0))

    assert hit == pytest.approx(1e-4, rel=0.05)
    assert half == pytest.approx((miss + hit) / 2, rel=0.1)


def test_only_a_writeback_cache_makes_writes_faster():
    through, back = (behind(1.0, writeback=mode, operation="write") for mode in (False, True))
    none = behind(0.0, writeback=True, operation="write")

    assert back == pytest.approx(1e-4, rel=0.05)
    assert through == pytest.approx(none, rel=0.1)
    assert none > 50 * back


def run(*words):
    return CliRunner().invoke(
        stackmap, ["--from", str(SAMPLES / "vghdd"), "whatif", "vm-disk1", *words]
    )


def test_without_a_trace_nothing_is_said_of_the_cache_but_what_to_record():
    found = json.loads(run("--cache", "10G:writeback:ssd:80us", "-J").stdout)

    assert found["cache"]["mode"] == "writeback"
    assert found["cache"]["size"] == 10 * GIB
    assert found["cache"]["service_ms"] == pytest.approx(0.08)
    assert (found["cache"]["hits"], found["cache"]["reason_code"]) == (None, "no-offsets")
    assert found["check"] is False
    assert "record --trace" in " ".join(run("--cache", "10g").output.split())
    assert json.loads(run("-J").stdout)["cache"] is None


@pytest.mark.parametrize("wrong", ["x", "10g:fast", "10g:ssd", "10g:writeback:ssd:x", ":ssd:80us", "10g:ssd:80us:x"])  # fmt: skip
def test_a_wrong_cache_is_refused(wrong):
    result = run("--cache", wrong)

    assert result.exit_code == 2
    assert "--cache" in result.output
