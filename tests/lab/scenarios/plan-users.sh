# Plans for volumes that others than ext4 use, all in one boot; each leaves a folder. For test_plan_users.py.
. /lab/mds.sh
modprobe -a xfs btrfs
how=() loads=
disks=(/dev/sd{e,f,g,h})
group /dev/sd{a,b,c,d}
export TEST_DIR=/ TEST_DEV=/ QA_CHECK_FS=  # so small an XFS is made for tests only

# case_of NAME: what follows is left in this folder
case_of() { rm -rf "/out/$1"; mkdir "/out/$1"; cd "/out/$1" || exit; echo "$SECONDS s: $1"; }
made_of() { case $1 in ext4) mkfs.ext4 -q "$2";; xfs) mkfs.xfs -q -f "$2";; btrfs) mkfs.btrfs -q -f --mixed "$2";; esac; }
mounted() { made_of "$1" "$2" > mkfs.txt 2>&1; mount -o noatime "$2" /mnt; }
# plain: the LV whose plan it is
plain() { lvcreate -q -y -Wn -L "${1:-64M}" -n lv vg /dev/sda; }
gone() { umount /mnt; lvremove -q -y vg > /dev/null; }
# beside: files on another LV, which a writer writes to meanwhile
beside() { lvcreate -q -y -Wn -L 32M -n beside vg /dev/sdd; files /dev/vg/beside; }

for kind in xfs btrfs; do
    case_of $kind-mirror; plain; mounted $kind /dev/vg/lv; lv raid1; gone
    case_of $kind-copy; plain; mounted $kind /dev/vg/lv; lv raid5:members=4 --way copy; gone
done

# swapped OPTIONS...: what is planned for an LV in use as swap space, and where it is in the end
swapped() {
    plain; beside; mkswap -q /dev/vg/lv; swapon /dev/vg/lv
    follow vg/lv "$@"
    readlink -f /dev/vg/lv > device; cat /proc/swaps > swaps
    swapoff -a; gone
}
case_of swap-mirror; swapped raid1 /dev/vg/beside "$lvm_state"
case_of swap-copy; swapped raid5:members=4 /dev/vg/beside "$lvm_state" --way copy

# A process of QEMU writes to the LV all the time, and reads all of it in the end. libvirt would leave such a file.
case_of vm-mirror
plain; beside
mkdir -p /run/libvirt/qemu
for ((i = 0; ; i++)); do
    echo "qemu-io d \"write -P $((i % 200 + 1)) $((i % 900 * 64))k 64k\""
    if [ -e /tmp/planned ]; then break; fi
    sleep 0.5
done > >({ cat; for ((j = 0; j < 5; j++)); do echo "qemu-io d \"read -P $((j + 1)) $((j * 64))k 64k\""; done; sleep 2; echo quit; } |
    qemu-system-x86_64 -machine none -nodefaults -display none -monitor stdio -pidfile /run/libvirt/qemu/web.pid \
        -drive if=none,id=d,file=/dev/vg/lv,format=raw,cache=none 2>&1 |
    grep -aE '^(wrote|read|Pattern)|rror' > vm.txt; touch /tmp/off) &
until grep -qs wrote vm.txt || [ -s /run/libvirt/qemu/web.pid ]; do sleep 1; done
stackmap tree -J vg/lv > tree.json
refused copy vg/lv raid5:members=4 --way copy
lv=$(follow vg/lv raid1 /dev/vg/beside "$lvm_state"); echo "$lv"
touch /tmp/planned
until [ -e /tmp/off ]; do sleep 1; done
gone

# larger KIND COMMAND...: an array of one more member, and the command that gives the files its space
larger() {
    local kind=$1; shift
    case_of "$kind-larger"
    size=32M; made 5 3; mounted "$kind" /dev/md/x
    md raid5:members=4 --onto sdh
    df --output=size /mnt | tail -1 > sizes
    "$@" > larger.txt 2>&1; echo $? > status
    df --output=size /mnt | tail -1 >> sizes
    [ "$kind" != btrfs ] || { btrfs filesystem resize 1:60m /mnt > smaller.txt 2>&1; echo $? >> status; }
    umount /mnt; mdadm --quiet --stop /dev/md/x
    for disk in "${disks[@]}"; do mdadm --quiet --zero-superblock "$disk"; wipefs -qa "$disk"; done
    udevadm settle
}
larger ext4 resize2fs /dev/md/x
larger xfs xfs_growfs /mnt
larger btrfs btrfs filesystem resize max /mnt
echo "$SECONDS s: done"
exit 0
