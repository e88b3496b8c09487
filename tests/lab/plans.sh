# What the scenarios for `plan` share; in the guest: . /lab/plans.sh
. /lab/guest.sh
modprobe -a raid456 raid10 raid1 raid0 dm_raid dm_mirror dm_snapshot dm_thin_pool dm_cache dm_cache_smq \
    dm_writecache dm_integrity dm_crypt ext4
rm -rf ./*/ cases.txt refusals.txt
# lvm_state, md_state NAME: what is true after each step, for the test to judge
lvm_state='lvs --all --reportformat=json --options=lv_name,segtype,lv_attr,sync_percent,raid_sync_action,stripes,data_stripes,stripe_size,devices vg'
md_state() { echo "mdadm --detail $1; cat /proc/mdstat"; }

# files DEVICE: an ext4 on it, at /mnt, whose metadata a writer dirties all the time
files() { mkfs.ext4 -q -F -b 4096 "$1"; mount -o noatime "$1" /mnt; }
nothing() { umount /mnt; }

# go CASE NAME LAYOUT DEVICE STATE OPTIONS...: what is planned, and what comes of it when it is followed. How,
# is told follow.py by the words in `how`. With `loads` a recording of a load before and one after.
how=()
loads=
go() {
    local case=$1 name=$2 layout=$3 device=$4 state=$5 status=0; shift 5
    udevadm settle
    mkdir -p "$case"
    [ ! "$loads" ] || loaded "$case/before"
    stackmap plan "$name" --to "$layout" "$@" -J > "$case/plan.json" 2> "$case/err" || status=$?
    echo "$SECONDS s: $case ($status)"
    cat "$case/err"
    echo "$case" >> cases.txt
    [ $status = 0 ] || return 0
    # The second before any disk is dead.
    [ ! "$loads" ] || export -f loaded
    python "$LAB/follow.py" "${how[@]}" ${loads:+--then "loaded $case/after"} "$case" /mnt "$device" "$state"
}

# lv CASE LAYOUT OPTIONS...: of the LV that `anew` made, which is gone after it
lv() { local case=$1 layout=$2; shift 2; go "$case" vg/lv "$layout" /dev/vg/lv "$lvm_state" "$@"; over; }
over() { umount /mnt; lvremove -q -y vg; }

# anew OPTIONS...: an LV as lvcreate makes it of these, in sync, and an ext4 on it
anew() { lvcreate -q -y -Wn -n lv "$@" vg && synced vg/lv && files /dev/vg/lv; }
synced() { until [[ "$(lvs --noheadings -o sync_percent "$1" | xargs)" =~ ^(100.00|)$ ]]; do sleep 1; done; }

# loaded CAPTURE: a recording, an interval a second, of random reads and writes in a file on /mnt, the same
# each time and so slow that the emulator keeps up
loaded() {
    [ -e /mnt/load ] || dd if=/dev/zero of=/mnt/load bs=1M count=8 conv=fsync status=none
    fio --ioengine=libaio --direct=1 --norandommap=1 --time_based=1 --runtime=300 --filename=/mnt/load --size=8m \
        --randseed=11 --iodepth=4 --rate_process=poisson --overwrite=1 \
        --name=reads --rw=randread --bs=16k --rate_iops=15 \
        --name=writes --rw=randwrite --bs=8k --rate_iops=25 > /tmp/fio 2>&1 & local load=$!
    sleep 2
    stackmap record "$1" 1 "$loads" > /tmp/said 2>&1 || { echo "!! record: $?"; cat /tmp/said /tmp/fio; }
    kill -INT $load; wait $load
    echo "$SECONDS s: $1"
}

# refused CASE NAME LAYOUT OPTIONS...: the status and the one line
refused() {
    local case=$1 name=$2 layout=$3 status=0; shift 3
    udevadm settle
    ${as:-} stackmap plan "$name" --to "$layout" "$@" > /tmp/out 2> /tmp/err || status=$?
    echo "$case $status $(wc -l < /tmp/err) $(wc -c < /tmp/out) $(cat /tmp/err)" >> refusals.txt
    echo "$SECONDS s: $case refused ($status): $(cat /tmp/err)"
}
as=
