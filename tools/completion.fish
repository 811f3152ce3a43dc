# fish completion for vbslab
function __vbslab_models
    vbslab models --csv 2>/dev/null | sed -n '2,$s/,.*//p'
end

function __vbslab_planners
    vbslab planners 2>/dev/null | sed -n '2,/^$/s/ .*//p' | string match -v ''
end

# The arguments for the last item of a list with commas, without those before it; all stands alone.
function __vbslab_list
    set -l before (commandline -ct | string replace -r '^--[a-z-]*=' '' | string match -r '^.*,')
    set -l used (string split , -- "$before")
    for item in $argv
        if not contains -- $item $used; and not test -n "$before" -a $item = all
            echo "$before$item"
        end
    end
end

function __vbslab_backends
    vbslab backends 2>/dev/null | sed -n '2,$s/ .*//p'
end

function __vbslab_commands
    vbslab help 2>/dev/null | sed -n '/^commands:/,/^options:/s/^  \([a-z][a-z]*\)  .*/\1/p'
end

# The words before the one that is completed, without options and their values that follow "=".
function __vbslab_arguments
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if test "$word" = --db
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __vbslab_command_is
    contains -- (__vbslab_arguments)[1] $argv
end

function __vbslab_part_is
    test "$(__vbslab_arguments)[2]" = "$argv[1]"
end

# Of the complete profiles in the store of this command line, what the argument names: \1 ids,
# \2 models, \3 tags.
function __vbslab_stored
    set -l words (commandline -opc)
    set -l store
    for i in (seq (count $words))
        if test "$words[$i]" = --db; and test $i -lt (count $words)
            set store --db $words[(math $i + 1)]
        else if string match -q -- '--db=*' $words[$i]
            set store $words[$i]
        end
    end
    vbslab --quiet $store profiles 2>/dev/null |
        sed -n 's/^ *\([0-9][0-9]*\)  *\([^ ][^ ]*\) .* complete *\(.*\)$/'$argv[1]'/p' | tr ', ' '\n\n' |
        sed '/^$/d' | sort -u
end

function __vbslab_profiles
    __vbslab_stored '\1\n\2\n\3'
    vbslab profiles teaching 2>/dev/null | sed -n '2,/^$/s/ .*//p' | string match -v ''
end

function __vbslab_options
    set -l command (__vbslab_arguments)[1]
    vbslab help $command 2>/dev/null | sed -n 's/^ *\(--[a-z-]*\).*/\1/p'
end

complete -c vbslab -f
complete -c vbslab -l db -r -F -d 'the store'
complete -c vbslab -l quiet -d 'no progress, no notes, no warnings'
complete -c vbslab -l help -d 'print help'
complete -c vbslab -l version -d 'print the version'
complete -c vbslab -n 'test -z "$(__vbslab_arguments)"' -a '(__vbslab_commands)'
complete -c vbslab -n 'string match -q -- "-*" (commandline -ct)' -a '(__vbslab_options)'

complete -c vbslab -l planner -x -a '(__vbslab_planners)'
complete -c vbslab -n '__vbslab_command_is compare report' -l planners -x -a '(__vbslab_list all (__vbslab_planners))'
complete -c vbslab -n '__vbslab_command_is compare report' -l baselines -x -a '(__vbslab_list all (__vbslab_planners))'
complete -c vbslab -n '__vbslab_command_is frontier' -l beside -x -a '(__vbslab_list (__vbslab_planners))'
complete -c vbslab -n '__vbslab_command_is compare frontier' -l plot-series -x -a '(__vbslab_list bound (__vbslab_planners))'
complete -c vbslab -n '__vbslab_command_is replay run' -l plot-series -x -a '(__vbslab_list weights tensors workspace budget)'
complete -c vbslab -l io -x -a 'external resident'
complete -c vbslab -l weights -x -a 'excluded included'
complete -c vbslab -l copy -x -a 'page-cache disk'
complete -c vbslab -l precision -x -a 'fp32 int8 bf16'
complete -c vbslab -n '__vbslab_command_is measure profiles' -l backend -x -a '(__vbslab_backends)'
complete -c vbslab -l judge -r -k -a '(__vbslab_profiles; __fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is profiles' -l model -x -a '(__vbslab_stored "\\\\2")'
complete -c vbslab -n '__vbslab_command_is run compare' -l model -r -k -a '(__vbslab_models; __fish_complete_suffix .onnx; __fish_complete_suffix .vbz)'
complete -c vbslab -n 'not __vbslab_command_is train' -l schedule -r -k -a '(__fish_complete_suffix .json)'
for option in trace gantt weights-file
    complete -c vbslab -l $option -r -F
end
complete -c vbslab -n 'not __vbslab_command_is tune' -l plot -r -F
complete -c vbslab -n '__vbslab_command_is tune' -l plot -x -a 'history importance parallel slice contour pareto'
complete -c vbslab -n '__vbslab_command_is tune' -l only -x -a 'train measure'
complete -c vbslab -n '__vbslab_command_is tune' -l export-best -r -k -a '(__fish_complete_suffix .onnx)'
complete -c vbslab -n '__vbslab_command_is run' -l input -r -k -a '(__fish_complete_suffix .npy)'
complete -c vbslab -n '__vbslab_command_is compress' -l output -s o -r -k -a '(__fish_complete_suffix .vbz)'
complete -c vbslab -n '__vbslab_command_is export' -l output -s o -r -k -a '(__fish_complete_suffix .onnx; __fish_complete_suffix .ipynb)'
complete -c vbslab -n '__vbslab_command_is export' -l notebook -x -a "list (vbslab export --notebook list 2>/dev/null | sed -n '2,\$s/ .*//p')"
complete -c vbslab -n '__vbslab_command_is prune quantize train' -l output -s o -r -k -a '(__fish_complete_suffix .onnx)'
complete -c vbslab -n '__vbslab_command_is report' -l output -s o -r -k -a '(__fish_complete_suffix .html)'
complete -c vbslab -n '__vbslab_command_is report' -l run -r -k -a '(__fish_complete_suffix .json)'
complete -c vbslab -n '__vbslab_command_is explain' -l html -r -k -a '(__fish_complete_suffix .html)'
complete -c vbslab -n '__vbslab_command_is sensitivity' -l output -s o -r -k -a '(__fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is sensitivity' -l by -x -a 'l1 l2 random taylor'
complete -c vbslab -n '__vbslab_command_is compress' -l density -x -a 'comp-alexnet comp-vgg-16 70% 80% 90%'
complete -c vbslab -n '__vbslab_command_is compress' -l format -x -a 'auto comp joint bytes'
complete -c vbslab -n '__vbslab_command_is compress' -l index-bits -x -a auto
complete -c vbslab -n '__vbslab_command_is quantize' -l method -x -a 'minmax percentile entropy'
complete -c vbslab -n '__vbslab_command_is quantize' -l data -r -F
complete -c vbslab -n '__vbslab_command_is prune' -l by -x -a 'l1 l2 random taylor'
complete -c vbslab -n '__vbslab_command_is prune' -l preset -x -a tune-resnet-56
complete -c vbslab -n '__vbslab_command_is train' -l schedule -x -a 'cosine constant step exponential'
complete -c vbslab -n '__vbslab_command_is train' -l optimiser -x -a 'sgd adam'
complete -c vbslab -n '__vbslab_command_is train' -l init -x -a 'fan he glorot keep'
complete -c vbslab -n '__vbslab_command_is train' -l checkpoint -r -F
complete -c vbslab -n '__vbslab_command_is eval prune train sensitivity' -l data -x -a '(__fish_complete_directories)'
complete -c vbslab -n '__vbslab_command_is exercise' -l check -r -k -a '(__fish_complete_suffix .json)'
complete -c vbslab -n '__vbslab_command_is exercise' -l level -x -a '1 2 3 4 5 6'
complete -c vbslab -n '__vbslab_command_is exercise' -l key -r -k -a '(__fish_complete_suffix .md)'
complete -c vbslab -n '__vbslab_command_is exercise' -l students -r -k -a '(__fish_complete_suffix .txt)'
complete -c vbslab -n '__vbslab_command_is exercise' -l output -s o -r -F
complete -c vbslab -n '__vbslab_command_is exercise' -k -a '(__fish_complete_suffix .json)'
complete -c vbslab -n '__vbslab_command_is exercise' -l profile -r -k -a '(__fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is lesson' -l output -s o -r -F
complete -c vbslab -n '__vbslab_command_is eval' -l split -x -a 'train validation test'
complete -c vbslab -n '__vbslab_command_is run' -l output -r -k -a '(__fish_complete_suffix .npy)'

complete -c vbslab -n '__vbslab_command_is models; and __vbslab_part_is ""' -a show
complete -c vbslab -n '__vbslab_command_is lesson; and __vbslab_part_is ""' -k -a '1 2 3 4 5 6 7'
complete -c vbslab -n '__vbslab_command_is models; and __vbslab_part_is show' -k -a '(__vbslab_models; __fish_complete_suffix .onnx; __fish_complete_suffix .vbz)'
complete -c vbslab -n '__vbslab_command_is measure compress quantize prune train sensitivity eval' -k -a '(__vbslab_models; __fish_complete_suffix .onnx; __fish_complete_suffix .vbz)'
complete -c vbslab -n '__vbslab_command_is sweep' -k -a '(__fish_complete_suffix .toml)'
complete -c vbslab -n '__vbslab_command_is sweep' -l from -r -F
complete -c vbslab -n '__vbslab_command_is run calibrate export' -k -a '(__vbslab_profiles; __vbslab_models; __fish_complete_suffix .onnx; __fish_complete_suffix .vbz)'
complete -c vbslab -n '__vbslab_command_is plan explain frontier compare report' -k -a '(__vbslab_profiles; __fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is replay; and __vbslab_part_is ""' -k -a '(__vbslab_profiles; __fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is replay; and not __vbslab_part_is ""' -k -a '(__fish_complete_suffix .json)'
complete -c vbslab -n '__vbslab_command_is profiles; and __vbslab_part_is ""' -a 'show export import merge rm tag untag teaching'
complete -c vbslab -n '__vbslab_command_is profiles; and __vbslab_part_is import' -k -a '(__fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is profiles; and __vbslab_part_is merge' -k -a '(__fish_complete_suffix .sqlite)'
for part in show export
    complete -c vbslab -n "__vbslab_command_is profiles; and __vbslab_part_is $part" -a '(__vbslab_profiles)'
end
for part in rm tag
    complete -c vbslab -n "__vbslab_command_is profiles; and __vbslab_part_is $part" \
        -a '(__vbslab_stored "\\\\1\\\\n\\\\3")'
end
complete -c vbslab -n '__vbslab_command_is profiles; and __vbslab_part_is untag' -a '(__vbslab_stored "\\\\3")'
complete -c vbslab -n '__vbslab_command_is tune' -k -a '(__fish_complete_suffix .toml)'
complete -c vbslab -n '__vbslab_command_is place' -k -a '(__fish_complete_suffix .csv)'
complete -c vbslab -n '__vbslab_command_is help' -a '(__vbslab_commands)'
