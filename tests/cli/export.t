#!/bin/sh
# vbslab export: ONNX files that every command takes, refusals, names, and files that are whole or not
# there at all. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

does "a built-in network is written" "'net.onnx' has 7 layers, 431080 parameters, 1.65 MiB" \
    export lenet-5 -o net.onnx
run models show net.onnx --json
member out out_bytes >a
run models show lenet-5 --json
member out out_bytes >b
[ -s a ] && cmp -s a b
report $? "... and is the same network"
prints "what was written is compressed" "'net.vbz'" compress net.onnx -o net.vbz --bits fc=3
prints "coded weights are written as plain ones, to a name with quotes" "431080 parameters" \
    export net.vbz -o "it's \"one\".onnx"
prints "... which is read" "conv" models show "it's \"one\".onnx"
prints "another input shape" "layers" export squeezenet-v1.0 -o small.onnx --input 3x67x67
prints "... is the file's" '"macs": 65860896' models show small.onnx --json

"$VBSLAB" export "$ROOT/tests/data/onnx/opset_18.onnx" -o resized.onnx >out 2>&1 && grep -aq 'Resize_20.scales' resized.onnx &&
    "$VBSLAB" export "$ROOT/tests/data/onnx/later.onnx" -o resized.onnx >out 2>&1 && grep -aq 'Resize_18.sizes' resized.onnx
report $? "scales that floats tell are written as scales, others as sizes of axes"

refuses "a name is needed" 2 "needs -o FILE.onnx" export lenet-5
refuses "a model is needed" 2 "needs one MODEL" export -o x.onnx
refuses "the name ends in .onnx" 2 "the name of an ONNX file ends in .onnx" export lenet-5 -o net.bin
refuses "the network that is read is not overwritten" 2 "is the network that is read" \
    export net.onnx -o net.onnx
refuses "an unknown model" 2 "lenet-5" export lenet-6 -o x.onnx
refuses "a folder that is not there" 1 "there is no folder 'nowhere/'" export lenet-5 -o nowhere/x.onnx
printf 'model large\ninput 32768x1x1\nfc a out=32768\n' >large.net
refuses "a network of 4 GiB" 1 "would take 4295098" export large.net -o x.onnx
[ ! -e x.onnx ]
report $? "no file is left behind"
finish
