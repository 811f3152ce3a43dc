#!/bin/sh
# The command eval: the trained networks of db/networks name the classes of a sample of test images as
# often as db/networks/networks.csv has it; what it prints; what it refuses. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=eval
networks=$ROOT/db/networks
sample=$DATA/fashion-mnist
n_images=$(wc -l <"$sample/labels")

# npy FILE TYPE SHAPE: writes the head of an array of numpy; the values go behind it.
npy()
{
    header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
    { printf '\223NUMPY\001\000'; printf "\\$(printf %03o ${#header})\\000"; printf '%s' "$header"; } >"$1"
}

# The sample's pixels are normalised floats.
mkdir data
cp "$sample/images.npy.gz" data/test-images.npy.gz
npy data/test-labels.npy '|u1' "$n_images,"
while read -r label; do
    printf "\\$(printf %03o "$label")"
done <"$sample/labels" >>data/test-labels.npy

# A folder of IDX files with four training and two test images of 28 x 28 bytes.
idx()
{
    mkdir "$1"
    for part in train:4 t10k:2; do
        k=${part#*:}
        { printf '\0\0\010\003\0\0\0'; printf "\\00$k"; printf '\0\0\0\034\0\0\0\034'; } >"$1/${part%:*}-images-idx3-ubyte"
        head -c $((k * 784)) /dev/zero | tr '\0' '\100' >>"$1/${part%:*}-images-idx3-ubyte"
        { printf '\0\0\010\001\0\0\0'; printf "\\00$k"; printf '\011\000\003\005' | head -c "$k"; } \
            >"$1/${part%:*}-labels-idx1-ubyte"
    done
}
idx small

# field NAME: the value of a key of the JSON in out, on one line.
field()
{
    sed -n "s/.*\"$1\": \([^,]*\),*\$/\1/p" out
}

sed '/^#/d' "$networks/networks.csv" | sed 1d >rows
n_files=0
while IFS=, read -r file network kind bytes all want; do
    n_files=$((n_files + 1))
    run "$networks/$file" --data data --normalise 0,1 --json </dev/null
    [ $code -eq 0 ] && [ ! -s err ] && [ "$(field right)" = "$want" ] && [ "$(field images)" = "$n_images" ]
    report $? "$file names $want of $n_images classes"
done <rows
[ "$n_files" -ge 6 ]
report $? "for all trained networks"

# Other batches give the same answers; the last batch is not full.
run "$networks/lenet-5.onnx" --data data --normalise 0,1 --json
sed -n '/"confusion"/,$p' out >matrix
loss=$(field loss)
right=$(field right)
run "$networks/lenet-5.onnx" --data data --normalise 0,1 --json --batch 77 --threads 1
sed -n '/"confusion"/,$p' out | cmp -s - matrix && [ "$(field batch)" = 77 ] && [ "$(field threads)" = 1 ] &&
    awk -v a="$loss" -v b="$(field loss)" 'BEGIN { exit !(a > 0 && a - b < 1e-5 && b - a < 1e-5) }'
report $? "77 images at once give the same matrix and the same loss as 64"
tr -d ' \n' <matrix | sed 's/"confusion"://; s/\[\[//; s/\]\].*//; s/\],\[/\n/g' |
    awk -F, -v right="$right" -v n="$n_images" '
        { for (i = 1; i <= NF; i++) { all += $i; if (i == NR) diagonal += $i } }
        END { exit !(NR == 10 && all == n && diagonal == right) }'
report $? "the matrix has all images, and on its diagonal those that are right"

run "$networks/lenet-5.onnx" --data data --normalise 0,1 --csv
[ $code -eq 0 ] && awk -F, -v right="$right" -v n="$n_images" '
    NR == 1 { exit_code = !($0 == "model,data,split,images,right,top1_percent,top5_percent,loss,images_per_s,batch,threads") }
    NR == 2 { exit_code += !($1 == "lenet-5" && $2 == "data" && $3 == "test" && $4 == n && $5 == right && $6 == 100 * right / n) }
    END { exit exit_code || NR != 2 }' out
report $? "CSV"

run "$networks/lenet-5.onnx" --data data --normalise 0,1 --limit 50
[ $code -eq 0 ] && [ ! -s err ] && grep -q '^data       50 test images of data$' out &&
    grep -q '^normalise  0;1, of --normalise$' out && grep -q '^top-5      ' out &&
    grep -q '^top-1      [0-9.]*%, [0-9]* right, [0-9]* wrong (95% interval [0-9.]* to [0-9.]*)$' out
report $? "the table, of the first 50 images"

# ---- classes, splits, normalisation ----

printf 'T-shirt\nTrouser\nPullover\nDress\nCoat\nSandal\nShirt\nSneaker\nBag\nAnkle boot\n' >data/classes.txt
run "$networks/lenet-5.onnx" --data data --normalise 0,1
grep -Eq '^ +[0-9]+ +[0-9.]+%  [0-9] [A-Z].*  [0-9] [A-Z]' out
report $? "classes have the names of classes.txt"
run "$networks/lenet-5.onnx" --data data --normalise 0,1 --json
grep -q '"Ankle boot"' out
report $? "in JSON too"
rm data/classes.txt

for network in lenet-300-100 lenet-5 resnet-8 resnet-20; do
    run $network --data small --json
    [ $code -eq 0 ] && [ "$(field images)" = 2 ] && [ "$(field normalise)" = '"0.25098;1"' ] &&
        [ "$(field normalise_from)" = '"data"' ]
    report $? "$network with seeded weights; by the mean of the training images, whose pixels are all equal"
done
run lenet-5 --data small --split train --json
[ $code -eq 0 ] && [ "$(field images)" = 4 ] && [ "$(field split)" = '"train"' ]
report $? "a tenth of four training images is none"
run lenet-5 --data small --split train --validation 1 --json
[ $code -eq 0 ] && [ "$(field images)" = 3 ]
report $? "--validation sets one of four aside"
run lenet-5 --data small --split validation --validation 1 --json
[ $code -eq 0 ] && [ "$(field images)" = 1 ]
report $? "and --split validation has it"

# ---- refusals ----

# fails CODE TEXT ARGUMENTS...: one line, with this text, and this exit code.
fails()
{
    want=$1
    text=$2
    shift 2
    run "$@"
    [ $code -eq "$want" ] && [ ! -s out ] && grep -qF -- "$text" err && grep -c . err | grep -qx '[12]'
    report $? "refused: $text"
}

fails 1 "network 'alexnet' takes inputs of 3x227x227, the images are 1x28x28" alexnet --data small
fails 1 "network 'resnet-56-cifar' takes inputs of 3x32x32, the images are 1x28x28" resnet-56-cifar --data data
printf 'model m\ninput 1x28x28\nfc a out=7\n' >seven.net
fails 1 "network 'm' has 7 outputs, the data have 10 classes" ./seven.net --data data
printf 'model m\ninput 1x28x28\nfc a out=11\n' >eleven.net
fails 1 "network 'm' has 11 outputs, the data have 10 classes, as far as labels say; classes.txt" \
    ./eleven.net --data data
printf 'model m\ninput 1x28x28\nfc a out=10\nfc b from=input out=10\n' >two.net
fails 1 "network 'm' has 2 outputs; a network that names classes has one" ./two.net --data data
fails 1 "the network does not say how its inputs are normalised, nor can the training images (--normalise" \
    lenet-5 --data data
fails 1 "data: has no training images" lenet-5 --data data --split train
fails 1 "cannot open 'nowhere'" lenet-5 --data nowhere
mkdir empty
fails 1 "empty: no data set; known are idx" lenet-5 --data empty
fails 2 "none of the 4 training images is set aside" lenet-5 --data small --split validation
fails 2 "5 of 4 training images cannot be set aside" lenet-5 --data small --split train --validation 5
fails 2 "--split 'all' is none of train, validation and test" lenet-5 --data small --split all
fails 2 "--normalise: '1' is not MEAN,DEVIATION" lenet-5 --data small --normalise 1
fails 2 "--normalise: '1,0': a deviation is above 0" lenet-5 --data small --normalise 1,0
fails 1 "a normalisation of 2 channels for images that have 1" lenet-5 --data small --normalise '1,2;3,4'
fails 2 "--batch" lenet-5 --data small --batch 0
fails 2 "--limit" lenet-5 --data small --limit -1
fails 2 "needs --data DIR" lenet-5
fails 2 "needs one MODEL" --data small
fails 2 "--json and --csv exclude each other" lenet-5 --data small --json --csv
cp -r small cut
head -c 1000 small/t10k-images-idx3-ubyte >cut/t10k-images-idx3-ubyte
fails 1 "cut/t10k-images-idx3-ubyte: has 1000 bytes; by its header there are 1584" lenet-5 --data cut

finish
