#!/bin/sh
# demo.sh - the whole way once: measure two networks on this CPU, compare all planners, plot.
# Called by `make demo`; everything it makes is under $BUILD/demo.
set -eu

out=${BUILD:-build}/demo
vbslab=${BUILD:-build}/vbslab
mkdir -p "$out"
VBSLAB_DB=$out/demo.sqlite
export VBSLAB_DB

for model in alexnet googlenet; do
    echo "measuring $model twice: one profile to plan with, one to judge by" >&2
    "$vbslab" measure "$model" --time-limit "${DEMO_SECONDS:-40}" --seed 1 > "$out/$model.plan"
    "$vbslab" measure "$model" --time-limit "${DEMO_SECONDS:-40}" --seed 2 > "$out/$model.judge"
done

for model in alexnet googlenet; do
    "$vbslab" compare "$(tail -n 1 "$out/$model.plan")" --judge "$(tail -n 1 "$out/$model.judge")" \
        --baselines all --memory "$([ $model = alexnet ] && echo 3MiB..16MiB:1MiB || echo 15MiB..40MiB:1MiB)" \
        --plot "$out/$model.svg,$out/$model.png"
done
