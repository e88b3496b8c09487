"""Trees that stand for a machine: nothing in them leads out."""

import io
import os
import tarfile

import pytest

from stackmap.errors import CaptureError, SourceDenied, SourceMissing
from stackmap.host.archive_tree import ArchiveTree
from stackmap.host.budget import Budget
from stackmap.host.file_tree import DirectoryTree, open_tree


def tar_of(path, members):
    """Write a tar of (TarInfo, content) to *path*."""
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return str(path)


def file(name, content=b"x"):
    return tarfile.TarInfo(name), content


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def test_a_tar_and_its_directory_answer_alike(tmp_path):
    """Files, listings and links, through a link as sysfs has them."""
    path = tar_of(
        tmp_path / "c.tgz",
        [
            file("./sys/devices/virtual/block/dm-0/size", b"17\n"),
            link("./sys/block/dm-0", "../devices/virtual/block/dm-0"),
            file("./proc/diskstats", b"19\n"),
        ],
    )
    for name, content in (
        ("sys/devices/virtual/block/dm-0/size", "17\n"),
        ("proc/diskstats", "19\n"),
    ):
        (tmp_path / "d" / name).parent.mkdir(parents=True)
        (tmp_path / "d" / name).write_text(content)
    (tmp_path / "d/sys/block").mkdir()
    (tmp_path / "d/sys/block/dm-0").symlink_to("../devices/virtual/block/dm-0")

    for tree in (ArchiveTree.load(path, Budget("c")), DirectoryTree(str(tmp_path / "d"))):
        assert tree.read("/sys/block/dm-0/size") == b"17\n"
        assert tree.names("/sys/block/dm-0") == ["size"]
        assert sorted(tree.names("/")) == ["proc", "sys"]
        assert tree.link("/sys/block/dm-0") == "../devices/virtual/block/dm-0"
        for question in (tree.read, tree.names, tree.link):
            with pytest.raises(SourceMissing):
                question("/sys/block/dm-1")


def test_the_folder_that_a_tar_was_made_with_is_left_out(tmp_path):
    """`tar cz host-1/` holds the machine one folder down."""
    path = tar_of(
        tmp_path / "c.tgz", [file("host-1/proc/diskstats"), file("host-1/sys/block/sda/size")]
    )

    assert open_tree(path, Budget("c")).read("/proc/diskstats") == b"x"


@pytest.mark.parametrize(
    "member",
    [
        file("/etc/passwd"),
        file("proc/../../etc/passwd"),
        link("sys/out", "/etc"),
        link("sys/out", "../../etc"),
        link("sys/hard", "proc/diskstats", tarfile.LNKTYPE),
        link("dev/sda", "", tarfile.BLKTYPE),
        link("dev/pipe", "", tarfile.FIFOTYPE),
    ],
    ids=lambda m: f"{m[0].name} {m[0].linkname}",
)
def test_a_hostile_tar_is_refused(tmp_path, member):
    """Nothing outside the capture, no link that leads out, no device."""
    path = tar_of(tmp_path / "c.tgz", [file("proc/diskstats"), member])

    with pytest.raises(CaptureError, match="refused"):
        open_tree(path, Budget("c"))


def test_a_bomb_is_refused_by_its_headers(tmp_path, monkeypatch):
    """The size that members claim counts, before anything is read."""
    monkeypatch.setattr("stackmap.host.budget.MAX_MEMORY", 1000)
    path = tar_of(tmp_path / "c.tgz", [file("proc/diskstats", b"0" * 1001)])

    with pytest.raises(CaptureError, match=r"refused: needs more than .* unpack it"):
        open_tree(path, Budget("c"))


def test_a_name_of_any_length_is_refused(tmp_path):
    """40,000 folders in 300 bytes of gzip: a name is no longer than PATH_MAX."""
    path = tar_of(tmp_path / "c.tgz", [file("a/" * 40_000 + "b")])

    with pytest.raises(CaptureError, match="refused"):
        open_tree(path, Budget("c"))


def test_a_header_of_any_length_is_refused(tmp_path):
    """A pax header is read before its member is seen: it has a limit of its own."""
    info, content = file("proc/diskstats")
    info.pax_headers = {"comment": "x" * 200_000}
    path = tar_of(tmp_path / "c.tgz", [(info, content)])

    with pytest.raises(CaptureError, match="refused: a header of"):
        open_tree(path, Budget("c"))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("packing", ["", "gz", "bz2", "xz"])
def test_each_form_of_a_tar_is_read(tmp_path, form, packing):
    """Long names, names that are not ASCII, folders, and content after skipped members."""
    name = "proc/" + "n" * 70 + "/" + "m" * 90
    with tarfile.open(tmp_path / "c.tar", f"w:{packing}", format=form) as archive:
        for info, content in (
            file("var/log/huge", b"z" * 700),
            file("other/huge", b"z" * 1400),
            file(name, b"23\n"),
            file("sys/é", b"29\n"),
            link("sys/l", "é"),
        ):
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    tree = open_tree(str(tmp_path / "c.tar"), Budget("c"))

    assert tree.read("/" + name) == b"23\n"
    assert tree.read("/sys/l") == b"29\n"
    assert sorted(tree.names("/")) == ["proc", "sys"]


def test_a_damaged_tar_says_so(tmp_path):
    """Cut in the middle, empty, or no tar at all: one line that names the file."""
    whole = tmp_path / "whole.tgz"
    tar_of(whole, [file("proc/diskstats", bytes(range(256)) * 500), file("sys/block/x")])
    for name, content in {
        "cut": whole.read_bytes()[:200],
        "empty": b"",
        "text": b"Device r/s w/s\n" * 99,
    }.items():
        path = tmp_path / name
        path.write_bytes(content)

        with pytest.raises(CaptureError, match=name):
            open_tree(str(path), Budget("c"))


def test_the_root_of_this_machine_is_a_tree():
    assert DirectoryTree("/").read("/proc/version").startswith(b"Linux version")


def test_a_link_in_a_directory_is_not_followed_out(tmp_path):
    """A link in a capture on disk may lead out of it; it is not followed."""
    (tmp_path / "secret").write_text("secret")
    capture = tmp_path / "capture"
    capture.mkdir()
    (capture / "proc").symlink_to(tmp_path)

    with pytest.raises(CaptureError, match="a link out of the capture"):
        DirectoryTree(str(capture)).read("/proc/secret")


@pytest.mark.parametrize("swap", ["file", "directory", "pipe"])
def test_a_file_that_is_swapped_after_the_check_is_not_read(tmp_path, monkeypatch, swap):
    """Another user may still write to the capture."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "version").write_text("secret")
    proc = tmp_path / "capture" / "proc"
    proc.mkdir(parents=True)
    (proc / "version").write_text("x")
    real_path = os.path.realpath

    def swapped(path):
        found = real_path(path)
        if found != str(proc.parent):
            if swap == "directory":
                proc.rename(tmp_path / "moved")
                proc.symlink_to(tmp_path / "secret")
            else:
                (proc / "version").unlink()
            if swap == "file":
                (proc / "version").symlink_to(tmp_path / "secret" / "version")
            if swap == "pipe":
                os.mkfifo(proc / "version")
        return found

    tree = DirectoryTree(str(proc.parent))
    monkeypatch.setattr(os.path, "realpath", swapped)
    with pytest.raises((CaptureError, SourceDenied), match=r"link|plain file"):
        tree.read("/proc/version")


def test_a_listing_of_a_tar_has_each_name_once(tmp_path):
    """Also names that sort before or after the slash of others."""
    names = ["a", "a-b", "a.c", "a0", "b", "é"]
    paths = [f"sys/{name}/{each}" for name in names for each in ("x", "y/z")] + ["sys/a!"]
    tree = open_tree(
        tar_of(tmp_path / "c.tgz", [file(path) for path in ("proc/x", *paths)]), Budget("c")
    )

    assert sorted(tree.names("/sys")) == sorted([*names, "a!"])
    assert sorted(tree.names("/sys/a")) == ["x", "y"]
    assert sorted(tree.names("/")) == ["proc", "sys"]
    with pytest.raises(SourceMissing):
        tree.names("/sys/a!")


def test_a_pipe_is_no_capture(tmp_path):
    """It is not waited for."""
    os.mkfifo(tmp_path / "pipe.tar")

    with pytest.raises(CaptureError, match=r"pipe\.tar"):
        open_tree(str(tmp_path / "pipe.tar"), Budget("c"))


def test_an_archive_through_a_pipe_says_what_to_do():
    """It is read at more than one place."""
    reader, writer = os.pipe()
    os.close(writer)
    try:
        with pytest.raises(CaptureError, match="is a pipe; save the archive as a file first"):
            open_tree(f"/dev/fd/{reader}", Budget("c"))
    finally:
        os.close(reader)


def test_links_in_a_circle_end(tmp_path):
    """A circular link is reported as missing."""
    path = tar_of(tmp_path / "c.tgz", [file("proc/x"), link("sys/a", "b"), link("sys/b", "a")])

    with pytest.raises(SourceMissing):
        open_tree(path, Budget("c")).read("/sys/a")
