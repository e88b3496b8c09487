# The host the project began with: VG vghdd on four disks, a RAID5 LV and the RAID10 LV it was moved to.
# One load on the RAID5 LV, measured by stackmap and by the kernel over the same time.
. /lab/guest.sh
set -e
for disk in a b c d; do wipefs -q -a /dev/sd$disk; done
pvcreate -q -ff -y /dev/sd{a,b,c,d}
vgcreate -q vghdd /dev/sd{a,b,c,d}
# --nosync: the first resync would be most of what there is to see.
lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 300M -n vm-disk1 vghdd
lvcreate -q -y --nosync --type raid10 -i 2 -m 1 -I 64k -L 300M -n vm-disk1-r10 vghdd
quiet
dmsetup table > dmsetup-table.txt
echo "$SECONDS s: the stack stands"

set +e  # from here on a failure is a result, and the test's to judge
stackmap tree -J vghdd > tree.json 2> tree.err; echo $? > tree.status
echo "$SECONDS s: tree"

# Everything the load does must fall between stackmap's first sample and its last, and between truth_on
# and truth_off: then both have counted the same, however uneven the load was. So: the load starts when
# the first interval is told, and ends well before the last.
quiet
truth_on
cat /proc/diskstats > load.before
stackmap iostat --per-layer -J vm-disk1 2 5 > layers.json 2> layers.err & reporter=$!
until_lines 1 layers.json $reporter || echo "stackmap ended before its first interval"
echo "$SECONDS s: load"
# 20 KiB neither fills a stripe (192 KiB) nor divides one: partial stripes, now and then a full one.
timeout 3 dd if=/dev/zero of=/dev/vghdd/vm-disk1 oflag=direct bs=20K
wait $reporter; echo $? > layers.status
cat /proc/diskstats > load.after
truth_off load.truth
echo "$SECONDS s: done"
exit 0
