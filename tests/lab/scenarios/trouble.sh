# A machine looked at while something is wrong with it: members rebuilt, a path failed, a device suspended with
# I/O waiting for it. What `tree` says then, and how long it takes. For test_trouble.py.
. /lab/guest.sh
set -e
modprobe -a raid456 raid1 dm_raid dm_multipath loop

# looked NAME: NAME.json is what a look prints, NAME.ms the milliseconds of each of five
looked() {
    local began
    for _ in 1 2 3 4 5; do
        began=${EPOCHREALTIME/.}
        timeout 60 stackmap tree -J > "$1.json" 2> "$1.err"
        echo $(((${EPOCHREALTIME/.} - began) / 1000)) >> "$1.ms"
    done
    echo "$SECONDS s: $1"
}

# Slow enough that what is under way stays so.
echo 20 > /proc/sys/dev/raid/speed_limit_max; echo 1 > /proc/sys/dev/raid/speed_limit_min
yes | mdadm --create /dev/md/array --run --assume-clean --level 5 --chunk 64 --bitmap none --size 400M -n 3 /dev/sd{a,b,c}
truncate -s 64M /tmp/image
one=$(losetup -f --show /tmp/image); two=$(losetup -f --show /tmp/image)
number() { cat "/sys/block/${1#/dev/}/dev"; }
dmsetup create paths -u mpath-lab --table \
    "0 131072 multipath 0 0 2 1 round-robin 0 1 1 $(number "$one") 1 round-robin 0 1 1 $(number "$two") 1"
vgcreate -q lab /dev/sd{d,e}
lvcreate -q -y -Wn -Zn --nosync --type raid1 -m 1 -L 200M -n mirror lab
dmsetup create still --table "0 65536 linear /dev/sdf 0"
dmsetup create above --table "0 65536 linear /dev/mapper/still 0"
udevadm settle
rm -f -- *.ms
in_memory dmsetup
stackmap tree > /dev/null  # so that what it loads has been loaded once
echo "$SECONDS s: programs are in memory"
looked healthy

mdadm /dev/md/array --fail /dev/sdb
until mdadm /dev/md/array --remove /dev/sdb; do sleep 0.2; done
mdadm --zero-superblock /dev/sdb
mdadm /dev/md/array --add /dev/sdb
until grep -q recover /sys/block/md*/md/sync_action; do sleep 0.1; done
lvchange -q --maxrecoveryrate 1k lab/mirror
lvchange -q -y --syncaction repair lab/mirror || dmsetup message lab-mirror 0 repair
looked rebuild

dmsetup message paths 0 "fail_path $(number "$two")"
looked path

dmsetup suspend --noflush --nolockfs still
# Both wait until it is resumed.
dd if=/dev/zero of=/dev/mapper/above oflag=direct bs=4K count=1 2> /dev/null & dd if=/dev/mapper/still iflag=direct of=/dev/null bs=4K count=1 2> /dev/null &
sleep 0.5
looked suspended
stackmap tree > suspended.txt
dmsetup resume still
wait
echo "$SECONDS s: done"
