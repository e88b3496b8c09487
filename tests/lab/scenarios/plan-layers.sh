# Plans for what lies below and above other layers: pools, caches, checksums, LUKS; and what must be refused.
# For test_plan.py.
. /lab/plans.sh
disks=(/dev/sd{a,b,c,d,e,f,g,h})
pvcreate -q -ff -y "${disks[@]}"; vgcreate -q vg "${disks[@]}"
volume() { lvcreate -q -y -Wn "$@" vg; }
follow() { local case=$1 name=$2 layout=$3; shift 3; go "$case" "$name" "$layout" "${device:-/dev/$name}" "$lvm_state" "$@"; }
synced() { until [ "$(lvs --noheadings -o sync_percent "$1" | xargs)" = 100.00 ]; do sleep 1; done; }

# What must be refused, first: it takes no time.
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
mkfs.btrfs -q -f /dev/vg/small 2> /dev/null && mount /dev/vg/small /mnt && refused btrfs vg/small raid5 --way copy
umount /mnt 2> /dev/null; lvremove -q -y vg/small

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

volume --type linear -L 64M -n pool; lvconvert -q -y --type thin-pool vg/pool
lvcreate -q -y -V 64M -T vg/pool -n thin
files /dev/vg/thin
follow thin-raid1 vg/thin raid1
nothing; lvremove -q -y vg/pool

volume --type raid5 -i 3 -L 48M -n pool; synced vg/pool; lvconvert -q -y --type thin-pool vg/pool
lvcreate -q -y -V 64M -T vg/pool -n thin
files /dev/vg/thin
follow thin-raid6 vg/thin raid6
nothing; lvremove -q -y vg/pool

volume --type raid5 -i 3 -L 48M -n lv; synced vg/lv
lvcreate -q -y --type cache-pool -L 16M -n fast vg /dev/sdh
lvconvert -q -y --type cache --cachepool fast --cachemode writeback vg/lv
files /dev/vg/lv
follow cache-raid6 vg/lv raid6
follow cache-raid10-copy vg/lv raid10
nothing; lvremove -q -y vg/lv vg/fast

volume --type raid5 -i 3 -L 48M -n lv; synced vg/lv
lvcreate -q -y -L 16M -n fast vg /dev/sdh
lvchange -an vg/fast; lvconvert -q -y --type writecache --cachevol fast vg/lv
files /dev/vg/lv
follow writecache-raid6 vg/lv raid6
nothing; lvremove -q -y vg/lv vg/fast

lvcreate -q -y --type raid1 -m 1 --raidintegrity y -L 48M -n lv vg; synced vg/lv
files /dev/vg/lv
follow integrity-raid1 vg/lv raid1:copies=3
nothing; lvremove -q -y vg/lv

volume --type raid5 -i 3 -L 64M -n lv; synced vg/lv
words=secret
echo -n $words | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/vg/lv -
echo -n $words | cryptsetup open --type luks /dev/vg/lv "a secret"
device="/dev/mapper/a\\x20secret"
files "$device"
follow crypt-raid10-copy vg/lv raid10 --way copy
exit 0
