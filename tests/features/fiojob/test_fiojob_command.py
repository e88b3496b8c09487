"""``stackmap fiojob``: jobs that fio accepts, on unused targets."""

from __future__ import annotations

import configparser
import errno
import json
import os
import re
import shutil
import string
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from stackmap.cli import main, stackmap
from stackmap.errors import NO_DIRECTIONS, InputError, TargetRefused
from stackmap.features.fiojob import target
from stackmap.features.fiojob.job import fiojob_text, job_of
from stackmap.features.fiojob.load import AccessPattern, JobLoad, LoadMeasurement, Stream
from stackmap.features.fiojob.sizes import Sizes, SizeSource
from stackmap.features.fiojob.target import in_use, is_source
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Use
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from tests.drawn import did, moved, raid_volume, topology
from tests.features.compare.test_compare_command import _Main
from tests.paths import ROOT

SAMPLE = str(ROOT / "sample_topologies" / "vghdd")
MEDUSA = ROOT / "sample_topologies" / "raid5-raid10-medusa"
LVS = topology(raid_volume("vm", "raid5", 8), raid_volume("other", "raid10", 17))


@pytest.fixture
def tmp_path(tmp_path):
    """Return a directory outside ``/dev``, also where TMPDIR is in ``/dev/shm``."""
    if not str(tmp_path).startswith("/dev/"):
        yield tmp_path
        return
    with TemporaryDirectory(dir="/var/tmp") as directory:
        yield Path(directory)


def printed(*words):
    result = CliRunner().invoke(stackmap, ["--from", SAMPLE, "fiojob", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def sections(text):
    parser = configparser.ConfigParser(comment_prefixes="#", interpolation=None)
    parser.read_string(text)
    return parser


def test_reads_and_writes_are_jobs_of_their_own():
    """Each at the rate that iostat shows, of 8 KiB; nothing ties them together."""
    text = printed("vm-disk1")
    job = sections(text)

    assert [*job] == ["DEFAULT", "global", "vghdd_vm-disk1-read", "vghdd_vm-disk1-write"]
    assert job["vghdd_vm-disk1-write"]["rate_iops"] == "140"
    assert job["vghdd_vm-disk1-read"]["rate_iops"] == "33"
    assert job["vghdd_vm-disk1-write"]["bs"] == "8192"
    assert "rwmixread=" not in text
    assert job["global"]["direct"] == "1"


def test_a_job_that_writes_says_so():
    assert "DESTRUCTIVE" in printed("vm-disk1")
    assert json.loads(printed("vm-disk1", "-J"))["destructive"] is True


def test_without_a_target_there_is_none():
    """What is not set in the environment is no device."""
    assert "filename=${TARGET}\n" in printed("vm-disk1")


def test_a_target_by_its_name():
    assert "filename=/dev/vghdd/vm-disk1-r10\n" in printed("vm-disk1", "--target", "vm-disk1-r10")


def test_a_file_that_is_there(tmp_path):
    file = tmp_path / "a:file"
    file.touch()

    # fio divides names at a colon.
    assert rf"filename={tmp_path}/a\:file" in printed("vm-disk1", "--target", str(file))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_opens_the_target_and_nothing_else(tmp_path):
    """Whatever its name: fio finds the file, or stackmap refuses what a job file cannot name."""
    places, job = [], ["[global]", "rw=read", "size=4096", "allow_file_create=0"]
    for number, letter in enumerate([*string.punctuation.replace("/", ""), " ", "\u00e9", "\\x20"]):
        for name in (f"{letter}a{letter}b", f"ab{letter}"):
            file = tmp_path / f"{number}" / name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(bytes(4096))
            places.append(file)
            words = ["--from", SAMPLE, "fiojob", "vm-disk1", "--target", str(file)]
            result = CliRunner().invoke(stackmap, words)
            assert (result.exit_code == 0) == (not {*" #;$"} & {*name}), name
            if result.exit_code == 0:
                (line,) = re.findall(r"(?m)^filename=.*", result.stdout)
                job += [f"[{len(job)}]", line]
    (tmp_path / "job").write_text("\n".join(job) + "\n")
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        ["fio", "../job"], cwd=tmp_path / "empty", capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path for path in tmp_path.rglob("*") if path.parent.name.isdigit()) == sorted(
        places
    )


def refused(path):
    """Return what is said of the file at *path* as a target."""
    words = ["--from", SAMPLE, "fiojob", "vm-disk1", "--target", str(path)]
    result = CliRunner().invoke(stackmap, words)
    assert isinstance(result.exception, TargetRefused), result.output
    assert result.stdout == ""
    return str(result.exception)


def test_a_file_that_somebody_writes_to_is_refused(tmp_path):
    """A process that has the file open for writing, by any path; a reader does not use it."""
    file, again = tmp_path / "busy", tmp_path / "again"
    file.write_bytes(bytes(4096))
    os.link(file, again)
    with file.open("r+b"):
        assert f"held open for writing by {_me()}" in refused(file)
        again.rename(tmp_path / "elsewhere")
    with file.open("rb"):
        printed("vm-disk1", "--target", str(file))


def test_a_path_that_is_none_is_nobodys(tmp_path):
    """A recording may say anything: a swap file with a NUL in its name is not the target."""
    file, capture = tmp_path / "file", tmp_path / "capture"
    file.touch()
    shutil.copytree(SAMPLE, capture)
    (capture / "proc" / "swaps").write_text(
        "Filename Type Size Used Priority\n/a\\000b file 1 0 -2\n"
    )
    words = ["--from", str(capture), "fiojob", "vm-disk1", "--target", str(file)]

    assert CliRunner().invoke(stackmap, words).exit_code == 0


def test_a_file_that_the_recorded_machine_swaps_to_is_refused(tmp_path):
    """Fio may be run there, where that path means what is in use."""
    file, capture = tmp_path / "file", tmp_path / "capture"
    file.touch()
    shutil.copytree(SAMPLE, capture)
    swaps = f"Filename Type Size Used Priority\n{file} file 1 0 -2\n"
    (capture / "proc" / "swaps").write_text(swaps)
    words = ["--from", str(capture), "fiojob", "vm-disk1", "--target", str(file)]

    assert "is swap space" in str(CliRunner().invoke(stackmap, words).exception)


def _me():
    return f"{Path('/proc/self/comm').read_text().strip()} ({os.getpid()})"


def test_a_link_to_a_file_of_the_systems_is_refused(tmp_path):
    """What is overwritten is what the link leads to."""
    (tmp_path / "link").symlink_to("/etc/passwd")

    assert "is a system file" in refused(tmp_path / "link")


def test_a_program_is_refused(tmp_path):
    """A test's file is not executed."""
    file = tmp_path / "program"
    file.write_bytes(bytes(512))
    file.chmod(0o755)

    assert "is executable" in refused(file)


def test_what_may_not_be_read_is_refused(tmp_path, monkeypatch):
    """A file with write but no read permission: its content is unknown without root."""
    file = tmp_path / "secret"
    file.write_bytes(b"QFI\xfb" + bytes(508))
    file.chmod(0o200)
    monkeypatch.setattr(target, "open", _denied, raising=False)

    assert "cannot be read (Permission denied), so its content is not known" in refused(file)


def _denied(path, _mode, **_words):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def test_an_image_of_a_guest_is_refused(tmp_path):
    """By its name, as Proxmox has it."""
    file = tmp_path / "vm-101-disk-3.raw"
    file.touch()

    assert "is the disk of guest 101" in refused(file)


# Where each format has its mark, by its own documents: the superblocks of file systems (ext4: 1024 + 0x38,
# btrfs: 64 KiB + 0x40), ECMA-119 (sector 16), UEFI (LBA 1), md's version 1.2, LVM's label, mkswap(8), POSIX pax.
MARKS = [
    (1024 + 0x38, b"\x53\xef", "ext4"),
    (64 * 1024 + 0x40, b"_BHRfS_M", "btrfs"),
    (16 * 2048 + 1, b"CD001", "ISO 9660"),
    (512, b"EFI PART", "partition table"),
    (512 - 2, b"\x55\xaa", "boot sector"),
    (512, b"LABELONE", "LVM"),
    (4096, (0xA92B4EFC).to_bytes(4, "little"), "md array"),
    (4096 - 10, b"SWAPSPACE2", "swap"),
    (257, b"ustar", "tar"),
    (0, b"LUKS\xba\xbe", "LUKS"),
    (0, b"XFSB", "XFS"),
    (0, b"QFI\xfb", "qcow2"),
]


@pytest.mark.parametrize(("place", "mark", "said"), MARKS, ids=[each[2] for each in MARKS])
def test_what_is_no_test_file_is_known_by_its_mark(place, mark, said):
    """At its place, and only there."""
    size = 1 << 20
    head = bytes(place) + mark + bytes(target.HEAD)
    assert said in target.not_a_test_file("/x", size, head[: target.HEAD], executable=False)
    for other in (place + 1, place + 512):
        moved = (bytes(other) + mark + bytes(target.HEAD))[: target.HEAD]
        assert target.not_a_test_file("/x", size, moved, executable=False) == ""


def test_what_a_file_holds_is_said_to_be_lost(tmp_path):
    """In the job, in JSON and on stderr; of a file that holds nothing, or is read alone, nothing is said."""
    full, hole = tmp_path / "full", tmp_path / "hole"
    full.write_bytes(bytes([7]) * 5120)
    with hole.open("wb") as file:
        file.truncate(1 << 20)
    said = f"{full} has 5120 bytes of data, which the job overwrites"
    words = ["--from", SAMPLE, "fiojob", "vm-disk1", "--target"]

    result = CliRunner().invoke(stackmap, [*words, str(full)])
    assert said in result.stdout.replace("\n# ", " ")
    assert f"stackmap: {said}\n" in result.stderr
    assert said in json.loads(printed("vm-disk1", "-J", "--target", str(full)))["notes"]
    assert "bytes of data" not in CliRunner().invoke(stackmap, [*words, str(hole)]).output


def test_a_job_that_only_reads_loses_nothing():
    """Then there is nothing to note."""
    load = loaded(Sizes({4096: 1}, SizeSource.ONE), rate=50.0)
    reading = replace(load, streams=(replace(load.streams[0], direction="read"),))

    assert job_of(load, "/x", notes=("lost",)).notes == ("lost",)
    assert job_of(reading, "/x", notes=("lost",)).notes == ()


def test_sizes_that_are_known_better():
    """Given, and said to be; the rate is the measured one."""
    text = printed("vm-disk1", "--sizes", "write=4k/70:64k/30")
    job = sections(text)["vghdd_vm-disk1-write"]

    assert (job["bssplit"], job["rate_iops"]) == ("4096/70:65536/30", "140")
    assert "as given by the user, not measured; their mean is 22.00 KiB" in text
    assert "140.30 writes/s, mean size 8.00 KiB" in text


def test_how_long_it_runs():
    assert "runtime=10\n" in printed("vm-disk1")
    assert "runtime=3\n" in printed("vm-disk1", "--runtime", "3")


@pytest.mark.parametrize(
    "words",
    [
        ["vm-disk1"],
        ["vm-disk1-r10"],
        ["sda"],
        ["vm-disk1", "--input", str(MEDUSA / "input" / "iostat-3.txt")],
    ],
    ids=" ".join,
)
def test_fio_takes_it(words, tmp_path):
    """Every job parses, by fio itself."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    file, target = tmp_path / "job.fio", tmp_path / "target"
    target.touch()
    where = str(MEDUSA) if "--input" in words else SAMPLE
    names = ["vm-disk1-r10", *words[1:]] if "--input" in words else words
    result = CliRunner().invoke(stackmap, ["--from", where, "fiojob", *names])
    file.write_text(result.stdout)
    done = subprocess.run(
        ["fio", "--parse-only", file],
        env={"TARGET": str(target), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.exit_code == 0, result.output
    assert (done.returncode, done.stderr) == (0, "")


def test_fio_makes_the_sizes_that_it_is_told(tmp_path):
    """Also sizes that are no multiples of the smallest, at the given rate; 10 % for chance."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    load = loaded(Sizes({20480: 750, 24576: 250}, SizeSource.MEANS), rate=300.0)
    target = tmp_path / "target"
    target.write_bytes(bytes(1 << 22))
    file = tmp_path / "job.fio"
    file.write_text(
        fiojob_text(job_of(load, str(target), runtime=2)).replace("direct=1", "direct=0")
    )
    done = subprocess.run(
        ["fio", "--output-format=json", f"--write_iolog={tmp_path}/log", file],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log").read_text().splitlines()
    sizes = Counter(int(line.split()[-1]) for line in log if " write " in line)

    assert set(sizes) == {20480, 24576}
    assert sizes[24576] / sizes.total() == pytest.approx(0.25, abs=0.05)
    assert sizes.total() == pytest.approx(600, rel=0.15)


def test_fio_makes_as_many_follow_as_it_is_told(tmp_path):
    """Of mixed sizes, too: the others go anywhere; a twentieth for chance."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    load = loaded(Sizes({4096: 80, 8192: 20}, SizeSource.TWO), rate=300.0, sequential=0.688)
    target, file = tmp_path / "target", tmp_path / "job.fio"
    target.write_bytes(bytes(1 << 22))
    file.write_text(
        fiojob_text(job_of(load, str(target), runtime=2)).replace("direct=1", "direct=0")
    )
    subprocess.run(
        ["fio", "--output-format=json", f"--write_iolog={tmp_path}/log", file],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    written = [(int(at), int(size)) for *_, what, at, size in lines if what == "write"]
    follow = sum(a + size == b for (a, size), (b, _) in pairwise(written))

    assert follow / len(written) == pytest.approx(0.688, abs=0.05)


def loaded(sizes, rate, sequential=0.0):
    stream = Stream("write", rate, sizes.mean, sizes, 1.0, AccessPattern(sequential, "drawn"))
    return JobLoad(LVS["vm"], (stream,), 0.0, "", None, 2.0, 20, ())


def test_all_of_a_text_is_looked_at(tmp_path):
    """Not only its first intervals, as many as are taken of a live machine."""
    counters = CapturedHost(SAMPLE).read("/proc/diskstats")
    text = tmp_path / "diskstats.txt"
    text.write_text(
        "".join(f"TS {1795257000 + second}.0 x\n{counters}" for second in range(100))
        + f"TS 1795257100.0 x\n{_with_writes(counters, 'dm-8', 4700)}"
    )

    job = printed("vm-disk1", "--input", str(text))

    assert sections(job)["vghdd_vm-disk1-write"]["rate_iops"] == "47"


def _with_writes(counters: str, name: str, writes: int) -> str:
    """Return *counters* after so many more writes of 4 KiB to *name*."""
    rows = [line.split() for line in counters.splitlines()]
    for row in rows:
        if row[2] == name:
            row[7], row[9] = str(int(row[7]) + writes), str(int(row[9]) + 8 * writes)
    return "".join(" ".join(row) + "\n" for row in rows)


def test_a_text_has_no_length_and_no_certain_sizes():
    """iostat's rates are rounded: the job runs a minute, and says that sizes are means."""
    text = str(MEDUSA / "input" / "iostat-3.txt")
    result = CliRunner().invoke(
        stackmap, ["--from", str(MEDUSA), "fiojob", "vm-disk1-r10", "--input", text, "-J"]
    )
    told = json.loads(result.stdout)

    assert told["seconds"] is None
    assert told["runtime"] == 60
    assert {stream["sizes_are"] for stream in told["streams"]} <= {"means", "one"}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["vm-disk1", "--target", "vm-disk1"], 3, "is, or is part of, the measured volume"),
        (["vm-disk1", "--target", "sda"], 3, "part of, the measured volume"),
        (["vm-disk1", "--target", "/dev/nothing"], 32, "no device named '/dev/nothing'"),
        (["vm-disk1", "--target", "./nothing"], 1, "no such file"),
        (["vm-disk1", "--target", "vghdd"], 2, "matches 2 devices"),
        (["vm-disk1", "--target", "/etc/passwd"], 3, "is a system file"),
        (["vm-disk1", "--target", str(ROOT / "run")], 3, "is a script"),
        (["vm-disk1", "--sizes", "4k/100"], 2, "read=SIZES or write=SIZES"),
        (["vm-disk1", "--sizes", "write=4k/50:8k/40"], 2, "sum up to 100"),
        (["vm-disk1", "--sizes", "write=100/100"], 2, "multiples of 512"),
        (["vm-disk1", "--sizes", "write=4k"], 2, "not a size with its share"),
        (["vghdd"], 2, "matches 2 devices"),
        (["vm-disk1", "vm-disk1-r10"], 2, "one NAME"),
        ([], 2, "missing NAME: which volume?"),
        (["nothing"], 32, "no device named 'nothing'"),
        (["fd0"], 1, "was idle"),
    ],
)
def test_refusals(words, status, said, monkeypatch):
    """One line, and a status that says which kind it is."""
    arguments = ["--from", SAMPLE, "fiojob", *words]
    monkeypatch.setattr("sys.argv", ["stackmap", *arguments])
    result = CliRunner().invoke(_Main(main), arguments)

    assert said in result.output
    assert result.exit_code == status
    assert "[global]" not in result.output


def test_a_file_that_is_no_multiple_of_a_sector_is_refused(tmp_path, monkeypatch):
    target = tmp_path / "target"
    target.write_bytes(bytes(1000))
    arguments = ["--from", SAMPLE, "fiojob", "vm-disk1", "--target", str(target)]
    monkeypatch.setattr("sys.argv", ["stackmap", *arguments])
    result = CliRunner().invoke(_Main(main), arguments)

    assert "not a multiple of 512" in result.output
    assert result.exit_code == 3


def test_no_name_ends_a_comment():
    """A volume whose name would be an option on a line of its own: the job has no such line."""
    device = LVS["vm"]._replace(label="x\n[global]\nexec_prerun=reboot\n#")
    load = replace(loaded(Sizes({4096: 1}, SizeSource.ONE), rate=50.0), device=device)
    job = sections(fiojob_text(job_of(load)))

    assert job.sections() == ["global", "x__global__exec_prerun_reboot__-write"]
    assert "exec_prerun" not in {option for each in job.values() for option in each}


def used(**changes):
    devices = [
        device._replace(**changes) if device.name == "other" else device
        for device in LVS.devices.values()
    ]
    return Topology(devices, LVS.edges)


@pytest.mark.parametrize(
    ("how", "who", "said"),
    [
        ("mount", "/srv", "mounted at /srv"),
        ("swap", "[SWAP]", "swap space"),
        ("vm", "web1", "disk of web1"),
        ("pv", "[LVM PV]", "physical volume"),
        ("md", "[md member]", "member of an md array"),
        ("zfs", "[ZFS tank]", "used by [ZFS tank]"),
    ],
)
def test_whoever_uses_a_device_keeps_it(how, who, said):
    assert said in in_use(used(uses=(Use(how, who, "told"),)), "other")


def test_what_is_no_device_for_a_test():
    """Held from above, a part of another, read-only."""
    assert "is used by" in in_use(LVS, "sda")
    assert in_use(LVS, "vm_rimage_0")
    assert "read-only" in in_use(used(read_only=True), "other")
    assert in_use(LVS, "other") == ""


def test_the_source_is_no_target():
    """Nor what it stands on; another volume on the same disks is well."""
    assert is_source(LVS, "vm", "vm")
    assert is_source(LVS, "vm", "sda")
    assert not is_source(LVS, "vm", "other")


@pytest.mark.parametrize(("writes", "said"), [(0.0, "vm was idle"), (31.0, "vm moved no data")])
def test_a_load_without_data_has_no_job(writes, said):
    """Empty flushes are counted as writes; the input has directions."""
    taking = LoadMeasurement(LVS, "vm")
    taking.add(Interval({"vm": moved(None, did(writes, 0.0))}, 1000.0, 1.0))

    with pytest.raises(InputError, match=f"^{said}: there is no load to reproduce$"):
        taking.result()


def test_a_text_without_directions_has_no_job():
    """sar has no requests of reads and of writes: it says so, and what to use."""
    medusa = ROOT / "sample_topologies" / "raid5-raid10-medusa"
    text = medusa / "input" / "sar-1420.txt"
    result = CliRunner().invoke(
        stackmap, ["--from", str(medusa), "fiojob", "vm-disk1", "--input", str(text)]
    )

    assert isinstance(result.exception, InputError), result.output
    assert NO_DIRECTIONS in str(result.exception)
