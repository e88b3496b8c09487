# What the scenarios for `plan` share; in the guest: . /lab/plans.sh
. /lab/guest.sh
modprobe -a raid456 raid10 raid1 raid0 dm_raid dm_mirror dm_snapshot dm_thin_pool dm_cache dm_cache_smq \
    dm_writecache dm_integrity dm_crypt ext4
rm -f ./*.json ./*.err cases.txt refusals.txt

# lvm_state, md_state NAME: what is true after each step, for the test to judge
lvm_state='lvs --all --reportformat=json --options=lv_name,segtype,lv_attr,sync_percent,raid_sync_action,stripes,data_stripes,stripe_size,devices vg'
md_state() { echo "mdadm --detail $1; cat /proc/mdstat"; }

# files DEVICE: an ext4 on it, at /mnt, whose metadata a writer dirties all the time
files() { mkfs.ext4 -q -F -b 4096 "$1"; mount -o noatime "$1" /mnt; }
nothing() { umount /mnt; }

# go CASE NAME LAYOUT DEVICE STATE OPTIONS...: what is planned, and what comes of it when it is followed
go() {
    local case=$1 name=$2 layout=$3 device=$4 state=$5 status=0; shift 5
    udevadm settle
    stackmap plan "$name" --to "$layout" "$@" -J > "$case.plan.json" 2> "$case.err" || status=$?
    echo "$SECONDS s: $case ($status)"
    cat "$case.err"
    echo "$case" >> cases.txt
    [ $status != 0 ] || python "$LAB/follow.py" "$case.plan.json" "$case.done.json" /mnt "$device" "$state" "$words"
}

# refused CASE NAME LAYOUT OPTIONS...: the status and the one line
refused() {
    local case=$1 name=$2 layout=$3 status=0; shift 3
    udevadm settle
    ${as:-} stackmap plan "$name" --to "$layout" "$@" > /tmp/out 2> /tmp/err || status=$?
    echo "$case $status $(wc -l < /tmp/err) $(wc -c < /tmp/out) $(cat /tmp/err)" >> refusals.txt
    echo "$SECONDS s: $case refused ($status): $(cat /tmp/err)"
}
words= as=
