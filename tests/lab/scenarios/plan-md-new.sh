# Plans for md arrays by a new array, followed as they are printed while an ext4 is written to. For test_plan_md.py.
. /lab/mds.sh
size=32M
# Of small partitions, which are in sync soon.
parted() {
    for disk in d e f g; do sgdisk --new=0:0:+64M /dev/sd$disk > /dev/null; done
    udevadm settle
}
new=(--onto sdd1 --onto sde1 --onto sdf1 --onto sdg1)
pv() {
    made 5 3 --bitmap=internal; parted
    pvcreate -q -y /dev/md/x; vgcreate -q vg /dev/md/x; lvcreate -q -y -Wn -L 40M -n lv vg
    files /dev/vg/lv
}
move() { device=/dev/vg/lv; md "$1" raid10:members=4 --way move "${new[@]}"; }
copy() { md "$1" raid10:members=4 --way array-copy "${new[@]}"; }

how=(--fio --kill)
pv
move md-move
array 5 3 --bitmap=internal; parted
device=/dev/md/x-new
copy md-raid5-raid10-copy

# The same load before and after.
how=()
pv
loads=40 move md-move-load

# Given up on the way.
how=(--fio --back "8 7 6 5 1")
pv
move md-move-back
how=(--fio --back "9 1")
array 5 3 --bitmap=internal; parted
device=/dev/md/x
copy md-copy-back

how=(--fio --kill --key secret)
device=/dev/mapper/safe
made 5 3 --bitmap=internal; parted
echo -n secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/md/x -
echo -n secret | cryptsetup open --type luks /dev/md/x safe; udevadm settle
files $device
copy md-crypt-copy
exit 0
