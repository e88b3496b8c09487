# Plans for LVs that change their level or copy, some a boot: $CASE. Followed as it is printed while an ext4 on the LV
# is written to. For test_plan.py.
. /lab/plans.sh
prepared() { group /dev/sd{a,b,c,d,e,f,g,h}; }

# Copies are added or dropped. The first is of two segments, as an LV is that has grown.
linear-raid1() {
    lvcreate -q -y -Wn -n lv -L 24M vg /dev/sda; lvcreate -q -y -Wn -l 1 -n between vg /dev/sda
    lvextend -q -l +2 vg/lv /dev/sda; lvremove -q -y vg/between; files /dev/vg/lv
    lv raid1
}
raid1-more() { anew --type raid1 -m 1 -L 24M; lv raid1:copies=3; }
raid1-linear() { anew --type raid1 -m 2 -L 24M; lv linear; }

# A copy.
linear-raid5-copy() { anew -L 24M; lv raid5:members=4; }
raid5-raid10-copy() { anew --type raid5 -i 3 -I 64k -L 24M; lv raid10; }

# lvconvert, without losing redundancy, and by way of raid0 or to it.
raid5-raid6() { anew --type raid5 -i 3 -I 64k -L 24M; lv raid6; }
raid6-raid5() { anew --type raid6 -i 3 -I 64k -L 24M; lv raid5; }
striped-raid6() { anew --type striped -i 3 -I 64k -L 24M; lv raid6 --way convert; }
raid5-raid10() { anew --type raid5 -i 3 -I 64k -L 24M; lv raid10 --way convert; }
raid10-raid5() { anew --type raid10 -i 2 -m 1 -I 64k -L 24M; lv raid5 --way convert; }
raid10-striped() { anew --type raid10 -i 2 -m 1 -I 64k -L 24M; lv striped --way convert; }

linear-raid1-back() { given_up 2; anew -L 24M; lv raid1; }
raid5-raid10-copy-back() { given_up 11; raid5-raid10-copy; }
raid5-raid6-back() { given_up 4; raid5-raid6; }
raid10-striped-back() { given_up 2; raid10-striped; }

# shellcheck disable=SC2086 # several
cases $CASE
