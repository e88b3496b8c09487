# What the scenarios for `plan` of md arrays share; in the guest: . /lab/mds.sh
. /lab/plans.sh
disks=(/dev/sd{a,b,c,d,e,f,g,h})
# A sync would give way to the load, and take hours of an emulated CPU.
echo 50000 > /proc/sys/dev/raid/speed_limit_min

# made LEVEL MEMBERS OPTIONS...: the array /dev/md/x of the first disks, small and in sync. Its chunks are large:
# mdadm backs up each stretch that it rewrites, which is many chunks or one thirty-second of a member.
size=16M chunk=1024
made() {
    local level=$1 count=$2; shift 2
    [ "$level" = 1 ] || set -- --chunk=$chunk "$@"
    yes | mdadm --create /dev/md/x --quiet --run --level="$level" --raid-devices="$count" --size=$size "$@" \
        "${disks[@]:0:count}"
    settled
}
# raid0: of two disks; only from another level can it be made of parts of them
raid0() {
    made 10 4
    mdadm --quiet --grow /dev/md/x --level=0
    settled
    for disk in "${disks[@]}"; do mdadm --quiet --zero-superblock "$disk" 2> /dev/null; done
    udevadm settle
    files /dev/md/x
}
settled() {
    udevadm settle
    while cat /sys/block/md*/md/sync_action 2> /dev/null | grep -qv idle; do sleep 0.5; done
}

# array LEVEL MEMBERS OPTIONS...: one with an ext4 on it
array() { made "$@" && files /dev/md/x; }

# md CASE LAYOUT OPTIONS...: of the array, which is gone after it
md() { local case=$1 layout=$2; shift 2; go "$case" /dev/md/x "$layout" "${device:-/dev/md/x}" "$arrays" "$@"; gone; }
arrays='for array in /dev/md/*; do mdadm --detail $array; done; cat /proc/mdstat'
device=
gone() {
    umount /mnt
    [ ! -e /dev/mapper/safe ] || cryptsetup close safe
    vgremove -q -ff -y vg > /dev/null 2>&1
    udevadm settle
    mdadm --stop --scan > /dev/null 2>&1; wipefs -qa /dev/sd?[0-9] 2> /dev/null
    # What a dead disk kept is not seen again on an array of the same members.
    for disk in "${disks[@]}"; do wipefs -qa "$disk"; dd if=/dev/zero of="$disk" bs=1M count=6 conv=fsync status=none; done
    rm -f /var/tmp/*.mdadm
    udevadm settle
}
