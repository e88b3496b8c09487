# What the scenarios for `explain` share; in the guest: . /lab/situations.sh
. /lab/guest.sh
modprobe -a raid456 raid10 raid1 raid0 dm_raid dm_delay dm_thin_pool 2>/dev/null
unwatched
rm -f situations.txt

# load DEVICE OPTIONS...: random requests past the page cache for long enough to be sampled
load() {
    local device=$1; shift
    fio --name=load --filename="$device" --direct=1 --ioengine=libaio --time_based --runtime=14 \
        --norandommap --randrepeat=0 "$@" > /tmp/fio 2>&1 || { echo "!! $device"; tail -5 /tmp/fio; }
}

wanted() { case " ${ONLY:-$1} " in *" $1 "*) ;; *) false;; esac; }

# situation NAME FINDING COMMAND...: three times COMMAND with six samples while it runs, and the machine as
# it is then; FINDING is what must be told first, "-" where nothing may be
situation() {
    local name=$1 first=$2 turn; shift 2
    wanted "$name" || return 0
    for turn in 1 2 3; do
        quiet
        "$@" & worker=$!
        sleep 3
        for _ in 1 2 3 4 5 6; do sample; sleep 0.8; done > "$name.$turn.diskstats"
        [ $turn != 1 ] || dump "$name"
        wait $worker
        echo "$name $turn $first" >> situations.txt
    done
    echo "$SECONDS s: $name"
}

# volume OPTIONS...: a LV in the volume group lab
volume() { lvcreate -q -y -Wn -Zn "$@" lab; }

# disks: four of them in the volume group lab, and r10, a RAID10 LV on all
disks() {
    pvcreate -q -ff -y /dev/sd{a,b,c,d}
    vgcreate -q lab /dev/sd{a,b,c,d}
    volume --type raid10 -i 2 -I 64k --nosync -L 160M -n r10
}
