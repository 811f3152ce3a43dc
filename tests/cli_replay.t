#!/bin/sh
# The replay command: verdicts, forms of output, exit codes. VBSLAB: the program.
. "$(dirname "$0")/cli_lib.sh"
COMMAND=replay

# judges NAME CODE WANTED-PART ARGUMENTS...: that exit code and part, on either stream.
judges()
{
    name=$1 want=$2 part=$3
    shift 3
    run "$@"
    [ $code -eq "$want" ] && cat out err | grep -qF -- "$part"
    report $? "$name"
}

write_example | sed 's/,L2,/,"L2 $(id)",/' >example.csv

# schedule PREDICTED-US STEPS: the example of VBS III with these steps.
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

judges 'a schedule that fits' 0 'fits   yes, with 0 bytes to spare' example.csv good.json
judges 'the peak and where it is' 0 "peak   7 bytes in step 2 of 4, layer 2 'L2 \$(id)' at batch 1" \
    example.csv good.json
judges 'another budget' 0 'fits   yes, with 1 byte to spare' example.csv good.json --memory 8
run example.csv good.json
[ $code -eq 0 ] && ! grep -q predicted out
report $? 'a prediction that was met is not mentioned'
judges 'a prediction that was missed is' 0 \
    'time was predicted as 0.025 ms, replayed as 0.02 ms' example.csv hoped.json
judges 'a budget that is broken' 3 "breaks its budget of 6 bytes: step 2, layer 'L2 \$(id)' at batch 1, \
is 1 byte over; the least budget that works is 7 bytes" example.csv good.json --memory 6
judges 'the first step above it' 3 "fits   no, first in step 1 of 4, layer 1 'L1' at batch 2 by 1 byte" \
    example.csv good.json --memory 5
judges 'the verdict as JSON' 0 '"peak_bytes": 7,' example.csv good.json --json
judges 'a broken budget as JSON' 3 '"over_bytes": 2' example.csv good.json --json --memory 4
judges 'a trace' 0 '2,2,L2 $(id),1,default,0,6,10,2,1,4,7,2,0' example.csv good.json --trace -
judges 'a trace in a file' 0 '0 bytes to spare' example.csv good.json --trace trace.csv
[ "$(wc -l <trace.csv)" -eq 5 ]
report $? 'with a row for every step'
refuses 'a trace that cannot be written' 1 'no/trace.csv' example.csv good.json --trace no/trace.csv
refuses 'a schedule of another network' 1 "step 2 of 2, layer 2 'L2 \$(id)' at batch 2: reads up to \
sample 2 of layer 1 'L1', which has finished 1" example.csv early.json
refuses 'no schedule' 2 'needs PROFILE and SCHEDULE.json, got 1 argument' example.csv
refuses 'a schedule that is not there' 1 'missing.json' example.csv missing.json
refuses 'a budget that is no size' 2 'much' example.csv good.json --memory much
refuses 'two results for one stream' 2 'cannot both go to standard output' \
    example.csv good.json --json --trace -
refuses 'two inputs from one stream' 2 'cannot both come from standard input' - -
finish
