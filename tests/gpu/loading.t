#!/bin/sh
# Which libraries the program loads on a machine with a GPU, CUDA and cuDNN: none for commands that need
# no GPU, those that the dynamic linker finds for those that do, and not others where the first ones
# cannot be loaded. Called by `make test-gpu`. VBSLAB: the program.
. "$(dirname "$0")/../cli/lib.sh"
VBSLAB_DB=store.sqlite
export VBSLAB_DB

cat >mine.net <<'END_OF_NET'
model mine
input 3x32x32
conv    c1 out=16 kernel=3 pad=1
relu    r1
maxpool p kernel=2 stride=2
fc      f out=10
softmax prob
END_OF_NET

# traced ARGUMENTS...: runs the program. The files in which the dynamic linker looked last for the two
# libraries, and so found them where they are loaded, are in the file loaded.
traced()
{
    rm -f trace.*
    LD_DEBUG=libs LD_DEBUG_OUTPUT=trace "$VBSLAB" "$@" >out 2>err
    code=$?
    for name in libcudart libcudnn; do
        sed -n "s|.*trying file=\\(.*/$name\\.so\\.[0-9]*\\)\$|\\1|p" trace.* | tail -n 1
    done >loaded
}

traced models
[ $code -eq 0 ] && [ ! -s loaded ]
report $? "a command that needs no GPU loads no library of CUDA"
traced --db cpu.sqlite --quiet measure mine.net --batches 1-2 --time-limit 1
[ $code -eq 0 ] && [ ! -s loaded ]
report $? "nor does measuring on the CPU"
traced backends
[ $code -eq 0 ] && grep -q '^cudnn *yes' out && grep -q /libcudart.so loaded && grep -q /libcudnn.so loaded
report $? "the GPU can be used: $(grep '^cudnn' out)"
sed 's/^/# loaded: /' loaded
traced --quiet measure mine.net --backend cudnn --batches 1-4 --time-limit 2
[ $code -eq 0 ] && [ "$(cat out)" = 1 ] && grep -q /libcudnn.so loaded
report $? "a network is measured on it"
sed 's/^/# loaded: /' loaded
run run 1 --model mine.net --planner dp-vbs+ --memory 1MiB --request 8 --repeat 2 --check
[ $code -eq 0 ] && grep -q 'outputs are those of one sample at a time' out err
report $? "and a schedule is executed on it"

# The same libraries by another name of their folder.
traced backends
cudnn=$(grep /libcudnn.so loaded)
cudart=$(grep /libcudart.so loaded)
ln -s "$(dirname "$cudnn")" cudnn
ln -s "$(dirname "$cudart")" cudart
LD_LIBRARY_PATH=$dir/cudnn:$dir/cudart
export LD_LIBRARY_PATH
traced backends
[ $code -eq 0 ] && grep -q '^cudnn *yes' out && grep -q "^$dir/cudnn/libcudnn.so" loaded &&
    grep -q "^$dir/cud[a-z]*/libcudart.so" loaded
report $? "LD_LIBRARY_PATH says where they are"
run --quiet measure mine.net --backend cudnn --batches 1-2 --time-limit 1
report $code "and kernels run with those"

mkdir broken
echo "no library" >"broken/$(basename "$cudnn")"
LD_LIBRARY_PATH=$dir/broken
refuses "what is no library is not used, and is named" 1 "$(basename "$cudnn"): file too short" \
    measure mine.net --backend cudnn
run --db cpu.sqlite run 1 --model mine.net --planner fbs --memory 1MiB --request 4 --repeat 1
report $code "commands that need no GPU run nevertheless"
finish
