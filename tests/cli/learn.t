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

measures "--no-learning" --no-learning --time-limit 1
! grep -q 'executed' err
report $? "without learning no schedule is executed"
measures "with learning" --time-limit 3
grep -q 'executed' err
report $? "with learning it says what was executed"
"$VBSLAB" --quiet profiles show "$id" >out 2>err && grep -q 'schedules\{0,1\} executed' out
report $? "and the notes of the profile say so, too"

before=$(count)
"$VBSLAB" run $MODEL --memory 200KiB --request 6 --threads 1 --runs 3 --learn 2 >out 2>err
code=$?
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
refused "--learn with weights included" --memory 1MiB --weights included --learn 1
refused "--learn with a schedule" --schedule s.json --learn 1
[ "$(count)" -eq $((before + 1)) ]
report $? "refused commands leave no profile"
finish
