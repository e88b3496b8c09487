# Plans for LVs that add or drop copies, or copy; followed as they are printed while an ext4 on the LV is written
# to. For test_plan.py.
. /lab/plans.sh
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
how=(--kill)
# Of two segments, as an LV is that has grown.
lvcreate -q -y -Wn -n lv -L 24M vg /dev/sda; lvcreate -q -y -Wn -l 1 -n between vg /dev/sda
lvextend -q -l +2 vg/lv /dev/sda; lvremove -q -y vg/between; files /dev/vg/lv
loads=40 lv linear-raid1 raid1
anew --type raid1 -m 1 -L 24M
lv raid1-more raid1:copies=3
anew --type raid1 -m 2 -L 24M
lv raid1-linear linear
anew -L 24M
lv linear-raid5-copy raid5:members=4
anew --type raid5 -i 3 -I 64k -L 24M
loads=40 lv raid5-raid10-copy raid10

# Given up on the way.
anew -L 24M
how=(--back 1)
lv linear-raid1-back raid1
anew --type raid5 -i 3 -I 64k -L 24M
how=(--back "8 1")
lv raid5-raid10-copy-back raid10
exit 0
