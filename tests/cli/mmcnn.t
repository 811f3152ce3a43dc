#!/bin/sh
# plan MODEL --planner mmcnn --rows prints lines for programs, without a profile or a store. VBSLAB:
# the program.
. "$(dirname "$0")/lib.sh"

COMMAND=plan
CHAINS='alexnet vgg-s vgg-16 vgg-19 mobilenet-v1 c3d'
BRANCHED='googlenet resnet-50 resnet-56-cifar squeezenet-v1.0'

does "AlexNet in 50 MiB" "$(printf '%s\t%s\t%s\t%s\t%s\n' \
    1 data 1 1 0.72 2 conv1 1 0 1.70 3 relu1 1 1 2.28 4 norm1 1 0 2.22 5 pool1 1 0 1.37 \
    6 conv2 1 0 0.98 7 relu2 1 1 4.09 8 norm2 1 0 1.42 9 pool2 1 0 0.88 10 conv3 1 0 0.41 \
    11 relu3 1 1 2.78 12 conv4 1 0 0.50 13 relu4 1 1 1.94 14 conv5 1 0 0.41 \
    15 relu5 1 3 48.17 16 pool5 1 0 0.20 17 fc6 3 0 0.05 18 relu6 1 2 32.02 19 fc7 2 0 0.03 \
    20 relu7 1 1 15.64 21 fc8 1 0 0.02)" alexnet --planner mmcnn --memory 50MiB --rows
does "and of its number of bytes" "$("$VBSLAB" plan alexnet --planner mmcnn --memory 50MiB --rows)" \
    --rows --planner=mmcnn --memory=52428800 --weights included alexnet
[ ! -e db ]
report $? "no store is made or needed"

bad=
for model in $CHAINS; do
    for memory in 1 1KiB 999999 5MiB 144MiB 8EB; do
        run $model --planner mmcnn --memory $memory --rows
        [ $code -eq 0 ] && [ ! -s err ] && awk -F '\t' '
            NF != 5 || $1 != NR || $2 == "" || $3 !~ /^[1-9][0-9]*$/ || $4 !~ /^[0-5]$/ ||
                $5 !~ /^[0-9]+\.[0-9][0-9]$/ { wrong = 1 }
            END { exit wrong || NR < 20 }' out || bad="$bad $model/$memory"
    done
done
[ -z "$bad" ]
report $? "every chain at any limit: number, name, sn, cn and MiB with two decimals;$bad"

for model in $BRANCHED; do
    refuses "$model is no chain" 1 "'$model' is branched at layer '" \
        $model --planner mmcnn --memory 50MiB --rows
done

printf 'model m\ninput 4\nfc f out=4\n' >m.net
does "a network of a file" "$(printf '%s\t%s\t%s\t%s\t%s\n' 1 data 1 1 0.00 2 f 1 0 0.00)" \
    m.net --planner mmcnn --memory 1MiB --rows
printf 'model m\ninput 4\nfc f\033[1m out=4\n' >m.net
run m.net --planner mmcnn --memory 1MiB --rows
! grep -q "$escape" out err
report $? "names do not steer the terminal"

write_example >example.csv
rows='--planner mmcnn --memory 50MiB --rows'
refuses "an id" 2 "'7' is a profile" 7 $rows
refuses "a file with a profile" 2 "'example.csv' is a profile" example.csv $rows
refuses "a profile on standard input" 2 "'-' is a profile" - $rows
refuses "no such network" 2 "no network 'alexnett'; did you mean 'alexnet'?" alexnett $rows
refuses "another planner" 2 "--rows is the accounting of planner mmcnn; 'fbs' has none" \
    alexnet --planner fbs --memory 50MiB --rows
refuses "no limit" 2 "a limit of 0 bytes" alexnet --planner mmcnn --memory 0 --rows
refuses "a limit that is none" 2 "much" alexnet --planner mmcnn --memory much --rows
refuses "no memory" 2 "needs --memory" alexnet --planner mmcnn --rows
refuses "no model" 2 "needs one PROFILE" $rows
for option in '--json -' '--request 12' '--io external' '--weights excluded' '--table 1MiB' \
    '--latency-us 5' '--time-limit 5'; do
    refuses "rows with $option" 2 "--rows takes --planner and --memory only, not ${option%% *}" \
        alexnet $rows $option
done

if [ -e /dev/full ]; then
    "$VBSLAB" plan alexnet $rows >/dev/full 2>err
    code=$?
    : >out
    [ $code -eq 1 ] && one_error 'cannot write to standard output'
    report $? "a full disk is noticed"
else
    skip "a full disk is noticed" "there is no /dev/full"
fi
finish
