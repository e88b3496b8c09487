# Plans with LUKS above the LV, and below its PVs, some a boot: $CASE. Followed as it is printed. For test_plan.py.
. /lab/plans.sh
secret=secret
luks() { echo -n $secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" -; }
opened() { echo -n $secret | cryptsetup open --type luks "$1" "$2"; udevadm settle; }
how+=(--key $secret)

# above LAYOUT OPTIONS...: of an LV of RAID5 that a LUKS of a name with a blank stands on
above() {
    local layout=$1 device="/dev/mapper/a\\x20safe"; shift
    group /dev/sd{a,b,c,d,e,f,g,h}
    lvcreate -q -y -Wn --type raid5 -i 3 -I 64k -L 48M -n lv vg; synced vg/lv
    luks /dev/vg/lv; opened /dev/vg/lv "a safe"
    files "$device"
    follow "a safe" "$layout" "$device" "$lvm_state" "$@"
}
crypt-raid10-copy() { above raid10; }
crypt-raid6() { above raid6 --way convert; }

below() {
    for disk in a b c d e f; do luks /dev/sd$disk; opened /dev/sd$disk safe-$disk; done
    group /dev/mapper/safe-?
}
on-crypt-raid10-copy() { below; anew --type raid5 -i 3 -I 64k -L 24M; lv raid10; }
on-crypt-raid1() { below; anew -L 24M; lv raid1; }

# shellcheck disable=SC2086 # several
cases $CASE
