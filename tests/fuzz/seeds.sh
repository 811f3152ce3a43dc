#!/bin/sh
# seeds.sh FOLDER - what make fuzz starts from beside tests/data/corpus: the tests' own inputs, each
# behind the byte that chooses its reader (tests/fuzz/readers.h).
set -eu
to=$1
mkdir -p "$to"

put() { # READER FILE...
    reader=$1
    shift
    for file in "$@"; do
        [ "$(wc -c < "$file")" -le 20000 ] || continue
        { printf '%b' "$reader"; cat "$file"; } > "$to/$(printf '%.1s' "$reader")-$(echo "$file" | tr / -)"
    done
}

put 0 db/teaching/vbs-example.csv tests/data/golden/cli-profiles-example.csv
put 1 tests/data/golden/cli-plan-example.json
put 2 models/*.net
put '8\003\003\100\100' models/*.net
put 5 tests/data/placement/gaps.csv
put 4 tests/data/onnx/*.onnx
put 7 tests/data/onnx/*.pb
printf '3\223NUMPY\001\000\071\000%s\n1234123412341234' \
    "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}" > "$to/3-npy"
printf '91.5MiB..2GiB:*1.25' > "$to/9-range"
printf '91-4,8' > "$to/9-batches"
printf '93x224x224' > "$to/9-shape"
# Two images of 2 x 2 pixels and their labels, in each format.
printf '<0\004\000a\nb\n\012\000\000\000\010\001\000\000\000\002\000\001\000\000\010\003\000\000\000\002\000\000\000\002\000\000\000\00212345678' > "$to/<-idx"
labels="{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}"
images="{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 2, 1)}"
for by_pixel in 1 2; do
    printf "<$by_pixel"'\000\000\103\000\223NUMPY\001\000\067\000%s\000\001\223NUMPY\001\000\077\000%s1234123412341234' \
        "$labels" "$images" > "$to/<-npy-$by_pixel"
done
printf '=[a.b]\nc = { d = [1, 2.5], "e" = true }\n[[f]]\ng = "\\u0041"\n' > "$to/=-toml"
{ printf '<3\000\000\000\000'; head -c 3073 /dev/zero; } > "$to/<-cifar"
put '>' examples/tune-resnet-8.toml
for words in 'model = ["alexnet", "lenet-5"]\nmemory = { from = 20, to = 40, step = 10 }' \
    'case = [{ model = "alexnet", memory = 15 }, { model = "lenet-5", memory = 3 }]'; do
    case $words in
        case*) from=case. ;;
        *) from= ;;
    esac
    printf "?[lists]\n$words"'\n[[task]]\nname = "measure"\ncommand = ["measure", "{%smodel}", "--db", "{result}.sqlite"]\n[[task]]\nname = "plan"\ncommand = ["plan", "{%smodel}", "--memory", "{%smemory}MB", "--db", "{measure}.sqlite"]\naccept = [0, 3]\n' \
        "$from" "$from" "$from" > "$to/?-sweep-$from"
done
put @ models/*.net
put A tests/data/onnx/*.onnx
printf '@model small\ninput 4x8x8\nconv a out=6 kernel=3 pad=1 groups=2\nbatchnorm n\nrelu r\nmaxpool p kernel=2 stride=2\nconv b from=r out=6 kernel=2 stride=2 bias=no\nconcat c from=p,b\nlrn l size=3 alpha=0.1 beta=0.75\nadd s from=c,l\navgpool g kernel=global\ndropout d\nfc f out=3\nsoftmax e\n' > "$to/@-small"
