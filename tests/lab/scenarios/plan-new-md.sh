# A new array of each layout that a plan may end at, made as the plan says. For test_plan_md.py.
. /lab/mds.sh
made 5 3 --bitmap=internal
for disk in d e f g h; do sgdisk --new=0:0:+48M /dev/sd$disk > /dev/null; done
udevadm settle
two=sdd1,sde1 three=$two,sdf1 four=$three,sdg1 five=$four,sdh1
python "$LAB/make_all.py" /dev/md/x array-copy "raid0:members=2@$two" "raid1:copies=2@$two" "raid1:copies=3@$three" \
    "raid5:members=4,chunk=128k@$four" "raid5:members=3,layout=la@$three" "raid5:members=3,layout=n@$three" \
    "raid6:members=4@$four" "raid10:members=4@$four" "raid10:members=4,layout=far@$four" \
    "raid10:members=4,layout=offset@$four" "raid10:members=5@$five" > made.txt
