#!/bin/sh
# vbslab explain: why a plan is as it is. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

write_example >example.csv
explain='explain example.csv --request 2 --memory 7'

# --- the example of VBS III, by each planner ---

run $explain --planner dp-vbs
[ $code -eq 0 ] && grep -q '^split 1 + 1 .*24.00 us  +20.00%' out &&
    grep -q '^pivot 2 .*does not fit *12 B' out && grep -q '  2 L2 .*split 1 + 1' out
report $? "dp-vbs weighs a split and three pivots, of which one does not fit"
[ "$(awk 'length > 80' out | wc -l)" -eq 0 ]
report $? "in lines of at most 80 columns"
prints "dp-vbs+ has barriers" 'barrier after 1' $explain --planner dp-vbs+
prints "fbs says what the next batch would need" \
    'Batch 2 would need 12 B, 5 B more than the budget, at layer 2 L2' $explain --planner fbs
prints "and fbs-best" 'Batch 2 would need 12 B' $explain --planner fbs-best
prints "dp-monotone has batches of layers" '2 x 1 before 3' $explain --planner dp-monotone
prints "greedy-vbs goes layer by layer" 'its largest batch that fits beside the whole request' \
    explain example.csv --request 2 --memory 8 --planner greedy-vbs
run explain "$ROOT/db/profiles/googlenet-a.csv" --memory 60MiB --planner greedy-vbs --step
[ $code -eq 0 ] && grep -q '^batch 1  *1.465 ms  -33.05%' out && ! grep -q '^batch 1 .* equal' out
report $? "and a batch that it does not take, though it is faster, is told from equal ones"
prints "optimal says what its bound rests on" 'bound: each layer beside waiting samples' \
    $explain --planner optimal
run explain "$ROOT/db/profiles/googlenet-a.csv" --planner optimal --memory 60MiB
[ $code -eq 0 ] && grep -q '^bound: no limit of memory .* +0.00%$' out && ! grep -q -e '-0.00%' out
report $? "and a bound that rounding alone tells from the schedule is 0% from it"
prints "the default is dp-vbs+" 'planner dp-vbs+' $explain

# --- parts, depth, steps, tables ---

run $explain --planner dp-vbs --from 2 --to 3 --samples 1
[ $code -eq 0 ] && grep -q '^layers 2..3, 1 sample, in 7 bytes' out &&
    grep -q '^    6     6 B *8 us  in this memory' out
report $? "a part alone has its candidates and its curve"
prints "what is not given of a part is that of the whole" 'layers 1..3, 1 sample' \
    $explain --samples 1
prints "--depth 1 leaves decisions out, and says so" 'more decisions lie below these: --depth 2' \
    $explain --planner dp-vbs --depth 1
run $explain --planner dp-vbs --step
[ $code -eq 0 ] && [ "$(grep -c '^layers\{0,1\} .*, in ' out)" -eq 6 ]
report $? "--step prints every decision that differs once where input is no terminal"
grep -q '^A pivot runs all samples at once' out && [ "$(grep -c '^A split: ' out)" -eq 1 ]
report $? "and what its candidates mean, once"
run explain greedy-trap --request 4 --memory 40 --planner greedy-vbs --step
[ $code -eq 0 ] && sed -n 4p out | grep -q '^The layers are decided one by one' &&
    grep -qx '    2  L2           1   36 B        4   48 B' out && [ "$(grep -c '^layer [1-3] ' out)" -eq 3 ]
report $? "steps of greedy-vbs begin with how it decides, and what each layer could take"
for planner in fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+ optimal; do
    run explain greedy-trap --request 4 --memory 40 --planner $planner --step
    [ $code -eq 0 ] && ! grep -A 1 'needs *$' out | grep -q '^$' && [ "$(awk 'length > 80' out | wc -l)" -eq 0 ]
    report $? "no step of $planner has an empty table, or lines of more than 80 columns"
done
prints "a planner without decisions that follow each other has one step" 'One step, because' \
    explain two-clocks --request 3 --memory 18 --weights included --planner joint --step
run $explain --planner dp-vbs --table 1
[ $code -eq 0 ] && grep -q '^1..3 *2 *7 B  20.00 us   2  20.00 us      1$' out
report $? "a small table is printed"
run $explain --planner dp-vbs --table 1 --csv -
[ $code -eq 0 ] && [ "$(wc -l <out)" -eq 97 ] && grep -q '^1,3,2,6,24,1,,0$' out &&
    grep -q '^1,3,2,7,20,2,20,1$' out
report $? "and written cell by cell"
prints "a large table is not printed" 'cells; --csv FILE writes them all' \
    explain "$ROOT/db/profiles/alexnet-a.csv" --planner dp-vbs --memory 4MiB --table 256KiB

# --- JSON ---

run $explain --planner dp-vbs --json -
[ $code -eq 0 ] && python3 - out <<'END'
import json, sys
made = json.load(open(sys.argv[1]))
first = made["decisions"][0]
chosen = first["candidates"][first["chosen"]]
assert made["format"] == "vbslab-explanation-1" and made["time_us"] == 20
assert first["parent"] is None and first["time_us"] == 20 == chosen["time_us"]
assert sum(part["time_us"] for part in chosen["parts"]) == 20
assert [p["memory_bytes"] for p in made["points"]] == [6, 7, 12]
END
report $? "--json has decisions, candidates, parts and the curve"

run explain "$ROOT/db/profiles/googlenet-a.csv" --planner dp-vbs+ --memory 20MiB --json -
[ $code -eq 0 ] && python3 - out <<'END'
import json, sys
made = json.load(open(sys.argv[1]))
order, place = made["order"], {layer: i for i, layer in enumerate(made["order"])}
assert sorted(order) == list(range(1, 85)) and order != sorted(order)
assert any(d["first_layer"] > d["last_layer"] for d in made["decisions"])
for d in made["decisions"]:
    assert place[d["last_layer"]] - place[d["first_layer"]] == d["layers"] - 1, d
END
report $? "where branches run in an order of their own, all parts are ranges of it"
prints "and the order stands above the tree" '  34..35 38..39 36..37 33 40' \
    explain "$ROOT/db/profiles/googlenet-a.csv" --planner dp-vbs+ --memory 20MiB --depth 1

# --- the page, without a browser; tests/report looks at it in one ---

# page_data FILE: checks with the Python program on standard input, which has the data as `page`.
page_data()
{
    { cat <<'END'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
page = json.loads(re.search(r'id="data">\n(.*?)</script>', text, re.S).group(1))
made, shown = page["explanation"], page["shown"]
END
        cat
    } >check.py
    python3 check.py "$1"
}
run $explain --planner dp-vbs --table 1 --html page.html
[ $code -eq 0 ] && [ ! -s out ] && [ ! -s err ] && page_data page.html <<'END'
assert page["format"] == "vbslab-explanation-page-1" and page["layers"] == ["L1", "L2", "L3"]
assert len(shown) == len(made["decisions"]) and len(made["cells"]) == page["n_cells"] == 96
assert page["peak_bytes"] == 7 and made["time_us"] == 20
for decision, about in zip(made["decisions"], shown):
    assert len(about["labels"]) == len(decision["candidates"])
    curve = list(zip(about["curve"][::2], about["curve"][1::2])) if "curve" in about else []
    assert len(curve) == about["points"] or not curve
    best = [time for memory, time in curve if memory <= decision["memory_bytes"]]
    assert not curve or best[-1] == decision["time_us"]
assert shown[0]["labels"][made["decisions"][0]["chosen"]] == "no split"
END
report $? "--html has decisions, cells, and a curve of each part"
run $explain --planner dp-vbs --html - && cp out page.html && page_data page.html <<'END'
assert shown[0]["curve"] == [6, 24, 7, 20, 12, 18] and "cells" not in made and page["n_cells"] == 0
assert sum(about["again"] for about in shown) == 1 and shown[0]["labels"][0] == "pivot 1"
END
report $? "also of exact curves, and on standard output"
for planner in fbs greedy-vbs dp-monotone optimal dp-vbs+; do
    run explain example.csv --request 2 --memory 8 --planner $planner --html $planner.html && page_data $planner.html <<'END' || break
assert len(shown) == len(made["decisions"]) and (shown or made["bound"])
END
done
[ $code -eq 0 ] && [ -s dp-vbs+.html ]
report $? "every planner has a page"
refuses "a page of another kind of name" 2 'ends in .html' $explain --html page.txt
refuses "a page and JSON" 2 'one of --json, --csv and --html' $explain --html page.html --json -
sed "s/L2/<\/script><b>/" example.csv >names.csv
run explain names.csv --request 2 --memory 7 --planner dp-vbs --html names.html
[ $code -eq 0 ] && [ "$(grep -o '</script' names.html | wc -l)" -eq 4 ] && page_data names.html <<'END'
assert page["layers"][1] == "</script><b>"
END
report $? "no name is markup in the page"
sed "s/L2/$(printf 'a\303\251\303\251\303\251\303\251\303\251\303\251')/; s/default/$(printf '1234567890123\303\251')/" example.csv >names.csv
run explain names.csv --request 2 --memory 7 --planner dp-vbs --html names.html
[ $code -eq 0 ] && page_data names.html <<'END'
assert page["layers"][1] == "a" + 6 * "\u00e9"
END
report $? "a name that is cut within a character is shown"

# --- candidates that fit no memory, or none that was solved ---

run explain barrier --request 2 --planner dp-vbs --memory 8 --latency-us 10
[ $code -eq 0 ] && grep -q '^one chunk of 2 .* does not fit  *none found$' out
report $? "both samples at once take longer than the latency in any memory"
run explain "$ROOT/db/profiles/alexnet-a.csv" --planner dp-vbs --table 2MB --memory 5MB
[ $code -eq 0 ] && grep -q '^no split .* does not fit  *none found$' out
report $? "a table knows nothing beyond the memory of its plan"

# --- networks with branches; weights ---

googlenet=$ROOT/db/profiles/googlenet-a.csv
run explain "$googlenet" --planner dp-vbs --memory 20MiB
[ $code -eq 0 ] && [ "$(wc -l <out)" -le 60 ] && grep -q 'branches in turn' out
report $? "GoogLeNet in 20 MiB takes a page"
refuses "a part across a branch" 2 'has no part from layer 5 to layer 12' \
    explain "$googlenet" --planner dp-vbs --memory 20MiB --from 5 --to 12
weights=$ROOT/db/profiles/alexnet-weights-a.csv
prints "joint says what is copied, and which clock waits" 'computing waits for copies for' \
    explain "$weights" --planner joint --memory 40MiB --request 2
prints "and other planners say what stays" 'of weights stay in memory' \
    explain "$weights" --planner dp-vbs --weights included --memory 300MiB --request 2
run explain "$weights" --planner joint --memory 40MiB --request 2 --json -
[ $code -eq 0 ] && grep -q '"wait_us"' out && grep -q '"begins_during"' out
report $? "also as JSON"

# --- what it refuses ---

refuses "no budget" 2 'needs --memory' explain example.csv
refuses "a budget that is too small" 3 'the least budget is 6 bytes' \
    explain example.csv --request 2 --memory 5 --planner dp-vbs
refuses "a part of fbs" 2 'fbs does not decide about parts' $explain --planner fbs --samples 1
refuses "layers that there are not" 2 'goes from 1 to 3' $explain --to 4
refuses "cells without a table" 2 'needs --table' $explain --csv -
refuses "two forms" 2 'one of --json, --csv and --html' \
    $explain --planner dp-vbs --table 1 --json - --csv -

finish
