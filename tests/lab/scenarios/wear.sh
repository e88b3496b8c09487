# Bytes that NVMe disks themselves count as written, while two volumes share them; for test_wear.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe -a raid1 raid456 dm_raid
unwatched
nvme=(/dev/nvme{0,1,2}n1)
pvcreate -q -ff -y "${nvme[@]}"; vgcreate -q t "${nvme[@]}"
lvcreate -q -y --nosync -Wn -Zn --type raid5 -i 2 -I 64k -L 512M -n r5 t
lvcreate -q -y --nosync -Wn -Zn --type raid1 -m 1 -L 352M -n r1 t
dump machine

# smart NAME: what each disk says; data units are 1000 sectors
smart() { local disk; for disk in "${nvme[@]}"; do nvme smart-log -o json "$disk" > "$1.${disk##*/}.json"; done; }

# load VOLUME OPTION...: write all of it once
load() {
    local volume=$1; shift
    smart "$volume.before"
    sampled machine "$volume" "t/$volume" fio --name=load --thread --disk_util=0 --filename="/dev/t/$volume" --direct=1 \
        --ioengine=libaio --iodepth=8 --size=100% --io_size=100% "$@"
    smart "$volume.after"
}
load r5 --rw=randwrite --bs=32k
load r1 --rw=write --bs=256k

echo "$SECONDS s: done"
