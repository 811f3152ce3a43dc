#!/bin/sh
# Exercises, their judge and their sheets; profiles to teach with. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

# --- profiles to teach with ---

COMMAND=

# takes NAME PLANNER TIME ARGUMENTS...: checks the time of a plan of a profile to teach with.
takes()
{
    profile=$1 planner=$2 want=$3
    shift 3
    run plan "$profile" --planner "$planner" "$@" --json -
    [ $code -eq 0 ] && [ ! -s err ] && grep -q "\"predicted\": { \"time_us\": $want," out
    report $? "$profile: $planner takes $want"
}

run profiles teaching
[ $code -eq 0 ] && [ "$(sed -n '2,/^$/p' out | sed '/^$/d' | wc -l)" -eq "$(ls "$ROOT"/db/teaching/*.csv | wc -l)" ]
report $? "all profiles of db/teaching are listed"
sed -n '2,/^$/s/  .*//p' out >names
"$VBSLAB" profiles teaching --json >out 2>err
[ "$(grep -c '"about"' out)" -eq "$(wc -l <names)" ]
report $? "and as JSON"
while read -r name; do
    run profiles export "$name" -
    [ $code -eq 0 ] && cmp -s out "$ROOT/db/teaching/$name.csv" || grep -v '^#' out | cut -d, -f1-12 >got
    grep -v '^#' "$ROOT/db/teaching/$name.csv" >want
    cmp -s want got && grep -q "^# model: \"*$name" out
    report $? "$name is the file, with its name"
done <names
[ ! -e db ] && [ ! -e data ]
report $? "they leave no store"

takes vbs-example fbs 24 --request 2 --memory 7
takes vbs-example dp-vbs 20 --request 2 --memory 7
takes greedy-trap greedy-vbs 72 --request 4 --memory 36
takes greedy-trap fbs-best 60 --request 4 --memory 36
takes greedy-trap optimal 48 --request 4 --memory 36
takes four-layers fbs 30 --request 2 --memory 8
takes four-layers dp-vbs 28 --request 2 --memory 8
takes branches fbs 36 --request 2 --memory 10
takes branches dp-vbs 31 --request 2 --memory 10
takes branches dp-vbs+ 26 --request 2 --memory 10
takes barrier dp-vbs 16 --request 2 --memory 8
takes barrier dp-vbs+ 13 --request 2 --memory 8
takes crossing fbs 30 --request 6 --memory 16
takes crossing dp-vbs+ 28 --request 6 --memory 16
takes crossing optimal 26 --request 6 --memory 16
takes two-clocks dp-vbs+ 57 --request 3 --memory 18 --weights included
takes two-clocks vdnn 51 --request 3 --memory 18
takes two-clocks joint 37 --request 3 --memory 18

"$VBSLAB" profiles export barrier other.csv
sed 's/model: .*/model: crossing/' other.csv >crossing.csv
mkdir db && "$VBSLAB" --quiet profiles import crossing.csv >/dev/null
run profiles show crossing
grep -q '^    3  L3' out
report $? "a profile of the store goes before a built-in one of its name"
run profiles show barrier
[ $code -eq 0 ] && grep -q '^model    barrier' out
report $? "a store without it leaves the built-in one"
rm -r db
refuses "a name that is nearly one" 1 "did you mean 'greedy-trap'?" plan greedy-tarp --memory 36
refuses "arguments of the list" 2 "'teaching' takes no arguments" profiles teaching barrier

# --- problems ---

COMMAND=exercise

run --seed 7 --level 2 -o answer.json
[ $code -eq 0 ] && [ ! -s err ] && grep -q '^# Exercise: level 2, seed 7$' out &&
    grep -q 'Memory: \*\*23 units\*\*' out && ! grep -qi 'optim' out
report $? "a problem, without its solution"
[ "$(awk 'length > 125' out | wc -l)" -eq 0 ]
report $? "in lines that fit a page"
mv out first
run --level=2 --seed=7
cmp -s out first
report $? "the same problem again"
run --seed 7
grep -q '^# Exercise: level 1, seed 7$' out
report $? "level 1 where none is named"
for level in 1 2 3 4 5 6; do
    run --seed 5 --level $level --json
    [ $code -eq 0 ] && grep -q '"format": "vbslab-exercise-1"' out && grep -q "\"level\": $level," out &&
        ! grep -q optim out
    report $? "level $level as JSON, without its solution"
done

# --- the judge ---

# judges NAME CODE TEXT ERROR ANSWER...: checks the exit code, a part of the verdict, and of the line
# of error ("": there is none).
judges()
{
    name=$1 want=$2 text=$3 error=$4
    shift 4
    run --check "$@"
    [ $code -eq "$want" ] && grep -qF -- "$text" out &&
        if [ -n "$error" ]; then [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$error" err; else [ ! -s err ]; fi
    report $? "$name"
}

# answer STEPS...: writes answer.json of level 2, seed 7, with the steps LAYERxBATCH.
answer()
{
    sed '/"steps"/q' start.json >answer.json
    separator=
    for step; do
        printf '%s{ "layer": %s, "batch": %s, "algorithm": "a" }' "$separator" "${step%x*}" "${step#*x}"
        separator=', '
    done >>answer.json
    echo ' ] }' >>answer.json
}

mv answer.json start.json
judges "the answer to start from is valid and slow" 0 'the answer takes 75.0% longer' '' start.json
grep -q 'hint     step 1 is the first that loses time' out
report $? "and gets a hint"
answer 1x3 1x3 2x3 2x3 3x3 3x3 4x3 4x3
{ printf '\357\273\277'; sed 's/$/\r/' start.json; } >windows.json
judges "an answer as editors of Windows save it" 0 'time     126 ms' '' windows.json
judges "too many at once" 3 'fits     no' 'needs 30 units: 12 of samples before the step, 9 of its output' answer.json
answer 1x1 2x2
judges "a step before its input" 1 'valid    no' \
    "step 2 of 2, layer 2 'L2' at batch 2: reads up to sample 2 of layer 1 'L1'" answer.json
grep -qF 'hint     only 1 sample is ready for layer 2' out
report $? "with a hint"
answer 1x1 2x1
judges "an end that is not reached" 1 'hint     layer 1 still has 5 samples to do' \
    "after the last step layer 1 'L1' has finished 1 of 6 samples" answer.json
answer 1x5
judges "a batch that is not in the table" 1 'have to be of the problem' 'the profile has no batch 5' answer.json
answer 9x1
judges "a layer that is not there" 1 'the layers go from 1 to 4' 'the profile has no layer 9' answer.json
answer
judges "no step at all" 1 'hint     layer 1 still has 6 samples' 'has finished 0 of 6' answer.json
run --check start.json --json
[ $code -eq 0 ] && grep -q '"format": "vbslab-exercise-verdict-1"' out && grep -q '"optimal": false' out &&
    grep -q '"gap_percent": 75.0' out
report $? "a verdict as JSON"
"$VBSLAB" exercise --check - <start.json >out 2>err
code=$?
[ $code -eq 0 ] && grep -q 'optimum  72 ms' out
report $? "an answer on standard input"

sed 's/"memory_bytes": 23/"memory_bytes": 30/' start.json >more.json
refuses "a larger budget" 1 'more.json: its memory_bytes is 30, that of the exercise is 23' --check more.json
refuses "another seed" 1 'it answers level 2, seed 7, not level 2, seed 8' --check start.json --seed 8
refuses "another level" 1 'it answers level 2, seed 7, not level 1, seed 7' --check start.json --level 1
sed 's/exercise-2-7/exercise-2-8/' start.json >other.json
refuses "the steps of another problem" 1 "its 'hash' is that of another problem" --check other.json
sed 's/exercise-2-7/googlenet/' start.json >other.json
refuses "a plan of a network" 1 'it answers no exercise' --check other.json
echo 'L1 x3, L2 x3' >text.json
refuses "no JSON" 1 'text.json:1: ' --check text.json
echo '[]' >text.json
refuses "other JSON" 1 'text.json: not a JSON object' --check text.json
head -c 2000000 /dev/zero | tr '\0' ' ' >huge.json
refuses "a huge file" 1 "'huge.json' is larger than 1048576 bytes" --check huge.json
refuses "no file" 1 "cannot open 'none.json'" --check none.json

# --- the answers of a class ---

mkdir class class/folder.json
cp start.json class/ann.json
cp start.json "class/ben, \"b\".json"
cp start.json "$(printf 'class/\033[31m\377.json')"
answer 1x3 1x3 2x3 2x3 3x3 3x3 4x3 4x3
mv answer.json class/cleo.json
answer 1x1 2x2
mv answer.json class/dan.json
cp more.json class/eve.json
echo 'L1 x3, L2 x3' >class/fritz.json
echo '[]' >class/gus.json
cp huge.json class/huge.json
sed 's/exercise-2-7/googlenet/' start.json >class/ida.json
run --seed 3 --level 4 -o class/jan.json
run --check class/*.json class/none.json
[ $code -eq 1 ] && [ "$(sed -n '1,/^$/p' out | wc -l)" -eq 15 ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -qF '9 of 13 answers are wrong' err
report $? "several answers have a row each, and one line says how many are wrong"
# row FILE TEXT...: the row of a file, blanks aside.
row()
{
    sed 's/  */ /g' out | grep -qF -- "$1 $2"
    report $? "the row of $1"
}
row class/ann.json '2 7 slower 126 72 75.0% -'
row 'class/ben, "b".json' '2 7 slower 126'
row 'class/\x1b[31m\xff.json' '2 7 slower 126'
row class/cleo.json '2 7 exceeds the memory 70 72 - step 7 of 8, layer 4 at batch 3, needs 30 units'
row class/dan.json "2 7 no schedule - 72 - step 2 of 2, layer 2 'L2' at batch 2: reads"
row class/eve.json '2 7 no answer - 72 - its memory_bytes is 30, that of the exercise is 23'
row class/folder.json "- - no answer - - - cannot read 'class/folder.json'"
row class/fritz.json '- - no answer - - - class/fritz.json:1:'
row class/gus.json '- - no answer - - - not a JSON object'
row class/huge.json "- - no answer - - - 'class/huge.json' is larger"
row class/ida.json '- - no answer - - - it answers no exercise'
row class/jan.json '4 3 slower'
row class/none.json "- - no answer - - - cannot open 'class/none.json'"
grep -qx '13 answers: 4 slower, 1 exceeds the memory, 1 no schedule, 7 no answers' out
report $? "how many are of each kind"
run --check class/*.json --csv
[ $code -eq 1 ] && python3 - out <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
by_name = {row["file"]: row for row in rows}
assert len(rows) == 12 and all(None not in row and None not in row.values() for row in rows)
ann, cleo, gus = (by_name[f"class/{name}.json"] for name in ("ann", "cleo", "gus"))
assert (ann["level"], ann["seed"], ann["valid"], ann["fits"], ann["optimal"]) == ("2", "7", "true", "true", "false")
assert (ann["time_us"], ann["optimum_us"], ann["gap_percent"], ann["reason"]) == ("126000", "72000", "75", "")
assert ann["hint"].startswith("step 1 is the first that loses time")
assert (cleo["valid"], cleo["fits"], cleo["step"], cleo["gap_percent"]) == ("true", "false", "7", "")
assert gus["reason"] == "not a JSON object" and gus["level"] == gus["time_us"] == ""
assert 'class/ben, "b".json' in by_name
END
report $? "as CSV"
run --check class/*.json --json
[ $code -eq 1 ] && python3 - out <<'END'
import json, sys
made = json.load(open(sys.argv[1]))
assert made["format"] == "vbslab-exercise-verdicts-1" and len(made["answers"]) == 12
assert all(list(answer) == list(made["answers"][0]) for answer in made["answers"])
eve = next(answer for answer in made["answers"] if answer["file"] == "class/eve.json")
assert eve["seed"] == 7 and eve["valid"] is False and eve["time_us"] is None
END
report $? "as JSON, all with the same keys"
run --check class/ann.json class/jan.json
[ $code -eq 0 ] && [ ! -s err ]
report $? "answers that fit give exit code 0"
run --check class/ann.json class/cleo.json
[ $code -eq 3 ] && grep -qF '1 of 2 answers is wrong' err
report $? "one that exceeds the memory 3"
run --check class/ann.json class/jan.json --seed 7
[ $code -eq 1 ] && sed 's/  */ /g' out | grep -q 'jan.json 4 7 no answer .* it answers level 4, seed 3'
report $? "with --seed all answer one exercise"
run --check start.json --csv
[ $code -eq 0 ] && [ "$(wc -l <out)" -eq 2 ]
report $? "one answer alone has a row, too, as CSV"
"$VBSLAB" exercise --check - class/ann.json <start.json >out 2>err
code=$?
[ $code -eq 0 ] && grep -q '^-  *2 ' out
report $? "standard input among others"

# --- sheets ---

run --seed 3 --level 4 --sheet 5 -o sheet.md
[ $code -eq 0 ] && [ ! -s out ] && [ "$(grep -c '^## Variant' sheet.md)" -eq 5 ] &&
    [ "$(grep -c '^| [1-5] | 300[1-5] |' sheet-key.md)" -eq 5 ] && ! grep -q optimum sheet.md
report $? "a sheet and its key"
cp sheet.md sheet2 && cp sheet-key.md key2
run --seed 3 --level 4 --sheet 5 -o sheet.md
cmp -s sheet.md sheet2 && cmp -s sheet-key.md key2
report $? "the same again"
run --seed 3001 --level 4
sed -n '/^| layer/,/^Input/p' out >one
sed -n '/seed 3001$/,/^Input/p' sheet.md | sed 1,2d >two
[ -s one ] && cmp -s one two
report $? "a variant is the exercise of its seed"
run --seed 3 --sheet 2 -o - --key k.md
[ $code -eq 0 ] && grep -q '^## Variant 2: seed 3002' out && grep -q '^# Key' k.md
report $? "a sheet on standard output, its key in a file"
# Each solution of the key, as an answer, takes the optimal time.
run --seed 3002 --level 4 -o start.json
schedule=$(sed -n 's/^| 2 | 3002 | .* | \(L[^|]*\) |$/\1/p' sheet-key.md | sed 's/, /\n/g; s/L//g; s/ x/x/g')
# shellcheck disable=SC2086 # words
answer $schedule
judges "a solution of the key" 0 ': reached' '' answer.json

# --- a problem for each student ---

printf '\357\273\277Ann Lee\r\n\n  ../../etc/passwd \n<b>"$(touch pwned)"|`x`\nAnn Lee\n%s' '李明' >names.txt
run --seed 3 --level 4 --students names.txt -o class4/
[ $code -eq 0 ] && [ ! -s out ] && [ "$(ls class4 | tr '\n' ' ')" = "001-Ann_Lee.json 001-Ann_Lee.md \
002-etc_passwd.json 002-etc_passwd.md 003-b_touch_pwned_x.json 003-b_touch_pwned_x.md 004-Ann_Lee.json \
004-Ann_Lee.md 005-李明.json 005-李明.md " ] && [ ! -e pwned ]
report $? "a problem and an answer for each student, under names that are safe"
grep -qF 'lines 1 and 5 have the same name' err
report $? "with a warning of a name that comes twice"
[ "$(grep -c '^| [1-5] | .* | 300[1-5] |' class4-key.md)" -eq 5 ] &&
    grep -qF '| 3 | \<b\>\"\$(touch pwned)\"\|\`x\` | 003-b_touch_pwned_x | 3003 |' class4-key.md
report $? "and a key with the names, as plain text"
"$VBSLAB" exercise --seed 3001 --level 4 -o start.json | sed -n '/^| layer/,/^Input/p' >one
sed -n '/^| layer/,/^Input/p' class4/001-Ann_Lee.md >two
[ -s one ] && cmp -s one two && cmp -s start.json class4/001-Ann_Lee.json &&
    sed -n 3p class4/001-Ann_Lee.md | grep -qx 'For Ann Lee'
report $? "the problem is the variant of the sheet"
run --check class4/*.json
[ $code -eq 0 ] && grep -q '^5 answers: 5 slower$' out
report $? "the class's answers are judged at once"

# --- an answer under another student's name ---

mkdir copied
cp class4/*.json copied
run --check copied/*.json
[ $code -eq 0 ] && ! grep -qE 'answers the exercise of|is called like' out
report $? "answers of a class are one to each problem"
cp copied/001-Ann_Lee.json copied/002-etc_passwd.json
sed 's/"name": "L1", "batch": 1/"name": "L1", "batch": 2/' copied/001-Ann_Lee.json >copied/ann-again.json
run --check copied/*.json
[ $code -eq 1 ] && grep -qxF 'copied/002-etc_passwd.json answers the exercise of copied/001-Ann_Lee.json (level 4, seed 3001), with the same steps' out &&
    grep -qxF 'copied/002-etc_passwd.json is called like variant 2 of a class; the answer is to variant 1' out
report $? "a copied answer is shown"
grep -qxF 'copied/ann-again.json answers the exercise of copied/001-Ann_Lee.json (level 4, seed 3001), with other steps' out &&
    [ "$(grep -cE 'answers the exercise of|is called like' out)" -eq 3 ]
report $? "and so is a second one to a problem"
run --check copied/*.json --csv
mv out copied.csv
run --check copied/*.json --json
mv out copied.json.txt
python3 - copied.csv copied.json.txt >out 2>err <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
answers = json.load(open(sys.argv[2]))["answers"]
keys = ("same_exercise", "same_steps", "named_variant")
want = {"copied/002-etc_passwd.json": ("copied/001-Ann_Lee.json", True, 2),
        "copied/ann-again.json": ("copied/001-Ann_Lee.json", False, None)}
words = {True: "true", False: "false", None: ""}
assert len(rows) == len(answers) == 6
for row, answer in zip(rows, answers):
    values = want.get(answer["file"], (None, None, None))
    assert tuple(answer[key] for key in keys) == values, answer
    assert tuple(row[key] for key in keys) == tuple(words.get(v, str(v)) for v in values), row
END
report $? "in CSV and JSON, too"
judges "a copied answer alone has another student's name" 0 \
    'name     the file is called like variant 2 of a class; the answer is to variant 1' '' copied/002-etc_passwd.json
run --check copied/002-etc_passwd.json --json
[ $code -eq 0 ] && grep -q '"named_variant": 2' out
report $? "in JSON, too"
cp class4/001-Ann_Lee.json one.json
run --check one.json copied/001-Ann_Lee.json copied/002-etc_passwd.json --seed 3001 --level 4
[ $code -eq 0 ] && ! grep -qE 'answers the exercise of|is called like' out
report $? "where all answer one exercise, nothing is remarked"
refuses "a folder in which students may have answered" 1 "'class4' is there already and no empty folder" \
    --seed 3 --students names.txt -o class4
mkdir empty
"$VBSLAB" exercise --seed 3 --students - -o empty --key k4.md <names.txt >out 2>err && [ "$(ls empty | wc -l)" -eq 10 ] &&
    [ -s k4.md ]
report $? "a list on standard input, an empty folder, a key by another name"
printf 'Ann\nJos\351\n' >latin.txt
refuses "a list that is no UTF-8" 1 'latin.txt:2: the name is no UTF-8' --seed 3 --students latin.txt -o none
printf ' \n\r\n' >blank.txt
refuses "a list without names" 1 'blank.txt: has no names' --seed 3 --students blank.txt -o none
printf 'a\0b\n' >zero.txt
refuses "a list that is no text" 1 'zero.txt: is no text' --seed 3 --students zero.txt -o none
seq 1000 >many.txt
refuses "a list of 1000" 1 'many.txt:1000: more than 999 names' --seed 3 --students many.txt -o none
refuses "no list" 1 "cannot open 'no.txt'" --seed 3 --students no.txt -o none
refuses "a folder in no folder" 1 "cannot make the folder 'no/class'" --seed 3 --students names.txt -o no/class
refuses "a file for a folder" 1 "'names.txt' is there already" --seed 3 --students names.txt -o names.txt
[ ! -e none ] && [ ! -e none-key.md ]
report $? "and nothing is written"
refuses "students without a folder" 2 '--students needs -o FOLDER' --seed 3 --students names.txt
refuses "students of a sheet" 2 'exclude each other' --seed 3 --students names.txt --sheet 3 -o s.md
refuses "a key that would replace the list" 2 'name the same file' --seed 3 --students names.txt -o none --key names.txt

# --- usage ---

refuses "nothing to do" 2 'needs --seed, or an answer to --check'
refuses "a level that is not there" 2 '--level 7 is out of range; it goes from 1 to 6' --seed 1 --level 7
refuses "a seed below 0" 2 '--seed -1 is out of range' --seed -1
refuses "a seed that is no number" 2 "--seed" --seed x
refuses "arguments" 2 'takes no arguments' --seed 1 answer.json
refuses "a sheet without a file" 2 'a sheet needs -o FILE.md' --seed 1 --sheet 3
refuses "a sheet and its key in one file" 2 "--output and --key name the same file, 'one.md'" \
    --seed 1 --sheet 2 -o one.md --key one.md
refuses "an answer and a profile in one file" 2 "--output and --profile name the same file" \
    --seed 1 -o one.csv --profile one.csv
refuses "rows of no answers" 2 '--csv goes with --check' --seed 1 --csv
refuses "two forms" 2 '--json and --csv exclude each other' --check start.json --json --csv
refuses "a key without a sheet" 2 '--key goes with --sheet and --students' --seed 1 --key k.md
refuses "a sheet of none" 2 '--sheet 0 is out of range; it goes from 1 to 999' --seed 1 --sheet 0 -o x.md
refuses "a key that would be lost" 2 'needs --key' --seed 1 --sheet 3 -o -
refuses "check and sheet" 2 '--check judges an answer' --check start.json --sheet 3
refuses "a folder that is not there" 1 "no/sheet-key.md" --seed 1 --sheet 3 -o no/sheet.md
refuses "an answer on standard output" 2 'the answer needs a file' --seed 1 -o -

finish
