# A thin pool at 85 %, a cache cold and warm, and an array with one busy thread: each recorded by stackmap, with
# the target's own status before and after. For test_targets.py.
. /lab/guest.sh
in_memory dmsetup ps
unwatched
pvcreate -q -y /dev/sd{a,b} && vgcreate -q -y lab /dev/sd{a,b}

# recorded NAME SECONDS COMMAND...: NAME.tar while COMMAND runs, NAME.status: dmsetup status before and after it
recorded() {
    local name=$1 seconds=$2; shift 2
    quiet
    stackmap record "/tmp/$name" 1 "$seconds" & local recorder=$!
    until [ -d "/tmp/$name/log" ]; do sleep 0.5; kill -0 $recorder || return 1; done
    { sample; dmsetup status --noflush; } > "$name.status"
    "$@" > /tmp/said 2>&1 || cat /tmp/said
    { sample; dmsetup status --noflush; } >> "$name.status"
    wait $recorder
    tar cf "$name.tar" -C "/tmp/$name" .
    echo "$SECONDS s: $name"
}

lvcreate -q -y -L 200M --chunksize 64k -T lab/pool --config 'global/thin_check_executable=""'
lvcreate -q -y -V 400M -T lab/pool -n thin
dd if=/dev/zero of=/dev/lab/thin bs=1M count=162 oflag=direct 2> /tmp/said
lvcreate -q -y -s -L 40M -n snap lab/thin 2> /tmp/said || cat /tmp/said
grow() { fio --name=g --filename=/dev/lab/thin --offset=162M --size=20M --rw=write --bs=64k --direct=1 --rate_iops=10 --time_based --runtime=14; }
recorded pool 16 grow

lvcreate -q -y -L 300M -n slow lab /dev/sda
lvcreate -q -y -L 80M -n fast lab /dev/sdb
lvconvert -q -y --type cache --cachevol fast --cachemode writeback --chunksize 64k lab/slow
hot() { fio --name=h --filename=/dev/lab/slow --size="$1" --rw=randread --bs=4k --direct=1 --iodepth=4 --ioengine=libaio --time_based --runtime=14; }
hits_and_misses() { dmsetup status --noflush lab-slow | awk '{print $8, $9}'; }
# until_warm: reads until at most one in twenty misses; how long that takes depends on the machine
until_warm() {
    local hits misses hits_then misses_then
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        read -r hits misses <<< "$(hits_and_misses)"
        hot 40M > /tmp/said 2>&1 || cat /tmp/said
        read -r hits_then misses_then <<< "$(hits_and_misses)"
        [ $((20 * (misses_then - misses))) -gt $((hits_then - hits + misses_then - misses)) ] || return 0
    done
    echo "the cache did not become warm"
}
recorded cold 16 hot 250M
recorded between 16 hot 40M
until_warm
recorded warm 16 hot 40M

# Disks in memory: they are never what limits the array.
modprobe brd rd_nr=4 rd_size=102400
mdadm --create /dev/md0 --run --level 5 -n 4 --chunk 64 --assume-clean --bitmap none /dev/ram{0,1,2,3} 2> /tmp/said || cat /tmp/said
udevadm settle
busy() { fio --name=b --filename=/dev/md0 --rw=randwrite --bs=4k --direct=1 --iodepth=64 --ioengine=libaio --time_based --runtime=30; }
recorded thread 24 busy
ps --ppid=2 --no-headers --format=pid,comm | grep md > threads.txt
