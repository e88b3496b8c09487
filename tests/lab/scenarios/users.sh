# Who uses a device, as far as a kernel without the programs themselves can show it: control groups of the names
# that container engines and systemd give, a mount that only a container sees, an image served as a network block
# device, an LV with Ceph's tag. For test_users.py.
. /lab/guest.sh
modprobe nbd max_part=4

vgcreate -q lab /dev/sd{a,b}
for name in data web raw idle; do lvcreate -q -y -Wn -Zn -L 64M -n $name lab; done
lvcreate -q -y -Wn -Zn -L 64M --addtag ceph.osd_id=7 -n osd-block-0001 lab
mkfs.ext4 -q /dev/lab/web

cgroup=/sys/fs/cgroup
echo +io > $cgroup/cgroup.subtree_control
# group NAME: a group in system.slice that the kernel charges for its I/O
group() {
    mkdir -p "$cgroup/system.slice"; echo +io > $cgroup/system.slice/cgroup.subtree_control
    mkdir -p "$cgroup/system.slice/$1"; echo "$cgroup/system.slice/$1"
}
# within GROUP COMMAND...: run there
within() { local group=$1; shift; (echo "$BASHPID" > "$group/cgroup.procs"; exec "$@"); }

docker=$(group "docker-$(printf '0123456789abcdef%.0s' 1 2 3 4).scope")
within "$docker" dd if=/dev/zero of=/dev/lab/data oflag=direct bs=64K count=10
within "$(group mariadb.service)" dd if=/dev/lab/raw iflag=direct of=/dev/null bs=64K count=10
# Only its own mount namespace has it.
lxc=$(group lxc.payload.web)
within "$lxc" unshare -m bash -c 'mkdir -p /tmp/rootfs; mount /dev/lab/web /tmp/rootfs; touch /tmp/mounted; exec sleep 600' &
until [ -e /tmp/mounted ]; do sleep 0.2; done

truncate -s 32M /tmp/image; qemu-nbd -f raw -c /dev/nbd0 /tmp/image &
until [ "$(cat /sys/block/nbd0/size)" != 0 ]; do sleep 0.2; done
ls /sys/block/nbd0 > nbd.names; cat /sys/block/nbd0/pid > nbd.pid
cat $cgroup/system.slice/*/io.stat > io.stat

stackmap tree -J > tree.json 2> tree.err; echo $? > tree.status
stackmap tree > tree.txt
chmod 755 /out; setpriv --reuid 65534 --clear-groups stackmap tree -J > nobody.json 2> nobody.err
echo "$SECONDS s: done"
exit 0
