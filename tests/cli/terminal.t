#!/bin/sh
# The output on terminals of 80 and 60 columns: no line is wider, no word is divided or lost; and
# colour. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

if ! command -v script >/dev/null || ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    echo "1..0 # SKIP script(1) is not there, or gets no pseudo terminal"
    exit 0
fi
profile=$ROOT/db/profiles/alexnet-weights-a.csv
VBSLAB_DB=store.sqlite
export VBSLAB_DB
"$VBSLAB" --quiet measure --backend analytic alexnet googlenet >/dev/null

# words FILE: prints every word once, without the marks between the cells of a row.
words()
{
    sed "s/$escape\[[0-9;]*m//g" "$1" | tr -d '\r' | tr ' ;:' '\n\n\n' | grep -v '^-*$' | sort -u
}

# fits COLUMNS ARGUMENTS...: checks the output on a terminal of so many columns.
fits()
{
    columns=$1
    shift
    "$VBSLAB" "$@" >plain 2>err
    on_terminal "stty cols $columns; '$VBSLAB' $* 2>/dev/null"
    sed "s/$escape\[[0-9;]*m//g" out | tr -d '\r' >seen
    words plain >want
    words out >got
    [ $code -eq 0 ] && [ -s plain ] && [ -z "$(grep ".\{$((columns + 1))\}" seen)" ] &&
        [ -z "$(comm -23 want got)" ]
    report $? "$columns columns: vbslab $(echo "$*" | sed "s|$ROOT/||")"
}

for columns in 80 60; do
    for command in "models" "models show googlenet" "profiles" "profiles show 1" "planners" "backends" \
        "plan googlenet --memory 20MiB" "frontier alexnet --planner fbs" "help run" "help" \
        "plan $profile --weights included --memory 32MiB" \
        "compare alexnet --planners dp-vbs+ --memory 8MiB..10MiB:1MiB"; do
        fits $columns $command
    done
done
on_terminal "stty cols 80; '$VBSLAB' planners"
sed "s/$escape\[[0-9;]*m//g" out | tr -d '\r' >seen
grep -q '^greedy-vbs   layer by layer, .*  VBS IV$' seen && grep -q '^  *whole request$' seen &&
    ! grep -q 'what it does:' seen
report $? "text is wrapped within its column where that suffices"
on_terminal "stty cols 80; '$VBSLAB' plan '$ROOT/db/profiles/resnet-50-a.csv' --memory 12MiB"
sed "s/$escape\[[0-9;]*m//g" out | tr -d '\r' >seen
grep -q '^   16  res3a_branch1 .*jit_1x1:avx512_core .*ms$' seen && ! grep -q '^ *(' seen
report $? "a number of repetitions stays behind its batch"
on_terminal "stty cols 80; '$VBSLAB' demo"
sed "s/$escape\[[0-9;]*m//g" out | tr -d '\r' >seen
grep -q '^\$ vbslab compare .* \\$' seen && ! grep -q '^\(\$\|      -\).\{80\}' seen
report $? "a command that demo shows goes on in a second line"
on_terminal "stty cols 300; '$VBSLAB' models show googlenet"
sed "s/$escape\[[0-9;]*m//g" out | tr -d '\r' >seen
"$VBSLAB" models show googlenet >plain
cmp -s seen plain
report $? "a wide terminal shows what a file holds"
on_terminal "stty cols 60; '$VBSLAB' models --csv"
tr -d '\r' <out >seen
"$VBSLAB" models --csv >plain
cmp -s seen plain
report $? "CSV is never divided"

# --- warnings and errors ---

# says COLUMNS TEXT ARGUMENTS...: checks that a message on such a terminal has these words, and no wider line.
says()
{
    columns=$1 text=$2
    shift 2
    on_terminal "stty cols $columns; '$VBSLAB' $*"
    tr -d '\r' <out >seen
    [ -z "$(grep ".\{$((columns + 1))\}" seen)" ] && [ "$(wc -l <seen)" -gt 1 ] &&
        tr -s ' \n' ' ' <seen | grep -qF -- "$text"
}
for columns in 80 40; do
    says $columns "vbslab: plan: no profile of 'resnet-50' in 'store.sqlite'; run 'vbslab measure resnet-50' first" plan resnet-50 --memory 1MiB
    report $? "$columns columns: a message is wrapped between words"
done
"$VBSLAB" plan resnet-50 --memory 1MiB 2>err
[ "$(wc -l <err)" -eq 1 ]
report $? "in a file it is one line"

# --- progress ---

ends_at_key '\[[#.]*\] *[0-9]*%  [0-9.]*%/[a-z]*  [0-9:]* left  search, gap' 'the schedule is the best so far' \
    plan "$ROOT/db/profiles/resnet-50-a.csv" --planner optimal --memory 20MiB --time-limit 600
report $? "planning shows how far it is"

# --- colour ---

on_terminal "'$VBSLAB' models"
[ $code -eq 0 ] && grep -q "^$escape\[1mname .*$escape\[0m" out
report $? "headings are bold"
on_terminal "NO_COLOR=1 '$VBSLAB' models"
[ $code -eq 0 ] && [ -s out ] && ! grep -q "$escape" out
report $? "not with NO_COLOR"
finish
