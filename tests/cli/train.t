#!/bin/sh
# The command train: an ONNX file that eval reads, epochs as a table, JSON and CSV, checkpoints, and what
# is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=train

write_images data

printf 'model small\ninput 1x28x28\nfc a out=16\nrelu ar\nfc f out=2\nsoftmax p\n' >small.net

prints "a network is trained" "   2  " small.net --data data --epochs 2 --batch 9 --threads 1 -o net.onnx
[ "$(wc -l <out)" -eq 3 ] && [ "$(awk 'NR == 3 { print $3 }' out)" = 100.00% ]
report $? "... its table has an epoch in each line, the last with all images right"
"$VBSLAB" eval net.onnx --data data --json >out
grep -q '"right": 4' out && grep -q '"normalise_from": "network"' out
report $? "... the file is a network that names all test images, with its normalisation"

run small.net --data data --epochs 2 --batch 9 --threads 1 --csv --checkpoint point --optimiser adam \
    --schedule step --warm-up 0.5 --init glorot --mirror --shift 1 --label-smoothing 0.1 --weight-decay 0
[ $code -eq 0 ] && [ "$(wc -l <out)" -eq 3 ] &&
    [ "$(head -n 1 out)" = "epoch,loss,accuracy,validation_loss,validation_accuracy,rate,time_s" ]
report $? "CSV has a row for each epoch"
run small.net --data data --epochs 1 --batch 9 --threads 1 --csv --validation 2
[ $code -eq 0 ] && awk -F, 'NR == 2 { exit !($4 > 0 && ($5 == 0 || $5 == 0.5 || $5 == 1)) }' out
report $? "as many images are set aside as --validation says"
cp point kept
run small.net --data data --epochs 2 --batch 9 --threads 1 --json --checkpoint point --optimiser adam \
    --schedule step --warm-up 0.5 --init glorot --mirror --shift 1 --label-smoothing 0.1 --weight-decay 0
[ $code -eq 0 ] && grep -q '"epochs": \[\]' out && cmp -s point kept
report $? "a training that is finished goes on with no epoch"

refuses "another training's checkpoint" 2 "which differs in the options" small.net --data data --epochs 3 --checkpoint point
refuses "a model is needed" 2 "needs one MODEL" --data data --epochs 1
refuses "images and epochs are needed" 2 "needs --data DIR and --epochs N" lenet-5 --data data
refuses "an unknown course" 2 "--schedule 'linear' is none of cosine, constant, step and exponential" \
    lenet-5 --data data --epochs 1 --schedule linear
refuses "more images set aside than there are" 2 "training images cannot be set aside" small.net --data data --epochs 1 --validation 1000
refuses "no epochs" 2 "--epochs" lenet-5 --data data --epochs 0
refuses "a name that is no ONNX file's" 2 "ends in .onnx" lenet-5 --data data --epochs 1 -o net.vbz
refuses "images of another shape" 2 "the images are 1x28x28" resnet-56-cifar --data data --epochs 1 --batch 8
refuses "... which the network may take" 2 "(--input 1x28x28)" resnet-56-cifar --data data --epochs 1 --batch 8
refuses "a shift out of the picture" 2 "a shift of 28 pixels" small.net --data data --epochs 1 --batch 9 --shift 28
refuses "a rate that is no number" 2 "--rate 'nan' is not a number from 0 on" small.net --data data --epochs 1 --rate nan
refuses "a warm-up longer than the training" 2 "a number of epochs of warm-up of 7; it must be at least 0 and at most 1" \
    small.net --data data --epochs 1 --batch 9 --warm-up 7
refuses "a rate of dropout of 1" 2 "a dropout rate of 1; it must be below 1" small.net --data data --epochs 1 --dropout 1
refuses "a rate at which values overflow" 1 "training diverged: in step" lenet-5 --data data --epochs 60 --batch 9 --rate 1000000 -o no.onnx
[ ! -e no.onnx ] && grep -qE "step [0-9]+ of epoch [0-9]+ the (values|parameters) of '(conv|ip|pool|relu)" err
report $? "... nothing is written; step and layer are named"

# Dropout: none is another training than half.
printf 'model drop\ninput 1x28x28\nfc a out=16\nrelu ar\ndropout d\nfc f out=2\n' >drop.net
for rate in 0 0.5 0.9; do
    "$VBSLAB" train drop.net --data data --epochs 1 --batch 9 --threads 1 --dropout $rate -o drop-$rate.onnx >/dev/null
done
"$VBSLAB" train drop.net --data data --epochs 1 --batch 9 --threads 1 -o drop.onnx >/dev/null
cmp -s drop.onnx drop-0.5.onnx && ! cmp -s drop.onnx drop-0.onnx && ! cmp -s drop-0.onnx drop-0.9.onnx
report $? "--dropout has the default 0.5, and 0 is none"

# A training that is killed again and again ends with the bits of one that is not. Wherever a kill strikes,
# the checkpoint is whole.
many="small.net --data data --epochs 120 --batch 9 --threads 1 --csv --quiet"
"$VBSLAB" train $many -o whole.onnx >out 2>err
for i in 1 2 3 4 5; do
    before=$(ls -i killed 2>/dev/null)
    "$VBSLAB" train $many --checkpoint killed -o killed.onnx >/dev/null 2>&1 &
    pid=$!
    until [ "$(ls -i killed 2>/dev/null)" != "$before" ] || ! kill -0 $pid 2>/dev/null; do :; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
"$VBSLAB" train $many --checkpoint killed -o killed.onnx >out 2>err
code=$?
[ $code -eq 0 ] && [ -s whole.onnx ] && cmp -s whole.onnx killed.onnx && [ "$(wc -l <out)" -lt 121 ]
report $? "a training that was killed five times gives the same file, and has not begun anew"

# Images that are cut, labels that do not suit.
cp -r data cut
head -c 5000 data/train-images-idx3-ubyte >cut/train-images-idx3-ubyte
refuses "images that are cut" 1 "train-images-idx3-ubyte" small.net --data cut --epochs 1
cp data/train-images-idx3-ubyte cut
head -c 30 data/train-labels-idx1-ubyte >cut/train-labels-idx1-ubyte
refuses "labels that are cut" 1 "train-labels-idx1-ubyte" small.net --data cut --epochs 1
{ head -c 20 data/train-labels-idx1-ubyte; printf '\005'; tail -c +22 data/train-labels-idx1-ubyte; } >cut/train-labels-idx1-ubyte
refuses "a label for which the network has no output" 2 "the images have 6 classes, but network 'small' has 2 outputs" \
    small.net --data cut --epochs 1
printf 'dark\nbright\n' >cut/classes.txt
refuses "a label outside the list of classes" 1 "label 5" small.net --data cut --epochs 1
rm cut/train-images-idx3-ubyte
refuses "no images" 1 "cut" small.net --data cut --epochs 1

finish
