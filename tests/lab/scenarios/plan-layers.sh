# Plans for what lies below caches and pools, and for what has checksums; followed as they are printed.
# For test_plan.py.
. /lab/plans.sh
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
# A cache is on sdh, and none outlives that.
how=(--kill --spare sdh)
raid5() { lvcreate -q -y -Wn --type raid5 -i 3 -I 64k -L 24M -n "$1" vg /dev/sd{a,b,c,d}; synced "vg/$1"; }

cached() {
    raid5 lv
    lvcreate -q -y --type cache-pool -L 8M -n fast vg /dev/sdh
    lvconvert -q -y --type cache --cachepool fast --cachemode writeback vg/lv
    files /dev/vg/lv
}
cached; refused cache-reshape vg/lv raid6 --way convert; lv cache-raid6 raid6:layout=ls_6
cached; lv cache-raid10-copy raid10

writecached() {
    raid5 lv
    lvcreate -q -y -Wn -an -L 16M -n fast vg /dev/sdh
    lvconvert -q -y --type writecache --cachevol fast vg/lv
    files /dev/vg/lv
}
writecached; lv writecache-raid6 raid6:layout=ls_6
writecached; lv writecache-raid10-copy raid10

lvcreate -q -y -Wn --type raid1 -m 1 --raidintegrity y -L 24M -n lv vg; synced vg/lv
files /dev/vg/lv; lv integrity-raid1 raid1:copies=3

# pooled CASE LAYOUT: a thin volume on what vg/pool is
pooled() {
    lvconvert -q -y --type thin-pool vg/pool
    lvcreate -q -y -V 24M -T vg/pool -n thin
    files /dev/vg/thin
    [ "$1" != thin-raid6 ] || refused thin-reshape vg/thin raid6
    go "$1" vg/thin "$2" /dev/vg/thin "$lvm_state"
    over
}
lvcreate -q -y -Wn -L 24M -n pool vg /dev/sda; pooled thin-raid1 raid1
raid5 pool; pooled thin-raid6 raid6:layout=ls_6
exit 0
