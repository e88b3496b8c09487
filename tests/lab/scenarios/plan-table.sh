# One half of the conversions that `plan` believes lvconvert to make, each once, and the content after each. $CASE is
# the type to begin with: striped for those from and to striped types, raid5_ls for those between parity levels. For
# test_plan.py.
. /lab/guest.sh
modprobe -a dm_raid raid456 raid10 raid1 raid0
set -e
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
dd if=/dev/urandom of=/tmp/content bs=1M count=24 status=none
python "$LAB/convert_all.py" "$CASE" > pairs.txt
