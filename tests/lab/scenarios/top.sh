# top in a terminal while forty LVs come and go and a device is suspended: every key, new sizes, the last minutes
# as a capture, kill -TERM. For test_top.py.
. /lab/guest.sh
set -e
LVS=40
export LC_ALL=C.UTF-8 TERM=xterm-256color PS1='READY> '
pvcreate -q /dev/sda /dev/sdb > /dev/null
vgcreate -q vg /dev/sda /dev/sdb > /dev/null
lvcreate -q -y -Wn -L 64M -n steady vg > /dev/null
echo '0 2048 linear /dev/sdc 0' | dmsetup create still
udevadm control --stop-exec-queue
fio --name=steady --filename=/dev/vg/steady --rw=randwrite --bs=4k --direct=1 --rate_iops=50 --ioengine=psync \
    --runtime=1800 --time_based --output=fio.json --output-format=json > /dev/null 2>&1 &
load=$!
mux() { tmux -S /tmp/mux "$@"; }
screen() { mux capture-pane -p; }
now() { local t=${EPOCHREALTIME/./}; echo $((t / 1000)); }
# answers KEY TEXT [KEY...]: press KEY and write down how many milliseconds later TEXT is on the screen
answers() {
    local key=$1 text=$2 began; shift 2
    began=$(now)
    mux send-keys "$key"
    until screen | grep -qF -- "$text"; do
        [ $(($(now) - began)) -lt 120000 ] || { echo "$key: no '$text'"; screen; exit 1; }
    done
    echo "$key $(($(now) - began))" >> answers.txt
    [ $# = 0 ] || mux send-keys "$@"
}
shown() { { echo "== $1"; screen; } >> screens.txt; }

mux -f /dev/null new-session -d -x 120 -y 40 bash --norc --noprofile
mux send-keys "stty -g > modes.before; stackmap top 1 2> top.err; echo \$? > top.status; stty -g > modes.after" Enter
until screen | grep -q 'vg/steady'; do sleep 0.5; done
shown begin
# One lvm for all, that makes the nodes itself: each new process is seconds here.
echo 'activation { udev_sync=0 udev_rules=0 verify_udev_operations=0 }' > /etc/lvm/lvmlocal.conf
coproc LVM { lvm 2>&1; }
lvm_does() {
    local said
    printf '%s\n' "$*" version >&"${LVM[1]}"
    while read -r said <&"${LVM[0]}"; do
        case $said in *"Driver version"*) return;; *[Ee]rror* | *[Ff]ail*) echo "lvm: $said";; esac
    done
}
views=(STACK 'LOADED BY' USER SEVERITY EVENT)
for ((i = 1; i <= LVS; i++)); do
    lvm_does lvcreate -q -y -Wn -Zn -L 8M -n "t$i" vg
    printf '%65536s' '' > "/dev/mapper/vg-t$i"
    place=$((i % 5))
    answers $((place + 1)) "${views[place]}"
    mux resize-window -x $((60 + i * 5)) -y $((15 + i))
    lvm_does lvremove -q -y "vg/t$i"
done
echo "$SECONDS s: forty came and went"
mux resize-window -x 140 -y 40
answers 5 EVENT
sleep 3
shown events
dmsetup suspend --noflush --nolockfs still
dd if=/dev/mapper/still of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null &
for place in 0 1 2 3 4; do answers $((place + 1)) "${views[place]}"; done
mux send-keys 1
for key in r w b s s s s s z z n y; do mux send-keys $key; done
answers '?' KEYS q
answers e 'For more intervals' q
shown suspended
mux send-keys W
for ((i = 0; i < 40; i++)); do mux send-keys BSpace; done
mux send-keys -l /out/recent
answers Enter 'written: /out/recent'
sleep 2
shown written
pid=$(pgrep -f 'stackmap top 1')
kill -TERM "${pid%%$'\n'*}"
until [ -s modes.after ]; do sleep 0.2; done
shown end
dmsetup --noudevsync resume still  # udevd runs nothing here
kill $load
wait $load || true
stackmap --from recent iostat -J --report all > replayed.jsonl 2> replayed.err
stackmap --from recent tree vg > tree.txt
echo "$SECONDS s: done"
