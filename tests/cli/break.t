#!/bin/sh
# Commands are interrupted by Ctrl-C, by the terminal and by kill -9, while they measure and while
# they plan; later commands resume their work. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# A small network that takes long to measure: hundreds of kernels of a few microseconds each.
MODEL=resnet-56-cifar
HOW="$MODEL --backend onednn --batches 1-8 --threads 1 --no-copies"
LONG="measure $HOW --time-limit 600"
SHORT="measure $HOW --time-limit 0.1"

# has_handler PID: whether the program catches SIGINT, the second of the signals.
has_handler()
{
    grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status" 2>/dev/null
}

# is_asleep PID: whether the program waits for something.
is_asleep()
{
    grep -q '^State:.S' "/proc/$1/status" 2>/dev/null
}

# breaks_off STORE SIGNAL: measures, and sends the signal once there are samples. A job in the
# background ignores SIGINT; this program must not.
breaks_off()
{
    env --default-signal=INT "$VBSLAB" --db "$1" $LONG >out 2>err &
    pid=$!
    wait_until $pid has_samples "$1" && kill -"$2" $pid
    { wait $pid; } 2>/dev/null
    code=$?
}

# goes_on STORE ID: the next measurement keeps the samples that are there.
goes_on()
{
    run --db "$1" $SHORT
    [ $code -eq 0 ] && [ "$(cat out)" = "$2" ] && grep -q ' (resumed)' err
    report $? "the next measurement goes on, and says so"
    run --db "$1" profiles
    [ $code -eq 0 ] && [ "$(grep -c ' complete$' out)" -eq "$2" ] && ! grep -q unfinished out
    report $? "and finishes the profile"
    run --db "$1" plan $MODEL --planner dp-vbs --memory 4MiB --request 4
    [ $code -eq 0 ] && [ ! -s err ]
    report $? "which can be planned with"
}

# --- Ctrl-C ---

breaks_off int.sqlite INT
[ $code -eq 130 ] && one_error "measure: interrupted; 'vbslab measure $MODEL' with the same options \
goes on from here"
report $? "SIGINT ends a measurement in good order"
run --db int.sqlite profiles
[ $code -eq 0 ] && [ "$(grep -c ' unfinished$' out)" -eq 1 ]
report $? "what was measured is there"
refuses "an unfinished profile cannot be planned with" 1 "unfinished" \
    --db int.sqlite plan 1 --planner fbs --memory 4MiB
run --db int.sqlite plan $MODEL --planner fbs --memory 4MiB
[ $code -eq 1 ] && one_error "only an unfinished profile of '$MODEL'; 'vbslab measure' goes on with it"
report $? "nor counts as the newest of its name"
run --db int.sqlite measure $MODEL --backend onednn --batches 1 --threads 1 --time-limit 0.1
[ $code -eq 0 ] && [ "$(cat out)" = 2 ] && ! grep -q resumed err
report $? "another measurement does not take it up"
run --db int.sqlite $SHORT
[ $code -eq 0 ] && [ "$(cat out)" = 1 ] && grep -q ' (resumed)' err
report $? "the same one does"

if command -v script >/dev/null; then
    # Ctrl-C as the terminal sends it. The pipe must stay open until the end.
    mkfifo keys
    TERM=xterm script -qec "env --default-signal=INT '$VBSLAB' --db key.sqlite $LONG; echo code \$?" /dev/null <keys >out 2>&1 &
    pid=$!
    exec 4>keys
    wait_until $pid has_samples key.sqlite && printf '\003' >&4
    wait $pid
    exec 4>&-
    tr -d '\r' <out | grep -q '^code 130$' && grep -q 'measure: interrupted; ' out &&
        grep -q '\[[#.]*\]' out
    report $? "Ctrl-C on a terminal, with a progress bar"
    goes_on key.sqlite 1
else
    skip "Ctrl-C on a terminal" "there is no script(1)"
fi

# --- the terminal is closed ---

breaks_off hup.sqlite HUP
[ $code -eq 129 ] && one_error "measure: interrupted; 'vbslab measure $MODEL' with the same options \
goes on from here"
report $? "SIGHUP ends a measurement in good order"

# --- kill -9 ---

breaks_off kill.sqlite KILL
[ $code -eq 137 ] && [ ! -s out ] && [ ! -s err ]
report $? "kill -9 ends a measurement at once"
run --db kill.sqlite profiles
[ $code -eq 0 ] && [ "$(grep -c ' unfinished$' out)" -eq 1 ]
report $? "the store is sound and has the unfinished profile"
breaks_off kill.sqlite KILL
[ $code -eq 137 ]
report $? "a second time"
goes_on kill.sqlite 1

# --- planning ---

"$VBSLAB" --db plan.sqlite measure --quiet --backend analytic vgg-16 >/dev/null

# break_plan COMMAND...: sends SIGINT soon after the start of a command that would take long.
break_plan()
{
    env --default-signal=INT "$VBSLAB" --db plan.sqlite "$@" >out 2>err &
    pid=$!
    wait_until $pid has_handler $pid
    kill -INT $pid
    wait $pid
    code=$?
}

# stops COMMAND...: SIGINT ends the command, which has no result.
stops()
{
    break_plan "$@"
    [ $code -eq 130 ] && one_error "interrupted"
    report $? "SIGINT ends $1"
}

echo kept >plan.json
stops plan vgg-16 --planner dp-vbs --memory 1GiB --request 4096 --json plan.json
[ "$(cat plan.json)" = kept ]
report $? "and leaves the file that was there"
stops frontier vgg-16 --planner dp-vbs --request 4096
# The rows of fbs may be finished before the signal comes, which may also come while one is judged, or while
# fbs-best, with which compare begins, is planned.
break_plan compare vgg-16 --request 4096 --memory 1GiB --planners dp-vbs --baselines fbs
[ $code -eq 130 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^vbslab: compare: \(fbs\(-best\)*: \)*interrupted' err &&
    { [ ! -s out ] || grep -q ' \.\.\. ' out; }
report $? "SIGINT ends compare, which prints the rows that are finished"

# A search gives the best plan that it has found, which differs from run to run.
env --default-signal=INT "$VBSLAB" plan "$ROOT/db/profiles/resnet-50-a.csv" --planner optimal --memory 20MiB \
    --time-limit 600 >out 2>err &
pid=$!
wait_until $pid has_handler $pid
sleep 1 # time for a schedule, which need not suffice
kill -INT $pid
wait $pid
code=$?
[ $code -eq 130 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'interrupted' err &&
    { [ ! -s out ] || grep -q 'planner optimal' out; }
report $? "SIGINT ends a search, which gives its best schedule so far"

if command -v script >/dev/null; then
    ends_at_key 'search, gap' 'the schedule is the best so far, at most [0-9.]*% longer' \
        plan "$ROOT/db/profiles/resnet-50-a.csv" --planner optimal --memory 20MiB --time-limit 600 &&
        grep -q 'planner optimal' found
    report $? "Ctrl-C on a terminal ends plan, which prints the best schedule and its gap"
    ends_at_key 'of the frontier' 'the curve is incomplete: [0-9]* points are known' \
        frontier "$ROOT/db/profiles/resnet-50-a.csv" --planner optimal &&
        grep -q '^  curve  *incomplete' found && [ "$(grep -c '^ *[0-9][0-9]* ' found)" -gt 1 ]
    report $? "and frontier, which prints the points that are known"
    for form in csv json; do
        ends_at_key 'of the frontier' 'the curve is incomplete' \
            frontier "$ROOT/db/profiles/resnet-50-a.csv" --planner optimal --$form -
        status=$?
        if [ $form = csv ]; then
            [ "$(sed 's/.*,//' found | sort -u | tr '\n' ' ')" = 'interrupted true ' ]
        else
            [ "$(member found interrupted)" = true ]
        fi && [ $status -eq 0 ]
        report $? "also as $form, which say so"
    done
    ends_at_key 'searching for offsets' 'the offsets are the lowest found so far, at most [0-9.]*% higher' \
        place "$ROOT/tests/data/placement/J.1048576.csv" --time-limit 600 &&
        [ "$(wc -l <found)" -eq "$(wc -l <"$ROOT/tests/data/placement/J.1048576.csv")" ]
    report $? "and place, which prints the lowest offsets"
else
    skip "Ctrl-C on a terminal in plan" "there is no script(1)"
    skip "Ctrl-C on a terminal in frontier" "there is no script(1)"
    skip "Ctrl-C on a terminal in place" "there is no script(1)"
fi

# Ctrl-C also ends a command that waits for input.
mkfifo input
env --default-signal=INT "$VBSLAB" plan - --planner fbs --memory 7 <input >out 2>err &
pid=$!
exec 4>input # once it is open at both ends, the program sleeps in reading it
wait_until $pid is_asleep $pid
kill -INT $pid
wait_until $pid false # the end of the input would end it, too
exec 4>&-
wait $pid
code=$?
[ $code -eq 130 ] && one_error "interrupted"
report $? "SIGINT ends waiting for a profile"

# --- packed weights in a file without a name ---

printf 'model wide\ninput 64x8x8\nfc a out=1024\nrelu r\nfc b out=10\n' >wide.net
WIDE_BYTES=16000000 # fewer than the packed weights have
"$VBSLAB" --db wide.sqlite measure --quiet wide.net --batches 1 --time-limit 0.1 --threads 1 >/dev/null
mkdir empty temporary

# has_weights PID PHASE: whether the process has a file without a name, and in the phase "computes" has
# also read the weights from the file.
has_weights()
{
    ls -l "/proc/$1/fd" 2>/dev/null | grep -q '(deleted)$' || return 1
    [ "$2" = packs ] || [ "$(sed -n 's/^rchar: //p' "/proc/$1/io")" -gt $WIDE_BYTES ]
}

# leaves_nothing SIGNAL CODE PHASE FOLDER: a run in FOLDER that the signal ends in this phase leaves no file.
leaves_nothing()
{
    (
        ulimit -c 0
        cd "$4" && exec env --default-signal=INT,QUIT TMPDIR="$dir/temporary" "$VBSLAB" --db "$dir/wide.sqlite" run wide \
            --model "$dir/wide.net" --weights included --memory 20MiB --request 1 --duration 600 >/dev/null 2>"$dir/err"
    ) &
    pid=$!
    wait_until $pid has_weights $pid "$3"
    found=$?
    kill -"$1" $pid
    { wait $pid; } 2>/dev/null
    code=$?
    [ $found -eq 0 ] && [ $code -eq "$2" ] && [ -z "$(ls -A empty temporary | grep -v ':$')" ]
    report $? "a run that SIG$1 ends while it $3 leaves no file of weights"
}

for signal in HUP:129 QUIT:131 PIPE:141 TERM:143 KILL:137; do
    leaves_nothing ${signal%:*} ${signal#*:} packs empty
    # No process can make a file in /proc: the weights go to TMPDIR.
    leaves_nothing ${signal%:*} ${signal#*:} computes /proc
done

# A job in the background of a shell keeps ignoring SIGINT.
(
    trap '' INT
    "$VBSLAB" --db plan.sqlite measure --backend analytic alexnet --batches 1-64 >out 2>err &
    pid=$!
    kill -INT $pid
    wait $pid
)
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = 2 ]
report $? "a signal that is ignored stays ignored"
finish
