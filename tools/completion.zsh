#compdef vbslab
# zsh completion for vbslab

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

# Of the complete profiles in the store of this command line, what $1 names: \1 ids, \2 models, \3 tags.
_vbslab_stored()
{
    vbslab --quiet ${db:+--db} ${db:+"$db"} profiles 2> /dev/null |
        sed -n 's/^ *\([0-9][0-9]*\)  *\([^ ][^ ]*\) .* complete *\(.*\)$/'"$1"'/p' | tr ', ' '\n\n' | sed '/^$/d' |
        sort -u
}

_vbslab_profiles()
{
    _vbslab_stored '\1\n\2\n\3'
    vbslab profiles teaching 2> /dev/null | sed -n '2,/^$/s/ .*//p'
}

# What option $1 of $command takes; false where it takes nothing from a list.
_vbslab_value()
{
    case $command/$1 in
    (*/--precision) candidates=(fp32 int8 bf16) ;;
    (measure/--backend|profiles/--backend)
        candidates=(${(f)"$(vbslab backends 2> /dev/null | sed -n '2,$s/ .*//p')"}) ;;
    (*/--planner) candidates=(${(f)"$(_vbslab_planners)"}) ;;
    (*/--planners|*/--baselines) candidates=(all ${(f)"$(_vbslab_planners)"}) list=1 ;;
    (frontier/--beside) candidates=(${(f)"$(_vbslab_planners)"}) list=1 ;;
    (compare/--plot-series|frontier/--plot-series) candidates=(bound ${(f)"$(_vbslab_planners)"}) list=1 ;;
    (replay/--plot-series|run/--plot-series) candidates=(weights tensors workspace budget) list=1 ;;
    (*/--io) candidates=(external resident) ;;
    (*/--weights) candidates=(excluded included) ;;
    (*/--copy) candidates=(page-cache disk) ;;
    (*/--judge) candidates=(${(f)"$(_vbslab_profiles)"}) files='*.csv' ;;
    (profiles/--model) candidates=(${(f)"$(_vbslab_stored '\2')"}) ;;
    (*/--model) candidates=(${(f)"$(_vbslab_models)"}) files='*.(net|onnx|vbz)' ;;
    (compress/--output|compress/-o) files='*.vbz' ;;
    (tune/--plot) candidates=(history importance parallel slice contour pareto) ;;
    (tune/--only) candidates=(train measure) ;;
    (tune/--export-best) files='*.onnx' ;;
    (export/--output|export/-o) files='*.(onnx|ipynb)' ;;
    (export/--notebook) candidates=(list ${(f)"$(vbslab export --notebook list 2>/dev/null | sed -n '2,$s/ .*//p')"}) ;;
    (quantize/--method) candidates=(minmax percentile entropy) ;;
    (quantize/--data) files='*' ;;
    (prune/--output|prune/-o|quantize/--output|quantize/-o|train/--output|train/-o) files='*.onnx' ;;
    (sensitivity/--output|sensitivity/-o) files='*.csv' ;;
    (sensitivity/--by) candidates=(l1 l2 random taylor) ;;
    (compress/--density) candidates=(comp-alexnet comp-vgg-16 70% 80% 90%) ;;
    (compress/--format) candidates=(auto comp joint bytes) ;;
    (compress/--index-bits) candidates=(auto) ;;
    (prune/--by) candidates=(l1 l2 random taylor) ;;
    (prune/--preset) candidates=(tune-resnet-56) ;;
    (train/--schedule) candidates=(cosine constant step exponential) ;;
    (train/--optimiser) candidates=(sgd adam) ;;
    (train/--init) candidates=(fan he glorot keep) ;;
    (eval/--split) candidates=(train validation test) ;;
    (report/--output|report/-o|explain/--html) files='*.html' ;;
    (run/--schedule|exercise/--check|report/--run) files='*.json' ;;
    (exercise/--level) candidates=(1 2 3 4 5 6) ;;
    (exercise/--key) files='*.md' ;;
    (exercise/--students) files='*.txt' ;;
    (exercise/--output|exercise/-o) files='*' ;;
    (exercise/--profile) files='*.csv' ;;
    (lesson/--output|lesson/-o) files='*' ;;
    (run/--input|run/--output) files='*.npy' ;;
    (plan/--json|explain/--json|explain/--csv|frontier/--csv|frontier/--json|*/--db|*/--plot|eval/--data|prune/--data|train/--data|sensitivity/--data|train/--checkpoint|sweep/--from|*/--trace|*/--gantt|*/--weights-file)
        files='*' ;;
    (*) return 1 ;;
    esac
}

_vbslab_argument()
{
    case $command/$part in
    (models/) candidates=(show) ;;
    (profiles/) candidates=(show export import merge rm tag untag teaching) ;;
    (profiles/import) files='*.csv' ;;
    (profiles/merge) files='*.sqlite' ;;
    (profiles/rm|profiles/tag) candidates=(${(f)"$(_vbslab_stored '\1\n\3')"}) ;;
    (profiles/untag) candidates=(${(f)"$(_vbslab_stored '\3')"}) ;;
    (profiles/*) candidates=(${(f)"$(_vbslab_profiles)"}) files='*.csv' ;;
    (place/*) files='*.csv' ;;
    (sweep/*) files='*.toml' ;;
    (help/) candidates=(${(f)"$(_vbslab_commands)"}) ;;
    (lesson/) candidates=(1 2 3 4 5 6 7) ;;
    (exercise/*) files='*.json' ;;
    (tune/) files='*.toml' ;;
    (tune/*) files='*' ;;
    (models/show|measure/*|compress/*|quantize/*|prune/*|train/*|sensitivity/*|eval/*) candidates=(${(f)"$(_vbslab_models)"}) files='*.(net|onnx|vbz)' ;;
    (run/*|calibrate/*|export/*) candidates=(${(f)"$(_vbslab_profiles; _vbslab_models)"}) files='*.(csv|net|onnx|vbz)' ;;
    (replay/?*) files='*.json' ;;
    (plan/*|explain/*|frontier/*|replay/*|compare/*|report/*) candidates=(${(f)"$(_vbslab_profiles)"}) files='*.csv' ;;
    esac
}

# Sets candidates, files (a pattern, or nothing) and list (1: the value is a list with commas) for the
# word at CURRENT of words.
_vbslab_find()
{
    local command= part= db= i
    local -a used

    candidates=() files= list=
    for ((i = 2; i < CURRENT; i++)); do
        case $words[i] in
        (--db) db=$words[++i] ;;
        (--db=*) db=${words[i]#--db=} ;;
        (-*) ;;
        (*) if [[ -z $command ]]; then command=$words[i]; elif [[ -z $part ]]; then part=$words[i]; fi ;;
        esac
    done
    if [[ $words[CURRENT] == --*=* ]]; then
        _vbslab_value ${words[CURRENT]%%=*}
    elif _vbslab_value $words[CURRENT-1]; then
        :
    elif [[ -z $command ]]; then
        candidates=(${(f)"$(_vbslab_commands)"} --db --quiet --help --version)
    elif [[ $words[CURRENT] == -* ]]; then
        candidates=(${(f)"$(vbslab help $command 2> /dev/null | sed -n 's/^ *\(--[a-z-]*\).*/\1/p')"})
    else
        _vbslab_argument
    fi
    # A list with commas is completed by what it does not have yet; all stands alone.
    if [[ -n $list && $words[CURRENT] == *,* ]]; then
        used=(all ${(s:,:)${words[CURRENT]#--*=}%,*})
        candidates=(${candidates:|used})
    fi
}

_vbslab()
{
    local -a candidates
    local files list

    _vbslab_find
    [[ $words[CURRENT] == --*=* ]] && compset -P '--*='
    [[ -n $list ]] && compset -P '*,'
    compadd -a candidates
    [[ -n $files ]] && _files -g "$files"
}

[[ $funcstack[1] != _vbslab ]] || _vbslab "$@"
