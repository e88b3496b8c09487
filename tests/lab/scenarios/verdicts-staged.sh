# Volumes that lack a member, were never synced, may not send a stripe at once, are nearly full or wait for one
# thread, side by side: what `explain` must say of each first. For test_verdicts.py.
. /lab/guest.sh
. /lab/recorded.sh
modprobe -a raid456 raid10 dm_raid dm_thin_pool 2>/dev/null
unwatched

array() { yes | mdadm --create "/dev/md/$1" --run --chunk 64 --size 60M --bitmap internal "${@:2}" > /tmp/said 2>&1 || cat /tmp/said; }
array lost --level 5 -n 4 /dev/sd{a,b,c} missing
array broke --level 10 --assume-clean -n 4 /dev/sd{d,e,f,g}
mdadm -q /dev/md/broke --fail /dev/sdf
array narrow --level 5 --assume-clean -n 4 /dev/sd{h,i,j,k}
echo 16 > "/sys/block/$(basename "$(readlink -f /dev/md/narrow)")/queue/max_sectors_kb"

pvcreate -q -y /dev/sd{l,m,n,o,p} && vgcreate -q -y lab /dev/sd{l,m,n,o,p}
lvcreate -q -y -Wn --type raid5 -i 4 -I 64k --nosync -L 128M -n unsynced lab
lvcreate -q -y -L 60M --chunksize 64k -T lab/pool --config 'global/thin_check_executable=""'
lvcreate -q -y -V 200M -T lab/pool -n thin
dd if=/dev/zero of=/dev/lab/thin bs=1M count=51 oflag=direct 2> /tmp/said
echo "$SECONDS s: made"

random() { load "$1" --rw=randrw --bs=16k --direct=1 --rate_iops=10,10; }
staged() {
    random /dev/md/lost
    random /dev/md/broke
    random /dev/lab/unsynced
    load /dev/lab/thin --rw=randread --bs=16k --direct=1 --rate_iops=10 --size=40M
    load /dev/md/narrow --rw=write --bs=192k --direct=1 --iodepth=2
}
dump stacks
recorded staged 6 staged

# Disks in memory: they are never what limits the array. Recorded by stackmap: with the time that the thread used.
modprobe brd rd_nr=6 rd_size=102400
yes | mdadm --create /dev/md/bound --run --level 6 --chunk 64 --assume-clean --bitmap none -n 6 /dev/ram{0,1,2,3,4,5} > /tmp/said 2>&1 || cat /tmp/said
udevadm settle
load /dev/md/bound --rw=randwrite --bs=256k --direct=1 --iodepth=32
load /dev/md/bound --rw=randwrite --bs=16k --direct=1 --iodepth=32
stackmap record /tmp/bound 1 6
ended
tar cf md-bound.tar -C /tmp/bound .
echo "$SECONDS s: md-bound"
