# bash completion for vbslab
_vbslab_models()
{
    vbslab models --csv 2> /dev/null | sed -n '2,$s/,.*//p'
}

_vbslab_planners()
{
    vbslab planners 2> /dev/null | sed -n '2,/^$/s/ .*//p'
}

_vbslab()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= part= i
    local commands="models measure profiles plan frontier replay compare run place planners backends demo help"

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --db) ((i++)) ;;
        -*) ;;
        *) if [[ -z $command ]]; then command=${COMP_WORDS[i]}; else part=${COMP_WORDS[i]}; break; fi ;;
        esac
    done
    case $command/$previous in
    measure/--backend) COMPREPLY=($(compgen -W "$(vbslab backends 2> /dev/null |
        sed -n '2,$s/ .*//p')" -- "$word")); return ;;
    */--planner) COMPREPLY=($(compgen -W "$(_vbslab_planners)" -- "$word")); return ;;
    */--planners | */--baselines)
        COMPREPLY=($(compgen -W "all $(_vbslab_planners)" -- "$word")); return ;;
    */--io) COMPREPLY=($(compgen -W "external resident" -- "$word")); return ;;
    */--weights) COMPREPLY=($(compgen -W "excluded included" -- "$word")); return ;;
    */--copy) COMPREPLY=($(compgen -W "page-cache disk" -- "$word")); return ;;
    */--judge | run/--model) COMPREPLY=($(compgen -f -W "$(_vbslab_models)" -- "$word")); return ;;
    plan/--json | frontier/--csv | frontier/--json | */--db | */--plot | */--trace | */--gantt | \
        run/--schedule | run/--input | run/--output | run/--weights-file)
        COMPREPLY=($(compgen -f -- "$word")); return ;;
    esac
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W "$commands --db --quiet --help --version" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(vbslab "$command" --help 2> /dev/null |
            sed -n 's/^ *\(--[a-z-]*\).*/\1/p')" -- "$word"))
    else
        case $command/$part in
        models/ | profiles/) ;;
        profiles/import | place/*) COMPREPLY=($(compgen -f -- "$word")); return ;;
        models/show | measure/* | plan/* | frontier/* | replay/* | compare/* | run/* | profiles/*)
            COMPREPLY=($(compgen -f -W "$(_vbslab_models)" -- "$word")); return ;;
        esac
        case $command in
        models) COMPREPLY=($(compgen -W "show" -- "$word")) ;;
        profiles) COMPREPLY=($(compgen -W "show export import rm tag untag" -- "$word")) ;;
        esac
    fi
}
complete -o filenames -F _vbslab vbslab
