#!/bin/sh
# The properties that all commands share (help, options, errors, exit codes, streams), and measure.
# VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

fits_80_columns()
{
    ! grep -q '.\{81\}' out
}

# --- help ---

commands='models measure profiles plan frontier replay compare run place planners backends demo help'
run --help
[ $code -eq 0 ] && [ ! -s err ] && fits_80_columns
report $? "--help prints lines of at most 80 columns"
for command in $commands; do
    grep -q "^  $command " out || missing="$missing $command"
done
[ -z "$missing" ]
report $? "--help lists every command"
for command in $commands; do
    run "$command" --help
    [ $code -eq 0 ] && [ ! -s err ] && fits_80_columns && grep -q "^usage: vbslab $command" out && ! grep -q ' $' out &&
        grep -q '^  --db FILE ' out
    report $? "$command --help"
done
run measure alexnet -h
[ $code -eq 0 ] && grep -q '^example:' out && [ ! -e db ]
report $? "-h after arguments prints the help and does nothing else"
run --version
[ $code -eq 0 ] && grep -q '^vbslab [0-9]' out
report $? "--version"

for code in 0 1 2 3 130; do
    "$VBSLAB" --help | grep -q "^  $code  *[a-z]" || missing="$missing $code"
done
[ -z "$missing" ]
report $? "--help lists the exit codes;$missing"
for command in plan frontier replay compare run 'profiles show'; do
    "$VBSLAB" ${command% *} --help | grep -q '^  PROFILE  *an id' || missing="$missing $command"
done
[ -z "$missing" ]
report $? "what takes a PROFILE says what that is;$missing"
for planner in fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+ optimal; do
    "$VBSLAB" frontier --help | sed -n '/^  --planner /,/^  --request /p' |
        grep -q "[ ,]$planner\(,\|$\)" || missing="$missing $planner"
done
[ -z "$missing" ]
report $? "--planner lists the planners"

# --- completion ---

# completes NAME WANTED WORDS...: checks the words that completion offers for the last word.
completes()
{
    name=$1 want=$2
    shift 2
    (cd completion && PATH=$(dirname "$VBSLAB"):$PATH bash -c '. "$0"; COMP_WORDS=(vbslab "$@"); COMP_CWORD=$#
        _vbslab; echo "${COMPREPLY[*]}"' "$ROOT/tools/completion.bash" "$@") >out 2>err
    code=$?
    [ $code -eq 0 ] && [ ! -s err ] && [ "$(cat out)" = "$want" ]
    report $? "completion: $name"
}

if command -v bash >/dev/null && [ "${VBSLAB##*/}" = vbslab ]; then
    mkdir completion completion/folder && : >completion/one.csv && : >completion/one.json && : >completion/one.svg
    "$VBSLAB" --db completion/store.sqlite --quiet measure --backend analytic --batches 1 alexnet >/dev/null
    VBSLAB_DB=store.sqlite
    export VBSLAB_DB
    teaching="vbs-example greedy-trap four-layers branches barrier crossing two-clocks"
    completes "a command" profiles pro
    completes "a command to be helped with" planners help plann
    completes "a backend" onednn measure alexnet --backend on
    completes "an option" --batches measure --bat
    completes "a model" "vgg-s vgg-16 vgg-19" measure vgg
    completes "a model to compress" "vgg-s vgg-16 vgg-19" compress vgg
    completes "presets of densities" "comp-alexnet comp-vgg-16" compress alexnet --density comp
    completes "a planner" "fbs fbs-best fusion fusion-2d" plan alexnet --planner f
    completes "a planner after =" "fbs fbs-best fusion fusion-2d" plan alexnet --planner = f
    completes "all planners after =" "joint" plan alexnet --planner = j
    completes "nothing yet after =" "excluded included" plan alexnet --weights =
    completes "planners of a comparison" \
        "all fbs fbs-best greedy-vbs dp-monotone dp-vbs dp-vbs+ optimal mmcnn vdnn joint patch patch-2d fusion fusion-2d" compare 1 --planners ''
    completes "planners after a comma" "dp-vbs,optimal" compare 1 --planners dp-vbs,opt
    completes "planners after = and a comma, none of them twice" "fbs,dp-vbs,dp-vbs+" \
        compare 1 --planners = fbs,dp-vbs,dp-v
    completes "no planner twice in a list" "fbs,fbs-best fbs,fusion fbs,fusion-2d" compare 1 --planners fbs,f
    completes "all alone only" "" compare 1 --planners fbs,al
    completes "series of a picture" "weights,tensors" run 1 --gantt g.svg --plot-series weights,te
    completes "planners beside another" "fbs,dp-monotone" frontier 1 --plot f.svg --beside fbs,dp-m
    completes "the limit among the series" "bound" frontier 1 --plot f.svg --plot-series bo
    completes "where weights live" "excluded included" plan alexnet --weights ''
    completes "a file for a picture" one.svg replay alexnet plan.json --gantt one.s
    completes "a file for plan --json" one.json plan alexnet --json one.j
    completes "what is measured, where a profile is expected" "1 alexnet $teaching folder one.csv" plan ''
    completes "no network that is not measured" "" compare --json goo
    completes "profiles of the store that is named" "1 alexnet $teaching folder one.csv" --db store.sqlite frontier ''
    completes "none of a store that is not there" "$teaching folder one.csv" --db none.sqlite plan ''
    completes "none of a store that is not there, after =" "$teaching folder one.csv" --db = none.sqlite plan ''
    completes "a measured model to filter by" alexnet profiles --model ''
    completes "a network to be run, measured or not" "alexnet" run alex
    completes "a schedule" "folder one.json" replay 1 ''
    completes "no file after models --csv" "show" models --csv ''
    completes "a file to import" "folder one.csv" profiles import ''
    completes "a profile to export" "1 alexnet $teaching" profiles export ''
    completes "a file to export to" one.csv profiles export 1 one.c
    unset VBSLAB_DB
else
    skip "completion" "there is no bash"
fi

# --- wrong usage ---

refuses "no command" 2 "usage: vbslab"
refuses "an unknown command" 2 "unknown command 'mesure'; did you mean 'measure'?" mesure
refuses "an unknown command like no other" 2 "unknown command 'xyzzy' (see 'vbslab --help')" xyzzy
refuses "an unknown option before the command" 2 "did you mean '--quiet'?" --quite measure
refuses "an unknown option" 2 \
    "measure: unknown option '--batch'; did you mean '--batches'? (see 'vbslab measure --help')" \
    measure --batch=3 alexnet
refuses "a single dash" 2 "unknown option '-x'" measure -x alexnet
refuses "a missing value at the end" 2 "--batches needs a value" measure alexnet --batches
refuses "a missing value before an option" 2 "--batches needs a value" \
    measure alexnet --batches --quiet
refuses "a value for a switch" 2 "--quiet takes no value" --quiet=yes measure alexnet
refuses "an empty store name" 2 "--db needs the name of a file" --db= measure alexnet
refuses "no model" 2 "which MODEL?" measure
refuses "an unknown model" 2 "did you mean 'alexnet'?" measure alexnt
refuses "the second of two models unknown, before the first is measured" 2 \
    "did you mean 'alexnet'?" measure --backend analytic squeezenet-v1.0 alexnt
refuses "an unknown backend" 2 "did you mean 'onednn'?" measure --backend onedn alexnet
refuses "batches without 1" 2 "write '1,2,4'" measure --batches 2,4 alexnet
refuses "batches that are none" 2 "'x'" measure --batches x alexnet
refuses "threads that are none" 2 "--threads" measure --threads 0 alexnet
refuses "a time limit of 0" 2 "--time-limit '0'" measure --time-limit 0 alexnet
refuses "a time limit that is none" 2 "--time-limit '5 min'" measure --time-limit '5 min' alexnet
refuses "a time limit that never comes" 2 "--time-limit 'inf'" measure --time-limit inf alexnet
refuses "an option after --" 2 "no network '--quiet'" measure -- --quiet
refuses "a name that steers the terminal" 2 'a\x1b[31m\x0ab' measure "$(printf 'a\033[31m\nb')"
[ ! -e db ] && [ ! -e data ]
report $? "none of them makes a store"

refuses "an option broken off" 2 "did you mean '--json'?" models --js

# --- the store and the streams ---

does "a store in the user's folder of data" 1 measure --backend analytic --batches 1 alexnet
[ -f data/vbslab/vbslab.sqlite ] && [ ! -e db ]
report $? "is made with its folder"
( unset XDG_DATA_HOME; HOME=$dir/home "$VBSLAB" measure --quiet --backend analytic alexnet ) >out 2>err &&
    [ -f home/.local/share/vbslab/vbslab.sqlite ]
report $? "without XDG_DATA_HOME it is in ~/.local/share"
[ ! -e db ]
report $? "and none is made in a folder without a folder db"
mkdir db
does "measure prints the profile's id" 1 measure --backend analytic alexnet
[ -f db/vbslab.sqlite ] && [ "$(wc -l <err)" -eq 2 ] && grep -q 'alexnet: profile 1: ' err &&
    grep -qx "vbslab: measure: makes the store 'db/vbslab.sqlite', as there is a folder db; --db FILE or \
\$VBSLAB_DB names another one" err
report $? "in db/vbslab.sqlite, with one line on standard error and one that names the new store"
does "a finished model is measured anew" 2 measure --backend analytic alexnet
[ "$(wc -l <err)" -eq 1 ] && grep -q 'alexnet: profile 2: ' err
report $? "with one line on standard error"
does "several models, --quiet" "$(printf '3\n4')" \
    measure --backend analytic --batches 1,2 alexnet squeezenet-v1.0 --quiet
[ ! -s err ]
report $? "--quiet leaves standard error empty"
does "--db before the command" 1 --db one.sqlite measure --backend=analytic alexnet
does "--db after it" 2 measure --backend=analytic alexnet --db=one.sqlite
VBSLAB_DB=deep/er/two.sqlite
export VBSLAB_DB
refuses "a store in a folder that is not there" 1 "its folder does not exist" \
    measure --backend analytic --batches 1 alexnet
[ ! -e deep ]
report $? "makes no folder"
mkdir -p deep/er
does "VBSLAB_DB" 1 measure --backend analytic --batches 1 alexnet
[ -f deep/er/two.sqlite ]
report $? "names the store"
does "--db goes before it" 3 --db one.sqlite measure --backend analytic alexnet
unset VBSLAB_DB
run --db one.sqlite measure --backend analytic --batches 1,2 --threads 2 squeezenet-v1.0
[ $code -eq 0 ] && grep -q "warning: --threads is ignored: backend 'analytic'" err
report $? "threads for a backend that has none are warned of"
run models show googlenet
[ $code -eq 0 ] && tail -1 out | grep -q "^analytic: the number of the layer in profiles of the analytic \
backend, which have no concats, because they are free there."
report $? "a network with concats says how profiles number layers"
run models
[ $code -eq 0 ] && ! grep -q '.\{101\}' out
report $? "models prints at most 100 columns"

"$VBSLAB" --help >/dev/full 2>err
code=$?
[ $code -eq 1 ] && grep -q '^vbslab: cannot write to standard output: ' err
report $? "a full disk on standard output is an error"
"$VBSLAB" measure --backend analytic --batches 1 alexnet >&- 2>err
code=$?
[ $code -eq 1 ] && grep -q 'cannot write to standard output' err
report $? "so is a closed standard output"
echo other >text
refuses "a store that is no store" 1 "text" --db text measure --backend analytic alexnet
refuses "a store in a file" 1 "text/x" --db text/x measure --backend analytic alexnet

# --- profiles by name, id and file ---

set -- --planner fbs --memory 64MiB
refuses "a network never measured" 1 "run 'vbslab measure googlenet' first" plan googlenet "$@"
refuses "a part of a name" 1 "did you mean 'vgg-s'?" plan vgg "$@"
refuses "a name like no other" 1 \
    "no profile of 'xyzzy' in 'db/vbslab.sqlite'; PROFILE is an id, a tag, a .csv file or the name \
of a measured model" plan xyzzy "$@"
cat >mine.net <<'END'
model my-own
input 1x8x8
conv c out=2 kernel=3
END
refuses "a network file never measured" 1 \
    "no profile of 'my-own' in 'db/vbslab.sqlite'; run 'vbslab measure ./mine.net' first" \
    plan ./mine.net "$@"
run --quiet measure --backend analytic ./mine.net
prints "a profile by its network's file" "profile  $(cat out)" profiles show ./mine.net
refuses "a network file that is not there" 1 "none.net" plan ./none.net "$@"
refuses "a network never measured, without a store" 1 \
    "no profile of 'googlenet' in 'none.sqlite'; run 'vbslab measure googlenet --db none.sqlite' first" \
    --db none.sqlite plan googlenet "$@"
refuses "an unknown name without a store" 1 "did you mean 'googlenet'?" \
    --db none.sqlite plan goglenet "$@"
refuses "an unknown id" 1 "no profile 99" plan 99 "$@"
refuses "an id without a store" 1 "cannot open store 'none.sqlite'" --db none.sqlite plan 1 "$@"
refuses "an id of too many digits" 2 "99999999999999999999" plan 99999999999999999999 "$@"
refuses "a file that is not there" 1 "none.csv" plan none.csv "$@"
refuses "a file that is named otherwise" 1 "ends in .csv" plan text "$@"
refuses "a request of 0" 2 "--request" plan alexnet "$@" --request 0
refuses "an io that is none" 2 "inside" plan alexnet "$@" --io inside

# --- terminals ---

if ! command -v script >/dev/null; then
    no_terminal='there is no script(1)'
elif ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    no_terminal='script(1) gets no pseudo terminal here'
else
    no_terminal=
fi
if [ -z "$no_terminal" ]; then
    on_terminal "'$VBSLAB' measure --backend analytic alexnet"
    [ $code -eq 0 ] && grep -q '\[[#.]*\] *[0-9]*% .* left ' out &&
        ! grep -q '\] *[0-9]*%[^'"$escape"']*$' out
    report $? "a progress bar on a terminal, cleared at the end"
    on_terminal "'$VBSLAB' --quiet measure --backend analytic alexnet"
    [ $code -eq 0 ] && ! grep -q '\[[#.]*\]' out
    report $? "none with --quiet"
    on_terminal "TERM=dumb '$VBSLAB' measure --backend analytic alexnet"
    [ $code -eq 0 ] && ! grep -q '\[[#.]*\]' out
    report $? "none on a terminal that cannot redraw"
    on_terminal "'$VBSLAB' compare alexnet 2>/dev/null"
    [ $code -eq 0 ] && grep -q "$escape\\[" out
    report $? "colour on a terminal"
    on_terminal "NO_COLOR=1 '$VBSLAB' compare alexnet 2>/dev/null"
    [ $code -eq 0 ] && [ -s out ] && ! grep -q "$escape\\[" out
    report $? "none with NO_COLOR"
else
    for name in "a progress bar on a terminal, cleared at the end" "none with --quiet" \
        "none on a terminal that cannot redraw" "colour on a terminal" "none with NO_COLOR"; do
        skip "$name" "$no_terminal"
    done
fi

# --- breaking off and going on ---

"$VBSLAB" --db big.sqlite measure squeezenet-v1.0 --time-limit 300 --batches 1-3 --no-copies >out 2>err &
pid=$!
wait_until $pid has_samples big.sqlite && kill -TERM $pid
wait $pid
code=$?
[ $code -eq 143 ] && [ ! -s out ] && [ "$(cat err)" = "vbslab: measure: interrupted; 'vbslab \
measure squeezenet-v1.0' with the same options goes on from here" ]
report $? "SIGTERM ends a measurement in good order"
refuses "an unfinished profile by its id" 1 "unfinished" --db big.sqlite plan 1 "$@"
does "the same command goes on" 1 --db big.sqlite measure squeezenet-v1.0 --time-limit 0.1 \
    --batches 1-3
grep -q '(resumed)' err
report $? "and says so"
set -- $(sed -n 's/.* \([0-9]*\) of \([0-9]*\) kernels have a 95% interval within 2%.*/\1 \2/p' err)
[ $# -eq 2 ] && [ "$1" -le "$2" ] && [ "$2" -gt 0 ] && ! grep -q warning err
report $? "and how many times of kernels are precise, without a warning: posterior times need few ($1 of $2)"

finish
