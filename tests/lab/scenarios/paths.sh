# Disks over several paths: dm-multipath with a slow path and a failing one, and NVMe over TCP to this machine over two
# controllers, whose second is made slower, cut off and removed; its health; then control groups that wait for a slow
# disk, within a cap, and within a budget (io.cost). Each with the kernel's counters before and after. For test_paths.py.
. /lab/guest.sh
in_memory dmsetup
modprobe -a dm_multipath dm_round_robin dm_service_time nvmet nvmet_tcp nvme_tcp configfs
unwatched
sectors() { cat "/sys/block/$1/size"; }
number() { cat "/sys/block/$1/dev"; }
with_serial() { for disk in /sys/block/sd*; do [ "$(lsblk -n -d -o SERIAL "/dev/${disk##*/}")" != "$1" ] || echo "${disk##*/}"; done; }
slow=$(with_serial LABSCSI2) quick=$(with_serial LABSCSI1) other=$(with_serial LABSCSI3) cold=$(with_serial LABSCSI4)
printf '%s\n' "$slow" "$quick" "$other" "$cold" > names
load() { fio --name=l --filename="$1" --size=64M --rw="${4:-randread}" --bs=4k --direct=1 --iodepth="${3:-4}" --ioengine=libaio --time_based --runtime="${2:-12}"; }

# counts: /proc/diskstats under its time, the same of NVMe's hidden paths in sysfs, and what waits
counts() {
    sample
    for file in /sys/block/nvme*/stat; do [ ! -r "$file" ] || echo "$file $(cat "$file")"; done
    cat /proc/pressure/io; dmsetup status --noflush
}

# recorded NAME COMMAND...: NAME.tar while COMMAND runs, the counts before and after it, and the tree
recorded() {
    local name=$1; shift
    quiet
    stackmap record "/tmp/rec-$name" 1 & local recorder=$!
    until [ -d "/tmp/rec-$name/log" ]; do sleep 0.5; kill -0 $recorder || return 1; done
    sleep 1
    counts > "$name.before"
    "$@" > /tmp/said 2>&1 || cat /tmp/said
    counts > "$name.after"
    sleep 1.5
    kill -TERM $recorder; wait $recorder || echo "!! the recorder of $name ended with $?"
    tar cf "$name.tar" -C "/tmp/rec-$name" .
    stackmap tree -J > "$name.tree.json"; stackmap tree > "$name.tree"
    echo "$SECONDS s: $name"
}

# Both paths are disks of their own, which no read can tell. A uuid of multipath's own would have udev's rules
# (multipath -U) compare the serial numbers, and fail both paths.
joined() { dmsetup create paths --table "0 $(sectors "$quick") multipath 0 0 $*"; udevadm settle; }
joined 1 1 round-robin 0 2 1 "$(number "$quick")" 1 "$(number "$slow")" 1
recorded slow-path load /dev/mapper/paths
flapping() {
    load /dev/mapper/paths 9 & local loading=$!
    for _ in 1 2 3; do
        sleep 1.5; dmsetup message paths 0 "fail_path $(number "$slow")"
        sleep 1.5; dmsetup message paths 0 "reinstate_path $(number "$slow")"
    done
    wait $loading
}
recorded flapping flapping
dmsetup message paths 0 "fail_path $(number "$slow")"
stackmap tree > failed.tree; stackmap tree -J > failed.tree.json; stackmap check --no-health -J > failed.json
dmsetup remove paths

# Two controllers of one NVMe subsystem, and a volume on the disk that both lead to.
mount -t configfs none /sys/kernel/config
nvmet=/sys/kernel/config/nvmet
mkdir $nvmet/subsystems/lab; echo 1 > $nvmet/subsystems/lab/attr_allow_any_host
mkdir $nvmet/subsystems/lab/namespaces/1
echo -n "/dev/$other" > $nvmet/subsystems/lab/namespaces/1/device_path; echo 1 > $nvmet/subsystems/lab/namespaces/1/enable
for port in 1 2; do
    place=$nvmet/ports/$port; mkdir $place
    echo tcp > $place/addr_trtype; echo ipv4 > $place/addr_adrfam
    echo 127.0.0.1 > $place/addr_traddr; echo 442$port > $place/addr_trsvcid
    ln -s $nvmet/subsystems/lab $place/subsystems/lab
    echo "transport=tcp,nqn=lab,traddr=127.0.0.1,trsvcid=442$port,reconnect_delay=1,keep_alive_tmo=5" > /dev/nvme-fabrics
done
udevadm settle; sleep 2
dmsetup create data --table "0 131072 linear /dev/nvme0n1 0"; udevadm settle
policy=/sys/block/nvme0n1/device/iopolicy
recorded nvme-numa load /dev/mapper/data 12 16
echo round-robin > $policy
recorded nvme-round-robin load /dev/mapper/data 12 4 randwrite
! echo queue-depth > $policy || recorded nvme-queue-depth load /dev/mapper/data 12 8 randrw
group() { echo "$2" > "$nvmet/ports/$1/ana_groups/1/ana_state"; }
switched() { load /dev/mapper/data 9 & local loading=$!; sleep 3; group 2 non-optimized; sleep 3; group 1 inaccessible; wait $loading; }
recorded nvme-switched switched
group 1 optimized; group 2 optimized
cut() { load /dev/mapper/data 9 & local loading=$!; sleep 4; rm $nvmet/ports/2/subsystems/lab; wait $loading; }
recorded nvme-cut cut
stackmap check --no-health -J > cut.json; stackmap explain -J > cut.explain.json
ln -s $nvmet/subsystems/lab $nvmet/ports/2/subsystems/lab; sleep 5
controller() { for file in /sys/class/nvme/nvme*/address; do ! grep -q "trsvcid=442$1" "$file" || echo "${file%/*}"; done; }
gone() { load /dev/mapper/data 9 & local loading=$!; sleep 4; echo 1 > "$(controller 2)/delete_controller"; wait $loading; }
recorded nvme-gone gone
stackmap check --no-health -J > gone.json
nvme smart-log --output-format=json /dev/nvme0n1 > smart.json; stackmap check -J > health.json 2> health.err

# One group reads a slow disk, and waits; one reads a quick disk within a cap; one only computes.
echo "+io +cpu" > /sys/fs/cgroup/cgroup.subtree_control
within() { local group=/sys/fs/cgroup/$1.service; shift; mkdir -p "$group"; sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$@"; }
mkdir /sys/fs/cgroup/capped.service; echo "$(number "$quick") riops=20" > /sys/fs/cgroup/capped.service/io.max
waits() {
    within waiting dd if="/dev/$slow" of=/dev/null bs=4k iflag=direct count=700 & local waiting=$!
    within capped dd if="/dev/$quick" of=/dev/null bs=4k iflag=direct count=280 & local capped=$!
    within quiet sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; dd if=/dev/'"$cold"' of=/dev/null bs=4k count=2 iflag=direct' & local quiet=$!
    sleep 1
    { date +%s.%N; grep . /sys/fs/cgroup/*.service/io.pressure; } > groups.before
    stackmap blame "$slow" "$quick" 10 1 -J > blame.json
    { date +%s.%N; grep . /sys/fs/cgroup/*.service/io.pressure; } > groups.after
    stackmap blame "$slow" "$quick" 1 1 > blame.txt
    wait $waiting $capped $quiet
}
recorded waits waits
stackmap explain "$slow" > waits.explain

# Two groups of unequal weight share the budget of a disk that could do more.
for name in heavy:200 light:50; do
    mkdir /sys/fs/cgroup/${name%:*}.service; echo "${name#*:}" > /sys/fs/cgroup/${name%:*}.service/io.weight
done
echo "$(number "$cold") enable=1 ctrl=user min=50.00 max=50.00" > /sys/fs/cgroup/io.cost.qos
echo "$(number "$cold") ctrl=user rbps=100000000 rseqiops=200 rrandiops=100 wbps=100000000 wseqiops=200 wrandiops=100" > /sys/fs/cgroup/io.cost.model
used() { sed -n "s/^$(number "$cold") .*cost.usage=\([0-9]*\).*/\1/p" /sys/fs/cgroup/io.stat; }
# A shell's functions do not pass through dash.
shared() {
    local words=(fio --name=s --filename="/dev/$cold" --size=64M --rw=randread --bs=4k --direct=1 --iodepth=4)
    words+=(--ioengine=libaio --time_based --runtime=12)
    within heavy "${words[@]}" & local heavy=$!
    within light "${words[@]}" & local light=$!
    sleep 3; { date +%s.%N; used; } > budget.before
    sleep 6; { date +%s.%N; used; } > budget.after
    wait $heavy $light
}
recorded cost shared
stackmap explain -J > quiet.explain.json
echo "$SECONDS s: done"
