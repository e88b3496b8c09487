# Fifty LVs created, written to, and removed under the eyes of repeating reports, on a VG where one LV has a
# steady load. Each gets more bytes than the one before, so that counters never go back where a number is
# used again. For test_churn.py.
. /lab/guest.sh
set -e
LVS=50
pvcreate -q /dev/sda /dev/sdb > /dev/null
vgcreate -q vg /dev/sda /dev/sdb > /dev/null
lvcreate -q -y -Wn -L 64M -n steady vg > /dev/null
# udevd would look into each LV, for half a minute where the CPU is emulated; the kernel tells us all the same.
udevadm monitor --kernel --subsystem-match=block > uevents.txt &
monitor=$!
udevadm control --stop-exec-queue
fio --name=steady --filename=/dev/vg/steady --rw=randwrite --bs=4k --direct=1 --rate_iops=50 --ioengine=psync \
    --runtime=900 --time_based --output=fio.json --output-format=json > /dev/null 2>&1 &
load=$!
stackmap iostat -J 1 > iostat.jsonl 2> iostat.err & devices=$!
stackmap iostat -J --per-layer vg/steady 1 > layers.jsonl 2> layers.err & layers=$!
stackmap record recorded 1 2> record.err & record=$!
while [ ! -s iostat.jsonl ] || [ ! -s layers.jsonl ] || [ ! -d recorded/log ]; do sleep 1; done
one_lvm
for ((i = 1; i <= LVS; i++)); do
    began=$EPOCHREALTIME
    lvm_does lvcreate -q -y -Wn -Zn -L 8M -n "t$i" vg
    [ -b "/dev/mapper/vg-t$i" ] || { echo "no vg/t$i"; exit 1; }
    for dir in /sys/block/dm-*; do read -r name < "$dir/dm/name"; [ "$name" != "vg-t$i" ] || break; done
    for ((j = 0; j < i; j++)); do printf '%65536s' ''; done > "/dev/mapper/vg-t$i"
    # What the kernel counted of it, the last time that it can be asked.
    read -r _ _ _ _ _ _ sectors _ < "$dir/stat"
    lvm_does lvremove -q -y "vg/t$i"
    echo "vg/t$i ${dir##*/} $began $EPOCHREALTIME $((sectors * 512))" >> lvs.txt
done
echo "$SECONDS s: removed"
sleep 4
kill -INT $devices $layers
kill -TERM $record  # a shell has what it runs in the background ignore SIGINT
wait $devices; echo $? > iostat.status
wait $layers; echo $? > layers.status
wait $record; echo $? > record.status
kill $load $monitor
wait $load || true
stackmap --from recorded iostat -J --report all > replayed.jsonl 2> replayed.err
echo "$SECONDS s: done"
