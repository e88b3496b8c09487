# stackmap's services under a systemd, as process 1, on LVM RAID5 and a thin volume. For test_services.py.
. /lab/guest.sh
set -e
modprobe -a dm-mod raid456 dm-raid dm-thin-pool
vgcreate -q t /dev/sd{a,b,c,d}
lvcreate -q -y --nosync --type raid5 -i 3 -I 64k -L 96M -n r5 t
lvcreate -q -y -L 64M -T t/pool -V 100M -n thin
udevadm settle

# The program where the units look for it: the services may not write what Python loaded, as others do here.
cat > /usr/bin/stackmap <<END
#!/bin/sh
export PYTHONPATH=/checkout:$(echo /checkout/.venv/lib/python3*/site-packages)
exec $(readlink -f "$(command -v python3)") -m stackmap "\$@"
END
chmod +x /usr/bin/stackmap
units=/run/systemd/system
cp /checkout/packaging/systemd/*.service /checkout/packaging/systemd/*.timer $units/
sed -i 's/^OnBootSec=.*/OnActiveSec=5s/; s/^RandomizedDelaySec=.*/RandomizedDelaySec=0/' $units/*.timer  # not to wait
for unit in $units/stackmap-*.service; do  # there is no journal
    mkdir $unit.d; printf '[Service]\nStandardError=append:/out/said.txt\n' > $unit.d/said.conf
done
systemctl daemon-reload
textfile=/var/lib/prometheus/node-exporter
mkdir -p $textfile

dd if=/dev/urandom of=/dev/t/r5 bs=64k count=100 oflag=direct status=none
systemctl start stackmap-textfile.service && echo 0 > textfile.status || echo $? > textfile.status
systemctl show -p Result,ExecMainStatus stackmap-textfile.service > textfile.result
cp $textfile/*.prom service.prom
ls -l $textfile > textfile.list
stackmap export --textfile - > command.prom
echo "$SECONDS s: textfile"

rm $textfile/*.prom
systemctl start stackmap-textfile.timer
for i in {1..60}; do ls $textfile/*.prom > timer.list 2> /dev/null && break; sleep 1; done
systemctl stop stackmap-textfile.timer
echo "$SECONDS s: timer"

systemctl start stackmap-record@1
record=/var/lib/stackmap/1
samples() { stackmap --from $record iostat -J --report all 2> /dev/null | wc -l; }
for i in {1..90}; do [ -d $record/log ] && [ "$(samples)" -ge 3 ] && break; sleep 2; done
dd if=/dev/urandom of=/dev/t/r5 bs=64k count=100 oflag=direct status=none
sleep 5
echo "$(samples)" > before-kill.count
systemctl show -p MainPID --value stackmap-record@1 > first.pid
systemctl kill -s KILL stackmap-record@1
systemctl show -p RestartUSec --value stackmap-record@1
for i in {1..120}; do
    pid=$(systemctl show -p MainPID --value stackmap-record@1)
    [ "$pid" != 0 ] && [ "$pid" != "$(cat first.pid)" ] && [ "$(samples)" -gt "$(($(cat before-kill.count) + 2))" ] && break
    sleep 2
done
echo "$pid" > second.pid
samples > after-kill.count
systemctl stop stackmap-record@1
systemctl show -p Result,ExecMainStatus stackmap-record@1 > record.result
stat -c '%a %U' /var/lib/stackmap $record > record.modes
stackmap tree -J > live.json
stackmap --from $record tree -J > recorded.json
stackmap --from $record iostat -l -J --report average t/r5 > recorded-load.json
cp -r $record recording
echo "$SECONDS s: done"
