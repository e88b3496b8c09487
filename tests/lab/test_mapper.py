"""Device-mapper by ioctl: what dmsetup prints, of every kind of device, and never a key."""

from __future__ import annotations

import tarfile

import pytest

from stackmap.sources.lvm_names import unmangle

pytestmark = pytest.mark.lab("all")

KEYS = ("c0ffee", "6b" * 32)  # of dm-crypt, and of dm-integrity


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("mapper", kernel=kernel, disks=5, timeout=600)


def lines(path):
    r"""Return the lines with plain names: dmsetup prints "a b" where sysfs and the ioctl have "a\\x20b"."""
    return sorted(unmangle(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize("question", ["table", "status", "info"])
@pytest.mark.parametrize("asked", ["ioctl", "again"])
def test_the_text_is_dmsetups(out, question, asked):
    """Line by line, with the same mask; dmsetup lists by name."""
    assert lines(out / f"dmsetup.{question}") == lines(out / f"{asked}.{question}")
    assert (out / f"{asked}.by-ioctl").read_text() == "True"


def test_no_key_is_recorded(out):
    with tarfile.open(out / "rec.tar") as recorded:
        packed = recorded.extractfile("rec/answers.tar.gz")
        assert packed
        with tarfile.open(fileobj=packed) as answers:
            files = [answers.extractfile(member) for member in answers]
            texts = [file.read().decode(errors="replace") for file in files if file]
    texts += [
        file.read_text() for file in out.glob("*.*") if file.name[:7] in ("ioctl.t", "again.t")
    ]

    assert any(" crypt " in text for text in texts)
    assert any("hmac(sha256)" in text for text in texts)
    assert not [key for key in KEYS for text in texts if key in text]


def test_no_child_is_left(out):
    assert (out / "left-processes").read_text().strip() == "0"
