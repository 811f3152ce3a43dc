#!/bin/sh
# The command sensitivity: its table, JSON, CSV and TOML; a file of points that is continued; that the test
# images are not read; what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=sensitivity

# 60 images of 8 x 8 bytes in four classes: one quarter of the image is bright, in noise. There are no test
# images.
mkdir data
{ printf '\0\0\010\003\0\0\0\074\0\0\0\010\0\0\0\010'
    awk 'BEGIN {
        srand(7)
        for (i = 0; i < 60; i++)
            for (y = 0; y < 8; y++)
                for (x = 0; x < 8; x++) {
                    bright = (x >= 4) + 2 * (y >= 4) == i % 4
                    printf "%c", int(33 + 40 * rand() + (bright ? 50 : 0))
                }
    }'; } >data/train-images-idx3-ubyte
{ printf '\0\0\010\001\0\0\0\074'; i=0; while [ $i -lt 60 ]; do printf "\\00$((i % 4))"; i=$((i + 1)); done; } \
    >data/train-labels-idx1-ubyte
printf 'model small\ninput 1x8x8\nconv c out=48 kernel=3 stride=2\nrelu cr\nfc a out=32\nrelu ar\nfc f out=4\n' >small.net
"$VBSLAB" train small.net --data data --epochs 6 --batch 9 --threads 1 --quiet -o small.onnx >out 2>err
[ -s small.onnx ]
report $? "a network is trained"

options="small.onnx --data data --validation 20 --threads 1 --quiet"
prints "a table of all groups" "(whole network)" $options --shares 0.25,0.5,0.9 -o points.csv --plot s.svg
[ "$(grep -c '^[ca] ' out)" -eq 6 ] && ! grep -q '^f ' out && [ "$(grep -c -e '^groups' -e '^# [ca]: none' out)" -ge 1 ]
report $? "... with three widths of each group that can be pruned, and ranges or reasons"
[ "$(wc -l <points.csv)" -eq 8 ] &&
    [ "$(head -n 1 points.csv)" = "key,number,keep,share,parameters,macs,accuracy,loss,epochs,retrained_accuracy,retrained_loss,time_s,group" ] &&
    [ "$(sed 1d points.csv | cut -d, -f1 | sort -u | wc -l)" -eq 1 ]
report $? "... and a line of each in the file"
grep -q '</svg>' s.svg && grep -q '>c<' s.svg && grep -q 'validation accuracy' s.svg
report $? "... and a picture"

# The accuracy of the whole network is that of eval on the same images.
"$VBSLAB" eval small.onnx --data data --split validation --validation 20 --csv >eval.csv 2>err
want=$(sed -n '2s/^[^,]*,[^,]*,[^,]*,20,\([0-9]*\),.*/\1/p' eval.csv)
got=$(awk -F, '$2 == -1 { printf "%d", 20 * $7 + 0.5 }' points.csv)
[ "$want" -gt 10 ] && [ "$want" = "$got" ]
report $? "the whole network has the accuracy of eval"

# A point is the network that prune writes, which keeps the normalisation of its images.
"$VBSLAB" prune small.onnx --prune c=0.5 -o half.onnx >out 2>err
"$VBSLAB" eval half.onnx --data data --split validation --validation 20 --json >half.json 2>err
want=$(member half.json right)
got=$(awk -F, '$3 == 24 && $13 == "c" { printf "%d", 20 * $7 + 0.5 }' points.csv)
[ -n "$want" ] && [ "$want" = "$got" ]
report $? "a point has the accuracy of the network that prune writes"
"$VBSLAB" export half.onnx -o again.onnx >out 2>err
"$VBSLAB" eval again.onnx --data data --split validation --validation 20 --json >again.json 2>err
for file in half again; do
    grep -E '"normalise(_from)?":|"right":' $file.json >$file.kept
done
[ "$(member half.json normalise_from)" = '"network"' ] && [ "$(wc -l <half.kept)" -eq 3 ] && cmp -s half.kept again.kept
report $? "the normalisation goes from train through prune and export to eval"

# The file is continued behind its last whole line.
cut -d, -f1-11,13 points.csv >whole
head -c $(($(wc -c <points.csv) - 30)) points.csv >cut.csv
run $options --shares 0.25,0.5,0.9 -o cut.csv
[ $code -eq 0 ] && cut -d, -f1-11,13 cut.csv | cmp -s - whole
report $? "a file that was cut is completed with the same points"
cp cut.csv before.csv
run $options --shares 0.25,0.5,0.9 -o cut.csv --csv
[ $code -eq 0 ] && cmp -s cut.csv before.csv && [ "$(wc -l <out)" -eq 8 ]
report $? "a file that is complete stays as it is"
run $options --shares 0.25,0.5,0.75,0.9 --groups c -o cut.csv --csv
[ $code -eq 0 ] && [ "$(wc -l <cut.csv)" -eq 9 ]
report $? "one more share is one more point"
: >killed.csv
for i in 1 2 3; do
    before=$(wc -c 2>/dev/null <killed.csv)
    "$VBSLAB" sensitivity $options -o killed.csv >/dev/null 2>&1 &
    pid=$!
    until [ "$(wc -c 2>/dev/null <killed.csv)" != "$before" ] || ! kill -0 $pid 2>/dev/null; do :; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
run $options -o killed.csv --csv
cp out continued
run $options --csv
cut -d, -f1-11,13 out >fresh
[ $code -eq 0 ] && cut -d, -f1-11,13 continued | cmp -s - fresh && [ "$(wc -l <fresh)" -eq 16 ]
report $? "a measurement that was killed three times has the points of one that was not"

run $options --shares 0.5 --epochs 2 --batch 9 --json
[ $code -eq 0 ] && grep -q '"format": "vbslab-sensitivity-1"' out && grep -q '"epochs": 2' out &&
    ! grep -q '"retrained_accuracy": null' out && grep -q '"images": 20' out
report $? "JSON, with retraining"
run $options --shares 0.5 --epochs 2 --batch 9 --csv -o retrained.csv
cp out first
run $options --shares 0.5 --epochs 2 --batch 9 --csv
cut -d, -f1-11,13 out >second
cut -d, -f1-11,13 first | cmp -s - second && [ "$(sed 1d first | cut -d, -f9 | sort -u)" = 2 ]
report $? "retraining gives the same numbers again"

# A point that diverged has epochs and no values behind them: it stays, and ends the range before it.
awk -F, -v OFS=, '$2 == 0 && !seen++ { $10 = $11 = "" } 1' first >diverged.csv
cp diverged.csv before.csv
run $options --shares 0.5 --epochs 2 --batch 9 -o diverged.csv --fall 100 --json
[ $code -eq 0 ] && cmp -s diverged.csv before.csv && [ "$(grep -c '"diverged": true' out)" -eq 1 ] &&
    grep -q '"why": "the accuracy falls before a block is gone"' out
report $? "a point that diverged is not measured again, and no range has it"
run small.onnx --data data --validation 20 --threads 1 --shares 0.5 --epochs 2 --batch 9 -o diverged.csv
[ $code -eq 0 ] && grep -q '^c .* diverged$' out && grep -q '1 of 3 points diverged in retraining' err
report $? "... and the table and a warning say so"
printf 'model linear\ninput 1x8x8\nfc a out=32\nfc f out=4\n' >linear.net
run linear.net --data data --threads 1 --quiet --shares 0.5 --epochs 4 --batch 9 --rate 1e6 -o over.csv
[ $code -eq 1 ] && grep -q 'sensitivity: training diverged: .* a lower rate than 1e+06' err && [ ! -s out ]
report $? "where the whole network diverges there is nothing to compare with"

# A fall of 100 points is never reached: the range ends at the last whole block.
run $options --shares 0.5,0.9 --fall 100 --toml
cat >want <<'END'
[[parameter]] # of 48 filters, 0 to 32 are removed
groups = ["c"]
low = 0.0
high = 0.6666666666666666
step = 0.3333333333333333

[[parameter]] # of 32 filters, 0 to 16 are removed
groups = ["a"]
low = 0.0
high = 0.5
step = 0.5
END
[ $code -eq 0 ] && cmp -s out want
report $? "ranges as tables of a study"
run $options --shares 0.5,0.9 --fall 100 --round 48
[ $code -eq 0 ] && grep -q '^# c: none, a block holds all its filters$' out && ! grep -q parameter out
report $? "... or the reason why there is none"

refuses "a file of points of other options" 2 "has points of another network, other images or other options" \
    $options --by l2 -o points.csv
echo 'not a file of points' >other.csv
refuses "a file of something else" 1 "has a line that is no point" $options -o other.csv
refuses "a group that is not there" 2 "did you mean 'c'?" $options --groups cc
refuses "the last layer" 2 "f" $options --groups f
refuses "a share of 1" 2 "above 0 and below 1" $options --shares 1
refuses "an unknown ranking" 2 "none of l1, l2, random and taylor" $options --by best
refuses "no images" 2 "needs --data DIR" small.onnx
refuses "two forms" 2 "exclude each other" $options --csv --json
refuses "a picture of another kind" 2 "must end in .svg, .png, .pdf or .tex" $options --plot s.gif
refuses "images of another shape" 1 "takes inputs of 1x28x28" lenet-5 --data data

finish
