# Plans for md arrays, some a boot: $CASE. Followed as it is printed while an ext4 on the array is written to. For
# test_plan_md.py.
. /lab/mds.sh

# In place, and never without redundancy. The ext4 and its load do not fit on copies of 16 MiB.
md-raid5-raid6() { array 5 3 --bitmap=internal; md raid6 --onto sdd; }
# mdadm 4.2 may wait for ever, at level 6, if the reshape ends before it watches: after a second with 16 MiB.
md-raid6-raid5() { size=64M; array 6 4 --bitmap=internal; md raid5; }
md-chunk() { array 5 3; md raid5:chunk=512k; }
md-more() { array 5 3 --bitmap=internal; md raid5:members=5 --onto sdd --onto sde; }
md-raid6-more() { array 6 4; md raid6:members=5,chunk=512k --onto sdf; }
md-raid1-raid5() { size=32M; array 1 2 --bitmap=internal; md raid5 --way grow --onto sdc; }
md-raid1-more() { size=32M; array 1 2; md raid1:copies=3 --way grow --onto sdc; }
md-raid10-more() { array 10 4 --bitmap=internal; md raid10:members=6 --way grow --onto sde --onto sdf; }

# By way of raid0, from it or to it.
md-raid5-raid10() { array 5 3 --bitmap=internal; md raid10 --way grow --onto sde --onto sdf; }
md-raid10-raid5() { array 10 4 --bitmap=internal; md raid5 --way grow --onto sdf; }
md-raid0-raid5() { raid0; md raid5 --way grow --onto sdf; }
md-raid0-raid10() { raid0; md raid10 --way grow --onto sdf --onto sdg; }
md-raid5-raid0() { array 5 3; md raid0 --way grow; }
md-raid10-raid0() { array 10 4; md raid0 --way grow; }

# A new array of small partitions, which are in sync soon.
parted() {
    for disk in d e f g; do sgdisk --new=0:0:+64M /dev/sd$disk > /dev/null; done
    udevadm settle
}
new=(--onto sdd1 --onto sde1 --onto sdf1 --onto sdg1)
copy() { device=$1; md raid10:members=4 --way array-copy "${new[@]}"; }
move() {
    made 5 3 --bitmap=internal; parted
    pvcreate -q -y /dev/md/x; vgcreate -q vg /dev/md/x; lvcreate -q -y -Wn -L 40M -n lv vg
    device=/dev/vg/lv; files $device
    md raid10:members=4 --way move "${new[@]}"
}
md-move() { size=32M; move; }
md-raid5-raid10-copy() { array 5 3 --bitmap=internal; parted; copy /dev/md/x-new; }
md-crypt-copy() {
    size=32M; how+=(--key secret)
    made 5 3 --bitmap=internal; parted
    echo -n secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/md/x -
    echo -n secret | cryptsetup open --type luks /dev/md/x safe; udevadm settle
    files /dev/mapper/safe
    copy /dev/mapper/safe
}

md-raid5-raid6-back() { given_up 4; md-raid5-raid6; }
md-chunk-back() { given_up 3; md-chunk; }
md-raid1-raid5-back() { given_up 3; md-raid1-raid5; }
md-raid0-raid10-back() { given_up 3; md-raid0-raid10; }
md-move-back() { given_up 9; md-move; }
md-copy-back() { given_up 10; array 5 3 --bitmap=internal; parted; copy /dev/md/x; }

# shellcheck disable=SC2086 # several
cases $CASE
