"""The numbers that go with the names of SCSI disks and md arrays."""

import pytest

from stackmap.sources.device_lists import SCSI_MAJORS, name_of, number_of


def test_each_disk_has_a_number_of_its_own():
    """The 257th begins again with the first major."""
    numbers = [f"{m}:{d * 16}" for m in SCSI_MAJORS for d in range(16)]
    names = [name_of(number) for number in numbers]

    assert [number_of(name) for name in names] == numbers
    assert (names[0], names[16], names[-1]) == ("sda", "sdq", "sdiv")
    assert (name_of("8:256"), number_of("sdiw")) == ("sdiw", "8:256")


@pytest.mark.parametrize(
    "name", ["sda16", "sda0", "sda01", "md01", "nvme0n1", "dm-3", "sd", "md_home", "vda", "sr0"]
)
def test_other_names_tell_no_number(name):
    assert number_of(name) == ""
