# The same load on a RAID5 LV, once more on it, and on a RAID10 LV of the same disks, each recorded by stackmap's
# measure of seconds. For test_compare.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe raid456
unwatched
for disk in a b c d; do wipefs -q -a /dev/sd$disk; done
pvcreate -q -ff -y /dev/sd{a,b,c,d}
vgcreate -q vg /dev/sd{a,b,c,d}
# Large regions: else at this rate RAID10 makes as many requests for its bitmap as it saves.
lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -R 64M -L 300M -n r5 vg
lvcreate -q -y --nosync --type raid10 -i 2 -m 1 -I 64k -R 64M -L 300M -n r10 vg
quiet
dump compare
echo "$SECONDS s: the stack stands"

# load VOLUME SEED: random reads and writes, so slow that the emulator keeps up
load() {
    local common=(--ioengine=libaio --direct=1 --norandommap=1 --time_based=1 --runtime=150 --filename=/dev/vg/"$1"
        --randseed="$2" --iodepth=4 --rate_process=poisson --output-format=json)
    fio "${common[@]}" --name=reads --rw=randread --bs=16k --rate_iops=15 \
        --name=writes --rw=randwrite --bs=8k --rate_iops=25
}

set +e  # from here on a failure is a result, and the test's to judge
watched compare first r5 load r5 11
watched compare second r5 load r5 13
watched compare moved r10 load r10 17
echo "$SECONDS s: done"
exit 0
