#!/bin/sh
# Predictions on the command line: a machine is calibrated, profiles are predicted, planned with and run;
# and what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB

refuses "a prediction without a calibration" 1 "'vbslab calibrate --machine' does that" \
    measure lenet-5 --predict --backend analytic
run calibrate --machine --backend analytic
[ $code -eq 0 ] && grep -q '^kernel times of this machine: [1-9][0-9]*, of \([0-9]*\) networks, \1 of them measured now in ' out
report $? "a calibration of the machine"
run calibrate --machine --backend analytic --json
[ $code -eq 0 ] && grep -q '"format": "vbslab-machine-calibration-1"' out && grep -q '"measured": 0' out
report $? "which is there the second time, as JSON"
run calibrate --machine --backend analytic --again
[ $code -eq 0 ] && grep -q ', of \([0-9]*\) networks, \1 of them measured now' out
report $? "unless it is to be measured again"
run measure googlenet lenet-5 --predict --backend analytic --batches 1,2,4
[ $code -eq 0 ] && [ "$(cat out)" = "1
2" ] && grep -q "googlenet: profile 1: predicted from this machine's calibration" err
report $? "predicted profiles"
run profiles show 1
grep -q 'predicted, not measured (426 of 426 rows)' out
report $? "say so"
run profiles export 1 one.csv
[ $code -eq 0 ] && awk -F, '/^[0-9]/ && !($15 > 0 && $14 <= $7 && $7 <= $15 && $16 == 0) { exit 1 }' one.csv
report $? "have intervals and no runs"
run profiles import one.csv
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "are the same when they are imported"
run measure googlenet --backend analytic --batches 1,2,4
run compare 1 --judge 3 --memory 20MiB --planners dp-vbs+ --request 4
[ $code -eq 0 ] && grep -q 'modelled, not measured' out
report $? "and are planned with"

refuses "rows" 2 "kernels on rows cannot be predicted" measure lenet-5 --predict --stripes
refuses "a machine and a profile" 2 "--machine needs no PROFILE" calibrate --machine 1
refuses "a backend without the machine" 2 "--backend needs --machine" calibrate 1 --backend analytic
refuses "again without the machine" 2 "--again needs --machine" calibrate 1 --again
refuses "no time" 2 "time-limit" calibrate --machine --time-limit 0

# The default backend, with hardly any time: a kernel that has run once has a time, too.
VBSLAB_DB=real.sqlite
run calibrate --machine --time-limit 0.1
[ $code -eq 0 ] && grep -q ', of \([0-9]*\) networks, \1 of them measured now' out
report $? "a calibration of this machine"
run run lenet-5 --memory 1MiB --request 2 --check
[ $code -eq 0 ] && grep -q "the times of the profile are predicted, not measured; 'vbslab measure lenet-5' measures" err &&
    ! grep -q 'measuring it first' err
report $? "a network that was never measured runs at once"
run run lenet-5 --memory 1MiB --request 2
[ $code -eq 0 ] && grep -q "predicted, not measured" err && ! grep -q "profile 2" err
report $? "the next run takes the same profile"
run measure lenet-5 --time-limit 1 --no-copies
run run lenet-5 --memory 1MiB --request 2
[ $code -eq 0 ] && ! grep -q "predicted, not measured" err
report $? "a measured one is taken before a predicted one"

finish
