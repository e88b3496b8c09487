# One load after another on a RAID5, a RAID10 and a RAID6 volume of the same disks: what `whatif` says of one
# from what was recorded of another, for test_migrate.py. Loads are held to a rate, so that each volume has
# the same to do; what is random is drawn anew each time, over the whole volume.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid10 raid456 dm_raid
unwatched

# Of each load: seconds before the first sample (bitmaps fill, and are cleared every 5 s), and samples.
WARM=11 SAMPLES=15

# load READS|WRITES... SIZE RATE DEVICE [OPTION...]: RATE requests a second of SIZE KiB, until it is ended.
# One after another: what piles up where the machine is slow would set its bits, and merge, together.
load() {
    local kind=$1 size=$2 rate=$3 device=$4; shift 4
    exec fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --rate_iops="$rate" --rate_process=linear --iodepth=1 --norandommap \
        --randrepeat=0 --time_based --runtime=300 "$@"
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
counting() {
    local event histogram
    for event in $events; do
        histogram=hist_$event
        echo "${!histogram}:$1" >> $tracing/events/block/$event/trigger
    done
}

# record VOLUME WORKLOAD COMMAND...: samples a second apart, and what the kernel counted, under COMMAND
record() {
    local volume=$1 workload=$2 i status=0; shift 2
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
    echo "lab $volume-$workload lab/$volume $status" >> measured.txt
    echo "$SECONDS s: $name"
}

# awake DEVICE: with md's thread at its rounds. Writes to RAID10 do not wake it (each has a plug, on 6.1 by
# block/fops.c: blkdev_write_iter, on 6.12 by block/blk-core.c: __submit_bio, so raid10_unplug sends it on by
# itself), and with nothing to clear it sleeps until it is woken (md-bitmap.c: daemon_work): after long idleness
# bits stay set until writes pause for 0.2 s.
awake() { dd if=/dev/zero of="$1" bs=4k count=1 oflag=direct status=none; pause 1; }

lv() { lvcreate -q -y -Wn -Zn -I 128k -L 672M "$@"; }
on() { local disk; for disk; do echo /dev/sd$disk; done; }
pvcreate -q -ff -y /dev/sd{a,b,c,d,e}
vgcreate -q lab /dev/sd{a,b,c,d,e}
lv --type raid6 -i 3 -n r6 lab $(on a b c d e)
lv --nosync --type raid5 -i 3 -n r5 lab $(on a b c d)
lv --nosync --type raid10 -i 2 -m 1 -n r10 lab $(on a b c d)
until [ "$(lvs --noheadings -o copy_percent lab/r6 | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
dump lab
echo "$SECONDS s: lab stands"

mkfifo /tmp/never
exec 9<> /tmp/never
truth_on
counting pause
for volume in r5 r10 r6; do
    device=/dev/lab/$volume
    awake $device
    record $volume rand4k-write load randwrite 4 30 $device
    record $volume rand8k-mixed load randrw 8 25 $device
    record $volume rand16k-write load randwrite 16 20 $device
    record $volume rand32k-write load randwrite 32 15 $device
    record $volume seq4k-write load write 4 40 $device
    record $volume seq128k-write load write 128 15 $device
    record $volume seq128k-read load read 128 30 $device
    record $volume rand8k-fsync load randwrite 8 15 $device --fsync=1
    record $volume database database $device
    record $volume rand4k-deep deep --filename=$device --name=load --rw=randwrite --bs=4k --thinktime=200ms
    record $volume database-deep deep_database $device
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 $device
    mkdir -p /tmp/mount; mount $device /tmp/mount
    record $volume ext4-fsync files $device
    umount /tmp/mount
done
echo "$SECONDS s: done"
