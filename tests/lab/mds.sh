# What the scenarios for `plan` of md arrays share; in the guest: . /lab/mds.sh
. /lab/plans.sh
how=(--fio --kill)
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
# array LEVEL MEMBERS OPTIONS...: one with an ext4 on it
array() { made "$@" && files /dev/md/x; }

# raid0: of two disks with an ext4; only from another level can it be made of parts of them
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

# md LAYOUT OPTIONS...: of the array; what the files are on in the end, is told by `device`
md() { local layout=$1; shift; follow /dev/md/x "$layout" "$device" "$arrays" "$@"; }
arrays='for array in /dev/md/*; do mdadm --detail $array; done; cat /proc/mdstat'
device=/dev/md/x
