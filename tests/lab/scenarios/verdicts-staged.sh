# Arrays that lack a member, were never synced, may not send a stripe at once or wait for one thread: what
# `explain` must say first. For test_verdicts.py.
. /lab/guest.sh
. /lab/recorded.sh
modprobe -a raid456 raid10 dm_raid 2>/dev/null
unwatched

array() { yes | mdadm --create "/dev/md/$1" --run --chunk 64 --size 60M --bitmap internal "${@:2}" > /tmp/said 2>&1 || cat /tmp/said; udevadm settle; }
gone() { mdadm --stop "/dev/md/$1"; mdadm --zero-superblock "${@:2}"; udevadm settle; } 2> /dev/null

random() { load "$1" --rw=randrw --bs=16k --direct=1 --rate_iops=10,10; }

array lost --level 5 -n 4 /dev/sd{a,b,c} missing
dump degraded
recorded degraded 8 random /dev/md/lost
gone lost /dev/sd{a,b,c}

array broke --level 10 --assume-clean -n 4 /dev/sd{a,b,c,d}
mdadm -q /dev/md/broke --fail /dev/sdc
dump failed
recorded failed 8 random /dev/md/broke
gone broke /dev/sd{a,b,c,d}

array narrow --level 5 --assume-clean -n 4 /dev/sd{a,b,c,d}
echo 16 > "/sys/block/$(basename "$(readlink -f /dev/md/narrow)")/queue/max_sectors_kb"
streams() { load "$1" --rw=write --bs=192k --direct=1 --iodepth=2; }
dump narrow
recorded narrow 8 streams /dev/md/narrow
gone narrow /dev/sd{a,b,c,d}

pvcreate -q -ff -y /dev/sd{a,b,c,d,e} && vgcreate -q -y lab /dev/sd{a,b,c,d,e}
lvcreate -q -y -Wn --type raid5 -i 4 -I 64k --nosync -L 200M -n unsynced lab
dump nosync
recorded nosync 8 random /dev/lab/unsynced

# Disks in memory: they are never what limits the array.
modprobe brd rd_nr=6 rd_size=102400
yes | mdadm --create /dev/md/bound --run --level 6 --chunk 64 --assume-clean --bitmap none -n 6 /dev/ram{0,1,2,3,4,5} > /tmp/said 2>&1 || cat /tmp/said
udevadm settle
busy() { load "$1" --rw=randwrite --bs=256k --direct=1 --iodepth=32; load "$1" --rw=randwrite --bs=16k --direct=1 --iodepth=32; }
busy /dev/md/bound
stackmap record /tmp/bound 1 8  # with the time that the thread used
ended
tar cf md-bound.tar -C /tmp/bound .
