# Arrays and volumes that lose one member after another until their data is gone, and targets that fail in their
# own way; each dumped with what mdadm, lvs and dmsetup say of it. For test_lost.py.
. /lab/guest.sh
set -e
modprobe -a raid1 raid10 raid456 dm_raid dm_thin_pool dm_snapshot dm_cache dm_writecache dm_integrity
unwatched

# seen MOMENT: the machine, and what others say of it
seen() {
    udevadm settle --timeout=30
    dump "$1"
    cp /proc/mdstat "$1.mdstat"
    for array in /dev/md/*; do [ ! -e "$array" ] || mdadm --detail "$array"; done > "$1.detail" 2>&1 || true
    lvs -a -o lv_full_name,lv_attr,copy_percent,lv_health_status,devices > "$1.lvs" 2>&1 || true
    dmsetup status --noflush > "$1.status"
    echo "$SECONDS s: $1"
}

# asked DEVICE...: md notices that a member is gone when it writes to it
asked() {
    local device
    for device; do
        timeout 20 dd if=/dev/zero of="$device" oflag=direct bs=64K count=24 status=none 2>/dev/null ||
            echo "$device does not take all writes"
    done
}
plain() { lvcreate -q -y -Wn -Zn "$@"; }
lv() { plain --nosync "$@"; }
gone() { echo 1 > "/sys/block/$1/device/delete"; udevadm settle --timeout=30; }

# md, on partitions of the same five disks
md_cases() {
    for disk in a b c d e; do
        parted -s /dev/sd$disk mklabel gpt mkpart 1 1MiB 31MiB mkpart 2 31MiB 61MiB mkpart 3 61MiB 91MiB \
            mkpart 4 91MiB 121MiB mkpart 5 121MiB 151MiB mkpart 6 151MiB 181MiB mkpart 7 181MiB 199MiB
    done
    udevadm settle
    # array NAME LEVEL PART DISK... [-- OPTION...]
    array() {
        local name=$1 level=$2 part=$3 members=(); shift 3
        while [ $# -gt 0 ] && [ "$1" != -- ]; do members+=("/dev/sd$1$part"); shift; done
        [ $# = 0 ] || shift
        yes | mdadm --create "/dev/md/$name" --run --assume-clean --bitmap none --level "$level" \
            -n ${#members[@]} "$@" "${members[@]}" 2>/dev/null
        mds+=("/dev/md/$name")
    }
    mds=()
    array ten 10 1 a b c d -- --layout n2
    array far 10 2 a b c d -- --layout f2
    array three 10 3 a b c -- --layout o2
    array one 1 4 a b c
    array five 5 5 a b c d
    array six 6 6 a b c d e
    mdadm --create /dev/md/idle --run --assume-clean --bitmap none --level 5 -n 3 /dev/sd{c,d,e}7 2>/dev/null
    asked "${mds[@]}"
    mdadm --stop /dev/md/idle
    mdadm --incremental /dev/sdd7 || true
    gone sdb; asked "${mds[@]}"; seen md-less-1
    gone sda; asked "${mds[@]}"; seen md-less-2
    gone sdc; asked "${mds[@]}"; seen md-less-3
    mdadm --stop --scan || true
}

# LVM, on five others
lvm_cases() {
    pvcreate -q -ff -y /dev/sd{f,g,h,i,j}
    vgcreate -q lab /dev/sd{f,g,h,i,j}
    lv --type raid10 -i 2 -m 1 -I 64k -L 32M -n ten lab /dev/sd{f,g,h,i}
    lv --type raid1 -m 2 -L 32M -n one lab /dev/sd{f,g,h}
    lv --type raid5 -i 3 -I 64k -L 48M -n five lab /dev/sd{f,g,h,i}
    lvcreate -q -y -Wn -Zn --type raid6 -i 3 -I 64k -L 24M -n six lab /dev/sd{f,g,h,i,j}
    until [ "$(lvs --noheadings -o copy_percent lab/six | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
    lvs=(/dev/lab/{ten,one,five,six})
    asked "${lvs[@]}"
    gone sdg; asked "${lvs[@]}"; seen lvm-less-1
    gone sdf; asked "${lvs[@]}"; seen lvm-less-2
    gone sdh; asked "${lvs[@]}"; seen lvm-less-3
    dmsetup remove_all --force || true
}

# What fails for a time and comes back: disks whose table is an error meanwhile
number() { blockdev --getsz "$1"; }
# disk NAME DEVICE: a disk that can fail
disk() { dmsetup create "$1" --table "0 $(number "$2") linear $2 0"; }
fails() { dmsetup reload "$1" --table "0 $(number "/dev/mapper/$1") error"; dmsetup resume "$1"; }
returns() { dmsetup reload "$1" --table "0 $(number "/dev/mapper/$1") linear $2 0"; dmsetup resume "$1"; }
back_cases() {
    echo 'devices { global_filter = [ "r|^/dev/sd[k-o]$|" ] }' > /etc/lvm/lvmlocal.conf
    for name in k l m; do disk p$name /dev/sd$name; done
    udevadm settle
    pvcreate -q -ff -y /dev/mapper/p{k,l,m}
    vgcreate -q back /dev/mapper/p{k,l,m}
    lv --type raid1 -m 1 -L 32M -n one back /dev/mapper/p{k,l}
    plain -L 24M -n origin back /dev/mapper/pk
    lvcreate -q -y -s -L 4M -n snap back/origin /dev/mapper/pk
    lvcreate -q -y -L 20M --type thin-pool -c 64k -Zn -n pool back /dev/mapper/pk
    lvchange -q --errorwhenfull y back/pool
    lvcreate -q -y -V 60M -n thin --thinpool back/pool
    plain -L 48M -n cached back /dev/mapper/pk
    plain -L 24M -n fast back /dev/mapper/pm
    lvconvert -q -y --type cache --cachevol fast --cachemode writeback back/cached
    plain -L 48M -n written back /dev/mapper/pk
    plain -L 24M -n quick back /dev/mapper/pm
    lvchange -q -an back/quick
    lvconvert -q -y --type writecache --cachevol quick back/written || echo "no writecache"
    # A pool with little metadata, filled by thin volumes
    dmsetup create tmeta --table "0 1024 linear /dev/sdn 0"
    dd if=/dev/zero of=/dev/mapper/tmeta bs=4K count=16 status=none
    dmsetup create tdata --table "0 131072 linear /dev/sdn 2048"
    dmsetup create small --table "0 131072 thin-pool /dev/mapper/tmeta /dev/mapper/tdata 128 0 1 skip_block_zeroing"
    asked /dev/back/{one,cached,written}
    seen back-before
    fails pl
    asked /dev/back/one /dev/back/one
    returns pl /dev/sdl
    asked /dev/back/{origin,thin,thin}
    dd if=/dev/urandom of=/dev/back/thin oflag=direct bs=64K count=600 status=none 2>/dev/null || true
    dd if=/dev/urandom of=/dev/back/origin oflag=direct bs=64K count=200 status=none 2>/dev/null || true
    for ((thin = 0; thin < 400; thin++)); do
        dmsetup message small 0 "create_thin $thin" 2>/dev/null || { echo "metadata is full at $thin"; break; }
    done
    seen back-lost
    fails pm
    asked /dev/back/{cached,written}
    dd if=/dev/back/cached of=/dev/null iflag=direct bs=64K count=64 status=none 2>/dev/null || true
    seen cache-lost
}

# Checksums that do not match
sums_cases() {
    integritysetup format -q --no-wipe --integrity crc32c --journal-size 1M /dev/sdo 2>/dev/null
    integritysetup open --integrity crc32c /dev/sdo sums
    dd if=/dev/zero of=/dev/mapper/sums oflag=direct bs=64K count=160 status=none
    integritysetup close sums
    dd if=/dev/urandom of=/dev/sdo bs=64K seek=40 count=20 conv=notrunc,fsync status=none
    integritysetup open --integrity crc32c /dev/sdo sums
    dd if=/dev/mapper/sums of=/dev/null iflag=direct bs=4K count=2560 conv=noerror status=none 2>/dev/null || true
    seen sums
}

cases=${CASE:-md,lvm,back,sums}
for case in ${cases//,/ }; do "${case}_cases"; done
echo "$SECONDS s: done"
