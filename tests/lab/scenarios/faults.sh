# Disks that fail on request: SCSI errors and timeouts, md's corrected sectors and bad blocks, dm-integrity and btrfs.
# Each recorded by stackmap, with the kernel's own counts before and after. For test_faults.py.
. /lab/guest.sh
in_memory dmsetup
modprobe -a raid1 dm_integrity btrfs
modprobe scsi_debug dev_size_mb=256 delay=0
unwatched
set -- $(for disk in /sys/block/sd*; do grep -q scsi_debug $disk/device/model && echo "${disk##*/}"; done)
one=$1
sectors() { cat "/sys/block/$1/size"; }
until_idle() { until [ "$(cat "/sys/block/$1/md/sync_action")" = idle ]; do sleep 0.2; done; }
# inject TYPE COUNT [RESULT]: the next COUNT reads of the disk fail: 0 is a timeout, 2 the sense data of RESULT
inject() { echo "$1 -$2 0x28 ${3:-}" > "/sys/kernel/debug/scsi_debug/$(basename "$(readlink "/sys/block/$one/device")")/error"; }
read_all() { dd "if=$1" of=/dev/null bs=64k iflag=direct 2> /tmp/said || cat /tmp/said; }

# counts: what the kernel counts, a file with its content per line; then dmsetup's and btrfs' own words
counts() {
    grep -s . /sys/block/$one/device/io*_cnt /sys/block/md0/md/{mismatch_cnt,dev-*/{errors,bad_blocks}}
    dmsetup status --noflush
    ! mountpoint -q /tmp/mounted || btrfs device stats /tmp/mounted
}

# recorded NAME SECONDS COMMAND...: NAME.tar while COMMAND runs, what is counted before and after it, and the tree
recorded() {
    local name=$1 seconds=$2; shift 2
    quiet
    stackmap record "/tmp/$name" 1 "$seconds" & local recorder=$!
    until [ -d "/tmp/$name/log" ]; do sleep 0.5; kill -0 $recorder || return 1; done
    sleep 1
    counts > "$name.before"
    "$@" > /tmp/said 2>&1 || cat /tmp/said
    counts > "$name.after"
    wait $recorder
    tar cf "$name.tar" -C "/tmp/$name" .
    stackmap tree -J > "$name.tree.json"; stackmap tree > "$name.tree"; stackmap check > "$name.check"
    stackmap export --textfile - > "$name.prom"
    echo "$SECONDS s: $name"
}

yes | mdadm --create /dev/md0 --run --assume-clean --level 1 --bitmap none --size 100M -n 2 "/dev/$one" --write-mostly /dev/sda
udevadm settle
medium="0 0 0x2 0x3 0x11 0x0"  # the result of an unrecovered read error
corrected() { inject 2 2 "$medium"; read_all /dev/md0; }
recorded corrected 16 corrected

echo 2 > "/sys/block/$one/device/timeout"
late() { inject 0 1; read_all "/dev/$one"; }
recorded timeout 16 late

# Reads of sectors 4660 to 4669 fail for good.
echo 2 > /sys/bus/pseudo/drivers/scsi_debug/opts
recorded bad-blocks 16 read_all /dev/md0
echo 0 > /sys/bus/pseudo/drivers/scsi_debug/opts

dd if=/dev/urandom of=/dev/sda bs=64k seek=1000 count=2 oflag=direct 2> /tmp/said
compare() { echo check > /sys/block/md0/md/sync_action; until_idle md0; }
recorded mismatch 16 compare
mdadm --stop /dev/md0

in_use() { echo "0 $(sectors sdb) linear /dev/sdb 0"; }
dmsetup create lower --table "$(in_use)"
mkfs.btrfs -q -f -d single -m dup /dev/mapper/lower
mkdir -p /tmp/mounted; mount /dev/mapper/lower /tmp/mounted
dd if=/dev/urandom of=/tmp/mounted/file bs=1M count=64 conv=fsync 2> /tmp/said
umount /tmp/mounted; mount /dev/mapper/lower /tmp/mounted
# The second half of the device fails: some of the file lies there.
spoiled() {
    local half=$(($(sectors sdb) / 20)) all; all=$(sectors sdb)
    dmsetup suspend --noflush --nolockfs lower
    dmsetup load lower --table "$(printf '0 %d linear /dev/sdb 0\n%d %d error' $half $half $((all - half)))"
    dmsetup resume lower
    read_all /tmp/mounted/file; cat /tmp/mounted/file > /dev/null
    dmsetup suspend --noflush --nolockfs lower; dmsetup load lower --table "$(in_use)"; dmsetup resume lower
}
recorded btrfs 16 spoiled
umount /tmp/mounted; dmsetup remove lower

dd if=/dev/zero of=/dev/sdc bs=1M count=1 oflag=direct 2> /tmp/said
dmsetup create checked --table "0 1 integrity /dev/sdc 0 4 D 1 internal_hash:crc32c"
provided=$(dmsetup status checked | awk '{print $5}'); dmsetup remove checked
opened() { dmsetup create checked --table "0 $provided integrity /dev/sdc 0 4 D 1 internal_hash:crc32c"; }
opened; dd if=/dev/zero of=/dev/mapper/checked bs=1M count=200 oflag=direct 2> /tmp/said; dmsetup remove checked
dd if=/dev/urandom of=/dev/sdc bs=4096 seek=25600 count=1 oflag=direct conv=notrunc 2> /tmp/said
opened; udevadm settle
verify() { dd if=/dev/mapper/checked of=/dev/null bs=4k skip=24000 count=1500 iflag=direct conv=noerror 2> /tmp/said; }
recorded integrity 16 verify
dmsetup remove checked

echo "$SECONDS s: done"
