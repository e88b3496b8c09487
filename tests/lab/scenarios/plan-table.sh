# Every conversion that `plan` believes lvconvert to make, once, and the content after each. For test_plan.py.
. /lab/plans.sh
set -e
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
lvcreate -q -y -Wn -Zn --type striped -i 3 -I 64k -L 24M -n lv vg
dd if=/dev/urandom of=/tmp/content bs=1M count=24 status=none
dd if=/tmp/content of=/dev/vg/lv bs=1M oflag=direct status=none
python "$LAB/convert_all.py" vg/lv $((24 * 1024 * 1024)) > pairs.txt
