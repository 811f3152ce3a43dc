# What every experiment does alike; sourced by its `run` after `here` was set to its folder.
#
#   VBSLAB            the program (default build/vbslab)
#   VBSLAB_PROFILES   the folder of the measured profiles (default db/profiles)
#   RESULTS           where results go (default: beside the script)
set -eu
LC_ALL=C
export LC_ALL
unset CDPATH NO_COLOR

absolute() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

fail() { # text [exit code]
    printf '%s: %s\n' "${here##*/}" "$1" >&2
    exit "${2:-1}"
}

experiments=${here%/*}
root=${experiments%/*}
case ${VBSLAB:=$root/build/vbslab} in
*/*) VBSLAB=$(absolute "$VBSLAB") ;;
esac
profiles=$(absolute "${VBSLAB_PROFILES:-$root/db/profiles}")
results=$(absolute "${RESULTS:-$here}")

command -v "$VBSLAB" >/dev/null ||
    fail "no program '$VBSLAB'; build it with 'make', or set VBSLAB"
command -v gnuplot >/dev/null || fail "plots need gnuplot (Debian: gnuplot-nox)"
mkdir -p "$results"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
trap 'exit 1' HUP INT TERM

# The path of profile NAME, as 'googlenet-a'.
profile() {
    [ -r "$profiles/$1.csv" ] ||
        fail "no profile '$profiles/$1.csv'; 'experiments/measure ${1%-?}' measures it"
    printf '%s\n' "$profiles/$1.csv"
}

# One sentence for each machine that the profile files come from.
machines() {
    for file; do
        awk -f "$experiments/machine.awk" "$file"
    done | sort -u
}

# Rows of the four planners of this experiment, planned on one profile and judged by another, with
# a label before them and without what differs from one run to the next. Nothing that fits is a
# result too, so exit code 3 is none.
compare() { # label, profile, judge, further arguments of compare
    label=$1 planned=$2 judge=$3
    shift 3
    "$VBSLAB" compare "$planned" --judge "$judge" --baselines fbs,fbs-best,greedy-vbs \
        --planners dp-vbs --csv "$@" >"$temp/compare.csv" 2>"$temp/compare.log" || [ $? -eq 3 ] || {
        cat "$temp/compare.log" >&2
        fail "cannot compare '$label'"
    }
    awk -v label="$label" -f "$experiments/csv.awk" -f "$experiments/slim.awk" "$temp/compare.csv"
}

compare_header() {
    echo "label,judge,request,io,memory_bytes,planner,feasible,per_sample_us,gain_over_fbs_percent,\
gain_over_fbs_best_percent,gap_percent,min_batch,max_batch,peak_bytes,least_bytes"
}

# Draws NAME.svg and NAME.png of the results with NAME.gp of the experiment.
draw() {
    for format in svg png; do
        (cd "$results" && gnuplot -d -c "$here/$1.gp" "$format" "$experiments") ||
            fail "cannot draw '$1.$format'"
        [ -s "$results/$1.$format" ] || fail "'$1.$format' came out empty"
    done
}

# Puts $temp/results.md between the two marks of README.md, and shows its answer.
fill() {
    awk -v results="$temp/results.md" -f "$experiments/fill.awk" "$here/README.md" \
        >"$temp/README.md" || fail "README.md lacks the marks of its results"
    cat "$temp/README.md" >"$results/README.md"
    sed -n 's/^\*\*In short:\*\* */'"${here##*/}"': /p' "$temp/results.md"
}
