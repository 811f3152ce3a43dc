#!/bin/sh
# The first commands of a new user: help, planners, demo, and plans without naming a planner.
# VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

write_example >example.csv

# --- help ---

"$VBSLAB" --help >want
run help
[ $code -eq 0 ] && [ ! -s err ] && cmp -s want out
report $? "help prints what --help prints"
"$VBSLAB" plan --help >want
run help plan
[ $code -eq 0 ] && [ ! -s err ] && cmp -s want out
report $? "help plan prints what plan --help prints"
refuses "help of an unknown command" 2 "unknown command 'plam'; did you mean 'plan'? (see 'vbslab --help')" \
    help plam
refuses "help of a planner" 2 "'dp-vbs' is a planner, no command; 'vbslab planners' describes it" help dp-vbs
refuses "help of a command like no other" 2 "unknown command 'nosuch' (see 'vbslab --help')" help nosuch
for command in models measure profiles plan frontier replay compare run place planners backends demo help; do
    run help $command
    [ $code -eq 0 ] && sed '/^$/,$d' out | grep -q "^usage: vbslab $command" &&
        [ "$(sed -n '1,/^$/p' out | sed '1d; $d' | grep -cv '^    ')" -eq 0 ]
    report $? "help of $command has a blank line behind its usage"
done
refuses "help of two commands" 2 "takes one COMMAND at most, got 2" help plan run

# --- planners ---

run planners
[ $code -eq 0 ] && [ ! -s err ] && ! grep -q '.\{101\}' out &&
    for planner in fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+ optimal mmcnn vdnn joint \
        patch patch-2d fusion fusion-2d; do
        [ "$(grep -c "^$planner  " out)" -eq 1 ] && [ "$(grep -c "^  $planner  " out)" -eq 1 ] || break
    done
report $? "planners says of every planner what it does and what it costs"
run planners --json
[ $code -eq 0 ] && python3 - out <<'END'
import json, sys
root = json.load(open(sys.argv[1]))
assert root["format"] == "vbslab-planners-1"
for planner in root["planners"]:
    assert all(planner[key] for key in ("name", "summary", "source", "cost", "weights")), planner
    word = planner["source"].split()[0].rstrip(",")
    assert word in root["papers"] or planner["source"] == "vbslab", planner
assert [p["name"] for p in root["planners"] if p["weights"] == "included"] == ["mmcnn", "vdnn", "joint"]
END
report $? "planners --json, with the papers that the sources are short for"
refuses "planners of something" 2 "takes no arguments" planners dp-vbs

# --- the default planner ---

prints "plan takes dp-vbs+" "planner dp-vbs+" plan example.csv --memory 7 --request 2
prints "and joint with weights included" "planner joint" \
    plan example.csv --memory 20 --request 2 --weights included
prints "frontier takes dp-vbs+" "planner dp-vbs+" frontier example.csv --request 2
prints "rows are those of mmcnn" "conv1" plan alexnet --rows --memory 50MiB

# --- searches with limits ---

search="plan $ROOT/db/profiles/alexnet-a.csv --planner optimal --memory 4MiB --request 6 --json -"
run $search --node-limit 2000
sed '/"solver"/d' out >want
run $search --node-limit 2000
sed '/"solver"/d' out >got
[ $code -eq 0 ] && [ -s want ] && cmp -s want got
report $? "a limit of states makes a search reproducible"
refuses "a limit of states for a planner that does not search" 2 "--node-limit is for planner optimal; dp-vbs" \
    plan example.csv --planner dp-vbs --memory 7 --node-limit 10
refuses "a time limit for a planner that does not search" 2 "--time-limit is for planner optimal, joint or dp-vbs+" \
    plan example.csv --planner dp-vbs --memory 7 --time-limit 10
refuses "no states" 2 "--node-limit 0 is out of range" \
    plan example.csv --planner optimal --memory 7 --node-limit 0

# --- a network that is too long for a search of all its plans ---

{
    echo "model long"
    echo "input 3x8x8"
    i=0
    while [ $((i += 1)) -le 300 ]; do
        echo "conv c$i out=$((4 + i % 5)) kernel=3 pad=1"
    done
} >long.net
"$VBSLAB" --db long.sqlite measure --quiet --backend analytic ./long.net --batches 1,2,4,8 >/dev/null
prints "where everything fits, joint has the fastest plan of 300 layers without a search" \
    "no schedule is faster; this one reaches it" \
    --db long.sqlite plan ./long.net --planner joint --memory 1GiB --request 12
for planner in joint dp-vbs+; do
    prints "a time limit that is over at once leaves a plan of $planner" \
        "no schedule is faster; this one takes" \
        --db long.sqlite plan ./long.net --planner $planner --memory 16KiB --request 12 --time-limit 0.0001
done

# --- weights outside the budget ---

"$VBSLAB" --db weights.sqlite measure --quiet --backend analytic alexnet >/dev/null
outside="weights outside the budget: 232.6 MiB before packing; --weights included counts them"
prints "plan says how large they are, as the plan's algorithms pack them" \
    "weights outside the budget: 235.2 MiB; --weights included counts them" --db weights.sqlite plan alexnet --memory 10MiB
prints "and compare" "$outside" --db weights.sqlite compare alexnet --planners dp-vbs --memory 10MiB
prints "and frontier" "$outside" --db weights.sqlite frontier alexnet --planner fbs
run --db weights.sqlite plan alexnet --memory 300MiB --weights included --copy-rate 1GB
[ $code -eq 0 ] && ! grep -q 'outside the budget' out
report $? "weights inside the budget are not outside it"
run plan example.csv --memory 7 --request 2
[ $code -eq 0 ] && ! grep -q 'weights' out
report $? "nothing is said where there are none"
for command in "plan alexnet --memory 10MiB --json -" "frontier alexnet --planner fbs --json -" \
    "compare alexnet --planners dp-vbs --memory 10MiB --json"; do
    run --db weights.sqlite $command
    [ $code -eq 0 ] && [ "$(member out weight_bytes)" = 243860896 ]
    report $? "$command has them as weight_bytes"
done
"$VBSLAB" --db weights.sqlite --quiet measure --backend analytic vgg-s >/dev/null
run --db weights.sqlite frontier vgg-s --planner fbs --csv -
[ $code -eq 0 ] && [ "$(sed 's/,[^,]*$//; s/.*,//' out | sort -u | tr '\n' ' ')" = '2 profile ' ]
report $? "the CSV of a frontier has the id of its profile in each row"
run --db weights.sqlite frontier vgg-s --planner fbs --json -
[ $code -eq 0 ] && [ "$(member out profile)" = 2 ]
report $? "and its JSON"
"$VBSLAB" plan example.csv --memory 7 --request 2 --json - |
    sed 's/"weights": "excluded"/&, "weight_bytes": -1/' >negative.json
refuses "a schedule whose weights are negative" 1 "'weight_bytes' is out of range" \
    replay example.csv negative.json

# --- an ONNX file without weights: y = Relu(x) ---

printf '\010\010\102\002\020\015\072\050\012\014\012\001x\022\001y\042\004Relu' >relu.onnx
printf '\132\023\012\001x\022\016\012\014\010\001\022\010\012\002\010\002\012\002\010\003\142\003\012\001y' \
    >>relu.onnx
run models show relu.onnx
[ $code -eq 0 ] && grep -qx 'weights: none' out && "$VBSLAB" models show relu.onnx --json |
    grep -q '"weights": "none"'
report $? "only a network that has weights has seeded ones"

# --- the demo ---

run demo
[ $code -eq 0 ] && [ ! -s err ] && [ "$(grep -c '^\$ vbslab ' out)" -eq 3 ] &&
    grep -q 'planner joint' out && grep -q 'largest gain' out && [ ! -e db ]
report $? "demo runs from the source tree, and leaves no store"
mkdir -p prefix/bin prefix/share/vbslab/profiles
ln "$VBSLAB" prefix/bin/vbslab 2>/dev/null || cp "$VBSLAB" prefix/bin/vbslab
cp "$ROOT"/db/profiles/alexnet-a.csv "$ROOT"/db/profiles/googlenet-[ab].csv \
    "$ROOT"/db/profiles/alexnet-weights-a.csv prefix/share/vbslab/profiles
prefix/bin/vbslab demo >out2 2>err
code=$?
grep -q "^The profiles are in .*/prefix/share/vbslab/profiles$" out2
report $? "an installed demo says where its profiles are"
grep -v -e solver -e 'profiles are in' out >want
grep -v -e solver -e 'profiles are in' out2 >out
[ $code -eq 0 ] && [ ! -s err ] && cmp -s want out
report $? "and as it is installed, with the profiles under share"
mkdir -p data/profiles
VBSLAB_DATA=$PWD/data
export VBSLAB_DATA
refuses "a demo without its profiles" 1 "VBSLAB_DATA" demo
cp prefix/share/vbslab/profiles/alexnet-a.csv data/profiles
run demo
[ $code -eq 1 ] && grep -q 'planner dp-vbs+' out && grep -q "no profile 'googlenet-a.csv'" err
report $? "VBSLAB_DATA names the folder that has them"
# --- text in files and pipes ---

profile=$ROOT/db/profiles/alexnet-weights-a.csv
for command in "plan $profile --weights included --memory 32MiB --request 64" \
    "frontier $profile --weights included --planner mmcnn"; do
    run $command
    # Tables follow an empty line and their first heading.
    [ $code -eq 0 ] && sed '/^layer  \|^ *bytes  /,/^$/d' out >text && grep -q ' page-cache$' text &&
        ! grep -q '.\{101\}' text
    report $? "no line of text is wider than 100 columns: ${command%% *}"
done
cat >times.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,a,conv,0,1,default,50361.7,1,1,0,0,0
1,a,conv,0,2,default,100716,2,2,0,0,0
END
run frontier times.csv --planner fbs --request 2
[ "$(awk '/ ms / { print $4, $5 }' out | tr '\n' ';')" = '50.3617 ms;50.3580 ms;' ]
report $? "times of a column have equally many digits behind the point"

finish
