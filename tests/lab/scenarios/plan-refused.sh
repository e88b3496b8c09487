# LVs for which there is no plan, or nothing to do. For test_plan.py.
. /lab/plans.sh
group /dev/sd{a,b,c,d,e,f,g,h}
volume() { lvcreate -q -y -Wn "$@" vg; }
volume --type raid5 -i 3 -L 48M -n origin; synced vg/origin
volume -s -L 16M -n snap vg/origin 2>/dev/null || lvcreate -q -y -s -L 16M -n snap vg/origin
refused snapshots vg/origin raid6
lvremove -q -y vg/snap vg/origin
volume --type raid5 -i 3 -L 48M --nosync -n unsynced
refused unsynced vg/unsynced raid6 --way convert
lvremove -q -y vg/unsynced
volume --type raid5 -i 3 -L 400M --maxrecoveryrate 200k -n syncing
refused syncing vg/syncing raid6
lvremove -q -y vg/syncing
# What is a part of something else is not reshaped.
volume --type raid5 -i 3 -L 24M -n lv; synced vg/lv
lvcreate -q -y --type cache-pool -L 8M -n fast vg /dev/sdh
lvconvert -q -y --type cache --cachepool fast vg/lv
refused cache-reshape vg/lv raid6 --way convert
lvremove -q -y vg/lv
volume --type raid5 -i 3 -L 24M -n pool; synced vg/pool
lvconvert -q -y --type thin-pool vg/pool; lvcreate -q -y -V 24M -T vg/pool -n thin
refused thin-reshape vg/thin raid6
lvremove -q -y vg/pool
volume --type linear -L 160M -n small
refused members vg/small raid10:members=12
refused size vg/small raid1 --onto nosuch
refused layout vg/small raid10:layout=far
refused same vg/small linear
refused group vg raid1
refused no-volume sda raid1
as="setpriv --reuid=65534 --regid=65534 --clear-groups"
refused no-root vg/small raid1
as=
modprobe btrfs
btrfs_on_luks /dev/vg/small && refused btrfs vg/small raid5 --way copy
umount /mnt 2> /dev/null; cryptsetup close safe; lvremove -q -y vg/small

# A second PV on a disk that has one: members must not meet there.
modprobe loop
truncate -s 220M /tmp/image; losetup /dev/loop9 /tmp/image
# Not from its start: LVM would take the loop for the PV.
dmsetup create half0 --table '0 200000 linear /dev/loop9 8192'
dmsetup create half1 --table '0 200000 linear /dev/loop9 216384'
pvcreate -q -ff -y /dev/mapper/half0 /dev/mapper/half1; vgcreate -q one /dev/mapper/half0 /dev/mapper/half1
lvcreate -q -y -L 16M -n lv one /dev/mapper/half0
refused one-disk one/lv raid1
vgremove -q -y one; pvremove -q -y /dev/mapper/half0 /dev/mapper/half1; dmsetup remove half0; dmsetup remove half1
exit 0
