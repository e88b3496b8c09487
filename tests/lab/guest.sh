# What scenarios share; in the guest, as root: . /lab/guest.sh

# truth_on, truth_off FILE: count in the kernel every bio queued, every request issued, every remap from one
# device to another and every bio cut in two between the two, by device, size and kind. What a figure made
# from counters is checked against: nothing in it is derived. tests/lab/truth.py reads FILE.
# No key is a string: from about Linux 6.16 the bytes after its end are part of the key. So each kind has a
# histogram of its own, by the event's letters: an F in front asks for a flush, an M at the end is metadata, and
# WRITE_ZEROES is N, or WZ (Linux 7.3). A "?" lets the kernel end its search at the string's end.
tracing=/sys/kernel/tracing
events="block_bio_queue block_rq_issue block_bio_remap block_split"
keys_block_bio_queue=keys=dev,nr_sector
keys_block_rq_issue=keys=dev,nr_sector
keys_block_bio_remap=keys=dev,old_dev:vals=nr_sector
keys_block_split=keys=dev

# kinds EVENT: a condition per kind that is counted of the event
kinds() {
    local zeroes='(rwbs ~ "WZ*" || rwbs ~ "FWZ*")' kind
    local plain=('rwbs ~ "R*"' "rwbs ~ \"W*\" && !$zeroes" 'rwbs ~ "FR*"' "rwbs ~ \"FW*\" && !$zeroes" 'rwbs ~ "D*"'
        "(rwbs ~ \"N*\" || $zeroes)" 'rwbs ~ "F*" && !(rwbs ~ "FR*") && !(rwbs ~ "FW*")')
    for kind in "${plain[@]}"; do
        if [ "$1" = block_bio_queue ]; then
            printf '%s\n' "$kind && !(rwbs ~ \"?*M\")" "$kind && rwbs ~ \"?*M\""
        else
            printf '%s\n' "$kind"
        fi
    done
}

truth_on() {
    local event keys state kind trigger
    for event in $events; do
        keys=keys_$event trigger=$tracing/events/block/$event/trigger state=""
        ! grep -q '^hist:' "$trigger" || state=:clear
        kinds "$event" | while read -r kind; do
            echo "hist:${!keys}:size=8192$state if $kind" >> "$trigger"
        done
    done
}

truth_off() {
    local event
    for event in $events; do
        echo "## $event"
        cat "$tracing/events/block/$event/hist"
    done > "$1"
}

# unwatched: udev looks no more into each device that a writer closes: reads that were nobody's load
unwatched() {
    mkdir -p /run/udev/rules.d
    echo 'SUBSYSTEM=="block", OPTIONS:="nowatch"' > /run/udev/rules.d/00-unwatched.rules
    udevadm control --reload
    udevadm trigger --settle --subsystem-match=block
}

# quiet: nothing may add to a measured load: udev still probing new devices, dirty pages
quiet() { udevadm settle --timeout=30; sync; }

# until_lines N FILE PID: wait for process PID to have written N lines to FILE; false if it ends before
until_lines() {
    until [ "$(wc -l < "$2")" -ge "$1" ]; do
        kill -0 "$3" 2>/dev/null || return 1
        sleep 0.2
    done
}

# sample: /proc/diskstats under its time, as collections of several hold it
sample() { date +'TS %s.%N %F %T'; cat /proc/diskstats; }

# measure STACK WORKLOAD TOPS COMMAND...: STACK.WORKLOAD.diskstats, a sample before COMMAND and one after, and
# .truth, what the kernel counted between them; a line in measured.txt, with the status COMMAND ended with.
# TOPS are the names to ask stackmap for, by commas.
measure() {
    quiet
    truth_on
    sampled "$@"
    truth_off "$1.$2.truth"
}

# sampled STACK WORKLOAD TOPS COMMAND...: the same without the truth, which takes its time
sampled() {
    local name=$1.$2 line="$1 $2 $3" status=0; shift 3
    sample > "$name.diskstats"
    "$@" > /tmp/said 2>&1 || status=$?
    quiet
    sample >> "$name.diskstats"
    told "$status" "$line"
}

# watched STACK WORKLOAD TOPS COMMAND...: as measure, with a sample every second while COMMAND runs
watched() {
    local name=$1.$2 line="$1 $2 $3" status=0 load; shift 3
    quiet
    truth_on
    sample > "$name.diskstats"
    "$@" > /tmp/said 2>&1 & load=$!
    while sleep 1; kill -0 $load 2>/dev/null; do sample >> "$name.diskstats"; done
    wait $load || status=$?
    quiet
    sleep 1
    sample >> "$name.diskstats"
    truth_off "$name.truth"
    told "$status" "$line"
}

# told STATUS LINE: what a load ended with, in measured.txt, and what it said where that is a failure
told() {
    [ "$1" = 0 ] || { echo "!! $2 ended with $1"; cat /tmp/said; }
    echo "$2 $1" >> measured.txt
    echo "$SECONDS s: $2"
}

# together COMMAND , COMMAND ...: at once; fails where one of them does
together() {
    local words=() jobs=() job status=0
    for word in "$@" ,; do
        if [ "$word" != , ]; then words+=("$word"); continue; fi
        "${words[@]}" & jobs+=($!); words=()
    done
    for job in "${jobs[@]}"; do wait "$job" || status=$?; done
    return $status
}

# dump STACK: STACK.tar, this machine as `stackmap --from` reads it: a copy of sysfs, udev's database and what
# dmsetup says. What `stackmap record` would keep and more, at a tenth of the time that takes here.
dump() {
    local dir=/tmp/dump
    rm -rf $dir; mkdir -p $dir/{cmd,proc/sys/kernel,run/udev,sys}
    udevadm settle --timeout=30
    cp /proc/version /proc/diskstats /proc/uptime /proc/swaps $dir/proc/
    cp -r /run/udev/data $dir/run/udev/
    # Links to where the devices are, and there what tells of them. Some attributes can only be written.
    find /sys/block -type l ! -name 'ram*' ! -name 'loop*' > /tmp/links
    # shellcheck disable=SC2046
    find $(xargs readlink -f < /tmp/links) \
        \( -name power -o -name trace -o -name mq -o -name integrity \) -prune -o ! -type d -print |
        cat /tmp/links - | xargs cp -P --parents -t $dir 2>/dev/null || true
    dmsetup table > $dir/cmd/dmsetup-table.txt
    dmsetup status --noflush > $dir/cmd/dmsetup-status.txt
    # What others say of the same, to compare with: agreement.py.
    dmsetup deps -o devno > $dir/cmd/dmsetup-deps.txt
    dmsetup info -c --noheadings --separator '|' -o name,major,minor,attr,uuid > $dir/cmd/dmsetup-info.txt
    lsblk -J -b -o NAME,KNAME,TYPE > $dir/cmd/lsblk.json
    lvs -a -o vg_name,lv_all,seg_all --reportformat json > $dir/cmd/lvs.json 2> /dev/null || true
    tar -C $dir -cf "$1.tar" .
}

# in_memory PROGRAM...: these programs and stackmap, with all that they load, are read from memory from now
# on. On a host the page cache has them; here each open of a file asks 9p, which is most of what Python's
# start takes, and none of what is to be measured.
in_memory() {
    local program file python site
    python=$(readlink -f "$(command -v python)")
    site=$(python -c 'import click, os; print(os.path.dirname(os.path.dirname(click.__file__)))')
    # Of the environment only what stackmap runs with: what its developers need is 300 MB.
    (cd "$site" && over_memory "$site" click pyudev _distutils_hack networkx ./tabulate* ./*.pth)
    over_memory "$(python -c 'import os; print(os.path.dirname(os.__file__))')" .
    over_memory "$(readlink -f "$LAB/../..")/stackmap" .
    for program in "$python" "$(command -v stackmap)" "$@"; do
        program=$(readlink -f "$(command -v "$program")")
        for file in "$program" $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*'); do
            file=$(readlink -f "$file")
            # The loader is in use by what copies it; it stays in the page cache of its own accord.
            case $file in *ld-linux*) continue;; esac
            [ ! -e "/tmp/memory$file" ] || continue
            mkdir -p "/tmp/memory${file%/*}"; cp "$file" "/tmp/memory$file"
            mount --bind "/tmp/memory$file" "$file"
        done
    done
}

# over_memory FOLDER NAME...: these of FOLDER, and no others, from memory in its place; once in a boot
over_memory() {
    local folder=$1; shift
    [ ! -d "/tmp/memory$folder" ] || return 0
    mkdir -p "/tmp/memory$folder"
    tar -C "$folder" --exclude=test --exclude=tests --exclude='config-*' -chf - "$@" | tar -C "/tmp/memory$folder" -xf -
    mount --bind "/tmp/memory$folder" "$folder"
}

# one_lvm: start the lvm that lvm_does asks; it makes nodes itself. Each new process is seconds here.
one_lvm() {
    echo 'activation { udev_sync=0 udev_rules=0 verify_udev_operations=0 }' > /etc/lvm/lvmlocal.conf
    coproc LVM { lvm 2>&1; }
}

# lvm_does COMMAND...: run a command of LVM, and print what failed
lvm_does() {
    local said
    printf '%s\n' "$*" version >&"${LVM[1]}"
    while read -r said <&"${LVM[0]}"; do
        case $said in *"Driver version"*) return;; *[Ee]rror* | *[Ff]ail*) echo "lvm: $said";; esac
    done
}
