#!/bin/bash
# A sweep on a real Slurm: a controller and two node daemons on this machine, with sbatch and squeue.
# One node vanishes in the middle: its daemon and all that runs on it are killed, and Slurm is told
# that it is down. make test-slurm runs this as root, which the daemons need; their files are in a folder
# of their own, and they listen on ports of their own. VBSLAB: the program.
. "$(dirname "$0")/../cli/lib.sh"

if [ "$(id -u)" -ne 0 ] || ! command -v slurmctld slurmd sbatch munged >/dev/null; then
    echo "1..0 # SKIP needs root, slurmctld, slurmd, slurm-client and munge"
    exit 0
fi
VBSLAB_LOCKS=$dir/locks
export VBSLAB_LOCKS
mkdir locks run spool1 spool2 state
chmod 755 "$dir"

# --- Slurm ---

# The key, the socket and the log of a munge of its own.
mkdir munge && chmod 700 munge && dd if=/dev/urandom of=munge/key bs=128 count=1 status=none && chmod 400 munge/key
chmod 711 munge
munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" \
    --seed-file="$dir/munge/seed" --force 2>munge.err
host=$(hostname -s)
cpus=$(nproc)
cat >slurm.conf <<END_OF_FILE
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CryptoType=crypto/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout=20
InactiveLimit=0
MinJobAge=300
KillWait=2
MaxArraySize=5
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=$cpus
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=$cpus
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END_OF_FILE
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF

# stop: ends the daemons, which their files of process ids name.
stop()
{
    for file in run/slurmd-one.pid run/slurmd-two.pid run/slurmctld.pid munge/pid; do
        [ ! -s "$dir/$file" ] || kill "$(cat "$dir/$file")" 2>/dev/null
    done
    sleep 1
}
trap 'stop; cd / && rm -rf "$dir"' EXIT

# soon SECONDS COMMAND...: waits until the command succeeds, at most so long.
soon()
{
    local left=$(($1 * 5))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.2
    done
}

idle() { [ "$(sinfo -h -N -o '%T' | grep -c '^idle')" -eq 2 ]; }
empty() { [ -z "$(squeue -h)" ]; }
count() { "$VBSLAB" sweep s.toml --status --json | sed -n "/groups/q;s/^ *\"$1\": \([0-9]*\),*/\1/p"; }
at_least() { [ "$(count done)" -ge "$1" ]; }

slurmctld -c >slurmctld.out 2>&1
slurmd -N one >slurmd-one.out 2>&1
slurmd -N two >slurmd-two.out 2>&1
soon 30 idle
report $? "$(sinfo -V): a controller and two nodes"
sinfo -N -o '%N %T %c' | sed 's/^/# /'

# --- an undisturbed sweep ---

cat >s.toml <<'END_OF_FILE'
[slurm]
options = ["--ntasks=1"]
[lists]
model = ["lenet-5", "alexnet", "squeezenet-v1.0"]
memory = { from = 30, to = 70, step = 10 }
[[task]]
name = "measure"
command = ["measure", "{model}", "--backend", "analytic", "--batches", "1-2", "--db", "{result}.sqlite"]
[[task]]
name = "plan"
command = ["plan", "{model}", "--planner", "dp-vbs+", "--memory", "{memory}MB", "--request", "4", "--db", "{measure}.sqlite"]
END_OF_FILE
"$VBSLAB" sweep s.toml --slurm >out 2>err
code=$?
sed 's/^/# /' out
[ $code -eq 0 ] && [ "$(sed 's/^[0-9]*: //' out | tr '\n' '|')" = "3 tasks in 3 elements|15 tasks in 5 elements|" ]
report $? "18 tasks are submitted as two arrays, the second no larger than MaxArraySize, which is 5"
squeue -o '# %i %j %T %E %N'
soon 90 empty
report $? "the queue becomes empty"
[ "$(count done)" -eq 18 ] && [ -z "$(ls s.results/claims s.results/running | grep '^[0-9a-f]')" ]
report $? "all 18 tasks are done"
[ "$(cat s.results/*.log | grep -c '^\$ vbslab')" -eq 18 ]
report $? "... each once"

# --- a node vanishes ---

# Each task takes about a second: a search that ends after that time.
cat >s.toml <<'END_OF_FILE'
[sweep]
patience = 6
[slurm]
options = ["--ntasks=1"]
[lists]
seed = { from = 1, to = 24 }
[[task]]
command = ["plan", "example.csv", "--planner", "optimal", "--memory", "600kB", "--request", "200", "--time-limit", "1", "--seed", "{seed}", "--io", "external"]
accept = [0, 3]
END_OF_FILE
"$VBSLAB" profiles list >/dev/null 2>&1
"$VBSLAB" --db p.sqlite --quiet measure vgg-16 --backend analytic --batches 1-12 >/dev/null
"$VBSLAB" --db p.sqlite profiles export 1 example.csv
sed -i 's/600kB/60MB/' s.toml
rm -rf s.results
"$VBSLAB" sweep s.toml --slurm >out 2>err
code=$?
sed 's/^/# /' out
[ $code -eq 0 ] && grep -q ": 24 tasks in 5 elements" out
report $? "24 tasks of a second or more are submitted"
soon 60 at_least 4
squeue -o '# %i %T %N'
done_before=$(count done)
# The processes that the node runs: those of this Slurm's jobs there, which have it in their environment.
on_two=$(for pid in /proc/[0-9]*; do
    (tr '\0' '\n' <"$pid/environ" | grep -xc -e 'SLURMD_NODENAME=two' -e "SLURM_CONF=$SLURM_CONF" | grep -qx 2) 2>/dev/null &&
        echo "${pid#/proc/}"
done)
held=$(echo "$on_two" | wc -w)
kill -9 "$(cat run/slurmd-two.pid)"
[ -z "$on_two" ] || kill -9 $on_two 2>/dev/null
scontrol update NodeName=two State=DOWN Reason=vanished
echo "# node two is killed, with $held processes, after $done_before tasks were done"
[ "$held" -gt 0 ] && [ "$done_before" -ge 4 ] && [ "$done_before" -lt 24 ]
report $? "a node is killed while it runs tasks"
squeue -o '# %i %T %N %r'
soon 180 empty
report $? "Slurm runs its elements again, and the queue becomes empty"
[ "$(count done)" -eq 24 ] && [ "$(count failed)" -eq 0 ] && [ "$(ls s.results/*.txt | wc -l)" -eq 24 ]
report $? "all 24 tasks are done, none is lost"
[ -z "$(ls s.results/claims s.results/running | grep '^[0-9a-f]')" ]
report $? "nothing of the vanished processes stays"
[ "$(cat s.results/*.log | grep -c '^\$ vbslab')" -eq 24 ] && ! grep -q . s.results/*.failed 2>/dev/null
report $? "each result is of one run"

finish
