#!/bin/sh
# Networks of several inputs in the command line: files of each, names that a shell takes apart,
# numbers that are fixed, and what is refused. No check depends on a time. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=
VBSLAB_DB=store.sqlite
export VBSLAB_DB
cp "$DATA/onnx/several.onnx" .

# npy FILE TYPE SHAPE BYTES: writes an array; BYTES is a format of printf.
npy()
{
    {
        printf '\223NUMPY\1\0v\0'
        printf '%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
        printf "$4"
    } >"$1"
}

# floats FILE COUNT: prints the last numbers of an array.
floats()
{
    tail -c $((4 * $2)) "$1" | od -An -v -tf4 | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}

# several OPTIONS...: runs two samples.
several()
{
    run --quiet run several.onnx --memory 64KiB --request 2 --runs 1 "$@"
}

npy x.npy '|u1' '(2, 4)' '\1\2\3\4\5\6\7\10'
npy m.npy '|b1' '(2, 4)' '\1\0\1\0\1\0\1\0'
npy ids.npy '|i1' '(2, 2)' '\0\4\377\2'
npy t.npy '|u1' '()' '\2'

run models show several.onnx
[ $code -eq 0 ] && grep -qx "input 'a'b=c': 4" out && grep -qx "input 'm': 4, 0 or 1" out &&
    grep -qx "input '\$ids;': 2, whole numbers" out &&
    grep -qx "input 't': a number, the same for all samples" out &&
    grep -q "^output 'y=1': 4, of layer" out && grep -q "^output 'z': 2x3, of layer" out
report $? "models show lists inputs and outputs"

run --quiet measure several.onnx --batches 1,2 --no-copies --time-limit 0.1
[ $code -eq 0 ] && run --quiet measure several.onnx --fix t=2 --batches 1,2 --no-copies --time-limit 0.1
[ $code -eq 0 ] && [ "$(cat out)" = 2 ]
report $? "it is measured, and once more with a fixed number"

several --input "a'b=c=x.npy" --input m=m.npy --input '$ids;=ids.npy' --input=t=t.npy \
    --output 'y=1=y.npy' --output z=z.npy --check
[ $code -eq 0 ] && [ "$(floats y.npy 8)" = "3 0 5 0 7 0 9 0" ] &&
    [ "$(floats z.npy 12)" = "0 1 2 12 13 14 12 13 14 6 7 8" ]
report $? "each input has a file, and each output"

several --input "a'b=c=x.npy" --input m=m.npy --input '$ids;=ids.npy' --fix t=2 --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 8)" = "3 0 5 0 7 0 9 0" ] && [ -e y-z.npy ]
report $? "a number can be fixed; --output FILE names all outputs"

several
report "$code" "without files all inputs are seeded"

several --output 'y=1=y.npy' --output x=z.npy
[ $code -eq 2 ] && grep -q "'x=z.npy' is NAME=FILE.npy of no output; the outputs are 'y=1', 'z' (a file" err && [ ! -e x=z.npy ]
report $? "a name of no output is refused"
several --output ./x=z.npy
[ $code -eq 0 ] && [ -e x=z.npy ]
report $? "... but a path may have a ="
several --output y.npy --output z.npy
[ $code -eq 2 ] && grep -q -- "--output gives two files, 'y.npy' and 'z.npy'" err
report $? "two files for all outputs are refused"

several --input m=m.npy
[ $code -eq 2 ] && grep -q "gives no file for input 'a'b=c', but for 1 of 4" err
report $? "an input without a file is named"
several --input m=m.npy --input m=m.npy
[ $code -eq 2 ] && grep -q "gives two files for input 'm'" err
report $? "so is one with two"
several --input n=m.npy
[ $code -eq 2 ] && grep -q "'n=m.npy' is NAME=FILE.npy of no input; the inputs are 'a'b=c', 'm'" err
report $? "and a name of none"

# refused INPUT FILE TEXT: replaces one of the files.
refused()
{
    several --input "a'b=c=$1" --input m="$2" --input '$ids;='"$3" --input t="$4"
    [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$5" err
    report $? "refused: $5"
}
npy short.npy '|u1' '(2, 3)' '\1\2\3\4\5\6'
npy flat.npy '|u1' '(8,)' '\1\2\3\4\5\6\7\10'
npy none.npy '|u1' '(0, 4)' ''
npy two.npy '|u1' '(2, 4)' '\1\0\2\0\1\0\1\0'
npy far.npy '|i1' '(2, 2)' '\0\5\0\0'
npy large.npy '<i4' '(2, 2)' '\0\0\0\0\1\0\0\1\0\0\0\0\0\0\0\0'
refused short.npy m.npy ids.npy t.npy "has shape 2x3; the request needs 2x4 for input 'a'b=c'"
refused flat.npy m.npy ids.npy t.npy 'has shape 8; the request needs 2x4'
refused none.npy m.npy ids.npy t.npy 'has shape 0x4; the request needs 2x4'
run --db none.sqlite run several.onnx --memory 64KiB --input "a'b=c=short.npy" --input m=m.npy --input '$ids;=ids.npy' --input t=t.npy
[ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e none.sqlite ]
report $? "... before anything is measured"
refused x.npy two.npy ids.npy t.npy "value \[0, 2\] is 2; input 'm' takes 0 and 1 only"
refused x.npy m.npy far.npy t.npy 'value \[0, 1\] is 5; input .* takes indices up to 4'
refused x.npy m.npy large.npy t.npy 'has the whole number 16777217'
refused x.npy m.npy ids.npy x.npy 'the same for all samples, needs one value'

# ---- whole numbers of few bits ----
# bytes FILE SHAPE TENSOR COUNT: writes an array of the floats at the end of a TensorProto.
bytes()
{
    {
        printf '\223NUMPY\1\0v\0'
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': $2, }"
        tail -c $((4 * $4)) "$DATA/onnx/$3"
    } >"$1"
}
# same FILE TENSOR COUNT: compares the numbers at the ends of two files, in which -0 is 0.
same()
{
    [ "$(floats "$1" "$3" | sed 's/-0\( \|$\)/0\1/g')" = "$(floats "$DATA/onnx/$2" "$3" | sed 's/-0\( \|$\)/0\1/g')" ]
}
bytes w.npy '(2, 4, 6)' whole_numbers_in.pb 48
run --quiet measure "$DATA/onnx/whole_numbers.onnx" --batches 1,2 --no-copies --time-limit 0.1
[ $code -eq 0 ] && run --quiet run "$DATA/onnx/whole_numbers.onnx" --memory 256KiB --runs 1 --input w.npy --output y.npy
[ $code -eq 0 ] && same y.npy whole_numbers_out0.pb 192 && same y-y1.npy whole_numbers_out1.pb 42 &&
    same y-y2.npy whole_numbers_out2.pb 192 && same y-y3.npy whole_numbers_out3.pb 288 &&
    same y-y4.npy whole_numbers_out4.pb 336 && same y-y5.npy whole_numbers_out5.pb 144 &&
    same y-y6.npy whole_numbers_out6.pb 240
report $? "kernels compute whole numbers without a fraction, and what overflows 8 and 16 bits"

# y = x + x, z = -x, w = 3 x, v = x + -(-x), where x is [N, 3]
printf '\010\010:\325\001\012\016\012\001x\012\001x\022\001y"\003Add\012\013\012\001x\022\001z"\003Neg\012\016\012\001x\012\001c\022\001w"\003Mul\012\013\012\001x\022\001n"\003Neg\012\013\012\001n\022\001m"\003Neg\012\016\012\001x\012\001m\022\001v"\003Add\022\001g*\013\020\001"\004\000\000@@B\001cZ\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\003b\024\012\001y\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\003b\024\012\001z\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\003b\024\012\001w\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\003b\024\012\001v\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\003B\004\012\000\020\015' >zeros.onnx
npy zeros.npy '<f4' '(1, 3)' '\0\0\0\200\0\0\0\0\0\0\200\77'
run --quiet run zeros.onnx --memory 64KiB --runs 1 --input zeros.npy --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 3)" = "-0 0 2" ] && [ "$(floats y-z.npy 3)" = "0 -0 -1" ] && [ "$(floats y-w.npy 3)" = "-0 0 3" ] &&
    [ "$(floats y-v.npy 3)" = "-0 0 2" ]
report $? "zeros keep their signs in products with constants, in negatives, and in sums"

# y = cast(x), where x is UINT8 [N, 3]
printf '\010\010:<\012\027\012\001x\022\001y"\004Cast*\011\012\002to\030\001\240\001\002\022\000Z\024\012\001x\022\017\012\015\010\002\022\011\012\003\022\001N\012\002\010\003b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' >byte.onnx
npy below.npy '|i1' '(1, 3)' '\0\377\2'
npy above.npy '<i2' '(1, 3)' '\0\0\54\1\377\0'
npy ends.npy '|u1' '(1, 3)' '\0\200\377'
for name in below above; do
    run --quiet run byte.onnx --memory 64KiB --runs 1 --input $name.npy
    [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "$name.npy: value \[0, 1\] is \(-1\|300\); input 'x' takes whole numbers from 0 to 255" err
    report $? "what is $name the range of a type is refused"
done
run --quiet run byte.onnx --memory 64KiB --runs 1 --input ends.npy --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 3)" = "0 128 255" ]
report $? "the ends of the range are taken"
npy dozen.npy '|u1' '(12, 3)' "$(printf '\\1\\2\\3%.0s' $(seq 12))"
mkfifo pipe.npy
cat dozen.npy >pipe.npy &
writer=$!
run --quiet run byte.onnx --memory 64KiB --runs 1 --input pipe.npy --output y.npy
kill $writer 2>/dev/null
[ $code -eq 0 ] && [ "$(floats y.npy 6)" = "1 2 3 1 2 3" ]
report $? "a pipe, of which nothing can be read twice, is read once"

# ---- whole inputs: y = x * N, where x is [N, 3] ----
cp "$DATA/onnx/counted.onnx" .
bytes four.npy '(4, 3)' counted_in.pb 12
bytes one.npy '(1, 4, 3)' counted_in.pb 12
run models show counted.onnx
[ $code -eq 0 ] && grep -q "^samples: whole inputs of the file; node 'times' (Mul): depends on the number of samples; dimension 0, which the file leaves open, is 1 unless" out
report $? "models show names the node that depends on the number of samples"
run models show counted.onnx --json
[ $code -eq 0 ] && grep -q '"whole": true' out && grep -q '"whole_open": true' out &&
    grep -q "\"whole_why\": \"node 'times' (Mul): depends on the number of samples\"" out
report $? "so does its JSON"
run measure counted.onnx --batches 1,2 --no-copies --time-limit 0.1
[ $code -eq 0 ] && grep -q "counted takes whole inputs of its file, whose first dimension is open and is taken as 1; .*: node 'times' (Mul)" err
report $? "measure says it"
id=$(tail -1 out)
run run counted.onnx --memory 64KiB --runs 1 --input four.npy --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 12)" = "$(floats "$DATA/onnx/counted_out0.pb" 12)" ] &&
    head -c 128 y.npy | grep -q "'shape': (4, 3)" && ! grep -q "the request takes the first" err &&
    grep -q "counted takes whole inputs of its file, and so a file of --input is one: node 'times' (Mul)" err
report $? "a file is one whole input, of any number of samples"
run --quiet run counted.onnx --memory 64KiB --runs 1 --input one.npy --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 12)" = "$(floats "$DATA/onnx/counted_out0.pb" 12)" ] &&
    head -c 128 y.npy | grep -q "'shape': (1, 4, 3)"
report $? "... or a request of one"
run --quiet run counted.onnx --memory 64KiB --runs 1 --input 1x3 --input four.npy --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 12)" = "$(floats four.npy 12)" ]
report $? "... or four inputs of one sample, where --input says so"
run --quiet run "$id" --model counted.onnx --memory 64KiB --runs 1 --input four.npy
[ $code -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q 'four.npy: has shape 4x3; the network takes whole inputs of its file, and the profile is of 1x3' err
report $? "a profile of one sample refuses it"
run --quiet run counted.onnx --memory 64KiB --runs 1 --request 4 --input four.npy
[ $code -eq 1 ] && grep -q 'four.npy: has shape 4x3; the request needs 4x4x3, or --request 1' err
report $? "... and so does a request of four"

# the same without the shape of x
printf '\010\010:m\012\015\012\001x\022\001s"\005Shape\012\021\012\001s\012\001z\022\001n"\006Gather\012\027\012\001n\022\001f"\004Cast*\011\012\002to\030\001\240\001\002\012\016\012\001x\012\001f\022\001y"\003Mul\022\000*\010\020\007:\001\000B\001zZ\011\012\001x\022\004\012\002\010\001b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' >unshaped.onnx
run --quiet run unshaped.onnx --memory 64KiB --runs 1 --input four.npy
[ $code -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] &&
    grep -q 'unshaped.onnx: takes whole inputs, and does not say their shape, which is to be in the file' err
report $? "whole inputs of a file that does not say their shape are refused"

# y = relu(x), where x is [N, T, 3]
printf '\010\010B\002\020\021\072\064\012\014\012\001x\022\001y\042\004ReluZ\031\012\001x\022\024\012\022\010\001\022\016\012\003\022\001N\012\003\022\001T\012\002\010\003b\011\012\001y\022\004\012\002\010\001' >open.onnx
npy open.npy '|u1' '(2, 2, 3)' '\0\1\2\3\4\5\6\7\1\1\2\2'
npy none.npy '|u1' '(2, 0, 3)' ''
run --quiet run open.onnx --memory 64KiB --request 2 --runs 1 --input open.npy --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 12)" = "0 1 2 3 4 5 6 7 1 1 2 2" ]
report $? "an open size is that of the file of the input"
run --quiet run open.onnx --memory 64KiB --request 2 --runs 1 --input none.npy
[ $code -eq 1 ] && grep -qx "vbslab: run: none.npy: has shape 2x0x3, and no values" err
report $? "which is not 0"
run models show open.onnx
[ $code -eq 2 ] && grep -q "dimension 1 of input 'x' is open; give the shape of a sample (--input Tx3)" err
report $? "a message shows the shape to give"

run models show open.onnx --input 1x4x3
[ $code -eq 0 ] && grep -q "relu  0  *4x3 " out && ! grep -q "^samples: whole" out
report $? "the shape of a sample may be ONNX's own, with a 1 in front"
run models show open.onnx --input 2x4x3
[ $code -eq 0 ] && grep -q "^samples: whole" out
report $? "which is not the case of another number"
run models show lenet-5 --input 1x1x28x28
[ $code -eq 0 ] && grep -q "conv1 " out
report $? "a built-in network takes it, too"

# --- sizes that several inputs share, and an input that nothing reads ---

# y = ids + mask + types, each [batch, seq, 5]
printf '\010\010:\270\001\012\023\012\003ids\012\004mask\022\001s"\003Add\012\022\012\001s\012\005types\022\001y"\003Add\022\000Z!\012\003ids\022\032\012\030\010\001\022\024\012\007\022\005batch\012\005\022\003seq\012\002\010\005Z"\012\004mask\022\032\012\030\010\001\022\024\012\007\022\005batch\012\005\022\003seq\012\002\010\005Z#\012\005types\022\032\012\030\010\001\022\024\012\007\022\005batch\012\005\022\003seq\012\002\010\005b\037\012\001y\022\032\012\030\010\001\022\024\012\007\022\005batch\012\005\022\003seq\012\002\010\005B\004\012\000\020\015' >seq.onnx
run models show seq.onnx --input seq=2
[ $code -eq 0 ] && [ "$(grep -c "^input '.*': 2x5$" out)" -eq 3 ]
report $? "the size that all inputs share is given once"
run models show seq.onnx --input 1x2x5 --input 1x2x5 --input 1x2x5
[ $code -eq 0 ] && [ "$(grep -c "^input '.*': 2x5$" out)" -eq 3 ] && ! grep -q "^samples: whole" out
report $? "ONNX's own shapes of all inputs are those of one sample"
run models show seq.onnx --input seq=2 --input seq=3
[ $code -eq 2 ] && grep -q "two sizes are given for 'seq'" err
report $? "... but not twice"
run models show seq.onnx --input len=2
[ $code -eq 2 ] && grep -q "there is no input 'len' .* 'types', with sizes 'batch', 'seq'" err
report $? "a name of neither an input nor a size is refused"
run models show seq.onnx
[ $code -eq 2 ] && grep -q "(--input ids=seqx5), or seq of all inputs at once (--input seq=SIZE)" err
report $? "a message shows both ways"
npy two.npy '|u1' '(2, 1, 5)' '\1\2\3\4\5\6\7\10\11\12'
npy one.npy '|u1' '(1, 1, 5)' '\1\2\3\4\5'
run --db none.sqlite run seq.onnx --memory 64KiB --runs 1 --input ids=one.npy --input mask=two.npy --input types=two.npy
[ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e none.sqlite ] &&
    grep -q "'one.npy' has 1 sample of input 'ids', and 'two.npy' 2 of input 'mask': --request 1 takes" err
report $? "files of different numbers of samples are refused before anything is measured"
run --quiet measure seq.onnx --input seq=1 --batches 1,2 --no-copies --time-limit 0.1
run --quiet run seq.onnx --memory 64KiB --runs 1 --input ids=one.npy --input mask=two.npy --input types=two.npy
[ $code -eq 1 ] && grep -q "'one.npy' has 1 sample of input 'ids', and 'two.npy' 2 of input 'mask': --request 1 takes" err
report $? "files of different numbers of samples are refused"
run --quiet run seq.onnx --memory 64KiB --runs 1 --input ids=one.npy --input mask=two.npy --input types=two.npy \
    --request 1 --output y.npy
[ $code -eq 0 ] && [ "$(floats y.npy 5)" = "3 6 9 12 15" ]
report $? "... unless the request says how many are taken"

# y = relu(x), x is [N, 3, 8, 8], and u, [N, 4], is read by nothing
printf '\010\010:b\012\014\012\001x\022\001y"\004Relu\022\000Z\034\012\001x\022\027\012\025\010\001\022\021\012\003\022\001N\012\002\010\003\012\002\010\010\012\002\010\010Z\024\012\001u\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\004b\034\012\001y\022\027\012\025\010\001\022\021\012\003\022\001N\012\002\010\003\012\002\010\010\012\002\010\010B\004\012\000\020\015' >unread.onnx
npy x.npy '|u1' '(1, 3, 8, 8)' "$(printf '\\%.0s1' $(seq 192))"
npy u.npy '|u1' '(1, 4)' '\1\2\3\4'
run models show unread.onnx --input u=4
[ $code -eq 0 ] && grep -qx "input 'x': 3x8x8" out && grep -qx "input 'u': no node reads it" out
report $? "models show names an input that nothing reads"
run --quiet measure unread.onnx --batches 1 --no-copies --time-limit 0.1
run run unread.onnx --memory 64KiB --runs 1 --input x=x.npy --input u=u.npy
[ $code -eq 0 ] && grep -q "warning: no node of the network reads input 'u': 'u.npy' is not read" err
report $? "a file for it is not read, which is said"
run run unread.onnx --memory 64KiB --runs 1 --input v=x.npy
[ $code -eq 2 ] && grep -q "'v=x.npy' is NAME=FILE.npy of no input; the input is 'x'" err
report $? "a name of no input is refused where there is one input, too"
run --db none.sqlite run unread.onnx --memory 64KiB --runs 1 --input v=x.npy
[ $code -eq 2 ] && ! grep -q measuring err && [ ! -e none.sqlite ]
report $? "... before anything is measured"

# y = softmax(x) along the batch: a sample is a whole input of the file
printf '\010\010:\134\012\034\012\001x\022\001y"\007Softmax*\013\012\004axis\030\000\240\001\002\022\000Z\034\012\001x\022\027\012\025\010\001\022\021\012\003\022\001N\012\002\010\003\012\002\010\010\012\002\010\010b\034\012\001y\022\027\012\025\010\001\022\021\012\003\022\001N\012\002\010\003\012\002\010\010\012\002\010\010B\004\012\000\020\015' >whole.onnx
npy x.npy '|u1' '(2, 3, 8, 8)' "$(printf '\\%.0s1' $(seq 384))"
run --quiet measure whole.onnx --batches 1,2 --no-copies --time-limit 0.1
run --quiet run whole.onnx --memory 64KiB --runs 1 --input x.npy --output y.npy
[ $code -eq 0 ] && grep -q '^whole: 1 sample ' out && [ "$(floats y.npy 3)" = "0.5 0.5 0.5" ]
report $? "a file of two entries along which the network computes is one input"
run --quiet run whole.onnx --memory 64KiB --runs 1 --input 1x3x8x8 --input x.npy --output y.npy
[ $code -eq 0 ] && grep -q '^whole: 2 samples ' out && [ "$(floats y.npy 3)" = "1 1 1" ]
report $? "... or two, which are counted in the file, too"

# --- the same inputs wherever a model is named ---

run --quiet measure several.onnx --fix t=2 --batches 1,2 --no-copies --db fixed.sqlite
report $code "a network whose number is fixed is measured"
VBSLAB_DB=fixed.sqlite
run plan several.onnx --memory 64KiB
[ $code -ne 0 ] && grep -q "run 'vbslab measure several.onnx' first" err
report $? "its profile is none of the network whose number is not"
cp several.onnx "its net.onnx"
for name in several.onnx "its net.onnx"; do
    run --db "a store's.sqlite" plan "$name" --fix t=2 --until y=1 --memory 64KiB
    command=$(sed -n "s/.*run 'vbslab \(.*\)' first$/\1/p" err)
    eval "run --quiet $command --batches 1 --no-copies --time-limit 0.1"
    [ -n "$command" ] && [ $code -eq 0 ] && run --db "a store's.sqlite" plan "$name" --fix t=2 --until y=1 --memory 64KiB
    report $code "the command that plan names makes the profile of $name that it lacks"
done
run plan several.onnx --fix t=2 --memory 64KiB --json fixed.json
report $code "plan finds it by the same options"
for command in "compare several.onnx --memory 64KiB" "frontier several.onnx" "explain several.onnx --memory 64KiB" \
    "report several.onnx --memory 64KiB -o fixed.html" "replay several.onnx fixed.json" "profiles show several.onnx"; do
    run $command --fix t=2
    report $code "... and so does ${command%% *}"
done
run plan several.onnx --fix t --memory 64KiB
[ $code -eq 2 ] && grep -q "plan: --fix 't' is not NAME=NUMBER" err
report $? "what is no number is refused there, too"
if [ -n "$(command -v strace)" ]; then
    strace -f -e trace=openat -o calls "$VBSLAB" --quiet run several.onnx --fix t=2 --memory 64KiB --runs 1 --threads 1 >out 2>err
    [ "$(grep -c several.onnx calls)" -le 2 ]
    report $? "run reads the file once, and once more where it is started again for its threads"
fi
VBSLAB_DB=store.sqlite

run export several.onnx -o again.onnx
[ $code -eq 0 ] && run models show again.onnx && grep -qx "input 'm': 4, 0 or 1" out
report $? "a file that is written has the inputs"
finish
