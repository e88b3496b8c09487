# md arrays for which there is no plan. For test_plan_md.py.
. /lab/mds.sh
size=48M chunk=64
modprobe -a btrfs
new=(--onto sdd --onto sde --onto sdf --onto sdg)
slow() { echo "$1" > /proc/sys/dev/raid/speed_limit_min; echo "$1" > /proc/sys/dev/raid/speed_limit_max; }
gone() {
    umount /mnt 2> /dev/null
    udevadm settle
    mdadm --stop --scan > /dev/null 2>&1
    for disk in "${disks[@]}"; do wipefs -qa "$disk"; dd if=/dev/zero of="$disk" bs=1M count=6 conv=fsync status=none; done
    udevadm settle
}
wiped() { umount /mnt 2> /dev/null; wipefs -qa "$@"; udevadm settle; }

# Disks that are not to be had.
made 5 3 --bitmap=internal
refused md-no-disks /dev/md/x raid6
refused md-member /dev/md/x raid6 --onto sdb
refused md-few /dev/md/x raid10:members=4 --way array-copy --onto sdd
pvcreate -q -y /dev/sdd; vgcreate -q other /dev/sdd
refused md-pv /dev/md/x raid6 --onto sdd
vgremove -q -y other; pvremove -q -y /dev/sdd
mkfs.ext4 -q -F /dev/sdd
refused md-written /dev/md/x raid6 --onto sdd
mount /dev/sdd /mnt
refused md-mounted /dev/md/x raid6 --onto sdd
wiped /dev/sdd
mkfs.btrfs -q -f /dev/sdd /dev/sde; udevadm settle; btrfs device scan > /dev/null; mount /dev/sdd /mnt
refused md-btrfs-second /dev/md/x raid6 --onto sde
wiped /dev/sdd /dev/sde
for disk in d e f g; do sgdisk --new=0:0:+24M --new=0:0:+24M /dev/sd$disk > /dev/null; done
# As sgdisk closes a disk, udev has the kernel read its table again, which takes the partitions away first.
sleep 2; udevadm settle
refused md-table /dev/md/x raid6 --onto sdd
refused md-small /dev/md/x raid6 --onto sdd1
refused md-twice /dev/md/x raid10:members=4 --way array-copy --onto sdd1 --onto sde1 --onto sdf1 --onto sdf2
refused md-room /dev/md/x raid10:members=4 --way array-copy --onto sdd1 --onto sde1 --onto sdf1 --onto sdg1

# What is on it.
pvcreate -q -y /dev/md/x; vgcreate -q vg /dev/md/x; lvcreate -q -y -Wn -L 48M -n lv vg
refused md-move-room vg/lv raid10:members=4 --way move --onto sdd1 --onto sde1 --onto sdf1 --onto sdg1
wiped /dev/sd{d,e,f,g}
refused md-lv vg/lv raid10:members=4 --way array-copy "${new[@]}"
vgremove -q -ff -y vg; pvremove -q -y /dev/md/x
dmsetup create upper --table "0 65536 linear $(readlink -f /dev/md/x) 0"
refused md-upper /dev/md/x raid10:members=4 --way array-copy "${new[@]}"
dmsetup remove upper
btrfs_on_luks /dev/md/x
refused md-btrfs /dev/md/x raid10:members=4 --way array-copy "${new[@]}"
umount /mnt; cryptsetup close safe; wipefs -qa /dev/md/x
mkfs.ext4 -q -F /dev/md/x; mkdir -p /var/lab; mount /dev/md/x /var/lab
refused md-var /dev/md/x raid6 --way grow --onto sdd
umount /var/lab

# What is the matter with it.
mdadm --quiet --readonly /dev/md/x
refused md-readonly /dev/md/x raid6 --onto sdd
mdadm --quiet --readwrite /dev/md/x
slow 10
echo check > "/sys/block/$(basename "$(readlink -f /dev/md/x)")/md/sync_action"
refused md-check /dev/md/x raid6 --onto sdd
mdadm --quiet /dev/md/x --fail /dev/sdb
refused md-degraded /dev/md/x raid6 --onto sdd
mdadm --quiet /dev/md/x --remove /dev/sdb; mdadm --quiet --zero-superblock /dev/sdb; mdadm --quiet /dev/md/x --add /dev/sdb
refused md-recovering /dev/md/x raid6 --onto sdd
gone
yes | mdadm --create /dev/md/x --quiet --run --level=1 --raid-devices=2 /dev/sda /dev/sdb; udevadm settle
refused md-resync /dev/md/x raid5 --onto sdd
slow 50000
gone

# What md cannot, or has not been tried.
made 1 1 --force
refused md-one /dev/md/x raid5 --way grow --onto sdd --onto sde
gone
made 5 3 --layout=la
refused md-rotation /dev/md/x raid10 --way grow --onto sdd --onto sde
gone
made 6 4
refused md-raid6-raid10 /dev/md/x raid10 --way grow --onto sde --onto sdf
refused md-fewer /dev/md/x raid5:members=2 --way grow
gone
made 10 4 --layout=f2
refused md-far /dev/md/x raid0 --way grow
gone
made 10 3
refused md-odd /dev/md/x raid0 --way grow
refused md-raid10-chunk /dev/md/x raid10:chunk=128k --way grow
gone
size=32832 made 5 3
refused md-chunk-rest /dev/md/x raid5:chunk=128k --way grow
gone
made 5 3 --consistency-policy=ppl
refused md-ppl /dev/md/x raid6 --way grow --onto sdd
gone
made 5 3 --metadata=0.90
refused md-old /dev/md/x raid6 --way grow --onto sdd
gone
made 4 3
refused md-raid4 /dev/md/x raid6 --way grow --onto sdd
gone
sgdisk --new=0:0:+100M /dev/sda > /dev/null; udevadm settle
yes | mdadm --create /dev/md/x --quiet --run --level=0 --raid-devices=2 --chunk=64 /dev/sda1 /dev/sdb; udevadm settle
refused md-zones /dev/md/x raid10 --way grow --onto sdd --onto sde
exit 0
