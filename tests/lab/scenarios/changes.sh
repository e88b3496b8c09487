# States that change while stackmap measures, each in a recording of its own. For test_changes.py.
. /lab/guest.sh
set -e
modprobe -a raid1 raid456 dm_raid dm_thin_pool dm_snapshot dm_multipath dm_round_robin

# changed NAME DEVICE COMMAND...: a recording during which COMMAND runs, with small writes to DEVICE all the time
changed() {
    local name=$1 device=$2; shift 2
    while [ ! -e "$name.end" ]; do
        timeout 5 dd if=/dev/zero of="$device" oflag=direct bs=4K count=20 status=none 2>/dev/null || true
        sleep 0.3
    done & local writer=$!
    stackmap record "$name.recorded" 2 10 2> "$name.err" & local recorder=$!
    until [ -e "$name.recorded/log" ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.5; done
    sleep 4
    "$@" || echo "!! $name: $* ended with $?"
    wait $recorder || true
    touch "$name.end"
    ! dmsetup info "$device" 2>/dev/null | grep -q SUSPENDED || dmsetup resume "$device"
    wait $writer || true
    echo "$SECONDS s: $name"
}

# fragile NAME DISK: a mapped device that lose NAME makes fail all reads and writes. Not from the disk's beginning, or
# LVM and md would find themselves there twice.
declare -A sectors
fragile() {
    sectors[$1]=$(($(blockdev --getsz "$2") - 2048))
    dmsetup create "$1" --table "0 ${sectors[$1]} linear $2 2048"
}
lose() {
    dmsetup suspend --noflush --nolockfs "$1"
    dmsetup load "$1" --table "0 ${sectors[$1]} error"
    dmsetup resume "$1"
}

for name in a b c; do fragile $name /dev/sd$name; done
yes | mdadm --create /dev/md/states --run --level 5 --chunk 64 --bitmap none --size 100M -n 3 --assume-clean /dev/mapper/{a,b,c}
echo 300 > /proc/sys/dev/raid/speed_limit_max; echo 100 > /proc/sys/dev/raid/speed_limit_min
number=$(basename "$(readlink -f /dev/md/states)")
work() { echo "$1" > "/sys/block/$number/md/sync_action"; }
changed md-check /dev/md/states work check
work idle
locked() { until mdadm --readonly /dev/md/states; do sleep 0.2; done; }
changed md-read-only /dev/md/states locked
mdadm --readwrite /dev/md/states
changed md-degraded /dev/md/states mdadm /dev/md/states --fail /dev/mapper/b
again() { mdadm /dev/md/states --remove /dev/mapper/b; mdadm /dev/md/states --add /dev/mapper/b; }
changed md-recover /dev/md/states again
work idle || true
failed() { lose a; lose c; }
changed md-failed /dev/md/states failed
mdadm --stop /dev/md/states
udevadm settle
dmsetup remove a b c

fragile half /dev/sdd
pvcreate -q -ff -y /dev/mapper/half /dev/sde
vgcreate -q g /dev/mapper/half /dev/sde
lvcreate -q -y -Wn -Zn --type raid1 -m 1 --nosync -L 40M -n mirror g
lvcreate -q -y -Wn -Zn -L 16M -n plain g /dev/sde
lvcreate -q -y -Wn -Zn -L 64M -n origin g /dev/sde
lvcreate -q -y -s -L 4M -n snap g/origin /dev/sde
lvcreate -q -y --type thin-pool -L 16M -n pool g /dev/sde
lvchange -q --errorwhenfull y g/pool
lvcreate -q -y -V 64M -n thin g/pool
udevadm settle
changed dm-suspended /dev/mapper/g-plain dmsetup suspend /dev/mapper/g-plain
fill() { timeout 20 dd if=/dev/zero of="$1" oflag=direct bs=1M count=32 status=none || true; }
changed pool-full /dev/mapper/g-thin fill /dev/mapper/g-thin
lvremove -q -y g/pool
changed snapshot-lost /dev/mapper/g-origin fill /dev/mapper/g-origin
lvremove -q -y g/snap
changed dm-read-only /dev/mapper/g-plain lvchange -q --permission r g/plain
changed dm-degraded /dev/mapper/g-mirror lose half
vgchange -q -an g
udevadm settle
dmsetup remove half

for path in one two; do dmsetup create $path --table "0 40000 linear /dev/sdf 0"; done
dmsetup create paths --table "0 40000 multipath 2 queue_mode bio 0 1 1 round-robin 0 2 1 /dev/mapper/one 1 /dev/mapper/two 1"
changed path-lost /dev/mapper/paths dmsetup message paths 0 fail_path "$(dmsetup info -c --noheadings -o major,minor two)"
fail() { local path; for path in one two; do dmsetup message paths 0 fail_path "$(dmsetup info -c --noheadings -o major,minor $path)"; done; }
dmsetup message paths 0 reinstate_path "$(dmsetup info -c --noheadings -o major,minor two)"
changed paths-lost /dev/mapper/paths fail
echo "$SECONDS s: done"
