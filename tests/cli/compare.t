#!/bin/sh
# The options of compare. A comparison over the default budgets is the same as one for which these
# budgets are given. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB
write_example >example.csv
COMMAND=compare

# --- lists ---

baselines='takes all, or names out of: fbs, fbs-best, greedy-vbs, patch, patch-2d, fusion, fusion-2d'
ours=$("$VBSLAB" planners --json | sed -n 's/^ *"name": "\(.*\)",/\1/p' |
    grep -vxE 'fbs|fbs-best|greedy-vbs|mmcnn|vdnn|joint|(patch|fusion)(-2d)?' | paste -sd , | sed 's/,/, /g')
planners="takes all, or names out of: $ours"
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

# columns FILE: prints the planners of a CSV file in their order, each once.
columns()
{
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "planner") column = i }
        NR > 1 && !seen[$column]++ { printf "%s ", $column }' "$1"
}

run example.csv --request 2 --memory 7 --csv --baselines greedy-vbs,fbs --planners dp-vbs
[ $code -eq 0 ] && [ "$(columns out)" = "fbs greedy-vbs dp-vbs " ]
report $? "chosen planners stand in the order of all"
run example.csv --request 2 --memory 7 --csv --baselines fbs
[ $code -eq 0 ] && [ "$(columns out)" = "fbs $(echo "$ours" | tr -d ,) " ]
report $? "baselines alone leave the other planners"
run example.csv --request 2 --memory 7 --csv --baselines fbs --planners all,dp-vbs
[ $code -eq 0 ] && [ "$(columns out)" = "fbs $(echo "$ours" | tr -d ,) " ]
report $? "all may stand among names"
run example.csv --request 2 --memory 7 --planners all,foo
[ $code -ne 0 ] && one_error "no planner 'foo'"
report $? "of which the wrong one is named"

# --- budgets ---

run example.csv --request 2 --csv
cut -d, -f18 --complement out >default.csv
range=$(awk -F, 'NR == 2 { first = last = $7 } NR > 2 && $7 != last { step = $7 - last; last = $7 }
    END { printf "%d..%d:%d", first, last, step }' out)
run example.csv --request 2 --csv --memory "$range"
cut -d, -f18 --complement out >given.csv
[ $code -eq 0 ] && [ "$(wc -l <given.csv)" -gt 10 ] && cmp -s default.csv given.csv
report $? "the default budgets, $range, give what they give when they are asked for"

# --- noise ---

run example.csv --request 2 --memory 7 --json
[ $code -eq 0 ] && [ "$(member out intervals)" = '"none"' ] &&
    [ "$(member out within_noise | sort -u)" = null ] &&
    [ "$(member out gain_over_fbs_low_percent | sort -u)" = null ]
report $? "a profile without intervals gives none"
awk -F, -v OFS=, 'NR == 1 { print $0 ",mad_us,low_us,high_us,n_runs" }
    NR > 1 { print $0, 0.1, $7 - 0.2, $7 + 0.3, 9 }' example.csv >measured.csv
run measured.csv --request 2 --memory 6..7:1 --csv
cut -d, -f18 --complement out >once.csv
run measured.csv --request 2 --memory 6..7:1 --csv
cut -d, -f18 --complement out >twice.csv
[ $code -eq 0 ] && grep -q ',rows,' once.csv && cmp -s once.csv twice.csv
report $? "the intervals of a profile's rows give intervals of gains, the same every time"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
    NR > 1 && $c["memory_bytes"] == 7 && $c["planner"] == "dp-vbs" {
        low = $c["gain_over_fbs_low_percent"]; high = $c["gain_over_fbs_high_percent"]
        gain = $c["gain_over_fbs_percent"]
        found = low < gain && gain < high && high - low < 10 && $c["within_noise"] == "false" }
    NR > 1 && $c["memory_bytes"] == 6 && $c["planner"] == "fbs" {
        same = $c["gain_over_fbs_low_percent"] == 0 && $c["gain_over_fbs_high_percent"] == 0 }
    END { exit !(found && same) }' once.csv
report $? "around the gain, and from 0 to 0 over itself"
prints "the table shows them" '16.7+-' measured.csv --request 2 --memory 7
prints "and what they come from" 'draws from the intervals of the' measured.csv --request 2 --memory 7

cat >tiny.net <<'END'
model tiny
about one layer
input 3x8x8
conv one out=4 kernel=3 pad=1
END
if "$VBSLAB" backends | grep -q '^onednn  *yes'; then
    id=$("$VBSLAB" measure --quiet tiny.net --backend onednn --batches 1,2 --threads 1 --time-limit 1)
    run "$id" --request 2 --json
    [ $code -eq 0 ] && [ "$(member out intervals)" = '"rows"' ] &&
        [ "$(member out gain_over_fbs_low_percent | sort -u)" != null ]
    report $? "a measured profile has posterior times, whose own intervals count"
    run example.csv --request 2 --memory 7 --judge "$id"
    [ $code -eq 1 ] && one_error "another network"
    report $? "samples of a judge that does not fit are not asked for"
    "$VBSLAB" profiles export "$id" tiny.csv
    run tiny.csv --judge "$id" --request 2 --json
    [ $code -eq 0 ] && [ "$(member out intervals)" = '"rows"' ] && [ "$(member out self_judged)" = true ]
    report $? "so have those of the judge"
    run "$id" --judge tiny.csv --request 2 --json
    [ $code -eq 0 ] && [ "$(member out intervals)" = '"rows"' ]
    report $? "and not those of the other"
    id=$("$VBSLAB" --db other.sqlite profiles import tiny.csv)
    run "$id" --request 2 --json --db other.sqlite
    [ $code -eq 0 ] && [ "$(member out intervals)" = '"rows"' ]
    report $? "an imported profile has no samples"
else
    skip "a measured profile has posterior times, whose own intervals count" "there is no oneDNN"
fi

# --- latency and time limit ---

refuses "a latency of nothing" 2 "--latency-us '0'" example.csv --latency-us 0
refuses "a time limit of nothing" 2 "--time-limit '0'" example.csv --time-limit 0
refuses "a time limit of words" 2 "--time-limit 'long'" example.csv --time-limit long
run example.csv --request 2 --memory 12..40:28 --io resident --latency-us 17.5
[ $code -eq 3 ] && [ "$(cat err)" = "vbslab: compare: no planner answers within 17.5 us in any \
memory; the least latency that works is 18 us, with fbs" ] && grep -q '^least budget that fits: fbs none that answers' out
report $? "a latency that no planner keeps is infeasible, and says what could be kept"
refuses "also without budgets" 3 "the least latency that works is 18 us, with fbs" \
    example.csv --request 2 --io resident --latency-us 17.5
run example.csv --request 2 --memory 12..40:28 --io resident --latency-us 18 --time-limit 5 --json
[ $code -eq 0 ] && [ "$(member out latency_bound_us)" = 18.0 ] &&
    [ "$(member out latency_us | sort -u)" = 18.0 ]
report $? "one that can be kept is kept"
run example.csv --request 2 --memory 12 --io resident --latency-us 17 --csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
    NR > 1 { n++; right += $c["least_bytes"] == "" && $c["least_latency_us"] == 18 }
    END { exit !(n > 0 && n == right) }' out
report $? "in CSV the least budget is empty and the least latency is told"

# --- the search of optimal ---

SQUEEZENET=$ROOT/db/profiles/squeezenet-v1.0-a.csv

# searches NAME OPTIONS...: puts the times and gaps of optimal into NAME.csv.
searches()
{
    name=$1
    shift
    run "$SQUEEZENET" --baselines fbs --planners optimal --memory 12MiB --request 6 --csv "$@"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
        $c["planner"] == "optimal" { print $c["per_sample_us"], $c["gap_percent"] }' out >"$name.csv"
}

searches many --node-limit 20000 --seed 3
searches again --node-limit 20000 --seed 3
[ $code -eq 0 ] && [ -s many.csv ] && cmp -s many.csv again.csv
report $? "a limit of states gives the same plan every time"
"$VBSLAB" plan "$SQUEEZENET" --planner optimal --memory 12MiB --request 6 --node-limit 20000 --seed 3 --json plan.json >out
[ "$(cut -d' ' -f1 many.csv)" = "$(sed -n 's/.*"per_sample_us": \([0-9.]*\).*/\1/p' plan.json)" ]
report $? "which is that of plan with the same limit and seed"
searches few --node-limit 1000 --seed 3
awk 'NR == FNR { time = $1; gap = $2; next } { exit !($1 <= time && $2 < gap) }' few.csv many.csv
report $? "more states prove more"
searches other --node-limit 20000 --seed 0
[ -s other.csv ] && ! cmp -s many.csv other.csv
report $? "another seed finds another plan"
for option in --seed --node-limit; do
    refuses "$option without optimal" 2 "$option is for planner optimal, which is not compared" \
        example.csv --planners dp-vbs --memory 7 $option 5
done
refuses "a limit of no states" 2 "--node-limit 0 is out of range" example.csv --planners optimal --node-limit 0

for place in 'compare:search at each of the budgets after' 'frontier:searches for each of its budgets' \
    'plan:end the search for a plan after'; do
    "$VBSLAB" ${place%%:*} --help | tr -s ' \n' '  ' | grep -qF "${place#*:}"
    report $? "help of ${place%%:*} says what a time limit bounds"
done

# --- interrupted ---

# The second profile is a pipe that stays empty: when it is opened, the first profile is done.
mkfifo never.csv
env --default-signal=INT "$VBSLAB" compare example.csv never.csv --request 2 --memory 7 --csv >out 2>err &
pid=$!
exec 4>never.csv
kill -INT $pid
exec 4>&- # so that no process waits for ever
wait $pid
code=$?
[ $code -eq 130 ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -qx 'vbslab: compare: interrupted; 1 of 2 profiles are compared' err
report $? "an interrupted comparison says how far it came"
"$VBSLAB" compare example.csv --request 2 --memory 7 --csv | cut -d, -f18 --complement >whole.csv
cut -d, -f18 --complement out | cmp -s - whole.csv
report $? "and prints what is finished"

# --- units ---

awk -F, -v OFS=, 'NR > 1 { for (i = 8; i <= 10; i++) $i *= 1000 } { print }' example.csv >thousands.csv
run thousands.csv --request 2 --memory 7000..9000:1000
grep -q '^ *kB ' out && grep -q '^largest gain: .* over fbs ([789] kB)' out
report $? "the largest gain is told in the unit of the table"

# --- a dash that is meant as standard output ---

for form in csv json; do
    run example.csv --request 2 --memory 7 --$form - </dev/null
    [ $code -eq 1 ] && one_error "no header" &&
        grep -q "; '-' is a PROFILE, read from standard input: --$form takes no file and prints to standard output" err
    report $? "--$form -: '-' is a profile, and the message says what to leave out"
done
"$VBSLAB" compare example.csv --request 2 --memory 7 --csv - <example.csv >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(grep -c '^0,0,true' out)" -eq 14 ]
report $? "a profile from standard input is compared beside another"
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    on_terminal "'$VBSLAB' compare example.csv --csv -"
    [ $code -eq 2 ] && tr -s '\r\n ' ' ' <out | grep -q 'which is a terminal: --csv takes no file'
    report $? "nobody is waited for at a terminal"
else
    skip "nobody is waited for at a terminal" "there is no script(1)"
fi

finish
