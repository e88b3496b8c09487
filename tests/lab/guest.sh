# What scenarios share; in the guest, as root: . /lab/guest.sh

# truth_on, truth_off FILE: count in the kernel every bio queued, every request issued and every remap from
# one device to another between the two, by device, size and kind. What a figure made from counters is
# checked against: nothing in it is derived. tests/lab/truth.py reads FILE.
tracing=/sys/kernel/tracing
hist_block_bio_queue=hist:keys=dev,nr_sector,rwbs:size=8192
hist_block_rq_issue=hist:keys=dev,nr_sector,rwbs:size=8192
hist_block_bio_remap=hist:keys=dev,old_dev,rwbs:vals=nr_sector:size=8192

truth_on() {
    local event histogram trigger
    for event in block_bio_queue block_rq_issue block_bio_remap; do
        histogram=hist_$event trigger=$tracing/events/block/$event/trigger
        if grep -q '^hist:' "$trigger"; then
            echo "${!histogram}:clear" >> "$trigger"
        else
            echo "${!histogram}" > "$trigger"
        fi
    done
}

truth_off() {
    local event
    for event in block_bio_queue block_rq_issue block_bio_remap; do
        echo "## $event"
        cat "$tracing/events/block/$event/hist"
    done > "$1"
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
