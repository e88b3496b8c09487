# The loads of CASE, one after another, on RAID5, RAID10 and RAID6: what `whatif` says of one layout from what was
# recorded on another, for test_migrate.py. Most loads are held to a rate, so that each layout has the same to do.
# What is random is drawn anew each time, over the whole volume.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid10 raid456 dm_raid
CASE=${CASE:-rates}
unwatched

# Of each load: seconds before the first sample (bitmaps fill, and are cleared every 5 s), and samples.
WARM=11 SAMPLES=13

# load READS|WRITES... SIZE RATE DEVICE [OPTION...]: RATE requests a second of SIZE KiB, until it is ended.
# One after another: what piles up where the machine is slow would set its bits, and merge, together.
load() {
    local kind=$1 size=$2 rate=$3 device=$4; shift 4
    exec fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --rate_iops="$rate" --rate_process=linear --iodepth=1 --norandommap \
        --randrepeat=0 --time_based --runtime=300 "$@"
}

# at_rates DEVICE OPTION...: jobs of direct requests, until they are ended; the options of each begin with --name
at_rates() {
    local device=$1; shift
    exec fio --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio --iodepth=1 --norandommap \
        --rate_process=linear --randrepeat=0 --time_based --runtime=300 "$@"
}

# database DEVICE: pages read and written at random, and a log that is written in sequence and flushed
database() {
    exec fio --thread --disk_util=0 --filename="$1" --direct=1 --ioengine=libaio --time_based --runtime=300 \
        --rate_process=linear --randrepeat=0 --norandommap --iodepth=1 \
        --name=pages --rw=randread --bs=16k --rate_iops=40 --size=640m \
        --name=dirty --rw=randwrite --bs=16k --rate_iops=20 --size=640m \
        --name=log --rw=write --bs=4k --rate_iops=10 --offset=640m --size=64m --fsync=1
}

# deep OPTION...: random access eight deep: so many at once, until they are done, and again after a pause. A
# rate instead would have each wait for the one before: fio ends what is in flight before it sleeps.
deep() {
    exec fio --thread --disk_util=0 --direct=1 --ioengine=libaio --time_based --runtime=300 --randrepeat=0 \
        --norandommap --iodepth=8 --thinktime_blocks=8 "$@"
}

# deep_database DEVICE: as database, but what falls due while fio sleeps comes at once, up to six. So the rates,
# and what there is of each, are the same however long requests take: on RAID10, where each write may wait for
# the bitmap by itself, eight have 300 ms.
deep_database() {
    deep --filename="$1" --rate_process=linear \
        --name=pages --rw=randread --bs=16k --rate_iops=40 --thinktime=150ms --size=640m \
        --name=dirty --rw=randwrite --bs=16k --rate_iops=10 --thinktime=500ms --size=640m \
        --name=log --rw=write --bs=4k --rate_iops=10 --iodepth=1 --thinktime=0 --offset=640m --size=64m --fsync=1
}

# files DEVICE: small writes to a file in ext4, each made durable
files() {
    exec fio --name=file --thread --disk_util=0 --directory=/tmp/mount --size=128M --rw=randwrite --bs=8k \
        --rate_iops=15 --fsync=1 --randrepeat=0 --norandommap --time_based --runtime=300
}

# A process takes as long to start here as a sample may: these two are the shell's own.
pause() { read -rt "$1" -u 9 || true; }
sample_here() {
    printf 'TS %s %(%F %T)T\n' "$EPOCHREALTIME" -1
    mapfile lines < /proc/diskstats
    printf '%s' "${lines[@]}"
}

# counting clear|pause|cont: of all that is counted at once. To begin or to print a count takes seconds here, in
# which a load that has fallen behind is another one than between the samples: none of that is counted.
triggers=() # of each histogram: its file, its keys, its condition
for event in $events; do
    keys=keys_$event
    while read -r kind; do
        triggers+=("$tracing/events/block/$event/trigger" "hist:${!keys}:size=8192" "if $kind")
    done <<< "$(kinds "$event")"
done
counting() {
    local i
    for ((i = 0; i < ${#triggers[@]}; i += 3)); do
        echo "${triggers[i + 1]}:$1 ${triggers[i + 2]}" >> "${triggers[i]}"
    done
}

# record WORKLOAD COMMAND...: samples a second apart, and what the kernel counted, under COMMAND
record() {
    local workload=$1 i status=0; shift
    local name=lab.$volume-$workload
    "$@" > /tmp/said 2>&1 & local job=$!
    counting clear
    pause $WARM
    for ((i = 0; i < SAMPLES; i++)); do
        [ "$i" = 0 ] || pause 0.98
        sample_here
        [ "$i" != 0 ] || counting cont
    done > /tmp/samples
    counting pause
    truth_off "$name.truth"
    kill -0 $job 2>/dev/null || { status=1; echo "!! $name ended early"; cat /tmp/said; }
    kill -INT $job; wait $job || true
    cp /tmp/samples "$name.diskstats"
    quiet
    echo "lab $volume-$workload $prefix$volume $status" >> measured.txt
    echo "$SECONDS s: $name"
}

# awake DEVICE: with md's thread at its rounds. Writes to RAID10 do not wake it (each has a plug, on 6.1 by
# block/fops.c: blkdev_write_iter, on 6.12 by block/blk-core.c: __submit_bio, so raid10_unplug sends it on by
# itself), and with nothing to clear it sleeps until it is woken (md-bitmap.c: daemon_work): after long idleness
# bits stay set until writes pause for 0.2 s.
awake() { dd if=/dev/zero of="$1" bs=4k count=1 oflag=direct status=none; pause 1; }

lvm() {
    local disks=(/dev/sd{a,b,c,d,e})
    pvcreate -q -ff -y "${disks[@]}"
    vgcreate -q lab "${disks[@]}"
    lv --type raid6 -i 3 -n r6 lab "${disks[@]}"
    lv --nosync --type raid5 -i 3 -n r5 lab "${disks[@]:0:4}"
    lv --nosync --type raid10 -i 2 -m 1 -n r10 lab "${disks[@]:0:4}"
    until [ "$(lvs --noheadings -o copy_percent lab/r6 | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
}
lv() { lvcreate -q -y -Wn -Zn -I "${CHUNK:-128k}" -L 672M "$@"; }

md() {
    array /dev/md5 5 4 /dev/sd{a,b,c,d}
    array /dev/md10 10 4 /dev/sd{e,f,g,h}
    array /dev/md6 6 5 /dev/sd{i,j,k,l,m}
}
# array NAME LEVEL N DISK...: of 672 MiB, with the bitmap as mdadm makes it
array() {
    local name=$1 level=$2 n=$3 each=224M; shift 3
    [ "$level" != 10 ] || each=336M
    mdadm --create "$name" --level="$level" -n "$n" --chunk=128 --size=$each --bitmap=internal --assume-clean --run -q "$@"
}

wide() {
    local disks=(/dev/sd{a,b,c,d})
    pvcreate -q -ff -y "${disks[@]}"
    vgcreate -q lab "${disks[@]}"
    lv --nosync --type raid5 -i 3 -n r5 lab "${disks[@]}"
    CHUNK=512k lv --nosync --type raid5 -i 3 -n r5w lab "${disks[@]}"
    CHUNK=512k lv --nosync --type raid10 -i 2 -m 1 -n r10w lab "${disks[@]}"
}

case $CASE in
    chunks) manager=wide volumes="r5 r5w r10w" folder=/dev/lab prefix=lab/ ;;
    md*) manager=md volumes="md5 md10 md6" folder=/dev prefix= ;;
    *) manager=lvm volumes="r5 r10 r6" folder=/dev/lab prefix=lab/ ;;
esac
$manager
udevadm settle
dump lab
echo "$SECONDS s: lab stands"

mkfifo /tmp/never
exec 9<> /tmp/never
truth_on
counting pause

rand4k() { at_rates "$1" --name=one --rw=randwrite --bs=4k --rate_iops="$2"; }
mix() {
    at_rates "$1" --name=stream --rw=write --bs=64k --rate_iops=30 --size=320m \
        --name=random --rw=randwrite --bs=4k --rate_iops=25 --offset=320m
}
buffered() { at_rates "$1" --direct=0 --ioengine=psync "${@:2}"; }

# Each case: its loads, each a name and the command; together less than 10 minutes.
loads_rates() {
    record rand4k-write load randwrite 4 30 $device
    record rand8k-mixed load randrw 8 25 $device
    record rand16k-write load randwrite 16 20 $device
    record rand32k-write load randwrite 32 15 $device
    record seq4k-write load write 4 40 $device
    record seq128k-write load write 128 15 $device
}
loads_durable() {
    record seq128k-read load read 128 30 $device
    record rand8k-fsync load randwrite 8 15 $device --fsync=1
    record database database $device
    record rand4k-deep deep --filename=$device --name=load --rw=randwrite --bs=4k --thinktime=200ms
    record database-deep deep_database $device
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 $device
    mkdir -p /tmp/mount; mount $device /tmp/mount
    record ext4-fsync files $device
    umount /tmp/mount
}
loads_mixes() {
    record mix-stream-random mix $device
    record rand4k-2s rand4k $device 2
    record rand4k-8s rand4k $device 8
    record seq4k-full at_rates $device --name=one --rw=write --bs=4k
    record seq4k-q8 at_rates $device --name=one --rw=write --bs=4k --iodepth=8 --rate_iops=100
    record rand4k-full-q8 at_rates $device --name=one --rw=randwrite --bs=4k --iodepth=8
}
loads_big() {
    record seq1m-4s at_rates $device --name=one --rw=write --bs=1m --rate_iops=4
    record buffered-stream buffered $device --name=one --rw=write --bs=64k --rate_iops=40 --fsync=64
    record three-jobs at_rates $device --name=read --rw=read --bs=128k --rate_iops=10 --size=200m \
        --name=random --rw=randwrite --bs=16k --rate_iops=15 --offset=200m --size=400m \
        --name=log --rw=write --bs=4k --rate_iops=10 --offset=600m --size=64m --fsync=1
    record rand64k-q8 at_rates $device --name=one --rw=randwrite --bs=64k --iodepth=8 --rate_iops=25
    record randread4k-q16 at_rates $device --name=one --rw=randread --bs=4k --iodepth=16
    record buffered-random buffered $device --name=one --rw=randwrite --bs=4k --rate_iops=40 --fsync=40
}
loads_sizes() {
    record three-sizes at_rates $device --name=small --rw=randwrite --bs=4k --rate_iops=20 --name=middle \
        --rw=randwrite --bs=16k --rate_iops=8 --name=large --rw=randwrite --bs=256k --rate_iops=2
    record rand4k-fsync-8s at_rates $device --name=one --rw=randwrite --bs=4k --rate_iops=8 --fsync=1
    record seq16k-q4 at_rates $device --name=one --rw=write --bs=16k --iodepth=4 --rate_iops=60
    record hot4k-30s at_rates $device --name=one --rw=randwrite --bs=4k --rate_iops=30 --size=16m
    record bigread-smallwrite at_rates $device --name=read --rw=read --bs=1m --rate_iops=3 \
        --name=write --rw=randwrite --bs=4k --rate_iops=10
    record seq384k-q2 at_rates $device --name=one --rw=write --bs=384k --iodepth=2 --rate_iops=8
}
loads_md() {
    record rand4k-8s rand4k $device 8
    record mix-stream-random mix $device
    record seq4k-q8 at_rates $device --name=one --rw=write --bs=4k --iodepth=8 --rate_iops=100
    record buffered-stream buffered $device --name=one --rw=write --bs=64k --rate_iops=40 --fsync=64
    record rand16k-q8 at_rates $device --name=one --rw=randwrite --bs=16k --iodepth=8 --rate_iops=30
    record rand8k-fsync load randwrite 8 15 $device --fsync=1
}
# bursts SIZE COUNT PAUSE RW DEVICE: COUNT requests of SIZE KiB at once, and again after a pause
bursts() {
    exec fio --name=load --thread --disk_util=0 --direct=1 --ioengine=libaio --time_based --runtime=300 \
        --randrepeat=0 --norandommap --bs="${1}k" --iodepth="$2" --thinktime_blocks="$2" --thinktime="$3" \
        --rw="$4" --filename="$5"
}
streams() {
    at_rates "$1" --name=one --rw=write --bs=64k --rate_iops=20 --size=300m \
        --name=two --rw=write --bs=128k --rate_iops=8 --offset=300m --size=300m
}
loads_bursts() {
    record bursts-64k bursts 64 16 600ms write $device
    record bursts-4k bursts 4 32 900ms randwrite $device
    record zipf-4k load randwrite 4 30 $device --random_distribution=zipf:1.2
    record log-8k load write 8 15 $device --fsync=1
    record two-streams streams $device
    record mix-7030 load randrw 8 40 $device --rwmixread=70
}
loads_chunks() {
    record bursts-64k bursts 64 16 600ms write $device
    record rand24k load randwrite 24 15 $device
    record seq256k load write 256 8 $device
    record log-8k load write 8 15 $device --fsync=1
    record two-streams streams $device
    record mix-stream-random mix $device
}
for volume in $volumes; do
    device=$folder/$volume
    awake $device
    loads_$CASE
done
echo "$SECONDS s: done"
