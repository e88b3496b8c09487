# Thin pools under file systems: a mail spool, mkfs with discards, snapshots under load, and pools whose data and
# metadata are arrays themselves: for test_pools.py. Every load is counted by the kernel over the same time.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid1 raid10 raid456 dm_raid dm_thin_pool
unwatched

# committed COMMAND...: COMMAND, until what it left to timers is written
committed() { "$@" || return; sleep 12; }

# spool DIRECTORY COUNT: mails as a mail server delivers them: each written, synced and renamed
spool() {
    python3 - "$@" <<'PYTHON'
import os, sys
place, count = sys.argv[1], int(sys.argv[2])
for n in range(count):
    name = f"{place}/tmp.{n}"
    with open(name, "wb") as mail:
        mail.write(bytes([n % 256]) * (1500 + 2600 * (n % 7)))
        mail.flush()
        os.fsync(mail.fileno())
    os.rename(name, f"{place}/mail.{n}")
PYTHON
}

# made_and_trimmed DEVICE: a file system, a file, and the file's space given back
made_and_trimmed() {
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1"
    mkdir -p /tmp/mount; mount "$1" /tmp/mount
    dd if=/dev/zero of=/tmp/mount/file bs=1M count=24 conv=fsync status=none
    rm /tmp/mount/file; sync
    fstrim /tmp/mount
    umount /tmp/mount
}

mailed() { mkdir -p /tmp/mount; mount "$1" /tmp/mount; spool /tmp/mount "$2"; umount /tmp/mount; }

# mailed_with_snapshots DEVICE VG THIN: a snapshot every third of the mails
mailed_with_snapshots() {
    local n
    mkdir -p /tmp/mount; mount "$1" /tmp/mount
    for n in 1 2 3; do
        mkdir /tmp/mount/$n; spool /tmp/mount/$n 25
        lvcreate -q -y -s -n "snap$n" "$2/$3"
    done
    umount /tmp/mount
}

load() {
    local kind=$1 size=$2 count=$3 device=$4; shift 4
    fio --name=load --thread --disk_util=0 --filename="$device" --direct=1 --ioengine=libaio \
        --rw="$kind" --bs="${size}k" --io_size=$((size * count))k --iodepth=1 "$@"
}

# pool VG DISK...: a pool of 400 MiB and a thin volume
pool() {
    lvcreate -q -y -L 400M --type thin-pool -c 64k --poolmetadatasize 8M -n pool "$1"
    lvcreate -q -y -V 256M -n mail --thinpool "$1/pool"
}

# pool_loads STACK VG
pool_loads() {
    measure "$1" mkfs-fstrim "$2/mail" committed made_and_trimmed "/dev/$2/mail"
    measure "$1" mail-spool "$2/mail" committed mailed "/dev/$2/mail" 80
    measure "$1" snapshots "$2/mail" committed mailed_with_snapshots "/dev/$2/mail" "$2" mail
    measure "$1" rand4k-mixed "$2/mail" committed load randrw 4 200 "/dev/$2/mail"
}

on() { local disk; for disk; do echo /dev/sd$disk; done; }

yes | mdadm --create /dev/md/ten --run --level 10 --size 600M -n 4 --assume-clean --chunk 64 --bitmap internal $(on a b c d)
pvcreate -q -ff -y /dev/md/ten; vgcreate -q deep /dev/md/ten; pool deep
dump deep
pool_loads deep deep
echo "$SECONDS s: deep done"

pvcreate -q -ff -y $(on e f); vgcreate -q flat $(on e f)
lvcreate -q -y -L 400M --type thin-pool -c 64k --poolmetadatasize 8M -n pool flat /dev/sde
lvcreate -q -y -V 256M -n mail --thinpool flat/pool
dump flat
pool_loads flat flat
echo "$SECONDS s: flat done"

pvcreate -q -ff -y $(on g h i j k); vgcreate -q raid $(on g h i j k)
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 3 -I 64k -L 384M -n pool raid $(on g h i j)
lvcreate -q -y -Wn --type raid1 -m 1 -L 8M -n meta raid $(on j k)
until [ "$(lvs --noheadings -o copy_percent raid/meta | tr -d ' ')" = 100.00 ]; do sleep 0.5; done
lvconvert -q -y --type thin-pool -c 64k --poolmetadata raid/meta raid/pool
lvcreate -q -y -V 256M -n mail --thinpool raid/pool
dump raid
pool_loads raid raid
echo "$SECONDS s: raid done"
