# What each way to trace costs a request: the IOPS of null_blk below dm-linear, at depth 1, without and with it. For
# test_trace_cost.py.
. /lab/guest.sh
set -e
modprobe null_blk nr_devices=2 gb=1 queue_mode=2 irqmode=0 submit_queues=1
modprobe dm-mod
unwatched
in_memory fio
dmsetup create lin --table "0 1048576 linear /dev/nullb0 0"
dmsetup create other --table "0 1048576 linear /dev/nullb1 0"
udevadm settle
tracing=/sys/kernel/tracing/instances/stackmap

# load NAME: NAME.fio, what fio says of its writes
load() {
    fio --name=w --filename=/dev/mapper/lin --direct=1 --ioengine=psync --rw=randwrite --bs=4k --io_size=48M \
        --randseed=5 --output-format=json --output="$1.fio"
}

# traced NAME PATTERN FILE COMMAND...: the load while COMMAND runs, from when PATTERN is in FILE of the instance on
traced() {
    local name=$1 pattern=$2 file=$3 pid; shift 3
    "$@" > "$name.out" 2> "$name.err" & pid=$!
    until grep -qs "$pattern" "$tracing/$file"; do
        kill -0 $pid || { cat "$name.err"; return 1; }
        sleep 0.2
    done
    sleep 1
    load "$name"
    sleep 1
    kill -INT $pid
    wait $pid || cat "$name.err"
    load "$name-without"
    echo "$SECONDS s: $name"
}

counting="lat >= [0-9]* \[active\]"
latency=events/synthetic/stackmap_latency/trigger
load warm
traced trace "$counting" $latency stackmap trace -J --max-overhead 100 /dev/mapper/lin 900
traced other "$counting" $latency stackmap trace -J --max-overhead 100 /dev/mapper/other 900
traced all "$counting" $latency stackmap trace -J --max-overhead 100 900
traced blame thread events/synthetic/stackmap_owner/trigger stackmap blame --trace -J --max-overhead 100 /dev/mapper/lin 900 1
traced events 1 events/block/block_rq_issue/enable stackmap trace --events --slower 1s --max-overhead 100 -J /dev/mapper/lin 900
traced follow 1 events/block/block_rq_issue/enable stackmap trace --follow --slower 1s --max-overhead 100 -J /dev/mapper/lin 900
echo 0 > /sys/kernel/debug/kprobes/enabled
traced fallback "rwbs.*\[active\]" events/block/block_rq_issue/trigger stackmap trace -J --max-overhead 100 /dev/mapper/lin 900
echo 1 > /sys/kernel/debug/kprobes/enabled

# With the limit: the trace ends, and from then on the load is as fast as without.
stackmap blame --trace -J --max-overhead 0.001 /dev/mapper/lin 900 1 > limited.out 2> limited.err & pid=$!
until grep -qs thread $tracing/events/synthetic/stackmap_owner/trigger; do sleep 0.2; kill -0 $pid; done
sleep 1
load limited-first
sleep 3
ls $tracing/events/stackmap > limited-left.txt 2>&1 || true
load limited
kill -INT $pid; wait $pid || cat limited.err
echo "$SECONDS s: done"
