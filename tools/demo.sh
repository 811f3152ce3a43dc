#!/bin/sh
# demo.sh - measures two networks on this CPU, compares all planners, and plots.
# Called by `make demo`; everything it makes is under $BUILD/demo.
set -eu

out=${BUILD:-build}/demo
vbslab=${BUILD:-build}/vbslab
mkdir -p "$out"
VBSLAB_DB=$out/demo.sqlite
export VBSLAB_DB

for model in alexnet googlenet; do
    echo "measuring $model twice, a minute where nothing else runs: one profile to plan with, one to judge by" >&2
    "$vbslab" measure "$model" --time-limit "${DEMO_SECONDS:-30}" --seed 1 > "$out/$model.plan"
    "$vbslab" measure "$model" --time-limit "${DEMO_SECONDS:-30}" --seed 2 > "$out/$model.judge"
done

compare() { # model, budgets
    echo
    "$vbslab" compare "$(tail -n 1 "$out/$1.plan")" --judge "$(tail -n 1 "$out/$1.judge")" \
        --baselines all --memory "$2" --plot "$out/$1.svg,$out/$1.png"
}

compare alexnet 3MiB..16MiB:1MiB
compare googlenet 15MiB..40MiB:1MiB
