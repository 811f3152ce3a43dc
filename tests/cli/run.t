#!/bin/sh
# The command run: results and their formats, files of inputs and outputs, and refusals. The network
# is small and measured here; no check depends on a time. VBSLAB: the program.
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
fc        right/x out=5 from=p
END_OF_NET
# Its output is its input.
cat >same.net <<'END_OF_NET'
model same
input 3x16x16
maxpool p kernel=1
END_OF_NET
# Its output is twice its input.
cat >twice.net <<'END_OF_NET'
model twice
input 3x16x16
maxpool a kernel=1
maxpool b kernel=1 from=input
add     sum from=a,b
END_OF_NET
sample=$((3 * 16 * 16 * 4)) # bytes

# quiet ARGUMENTS...: runs without warnings, because the machine may be busy.
quiet()
{
    run --quiet run "$@"
}

# succeeds NAME WANTED-PART ARGUMENTS...: checks exit code 0, and this part on one line.
succeeds()
{
    name=$1 part=$2
    shift 2
    quiet "$@"
    [ $code -eq 0 ] && [ ! -s err ] && grep -qF -- "$part" out
    report $? "$name"
}

# declines NAME CODE WANTED-PART ARGUMENTS...: checks the exit code and the line of error.
declines()
{
    name=$1 want=$2 part=$3
    shift 3
    run --quiet run "$@"
    [ $code -eq "$want" ] && one_error "$part"
    report $? "$name"
}

# at_most A B: whether the number A is no larger than B.
at_most()
{
    awk "BEGIN { exit !($1 <= $2) }"
}

declines "a schedule of a network that was not measured" 1 "run 'vbslab measure ./mine.net' first" \
    ./mine.net --schedule plan.json
declines "a wrong budget, before anything is measured" 2 "'1 MB'" ./mine.net --memory '1 MB'
declines "a wrong planner, before anything is measured" 2 "did you mean 'fbs'" \
    ./mine.net --memory 1MiB --planner fbz
printf nothing >text.npy
mkdir folder.npy
declines "inputs that are no array, before anything is measured" 1 "text.npy: no .npy file" \
    ./mine.net --memory 1MiB --input text.npy
declines "... also of a built-in network" 1 "text.npy: no .npy file" alexnet --memory 1MiB --input text.npy
declines "a name of no output" 2 "'none=y.npy' is NAME=FILE.npy of no output" \
    ./mine.net --memory 1MiB --output none=y.npy
for option in "output folder.npy" "trace folder.npy" "weights included --weights-file folder.npy"; do
    declines "a folder as the file of --${option%% *}" 1 "cannot create 'folder.npy': Is a directory" \
        ./mine.net --memory 1MiB --$option
done
declines "files of weights that are not copied" 2 "--weights-file is for --weights included" \
    ./mine.net --memory 1MiB --weights-file w.bin
[ ! -e store.sqlite ]
report $? "none of them makes a store"

# --- in one step ---

cat >one.net <<'END_OF_NET'
model one
input 3x8x8
conv      c1 out=8 kernel=3 pad=1
fc        f out=4
END_OF_NET
run --db one.sqlite run ./one.net --memory 1MiB --request 3 --input missing.npy
[ $code -eq 1 ] && [ ! -e one.sqlite ] && one_error "cannot open 'missing.npy'"
report $? "nothing is measured for a run whose input is not there"
run --db one.sqlite run ./one.net --memory 1MiB --request 3
[ $code -eq 0 ] && grep -q '^one: 3 samples in .*, planner \(dp-vbs+\|fbs-best\)' out &&
    [ "$(grep -c "no measured profile of 'one' in 'one.sqlite': measuring it first" err)" -eq 1 ] &&
    grep -q 'one: profile 1: ' err
report $? "a network that was not measured is measured, and the fastest executed plan of dp-vbs+ or fbs-best is run"
run --db short.sqlite run ./one.net --memory 1MiB --request 3 --measure-limit 1e-6
[ $code -eq 0 ] && grep -q 'which takes at most 1e-06 seconds (--measure-limit)' err &&
    grep -q 'one: the profile has 1 of 12 batches: there was no time for the others within 1e-06 s' err &&
    [ "$(grep -c 'one: the limit of 1e-06 s was exceeded by .* s: each layer needs a kernel' err)" -eq 1 ] &&
    [ "$("$VBSLAB" --db short.sqlite profiles export 1 - | grep -v '^#' | cut -d, -f5 | sort -u | tr '\n' ' ')" = '1 batch ' ]
report $? "where there is no time for measuring, the profile has batch 1"
for limit in 0 -1 x; do
    refuses "a limit of $limit" 2 "--measure-limit '$limit' is not a number of seconds above 0" run ./one.net \
        --memory 1MiB --measure-limit $limit
done
run --db one.sqlite run one --model ./one.net --memory 1MiB --request 3 --weights included
[ $code -eq 0 ] && grep -q 'planner joint' out && ! grep -q measuring err
report $? "the next run finds the profile; with weights included joint plans"
"$VBSLAB" --db two.sqlite --quiet measure --backend analytic ./one.net >/dev/null
run --db two.sqlite run ./one.net --memory 1MiB
[ $code -eq 0 ] && grep -q 'measuring it first' err && grep -q 'one: profile 2: ' err
report $? "a profile that is modelled does not do"
"$VBSLAB" --quiet measure ./mine.net ./same.net ./twice.net --batches 1-3,5 --time-limit 1 >out 2>err
code=$?
[ $code -eq 0 ]
report $? "three small networks are measured"
"$VBSLAB" --quiet measure ./mine.net --backend analytic --batches 1,2 >out 2>err
analytic=$(cat out)
"$VBSLAB" --quiet profiles export 1 mine.csv 2>err
sed '/^#/d' mine.csv >bare.csv

# --- the table ---

succeeds "a request is run" 'mine: 5 samples in 262144 bytes (256 KiB), io external, planner dp-vbs+' \
    mine.csv --model ./mine.net --planner dp-vbs+ --memory 256KiB --request 5
for part in '  *predicted  *measured  *difference' 'request  *[0-9.]* [um]s  *[0-9.]* [um]s' \
    'per sample  ' 'samples/s  ' 'computing  ' 'input and output  ' 'budget  *262144  *256 KiB' \
    'planned  *[0-9]' 'placed  *[0-9]' 'touched  *[0-9]' 'process  ' 'base  *[0-9]' \
    '  lost     ' '  moves    ' '  runs     [0-9]* after 1 to warm up: ' '  latency  p50 .*, slowest [^,]*$'; do
    grep -q "^$part" out || missing="$missing '$part'"
done
[ -z "$missing" ]
report $? "the table has all its lines;$missing"
! grep -q '.\{101\}' out
report $? "in 100 columns"
succeeds "one run of one sample" '  runs     1 after 1 to warm up: ' \
    1 --model mine.net --planner fbs --memory 256KiB --request 1 --repeat 1
run run ./mine.net --planner fbs --memory 256KiB --request 1 --runs 1
[ $code -eq 0 ] && [ "$(grep -c "'mine' is profile 1: .*chosen among 2 profiles of it" err)" -eq 1 ]
report $? "which profile of a model was chosen is said once, though the program is started anew"
succeeds "runs and runs to warm up" ' after 2 to warm up: ' \
    1 --model mine.net --memory 256KiB --runs 3 --warmup 2
succeeds "of 10 runs one is above p90" ', p90 ' 1 --model mine.net --memory 256KiB --runs 10 --warmup 0
! grep -q 'p99' out
report $? "p99 needs more of them"
succeeds "100 runs" ', p99 ' 1 --model mine.net --memory 256KiB --runs 100 --warmup 0
succeeds "a duration" ' after 0 to warm up: ' 1 --model mine.net --memory 256KiB --duration 0.001 --warmup 0
succeeds "where the time goes, by layer" 'layers of the fastest run' \
    1 --model mine.net --memory 256KiB --request 5 --profile
for layer in '1  c1' '2  c2' '3  p' '   all layers'; do
    grep -q "^ *$layer  *[0-9]* .* [um]s .* [um]s " out || missing="$missing '$layer'"
done
[ -z "$missing" ]
report $? "with a line for each layer;$missing"
quiet 1 --model mine.net --memory 256KiB --request 5 --profile --json
planned=$(member out planned_us | wc -l)
[ $code -eq 0 ] && [ "$planned" -gt 3 ] && [ "$(member out measured_us | wc -l)" -eq "$planned" ] &&
    [ "$(member out n_steps | wc -l)" -eq $((planned + 1)) ]
report $? "and in JSON"
succeeds "io resident" 'io resident' \
    1 --model mine.net --planner dp-vbs+ --memory 1MiB --io resident --check

# --- JSON ---

quiet mine.csv --model mine.net --planner dp-vbs+ --memory 200KiB --request 5 --runs 3 --check --json
cp out run.json
missing=
for key in format profile model planner request io weights memory_bytes planned_for_bytes n_steps \
    threads predicted measured time_us per_sample_us samples_per_s compute_us copy_us waited_us io_us \
    copied_bytes n_runs n_disturbed n_warm_up p50_us p90_us p99_us fastest_us slowest_us mad_us low_us high_us difference_percent memory \
    planned_bytes live_bytes load_bytes placed_bytes lost_bytes touched_bytes high_water_bytes base_bytes total_bytes limit_bytes \
    resident_peak_bytes virtual_peak_bytes n_buffers \
    n_moves moved_bytes place_s n_replans outputs name shape check bit_equal absolute relative tolerance \
    n_changed n_coded; do
    grep -q "\"$key\":" run.json || missing="$missing $key"
done
[ $code -eq 0 ] && [ ! -s err ] && [ -z "$missing" ]
report $? "JSON has all its members;$missing"
[ "$(member out p90_us)" = null ] && [ "$(member out p99_us)" = null ] && [ "$(member out p50_us)" != null ]
report $? "percentiles of too few runs are null"
[ "$(for key in format model planner request io weights memory_bytes; do
    member run.json $key
done | tr '\n' ' ')" = \
    '"vbslab-run-1" "mine" "dp-vbs+" 5 "external" "excluded" 204800 ' ] &&
    at_most "$(member run.json relative)" 1e-4
report $? "and what they should be"
planned=$(member run.json planned_bytes) placed=$(member run.json placed_bytes)
touched=$(member run.json touched_bytes)
[ "$planned" -gt 0 ] && [ "$planned" -le "$placed" ] && [ "$placed" -le 204800 ] &&
    [ "$(member run.json lost_bytes)" -eq $((placed - $(member run.json live_bytes))) ] && [ "$touched" -le 204800 ]
report $? "peaks: planned $planned, placed $placed, touched $touched of 204800"
fastest=$(member run.json fastest_us) slowest=$(member run.json slowest_us)
median=$(member run.json time_us | sed -n 2p)
at_most "$fastest" "$median" && at_most "$median" "$slowest" &&
    at_most "$(member run.json compute_us | sed -n 2p)" "$slowest"
report $? "the median lies between fastest and slowest"
# A schedule that could not be placed was planned again with less.
"$VBSLAB" plan mine.csv --planner dp-vbs+ --memory "$(member run.json planned_for_bytes)" --request 5 \
    --json plan.json >/dev/null
[ "$(printf %.9g "$(member run.json time_us | head -1)")" = \
    "$(printf %.9g "$(member plan.json time_us | head -1)")" ] &&
    [ "$(grep -c '"layer"' plan.json)" -eq "$(member run.json n_steps)" ]
report $? "what is predicted is what plan says"
quiet mine.csv --model mine.net --planner dp-vbs+ --memory 200KiB --request 5 --runs 2 --json --steps
cp out steps.json
[ $code -eq 0 ] && [ "$(grep -c '"layer":' steps.json)" -eq "$(member steps.json n_steps)" ]
report $? "--steps adds the schedule"
"$VBSLAB" --quiet report mine.csv --request 5 --run steps.json --planners dp-vbs --baselines fbs --memory 200KiB -o page.html >out 2>err
[ $? -eq 0 ] && grep -q '"profile_index":0,' page.html && grep -q '"high_water_bytes":' page.html &&
    [ "$(grep '^"end_us":' page.html | tr -cd ',' | wc -c)" -eq "$(($(member steps.json n_steps) - 1))" ]
report $? "and a time for each step, which report --run takes"
declines "--steps without --json" 2 '--steps adds to --json' 1 --model mine.net --memory 200KiB --steps

# --- a schedule ---

succeeds "a schedule is run" 'planner dp-vbs+' 1 --model mine.net --schedule plan.json --check
grep -q '  check    outputs \(are\|differ from\) those of one sample at a time' out
report $? "and its outputs compared"
sed 's/^# device: .*/# device: another machine/' mine.csv >moved.csv
"$VBSLAB" plan moved.csv --planner dp-vbs+ --memory 1MiB --request 5 --json moved.json >/dev/null 2>&1
run run 1 --model mine.net --schedule moved.json
[ $code -eq 0 ] && grep -q 'run: warning: the schedule was planned from another profile: [0-9a-f]\{32\}, onednn on another machine' err
report $? "and one that was planned from another profile is said to be"
sed 's/"algorithm": "[^"]*"/"algorithm": "abacus"/' moved.json >wrong.json
declines "also where the profile has no such row" 1 \
    "no row with algorithm 'abacus'; the schedule was planned from another profile: " \
    1 --model mine.net --schedule wrong.json
"$VBSLAB" --quiet run 1 --model mine.net --schedule - --json <plan.json >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(member out request)" = 5 ]
report $? "a schedule from standard input"
"$VBSLAB" --quiet run - --model mine.net --schedule plan.json --json <mine.csv >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(member out request)" = 5 ]
report $? "a profile from standard input"
peak=$(member plan.json peak_bytes | head -1)
succeeds "in more memory than it was planned for" '1048576 bytes (1 MiB)' \
    1 --model mine.net --schedule plan.json --memory 1MiB
declines "not in less than its peak" 3 "the least that works is $peak bytes" \
    1 --model mine.net --schedule plan.json --memory $((peak - 1))
declines "a schedule has its request" 2 '--request is for --planner; a schedule has its own' \
    1 --model mine.net --schedule plan.json --request 5
sed 's/"layer": 1,/"layer": 2,/' plan.json >wrong.json
declines "a schedule that is none of this network" 1 'step 1 of' 1 --model mine.net --schedule wrong.json
sed 's/"algorithm": "[^"]*"/"algorithm": "abacus"/' plan.json >wrong.json
declines "an algorithm that nobody has" 1 'abacus' 1 --model mine.net --schedule wrong.json

# --- inputs and outputs ---

quiet 2 --model same.net --planner fbs --memory 256KiB --request 5 --output in.npy
[ $code -eq 0 ] && [ "$(wc -c <in.npy)" -eq $((128 + 5 * sample)) ] &&
    head -c 128 in.npy | grep -aq "'shape': (5, 3, 16, 16)" && grep -q '  output   p, 5x3x16x16, in in.npy' out
report $? "an output is written"
quiet mine.csv --model mine.net --planner dp-vbs+ --memory 200KiB --request 5 --output seeded.npy
quiet mine.csv --model mine.net --planner dp-vbs+ --memory 200KiB --request 5 --input in.npy --output given.npy
[ $code -eq 0 ] && cmp -s seeded.npy given.npy && cmp -s seeded-right_x.npy given-right_x.npy &&
    [ "$(wc -c <seeded.npy)" -eq $((128 + 5 * 40)) ] &&
    [ "$(wc -c <seeded-right_x.npy)" -eq $((128 + 5 * 20)) ]
report $? "an input is read; further outputs have files of their own"
grep -q '  output   right/x, 5x5, in given-right_x.npy' out
report $? "whose names are told"
quiet mine.csv --model mine.net --planner fbs --memory 1MiB --request 5 --input in.npy --output other.npy
[ $code -eq 0 ] && [ "$(wc -c <other.npy)" -eq $((128 + 5 * 40)) ]
report $? "another plan writes outputs of the same shape"
"$VBSLAB" --quiet run mine.csv --model mine.net --planner dp-vbs+ --memory 200KiB --request 5 \
    --input - --output - <in.npy >piped.npy 2>err
code=$?
[ $code -eq 0 ] && [ ! -s err ] && cmp -s piped.npy seeded.npy
report $? "both through pipes"
quiet mine.csv --model mine.net --planner dp-vbs+ --memory 200KiB --input in.npy --output given.npy
[ $code -eq 0 ] && cmp -s seeded.npy given.npy
report $? "without --request it is the samples of the file"
declines "too few samples" 1 'in.npy: has shape 5x3x16x16; the request needs 6x3x16x16, or --request 5' \
    1 --model mine.net --planner fbs --memory 1MiB --request 6 --input in.npy
quiet 1 --model mine.net --planner dp-vbs+ --memory 200KiB --request 4 --output seeded.npy
run run 1 --model mine.net --planner dp-vbs+ --memory 200KiB --request 4 --input in.npy --output given.npy
[ $code -eq 0 ] && grep -q 'warning: in.npy has 5 samples; the request takes the first 4' err &&
    cmp -s seeded.npy given.npy
report $? "of too many the first are taken"
declines "an input of another shape" 1 'other.npy: has shape 5x10; the request needs 5x3x16x16' \
    1 --model mine.net --planner fbs --memory 1MiB --request 5 --input other.npy
declines "an input that is no array" 1 'does not begin as one' \
    1 --model mine.net --planner fbs --memory 1MiB --input mine.net
declines "an input that is not there" 1 "cannot open 'none.npy'" \
    1 --model mine.net --planner fbs --memory 1MiB --input none.npy

# poison OFFSET BYTES: copies in.npy to nan.npy, with these bytes at an offset of its values.
poison()
{
    cp in.npy nan.npy
    printf "$2" | dd of=nan.npy bs=1 seek=$((128 + $1)) conv=notrunc 2>/dev/null
}

poison $((2 * sample + 4 * (256 + 3 * 16 + 7))) '\000\000\300\177'
declines "a value that is none" 1 'nan.npy: value [2, 1, 3, 7] is NaN' \
    1 --model mine.net --planner fbs --memory 1MiB --request 5 --input nan.npy
poison 0 '\000\000\200\377'
declines "an infinite value" 1 'nan.npy: value [0, 0, 0, 0] is minus infinity' \
    1 --model mine.net --planner fbs --memory 1MiB --request 5 --input nan.npy
poison $((4 * sample)) '\000\000\300\177'
succeeds "one behind the samples of the request" 'mine: 4 samples' \
    1 --model mine.net --planner fbs --memory 1MiB --request 4 --input nan.npy
{ head -c 128 in.npy; head -c $((5 * sample)) /dev/zero | tr '\000' '\177'; } >huge.npy
run run 3 --model twice.net --planner fbs --memory 1MiB --request 5 --input huge.npy --repeat 1
[ $code -eq 0 ] && grep -q "warning: output 'sum' is not finite: value \[0, 0, 0, 0\] is infinity" err
report $? "outputs that are not finite are warned of"
for option in output:out.npy trace:t.csv gantt:g.svg weights-file:w; do
    declines "--${option%:*} where nothing can be made" 1 "--${option%:*}: cannot create 'no/${option#*:}'" \
        1 --model not-even-looked-at.net --planner fbs --memory 1MiB "--${option%:*}" "no/${option#*:}"
done
declines "the second of two pictures where nothing can be made" 1 "--gantt: cannot create 'no/g.svg'" \
    1 --model not-even-looked-at.net --planner fbs --memory 1MiB --gantt g.svg,no/g.svg
declines "a picture of the name of the packed weights" 2 "--weights-file and --gantt name the same file, 'b.svg'" \
    1 --model mine.net --planner joint --memory 1MiB --gantt a.svg,b.svg --weights-file b.svg
declines "packed weights on standard output" 2 '--weights-file needs the name of a file' \
    1 --model mine.net --planner joint --memory 1MiB --weights-file -
declines "an output and a trace of one name" 2 "--output and --trace name the same file, 'out.npy'" \
    1 --model mine.net --planner fbs --memory 1MiB --trace out.npy --output out.npy
declines "an output that is no .npy" 2 "--output 'out.txt' must end in .npy" \
    1 --model mine.net --planner fbs --memory 1MiB --output out.txt

# --- weights included ---

for planner in dp-vbs+ mmcnn vdnn joint; do
    run run 1 --model mine.net --planner $planner --weights included --memory 400KiB --request 5 \
        --copy-rate 1GB --copy-latency 5 --check --output included.npy --json
    cp out run.json
    [ $code -eq 0 ] && [ "$(member run.json weights)" = '"included"' ] &&
        [ "$(member run.json placed_bytes)" -le 409600 ] &&
        at_most "$(member run.json relative)" 1e-4
    report $? "$planner with weights included"
done
for file in first again; do
    run run 1 --model mine.net --planner joint --memory 150KiB --request 5 --copy-rate 1GB \
        --copy-latency 5 --output $file.npy --weights-file packed.bin --json
    cp out $file.json
    cp packed.bin $file.bin
done
[ $code -eq 0 ] && [ "$(member again.json copied_bytes | sed -n 2p)" -gt 0 ] && cmp -s first.bin again.bin &&
    cmp -s first.npy again.npy
report $? "a file of packed weights is written, and read again"
head -c 100 first.bin >packed.bin
run run 1 --model mine.net --planner joint --memory 150KiB --request 5 --copy-rate 1GB \
    --copy-latency 5 --output again.npy --weights-file packed.bin
[ $code -eq 0 ] && cmp -s first.npy again.npy && cmp -s first.bin packed.bin
report $? "one that was cut off is written anew"
run plan 1 --planner joint --memory 150KiB --request 5 --copy-rate 1GB --copy-latency 5 --json given.json
sed 's/"source": "given"/"source": "disk"/' given.json >disk.json
run run 1 --model mine.net --schedule disk.json --memory 1MiB
[ $code -eq 0 ] && grep -q 'warning: the plan counts with copies from the disk, and these come from the page cache; ' err
report $? "copies from another source than planned are said"
run run 1 --model mine.net --schedule disk.json --memory 1MiB --direct
[ $code -eq 0 ] && ! grep -q 'counts with copies' err
report $? "but not where they come from it"
declines "--direct without weights" 2 "--direct is for --weights included" \
    1 --model mine.net --planner fbs --memory 1MiB --direct
succeeds "debug checks" 'mine: 5 samples' 1 --model mine.net --planner joint --memory 150KiB --request 5 \
    --copy-rate 1GB --copy-latency 5 --debug-checks --check

# --- the timeline ---

quiet mine.csv --model mine.net --schedule plan.json --trace trace.csv --json
cp out run.json
[ $code -eq 0 ] && [ "$(head -1 trace.csv)" = \
    step,op,layer,name,batch,part,parts,planned_start_us,planned_end_us,start_us,end_us,hash,backend,library,device,threads,modelled,profile ] &&
    [ "$(sed 's/.*,//' trace.csv | sort -u | tr '\n' ' ')" = "0 profile " ] &&
    [ "$(wc -l <trace.csv)" -eq $((1 + $(member run.json n_steps))) ] &&
    awk -F, 'NR > 1 && ($10 < last || $11 < $10 || $1 != NR - 1) { exit 1 } NR > 1 { last = $11 }' trace.csv
report $? "a trace: every step, one after the other"
quiet mine.csv --model mine.net --schedule plan.json --trace events.json
[ $code -eq 0 ] && grep -q '"name":"executed"' events.json && [ "$(grep -c '"ph":"X","pid":1' events.json)" -gt 0 ] &&
    [ "$(grep -c '"ph":"X","pid":2' events.json)" -eq "$(grep -c '"ph":"X","pid":1' events.json)" ]
report $? "trace events: planned and executed side by side"
at_most "$(tail -1 trace.csv | cut -d, -f11)" "$(member run.json fastest_us) + 1"
report $? "within the time of the fastest run"
quiet mine.csv --model mine.net --schedule plan.json --trace -
[ $code -eq 0 ] && [ "$(cut -d, -f1-9 trace.csv | cksum)" = "$(cut -d, -f1-9 out | cksum)" ]
report $? "on standard output alone"
quiet 1 --model mine.net --planner joint --memory 150KiB --copy-rate 1GB --copy-latency 5 --trace trace.csv
[ $code -eq 0 ] && grep -q '^[0-9]*,load,' trace.csv && grep -q '^[0-9]*,drop,' trace.csv
report $? "loads and drops are in it"
if command -v gnuplot >/dev/null; then
    quiet mine.csv --model mine.net --schedule plan.json --gantt run.svg
    [ $code -eq 0 ] && grep -q '>planned<' run.svg && grep -q '>executed<' run.svg
    report $? "a picture of both timelines"
    quiet mine.csv --model mine.net --schedule plan.json --gantt two.svg,two.pdf
    [ $code -eq 0 ] && grep -q '>executed<' two.svg && [ -s two.pdf ] && [ ! -e two.svg,two.pdf ]
    report $? "several pictures with commas between them"
else
    skip "pictures of both timelines" "there is no gnuplot"
fi

# --- outputs whose names are alike, or long ---

{
    printf 'model twins\ninput 3x8x8\nmaxpool p kernel=1\n'
    for name in a/b a_b a:b å ä; do
        printf 'conv %s out=2 kernel=1 from=p\n' "$name"
    done
} >twins.net
mkdir twins
"$VBSLAB" --db twins.sqlite --quiet measure ./twins.net --batches 1 --time-limit 0.1 >/dev/null 2>err
run --db twins.sqlite --quiet run ./twins.net --memory 1MiB --request 1 --output twins/y.npy --json
[ $code -eq 0 ] && [ "$(ls twins | tr '\n' ' ')" = 'y-__-2.npy y-__.npy y-a_b-2.npy y-a_b.npy y.npy ' ] &&
    [ "$(member out file | sort -u | wc -l)" -eq 5 ]
report $? "outputs a/b, a_b and a:b go into files of their own, and so do names that are not ASCII"
long=$(printf '%0230d' 0)
printf 'model long\ninput 3x8x8\nmaxpool p kernel=1\nconv a out=2 kernel=1 from=p\nconv %s out=2 kernel=1 from=p\n' \
    "$long" >long.net
"$VBSLAB" --db twins.sqlite --quiet measure ./long.net --batches 1 --time-limit 0.1 >/dev/null 2>err
run --db twins.sqlite --quiet run ./long.net --memory 1MiB --request 1 --output twins/long.npy
[ $code -eq 2 ] && [ ! -s out ] && grep -q 'would have a name of 239 bytes; 223 is the most here$' err &&
    [ ! -e twins/long.npy ]
report $? "a name that is too long for a file is refused before the run"
run --db twins.sqlite run ./twins.net --memory 1MiB --request 1 --runs 1 --output -
[ $code -eq 0 ] && grep -q 'takes the first only' err && [ "$(ls -d -- *__* *a_b* 2>/dev/null | wc -l)" -eq 0 ]
report $? "standard output takes the first output only, and the warning says so"

# --- what it refuses ---

declines "no profile" 2 'needs one PROFILE or MODEL, got 0' --planner fbs --memory 1MiB
declines "neither schedule nor budget" 2 'needs --memory, --total-memory or --schedule' 1
declines "schedule and planner" 2 'takes one of --schedule and --planner' \
    1 --schedule plan.json --planner fbs
declines "no budget" 2 'needs --memory, --total-memory or --schedule' 1 --planner fbs
declines "two budgets" 2 'takes one of --memory and --total-memory' 1 --memory 1MiB --total-memory 90MiB
declines "a limit for a schedule" 2 '--total-memory is for --planner' \
    1 --model mine.net --schedule plan.json --total-memory 90MiB
declines "an endless duration" 2 "--duration '1e9' is above the longest" 1 --memory 1MiB --duration 1e9
declines "a negative number of runs to warm up" 2 '--warmup -1 is out of range' 1 --memory 1MiB --warmup -1

# --- the whole process within a limit ---

printf 'model heavy\ninput 1x32x32\nfc fc out=4096\n' >heavy.net
"$VBSLAB" --quiet --db heavy.sqlite measure ./heavy.net --batches 1 --time-limit 0.1 --no-copies >out 2>err
run --db heavy.sqlite run ./heavy.net --request 1 --total-memory 1MiB
least=$(sed -n 's/.*; --total-memory \([0-9]*\)MiB works$/\1/p' err)
[ $code -eq 3 ] && [ -n "$least" ]
report $? "a limit below the program itself is no matter of weights"
if is_sanitized; then
    skip "a limit that the weights break" "AddressSanitizer keeps memory that was freed"
else
    # It runs where only the estimate exceeds the limit.
    run --db heavy.sqlite run ./heavy.net --request 1 --total-memory "${least:-99}MiB" --json
    total=$(member out total_bytes)
    run --db heavy.sqlite run ./heavy.net --request 1 --total-memory "$((${total:-0} * 93 / 100 / 1048576))MiB"
    [ $code -eq 3 ] && grep -q 'MiB works; 16.0 MiB of it are weights, which --weights included can copy in layer by layer$' err
    report $? "a limit that the weights break"
fi
declines "a limit that no process keeps" 3 '--total-memory' \
    1 --model mine.net --request 5 --total-memory 1MiB
least=$(sed -n 's/.*; --total-memory \([0-9]*\)MiB works$/\1/p' err)
[ "${least:-0}" -gt 1 ]
report $? "names the least that works: ${least:-none} MiB"
quiet 1 --model mine.net --request 5 --total-memory "${least:-1000}MiB" --check --json
[ $code -eq 0 ] && [ "$(member out limit_bytes)" -eq $((least << 20)) ] &&
    { is_sanitized || [ "$(member out total_bytes)" -le $((least << 20)) ]; } &&
    [ "$(member out total_bytes)" -ge "$(member out base_bytes)" ]
report $? "which does work, and the process stays within it (not AddressSanitizer's)"
succeeds "a limit with much to spare" '  of the whole process' \
    1 --model mine.net --request 5 --total-memory 1GiB
declines "an unknown planner" 2 "did you mean 'fbs'" 1 --model mine.net --planner fbz --memory 1MiB
declines "no repeats" 2 '--runs 0 is out of range' 1 --planner fbs --memory 1MiB --repeat 0
declines "no threads" 2 '--threads 0 is out of range' 1 --planner fbs --memory 1MiB --threads 0
declines "a picture of another kind" 2 "--gantt 'a.gif' must end in .svg, .png, .pdf or .tex" \
    1 --planner fbs --memory 1MiB --gantt a.gif
declines "two results for one stream" 2 'can go to standard output' \
    1 --planner fbs --memory 1MiB --json --trace -
declines "two inputs from one stream" 2 'can come from standard input' \
    - --planner fbs --memory 1MiB --input -
declines "too small a budget" 3 'the least budget is' 1 --model mine.net --planner fbs --memory 1KiB
declines "a modelled profile" 1 "the profile is of backend 'analytic', which models times and runs \
nothing; 'vbslab measure mine.net' makes one that can be run" \
    "$analytic" --model mine.net --planner fbs --memory 1MiB
declines "a network that the profile does not tell" 2 '--model FILE says where it is' \
    1 --planner fbs --memory 1MiB
declines "a profile of no network" 2 'does not say of which network it is; --model MODEL does' \
    bare.csv --planner fbs --memory 1MiB
declines "the profile of another network" 1 "its layer 1 'c1' is not in 'same'" \
    1 --model same.net --planner fbs --memory 1MiB
succeeds "a profile without provenance" 'mine: 12 samples' \
    bare.csv --model mine.net --planner fbs --memory 1MiB
quiet 1 --model mine.net --planner fbs --memory 1MiB
grep -q '^  profile  1, content [0-9a-f]\{12\}: onednn (oneDNN ' out && grep -q 'threads*, measured 20' out &&
    [ "$(sed 's/.*,//' trace.csv | sort -u | tr '\n' ' ')" = "1 profile " ]
report $? "where the profile comes from is printed, and the trace has its number in the store"
# An ONNX file: MaxPool of an input [N, 3, H, W], whose sizes are open.
printf %b '\0010\0010B\0004\0012\0000\0020\0015\0072\0136Z\0036\0012\0001x\0022\0031\0012\0027\0010\0001\0022\0023\0012' \
    '\0003\0022\0001N\0012\0002\0010\0003\0012\0003\0022\0001H\0012\0003\0022\0001W\0012\0054\0012\0001x\0022\0001' \
    'y\0032\0004pool\0042\0007MaxPool\0052\0025\0012\0014kernel\0137shape\0100\0001\0100\0001\0240\0001\0007b' \
    '\0013\0012\0001y\0022\0006\0012\0004\0010\0001\0022\0000\0022\0001g' >open.onnx
"$VBSLAB" --quiet measure open.onnx --input 3x8x8 --batches 1 --time-limit 1 >out 2>err
code=$?
[ $code -eq 0 ]
report $? "an ONNX file that leaves sizes open is measured in a shape"
succeeds "and run in that of the profile" 'open: 2 samples' open.onnx --planner fbs --memory 1MiB --request 2
# Two transpositions of an input [1, 4]: its first dimension is no batch.
turn()
{
    printf %b "\\0012\\0040\\0012\\0001$1\\0022\\0001$2\\0042\\0011Transpose\\0052\\0015\\0012\\0004perm" \
        '\0100\0001\0100\0000\0240\0001\0007'
}
{
    printf %b '\0010\0010\0072\0161'
    turn x t
    turn t y
    printf %b '\0022\0001g\0132\0023\0012\0001x\0022\0016\0012\0014\0010\0001\0022\0010\0012\0002\0010\0001\0012' \
        '\0002\0010\0004b\0023\0012\0001y\0022\0016\0012\0014\0010\0001\0022\0010\0012\0002\0010\0001\0012\0002' \
        '\0010\0004B\0004\0012\0000\0020\0015'
} >turned.onnx
"$VBSLAB" --quiet measure turned.onnx --batches 1-3 --time-limit 1 >out 2>err
succeeds "whole inputs of batch 1 leave as one batch" '  output   y, 3x4, in whole.npy' turned.onnx \
    --planner fbs --memory 1MiB --request 3 --output whole.npy
succeeds "and come as one" '  output   y, 3x4, in again.npy' turned.onnx --planner fbs --memory 1MiB \
    --request 3 --input whole.npy --output again.npy
cmp -s whole.npy again.npy
report $? "and are what they were"
# Softmax along the dimension of samples: a sample of shape [1, 4] comes with or without the 1. The
# header of an .npy file has spaces at its end.
printf %b '\0010\0010\0072\0113\0012\0034\0012\0001x\0022\0001y\0042\0007Softmax\0052\0013\0012\0004axis\0030\0000' \
    '\0240\0001\0002\0022\0001g\0132\0023\0012\0001x\0022\0016\0012\0014\0010\0001\0022\0010\0012\0002\0010\0001' \
    '\0012\0002\0010\0004b\0023\0012\0001y\0022\0016\0012\0014\0010\0001\0022\0010\0012\0002\0010\0001\0012\0002' \
    '\0010\0004B\0004\0012\0000\0020\0015' >along.onnx
sed '1s/(3, 4), }   /(3, 1, 4), }/' whole.npy >single.npy
"$VBSLAB" --quiet measure along.onnx --batches 1-3 --time-limit 1 >out 2>err
for samples in whole single; do
    succeeds "samples of shape [1, 4] come as in $samples.npy" "  output   y, 3x4, in $samples-out.npy" along.onnx \
        --planner fbs --memory 1MiB --request 3 --input $samples.npy --output $samples-out.npy
done
cmp -s whole-out.npy single-out.npy
report $? "and are the same"
declines "a network that the profile's shape does not suit" 1 \
    'the profile is of another network: input 3x16x16 does not suit the model' \
    1 --model alexnet --planner fbs --memory 1MiB
# A pool has the same algorithm with any number of threads; convolutions may have others.
if [ "$(nproc)" -ge 2 ]; then
    printf 'model pool\ninput 3x16x16\nmaxpool p kernel=2\n' >pool.net
    "$VBSLAB" --db pool.sqlite --quiet measure ./pool.net --batches 1-3 --threads 2 --time-limit 0.1 --no-copies >out 2>err
    run --db pool.sqlite run ./pool.net --planner fbs --memory 1MiB --threads 1
    [ $code -eq 0 ] && grep -q 'warning: the profile was measured with .* this run has 1: ' err
    report $? "another number of threads is warned of"
else
    skip "another number of threads" "there is one processor"
fi
# A signal during the restart of the program must not be lost; a run that loses it ends with 0.
if timeout --foreground --preserve-status 1 true 2>/dev/null; then
    lost=
    for delay in 0.002 0.004 0.006 0.008 0.01 0.012 0.015 0.02; do
        timeout --foreground --preserve-status $delay "$VBSLAB" --quiet run 1 --model mine.net \
            --planner fbs --memory 1MiB --request 64 --repeat 3000 >out 2>err && lost="$lost $delay"
    done
    [ -z "$lost" ]
    report $? "a signal ends the run whenever it comes;$lost"
else
    skip "a signal ends the run whenever it comes" "there is no timeout of coreutils"
fi
sed 's/^# device: .*/# device: abacus/' mine.csv >elsewhere.csv
run run elsewhere.csv --model mine.net --planner fbs --memory 1MiB
[ $code -eq 0 ] && grep -q 'warning: the profile was measured on another machine (abacus)' err
report $? "and another machine"
# A library that takes memory beside the arena in each kernel, and keeps it.
cat >takes.c <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int dnnl_primitive_execute(const void *primitive, void *stream, int n, const void *arguments)
{
    int (*execute)(const void *, void *, int, const void *) =
        dlsym(RTLD_NEXT, "dnnl_primitive_execute");

    for (int i = 0; i < 16; i++) {
        void *taken = malloc(65536);

        if (taken)
            memset(taken, i + 1, 65536);
    }
    return execute(primitive, stream, n, arguments);
}
END_OF_C
# rises ARGUMENTS...: runs the program with this library.
rises()
{
    LD_PRELOAD=$dir/takes.so "$VBSLAB" run 1 --model mine.net --planner fbs --memory 1MiB \
        --request 3 --runs 1 "$@" >out 2>err
    code=$?
}
if ${CC:-cc} -shared -fPIC -o takes.so takes.c -ldl 2>err && LD_PRELOAD=$dir/takes.so "$VBSLAB" --version >out 2>err; then
    rises
    [ $code -eq 0 ] && grep -q 'warning: the process rose [1-9][0-9.]* MiB above the budget: .* from the heap; --total-memory' err
    report $? "memory that the library takes beside the arena is warned of"
    rises --json
    above=$(sed -n 's/.*"above_budget_bytes": *\([0-9]*\).*/\1/p' out)
    heap=$(sed -n 's/.*"heap_bytes": *\([0-9]*\).*/\1/p' out)
    [ $code -eq 0 ] && [ "${above:-0}" -gt 1048576 ] && [ "${heap:-0}" -gt "$above" ]
    report $? "and counted: ${above:-no} bytes above the budget, ${heap:-no} from the heap"
    run run 1 --model mine.net --planner fbs --memory 4MiB --request 3
    [ $code -eq 0 ] && ! grep -q 'above the budget' err
    report $? "a run that stays within its budget is not warned of"
else
    skip "memory that the library takes beside the arena is warned of" "nothing can be loaded before this program"
    skip "and counted" "nothing can be loaded before this program"
    skip "a run that stays within its budget is not warned of" "nothing can be loaded before this program"
fi
finish
