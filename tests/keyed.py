"""A machine with a key in the table of each kind of target."""

from __future__ import annotations

from tests.machine import DrawnHost, block, lvm_uuid, mapped

# No two have a piece in common, so that any piece of a key can be looked for.
KEYS = {
    "crypt": "c1" * 32,
    "inlinecrypt": "c2" * 32,
    "default-key": "c3" * 32,
    "internal_hash": "c4" * 32,
    "journal_crypt": "c5" * 32,
    "journal_mac": "c6" * 32,
    "hexadecimal": "C7" * 16,
    "base64": "u8Qx/Zp+4mVtL0sK9dYwB3hNcR7eJfTa2GiXoU5yMbE=",
    "base64url": "k5Wq-Zr_8nHsP2vD6gLxC1jMyT4aBfUe9KiVoQ7tRwX",
    "in an option": "d1" * 20,
}
PIECE = 10  # characters
RING = ":64:logon:cryptsetup:1ad3a5c1-5d4a-4e0c-9f43-2f0c6ca1b0f7-d0"
SIZE = 4096
TARGETS = {
    "secret": f"crypt aes-xts-plain64 {KEYS['crypt']} 0 8:0 32768 1 allow_discards",
    "inline": f"inlinecrypt aes-xts-plain64 {KEYS['inlinecrypt']} 0 8:16 2048",
    "android": f"default-key aes-xts-plain64 {KEYS['default-key']} 0 8:32 11 2 allow_discards",
    "signed": (
        f"integrity 8:48 17 32 J 4 journal_sectors:88 internal_hash:hmac(sha256):{KEYS['internal_hash']} "
        f"journal_crypt:ctr(aes):{KEYS['journal_crypt']} journal_mac:hmac(sha256):{KEYS['journal_mac']}"
    ),
    "new": (
        f"novel 8:64 {KEYS['hexadecimal']} {KEYS['base64']} {KEYS['base64url']} "
        f"key={KEYS['in an option']} 18446744073709551615"
    ),
    "ring": f"crypt aes-xts-plain64 {RING} 0 8:80 4096",
    "plain": "linear 8:80 2048",
}
WITH_KEY = ("secret", "inline", "android", "signed", "new")
LINES = {name: f"{name}: 0 {SIZE} {words}\n" for name, words in TARGETS.items()}
TABLE = "".join(LINES.values())
STATUS = "".join(f"{name}: 0 {SIZE} {words.split()[0]} \n" for name, words in TARGETS.items())
DISKS = "abcdef"
IOSTAT = """Linux 6.1.0 (host)  11/23/2026

Device            r/s     rkB/s     w/s     wkB/s  aqu-sz  %util
sda              7.00     28.00   11.00     44.00    0.10   3.00
dm-0             7.00     28.00   11.00     44.00    0.10   3.00
"""


def keys_in(text: str) -> list[str]:
    """The targets of which *text* has a piece of the key."""
    return [
        name
        for name, key in KEYS.items()
        if any(key[at : at + PIECE] in text for at in range(len(key) - PIECE + 1))
    ]


class Machine(DrawnHost):
    """Six disks, a mapped device of each kind, and two samples; unlike a live host it masks nothing."""

    def __init__(self, tables: tuple[str, ...] = (TABLE,)) -> None:
        files = {"/proc/sys/kernel/hostname": "host\n", "/proc/sys/kernel/osrelease": "6.1.0\n"}
        for number, letter in enumerate(DISKS):
            files |= block(f"sd{letter}", f"8:{16 * number}", 1 << 20)
        for number, (name, words) in enumerate(TARGETS.items()):
            disk = next(word for word in words.split() if word.startswith("8:"))
            below = f"sd{DISKS[int(disk[2:]) // 16]}"
            uuid = lvm_uuid(1) if name == "plain" else ""
            files |= mapped(number, name, uuid, SIZE, below=(below,))
        super().__init__(files, {"dmsetup table": tables[0], "dmsetup status": STATUS})
        self._tables = tables
        self._count(1)

    def ticks(self, _, count):
        for number, table in enumerate((*self._tables, self._tables[-1])[: count or None]):
            self.commands = self.commands | {"dmsetup table": table}
            self._count(1000 * (number + 1))
            yield 1763600400.0 + number

    def _count(self, done):
        devices = [f"8 {16 * n} sd{letter}" for n, letter in enumerate(DISKS)]
        devices += [f"254 {number} dm-{number}" for number in range(len(TARGETS))]
        numbers = " ".join([str(done)] * 8 + ["0"] + [str(done)] * 2)
        self.files["/proc/diskstats"] = "".join(f" {name} {numbers}\n" for name in devices)
