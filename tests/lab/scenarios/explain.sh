# One situation after another, each measured three times: what `explain` must say first, and when nothing.
# With ONLY="NAME..." only those. For test_explain.py.
. /lab/situations.sh
disks

situation idle - sleep 14
situation random - load /dev/lab/r10 --rw=randread --bs=4k --iodepth=2
situation sequential - load /dev/lab/r10 --rw=write --bs=1M --iodepth=1
situation mixed - load /dev/lab/r10 --rw=randrw --bs=16k --iodepth=2

volume --type striped -i 4 -I 4k -L 160M -n small
situation small-chunk small-chunk load /dev/lab/small --rw=randread --bs=64k --iodepth=2

# A new one has all regions marked as being written: until they are cleared, it costs nothing to write there.
# At a rate at which one that was written to is cleared before it is written to again.
volume --type raid1 --nosync --regionsize 16k -L 400M -n bitmap
written=(load /dev/lab/bitmap --rw=randwrite --bs=4k --iodepth=1 --rate_iops=200)
! wanted bitmap || "${written[@]}"
situation bitmap metadata-writes "${written[@]}"

lvcreate -q -y -L 600M --chunksize 64k -T lab/pool --config 'global/thin_check_executable=""'
for turn in 1 2 3; do lvcreate -q -y -V 190M -T lab/pool -n thin$turn; done
touched() { load "/dev/lab/thin$turn" --rw=randwrite --bs=4k --iodepth=1 --rate_iops=100; }
situation thin thin-first-touch touched
lvremove -q -y lab/pool

# A part of each disk, for arrays of md.
for letter in a b c d; do lvcreate -q -y -Wn -Zn -L 120M -n "part$letter" lab "/dev/sd$letter"; done
parts=(/dev/lab/part{a,b,c,d})
array() { yes | mdadm --create /dev/md/array --run --chunk 64 --bitmap none -n 4 "$@" > /tmp/mdadm 2>&1 || cat /tmp/mdadm; udevadm settle; }
gone() { mdadm --stop /dev/md/array; mdadm --zero-superblock "${parts[@]}"; udevadm settle; } 2>/dev/null
md() { readlink -f /sys/block/"$(basename "$(readlink -f /dev/md/array)")"/md; }

dmsetup create delayed --table "0 $(blockdev --getsz /dev/lab/partb) delay /dev/lab/partb 0 30"
array --level 10 --assume-clean /dev/lab/parta /dev/mapper/delayed /dev/lab/partc /dev/lab/partd
situation delay slow-member load /dev/md/array --rw=randwrite --bs=4k --iodepth=4
mdadm --stop /dev/md/array; mdadm --zero-superblock /dev/mapper/delayed; dmsetup remove delayed; gone

array --level 5 --assume-clean "${parts[@]}"
parted -s -a none /dev/md/array mklabel msdos mkpart primary 64s 100%; udevadm settle
situation misaligned misaligned load "$(readlink -f /dev/md/array)p1" --rw=randwrite --bs=192k --iodepth=2
mdadm /dev/md/array --fail /dev/lab/partc
situation degraded broken load /dev/md/array --rw=randread --bs=16k --iodepth=2
gone

echo 500 > /proc/sys/dev/raid/speed_limit_max; echo 100 > /proc/sys/dev/raid/speed_limit_min
array --level 5 --force "${parts[@]}"
echo 500 > "$(md)/sync_speed_max"
situation resync background-work load /dev/md/array --rw=randwrite --bs=16k --iodepth=2
gone

volume -L 100M -n capped
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
echo +io > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/capped
number=$(cat /sys/block/"$(basename "$(readlink -f /dev/lab/capped)")"/dev)
echo "$number wiops=40" > /sys/fs/cgroup/capped/io.max
capped() { (echo $BASHPID > /sys/fs/cgroup/capped/cgroup.procs; load /dev/lab/capped --rw=randwrite --bs=4k --iodepth=4); }
situation throttle throttled capped
# What `dump` does not take: the cap.
mkdir -p /tmp/dump/sys/fs/cgroup/capped
cat /sys/fs/cgroup/capped/io.max > /tmp/dump/sys/fs/cgroup/capped/io.max
tar -C /tmp/dump -cf throttle.tar .
echo "$SECONDS s: done"
