# bash completion for vbslab
_vbslab()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= i
    local commands="models measure profiles plan frontier replay compare backends"

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --db) ((i++)) ;;
        -*) ;;
        *) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    case $previous in
    --backend) COMPREPLY=($(compgen -W "onednn analytic" -- "$word")); return ;;
    --planner | --baselines)
        COMPREPLY=($(compgen -W "all fbs fbs-best greedy-vbs dp-vbs" -- "$word")); return ;;
    --io) COMPREPLY=($(compgen -W "external resident" -- "$word")); return ;;
    --weights) COMPREPLY=($(compgen -W "excluded" -- "$word")); return ;;
    --db | --json | --csv | --plot | --trace) COMPREPLY=($(compgen -f -- "$word")); return ;;
    esac
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W "$commands --db --quiet --help --version" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(vbslab "$command" --help 2> /dev/null |
            sed -n 's/^ *\(--[a-z-]*\).*/\1/p')" -- "$word"))
    else
        case $command in
        models) COMPREPLY=($(compgen -W "show $(vbslab models --csv 2> /dev/null |
            sed -n '2,$s/,.*//p')" -- "$word")) ;;
        measure | plan | frontier | replay | compare)
            COMPREPLY=($(compgen -f -W "$(vbslab models --csv 2> /dev/null |
                sed -n '2,$s/,.*//p')" -- "$word")) ;;
        profiles) COMPREPLY=($(compgen -W "show export import" -- "$word")) ;;
        esac
    fi
}
complete -F _vbslab vbslab
