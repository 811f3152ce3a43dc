#!/bin/sh
# The command tune: a study from its description to its results; runs that are killed go on; several
# workers do no trial twice; what is refused. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=tune
VBSLAB_LOCKS=$dir
OMP_NUM_THREADS=1
export VBSLAB_LOCKS OMP_NUM_THREADS

# bytes N...: prints bytes of these values.
bytes()
{
    for byte in "$@"; do
        printf "\\$(printf %03o "$byte")"
    done
}

# Images of 4 x 4 bytes of two classes, bright above or bright on the left, of a brightness of their own.
mkdir data
for part in train:80 t10k:8; do
    n_images=${part#*:}
    name=data/${part%:*}
    { bytes 0 0 8 3 0 0 0 "$n_images" 0 0 0 4 0 0 0 4; } >"$name-images-idx3-ubyte"
    { bytes 0 0 8 1 0 0 0 "$n_images"; } >"$name-labels-idx1-ubyte"
    i=0
    while [ $i -lt "$n_images" ]; do
        b=$((120 + i * 37 % 100)) d=$((i * 11 % 60))
        if [ $((i % 2)) -eq 0 ]; then
            bytes $b $b $b $b $b $b $b $b $d $d $d $d $d $d $d $d
        else
            bytes $b $b $d $d $b $b $d $d $b $b $d $d $b $b $d $d
        fi >>"$name-images-idx3-ubyte"
        bytes $((i % 2)) >>"$name-labels-idx1-ubyte"
        i=$((i + 1))
    done
done
printf 'model tiny\ninput 1x4x4\nconv a out=32 kernel=3 pad=1\nrelu ar\nconv b out=32 kernel=3 pad=1\nrelu br\nfc f out=2\nsoftmax s\n' >tiny.net

# study NAME LINES...: writes NAME.toml, with these lines in [study].
study()
{
    file=$1
    shift
    {
        printf '[study]\nname = "%s"\nmodel = "tiny.net"\ndata = "data"\nbackend = "analytic"\n' "$file"
        printf 'batches = "1,2,4"\nrequest = 4\nepochs = 1\nbatch = 16\nround = 8\n'
        [ $# -eq 0 ] || printf '%s\n' "$@"
        printf '[[parameter]]\nname = "first"\ngroup = "a"\n[[parameter]]\ngroups = ["b"]\nhigh = 0.75\n'
    } >"$file.toml"
}

# results NAME: prints what a study came to, without times and files.
results()
{
    "$VBSLAB" --db "${2:-store.sqlite}" tune "$1.toml" --show --csv | cut -d, -f1-4,8-21
}

# ---- a study ----

study whole 'memory = "20KiB"' 'trials = 5' 'accuracy_loss_at_most = 0.9' 'initial = 2'
"$VBSLAB" --db store.sqlite --quiet tune whole.toml >/dev/null
"$VBSLAB" --db store.sqlite tune whole.toml >out 2>err
code=$?
[ $code -eq 0 ] && grep -q '^study whole: 5 of 5 trials complete' out &&
    grep -q '^   0   control ' out && grep -q 'best (\*): trial' out && grep -q 'importance for throughput' out
report $? "a study is carried out, and its end shown again"
[ "$(results whole | wc -l)" -eq 7 ] && results whole | head -n 1 | grep -q '^trial,state,feasible,seed,removed:first,removed:b,accuracy'
report $? "CSV has a row for the control and for each trial"
prints "JSON names the best trial" '"format": "vbslab-study-1"' --db store.sqlite whole.toml --show --json
best=$(sed -n 's/^ "best": \([0-9]*\),/\1/p' out)
"$VBSLAB" --quiet --db store.sqlite tune whole.toml --export-best best.onnx 2>err &&
    "$VBSLAB" --quiet --db store.sqlite tune whole.toml --export-best other.onnx --trial "$best" &&
    cmp -s best.onnx other.onnx && "$VBSLAB" eval best.onnx --data data >/dev/null
report $? "the best trial's network is written, and runs"
for kind in history importance parallel slice contour pareto; do
    run --db store.sqlite whole.toml --plot $kind $kind.svg
    [ $code -eq 0 ] && grep -q '</svg>' $kind.svg
    report $? "a picture: $kind"
done

# 0.008 + (0.456 - 0.008) is above 0.456 in doubles.
study rounded 'objective = "latency"' 'trials = 8' 'sampler = "grid"'
sed 's/^high = 0.75/low = 0.008\nhigh = 0.456\nstep = 0.448/' rounded.toml >r && mv r rounded.toml
run --quiet --db rounded.sqlite rounded.toml
run --db rounded.sqlite rounded.toml --plot contour rounded.svg
[ $code -eq 0 ] && grep -q '</svg>' rounded.svg
report $? "a contour over a range whose width is rounded"

# ---- stopped and continued ----

study whole 'memory = "20KiB"' 'trials = 5' 'accuracy_loss_at_most = 0.9' 'initial = 2'
for time in 0.05 0.1 0.15 0.2 0.3; do
    timeout -s KILL $time "$VBSLAB" --quiet --db killed.sqlite tune whole.toml >/dev/null 2>&1
done
run --quiet --db killed.sqlite whole.toml
[ $code -eq 0 ] && results whole >wanted && results whole killed.sqlite >got && cmp -s wanted got
report $? "a study that was killed five times has the results of one that was not"
run --quiet --db jobs.sqlite whole.toml --jobs 2
[ $code -eq 0 ] && [ "$(sqlite3 jobs.sqlite 'SELECT count(*), count(DISTINCT number), sum(state = '"'complete'"') FROM trial')" = "6|6|6" ]
report $? "two training processes and one that measures do each trial once"
study more 'memory = "20KiB"' 'trials = 2' 'accuracy_loss_at_most = 0.9'
"$VBSLAB" --quiet --db more.sqlite tune more.toml >/dev/null
study more 'memory = "20KiB"' 'trials = 3' 'accuracy_loss_at_most = 0.9'
run --db more.sqlite more.toml --worker
[ $code -eq 0 ] && grep -q '^study more: 3 of 3' out && [ "$(grep -c '^vbslab: tune: trial' err)" -eq 1 ]
report $? "a study can get more trials, and a worker joins it"

# ---- merged ----

"$VBSLAB" --db merged.sqlite profiles merge store.sqlite >out 2>err
[ ! -s err ] && sed -n 2p out | grep -q ' 6  *0  *0$' && results whole merged.sqlite >got && cmp -s wanted got
report $? "a merge brings the trials of a study, and its times"
for file in store.sqlite-studies/whole/*.onnx; do
    name=${file##*/}
    cmp -s "$file" merged.sqlite-studies/whole/"${name%.onnx}"-????????????????.onnx || echo "$name differs"
done >differ
[ ! -s differ ] && "$VBSLAB" --quiet --db merged.sqlite tune whole.toml --export-best merged.onnx && [ -s merged.onnx ]
report $? "... with their networks"
[ "$(sqlite3 merged.sqlite "SELECT count(*) FROM trial WHERE file NOT LIKE '$dir/merged.sqlite-studies/whole/trial-%'")" -eq 0 ]
report $? "... in its own folder"
study more 'memory = "20KiB"' 'trials = 4' 'accuracy_loss_at_most = 0.9'
"$VBSLAB" --db merged.sqlite profiles merge more.sqlite >out 2>err
run --db merged.sqlite more.toml
[ $code -eq 0 ] && grep -q '^study more: 4 of 4' out && [ "$(grep -c '^vbslab: tune: trial' err)" -eq 1 ]
report $? "a study that came over is gone on with"

study apart 'memory = "20KiB"' 'trials = 2' 'accuracy_loss_at_most = 0.9'
"$VBSLAB" --quiet --db apart.sqlite tune apart.toml --only measure >/dev/null 2>&1 &
run --quiet --db apart.sqlite apart.toml --only train
wait $! && [ $code -eq 0 ] && [ "$("$VBSLAB" --db apart.sqlite tune apart.toml --show --csv | grep -c ',complete,')" -eq 3 ]
report $? "one process trains, another one measures"

# ---- trials that another study has trained ----

study early 'objective = "accuracy"' 'trials = 6' 'sampler = "grid"' 'training_seed = 5'
study late 'objective = "latency"' 'trials = 6' 'sampler = "grid"' 'training_seed = 5'
for name in early late; do
    "$VBSLAB" --quiet --db shared.sqlite tune $name.toml >/dev/null
done
# accuracies STUDY: point and accuracy of its trials, in one order.
accuracies() {
    sqlite3 shared.sqlite "SELECT number, group_concat(trial_value.name || '=' || value) FROM trial JOIN study ON study.id = study
        JOIN trial_value ON trial = trial.id WHERE study.name = '$1' AND (kind = 'parameter' OR trial_value.name = 'accuracy') GROUP BY number"
}
reused="SELECT count(*), sum(value) FROM study JOIN trial ON study = study.id JOIN trial_value ON trial = trial.id WHERE trial_value.name = 'reused' AND study.name ="
[ "$(accuracies early)" = "$(accuracies late)" ] && [ "$(accuracies early | wc -l)" -eq 7 ] &&
    [ "$(sqlite3 shared.sqlite "$reused 'early'")|$(sqlite3 shared.sqlite "$reused 'late'")" = "7|0.0|7|7.0" ]
report $? "a study takes over what another one has trained"
rm shared.sqlite-studies/early/trial-0002.onnx shared.sqlite-studies/*/trial-0004.onnx
study last 'objective = "hybrid"' 'trials = 6' 'sampler = "grid"' 'training_seed = 5'
"$VBSLAB" --quiet --db shared.sqlite tune last.toml >/dev/null
[ "$(accuracies early)" = "$(accuracies last)" ] && [ "$(sqlite3 shared.sqlite "$reused 'last'")" = "7|6.0" ]
report $? "... from any study that still has the file, and trains where none has it"
study other 'objective = "accuracy"' 'trials = 6' 'sampler = "grid"' 'training_seed = 6'
"$VBSLAB" --quiet --db shared.sqlite tune other.toml >/dev/null
[ "$(sqlite3 shared.sqlite "$reused 'other'")" = "7|0.0" ]
report $? "... and where it was trained with another seed"
cp -r data images
for name in before again after; do
    study $name 'objective = "accuracy"' 'trials = 2' 'sampler = "grid"' 'training_seed = 7'
    sed 's/^data = .*/data = "images"/' $name.toml >n && mv n $name.toml
    [ $name != after ] || bytes 1 2 3 4 | dd of=images/train-images-idx3-ubyte bs=1 seek=40 conv=notrunc 2>/dev/null
    "$VBSLAB" --quiet --db shared.sqlite tune $name.toml >/dev/null
done
[ "$(sqlite3 shared.sqlite "$reused 'again'")|$(sqlite3 shared.sqlite "$reused 'after'")" = "3|3.0|3|0.0" ]
report $? "... and where an image has changed, but no name and no size"

# ---- a store of several machines ----

study machines 'objective = "latency"' 'trials = 1' 'sampler = "grid"'
"$VBSLAB" --quiet --db machines.sqlite tune machines.toml >/dev/null
before=$(sqlite3 machines.sqlite 'SELECT count(*) FROM trial')
# A trial of another study on which a process of another machine works.
sqlite3 machines.sqlite "INSERT INTO study (name, description, hash, vbslab, date) VALUES ('far', '{}', 'x', 'x', '');
    INSERT INTO trial (study, number, state, stage, seed, owner, touched, begun)
    SELECT id, 0, 'running', 'train', 1, 'boot pid:[1] 7 9 elsewhere', unixepoch() - 60, '' FROM study WHERE name = 'far'"
study machines 'objective = "latency"' 'trials = 2' 'sampler = "grid"'
refuses "a store in which another machine works" 1 \
    "store 'machines.sqlite' has unfinished work of another machine, 'elsewhere'" --db machines.sqlite machines.toml
grep -q 'vbslab profiles merge' err && [ "$(sqlite3 machines.sqlite 'SELECT count(*) FROM trial')" -eq $((before + 1)) ]
report $? "... with what to do, and nothing is begun"
run --db machines.sqlite machines.toml --show
[ $code -eq 0 ]
report $? "its results are shown"
COMMAND=measure
refuses "nor does measure begin anything in it" 1 "has unfinished work of another machine, 'elsewhere'" \
    --db machines.sqlite ./tiny.net --backend analytic --batches 1
COMMAND=tune
sqlite3 machines.sqlite "UPDATE trial SET touched = unixepoch() - 700 WHERE owner LIKE '% elsewhere'"
run --quiet --db machines.sqlite machines.toml
[ $code -eq 0 ] && grep -q '^study machines: 2 of 2' out
report $? "ten minutes after its last sign it is gone"

# A library that puts every file on a file system of this type.
cat >place.c <<'END_OF_C'
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

int statfs(const char *path, struct statfs *about)
{
    (void)path;
    memset(about, 0, sizeof *about);
    about->f_type = strtol(getenv("FILE_SYSTEM"), NULL, 0);
    return 0;
}
END_OF_C
# on FILE_SYSTEM: works on the study there.
on()
{
    FILE_SYSTEM=$1 LD_PRELOAD=$dir/place.so "$VBSLAB" --quiet --db machines.sqlite tune machines.toml >out 2>err
    code=$?
}
if ${CC:-cc} -shared -fPIC -o place.so place.c 2>err && LD_PRELOAD=$dir/place.so "$VBSLAB" --version >out 2>err; then
    for place in 0x6969:NFS 0xff534d42:CIFS 0xfe534d42:SMB 0x01021997:9p 0x65735546:FUSE 0x47504653:GPFS; do
        on ${place%:*}
        [ $code -eq 1 ] && one_error "store 'machines.sqlite' lies on a network file system (${place#*:})" &&
            grep -q 'vbslab profiles merge' err
        report $? "a store on ${place#*:} is refused, with what to do"
    done
    on 0xef53
    [ $code -eq 0 ] && grep -q '^study machines: 2 of 2' out
    report $? "one on a disk is not"
else
    skip "a store on a network file system is refused" "nothing can be loaded before this program"
fi

# ---- objectives and samplers ----

study front 'objective = ["latency", "accuracy"]' 'trials = 5' 'sampler = "random"'
run --quiet --db store.sqlite front.toml
[ $code -eq 0 ] && grep -q '^hypervolume of the Pareto front' out
report $? "two objectives have a front"
study alone 'objective = ["latency", "accuracy"]' 'trials = 1' 'sampler = "random"'
run --quiet --db store.sqlite alone.toml
[ $code -eq 0 ] && grep -qx 'hypervolume of the Pareto front: none, because it is one trial' out &&
    "$VBSLAB" --quiet --db store.sqlite tune alone.toml --show --json | grep -q '"hypervolume": null'
report $? "a front of one trial has no hypervolume"
! grep '^best' out | grep -q ';' && grep -q '^best (\*): trial [0-9]*: latency .* us (control .*), accuracy [0-9.]*% (control [0-9.]*%)$' out
report $? "... and each is told once beside the control's"
for kind in history slice; do
    run --db store.sqlite front.toml --plot $kind $kind.svg
    [ $code -eq 0 ] && grep -q 'latency (us)' $kind.svg && grep -q 'accuracy (%)' $kind.svg
    report $? "all objectives are in a picture: $kind"
done
study long 'objective = "latency"' 'trials = 1' 'sampler = "random"'
sed 's/"first"/"a-parameter-whose-name-is-longer-than-others"/' long.toml >l && mv l long.toml
run --quiet --db store.sqlite long.toml
[ $code -eq 0 ] && grep -q '^removed of 1:a-parameter-whose-name-is-longer-than-others, 2:b$' out &&
    [ "$(sed -n '/^trial /,/^removed/p' out | awk 'length($0) > 100' | wc -l)" -eq 0 ]
report $? "parameters with long names have numbers in the table"
study hybrid 'objective = "hybrid"' 'trials = 2' 'sampler = "grid"'
prints "a hybrid objective, on a grid" "objective hybrid" --quiet --db store.sqlite hybrid.toml
study halves 'objective = "accuracy"' 'trials = 5' 'sampler = "halving"' 'least_epochs = 1' 'reduction = 2'
sed 's/^epochs = 1/epochs = 2/' halves.toml >h && mv h halves.toml
run --quiet --db store.sqlite halves.toml
[ $code -eq 0 ] && "$VBSLAB" --db store.sqlite tune halves.toml --show --json | grep -q '"continues": [0-9]'
report $? "successive halving goes on with a trial"
study inside 'memory = "30KiB"' 'weights = "included"' 'trials = 2'
prints "weights inside the budget" "weights included" --quiet --db store.sqlite inside.toml

# ---- what cannot be ----

study tight 'memory = "200B"' 'trials = 2' 'sampler = "random"'
run --quiet --db store.sqlite tight.toml
[ $code -eq 3 ] && grep -q 'no trial could be carried out: .*200' err
report $? "no trial fits the memory: exit 3"
study tighter 'memory = "200B"' 'trials = 2'
run --quiet --db store.sqlite tighter.toml
[ $code -eq 3 ] && grep -q 'no network of the search space fits the memory: ' err
report $? "... which is known without a trial where speed is known"
study high 'memory = "20KiB"' 'trials = 2' 'accuracy_at_least = 1' 'rate = 0.0000001'
run --quiet --db store.sqlite high.toml
[ $code -eq 3 ] && grep -q 'no trial is accurate enough; trial [0-9]* is the nearest, with [0-9.]*%, which lacks' err
report $? "no trial is accurate enough: exit 3, and what was reached"

refuses "a study is needed" 2 "needs one STUDY.toml"
refuses "a file that is not there" 1 "nothing.toml" nothing.toml
refuses "a picture's file is needed" 2 "needs STUDY.toml and the picture's file" whole.toml --plot history
refuses "an unknown picture" 2 "did you mean 'slice'?" --db store.sqlite whole.toml --plot slize x.svg
study wrong 'memori = "1KiB"'
refuses "an unknown key" 2 "wrong.toml: [study] has no key 'memori': did you mean 'memory'?" wrong.toml
study wrong 'objective = "accurracy"'
refuses "an unknown objective" 2 "did you mean 'accuracy'?" wrong.toml
study wrong
refuses "throughput needs a memory" 2 "memory is missing" wrong.toml
study wrong 'objective = "latency"' 'trials = 0'
refuses "no trials" 2 "trials is 0, but it must be at least 1" wrong.toml
study wrong 'objective = "latency"' 'sampler = "bayes"'
refuses "an unknown sampler" 2 "did you mean 'bayesian'?" wrong.toml
study wrong 'objective = "latency"'
sed 's/\["b"\]/["f"]/' wrong.toml >w.toml
refuses "a group that is fixed" 2 "'f'" --db w.sqlite w.toml
sed 's/\["b"\]/["bb"]/' wrong.toml >w.toml
refuses "an unknown group" 2 "did you mean 'b'?" --db w.sqlite w.toml
sed 's/\["b"\]/["a"]/' wrong.toml >w.toml
refuses "a group twice" 2 "both prune group 'a'" --db w.sqlite w.toml
sed 's/high = 0.75/high = 0.1/' wrong.toml >w.toml
refuses "a parameter without effect" 2 "parameter 'b' has no effect" --db w.sqlite w.toml
sed 's/^epochs = 1/epochs = 2/' whole.toml >w.toml
refuses "another description of the same name" 2 "with another description" --db store.sqlite w.toml
refuses "a study that nobody began" 2 "has no study 'wrong'" --db store.sqlite wrong.toml --worker
sed 's/"data"/"gone"/' wrong.toml >w.toml
refuses "data that are gone" 1 "gone" --db w.sqlite w.toml
sed 's/"resnet-8.onnx"/"resnet-8"/; s/^data = .*/data = "data"/' "$ROOT/examples/tune-resnet-8.toml" >w.toml
refuses "the example, but for its data" 1 "4x4" --db w.sqlite w.toml
sed 's/"tiny.net"/"lenet-5"/; s/\["b"\]/["conv2"]/; s/"a"/"conv1"/; s/round = 8/round = 1/' wrong.toml >w.toml
refuses "data of another shape" 1 "4x4" --db w.sqlite w.toml
sqlite3 store.sqlite "UPDATE study SET vbslab = '0.0.1' WHERE name = 'whole'"
refuses "a study of another version" 2 "was begun by vbslab 0.0.1" --db store.sqlite whole.toml
touch store.sqlite-studies/whole/trial-0001.checkpoint store.sqlite-studies/whole/trial-0002-0123456789abcdef.onnx
run --db store.sqlite whole.toml --delete
[ $code -eq 0 ] && [ -e killed.sqlite-studies/whole ] && [ ! -e store.sqlite-studies/whole ]
report $? "a study is deleted, with its networks"
refuses "... and is gone" 2 "has no study 'whole'" --db store.sqlite whole.toml --show

finish
