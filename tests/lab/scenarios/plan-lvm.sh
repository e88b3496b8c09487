# Plans for LVs, followed as they are printed while an ext4 on them is written to. For test_plan.py.
. /lab/plans.sh
set -e
disks=(/dev/sd{a,b,c,d,e,f,g,h})
pvcreate -q -ff -y "${disks[@]}"; vgcreate -q vg "${disks[@]}"
# Of two segments, as an LV is that has grown.
lvcreate -q -y --type linear -L 64M -n lv vg /dev/sda; lvcreate -q -y -l 1 -n between vg /dev/sda
lvextend -q -l +8 vg/lv /dev/sda; lvremove -q -y vg/between
files /dev/vg/lv
set +e
lv() { local case=$1 layout=$2; shift 2; go "$case" vg/lv "$layout" /dev/vg/lv "$lvm_state" "$@"; }
lv linear-raid1 raid1
lv raid1-more raid1:copies=3
lv raid1-linear linear
lv linear-raid5-copy raid5:members=4
lv raid5-raid6 raid6
lv raid6-raid5 raid5
lv raid5-raid10 raid10 --way convert
lv raid10-raid5 raid5 --way convert
lvm fullreport --reportformat=json --units=b --nosuffix > report.json
stackmap record before 1 5 > /dev/null 2>&1
lv raid5-raid10-copy raid10
stackmap record after 1 5 > /dev/null 2>&1
lv raid10-striped striped --way convert
lv striped-raid6 raid6 --way convert
exit 0
