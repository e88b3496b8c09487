# Some 300 hostile names that LVM, md, device-mapper, file systems, mounts, udev and libvirt really accept, in one
# machine, and what the commands that are printed for them do. For test_pasted.py; pasted_plans.py makes and runs them.
. /lab/guest.sh
modprobe -a raid456 raid1 dm_raid dm_mirror dm_crypt ext4
in_memory lvm mdadm dmsetup mount umount cryptsetup blockdev xargs sha256sum

# udev would add a spare again that was just removed: its superblock names the array.
mkdir -p /run/udev/rules.d; : > /run/udev/rules.d/64-md-raid-assembly.rules; udevadm control --reload
# Partitions for arrays (30 on three disks, and a fourth of each for --onto), VGs and PVs.
for disk in sde sdf sdg sdh; do
    # shellcheck disable=SC2046 # several
    sgdisk $(printf -- '-n %s:0:+16M ' {1..48}) /dev/$disk > /tmp/said || cat /tmp/said
done
udevadm settle
echo "$SECONDS s: partitions"
# LVM asks only what may be a PV here, and keeps no copies of its metadata: each process of it is seconds.
cat > /etc/lvm/lvmlocal.conf << 'END'
activation { udev_sync=0 udev_rules=0 verify_udev_operations=0 }
backup { backup=0 archive=0 }
devices {
    md_component_detection=0 multipath_component_detection=0
    global_filter=["a|^/dev/sd[a-d]$|", "a|^/dev/sd[e-h][34][0-9]$|", "a|^/dev/dm-|", "a|^/dev/mapper/|", "r|.*|"]
}
END
pvcreate -q /dev/sd{a,b,c,d} && vgcreate -q vg /dev/sd{a,b,c,d}
PYTHONPATH=$PYTHONPATH:${LAB%/tests/lab} python -m tests.lab.pasted_plans /out
