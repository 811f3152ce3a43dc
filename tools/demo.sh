#!/bin/sh
# demo.sh - measures two networks on this CPU, compares planners, executes their schedules by turns, and plots.
# Called by `make demo`; everything it makes is under $BUILD/demo.
#
# DEMO_SECONDS  to measure each network (default 30)
# DEMO_EXECUTE  to execute the schedules of each network (default 45)
set -eu

out=${BUILD:-build}/demo
vbslab=${BUILD:-build}/vbslab
mkdir -p "$out"
VBSLAB_DB=$out/demo.sqlite
export VBSLAB_DB

# Messages of all measurements; the first warning is shown, which tells as much as all of them.
: > "$out/messages"

measure() { # model
    echo "measuring $1, ${DEMO_SECONDS:-30} seconds where nothing else runs" >&2
    "$vbslab" measure "$1" --time-limit "${DEMO_SECONDS:-30}" --seed 1 > "$out/$1.plan" 2>> "$out/messages" ||
        { cat "$out/messages" >&2; exit 1; }
}

# Compares, and executes the schedules of each budget by turns: the times of a machine that drifts can be compared
# then. What is found stands in the last paragraphs, behind the last empty line.
compare() { # model, budgets
    echo "executing the schedules of $1 by turns, about ${DEMO_EXECUTE:-45} seconds" >&2
    echo
    "$vbslab" compare "$(tail -n 1 "$out/$1.plan")" --baselines fbs,fbs-best --planners dp-vbs,dp-vbs+ --memory "$2" \
        --execute "${DEMO_EXECUTE:-45}" --plot "$out/$1.svg,$out/$1.png" > "$out/$1.txt"
    cat "$out/$1.txt"
}

# Prints the last paragraphs, each in one line behind the name of the model.
found() { # model
    awk -v model="$1" '
        /^$/ { n = 0; next }
        /^  / && n { sub(/^ +/, ""); line[n] = line[n] " " $0; next }
        { line[++n] = $0 }
        END { for (i = 1; i <= n; i++) print model ": " line[i] }' "$out/$1.txt"
}

measure alexnet
compare alexnet 4MiB..10MiB:2MiB
measure googlenet
compare googlenet 16MiB..40MiB:8MiB

grep -m 1 'warning: .*noise' "$out/messages" >&2 || true
echo
found alexnet
found googlenet
