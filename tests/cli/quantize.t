#!/bin/sh
# The command quantize: files in 8 bits, which every command takes; methods, types, layers that stay in
# floats, samples without labels; and what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=quantize
write_images images
printf '%s\n' 0 1 2 3 4 5 6 7 8 9 >images/classes.txt
gzip -dc "$DATA/fashion-mnist/images.npy.gz" >samples.npy
trained=$ROOT/db/networks/lenet-5.onnx

# field KEY: prints the value of a key of the JSON of out, the first one of its name.
field()
{
    sed -n "s/^ *\"$1\": \(.*[^,]\),*\$/\1/p" out | head -n 1
}

# above A B: whether number A is above B.
above()
{
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 > b + 0) }'
}

run lenet-5 --data images -o lenet.onnx --threads 1
[ $code -eq 0 ] && [ ! -s err ] && grep -q '^conv1  *conv .* dB' out && grep -q '^ip1  *fc+relu .* dB' out &&
    grep -q '^weights  *430500 in 8 bits, a scale for each channel; 431080 parameters in all$' out
report $? "a network is quantised"
grep -q "^ranges  *minmax of 36 samples\$" out && grep -q "^size  *1.64 MiB as 32-bit floats, 4[0-9][0-9].* KiB in 'lenet.onnx'\$" out
report $? "... the table tells ranges and sizes"
grep -q '^top-1 .* of 4 test images$' out && grep -q '^outputs .* dB, largest difference ' out
report $? "... and accuracy, before and after"
"$VBSLAB" models show lenet.onnx:fp32 >shown && grep -q 'relu+linear+round' shown &&
    "$VBSLAB" models show lenet.onnx >shown && grep -q 'int8, weights int8' shown
report $? "the file has a network that rounds"
"$VBSLAB" --db s.sqlite --quiet measure lenet.onnx --batches 1,2 --no-copies >out 2>err &&
    "$VBSLAB" --db s.sqlite --quiet run lenet.onnx --request 2 --memory 400KiB --check >out 2>err
report $? "... and is executed like others"
run lenet-5 --data images -o again.onnx --threads 1 --quiet
cmp -s lenet.onnx again.onnx
report $? "... and is the same when it is written again"
run lenet-5 --data images -o seed.onnx --threads 1 --seed 2 --images 1 --csv
[ $code -eq 0 ] && ! cmp -s lenet.onnx seed.onnx && [ "$(wc -l <out)" -eq 9 ] && grep -q '^1,conv1,conv,1,' out
report $? "other images give other ranges; CSV has a row for each layer"

# --- samples without labels ---

for method in minmax percentile entropy; do
    run "$trained" --data samples.npy -o $method.onnx --method $method --images 100 --json
    [ $code -eq 0 ] && [ "$(field method)" = "\"$method\"" ] && [ "$(field samples)" = 100 ] && [ "$(field test_images)" = null ] &&
        above "$(field outputs_db)" 25 && above "$(field same_class)" 97
    report $? "an array of numpy tells ranges, too: $method"
done
! cmp -s minmax.onnx percentile.onnx && ! cmp -s minmax.onnx entropy.onnx
report $? "... methods choose other ranges"
run "$trained" --data samples.npy -o tensor.onnx --images 100 --per-tensor --signed --symmetric --json
[ $code -eq 0 ] && [ "$(field per_channel)" = false ] && [ "$(field signed)" = true ] && [ "$(field symmetric)" = true ] &&
    [ "$(field zero)" = 0 ] && [ "$(field weight_scales)" = 0 ] && grep -q '"weight_scales": 1,' out && ! grep -q '"weight_scales": [2-9]' out
report $? "one scale for each layer, signed and symmetric"
run "$trained" --data samples.npy -o kept.onnx --images 100 --keep 'conv1,fc*' --json
[ $code -eq 0 ] && [ "$(field weights)" = 25000 ] && [ "$(grep -c '"floats_because": "kept by name"' out)" -ge 3 ]
report $? "layers stay in floats by name"
run "$trained" --data samples.npy -o alone.onnx --images 50 --alone --csv
[ $code -eq 0 ] && awk -F, 'NR == 1 { if ($NF != "alone_db") exit 1; next } $12 > 0 { n++; if ($NF < 30) exit 1 } $12 == 0 && $NF != "" { exit 1 }
    END { exit n != 4 }' out
report $? "layers are measured alone"
run "$trained" --data samples.npy -o alone.onnx --images 50 --alone
[ $code -eq 0 ] && grep -q '^layer .* alone  computed in floats$' out && grep -q '^fc2 .* dB  *[0-9.]* dB$' out
report $? "... and so in the table"
"$VBSLAB" --quiet eval lenet.onnx --data images >out 2>err
report $? "a file in 8 bits is evaluated"

# --- any network ---

run resnet-8 --data images -o r.onnx --images 4 --limit 2
[ $code -eq 0 ] && grep -q '^stage1/block1/add  *add+relu ' out && ! grep -q batchnorm out && grep -q '^prob .* no kernel of 8 bits$' out
report $? "BatchNorms are folded into weights, sums are rounded behind their ReLU"
"$VBSLAB" models show r.onnx >shown && ! grep -q batchnorm shown
report $? "... in the file, too"
"$VBSLAB" --quiet compress lenet-5 -o l.vbz --density 0.5 --bits 6 >out 2>err
run l.vbz --data images -o l.onnx --images 4
[ $code -eq 0 ] && grep -q "KiB in 'l.onnx'" out
report $? "coded weights are decoded"

# --- refusals ---

refuses "no data" 2 "needs --data" lenet-5 -o x.onnx
refuses "no file" 2 "needs -o" lenet-5 --data images
refuses "another ending" 2 ".onnx" lenet-5 --data images -o x.vbz
refuses "a folder that is not there" 1 "nowhere" lenet-5 --data nowhere -o x.onnx
refuses "a file that cannot be written" 1 "nowhere" lenet-5 --data images -o nowhere/x.onnx
refuses "images of another shape" 1 "takes inputs of 3x227x227" alexnet --data images -o x.onnx
refuses "samples of another shape" 1 "samples of 'resnet-56-cifar' are Nx3x32x32" resnet-56-cifar --data samples.npy -o x.onnx
TMPDIR=elsewhere
export TMPDIR
refuses "a folder of temporary files that is not there" 1 "cannot make a file in 'elsewhere'" "$trained" --data samples.npy -o x.onnx --images 8 --alone
unset TMPDIR
rm -f x.onnx # which was written before
refuses "a layer that is none" 2 "did you mean 'conv1'" lenet-5 --data images -o x.onnx --keep conv
refuses "a list without names" 2 "--keep names no layer" lenet-5 --data images -o x.onnx --keep ,
refuses "nothing that is left" 2 "no convolution" lenet-5 --data images -o x.onnx --keep '*'
refuses "a network that is quantised" 1 "is quantised already" lenet.onnx --data images -o x.onnx
refuses "a method that is none" 2 "minmax" lenet-5 --data images -o x.onnx --method best
refuses "a percentile of another method" 2 "--method percentile" lenet-5 --data images -o x.onnx --percentile 99
refuses "a percentile below 50" 2 "above 50" lenet-5 --data images -o x.onnx --method percentile --percentile 40
refuses "both forms" 2 "exclude" lenet-5 --data images -o x.onnx --json --csv
printf 'model none\ninput 1x28x28\nmaxpool p kernel=2 stride=2\nsoftmax s\n' >none.net
refuses "a network without weights" 2 "no convolution" none.net --data images -o x.onnx
[ ! -e x.onnx ]
report $? "no refusal leaves a file"

finish
