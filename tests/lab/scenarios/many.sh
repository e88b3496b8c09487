# Thousands of mapped devices on one disk: what a look at them costs, beside lsblk's. For test_many.py.
. /lab/guest.sh
set -e
DEVICES=${DEVICES:-2000}
# udev would look into each of them, for minutes.
udevadm control --stop-exec-queue
for ((i = 0; i < DEVICES; i++)); do
    printf 'many%d,LVM-%064d,,rw,0 8 linear /dev/sda %d;' $i $i $((i * 8))
done > /tmp/tables
# One command line holds not all of them.
for ((i = 1; i <= DEVICES; i += 200)); do
    dmsetup create --noudevsync --concise "$(cut -d';' -f$i-$((i + 199)) /tmp/tables)"
done
ls -d /sys/block/dm-* | wc -l > devices
echo "$SECONDS s: they stand"
stackmap tree > tree.txt
in_memory lsblk dmsetup
echo "$SECONDS s: programs are in memory"
rm -f -- *.seconds
# In turns: what else this machine is doing is then the same for all.
for round in warm 1 2 3 4 5; do
    for command in "lsblk" "stackmap tree" "python -c import\ click" "dmsetup table" "python $LAB/tree_by_ioctl.py" "python $LAB/tree_with_objects.py" "python $LAB/tree_with_objects.py text" "python $LAB/tree_with_objects.py whole"; do
        if [ $round = warm ]; then eval "$command" > /dev/null; continue; fi
        hyperfine --shell=none --runs 1 --style none --export-json /tmp/one.json "$command" > /dev/null
        name=${command//$LAB\//} name=${name//[^a-z_]/-}
        python -c 'import json, sys; print(*json.load(open("/tmp/one.json"))["results"][0]["times"], sep="\n")' \
            >> "$name.seconds"
    done
    echo "$SECONDS s: round $round"
done
python - stackmap tree > tree.kib <<'END'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
echo "$SECONDS s: done"
