# Plans for md arrays that outlive a disk throughout, followed as they are printed while an ext4 on them is written
# to. For test_plan_md.py.
. /lab/mds.sh
how=(--fio --kill)
array 5 3 --bitmap=internal
md md-raid5-raid6 raid6 --onto sdd
array 6 4 --bitmap=internal
md md-raid6-raid5 raid5
array 5 3
md md-chunk raid5:chunk=512k
array 5 3 --bitmap=internal
md md-more raid5:members=5 --onto sdd --onto sde
array 6 4
md md-raid6-more raid6:members=5,chunk=512k --onto sdf
array 1 2 --bitmap=internal
md md-raid1-raid5 raid5 --way grow --onto sdc
array 1 2
md md-raid1-more raid1:copies=3 --way grow --onto sdc
array 10 4 --bitmap=internal
md md-raid10-more raid10:members=6 --way grow --onto sde --onto sdf

# Given up on the way.
how=(--fio --back "3 2 1")
array 5 3 --bitmap=internal
md md-raid5-raid6-back raid6 --onto sdd
how=(--fio --back "2 1")
array 5 3
md md-chunk-back raid5:chunk=512k
array 1 2
md md-raid1-raid5-back raid5 --way grow --onto sdc
exit 0
