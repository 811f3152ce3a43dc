#!/bin/sh
# Completion in zsh and fish, where they are installed; frame.t tests completion in bash. VBSLAB:
# the program.
. "$(dirname "$0")/lib.sh"

if [ "${VBSLAB##*/}" != vbslab ]; then
    echo "1..0 # SKIP the program is not called vbslab"
    exit 0
fi
mkdir completion
cd completion || exit 1
: >one.csv
: >one.json
PATH=$(dirname "$VBSLAB"):$PATH
VBSLAB_DB=store.sqlite
export PATH VBSLAB_DB
"$VBSLAB" --quiet measure --backend analytic --batches 1 alexnet vgg-s >/dev/null
"$VBSLAB" profiles tag 2 slow
"$VBSLAB" profiles tag 2 odd
teaching="vbs-example greedy-trap four-layers branches barrier crossing two-clocks"

# wants NAME WANTED-WORDS...: checks that the last shell printed these words, in any order.
wants()
{
    name=$1
    shift
    [ $code -eq 0 ] && [ ! -s err ] && [ "$(sort -u out | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort -u | tr '\n' ' ')" ]
    report $? "$name"
}

if command -v zsh >/dev/null; then
    # in_zsh WORDS...: prints the candidates that begin like the last word, and the files.
    in_zsh()
    {
        zsh -fc '. $0; words=("$@"); CURRENT=$#; _vbslab_find
            word=${words[CURRENT]#--*=}; [[ -n $list ]] && word=${word##*,}
            print -rl -- ${(M)candidates:#$word*} $files' "$ROOT/tools/completion.zsh" "$@" >out 2>err
        code=$?
    }
    in_zsh vbslab pla
    wants "zsh: a command" plan place planners
    in_zsh vbslab plan --planner=f
    wants "zsh: a planner after =" fbs fbs-best
    in_zsh vbslab compare 1 --planners fbs,opt
    wants "zsh: planners after a comma" optimal
    in_zsh vbslab compare 1 --planners=dp-vbs,optimal,dp
    wants "zsh: no planner twice in a list" dp-monotone dp-vbs+
    in_zsh vbslab compare 1 --planners dp-vbs,a
    wants "zsh: all is no item of a list" ""
    in_zsh vbslab plan ''
    # shellcheck disable=SC2086 # words
    wants "zsh: what is measured and tags, where a profile is expected" 1 2 alexnet odd slow vgg-s $teaching '*.csv'
    in_zsh vbslab profiles rm ''
    wants "zsh: ids and tags, where no name will do" 1 2 odd slow
    in_zsh vbslab profiles untag ''
    wants "zsh: tags to take away" odd slow
    in_zsh vbslab profiles --model ''
    wants "zsh: measured models to filter by" alexnet vgg-s
    in_zsh vbslab --db=none.sqlite plan ''
    # shellcheck disable=SC2086 # words
    wants "zsh: none of a store that is not there" $teaching '*.csv'
    in_zsh vbslab replay 1 ''
    wants "zsh: a schedule" '*.json'
    in_zsh vbslab measure goo
    wants "zsh: a model" googlenet '*.(net|onnx|vbz)'
    in_zsh vbslab compress vgg
    wants "zsh: a model to compress" vgg-16 vgg-19 vgg-s '*.(net|onnx|vbz)'
    in_zsh vbslab compress alexnet --density comp
    wants "zsh: presets of densities" comp-alexnet comp-vgg-16
    in_zsh vbslab replay 1 p.json --gantt g.svg --plot-series weights,te
    wants "zsh: series of a picture" tensors
    in_zsh vbslab compare 1 --plot c.svg --plot-series=fbs,bo
    wants "zsh: the bound among them" bound
    in_zsh vbslab plan --mem
    wants "zsh: an option" --memory
else
    skip "zsh" "it is not installed"
fi

if command -v fish >/dev/null; then
    # in_fish LINE: prints the candidates for the end of the line, without their descriptions.
    in_fish()
    {
        HOME=$PWD fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
            "$ROOT/tools/completion.fish" "$1" 2>err | cut -f 1 | grep -v sqlite >out
        code=0
    }
    in_fish 'vbslab pla'
    wants "fish: a command" plan place planners
    in_fish 'vbslab plan --planner=f'
    wants "fish: a planner after =" --planner=fbs --planner=fbs-best
    in_fish 'vbslab compare 1 --planners fbs,opt'
    wants "fish: planners after a comma" fbs,optimal
    in_fish 'vbslab compare 1 --planners dp-vbs,optimal,dp'
    wants "fish: no planner twice in a list" dp-vbs,optimal,dp-monotone dp-vbs,optimal,dp-vbs+
    in_fish 'vbslab compare 1 --planners=dp-vbs,opt'
    wants "fish: planners after = and a comma" --planners=dp-vbs,optimal
    in_fish 'vbslab compare 1 --planners al'
    wants "fish: all of them" all
    in_fish 'vbslab plan a'
    wants "fish: what is measured, where a profile is expected" alexnet
    in_fish 'vbslab plan s'
    wants "fish: a tag is a profile" slow
    in_fish 'vbslab profiles rm '
    wants "fish: ids and tags, where no name will do" 1 2 odd slow
    in_fish 'vbslab profiles untag '
    wants "fish: tags to take away" odd slow
    in_fish 'vbslab profiles --model '
    wants "fish: measured models to filter by" alexnet vgg-s
    in_fish 'vbslab --db none.sqlite plan odd'
    [ ! -s out ]
    report $? "fish: none of a store that is not there"
    in_fish 'vbslab measure goo'
    wants "fish: a model" googlenet
    in_fish 'vbslab compress vgg'
    wants "fish: a model to compress" vgg-16 vgg-19 vgg-s
    in_fish 'vbslab compress alexnet --density comp'
    wants "fish: presets of densities" comp-alexnet comp-vgg-16
    in_fish 'vbslab replay 1 p.json --gantt g.svg --plot-series weights,te'
    wants "fish: series of a picture" weights,tensors
    in_fish 'vbslab compare 1 --plot c.svg --plot-series=fbs,bo'
    wants "fish: the bound among them" --plot-series=fbs,bound
    in_fish 'vbslab plan --mem'
    wants "fish: an option" --memory
else
    skip "fish" "it is not installed"
fi
finish
