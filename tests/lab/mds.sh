# What the scenarios for `plan` of md arrays share; in the guest: . /lab/mds.sh
. /lab/plans.sh
disks=(/dev/sd{a,b,c,d,e,f,g,h})
# A sync would give way to the load, and take hours of an emulated CPU.
echo 50000 > /proc/sys/dev/raid/speed_limit_min

# made LEVEL MEMBERS OPTIONS...: the array /dev/md/x of the first disks, small and in sync
made() {
    local level=$1 count=$2; shift 2
    [ "$level" = 0 ] || set -- --size=32M "$@"
    yes | mdadm --create /dev/md/x --quiet --run --level="$level" --raid-devices="$count" "$@" "${disks[@]:0:count}"
    settled
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
    vgchange -qan > /dev/null 2>&1; vgremove -q -ff -y vg > /dev/null 2>&1
    udevadm settle
    mdadm --stop --scan > /dev/null 2>&1; wipefs -qa "${disks[@]}"; rm -f /var/tmp/*.mdadm
    udevadm settle
}
