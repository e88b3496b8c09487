# Volumes with a key in their tables, and all that stackmap writes about them; for test_keys.py.
. /lab/guest.sh
modprobe -a dm_crypt dm_integrity loop
in_memory cryptsetup dmsetup
step() { "$@" > /tmp/said 2>&1 || { echo "!! $?: $*"; cat /tmp/said; }; }
letters() { head -c 32 /dev/zero | tr '\0' "$1" > "/tmp/$1"; }
letters k; letters m; letters j

raw=$(printf 'c0ffee11%.0s' {1..8})
dmsetup create raw --table "0 32768 crypt aes-xts-plain64 $raw 0 /dev/sda 0"
# Debian builds no inlinecrypt; a module that was loaded before is used.
! grep -q '^dm_inlinecrypt ' /proc/modules ||
    step dmsetup create inline --table "0 32768 inlinecrypt aes-xts-plain64 $(printf 'facade42%.0s' {1..16}) 0 /dev/sda 65536"
echo -n word | step cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/sdb -
echo -n word | step cryptsetup open /dev/sdb ring
echo -n word | step cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/sdc -
echo -n word | step cryptsetup open --disable-keyring /dev/sdc luks
macs="--integrity hmac-sha256 --integrity-key-file /tmp/k --integrity-key-size 32
    --journal-integrity hmac-sha256 --journal-integrity-key-file /tmp/m --journal-integrity-key-size 32
    --journal-crypt ctr-aes --journal-crypt-key-file /tmp/j --journal-crypt-key-size 32"
# shellcheck disable=SC2086
step integritysetup format -q --no-wipe $macs /dev/sdd
# shellcheck disable=SC2086
step integritysetup open $macs /dev/sdd signed
# Each sector with a MAC: one key of 96 bytes in the table of crypt, for both.
echo -n word | step cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --cipher aes-xts-plain64 --integrity hmac-sha256 --integrity-no-wipe /dev/sde -
echo -n word | step cryptsetup open --disable-keyring /dev/sde authentic
udevadm settle
dmsetup table --showkeys > shown
dmsetup table > masked

mkdir written; cd written
# said NAME ARGUMENTS...: NAME.txt, what stackmap prints, and .status
said() { local name=$1; shift; stackmap "$@" > "$name.txt" 2>&1; echo $? > "$name.status"; }
# unpacked NAME: NAME.plain, all that is in a capture
unpacked() { find "/tmp/$1" -type f -name '*.gz' -exec zcat {} + > "$1.plain"; find "/tmp/$1" -type f ! -name '*.gz' -exec cat {} + >> "$1.plain"; }
for name in tree check explain blame; do said $name $name; said $name-json $name -J; done
said iostat iostat 1 1
said graphml tree --graphml
said report report -o report.html
said export export --openmetrics -o export.om
said trace trace 1
said record record --trace /tmp/rec 1 2; unpacked rec
said annotate annotate ../shown
said input iostat --input ../shown

# The same capture as a version wrote it that masked nothing.
cp -r /tmp/rec /tmp/old; tar xzf /tmp/old/answers.tar.gz -C /tmp/old; rm /tmp/old/answers.tar.gz
cp ../shown /tmp/old/cmd/dmsetup-table.txt; tar cf /tmp/old.tar -C /tmp/old .
said old-tree --from /tmp/old.tar tree -J
said old-check --from /tmp/old check --exit-code
said rewrite --from /tmp/old record /tmp/new; unpacked new
said new-check --from /tmp/new check --exit-code
said new-tree --from /tmp/new tree -J
