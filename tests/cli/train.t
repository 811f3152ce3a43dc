#!/bin/sh
# The command train: an ONNX file that eval reads, epochs as a table, JSON and CSV, checkpoints, and what
# is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=train

# 40 training and 4 test images of 28 x 28 bytes, which are dark or bright by their label.
mkdir data
for part in train:40 t10k:4; do
    n_images=${part#*:}
    octal=$(printf %03o "$n_images")
    { printf '\0\0\010\003\0\0\0'; printf "\\$octal"; printf '\0\0\0\034\0\0\0\034'; } >"data/${part%:*}-images-idx3-ubyte"
    { printf '\0\0\010\001\0\0\0'; printf "\\$octal"; } >"data/${part%:*}-labels-idx1-ubyte"
    i=0
    while [ $i -lt "$n_images" ]; do
        if [ $((i % 2)) -eq 0 ]; then pixel='\020'; else pixel='\300'; fi
        head -c 784 /dev/zero | tr '\0' "$pixel" >>"data/${part%:*}-images-idx3-ubyte"
        printf "\\00$((i % 2))" >>"data/${part%:*}-labels-idx1-ubyte"
        i=$((i + 1))
    done
done

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
cp point kept
run small.net --data data --epochs 2 --batch 9 --threads 1 --json --checkpoint point --optimiser adam \
    --schedule step --warm-up 0.5 --init glorot --mirror --shift 1 --label-smoothing 0.1 --weight-decay 0
[ $code -eq 0 ] && grep -q '"epochs": \[\]' out && cmp -s point kept
report $? "a training that is finished goes on with no epoch"

refuses "another training's checkpoint" 2 "belongs to another training" small.net --data data --epochs 3 --checkpoint point
refuses "a model is needed" 2 "needs one MODEL" --data data --epochs 1
refuses "images and epochs are needed" 2 "needs --data DIR and --epochs N" lenet-5 --data data
refuses "an unknown course" 2 "--schedule 'linear' is none of cosine, constant, step and exponential" \
    lenet-5 --data data --epochs 1 --schedule linear
refuses "no epochs" 2 "--epochs" lenet-5 --data data --epochs 0
refuses "a name that is no ONNX file's" 2 "ends in .onnx" lenet-5 --data data --epochs 1 -o net.vbz
refuses "images of another shape" 2 "the images are 1x28x28" resnet-56-cifar --data data --epochs 1 --batch 8
refuses "a rate at which values overflow" 1 "training diverged: in step" lenet-5 --data data --epochs 60 --batch 9 --rate 1000000 -o no.onnx
[ ! -e no.onnx ]
report $? "... nothing is written"

finish
