#!/bin/sh
# Proof of the cap: a network runs where its process may take the budget and the base, and no more.
#
# The limit is RLIMIT_AS (ulimit -v): it counts every mapping, touched or not, and is the strictest
# limit that every system has. Where VBSLAB_TEST_CGROUP names a folder of the cgroup file system in which
# groups can be made, the same runs also have a limit of resident memory. The base comes from a run
# of the same schedule in a larger arena. A limit that is lower by half of the budget must end
# in an error, which shows that the test can fail. At the end the resident memory of whole processes is
# bounded, from their start to their end where nothing is planned. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
VBSLAB_DB=store.sqlite
# The C library reserves address space in steps of 64 MiB for each thread that allocates.
MALLOC_ARENA_MAX=1
export VBSLAB_DB MALLOC_ARENA_MAX
mib=$((1 << 20))
slack=$((2 * mib)) # what the C library rounds up; of a group also what the kernel keeps for it
# Address space that the search for offsets may leave with the C library, and a larger arena does not.
space_slack=$((6 * mib))

if is_sanitized; then
    echo "1..0 # SKIP the program does not start in 16 GiB of address space"
    exit 0
fi

# execute BUDGET ARGUMENTS...: runs the request twice; the result is in out as JSON.
execute()
{
    budget=$1
    shift
    "$VBSLAB" --quiet run "$@" --memory "$budget" --repeat 1 --json >out 2>err
    code=$?
}

# within_space LIMIT BUDGET ARGUMENTS...: does the same in LIMIT bytes of address space.
within_space()
{
    limit=$1
    shift
    (ulimit -v $((limit / 1024)) && execute "$@" && exit $code)
    code=$?
}

# within_group LIMIT BUDGET ARGUMENTS...: does the same in a group of LIMIT bytes.
within_group()
{
    group=$VBSLAB_TEST_CGROUP/vbslab-test-$$ limit=$1
    shift
    mkdir "$group" || return
    if [ -e "$group/memory.max" ]; then
        echo "$limit" >"$group/memory.max" && echo 0 >"$group/memory.swap.max"
    else
        echo "$limit" >"$group/memory.limit_in_bytes"
    fi 2>/dev/null
    (echo 0 >"$group/cgroup.procs" && execute "$@" && exit $code)
    code=$?
    rmdir "$group"
}

# proves NAME BUDGET ARGUMENTS...: proves the cap for a plan with a sixteenth less memory, because
# placing it may take more than its peak.
proves()
{
    name=$1 large=$2
    shift 2
    "$VBSLAB" plan "$@" --memory $((large - large / 16)) --json "$name.json" >out 2>err
    code=$?
    more=$((large + 32 * mib))
    set -- "$1" --schedule "$name.json"
    if grep -q '"weights": "included"' "$name.json"; then
        set -- "$@" --weights-file "$name.bin"
        execute $more "$@" # writes the file, in pieces of some MiB
        peak=$(member out resident_peak_bytes)
        [ $code -eq 0 ] && [ "${peak:-0}" -gt 0 ] && [ "$peak" -le $((large + 64 * mib)) ]
        report $? "$name: a process that packs all weights takes ${peak:-?} bytes"
    fi
    execute $more "$@" --output "$name-more.npy"
    [ $code -eq 0 ] && [ "$(member out memory_bytes)" -eq $more ]
    passed=$?
    report $passed "$name: runs in an arena of $more bytes"
    [ $passed -eq 0 ] || return
    base=$(($(member out virtual_peak_bytes) - more))
    resident=$(member out base_bytes)
    limit=$((base + large + space_slack))
    within_space $limit "$large" "$@" --output "$name.npy"
    [ $code -eq 0 ] && [ "$(member out memory_bytes)" -eq "$large" ] &&
        [ "$(member out placed_bytes)" -le "$large" ] && [ "$(member out touched_bytes)" -le "$large" ] &&
        [ "$(member out virtual_peak_bytes)" -le $limit ] && cmp -s "$name.npy" "$name-more.npy"
    report $? "$name: survives in its budget of $large bytes and a base of $base, with the same outputs"
    high=$(member out high_water_bytes)
    [ "$high" = null ] || [ "$high" -le $((large + slack)) ]
    report $? "$name: the process rose by $high bytes"
    within_space $((limit - space_slack - large / 2)) "$large" "$@"
    [ $code -eq 1 ] && { one_error 'out of memory' || one_error 'cannot obtain an arena of' ||
        one_error 'cannot start a thread'; }
    report $? "$name: half of the budget less is refused"
    if [ -z "$VBSLAB_TEST_CGROUP" ]; then
        skip "$name: survives in a cgroup" "VBSLAB_TEST_CGROUP names no folder to make one in"
        return
    fi
    limit=$((resident + large + slack))
    within_group $limit "$large" "$@"
    [ $code -eq 0 ] && [ "$(member out memory_bytes)" -eq "$large" ]
    report $? "$name: survives in a cgroup of its budget and a base of $resident bytes"
    within_group $(($(member out touched_bytes) * 3 / 4)) "$large" "$@"
    [ $code -ne 0 ]
    report $? "$name: but not in one that is smaller than the arena"
}

cat >small.net <<'END_OF_NET'
model small
input 16x64x64
conv    c1 out=64 kernel=3 pad=1
relu    r1
conv    c2 out=64 kernel=3 pad=1
relu    r2
maxpool p kernel=4 stride=4
fc      f out=1000
END_OF_NET

# measures NETWORK BATCHES: measures with as few runs as possible; the times do not matter here.
measures()
{
    "$VBSLAB" --quiet measure "$1" --batches "$2" --time-limit 1 --no-copies >out 2>err
    code=$?
    [ $code -eq 0 ]
    report $? "$1 is measured"
}

measures ./small.net 1,2,4
proves small-excluded $((64 * mib)) ./small.net --planner fbs-best --request 64 --io resident
proves small-included $((40 * mib)) ./small.net --planner joint --request 16 --copy-rate 5GB \
    --copy-latency 5
# Its weights take 528 MiB.
measures vgg-16 1,2
proves vgg-16 $((64 * mib)) vgg-16 --planner joint --request 4 --copy-rate 5GB --copy-latency 5
# Its weights take 233 MiB, coded 8 MiB: the whole network runs in 10 MiB.
if tries_all; then
    "$VBSLAB" --quiet compress alexnet --density comp-alexnet -o alexnet-comp.vbz >out 2>err
    report $? "alexnet is coded"
    measures ./alexnet-comp.vbz 1,8
    proves alexnet-coded $((10 * mib)) ./alexnet-comp.vbz --planner joint --request 16 --copy-rate 5GB \
        --copy-latency 5
else
    skip "alexnet-coded runs in 10 MiB" "make proofs tries it"
fi

# within_whole NAME LIMIT ARGUMENTS...: keeps the process of SqueezeNet within LIMIT MiB while it runs.
within_whole()
{
    name=$1 limit=$2
    shift 2
    "$VBSLAB" --quiet run squeezenet.csv --request 1 --total-memory "${limit}MiB" --json "$@" >out 2>err
    code=$?
    total=$(member out total_bytes)
    [ $code -eq 0 ] && [ "${total:-0}" -gt $((6 * mib)) ] && [ "$total" -le $((limit * mib)) ]
    report $? "squeezenet, $name: the whole process takes ${total:-?} bytes of $limit MiB"
}

# More threads have more stacks.
threads=$(nproc)
[ "$threads" -lt 2 ] || threads=2
"$VBSLAB" --quiet measure squeezenet-v1.0 --batches 1 --threads "$threads" --time-limit 1 >out 2>err &&
    "$VBSLAB" --quiet profiles export squeezenet-v1.0 all.csv >out 2>err
report $? "squeezenet is measured"
# Matrix products take some MiB from the heap (docs/accounting.md). A single sample of a kernel, taken
# beside other tests, must not decide whether the plan has one.
grep -v ':gemm:' all.csv >squeezenet.csv
within_whole "its weights apart" 25
within_whole "its weights inside" 20 --weights included

# estimates NAME ARGUMENTS...: the estimate of a plan's process is at least what the process of a run
# takes in its whole life, and at most twice as much.
estimates()
{
    name=$1
    shift
    "$VBSLAB" plan squeezenet.csv --request 1 --total-memory 1MiB "$@" >out 2>err
    code=$?
    limit=$(sed -n 's/.* the process would take about \([0-9]*\)\.*[0-9]* MiB where 1 MiB is the limit.*/\1/p' err)
    limit=$((${limit:-0} + 2))
    [ $code -eq 3 ] && [ $limit -gt 8 ]
    report $? "squeezenet, $name: a limit of 1 MiB is answered without a run: $limit MiB would do"
    "$VBSLAB" plan squeezenet.csv --request 1 --total-memory ${limit}MiB "$@" >out 2>err
    code=$?
    [ $code -eq 0 ] && grep -q '^total .* MiB  estimated, at most at once' out
    report $? "squeezenet, $name: and does"
    "$VBSLAB" --quiet run squeezenet.csv --request 1 --total-memory ${limit}MiB --json "$@" >out 2>err
    code=$?
    peak=$(member out resident_peak_bytes)
    [ $code -eq 0 ] && [ "${peak:-0}" -le $((limit * mib)) ] && [ "$peak" -ge $((limit * mib / 2)) ]
    report $? "squeezenet, $name: the process takes ${peak:-?} bytes of $limit MiB in its whole life"
}

estimates "its weights apart"
estimates "its weights inside" --weights included
# Its largest step alone has 5.9 MiB.
"$VBSLAB" --quiet run squeezenet.csv --request 1 --total-memory 8MiB --weights included >out 2>err
code=$?
[ $code -eq 3 ] && one_error ' where 8 MiB is the limit, '
report $? "squeezenet: 8 MiB are refused"

# A process that is given the profile, the schedule and the packed weights stays small from its start on.
"$VBSLAB" plan squeezenet.csv --request 1 --weights included --memory 6275200 --json squeezenet.json >out 2>err
report $? "squeezenet is planned"
set -- squeezenet.csv --schedule squeezenet.json --weights-file squeezenet.bin
execute 6MiB "$@" # writes the file
execute 6MiB "$@"
peak=$(member out resident_peak_bytes)
[ $code -eq 0 ] && [ "${peak:-0}" -ge "$(member out total_bytes)" ] && [ "$peak" -le $((25 * mib)) ]
report $? "squeezenet: a process that only runs takes ${peak:-?} bytes of 25 MiB in its whole life"
if [ -z "$VBSLAB_TEST_CGROUP" ]; then
    skip "squeezenet: survives in a cgroup of 14 MiB" "VBSLAB_TEST_CGROUP names no folder to make one in"
else
    within_group $((14 * mib)) 6MiB "$@"
    [ $code -eq 0 ]
    report $? "squeezenet: survives in a cgroup of 14 MiB"
fi
finish
