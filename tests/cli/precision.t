#!/bin/sh
# Precisions on the command line: MODEL:PRECISION and --precision are the same, profiles are kept
# apart by them, and networks in bfloat16 take half of the memory and run.
. "$(dirname "$0")/lib.sh"

"$VBSLAB" models show lenet-5 --json >floats && "$VBSLAB" models show lenet-5:bf16 --json >wide &&
    "$VBSLAB" models show lenet-5 --precision bf16 --json >option && cmp -s wide option
report $? "a precision behind the model and the option are the same"
grep -q '"name": "lenet-5:bf16"' wide && grep -q '"stored": "bfloat16"' wide &&
    ! grep -q '"stored"' floats
report $? "the name has the precision, and each layer tells how it is stored"
first() { sed -n 's/^      "out_bytes": \([0-9]*\),*$/\1/p' "$1" | head -n 1; }
[ "$(first floats)" -eq $((2 * $(first wide))) ]
report $? "a value of bfloat16 takes two bytes"
"$VBSLAB" models show lenet-5:fp32 --json | cmp -s - floats
report $? "its own precision changes nothing"

run models show lenet-5:int8
[ $code -eq 2 ] && [ "$(cat err)" = "vbslab: models: precision int8: 'lenet-5' is not quantised to 8 bits" ]
report $? "int8 of a network that is not quantised is refused"
run models show lenet-5 --precision fp16
[ $code -eq 2 ] && grep -q "precision 'fp16' is none of fp32, int8 and bf16" err
report $? "an unknown precision is refused"
cp "$DATA/onnx/several.onnx" .
run models show several.onnx:bf16
[ $code -eq 0 ] && grep -q '\$ids; .*float32' out && grep -q ' m  .*bfloat16' out && grep -q ' z .*embed.*bfloat16' out
report $? "indices are no numbers of 8 digits, but rows that they choose are"
cp "$DATA/onnx/largest.onnx" .
run models show largest.onnx:bf16
[ $code -eq 0 ] && [ "$(grep -c 'float32$' out)" -eq 8 ] && grep -q ' Div_36 .* float32$' out &&
    grep -q ' GatherElements_44 .* bfloat16$' out && grep -q ' TopK_30 .* bfloat16$' out
report $? "... nor are positions, and what is computed of them to become such"
for command in "models show" measure "plan --memory 1MiB" "run --memory 1MiB"; do
    run $command lenet-5:int4
    [ $code -eq 2 ] && grep -q "precision 'int4' is none of fp32, int8 and bf16$" err && run $command net.onnx:int4 &&
        [ $code -eq 2 ] && grep -q "precision 'int4' is none of fp32, int8 and bf16$" err
    report $? "... behind a model, too: $command"
done
run measure lenet-5:mixed
[ $code -eq 2 ] && grep -q "; 'vbslab mixed' plans one for each layer$" err
report $? "mixed precision has a command of its own"
run models show lenet-5:bf16 --precision fp32
[ $code -eq 2 ] && grep -q "'lenet-5:bf16' has a precision and so has --precision" err
report $? "two precisions are refused"
run export lenet-5:bf16 -o out.onnx
[ $code -ne 0 ] && [ ! -e out.onnx ]
report $? "what changes or writes a network takes none"

"$VBSLAB" --db s.sqlite --quiet measure lenet-5 lenet-5:bf16 --backend analytic --batches 1,2 >ids 2>err &&
    "$VBSLAB" --db s.sqlite profiles >list && grep -q ' lenet-5 ' list && grep -q ' lenet-5:bf16 ' list
report $? "profiles of precisions have names of their own"
least() { "$VBSLAB" --db s.sqlite --quiet frontier "$1" --planner fbs --request 2 --csv - | sed -n '2s/,.*//p'; }
[ "$(least lenet-5)" -eq $((2 * $(least lenet-5:bf16))) ]
report $? "the least budget is half of that of floats"

"$VBSLAB" --db r.sqlite --quiet measure lenet-5:bf16 --batches 1,2 --no-copies --time-limit 1 >ids 2>err &&
    "$VBSLAB" --db r.sqlite --quiet run lenet-5:bf16 --memory 1MiB --request 4 --check >out 2>err &&
    grep -q '^  check ' out
report $? "a network in bfloat16 runs"

cp "$DATA/onnx/quantised.onnx" .
run models show quantised.onnx
[ $code -eq 0 ] && grep -q "^file: ONNX opset .*; quantised$" out &&
    grep -q "^computed: in whole numbers where .* else in 32-bit floats" out
report $? "models show says in what a quantised network is computed"
run --db q.sqlite measure quantised.onnx --batches 1,2 --no-copies --time-limit 1
[ $code -eq 0 ] && grep -q "(conv) has no kernel .* computes in 32-bit floats (+f32)$" err && ! grep -q "(fc).*+f32" err
report $? "measure says which of its layers have kernels of floats only"
# y = x + c in 16-bit floats
printf '\010\010B\002\020\021\072K\012\016\012\001x\012\001c\022\001y\042\003Add\052\015\010\002\020\012B\001cJ\004\000\074\000\300Z\024\012\001x\022\017\012\015\010\012\022\011\012\003\022\001N\012\002\010\002b\024\012\001y\022\017\012\015\010\012\022\011\012\003\022\001N\012\002\010\002' >half.onnx
run models show half.onnx
[ $code -eq 0 ] && grep -qx "file: ONNX opset 17; 16-bit floats" out && grep -qx "computed: in 32-bit floats" out
report $? "models show says that 16-bit floats are computed in 32 bits"
run models show half.onnx:bf16
[ $code -eq 0 ] && grep -q "^computed: in bfloat16 where" out
report $? "... or in bfloat16"

finish
