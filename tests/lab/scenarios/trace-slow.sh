# A striped volume with one disk that manages 40 requests per second (boot --slow), and the same without load on it.
# For test_trace_slow.py.
. /lab/guest.sh
set -e
modprobe -a dm-mod
unwatched
in_memory fio
vgcreate -q t /dev/sd{a,b,c,d}
lvcreate -q -y -L 256M -i 4 -I 64k -n wide t
udevadm settle
basename "$(readlink -f /dev/disk/by-id/*LABSCSI3)" > slow.name  # the kernel names disks in the order in which they answer
load() { fio --direct=1 --rw=randread --bs=4k --time_based --runtime=3000 --output=/dev/null --filename=/dev/t/wide "$@" & fio=$!; }
load --name=deep --ioengine=libaio --iodepth=8
stackmap trace -J --max-overhead 100 t/wide 20 > slow.json
stackmap trace --max-overhead 100 t/wide 20 > slow.txt
kill $fio; wait $fio || true
# So few that the slow disk keeps up: nobody waits there.
load --name=few --ioengine=psync --rate_iops=40
stackmap trace --max-overhead 100 t/wide 20 > even.txt
kill $fio; wait $fio || true
echo "$SECONDS s: done"
