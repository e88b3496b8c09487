# Every conversion from one parity level to another that `plan` believes lvconvert to make, once, and the content
# after each. For test_plan.py.
. /lab/guest.sh
modprobe -a dm_raid raid456 raid10 raid1 raid0
set -e
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
dd if=/dev/urandom of=/tmp/content bs=1M count=24 status=none
python "$LAB/convert_all.py" raid5_ls > pairs.txt
