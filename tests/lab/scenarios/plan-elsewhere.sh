# Plans of one host pasted on another: a stack, its plan, then a stack of the same names and sizes on the same disks,
# as another host has it. A case a method. For test_plan_elsewhere.py.
. /lab/mds.sh
files() { :; }
in_memory lvm mdadm wipefs dd sha256sum blockdev dmsetup xargs

# A stack of each method, and its plan.
mirror() { group /dev/sd{a,b,c,d}; lvcreate -q -y -Wn -n lv -L 24M vg /dev/sda; }
convert() { group /dev/sd{a,b,c,d,e}; anew --type raid5 -i 3 -I 64k -L 24M; }
copy() { convert; }
grow() { array 5 3; }
array-copy() { array 5 3; }
move() { made 5 3; pvcreate -q -ff -y /dev/md/x; vgcreate -q vg /dev/md/x; lvcreate -q -y -Wn -n lv -L 8M vg; }
declare -A plans=(
    [mirror]="vg/lv --to raid1" [convert]="vg/lv --to raid6 --way convert" [copy]="vg/lv --to raid10 --way copy"
    [grow]="/dev/md/x --to raid6 --way grow --onto sdh"
    [array-copy]="/dev/md/x --to raid10:members=4 --way array-copy --onto sde --onto sdf --onto sdg --onto sdh"
    [move]="/dev/md/x --to raid10:members=4 --way move --onto sde --onto sdf --onto sdg --onto sdh"
)

# state: all that a step could change: UUIDs, layouts, what is active, the signatures and the data
state() {
    udevadm settle
    lvs -a --noheadings -o lv_full_name,lv_uuid,lv_attr,segtype,devices 2> /dev/null
    pvs --noheadings -o pv_name,pv_uuid,vg_name,pv_used 2> /dev/null
    for array in /dev/md/*; do [ ! -e "$array" ] || mdadm --detail "$array" | grep -v 'Update Time'; done
    dmsetup table
    # The kernel itself writes to superblocks and bitmaps, which are before the data or on LVs of their own.
    for disk in /dev/sd? /dev/mapper/vg-* /dev/md/x; do
        [ ! -b "$disk" ] || [[ "$disk" = *_rmeta_* ]] || echo "$disk $(wipefs --noheadings "$disk" | tr '\n' ' ')" \
            "$(dd if="$disk" bs=1M skip=4 count=16 iflag=direct status=none | sha256sum)"
    done
}

# pasted: the lines of a plan as a terminal sends them to a shell of root, which goes on after an error
lines='import json; way = json.load(open("plan.json"))["ways"][0]
print(*(step["line"] for step in way["steps"]), *(u for s in reversed(way["steps"]) for u in [s["undo"]] if u), sep="\n")'

for method in ${CASE:-mirror convert copy grow array-copy move}; do
    rm -rf "/out/$method"; mkdir "/out/$method"; cd "/out/$method" || exit
    $method > made.log 2>&1; udevadm settle; settled
    # shellcheck disable=SC2086
    stackmap plan ${plans[$method]} -J > plan.json 2> plan.err
    python -c "$lines" > lines.sh
    python -c 'import json; print(json.load(open("plan.json"))["ways"][0]["steps"][0]["line"])' > guard.sh
    bash guard.sh > own.txt 2>&1; echo $? > own.status
    cleared > cleared.log 2>&1
    $method >> made.log 2>&1; udevadm settle; settled
    state > before.txt
    bash guard.sh > other.txt 2>&1; echo $? > other.status
    bash lines.sh > pasted.txt 2>&1
    state > after.txt
    cleared >> cleared.log 2>&1
    echo "$SECONDS s: $method: own $(cat own.status), other $(cat other.status), $(grep -c STOP pasted.txt) stops"
done
exit 0
