#!/bin/sh
# compare --execute: schedules are executed by turns, each once. The network is small and measured
# here; no check depends on a time. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=
VBSLAB_DB=store.sqlite
export VBSLAB_DB

cat >mine.net <<'END_OF_NET'
model mine
input 3x16x16
conv      c1 out=32 kernel=3 pad=1
relu      r1
conv      c2 out=32 kernel=3 pad=1
relu      r2
maxpool   p kernel=2 stride=2
fc        left out=10
softmax   prob
END_OF_NET

"$VBSLAB" --quiet measure ./mine.net --batches 1-4 --time-limit 1 >out 2>err
code=$?
[ $code -eq 0 ]
report $? "a small network is measured"

# executes NAME ARGUMENTS...: compares and executes for as few turns as there can be.
executes()
{
    name=$1
    shift
    run --quiet compare 1 --model ./mine.net --execute 0.001 "$@"
    [ $code -eq 0 ] && [ ! -s err ]
    report $? "$name"
}

# column FILE NAME: prints the column of a CSV file of this name. Texts with commas stand in the middle:
# columns of what was executed are counted from the end.
column()
{
    awk -F, -v name="$2" 'NR == 1 { n = NF; for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        { print !at ? "no column" : name == "feasible" ? $at : $(NF - n + at) }' "$1"
}

# --- refusals ---

COMMAND=compare
refuses "two profiles" 2 "--execute executes one PROFILE, got 2" 1 1 --execute 1
for seconds in 0 -1 x 1e9; do
    refuses "'$seconds' seconds" 2 "--execute" 1 --execute "$seconds"
done
COMMAND=
"$VBSLAB" --quiet measure ./mine.net --backend analytic --batches 1,2 >out 2>err
analytic=$(cat out)
COMMAND=compare
refuses "a network that nothing executes" 2 "--model names the network to execute" 1 --model ./mine.net
refuses "a profile that is modelled" 1 "which models times and runs nothing" "$analytic" --execute 1
COMMAND=

# --- one schedule ---

executes "all schedules of one sample are the same" --memory 1MiB --request 1 --csv
mv out one.csv
[ "$(column one.csv executed_us_per_sample | sort -u | grep -c '^[0-9.e+-]*$')" -eq 1 ]
report $? "and executed once"
[ "$(column one.csv n_turns | sort -u | wc -l)" -eq 1 ] && [ "$(column one.csv n_turns | head -n 1)" -ge 6 ]
report $? "in six turns or more"
for name in fbs fbs_best; do
    for end in '' _low _high; do
        column one.csv "executed_gain_over_$name${end}_percent"
    done
done | sort -u >gains
[ "$(cat gains)" = 0 ]
report $? "without any gain"
executes "a table of them" --memory 1MiB --request 1
[ "$(tail -n 1 out)" = "no other steps than those of fbs-best at 1 MiB" ] && grep -q 'by turns: [0-9]* turns, time per sample in [mu]s$' out
report $? "says so in its last line"

# --- several schedules ---

executes "baselines are executed, whether or not they are compared" --memory 160KiB..640KiB:160KiB \
    --request 4 --csv --baselines greedy-vbs --planners dp-vbs,dp-vbs+
mv out two.csv
column two.csv feasible >feasible
column two.csv n_turns >turns
column two.csv executed_gain_over_fbs_best_low_percent >low
paste -d, feasible turns low >rows
[ "$(grep -c '^true,[1-9][0-9]*,[-0-9]' rows)" -ge 4 ]
report $? "with gains over them"
[ "$(grep -c '^false,0,$' rows)" -ge 1 ]
report $? "planners without a plan have none"
[ "$(grep -vc '^true,[1-9][0-9]*,[-0-9]\|^false,0,$' rows)" -eq 0 ]
report $? "every plan is executed, and nothing else"
executes "JSON" --memory 512KiB --request 4 --json
[ "$(member out n_turns | sort -u | grep -c .)" -ge 1 ] && member out executed_us_per_sample | grep -q '[0-9]'
report $? "has the executed times"
executes "the table has both" --memory 512KiB --request 4
grep -q '^  memory .* time  *time ' out && grep -q 'predicted  *executed' out
report $? "times, predicted and executed"
! grep -q '.\{101\}' out
report $? "in 100 columns"
tail -n 3 out | grep -qE '^(faster|slower) than fbs-best as executed|^the machine cannot tell|^no other steps'
report $? "the last line compares with fbs-best"
if command -v gnuplot >/dev/null; then
    executes "a picture" --memory 512KiB --request 4 --plot p.svg --plot-data \
        --planners dp-vbs --baselines fbs
    [ "$(head -n 1 p.svg.csv)" = "memory_KiB,bound,fbs,dp-vbs,model,fbs executed,fbs executed low,fbs executed high,dp-vbs executed,dp-vbs executed low,dp-vbs executed high" ] &&
        [ "$(sed -n 2p p.svg.csv | cut -d, -f6-11 | grep -c '^[0-9.,e+]*$')" -eq 1 ] &&
        [ "$(sed -n 3p p.svg.csv | cut -d, -f6-11)" = NaN,NaN,NaN,NaN,NaN,NaN ]
    report $? "has what was executed"
else
    skip "a picture" "gnuplot is not installed"
fi

# --- placing ---

# A plan that cannot be placed is planned again for less, as by run.
"$VBSLAB" --quiet profiles export 1 mine.csv
run --quiet run mine.csv --model ./mine.net --planner dp-vbs+ --memory 200KiB --request 4 --runs 1 --json
predicted=$(member out time_us | head -n 1)
run --quiet compare mine.csv --model ./mine.net --memory 200KiB --request 4 --baselines fbs --planners dp-vbs+ \
    --execute 0.001 --csv
[ $code -eq 0 ] && awk -v a="$predicted" -v b="$(column out executed_predicted_us_per_sample | tail -n 1)" \
    'BEGIN { exit !(a > 0 && (a / 4 - b) ^ 2 <= (1e-9 * b) ^ 2) }'
report $? "what is predicted of the executed schedule is what run predicts"

# --- without ---

run --quiet compare 1 --memory 512KiB --request 4 --csv
[ $code -eq 0 ] && ! grep -q 'executed\|n_turns' out
report $? "without --execute there are no such columns"
run --quiet compare 1 --memory 512KiB --request 4 --json
[ $code -eq 0 ] && ! grep -q 'executed\|n_turns' out
report $? "and no such keys"

finish
