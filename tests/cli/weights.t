#!/bin/sh
# Weights inside the budget on the command line: options, refusals, and the contents of tables,
# files and pictures. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# Each layer takes 4 us for one sample and 6 for two; it has 24 bytes of weights, which are
# copied at a byte each microsecond from "slow", at two from "fast".
write_weights()
{
    cat <<END2
# copy: slow,1000,1000
# copy: fast,1000,500
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,default,4,1,1,1,6,0
1,L1,conv,0,2,default,6,2,2,2,6,0
2,L2,conv,1,1,default,4,1,1,4,8,0
2,L2,conv,1,2,default,6,2,2,8,8,0
3,L3,conv,2,1,default,4,1,1,1,10,0
3,L3,conv,2,2,default,6,2,2,2,10,0
END2
}
write_weights >copied.csv
grep -v '^# copy' copied.csv >uncopied.csv

# column NAME FILE: prints a column of a CSV file.
column()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
        NR > 1 { print $c }' "$2"
}

# --- plan ---

COMMAND=plan
prints "weights are outside unless said otherwise" 'planner dp-vbs+' \
    uncopied.csv --planner dp-vbs+ --request 2 --memory 7
grep weights out >said
[ "$(cat said)" = '  weights outside the budget: 24 B; --weights included counts them' ]
report $? "and then all that is said of them is how large they are"
cat >coded.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place,packed_bytes,form,parts
1,L1,fc,0,1,dense,9,4,4,0,600,0,600,0,0
1,L1,fc,0,1,joint:sparse,4,4,4,0,600,0,90,1,1
2,L2,fc,1,1,dense,4,4,4,0,300,0,320,0,0
2,L2,fc,1,1,joint:gemm,9,4,4,0,300,0,50,1,1
2,L2,fc,1,1,bytes:sparse,9,4,4,0,300,0,70,2,1
3,L3,fc,2,1,bytes:sparse,4,4,4,0,100,0,31,1,1
3,L3,fc,2,1,bytes:gemm,3,4,4,8,100,0,31,1,1
END
prints "weights outside are counted as the plan's steps take them: as packed, coded or dense" \
    'weights outside the budget: 441 B; ' coded.csv --planner dp-vbs+ --request 2 --memory 16
cat >formats.csv <<'END'
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place,packed_bytes,form,parts
1,L1,fc,0,1,a,9,4,4,0,64,0,64,0,0
1,L1,fc,0,2,a,9,8,8,0,64,0,64,0,0
2,L2,fc,1,1,a,9,4,4,0,64,0,64,0,0
2,L2,fc,1,2,a,9,8,8,0,64,0,64,1,0
END
prints "joint plans where batches have no packed format in common" 'planner joint' \
    formats.csv --planner joint --copy-rate 1MB --request 3 --memory 150
COMMAND=frontier
prints "a curve has plans from coded to dense ones" \
    'weights outside the budget: from 171 B (coded) to 1000 B (dense), by plan; ' coded.csv --request 2
COMMAND=compare
prints "and so has a table" \
    'weights outside the budget: from 171 B (coded) to 1000 B (dense), by plan; ' coded.csv --request 2 --memory 16
run coded.csv --weights included --request 2 --memory 300
[ $code -eq 0 ] && tr '\n' ' ' <out | grep -q 'weights *included (1000 B dense, 171 B coded)'
report $? "weights inside are told in both sizes"
COMMAND=plan
run uncopied.csv --planner dp-vbs+ --weights included --request 2 --memory 31
[ $code -eq 0 ] && grep -q '^2 samples in 31 bytes, weights included, io external' out &&
    grep -q '^  of that  20.00 us computing, nothing copied$' out &&
    grep -q '^  weights  24 B resident$' out &&
    [ "$(grep -c '^ *[123]  L[123] .* resident ' out)" -eq 3 ]
report $? "resident weights need no copies"
refuses "all of them must fit" 3 "; the profile has no copies, so all weights must be resident: \
measure copies, or give --copy-rate" uncopied.csv --planner dp-vbs+ --weights included --memory 16
refuses "for a planner that copies too" 3 "or give --copy-rate" \
    uncopied.csv --planner vdnn --request 2 --memory 16
refuses "a planner that does not copy names the one that does" 3 \
    "; planner joint, which copies weights in when they are needed, fits" \
    copied.csv --planner optimal --weights included --request 2 --memory 20
run copied.csv --planner joint --request 2 --memory 20
[ $code -eq 0 ]
report $? "which has a plan there"
run copied.csv --planner optimal --weights included --request 2 --memory 3
[ $code -eq 3 ] && ! grep -q joint err
report $? "and does not name it where it has none"
refuses "and at a rate of nothing" 3 "at a copy rate of 0 all weights must be resident" \
    copied.csv --planner vdnn --request 2 --memory 16 --copy-rate 0
run copied.csv --planner vdnn --request 2 --memory 16
[ $code -eq 0 ] && grep -q '^2 samples in 16 bytes, weights included' out &&
    grep -q 'copies at 976.6 KiB/s from slow$' out && grep -q '  streamed 2x  ' out
report $? "vdnn copies by itself, from the first source"
prints "or from another" 'copies at 1.91 MiB/s from fast' \
    copied.csv --planner vdnn --request 2 --memory 16 --copy fast
prints "or at a rate that is given" ', copies at 3.81 MiB/s' \
    copied.csv --planner vdnn --request 2 --memory 16 --copy fast --copy-rate 4MB
! grep -q ' from ' out
report $? "which is from no source"
run copied.csv --planner vdnn --request 2 --memory 16 --copy fast --copy-latency 3 --json given.json
[ $code -eq 0 ] &&
    grep -qF '"copy": { "source": "given", "latency_us": 3, "bytes_per_us": 2 }' given.json
report $? "a latency that is given leaves the rate"

# Copying and computing share the time of the request.
run copied.csv --planner joint --request 2 --memory 16 --copy-rate 2MB
[ $code -eq 0 ] && awk '/^  time/ { all = $2 } /^  of that/ { work = $3; copy = $6; both = $9 }
    END { d = all - (work + copy - both); exit !(all > 0 && d < 0.01 && d > -0.01) }' out
report $? "what is copied beside computing is told"
awk 'length($0) > 100 { bad = 1 } END { exit bad }' out
report $? "no line is longer than 100"

refuses "excluded weights are never copied" 2 "--copy-rate is for --weights included" \
    copied.csv --planner fbs --memory 16 --copy-rate 1MB
refuses "nor from anywhere" 2 "--copy is for --weights included" \
    copied.csv --planner fbs --memory 16 --weights excluded --copy fast
refuses "a planner that copies with weights outside" 2 "vdnn" \
    copied.csv --planner vdnn --memory 16 --weights excluded
refuses "an unknown source" 2 "--copy: the profile has no copies from 'tape'; it has: slow, fast" \
    copied.csv --planner vdnn --memory 16 --copy tape
refuses "a source where there is none" 2 "no copies from 'tape'; it has none at all" \
    uncopied.csv --planner vdnn --memory 16 --copy tape
refuses "a hostile source" 2 "no copies from '\\x1b[1m'; it has: slow, fast" \
    copied.csv --planner vdnn --memory 16 --copy "$(printf '\033[1m')"
refuses "a rate of words" 2 "--copy-rate: 'quick' is not a size" \
    copied.csv --planner vdnn --memory 16 --copy-rate quick
refuses "a negative latency" 2 "--copy-latency '-1' is not a number of microseconds from 0 on" \
    copied.csv --planner vdnn --memory 16 --copy-latency=-1
refuses "a latency of eternity" 2 "--copy-latency '1e30' is above the largest" \
    copied.csv --planner vdnn --memory 16 --copy-latency 1e30
prints "no latency is one" 'streamed' \
    copied.csv --planner vdnn --request 2 --memory 16 --copy-latency 0

# --- frontier ---

COMMAND=frontier
prints "a curve with weights says so" \
    'planner vdnn, weights included, copies at 976.6 KiB/s from slow' copied.csv --planner vdnn
run copied.csv --planner joint --request 2 --json -
[ $code -eq 0 ] && [ "$(member out weights)" = '"included"' ]
report $? "in JSON too"
run copied.csv --planner fbs --request 2 --csv outside.csv
run copied.csv --planner fbs --request 2 --weights included --csv inside.csv
[ "$(column memory_bytes inside.csv)" = "$(column memory_bytes outside.csv | awk '{ print $1 + 24 }')" ] &&
    [ "$(column time_us inside.csv)" = "$(column time_us outside.csv)" ]
report $? "resident weights only move the curve of fbs by their size"

# --- compare ---

COMMAND=compare
run copied.csv --weights included --request 2 --csv --copy fast
[ $code -eq 0 ] && [ "$(column planner out | sort -u | tr '\n' ' ')" = "dp-vbs+ fbs fbs-best joint mmcnn vdnn " ]
report $? "weights included compare the planners that say something there"
least=$(for p in fbs fbs-best dp-vbs+ mmcnn vdnn joint; do
    "$VBSLAB" frontier copied.csv --planner $p --weights included --request 2 --copy fast --csv - |
        sed -n 2p | cut -d, -f1
done | sort -n | head -1)
column memory_bytes out | awk -v least="$least" 'NR == 1 && $1 != least { bad = 1 }
    $1 != last { n++; if (last && $1 > last * 2) bad = 1 } { last = $1 }
    END { exit bad || n < 12 || n > 50 || last < 48 || last > 60 }'
report $? "from the least budget, $least, to twice the weights, in even ratios"
cp out compared.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
    $c["feasible"] == "true" { at = $c["memory_bytes"]; time[at, $c["planner"]] = $c["per_sample_us"]
        gain[at, $c["planner"]] = $c["gain_over_vdnn_percent"]; budgets[at] = 1
        if ($c["copied_bytes"] == "" || $c["copy_us"] == "" || $c["resident_bytes"] == "") bad = 1
        if ($c["planner"] ~ /^fbs/ && $c["resident_bytes"] != 24) bad = 1
        if ($c["planner"] ~ /^(mmcnn|vdnn)$/ && $c["copied_bytes"] + $c["resident_bytes"] < 24) bad = 1 }
    END { for (b in budgets) if (((b, "vdnn") in time) && ((b, "joint") in time)) { n++
            d = gain[b, "joint"] - 100 * (1 - time[b, "joint"] / time[b, "vdnn"])
            if (d > 1e-9 || d < -1e-9) bad = 1 }
        exit bad || n < 5 }' compared.csv
report $? "gains over vdnn, and bytes copied and resident"
run copied.csv --weights included --request 2 --copy fast --json --memory 16
[ $code -eq 0 ] && [ "$(member out weights)" = '"included"' ] && [ "$(member out weight_bytes)" = 24 ] &&
    [ "$(member out source)" = '"fast"' ] && [ "$(member out gain_over_mmcnn_percent | wc -l)" -eq 6 ]
report $? "in JSON too"
run copied.csv --request 2 --memory 7 --json
[ $code -eq 0 ] && [ "$(member out weights)" = '"excluded"' ] && ! grep -q 'mmcnn\|copied' out
report $? "with weights excluded they are not there"
run copied.csv --weights included --request 2 --copy fast --csv --memory 16 --baselines all --planners all
[ $code -eq 0 ] && [ "$(column planner out | grep -c .)" -eq 9 ] && ! column planner out | grep -q greedy
report $? "all other planners are more, all baselines the same"
run copied.csv --weights included --request 2 --copy fast --csv --memory 16 --baselines vdnn --planners joint
[ $code -eq 0 ] && [ "$(column planner out | tr '\n' ' ')" = "vdnn joint " ] &&
    [ -z "$(column gain_over_mmcnn_percent out | tr -d '\n')" ]
report $? "a gain over what is not compared is not known"
run copied.csv --weights included --request 2 --csv --copy fast --memory '8..50:*1.5' --planners joint
[ $code -eq 0 ] && [ "$(column memory_bytes out | uniq | tr '\n' ' ')" = "8 12 18 27 40 " ]
report $? "budgets may grow by a factor"
refuses "a factor that is none" 2 "'1' is not a factor above 1" copied.csv --memory '8..50:*1'
refuses "a planner that copies" 2 "'joint' copies weights; give --weights included" \
    copied.csv --planners joint
refuses "a baseline that copies" 2 "'mmcnn' copies weights" copied.csv --baselines mmcnn
refuses "copies of weights outside" 2 "--copy is for --weights included" copied.csv --copy fast
run copied.csv --weights included --request 2 --copy fast
[ $code -eq 0 ] && grep -q 'copies at 1.91 MiB/s from fast$' out && grep -q 'vdnn (' out &&
    awk 'length($0) > 100 { bad = 1 } END { exit bad }' out
report $? "the table tells how copies come, and stays within 100 columns"

# The same schedules, judged where copies are slower.
sed 's/^# copy: fast,1000,500$/# copy: fast,1000,2000/' copied.csv >slower.csv
run copied.csv --weights included --request 2 --copy fast --memory 16 --planners joint --csv
column per_sample_us out >own
run copied.csv --weights included --request 2 --copy fast --memory 16 --planners joint --csv --judge slower.csv
column per_sample_us out >judged
[ $code -eq 0 ] && [ "$(column self_judged out | sort -u)" = false ] &&
    paste own judged | awk '$1 > 0 { n++; if ($2 < $1) bad = 1; if ($2 > $1) slower++ }
        END { exit bad || n < 3 || slower < 1 }'
report $? "a judge counts copies by its own source of that name"

# --- noise ---

awk -F, -v OFS=, '/^#/ { print; next } /^layer/ { print $0 ",mad_us,low_us,high_us,n_runs"; next }
    { print $0, 0.1, $7 - 0.2, $7 + 0.3, 9 }' copied.csv >measured.csv
run measured.csv --weights included --request 2 --copy fast --memory 16 --csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
    $c["planner"] == "joint" { low = $c["gain_over_vdnn_low_percent"]
        high = $c["gain_over_vdnn_high_percent"]; gain = $c["gain_over_vdnn_percent"]
        found = low != "" && low < gain && gain < high && high - low < 10 }
    $c["planner"] == "vdnn" { same = $c["gain_over_vdnn_low_percent"] == 0 &&
        $c["gain_over_vdnn_high_percent"] == 0 && $c["gain_over_vdnn_low_percent"] != "" }
    END { exit !(found && same) }' out
report $? "intervals run the clocks anew: around the gain, and 0 over itself"

# --- replay ---

"$VBSLAB" plan copied.csv --planner vdnn --request 2 --memory 16 --copy fast --json v.json >out
"$VBSLAB" plan copied.csv --planner fbs --request 2 --memory 12 --json f.json >out
COMMAND=replay
run copied.csv v.json --json
fast=$(member out time_us | head -1)
run copied.csv v.json --json --copy slow
slow=$(member out time_us | head -1)
run copied.csv v.json --json --copy-rate 1MB
given=$(member out time_us | head -1)
awk -v f="$fast" -v s="$slow" -v g="$given" 'BEGIN { exit !(f < s && s == g) }'
report $? "a schedule is replayed with other copies"
refuses "not one without" 2 "the schedule has them excluded" copied.csv f.json --copy fast
refuses "nor from nowhere" 2 "the profile has no copies from 'tape'" copied.csv v.json --copy tape

if command -v gnuplot >/dev/null; then
    for kind in svg png pdf; do
        run copied.csv v.json --gantt picture.$kind
        [ $code -eq 0 ] && [ -s picture.$kind ]
        report $? "a picture as .$kind"
    done
    grep -q '>copy<' picture.svg && grep -q '>weights<' picture.svg && grep -q '>budget<' picture.svg &&
        grep -q '>computing waits<' picture.svg && grep -q '>time (us)<' picture.svg
    report $? "with copies, waits and weights"
    run copied.csv f.json --gantt picture.svg
    [ $code -eq 0 ] && grep -q '>compute<' picture.svg && ! grep -q '>copy<\|>weights<\|waits' picture.svg
    report $? "and without, where weights are outside"
    run copied.csv v.json --memory 12 --gantt picture.svg
    [ $code -eq 3 ] && grep -q 'above the budget' picture.svg
    report $? "a schedule that breaks its budget is drawn too"
    run copied.csv v.json --gantt two.svg,two.png
    [ $code -eq 0 ] && cmp -s picture.png two.png && grep -q '</svg>' two.svg && [ ! -e two.svg,two.png ]
    report $? "several pictures with commas between them"
    refuses "a list of pictures without any" 2 "--gantt names no file; write one or more that end in .svg" \
        copied.csv v.json --gantt ,
    refuses "a list with a picture of another kind" 2 "--gantt 'p.gif' must end in" copied.csv v.json \
        --gantt first.svg,p.gif
    [ ! -e first.svg ]
    report $? "of which none is drawn"
    refuses "a picture of another kind" 2 "must end in .svg, .png, .pdf or .tex" copied.csv v.json --gantt p.gif
    COMMAND=compare
    run copied.csv --weights included --request 2 --copy fast --plot total.svg
    [ $code -eq 0 ] && grep -q 'weights included<' total.svg && grep -q '>all weights<' total.svg &&
        grep -q '>32<' total.svg && grep -q '>16<' total.svg && grep -q 'copies at 1.91 MiB/s' total.svg
    report $? "throughput against total memory, by powers of two, with the weights marked"
else
    skip "pictures" "there is no gnuplot"
fi
finish
