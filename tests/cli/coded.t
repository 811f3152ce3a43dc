#!/bin/sh
# Networks with coded weights from end to end: measured, planned with all weights inside a budget that
# dense weights do not fit, replayed, executed in it, with the outputs of dense weights. VBSLAB: the
# program.
. "$(dirname "$0")/lib.sh"
VBSLAB_DB=store.sqlite
export VBSLAB_DB

cat >tiny.net <<'END'
model tiny
input 4x12x12
conv c1 out=32 kernel=3 pad=1
relu r1
conv c2 out=32 kernel=3 stride=2
batchnorm n2
relu r2
fc f1 out=400
relu q1
fc f2 out=300
softmax s1
END
# Weights of 1.3 MB, coded 0.1 MB or less.
run compress tiny.net -o any.vbz --density 90%
[ $code -eq 0 ]
report $? "a network is coded"
run compress tiny.net -o comp.vbz --density 90% --format comp
[ $code -eq 0 ]
report $? "and once more in COMP's own form"

# column NAME: prints a column of the profile in the file "csv".
column()
{
    grep -v '^#' csv | awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
        NR > 1 { print $2, $c }'
}

# --- measuring ---

for model in any comp; do
    "$VBSLAB" --quiet measure ./$model.vbz --batches 1,2,8 --time-limit 1 --no-copies >id 2>err &&
        "$VBSLAB" profiles export "$(cat id)" csv >out 2>>err && cp csv $model.csv
    report $? "$model.vbz is measured"
done
cp any.csv csv
[ "$(column algorithm | grep '^f1 .*:\(sparse\|gemm\)$' | sort -u | tr '\n' ' ')" = \
    "f1 bytes:gemm f1 bytes:sparse f1 comp:gemm f1 comp:sparse f1 joint:gemm f1 joint:sparse " ]
report $? "coded weights are rows of the profile, in each form that may be used"
column algorithm | grep -q '^f1 .*gemm:jit'
report $? "beside those of dense weights"
column packed_bytes | awk '$1 == "f1" && $2 > 0 { if (least == 0 || $2 < least) least = $2; if ($2 > most) most = $2 }
    END { exit !(10 * least < most) }'
report $? "whose packed weights take more than ten times as much"
cp comp.csv csv
[ "$(column algorithm | grep '^f1 .*:\(sparse\|gemm\)$' | sort -u | tr '\n' ' ')" = \
    "f1 comp:gemm f1 comp:sparse " ]
report $? "a chosen form is the only one"

# --- planning ---

grep -v ':sparse\|[a-z]:gemm,' any.csv >dense.csv
run plan dense.csv --planner dp-vbs+ --weights included --request 8 --memory 600KiB
[ $code -eq 3 ]
report $? "dense weights do not fit"
for planner in dp-vbs+ joint; do
    run plan any.csv --planner $planner --weights included --request 8 --memory 600KiB --copy-rate 1GB \
        --copy-latency 1 --json $planner.json
    [ $code -eq 0 ] && grep -q '"algorithm": "[a-z]*:sparse"' $planner.json
    report $? "$planner takes coded weights"
    run replay any.csv $planner.json --memory 600KiB
    [ $code -eq 0 ]
    report $? "and the replay agrees"
done
run compare any.csv --baselines all --weights included --request 8 --memory 600KiB --json
[ $code -eq 0 ] && grep -q '"planner": "joint"' out && grep -q '"coded_layers": [1-9]' out
report $? "planners are compared on them"

run compare any.csv --baselines all --weights included --request 8 --memory 600KiB --copy-rate 0
[ $code -eq 0 ] && grep -q 'mmcnn none without copies' out
report $? "those that need copies of weights are named where there are none"

# --- executing ---

for planner in dp-vbs+ joint; do
    run run ./any.vbz --schedule $planner.json --check --json
    [ $code -eq 0 ] && [ "$(member out placed_bytes)" -le 614400 ] &&
        [ "$(member out relative | awk '{ print $1 < 1e-5 }')" = 1 ] &&
        [ "$(member out n_coded)" -ge 1 ] && [ "$(member out n_changed)" -ge "$(member out n_coded)" ]
    report $? "the plan of $planner runs in its budget, with the outputs of dense weights"
done
run run ./any.vbz --schedule joint.json --check
grep -q '; [1-4] layers* there from dense weights, here from coded ones' out
report $? "of which the line on outputs says so"
run run ./comp.vbz --schedule dp-vbs+.json
[ $code -eq 1 ] && one_error "the schedule is for 'any', the profile of 'comp'"
report $? "a schedule for other coded weights is refused"
run run ./any.vbz --schedule dp-vbs+.json --weights-file w.bin && run run ./any.vbz \
    --schedule dp-vbs+.json --weights-file w.bin --output one.npy
run run ./any.vbz --schedule joint.json --output two.npy
[ $code -eq 0 ] && [ -s w.bin ] && [ -s one.npy ] && [ -s two.npy ]
report $? "packed coded weights are kept in a file, and used again"
finish
