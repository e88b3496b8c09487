# Kinds and states of stacks that no other machine here has, all at once; for test_kinds.py.
# kinds/ is the machine as `stackmap --from` reads it, with what lsblk, dmsetup, lvs and mdadm say of it.
. /lab/guest.sh
modprobe -a raid0 raid1 raid10 raid456 dm_raid dm_thin_pool dm_snapshot dm_mirror dm_multipath loop
modprobe btrfs; modprobe -a dm_era dm_unstripe dm_switch dm_log_writes dm_verity 2>/dev/null

# A step that fails is said and passed over: a kernel may lack a module, and the tests look at what is there.
step() { "$@" > /tmp/said 2>&1 || { echo "!! $?: $*"; cat /tmp/said; }; }

# snapshot NAME: this machine, in the folder NAME
snapshot() {
    local dir=/tmp/$1 disk array
    mkdir -p "$dir"/{cmd,proc/self,run/udev,sys}
    udevadm settle --timeout=60
    cp /proc/{version,diskstats,partitions,mdstat,swaps} "$dir/proc/"; cp /proc/self/mountinfo "$dir/proc/self/"
    cp -r /run/udev/data "$dir/run/udev/"
    # One cp for all, and not of what nobody asks: each file takes an emulated machine milliseconds.
    find /sys/block -type l ! -name 'ram*' > /tmp/links
    # shellcheck disable=SC2046
    find $(xargs readlink -f < /tmp/links) \
        \( -name power -o -name trace -o -name mq -o -name integrity -o -name iosched \) -prune -o ! -type d -print |
        cat /tmp/links - | xargs cp -P --parents -t "$dir" 2>/dev/null
    for disk in /sys/block/*/device; do
        cp --parents "$(readlink -f "$disk")"/{model,vendor,state,vpd_pg80,wwid} "$dir" 2>/dev/null
    done
    # find goes past what is empty: a device that stands on nothing has a folder for it all the same.
    find $(xargs readlink -f < /tmp/links) -type d \( -name slaves -o -name holders -o -name dm -o -name md \) |
        (cd "$dir" && sed 's#^/##' | xargs mkdir -p)
    cp -r --parents /sys/fs/btrfs/*/devices "$dir" 2>/dev/null
    cd "$dir/cmd" || return
    dmsetup table > dmsetup-table.txt; dmsetup status --noflush > dmsetup-status.txt
    dmsetup deps -o devno > dmsetup-deps.txt
    dmsetup info -c --noheadings --separator '|' -o name,major,minor,attr,open,segments,events,uuid > dmsetup-info.txt
    lsblk -J -b -O > lsblk.json
    lvs -a -o+lv_all,seg_all --reportformat json > lvs.json 2>/dev/null
    for array in /dev/md?*; do
        [ -b "$array" ] && mdadm --detail "$array" > "mdadm-detail-${array##*/}.txt" 2>/dev/null
    done
    cd /out || return
    tar -C /tmp -cf "$1.tar" "$1"
    echo "$SECONDS s: $1"
}

for disk in /dev/sd{a..k}; do
    step sgdisk -Z $(for part in 1 2 3 4 5 6 7 8; do echo "-n $part:0:+60M"; done) $disk
done
udevadm settle --timeout=60
# Slow enough that what is under way stays so.
echo 20 > /proc/sys/dev/raid/speed_limit_max; echo 1 > /proc/sys/dev/raid/speed_limit_min

# array NAME LEVEL WORD...: an array, members and options as mdadm takes them
array() { local name=$1 level=$2; shift 2; step mdadm --create "/dev/md/$name" --run --level "$level" "$@"; }
md() { echo "/sys/block/$(basename "$(readlink -f "/dev/md/$1")")/md"; }

array far 10 --layout f2 -n 3 --assume-clean /dev/sd{a,b,c}1
array offset 10 --layout o2 -n 4 --chunk 128 --assume-clean /dev/sd{d,e,f,g}1
array threefold 10 --layout n3 -n 3 --assume-clean /dev/sd{h,i,j}1
array mostly 1 -n 2 --assume-clean /dev/sda2 --write-mostly /dev/sdb2
array filling 5 -n 3 -x 1 --chunk 64 --bitmap none /dev/sd{c,d,e,f}2
array syncing 6 -n 4 --chunk 64 --bitmap none --force /dev/sd{g,h,i,j}2
array journaled 5 -n 3 --assume-clean --write-journal /dev/sdd3 /dev/sd{a,b,c}3
array partial 5 -n 3 --assume-clean --consistency-policy ppl /dev/sd{e,f,g}3
array checked 5 -n 3 --assume-clean --chunk 64 --bitmap none /dev/sd{a,b,c}4
echo check > "$(md checked)/sync_action"
array growing 5 -n 3 --assume-clean --chunk 64 --bitmap none /dev/sd{d,e,f}4
step mdadm /dev/md/growing --add /dev/sdg4
step mdadm --grow /dev/md/growing -n 4 --backup-file=/tmp/growing.backup
array replaced 1 -n 2 --assume-clean /dev/sd{h,i}4
step mdadm /dev/md/replaced --add /dev/sdj4
step mdadm /dev/md/replaced --replace /dev/sdh4 --with /dev/sdj4
array gone 5 -n 3 --assume-clean --chunk 64 /dev/sd{a,b,c}5
step mdadm /dev/md/gone --fail /dev/sdb5 --remove /dev/sdb5
array joined linear -n 2 /dev/sd{d,e}5
array container container -e ddf -n 2 /dev/sd{l,m}
array inside 1 -n 2 /dev/md/container
array nested 0 -n 2 --chunk 64 /dev/md/far /dev/md/offset
echo "$SECONDS s: arrays"

# lv WORD...: an LV
lv() { step lvcreate -q -y -Wy -Zn "$@"; }
vg=vg.x+y_z-w
step vgcreate -q "$vg" /dev/sd{a..j}6
lv -L 8M -n a-b "$vg" /dev/sda6; lv -L 8M -n c.d "$vg"; lv -L 8M -n e+f_g "$vg"; lv -L 8M -n h--i "$vg"
lv -L 8M -n pieces "$vg" /dev/sda6
step lvextend -q -L +8M "$vg/pieces" /dev/sdb6
step lvextend -q -i 2 -I 64k -L +16M "$vg/pieces" /dev/sdc6 /dev/sdd6
lv -L 8M --addtag ceph.osd_id=3 -n osd-block-0001 "$vg"
lv -L 8M -n vm-100-disk-0 "$vg"
# A PV whose writes can be made to wait, so that what is copied to it stays under way. It begins a little into
# its partition: else LVM would see the same PV on both.
sluggish() { echo "0 $(($(blockdev --getsz /dev/sdk8) - 2048)) delay /dev/sdk8 2048 0 /dev/sdk8 2048 $1"; }
step dmsetup create sluggish --table "$(sluggish 0)"
step vgcreate -q moving /dev/sd{a..j}7
step pvcreate -q --pvmetadatacopies 0 /dev/mapper/sluggish; step vgextend -q moving /dev/mapper/sluggish
lv --type raid6 -i 3 -I 64k -L 24M --maxrecoveryrate 1k -n syncing moving
lv --type raid1 -m 1 -L 8M --nosync -n mostly moving
step lvchange -q --writemostly "$(lvs --noheadings -o devices -a moving/mostly_rimage_1 | sed 's/(.*//; s/ //g')" moving/mostly
step lvcreate -q -y -Zn --type thin-pool -L 16M -n pool moving; lv -L 8M -n outside moving
step lvchange -q -an moving/outside; step lvchange -q -pr moving/outside
step lvcreate -q -y -s --thinpool moving/pool -n inside moving/outside
lv -L 16M -n merged moving /dev/mapper/sluggish
step lvcreate -q -y -s -L 12M -c 64k -n merging moving/merged /dev/sdj7
# Not at its beginning, where udev looks: a read of what is being merged waits for it.
step dd if=/dev/urandom of=/dev/moving/merging bs=64K count=32 seek=64 oflag=direct
lv -L 16M -n moved moving /dev/sdi7
echo "$SECONDS s: LVs"

# what only dmsetup makes; names with what must be mangled
on() { echo "0 $(blockdev --getsz "$1") $2"; }
step dmsetup create "caf é" --table "$(on /dev/sda8 "linear /dev/sda8 0")"
step dmsetup create log --table "$(on /dev/sdb8 "log-writes /dev/sdb8 /dev/sdc8")"
step dmsetup create one-stripe --table "0 65536 unstriped 2 128 0 /dev/sde8 0"
step dmsetup create switched --table "0 65536 switch 2 128 0 /dev/sdf8 0 /dev/sdg8 0"
dd if=/dev/zero of=/dev/sdf5 bs=64K count=1 status=none
step dmsetup create aged --table "$(on /dev/sdg5 "era /dev/sdf5 /dev/sdg5 8192")"
step veritysetup format /dev/sdi8 /dev/sdj8
step veritysetup open /dev/sdi8 sealed /dev/sdj8 "$(veritysetup format /dev/sdi8 /dev/sdj8 | awk '/Root hash/ {print $3}')"
step dmsetup create broken --table "0 65536 error"
step dmsetup create still --table "0 65536 linear /dev/sdb5 0"
truncate -s 160M /tmp/image /tmp/other; image=$(losetup -fP --show /tmp/image); step sgdisk -n 1:0:0 "$image"
other=$(losetup -f --show /tmp/other)
step mkfs.btrfs -q -f "$other" "${image}p1"; step btrfs device scan
mkdir -p "/tmp/a b"; step mount -t btrfs "$other" "/tmp/a b"
echo "$SECONDS s: mapped devices"

# a crypt mapping on a partition of a multipath device
# Two loop devices of one file, of which multipath-tools knows nothing: of SCSI disks (scsi_debug's) udev's rules
# (multipath -U) compare the serial number with the map's uuid, and fail every path where they differ.
truncate -s 32M /tmp/paths
set -- "$(losetup -f --show /tmp/paths)" "$(losetup -f --show /tmp/paths)"
number() { cat "/sys/block/${1#/dev/}/dev"; }
step dmsetup create mpathx -u mpath-1scsi --table \
    "$(on "$1" "multipath 0 0 2 1 round-robin 0 1 1 $(number "$1") 1 round-robin 0 1 1 $(number "$2") 1")"
step dmsetup create mpathx1 -u part1-mpath-1scsi --table "0 40960 linear /dev/mapper/mpathx 2048"
key=$(printf 'ab%.0s' {1..32})
step dmsetup create hidden -u CRYPT-PLAIN-hidden --table "0 40960 crypt aes-xts-plain64 $key 0 /dev/mapper/mpathx1 0"
step dmsetup message mpathx 0 "fail_path $(number "$2")"
echo "$SECONDS s: paths"

# what must be under way when it is looked at
step dmsetup reload sluggish --table "$(sluggish 1000000)"; step dmsetup resume sluggish
step lvconvert -q -y -b --merge moving/merging
step pvmove -q -b -n moving/moved /dev/sdi7 /dev/mapper/sluggish
echo "$SECONDS s: all stands"
snapshot kinds

# I/O to a suspended device waits for ever; what only looks at it must not.
step dmsetup suspend --noflush --nolockfs still
start=$(date +%s%N); timeout 60 stackmap tree -J > tree.json 2> tree.err; echo $? > tree.status
echo "$(($(date +%s%N) - start)) ns" > tree.time
timeout 60 stackmap tree > tree.txt 2>> tree.err
step dmsetup resume still
exit 0
