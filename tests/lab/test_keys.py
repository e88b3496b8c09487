"""No key that the kernel holds is in anything that stackmap prints or writes."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.lab("all")

# By the volume: of a table made by hand, and the three of dm-integrity. Those of LUKS are random.
# inlinecrypt is no part of Debian's kernels: its key is looked for where its module was loaded.
INLINE = "facade42" * 16
KEYS = {"raw": ("c0ffee11" * 8,), "signed": ("6b" * 32, "6d" * 32, "6a" * 32)}
COMMANDS = (
    "tree",
    "check",
    "explain",
    "blame",
    "iostat",
    "graphml",
    "report",
    "export",
    "trace",
    "record",
    "annotate",
)


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("keys", kernel=kernel, disks=5, timeout=900, thread="single")


@pytest.fixture(scope="module")
def keys(out):
    """All keys that dmsetup shows; of each volume with one, they are there."""
    lines = dict(line.split(": ", 1) for line in (out / "shown").read_text().splitlines())
    (luks,) = re.findall(r" crypt aes-xts-plain64 ([0-9a-f]{128}) ", lines["luks"])
    (authentic,) = re.findall(r" crypt \S+ ([0-9a-f]{192}) ", lines["authentic"])
    assert all(key in lines[name] for name, planted in KEYS.items() for key in planted)
    assert ":logon:cryptsetup:" in lines["ring"]
    assert "inline" not in lines or INLINE in lines["inline"]
    return [
        INLINE,
        luks,
        authentic,
        authentic[:128],
        authentic[128:],
        *KEYS["raw"],
        *KEYS["signed"],
    ]


def test_no_key_is_written(out, keys):
    """Not by a command, in no capture, and not from a text or a capture that has them."""
    files = [path for path in (out / "written").iterdir() if path.is_file()]
    texts = {path.name: path.read_bytes() for path in files}

    assert {"report.html", "export.om", "rec.plain", "new.plain"} < texts.keys()
    assert not [(name, key) for name, text in texts.items() for key in keys if key.encode() in text]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_did_its_work(out, command):
    status = (out / "written" / f"{command}.status").read_text().strip()

    assert status == "0", (out / "written" / f"{command}.txt").read_text()


def test_the_mask_is_dmsetups(out):
    """Line by line; the description of a key in the kernel's keyring stays."""
    recorded = (out / "written" / "rec.plain").read_bytes().decode(errors="replace")

    for line in (out / "masked").read_text().splitlines():
        assert f"{line.rstrip()}\n" in recorded.replace(" \n", "\n")


def test_a_capture_with_keys_is_reported_and_rewritten(out):
    """As critical, with each volume that has one; the new capture shows the same stacks."""
    written = out / "written"
    said = (written / "old-check.txt").read_text()

    assert (written / "old-check.status").read_text().strip() == "11"
    with_key = {"raw", "luks", "authentic", "signed"} | ({"inline"} if _has_inline(out) else set())
    assert set(re.findall(r"contains a key of (\S+)", said)) == with_key
    assert "stackmap --from /tmp/old record NEW" in " ".join(said.split())
    assert "cryptsetup reencrypt /dev/sdc" in " ".join(said.split())
    assert "SM931" not in (written / "new-check.txt").read_text()
    assert (written / "new-tree.txt").read_text() == (written / "old-tree.txt").read_text()


def _has_inline(out):
    return "\ninline: " in f"\n{(out / 'shown').read_text()}"
