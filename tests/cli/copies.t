#!/bin/sh
# Copies of weights are measured with a model, left out on request, shown, exported and imported.
# VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB

does "a modelled device" 1 measure --quiet --backend analytic alexnet
run profiles show 1
grep -q '^copies   page-cache: 4\.66 GiB/s after 20\.00 us, within 0\.0%$' out &&
    grep -q '^copies   disk: 953\.7 MiB/s after 100\.0 us, within 0\.0%$' out
report $? "has modelled copies"
run profiles show 1 --json
grep -q '"source": "disk"' out && grep -q '"bytes_per_us": ' out && grep -q '"form": 1' out &&
    grep -q '"packed_bytes": ' out && grep -q '"channels": 96' out
report $? "JSON has copies, packed weight formats, packed weights and channels"
"$VBSLAB" profiles export 1 one.csv && "$VBSLAB" --db other.sqlite profiles import one.csv >out &&
    "$VBSLAB" --db other.sqlite profiles export 1 two.csv && cmp one.csv two.csv && [ "$(grep -c '^# copy: ' one.csv)" -eq 12 ]
report $? "they come back from CSV and store as they were"

does "no copies when asked for none" 2 measure --quiet --backend analytic --no-copies alexnet
run profiles export 2 -
! grep -q '^# copy' out && grep -q ',channels,packed_bytes,form$' out
report $? "--no-copies leaves them out"

cat >tiny.net <<'END'
model tiny
input 4x8x8
conv c out=16 kernel=3 pad=1
fc f out=10
END
"$VBSLAB" measure tiny.net --backend onednn --batches 1,2 --threads 1 --time-limit 1 >out 2>err
code=$?
cat err
[ $code -eq 0 ] && [ "$(cat out)" = 3 ]
report $? "a measured device"
run profiles show 3
grep -q '^copies   page-cache: ' out && { grep -q '^copies   disk: ' out || grep -q 'no copies from disk' out; }
report $? "has copies from the page cache, and from the disk or a note"
[ -z "$(find . -name 'vbslab-copy*')" ]
report $? "no file is left"

# ulimit -f counts in blocks of 512 bytes: the store fits, but not the file of the copies.
(ulimit -f 6000 && exec "$VBSLAB" measure tiny.net --backend onednn --batches 1,2,3 --threads 1 \
    --time-limit 0.5) >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = 4 ] &&
    [ "$(grep -c 'warning: copies of weights are not measured: cannot make a file' err)" -eq 1 ]
report $? "a disk without room is a warning"

# Its 0.9 G multiplications a pass take more than a millisecond, the least limit, on any processor.
printf 'model wide\ninput 64x56x56\nconv c out=64 kernel=3 pad=1\n' >wide.net
run measure wide.net --backend onednn --batches 1,8 --threads 1 --no-copies --time-limit 1e-6
[ $code -eq 0 ] && grep -q 'wide: --time-limit 1e-06 was too short: every kernel that may be chosen runs' err
report $? "a limit that is too short for all batches is told"
finish
