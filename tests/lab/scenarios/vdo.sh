# LVM's VDO volumes on a disk, on md RAID5 and on a RAID1 of LVM, with loads that it can and cannot make
# smaller: for test_vdo.py. Debian has no vdoformat, which LVM calls: build it from VDO's source, into /usr/bin.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a dm-vdo raid1 raid456 dm_raid
unwatched

load() {
    local kind=$1 size=$2 count=$3 device=$4; shift 4
    fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --io_size=$((size * count))k --size=64M --randrepeat=0 "$@"
}
# committed COMMAND...: COMMAND, until what VDO left to timers is written
committed() { "$@" || return; sleep 8; }

loads() {
    measure "$1" new4k "$2" committed load randwrite 4 400 "$3" --refill_buffers --iodepth=4
    measure "$1" equal4k "$2" committed load randwrite 4 400 "$3" --buffer_pattern=0x5ca1ab1e --iodepth=4
    measure "$1" half64k "$2" committed load write 64 60 "$3" --refill_buffers --buffer_compress_percentage=75
    measure "$1" read4k "$2" committed load randread 4 400 "$3"
    measure "$1" discard "$2" committed blkdiscard -o 0 -l 8M "$3"
}
# seen STACK: its devices as LVM, dmsetup and lsblk print them
seen() {
    { lvs -a -o lv_name,lv_size,pool_lv,data_percent,segtype,devices "$1"; dmsetup status; } > "$1.lvm"
    lsblk -sPo KNAME,PKNAME > "$1.lsblk"
}
config='allocation { vdo_slab_size_mb=128 vdo_index_memory_size_mb=256 vdo_block_map_cache_size_mb=128 }'

pvcreate -q -ff -y /dev/sde; vgcreate -q plain /dev/sde
lvcreate -q -y -Wn --config "$config" --type vdo -n vol -L 5G -V 6G plain/pool
dump plain
seen plain
loads plain plain/vol /dev/plain/vol
vgremove -q -f plain; pvremove -q /dev/sde

yes | mdadm --create /dev/md/five --run --assume-clean --level 5 --chunk 64 --bitmap none -n 4 /dev/sd{a,b,c,d}
echo 0 > "/sys/block/$(basename "$(readlink -f /dev/md/five)")/md/safe_mode_delay"
pvcreate -q -ff -y /dev/md/five; vgcreate -q five /dev/md/five
lvcreate -q -y -Wn --config "$config" --type vdo -n vol -L 5G -V 6G five/pool
dd if=/dev/zero of=/dev/five/vol oflag=direct bs=4K count=1 status=none; sleep 8
dump five
seen five
loads five five/vol /dev/five/vol
vgremove -q -f five; pvremove -q /dev/md/five; mdadm --stop /dev/md/five; wipefs -qa /dev/sd?

pvcreate -q -ff -y /dev/sd{a,b}; vgcreate -q two /dev/sd{a,b}
lvcreate -q -y -Wn -Zn --nosync --type raid1 -m 1 -n pool -L 5G two
lvconvert -q -y --config "$config" --type vdo-pool -n vol -V 6G two/pool
dump two
seen two
loads two two/vol /dev/two/vol
echo "$SECONDS s: done"
