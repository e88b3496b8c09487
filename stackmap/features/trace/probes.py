"""
The probes and triggers of a trace, for the structures of the running kernel.

A request is identified by the address of its bio and its device: the copies that dm and md make of a bio have
its device's number, and an address that another had before. So a map needs one entry per bio that was in memory
at the same time, not one per sector. No key is a string: from about Linux 6.16 the bytes after its end are part of
the key, and nearly every request has an entry of its own. Latency is counted in buckets at most 5 % wide, in ranges of a factor of 8.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackmap.errors import SourceMissing
from stackmap.features.trace.tracefs import (
    GROUP,
    MAX_FILTERED,
    Probe,
    ProbeSet,
    Synthetic,
    Trigger,
    filter_of,
)
from stackmap.host.tracing import LOW_BYTE

Offsets = Mapping[tuple[str, str], int]

BIO = (
    ("bio", "bi_bdev"),
    ("bio", "bi_opf"),
    ("bio", "bi_end_io"),
    ("bio", "__bi_remaining"),
    ("bio", "bi_iter.bi_size"),
    ("bio", "bi_iter.bi_sector"),
    ("block_device", "bd_dev"),
    ("gendisk", "first_minor"),
)
# A bio has this flag from its first submission on. The remainder of a split bio is submitted again.
AGAIN = "BIO_TRACE_COMPLETION"
FLAGS = ("bio", "bi_flags")
RAID456 = (
    ("stripe_head", "raid_conf"),
    ("r5conf", "mddev"),
    ("mddev", "unit"),
    ("stripe_head_state", "to_write"),
)
DM_RAID = (("raid_set", "md"), ("raid_set", "ti"), ("dm_target", "table"))
DM_MOD = (("dm_table", "md"), ("mapped_device", "disk"))

REQUEST = (("request", "bio"), ("request", "cmd_flags"))

NAMES = SUBMIT, END, ROW, DISPATCH = "submit", "end", "row", "dispatch"  # of the probes
# Synthetic events.
LATENCY, GAP = f"{GROUP}_latency", f"{GROUP}_gap"
QUEUED, SERVED = f"{GROUP}_queued", f"{GROUP}_served"
AT_LAYERS = (
    Synthetic(LATENCY, "u32 dev; u8 op; u64 lat"),
    Synthetic(GAP, "u32 dev; u8 op; u64 gap"),
)
AT_DISKS = tuple(Synthetic(name, "u32 dev; u8 op; u64 lat") for name in (QUEUED, SERVED))
SUBMIT_SYMBOL, END_SYMBOL = "submit_bio_noacct", "bio_endio"
DISPATCH_SYMBOL = "blk_mq_start_request"
ROW_SYMBOL, MEMBER_END = "schedule_reconstruction", "raid5_end_write_request"
QUEUE_EVENT, ISSUE_EVENT = "block/block_bio_queue", "block/block_rq_issue"
SUBMIT_EVENT, END_EVENT = f"{GROUP}/{SUBMIT}", f"{GROUP}/{END}"
DISPATCH_EVENT = f"{GROUP}/{DISPATCH}"
LATENCY_EVENT, GAP_EVENT = f"synthetic/{LATENCY}", f"synthetic/{GAP}"
QUEUED_EVENT, SERVED_EVENT = f"synthetic/{QUEUED}", f"synthetic/{SERVED}"
ROW_EVENT = f"{GROUP}/{ROW}"

# Directions by the letters of a tracepoint: an F before the operation asks for a flush. WRITE_ZEROES is N, or WZ
# (Linux 7.3). Only their beginnings are compared: the kernel looks for "*Z*" and "*M" beyond the end
# of the string, too (regex_match_middle and regex_match_end in kernel/trace/trace_events_filter.c).
READS = '(rwbs ~ "R*" || rwbs ~ "FR*")'
WRITES = '(rwbs ~ "W*" || rwbs ~ "FW*") && !(rwbs ~ "WZ*" || rwbs ~ "FWZ*")'

LEAST, FACTOR, RANGES = 8000, 8, 8  # ns: below 8 µs, below 64 µs … above 2.1 s
STEPS = 160  # buckets below the end of a range; 20 at its beginning, so each is at most 5 % wide
LARGEST_MAP = 131072  # entries: the kernel's limit
BIOS = 32768  # entries of a map of bios
ALL = 51  # devices that maps have room for where all are traced

READ_OP, WRITE_OP = 0, 1


def dereferenced(base: str, *offsets: int) -> str:
    """
    Return the argument of a probe that follows pointers.

    >>> dereferenced("$arg1", 8, 36)
    '+36(+8($arg1))'
    """
    for offset in offsets:
        base = f"{offset:+d}({base})"
    return base


def submit_probe(offsets: Offsets) -> Probe:
    """Return the probe of a bio on its way to a device."""
    size = dereferenced("$arg1", offsets["bio", "bi_iter.bi_size"])
    sector = dereferenced("$arg1", offsets["bio", "bi_iter.bi_sector"])
    end = dereferenced("$arg1", offsets["bio", "bi_end_io"])
    fields = [f"size={size}:u32", f"sector={sector}:u64", f"end={end}:x64"]
    if FLAGS in offsets:
        fields.append(f"flags={dereferenced('$arg1', offsets[FLAGS])}:u16")
    return Probe(SUBMIT, SUBMIT_SYMBOL, (*_bio_fields(offsets), *fields))


def end_probe(offsets: Offsets) -> Probe:
    """Return the probe of a bio's end; ``left`` is 1 at the last end of a bio that was split."""
    left = dereferenced("$arg1", offsets["bio", "__bi_remaining"])
    return Probe(END, END_SYMBOL, (*_bio_fields(offsets), f"left={left}:s32"), in_interrupts=True)


def dispatch_probe(offsets: Offsets) -> Probe:
    """Return the probe of a request that a disk's queue gives to the driver, with its first bio."""
    bio = offsets["request", "bio"]
    device = dereferenced(
        "$arg1", bio, offsets["bio", "bi_bdev"], offsets["block_device", "bd_dev"]
    )
    low = offsets["request", "cmd_flags"] + LOW_BYTE
    fields = (
        f"bio={dereferenced('$arg1', bio)}:x64",
        f"dev={device}:u32",
        f"op={dereferenced('$arg1', low)}:u8",
    )
    return Probe(DISPATCH, DISPATCH_SYMBOL, fields)


def row_probe(offsets: Offsets) -> Probe:
    """
    Return the probe of a row update of RAID4/5/6, native md and dm-raid.

    ``unit``: the number of the md array, 0 for dm-raid; ``dm``: the minor number of
    the dm device, meaningless for native md.
    """
    md = (offsets["stripe_head", "raid_conf"], offsets["r5conf", "mddev"])
    device = (
        offsets["raid_set", "ti"] - offsets["raid_set", "md"],
        offsets["dm_target", "table"],
        offsets["dm_table", "md"],
        offsets["mapped_device", "disk"],
        offsets["gendisk", "first_minor"],
    ) if ("raid_set", "md") in offsets else ()  # fmt: skip
    fields = [f"unit={dereferenced('$arg1', *md, offsets['mddev', 'unit'])}:u32"]
    if device:
        fields.append(f"dm={dereferenced('$arg1', *md, *device)}:s32")
    pages = dereferenced("$arg2", offsets["stripe_head_state", "to_write"])
    fields += ["rcw=$arg3:s32", "expand=$arg4:s32", f"pages={pages}:s32"]
    return Probe(ROW, ROW_SYMBOL, tuple(fields))


def size_triggers(event: str, numbers: Iterable[int]) -> Iterator[Trigger]:
    """Yield the counts of sizes by a block tracepoint: at arrival (``QUEUE_EVENT``) or dispatch (``ISSUE_EVENT``)."""
    chosen = _only(numbers)
    for letters in (READS, WRITES):
        yield Trigger(event, f"hist:keys=dev,nr_sector:size=16384 if {letters}{chosen}")


def latency_triggers(numbers: tuple[int, ...], again: int | None) -> Iterator[Trigger]:
    """Yield the triggers that count latencies by device and operation."""
    chosen = _only(numbers)
    first = is_first(again)
    # Two variables of one value: reading a variable clears it.
    start = "hist:keys=bio,dev:started=common_timestamp,queued=common_timestamp"
    condition = f"size > 0 && op < 2{first}{chosen}"
    yield Trigger(SUBMIT_EVENT, f"{start}:size={BIOS} if {condition}", counts=False)
    action = f"onmatch({GROUP}.{SUBMIT}).{LATENCY}(dev,op,$took)"
    end = f"hist:keys=bio,dev:took=common_timestamp-$started:{action}:size={BIOS}"
    yield Trigger(END_EVENT, f"{end} if left == 1 && op < 2{chosen}", counts=False)
    yield from _histograms(LATENCY_EVENT, len(numbers) or ALL)


def _histograms(event: str, devices: int) -> Iterator[Trigger]:
    """Yield the histograms of a latency: one per range, each with room for so many *devices*."""
    entries = 1 << (2 * STEPS * devices - 1).bit_length()  # a power of two
    size = min(LARGEST_MAP, max(2048, entries))
    low = 0
    for place in range(RANGES):
        high = LEAST * FACTOR**place
        above = f" && lat < {high}" if place < RANGES - 1 else ""
        keys = f"dev,op,lat.buckets={high // STEPS}"
        yield Trigger(event, f"hist:keys={keys}:size={size} if lat >= {low}{above}")
        low = high


def sequence_triggers(numbers: tuple[int, ...], again: int | None) -> Iterator[Trigger]:
    """Yield the triggers that count sequential requests: they begin where the device's previous request ended."""
    chosen = _only(numbers)
    keys = "hist:keys=dev"
    text = f"{keys}:reached=sector+nr_sector:size=2048 if nr_sector > 0{chosen}"
    yield Trigger(QUEUE_EVENT, text, counts=False)
    action = f"onmatch(block.block_bio_queue).{GAP}(dev,op,$gap)"
    condition = f" if size > 0 && op < 2{is_first(again)}{chosen}"
    text = f"{keys}:gap=sector-$reached:{action}:size=2048{condition}"
    yield Trigger(SUBMIT_EVENT, text, counts=False)
    yield Trigger(GAP_EVENT, "hist:keys=dev,op:size=4096 if gap == 0")


def require(offsets: Offsets, members: Iterable[tuple[str, str]]) -> None:
    """Raise ``SourceMissing`` that names the first of *members* without an offset."""
    for member in members:
        if member not in offsets:
            raise SourceMissing(f"BTF: this kernel has no {'.'.join(member)}")


def _bio_fields(offsets: Offsets) -> tuple[str, ...]:
    low = offsets["bio", "bi_opf"] + LOW_BYTE  # the byte of the operation
    device = dereferenced("$arg1", offsets["bio", "bi_bdev"], offsets["block_device", "bd_dev"])
    return (
        "bio=$arg1:x64",
        f"dev={device}:u32",
        f"op={dereferenced('$arg1', low)}:u8",
    )


def is_first(again: int | None) -> str:
    """Return the condition for the first submission of a bio; *again*: the bit of ``AGAIN``, None if unknown."""
    return "" if again is None else f" && !(flags & {1 << again})"


def _only(numbers: Iterable[int]) -> str:
    """Return the condition for these devices, "" for all; more than ``MAX_FILTERED`` are all."""
    chosen = list(numbers)
    if not 0 < len(chosen) <= MAX_FILTERED:
        return ""
    return f" && ({filter_of(chosen)})"


def sizes(numbers: tuple[int, ...]) -> ProbeSet:
    """Return the counts of sizes at every layer and at disks; they need no probes."""
    events = (QUEUE_EVENT, ISSUE_EVENT)
    return ProbeSet(triggers=tuple(t for event in events for t in size_triggers(event, numbers)))


def at_layers(offsets: Offsets, again: int | None, numbers: tuple[int, ...]) -> ProbeSet:
    """Return the counts of sizes, latencies and sequential requests; *again*: see ``is_first``."""
    return ProbeSet(
        (submit_probe(offsets), end_probe(offsets)),
        AT_LAYERS,
        (
            *size_triggers(QUEUE_EVENT, numbers),
            *sequence_triggers(numbers, again),
            *latency_triggers(numbers, again),
        ),
    )


def at_disks(offsets: Offsets | None, numbers: tuple[int, ...], count: int) -> ProbeSet:
    """
    Return the counts of sizes on dispatch, and of the latency of *count* disks before and after it.

    *offsets*: None if the kernel has no function to probe. Without these or a request's members, only sizes are counted.
    A request has the times of its first bio; bios that were merged into it later are not divided.
    """
    size = tuple(size_triggers(ISSUE_EVENT, numbers))
    if offsets is None or not all(member in offsets for member in REQUEST):
        return ProbeSet(triggers=size)
    chosen = _only(numbers)
    action = f"onmatch({GROUP}.{SUBMIT}).{QUEUED}(dev,op,$waited)"
    text = "hist:keys=bio,dev:waited=common_timestamp-$queued,dispatched=common_timestamp"
    start = f"{text}:{action}:size={BIOS} if op < 2{chosen}"
    action = f"onmatch({GROUP}.{DISPATCH}).{SERVED}(dev,op,$ran)"
    text = f"hist:keys=bio,dev:ran=common_timestamp-$dispatched:{action}:size={BIOS}"
    end = f"{text} if left == 1 && op < 2{chosen}"
    return ProbeSet(
        (dispatch_probe(offsets),),
        AT_DISKS,
        (
            *size,
            Trigger(DISPATCH_EVENT, start, counts=False),
            Trigger(END_EVENT, end, counts=False),
            *_histograms(QUEUED_EVENT, count),
            *_histograms(SERVED_EVENT, count),
        ),
    )


def of_rows(offsets: Offsets, member_end: int, *, has_dm: bool) -> ProbeSet:
    """Return the counts of row updates, and of the bytes that md writes for them; *member_end*: the address of ``MEMBER_END``."""
    keys = "rcw,pages:size=4096 if expand == 0 && unit"
    md = Trigger(ROW_EVENT, f"hist:keys=unit,{keys} != 0")
    dm = Trigger(ROW_EVENT, f"hist:keys=dm,{keys} == 0")
    ours = f"op == {WRITE_OP} && end == {member_end:#x}"
    written = Trigger(SUBMIT_EVENT, f"hist:keys=dev:vals=size:size=4096 if {ours}")
    triggers = (md, dm, written) if has_dm else (md, written)
    return ProbeSet((row_probe(offsets),), triggers=triggers)
