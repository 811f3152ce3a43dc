#!/bin/sh
# The command sweep: tasks out of descriptions, their names and results, what is passed over, retried and
# blocked; claims of processes that were killed, of ones that are gone, and of ones that cannot be seen;
# tasks that run alone; xargs; what is submitted to Slurm, with a small sbatch in place of the real one
# (make test-slurm has that one). VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=sweep
VBSLAB_LOCKS=$dir/locks
export VBSLAB_LOCKS
mkdir locks

# count STATE: prints how many tasks of s.toml have this state.
count()
{
    "$VBSLAB" sweep "${2:-s.toml}" --status --json | sed -n "/groups/q;s/^ *\"$1\": \([0-9]*\),*/\1/p"
}

# --- tasks and results ---

mkdir 'a folder'
cp "$ROOT/db/teaching/vbs-example.csv" "a folder/it's \"one\".csv"
cat >s.toml <<'END_OF_FILE'
[lists]
profile = ['''a folder/it's "one".csv''']
memory = ["1MB", "1B", "1.0MB"]
case = [{ planner = "fbs", request = 4 }, { planner = "dp-vbs+", request = 8 }]

[[task]]
name = "plan"
command = ["plan", "{profile}", "--planner", "{case.planner}", "--request", "{case.request}", "--memory", "{memory}", "--json", "{result}.schedule"]
accept = [0, 3]

[[task]]
name = "replay"
command = ["replay", "{profile}", "{plan}.schedule"]
END_OF_FILE
run s.toml --list
[ $code -eq 0 ] && [ "$(wc -l <out)" -eq 12 ] && [ "$(sort -u out | wc -l)" -eq 12 ] && ! grep -v "sweep $dir/s.toml --task [0-9]*-[0-9a-f]\{16\}$" out
report $? "lists are multiplied out into tasks, each with a name"
cp out list
run s.toml --jobs 3
[ $code -eq 1 ] && grep -q "^10 done, 2 failed, 0 blocked" out
report $? "they run; tasks whose exit code is not accepted have failed"
grep -q "replay) failed with exit code" err && log=$(sed -n 's/.*see \(.*\)$/\1/p;q' err) && [ -s "$log" ] &&
    head -n 1 "$log" | grep -q "^\\$ vbslab 'replay' 'a folder/it'" && [ "$(ls s.results/*.failed | wc -l)" -eq 2 ]
report $? "... and each keeps its log"
[ "$(ls s.results/*.txt | wc -l)" -eq 10 ] && [ "$(ls s.results/*.schedule | wc -l)" -eq 4 ] &&
    [ -z "$(ls s.results/claims s.results/running | grep '^[0-9a-f]')" ]
report $? "results lie under the names of their tasks, and nothing else stays"
name=$(sed -n '1s/.*--task 0-//p' list)
stat -c '%i %y' "s.results/$name".* >before
run s.toml --jobs 2
stat -c '%i %y' "s.results/$name".* | cmp -s - before && [ $code -eq 1 ] && [ ! -s err ]
report $? "done and failed tasks are passed over"
run s.toml --retry
[ $code -eq 1 ] && [ "$(wc -l <err)" -eq 2 ]
report $? "tasks that have failed run again with --retry"
{ cat "a folder/it's \"one\".csv"; echo; } >changed && mv changed "a folder/it's \"one\".csv"
run s.toml --list
[ "$(wc -l <out)" -eq 12 ] && ! grep -q "$name" out
report $? "where a file that they read has changed, they are other tasks"
refuses "... and the old ones are not run any more" 2 "is another one now" s.toml --task "0-$name"

printf 'line one\nline two' >"$(printf 'a\nb.csv')"
cat >s.toml <<'END_OF_FILE'
[sweep]
results = "res 'u' lts"
[lists]
text = ["a\nb.csv", "-x", "é 'q' \"d\"", "$(touch oops)", "{{", ""]
[[task]]
command = ["help", "{text}"]
accept = [0, 2]
[[task]]
name = "twin"
command = ["help", "{text}"]
accept = [0, 2]
END_OF_FILE
run s.toml
[ $code -eq 0 ] && grep -q "^12 done, 0 failed, 0 blocked; 6 of them equal to others" out && [ ! -e oops ]
report $? "names with quotes, line feeds and dashes are data; tasks of equal content run once"
run s.toml --status --csv
[ $code -eq 0 ] && [ "$(grep -c ',done,' out)" -eq 6 ] && [ "$(grep -c ',equal,' out)" -eq 6 ]
report $? "... and have a row each"

# --- tasks that read results, xargs ---

# Two tasks that measure, and six that plan with what these wrote.
cat >chain.toml <<'END_OF_FILE'
[lists]
model = ["lenet-5", "alexnet"]
memory = { from = 30, to = 50, step = 10 }
[[task]]
name = "plan"
command = ["plan", "{model}", "--planner", "dp-vbs+", "--memory", "{memory}MB", "--request", "4", "--db", "{measure}.sqlite"]
[[task]]
name = "measure"
command = ["measure", "{model}", "--backend", "analytic", "--batches", "1-2", "--db", "{result}.sqlite"]
END_OF_FILE
cp chain.toml s.toml
"$VBSLAB" sweep s.toml --list >list
head -n 1 list >one
timeout 600 xargs -d '\n' -r -n 1 -P 4 sh -c <list >out 2>err
[ $? -eq 0 ] && [ "$(count done)" -eq 8 ] && [ ! -s out ] && [ "$(wc -l <list)" -eq 8 ] && [ "$(ls s.results/*.sqlite | wc -l)" -eq 2 ]
report $? "xargs runs the list with four processes, tasks that run alone and tasks that read results among them"
rm -rf s.results
task=$("$VBSLAB" sweep s.toml --status --csv | sed -n 's/^\(7\),\([^,]*\),plan.*/\1-\2/p')
run s.toml --task "$task"
[ $code -eq 0 ] && [ "$(count done)" -eq 2 ] && [ "$(count left)" -eq 6 ]
report $? "a task by itself makes the results that it reads first"

# --- what is refused ---

# bad NAME PART TEXT: checks that a description is refused.
bad()
{
    printf '%b' "$3" >bad.toml
    refuses "$1" 1 "$2" bad.toml
}
task='[[task]]\ncommand = ["help"]\n'
bad "an unknown key" "[[task]]" ''
bad "a key like another one" "task 'help' has no key 'comand': did you mean 'command'?" '[[task]]\nname = "help"\ncomand = ["help"]\n'
bad "a table like another one" "has no key 'list': did you mean 'lists'?" "$task[list]\\na = [1]\\n"
bad "a list that no command has" "list 'a': no command has {a}" "$task[lists]\\na = [1]\\n"
bad "a word like a list" "{modl} is no list, no other task and not {result}: did you mean {model}?" '[lists]\nmodel = ["x"]\n[[task]]\ncommand = ["plan", "{modl}", "{model}"]\n'
bad "tasks that read each other's results" "it reads its own result, through other tasks or itself" '[[task]]\nname = "a"\ncommand = ["plan", "{b}"]\n[[task]]\nname = "b"\ncommand = ["plan", "{a}"]\n'
bad "a file that all tasks write" "'net.onnx' is written by every task" '[[task]]\ncommand = ["export", "lenet-5", "-o", "net.onnx"]\n'
bad "too many tasks" "at most 16777216 tasks" '[lists]\na = { from = 1, to = 10000 }\nb = { from = 1, to = 10000 }\n[[task]]\ncommand = ["plan", "{a}", "{b}"]\n'
bad "a date" "bad.toml:1:8: dates and times" 'name = 2020-01-01\n'
bad "half a brace" "has a brace without its fellow" '[[task]]\ncommand = ["plan", "{a"]\n'
printf "$task" >good.toml
refuses "two ways to run" 2 "exclude each other" good.toml --list --jobs 2
refuses "no task of this name" 2 "is no task" good.toml --task x
refuses "a description that is not there" 1 "nowhere.toml" nowhere.toml
printf '[sweep]\nresults = "/proc/results"\n'"$task" >bad.toml
refuses "a folder that cannot be written" 1 "/proc/results" bad.toml
printf '[[task]]\ncommand = ["plan", "x"]\nreads = ["none.csv"]\n' >bad.toml
refuses "a file to be read that is not there" 1 "none.csv" bad.toml

# --- processes that vanish ---

cat >s.toml <<'END_OF_FILE'
[sweep]
patience = 1
[lists]
memory = { from = 1, to = 6 }
[[task]]
command = ["plan", "example.csv", "--planner", "dp-vbs+", "--memory", "{memory}MB", "--request", "40"]
accept = [0, 3]
END_OF_FILE
cp "$ROOT/db/teaching/vbs-example.csv" example.csv
name=$("$VBSLAB" sweep s.toml --list | sed -n '3s/.*--task 2-//p')
mkdir -p s.results/claims "s.results/running/$name.1"
echo half >"s.results/running/$name.1/output"
sleep 0 & gone=$!
wait $gone
boot=$(cat /proc/sys/kernel/random/boot_id) space=$(readlink /proc/self/ns/pid)
printf '%020d\nhost\n%s %s %d 1\n' 7 "$boot" "$space" "$gone" >"s.results/claims/$name.1"
[ "$(count running)" -eq 0 ] && [ "$(count left)" -eq 6 ]
report $? "a claim of a process of this machine that is gone counts nothing"
run s.toml --jobs 2
[ $code -eq 0 ] && [ "$(count done)" -eq 6 ] && [ ! -e "s.results/running/$name.1" ] && [ ! -e "s.results/claims/$name.1" ]
report $? "... its task is taken over, and what it left is removed"
mkdir "s.results/running/$name.1"
printf '%020d\nhost\n%s %s %d 1\n' 7 "$boot" "$space" "$gone" >"s.results/claims/$name.1"
run s.toml
[ $code -eq 0 ] && [ "$(count done)" -eq 6 ] && [ ! -e "s.results/running/$name.1" ] && [ ! -e "s.results/claims/$name.1" ]
report $? "... also where it had ended its task"
rm -rf s.results && mkdir -p s.results/claims
printf '%020d\nelsewhere\nboot space 5 1\n' 7 >"s.results/claims/$name.1"
[ "$(count running)" -eq 1 ]
report $? "a claim of another machine counts as running"
run s.toml
[ $code -eq 0 ] && [ "$(count done)" -eq 6 ] && [ ! -e "s.results/claims/$name.1" ]
report $? "... until its count has stood still for the sweep's patience"
# milliseconds: prints the time.
milliseconds()
{
    date +%s%3N
}

# counts: changes the count of a claim for longer than the sweep's patience, as often as this shell can. The file
# "steady" is there in the end where no two changes are as far apart as load might stretch to that patience.
counts()
{
    begin=$(milliseconds) last=$begin now=$begin i=0 longest=0
    while [ $((now - begin)) -lt 4000 ]; do
        i=$((i + 1))
        printf '%020d' $((1000000 - i)) 1<>"s.results/claims/$name.1"
        now=$(milliseconds)
        [ $((now - last)) -le $longest ] || longest=$((now - last))
        last=$now
    done
    [ $longest -gt 500 ] || touch steady
    echo other >"s.results/$name.txt"
    rm "s.results/claims/$name.1"
}
rm -f steady
for try in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf s.results && mkdir -p s.results/claims
    printf '%020d\nelsewhere\nboot space 5 1\n' 7 >"s.results/claims/$name.1"
    counts &
    run s.toml
    wait
    [ ! -e steady ] || break
done
[ $code -eq 0 ] && [ "$(cat "s.results/$name.txt")" = other ] && [ "$(count done)" -eq 6 ]
report $? "while the count changes, in whatever direction, the task is left to its owner"

# A worker goes on after somebody took its task over, and a third one has the same generation of a claim again.
cat >wait.sh <<'END_OF_FILE'
#!/bin/sh
echo >>began
while [ ! -e go ]; do sleep 0.05; done
cat >/dev/null
echo null
END_OF_FILE
chmod +x wait.sh
cat >w.toml <<'END_OF_FILE'
[sweep]
patience = 1
[[task]]
command = ["plan", "example.csv", "--planner", "exec:./wait.sh", "--memory", "1MB", "--request", "4", "--time-limit", "300"]
accept = [3]
END_OF_FILE
name=$("$VBSLAB" sweep w.toml --list | sed -n 's/.*--task 0-//p')
# takes_over TEXT COMMAND: while a worker runs the task, another one takes it over by the command.
takes_over()
{
    rm -rf began go w.results
    "$VBSLAB" sweep w.toml >out 2>err &
    worker=$!
    wait_until $worker test -s began
    (cd w.results && eval "$2")
    touch go
    wait $worker
    code=$?
    [ $code -eq 0 ] && [ "$(wc -l <began)" -eq 2 ] && [ ! -s "w.results/$name.txt" ] &&
        [ -e "w.results/$name.txt" ] && [ -z "$(ls w.results/claims w.results/running | grep "$name")" ]
    report $? "$1, nothing is moved, and the task is done again"
}
foreign()
{
    printf '%020d\nelsewhere\nboot space 5 1\n' 7 >"claims/$name.$1"
    mkdir "running/$name.$1.other"
    echo half >"running/$name.$1.other/output"
}
takes_over "a claim whose file is another one's is lost" 'rm "claims/$name.1" && foreign 1'
takes_over "where a later claim has removed the folder" 'rm -r running/$name.1.* && foreign 2'
takes_over "where the claim is gone" 'rm "claims/$name.1"'

# A worker of this machine is stopped, and goes on after another one took its task over.
rm -rf began go w.results
"$VBSLAB" sweep w.toml >stopped-out 2>stopped-err &
stopped=$!
wait_until $stopped test -s began
kill -STOP $stopped
"$VBSLAB" sweep w.toml >out 2>err &
worker=$!
began_twice()
{
    [ "$(wc -l <began)" -eq 2 ]
}
wait_until $worker began_twice
touch go
wait $worker
code=$?
[ $code -eq 0 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$name: process $stopped on .* has given no sign for 1 s; its task is run here" err
report $? "the task of a worker that is stopped is taken over on its own machine, which a line says"
stat -c '%i %y' "w.results/$name".* >before
kill -CONT $stopped
wait $stopped
code=$?
[ $code -eq 0 ] && grep -q "^1 done" stopped-out && [ ! -s stopped-err ] && stat -c '%i %y' "w.results/$name".* | cmp -s - before &&
    [ -z "$(ls w.results/claims w.results/running | grep "$name")" ]
report $? "... and when it goes on, it leaves the result as it is"

# Killed at any moment, again and again: in the end each task has one whole result.
cat >s.toml <<'END_OF_FILE'
[lists]
memory = { from = 1, to = 40 }
[[task]]
command = ["plan", "example.csv", "--planner", "dp-vbs+", "--memory", "{memory}00kB", "--request", "40"]
accept = [0, 3]
END_OF_FILE
rm -rf s.results
kills=0
while [ $kills -lt 6 ]; do
    kills=$((kills + 1))
    "$VBSLAB" sweep s.toml --jobs 3 >out 2>err & worker=$!
    sleep 0.0$kills
    kill -9 $worker
    wait $worker
done 2>/dev/null
run s.toml --jobs 2
[ $code -eq 0 ] && [ "$(count done)" -eq 40 ] && [ "$(ls s.results/*.txt | wc -l)" -eq 40 ] &&
    [ -z "$(ls s.results/claims)" ] && [ -z "$(find s.results -name '*.txt' ! -name '[0-9a-f]*')" ]
report $? "killed with SIGKILL again and again, a sweep loses nothing"

# Two workers share the tasks: each log has one command.
rm -rf s.results
"$VBSLAB" sweep s.toml --jobs 2 >other 2>&1 &
run s.toml --jobs 2
wait
[ $code -eq 0 ] && [ "$(count done)" -eq 40 ] && [ "$(cat s.results/*.log | grep -c '^\$ vbslab')" -eq 40 ]
report $? "two workers run each task once"

# --- the disk is full ---

if unshare -rm true 2>/dev/null; then
    cat >full.sh <<'END_OF_FILE'
mkdir -p s.results && mount -t tmpfs -o size=64k,nr_inodes=64 none s.results || exit 77
"$VBSLAB" sweep s.toml --jobs 2 >out 2>err
echo $? >code
ls s.results/*.failed 2>/dev/null | wc -l >failed
rm -f s.results/*.log
umount s.results
END_OF_FILE
    rm -rf s.results
    VBSLAB=$VBSLAB unshare -rm sh full.sh
    if [ $? -eq 77 ]; then
        skip "a full disk" "no file system can be mounted"
    else
        [ "$(cat code)" -eq 1 ] && [ "$(cat failed)" -eq 0 ] && grep -q "No space left on device" err
        report $? "where the disk is full, the sweep stops and says so; no task has failed by it"
    fi
else
    skip "a full disk" "no file system can be mounted"
fi

# --- Slurm ---

mkdir bin
cat >bin/sbatch <<'END_OF_FILE'
#!/bin/sh
for word; do printf '%s\n' "$word"; done >>"$SUBMITTED"
echo -- >>"$SUBMITTED"
n=$(grep -c '^--$' "$SUBMITTED")
for last; do :; done
cp "$last" "$SUBMITTED.$n"
echo "$((100 + n));cluster"
END_OF_FILE
cat >bin/scontrol <<'END_OF_FILE'
#!/bin/sh
echo "AccountingStorageHost = x"
echo "MaxArraySize            = 4"
END_OF_FILE
chmod +x bin/sbatch bin/scontrol
mkdir '50% off'
cd '50% off'
{ printf '[slurm]\noptions = ["--partition=debug", "--comment=a '"'b'"'"]\n'; cat ../chain.toml; } >s.toml
SUBMITTED=$PWD/submitted PATH=$dir/bin:$PATH
export SUBMITTED
"$VBSLAB" sweep s.toml --slurm >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = "101: 2 tasks in 2 elements
102: 6 tasks in 4 elements" ]
report $? "tasks become an array for each level, no larger than the controller allows"
folder=$(sed -n 's|^\(/.*\)/job.sh$|\1|p' submitted | tail -n 1)
escaped=$(echo "$folder" | sed 's/%/%%/')
[ "$(tail -n 12 submitted | sed "s|=$escaped|=OUTPUT|; s|$folder|FOLDER|" | tr '\n' '|')" = "--|--parsable|--job-name=s|--array=0-3|--output=OUTPUT/%A_%a.txt|--open-mode=append|--requeue|--dependency=afterany:101|--partition=debug|--comment=a 'b'|FOLDER/job.sh|--|" ]
report $? "... with the options of the description, behind the arrays that it needs"
grep -q '^--exclusive$' submitted && [ "$(grep -c '^--exclusive$' submitted)" -eq 1 ]
report $? "... and nodes of their own for tasks that run alone"
for i in 0 1 2 3; do
    SLURM_ARRAY_TASK_ID=$i sh submitted.2 || echo "failed $i"
done >out 2>err
[ ! -s err ] && [ "$(tr '\n' '|' <out)" = "4 done, 0 failed, 0 blocked|4 done, 0 failed, 0 blocked|2 done, 0 failed, 0 blocked|2 done, 0 failed, 0 blocked|" ]
report $? "the elements of the script share the tasks"
[ "$(count done)" -eq 8 ]
report $? "... all of them"
"$VBSLAB" sweep s.toml --slurm >out 2>err
[ ! -s out ] && grep -q "no task is left" err
report $? "then none is left to submit"
rm -rf s.results submitted*
"$VBSLAB" sweep s.toml --slurm --dry-run >out 2>err
[ $? -eq 0 ] && [ ! -e s.results ] && [ ! -e submitted ] && [ "$(grep -c '^sbatch --parsable' out)" -eq 2 ] &&
    grep -q -- '--share "$SLURM_ARRAY_TASK_ID/4"' out
report $? "--dry-run prints scripts and commands, and does nothing"

finish
