# Loads on an LV, recorded; the job that stackmap makes of each, run on another LV. Both counted by the kernel.
# For test_fiojob.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe raid456
unwatched
for disk in a b c d; do wipefs -q -a /dev/sd$disk; done
pvcreate -q -ff -y /dev/sd{a,b,c,d}
vgcreate -q vg /dev/sd{a,b,c,d}
lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 300M -n r5 vg
lvcreate -q -y -L 300M -n plain vg
lvcreate -q -y --nosync --type raid10 -i 2 -m 1 -I 64k -L 300M -n test vg
# fio lays nothing out on a device, and md reads no unwritten parity: what is there does not matter.
quiet
dump fiojob
echo "$SECONDS s: the stack stands"

# load VOLUME RUNTIME SECTION...: fio on it, an option a word; "-" begins another job
load() {
    local file=/tmp/load.fio word count=1; { echo [global]; printf '%s\n' ioengine=libaio direct=1 norandommap=1 \
        time_based=1 filename=/dev/vg/"$1" runtime="$2"; echo "[job1]"; } > $file; shift 2
    for word; do
        if [ "$word" = - ]; then count=$((count + 1)); word="[job$count]"; fi
        echo "$word" >> $file
    done
    fio --output-format=json $file
}

# again WORKLOAD VOLUME OPTION...: the job of what was recorded, and it run on vg/test
again() {
    local workload=$1 volume=$2 name=fiojob.$1 status=0; shift 2
    stackmap fiojob "$volume" --input "$name.diskstats" --target vg/test "$@" \
        > "$name.fio" 2> "$name.err" || status=$?
    echo $status > "$name.status"
    [ "$status" = 0 ] || { cat "$name.err"; return 0; }
    quiet
    truth_on
    fio --output-format=json --output="$name.replay.json" "$name.fio" || echo $? > "$name.status"
    quiet
    truth_off "$name.replay.truth"
    echo "$SECONDS s: $workload again"
}

set +e  # from here on a failure is a result, and the test's to judge
watched fiojob rand8k r5 load r5 20 rw=randwrite bs=8k iodepth=4 rate_iops=40
again rand8k r5
watched fiojob mixed plain load plain 20 rw=randwrite bssplit=4k/70:64k/30 iodepth=8 rate_iops=40 rate_process=poisson
again mixed plain
watched fiojob seq128k plain load plain 20 rw=write bs=128k iodepth=2 rate_iops=25
again seq128k plain
watched fiojob rw r5 load r5 20 rw=randread bs=16k iodepth=4 rate_iops=30 - rw=randwrite bs=8k iodepth=4 rate_iops=20
again rw r5
watched fiojob fsync r5 load r5 20 rw=randwrite bs=8k iodepth=1 rate_iops=16 fdatasync=2
again fsync r5
watched fiojob course plain load plain 10 rw=randwrite bs=4k rate_iops=40 - rw=randwrite bs=32k rate_iops=20 stonewall
again course plain
# What counters do not tell: three sizes at once, and requests that the volume cuts before it counts them.
watched fiojob three plain load plain 20 rw=randwrite bssplit=4k/50:16k/30:64k/20 iodepth=8 rate_iops=40 rate_process=poisson
again three plain
# The same load, of which somebody knows better.
for file in diskstats truth; do cp fiojob.three.$file fiojob.given.$file; done
again given plain --sizes write=4k/50:16k/30:64k/20
watched fiojob cut r5 load r5 10 rw=write bs=128k iodepth=2 rate_iops=10
again cut r5
echo "$SECONDS s: done"
exit 0
