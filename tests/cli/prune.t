#!/bin/sh
# The command prune: smaller networks as ONNX files, which every command takes; groups, shares, presets,
# rankings, steps; and what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=prune

# field KEY: prints the value of a number in the JSON of out.
field()
{
    sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" out | head -n 1
}

prints "the groups of a network are listed" "stage2/block1/shortcut" resnet-8 --list
grep -q "^fc .* 'prob' mixes its channels\$" out
report $? "... with the reason of a group that is fixed"
run resnet-8 --list --csv --block 16
[ $code -eq 0 ] && [ "$(wc -l <out)" -eq 8 ] && grep -q '^conv1,16,16,1,2,621,295568,16,$' out
report $? "... as CSV"

# --- a smaller network ---

run resnet-8 -o half.onnx --prune 0.5 --block 16
[ $code -eq 0 ] && grep -q '^conv1  *2  *16 -> 8  *50.0%  16: nothing won$' out &&
    grep -q '^stage3/block1/conv1  *1  *64 -> 32  *50.0%$' out
report $? "half of all filters are removed, and widths that win nothing are named"
grep -q '^parameters  77754 -> 19810 (74.5% removed)$' out && grep -q '2 of 6 groups have a width inside a block of 16' out
report $? "... with parameters before and after"
"$VBSLAB" models show half.onnx --json >shown && grep -q '"parameters": 19810' shown
report $? "... the file has the smaller network"
"$VBSLAB" --db s.sqlite --quiet measure half.onnx --backend analytic --batches 1,2 >out 2>err &&
    "$VBSLAB" --db s.sqlite --quiet plan half --request 2 --memory 100KiB --json plan.json >out 2>err &&
    "$VBSLAB" --db s.sqlite --quiet replay half plan.json >out 2>err
report $? "... which is measured, planned and replayed like any other"
"$VBSLAB" --db r.sqlite --quiet run half.onnx --request 2 --memory 200KiB --check >out 2>err
report $? "... and executed"

run resnet-8 -o part.onnx --json --prune 0.3,'stage3/*=0.5,conv1=0' --keep 'stage2/*1=16' --round 16
[ $code -eq 0 ] && awk -F'"' '/"group"/ { group = $4 } /"kept"/ { sub(/.*: /, ""); print group "=" $0 }' out |
    tr -d ',' >kept
printf 'conv1=16\nstage1/block1/conv1=16\nstage2/block1/shortcut=32\nstage2/block1/conv1=16\nstage3/block1/shortcut=32\nstage3/block1/conv1=32\nfc=10\n' | cmp -s - kept
report $? "lists name groups by patterns, the last value counts, and widths are rounded up"
grep -q '"ranking": "l1"' out && [ "$(field parameters)" -eq 77754 ] && [ "$(field parameters_after)" -lt 77754 ]
report $? "... JSON tells the ranking and the sums"

run resnet-56-cifar -o tune.onnx --preset tune-resnet-56 --prune filter_pruner_layer_1=0.5,filter_pruner_layer_3.2=25% --csv
[ $code -eq 0 ] && [ "$(awk -F, '$2 == 16 && $3 == 8' out | wc -l)" -eq 9 ] && [ "$(awk -F, '$2 == 64 && $3 == 48' out | wc -l)" -eq 6 ] &&
    [ "$(awk -F, 'NR > 1 && $2 != $3' out | wc -l)" -eq 15 ]
report $? "the preset has the groups of TUNE's table"
run resnet-56-cifar -o tune.onnx --preset tune-resnet-56 --prune 0.5 --csv
[ $code -eq 0 ] && [ "$(awk -F, 'NR > 1 && $2 != $3' out | wc -l)" -eq 22 ]
report $? "... a value alone is for its groups only"

for ranking in l1 l2 random; do
    run lenet-300-100 -o $ranking.onnx --prune ip1=0.5 --by $ranking --quiet
done
! cmp -s l1.onnx random.onnx && ! cmp -s l1.onnx l2.onnx
report $? "rankings choose other channels"

# --- weights of files ---

small=$ROOT/db/networks/lenet-5.vbz
run "$small" -o dense.onnx --prune 0.1
[ $code -eq 0 ] && grep -q "coded weights of '.*' are written dense" err
report $? "a network with coded weights becomes a dense one"
mkdir again
run dense.onnx -o again/dense.onnx --prune 0
run again/dense.onnx -o dense.onnx --prune 0
[ $code -eq 0 ] && cmp -s dense.onnx again/dense.onnx && grep -q "nothing is removed" out
report $? "... of which a share of 0 removes nothing"
run "$DATA/onnx/torch_gates.onnx" -o gates.onnx --prune 0.5
[ $code -eq 0 ] && "$VBSLAB" models show gates.onnx >/dev/null
report $? "an ONNX file with gates by channel is pruned"

# --- gradients ---

write_images data
printf 'model small\ninput 1x28x28\nfc a out=16\nrelu ar\nfc f out=2\nsoftmax p\n' >small.net
run small.net -o taylor.onnx --prune a=0.5 --by taylor --data data --images 20 --seed 3 --threads 1
[ $code -eq 0 ] && grep -q '^a  *1  *16 -> 8' out && "$VBSLAB" --quiet eval taylor.onnx --data data --csv >score && [ -s score ]
report $? "channels are chosen by gradients over images, and the network runs on them"

# --- what is refused ---

refuses "a model is needed" 2 "needs one MODEL" --prune 0.5 -o no.onnx
refuses "a share or a number is needed" 2 "needs --prune LIST or --keep LIST" resnet-8 -o no.onnx
refuses "a file is needed" 2 "needs -o FILE.onnx" resnet-8 --prune 0.5
refuses "everything" 2 "would remove all channels" resnet-8 --prune 1 -o no.onnx
refuses "a share that is none" 2 "the share of channels that is REMOVED" resnet-8 --prune half -o no.onnx
refuses "a share below 0" 2 "the share of channels that is REMOVED" resnet-8 --prune=-0.5 -o no.onnx
refuses "no filters that stay" 2 "keep 0 is out of range" resnet-8 --keep 0 -o no.onnx
refuses "an unknown group" 2 "did you mean 'stage1/block1/conv1'" resnet-8 --prune stage1/block1/conv=0.5 -o no.onnx
refuses "a group that is fixed" 2 "'fc' cannot be pruned: 'prob' mixes its channels" resnet-8 --prune fc=0.5 -o no.onnx
refuses "an unknown preset" 2 "no preset 'tune'; there is tune-resnet-56" resnet-8 --preset tune --prune 0.5 -o no.onnx
refuses "a preset of another network" 2 "the network has no group 'stage1/block2/conv1'" resnet-8 --preset tune-resnet-56 --prune 0.5 -o no.onnx
refuses "an unknown ranking" 2 "is none of l1, l2, random and taylor" resnet-8 --prune 0.5 --by l3 -o no.onnx
refuses "gradients without images" 2 "by taylor needs --data DIR" resnet-8 --prune 0.5 --by taylor -o no.onnx
refuses "images without gradients" 2 "data goes with --by taylor" resnet-8 --prune 0.5 --data . -o no.onnx
refuses "images of another shape" 1 "28x28" resnet-56-cifar --prune 0.5 --by taylor --data data -o no.onnx
refuses "a name that is no ONNX file's" 2 "ends in .onnx" resnet-8 --prune 0.5 -o no.vbz
refuses "a list with a file" 2 "it goes without --prune" resnet-8 --list -o no.onnx
[ ! -e no.onnx ]
report $? "... nothing is written"

finish
