#!/bin/sh
# The command mixed: which layers stay in floats, by budget and loss; the network that is written; its
# picture; and what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=mixed
gzip -dc "$DATA/fashion-mnist/images.npy.gz" >samples.npy
write_images images
printf '%s\n' 0 1 2 3 4 5 6 7 8 9 >images/classes.txt
trained=$ROOT/db/networks/lenet-5.onnx
modelled='--backend analytic --batches 1,2,4 --request 4 --images 40 --threads 1'

# field KEY: prints the value of a key of the JSON of out, the first one of its name.
field()
{
    sed -n "s/^ *\"$1\": \(.*[^,]\),*\$/\1/p" out | head -n 1
}

run "$trained" --data samples.npy $modelled
[ $code -eq 0 ] && [ ! -s err ] && grep -q '^lenet-5: 4 samples, io external, weights excluded, planner dp-vbs+$' out &&
    [ "$(grep -c '  int8  *0 of 4 ' out)" -eq 8 ] && grep -q '  fp32  *4 of 4 .* exact  *0 of 40$' out && grep -q '  fp32  *no plan$' out
report $? "budgets and bounds are chosen where none is named"
[ "$(grep -c 'dB  *[1-4] of 4 ' out)" -ge 3 ] && grep -q '^planned  *16 choices of layers' out
report $? "... with all choices, some of them mixed"
run "$trained" --data samples.npy $modelled --memory 60KiB..240KiB:*2 --loss-bound 44dB,50dB,0%,none --csv
[ $code -eq 0 ] && [ "$(head -n 1 out | cut -d, -f1-13)" = memory_bytes,precision,bound,time_us,per_sample_us,samples_per_s,peak_bytes,layers_in_floats,predicted_db,outputs_db,changed,compared,kept ] &&
    awk -F, 'NR == 1 { next }
        $4 != "" && $7 > $1 { exit 1 }
        $2 == "mixed" && $3 == "44dB" && $4 != "" { n++; if ($10 != "" && $10 < 44) exit 1 }
        $2 == "mixed" && $3 == "50dB" && $4 != "" { n++; if ($10 != "" && $10 < 50) exit 1 }
        $2 == "mixed" && $3 == "0%" && $4 != "" { n++; if ($11 != 0) exit 1 }
        $2 == "mixed" && $3 == "none" { n++; if ($4 == "" || $4 > least) exit 1 }
        $2 == "int8" { least = $4 }
        END { exit !(NR == 1 + 3 * 6 && n >= 9) }' out
report $? "plans fit their budgets, losses are within their bounds, and no bound is no slower than 8 bits"
cut -d, -f1-13 out >first.csv
run "$trained" --data samples.npy $modelled --memory 60KiB..240KiB:*2 --loss-bound 44dB,50dB,0%,none --csv
cut -d, -f1-13 out | cmp -s - first.csv
report $? "another run gives the same"

run "$trained" --data images $modelled --memory 120KiB --loss-bound 46dB -o m.onnx --json
[ $code -eq 0 ] && [ "$(field format)" = '"vbslab-mixed-1"' ] && [ "$(field output)" = '"m.onnx"' ] && [ "$(field choices)" = 16 ] &&
    [ "$(field test_images)" = 4 ] && [ "$(grep -c '"alone_db"' out)" -eq 4 ] && [ "$(grep -c '"precision": "mixed"' out)" -eq 1 ]
report $? "the network of a budget and a bound is written"
per_sample=$(grep -A 4 '"precision": "mixed"' out | sed -n 's/.*"time_us": \([0-9]*\.[0-9]\).*/\1/p')
"$VBSLAB" --quiet plan "$(field profile)" --request 4 --memory 120KiB --json - >plan.json 2>err &&
    [ -n "$per_sample" ] && grep -q "\"time_us\": $per_sample" plan.json
report $? "... its profile is in the store, and plans as the command said"
"$VBSLAB" --quiet measure m.onnx --batches 1,2,4 --no-copies >out 2>err &&
    "$VBSLAB" --quiet run m.onnx --request 4 --memory 120KiB --check >out 2>err
report $? "... and it runs within the budget"
run "$trained" --data images $modelled --memory 120KiB --loss-bound 46dB -o m.onnx
[ $code -eq 0 ] && grep -q '^in floats  *[a-z0-9, ]*$' out && grep -q "^written  *'m.onnx', whose profile is [0-9]*\$" out && grep -q '^top-1 ' out
report $? "... the table names the layers that are kept"
run "$trained" --data samples.npy $modelled --weights included --planner joint --memory 900KiB --loss-bound none --choices 8 --csv
[ $code -eq 0 ] && grep -q '^921600,mixed,none,[0-9]' out
report $? "weights are planned too"

if command -v gnuplot >/dev/null; then
    run "$trained" --data samples.npy $modelled --plot m.svg --plot-data --plot-series int8,fp32
    [ $code -eq 0 ] && grep -q '</svg>' m.svg && grep -q '^memory_KiB,int8,fp32$' m.svg.csv && grep -q '^decibels,samples_per_s$' m.svg.csv
    report $? "the picture is drawn"
fi

# --- refusals ---

refuses "no data" 2 "needs --data" "$trained"
refuses "a bound without unit" 2 "30dB" "$trained" --data samples.npy --loss-bound 30
refuses "a bound that is no number" 2 "is no bound" "$trained" --data samples.npy --loss-bound nandB
refuses "a share above all" 2 "is no bound" "$trained" --data samples.npy --loss-bound 101%
refuses "no bound in the list" 2 "has no bound" "$trained" --data samples.npy --loss-bound ,
refuses "several networks to write" 2 "one --memory and one --loss-bound" "$trained" --data samples.npy -o x.onnx
refuses "another ending" 2 ".onnx" "$trained" --data samples.npy -o x.vbz --memory 1MiB --loss-bound none
refuses "a budget of 0" 3 "nothing fits 0 bytes: with all layers in 8 bits, planner dp-vbs+ needs" "$trained" --data samples.npy $modelled --memory 0
refuses "a planner that is none" 2 "did you mean" "$trained" --data samples.npy --planner dp-vbs++
refuses "no such series" 2 "int8" "$trained" --data samples.npy $modelled --plot x.svg --plot-series int9
refuses "nothing within budget and bound" 3 "keeps the bound 90dB" "$trained" --data samples.npy $modelled --memory 20KiB --loss-bound 90dB -o x.onnx
refuses "a network that is quantised" 1 "is quantised already" m.onnx --data samples.npy
refuses "both forms" 2 "exclude" "$trained" --data samples.npy --json --csv
[ ! -e x.onnx ]
report $? "no refusal leaves a file"

finish
