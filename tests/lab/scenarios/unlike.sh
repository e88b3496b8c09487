# Stacks that no other scenario has, with sizes and loads drawn from a seed (SEED): for test_unlike.py.
# Every load ends after a number of requests and is counted by the kernel over the same time.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid0 raid1 raid10 raid456 dm_raid dm_thin_pool dm_snapshot dm_cache dm_writecache dm_crypt bcache
unwatched
seed=${SEED:-2611} draws=/tmp/draws
echo "seed $seed"
# drawn WORD...: one of them. Not with $RANDOM, which bash seeds anew in each $( ).
drawn() {
    local words=("$@") hash
    echo >> $draws
    hash=$(cksum <<< "$seed $(wc -l < $draws)")
    echo "${words[${hash%% *} % $#]}"
}

load() {
    local kind=$1 size=$2 count=$3 device=$4; shift 4
    fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --io_size=$((size * count))k --iodepth=1 "$@"
}
# committed COMMAND...: COMMAND, until what it left to timers is written
committed() { "$@" || return; sleep 8; }

# at_once COMMAND...: COMMAND, where nothing is left to timers
at_once() { "$@"; }

# loads STACK TOP DEVICE [WHEN [SIZE...]]: one small, one large and one mixed load of one of the sizes, each drawn
loads() {
    local small large mixed depth when=${4:-at_once} mixes=("${@:5}")
    [ ${#mixes[@]} -gt 0 ] || mixes=(4 16 28)
    small=$(drawn 4 8 12) large=$(drawn 96 160 320 512) mixed=$(drawn "${mixes[@]}") depth=$(drawn 1 3 7)
    measure "$1" "rand${small}k-write" "$2" "$when" load randwrite "$small" 150 "$3" --iodepth="$depth"
    measure "$1" "seq${large}k-write" "$2" "$when" load write "$large" 24 "$3"
    measure "$1" "rand${mixed}k-mixed" "$2" "$when" load randrw "$mixed" 200 "$3" --rwmixread="$(drawn 30 50 75)"
}

# array NAME LEVEL CHUNK DISK... [-- OPTION...]: an array whose members need no resync
array() {
    local name=$1 level=$2 chunk=$3 members=(); shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do members+=("$1"); shift; done
    [ $# = 0 ] || shift
    [ "$chunk" = 0 ] || set -- --chunk "$chunk" "$@"
    yes | mdadm --create /dev/md/"$name" --run --assume-clean --level "$level" \
        -n ${#members[@]} "$@" "${members[@]}" 2>/dev/null
    echo 0 > "/sys/block/$(basename "$(readlink -f /dev/md/"$name")")/md/safe_mode_delay"
    dd if=/dev/zero of=/dev/md/"$name" oflag=direct bs=4K count=1 status=none
}
wiped() { for disk in /dev/sd?; do wipefs -qa "$disk"; done; }
on() { local disk; for disk; do echo /dev/sd$disk; done; }
chunk() { drawn 16 32 128 256; }
lv() { lvcreate -q -y -Wn -Zn "$@"; }

# A thin pool with discards on md RAID6
thin_on_six() {
    array six 6 "$(chunk)" $(on a b c d e f) -- --bitmap none --size 200M
    pvcreate -q -ff -y /dev/md/six; vgcreate -q thin /dev/md/six
    lvcreate -q -y -L 300M --type thin-pool -c "$(drawn 64 128 256)k" --discards passdown -n pool thin
    lvcreate -q -y -V 200M -n vol --thinpool thin/pool
    dump thin
    loads thin thin/vol /dev/thin/vol committed
    measure thin discarded thin/vol committed blkdiscard -o 0 -l 32M /dev/thin/vol
    lvcreate -q -y -s -kn -n taken thin/vol
    measure thin shared thin/vol committed load randwrite 8 60 /dev/thin/vol
    vgremove -q -f thin; pvremove -q /dev/md/six; mdadm --stop /dev/md/six
}

# md RAID10 with three copies below LVM: LVM makes no RAID10 of more than two
three_copies() {
    array three 10 "$(chunk)" $(on a b c d e f) -- --layout "$(drawn n3 f3 o3)" --bitmap none --size 150M
    pvcreate -q -ff -y /dev/md/three; vgcreate -q three /dev/md/three; lv -L 120M -n vol three
    dump three
    loads three three/vol /dev/three/vol
    vgremove -q -f three; pvremove -q /dev/md/three; mdadm --stop /dev/md/three
}

# md RAID10 on three disks
odd_tens() {
    local layout
    for layout in n2 f2 o2 n3; do
        array "odd$layout" 10 "$(chunk)" $(on a b c) -- --layout $layout --bitmap none --size 200M
        dump "odd$layout"
        loads "odd$layout" "odd$layout" "/dev/md/odd$layout"
        mdadm --stop "/dev/md/odd$layout"; wiped
    done
}

# dm-writecache above md RAID5
write_cached() {
    array five 5 "$(chunk)" $(on a b c d) -- --bitmap none --size 200M
    pvcreate -q -ff -y /dev/md/five /dev/sde; vgcreate -q wrote /dev/md/five /dev/sde
    lv -L 200M -n vol wrote /dev/md/five; lv -L 48M -n fast wrote /dev/sde
    lvchange -q -an wrote/fast
    lvconvert -q -y --type writecache --cachevol fast wrote/vol
    dump wrote
    loads wrote wrote/vol /dev/wrote/vol committed
    vgremove -q -f wrote; pvremove -q /dev/md/five /dev/sde; mdadm --stop /dev/md/five
}

# LVM's cache above LVM RAID6
cached_six() {
    pvcreate -q -ff -y $(on a b c d e f); vgcreate -q cach $(on a b c d e f)
    lv --type raid6 -i 3 -I 64k -L 96M -n vol cach $(on a b c d e)
    until [ "$(lvs --noheadings -o copy_percent cach/vol | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
    lv -L 40M -n fast cach /dev/sdf
    lvconvert -q -y --type cache --cachevol fast --cachemode "$(drawn writeback writethrough)" cach/vol
    dmsetup message cach-vol 0 migration_threshold 0
    dump cach
    loads cach cach/vol /dev/cach/vol committed
    vgremove -q -f cach; pvremove -q $(on a b c d e f)
}

# RAID0 of two RAID5
striped_fives() {
    array one 5 32 $(on a b c) -- --bitmap none --size 150M
    array two 5 32 $(on d e f) -- --bitmap none --size 150M
    array fifty 0 "$(drawn 64 128)" /dev/md/one /dev/md/two
    dump fifty
    # None across a chunk: RAID5 counts its pieces, and no event tells how many there are.
    loads fifty fifty /dev/md/fifty at_once 4 16
    mdadm --stop /dev/md/fifty; mdadm --stop /dev/md/one; mdadm --stop /dev/md/two; wiped
}

# bcache above a mirror
bcached() {
    array one 1 0 $(on a b) -- --bitmap none --size 200M
    wipefs -qa /dev/md/one /dev/sdc
    make-bcache --writeback --wipe-bcache -B /dev/md/one -C /dev/sdc > /dev/null
    for device in /dev/md/one /dev/sdc; do readlink -f $device > /sys/fs/bcache/register 2>/dev/null || true; done
    udevadm settle
    until [ -b /dev/bcache0 ]; do sleep 0.5; done
    # It would go on between two ways of counting.
    echo 0 > /sys/block/bcache0/bcache/writeback_running
    dump bcache
    measure bcache rand4k-write bcache0 committed load randwrite 4 150 /dev/bcache0 --iodepth="$(drawn 1 3 7)"
    measure bcache rand16k-mixed bcache0 committed load randrw 16 200 /dev/bcache0 --rwmixread="$(drawn 30 50 75)"
    # A stream bypasses the cache.
    measure bcache stream bcache0 committed load write "$(drawn 64 256 512)" 100 /dev/bcache0
    echo 1 > /sys/block/bcache0/bcache/stop
    echo 1 > "$(echo /sys/fs/bcache/*-*-*/)stop"
    sleep 2
    mdadm --stop /dev/md/one; wiped
}

# Striped volumes and one of two segments on the same disks: each sends a flush to several places, and counts one
synced() {
    local volume
    pvcreate -q -ff -y $(on a b c); vgcreate -q synced $(on a b c)
    lv --type striped -i 3 -I "$(drawn 16 64)k" -L 96M -n three synced
    lv --type striped -i 2 -I "$(drawn 16 256)k" -L 64M -n two synced $(on a b)
    lv -L 20M -n long synced /dev/sdc; lvextend -q -L +16M synced/long /dev/sda
    dump synced
    for volume in three two long; do
        measure synced "$volume-fsync" synced/$volume at_once load randwrite "$(drawn 4 12)" 150 /dev/synced/$volume --fsync="$(drawn 1 2 5)"
    done
    measure synced both synced/three,synced/two at_once fio --thread --disk_util=0 --direct=1 --rw=randwrite --bs=4k \
        --number_ios=150 --name=one --filename=/dev/synced/three --fsync=1 --name=other --filename=/dev/synced/two --fsync=2
    vgremove -q -f synced; pvremove -q $(on a b c)
}

# LUKS with checksums above LVM striped
checked() {
    pvcreate -q -ff -y $(on a b); vgcreate -q luks $(on a b)
    lv --type striped -i 2 -I 64k -L 64M -n under luks
    head -c 32 /dev/zero > /tmp/key
    cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --integrity hmac-sha256 \
        --integrity-no-wipe --key-file /tmp/key /dev/luks/under
    cryptsetup open --key-file /tmp/key /dev/luks/under secret
    # Checksums of what was never written do not match.
    dd if=/dev/zero of=/dev/mapper/secret oflag=direct bs=1M status=none 2>/dev/null || true
    sleep 12
    dump luks
    loads luks secret /dev/mapper/secret committed
    cryptsetup close secret
    vgremove -q -f luks; pvremove -q $(on a b)
}

# ext4 with its journal on a mirror, its data on RAID5
journaled() {
    pvcreate -q -ff -y $(on a b c d); vgcreate -q away $(on a b c d)
    lv --nosync --type raid5 -i 3 -I 64k -L 120M -n data away
    lv --nosync --type raid1 -m 1 -L 16M -n log away $(on a b)
    mke2fs -q -O journal_dev -b 4096 /dev/away/log
    mkfs.ext4 -q -b 4096 -J device=/dev/away/log -E lazy_itable_init=0,lazy_journal_init=0 /dev/away/data
    mkdir -p /tmp/mount
    dump away
    measure away fsync away/data,away/log committed with_fsync
    vgremove -q -f away; pvremove -q $(on a b c d)
}
with_fsync() {
    mount /dev/away/data /tmp/mount
    fio --name=file --thread --disk_util=0 --directory=/tmp/mount --size=8M --rw=randwrite --bs=4k --io_size=400k --fsync=1
    umount /tmp/mount
}

# swap on LVM RAID1
swapped() {
    pvcreate -q -ff -y $(on a b); vgcreate -q swap $(on a b)
    lv --nosync --type raid1 -m 1 -L 160M -n room swap
    mkswap -q /dev/swap/room
    swapon /dev/swap/room
    dump swap
    measure swap paged swap/room committed squeezed
    swapoff /dev/swap/room
    vgremove -q -f swap; pvremove -q $(on a b)
}
# squeezed: 60 MiB, written and read, in a group that may have 40
squeezed() {
    echo +memory > /sys/fs/cgroup/cgroup.subtree_control
    mkdir -p /sys/fs/cgroup/small
    echo 40M > /sys/fs/cgroup/small/memory.max
    bash -c 'echo $$ > /sys/fs/cgroup/small/cgroup.procs; exec python3 -S -c "
held = [bytearray([n % 251]) * 4096 for n in range(15000)]
print(sum(page[7] for page in held))"'
    rmdir /sys/fs/cgroup/small
}

early="odd_tens striped_fives thin_on_six synced" late="write_cached cached_six journaled swapped three_copies checked bcached"
case ${CASE:-} in early) stacks=$early;; late) stacks=$late;; *) stacks="$early $late";; esac
for stack in $stacks; do
    $stack
    wiped
    echo "$SECONDS s: $stack done"
done
echo "$SECONDS s: done"
