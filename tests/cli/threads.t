#!/bin/sh
# The number of threads in a profile is the number of threads that really compute, and no more than there are
# processors unless the user allows more.
. "$(dirname "$0")/lib.sh"

printf 'model tiny\ninput 3x8x8\nconv c out=16 kernel=3\nrelu r\nmaxpool p kernel=2\n' >tiny.net
COMMAND=measure

# measures NAME THREADS ARGUMENTS...: measures, and checks that the profile says THREADS.
measures()
{
    name=$1 want=$2
    shift 2
    run tiny.net --batches 1 --time-limit 0.1 --no-copies "$@"
    [ $code -eq 0 ] && "$VBSLAB" profiles show "$(cat out)" --json >out2 &&
        [ "$(member out2 threads)" = "$want" ]
    report $? "$name"
}

export OMP_THREAD_LIMIT=1
measures "a limit of OpenMP's is counted" 1
refuses "more threads than the limit are refused" 1 "compute with 1" tiny.net --batches 1 --threads 2 \
    --oversubscribe
unset OMP_THREAD_LIMIT
export OMP_MAX_ACTIVE_LEVELS=0
refuses "also where OpenMP may have no parallel regions, which is said" 1 "(OMP_MAX_ACTIVE_LEVELS)" tiny.net --batches 1 \
    --threads 2 --oversubscribe
unset OMP_MAX_ACTIVE_LEVELS
export OMP_DYNAMIC=true
measures "a number that is given stays, whatever the load" 2 --threads 2 --oversubscribe
unset OMP_DYNAMIC
measures "with one thread" 1 --threads 1
refuses "more threads than processors" 2 "--oversubscribe" tiny.net --threads 4096
export OMP_NUM_THREADS=4096
refuses "also where the environment says so" 2 "4096 threads are more than" tiny.net
unset OMP_NUM_THREADS
measures "unless that is allowed" 5 --threads 5 --oversubscribe

# The limit bounds a number of threads that the user has not given; a given one above it is refused.
if [ "$(nproc)" -ge 2 ]; then
    COMMAND=measure
    run tiny.net --batches 1 --time-limit 0.1 --no-copies --threads 2
    profile=$(cat out)
    COMMAND=run
    export OMP_THREAD_LIMIT=1
    run "$profile" --model tiny.net --memory 1MiB
    [ $code -eq 0 ] && grep -q ', 1 thread$' out &&
        grep -q 'was measured with 2 threads, this run has 1' err
    report $? "a run has the limit's threads where the profile has more, and says so"
    export OMP_NUM_THREADS=2
    run "$profile" --model tiny.net --memory 1MiB
    [ $code -eq 0 ] && grep -q ', 1 thread$' out
    report $? "also where the environment wishes for more"
    unset OMP_NUM_THREADS
    refuses "a run refuses more threads than the limit where they are given" 1 "compute with 1" \
        "$profile" --model tiny.net --memory 1MiB --threads 2
    unset OMP_THREAD_LIMIT
    refuses "and more threads than processors" 2 "4096 threads are more than" "$profile" --model tiny.net --memory 1MiB \
        --threads 4096
else
    skip "a run within OpenMP's limit" "there is one processor"
fi

finish
