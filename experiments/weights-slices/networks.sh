# The layers that are divided, each in a network of its own; sourced by `measure` and `run`.
#
# A network has the layer whole and divided into each number of slices, all of them, one after
# the other: what running the layer slice by slice takes, every slice with weights of its own from
# memory. All read the same input.
layers='conv3 conv4 fc6 conv5_1'

label_of() { # layer
    case $1 in
    conv5_1) echo "VGG conv5_1" ;;
    *) echo "AlexNet $1" ;;
    esac
}

slices_of() { # layer
    case $1 in
    fc6) echo "2 4 8 16 32" ;;
    *) echo "2 4 8" ;;
    esac
}

batches_of() { # layer
    case $1 in
    conv5_1) echo 1,4,16 ;;
    *) echo 1,8,64 ;;
    esac
}

divided() { # operator, channels of all, what follows 'out=', input of a slice, numbers of slices
    for slices in $5; do
        p=1
        while [ $p -le $slices ]; do
            echo "$1 part$slices-$p out=$(($2 / slices)) $3 from=$4"
            echo "relu relu$slices-$p"
            p=$((p + 1))
        done
    done
}

network() { # layer
    slices=$(slices_of $1)
    echo "model $1-parts"
    case $1 in
    conv3)
        echo "input 256x13x13"
        echo "conv whole out=384 kernel=3 pad=1"
        echo "relu relu"
        divided conv 384 "kernel=3 pad=1" input "$slices"
        ;;
    conv4) # of two groups: a slice reads the channels of one
        echo "input 192x13x13"
        echo "relu group1"
        echo "relu group2 from=input"
        echo "concat both from=group1,group2"
        echo "conv whole out=384 kernel=3 pad=1 groups=2"
        echo "relu relu"
        divided conv 384 "kernel=3 pad=1" group1 "$slices"
        ;;
    fc6)
        echo "input 256x6x6"
        echo "fc whole out=4096"
        echo "relu relu"
        divided fc 4096 "" input "$slices"
        ;;
    conv5_1)
        echo "input 512x14x14"
        echo "conv whole out=512 kernel=3 pad=1"
        echo "relu relu"
        divided conv 512 "kernel=3 pad=1" input "$slices"
        ;;
    esac
}
