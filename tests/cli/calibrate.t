#!/bin/sh
# Calibrations on the command line: measured with a profile, measured again, exported, shown, used by run;
# and what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB

run measure --batches 1,2 --time-limit 1 lenet-5
[ $code -eq 0 ] && [ "$(tail -n 1 out)" = 1 ]
report $? "a measured network"
run profiles show 1
grep -q '^speed    .* Gflop/s, .* GB/s from the last-level cache, .* GB/s from memory' out
report $? "has a calibration"
run profiles export 1 one.csv
[ $code -eq 0 ] && grep -q '^# speed: [0-9.e+]*,[0-9.e+]*,[0-9.e+]*$' one.csv &&
    grep '^# beside: page-cache' one.csv | tr ',' '\n' | sed 1d | awk '$1 < 1 { exit 1 } END { exit NR < 8 }'
report $? "which is exported, with a factor for copies and for each layer"
run profiles import one.csv
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "and is the same when it is imported"
run run 1 --memory 1MiB --request 2
[ $code -eq 0 ] && grep -q 'arithmetic [0-9]*%, last-level cache [0-9]*%' out && ! grep -q 'no calibration' err
report $? "run compares the speed"
run run 1 --memory 1MiB --request 2 --json
[ $code -eq 0 ] && grep -q '"calibrated_speed"' out
report $? "also as JSON"

run calibrate 1 --time-limit 0.5
[ $code -eq 0 ] && grep -q '^arithmetic  *[0-9.]* *[0-9.]*  *Gflop/s' out && [ "$(tail -n 1 out)" = 2 ]
report $? "calibrating again makes a profile of its own"
run calibrate 1 --time-limit 0.5 --json
[ $code -eq 0 ] && grep -q '"format": "vbslab-calibration-1"' out && grep -q '"profile": 3' out
report $? "also as JSON"
run compare 2 --memory 1MiB --planners dp-vbs+ --json
[ $code -eq 0 ] && grep -q '_percent' out
report $? "with the samples of the first"

grep -v '^# speed\|^# beside' one.csv >bare.csv
run run bare.csv --memory 1MiB --request 2
[ $code -eq 0 ] && grep -q "rests on no calibration; 'vbslab calibrate bare.csv' makes" err
report $? "run says where there is none"
grep -v '^# beside' one.csv >speed.csv
run run speed.csv --memory 2MiB --request 2 --planner vdnn --weights included
[ $code -eq 0 ] && grep -q "rests on no calibration of copies from page-cache" err
report $? "or none of copies"
run calibrate bare.csv --time-limit 0.5
[ $code -eq 0 ] && [ "$(tail -n 1 out)" = 4 ] && profiles_one=$(run profiles show 4; grep -c '^speed' out) && [ "$profiles_one" = 1 ]
report $? "a file can be calibrated, into the store"

sed 's/^# device: .*/# device: another machine/' one.csv >other.csv
refuses "a profile of another machine" 1 'was measured on another machine (another machine)' calibrate other.csv
run measure --backend analytic --batches 1 lenet-5
refuses "a modelled profile" 1 "models times and runs nothing" calibrate "$(cat out)"
refuses "a network that is not there" 1 "nothing" calibrate nothing
refuses "no profile" 2 "needs one PROFILE or MODEL, got 0" calibrate
refuses "no time" 2 "time-limit" calibrate 1 --time-limit 0
sed 's/^# speed: .*/# speed: 1,2/' one.csv >broken.csv
refuses "a broken speed" 1 "the speed of the machine is FLOPS_PER_US," run broken.csv --memory 1MiB

finish
