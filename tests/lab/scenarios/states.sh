# Volumes and arrays whose members do more than their load: resync, check, a member gone. And intervals that
# are none: a device replaced between two samples. For test_states.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid456 dm_raid
unwatched

# written DEVICE: a load that counts
written() { dd if=/dev/zero of="$1" oflag=direct bs=4K count=100 status=none; }

# reported STACK TOP DEVICE: a load, and a dump of the machine after it, in the state it was in
reported() { sampled "$1" load "$2" written "$3"; dump "$1"; }

disks=(/dev/sd{a,b,c,d})
make() { yes | mdadm --create /dev/md/states --run --level 5 --chunk 64 --bitmap none --size 400M -n 3 "$@"; }
md() { readlink -f /sys/block/"$(basename "$(readlink -f /dev/md/states)")"/md; }

# By default md goes on at 1 MB/s under load and ends soon after it.
slow() { echo 500 > "$(md)/sync_speed_max"; }
until_action() { until [ "$(cat "$(md)/sync_action")" = "$1" ]; do sleep 0.1; done; }
idle() { echo idle > "$(md)/sync_action"; }

echo 500 > /proc/sys/dev/raid/speed_limit_max; echo 100 > /proc/sys/dev/raid/speed_limit_min
make "${disks[@]:0:3}"
# A new RAID5 is one member short and recovers it, unless told that it is not.
slow; until_action recover
reported md-recover states /dev/md/states
mdadm --stop /dev/md/states; wipefs -qa "${disks[@]}"

make --force "${disks[@]:0:3}"
slow; until_action resync
reported md-resync states /dev/md/states
mdadm --stop /dev/md/states; wipefs -qa "${disks[@]}"

make --assume-clean "${disks[@]:0:3}"
slow; echo check > "$(md)/sync_action"; until_action check
reported md-check states /dev/md/states
idle; until_action idle
mdadm /dev/md/states --fail /dev/sdb
reported md-degraded states /dev/md/states
mdadm --stop /dev/md/states; wipefs -qa "${disks[@]}"

pvcreate -q -ff -y "${disks[@]}"
vgcreate -q lab "${disks[@]}"
lvcreate -q -y -Wn -Zn --type raid5 -i 2 -I 64k -L 400M --maxrecoveryrate 500k -n r5 lab
reported dm-resync lab/r5 /dev/lab/r5
lvremove -q -f lab/r5
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 2 -I 64k -L 400M --maxrecoveryrate 500k -n r5 lab
dmsetup message lab-r5 0 check
reported dm-check lab/r5 /dev/lab/r5
# 6.12 does not end a check when it is told to be idle.
lvremove -q -f lab/r5
lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 2 -I 64k -L 100M -n r5 lab
echo 1 > /sys/block/sdb/device/delete
# That a member is gone is known when it is written to.
written /dev/lab/r5
reported dm-degraded lab/r5 /dev/lab/r5

# A device that ends and one of its name that begins, and does more, while stackmap is looking.
again() { dmsetup create again --uuid "LAB-$1" --table "0 200000 linear /dev/sde 0"; udevadm settle; }
again first
written /dev/mapper/again
stackmap iostat --per-layer -J again 10 4 > replaced.json 2> replaced.err & reporter=$!
until_lines 1 replaced.json $reporter || echo "stackmap ended before its first interval"
dmsetup remove again; again second
for _ in 1 2 3; do written /dev/mapper/again; done
status=0; wait $reporter || status=$?
echo $status > replaced.status
echo "$SECONDS s: done"
