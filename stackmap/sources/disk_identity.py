"""
``/sys/block/*/device``: model, serial, WWN and state of a disk.

SCSI cuts a model to 16 characters; ATA disks have longer names, which udev
knows. A serial is on VPD page 0x80, after four bytes.
"""

from stackmap.host import Host
from stackmap.sources import sysfs
from stackmap.sources.lvm_names import unmangle
from stackmap.sources.sysfs import Block, attribute, list_names

LIVE = ("running", "live")  # of SCSI and NVMe
OPTIMIZED = "optimized"
_UNPRINTED = "".join(map(chr, range(33)))

# Properties with a serial, in lsblk's order: SCSI's is printed on the disk, ID_SERIAL_SHORT may be a WWN.
SERIALS = ("SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT")


def identity(host: Host, block: Block) -> tuple[str, str, str]:
    """
    Return the model, serial and WWN of *block*, "" if unknown.

    udev is asked only where it knows more, because it costs a file per disk: for
    SCSI disks, and where sysfs has nothing (a partial copy of it).
    """
    path = f"{block.path}/device"
    entries = frozenset(list_names(host, path)) if "device" in block.entries else frozenset()

    def ask(name: str) -> str:
        return " ".join(attribute(host, f"{path}/{name}").split()) if name in entries else ""

    def ask_block(name: str) -> str:
        return attribute(host, f"{block.path}/{name}") if name in block.entries else ""

    vendor, model = ask("vendor"), ask("model") or ask("name")
    serial = ask("serial") or ask_block("serial") or _vpd_serial(host, path, entries)
    scsi = block.name.startswith("sd") and (not serial or vendor == "ATA")
    if scsi or ("device" in block.entries and not entries - {"block"}):
        named, numbered = _by_udev(sysfs.udev_properties(host, block.number))
        model, serial = named or model, numbered or serial
        vendor = "" if named else vendor
    # virtio's vendor is only a number.
    if not vendor.startswith("0x") and not model.startswith(vendor):
        model = f"{vendor} {model}".strip()
    return model, serial, wwn(ask_block("wwid") or ask("wwid"))


def state(host: Host, block: Block) -> str | None:
    """
    Return "active", or the state that the driver reports; None if it reports none.

    The path of an NVMe disk has a state of its own (ANA), if its controller works: "non-optimized"
    where the disk answers more slowly, "inaccessible" where it does not.
    """
    if "device" not in block.entries:
        return None
    record = attribute(host, f"{block.path}/device/state")
    if record in LIVE and "ana_state" in block.entries:
        record = attribute(host, f"{block.path}/ana_state")
    return "active" if record in (*LIVE, OPTIMIZED) else record or None


def controller(host: Host, block: Block) -> dict[str, str]:
    """Return where the controller of an NVMe path is: its transport and its address, as far as they are known."""
    facts = {"transport": attribute(host, f"{block.path}/device/transport")}
    facts["address"] = nvme_address(attribute(host, f"{block.path}/device/address"))
    return {key: value for key, value in facts.items() if value}


def nvme_address(text: str) -> str:
    """
    Return the address in what the kernel prints of a controller: host and port, of Fibre Channel the port's name.

    >>> nvme_address("traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.1"), nvme_address("0000:3b:00.0")
    ('192.0.2.7:4420', '0000:3b:00.0')
    >>> nvme_address("traddr=nn-0x20000090fa942779:pn-0x10000090fa942779,host_traddr=nn-0x1:pn-0x2")
    'pn-0x10000090fa942779'
    """
    words = dict(word.split("=", 1) for word in text.split(",") if "=" in word)
    place, port = words.get("traddr", text), words.get("trsvcid", "")
    if place.startswith("nn-"):
        return place.rpartition(":")[2]
    place = f"[{place}]" if port and ":" in place else place
    return f"{place}:{port}" if port else place


def wwn(wwid: str) -> str:
    """
    Return the World Wide Name in a kernel's *wwid*, as udev writes it.

    >>> wwn("naa.5000c500a1b2c3d4")
    '0x5000c500a1b2c3d4'
    """
    return "0x" + wwid.removeprefix("naa.") if wwid.startswith("naa.") else wwid


def _by_udev(record: dict[str, str]) -> tuple[str, str]:
    r"""
    Return model and serial from udev's properties.

    In the ``_ENC`` property special characters are ``\xNN``; in the others they are underscores.
    """
    model = unmangle(record.get("ID_MODEL_ENC", "")) or record.get("ID_MODEL", "")
    return model.strip(), next((record[key] for key in SERIALS if record.get(key)), "")


def _vpd_serial(host: Host, path: str, entries: frozenset[str]) -> str:
    if "vpd_pg80" not in entries:
        return ""
    # 00 80, two bytes of length, the serial; byte 80 is not UTF-8, so it is spelled ``\x80``.
    return attribute(host, f"{path}/vpd_pg80").partition(r"\x80")[2][2:].strip(_UNPRINTED)
