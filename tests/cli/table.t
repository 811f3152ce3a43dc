#!/bin/sh
# dp-vbs --table STEP on the command line. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

write_example >example.csv
plan='plan example.csv --planner dp-vbs --request 2'
curve='frontier example.csv --planner dp-vbs --request 2 --csv -'

# --- what it does ---

prints "a plan of VBS III in steps of a byte" "10.00 us per sample" \
    $plan --table 1 --memory 7 --io resident
prints "which is a schedule of dp-vbs" '"planner": "dp-vbs"' \
    $plan --table 1 --memory 7 --io resident --json -
run $curve --table 1
cp out table.csv
run $curve
[ $code -eq 0 ] && [ -s out ] && cmp -s out table.csv
report $? "in steps of a byte the frontier is that without --table"
run $curve --table 5
[ $code -eq 0 ] && awk -F, 'NR > 1 && $1 % 5 { exit 1 } END { exit NR < 3 }' out
report $? "in steps of 5 bytes it changes at multiples of 5"
run $plan --table 2 --memory 9 --json nine.json
run replay example.csv nine.json
[ $code -eq 0 ] && grep -q 'fits' out
report $? "the replay accepts a plan"
prints "the help of plan tells of it" "--table STEP" plan --help
prints "the help of frontier too" "--table STEP" frontier --help

# --- what it refuses ---

refuses "a budget that is too small in steps" 3 "the least budget is 8 bytes" \
    $plan --table 2 --memory 7 --io resident
for step in 0 0MiB; do
    refuses "steps of $step" 2 "--table '$step' is no step; write for example 2MB" \
        $plan --memory 7 --table $step
    refuses "a frontier in steps of $step" 2 "--table '$step' is no step" $curve --table $step
done
for step in -1 '' 2M none; do
    refuses "steps of '$step'" 2 "'$step' is not a size" $plan --memory 7 --table "$step"
    refuses "a frontier in steps of '$step'" 2 "'$step' is not a size" $curve --table "$step"
done
refuses "steps above the budget" 2 "--table 8 is more than --memory 7" $plan --table 8 --memory 7
refuses "steps that no budget of 63 bits has enough of" 2 "too large for a table" \
    $curve --table 9223372036854775807 --request 3 --io resident
for planner in fbs fbs-best greedy-vbs dp-vbs+; do
    refuses "tables of $planner" 2 "--table is for planner dp-vbs; $planner has no tables" \
        plan example.csv --planner $planner --memory 7 --table 1
done
refuses "tables of a comparison" 2 "unknown option '--table'" compare example.csv --table 1

finish
