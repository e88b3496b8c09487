# Loads that are healthy, and situations of the six outcomes. For test_outcomes.py.
. /lab/guest.sh
trap '' PIPE
modprobe -a raid456 raid10 raid1 raid0 dm_raid dm_mirror dm_delay dm_thin_pool dm_snapshot dm_crypt nbd loop ext4 2>/dev/null
unwatched
in_memory fio dmsetup lvm
mkfifo /tmp/ask /tmp/told
cat > /tmp/recorder.py <<'PY'
import sys, traceback
sys.argv = ["stackmap"]
from stackmap.cli import stackmap
while True:
    with open("/tmp/ask") as asks:
        for line in asks:
            name, count = line.split()
            try:
                stackmap.main(["record", "/out/" + name, "1", count], standalone_mode=False)
            except BaseException:
                traceback.print_exc()
            with open("/tmp/told", "w") as told:
                told.write("done\n")
PY
python /tmp/recorder.py & recorder=$!
exec 7> /tmp/ask
: > staged.txt
jobs_of() { local p; for p in $(pgrep -P "$1"); do jobs_of "$p"; done; echo "$1"; }
# stage NAME EXPECTED COMMAND...: record 8 s while COMMAND runs
stage() {
    local name=$1 expected=$2; shift 2
    case " ${ONLY:-$name} " in *" $name "*) ;; *) return 0;; esac
    rm -rf "$name"
    "$@" > /tmp/load 2>&1 & local load=$!
    sleep 1.5
    echo "$name ${COUNT:-8}" >&7
    read -r -t 600 _ < /tmp/told || echo "!! $name: no recording"
    # shellcheck disable=SC2046
    kill $(jobs_of $load) 2>/dev/null
    [ -n "$HANGS" ] || wait $load 2>/dev/null
    grep -iE "error|invalid|fail" /tmp/load | head -3
    echo "$name $expected" >> staged.txt
    echo "$SECONDS s: $name"
}
f() { fio --name=load --filename="$1" --direct=1 --ioengine=libaio --thread --norandommap --randrepeat=0 --time_based --runtime=100 "${@:2}"; }
both() { local a=$1 b=$2; $a & $b & wait; }
volume() { lvcreate -q -y -Wn -Zn "$@" ; }
delayed() { dmsetup create "$1" --table "0 $(blockdev --getsz "$2") delay $2 0 $3"; udevadm settle; }
debug_disks() { # NUMBER MB
    modprobe scsi_debug add_host=$1 per_host_store=1 dev_size_mb=$2 delay=0 num_tgts=1
    udevadm settle
    for d in /sys/block/sd*; do echo 1 > $d/queue/rotational; echo "${DEPTH:-1}" > $d/device/queue_depth; done
}
slow_on() { echo 1 > /sys/bus/pseudo/drivers/scsi_debug/random; echo "${1:-8000000}" > /sys/bus/pseudo/drivers/scsi_debug/ndelay; }
fast() { echo 0 > /sys/bus/pseudo/drivers/scsi_debug/random; echo 0 > /sys/bus/pseudo/drivers/scsi_debug/ndelay; echo 0 > /sys/bus/pseudo/drivers/scsi_debug/delay; }
debug_disks 12 128
modprobe null_blk nr_devices=1 gb=1 irqmode=2 completion_nsec=100000 memory_backed=0
pvcreate -q -ff -y /dev/sd{a,b,c,d}; vgcreate -q n /dev/sd{a,b,c,d}
volume --type raid10 -i 2 -I 64k --nosync -L 48M -n r10 n
volume --type raid5 -i 3 -I 64k --nosync -L 48M -n r5 n
volume -L 24M -n victim n /dev/sdd; volume -L 24M -n bully n /dev/sdd
volume -L 24M -n capped n /dev/sdc
delayed late /dev/sdf 70
yes | mdadm --create /dev/md/m1 --run --level 1 --bitmap none --assume-clean -n 2 /dev/sde /dev/mapper/late
delayed late2 /dev/sdh 30
yes | mdadm --create /dev/md/m10 --run --level 10 --bitmap none --assume-clean -n 4 /dev/sdg /dev/mapper/late2 /dev/sdi /dev/sdj
delayed layer /dev/nullb0 50
dmsetup create secret --table "0 $(blockdev --getsz /dev/nullb0) crypt aes-xts-plain64 $(printf '0%.0s' {1..128}) 0 /dev/nullb0 0"
echo +io +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/capped
echo "$(cat /sys/block/$(basename $(readlink -f /dev/n/capped))/dev) wiops=40" > /sys/fs/cgroup/capped/io.max
slow_on
echo "$SECONDS s: ready"
stage idle - sleep 100
stage random - f /dev/n/r10 --rw=randread --bs=4k --iodepth=2
sw() { while :; do dd if=/dev/zero of=/dev/n/r10 bs=1M count=48 conv=notrunc; done; }
stage seqwrite - sw
stage seqread - f /dev/n/r10 --rw=read --bs=1M --iodepth=4
stage mixed - f /dev/n/r10 --rw=randrw --bs=16k --iodepth=2
stage fsync - f /dev/n/capped --rw=randwrite --bs=4k --iodepth=1 --fsync=1
stage twolight - both "f /dev/n/victim --rw=randread --bs=4k --rate_iops=20" "f /dev/n/bully --rw=randread --bs=4k --rate_iops=30"
stage flash32 - f /dev/nullb0 --rw=randread --bs=4k --iodepth=16
stage mirrorlight - f /dev/n/r10 --rw=randwrite --bs=8k --iodepth=1 --rate_iops=40
capped() { (echo $BASHPID > /sys/fs/cgroup/capped/cgroup.procs; f /dev/n/capped --rw=randwrite --bs=4k --iodepth=4); }
stage capped throttled capped
trickle() { (echo $BASHPID > /sys/fs/cgroup/capped/cgroup.procs; f /dev/n/capped --rw=randwrite --bs=4k --rate_iops=2); }
others() { f /dev/n/capped --rw=randwrite --bs=4k --iodepth=1; }
stage capidle - both trickle others
stage mirrorread sick f /dev/md/m1 --rw=randread --bs=4k --iodepth=4
stage mirrorwrite sick f /dev/md/m10 --rw=randwrite --bs=4k --iodepth=4
stage neighbour neighbour both "f /dev/n/victim --rw=randread --bs=4k --iodepth=1" "f /dev/n/bully --rw=randread --bs=4k --iodepth=24"
knee() { f /dev/n/victim --rw=randread --bs=4k --iodepth=1 --runtime=4; f /dev/n/victim --rw=randread --bs=4k --iodepth=32; }
stage knee overloaded knee
stage deep overloaded f /dev/n/victim --rw=randread --bs=4k --iodepth=32
stage deepraid5 layout f /dev/n/r5 --rw=randwrite --bs=4k --iodepth=32
stage layerdelay layout f /dev/mapper/layer --rw=randread --bs=4k --iodepth=2
stage crypt layout f /dev/mapper/secret --rw=write --bs=256k --iodepth=64
# nbd: a server whose file is on a slow disk
dmsetup create server --table "0 $(blockdev --getsz /dev/sdi) delay /dev/nullb0 0 80"
qemu-nbd -t --fork -f raw -x x --socket=/tmp/nbd.sock /dev/mapper/server
nbd-client -unix /tmp/nbd.sock -N x /dev/nbd0 || nbd-client -N x -unix /tmp/nbd.sock /dev/nbd0
stage nbd remote f /dev/nbd0 --rw=randread --bs=4k --iodepth=1
# hung
HANGS=1
dmsetup create base --table "0 100000 linear /dev/sdk 20000"; dmsetup create upper --table "0 100000 linear /dev/mapper/base 0"
hang() { f /dev/mapper/upper --rw=randread --bs=4k --iodepth=8 & sleep 0.7; dmsetup suspend --noflush --nolockfs base; wait; }
stage hungdm hung hang
dmsetup resume base; sleep 1
fast2() { echo 1 > /sys/bus/pseudo/drivers/scsi_debug/every_nth; echo 4 > /sys/bus/pseudo/drivers/scsi_debug/opts; f /dev/sdl --rw=randread --bs=4k --iodepth=8; }
stage hungscsi hung fast2
echo "$SECONDS s: done"
sync &
exit 0
