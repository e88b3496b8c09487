# Times of LVM RAID volumes, in virtual time: writes and fsyncs where disks flush slowly, by fio and by the counters;
# then a load as trace, fio and the kernel's own events have it. For test_flushes.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid1 raid10 raid456 dm_raid
unwatched
# delay: a write takes a tick of the kernel, a flush 12 or more where something was written since the last one.
modprobe scsi_debug add_host=4 per_host_store=1 dev_size_mb=96 delay=1 num_tgts=1
udevadm settle
disks=(/dev/sd{a,b,c,d})
pvcreate -q -ff -y "${disks[@]}"; vgcreate -q t "${disks[@]}"
lv() { lvcreate -q -y --nosync -Wn -Zn "$@" t; }
lv --type raid5 -i 3 -I 64k -L 96M -n r5
lv --type raid1 -m 1 -L 16M -n r1
lv --type raid10 -i 2 -m 1 -I 64k -L 32M -n r10
dump machine

# load VOLUME NAME OPTION...: VOLUME-NAME.fio, what fio says of 200 requests per job
load() {
    local volume=$1 name=$2; shift 2
    sampled machine "$volume-$name" "t/$volume" fio --name=load --thread --disk_util=0 --filename="/dev/t/$volume" \
        --direct=1 --ioengine=psync --rw=randwrite --bs=4k --number_ios=200 --randrepeat=0 --norandommap \
        --output-format=json --output="$volume-$name.fio" "$@"
}
for volume in r5 r1 r10; do
    load $volume plain
    load $volume each --fsync=1
    load $volume fifth --fsync=5
    load $volume jobs --fsync=1 --numjobs=4 --number_ios=60
    load $volume mixed --rw=randrw --fsync=4
done

# Requests that take up to 8 ms, as drawn by the disk: traced as a whole, and each event of the volume beside it.
echo 1 > /sys/bus/pseudo/drivers/scsi_debug/random
echo 8000000 > /sys/bus/pseudo/drivers/scsi_debug/ndelay
in_memory fio
events=$tracing/instances/events traced=$tracing/instances/stackmap/events
mkdir "$events"; echo 20000 > "$events/buffer_size_kb"
IFS=: read -r major minor < "/sys/block/$(basename "$(readlink -f /dev/t/r5)")/dev"
for event in block_bio_queue block_bio_complete; do
    echo "dev == $((major << 20 | minor))" > "$events/events/block/$event/filter"
    echo 1 > "$events/events/block/$event/enable"
done
stackmap trace -J --max-overhead 100 t/r5 600 > traced.json 2> traced.err & tracer=$!
until grep -qs "lat >= [0-9]* \[active\]" "$traced/synthetic/stackmap_latency/trigger" &&
    ! grep -qsF "[paused]" "$traced"/{block/block_{bio_queue,rq_issue},stackmap/*,synthetic/*}/trigger; do
    kill -0 $tracer || { cat traced.err; exit 1; }
    sleep 0.2
done
fio --name=load --direct=1 --ioengine=libaio --iodepth=4 --rw=randrw --bs=4k --number_ios=4000 --filename=/dev/t/r5 \
    --randrepeat=0 --norandommap --output-format=json --output=traced.fio
sleep 1
kill -INT $tracer; wait $tracer
cat "$events/trace" > traced.events
echo "$SECONDS s: done"
