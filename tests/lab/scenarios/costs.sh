# Stacks whose writes cost more than data and parity, and loads that counters alone once misread: for test_costs.py.
# Every load is counted by the kernel over the same time; some are watched by stackmap as they run, too.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid1 raid10 raid456 dm_raid dm_thin_pool dm_cache dm_crypt dm_integrity
unwatched

# load READS|WRITES... SIZE COUNT DEVICE [OPTION...]: COUNT requests of SIZE KiB by fio
load() {
    local kind=$1 size=$2 count=$3 device=$4; shift 4
    fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --io_size=$((size * count))k --iodepth=1 "$@"
}

# slowly RATE SECONDS DEVICE: 4 KiB random writes at a rate that lets md's daemon clear bits between them
slowly() { load randwrite 4 $(($1 * $2)) "$3" --rate_iops="$1"; }

# committed COMMAND...: COMMAND, until what it left to timers is written: integrity's journal is committed after
# ten seconds, a thin pool's metadata after one, and bits of a bitmap are cleared late. In a slow guest that
# else comes between two ways of counting.
committed() { "$@" || return; sleep 12; }

# with_fsync BLOCK DEVICE: ext4 with blocks of BLOCK bytes, and small writes as a database makes them
with_fsync() {
    mkdir -p /tmp/mount; mount "$2" /tmp/mount
    fio --name=file --thread --disk_util=0 --directory=/tmp/mount --size=8M --rw=randwrite --bs="$1" \
        --io_size=$(($1 * 150)) --fsync=1
    umount /tmp/mount
}

# with_cache COMMAND...: and no more is moved to the cache and back when it has ended
with_cache() {
    dmsetup message lab-cached 0 migration_threshold 2048
    "$@"
    dmsetup message lab-cached 0 migration_threshold 0
    sleep 2
}

# with_scan COMMAND...: and LVM reads its labels meanwhile
with_scan() { "$@" & local job=$!; for _ in 1 2 3 4 5; do pvs > /dev/null; done; wait $job; }

# observed STACK WORKLOAD TOPS COMMAND...: as measure, and what stackmap says and records as it happens
observed() {
    local name=$1.$2 tops=$3
    : > "$name.live"
    # shellcheck disable=SC2086
    stackmap iostat --per-layer -J ${tops//,/ } 2 > "$name.live" 2> "$name.err" & local reporter=$!
    stackmap record "$name.recorded" 2 2>> "$name.err" & local recorder=$!
    until_lines 1 "$name.live" $reporter || echo "stackmap ended before its first interval"
    until [ -e "$name.recorded/log" ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.5; done
    sleep 5
    measure "$@"
    until_lines $(($(wc -l < "$name.live") + 2)) "$name.live" $reporter
    kill $reporter $recorder; wait $reporter $recorder || true
}

# array NAME LEVEL WORD...: an array, members and options as mdadm takes them
array() {
    local name=$1 level=$2; shift 2
    yes | mdadm --create /dev/md/"$name" --run --level "$level" --size 200M "$@"
    echo 0 > "/sys/block/$(basename "$(readlink -f /dev/md/"$name")")/md/safe_mode_delay"
}
without_array() { mdadm --stop /dev/md/"$1"; for disk in /dev/sd[i-p]; do wipefs -qa "$disk"; done; }

lv() { lvcreate -q -y -Wn -Zn "$@"; }
on() { local disk; for disk; do echo /dev/sd$disk; done; }
pvcreate -q -ff -y $(on a b c d e f g h)
vgcreate -q lab $(on a b c d e f g h)
lv --nosync --type raid5 -i 3 -I 64k -L 192M -n r5 lab $(on a b c d)
lv --nosync --type raid10 -i 2 -m 1 -I 64k -L 192M -n r10 lab $(on a b c d)
lv --type raid5 -i 3 -I 64k -L 48M --raidintegrity y -n safe lab $(on e f g h)
lvcreate -q -y -L 200M --type thin-pool -c 64k -n pool lab $(on e)
lvcreate -q -y -V 128M -n thin1 --thinpool lab/pool
lvcreate -q -y -V 128M -n thin2 --thinpool lab/pool
lv -L 64M -n cached lab $(on g)
lv -L 32M -n fast lab /dev/sdh
lvconvert -q -y --type cache --cachevol fast --cachemode writeback lab/cached
until [ "$(lvs --noheadings -o copy_percent lab/safe | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
dump lab
echo "$SECONDS s: lab stands"

measure lab safe-rand4k-write lab/safe committed load randwrite 4 300 /dev/lab/safe
measure lab safe-seq192k-write lab/safe committed load write 192 60 /dev/lab/safe
measure lab safe-rand16k-mixed lab/safe committed load randrw 16 200 /dev/lab/safe
measure lab r10-slow-write lab/r10 committed slowly 18 30 /dev/lab/r10
measure lab r5-slow-write lab/r5 committed slowly 18 30 /dev/lab/r5
measure lab r5-seq1m-write lab/r5 load write 1024 40 /dev/lab/r5
measure lab r5-scan lab/r5 with_scan load randwrite 4 300 /dev/lab/r5
measure lab thin-first-write lab/thin1 committed load randwrite 4 200 /dev/lab/thin1 --size=32M
measure lab thin-again lab/thin1 committed load randrw 4 400 /dev/lab/thin1 --size=32M
measure lab two-thins lab/thin1,lab/thin2 committed together \
    load randwrite 64 100 /dev/lab/thin1 --size=32M , load randwrite 4 200 /dev/lab/thin2 --size=32M
dd if=/dev/zero of=/dev/lab/thin1 bs=1M count=32 oflag=direct status=none
lvcreate -q -y -s -kn -n taken lab/thin1
measure lab thin-shared-write lab/thin1 committed load randwrite 4 100 /dev/lab/thin1 --size=32M
lvchange -ay lab/taken
dump backup
measure backup thin lab/thin1,lab/taken committed together \
    load randwrite 4 100 /dev/lab/thin1 --size=32M --randrepeat=0 , load read 64 300 /dev/lab/taken --size=32M
lvchange -an lab/taken
measure lab cached-cold lab/cached with_cache load randrw 4 400 /dev/lab/cached --size=8M
measure lab cached-warm lab/cached with_cache load randrw 4 400 /dev/lab/cached --size=8M
# The load of the first ends early; fsync makes integrity commit its journal then, not ten seconds later.
observed lab four lab/safe,lab/r10,lab/thin1,lab/thin2 together \
    load randwrite 4 200 /dev/lab/safe --end_fsync=1 , slowly 18 10 /dev/lab/r10 , \
    load randwrite 64 100 /dev/lab/thin1 --size=64M , load randrw 4 200 /dev/lab/thin2 --size=64M
echo "$SECONDS s: lab done"

array five 5 -n 4 --assume-clean --chunk 64 --bitmap none $(on i j k l)
mkfs.ext4 -q -b 1024 -E lazy_itable_init=0,lazy_journal_init=0 /dev/md/five
dump five
measure five ext4-1k five with_fsync 1024 /dev/md/five
mdadm /dev/md/five --fail /dev/sdj
dump degraded
measure degraded rand4k-write five load randwrite 4 300 /dev/md/five
measure degraded rand4k-read five load randread 4 300 /dev/md/five
measure degraded rand16k-mixed five load randrw 16 200 /dev/md/five
without_array five

array far 10 --layout f2 -n 4 --assume-clean --chunk 64 --bitmap none $(on i j k l)
pvcreate -q -ff -y /dev/md/far; vgcreate -q deep /dev/md/far; lv -L 200M -n far deep
dump far
measure far seq256k-write deep/far load write 256 60 /dev/deep/far
measure far seq256k-read deep/far load read 256 60 /dev/deep/far
measure far rand4k-mixed deep/far load randrw 4 400 /dev/deep/far
measure far rand128k-write deep/far load randwrite 128 100 /dev/deep/far
vgremove -q -f deep; pvremove -q /dev/md/far; without_array far

array five 5 -n 4 --assume-clean --chunk 64 --bitmap none $(on i j k l)
pvcreate -q -ff -y /dev/md/five; vgcreate -q deep /dev/md/five; lv -L 200M -n files deep
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/deep/files
dump files
measure files ext4-fsync deep/files with_fsync 8192 /dev/deep/files
vgremove -q -f deep; pvremove -q /dev/md/five; without_array five

head -c 32 /dev/zero > /tmp/key
array six 6 -n 5 --assume-clean --chunk 64 --bitmap none $(on i j k l m)
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /tmp/key /dev/md/six secret
dump six
measure six rand4k-write secret load randwrite 4 300 /dev/mapper/secret
measure six seq192k-write secret load write 192 60 /dev/mapper/secret
cryptsetup close secret; without_array six

for disk in n o; do parted -s /dev/sd$disk mklabel gpt mkpart a 1MiB 250MiB mkpart b 250MiB 500MiB; done; udevadm settle
array mostly 1 -n 2 --assume-clean --bitmap none /dev/sdn1 --write-mostly /dev/sdo1
dump mostly
measure mostly rand4k-mixed mostly load randrw 4 400 /dev/md/mostly
measure mostly seq256k-write mostly load write 256 60 /dev/md/mostly
echo "$SECONDS s: done"
