# top in a terminal while forty LVs come and go and a device is suspended: every key, new sizes, the last minutes
# as a capture, kill -TERM; then the capture in top. For test_top.py.
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
    --runtime=3600 --time_based --output=fio.json --output-format=json > /dev/null 2>&1 &
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
        sleep 0.1
    done
    echo "$key $(($(now) - began))" >> answers.txt
    [ $# = 0 ] || mux send-keys "$@"
}
shown() { { echo "== $1"; screen; } >> screens.txt; }

mux -f /dev/null new-session -d -x 120 -y 40 bash --norc --noprofile
mux send-keys "stty -g > modes.before; stackmap top 1 2> top.err; echo \$? > top.status; stty -g > modes.after" Enter
until screen | grep -q 'vg/steady'; do sleep 0.5; done
shown begin
one_lvm
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
answers 1 STACK
for pair in r:'order, reads' w:'order, writes' b:'order, both' s:'sorted by IOPS' s:'sorted by bytes' \
    s:'sorted by await' s:'sorted by cost' s:'stack order'; do answers "${pair%%:*}" "${pair#*:}"; done
for key in Down Up j k NPage PPage End Home n; do mux send-keys $key; done
answers / 'filter (name' -l stea
answers Enter '/stea' Home
answers Space '+ vg/steady'
answers Space '- vg/steady'
answers y 'stackmap iostat -l vg/steady 1'
answers Enter shrink q
answers e 'For more intervals' q
answers '?' KEYS Escape
answers h KEYS q
answers / 'filter (name' Enter
answers i 'interval in seconds' 2
answers Enter 'every 2 s' i 1 Enter
until screen | grep -q 'every 1 s'; do sleep 0.5; done
sleep 5
shown suspended
answers z PAUSED
shown paused
mux send-keys z
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
mux send-keys "clear; stackmap --from recent top; echo ENDED" Enter
until screen | grep -q 'B time'; do sleep 0.5; done
answers t 'vg/steady' T
answers . PLAYING .
answers B 'jump to' -l -- -1s
answers Enter 'vg/steady'
shown recorded
answers q ENDED
dmsetup --noudevsync resume still  # udevd runs nothing here
kill $load
wait $load || true
stackmap --from recent iostat -J --report all > replayed.jsonl 2> replayed.err
stackmap --from recent iostat -l -J --report all > layers.jsonl 2>> replayed.err
stackmap --from recent tree vg > tree.txt
echo "$SECONDS s: done"
