#!/bin/sh
# The cudnn backend by the command line, on a fake GPU where the backend is built: measuring,
# planning, executing; and the messages where something is missing or fails. VBSLAB: the program.
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
says "the cudnn backend is listed" 0 cudnn
if grep -q '^cudnn *no' out; then
    run measure mine.net --backend cudnn
    [ $code -eq 1 ] && one_error "backend 'cudnn' cannot be used here: " && [ ! -e store.sqlite ]
    report $? "where it cannot be used, measuring says why in one line"
fi

VBSLAB=$(dirname "$VBSLAB")/tests/vbslab-gpu
if [ ! -x "$VBSLAB" ]; then
    echo "# the cudnn backend is not built: nothing more to test"
    finish
fi

# --- on a fake GPU ---

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
