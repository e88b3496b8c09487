# Plans for md arrays, followed as they are printed while an ext4 on them is written to. For test_plan.py.
. /lab/plans.sh
array() { yes | mdadm --create /dev/md/x --run --assume-clean "$@"; udevadm settle; }
gone() { umount /mnt; udevadm settle; mdadm --stop --scan; wipefs -qa /dev/sd?; }
md() { local case=$1 layout=$2; shift 2; go "$case" /dev/md/x "$layout" /dev/md/x "$(md_state /dev/md/x)" "$@"; }

array --level 5 --chunk 64 --bitmap internal -n 3 /dev/sd{a,b,c}
files /dev/md/x
md md-raid5-raid6 raid6 --onto sdd
md md-raid6-raid5 raid5
md md-chunk raid5:chunk=128k
md md-more raid5:members=4
md md-raid5-raid10 raid10 --way grow --onto sde --onto sdf --onto sdg
refused md-no-disks /dev/md/x raid5
gone
array --level 1 -n 2 /dev/sd{a,b}
files /dev/md/x
md md-raid1-raid5 raid5 --way grow --onto sdc
go md-copy /dev/md/x raid10:members=4 /dev/md/x-new "$(md_state '/dev/md/x /dev/md/x-new')" --way array-copy \
    --onto sdd --onto sde --onto sdf --onto sdg
umount /mnt; mdadm --stop /dev/md/x-new; wipefs -qa /dev/sd?

array --level 5 --chunk 64 --bitmap internal -n 3 /dev/sd{a,b,c}
pvcreate -q -y /dev/md/x; vgcreate -q vg /dev/md/x
lvcreate -q -y -L 96M -n lv vg
files /dev/vg/lv
refused md-lv-in-use vg/lv raid10 --onto sda --onto sdb --onto sdd --onto sde
go md-move vg/lv raid10 /dev/vg/lv "pvs --noheadings -o pv_name,pv_used; $(md_state '/dev/md/x /dev/md/x-new')" \
    --way move --onto sdd --onto sde --onto sdf --onto sdg
exit 0
