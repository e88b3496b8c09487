# Plans for md arrays by a new array, followed as they are printed while an ext4 is written to. For test_plan.py.
. /lab/mds.sh
size=32M
pv() { pvcreate -q -y /dev/md/x; vgcreate -q vg /dev/md/x; lvcreate -q -y -Wn -L 40M -n lv vg; files /dev/vg/lv; }
new=(--onto sdd --onto sde --onto sdf --onto sdg)
how=(--fio --kill)
device=/dev/md/x-new
array 5 3 --bitmap=internal
md md-raid5-raid10-copy raid10:members=4 --way array-copy "${new[@]}"
device=/dev/vg/lv
made 5 3 --bitmap=internal; pv
md md-move raid10:members=4 --way move "${new[@]}"
how=(--fio --kill --key secret)
device=/dev/mapper/safe
made 5 3 --bitmap=internal
echo -n secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/md/x -
echo -n secret | cryptsetup open --type luks /dev/md/x safe; udevadm settle; files $device
md md-crypt-copy raid10:members=4 --way array-copy "${new[@]}"

# Given up on the way.
how=(--fio --back "7 6 5 4 1")
device=/dev/vg/lv
made 5 3 --bitmap=internal; pv
md md-move-back raid10:members=4 --way move "${new[@]}"
how=(--fio --back "8 1")
device=/dev/md/x
array 5 3 --bitmap=internal
md md-copy-back raid10:members=4 --way array-copy "${new[@]}"

# The same load before and after.
how=()
device=/dev/vg/lv
made 5 3 --bitmap=internal; pv
loads=40 md md-move-load raid10:members=4 --way move "${new[@]}"
exit 0
