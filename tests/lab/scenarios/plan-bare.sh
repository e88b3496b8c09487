# Plans that go through RAID0, or end there; followed as they are printed while an ext4 on the LV is written to.
# For test_plan.py.
. /lab/plans.sh
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
how=(--kill)
anew --type raid10 -i 2 -m 1 -I 64k -L 24M
lv raid10-striped striped --way convert
anew --type raid5 -i 3 -I 64k -L 24M
lv raid5-raid10 raid10 --way convert
anew --type raid10 -i 2 -m 1 -I 64k -L 24M
lv raid10-raid5 raid5 --way convert
exit 0
