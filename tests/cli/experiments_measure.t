#!/bin/sh
# experiments/measure, with the analytic backend. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

export VBSLAB
measure=$ROOT/experiments/measure

# measured ARGUMENTS...: runs experiments/measure, with profiles in this folder.
measured()
{
    "$measure" -b analytic -s store.sqlite -o . "$@" >out 2>err
    code=$?
}

# With -h the script must not measure, even when the reader of its output is gone.
mkfifo gone
: <gone &
exec 4>gone
wait
"$measure" -b analytic -s store.sqlite -o . -h >&4 2>/dev/null
exec 4>&-
rm gone
[ -z "$(ls)" ]
report $? "-h measures nothing, though nobody reads its text"
measured -h
[ $code -eq 0 ] && grep -q '^  alexnet-weights  ' out && [ ! -e store.sqlite ]
report $? "-h lists the profiles"
measured -x
[ $code -eq 2 ] && [ ! -s out ] && [ ! -e store.sqlite ]
report $? "an unknown option is refused"
measured alexnet-weight
[ $code -eq 2 ] && grep -q "unknown profile 'alexnet-weight'" err && [ ! -e store.sqlite ]
report $? "so is an unknown profile"

measured alexnet-weights
[ $code -eq 0 ] && grep -q '^# copy: disk,' alexnet-weights-a.csv &&
    grep -q ',channels,packed_bytes,form$' alexnet-weights-b.csv &&
    [ ! -e alexnet-weights-a.part.csv ]
report $? "two runs of a profile, with copies and packed weights"
cp alexnet-weights-a.csv before.csv
rm alexnet-weights-b.csv
measured alexnet-weights
[ $code -eq 0 ] && cmp -s before.csv alexnet-weights-a.csv && [ -s alexnet-weights-b.csv ] &&
    grep -q '^alexnet-weights-a: is there$' err
report $? "what is there is passed over"

finish
