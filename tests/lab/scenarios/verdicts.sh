# Healthy stacks side by side at eight loads, each with a sample a second: what `explain` may and must not
# say. For test_verdicts.py.
. /lab/guest.sh
. /lab/recorded.sh
modprobe -a raid456 raid10 dm_raid dm_crypt 2>/dev/null
unwatched

pvcreate -q -y /dev/sd{a,b,c,d,e,f,g,h,m,n} && vgcreate -q -y lab /dev/sd{a,b,c,d,e,f,g,h,m,n}
lvcreate -q -y -Wn --type raid5 -i 3 -I 64k -L 120M -n small lab /dev/sd{a,b,c,d}
lvcreate -q -y -Wn --type raid5 -i 3 -I 64k -L 120M -n large lab /dev/sd{e,f,g,h}
lvcreate -q -y -Wn -L 120M -n plain lab /dev/sdm
lvcreate -q -y -Wn -L 120M -n sealed lab /dev/sdn
yes | mdadm --create /dev/md/ten --run --level 10 --chunk 64 --bitmap internal -n 4 --size 60M /dev/sd{i,j,k,l} 2> /tmp/said || cat /tmp/said
echo "$SECONDS s: made"
echo key > /tmp/key
cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key /dev/lab/sealed
cryptsetup open --key-file /tmp/key /dev/lab/sealed opened
until lvs --noheadings -o copy_percent lab/small lab/large | awk '$1 < 100 {exit 1}' && ! grep -q resync /proc/mdstat; do sleep 1; done
echo "$SECONDS s: synced"

mkfs.ext4 -q -b 1024 -E lazy_itable_init=0 /dev/lab/small
for device in lab/large md/ten lab/plain mapper/opened; do mkfs.ext4 -q -b 4096 -E lazy_itable_init=0 /dev/$device & done; wait
stacks="lab/small lab/large md/ten lab/plain mapper/opened"
for stack in $stacks; do
    mkdir -p "/tmp/on/$stack"; mount "/dev/$stack" "/tmp/on/$stack"
    dd if=/dev/zero of="/tmp/on/$stack/file" bs=1M count=64 oflag=direct 2> /dev/null &
done
wait
echo "$SECONDS s: filled"

# each OPTIONS...: the same load on a file of every stack
each() { for stack in $stacks; do load "/tmp/on/$stack/file" "$@"; done; }
idle() { :; }
light() { each --rw=randrw --bs=4k --direct=1 --rate_iops=5,5; }
mixed() { each --rw=randrw --rwmixread=70 --bs=8k --direct=1 --iodepth=2 --rate_iops=28,12; }
sequential() { each --rw=write --bs=1M --direct=1; }
fsync() { each --rw=randwrite --bs=4k --ioengine=psync --fsync=1; }
trickle() { each --rw=randwrite --bs=4k --direct=1 --rate_iops=1; }
# The queue is short at first: what await is at a low load is known.
reads() { each --rw=randread --bs=4k --direct=1 --rate_iops=20; later each --rw=randread --bs=4k --direct=1 --iodepth=32; }
writes() { each --rw=randwrite --bs=4k --direct=1 --rate_iops=20; later each --rw=randwrite --bs=4k --direct=1 --iodepth=32; }

dump stacks
for name in idle trickle light mixed sequential fsync; do recorded $name 8 $name; done
for name in reads writes; do recorded $name 11 $name; done
