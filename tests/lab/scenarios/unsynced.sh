# Two RAID5 LVs of disks full of noise, each made with --nosync: small writes to both, then a disk dies. What is
# read then is what parity gives back. For test_unsynced.py.
. /lab/guest.sh
set -e
modprobe raid456
noise=/tmp/noise
dd if=/dev/urandom of=$noise bs=1M count=8 status=none
for disk in a b c d e; do
    for place in 0 8 16 24; do dd if=$noise of=/dev/sd$disk bs=1M seek=$place oflag=direct status=none; done
done
pvcreate -q -ff -y /dev/sd{a,b,c,d,e}
vgcreate -q vg /dev/sd{a,b,c,d,e}
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 3 -I 64k -L 12M -n three vg /dev/sd{a,b,c,d}
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 4 -I 64k -L 16M -n four vg /dev/sd{a,b,c,d,e}
quiet
stackmap explain 1 1 -J > explain.json

read_back() {
    local name
    for name in three four; do dd if=/dev/vg/$name of=$name."$1" bs=1M iflag=direct status=none; done
}

# 32 blocks of 4 KiB to each, 320 KiB apart: each in a row of its own
dd if=/dev/urandom of=written bs=4k count=32 status=none
for name in three four; do
    for place in $(seq 0 31); do
        dd if=written of=/dev/vg/$name bs=4k count=1 skip="$place" seek=$((place * 80)) oflag=direct \
            conv=notrunc status=none
    done
done
read_back whole
echo offline > /sys/block/sda/device/state
read_back degraded
echo "$SECONDS s: done"
