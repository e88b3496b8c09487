# Rows of RAID5 and RAID6 with K of their data pages written, for every K, on a cold stripe cache: what
# md reads and writes for one (stackmap-kernel(7), RAID write paths). For test_rows.py.
. /lab/guest.sh
set -e
rm -f measured.txt
modprobe raid456
unwatched

WRITES=6 CHUNK=64  # KiB; a write of K chunks is a row of K pages, CHUNK / 4 times

# rows K DATA FIRST: WRITES stripes from FIRST on, of each the first K of DATA chunks, one request each
rows() {
    local stripe
    for ((stripe = $3; stripe < $3 + WRITES; stripe++)); do
        dd if=/dev/zero of=/dev/md/rows oflag=direct,seek_bytes bs=$(($1 * CHUNK))K count=1 \
            seek=$((stripe * $2 * CHUNK * 1024)) conv=notrunc status=none
    done
}

# half DATA FIRST: full stripes and single pages in turn, as many of the one as of the other
half() {
    local stripe
    for ((stripe = $2; stripe < $2 + WRITES; stripe += 2)); do
        WRITES=1 rows "$1" "$1" $stripe
        WRITES=1 rows 1 "$1" $((stripe + 1))
    done
}

for shape in 5:3 5:4 5:5 5:8 6:4 6:6 6:8; do
    level=${shape%:*} members=${shape#*:}
    name=raid${level}n$members data=$((members - (level == 6 ? 2 : 1)))
    disks=(/dev/sd{a,b,c,d,e,f,g,h})
    yes | mdadm --create /dev/md/rows --run --assume-clean --level "$level" --chunk $CHUNK --bitmap none \
        --size 20M -n "$members" "${disks[@]:0:members}"
    sys=/sys/block/$(basename "$(readlink -f /dev/md/rows)")/md
    # Marking superblocks clean and not are writes as well.
    echo 0 > "$sys/safe_mode_delay"
    # The first write marks them, and is none of those measured.
    WRITES=1 rows 1 "$data" 0
    dump "$name"
    for ((k = 1; k <= data; k++)); do
        # No row is written twice: what the stripe cache holds is of no use.
        sampled "$name" "k$k" rows rows "$k" "$data" $((k * WRITES))
    done
    sampled "$name" half rows half "$data" $(((data + 1) * WRITES))
    mdadm --stop /dev/md/rows; wipefs -qa "${disks[@]}"
done
echo "$SECONDS s: done"
