#!/bin/sh
# What compare may be asked, and that a comparison over the default budgets is the same as over
# those budgets given. VBSLAB: the program.
. "$(dirname "$0")/cli_lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB
write_example >example.csv
COMMAND=compare

# --- lists ---

baselines='takes all, or names out of: fbs, fbs-best, greedy-vbs'
planners='takes all, or names out of: dp-vbs'
refuses "a planner as a baseline" 2 "'dp-vbs' is no baseline; --baselines $baselines" \
    example.csv --baselines fbs,dp-vbs
refuses "a baseline as a planner" 2 "'fbs' is a baseline; --planners $planners" \
    example.csv --planners fbs
for list in '' , ,,; do
    refuses "baselines '$list'" 2 "--baselines names no planner; it $baselines" \
        example.csv --baselines "$list"
    refuses "planners '$list'" 2 "--planners names no planner; it $planners" \
        example.csv --planners "$list"
    refuses "plots '$list'" 2 "--plot names no file; write one or more that end in .svg, .png" \
        example.csv --plot "$list"
done

# columns FILE: the planners of a CSV in their order, each once.
columns()
{
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "planner") column = i }
        NR > 1 && !seen[$column]++ { printf "%s ", $column }' "$1"
}

run example.csv --request 2 --memory 7 --csv --baselines greedy-vbs,fbs --planners dp-vbs
[ $code -eq 0 ] && [ "$(columns out)" = "fbs greedy-vbs dp-vbs " ]
report $? "chosen planners stand in the order of all"
run example.csv --request 2 --memory 7 --csv --baselines fbs
[ $code -eq 0 ] && columns out | grep -q '^fbs dp-vbs '
report $? "baselines alone leave the other planners"

# --- budgets ---

run example.csv --request 2 --csv
cut -d, -f1-17,19 out >default.csv
range=$(awk -F, 'NR == 2 { first = last = $7 } NR > 2 && $7 != last { step = $7 - last; last = $7 }
    END { printf "%d..%d:%d", first, last, step }' out)
run example.csv --request 2 --csv --memory "$range"
cut -d, -f1-17,19 out >given.csv
[ $code -eq 0 ] && [ "$(wc -l <given.csv)" -gt 10 ] && cmp -s default.csv given.csv
report $? "the default budgets, $range, give what they give when they are asked for"
finish
