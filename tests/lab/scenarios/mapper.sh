# Device-mapper by ioctl and by dmsetup, of many kinds of devices; for test_mapper.py.
. /lab/guest.sh
modprobe -a raid456 dm_raid dm_thin_pool dm_snapshot dm_mirror dm_crypt dm_integrity dm_cache dm_multipath loop
step() { "$@" > /tmp/said 2>&1 || { echo "!! $?: $*"; cat /tmp/said; }; }
truncate -s 64M /tmp/{crypt,integrity,bare,keyed}
for name in crypt integrity bare keyed; do declare "$name=$(losetup -f --show /tmp/$name)"; done

step vgcreate -q lab /dev/sd{a,b,c,d}
step lvcreate -q -y -Wn -Zn --nosync --type raid5 -i 2 -L 64M -n five lab
step lvcreate -q -y -Wn -Zn --type raid1 -m 1 -L 32M -n one lab
step lvcreate -q -y -Wn -Zn -L 32M -n plain lab
step lvextend -q -L +32M lab/plain /dev/sdd
step lvcreate -q -y -Wn -L 64M -T lab/pool
step lvcreate -q -y -Wn -V 1G -T lab/pool -n thin
step lvcreate -q -y -s -L 16M -n snap lab/plain
step lvcreate -q -y -Wn -Zn -i 3 -L 96M -n wide lab
dmsetup create 'odd name|*' --table '0 2048 linear /dev/sde 0'
dmsetup create empty --notable
dmsetup create asleep --table '0 2048 linear /dev/sde 4096'; dmsetup suspend asleep
dmsetup create --readonly fixed --table '0 2048 zero'
dmsetup create broken --table '0 8 error'
dmsetup create long --table "$(for i in {0..399}; do echo "$((i * 8)) 8 linear /dev/sde $((8192 + i * 16))"; done)"
# A key in the table itself, not in a keyring, with a uuid and without.
key=$(printf '%064x' 0xc0ffee)
dmsetup create locked -u CRYPT-PLAIN-locked --table "0 32768 crypt aes-xts-plain64 ${key} 0 $crypt 0"
dmsetup create byhand --table "0 32768 crypt aes-xts-plain64 ${key} 0 $bare 0"
step integritysetup format -q --no-wipe "$integrity"; step integritysetup open "$integrity" checked
head -c 32 /dev/zero | tr '\0' k > /tmp/key
step integritysetup format -q --no-wipe --integrity hmac-sha256 --integrity-key-file /tmp/key --integrity-key-size 32 "$keyed"
step integritysetup open --integrity hmac-sha256 --integrity-key-file /tmp/key --integrity-key-size 32 "$keyed" signed
udevadm settle

ask() {
    python - "$1" << 'END'
import sys
from stackmap.host.live import LiveHost
from stackmap.host.dm_ioctl import Mapper
from stackmap.sources import dm_commands

host = LiveHost()
dm_commands.start(host)
for name, command in (("info", dm_commands.INFO), ("table", dm_commands.TABLE), ("status", dm_commands.STATUS)):
    open(f"{sys.argv[1]}.{name}", "w").write(host.run(*command))
open(f"{sys.argv[1]}.by-ioctl", "w").write(str(Mapper().answer("table", 5.0) is not None))
END
}
ask ioctl
dmsetup table > dmsetup.table
dmsetup status --noflush > dmsetup.status
dmsetup info --columns --noheadings '--separator=|' --options=name,major,minor,attr,uuid > dmsetup.info
ask again
echo "$SECONDS s: asked"
stackmap tree -J > tree.json
ps -e -o comm= | grep -c '^dmsetup' > left-processes
stackmap record /tmp/rec 1 1; tar -C /tmp -cf rec.tar rec
dmsetup resume asleep
