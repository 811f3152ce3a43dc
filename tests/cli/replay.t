#!/bin/sh
# The replay command: verdicts, formats of output, exit codes. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=replay

# judges NAME CODE WANTED-PART ARGUMENTS...: checks the exit code, and the part on either stream.
judges()
{
    name=$1 want=$2 part=$3
    shift 3
    run "$@"
    [ $code -eq "$want" ] && cat out err | grep -qF -- "$part"
    report $? "$name"
}

write_example | sed 's/,L2,/,"L2 $(id)",/' >example.csv

# schedule PREDICTED-US STEPS: prints a schedule of the example of VBS III with these steps.
schedule()
{
    cat <<END
{ "format": "vbslab-schedule-1", "model": "", "planner": "by hand", "request": 2,
  "memory_bytes": 7, "io": "external", "weights": "excluded",
  "predicted": { "time_us": $1, "per_sample_us": 10.0, "peak_bytes": 7 },
  "bound": { "time_us": 18.0, "gap_percent": 11.1 },
  "steps": [ $2 ] }
END
}

step()
{
    echo "{ \"layer\": $1, \"batch\": $2, \"algorithm\": \"default\" }"
}

whole="$(step 1 2), $(step 2 1), $(step 2 1), $(step 3 2)"
schedule 20.0 "$whole" >good.json
schedule 25.0 "$whole" >hoped.json
schedule 20.0 "$(step 1 1), $(step 2 2)" >early.json
sed 's/"io"/"latency_us": 20, "io"/' good.json >bounded.json
sed 's/"io"/"latency_us": 19, "io"/' good.json >late.json
sed 's/"peak_bytes": 7/"peak_bytes": 7, "latency_us": 17/' good.json >missed.json

judges 'a schedule that fits' 0 'fits     yes, with 0 bytes to spare' example.csv good.json
judges 'the peak and where it is' 0 "peak     7 bytes in step 2 of 4, layer 2 'L2 \$(id)' at batch 1" \
    example.csv good.json
judges 'another budget' 0 'fits     yes, with 1 byte to spare' example.csv good.json --memory 8
run example.csv good.json
[ $code -eq 0 ] && ! grep -q predicted out
report $? 'a prediction that was met is not mentioned'
judges 'a prediction that was missed is' 0 \
    'time was predicted as 25 us, replayed as 20 us (-20.00%)' example.csv hoped.json
sed 's/"predicted": *{[^}]*}, *//' hoped.json >silent.json
run example.csv silent.json
[ $code -eq 0 ] && ! grep -q predicted silent.json && ! grep -q 'predicted\|%' out
report $? 'a schedule that predicts nothing is not said to have missed it'
judges 'a budget that is broken' 3 "breaks its budget of 6 bytes: step 2, layer 'L2 \$(id)' at batch 1, \
is 1 byte over; the least budget that works is 7 bytes" example.csv good.json --memory 6
judges 'the first step above it' 3 "fits     no, first in step 1 of 4, layer 1 'L1' at batch 2 by 1 byte" \
    example.csv good.json --memory 5
judges 'the verdict as JSON' 0 '"peak_bytes": 7,' example.csv good.json --json
judges 'a broken budget as JSON' 3 '"over_bytes": 2' example.csv good.json --json --memory 4
judges 'a trace' 0 '2,2,L2 $(id),1,default,0,6,10,2,1,4,7,2,0,1,10' example.csv good.json --trace -
judges 'a trace in a file' 0 '0 bytes to spare' example.csv good.json --trace trace.csv
[ "$(wc -l <trace.csv)" -eq 5 ]
report $? 'with a row for every step'

# --- latency ---

judges 'the longest wait, and whose it is' 0 'latency  20.00 us, samples 1 to 2' example.csv good.json
run example.csv good.json
[ $code -eq 0 ] && ! grep -q 'in time' out
report $? 'without a bound it is not judged'
judges "the schedule's own bound" 0 'in time  yes, with 0 us to spare' example.csv bounded.json
judges 'another bound' 0 'in time  yes, with 5.000 us to spare' example.csv late.json --latency-us 25
judges 'a bound that is broken' 3 "schedule breaks its latency of 19 us: step 4, layer 'L3' at batch 2, \
ends 1.000 us late for samples 1 to 2; the least latency that works is 20 us" example.csv late.json
judges 'the first step beyond it' 3 "in time  no, first in step 3 of 4, layer 2 'L2 \$(id)' at batch 1 \
by 0.5000 us" example.csv bounded.json --latency-us 13.5
judges 'budget and latency broken' 3 "the least budget that works is 7 bytes; it breaks its latency too" \
    example.csv late.json --memory 6
judges 'the least bound that is named works' 0 'in time  yes' example.csv late.json --latency-us 20
judges 'a prediction of the latency that was missed' 0 \
    'latency was predicted as 17 us, replayed as 20 us' example.csv missed.json
run example.csv late.json --json
[ $code -eq 3 ] && [ "$(member out latency_us | head -1)" = 20.0 ] &&
    [ "$(member out latency_bound_us)" = 19.0 ] && [ "$(member out in_time)" = false ] &&
    [ "$(member out fits)" = true ] && [ "$(member out late_us)" = 1.0 ] &&
    [ "$(member out first_sample)$(member out last_sample)" = 12 ]
report $? 'the verdict as JSON'
run example.csv good.json --json
[ $code -eq 0 ] && [ "$(member out in_time)" = true ] && [ "$(member out latency_bound_us)" = null ] &&
    [ "$(member out late)" = null ]
report $? 'the verdict as JSON without a bound'
for bound in 0 -3 nan much ''; do
    refuses "a bound of '$bound'" 2 "--latency-us '$bound' is not a number of microseconds above 0" \
        example.csv good.json --latency-us "$bound"
done
schedule 24.0 "$(step 1 1), $(step 2 1), $(step 3 1), $(step 1 1), $(step 2 1), $(step 3 1)" >single.json
judges 'chunks of one sample' 0 'latency  12.00 us, sample 1' example.csv single.json
sed 's/external/resident/' single.json >resident.json
judges 'which io resident makes one' 0 'latency  24.00 us, samples 1 to 2' example.csv resident.json
run example.csv single.json --trace -
[ $code -eq 0 ] && [ "$(awk -F, '{ printf "%s ", $15 }' out)" = 'chunk 1 1 1 2 2 2 ' ] &&
    [ "$(awk -F, '{ printf "%s ", $16 }' out)" = 'wait_us 4 8 12 4 8 12 ' ]
report $? 'chunks and waits in the trace'

# --- weights included ---

cat >weighted.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,default,5,4,10,0,100,0
2,L2,fc,1,1,default,7,10,5,0,60,0
END

# weighted STEPS: prints a schedule with weights included, for 300 bytes and copies of 1 us and 10
# bytes per us.
weighted()
{
    cat <<END
{ "format": "vbslab-schedule-1", "model": "", "planner": "by hand", "request": 1,
  "memory_bytes": 300, "io": "external", "weights": "included",
  "copy": { "source": "given", "latency_us": 1, "bytes_per_us": 10 },
  "predicted": { "time_us": 24, "peak_bytes": 174 }, "steps": [ $1 ] }
END
}

load()
{
    echo "{ \"op\": \"load\", \"layer\": $1, \"part\": $2, \"parts\": $3, \"bytes\": $4$5 }"
}

weighted "$(load 1 1 1 100), $(load 2 1 2 30), $(load 2 2 2 30), $(step 1 1), $(step 2 1)" >copied.json
weighted "$(load 1 1 1 100 ', "resident": true'), $(load 2 1 1 60 ', "resident": true'), \
$(step 1 1), $(step 2 1)" >held.json
weighted "$(step 1 1), $(step 2 1)" >bare.json

# L1's weights come from 0 to 11, L2's to 15 and 19; L1 runs to 16, L2 from 19 to 26.
judges 'time with stalls' 0 'time     26.00 us, ' weighted.csv copied.json
judges 'what weights cost' 0 'copy     19.00 us, 26.3% of it while computing, 160 bytes in 3 copies' \
    weighted.csv copied.json
judges 'how long it computes' 0 'compute  12.00 us' weighted.csv copied.json
judges 'that weights count' 0 'peak     175 bytes in step 5 of 5' weighted.csv copied.json
judges 'residents' 0 'weights  160 bytes resident' weighted.csv held.json
judges 'no copies' 0 'copy     nothing' weighted.csv held.json
judges 'a load that breaks the budget' 3 "schedule breaks its budget of 120 bytes: step 2, load of layer \
'L2', slice 1 of 2, is 10 bytes over; the least budget that works is 175 bytes" \
    weighted.csv copied.json --memory 120
judges 'where' 3 "fits     no, first in step 2 of 5, load of layer 2 'L2', slice 1 of 2 by 10 bytes" \
    weighted.csv copied.json --memory 120
judges 'weights that are not there' 1 \
    "step 1 of 2, layer 1 'L1' at batch 1: its weights are not all in memory" weighted.csv bare.json
run weighted.csv copied.json --json
[ $code -eq 0 ] && [ "$(member out compute_us)" = 12.0 ] && [ "$(member out copy_us)" = 19.0 ] &&
    [ "$(member out copied_bytes)" = 160 ] && [ "$(member out resident_bytes)" = 0 ] &&
    [ "$(member out n_copies)" = 3 ]
report $? 'the verdict as JSON with weights'
run weighted.csv copied.json --json --memory 120
[ $code -eq 3 ] && [ "$(member out op)" = '"load"' ] && [ "$(member out parts)" = 2 ] &&
    [ "$(member out over_bytes)" = 10 ]
report $? 'a load as JSON'
run weighted.csv copied.json --trace -
[ $code -eq 0 ] && [ "$(sed -n 3p out | cut -d, -f1-20)" = '2,2,L2,,,,11,15,0,0,0,130,0,0,1,15,load,1,2,130' ] &&
    [ "$(sed -n 6p out | cut -d, -f1-20)" = '5,2,L2,1,default,0,19,26,10,5,0,175,0,0,1,26,compute,1,1,160' ]
report $? 'a trace with loads'

# --- a schedule that was planned from another profile ---

{ echo '# backend: onednn'; echo '# device: the first machine'; echo '# threads: 2'; cat example.csv; } >first.csv
sed -e 's/first machine/second machine/' -e '$s/,default,[0-9.]*,/,default,9,/' first.csv >second.csv
sed 's/,default,/,winograd,/' second.csv >third.csv
"$VBSLAB" plan first.csv --planner dp-vbs --memory 7 --request 2 --json first.json >out 2>err
hash=$(sed -n 's/.*"hash": "\([0-9a-f]*\)".*/\1/p' first.json)
origin="the schedule was planned from another profile: $hash, onednn on the first machine, threads 2"
run first.csv first.json
[ ${#hash} -eq 32 ] && [ $code -eq 0 ] && [ ! -s err ]
report $? 'the profile that a schedule was planned from says nothing of it'
own=$(echo "$hash" | cut -c1-12)
grep -q "^  profile  content $own: onednn on the first machine, 2 threads\$" out
report $? 'its machine and hash are printed'
run first.csv first.json --json
grep -q "\"hash\": \"$hash\"" out && grep -q '"device": "the first machine"' out
report $? 'in JSON too'
run second.csv first.json
[ $code -eq 0 ] && [ "$(cat err)" = "vbslab: replay: warning: $origin" ] && grep -q '^  fits     yes' out
report $? 'another profile is said to be another, with the device of the first'
run second.csv first.json --quiet
[ $code -eq 0 ] && [ ! -s err ]
report $? 'and not with --quiet'
refuses 'a row that another profile does not have' 1 \
    "the profile has no row with algorithm 'default'; $origin" third.csv first.json
for model in this that; do
    { echo "# model: $model"; cat first.csv; } >$model.csv
done
"$VBSLAB" plan this.csv --planner dp-vbs --memory 7 --request 2 --json this.json >out 2>err
sed -i 's/,default,/,winograd,/' that.csv
refuses 'a row that a profile of another model does not have' 1 \
    "no row with algorithm 'default'; the schedule is for 'this', the profile of 'that'" that.csv this.json

# --- what it refuses ---

refuses 'a trace that cannot be written' 1 'no/trace.csv' example.csv good.json --trace no/trace.csv
refuses 'a schedule of another network' 1 "step 2 of 2, layer 2 'L2 \$(id)' at batch 2: reads up to \
sample 2 of layer 1 'L1', which has finished 1" example.csv early.json
refuses 'no schedule' 2 'needs PROFILE and SCHEDULE.json, got 1 argument' example.csv
sed 's/"time_us": [0-9.]*, "per/"time_us": -1, "per/' good.json >early.json
refuses 'a schedule that predicts a negative time' 1 "early.json: 'predicted.time_us' is out of range" \
    example.csv early.json
refuses 'a schedule that is not there' 1 'missing.json' example.csv missing.json
refuses 'a budget that is no size' 2 'much' example.csv good.json --memory much
refuses 'two results for one stream' 2 'cannot both go to standard output' \
    example.csv good.json --json --trace -
refuses 'two inputs from one stream' 2 'cannot both come from standard input' - -
finish
