#!/bin/sh
# The programs of examples/, which were built with the public headers and the shared library, print
# the results that the program gives for the same input. VBSLAB: the program; BUILD: the folder with
# examples/.
. "$(dirname "$0")/lib.sh"

EXAMPLES=${BUILD:-$ROOT/build}/examples

# example NAME ARGUMENTS...: runs an example; its output is in out and err, its exit code in $code.
example()
{
    name=$1
    shift
    "$EXAMPLES/$name" "$@" >out 2>err
    code=$?
}

# refused PART CODE: checks the exit code, one line of error that has PART, and no result.
refused()
{
    [ $code -eq "$2" ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err
}

for file in "$ROOT"/examples/*.c; do
    [ "$(wc -l <"$file")" -lt 75 ] || echo "$file"
    grep -q "(pkg-config --cflags" "$file" || echo "$file"
    [ -x "$EXAMPLES/$(basename "$file" .c)" ] || [ -x "$EXAMPLES/$(basename "$file" .c).so" ] || echo "$file"
    grep -qF "]($(basename "$file"))" "$ROOT/examples/README.md" || echo "$file"
done >out
[ ! -s out ]
report $? "examples are short, say how they are compiled, are built and listed"

# --- plan_csv, replay_schedule ---

profile=$ROOT/db/profiles/googlenet-a.csv
run plan "$profile" --planner dp-vbs+ --memory 20MiB --request 5 --json plan.json
example plan_csv "$profile" 5 20MiB
time_us=$(awk 'NR == 1 { print $2 }' out)
[ $code -eq 0 ] && [ "$(awk 'NR == 1 { print $5, $7 }' out)" = \
    "$(member plan.json peak_bytes | head -1) $(grep -c '"layer":' plan.json)" ] &&
    [ $(($(wc -l <out) - 1)) -eq "$(awk 'NR == 1 { print $7 }' out)" ] &&
    [ "$(member plan.json time_us | awk -v got="$time_us" '{ d = $1 - got; if (d * d < 1e-5) n++ } END { print (n > 0) }')" = 1 ]
report $? "plan_csv finds the plan of 'vbslab plan'"
example plan_csv "$profile" 5 1KiB
refused "the least budget is" 3
report $? "and says what an infeasible budget lacks"
example plan_csv none.csv 5 20MiB
refused "none.csv" 1
report $? "and which file is not there"
example plan_csv
refused "usage: plan_csv" 2
report $? "and how it is called"

run replay "$profile" plan.json
example replay_schedule "$profile" plan.json
[ $code -eq 0 ] && [ "$(awk 'NR == 1 { print $2 }' out)" = "$time_us" ] &&
    [ "$(awk 'NR == 2 { print $2 }' out)" = "$(member plan.json peak_bytes | head -1)" ] &&
    grep -q '^within its budget of 20971520 bytes$' out
report $? "replay_schedule judges it as it was planned"
sed 's/"memory_bytes": 20971520/"memory_bytes": 10000000/' plan.json >small.json
example replay_schedule "$profile" small.json
[ $code -eq 3 ] && grep -q '^above its budget of 10000000 bytes from step [0-9]* on$' out
report $? "and finds the step in which a schedule breaks its budget"
example replay_schedule "$ROOT/db/profiles/alexnet-a.csv" plan.json
refused "step" 1
report $? "and refuses one of another network"

# --- place_buffers ---

example place_buffers
awk '$1 == "buffer" { n++; sub(":", "", $2); from[n] = $4; to[n] = $6 + 0; first[n] = $8 + 0; last[n] = $10 + 0 }
    $1 == "arena" { size = $3; bound = $NF }
    END {
        for (i = 1; i <= n; i++) {
            if (last[i] >= size || first[i] % 64) print "outside or not aligned:", i
            for (j = 1; j < i; j++)
                if (from[i] <= to[j] && from[j] <= to[i] && first[i] <= last[j] && first[j] <= last[i])
                    print "overlap:", i, j
        }
        if (n != 7 || size != bound) print "buffers, arena:", n, size, bound
    }' out >wrong
[ $code -eq 0 ] && [ ! -s wrong ]
report $? "place_buffers finds the smallest arena, in which no two buffers overlap"

# --- run_onnx ---

# npy SHAPE: prints a .npy file of that shape with the 32-bit floats of standard input.
npy()
{
    header="{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
    printf "\\223NUMPY\\001\\000\\166\\000%-117s\\n" "$header"
    cat
}

# floats FILE N: prints the N values at the end of a file.
floats()
{
    tail -c $(($2 * 4)) "$1" | od -An -v -tf4 -w4
}

if [ "$(printf '\001\000' | od -An -td2 | tr -d ' ')" = 1 ]; then
    tail -c $((2 * 9 * 9 * 3 * 4)) "$DATA/onnx/keras_nhwc_in.pb" | npy '2, 9, 9, 3' >in.npy
    example run_onnx "$DATA/onnx/keras_nhwc.onnx" in.npy out.npy
    floats out.npy 12 >got 2>/dev/null
    floats "$DATA/onnx/keras_nhwc_out0.pb" 12 | paste - got |
        awk '{ d = $1 - $2; if (d * d < 1e-10 && NF == 2) n++ } END { print n + 0 }' >good
    [ $code -eq 0 ] && [ "$(cat good)" = 12 ] && [ "$(dd if=out.npy bs=1 skip=60 count=6 2>/dev/null)" = "(2, 6)" ]
    report $? "run_onnx computes what the reference of ONNX computes"
else
    skip "run_onnx computes what the reference of ONNX computes" "the files of tests are little-endian"
fi
printf '\000\000\000\000' | npy '1, 1' >small.npy
example run_onnx "$DATA/onnx/keras_nhwc.onnx" small.npy out.npy
refused "SAMPLES.npy" 2
report $? "and refuses an input of another shape"
example run_onnx none.onnx in.npy out.npy
refused "none.onnx" 1
report $? "and a file that is not there"

finish
