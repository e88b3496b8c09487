"""Each option of lsblk, iostat and zpool iostat does the same here or is refused with what to use instead."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

# lsblk(8) of util-linux 2.38 to 2.41; an option's argument as people give it.
SAME = ["-b", "-J", "-n", "-O", "-P", "-r", "-s", "-i", "-o SIZE"]
OTHER = [
    "-A", "-a", "-D", "-d", "-E MAJ:MIN", "-e 7", "-f", "-I 8", "-l", "-M", "-m", "-N", "-p", "-S", "-T", "-t",
    "-v", "-w 80", "-x SIZE", "-y", "-z", "--all", "--dedup MAJ:MIN", "--discard", "--exclude 7", "--fs",
    "--include 8", "--list", "--merge", "--nodeps", "--noheadings", "--nvme", "--output-all", "--paths", "--perms",
    "--raw", "--scsi", "--sort SIZE", "--topology", "--tree", "--virtio", "--width 80", "--zoned",
]  # fmt: skip


def run(option: str):
    return CliRunner().invoke(
        stackmap,
        ["--from", str(ROOT / "sample_topologies" / "vghdd"), "tree", *option.split()],
        prog_name="stackmap",
    )


@pytest.mark.parametrize("option", SAME)
def test_an_option_that_is_the_same(option):
    assert run(option).exit_code == 0


@pytest.mark.parametrize("option", OTHER)
def test_an_option_that_is_not_there_names_another_way(option):
    """Or it is there under that name, too."""
    result = run(option)
    if result.exit_code:
        assert result.exit_code == 2
        (line,) = [line for line in result.stderr.splitlines() if line]
        assert f"no option {option.split()[0]} here: " in line


# iostat(1) of sysstat 12.7, and zpool-iostat(8) of OpenZFS 2.3.
IOSTAT = [
    "-c", "-d", "-f /x", "-g all", "-H", "--human", "-j UUID", "-k", "-m", "-N", "-o JSON", "-p", "-p sda",
    "-s", "-t", "-x", "-y", "-z", "--compact", "--dec=1", "--pretty",
]  # fmt: skip
ZPOOL = ["-g", "-H", "-L", "-l", "-n", "-P", "-p", "-q", "-r", "-T d", "-T u", "-v", "-w", "-y"]


@pytest.mark.parametrize("option", [*IOSTAT, *ZPOOL])
def test_options_of_iostat_and_zpool_iostat(option):
    """Each is an option, or refused by name; none is taken for a device."""
    words = ["--from", str(ROOT / "sample_topologies" / "vghdd"), "iostat", *option.split()]
    result = CliRunner().invoke(stackmap, words, prog_name="stackmap")
    if result.exit_code:
        assert result.exit_code == 2
        (line,) = [line for line in result.stderr.splitlines() if line]
        assert f"no option {option.split()[0].partition('=')[0]} here: " in line
