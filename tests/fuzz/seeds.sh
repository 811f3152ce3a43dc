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

put 0 experiments/vbs-example/example.csv tests/data/golden/cli-profiles-example.csv
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
