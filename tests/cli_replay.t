#!/bin/sh
# The replay command: verdicts, forms of output, exit codes. VBSLAB: the program.
: "${VBSLAB:?}"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0

# check NAME CODE WANTED-PART-OF-OUTPUT ARGUMENTS...: runs the command, standard output and error.
check()
{
    name=$1 code=$2 part=$3
    shift 3
    n=$((n + 1))
    got=$("$VBSLAB" --db "$dir/none.sqlite" replay "$@" 2>&1)
    status=$?
    case $got in
    *"$part"*) found=1 ;;
    *) found=0 ;;
    esac
    if [ $status -eq "$code" ] && [ $found -eq 1 ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        printf 'exit code %s, want %s and "%s"\n%s\n' "$status" "$code" "$part" "$got" | sed 's/^/# /'
    fi
}

cat >"$dir/example.csv" <<END
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,default,4,1,1,1,0,0
1,L1,conv,0,2,default,6,2,2,2,0,0
2,"L2 \$(id)",conv,1,1,default,4,1,1,4,0,0
2,"L2 \$(id)",conv,1,2,default,6,2,2,8,0,0
3,L3,conv,2,1,default,4,1,1,1,0,0
3,L3,conv,2,2,default,6,2,2,2,0,0
END

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
schedule 20.0 "$whole" >"$dir/good.json"
schedule 25.0 "$whole" >"$dir/hoped.json"
schedule 20.0 "$(step 1 1), $(step 2 2)" >"$dir/early.json"

check 'a schedule that fits' 0 'fits   yes, with 0 B to spare' "$dir/example.csv" "$dir/good.json"
check 'the peak and where it is' 0 "peak   7 B in step 2 of 4, layer 2 'L2 \$(id)' at batch 1" \
    "$dir/example.csv" "$dir/good.json"
check 'another budget' 0 'fits   yes, with 1 B to spare' \
    "$dir/example.csv" "$dir/good.json" --memory 8
check 'a prediction that was met is not mentioned' 0 '0 B to spare' "$dir/example.csv" "$dir/good.json"
case $got in
*predicted*) echo "not ok $((n + 1)) - and really is not" ;;
*) echo "ok $((n + 1)) - and really is not" ;;
esac
n=$((n + 1))
check 'a prediction that was missed is' 0 'time was predicted as 0.025 ms, replayed as 0.02 ms' \
    "$dir/example.csv" "$dir/hoped.json"
check 'a budget that is broken' 3 "breaks its budget of 6 B: step 2, layer 'L2 \$(id)' at batch 1, is \
1 B over; the least budget that works is 7 bytes" "$dir/example.csv" "$dir/good.json" --memory 6
check 'the first step above it' 3 "fits   no, first in step 1 of 4, layer 1 'L1' at batch 2 by 1 B" \
    "$dir/example.csv" "$dir/good.json" --memory 5
check 'the verdict as JSON' 0 '"peak_bytes": 7,' "$dir/example.csv" "$dir/good.json" --json
check 'a broken budget as JSON' 3 '"over_bytes": 2' "$dir/example.csv" "$dir/good.json" --json \
    --memory 4
check 'a trace' 0 '2,2,L2 $(id),1,default,0,6,10,2,1,4,7,2,0' \
    "$dir/example.csv" "$dir/good.json" --trace -
check 'a trace in a file' 0 '0 B to spare' "$dir/example.csv" "$dir/good.json" \
    --trace "$dir/trace.csv"
n=$((n + 1))
if [ "$(wc -l <"$dir/trace.csv")" -eq 5 ]; then
    echo "ok $n - with a row for every step"
else
    echo "not ok $n - with a row for every step"
fi
check 'a trace that cannot be written' 1 'no/trace.csv' "$dir/example.csv" "$dir/good.json" \
    --trace "$dir/no/trace.csv"
check 'a schedule of another network' 1 "step 2 of 2, layer 2 'L2 \$(id)' at batch 2: reads up to \
sample 2 of layer 1 'L1', which has finished 1" "$dir/example.csv" "$dir/early.json"
check 'no schedule' 2 'needs PROFILE and SCHEDULE.json, got 1 argument' "$dir/example.csv"
check 'a schedule that is not there' 1 'missing.json' "$dir/example.csv" "$dir/missing.json"
check 'a budget that is no size' 2 'much' "$dir/example.csv" "$dir/good.json" --memory much
check 'two results for one stream' 2 'cannot both go to standard output' "$dir/example.csv" \
    "$dir/good.json" --json --trace -
check 'two inputs from one stream' 2 'cannot both come from standard input' - -
echo "1..$n"
