#!/bin/sh
# The properties on which other programs rely: commands, units, ways to name a profile, "-", members
# of JSON, columns of CSV, and equal numbers from different commands. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# The planners that are quick on every network; optimal, which searches, gets only small ones.
PLANNERS='fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+'
QUICK='--planners dp-monotone,dp-vbs,dp-vbs+'
write_example >example.csv
VBSLAB_DB=store.sqlite
export VBSLAB_DB

# plan_to FILE ARGUMENTS...: writes a schedule to FILE and prints nothing.
plan_to()
{
    file=$1
    shift
    run plan "$@" --json "$file"
}

# --- the example of VBS III: 10 against 12 ---

for io in external resident; do
    for pair in dp-vbs:10 fbs:12 fbs-best:12 dp-vbs+:10 optimal:10; do
        plan_to plan.json example.csv --planner ${pair%:*} --memory 7 --request 2 --io $io
        [ $code -eq 0 ] && [ "$(member plan.json per_sample_us)" = ${pair#*:} ]
        report $? "the example takes ${pair#*:} per sample with ${pair%:*}, io $io"
    done
    run compare example.csv --baselines all --memory 7 --request 2 --io $io --csv
    [ $code -eq 0 ] && [ "$(awk -F, '{ print $8, $10 }' out | tr '\n' ';')" = \
        'planner per_sample_us;fbs 12;fbs-best 12;greedy-vbs ;dp-monotone 11;dp-vbs 10;dp-vbs+ 10;'`
        `'optimal 10;' ]
    report $? "and compare says the same, io $io"
done

# --- models ---

run models
[ $code -eq 0 ] && [ "$(awk 'NR > 1 { printf "%s ", $1 }' out)" = "alexnet vgg-s vgg-16 vgg-19 \
googlenet resnet-50 resnet-56-cifar squeezenet-v1.0 mobilenet-v1 c3d lenet-300-100 lenet-5 resnet-8 \
resnet-20 " ]
report $? "the built-in networks and their order"
run models show googlenet --json
keys=$(sed -n 's/^      "\([a-z_]*\)": .*/\1/p' out | sort | uniq -c | awk '{ printf "%s=%s ", $2, $1 }')
[ $code -eq 0 ] && [ "$keys" = "analytic_layer=84 fused=84 in_bytes=84 inputs=84 kind=84 layer=84 macs=84 \
name=84 out_bytes=84 shape=84 weight_bytes=84 " ]
report $? "every layer has every member"
cat >mine.net <<'END'
model mine
input 2x4x4
conv      c out=3 kernel=1
batchnorm n
scale     s
relu      r
END
run models show ./mine.net --json
[ $code -eq 0 ] && [ "$(member out weight_bytes | tail -1)" = $((4 * (2 * 3 + 3 + 2 * 3 + 2 * 3))) ] &&
    [ "$(member out in_bytes)" = 128 ] && [ "$(member out out_bytes)" = 192 ] &&
    [ "$(member out macs | tail -1)" = 96 ]
report $? "a network of one's own; weight_bytes counts what is fused"
run models show c3d --input 3x32x240x320 --json
[ $code -eq 0 ] && [ "$(member out in_bytes | head -1)" = $((4 * 3 * 32 * 240 * 320)) ]
report $? "another input shape"

# --- measure and profiles ---

"$VBSLAB" measure squeezenet-v1.0 resnet-56-cifar --backend analytic --batches 1,2,4-6 >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = "$(printf '1\n2')" ]
report $? "measure prints a profile's id in a line of its own, and nothing else"
prints "the batches that were asked for" 'batches  5: 1 2 4 5 6' profiles show 1
run measure squeezenet-v1.0 --backend analytic --quiet
[ $code -eq 0 ] && [ "$(tail -1 out)" = 3 ]
report $? "measure takes batches 1-12 by default"
prints "12 of them" 'batches  12: 1 2 3' profiles show 3
run backends
[ $code -eq 0 ] && grep -q '^onednn ' out && grep -q '^analytic  *yes' out
report $? "backends lists what there is"

plan_to by-id.json 3 --planner dp-vbs --memory 8MiB
plan_to by-name.json squeezenet-v1.0 --planner dp-vbs --memory 8MiB
"$VBSLAB" profiles export 3 three.csv && plan_to by-file.json three.csv --planner dp-vbs --memory 8MiB
"$VBSLAB" plan - --planner dp-vbs --memory 8MiB --json - <three.csv >by-pipe.json
# A file has no number in the store; everything else is the same.
cmp -s by-id.json by-name.json && grep -q '"profile": 3, ' by-id.json &&
    sed 's/"profile": 3, /"profile": 0, /' by-id.json | cmp -s - by-file.json && cmp -s by-file.json by-pipe.json
report $? "a profile by id, by name (the newest), as a file and from standard input"
"$VBSLAB" frontier 3 --planner fbs --json - | sed -n '/"provenance"/,/}/s/^ *\("[a-z]*": .*[^,]\),*$/\1/p' |
    grep -v '^"provenance"' | sort >frontier.keys
sed -n 's/.*"provenance": { \(.*\) },$/\1/p' by-id.json | sed 's/, "/\n"/g' | sort >plan.keys
[ -s plan.keys ] && grep -q '^"date": "20' plan.keys && grep -v '^"threads": null' frontier.keys | cmp -s - plan.keys
report $? "plan and frontier say in the same keys where the profile comes from, with its date"
"$VBSLAB" profiles export 3 - | "$VBSLAB" --db pipe.sqlite profiles import - >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = 1 ] && "$VBSLAB" --db pipe.sqlite profiles export 1 one.csv &&
    cmp -s three.csv one.csv
report $? "export and import through a pipe give the same profile"
does "imported where it is, it keeps its id" 3 profiles import three.csv

# --- profiles as CSV ---

awk -F, -v OFS=, '{ print $12, $7, $6, $5, $4, $3, $2, $1, "x" NR, $11, $10, $9, $8 }' example.csv |
    sed -e '1s/x1/further/' -e '1i# a comment' -e '3a# another' >other.csv
plan_to first.json example.csv --planner dp-vbs --memory 7 --request 2
plan_to second.json other.csv --planner dp-vbs --memory 7 --request 2
cmp -s first.json second.json
report $? "columns in any order, further ones and comments do not matter"
cat >outputs.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,"a, ""b""",conv,0,1,x,4,8,8,0,0,0
2,left,relu,1,1,x,1,8,8,0,0,1
3,right,relu,1,1,x,1,8,8,0,0,0
4,side,pool,1;0,1,x,1,16,2,0,0,0
5,end,add,2;3,1,x,1,16,8,0,0,1
END
plan_to plan.json outputs.csv --planner dp-vbs --memory 64 --request 2
run replay outputs.csv plan.json
[ $code -eq 0 ] && grep -q 'fits     yes' out
report $? "several outputs, several inputs, in place, quoted names"

# --- sizes ---

for pair in 15MB:15000000 15MiB:15728640 512KiB:524288 1048576:1048576 1.5GiB:1610612736 7B:7 0.5kB:500; do
    plan_to plan.json example.csv --planner fbs --memory ${pair%:*} --request 1
    [ "$(member plan.json memory_bytes)" = ${pair#*:} ]
    report $? "$pair bytes"
done
run compare squeezenet-v1.0 --memory 15MiB..40MiB:1MiB $QUICK --csv
[ $code -eq 0 ] && [ "$(wc -l <out)" -eq $((1 + 26 * 6)) ] &&
    [ "$(awk -F, 'NR > 1 { print $7 }' out | sort -nu | sed -n '1p;$p' | tr '\n' ' ')" = \
        '15728640 41943040 ' ]
report $? "a range of budgets, both ends included"

# --- plan ---

plan_to plan.json example.csv --planner dp-vbs --memory 64
[ "$(for key in request io weights format; do member plan.json $key; done | tr '\n' ' ')" = \
    '12 "external" "excluded" "vbslab-schedule-1" ' ]
report $? "12 samples, external, excluded by default"
missing=
for key in model planner memory_bytes time_us per_sample_us peak_bytes reserved_bytes latency_us \
    gap_percent layer batch algorithm; do
    [ -n "$(member plan.json $key)" ] || missing="$missing $key"
done
[ -z "$missing" ] && grep -q '"predicted": {' plan.json && grep -q '"bound": {' plan.json &&
    grep -q '"steps": \[' plan.json &&
    grep -q '"solver": { "peak_bytes": [1-9]' plan.json && [ "$(member plan.json latency_us | wc -l)" = 1 ]
report $? "a schedule has all its members"
rm plan.json
refuses "an infeasible plan" 3 "the least budget is 6 bytes" \
    plan example.csv --planner fbs --memory 5 --json plan.json
[ ! -e plan.json ]
report $? "writes no file"
echo kept >plan.json
refuses "an infeasible plan" 3 "the least budget is 6 bytes" \
    plan example.csv --planner fbs --memory 5 --json plan.json
[ "$(cat plan.json)" = kept ]
report $? "leaves the file that was there"
run plan example.csv --planner fbs --memory 6 --json -
[ $code -eq 0 ] && [ ! -s err ] && [ "$(head -c 1 out)" = '{' ] && [ "$(tail -c 4 out)" = '] }' ]
report $? "--json - prints the schedule and nothing else"

cat >algorithms.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,gemm,4,1,1,1,0,0
1,L1,conv,0,2,im2col-gemm,6,2,2,2,0,0
END
prints "an algorithm whose name is a part of another's is listed too" 'im2col-gemm, gemm' \
    plan algorithms.csv --planner fbs --memory 64 --request 3

# --- every plan is accepted by replay, with the time and peak that it says ---

for profile in resnet-56-cifar squeezenet-v1.0; do
    for io in external resident; do
        bad='' n_plans=0
        least=$("$VBSLAB" compare $profile --memory 0 --io $io $QUICK --csv 2>/dev/null |
            awk -F, 'NR > 1 { print $8 ":" $19 }')
        for item in $least; do
            bytes=${item#*:}
            for memory in $bytes $((bytes + bytes / 7)) $((2 * bytes)) 1GiB; do
                plan_to plan.json $profile --planner ${item%:*} --memory $memory --io $io
                [ $code -eq 0 ] || bad="$bad $item/$memory"
                run replay $profile plan.json
                [ $code -eq 0 ] && ! grep -q predicted out || bad="$bad $item/$memory(replay)"
                n_plans=$((n_plans + 1))
            done
            run plan $profile --planner ${item%:*} --memory $((bytes - 1)) --io $io
            [ $code -eq 3 ] && grep -q "budget is ${bytes} bytes" err || bad="$bad $item/less"
        done
        [ -z "$bad" ] && [ $n_plans -eq 24 ]
        report $? "$profile, $io: plans of all planners are accepted as predicted;$bad"
    done
done

bad=
for memory in 6 7 9 12 64; do
    plan_to plan.json example.csv --planner optimal --memory $memory --request 3 --time-limit 60
    [ $code -eq 0 ] && [ "$(member plan.json gap_percent)" = 0 ] || bad="$bad $memory"
    run replay example.csv plan.json
    [ $code -eq 0 ] && ! grep -q predicted out || bad="$bad $memory(replay)"
done
[ -z "$bad" ]
report $? "optimal: plans of the example are proven and accepted as predicted;$bad"

# --- compare's numbers are plan's ---

run compare 1 --memory 1MiB..9MiB:4MiB $QUICK --csv
cp out rows.csv
bad=
for row in $(awk -F, 'NR > 1 { print $7 ":" $8 ":" $9 ":" $10 ":" $12 ":" $15 }' rows.csv); do
    IFS=: read -r memory planner feasible per_sample peak gap <<END
$row
END
    plan_to plan.json 1 --planner "$planner" --memory "$memory"
    case $feasible in
    true) [ "$(member plan.json per_sample_us):$(member plan.json peak_bytes | head -1):$(
        member plan.json gap_percent)" = "$per_sample:$peak:$gap" ] || bad="$bad $row" ;;
    false) [ $code -eq 3 ] || bad="$bad $row" ;;
    esac
done
[ -z "$bad" ] && [ "$(wc -l <rows.csv)" -eq 19 ] && grep -q ,true, rows.csv &&
    grep -q ,false, rows.csv
report $? "per_sample_us, peak_bytes and gap_percent of compare are those of plan;$bad"
run compare 1 --memory 1MiB..9MiB:4MiB $QUICK --json
for key in format profile model request io memory_bytes planner feasible per_sample_us samples_per_s \
    peak_bytes gain_over_fbs_percent gain_over_fbs_best_percent gap_percent max_batch min_batch \
    plan_us; do
    member out $key | sort -u | head -1 | grep -q . || bad="$bad $key"
done
[ -z "$bad" ] && [ "$(member out format)" = '"vbslab-compare-1"' ] && [ "$(member out profile)" = 1 ]
report $? "the JSON of compare has all its members;$bad"
member out per_sample_us | awk '{ printf "%.9g\n", $1 }' >json.txt
awk -F, 'NR > 1 { printf "%.9g\n", $10 }' rows.csv | cmp -s - json.txt
report $? "and the numbers of its CSV"

# --- frontier ---

for planner in $PLANNERS; do
    run frontier 1 --planner "$planner" --csv curve.csv
    [ $code -eq 0 ] && [ ! -s out ] && head -1 curve.csv | grep -q '^memory_bytes,time_us,' || code=9
    previous='' bad='' i=0
    while IFS=, read -r memory time rest; do
        i=$((i + 1))
        [ $i -gt 1 ] || continue # the header
        [ $i -le 4 ] || [ $((i % 97)) -eq 0 ] || { previous=$time; continue; }
        plan_to plan.json 1 --planner "$planner" --memory "$memory"
        [ "$(member plan.json time_us | head -1)" = "$time" ] || bad="$bad $memory"
        run plan 1 --planner "$planner" --memory $((memory - 1)) --json plan.json
        if [ $i -eq 2 ]; then
            [ $code -eq 3 ] || bad="$bad below-$memory"
        else
            [ "$(member plan.json time_us | head -1)" = "$previous" ] || bad="$bad before-$memory"
        fi
        previous=$time
    done <curve.csv
    [ $i -gt 2 ] && [ -z "$bad" ]
    report $? "the frontier of $planner is where its plans change, to the byte;$bad"
done

run frontier 1 --planner dp-vbs+ --json curve.json
[ $code -eq 0 ] && [ ! -s out ] && [ "$(member curve.json format)" = '"vbslab-frontier-1"' ] &&
    [ "$(member curve.json planner)" = '"dp-vbs+"' ] && [ "$(member curve.json request)" = 12 ] &&
    [ "$(member curve.json peak_bytes)" -gt 0 ] &&
    [ "$(member curve.json memory_bytes | tr '\n' ' ')" = \
        "$(awk -F, 'NR > 1 { printf "%s ", $1 }' curve.csv)" ]
report $? "the JSON of a frontier has the points of its CSV, and the solver's memory"
prints "as text it ends with the solver's memory" 'solver   took ' frontier 1 --planner dp-vbs+
prints "and begins with what it is of" ': 12 samples, io external, planner dp-vbs+' \
    frontier 1 --planner dp-vbs+
run frontier example.csv --planner optimal --request 3 --csv -
cp out optimal.csv
run frontier example.csv --planner dp-vbs+ --request 3 --csv -
[ $code -eq 0 ] && cmp -s out optimal.csv
report $? "the frontier of optimal, where dp-vbs+ cannot be bettered"

# --- replay ---

plan_to plan.json 1 --planner dp-vbs --memory 4MiB
run replay 1 - <plan.json
[ $code -eq 0 ] && grep -q 'fits     yes' out
report $? "a schedule from standard input"
run replay - plan.json <three.csv
[ $code -eq 0 ] || [ $code -eq 1 ] && grep -q . out err
report $? "a profile from standard input"
run replay 1 plan.json --json --trace trace.csv
peak=$(member out peak_bytes | head -1)
[ $code -eq 0 ] && [ "$(awk -F, 'NR > 1 && $12 > most { most = $12 } END { print most }' trace.csv)" = \
    "$peak" ] && [ "$(($(wc -l <trace.csv) - 1))" -eq "$(member out n_steps)" ]
report $? "a trace has every step, and the peak"
run replay 1 plan.json --memory $((peak - 1))
[ $code -eq 3 ] && grep -q "the least budget that works is $peak bytes" err
report $? "a budget a byte too small is broken, and the least that works is named"
run replay 1 plan.json --memory "$peak"
[ $code -eq 0 ]
report $? "which then works"

# --- plots ---

if command -v gnuplot >/dev/null; then
    run compare example.csv --request 2 --plot curve.svg,curve.png,curve.pdf
    [ $code -eq 0 ] && head -c 400 curve.svg | grep -q '<svg' &&
        [ "$(head -c 4 curve.png | tail -c 3)" = PNG ] && [ "$(head -c 4 curve.pdf)" = %PDF ]
    report $? "plots as .svg, .png and .pdf"
else
    skip "plots as .svg, .png and .pdf" "there is no gnuplot"
fi
finish
