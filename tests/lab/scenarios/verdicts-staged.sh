# Volumes that lack a member, were never synced, may not send a stripe at once, are nearly full, miss their cache
# or wait for one thread: what `explain` must say of each first. For test_verdicts.py.
. /lab/guest.sh
. /lab/recorded.sh
modprobe -a raid456 raid10 dm_raid dm_thin_pool dm_cache dm_cache_smq 2>/dev/null
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

# taken NAME: NAME.tar, recorded by stackmap while the loads run: with the status of targets and the time that
# threads used
taken() {
    sleep 5
    stackmap record "/tmp/$1" 1 6
    ended
    tar cf "$1.tar" -C "/tmp/$1" .
    echo "$SECONDS s: $1"
}

# A cache that is new and small, then what was read for long enough to be in it.
pvcreate -q -y /dev/sd{q,r} && vgextend -q lab /dev/sd{q,r}
lvcreate -q -y -Wn -L 120M -n cached lab /dev/sdq
lvcreate -q -y -Wn -L 24M -n fast lab /dev/sdr
lvconvert -q -y --type cache --cachevol fast --chunksize 64k --config 'global/cache_check_executable=""' lab/cached
reads() { load /dev/lab/cached --rw=randread --bs=16k --direct=1 --rate_iops=150 "$@"; }
reads --size=112M
taken cold
reads --size=2M
for turn in {1..40}; do
    read -r hits misses <<< "$(dmsetup status lab-cached | awk '{print $8, $9}')"
    sleep 2
    dmsetup status lab-cached | awk -v h="$hits" -v m="$misses" '{exit ($8 - h) < 10 * ($9 - m)}' && break
done
echo "$SECONDS s: $turn turns until it was warm: $(dmsetup status lab-cached)"
taken warm

# Disks in memory: they are never what limits the array.
modprobe brd rd_nr=6 rd_size=102400
yes | mdadm --create /dev/md/bound --run --level 6 --chunk 64 --assume-clean --bitmap none -n 6 /dev/ram{0,1,2,3,4,5} > /tmp/said 2>&1 || cat /tmp/said
udevadm settle
load /dev/md/bound --rw=randwrite --bs=256k --direct=1 --iodepth=32
load /dev/md/bound --rw=randwrite --bs=16k --direct=1 --iodepth=32
taken md-bound
