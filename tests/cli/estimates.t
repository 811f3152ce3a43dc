#!/bin/sh
# Planners that estimate and have no schedules, on the command line. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# Two convolutions of 3 rows over 8 rows of 1000 bytes, in steps of 1, 2, 4 and all rows.
{
    echo '# input-rows: 8'
    echo 'layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place,parts,out_rows,reach,rows'
    for layer in 1 2; do
        for rows in 0 1 2 4; do
            echo "$layer,L$layer,conv,$((layer - 1)),1,a,1,8000,8000,0,0,0,$((rows > 0)),8,1/1:-1:1,$rows"
        done
    done
} >pair.csv

# --- what they print ---

prints "an estimate says that it is no schedule" "planner patch: an estimate, no" \
    plan pair.csv --planner patch --memory 8000 --request 3
[ $code -eq 0 ] && grep -q '22.00 us per sample' out && grep -q 'peak     8000 bytes' out &&
    grep -q '8 of 1 row ' out
report $? "and gives time, bytes and tiles"
prints "squares are told with their columns" "2 x 2 of 4 rows" \
    plan pair.csv --planner patch-2d --memory 8000 --request 1
run frontier pair.csv --planner fusion --request 1 --csv -
[ $code -eq 0 ] && [ "$(sed -n '2s/^\([0-9]*,[0-9]*\),.*/\1/p' out)" = 8000,22 ] &&
    [ "$(sed -n '$s/^\([0-9]*,[0-9]*\),.*/\1/p' out)" = 16000,2 ]
report $? "they have frontiers"
run compare pair.csv --request 1 --baselines fbs,patch,fusion --planners dp-vbs+ --memory 12000 --csv
[ $code -eq 0 ] && awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
    NR > 1 { is[$c["planner"]] = $c["estimated"] " " $c["per_sample_us"] " " $c["gap_percent"]
             if ($c["planner"] == "dp-vbs+") proven = $c["gap_percent"] != "" }
    END { exit !(is["patch"] == "true 6 " && is["fusion"] == "true 6 " && proven &&
                 is["dp-vbs+"] ~ /^false / && is["fbs"] ~ /^false/) }' out
report $? "a comparison marks them, and gives no distance from the bound"
run compare pair.csv --request 1 --baselines fbs,patch --memory 12000
[ $code -eq 0 ] && grep -q '^patch: no schedule; estimates' out
report $? "and the table has a note"
run compare pair.csv --request 1 --memory 12000
[ $code -eq 0 ] && ! grep -q patch out
report $? "only where they are named"
run planners --json
[ $code -eq 0 ] && [ "$(grep -c '"estimates": true' out)" -eq 4 ]
report $? "planners tells which they are"

run compare pair.csv --request 1 --latency-us 1 --memory 16000 --baselines fusion --planners dp-vbs+
[ $code -eq 3 ] && grep -q 'the least latency that works is 2 us, with dp-vbs+' err
report $? "where no latency can be kept, that of a schedule is named"

# --- what they refuse ---

refuses "a budget that is too small" 3 "no way of patch fits 7.81 KiB; the least budget is 8000" \
    plan pair.csv --planner patch --memory 7999
refuses "a schedule" 1 "patch computes rows twice, which no schedule can say" \
    plan pair.csv --planner patch --memory 1MiB --json plan.json
[ ! -e plan.json ]
report $? "and writes none"
refuses "an explanation" 1 "patch computes rows twice" explain pair.csv --planner patch --memory 1MiB
refuses "a page" 2 "a page shows schedules, and patch has none" \
    report pair.csv --baselines patch -o page.html
refuses "weights inside" 1 "fusion estimates activations alone" \
    plan pair.csv --planner fusion --memory 1MiB --weights included
refuses "a comparison with weights inside" 2 "'fusion' estimates activations alone" \
    compare pair.csv --baselines fusion --memory 1MiB --weights included
finish
