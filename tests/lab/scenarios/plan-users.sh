# Plans for volumes that others than ext4 use, some a boot: $CASE. Followed as it is printed. For test_plan_users.py.
. /lab/mds.sh
modprobe -a xfs btrfs
how=() loads=
export TEST_DIR=/ TEST_DEV=/ QA_CHECK_FS=  # so small an XFS is made for tests only

mounted() {
    case $1 in
        ext4) mkfs.ext4 -q "$2";;
        xfs) mkfs.xfs -q -f "$2";;
        btrfs) mkfs.btrfs -q -f --mixed "$2";;
    esac
    mount -o noatime "$2" /mnt
}
# plain: the LV whose plan it is
plain() { group /dev/sd{a,b,c,d} && lvcreate -q -y -Wn -L 64M -n lv vg /dev/sda; }
# beside: files on another LV, which a writer writes to meanwhile
beside() { lvcreate -q -y -Wn -L 32M -n beside vg /dev/sdd; files /dev/vg/beside; }

xfs-mirror() { plain; mounted xfs /dev/vg/lv; lv raid1; }
xfs-copy() { plain; mounted xfs /dev/vg/lv; lv raid5:members=4 --way copy; }
btrfs-mirror() { plain; mounted btrfs /dev/vg/lv; lv raid1; }
btrfs-copy() { plain; mounted btrfs /dev/vg/lv; lv raid5:members=4 --way copy; }

# swapped LAYOUT OPTIONS...: what is planned for an LV in use as swap space, and where it is in the end
swapped() {
    local layout=$1; shift
    plain; beside; mkswap -q /dev/vg/lv; swapon /dev/vg/lv
    follow vg/lv "$layout" /dev/vg/beside "$lvm_state" "$@"
    readlink -f /dev/vg/lv > device; cat /proc/swaps > swaps
    swapoff -a
}
swap-mirror() { swapped raid1; }
swap-copy() { swapped raid5:members=4 --way copy; }

# A process of QEMU writes to the LV all the time, and reads some of it in the end. libvirt would leave such a file.
orders() {
    local i
    for ((i = 0; i < 1000; i++)); do
        echo "qemu-io d \"write -P $((i % 200 + 1)) $((i * 64))k 64k\""
        [ ! -e /tmp/planned ] || break
        sleep 1
    done
    for ((i = 0; i < 5; i++)); do echo "qemu-io d \"read -P $((i + 1)) $((i * 64))k 64k\""; done
    echo quit
}
process() {
    orders |
        qemu-system-x86_64 -machine none -nodefaults -display none -monitor stdio -pidfile /run/libvirt/qemu/web.pid \
            -drive if=none,id=d,file=/dev/vg/lv,format=raw,cache=none 2>&1 |
        grep --line-buffered -aE '^(wrote|read|Pattern)|rror' > vm.txt
}
vm-mirror() {
    plain; beside
    mkdir -p /run/libvirt/qemu
    process & local process=$!
    until grep -qs wrote vm.txt || ! kill -0 $process; do sleep 1; done
    stackmap tree -J vg/lv > tree.json
    refused copy vg/lv raid5:members=4 --way copy
    follow vg/lv raid1 /dev/vg/beside "$lvm_state"
    touch /tmp/planned
    wait $process
}

# larger KIND COMMAND...: an array of one more member, and the command that gives the files its space
larger() {
    local kind=$1; shift
    [ "$kind" = btrfs ] && size=160M || size=32M  # btrfs resizes nothing to less than 256 MiB
    made 5 3; mounted "$kind" /dev/md/x
    md raid5:members=4 --onto sdd
    df --output=size /mnt | tail -1 > sizes
    "$@" > larger.txt 2>&1; echo $? > status
    df --output=size /mnt | tail -1 >> sizes
    [ "$kind" != btrfs ] || { btrfs filesystem resize 1:300m /mnt > smaller.txt 2>&1; echo $? >> status; }
}
ext4-larger() { larger ext4 resize2fs /dev/md/x; }
xfs-larger() { larger xfs xfs_growfs /mnt; }
btrfs-larger() { larger btrfs btrfs filesystem resize max /mnt; }

# shellcheck disable=SC2086 # several
cases $CASE
