# What the experiments about coded weights share; sourced after common.sh.
#
#   WORK    the folder of compressed networks, which are kept (default build/coded)
#   LIMIT   seconds for measuring any profile (default: what each needs)
#   RUNS    timed runs of an executed schedule (default: what each needs)
work=$(absolute "${WORK:-$root/build/coded}")
mkdir -p "$work"

vbslab() {
    "$VBSLAB" --db "$temp/store.sqlite" --quiet "$@"
}

# Makes the compressed network NAME.vbz, if it is not there, and sets `model` to its path.
compressed() { # name, model, arguments of compress
    model=$work/$1.vbz
    [ ! -e "$model" ] || return 0
    compressed_from=$2
    shift 2
    "$VBSLAB" compress "$compressed_from" -o "$model" "$@" >"$temp/compress.log" 2>&1 || {
        cat "$temp/compress.log" >&2
        fail "cannot compress '$compressed_from'"
    }
}

# The first inner product of a network alone, coded in blocks of so many rows and columns, or (row) in
# whole rows. It is quantised once, and coded anew for each form and size.
fc6() { # alexnet or vgg-16, rows and columns of a block or row, comp or joint
    case $1 in
    alexnet) channels=256 side=6 density=0.09 index_bits=4 ;;
    vgg-16) channels=512 side=7 density=0.04 index_bits=5 ;;
    esac
    if [ ! -e "$work/$1-fc6.vbz" ]; then
        printf 'model fc6\ninput %dx%dx%d\nfc fc6 out=4096\n' $channels $side $side >"$temp/$1-fc6.net"
        compressed $1-fc6 "$temp/$1-fc6.net" --density $density --bits 5 --index-bits $index_bits
    fi
    case $2 in row) fc6_block=1x$((channels * side * side)) ;; *) fc6_block=$2x$2 ;; esac
    compressed $1-fc6-$3-$2 "$work/$1-fc6.vbz" --index-bits $index_bits --format $3 --block $fc6_block
}

# AlexNet as COMP has it, coded in blocks of 128 times 128, or in all forms.
alexnet() { # pruning: comp, or percent; comp or auto
    density=comp-alexnet
    [ "$1" = comp ] || density=$(awk -v pruned=$1 'BEGIN { print 1 - pruned / 100 }')
    set -- "$1" "$2" --density $density --index-bits 4
    coded_network alexnet "$@"
}

vgg_16() { # comp or auto
    coded_network vgg-16 comp $1 --density comp-vgg-16 --index-bits 5
}

coded_network() { # network, pruning, form, arguments of compress
    compressed_as=$1-$2-$3
    case $3 in comp) coded_as="--format comp --block 128x128" ;; *) coded_as= ;; esac
    compressed_from=$1
    shift 3
    # shellcheck disable=SC2086 # words
    compressed $compressed_as $compressed_from $coded_as "$@"
}

# Measures $model into a file, whole or not at all. A file that is there is passed over.
profiled() { # file, batches, seconds, further arguments of measure
    profile_file=$1 profile_batches=$2 profile_s=${LIMIT:-$3}
    shift 3
    if [ -e "$profile_file" ]; then
        echo "${profile_file##*/}: is there" >&2
        return
    fi
    began=$(date +%s)
    id=$(vbslab measure "$model" --batches "$profile_batches" --time-limit "$profile_s" "$@") ||
        fail "cannot measure '${model##*/}'"
    vbslab profiles export "$id" "$temp/profile.csv" || fail "cannot export '$profile_file'"
    cp "$temp/profile.csv" "$profile_file"
    echo "${profile_file##*/}: $(($(date +%s) - began)) s" >&2
}

# A profile with only some rows of its convolutions and inner products: dense: those of dense weights;
# coded: of coded weights; all: all; other words: of the algorithm of that name.
rows_of() { # kind, profile
    awk -F, -v kind="$1" '
        /^#/ { print; next }
        !column {
            for (i = 1; i <= NF; i++) {
                if ($i == "algorithm") column = i
                if ($i == "kind") operator = i
            }
            print
            next
        }
        $operator != "conv" && $operator != "fc" { print; next }
        { coded = $column ~ /^(bytes|joint|comp):/ }
        kind == "all" || (kind == "dense" ? !coded : kind == "coded" ? coded : $column == kind)' "$2"
}

# Comments for a file of measured times.
circumstances() {
    echo "# device: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
    echo "# vbslab: $("$VBSLAB" --version)"
    echo "# date: $(date -u +%Y-%m-%d)"
}

# Writes what a command prints into a file of the results, whole or not at all.
once() { # file, command
    if [ -e "$results/$1" ]; then
        echo "$1: is there" >&2
        return
    fi
    started=$(date +%s)
    circumstances >"$temp/$1"
    $2 >>"$temp/$1"
    cp "$temp/$1" "$results/$1"
    echo "$1: $(($(date +%s) - started)) s" >&2
}

executed_head="planner,weights,request,memory_bytes,predicted_us,executed_us,fastest_us,slowest_us,runs,copied_bytes,\
planned_bytes,placed_bytes,high_water_bytes,difference"

# Plans and executes on $model with a profile; prints a line of a table, with a text in front of it.
# What cannot be planned or executed is told, and has no line.
executed() { # text, profile, runs, arguments of run
    label=$1 rows=$2 n_runs=${RUNS:-$3}
    shift 3
    if vbslab run "$rows" --model "$model" --runs "$n_runs" --json "$@" >"$temp/run.json" 2>"$temp/why"; then
        query "$lib/executed.rows" :label="$label" run="$temp/run.json"
    else
        echo "$label$*: $(tail -n 1 "$temp/why")" >&2
    fi
}
