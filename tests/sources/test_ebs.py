"""Amazon's log page 0xD0, built from the published layout."""

from __future__ import annotations

import pytest

from stackmap.discover import discover
from stackmap.sources import ebs
from tests.ebs_pages import BINS, QUEUE, dump, page
from tests.machine import DrawnHost
from tests.rules.cases_state import nvme


def test_a_page_of_an_ebs_volume():
    found = ebs.parse(page())
    assert (found.volume_iops, found.volume_bytes) == pytest.approx((17, 19))
    assert (found.instance_iops, found.instance_bytes) == pytest.approx((23, 29))
    assert found.queue == QUEUE
    assert found.reads == found.writes == BINS


def test_an_instance_store_has_no_limits_of_a_volume():
    found = ebs.parse(page(0xEC2C0D7E))
    assert (found.volume_iops, found.volume_bytes) == (None, None)
    assert found.instance_bytes == pytest.approx(29)


@pytest.mark.parametrize("content", [b"", page()[:4095], page(0x3C23B511), b"\xff" * 4096])
def test_another_page_says_nothing(content):
    assert ebs.parse(content) is None


def test_a_histogram_of_too_many_bins_ends_at_64():
    assert len(ebs.parse(page(count=2**63)).reads) == 64


def test_what_nvme_cli_prints_is_the_page():
    assert ebs.printed(dump(page())) == page()


def test_a_row_that_is_missing_ends_the_page():
    lines = dump(page()).splitlines()
    assert ebs.printed("\n".join(lines[:5] + lines[6:])) == page()[:48]


@pytest.mark.parametrize(
    ("model", "is_asked"),
    [
        ("Amazon Elastic Block Store", True),
        ("Amazon EC2 NVMe Instance Storage", True),
        ("Amazon EC2 NVMe Instance Storage 7", True),
        ("QEMU NVMe Ctrl", False),
    ],
)
def test_only_a_disk_of_amazon_is_asked(model, is_asked):
    """The page is another vendor's own on other disks."""
    host = DrawnHost(dict(nvme("numa")), {"nvme get-log /dev/nvme0n1": dump(page())})
    devices = [each._replace(model=model) for each in discover(host) if each.name == "nvme0n1"]
    found = ebs.read(host, devices)
    assert (found.keys() == {"nvme0n1"}) == is_asked
    assert any("get-log" in words for words in host.asked) == is_asked
