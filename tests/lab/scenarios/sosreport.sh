# A partition, an array, a RAID volume, a thin volume and a mount, recorded by `stackmap record` and by
# `sos report` at the same time; for test_sosreport.py.
. /lab/guest.sh
set -e
modprobe -a raid456 raid1 dm_raid dm_thin_pool
sgdisk -n 1:1M:256M /dev/sdf > /dev/null
mdadm --create /dev/md/data --run --quiet --level=5 --raid-devices=3 --assume-clean /dev/sda /dev/sdb /dev/sdc
vgcreate -q vg /dev/md/data /dev/sdd /dev/sde > /dev/null
lvcreate -q -y -Wn -L 100M --type raid1 -m 1 --nosync -n mirror vg /dev/sdd /dev/sde > /dev/null
lvcreate -q -y -L 128M --type thin-pool -n pool vg /dev/md/data > /dev/null
lvcreate -q -y -V 256M --thinpool vg/pool -n thin > /dev/null
mkfs.ext4 -q /dev/vg/mirror
mkdir -p /tmp/srv
mount /dev/vg/mirror /tmp/srv
udevadm settle --timeout=60
stackmap record recorded 1 1
mkdir report /tmp/report
# Only what has to do with storage, and without plugins that ask each process. sos ends a slow plugin.
sos report --batch --tmp-dir /tmp/report --plugin-timeout 1000 -k filesys.dumpe2fs=off \
    -o block,devicemapper,filesys,host,lvm2,md > sos.log 2>&1
cp /tmp/report/*.tar.xz report
ls report
umount /tmp/srv
