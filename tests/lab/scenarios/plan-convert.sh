# Plans that lvconvert makes without losing redundancy; followed as they are printed while an ext4 on the LV is
# written to. For test_plan.py.
. /lab/plans.sh
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
how=(--kill)
anew --type raid5 -i 3 -I 64k -L 24M
loads=40 lv raid5-raid6 raid6
anew --type raid6 -i 3 -I 64k -L 24M
lv raid6-raid5 raid5
anew --type striped -i 3 -I 64k -L 24M
lv striped-raid6 raid6 --way convert
anew --type raid5 -i 3 -I 64k -L 24M
how=(--back "3 1")
lv raid5-raid6-back raid6
exit 0
