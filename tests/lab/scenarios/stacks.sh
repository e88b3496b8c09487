# Stacks of every kind one after another, each with what is worth measuring of it: for test_stacks.py.
# Every load ends after a number of requests, and what is random is the same each time.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid1 raid10 raid456 dm_raid dm_thin_pool dm_cache dm_crypt
unwatched

# load READS|WRITES... SIZE COUNT DEVICE [OPTION...]: COUNT requests of SIZE KiB by fio
load() {
    local kind=$1 size=$2 count=$3 device=$4; shift 4
    fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --io_size=$((size * count))k --iodepth=1 "$@"
}

# array NAME LEVEL CHUNK_KIB DISK... [-- OPTION...]: an array whose members need no resync
array() {
    local name=$1 level=$2 chunk=$3 disks=(); shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do disks+=("/dev/$1"); shift; done
    [ $# = 0 ] || shift
    [ "$chunk" = 0 ] || set -- --chunk "$chunk" "$@"
    yes | mdadm --create /dev/md/"$name" --run --assume-clean --level "$level" --size 200M \
        -n ${#disks[@]} "$@" "${disks[@]}"
    # After a while without writes md would mark its superblocks clean, on every member.
    echo 0 > "/sys/block/$(basename "$(readlink -f /dev/md/"$name")")/md/safe_mode_delay"
    dd if=/dev/zero of=/dev/md/"$name" oflag=direct bs=4K count=1 status=none
    unmarked
    dump "$name"
}

# unmarked: wait until md's daemon has cleared the bits; in a new bitmap all are set, and no write sets one
unmarked() {
    for _ in {1..120}; do
        grep -q 'bitmap: [1-9]' /proc/mdstat || return 0
        sleep 0.5
    done
    echo "bits are still set"; cat /proc/mdstat
}

without_array() { mdadm --stop /dev/md/"$1"; for disk in /dev/sd[a-h]; do wipefs -qa $disk; done; }

# with_cache COMMAND...: and no more is moved to the cache and back when it has ended
with_cache() {
    dmsetup message lab-cached 0 migration_threshold 2048
    "$@"
    dmsetup message lab-cached 0 migration_threshold 0
    sleep 2
}

# with_fsync DEVICE: ext4, and small writes as a database makes them
with_fsync() {
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1"
    mkdir -p /tmp/mount; mount "$1" /tmp/mount
    fio --name=file --thread --disk_util=0 --directory=/tmp/mount --size=8M --rw=randwrite --bs=8k \
        --io_size=1M --fsync=1
    umount /tmp/mount
}

array md5n3 5 32 sda sdb sdc -- --bitmap none
measure md5n3 rand4k-write md5n3 load randwrite 4 400 /dev/md/md5n3
measure md5n3 stripe-write md5n3 load write 64 200 /dev/md/md5n3
measure md5n3 rand4k-read md5n3 load randread 4 400 /dev/md/md5n3
without_array md5n3

# With bits for so little most writes mark one first: bitmaps as heavy as they can be.
array md5n4 5 64 sda sdb sdc sdd -- --bitmap internal --bitmap-chunk 64K
measure md5n4 rand4k-write-qd16 md5n4 load randwrite 4 800 /dev/md/md5n4 --iodepth=16
measure md5n4 stripe-write md5n4 load write 192 150 /dev/md/md5n4
measure md5n4 rand16k-mixed md5n4 load randrw 16 400 /dev/md/md5n4 --rwmixread=30 --iodepth=8
without_array md5n4

array md5n5 5 128 sda sdb sdc sdd sde -- --bitmap none
measure md5n5 seq1m-write md5n5 load write 1024 40 /dev/md/md5n5
measure md5n5 rand64k-read md5n5 load randread 64 200 /dev/md/md5n5 --iodepth=4
without_array md5n5

array md5n8 5 512 sda sdb sdc sdd sde sdf sdg sdh -- --bitmap none
measure md5n8 rand4k-write md5n8 load randwrite 4 400 /dev/md/md5n8
measure md5n8 ext4-fsync md5n8 with_fsync /dev/md/md5n8
without_array md5n8

array md6n4 6 64 sda sdb sdc sdd -- --bitmap none
measure md6n4 rand4k-write md6n4 load randwrite 4 400 /dev/md/md6n4
measure md6n4 stripe-write md6n4 load write 128 200 /dev/md/md6n4
without_array md6n4

array md6n8 6 32 sda sdb sdc sdd sde sdf sdg sdh -- --bitmap none
measure md6n8 rand8k-write md6n8 load randwrite 8 300 /dev/md/md6n8
measure md6n8 seq1m-read md6n8 load read 1024 40 /dev/md/md6n8
without_array md6n8

array md4n5 4 256 sda sdb sdc sdd sde -- --bitmap none
measure md4n5 rand16k-write md4n5 load randwrite 16 300 /dev/md/md4n5
without_array md4n5

for layout in n2 f2 o2; do
    array md10$layout 10 64 sda sdb sdc sdd -- --layout $layout --bitmap none
    measure md10$layout rand4k-mixed md10$layout load randrw 4 600 /dev/md/md10$layout
    measure md10$layout seq256k-write md10$layout load write 256 60 /dev/md/md10$layout
    without_array md10$layout
done

array md1n3 1 0 sda sdb sdc -- --bitmap internal --bitmap-chunk 64K
measure md1n3 rand4k-mixed md1n3 load randrw 4 600 /dev/md/md1n3
measure md1n3 seq256k-write md1n3 load write 256 60 /dev/md/md1n3
without_array md1n3

# One volume group with every kind of volume: they share its disks, mostly idle while one is measured.
lv() { lvcreate -q -y -Wn -Zn "$@"; }
on() { local disk; for disk; do echo /dev/sd$disk; done; }
pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h} /dev/nvme0n1
vgcreate -q lab /dev/sd{a,b,c,d,e,f,g,h} /dev/nvme0n1
lv --nosync --type raid5 -i 3 -I 64k -L 192M -n r5 lab $(on a b c d)
lv --nosync --type raid5 -i 4 -I 256k -L 192M -n r5wide lab $(on d e f g h)
lv --nosync --type raid4 -i 2 -I 32k -L 96M -n r4 lab $(on f g h)
lv --type raid6 -i 3 -I 64k -L 96M -n r6 lab $(on a b c d e)
lv --nosync --type raid10 -i 2 -m 1 -I 64k -L 128M -n r10 lab $(on a b c d)
lv --nosync --type raid1 -m 1 -L 128M -n r1 lab $(on a b)
lv --type striped -i 3 -I 64k -L 192M -n striped lab $(on e f g)
lv -L 128M -n plain lab $(on h)
lvcreate -q -y -L 200M --type thin-pool -n pool lab $(on f)
lvcreate -q -y -V 256M -n thin1 --thinpool lab/pool
lvcreate -q -y -V 256M -n thin2 --thinpool lab/pool
lv -L 128M -n cached lab $(on g)
lv -L 48M -n fast lab /dev/nvme0n1
lvconvert -q -y --type cache --cachevol fast --cachemode writeback lab/cached
until [ "$(lvs --noheadings -o copy_percent lab/r6 | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
# A key at hand spares the time to make one of a passphrase.
parted -s /dev/sdi mklabel gpt mkpart a 1MiB 200MiB mkpart b 200MiB 400MiB; udevadm settle
head -c 32 /dev/zero > /tmp/key
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /tmp/key /dev/sdi1 secret
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /tmp/key /dev/lab/striped spread
dump lab
echo "$SECONDS s: lab stands"

measure lab r5-rand4k-write lab/r5 load randwrite 4 400 /dev/lab/r5
measure lab r5-stripe-write lab/r5 load write 192 150 /dev/lab/r5
measure lab r5-seq20k-write lab/r5 dd if=/dev/zero of=/dev/lab/r5 oflag=direct bs=20K count=300
measure lab r5-rand64k-mixed lab/r5 load randrw 64 200 /dev/lab/r5 --iodepth=4
measure lab r5wide-rand4k-write lab/r5wide load randwrite 4 400 /dev/lab/r5wide
measure lab r5wide-seq1m-read lab/r5wide load read 1024 40 /dev/lab/r5wide
measure lab r4-rand8k-write lab/r4 load randwrite 8 300 /dev/lab/r4
measure lab r6-rand16k-write lab/r6 load randwrite 16 300 /dev/lab/r6
measure lab r6-stripe-write lab/r6 load write 192 150 /dev/lab/r6
measure lab r10-rand16k-mixed lab/r10 load randrw 16 400 /dev/lab/r10
measure lab r10-seq1m-write lab/r10 load write 1024 40 /dev/lab/r10
measure lab r1-rand4k-mixed lab/r1 load randrw 4 600 /dev/lab/r1
measure lab plain-seq128k-read lab/plain load read 128 200 /dev/lab/plain
measure lab thin-first-write lab/thin1 load randwrite 4 200 /dev/lab/thin1 --size=32M
measure lab thin-again lab/thin1 load randrw 4 400 /dev/lab/thin1 --size=32M
measure lab cached-rand4k-mixed lab/cached with_cache load randrw 4 600 /dev/lab/cached --size=16M
measure lab crypt-rand16k-mixed secret load randrw 16 400 /dev/mapper/secret
measure lab crypt-seq1m-write secret load write 1024 40 /dev/mapper/secret
measure lab spread-seq256k-write spread load write 256 60 /dev/mapper/spread
measure lab spread-rand4k-mixed spread load randrw 4 600 /dev/mapper/spread
measure lab two-at-once lab/r5,lab/r10 together \
    load randwrite 4 400 /dev/lab/r5 , load randrw 16 400 /dev/lab/r10
measure lab three-at-once lab/r5,lab/r10,lab/r1 together \
    load write 64 200 /dev/lab/r5 , load randwrite 4 400 /dev/lab/r10 , load randread 8 400 /dev/lab/r1
measure lab two-thins lab/thin1,lab/thin2 together \
    load randwrite 64 60 /dev/lab/thin1 --size=8M , load randwrite 4 60 /dev/lab/thin2 --size=8M
measure lab r5-ext4-fsync lab/r5 with_fsync /dev/lab/r5

# Two volumes over one striped table, which cuts what they send.
dmsetup create pair --table "0 393216 striped 2 16 /dev/sdi2 0 /dev/sdj 0" 2>/dev/null ||
    dmsetup create pair --table "0 262144 striped 2 16 /dev/sdi2 0 /dev/sdj 0"
dmsetup create left --table "0 131072 linear /dev/mapper/pair 0"
dmsetup create right --table "0 131072 linear /dev/mapper/pair 131072"
dump pair
measure pair both left,right together \
    load randwrite 4 300 /dev/mapper/left , load write 64 100 /dev/mapper/right
measure pair one left load write 64 100 /dev/mapper/left
echo "$SECONDS s: done"
