# `trace` on loads whose parity decisions, latencies and sizes are known; then what may go wrong. For test_trace.py.
# A trace begins, its load runs within, and SIGINT ends it: what it counted is the load, whole.
. /lab/guest.sh
set -e
modprobe -a raid456 dm-raid dm-mod dm-delay
in_memory
unwatched
FIO="fio --name=w --direct=1 --ioengine=libaio --output=/dev/null"
traced=/sys/kernel/tracing/instances/stackmap/events

# traced NAME DEVICE COMMAND...: NAME.json, what trace says of DEVICE while COMMAND runs
traced() {
    local name=$1 device=$2 status=0; shift 2
    quiet
    stackmap trace -J --max-overhead 100 "$device" 600 > "$name.json" 2> "$name.err" & local tracer=$!
    # All are paused until the last one is installed, and begin to count one after another; those of rows are the last.
    until grep -qs "lat >= [0-9]* \[active\]" $traced/synthetic/stackmap_latency/trigger &&
        ! grep -qsF "[paused]" $traced/{block/block_{bio_queue,rq_issue},stackmap/*,synthetic/*}/trigger; do
        kill -0 $tracer || { cat "$name.err"; return 1; }
        sleep 0.2
    done
    sleep 1
    "$@" > /tmp/said 2>&1 || status=$?
    quiet
    sleep 1
    kill -INT $tracer
    wait $tracer || { cat "$name.err"; return 1; }
    [ $status = 0 ] || { echo "!! $name ended with $status"; cat /tmp/said; }
    echo "$SECONDS s: $name"
}

writes() { dd if=/dev/zero of="$1" oflag=direct conv=notrunc status=none "${@:2}"; }
random() { $FIO --filename="$1" --rw=randwrite --randseed=7 "${@:2}"; }

# marked ARRAY: its superblocks say that it is in use, and go on to: those writes are none of a load's
marked() {
    echo 0 > "/sys/block/$(basename "$(readlink -f "$1")")/md/safe_mode_delay"
    writes "$1" bs=4k count=1
}

raid_cases() {
    vgcreate -q t /dev/sd{a,b,c,d,e,f}
    lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 300M -n r5 t /dev/sd{a,b,c,d}
    lvcreate -q -y --nosync --type raid5 -i 5 -I 64k -L 300M -n wide t
    local a=/dev/t/r5
    traced one-page t/r5 random $a --bs=4k --io_size=1M --iodepth=1
    traced one-page-32 t/r5 random $a --bs=4k --io_size=4M --iodepth=32
    traced aligned t/r5 writes $a bs=192K count=40
    traced off-by-half t/r5 $FIO --filename=$a --rw=write --bs=192k --offset=40992k --io_size=3840k --size=40m
    traced sequential-1m t/r5 writes $a bs=1M count=24 seek=70
    traced mixed t/r5 random $a --bssplit=4k/50:64k/30:192k/20 --blockalign=4k --io_size=8M --iodepth=16
    traced buffered t/r5 dd if=/dev/zero of=$a bs=1M count=16 seek=100 conv=fsync,notrunc
    traced tiny t/r5 random $a --bs=512 --io_size=32k --offset=130m --size=16m
    traced wide-one-page t/wide random /dev/t/wide --bs=4k --io_size=1M --iodepth=8
    traced two t together writes $a bs=192K count=20 , random /dev/t/wide --bs=4k --io_size=512k --iodepth=1
    traced reads t/r5 $FIO --filename=$a --rw=randread --bs=16k --io_size=2M --iodepth=1 --randseed=3
}

stacked_cases() {
    vgcreate -q t /dev/sd{a,b,c,d}
    lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 160M -n pool t
    lvconvert -q -y --type thin-pool --chunksize 192k -Zn t/pool
    lvcreate -q -y --type thin -V 100M --thinpool pool -n thin t
    writes /dev/t/thin bs=1536K count=10
    traced thin t/thin writes /dev/t/thin bs=192K count=20
    vgremove -qfy t
    wipefs -qa /dev/sd{a,b,c,d}
    yes | mdadm --create /dev/md/r5 --run --assume-clean --level 5 --chunk 64 --bitmap none -n 6 /dev/sd{a,b,c,d,e,f}
    marked /dev/md/r5
    traced md-one-page /dev/md/r5 random /dev/md/r5 --bs=4k --io_size=1M --iodepth=8
    traced md-aligned /dev/md/r5 writes /dev/md/r5 bs=320K count=20
    pvcreate -q -ff -y --dataalignment 320k /dev/md/r5; vgcreate -q onmd /dev/md/r5
    lvcreate -q -y -L 100M -n lv onmd
    traced md-below-lvm onmd/lv writes /dev/onmd/lv bs=320K count=20
    vgremove -qfy onmd; pvremove -q /dev/md/r5
    mdadm --stop /dev/md/r5; wipefs -qa /dev/sd{a,b,c,d,e,f}
    yes | mdadm --create /dev/md/r6 --run --assume-clean --level 6 --chunk 64 --bitmap none -n 6 /dev/sd{a,b,c,d,e,f}
    marked /dev/md/r6
    traced raid6-aligned /dev/md/r6 writes /dev/md/r6 bs=256K count=20
    traced raid6-one-page /dev/md/r6 random /dev/md/r6 --bs=4k --io_size=256k --iodepth=1
    mdadm --stop /dev/md/r6; wipefs -qa /dev/sd{a,b,c,d,e,f}
}

latency_cases() {
    vgcreate -q d /dev/sdg
    lvcreate -q -y -L 64M -n slow d
    dmsetup create late --table "0 100000 delay /dev/d/slow 0 20"
    udevadm settle
    local fio="fio --name=w --direct=1 --ioengine=psync --rw=randread --bs=4k --output-format=json"
    traced delay /dev/mapper/late $fio --filename=/dev/mapper/late --io_size=400k --output=delay-says.json
    traced fio /dev/sdh $fio --filename=/dev/sdh --io_size=4M --output=fio-says.json
    dmsetup remove late; vgremove -qfy d
}

left() {
    cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/synthetic_events
    ls /sys/kernel/tracing/instances
    for name in $(dmsetup ls | cut -f1); do dmsetup message "$name" 0 @stats_list stackmap; done
}

# refused NAME COMMAND...: NAME.json, NAME.err and the status
refused() {
    local name=$1 status=0; shift
    "$@" > "$name.json" 2> "$name.err" || status=$?
    echo $status > "$name.status"
}

trouble_cases() {
    vgcreate -q t /dev/sd{a,b,c,d}
    lvcreate -q -y -L 100M -n lin t
    local load="random /dev/t/lin --bs=4k --time_based --runtime=600 --rate_iops=20"
    $load & local loading=$!
    mkdir -p /tmp/empty
    mount --bind /tmp/empty /sys/kernel/btf
    refused no-btf stackmap trace -J t/lin 2
    umount /sys/kernel/btf
    echo 0 > /sys/kernel/debug/kprobes/enabled
    refused disarmed stackmap trace -J t/lin 2
    echo 1 > /sys/kernel/debug/kprobes/enabled
    stackmap trace -J --max-overhead 100 t/lin 600 > first.json 2>&1 & local first=$!
    until [ -d /sys/kernel/tracing/instances/stackmap ]; do sleep 0.2; done
    sleep 1
    refused second stackmap trace -J t/lin 2
    refused clean-while-running stackmap trace --clean
    kill -INT $first; wait $first || true
    echo 'p:stackmap/mine vfs_read' >> /sys/kernel/tracing/kprobe_events
    refused others stackmap trace -J t/lin 2
    echo '-:stackmap/mine' >> /sys/kernel/tracing/kprobe_events
    refused overhead stackmap trace -J --max-overhead 0.00001 t/lin 60
    left > left-before
    local moment
    for ((moment = 0; moment < ${KILLS:-12}; moment++)); do
        stackmap trace -J --max-overhead 100 t/lin 60 > /dev/null 2>&1 & local tracer=$!
        # Every other one is killed while it installs or counts, the rest at any moment.
        while ((moment % 2)) && [ ! -d /sys/kernel/tracing/instances/stackmap ]; do sleep 0.2; done
        sleep $((RANDOM % 4)).$((RANDOM % 10))
        kill -9 $tracer 2>/dev/null || true; wait $tracer 2>/dev/null || true
        left | wc -l >> left-by-kills
        stackmap trace --clean > clean.txt
        left > left-after
        cmp left-before left-after || { echo "!! kill $moment left something"; cat left-after; }
    done
    pkill fio || true  # the function that runs it is another process
    wait $loading || true
    mount -t securityfs none /sys/kernel/security 2>/dev/null || true
    echo confidentiality > /sys/kernel/security/lockdown || true
    cat /sys/kernel/security/lockdown > lockdown.txt 2>/dev/null || true
    refused lockdown stackmap trace -J t/lin 2
}

"${CASE:-raid}_cases"
echo "$SECONDS s: done"
