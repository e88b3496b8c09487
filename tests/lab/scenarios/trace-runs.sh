# Traces that are killed at random moments, and traces one after the other, by trace_runs.py, while there is load. For
# test_trace_runs.py.
. /lab/guest.sh
set -e
modprobe -a dm-mod raid456 dm-raid
unwatched
in_memory fio
vgcreate -q t /dev/sd{a,b,c,d}
lvcreate -q -y -L 100M -n lin t
lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 96M -n r5 t
udevadm settle
fio --direct=1 --ioengine=psync --rw=randwrite --bs=4k --time_based --runtime=3000 --rate_iops=15 \
    --output=/dev/null --name=lin --filename=/dev/t/lin --name=r5 --filename=/dev/t/r5 &
load=$!
echo "$SECONDS s: ready"
python /lab/trace_runs.py repeat "${RUNS:-100}" t/lin > repeated.jsonl
echo "$SECONDS s: repeated"
python /lab/trace_runs.py kill "${KILLS:-50}" t/lin > killed.jsonl
echo "$SECONDS s: killed"
kill $load
wait $load || true
# And as it is run: one that is killed, and one after it.
stackmap trace t/r5 60 > /dev/null 2>&1 & tracer=$!
until [ -d /sys/kernel/tracing/instances/stackmap/events/stackmap/submit ]; do sleep 0.2; kill -0 $tracer; done
kill -9 $tracer; wait $tracer || true
status=0; stackmap trace t/r5 1 > next.out 2> next.err || status=$?
echo $status > next.status
stackmap trace --clean > clean.out
ls /sys/kernel/tracing/instances > left.txt
grep stackmap /sys/kernel/tracing/{kprobe_events,synthetic_events} >> left.txt || true
# Ctrl-Z ends a trace as Ctrl-C does.
stackmap trace -J t/r5 600 > stopped.json 2> stopped.err & tracer=$!
until grep -qs "lat >= [0-9]* \[active\]" /sys/kernel/tracing/instances/stackmap/events/synthetic/stackmap_latency/trigger; do
    sleep 0.2; kill -0 $tracer
done
kill -TSTP $tracer; wait $tracer || true
ls /sys/kernel/tracing/instances > stopped-left.txt
# Nobody reads what it prints, more than a pipe holds: its time limit holds all the same.
mkfifo /tmp/pipe; sleep 100000 < /tmp/pipe & reader=$!  # not on 9p: QEMU refuses FIFOs there
stackmap trace --events -J --max-overhead 100 t/lin 20 > /tmp/pipe 2> blocked.err & tracer=$!
dd if=/dev/zero of=/dev/t/lin bs=4k count=20000 oflag=direct status=none &
until [ -d /sys/kernel/tracing/instances/stackmap ]; do sleep 0.2; kill -0 $tracer; done
sleep 60
kill -0 $tracer && echo waiting > blocked.txt
cat /sys/kernel/tracing/instances/stackmap/events/block/*/enable | sort -u >> blocked.txt
kill $reader; wait $tracer || true
ls /sys/kernel/tracing/instances > blocked-left.txt
echo "$SECONDS s: done"
