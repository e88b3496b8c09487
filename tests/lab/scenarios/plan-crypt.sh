# Plans with LUKS above the LV, and below its PVs; followed as they are printed. For test_plan.py.
. /lab/plans.sh
secret=secret
luks() { echo -n $secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" -; }
opened() { echo -n $secret | cryptsetup open --type luks "$1" "$2"; udevadm settle; }
how=(--kill --key $secret)

pvcreate -q -ff -y /dev/sd{a,b,c,d,e,f,g,h}; vgcreate -q vg /dev/sd{a,b,c,d,e,f,g,h}
device="/dev/mapper/a\\x20safe"
# above CASE LAYOUT OPTIONS...: of an LV of RAID5 that a LUKS of a name with a blank stands on
above() {
    local case=$1 layout=$2; shift 2
    lvcreate -q -y -Wn --type raid5 -i 3 -I 64k -L 48M -n lv vg; synced vg/lv
    luks /dev/vg/lv; opened /dev/vg/lv "a safe"
    files "$device"
    go "$case" "a safe" "$layout" "$device" "$lvm_state" "$@"
    umount /mnt; cryptsetup close "a safe"; lvremove -q -y vg
}
above crypt-raid10-copy raid10
above crypt-raid6 raid6 --way convert
vgremove -q -y vg; pvremove -q -y /dev/sd{a,b,c,d,e,f,g,h}

for disk in a b c d e f; do luks /dev/sd$disk; opened /dev/sd$disk safe-$disk; done
pvcreate -q -ff -y /dev/mapper/safe-?; vgcreate -q vg /dev/mapper/safe-?
anew --type raid5 -i 3 -I 64k -L 24M
lv on-crypt-raid10-copy raid10
anew -L 24M
lv on-crypt-raid1 raid1
exit 0
