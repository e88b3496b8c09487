# A new LV of each layout that a plan may end at, made as the plan says. For test_plan.py.
. /lab/plans.sh
group /dev/sd{a,b,c,d,e,f,g,h}
lvcreate -q -y -Wn --type raid5 -i 2 -I 64k -L 24M -n lv vg; synced vg/lv
python "$LAB/make_all.py" vg/lv copy linear striped raid0 raid1 raid1:copies=3 raid5:members=4 raid5:layout=n raid6 \
    raid6:layout=n_6 raid10 raid10:members=6,chunk=128k > made.txt
