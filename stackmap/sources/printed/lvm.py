"""
LVM's reports: pvs, vgs and lvs with any columns, as tables, with a separator or as JSON; pvdisplay, vgdisplay, lvdisplay.

An LV uses the devices of the column Devices, ``/dev/sda1(0),/dev/sdb1(0)``; sub-LVs have the same form.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackmap.model.lv_health import HEALTH
from stackmap.sources.lvm_names import owner_of
from stackmap.sources.lvm_report import escaped
from stackmap.sources.printed.columns import cells, objects, size_of, tree_of, words_of
from stackmap.sources.printed.facts import NUMBER, Fact, of_path, volume

COLUMNS = frozenset(
    "LV VG PV Attr LSize PSize VSize VFree PFree Pool Origin Data% Meta% Snap% Move Log Cpy%Sync Copy% Convert Devices #PV #LV #SN #Str #Seg Type Stripe"  # noqa: SIM905 - a table of words
    " Stripes Start SSize Start# PE Ranges LE Fmt DevSize Used PV_UUID Ext #Ext VG_UUID LV_UUID Region Chunk KMaj KMin Path DMPath PE Alloc Free"
    " Layout Role CacheMode Health Metadata% UUID VPrefixUUID Tags".split()
)
_SIZE = re.compile(r"<?\d{1,20}(?:[.,]\d+)?[bBsSkKmMgGtTpPeE]?|0 ?")
_LV = re.compile(r"\[?[\w+.][\w+.-]*\]?")
SEGTYPE = re.compile(
    r"linear|striped|raid\d+(?:_[a-z0-9_]+)?|mirror|thin(?:-pool)?|cache(?:-pool|\+\w+)?|writecache(?:\+\w+)?|snapshot|error|zero|free|vdo(?:-pool)?|integrity"
)
_DEVICES = re.compile(r"\S+\(\d+\)(?:, ?\S+\(\d+\))*")
_PERCENT, _WHOLE = re.compile(r"\d{1,3}[.,]\d+"), re.compile(r"\d{1,15}")
FORMS = {
    "LV": _LV, "VG": _LV, "PV": re.compile(r"/dev/\S+|\[?unknown(?: device)?\]?|\S+"), "Attr": re.compile(r"[a-zA-Z0-9-]{3,10}"), "Fmt": re.compile(r"lvm\d"),
    "Pool": _LV, "Origin": _LV, "Type": SEGTYPE, "Devices": _DEVICES,
    "Data%": _PERCENT, "Meta%": _PERCENT, "Cpy%Sync": _PERCENT, "Snap%": _PERCENT, "Copy%": _PERCENT,
    **dict.fromkeys(("LSize", "PSize", "VSize", "VFree", "PFree", "SSize", "Stripe", "Region", "DevSize", "Used"), _SIZE),
    **dict.fromkeys(("#PV", "#LV", "#SN", "#Str", "#Seg", "Stripes", "KMaj", "KMin"), re.compile(r"-?\d{1,9}")),
    "Start": re.compile(r"\d{1,15}[a-zA-Z]?"),
}  # fmt: skip
# By the name of a field in JSON and in -o.
FIELDS = {
    "lv_name": "LV", "vg_name": "VG", "pv_name": "PV", "lv_size": "LSize", "segtype": "Type", "stripes": "#Str",
    "stripe_size": "Stripe", "stripesize": "Stripe", "devices": "Devices", "pool_lv": "Pool", "origin": "Origin",
    "lv_attr": "Attr", "data_percent": "Data%", "snap_percent": "Snap%", "metadata_percent": "Meta%", "pv_size": "PSize", "pv_fmt": "Fmt", "lv_kernel_major": "KMaj", "lv_kernel_minor": "KMin", "lv_dm_path": "DMPath",
}  # fmt: skip


_TWO_WORDS = re.compile(r"\b([LPV]V|VG) (UUID|Tags|SysID)\b")
_HEADING = re.compile(r"[#A-Z][\w#%/]*")
_SEPARATOR = re.compile(r"[|,;:]")  # of --separator
_PREFIXED = re.compile(r"LVM2_([A-Z_]{2,40})='([^']{0,4000})'")
PREFIXED_ROW = re.compile(r"\s*LVM2_[A-Z_]{2,40}='[^']*'\W*(?:LVM2_[A-Z].*)?")


def is_heading(line: str) -> bool:
    """Whether *line* heads a report of lvs, pvs or vgs; LVM has some 200 columns, of which half may be others."""
    words = re.split(rf"\s*{_SEPARATOR.pattern}\s*|\s+", _joined(line).strip())
    known = len(COLUMNS.intersection(words))
    return (
        not {"LV", "PV", "VG"}.isdisjoint(words[:3])
        and known >= max(3, len(words) / 2)
        and all(map(_HEADING.fullmatch, words))
    )


def _joined(heading: str) -> str:
    """Return a line of headings with those of two words made one, at the same places."""
    return _TWO_WORDS.sub(r"\1_\2", heading)


def read(lines: list[str]) -> Iterator[Fact]:
    """Yield the facts of a table."""
    first = _joined(lines[0])
    heading = words_of(first)
    parted = _SEPARATOR.search(first)
    names = [name.strip() for name in first.split(parted[0])] if parted else []
    rows: list[Mapping[str, str]] = []
    for line in lines[1:]:
        if not line.strip():
            continue
        if parted:
            # The devices of an LV may have the separator between them.
            split = line.split(parted[0], len(names) - 1)
            row: Mapping[str, str] | None = None
            if names[-1] == "Devices" or parted[0] not in split[-1]:
                row = dict(zip(names, map(str.strip, split), strict=False))
        else:
            row = cells(heading, line, FORMS)
        if row is None or not _is_row(row):
            if rows:
                break
            continue
        rows.append(row)
    yield from report(rows)


def _is_row(row: Mapping[str, str]) -> bool:
    """Whether the row has what each row of such a report has."""
    attributes = re.fullmatch(r"[a-zA-Z0-9-]{3,10}", row.get("Attr", "---"))
    sized = any(_SIZE.fullmatch(row.get(name, "")) for name in ("LSize", "PSize", "VSize", "SSize"))
    return bool(attributes) and (sized or "Devices" in row or "Type" in row)


def read_prefixed(lines: list[str]) -> Iterator[Fact]:
    """Yield the facts of ``--nameprefixes``."""
    for line in lines:
        fields = ((FIELDS.get(key.lower()), value) for key, value in _PREFIXED.findall(line))
        yield from report([{key: value.strip() for key, value in fields if key and value}])


def read_json(text: str) -> Iterator[Fact]:
    """Yield the facts of ``--reportformat json``, of lvs, pvs, vgs or lvm fullreport."""
    for part, _ in tree_of(escaped(text), "report"):
        names = [str(row["vg_name"]) for row in objects(part.get("vg")) if row.get("vg_name")]
        group = names[0] if names else ""
        for kind in ("pv", "lv", "seg"):
            rows = (
                {FIELDS[key]: _cell(value) for key, value in row.items() if key in FIELDS}
                for row in objects(part.get(kind))
            )
            yield from report({"VG": group, **row} if group else row for row in rows)


def _cell(value: object) -> str:
    """Return a value of JSON as the table has it; json_std has numbers, lists and null."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def report(rows: Iterable[Any]) -> Iterator[Fact]:
    """Yield the facts in *rows*, by the headings of LVM."""
    volumes: dict[tuple[str, str], Mapping[str, str]] = {}
    for row in rows:
        if pv := row.get("PV", ""):
            # pvs -a has the devices that are no PVs, too.
            if pv.startswith("/dev/") and (row.get("VG") or row.get("Fmt")):
                yield Fact(of_path(pv), "udev:ID_FS_TYPE", "LVM2_member")
                yield Fact(of_path(pv), "pv of", row.get("VG", ""))
            continue
        name, group = row.get("LV", ""), row.get("VG", "")
        if name and group and "/" not in name:
            volumes[group, name] = row
            yield from _volume(volume(group, name), group, row)
    yield from _sub_lvs(volumes)


def _sub_lvs(volumes: Mapping[tuple[str, str], Mapping[str, str]]) -> Iterator[Fact]:
    """Yield the hidden LVs, in brackets, that the devices of other *volumes* lie on, where no column has these."""
    if any("Devices" in row for row in volumes.values()):
        return
    for (group, name), row in volumes.items():
        owner = owner_of(name[1:-1]) if name[0] + name[-1] == "[]" else ""
        whole = volumes.get((group, owner)) or volumes.get((group, f"[{owner}]"))
        if whole is not None and _is_active(row) and _is_active(whole):
            above = volume(group, owner) + DEVICE_OF_POOL.get(_kind_of(whole), "")
            yield Fact(above, "on", volume(group, name))


def _is_active(row: Mapping[str, str]) -> bool:
    return row.get("Attr", "")[STATE : STATE + 1] == "a"


def _kind_of(row: Mapping[str, str]) -> str:
    """Return the segment type of an LV, "" if the row does not tell."""
    attributes, kind = row.get("Attr", ""), row.get("Type", "")
    is_other_virtual = attributes.startswith("v") and not row.get("Pool")  # VDO has a pool
    return kind if kind or is_other_virtual else SEGTYPES.get(attributes[:1], "")


def _volume(ref: str, group: str, row: Mapping[str, str]) -> Iterator[Fact]:
    attributes, kind = row.get("Attr", ""), _kind_of(row)
    is_vdo_pool = kind == "vdo-pool"  # its own LV is never active; the device below its volumes is
    if len(attributes) > STATE and attributes[STATE] != "a" and not is_vdo_pool:
        return  # not active: no device
    if not attributes and (kind == "cache-pool" or ref.endswith("_pmspare")):
        return  # never active
    ref += DEVICE_OF_POOL.get(kind, "")
    yield Fact(ref, "dm/uuid", "LVM-")
    yield Fact(ref, "lv of", group)
    size = size_of(row.get("LSize", ""))
    # The size of a snapshot is that of its store of changes, of a VDO pool that of its data, not of its device.
    if size and (is_vdo_pool or attributes.startswith(("s", "S"))):
        yield Fact(ref, "lv/cow_size", size.removeprefix("~"))
    elif size:
        is_exact = row["LSize"][-1:] in "bBsS" or size.startswith("~")
        yield Fact(ref, "size", size if is_exact else f"~{size}")
    if row.get("KMaj", "-1").isdecimal() and row.get("KMin", "").isdecimal():
        yield Fact(ref, "is", f"{row['KMaj']}:{row['KMin']}")
    if kind:
        yield Fact(ref, "lv/segtype", TARGETS.get(kind, kind))
    if len(attributes) > HEALTH:
        yield Fact(ref, "lv/attr", attributes)
    for columns, key in FULLNESS:
        value = next((row[column] for column in columns if row.get(column)), "")
        if _PERCENT.fullmatch(value):
            yield Fact(ref, key, value.replace(",", "."))
    for column, key in (("#Str", "lv/stripes"), ("Stripe", "lv/stripe_size")):
        if value := size_of(row.get(column, "")).removeprefix("~"):
            yield Fact(ref, key, value)
    if row.get("Pool") and kind in POOL_OF:
        yield Fact(ref, "in pool", volume(group, row["Pool"]) + DEVICE_OF_POOL[POOL_OF[kind]])
    for word in row.get("Devices", "").split(","):
        if match := re.fullmatch(r"(\S+)\(\d+\)", word.strip()):
            below = match[1]
            if below.startswith("/dev/"):
                yield Fact(ref, "on", of_path(below))
            elif kind in POOL_OF:
                continue  # the pool, in a column of its own
            elif _LV.fullmatch(below) and below.strip("[]") != "unknown":  # a missing PV
                yield Fact(ref, "on", volume(group, below))


# By the first letter of lv_attr.
SEGTYPES = {
    "t": "thin-pool", "V": "thin", "d": "vdo-pool", "v": "vdo", "s": "snapshot", "S": "snapshot",
}  # fmt: skip
POOL_OF = {"thin": "thin-pool", "vdo": "vdo-pool"}
DEVICE_OF_POOL = {"thin-pool": "-tpool", "vdo-pool": "-vpool"}  # after the pool's name
TARGETS = {"vdo-pool": "vdo", "vdo": "linear"}  # of the segment types that are no target's name
# How full an LV is, by the columns of lvs, the newest name first; snapshots and thin pools have both.
FULLNESS = ((("Data%", "Snap%"), "lv/data_percent"), (("Meta%",), "lv/metadata_percent"))
STATE = 4  # the letter of lv_attr that tells whether an LV is active
_FIELD = re.compile(
    r"\s{0,40}((?:LV|VG|PV) (?:Name|Path|Size)|Block device|Type|Stripes|Stripe size|Physical volume|Logical volume|Thin pool name|LV Pool name)\s{1,40}(\S.*)"
)
DISPLAY = re.compile(
    r"\s*--- (?:(NEW )?[Pp]hysical|[Ll]ogical|[Vv]olume) (?:volume|group)s? ---|\s*---\s+(?:Physical|Logical|Volume)\s+(?:volume|group)s?\s+---"
)


def read_display(lines: list[str]) -> Iterator[Fact]:
    """Yield the facts of one block of pvdisplay, lvdisplay or vgdisplay -v."""
    fields: dict[str, str] = {}
    below: list[str] = []
    layouts: dict[str, set[str]] = {"Type": set(), "Stripes": set()}  # of all segments
    for line in lines[1:]:
        if match := _FIELD.fullmatch(line):
            key, value = match[1], match[2].strip()
            if key == "Physical volume":
                below.append(value)
            layouts.get(key, set()).add(value)
            fields.setdefault(key, value)
    group = fields.get("VG Name", "")
    if "PV Name" in fields and "LV Name" not in fields and "LV Path" not in fields:
        yield from report([{"PV": fields["PV Name"], "VG": group, "Fmt": "lvm2"}])
        return
    name = (fields.get("LV Name") or fields.get("LV Path", "")).rpartition("/")[2]
    if not name or not group or "LV Size" not in fields:
        return
    kind, pool = fields.get("Type", ""), fields.get("LV Pool name", "")
    number = fields.get("Block device", "")
    if any(len(values) > 1 for values in layouts.values()):  # segments of several layouts
        kind = fields["Stripes"] = ""
    major, _, minor = (number if NUMBER.fullmatch(number) else "").partition(":")
    row = {
        "Attr": "V" if pool else "-",
        "LSize": fields["LV Size"],
        "KMaj": major,
        "KMin": minor,
        "Type": kind if SEGTYPE.fullmatch(kind) else "",
        "#Str": fields.get("Stripes", ""),
        "Stripe": fields.get("Stripe size", ""),
        "Pool": pool,
        "Devices": ",".join(f"{path}(0)" for path in below),
    }
    yield from _volume(volume(group, name), group, row)
