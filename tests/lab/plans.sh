# What the scenarios for `plan` share; in the guest: . /lab/plans.sh
. /lab/guest.sh
modprobe -a raid456 raid10 raid1 raid0 dm_raid dm_mirror dm_snapshot dm_thin_pool dm_cache dm_cache_smq \
    dm_writecache dm_integrity dm_crypt ext4
rm -rf before after plan.json done.json refusals.txt

# cases NAME...: one after another in this boot, each in a folder of its own and on disks without a trace of the last;
# `prepared`, if there is such a function, first
cases() {
    local name
    for name; do
        rm -rf "/out/$name"; mkdir "/out/$name"
        (cd "/out/$name" && { ! declare -F prepared > /dev/null || prepared; } && "$name") > "/out/$name/script.log" 2>&1
        echo "$SECONDS s: $name ended with $?"
        cleared > /tmp/cleared 2>&1 || { echo "!! $name left what cannot be removed"; cat /tmp/cleared; return 1; }
    done
}
cleared() {
    local disk end
    umount -l /mnt; udevadm settle
    vgremove -q -ff -y vg
    mdadm --quiet --stop --scan
    # A cache or a mapping that a dead disk has left; some stand on others, and arrays on them.
    for _ in 1 2 3; do [ -z "$(dmsetup ls 2>/dev/null | grep -v '^No devices')" ] || dmsetup remove_all --force; done
    ! grep -q ^md /proc/mdstat || mdadm --quiet --stop --scan
    # Superblocks and partition tables stand at the first and the last of a disk; what stood at the first of an
    # array, a few MiB behind: a PV that came back in the next array of these disks would be in use.
    end=$(($(blockdev --getsize64 /dev/sda) / 1048576 - 2))
    for disk in /dev/sd?; do
        dd if=/dev/zero of="$disk" bs=4M count=8 conv=fsync status=none &
        dd if=/dev/zero of="$disk" bs=1M seek=$end conv=fsync status=none &
    done
    wait
    blockdev --rereadpt /dev/sd?
    udevadm settle
    [ -z "$(dmsetup ls | grep -v '^No devices')" ] && ! grep -q ^md /proc/mdstat
}

# lvm_state: what is true after each step, for the test to judge
lvm_state='lvs --all --reportformat=json --options=lv_name,segtype,lv_attr,sync_percent,raid_sync_action,stripes,data_stripes,stripe_size,devices vg'

# files DEVICE: an ext4 on it, at /mnt, whose metadata a writer dirties all the time
files() { mkfs.ext4 -q -F -b 4096 "$1"; mount -o noatime "$1" /mnt; }

# How a plan is followed is told follow.py by the words in `how`; a load is recorded before and after it, for so
# many seconds as `loads` says. given_up STEP: not to the end, but so far, and back by what these steps say.
how=(--kill)
loads=24
given_up() { how=("${how[@]/--kill/--back=$1}"); loads=; }

# follow NAME LAYOUT DEVICE STATE OPTIONS...: what is planned, and what comes of it when it is followed
follow() {
    local name=$1 layout=$2 device=$3 state=$4; shift 4
    udevadm settle
    [ ! "$loads" ] || loaded before
    stackmap plan "$name" --to "$layout" "$@" -J > plan.json || return
    # The second before any disk is dead.
    [ ! "$loads" ] || export -f loaded
    export loads
    python "$LAB/follow.py" "${how[@]}" ${loads:+--then "loaded after"} . /mnt "$device" "$state"
}

# btrfs_on_luks DEVICE: one at /mnt, on a LUKS mapping called "safe"; a plan does not move it
btrfs_on_luks() {
    echo -n secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" -
    echo -n secret | cryptsetup open --type luks "$1" safe; udevadm settle
    mkfs.btrfs -q -f --mixed /dev/mapper/safe 2> /dev/null; mount /dev/mapper/safe /mnt
}

# lv LAYOUT OPTIONS...: of the LV that `anew` made
lv() { local layout=$1; shift; follow vg/lv "$layout" /dev/vg/lv "$lvm_state" "$@"; }

# group PV...: the VG of all that is made
group() { pvcreate -q -ff -y "$@" && vgcreate -q vg "$@"; }

# anew OPTIONS...: an LV as lvcreate makes it of these, in sync, and an ext4 on it
anew() { lvcreate -q -y -Wn -n lv "$@" vg && synced vg/lv && files /dev/vg/lv; }
synced() { until [[ "$(lvs --noheadings -o sync_percent "$1" | xargs)" =~ ^(100.00|)$ ]]; do sleep 1; done; }

# loaded CAPTURE: a recording, an interval a second, of random reads and writes in a file on /mnt, the same
# each time and so slow that the emulator keeps up. What parity is worked out from is read, not found in md's stripe
# cache, which a reshape leaves larger than it was.
loaded() {
    local cache
    for cache in /sys/block/md*/md/stripe_cache_size; do [ ! -e "$cache" ] || echo 17 > "$cache"; done
    [ -e /mnt/load ] || dd if=/dev/zero of=/mnt/load bs=1M count=4 conv=fsync status=none
    fio --ioengine=libaio --direct=1 --norandommap=1 --time_based=1 --runtime=300 --filename=/mnt/load --size=4m \
        --randseed=11 --iodepth=4 --rate_process=poisson --overwrite=1 \
        --name=reads --rw=randread --bs=16k --rate_iops=15 \
        --name=writes --rw=randwrite --bs=8k --rate_iops=25 > /tmp/fio 2>&1 & local load=$!
    sleep 2
    stackmap record "$1" 1 "$loads" > /tmp/said 2>&1 || { echo "!! record: $?"; cat /tmp/said /tmp/fio; }
    kill -INT $load; wait $load
    echo "$SECONDS s: $1"
}

# refused CASE NAME LAYOUT OPTIONS...: the status, and the lines that say why as one
refused() {
    local case=$1 name=$2 layout=$3 status=0; shift 3
    udevadm settle
    ${as:-} stackmap plan "$name" --to "$layout" "$@" > /tmp/out 2> /tmp/err || status=$?
    echo "$case $status $(wc -l < /tmp/err) $(wc -c < /tmp/out) $(tr '\n' ' ' < /tmp/err)" >> refusals.txt
    echo "$SECONDS s: $case refused ($status): $(cat /tmp/err)"
}
as=
