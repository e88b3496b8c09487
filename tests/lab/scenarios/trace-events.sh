# `trace --events --follow` and `blame --trace` on a linear LV, LVM RAID5 and RAID10, a thin volume and md's
# own RAID5 and LUKS on an LV, beside the disks' counters. For test_trace_events.py.
. /lab/guest.sh
set -e
modprobe -a raid456 raid10 dm-raid dm-thin-pool dm-crypt
rm -f traced.txt
unwatched
in_memory fio dd lvm mdadm dmsetup udevadm
vgcreate -q t /dev/sd{a,b,c,d}
lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 240M -n r5 t
lvcreate -q -y --nosync --type raid10 -i 2 -m 1 -I 64k -L 128M -n r10 t
lvcreate -q -y -L 96M -n lin t /dev/sda
lvcreate -q -y --type thin-pool -L 128M --poolmetadatasize 4M -c 64k -Zn -n pool t /dev/sdb
lvcreate -q -y -V 256M -T t/pool -n thin
lvcreate -q -y -L 48M -n safe t /dev/sdc
echo -n word | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/t/safe -
echo -n word | cryptsetup open --type luks /dev/t/safe secret
yes | mdadm --create /dev/md/m5 --run --assume-clean --level 5 --chunk 64 --bitmap none -n 4 /dev/sd{e,f,g,h}
udevadm settle

instance=/sys/kernel/tracing/instances/stackmap
fio="fio --name=w --direct=1 --ioengine=libaio --output-format=terse --output=/dev/null --rw=randwrite --bs=4k"

# until_counting FILE PATTERN PID: wait until the probes of process PID are in place
until_counting() {
    until grep -q "$2" "$instance/events/$1" && grep -q 1 $instance/tracing_on; do
        kill -0 "$3" || { cat traced.err; return 1; }
        sleep 0.2
    done 2>/dev/null
    sleep 1
}

# until_still: wait until md has cleared its bitmaps and marked its arrays clean; its daemon runs every 5 s
until_still() {
    local before="" now
    quiet
    now=$(grep " sd" /proc/diskstats)
    until [ "$now" = "$before" ]; do sleep 11; before=$now; now=$(grep " sd" /proc/diskstats); done
}

# traced NAME COMMAND...: NAME.events, all requests while COMMAND runs; NAME.diskstats around it
traced() {
    local name=$1 pid; shift
    quiet
    stackmap trace --events --follow --max-overhead 100 -J 900 > "$name.events" 2> traced.err & pid=$!
    until_counting block/block_rq_remap/enable 1 $pid
    sample > "$name.diskstats"
    "$@"
    until_still
    sample >> "$name.diskstats"
    kill -INT $pid
    wait $pid
    cat traced.err
    echo "$name" >> traced.txt
    echo "$SECONDS s: $name"
}

until_still  # what created the arrays is not the first load's
traced r5 $fio --filename=/dev/t/r5 --io_size=4000k --iodepth=8
traced lin $fio --filename=/dev/t/lin --io_size=400k --iodepth=4
traced r10 $fio --filename=/dev/t/r10 --io_size=400k --iodepth=4
traced thin $fio --filename=/dev/t/thin --io_size=400k --iodepth=4
traced crypt $fio --filename=/dev/mapper/secret --io_size=400k --iodepth=4
traced m5 $fio --filename=/dev/md/m5 --io_size=400k --iodepth=4
traced buffered dd if=/dev/zero of=/dev/t/r5 bs=1M count=2 conv=fsync
dump trace-events

# Two services, buffered and direct.
cgroup=/sys/fs/cgroup
echo "+io +memory" > $cgroup/cgroup.subtree_control
mkdir -p $cgroup/system.slice; echo "+io +memory" > $cgroup/system.slice/cgroup.subtree_control
# as SERVICE COMMAND...: run there
as() {
    local group=$cgroup/system.slice/$1.service; shift
    mkdir -p "$group"
    (echo "$BASHPID" > "$group/cgroup.procs"; exec "$@")
}
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/t/lin
mkdir -p /tmp/lin; mount /dev/t/lin /tmp/lin
quiet
stackmap blame --trace -J t/lin 900 1 > blame.json 2> traced.err & pid=$!
until_counting synthetic/stackmap_owner/trigger thread $pid
as alpha dd if=/dev/zero of=/tmp/lin/a bs=1M count=8
as beta dd if=/dev/zero of=/tmp/lin/b bs=1M count=3 oflag=direct
as beta dd if=/tmp/lin/b of=/dev/null bs=64K iflag=direct
as beta dd if=/dev/zero of=/tmp/lin/c bs=1M count=2
quiet
kill -INT $pid
wait $pid
cat traced.err

# What each layer of LUKS on an LV has.
stackmap trace -J --max-overhead 100 /dev/mapper/secret 900 > crypt.json 2> traced.err & pid=$!
until_counting synthetic/stackmap_latency/trigger "lat >= [0-9]* .active" $pid
$fio --filename=/dev/mapper/secret --io_size=400k --iodepth=1
$fio --filename=/dev/mapper/secret --io_size=800k --iodepth=1 --rw=randread --bs=8k
kill -INT $pid
wait $pid

# More events than small buffers hold while stackmap does not run: reads of what a thin volume has not mapped.
stackmap trace --events --max-overhead 100 -J t/thin 900 > lost.events 2> traced.err & pid=$!
until_counting block/block_rq_remap/enable 1 $pid
kill -STOP $pid
echo 64 > $instance/buffer_size_kb
sample > lost.diskstats
dd if=/dev/t/thin of=/dev/null bs=4K skip=32768 count=3000 iflag=direct & first=$!
dd if=/dev/t/thin of=/dev/null bs=4K skip=32768 count=3000 iflag=direct
wait $first
sample >> lost.diskstats
kill -CONT $pid
kill -INT $pid
wait $pid
cat traced.err
ls /sys/kernel/tracing/instances > left.txt
cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/synthetic_events >> left.txt
echo "$SECONDS s: done"
exit 0
