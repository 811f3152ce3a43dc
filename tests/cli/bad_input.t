#!/bin/sh
# Bad input is refused with an exit code and one line that gives the fault, the reason and a remedy;
# it leaves no result and no file. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB
write_example >example.csv
plan='--planner dp-vbs --memory 7 --request 2'

# --- names ---

refuses "an unknown network" 2 "no network 'googlnet'; did you mean 'googlenet'?" models show googlnet
refuses "a network in capitals" 2 "did you mean 'alexnet'?" models show AlexNet
refuses "a network like no other" 2 "no network 'zzz'" models show zzz
refuses "an unknown network to be planned" 1 "did you mean 'vgg-16'?" plan vgg16 $plan
refuses "an unknown network to be compared" 1 "did you mean 'resnet-50'?" compare resnet50
refuses "an unknown planner" 2 "no planner 'dpvbs'; did you mean 'dp-vbs'?" \
    plan example.csv --planner dpvbs --memory 7
refuses "a planner like no other" 2 "no planner 'zzz'; 'vbslab planners' lists them" \
    plan example.csv --planner zzz --memory 7
refuses "an unknown planner of a frontier" 2 "did you mean 'fbs-best'?" \
    frontier example.csv --planner fbsbest
refuses "an unknown baseline" 2 "no planner 'greedy'" compare example.csv --baselines fbs,greedy
refuses "an unknown planner to compare" 2 "did you mean 'dp-vbs'?" compare example.csv --planners dpvbs
refuses "an unknown command" 2 "unknown command 'plam'; did you mean 'plan'?" plam example.csv
refuses "an unknown option" 2 "unknown option '--memroy'; did you mean '--memory'?" \
    plan example.csv --memroy 7
refuses "an unknown io" 2 "io 'extern' is neither external nor resident" \
    plan example.csv $plan --io extern
refuses "unknown weights" 2 "weights 'inside' are neither excluded nor included" \
    plan example.csv $plan --weights inside
for limit in 0 -1 nan inf '' soon 0x10 10s 1,5 ' 5'; do
    refuses "a latency of '$limit'" 2 "--latency-us '$limit' is not a number of microseconds above 0" \
        plan example.csv $plan --latency-us "$limit"
    refuses "a frontier with a latency of '$limit'" 2 "--latency-us '$limit' is not a number" \
        frontier example.csv --planner fbs --latency-us "$limit"
    refuses "a time limit of '$limit'" 2 "--time-limit '$limit' is not a number of seconds above 0" \
        plan example.csv --planner optimal --memory 7 --time-limit "$limit"
done
refuses "a latency beyond all times" 2 "a latency of 1e+19 us is out of range" \
    plan example.csv $plan --latency-us 1e19
for command in plan frontier; do
    memory=
    [ $command = frontier ] || memory='--memory 7'
    refuses "a time limit of a planner that needs none ($command)" 2 \
        "--time-limit is for planner optimal, joint or dp-vbs+; dp-vbs does not search" \
        $command example.csv --planner dp-vbs $memory --time-limit 5
done
refuses "an unknown part of models" 2 "write 'models' or 'models show MODEL'" models list
refuses "an .onnx file that is not there" 1 "cannot open 'net.onnx'" models show net.onnx
echo 'no protocol buffer' >text.onnx
refuses "an .onnx file that is something else" 1 "this is no ONNX file" models show text.onnx

# --- what a command needs ---

refuses "no profile" 2 "needs one PROFILE, got 0" plan $plan
refuses "two profiles" 2 "needs one PROFILE, got 2" plan example.csv example.csv $plan
prints "no planner: dp-vbs+" 'planner dp-vbs+' plan example.csv --memory 7
refuses "no budget" 2 "needs --memory" plan example.csv --planner fbs
prints "a frontier without a planner" 'planner dp-vbs+' frontier example.csv
refuses "a comparison of nothing" 2 "needs at least one PROFILE" compare
refuses "two forms at once" 2 "one of --json and --csv" compare example.csv --json --csv
refuses "two forms of a frontier" 2 "one of --json and --csv" \
    frontier example.csv --planner fbs --json a --csv b
refuses "two judges' worth of profiles" 2 "--judge judges one PROFILE" \
    compare example.csv example.csv --judge example.csv

# --- budgets ---

for budget in 0 1 5 5.9 0MiB; do
    refuses "a budget of $budget" 3 "the least budget is 6 bytes, where layer 'L2' binds: 2 bytes of \
tensors and 4 of workspace at batch 1; 3 bytes would do without that workspace" \
        plan example.csv --planner fbs --memory $budget --request 2
done
prints "the largest budget" '2 samples in 9223372036854775807 bytes (8 EiB)' plan example.csv --planner dp-vbs --request 2 \
    --memory 9223372036854775807
for budget in 9223372036854775808 18446744073709551616 9223372036854775807KiB 99999999999TB; do
    refuses "a budget of $budget" 2 "size '$budget' is above the largest, 9223372036854775807 bytes" \
        plan example.csv --planner fbs --memory $budget
done
for budget in '' ' ' garbage -1 +7 0x10 1e6 7.MiB .5MiB 1.2.3 '7 MiB' 7MiBs MiB 1,5 nan 1.1234567MiB; do
    refuses "a budget of '$budget'" 2 "'$budget' is not a size; write for example 15MiB" \
        plan example.csv --planner fbs --memory "$budget"
done
refuses "a budget of frontiers" 2 "unknown option '--memory'" frontier example.csv --memory 7
for range in 1MiB..2MiB 1MiB:2MiB .. 1..2: 1..:1 ..2:1 1:2..3; do
    refuses "a range '$range'" 2 "write" compare example.csv --memory "$range"
done
refuses "a range that falls" 2 "range '9..7:1' is empty" compare example.csv --memory 9..7:1
refuses "a range without a step" 2 "range '7..9:0' is empty" compare example.csv --memory 7..9:0
refuses "a range of too many" 2 "more than 4096 sizes" compare example.csv --memory 1..1GB:1
refuses "the longest range" 2 "more than 4096 sizes" \
    compare example.csv --memory 0..9223372036854775807:1
run compare example.csv --memory 0..5:1
[ $code -eq 3 ] && [ "$(cat err)" = "vbslab: compare: no planner fits any of the budgets; the least \
that works is 6 bytes, with fbs" ]
report $? "budgets that are all too small"
run compare example.csv --memory 0..5:1 --plot x.svg
[ $code -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e x.svg ]
report $? "which leave nothing to plot"

# --- requests and batches ---

for request in 0 4097 1000000000 9223372036854775808 -1; do
    refuses "a request of $request" 2 \
        "--request $request is out of range; it goes from 1 to 4096" plan example.csv $plan --request $request
done
for request in '' ' 2' two 2.5 0x2 1e3; do
    refuses "a request of '$request'" 2 "--request '$request' is not a whole number" \
        plan example.csv $plan --request "$request"
done
for batches in 0 1,0 2,1 1,1 1-0 1-4097 1--3 '1,' ',1' '1-12,7' 1000000000 ''; do
    refuses "batches '$batches'" 2 "'$batches' is not a list of batches from 1 to 4096" \
        measure alexnet --backend analytic --batches "$batches"
done
for shape in 3x 0x1x1 x 3x-1x1 1x1x1x1x1x1x1x1x1 3,227,227 99999999999x1x1; do
    refuses "an input of '$shape'" 2 "'$shape'" models show alexnet --input "$shape"
done
refuses "an input of other dimensions" 2 "has 3 dimensions, not 4" \
    models show alexnet --input 3x16x227x227
refuses "an input that is too small" 2 "does not suit the model" models show alexnet --input 3x5x5

# --- profiles as CSV ---

# bad_csv NAME PART SED-SCRIPT: plan and import refuse the example edited by the script; the error has PART.
bad_csv()
{
    sed "$3" example.csv >bad.csv
    run profiles import bad.csv
    [ $code -eq 1 ] && one_error "$2" && [ ! -e store.sqlite ]
    report $? "$1 is not imported"
    refuses "$1 is not planned for" 1 "$2" plan bad.csv $plan
}

bad_csv "a layer without a batch" \
    "bad.csv:4: layer 2 ('L2') has no row for batch 2, which layer 1 has" '/^2,L2,conv,1,2/d'
bad_csv "a profile without batch 1" "layer 1 ('L1') has no row for batch 1" '/,1,default/d'
bad_csv "a layer that reads itself" "bad.csv:4: " 's/^2,L2,conv,1/2,L2,conv,2/'
bad_csv "a cycle" "bad.csv:4: " 's/^2,L2,conv,1/2,L2,conv,3/'
bad_csv "an input that is no layer" "bad.csv:6: " 's/^3,L3,conv,2/3,L3,conv,9/'
bad_csv "a gap in the layers" "no layer 3" 's/^3,L3/4,L4/'
bad_csv "a row that is there twice" "repeats layer 1 batch 2 algorithm 'default' of line 3" \
    '3{p;s/,6,/,7,/}'
bad_csv "negative bytes" "bad.csv:5: ws_bytes is negative: -8" 's/,8,/,-8,/'
bad_csv "bytes beyond 64 bits" "ws_bytes 9223372036854775808 is above the largest" \
    's/,8,/,9223372036854775808,/'
bad_csv "bytes that overflow in sum" "exceed 2^63 bytes" 's/,8,/,9223372036854775807,/'
bad_csv "activations that overflow" "exceed 2^63 bytes" \
    's/^\(3,L3,.*,4,1,\)1/\19000000000000000/;s/^\(3,L3,.*,6,2,\)2/\118000000000000000/'
bad_csv "bytes that are no number" "out_bytes '1.5' is not a whole number" 's/^\(1,.*,4,1,\)1/\11.5/'
for time in nan inf -inf 1e999 -1 '' 0x10 4us '4,5'; do
    bad_csv "a time of '$time'" "bad.csv:2: " "2s/,4,1/,$time,1/"
done
bad_csv "in_bytes that are not linear" \
    "in_bytes is 3, not 2 times the 1 per sample of line 4; it must grow linearly" \
    's/^\(2,L2,conv,1,2,default,6,\)2/\13/'
bad_csv "out_bytes that are not linear" "out_bytes is 3, not 2 times the 1 per sample of line 2" \
    's/^\(1,L1,conv,0,2,default,6,2,\)2/\13/'
bad_csv "more input than there is" \
    "layer 2 ('L2') reads 2 bytes per sample, but its inputs produce only 1" \
    's/^\(2,L2,conv,1,1,default,4,\)1/\12/;s/^\(2,L2,conv,1,2,default,6,\)2/\14/'
bad_csv "in_place that is neither 0 nor 1" "in_place 2" 's/^\(3,.*\)0$/\12/'
bad_csv "a batch of 0" "batch 0 is out of range" 's/^1,L1,conv,0,2/1,L1,conv,0,0/'
bad_csv "a layer 0" "layer 0 is out of range" 's/^1,L1/0,L1/'
bad_csv "a missing column" "column 'ws_bytes' is missing" '1s/ws_bytes/scratch/'
bad_csv "a column that is there twice" "column 'batch' is there twice" '1s/kind/batch/'
bad_csv "a short line" "bad.csv:4: the line has 11 fields, the header 12" '4s/,0$//'
bad_csv "a quote that never closes" "a quote is opened and never closed" '4s/L2/"L2/'
bad_csv "a name that is no UTF-8" "not valid UTF-8" "s/L2/$(printf 'L\377')/"
bad_csv "a model that is no UTF-8" "not valid UTF-8" "1i# model: $(printf 'L\377')"
bad_csv "a zero byte" "a zero byte; this is not a text file" '3s/L1/L\x00/'
bad_csv "a header alone" "no rows after the header" '2,$d'
bad_csv "an empty file" "no header" d
refuses "a folder" 1 "cannot read './': Is a directory" profiles import ./
mkdir folder.csv
refuses "a folder with a file's name" 1 "cannot read 'folder.csv': Is a directory" plan folder.csv $plan
refuses "a file that is not there" 1 "cannot open 'none.csv': No such file or directory" \
    plan none.csv $plan
refuses "a file in a file" 1 "cannot open 'example.csv/x.csv': Not a directory" \
    plan example.csv/x.csv $plan
refuses "a name too long for the system" 1 "File name too long" plan "$(printf '%0300d' 0).csv" $plan
long=$(printf '%0250d' 0)
mkdir "$long"
sed '/^2,L2,conv,1,2/d' example.csv >"$long/bad.csv"
refuses "a long path leaves room for the reason" 1 "bad.csv:4: layer 2 ('L2') has no row for batch 2" \
    plan "$long/bad.csv" $plan
if [ "$(id -u)" -ne 0 ]; then
    cp example.csv secret.csv
    chmod 0 secret.csv
    refuses "a file that may not be read" 1 "Permission denied" plan secret.csv $plan
else
    skip "a file that may not be read" "root may read every file"
fi
"$VBSLAB" plan - $plan </dev/null >out 2>err
code=$?
[ $code -eq 1 ] && one_error "standard input: no header"
report $? "an empty standard input"
"$VBSLAB" plan - $plan <&- >out 2>err
code=$?
[ $code -eq 1 ] && one_error "cannot read"
report $? "a closed standard input"

# --- schedules ---

"$VBSLAB" plan example.csv $plan --json - | sed '/"provenance"/d' >good.json

# bad_schedule NAME CODE PART SED-SCRIPT: replay refuses the schedule edited by the script.
bad_schedule()
{
    sed "$4" good.json >bad.json
    refuses "$1" "$2" "$3" replay example.csv bad.json
}

bad_schedule "a schedule of another format" 1 "bad.json: 'format' is not \"vbslab-schedule-1\"" \
    's/schedule-1/schedule-9/'
bad_schedule "a schedule cut off" 1 "bad.json:" '$d'
bad_schedule "no steps" 1 "bad.json: 'steps' is missing" 's/"steps"/"stops"/'
bad_schedule "steps that are no list" 1 "bad.json: 'steps' is not an array" '6,$d;5s/$/ "steps": 7 }/'
bad_schedule "a request of 0" 1 "bad.json: 'request' is out of range" 's/"request": 2/"request": 0/'
bad_schedule "a request of 10^9" 1 "bad.json: 'request' is out of range" \
    's/"request": 2/"request": 1000000000/'
bad_schedule "a budget beyond 64 bits" 1 "bad.json:2: too big integer" \
    's/"memory_bytes": 7/"memory_bytes": 9223372036854775808/'
bad_schedule "a negative budget" 1 "bad.json: 'memory_bytes' is out of range" \
    's/"memory_bytes": 7/"memory_bytes": -7/'
bad_schedule "a latency of nothing" 1 "bad.json: 'latency_us' is out of range" \
    's/"io"/"latency_us": 0, "io"/'
bad_schedule "a negative latency" 1 "bad.json: 'latency_us' is out of range" \
    's/"io"/"latency_us": -1, "io"/'
bad_schedule "a latency in words" 1 "bad.json: 'latency_us' is not a number" \
    's/"io"/"latency_us": "20", "io"/'
bad_schedule "a negative prediction of the latency" 1 "bad.json: 'predicted.latency_us' is out of range" \
    's/"latency_us": 20 }/"latency_us": -20 }/'
bad_schedule "a prediction that is a number" 1 "bad.json: 'predicted' is not an object" \
    's/"predicted": {.*}/"predicted": 5/'
bad_schedule "a solver of negative size" 1 "bad.json: 'solver.peak_bytes' is out of range" \
    's/"solver": { "peak_bytes": /&-/'
bad_schedule "weights somewhere" 1 "bad.json: 'weights'" 's/excluded/somewhere/'
bad_schedule "a member that is there twice" 1 "duplicate object key" 's/"io"/"model"/'
bad_schedule "a transfer step of weights outside" 1 "bad.json: step 2: 'op' moves weights" \
    '8s/"layer"/"op": "load", "layer"/'
bad_schedule "a batch of 0" 1 "bad.json: step 1: 'batch' is out of range" '7s/"batch": 2/"batch": 0/'
bad_schedule "a batch of 10^9" 1 "bad.json: step 1: 'batch' is out of range" \
    '7s/"batch": 2/"batch": 1000000000/'
bad_schedule "a batch that is no whole number" 1 "step 1: 'batch' is not a whole number" \
    '7s/"batch": 2/"batch": 2.0/'
bad_schedule "a layer of another network" 1 "step 4 of 4: the profile has no layer 4" \
    's/"layer": 3/"layer": 4/'
bad_schedule "a batch of another profile" 1 "layer 1 'L1' at batch 3: the profile has no batch 3" \
    '7s/"batch": 2/"batch": 3/'
bad_schedule "an unknown algorithm" 1 "has no row with algorithm 'winograd'" '10s/default/winograd/'
bad_schedule "a step too many" 1 "runs past the request" '9{p;p}'
bad_schedule "a step too few" 1 "step 3 of 3, layer 3 'L3' at batch 2: reads up to sample 2 of layer 2" 8d
bad_schedule "the last step missing" 1 "layer 3 'L3' has finished 0 of 2 samples" '9s/,$//;10d'
sed 's/"steps"/"stops"/' good.json >"$long/bad.json"
refuses "a long path to a schedule leaves room for the reason" 1 "bad.json: 'steps' is missing" \
    replay example.csv "$long/bad.json"
refuses "a schedule that is a folder" 1 "cannot read 'folder.csv': Is a directory" \
    replay example.csv folder.csv
refuses "a schedule that is empty" 1 "/dev/null" replay example.csv /dev/null
refuses "a schedule that is a profile" 1 "example.csv:1: " replay example.csv example.csv
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >deep.json
refuses "a schedule nested 100000 deep" 1 "deep.json:1: maximum parsing depth reached" \
    replay example.csv deep.json
head -c 100000 /dev/zero >zeros.json
refuses "a schedule of zeros" 1 "zeros.json:1: " replay example.csv zeros.json
[ ! -e store.sqlite ]
report $? "none of all this makes a store"
finish
