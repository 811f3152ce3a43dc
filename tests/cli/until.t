#!/bin/sh
# --until, with which the network of a file ends before what is not read: in every command that takes
# a model's file, and what is refused. No check depends on a time. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=
VBSLAB_DB=store.sqlite
export VBSLAB_DB
cp "$DATA/onnx/detector.onnx" "$DATA/onnx/several.onnx" .

run models show detector.onnx
[ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q "not supported: NonMaxSuppression .*: --until root,boxes,by,class (the first is an output of the file)" err
report $? "a file whose boxes data count is refused, and where it can end is said"

run models show detector.onnx --until root,boxes,by,class
[ $code -eq 0 ] && grep -qx "ends with 'root'" out && grep -qx "ends with 'by,class'" out &&
    grep -q "^output 'boxes': 20x4, of layer" out
report $? "it can end there"
cp out list
run models show detector.onnx --until root --until boxes,by,class
[ $code -eq 0 ] && cmp -s out list
report $? "... where the option is repeated, too"
run models show detector.onnx --until matmul/boxes
[ $code -eq 0 ] && grep -qx "ends with 'boxes'" out && ! grep -q sigmoid out
report $? "a node's name stands for what it makes"

# --- what is refused ---

# refuses NAME PATTERN ARGUMENTS...: wrong usage, one line.
refuses()
{
    name=$1 pattern=$2
    shift 2
    run "$@"
    [ $code -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] && grep -q "$pattern" err
    report $? "$name"
}

for command in "models show" measure plan run frontier compare explain report export "profiles show"; do
    case $command in
    plan | run | compare | explain) more="--memory 64KiB" ;;
    report) more="-o none.html" ;;
    export) more="-o none.onnx" ;;
    *) more= ;;
    esac
    refuses "$command: a name that is none" \
        "detector.onnx: the network cannot end at 'nowhere': no node and no tensor has this name" \
        $command detector.onnx --until boxes,nowhere $more
done
refuses "an input" "the network cannot end at 'x': no node makes it" models show detector.onnx --until x
refuses "no name" "until names no node" models show detector.onnx --until ''
for percent in % 0% 51% x% -1%; do
    refuses "measure: $percent" "until '$percent' is no percentage above 0% and up to 50%" measure detector.onnx --until $percent
done
refuses "plan: a percentage is a name" "cannot end at '2%': no node" plan detector.onnx --until 2% --memory 64KiB
refuses "a built-in network" "only the network of an ONNX file can end at a node" \
    models show lenet-5 --until conv1

# --- the same end wherever a model is named ---

run --quiet measure detector.onnx --until 50% --until root,boxes --batches 1,2 --no-copies --time-limit 0.1
report $code "a network that ends before its file does is measured, until its times are known so well"
id=$(tail -n 1 out)
run plan "$id" --memory 64KiB --json plan.json
report $code "its profile is planned by its number"
run plan detector.onnx --until root,boxes --memory 64KiB
report $code "plan finds it by the same option"
run plan detector.onnx --until boxes --until root --memory 64KiB
[ $code -eq 1 ] && grep -q "run 'vbslab measure detector.onnx --until boxes --until root' first" err
report $? "it is none of the network that ends with the same tensors in another order"
run plan detector.onnx --until boxes --memory 64KiB
[ $code -eq 1 ] && grep -q "run 'vbslab measure detector.onnx --until boxes' first" err
report $? "... or that ends elsewhere"
for command in "compare detector.onnx --memory 64KiB" "frontier detector.onnx" "explain detector.onnx --memory 64KiB" \
    "report detector.onnx --memory 64KiB -o end.html" "replay detector.onnx plan.json" "profiles show detector.onnx" \
    "run detector.onnx --memory 64KiB --runs 1 --request 2" "export detector.onnx -o end.onnx"; do
    run --quiet $command --until root,boxes
    report $code "... and so does ${command%% *}"
done
run --quiet run "$id" --model detector.onnx --memory 64KiB --runs 1 --request 2 --output root=root.npy
[ $code -eq 0 ] && [ -s root.npy ]
report $? "run takes the profile's number, and the outputs have the file's names"
run models show end.onnx
[ $code -eq 0 ] && grep -q "^output 'root': 20" out && grep -q "^output 'boxes': 20x4" out
report $? "a file that is written ends there by itself"
run profiles export "$id" end.csv
[ $code -eq 0 ] && grep -q '^# .*>root;>boxes' end.csv
report $? "the profile says where its network ends"

run --quiet measure several.onnx --until y=1 --batches 1 --no-copies --time-limit 0.1
report $code "a part of a file that is read as a whole, too, is measured"
run plan several.onnx --memory 64KiB
[ $code -eq 1 ] && grep -q "run 'vbslab measure several.onnx' first" err
report $? "its profile is none of the whole"

# --- every command that has --fix ---

with= missing=
for command in $("$VBSLAB" --help | sed -n 's/^  *\([a-z][a-z-]*\) .*/\1/p' | sort -u); do
    "$VBSLAB" help "$command" >help 2>/dev/null || continue
    if grep -q -- '--fix' help; then
        with="$with $command"
        grep -q -- '--until NODE' help || missing="$missing $command"
    fi
done
[ -n "$with" ] && [ -z "$missing" ]
report $? "every command that takes the inputs of a file takes its end:$with${missing:+; but not$missing}"
finish
