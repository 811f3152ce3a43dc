#!/bin/sh
# What all commands share (help, options, errors, exit codes, streams), and measure. VBSLAB: the
# program.
. "$(dirname "$0")/cli_lib.sh"

fits_80_columns()
{
    ! grep -q '.\{81\}' out
}

# --- help ---

commands='models measure profiles plan frontier replay compare backends'
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
    [ $code -eq 0 ] && [ ! -s err ] && fits_80_columns && grep -q "^usage: vbslab $command" out &&
        grep -q '^  --db FILE ' out
    report $? "$command --help"
done
run measure alexnet -h
[ $code -eq 0 ] && grep -q '^example:' out && [ ! -e db ]
report $? "-h after arguments prints the help and does nothing else"
run --version
[ $code -eq 0 ] && grep -q '^vbslab [0-9]' out
report $? "--version"

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
[ ! -e db ]
report $? "none of them makes a store"

# --- the store and the streams ---

does "measure prints the profile's id" 1 measure --backend analytic alexnet
[ -f db/vbslab.sqlite ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'alexnet: profile 1: ' err
report $? "in db/vbslab.sqlite, with one line on standard error"
does "a finished model is measured anew" 2 measure --backend analytic alexnet
does "several models, --quiet" "$(printf '3\n4')" \
    measure --backend analytic --batches 1,2 alexnet squeezenet-v1.0 --quiet
[ ! -s err ]
report $? "--quiet leaves standard error empty"
does "--db before the command" 1 --db one.sqlite measure --backend=analytic alexnet
does "--db after it" 2 measure --backend=analytic alexnet --db=one.sqlite
VBSLAB_DB=deep/er/two.sqlite
export VBSLAB_DB
does "VBSLAB_DB" 1 measure --backend analytic --batches 1 alexnet
[ -f deep/er/two.sqlite ]
report $? "names the store, whose folder is made"
does "--db goes before it" 3 --db one.sqlite measure --backend analytic alexnet
unset VBSLAB_DB

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
refuses "a network never measured, without a store" 1 \
    "no profile of 'googlenet' in 'none.sqlite'; run 'vbslab measure googlenet' first" \
    --db none.sqlite plan googlenet "$@"
refuses "an unknown name without a store" 2 "did you mean 'googlenet'?" \
    --db none.sqlite plan goglenet "$@"
refuses "an unknown id" 2 "no profile 99" plan 99 "$@"
refuses "an id without a store" 1 "cannot open store 'none.sqlite'" --db none.sqlite plan 1 "$@"
refuses "an id of too many digits" 2 "99999999999999999999" plan 99999999999999999999 "$@"
refuses "a file that is not there" 1 "none.csv" plan none.csv "$@"
refuses "a file that is named otherwise" 2 "ends in .csv" plan text "$@"
refuses "a request of 0" 2 "--request" plan alexnet "$@" --request 0
refuses "an io that is none" 2 "inside" plan alexnet "$@" --io inside

# --- terminals ---

if command -v script >/dev/null; then
    on_terminal "'$VBSLAB' measure --backend analytic alexnet"
    [ $code -eq 0 ] && grep -q '\[[#.]*\] *[0-9]*%.*/s .* left ' out &&
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
    skip "progress and colour on a terminal" "there is no script(1)"
fi

# --- breaking off and going on ---

# Waits until the store's log holds samples.
wait_for_samples()
{
    for _ in $(seq 300); do
        [ "$(stat -c %s big.sqlite-wal 2>/dev/null || echo 0)" -gt 200000 ] && return 0
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

"$VBSLAB" --db big.sqlite measure squeezenet-v1.0 --time-limit 300 --batches 1-3 >out 2>err &
pid=$!
wait_for_samples $pid && kill -TERM $pid
wait $pid
code=$?
[ $code -eq 1 ] && [ ! -s out ] && [ "$(cat err)" = "vbslab: measure: interrupted; 'vbslab \
measure squeezenet-v1.0' with the same options goes on from here" ]
report $? "SIGTERM ends a measurement in good order"
refuses "an unfinished profile by its id" 1 "unfinished" --db big.sqlite plan 1 "$@"
does "the same command goes on" 1 --db big.sqlite measure squeezenet-v1.0 --time-limit 0.1 \
    --batches 1-3
grep -q '(resumed)' err
report $? "and says so"

finish
