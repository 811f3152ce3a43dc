# bash completion for vbslab
_vbslab_models()
{
    vbslab models --csv 2> /dev/null | sed -n '2,$s/,.*//p'
}

_vbslab_planners()
{
    vbslab planners 2> /dev/null | sed -n '2,/^$/s/ .*//p'
}

_vbslab_commands()
{
    vbslab help 2> /dev/null | sed -n '/^commands:/,/^options:/s/^  \([a-z][a-z]*\)  .*/\1/p'
}

# Prints the names in $1 of the complete profiles in the store of this command line: \1 ids, \2 models,
# \3 tags.
_vbslab_stored()
{
    vbslab --quiet ${db:+--db "$db"} profiles 2> /dev/null |
        sed -n 's/^ *\([0-9][0-9]*\)  *\([^ ][^ ]*\) .* complete *\(.*\)$/'"$1"'/p' | tr ', ' '\n\n' | sed '/^$/d' |
        sort -u
}

_vbslab_profiles()
{
    _vbslab_stored '\1\n\2\n\3'
    vbslab profiles teaching 2> /dev/null | sed -n '2,/^$/s/ .*//p'
}

# Puts all candidates that begin with $word into COMPREPLY: words, then files whose name ends in one
# of the endings, and folders.
_vbslab_offer()
{
    local words=$1 file ending
    shift

    COMPREPLY=($(compgen -W "$words" -- "$word" | awk '!seen[$0]++'))
    [[ $# -eq 0 ]] && return 0
    compopt -o filenames 2> /dev/null
    while IFS= read -r file; do
        for ending in "$@"; do
            if [[ $ending == any || $file == *"$ending" || -d $file ]]; then
                COMPREPLY+=("$file")
                break
            fi
        done
    done < <(compgen -f -- "$word" | sort)
    return 0
}

# Does the same for a list with commas: the last item is completed, with words that are not in the list
# yet; "all" is offered only as the first item.
_vbslab_offer_list()
{
    local before= item left=

    [[ $word == *,* ]] && before=${word%,*},
    for item in $1; do
        [[ -n $before && $item == all || ,$before == *,"$item",* ]] || left+=" $item"
    done
    COMPREPLY=($(compgen -P "$before" -W "$left" -- "${word##*,}"))
    compopt -o nospace 2> /dev/null
    return 0
}

# Completes the value of an option; false where the option takes no value from a list.
_vbslab_value()
{
    case $command/$1 in
    */--precision) _vbslab_offer "fp32 int8 bf16" ;;
    measure/--backend | profiles/--backend) _vbslab_offer "$(vbslab backends 2> /dev/null |
        sed -n '2,$s/ .*//p')" ;;
    */--planner) _vbslab_offer "$(_vbslab_planners)" ;;
    */--planners | */--baselines) _vbslab_offer_list "all $(_vbslab_planners)" ;;
    frontier/--beside) _vbslab_offer_list "$(_vbslab_planners)" ;;
    compare/--plot-series | frontier/--plot-series) _vbslab_offer_list "bound $(_vbslab_planners)" ;;
    replay/--plot-series | run/--plot-series) _vbslab_offer_list "weights tensors workspace budget" ;;
    */--io) _vbslab_offer "external resident" ;;
    */--weights) _vbslab_offer "excluded included" ;;
    */--copy) _vbslab_offer "page-cache disk" ;;
    */--judge) _vbslab_offer "$(_vbslab_profiles)" .csv ;;
    profiles/--model) _vbslab_offer "$(_vbslab_stored '\2')" ;;
    */--model) _vbslab_offer "$(_vbslab_models)" .net .onnx .vbz ;;
    compress/--output | compress/-o) _vbslab_offer "" .vbz ;;
    tune/--plot) _vbslab_offer "history importance parallel slice contour pareto" ;;
    tune/--only) _vbslab_offer "train measure" ;;
    tune/--export-best) _vbslab_offer "" .onnx ;;
    export/--output | export/-o) _vbslab_offer "" .onnx .ipynb ;;
    export/--notebook) _vbslab_offer "list $(vbslab export --notebook list 2> /dev/null | sed -n '2,$s/ .*//p')" ;;
    quantize/--method) _vbslab_offer "minmax percentile entropy" ;;
    quantize/--data) _vbslab_offer "" any ;;
    prune/--output | prune/-o | quantize/--output | quantize/-o | train/--output | train/-o) _vbslab_offer "" .onnx ;;
    sensitivity/--output | sensitivity/-o) _vbslab_offer "" .csv ;;
    sensitivity/--by) _vbslab_offer "l1 l2 random taylor" ;;
    compress/--density) _vbslab_offer "comp-alexnet comp-vgg-16 70% 80% 90%" ;;
    compress/--format) _vbslab_offer "auto comp joint bytes" ;;
    compress/--index-bits) _vbslab_offer "auto" ;;
    prune/--by) _vbslab_offer "l1 l2 random taylor" ;;
    prune/--preset) _vbslab_offer "tune-resnet-56" ;;
    train/--schedule) _vbslab_offer "cosine constant step exponential" ;;
    train/--optimiser) _vbslab_offer "sgd adam" ;;
    train/--init) _vbslab_offer "fan he glorot keep" ;;
    eval/--split) _vbslab_offer "train validation test" ;;
    report/--output | report/-o | explain/--html) _vbslab_offer "" .html ;;
    run/--schedule | exercise/--check | report/--run) _vbslab_offer "" .json ;;
    exercise/--level) _vbslab_offer "1 2 3 4 5 6" ;;
    exercise/--key) _vbslab_offer "" .md ;;
    exercise/--students) _vbslab_offer "" .txt ;;
    exercise/--output | exercise/-o) _vbslab_offer "" any ;;
    exercise/--profile) _vbslab_offer "" .csv ;;
    lesson/--output | lesson/-o) _vbslab_offer "" any ;;
    run/--input | run/--output) _vbslab_offer "" .npy ;;
    plan/--json | explain/--json | explain/--csv | frontier/--csv | frontier/--json | */--db | */--plot | eval/--data | prune/--data | train/--data | sensitivity/--data | train/--checkpoint | sweep/--from | */--trace | */--gantt | \
        */--weights-file) _vbslab_offer "" any ;;
    *) return 1 ;;
    esac
}

_vbslab_argument()
{
    case $command/$part in
    models/) _vbslab_offer "show" ;;
    profiles/) _vbslab_offer "show export import merge rm tag untag teaching" ;;
    profiles/import) _vbslab_offer "" .csv ;;
    profiles/export) if ((n_arguments > 1)); then _vbslab_offer "" any
        else _vbslab_offer "$(_vbslab_profiles)"; fi ;;
    profiles/merge) _vbslab_offer "" .sqlite ;;
    profiles/rm) _vbslab_offer "$(_vbslab_stored '\1\n\3')" ;;
    profiles/tag) ((n_arguments > 1)) || _vbslab_offer "$(_vbslab_stored '\1\n\3')" ;;
    profiles/untag) _vbslab_offer "$(_vbslab_stored '\3')" ;;
    profiles/*) _vbslab_offer "$(_vbslab_profiles)" .csv ;;
    place/*) _vbslab_offer "" .csv ;;
    sweep/*) _vbslab_offer "" .toml ;;
    lesson/) _vbslab_offer "1 2 3 4 5 6 7" ;;
    exercise/*) _vbslab_offer "" .json ;;
    tune/) _vbslab_offer "" .toml ;;
    tune/*) _vbslab_offer "" any ;;
    help/) _vbslab_offer "$(_vbslab_commands)" ;;
    models/show | measure/* | compress/* | quantize/* | prune/* | train/* | sensitivity/* | eval/*) _vbslab_offer "$(_vbslab_models)" .net .onnx .vbz ;;
    run/* | calibrate/* | export/*) _vbslab_offer "$(_vbslab_profiles) $(_vbslab_models)" .csv .net .onnx .vbz ;;
    replay/?*) _vbslab_offer "" .json ;;
    plan/* | explain/* | frontier/* | replay/* | compare/* | report/*) _vbslab_offer "$(_vbslab_profiles)" .csv ;;
    esac
}

_vbslab()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command= part= db= n_arguments=0 i

    # bash divides --name=VALUE into three words.
    if [[ $word == = ]]; then
        word=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --db)
            [[ ${COMP_WORDS[i+1]} == = ]] && ((i++))
            db=${COMP_WORDS[++i]}
            ;;
        -* | =) ;;
        *)
            if [[ -z $command ]]; then
                command=${COMP_WORDS[i]}
            elif [[ ${COMP_WORDS[i-1]} != = ]]; then
                ((n_arguments++))
                [[ -n $part ]] || part=${COMP_WORDS[i]}
            fi
            ;;
        esac
    done
    COMPREPLY=()
    _vbslab_value "$previous" && return
    if [[ -z $command ]]; then
        _vbslab_offer "$(_vbslab_commands) --db --quiet --help --version"
    elif [[ $word == -* ]]; then
        _vbslab_offer "$(vbslab help "$command" 2> /dev/null | sed -n 's/^ *\(--[a-z-]*\).*/\1/p')"
    else
        _vbslab_argument
    fi
}
complete -F _vbslab vbslab
