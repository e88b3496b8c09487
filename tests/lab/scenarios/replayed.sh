# Loads on RAID5, RAID10, RAID6 and a larger chunk, each recorded with its requests one by one: what `whatif`
# counts of one layout from a trace of another, for test_replayed.py. Of LVM, on disks that take one request at a
# time, and of md, on disks that take eight. In virtual time: the disks are the guest's own. CASE is "counted" for
# other loads, on RAID5 and RAID10.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid10 raid456 dm_raid
unwatched || unwatched  # virtual time may run out while the daemon starts
in_memory fio

# Seconds before the first sample (the bitmap's daemon runs every 5 s), and seconds between samples.
WARM=5 SAMPLES=5 EVERY=3

modprobe scsi_debug add_host=10 per_host_store=1 dev_size_mb=184 delay=0
udevadm settle
disks=()
for disk in /sys/block/sd*; do
    ! grep -q scsi_debug "$disk/device/model" || disks+=("/dev/${disk##*/}")
done
lvm_disks=("${disks[@]:0:5}") md_disks=("${disks[@]:5:5}")

lv() { lvcreate -q -y -Wn -Zn --nosync -L 96M "$@"; }
pvcreate -q -ff -y "${lvm_disks[@]}"
vgcreate -q lab "${lvm_disks[@]}"
lvcreate -q -y -Wn -Zn -L 96M --type raid6 -i 3 -I 64k -n r6 lab "${lvm_disks[@]}"
lv --type raid5 -i 3 -I 64k -n r5 lab "${lvm_disks[@]:0:4}"
lv --type raid10 -i 2 -m 1 -I 64k -n r10 lab "${lvm_disks[@]:0:4}"
lv --type raid5 -i 3 -I 256k -n r5w lab "${lvm_disks[@]:0:4}"
until [ "$(lvs --noheadings -o copy_percent lab/r6 | tr -d ' ')" = 100.00 ]; do sleep 0.5; done

for disk in "${md_disks[@]}"; do
    parted -s "$disk" mklabel gpt mkpart a 1MiB 41MiB mkpart b 41MiB 101MiB mkpart c 101MiB 161MiB
done
udevadm settle
# array NAME LEVEL N CHUNK PART: of the partitions PART of the first N disks
array() {
    mdadm --create "$1" --level="$2" -n "$3" --chunk="$4" --bitmap=internal --assume-clean --run -q \
        "${md_disks[@]/%/$5}"
}
md_disks=("${md_disks[@]:0:4}")
array /dev/md5 5 4 64 1
array /dev/md10 10 4 64 2
array /dev/md11 10 4 256 3
udevadm settle

params=/sys/bus/pseudo/drivers/scsi_debug
echo 1 > $params/random
for disk in "${disks[@]}"; do echo 8 > "/sys/block/${disk##*/}/device/queue_depth"; done
for disk in "${lvm_disks[@]}"; do echo 1 > "/sys/block/${disk##*/}/device/queue_depth"; done
for disk in "${disks[@]}"; do echo 0 > "/sys/block/${disk##*/}/queue/rotational"; done
echo 10000000 > $params/ndelay
dump lab
# How many requests the driver gives a disk at once is not in the disk's own folder.
for disk in "${disks[@]}"; do cp --parents "$(readlink -f "/sys/block/${disk##*/}/device")/queue_depth" /tmp/dump; done
tar -C /tmp/dump -cf lab.tar .
# From here on no data is stored: to copy 448 KiB takes the emulated CPU 9 ms, and all disks wait for it.
echo 1 > $params/fake_rw
echo "$SECONDS s: lab stands"

# The requests of a volume, and what disks were sent and did.
own=$tracing/instances/replayed
mkdir $own
echo 0 > $own/tracing_on
echo 16384 > $own/buffer_size_kb
watch_only() {
    local number
    kernel_name=$1
    number=$(cat "/sys/class/block/$1/dev")
    for event in block_bio_queue block_bio_complete; do
        echo "dev == $(((${number%:*} << 20) + ${number#*:}))" > $own/events/block/$event/filter
    done
    for event in block_bio_queue block_bio_complete block_rq_issue block_rq_complete; do
        echo 1 > $own/events/block/$event/enable
    done
}

# A process takes as long to start here as a sample may: these two are the shell's own.
mkfifo /tmp/never
exec 9<> /tmp/never
pause() { read -rt "$1" -u 9 || true; }
sample_here() {
    printf 'TS %s %(%F %T)T\n' "$EPOCHREALTIME" -1
    mapfile lines < /proc/diskstats
    printf '%s' "${lines[@]}"
}

# until_busy: wait for the volume to do anything, ten seconds at most
until_busy() {
    local before now i
    before=$(< "/sys/class/block/$kernel_name/stat")
    for ((i = 0; i < 500; i++)); do
        now=$(< "/sys/class/block/$kernel_name/stat")
        [ "$now" = "$before" ] || return 0
        pause 0.02
    done
    echo "!! no load on $volume"
}

# record WORKLOAD OPTION...: fio with these, recorded
record() {
    local workload=$1 name=lab.$volume-$1 i status=0; shift
    fio --thread --disk_util=0 --clocksource=clock_gettime --filename=$device --direct=1 --ioengine=libaio \
        --norandommap --random_generator=lfsr --size=64m --time_based --runtime=$((WARM + SAMPLES * EVERY + 30)) \
        --name=load "$@" > /tmp/said 2>&1 & local job=$!
    # Virtual time runs on while the host reads what a program needs to start: the load is what begins.
    until_busy
    pause $WARM
    for ((i = 0; i < SAMPLES; i++)); do
        [ "$i" = 0 ] || pause $EVERY
        sample_here
        [ "$i" != 0 ] || echo 1 > $own/tracing_on
    done > /tmp/samples
    echo 0 > $own/tracing_on
    kill -0 $job 2>/dev/null || { status=1; echo "!! $name ended early"; cat /tmp/said; }
    kill -INT $job; wait $job || true
    grep -v '^#' $own/trace > "$name.events" || status=1
    echo > $own/trace
    cp /tmp/samples "$name.diskstats"
    sync
    echo "lab $volume-$workload $prefix$volume $status" >> measured.txt
    echo "$SECONDS s: $name"
}

loads() {
    local poisson=(--rate_process=poisson --iodepth=64)
    record p4w "${poisson[@]}" --rw=randwrite --bs=4k --rate_iops=40
    record p16mix "${poisson[@]}" --rw=randrw --bs=16k --rate_iops=60,25
    record p64w "${poisson[@]}" --rw=randwrite --bs=64k --rate_iops=15
    record c1mix --rw=randrw --rwmixread=70 --bs=4k --iodepth=1
    record c8w --rw=randwrite --bs=4k --iodepth=8
    record c32mix --rw=randrw --rwmixread=70 --bs=16k --iodepth=32
    record s4 --rw=write --bs=4k --iodepth=1
    record s64q4 --rw=write --bs=64k --iodepth=4 --rate_iops=40
    record b64s --rw=write --bs=64k --iodepth=16 --thinktime=500ms --thinktime_blocks=16
    record b4r --rw=randwrite --bs=4k --iodepth=8 --thinktime=200ms --thinktime_blocks=8
    record f8 --rw=randwrite --bs=8k --iodepth=1 --fsync=1 --rate_iops=15
    record db --rw=randrw --bs=16k --rate_iops=40,20 --iodepth=8 \
        --name=log --rw=write --bs=4k --iodepth=1 --rate_iops=10 --fsync=1 --offset=64m --size=8m
    record hot --rw=randwrite --bs=4k --iodepth=4 --rate_iops=60 --size=2m
    record buf --direct=0 --ioengine=psync --rw=write --bs=64k --rate_iops=40 --fsync=32
    record mix --rw=write --bs=64k --iodepth=2 --rate_iops=20 \
        --name=random --rw=randwrite --bs=4k --iodepth=16 --rate_iops=25 --rate_process=poisson \
        --offset=64m --size=24m
    record bufr --direct=0 --ioengine=psync --rw=randwrite --bs=4k --rate_iops=100 --fsync=100
    case $volume in r5 | r10 | md5 | md10) ;; *) return ;; esac
    record q3w --rw=randwrite --bs=8k --iodepth=3 --rate_iops=50
    record mix12 --rw=randrw --rwmixread=50 --bs=4k --iodepth=12
    record two --rw=randread --bs=4k --iodepth=2 --name=second --rw=randwrite --bs=32k --iodepth=2
    record think --rw=randwrite --bs=16k --iodepth=4 --thinktime=50ms --thinktime_blocks=4
    record fs4 --rw=randwrite --bs=4k --iodepth=1 --fsync=4
    # As p4w, p16mix and p64w above, with as many as any layout serves.
    record h4w --rw=randwrite --bs=4k --iodepth=64
    record h16mix --rw=randrw --rwmixread=70 --bs=16k --iodepth=64
    record h64w --rw=randwrite --bs=64k --iodepth=64
    record prw --rate_process=poisson --iodepth=64 --rw=randrw --bs=8k --rate_iops=90,20
}
# As above, of other sizes, rates and depths, for what is projected from counters alone.
counted() {
    local poisson=(--rate_process=poisson --iodepth=64)
    record p8w "${poisson[@]}" --rw=randwrite --bs=8k --rate_iops=30
    record p4mix "${poisson[@]}" --rw=randrw --bs=4k --rate_iops=100,25
    record p32w "${poisson[@]}" --rw=randwrite --bs=32k --rate_iops=18
    record pread "${poisson[@]}" --rw=randread --bs=4k --rate_iops=150
    record psizes "${poisson[@]}" --rw=randrw --bsrange=4k-64k --rate_iops=40,12
    record c1big --rw=randwrite --bs=64k --iodepth=1
    record c2w --rw=randwrite --bs=16k --iodepth=2
    record c4mix --rw=randrw --rwmixread=70 --bs=8k --iodepth=4
    record c16w --rw=randwrite --bs=4k --iodepth=16
    record c24mix --rw=randrw --rwmixread=85 --bs=4k --iodepth=24
    record s16 --rw=write --bs=16k --iodepth=2 --rate_iops=60
    record s128 --rw=write --bs=128k --iodepth=1 --rate_iops=12
    record b32 --rw=randwrite --bs=4k --iodepth=32 --thinktime=1s --thinktime_blocks=32
    record think2 --rw=randwrite --bs=8k --iodepth=2 --thinktime=20ms --thinktime_blocks=2
    record wal --rw=write --bs=8k --iodepth=1 --fsync=1 --rate_iops=20
    record fs8 --rw=randwrite --bs=16k --iodepth=4 --fsync=8 --rate_iops=30
    record bufk --direct=0 --ioengine=psync --rw=randwrite --bs=16k --rate_iops=30 --fsync=16
    record zipf --rw=randwrite --bs=4k --iodepth=4 --rate_iops=60 --random_distribution=zipf:1.1
    record reader --rw=read --bs=64k --iodepth=1 --rate_iops=30 \
        --name=random --rw=randwrite --bs=4k --iodepth=32 --rate_iops=20 --rate_process=poisson \
        --offset=64m --size=24m
    record dbp --rw=randrw --bs=8k --rate_iops=60,15 --iodepth=16 --rate_process=poisson \
        --name=log --rw=write --bs=16k --iodepth=1 --rate_iops=8 --fsync=1 --offset=64m --size=8m
}
volumes='r5 r10 r6 r5w md5 md10 md11'
[ "$CASE" != counted ] || volumes='r5 r10 md5 md10'
for volume in ${VOLUMES:-$volumes}; do
    case $volume in
        md*) device=/dev/$volume prefix= ;;
        *) device=/dev/lab/$volume prefix=lab/ ;;
    esac
    watch_only "$(basename "$(readlink -f $device)")"
    "${CASE:-loads}"
done
echo "$SECONDS s: done"
