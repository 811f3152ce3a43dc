#!/bin/sh
# The whole output of commands, as it is kept in tests/data/golden: the built-in networks, profiles
# of the analytic backend and the example of VBS III, which are the same on every machine. Dates,
# versions, hashes, planning times and the memory of solvers are masked. UPDATE_GOLDEN=1 renews the
# files. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

mask()
{
    sed -e 's/[0-9]\{4\}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z/YYYY-MM-DDThh:mm:ssZ/' \
        -e 's/  [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]  /  YYYY-MM-DD  /' \
        -e 's/ \(measured\|modelled\) [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]$/ \1 YYYY-MM-DD/' \
        -e 's/^\(hash  *\|.*"hash": "\)[0-9a-f]\{32\}/\1HASH/' \
        -e 's/content [0-9a-f]\{12\}/content HASH/' \
        -e 's/^\(vbslab *[0-9.]*\)-[-0-9a-z]*$/\1/; s/\("vbslab": "[0-9.]*\)-[^"]*"/\1"/' \
        -e 's/^\(vbslab *\)[0-9.]*$/\1VERSION/' \
        -e 's/"plan_us": [0-9.e+-]*/"plan_us": PLAN_US/' \
        -e 's/"solver": { "peak_bytes": [0-9]* }/"solver": { "peak_bytes": 4096 }/' \
        -e 's/^  solver   took .* of memory at its peak$/  solver   took SIZE of memory at its peak/'
}

# golden NAME ARGUMENTS...: checks that the program prints tests/data/golden/cli-NAME.
golden()
{
    name=$1
    shift
    run "$@"
    mask <out >masked
    [ "$UPDATE_GOLDEN" = 1 ] && [ $code -eq 0 ] && cp masked "$DATA/golden/cli-$name"
    diff -u "$DATA/golden/cli-$name" masked >out 2>&1 && [ $code -eq 0 ] && [ ! -s err ]
    report $? "$name: $*"
}

# Masks the column of planning times.
mask_csv()
{
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "plan_us") column = i }
        NR > 1 { $column = "PLAN_US" } { print }'
}

write_example >example.csv
VBSLAB_DB=store.sqlite
export VBSLAB_DB

golden models.txt models
golden models.csv models --csv
golden models.json models --json
golden models-alexnet.txt models show alexnet
golden models-alexnet.csv models show alexnet --csv
golden models-googlenet.json models show googlenet --json
golden models-c3d-frames.txt models show c3d --input 3x32x240x320
golden models-onnx.txt models show "$DATA/onnx/keras_nhwc.onnx"
golden models-onnx.csv models show "$DATA/onnx/segment.onnx" --csv
golden models-onnx.json models show "$DATA/onnx/whole.onnx" --json
golden models-onnx-light.txt models show "$DATA/onnx/light_squeezenet.onnx" --input 3x227x227

does "measuring with the analytic backend" "$(printf '1\n2')" \
    measure --quiet --backend analytic alexnet googlenet
does "importing the example" 3 profiles import example.csv
golden profiles.txt profiles
golden profiles.json profiles --json
golden profiles-alexnet.txt profiles show alexnet
golden profiles-example.txt profiles show 3
golden profiles-example.json profiles show example.csv --json
golden profiles-example.csv profiles export 3 -

golden plan-alexnet.txt plan alexnet --planner dp-vbs --memory 10MiB
golden plan-alexnet-fbs.txt plan alexnet --planner fbs --memory 20MB --request 7 --io resident
golden plan-googlenet.txt plan googlenet --planner dp-vbs --memory 15MiB
golden plan-example.txt plan 3 --planner dp-vbs --memory 7 --request 2
golden plan-example.json plan 3 --planner dp-vbs --memory 7 --request 2 --json -
golden frontier-alexnet.txt frontier alexnet --planner fbs-best
golden frontier-example.txt frontier example.csv --planner dp-vbs --request 4
golden frontier-example.csv frontier example.csv --planner dp-vbs --request 4 --csv -

"$VBSLAB" plan 3 --planner dp-vbs --memory 7 --request 2 --json plan.json >/dev/null
golden replay-example.txt replay 3 plan.json
golden replay-example.json replay 3 plan.json --json
golden replay-example.csv replay 3 plan.json --trace -

golden compare-alexnet.txt compare alexnet --baselines all --time-limit 300
# optimal would reach its time limit, and its plan would differ from run to run.
golden compare-googlenet.txt compare googlenet --memory 10MiB..40MiB:5MiB --io resident \
    --planners dp-monotone,dp-vbs,dp-vbs+
golden compare-example.txt compare example.csv --memory 5..12:1 --request 2
golden compare-example.json compare 3 example.csv --memory 7 --request 2 --json
run compare 3 --memory 6..8:1 --request 2 --csv
mask_csv <out >out.csv
[ "$UPDATE_GOLDEN" = 1 ] && [ $code -eq 0 ] && cp out.csv "$DATA/golden/cli-compare-example.csv"
diff -u "$DATA/golden/cli-compare-example.csv" out.csv >out 2>&1 && [ $code -eq 0 ] && [ ! -s err ]
report $? "compare-example.csv: compare as CSV"
finish
