# Plans for md arrays by way of RAID0, followed as they are printed while an ext4 on them is written to. For
# test_plan_md.py.
. /lab/mds.sh
how=(--fio --kill)
array 5 3 --bitmap=internal
md md-raid5-raid10 raid10 --way grow --onto sde --onto sdf
array 10 4 --bitmap=internal
md md-raid10-raid5 raid5 --way grow --onto sdf
raid0
md md-raid0-raid5 raid5 --way grow --onto sdf
raid0
md md-raid0-raid10 raid10 --way grow --onto sdf --onto sdg
array 5 3
md md-raid5-raid0 raid0 --way grow
array 10 4
md md-raid10-raid0 raid0 --way grow
how=(--fio --back "2 1")
raid0
md md-raid0-raid10-back raid10 --way grow --onto sdf --onto sdg
exit 0
