# Writes and fsyncs of LVM RAID volumes whose disks flush slowly, in virtual time: how long they took by fio, and what
# the counters say. For test_flushes.py.
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
echo "$SECONDS s: done"
