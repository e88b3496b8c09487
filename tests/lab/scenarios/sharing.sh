# Volumes that share disks, each at a steady rate, with the counters read every second: does every interval
# close, and whose was the load? For test_closing.py and test_blame.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid1 raid10 raid456 dm_raid dm_thin_pool dm_crypt dm_delay
unwatched

RUN=6  # seconds of each load

# steady READS|WRITES... SIZE RATE DEVICE [OPTION...]: RATE requests a second of SIZE KiB for RUN seconds
steady() {
    local kind=$1 size=$2 rate=$3 device=$4; shift 4
    fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --rate_iops="$rate" --time_based --runtime=$RUN --iodepth=4 "$@"
}

lv() { lvcreate -q -y -Wn -Zn "$@"; }
on() { local disk; for disk; do echo /dev/sd$disk; done; }
pvcreate -q -ff -y $(on a b c d e f)
vgcreate -q lab $(on a b c d e f)
lv --nosync --type raid5 -i 3 -I 64k -L 96M -n r5 lab $(on a b c d)
lv --nosync --type raid10 -i 2 -m 1 -I 64k -L 96M -n r10 lab $(on a b c d)
lv --nosync --type raid1 -m 1 -L 64M -n r1 lab $(on a b)
lv -L 64M -n one lab $(on e)
lv -L 64M -n two lab $(on e)
lvcreate -q -y -L 64M --type thin-pool -n pool lab $(on e)
lvcreate -q -y -V 64M -n thin1 --thinpool lab/pool
lvcreate -q -y -V 64M -n thin2 --thinpool lab/pool
lv --type striped -i 2 -I 64k -L 64M -n striped lab $(on e f)
lv -l 16 -n bent lab $(on e)
lvextend -q -l 32 lab/bent /dev/sdf
parted -s /dev/sdg mklabel gpt mkpart a 1MiB 200MiB mkpart b 200MiB 400MiB; udevadm settle
head -c 32 /dev/zero > /tmp/key
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /tmp/key /dev/sdg1 secret
# Half of a second under way: what is counted on one side of an edge is not on the other.
dmsetup create slow --table "0 131072 delay /dev/sdg2 0 500"
dmsetup create patient --table "0 131072 linear /dev/mapper/slow 0"
dump sharing
echo "$SECONDS s: sharing stands"

watched sharing r5 lab/r5 steady randrw 4 80 /dev/lab/r5
watched sharing r10 lab/r10 steady randrw 16 150 /dev/lab/r10
watched sharing crypt secret steady randrw 16 150 /dev/mapper/secret
watched sharing linears lab/one,lab/two together \
    steady randwrite 4 100 /dev/lab/one , steady randread 16 70 /dev/lab/two
watched sharing three lab/r5,lab/r10,lab/r1 together \
    steady randwrite 4 30 /dev/lab/r5 , steady randwrite 8 40 /dev/lab/r10 , steady randrw 4 50 /dev/lab/r1
watched sharing thins lab/thin1,lab/thin2 together \
    steady randwrite 64 40 /dev/lab/thin1 --size=8M , steady randrw 4 60 /dev/lab/thin2 --size=8M
watched sharing striped lab/striped steady randrw 4 150 /dev/lab/striped
watched sharing bent lab/bent steady randwrite 4 150 /dev/lab/bent --size=32M
watched sharing partitions secret,sdg2 together \
    steady randwrite 4 100 /dev/mapper/secret , steady randread 4 60 /dev/sdg2

# What must not close, and why: much under way, somebody beside, requests cut in pieces.
watched sharing delayed patient steady randwrite 4 100 /dev/mapper/patient --iodepth=64
watched sharing beside lab/r5 together steady randwrite 4 60 /dev/lab/r5 , steady randread 4 50 /dev/sda
watched sharing member lab/r10 together \
    steady randrw 16 80 /dev/lab/r10 , steady randread 4 80 /dev/mapper/lab-r10_rimage_0
echo 64 > /sys/block/sde/queue/max_sectors_kb
watched sharing pieces lab/one steady write 256 20 /dev/lab/one

# Two control groups, made by hand, as a service manager would; stackmap looks while they load two volumes.
grouped() { local group=/sys/fs/cgroup/$1; shift; echo "$BASHPID" > $group/cgroup.procs; "$@"; }
echo +io > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/{alpha,beta}.slice
# A group is not charged for a device before it has used it, and then has no rate of it yet.
for group in alpha beta; do
    (grouped $group.slice dd if=/dev/lab/one of=/dev/null bs=4K count=1 iflag=direct status=none)
    (grouped $group.slice dd if=/dev/lab/two of=/dev/null bs=4K count=1 iflag=direct status=none)
done
quiet
truth_on
stackmap blame -J sde lab/one 2 100 > groups.json 2> groups.err & reporter=$!
until_lines 1 groups.json $reporter || echo "stackmap ended before its first interval"
(RUN=3 grouped alpha.slice steady randwrite 4 100 /dev/lab/one) > /tmp/said & alpha=$!
(RUN=3 grouped beta.slice steady randread 16 70 /dev/lab/two) > /tmp/said & beta=$!
wait $alpha $beta
# The one that it was in, and one after.
until_lines $(($(wc -l < groups.json) + 2)) groups.json $reporter
kill $reporter; wait $reporter || true
truth_off groups.truth
echo "$SECONDS s: done"
