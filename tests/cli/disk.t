#!/bin/sh
# Full disks: every command that writes reports them, ends with 1, and leaves older files as they
# were. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB
plan='--planner dp-vbs --memory 7 --request 2'
write_example >example.csv
printf 'model tiny\ninput 4x12x12\nconv c out=32 kernel=3\nfc f out=20\n' >tiny.net
"$VBSLAB" profiles import example.csv >/dev/null
"$VBSLAB" measure --quiet --backend analytic alexnet >/dev/null
"$VBSLAB" plan example.csv $plan --json plan.json >/dev/null

# --- standard output ---

# overflows ARGUMENTS...: runs the program with standard output on a full disk.
overflows()
{
    "$VBSLAB" "$@" >/dev/full 2>err
    code=$?
    : >out
    [ $code -eq 1 ] && one_error "cannot write" && grep -q 'standard output' err
    report $? "$* on a full disk"
}

overflows models
overflows models show alexnet
overflows models show googlenet --json
overflows models --csv
overflows backends
overflows profiles
overflows profiles --json
overflows profiles show 1
overflows profiles show 2 --json
overflows profiles export 1 -
overflows profiles import example.csv --quiet
overflows plan example.csv $plan
overflows plan example.csv $plan --json -
overflows frontier alexnet --planner dp-vbs
overflows frontier alexnet --planner dp-vbs --csv -
overflows replay example.csv plan.json
overflows replay example.csv plan.json --json
overflows replay example.csv plan.json --trace -
overflows compare example.csv --request 2
overflows compare example.csv --request 2 --json
overflows compare example.csv --request 2 --csv
overflows report example.csv --request 2 -o -
overflows explain example.csv $plan
overflows explain example.csv $plan --json -
overflows explain example.csv $plan --html -
overflows explain example.csv $plan --table 1 --csv -
overflows lesson
overflows lesson 1
overflows lesson 1 --html
overflows exercise --seed 1
overflows exercise --seed 1 --json
overflows exercise --seed 1 --profile -
overflows export --notebook list
overflows planners
overflows demo
overflows compress tiny.net -o tiny.vbz
overflows measure --quiet --backend analytic --batches 1 alexnet
overflows --help
overflows plan --help
overflows --version

# When the reader of a pipe goes away, no error is shown.
{ "$VBSLAB" models show googlenet --json; } 2>err | head -1 >out
[ ! -s err ] && [ "$(cat out)" = '{' ]
report $? "a pipe whose reader has gone"

# --- files ---

refuses "a schedule on a full disk" 1 "cannot write '/dev/full': No space left on device" \
    plan example.csv $plan --json /dev/full
refuses "a frontier" 1 "'/dev/full'" frontier example.csv --planner fbs --csv /dev/full
refuses "a trace" 1 "'/dev/full'" replay example.csv plan.json --trace /dev/full
refuses "a profile" 1 "'/dev/full'" profiles export 1 /dev/full

# --- files that may not grow: ulimit -f counts in blocks of 512 bytes ---

"$VBSLAB" profiles export 2 alexnet.csv
"$VBSLAB" plan alexnet.csv --planner fbs --memory 5MiB --request 100 --json long.json >/dev/null

# outgrows NAME PART BLOCKS ARGUMENTS...: fails where no file may grow above BLOCKS; the error has PART.
outgrows()
{
    name=$1 part=$2 blocks=$3
    shift 3
    {
        (ulimit -f "$blocks" && exec "$VBSLAB" "$@") 2>&3
        echo $? >code
    } 3>err | cat >out
    code=$(cat code)
    [ "$code" -eq 1 ] && one_error "$part"
    report $? "$name that outgrows a limit"
}

echo kept >kept.json
cp kept.json kept.csv
cp kept.json kept.svg
cp kept.json kept.vbz
cp kept.json kept.html
cp kept.json kept.md
cp kept.json kept-key.md
cp kept.json kept.ipynb
kept=$(ls -d kept*)
outgrows "a schedule" "cannot write 'kept.json': File too large" 8 \
    plan alexnet.csv --planner fbs --memory 5MiB --request 100 --json kept.json
outgrows "a frontier" "cannot write 'kept.csv': File too large" 8 \
    frontier alexnet.csv --planner dp-vbs --request 24 --csv kept.csv
outgrows "a trace" "cannot write 'kept.csv': File too large" 8 \
    replay alexnet.csv long.json --trace kept.csv
outgrows "trace events" "cannot write 'kept.json': File too large" 8 \
    replay alexnet.csv long.json --trace kept.json
outgrows "a profile" "cannot write 'kept.csv': File too large" 8 \
    profiles export alexnet.csv kept.csv
outgrows "a report" "cannot write 'kept.html': File too large" 8 \
    report example.csv --request 2 -o kept.html
outgrows "an explanation" "cannot write 'kept.json': File too large" 8 \
    explain alexnet.csv --planner dp-vbs --memory 8MiB --json kept.json
outgrows "the page of an explanation" "cannot write 'kept.html': File too large" 8 \
    explain example.csv $plan --html kept.html
outgrows "the cells of a table" "cannot write 'kept.csv': File too large" 2 \
    explain example.csv $plan --table 1 --csv kept.csv
outgrows "a lesson" "cannot write 'kept.md': File too large" 8 lesson 1 -o kept.md
outgrows "the page of a lesson" "cannot write 'kept.html': File too large" 8 \
    lesson 1 --html -o kept.html
outgrows "an exercise" "cannot write 'kept.json': File too large" 1 \
    exercise --seed 1 --level 5 -o kept.json
outgrows "the profile of an exercise" "cannot write 'kept.csv': File too large" 1 \
    exercise --seed 1 --level 5 --profile kept.csv
outgrows "a sheet" "cannot write 'kept.md': File too large" 8 \
    exercise --seed 1 --sheet 30 -o kept.md --key /dev/null
outgrows "the key of a sheet" "cannot write 'kept-key.md': File too large" 2 \
    exercise --seed 1 --sheet 30 -o kept.md --key kept-key.md
outgrows "a notebook" "cannot write 'kept.ipynb': File too large" 8 \
    export --notebook alexnet-vgg -o kept.ipynb
outgrows "a network with coded weights" "cannot write 'kept.vbz': File too large" 8 \
    compress tiny.net -o kept.vbz
[ "$(cat kept* | sort -u)" = kept ] && [ "$(ls -d kept*)" = "$kept" ]
report $? "what was there before is kept, and no part of a file is left"

# --- what runs that were killed left ---

echo half >plan2.json.999999999-0.part
said="warning: runs that were killed left unfinished files, which can be removed: 'plan2.json.999999999-0.part'"
for again in once twice; do
    run plan example.csv $plan --json plan2.json
    [ $code -eq 0 ] && [ "$(cat err)" = "vbslab: plan: $said" ] && [ "$(cat plan2.json.999999999-0.part)" = half ]
    report $? "the next run names what one left, and leaves it there: $again"
done
run plan example.csv $plan --json plan2.json --quiet
[ $code -eq 0 ] && [ ! -s err ]
report $? "--quiet does not"
run plan example.csv $plan --json plan3.json
[ $code -eq 0 ] && [ ! -s err ]
report $? "nor does a run with another file"
refuses "a run that fails says only why" 1 "no/plan2.json" plan example.csv $plan --json no/plan2.json
rm plan2.json.999999999-0.part

sed 's/^# date:.*/# date: 2020-01-01T00:00:00Z/' alexnet.csv >another.csv
outgrows "a store" "store.sqlite" 80 profiles import another.csv
"$VBSLAB" --db large.sqlite measure --quiet --backend analytic googlenet >/dev/null
outgrows "a merge" "store.sqlite" 80 profiles merge large.sqlite
outgrows "a measurement" "store.sqlite" 80 measure --backend analytic googlenet
run profiles show 1 --json
[ $code -eq 0 ] && grep -q '"name": "L3"' out && "$VBSLAB" profiles export 2 again.csv &&
    cmp -s again.csv alexnet.csv
report $? "the store still has what it had"
run measure --quiet --backend analytic googlenet
[ $code -eq 0 ] && "$VBSLAB" plan googlenet --planner fbs --memory 32MiB >/dev/null
report $? "and takes more once there is room"

# --- a small disk ---

# Runs the rest of this script with a disk of 480 KiB at ./disk, where this user may mount one.
on_small_disk()
{
    unshare -m sh -c 'mount -t tmpfs -o size=480k none disk && "$@"' sh "$@"
}

mkdir disk
if on_small_disk true 2>/dev/null; then
    cat >script <<'END'
VBSLAB_DB=disk/store.sqlite
"$VBSLAB" profiles import example.csv || exit 9
cp plan.json disk/plan.json
"$VBSLAB" measure --backend analytic --batches 1-64 googlenet && exit 8
ls -l disk >&2
dd if=/dev/zero of=disk/filler bs=1k 2>/dev/null
"$VBSLAB" plan alexnet.csv --planner fbs --memory 5MiB --request 1000 --json disk/plan.json && exit 7
"$VBSLAB" profiles export googlenet.csv disk/profile.csv && exit 6
"$VBSLAB" compress tiny.net -o disk/tiny.vbz && exit 6
[ "$(ls disk | grep -v store)" = "$(printf 'filler\nplan.json')" ] || exit 5
cmp plan.json disk/plan.json || exit 4
rm disk/filler
"$VBSLAB" profiles show 1 --json | grep -q '"name": "L3"' || exit 3
"$VBSLAB" profiles import example.csv || exit 2
END
    "$VBSLAB" profiles export googlenet googlenet.csv
    export VBSLAB
    on_small_disk sh script >out 2>err
    code=$?
    cat err
    [ $code -eq 0 ]
    report $? "a small disk that fills up"
else
    skip "a small disk that fills up" "this user may not mount one"
fi
finish
