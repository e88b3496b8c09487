# States that change while stackmap measures: a member fails, and is added again. For test_changes.py.
. /lab/guest.sh
set -e
modprobe raid456

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
    "$@"
    wait $recorder || true
    touch "$name.end"; wait $writer || true
    echo "$SECONDS s: $name"
}

disks=(/dev/sd{a,b,c})
yes | mdadm --create /dev/md/states --run --level 5 --chunk 64 --bitmap none --size 100M -n 3 --assume-clean "${disks[@]}"
changed md-degraded /dev/md/states mdadm /dev/md/states --fail /dev/sdb
echo 300 > /proc/sys/dev/raid/speed_limit_max; echo 100 > /proc/sys/dev/raid/speed_limit_min
again() { mdadm /dev/md/states --remove /dev/sdb; mdadm /dev/md/states --add /dev/sdb; }
changed md-recover /dev/md/states again
echo "$SECONDS s: done"
