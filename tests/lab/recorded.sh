# Loads that are sampled while they run; in the guest: . /lab/recorded.sh
loads=() ; later=()

# load FILE OPTIONS...: requests to FILE (a device or 64 MiB) until the recording ends
load() {
    fio --name=load --filename="$1" --size=64M --ioengine=libaio --thread --norandommap --randrepeat=0 \
        --time_based --runtime=600 "${@:2}" >> /tmp/fio 2>&1 &
    loads+=($!)
}

# later COMMAND...: run it after five samples, in place of the first load
later() { later=("$@"); }

ended() { [ ${#loads[@]} = 0 ] || kill "${loads[@]}" 2>/dev/null; wait "${loads[@]}" 2>/dev/null; loads=(); }

# recorded NAME INTERVALS COMMAND...: NAME.diskstats, samples a second apart while the loads run that COMMAND
# starts; NAME.status is what the kernel says of targets and arrays before and after
recorded() {
    local name=$1 intervals=$2 turn; shift 2
    case " ${ONLY:-$name} " in *" $name "*) ;; *) return 0;; esac
    quiet
    later=(); : > /tmp/fio
    "$@"
    sleep 2
    { dmsetup status --noflush; cat /proc/mdstat; } > "$name.status"
    sample > "$name.diskstats"
    for ((turn = 1; turn <= intervals; turn++)); do
        sleep 1
        sample >> "$name.diskstats"
        if [ $turn = 5 ] && [ ${#later[@]} != 0 ]; then ended; "${later[@]}"; fi
    done
    { dmsetup status --noflush; cat /proc/mdstat; } >> "$name.status"
    ended
    grep -i error /tmp/fio || true
    echo "$SECONDS s: $name"
}
