# Disks over several paths: dm-multipath with a slow path and a failing one, and NVMe over two controllers; its health; then
# control groups that wait for a slow disk. Each with the kernel's counters before and after. For test_paths.py.
. /lab/guest.sh
in_memory dmsetup
modprobe -a dm_multipath dm_round_robin dm_service_time nvmet nvme_loop configfs
unwatched
sectors() { cat "/sys/block/$1/size"; }
number() { cat "/sys/block/$1/dev"; }
with_serial() { for disk in /sys/block/sd*; do [ "$(lsblk -n -d -o SERIAL "/dev/${disk##*/}")" != "$1" ] || echo "${disk##*/}"; done; }
slow=$(with_serial LABSCSI2) quick=$(with_serial LABSCSI1) other=$(with_serial LABSCSI3) cold=$(with_serial LABSCSI4)
printf '%s\n' "$slow" "$quick" "$other" "$cold" > names
load() { fio --name=l --filename="$1" --size=64M --rw=randread --bs=4k --direct=1 --iodepth="${3:-4}" --ioengine=libaio --time_based --runtime="${2:-12}"; }

# recorded NAME SECONDS COMMAND...: NAME.tar while COMMAND runs, the counters before and after it, and the tree
recorded() {
    local name=$1 seconds=$2; shift 2
    quiet
    stackmap record "/tmp/rec-$name" 1 "$seconds" & local recorder=$!
    until [ -d "/tmp/rec-$name/log" ]; do sleep 0.5; kill -0 $recorder || return 1; done
    sleep 1
    { sample; cat /proc/pressure/io; dmsetup status --noflush; } > "$name.before"
    "$@" > /tmp/said 2>&1 || cat /tmp/said
    { sample; cat /proc/pressure/io; dmsetup status --noflush; } > "$name.after"
    wait $recorder
    tar cf "$name.tar" -C "/tmp/rec-$name" .
    stackmap tree -J > "$name.tree.json"; stackmap tree > "$name.tree"
    echo "$SECONDS s: $name"
}

# Both paths are disks of their own, which no read can tell.
joined() { dmsetup create paths -u mpath-lab --table "0 $(sectors "$quick") multipath 0 0 $*"; udevadm settle; }
joined 1 1 round-robin 0 2 1 "$(number "$quick")" 1 "$(number "$slow")" 1
recorded slow-path 16 load /dev/mapper/paths
flapping() {
    load /dev/mapper/paths 9 & local loading=$!
    for _ in 1 2 3; do
        sleep 1.5; dmsetup message paths 0 "fail_path $(number "$slow")"
        sleep 1.5; dmsetup message paths 0 "reinstate_path $(number "$slow")"
    done
    wait $loading
}
recorded flapping 16 flapping
dmsetup message paths 0 "fail_path $(number "$slow")"
stackmap tree > failed.tree; stackmap tree -J > failed.tree.json; stackmap check > failed.check
dmsetup remove paths

# Two controllers of one NVMe subsystem.
mount -t configfs none /sys/kernel/config
nvmet=/sys/kernel/config/nvmet
mkdir $nvmet/subsystems/lab; echo 1 > $nvmet/subsystems/lab/attr_allow_any_host
mkdir $nvmet/subsystems/lab/namespaces/1
echo -n "/dev/$other" > $nvmet/subsystems/lab/namespaces/1/device_path; echo 1 > $nvmet/subsystems/lab/namespaces/1/enable
for port in 1 2; do
    mkdir $nvmet/ports/$port; echo loop > $nvmet/ports/$port/addr_trtype; echo $port > $nvmet/ports/$port/addr_traddr
    ln -s $nvmet/subsystems/lab $nvmet/ports/$port/subsystems/lab
    echo "transport=loop,nqn=lab,traddr=$port" > /dev/nvme-fabrics
done
udevadm settle; sleep 2
recorded nvme-numa 16 load /dev/nvme0n1 12 16
echo round-robin > /sys/block/nvme0n1/device/iopolicy
recorded nvme-round-robin 16 load /dev/nvme0n1
group() { echo "$2" > "$nvmet/ports/$1/ana_groups/1/ana_state"; }
lost() { load /dev/nvme0n1 9 & local loading=$!; sleep 3; group 2 non-optimized; sleep 3; group 1 inaccessible; wait $loading; }
recorded nvme-lost 16 lost
group 1 optimized
nvme smart-log --output-format=json /dev/nvme0n1 > smart.json; stackmap check -J > health.json 2> health.err

# One group reads a slow disk, and waits; one reads a quick disk within a cap; one only computes.
echo "+io +cpu" > /sys/fs/cgroup/cgroup.subtree_control
within() { local group=/sys/fs/cgroup/$1.service; shift; mkdir -p "$group"; sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$@"; }
reading() { fio --name=r --filename="/dev/$1" --size=64M --rw=randread --bs=4k --direct=1 --ioengine=psync --time_based --runtime=14; }
waits() {
    mkdir -p /sys/fs/cgroup/capped.service; echo "$(number "$quick") riops=20" > /sys/fs/cgroup/capped.service/io.max
    within waiting dd if="/dev/$slow" of=/dev/null bs=4k iflag=direct count=700 &
    within capped dd if="/dev/$quick" of=/dev/null bs=4k iflag=direct count=280 &
    within quiet sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; dd if=/dev/'"$cold"' of=/dev/null bs=4k count=2 iflag=direct' &
    sleep 1
    grep . /sys/fs/cgroup/*.service/io.pressure > groups.before
    stackmap blame "$slow" "$quick" 10 1 -J > blame.json
    grep . /sys/fs/cgroup/*.service/io.pressure > groups.after
    stackmap blame "$slow" "$quick" 1 1 > blame.txt
    wait
}
recorded waits 20 waits
stackmap explain "$slow" > waits.explain
echo "$SECONDS s: done"
