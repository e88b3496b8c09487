# One disk slower than its siblings (boot --iops 500 --slow 2:100), three times. For test_explain.py.
. /lab/situations.sh
disks
situation slow-disk slow-member load /dev/lab/r10 --rw=randwrite --bs=4k --iodepth=4
