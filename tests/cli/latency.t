#!/bin/sh
# --latency-us on the command line, and infeasibility reports: the budget or latency that the one line names
# works, and a byte or a microsecond less does not. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB
PLANNERS='fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+ optimal'
write_example >example.csv
"$VBSLAB" measure --quiet --backend analytic --batches 1-6 squeezenet-v1.0 mobilenet-v1 >out 2>err ||
    echo "Bail out! cannot measure"
"$VBSLAB" profiles export squeezenet-v1.0 squeezenet.csv
"$VBSLAB" profiles export mobilenet-v1 mobilenet.csv

# --- plans ---

prints "a plan with a bound says so" 'latency  12.00 us; no sample may wait longer than 19.5 us' \
    plan example.csv --planner dp-vbs --memory 7 --request 2 --latency-us 19.5
run plan example.csv --planner dp-vbs --memory 7 --request 2
[ $code -eq 0 ] && ! grep -q latency out
report $? "one without does not"
run plan example.csv --planner dp-vbs --memory 7 --request 2 --json plan.json
[ $code -eq 0 ] && [ "$(member plan.json latency_us)" = 20 ]
report $? "but its JSON predicts the latency"
run plan example.csv --planner dp-vbs --memory 7 --request 2 --latency-us 19.5 --json plan.json
[ $code -eq 0 ] && [ "$(member plan.json latency_us | tr '\n' ' ')" = '19.5 12 ' ]
report $? "and has the bound where there is one"
run replay example.csv plan.json
[ $code -eq 0 ] && grep -q 'in time  yes, with 7.500 us to spare' out
report $? "by which the replay judges it"
run replay example.csv plan.json --latency-us 11
[ $code -eq 3 ] && grep -q 'breaks its latency of 11 us: step 3, ' err
report $? "unless it is given another"
bad=
for planner in $PLANNERS; do
    for io in external resident; do
        for latency in 12 19 20 24 1e3; do
            run plan example.csv --planner $planner --memory 12 --request 2 --io $io \
                --latency-us $latency --json plan.json
            [ $code -ne 3 ] || continue
            run replay example.csv plan.json
            [ $code -eq 0 ] && grep -q 'in time  yes' out || bad="$bad $planner/$io/$latency"
        done
    done
done
[ -z "$bad" ]
report $? "plans of all planners keep their bound in the replay;$bad"
cat >slower.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,a,4,1,1,0,0,0
1,L1,conv,0,2,a,9,2,2,0,0,0
END
refuses "more memory that makes greedy-vbs slower" 3 \
    "the batches that greedy-vbs takes in 4 B answer later than 8 us; the least budget is 2 bytes" \
    plan slower.csv --planner greedy-vbs --memory 4 --request 2 --latency-us 8
prints "which a smaller budget is not" 'latency  4.000 us' \
    plan slower.csv --planner greedy-vbs --memory 2 --request 2 --latency-us 8

# --- frontiers ---

# curve NAME WANTED ARGUMENTS...: checks the first four columns of a frontier; the others name the profile.
curve()
{
    name=$1 part=$2
    shift 2
    run frontier "$@" --csv -
    [ $code -eq 0 ] && [ "$(cut -d , -f 1-4 out)" = "$part" ]
    report $? "$name"
}
curve "a frontier with a bound" "memory_bytes,time_us,per_sample_us,samples_per_s
6,24,12,83333.33333333333
12,18,9,111111.11111111111" \
    example.csv --planner dp-vbs --request 2 --latency-us 19
[ "$(sed -n 2p out | cut -d , -f 5-)" = "124b12ff435e91e1eed232d21a6190df,,,,,false,0,false" ]
report $? "of the profile with this content"
prints "as text says so" '2 samples, io external, planner dp-vbs, latency at most 19 us' \
    frontier example.csv --planner dp-vbs --request 2 --latency-us 19
curve "gaps in the frontier of greedy-vbs as CSV" "memory_bytes,time_us,per_sample_us,samples_per_s
2,8,4,250000
4,,," slower.csv --planner greedy-vbs --request 2 --latency-us 8
prints "as text" 'no plan' frontier slower.csv --planner greedy-vbs --request 2 --latency-us 8
prints "as JSON" '"time_us": null' \
    frontier slower.csv --planner greedy-vbs --request 2 --latency-us 8 --json -
refuses "a frontier of a bound that is too short" 3 "no schedule of fbs answers within 11 us in any \
memory; its least latency for 2 samples is 12 us" \
    frontier example.csv --planner fbs --request 2 --latency-us 11
refuses "with nothing written" 3 "its least latency" \
    frontier example.csv --planner fbs --request 2 --latency-us 11 --csv curve.csv
[ ! -e curve.csv ]
report $? "no file"

# --- infeasibility reports by hand ---

refuses "what binds, and what would help" 3 "no schedule of fbs fits 6 B; the least budget is 7 bytes, \
where layer 'L2' binds: 3 bytes of tensors and 4 of workspace at batch 1; 4 bytes would do without that \
workspace, 6 bytes with io external" plan example.csv --planner fbs --memory 6 --request 2 --io resident
refuses "what is reserved, and another planner" 3 "no schedule of greedy-vbs fits 7 B; the least \
budget is 8 bytes, where layer 'L2' binds: 3 bytes of tensors and 4 of workspace at batch 1, 1 more \
reserved; 4 bytes would do without that workspace, 6 bytes with planner dp-vbs+" \
    plan example.csv --planner greedy-vbs --memory 7 --request 2
refuses "the latency" 3 "no schedule of fbs fits 7 B and answers within 20.5 us; the least budget is 12 \
bytes, where layer 'L2' binds: 4 bytes of tensors and 8 of workspace at batch 2; 6 bytes would do \
without that workspace, 6 bytes with io external, 7 bytes without --latency-us, 7 bytes with planner \
dp-vbs+" plan example.csv --planner fbs --memory 7 --request 2 --io resident --latency-us 20.5
refuses "a latency that no budget keeps" 3 "no schedule of fbs answers within 11 us in any memory; its \
least latency for 2 samples is 18 us; 12 us would do with io external" \
    plan example.csv --planner fbs --memory 1GB --request 2 --io resident --latency-us 11
refuses "of a sample" 3 "its least latency for 1 sample is 12 us" \
    plan example.csv --planner dp-vbs --memory 7 --request 1 --latency-us 0.001
refuses "a step without workspace" 3 "where layer 'L1' binds: 2 bytes of tensors at batch 1" \
    plan slower.csv --planner fbs --memory 1
sed 's/,L2,/,"a name of more than sixty characters, which leaves little room for the rest of it",/' \
    example.csv >long.csv
refuses "a long name is cut" 3 "where layer 'a name of more than sixty characters, which leaves little \
ro...' binds: 2 bytes" plan long.csv --planner fbs --memory 5

# --- infeasibility reports are true ---

# works ARGUMENTS...: whether there is a plan that passes the replay.
works()
{
    run plan "$@" --json plan.json
    [ $code -eq 0 ] && "$VBSLAB" replay "$1" plan.json >/dev/null 2>err
}

# named HOW: prints the number before HOW in the file "line"; empty where there is none.
named()
{
    sed -n "s/.*[;,] \([0-9.]*\) \(bytes*\|us\) \(would do \)*$1.*/\1/p" line
}

# without_ws PROFILE LAYER: prints the profile without workspace in the rows of a layer.
without_ws()
{
    awk -F, -v OFS=, -v layer="$2" '$2 == layer { $10 = 0 } { print }' "$1"
}

# least NAME BYTES ARGUMENTS...: checks that BYTES are the least budget of a plan with these arguments.
least()
{
    what=$1 bytes=$2
    shift 2
    n_named=$((n_named + 1))
    works "$@" --memory "$bytes" || bad="$bad $what"
    run plan "$@" --memory $((bytes - 1))
    [ $code -eq 3 ] || bad="$bad $what/less"
}

# true_budget PROFILE IO LATENCY PLANNER: checks all budgets that the infeasibility report of no
# memory names.
true_budget()
{
    profile=$1 io=$2 planner=$4
    latency=${3:+--latency-us $3}
    run plan "$profile" --planner "$planner" --memory 0 --io "$io" $latency
    cp err line
    [ $code -eq 3 ] && [ "$(wc -l <line)" -eq 1 ] && [ "$(wc -c <line)" -lt 400 ] || bad="$bad line"
    least least "$(sed -n 's/.*the least budget is \([0-9]*\) bytes.*/\1/p' line)" \
        "$profile" --planner "$planner" --io "$io" $latency
    other=$(sed -n 's/.* with planner \([a-z+-]*\).*/\1/p' line)
    [ -z "$(named 'with planner')" ] || least other "$(named 'with planner')" \
        "$profile" --planner "$other" --io "$io" $latency
    [ -z "$(named 'with io external')" ] || least external "$(named 'with io external')" \
        "$profile" --planner "$planner" --io external $latency
    [ -z "$(named 'without --latency-us')" ] || least unbounded "$(named 'without --latency-us')" \
        "$profile" --planner "$planner" --io "$io"
    [ -z "$(named 'without that workspace')" ] || {
        without_ws "$profile" "$(sed "s/.*where layer '\(.*\)' binds.*/\1/" line)" >bare.csv
        least workspace "$(named 'without that workspace')" bare.csv --planner "$planner" --io "$io" \
            $latency
    }
}

n_named=0
for profile in squeezenet.csv mobilenet.csv; do
    for planner in fbs greedy-vbs dp-monotone dp-vbs dp-vbs+; do
        bad=
        for io in external resident; do
            true_budget $profile $io '' $planner
            true_budget $profile $io 60000 $planner
        done
        [ -z "$bad" ]
        report $? "$profile, $planner: what is named would do;$bad"
    done
done
[ $n_named -gt 60 ]
report $? "$n_named budgets were named"

# least_latency NAME US ARGUMENTS...: checks that US is the least latency of a plan with these
# arguments; with one less in the last of its six digits there is no plan.
least_latency()
{
    what=$1 us=$2
    shift 2
    n_named=$((n_named + 1))
    works "$@" --memory 1GB --latency-us "$us" || bad="$bad $what"
    run plan "$@" --memory 1GB --latency-us "$(awk -v us="$us" 'BEGIN { printf "%.9g", us * (1 - 2e-5) }')"
    [ $code -eq 3 ] || bad="$bad $what/less"
}

n_named=0
for profile in squeezenet.csv mobilenet.csv; do
    bad=
    for planner in fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+; do
        for io in external resident; do
            run plan $profile --planner $planner --memory 1GB --io $io --latency-us 1
            cp err line
            [ $code -eq 3 ] && [ "$(wc -l <line)" -eq 1 ] || bad="$bad line"
            least_latency "$planner/$io" \
                "$(sed -n 's/.*its least latency for 12 samples is \([0-9.]*\) us.*/\1/p' line)" \
                $profile --planner $planner --io $io
            [ -z "$(named 'with io external')" ] || least_latency "$planner/external" \
                "$(named 'with io external')" $profile --planner $planner
            other=$(sed -n 's/.* with planner \([a-z+-]*\).*/\1/p' line)
            [ -z "$other" ] || least_latency "$other" "$(named 'with planner')" \
                $profile --planner "$other" --io $io
        done
    done
    [ -z "$bad" ]
    report $? "$profile: the latencies that are named can be kept, and none below;$bad"
done
[ $n_named -gt 30 ]
report $? "$n_named latencies were named"
finish
