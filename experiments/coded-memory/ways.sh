# The ways to hold the weights that are compared; sourced after common.sh and lib/coded.sh.
#
#   mixed        any row: dense or coded, resident or copied, layer by layer
#   dense-disk   rows of dense weights, copied from disk where they do not fit
#   dense-cache  rows of dense weights, copied from the page cache where they do not fit
#   comp         as COMP has it: comp:gemm in blocks of 128 times 128, resident, dp-monotone
#   unlimited    rows of dense weights, all memory
ways='mixed dense-disk dense-cache comp'

form_of() { # way
    case $1 in comp) echo comp ;; *) echo auto ;; esac
}

rows_for() { # way
    case $1 in
    comp) echo comp:gemm ;;
    mixed) echo all ;;
    *) echo dense ;;
    esac
}

# Of plan, compare and run.
copies_for() { # way
    case $1 in
    dense-cache) echo page-cache ;;
    *) echo disk ;;
    esac
}

# Of run.
options_for() { # way
    case $1 in
    comp) echo "--planner dp-monotone --weights included --copy-rate 0" ;;
    unlimited) echo "--planner dp-vbs+" ;;
    dense-cache) echo "--planner joint --weights included --copy page-cache" ;;
    *) echo "--planner joint --weights included --copy disk --direct" ;;
    esac
}

profile_of() { # network, form
    case $1 in
    alexnet) file=${ALEXNET:-$experiments/comp-coded-fig-5-6}/alexnet-comp-$2.csv ;;
    *) file=$results/$1-$2.csv ;;
    esac
    [ -r "$file" ] || fail "no '$file'; 'measure' of its folder makes it"
    printf '%s\n' "$file"
}
