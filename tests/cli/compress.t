#!/bin/sh
# vbslab compress, and .vbz files as models of the other commands. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

cat >tiny.net <<'END'
model tiny
input 4x12x12
conv c1 out=16 kernel=3 pad=1
relu r1
conv c2 out=16 kernel=3 pad=1 groups=16
conv c3 out=32 kernel=3
relu r3
fc f1 out=20
softmax s1
END
cat >eight.net <<'END'
model eight
input 3x16x16
conv a1 out=8 kernel=3 pad=1
conv a2 out=8 kernel=3 pad=1
conv a3 out=8 kernel=3 pad=1
conv a4 out=8 kernel=3 pad=1
conv a5 out=8 kernel=3 pad=1
fc b1 out=40
fc b2 out=40
fc b3 out=40
END

# row LAYER COLUMN: prints a number of the CSV in the file "csv".
row()
{
    awk -F, -v layer="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
        NR > 1 && $2 == layer { print $at }' csv
}

# row_is NAME LAYER COLUMN=VALUE...: checks numbers of the CSV.
row_is()
{
    name=$1 layer=$2 wrong=
    shift 2
    for pair in "$@"; do
        [ "$(row "$layer" "${pair%%=*}")" = "${pair#*=}" ] ||
            wrong="$wrong $pair, not $(row "$layer" "${pair%%=*}")"
    done
    [ -z "$wrong" ] || echo "# $layer:$wrong" >&2
    [ -z "$wrong" ]
    report $? "$name"
}

# --- what is coded, and how ---

run compress tiny.net -o t.vbz --density 0.75 --csv && mv out csv
[ $code -eq 0 ] && [ -s t.vbz ] && [ ! -s err ]
report $? "a network is compressed"
row_is "few weights stay dense" c1 form=dense "reason=few weights" weights=576 stored_bytes=2304 nonzero=
row_is "channels on their own stay dense" c2 form=dense "reason=each channel on its own"
row_is "a convolution is coded in 8 bits" c3 form=joint rows=32 columns=144 bits=8 weights=4608 nonzero=3456 \
    density=0.75 values=256
row_is "an inner product in 5" f1 form=joint rows=20 columns=3200 bits=5 nonzero=48000 dense_bytes=256000 values=32
stored=$(row f1 stored_bytes)
[ "$stored" = "$(row f1 joint_bytes)" ] && [ "$(row f1 least_bytes | cut -d. -f1)" -lt "$stored" ] &&
    [ "$(row f1 comp_bytes)" -lt "$(row f1 bytes_bytes)" ] && [ "$(row f1 bytes_bytes)" -lt "$(row f1 csr_bytes)" ]
report $? "sizes are in their order"

run compress tiny.net -o u.vbz --density 0.75,conv=0.5,c3=0.1 --bits 4,f1=6,c1=3 --index-bits c3=3 --csv && mv out csv
row_is "a layer that is named is coded" c1 form=joint bits=3 nonzero=288
row_is "what names a layer goes first" c3 nonzero=461 bits=4 index_bits=3
row_is "then its kind, then all" f1 nonzero=48000 bits=6
for list in --index-bits=c1=3 --excess=c1=0.1 --format=c1=auto; do
    run compress tiny.net -o u.vbz $list --csv && mv out csv
    row_is "in any list: $list" c1 nonzero=576
done
run compress tiny.net -o u.vbz --density f1=0.1,7=0 --bits 12 --csv
[ $code -eq 2 ] && grep -q "no layer '7'" err
report $? "a layer without weights cannot be named"
run compress tiny.net -o u.vbz --density 80% --csv && mv out csv
row_is "80% is a preset: so much of all layers is pruned" f1 nonzero=12800
run compress tiny.net -o u.vbz --density 80% --json && grep -q '"preset": "80%"' out
report $? "of which the JSON tells the name"
for form in comp joint bytes; do
    run compress tiny.net -o $form.vbz --density 0.7 --format $form --block 3x100 --csv && mv out csv
    row_is "form $form" f1 form=$form block_rows=3 block_columns=100
done
run compress tiny.net -o u.vbz --bits 14 --csv && mv out csv
row_is "joint has at most 13 bits; comp is stored then" f1 form=comp joint_bytes=

run compress tiny.net -o u.vbz --density 0.7 --csv && mv out csv
least=$(row f1 value_bits)
run compress tiny.net -o u.vbz --density 0.7 --excess f1=50% --csv && mv out csv
awk -v a="$(row f1 value_bits)" -v b="$least" 'BEGIN { exit !(a < b) }'
report $? "a larger error makes codes shorter"

# --- the table ---

run compress tiny.net -o u.vbz --density 0.75
[ $code -eq 0 ] && grep -q '^ *1  c1 .*  dense$' out && grep -q '^ *4  f1 .*  75.0%   5+.*  joint$' out &&
    grep -q '^network: 271.1 KiB of parameters before, [0-9.]* KiB now, [0-9.]* times smaller' out &&
    grep -q '^dense: layers of fewer than 1024 weights' out && grep -q '^weights: seeded, not trained' out
report $? "a table with its words explained, and weights that are seeded"
run compress tiny.net -o v.vbz --density 0.75,conv=0.5 --bits 8
[ $code -eq 0 ] && grep -q '^ *1  c1 .*  dense$' out
report $? "a kind does not name a layer"
run compress tiny.net -o v.vbz --density 0.75 --bits c1=8,c2=8
[ $code -eq 0 ] && ! grep -q 'dense:' out
report $? "where none stays dense there is no word on it"
run compress u.vbz -o v.vbz
[ $code -eq 0 ] && ! grep -q 'seeded' out
report $? "nor on seeds where the file brings the weights"
run compress tiny.net -o v.vbz --block 1x1 --bits 8,c1=8,c2=8 --format joint
[ $code -eq 0 ] && grep -q '^ *coded .*  0\.[0-9][0-9]$' out && grep -q ' now, [0-9.]* times larger' out
report $? "and larger ones are called larger"

# --- the smallest ---

# Bits of a distance that compress chooses make no form of a layer larger than any other bits do. The
# smallest form is stored.
for density in 0.4 0.02; do
    run compress tiny.net -o u.vbz --density $density --csv && mv out csv
    for layer in c3 f1; do
        least=
        for form in comp joint bytes; do
            bytes=$(row $layer ${form}_bytes)
            echo "$layer $form $bytes" >>chosen.$density
            [ -n "$least" ] && [ "$least" -le "$bytes" ] || least=$bytes
        done
        [ "$(row $layer stored_bytes)" = "$least" ] && [ "$(row $layer "$(row $layer form)_bytes")" = "$least" ] ||
            echo "$layer at $density: $(row $layer form) is stored, of $(row $layer stored_bytes) bytes, not $least" >&2
    done 2>>larger
    for bits in 1 2 3 4 5 6 7 8; do
        run compress tiny.net -o u.vbz --density $density --index-bits $bits --csv && mv out csv
        for layer in c3 f1; do
            for form in comp joint bytes; do
                echo "$layer $form $(row $layer ${form}_bytes) $bits"
            done
        done
    done | awk -v density=$density 'NR == FNR { chosen[$1, $2] = $3; next }
        NF == 4 && $3 < chosen[$1, $2] { print $1 " at " density ": " $2 " has " chosen[$1, $2] \
            " bytes, and " $3 " with " $4 " bits" }' chosen.$density - >>larger
done
sed 's/^/# /' larger >&2
[ ! -s larger ]
report $? "no other bits of a distance and no other form are smaller"

run compress tiny.net -o mixed.vbz --density 0.4 --format bytes,fc=comp,c1=auto --bits c1=4 --json && mv out mixed.json
[ $code -eq 0 ] && [ "$(member mixed.json any_form)" = false ] && run models show mixed.vbz &&
    grep -q 'c3 .* bytes only .*f1 .* comp only' <<END
$(tr '\n' ' ' <out)
END
report $? "layers have forms of their own"
grep ' c1 ' out | grep -v only | grep -q '4+'
report $? "and one may have any form"
refuses "an unknown form of a layer" 2 "--format 'zip': it is auto, comp, joint or bytes" compress tiny.net -o x.vbz --format f1=zip

# --- presets ---

run compress eight.net -o e.vbz --density comp-alexnet --bits b2=4 --csv && mv out csv
row_is "COMP's densities of AlexNet" a2 form=dense
run compress eight.net -o e.vbz --density comp-alexnet --bits 8,fc=5,a2=8,b2=4 --csv && mv out csv
row_is "by layer" a2 nonzero=219 index_bits=4
row_is "of inner products" b1 nonzero=7373 index_bits=4 bits=5
row_is "with bits of their own" b2 nonzero=144 bits=4
refuses "a preset of another network" 2 "for 13 convolutions and 3 inner products, and 'eight' has 5 and 3" \
    compress eight.net -o e.vbz --density comp-vgg-16

# --- edges ---

run compress tiny.net -o d0.vbz --density 0 --csv && mv out csv
row_is "density 0" f1 nonzero=0 entries=0 values=1 error=0 value_bits= least_bytes=0
run compress tiny.net -o d1.vbz --density 1 --bits 16 --csv && mv out csv
row_is "density 1 with 16 bits" f1 nonzero=64000 error=0 form=bytes joint_bytes=
run compress tiny.net -o b1.vbz --bits 1 --csv && mv out csv
row_is "one bit" f1 values=2 nonzero=64000
printf 'model one\ninput 1x1x1\nconv c out=1 kernel=1\n' >one.net
run compress one.net -o one.vbz --bits c=16 --block 1000000x1000000 --csv && mv out csv
row_is "one weight" c weights=1 nonzero=1 values=2 block_rows=1 block_columns=1
run models show one.vbz
[ $code -eq 0 ]
report $? "and it is loaded"
refuses "a network without weights to code" 2 "no layer with weights to code" compress one.net -o x.vbz

# --- a .vbz is a model ---

run compress t.vbz -o again.vbz --json && mv out again.json
[ $code -eq 0 ] && cmp -s t.vbz again.vbz && [ "$(member again.json error | sort -u | tr '\n' ' ')" = "0.0 null " ]
report $? "weights that are shared already stay as they are"
run compress t.vbz -o less.vbz --density 0.1 --csv && mv out csv
row_is "and can be pruned further" f1 nonzero=6400 bits=5
prints "models show has the coded weights" "joint" models show t.vbz
grep -q '^coded: bytes in the file, .*; bits: of an index + a distance$' out
report $? "and says what the columns are"
run models show bytes.vbz
grep -q "bytes only .*70.0%   5+" out
report $? "with density and bits"
run models show t.vbz --csv
grep -q '^4,f1,fc.*,joint,0.75,5,[0-9],[0-9]*,float32,,,float32$' out
report $? "in CSV too"
run measure t.vbz --backend analytic --batches 1-2 --quiet
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "measure takes it"
run profiles
grep -q '^ *1  t ' out
report $? "under the name of its file"
OMP_PROC_BIND=false run measure ./t.vbz --threads 1 --batches 1-3 --no-copies --quiet
[ $code -eq 0 ] && [ "$(cat out)" = 2 ]
report $? "so it does with real kernels"
OMP_PROC_BIND=false run run ./t.vbz --memory 1MiB --request 3 --check --threads 1 --json
[ $code -eq 0 ] && [ "$(member out tolerance)" = 0.0001 ] && [ -n "$(member out n_changed)" ] # which kernels are the fastest, noise decides
report $? "run runs it"
run plan ./t.vbz --memory 1MiB
[ $code -eq 0 ]
report $? "plan finds its profile by the file"
run profiles export 2 t.csv
OMP_PROC_BIND=false run run t.csv --model e.vbz --memory 1MiB
[ $code -eq 1 ] && grep -q "the profile is of another network" err
report $? "a file of another network is refused"

# Other weights under the name of the file have no profile, whatever was measured before.
cp t.vbz first.vbz
run compress tiny.net -o t.vbz --density 0.05
refuses "other coded weights of the same name are not measured" 1 \
    "are of another network with this name, of other layers or other coded weights; run 'vbslab measure ./t.vbz' first" \
    plan ./t.vbz --memory 1MiB
OMP_PROC_BIND=false run run 2 --model ./t.vbz --planner fbs --memory 4MiB --threads 1
grep -q "warning: profile 2 was measured on another network, of other layers or other coded weights than 't'" err
report $? "a profile that is named is used with a warning"
OMP_PROC_BIND=false run run ./t.vbz --memory 1MiB --request 3 --check --threads 1 --json
[ $code -eq 0 ] && grep -q "no measured profile of 't' .*: measuring it first" err && ! grep -q 'another network' err
report $? "run measures them"
run plan ./t.vbz --memory 1MiB
grep -q 'profile *3,' out
report $? "and finds their profile"
mv first.vbz t.vbz
run plan ./t.vbz --memory 1MiB
[ $code -eq 0 ] && grep -q 'profile *2,' out
report $? "and the first one by the first weights"

# --- ONNX ---

cp "$DATA/onnx/external.onnx" "$DATA/onnx/external.bin" .
run compress external.onnx -o x.vbz --density 0.5 --bits 1=8,2=6 --csv && mv out csv
cut -d, -f2,4 csv >forms
rm external.bin external.onnx
run models show x.vbz
[ $code -eq 0 ] && [ "$(grep -c joint forms)" = "$(grep -c ' joint ' out)" ]
report $? "a .vbz needs no other file"
cp "$DATA/onnx/external.onnx" "$DATA/onnx/external.bin" .
chmod +w external.bin
printf '\000\000\300\177' | dd of=external.bin conv=notrunc status=none
refuses "a weight that is no number" 1 "is no number" compress external.onnx -o y.vbz --bits 1=8,2=6
printf '\000\000\200\177' | dd of=external.bin conv=notrunc status=none
refuses "an infinite weight" 1 "is infinite" compress external.onnx -o y.vbz --bits 1=8,2=6
[ ! -e y.vbz ]
report $? "and no file is written"

# --- files that are damaged ---

size=$(wc -c <t.vbz)
head -c 5000 t.vbz >cut.vbz
refuses "a file that is cut off" 1 "cut.vbz: the file is cut off: 5000 bytes of $size" models show cut.vbz
{ cat t.vbz; printf x; } >long.vbz
refuses "a file that is too long" 1 "long.vbz: the file has $((size + 1)) bytes" models show long.vbz
head -c $((size - 3000)) t.vbz >flip.vbz && printf '\377\000\377' >>flip.vbz && tail -c 2997 t.vbz >>flip.vbz
refuses "changed bytes" 1 "flip.vbz: layer 4 'f1': its coded weights are damaged" models show flip.vbz
{ head -c 8 t.vbz; printf '\002'; tail -c +10 t.vbz; } >later.vbz
refuses "a later version" 1 "later.vbz: version 2 of the format; this program reads version 1" models show later.vbz
cp "$DATA/onnx/torch_gates.onnx" onnx.vbz
refuses "another kind of file" 1 "onnx.vbz: no network with coded weights" models show onnx.vbz
: >empty.vbz
refuses "an empty file" 1 "'empty.vbz' is empty" models show empty.vbz
mkdir folder.vbz
refuses "a folder" 1 "folder.vbz" models show folder.vbz
refuses "no file" 1 "none.vbz" models show none.vbz
refuses "another input" 2 "input 4x13x13 does not suit the model" models show t.vbz --input 4x13x13

# --- wrong usage ---

refuses "no model" 2 "needs one MODEL" compress -o x.vbz
refuses "no output" 2 "needs -o NAME.vbz" compress tiny.net
refuses "-o without a value" 2 "-o needs a value: -o NAME.vbz" compress tiny.net -o
refuses "another ending" 2 "ends in .vbz" compress tiny.net -o tiny.onnx
refuses "no name before the ending" 2 "ends in .vbz" compress tiny.net -o .vbz
cp t.vbz same.vbz
refuses "the network itself" 2 "is the network that is read" compress t.vbz -o ./t.vbz
cmp -s t.vbz same.vbz
report $? "which is unchanged"
refuses "a folder that is not there" 1 "there is no folder 'none/'" compress tiny.net -o none/x.vbz
refuses "a place where nothing can be written" 1 "cannot create '/proc/x.vbz'" compress tiny.net -o /proc/x.vbz
refuses "a folder in place of the file" 1 "'folder.vbz': no regular file" compress tiny.net -o folder.vbz
refuses "a density above 1" 2 "--density '1.5'" compress tiny.net -o x.vbz --density 1.5
refuses "a density that is no number" 2 "--density 'nan'" compress tiny.net -o x.vbz --density nan
refuses "a preset in a list" 2 "a preset stands alone: comp-alexnet, comp-vgg-16, or 70%, 80% or 90% pruned" \
    compress tiny.net -o x.vbz --density comp-alexnet,f1=0.1
refuses "more than all" 2 "--density '101%'" compress tiny.net -o x.vbz --density 101%
refuses "a percentage that is no preset" 2 \
    "--density '10%': 0.1 keeps 10% of the weights, and 0.9 prunes 10%; percentages are presets" \
    compress tiny.net -o x.vbz --density 10%
refuses "a percentage in a list" 2 "--density '90%': 0.9 keeps 90% of the weights, and 0.1 prunes 90%" \
    compress tiny.net -o x.vbz --density f1=90%
refuses "17 bits" 2 "--bits" compress tiny.net -o x.vbz --bits 17
refuses "9 bits of a distance" 2 "--index-bits" compress tiny.net -o x.vbz --index-bits 9
refuses "an excess below 0" 2 "--excess '-1'" compress tiny.net -o x.vbz --excess -1
refuses "an empty list" 2 "--bits: the list is empty" compress tiny.net -o x.vbz --bits ,
refuses "a layer that is not there" 2 "no layer 'f2' with weights that can be coded; did you mean 'f1'?" \
    compress tiny.net -o x.vbz --density f2=0.5
refuses "too many bits for joint" 2 "joint takes at most 13 bits" compress tiny.net -o x.vbz --bits 8 --index-bits 6 --format joint
refuses "an unknown form" 2 "--format 'zip': it is auto, comp, joint or bytes" compress tiny.net -o x.vbz --format zip
refuses "a block of no rows" 2 "--block '0x4'" compress tiny.net -o x.vbz --block 0x4
refuses "no block" 2 "--block '4'" compress tiny.net -o x.vbz --block 4
refuses "JSON and CSV" 2 "exclude each other" compress tiny.net -o x.vbz --json --csv
run compress tiny.net -ox.vbz --density=0.5
[ $code -eq 0 ] && [ -s x.vbz ]
report $? "-oNAME"

# --- terminals ---

if command -v script >/dev/null; then
    on_terminal "stty cols 80; '$VBSLAB' --quiet compress tiny.net -o x.vbz"
    [ $code -eq 0 ] && tr -d '\r' <out | awk '{ gsub(/\033\[[0-9;]*[A-Za-z]/, "") } length > 80 { wide = 1 } END { exit wide }'
    report $? "the table fits a terminal of 80 columns"
    grep -q '^ *4  f1 .*  joint' out && ! grep -q 'stored:\|form:' out
    report $? "with all of a layer on its line"
else
    skip "the table fits a terminal of 80 columns" "there is no script"
fi
ls | grep -q 'part$'
[ $? -eq 1 ]
report $? "no other file is left"
finish
