# Plans for what lies below caches and pools, and for what has checksums, some a boot: $CASE. Followed as it is
# printed. For test_plan.py.
. /lab/plans.sh
prepared() { group /dev/sd{a,b,c,d,e,f,g,h}; }
raid5() { lvcreate -q -y -Wn --type raid5 -i 3 -I 64k -L 24M -n "$1" vg /dev/sd{a,b,c,d}; synced "vg/$1"; }

# A cache is on sdh, and none outlives that; what a write costs below one is by what the cache held.
cached() {
    how+=(--spare sdh); loads=
    raid5 lv
    lvcreate -q -y --type cache-pool -L 8M -n fast vg /dev/sdh
    lvconvert -q -y --type cache --cachepool fast --cachemode writeback vg/lv
    files /dev/vg/lv
}
cache-raid6() { cached; lv raid6:layout=ls_6; }
cache-raid10-copy() { cached; lv raid10; }

writecached() {
    how+=(--spare sdh); loads=
    raid5 lv
    lvcreate -q -y -Wn -an -L 16M -n fast vg /dev/sdh
    lvconvert -q -y --type writecache --cachevol fast vg/lv
    files /dev/vg/lv
}
writecache-raid6() { writecached; lv raid6:layout=ls_6; }
writecache-raid10-copy() { writecached; lv raid10; }

integrity-raid1() {
    lvcreate -q -y -Wn --type raid1 -m 1 --raidintegrity y -L 24M -n lv vg; synced vg/lv; files /dev/vg/lv
    lv raid1:copies=3
}

# pooled LAYOUT: of a thin volume on what vg/pool is
pooled() {
    lvconvert -q -y --type thin-pool vg/pool
    lvcreate -q -y -V 24M -T vg/pool -n thin
    files /dev/vg/thin
    follow vg/thin "$1" /dev/vg/thin "$lvm_state"
}
thin-raid1() { lvcreate -q -y -Wn -L 24M -n pool vg /dev/sda; pooled raid1; }
thin-raid6() { raid5 pool; pooled raid6:layout=ls_6; }

cache-raid6-back() { given_up 2; cache-raid6; }
writecache-raid6-back() { given_up 2; writecache-raid6; }
integrity-raid1-back() { given_up 2; integrity-raid1; }

# shellcheck disable=SC2086 # several
cases $CASE
