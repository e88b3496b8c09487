# Two RAID5 LVs of disks full of noise, each made with --nosync: small writes to both, then a disk dies. What is
# read then is what parity gives back. For test_unsynced.py.
. /lab/guest.sh
set -e
modprobe raid456
for disk in a b c d e; do dd if=/dev/urandom of=/dev/sd$disk bs=1M oflag=direct status=none || true; done
pvcreate -q -ff -y /dev/sd{a,b,c,d,e}
vgcreate -q vg /dev/sd{a,b,c,d,e}
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 3 -I 64k -L 24M -n three vg /dev/sd{a,b,c,d}
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 4 -I 64k -L 32M -n four vg /dev/sd{a,b,c,d,e}
quiet
stackmap explain 1 1 -J > explain.json
for name in three four; do
    # 64 blocks of 4 KiB, each in a row of its own: 320 KiB apart
    for place in $(seq 0 63); do
        dd if=/dev/urandom of=/tmp/block bs=4k count=1 status=none
        dd if=/tmp/block of=/dev/vg/$name bs=4k seek=$((place * 80)) oflag=direct conv=notrunc status=none
        cat /tmp/block >> $name.written
    done
done
read_back() {
    local name place
    for name in three four; do
        rm -f "$name.$1"
        for place in $(seq 0 63); do
            dd if=/dev/vg/$name bs=4k skip=$((place * 80)) count=1 iflag=direct status=none >> "$name.$1"
        done
    done
}
read_back whole
echo offline > /sys/block/sdb/device/state
read_back degraded
echo "$SECONDS s: done"
