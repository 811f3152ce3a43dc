#!/bin/sh
# The cudnn backend by the command line, on a fake GPU where the backend is built: measuring,
# planning, executing; and the messages where something is missing or fails. The libraries are those of
# $FAKE or made here. VBSLAB: the program; CC: the compiler.
. "$(dirname "$0")/lib.sh"
VBSLAB_DB=store.sqlite
export VBSLAB_DB

says() # NAME CODE TEXT
{
    [ "$code" -eq "$2" ] && grep -qF -- "$3" out err
    report $? "$1"
}

cat >mine.net <<'END_OF_NET'
model mine
input 3x16x16
conv      c1 out=16 kernel=3 pad=1
relu      r1
maxpool   p kernel=2 stride=2
conv      c2 out=16 kernel=3 pad=1
batchnorm b2
relu      r2
fc        f out=64
relu      r3
fc        g out=10
softmax   prob
END_OF_NET

# --- the program as it is ---

run backends
cp out backends
says "the cudnn backend is listed" 0 cudnn
if grep -q '^cudnn *no' out; then
    run measure mine.net --backend cudnn
    [ $code -eq 1 ] && one_error "backend 'cudnn' cannot be used here: " && [ ! -e store.sqlite ]
    report $? "where it cannot be used, measuring says why in one line"
fi

for file in "$VBSLAB" "$(dirname "$VBSLAB")/libvbslab.so"; do
    [ -e "$file" ] || continue
    ldd "$file" >out 2>err && ! grep libcud out
    report $? "${file##*/} is linked with no library of CUDA"
done
FAKE=$(dirname "$VBSLAB")/tests/fake
if grep -q 'built without CUDA' backends || [ ! -e "$FAKE" ]; then
    echo "# the cudnn backend is not built: nothing more to test"
    finish
fi

# --- without CUDA, or with another one ---

CUDART=$(cd "$FAKE" && echo libcudart.so.*)
CUDNN=$(cd "$FAKE" && echo libcudnn.so.*)
functions=$(sed -n 's/^ *X(\(cud[A-Za-z0-9]*\)).*/\1/p' "$ROOT/src/backend/cudnn/api.h")

mkdir libraries
LD_LIBRARY_PATH=$PWD/libraries
export LD_LIBRARY_PATH

# libraries CUDART-FILE CUDNN-FILE: has the program find these two.
libraries()
{
    ln -f "$1" "libraries/$CUDART"
    ln -f "$2" "libraries/$CUDNN"
}

# refuses_device NAME TEXT: measuring on a GPU fails with one line that has TEXT, and so says the list.
refuses_device()
{
    run backends
    cp out backends
    [ $code -eq 0 ] && run measure mine.net --backend cudnn &&
        one_error "backend 'cudnn' cannot be used here: $2" && [ $code -eq 1 ] &&
        grep -qF -- "no: $2" backends && [ ! -e store.sqlite ]
    report $? "$1"
}

# A library of all functions, which do nothing and are not called.
for name in $functions; do
    echo "void $name(void) {}"
done >stub.c
${CC:-cc} -shared -fPIC -o stub.so stub.c
report $? "a library of $(echo "$functions" | wc -l) functions is made"
echo "no library" >text.so
libraries text.so stub.so
refuses_device "a file that is not the CUDA runtime" "CUDA "
grep -q "$CUDART: file too short" err
report $? "it is named"
libraries stub.so text.so
refuses_device "a file that is not cuDNN" "cuDNN "
grep -q "$CUDNN: file too short" err
report $? "it is named"
does "what needs no GPU does not load them" 1 --db cpu.sqlite --quiet measure mine.net --batches 1-2 --time-limit 1
run --db cpu.sqlite run 1 --model mine.net --planner fbs --memory 1MiB --request 4 --repeat 1
report $code "and a schedule is executed"

# In each of these libraries another function has another name, which is as long.
wrong=
for name in $functions; do
    sed "s/\x00$name\x00/\x00${name%?}_\x00/g" stub.so >lacking.so
    case $name in
    cuda*) libraries lacking.so stub.so && file=$CUDART library=CUDA ;;
    *) libraries stub.so lacking.so && file=$CUDNN library=cuDNN ;;
    esac
    run backends
    grep -q "^cudnn *no: vbslab was built for $library [0-9.]*: there is no $name in $file *$" out && [ $code -eq 0 ] ||
        wrong="$wrong $name"
done
[ -z "$wrong" ] && [ "$(echo "$functions" | wc -l)" -gt 70 ]
report $? "every function that a library lacks is named$wrong"
refuses_device "measuring names the last of them" "vbslab was built for cuDNN"

# --- on a fake GPU ---

LD_LIBRARY_PATH=$FAKE
rm -f cpu.sqlite
run backends
says "a GPU is found" 0 'fake device 0'
run --quiet measure mine.net --backend cudnn --batches 1-4 --time-limit 1
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "a network is measured on it"
run profiles export 1 -
grep -q '^# copy: pinned,' out && grep -q '^# copy: page-cache,' out && grep -q ',precomp-gemm,' out
report $? "its profile has algorithms of cuDNN, and copies from pinned memory"
run compare 1 --baselines all --memory 128KiB --request 8
says "it is planned for" 0 'dp-vbs+'
for planner in fbs dp-vbs+ mmcnn vdnn joint; do
    case $planner in
    fbs | dp-vbs+) weights=excluded ;;
    *) weights=included ;;
    esac
    run run 1 --model mine.net --planner $planner --weights $weights --memory 290KiB --request 8 \
        --repeat 1 --check --output $planner.npy
    says "$planner is executed" 0 'outputs are those of one sample at a time'
done
run run 1 --model mine.net --planner dp-vbs+ --memory 200KiB --request 8 --repeat 1
says "the memory is that of the device" 0 'all of it, on the device'
run run 1 --model mine.net --planner dp-vbs+ --memory 200KiB --request 8 --debug-checks
[ $code -eq 1 ] && one_error "debug checks look into the arena, which is on a device here"
report $? "debug checks are not for devices"
"$VBSLAB" --db cpu.sqlite --quiet measure mine.net --batches 1-4 --time-limit 1 >out 2>err
"$VBSLAB" --db cpu.sqlite --quiet run 1 --model mine.net --planner fbs --memory 1MiB --request 8 \
    --repeat 1 --output cpu.npy >out 2>err
[ "$(wc -c <cpu.npy)" -eq "$(wc -c <fbs.npy)" ]
report $? "outputs are as large as those of the other backend"

# --- faults ---

faulty() # NAME WORDS TEXT
{
    FAKE_CUDA=$2
    export FAKE_CUDA
    run measure mine.net --backend cudnn --batches 1-2 --time-limit 1
    unset FAKE_CUDA
    [ $code -eq 1 ] && one_error "$3"
    report $? "$1"
}

faulty "no device" none 'no CUDA device'
faulty "a driver that is too old" driver 'the driver is for CUDA 12.4, older than the CUDA runtime'
faulty "another cuDNN" cudnn 'cuDNN 8 is installed, vbslab was built with cuDNN 9'
faulty "another CUDA" runtime 'the CUDA runtime is 12.9, vbslab was built with CUDA 13'
faulty "too little memory" memory=1200000 'the GPU is out of memory'
faulty "memory that ends later" cudaMalloc=2 'the GPU is out of memory'
faulty "a device that is lost" lost=30 'an illegal memory access was encountered'
run profiles
[ $code -eq 0 ] && grep -q '^ 1 .*complete' out
report $? "the store is as it was"
FAKE_CUDA=lost=200
export FAKE_CUDA
run run 1 --model mine.net --planner fbs --memory 1MiB --request 8
unset FAKE_CUDA
[ $code -eq 1 ] && one_error "(700)"
report $? "a device that is lost while a schedule is executed"
run --quiet measure mine.net --backend cudnn --batches 1-2 --time-limit 1
[ $code -eq 0 ]
report $? "what was broken off is measured afterwards"
finish
