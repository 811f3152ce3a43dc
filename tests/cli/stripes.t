#!/bin/sh
# Rows of samples on the command line: measured, kept, planned, replayed and executed below the largest
# layer; and what is said where rows are not to be had. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB

# Prints the numbers of a .npy file of 32-bit floats, one a line.
values() # file
{
    od -A n -v -t f4 -w4 -j 128 "$1"
}

# --- modelled ---

run measure --backend analytic --stripes --batches 1,2 vgg-16
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "a modelled network with stripes"
grep -q "'fc6' (fc), 'fc7' (fc), 'fc8' (fc) and 1 more have no kernels on rows, and compute whole samples" err
report $? "says which layers have none"
prints "is shown" 'stripes  of 1 2 4 8 16 32 64 128 rows, in 18 of 22 layers' profiles show 1
run profiles export 1 vgg.csv
[ $code -eq 0 ] && grep -q '^# input-rows: 224' vgg.csv
report $? "and exported"
run profiles import vgg.csv
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "and is the same when it is imported"
run plan 1 --memory 2MiB --request 1 --json plan.json
[ $code -eq 0 ] && grep -q '^layer  name     batches  rows ' out && grep -q ' of 224 ' out
report $? "it can be planned in 2 MiB"
run replay 1 plan.json
report $code "which the replay takes"
refuses "whole samples need more" 3 'the least budget is 25690112 bytes' \
    plan 1 --memory 2MiB --request 1 --stripes no
prints "explanations name segments" 'by rows' explain 1 --memory 3MiB --request 1
prints "comparisons have intervals of such plans" 'dp-vbs+' \
    compare 1 --planners dp-vbs+ --memory 25MiB --request 2

# --- measured ---

run measure --stripes --batches 1 --time-limit 1 --no-copies lenet-5 --quiet
if [ $code -eq 0 ]; then
    id=$(cat out)
    prints "a measured network with stripes" 'stripes  of 1 2 4' profiles show "$id"
    run profiles export "$id" lenet.csv
    run plan "$id" --memory 1 --request 1
    least=$(sed -n 's/.*the least budget is \([0-9]*\) bytes.*/\1/p' err)
    run plan "$id" --memory 1 --request 1 --stripes no
    whole=$(sed -n 's/.*the least budget is \([0-9]*\) bytes.*/\1/p' err)
    [ "$least" -lt "$whole" ]
    report $? "needs $least bytes by rows, and $whole in whole samples"
    run run "$id" --memory "$least" --request 2 --output rows.npy
    [ $code -eq 0 ] && grep -q "^budget *$least " out
    report $? "is executed in its least memory"
    run run "$id" --memory 64MiB --request 2 --output whole.npy --stripes no
    [ $code -eq 0 ] && values whole.npy >whole && values rows.npy >rows && [ "$(wc -l <rows)" -eq 20 ] &&
        paste whole rows | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) exit 1 }'
    report $? "with the same outputs"
    run measure --stripes --batches 1 --time-limit 1 --no-copies "$DATA/onnx/normals.onnx" --quiet
    id=$(cat out)
    prints "a measured network without kernels on rows" 'stripes  none: no layer has kernels on rows' \
        profiles show "$id"
    grep -q '^layout   rows' out
    report $? "says that it is one of stripes"
    run run "$DATA/onnx/normals.onnx" --memory 64MiB
    report $code "and runs"
else
    for what in show plan run outputs none layout; do
        skip "a measured network with stripes: $what" "onednn cannot be used here"
    done
fi

finish
