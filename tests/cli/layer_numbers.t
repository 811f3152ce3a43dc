#!/bin/sh
# A layer has one number in all outputs: in `models show`, in a profile, its plans and their replay. Over
# all built-in networks with the analytic backend, which leaves concats out, and over all profiles of
# db/profiles, which were measured. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB

# pairs COLUMN NAME_COLUMN [FILE]: prints lines "NUMBER NAME" of a CSV file with comments, each once.
pairs()
{
    awk -F, -v number="$1" -v name="$2" '/^#/ { next } !head++ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at[number] != "" { print $at[number], $at[name] }' ${3:+"$3"} | sort -u
}

# same NAME: checks that expected and found have the same lines, and more than one.
same()
{
    [ "$(wc -l <expected)" -gt 1 ] && cmp -s expected found || { diff expected found | head >err; false; }
    report $? "$1"
}

n_renumbered=0
for model in $("$VBSLAB" models --csv | sed '1d; s/,.*//'); do
    "$VBSLAB" models show $model --csv >show.csv
    pairs analytic_layer name show.csv >expected
    # Members of layers, not of the operators that are fused with them: the name, then the number.
    "$VBSLAB" models show $model --json |
        sed -n 's/^      "\(name\|analytic_layer\)": "*\([^",]*\).*/\2/p' |
        paste -d ' ' - - | awk '$2 != "null" { print $2, $1 }' | sort -u >found
    same "$model: analytic numbers in JSON and CSV"
    if awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                $at["analytic_layer"] == "" { found = 1 } END { exit !found }' show.csv; then
        n_renumbered=$((n_renumbered + 1))
        "$VBSLAB" models show $model |
            awk 'NR > 1 && /^$/ { exit } NR > 1 && $2 != "in" && $NF != "-" { print $NF, $2 }' | sort -u >found
        same "$model: analytic numbers in the table"
    fi
    id=$("$VBSLAB" measure $model --backend analytic --batches 1 --quiet)
    "$VBSLAB" profiles export $id profile.csv
    pairs layer name profile.csv >found
    same "$model: numbers in the profile"
    "$VBSLAB" profiles show $id | awk '/^layer / { table = 1; next } table && $2 != "in" { print $1, $2 }' | sort -u >found
    same "$model: numbers in 'profiles show'"
    "$VBSLAB" plan $id --planner fbs --memory 1GiB --request 1 --json plan.json >plan.txt
    sed -n 's/.*"layer": \([0-9]*\), "name": "\([^"]*\)".*/\1 \2/p' plan.json | sort -u >found
    same "$model: numbers in the plan's JSON"
    awk '/^layer / { table = 1; next } table && $2 != "in" { print $1, $2 }' plan.txt | sort -u >found
    same "$model: numbers in the plan's table"
    "$VBSLAB" replay $id plan.json --trace trace.csv >/dev/null
    pairs layer name trace.csv >found
    same "$model: numbers in the trace of a replay"
done
[ $n_renumbered -ge 2 ]
report $? "some networks have concats"

for file in "$ROOT"/db/profiles/*.csv; do
    "$VBSLAB" models show $(sed -n 's/^# model: //p' "$file") --csv >show.csv
    pairs layer name show.csv >expected
    pairs layer name "$file" >found
    same "measured, $(basename "$file"): the network's numbers"
done

finish
