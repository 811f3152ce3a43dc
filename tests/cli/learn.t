#!/bin/sh
# Learning from execution: `measure` executes schedules or not, `run --learn` does before it runs, and
# keeps what it learned in the store. Times are never judged. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

MODEL=lenet-5

# count: prints the number of profiles.
count()
{
    "$VBSLAB" profiles --json 2>/dev/null | grep -c '"complete": *true'
}

# measures NAME OPTION...: a measurement prints one id, and its profile can be planned with.
measures()
{
    name=$1
    shift
    "$VBSLAB" measure $MODEL --batches 1-3 --threads 1 --no-copies "$@" >out 2>err
    code=$?
    id=$(cat out)
    [ $code -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] && [ "$id" -gt 0 ]
    report $? "measure $name prints one id"
    "$VBSLAB" --quiet profiles export "$id" out.csv >/dev/null 2>>err && grep -q '^1,' out.csv
    report $? "the profile is complete"
    "$VBSLAB" --quiet plan "$id" --memory 200KiB --request 6 >out 2>>err
    report $? "there are plans from it"
}

# learns SECONDS OPTION...: runs and learns; where the time was too short to execute anything, again
# with twice the time.
learns()
{
    seconds=$1
    shift
    "$VBSLAB" run "$@" --learn "$seconds" >out 2>err
    code=$?
    if grep -q 'the time is too short' err && [ "$seconds" -lt 1000 ]; then
        learns $((2 * seconds)) "$@"
    fi
}

measures "--no-learning" --no-learning --time-limit 1
! grep -q 'executed' err
report $? "without learning no schedule is executed"
for seconds in 3 12 48; do
    measures "with learning in $seconds seconds" --time-limit $seconds
    grep -q 'no schedule was executed, there was no time for it' err || break
done
grep -q 'executed' err
report $? "with learning it says what was executed"
"$VBSLAB" --quiet profiles show "$id" >out 2>err && grep -q 'schedules\{0,1\} executed' out
report $? "and the notes of the profile say so, too"

before=$(count)
learns 2 $MODEL --memory 200KiB --request 6 --threads 1 --runs 3
[ $code -eq 0 ] && grep -q 'what was learned is profile' err && grep -q 'executed by turns' err
report $? "run --learn executes schedules by turns, and runs the fastest"
learned=$(sed -n 's/.*what was learned is profile \([0-9]*\).*/\1/p' err)
[ "$(count)" -eq $((before + 1)) ]
report $? "the store has one profile more"
"$VBSLAB" --quiet run "$learned" --memory 200KiB --request 6 --threads 1 --runs 3 >out 2>err
report $? "the learned profile can be run"

# refused NAME OPTION...: exit code 2, and one line.
refused()
{
    name=$1
    shift
    "$VBSLAB" --quiet run $MODEL --request 6 "$@" >out 2>err
    code=$?
    [ $code -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -e '--learn' err
    report $? "$name is refused: $(cat err)"
}

"$VBSLAB" --quiet plan "$learned" --memory 200KiB --request 6 --json s.json >out 2>err
report $? "a schedule from it"
refused "--learn 0" --memory 200KiB --learn 0
refused "--learn -1" --memory 200KiB --learn=-1
refused "--learn x" --memory 200KiB --learn x
refused "--learn without a budget of its own" --total-memory 200MiB --weights included --learn 1
refused "--learn with copies at a made-up rate" --memory 1MiB --weights included --copy-rate 1GB --learn 1
refused "--learn with copies that take a made-up time" --memory 1MiB --weights included \
    --copy-latency 1 --learn 1
refused "--learn with a schedule" --schedule s.json --learn 1
[ "$(count)" -eq $((before + 1)) ]
report $? "refused commands leave no profile"

# Weights inside the budget. Most of them are in the last layer.
cat >inside.net <<END
model inside
input 3x10x10
conv c1 out=16 kernel=3 pad=1
fc f out=20
END
FEW="--weights included --request 2 --threads 1 --runs 1"

# newest: prints the id of the newest profile.
newest()
{
    "$VBSLAB" profiles --json 2>/dev/null | sed -n 's/.*"id": *\([0-9]*\).*/\1/p' | sort -n | tail -n 1
}

# Every word of FEW is an option.
# shellcheck disable=SC2086
{
    "$VBSLAB" run inside.net $FEW --memory 40KiB >out 2>err
    code=$?
    [ $code -eq 0 ] && grep -q 'measuring it first' err && grep -q 'inside: executed in 40 KiB: ' err &&
        grep -q 'weights included' out
    report $? "run executes schedules with weights inside when it measures a network"
    inside=$(newest)
    before=$(count)
    learns 2 inside.net $FEW --memory 40KiB
    [ $code -eq 0 ] && grep -q 'executed by turns; .*the plan of mmcnn' err && grep -q 'weights included' out
    report $? "run --learn does so, beside what fits"
    [ "$(count)" -eq $((before + 1)) ]
    report $? "and keeps what it learned"
    id=$(newest)
    for p in "$inside" "$id"; do
        "$VBSLAB" --quiet profiles export "$p" "$p.csv" >/dev/null 2>>err
        grep '^# copy: \|^# beside: ' "$p.csv" >"$p.copies"
    done
    [ -s "$id.copies" ] && cmp -s "$inside.copies" "$id.copies"
    report $? "with the copies as they were measured"
    learns 2 inside.net $FEW --memory 1MiB --json
    [ $code -eq 0 ] && grep -q '"weights": "included"' out && grep -q 'executed by turns; ' err
    report $? "--json prints the result alone, and notes what was executed"

    before=$(count)
    "$VBSLAB" --quiet run inside.net $FEW --memory 4KiB --learn 1 >out 2>err
    code=$?
    [ $code -eq 3 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'the weights take' err
    report $? "a budget far below the weights is too small: $(cat err)"
    "$VBSLAB" --quiet run inside.net $FEW --memory 40KiB --copy nowhere --learn 1 >out 2>err
    code=$?
    [ $code -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'no copies from .nowhere' err
    report $? "a source that the profile does not have is refused: $(cat err)"
    "$VBSLAB" --quiet measure inside.net --batches 1-2 --threads 1 --no-copies --no-learning \
        --time-limit 1 >out 2>err
    bare=$(cat out)
    "$VBSLAB" --quiet run "$bare" --model inside.net $FEW --memory 40KiB --learn 1 >out 2>err
    code=$?
    [ $code -eq 3 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'has no copies' err
    report $? "without copies all weights must fit: $(cat err)"
    [ "$(count)" -eq $((before + 1)) ]
    report $? "and what failed leaves no profile"
    learns 2 "$bare" --model inside.net $FEW --memory 1MiB
    [ $code -eq 0 ] && grep -q 'executed by turns' err && grep -q 'KiB resident' out
    report $? "where they do, they are resident, and schedules are executed"
}

sed 's/inside/other/' inside.net >other.net
# shellcheck disable=SC2086
"$VBSLAB" run other.net $FEW --memory 40KiB --copy nowhere >out 2>err
code=$?
[ $code -eq 2 ] && grep -q 'other: profile [0-9]*: ' err && grep -q 'no copies from .nowhere' err
report $? "a network that is measured for a source that is not there has its profile nevertheless"
finish
