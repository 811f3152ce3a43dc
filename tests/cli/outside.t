#!/bin/sh
# Planners from outside: programs (exec:) and shared objects (so:). Good ones are judged like the
# library's own, and each way to break the rules is one line with the right exit code and leaves no
# process behind. VBSLAB: the program; BUILD: the folder with examples/; CC: the compiler.
. "$(dirname "$0")/lib.sh"

EXAMPLES=${BUILD:-$ROOT/build}/examples
write_example >example.csv
# Programs that are built with AddressSanitizer reserve terabytes.
is_sanitized && VBSLAB_PLANNER_MEMORY=0 && export VBSLAB_PLANNER_MEMORY

# The steps of the example's two samples at batch 1, in order.
for k in 1 2 3; do printf '{"layer":%d,"batch":1,"algorithm":"default"},' $k; done >one
steps=$(cat one one | sed 's/,$//')
# The begin of an answer, without the budget.
head='{"format":"vbslab-schedule-1","request":2,"memory_bytes":'

# program NAME: makes a program of the shell commands of standard input. They may use $budgets, and
# answer BUDGET, which prints a good answer.
program()
{
    {
        printf "#!/bin/sh\nhead='%s'\nsteps='%s'\n" "$head" "$steps"
        cat <<'BEGIN'
answer() { printf '%s%s,"steps":[%s]}\n' "$head" "$1" "$steps"; }
budgets=$(sed -n 's/^ *"budgets": \[\(.*\)\],$/\1/p' | tr -d ,)
BEGIN
        cat
    } >"$1"
    chmod +x "$1"
}

# broken NAME CODE PART: a plan for 7 bytes by the program of standard input fails in this way.
broken()
{
    program bad
    refuses "$1" "$2" "$3" plan example.csv --request 2 --memory 7 --planner exec:./bad --time-limit "${LIMIT:-20}"
}

# ended PID: whether a process ends.
ended()
{
    ! wait_until "$1" false
}

# --- a good program ---

program good <<'END'
for m in $budgets; do
    if [ "$m" -lt 6 ]; then echo null; else answer "$m"; fi
done
END
run plan example.csv --request 2 --memory 7 --planner exec:./good --json plan.json
[ $code -eq 0 ] && [ ! -s err ] && [ "$(member plan.json planner)" = '"exec:good"' ] &&
    [ "$(member plan.json peak_bytes | head -n 1)" = 6 ] && [ "$(member plan.json per_sample_us)" = 12 ]
report $? "a program's plan has the figures of the replay"
run replay example.csv plan.json
[ $code -eq 0 ]
report $? "and is replayed like any other"
refuses "a budget for which it has no schedule" 3 "exec:good has no schedule for 5 bytes; the least budget of dp-vbs+ is 6 bytes" \
    plan example.csv --request 2 --memory 5 --planner exec:./good
cp good bare
run plan example.csv --request 2 --memory 7 --planner exec:bare
[ $code -eq 0 ]
report $? "a name without a slash is a file in the current folder"

run compare example.csv --request 2 --memory 5..9:1 --planners dp-vbs --planner exec:./good --csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $at["planner"] == "exec:good" { line = line $at["memory_bytes"] " " $at["feasible"] " " $at["per_sample_us"] " " $at["least_bytes"] ";" }
    END { print line }' out >got
[ $code -eq 0 ] && [ "$(cat got)" = "5 false  ;6 true 12 ;7 true 12 ;8 true 12 ;9 true 12 ;" ]
report $? "compare judges it at each budget, CSV"
run compare example.csv --request 2 --memory 5..9:1 --planners exec:./good --json
[ $code -eq 0 ] && [ "$(grep -c '"planner": "exec:good"' out)" -ge 5 ]
report $? "and JSON"
run compare example.csv --request 2 --memory 5..9:1 --planner exec:./good --plot plot.svg
[ $code -eq 0 ] && grep -q 'dp-vbs+ .*exec:good' out && grep -q 'exec:good not known' out && { [ ! -x "$(command -v gnuplot)" ] ||
    grep -q 'exec:good' plot.svg; }
report $? "and table and plot, beside the others"
program counts <<'END'
echo run >>runs
for m in $budgets; do answer "$m"; done
END
run compare example.csv --request 2 --memory 6..9:1 --planners exec:./counts
[ $code -eq 0 ] && [ "$(wc -l <runs)" -eq 1 ]
report $? "a comparison runs it once for all budgets"
rm runs
run frontier example.csv --request 2 --planner exec:./counts --csv curve.csv
[ $code -eq 0 ] && [ "$(wc -l <runs)" -eq 1 ] && [ "$(sed -n '2,$s/^\([0-9]*,[0-9.]*\),.*/\1/p' curve.csv)" = 6,24 ]
report $? "and so does a frontier"
program none <<'END'
for m in $budgets; do echo null; done
END
refuses "a frontier without any schedule" 3 "has a schedule for none of" frontier example.csv --request 2 --planner exec:./none
mkdir other && cp good other/good
refuses "two programs of one name" 2 "two planners are called 'exec:good'" \
    compare example.csv --request 2 --memory 7 --planner exec:./good,exec:other/good
name=$(printf 'x\ty<&\047.sh')
cp good "$name"
run compare example.csv --request 2 --memory 7 --planner "exec:./$name" --csv
[ $code -eq 0 ] && grep -qF "exec:x\\x09y<&'.sh" out
report $? "a name with control characters is shown"

# --- what it reads ---

program reads <<'END'
exit 1
END
cat >reads <<'END'
#!/bin/sh
cat >problem.json
echo "$PWD $#" >where
ls -l /proc/self/fd | awk '$9 > 2 && !/\/proc\/|reads/' | grep pipe >open
ulimit -d >limit
echo null
END
VBSLAB_PLANNER_MEMORY=64MiB run plan example.csv --request 2 --memory 7 --io resident --latency-us 1000 --planner exec:./reads
for part in '"format": "vbslab-problem-1"' '"request": 2' '"io": "resident"' '"weights": "excluded"' '"latency_us": 1000' \
    '"budgets": \[7\]' '"time_limit_s": 10' '"memory_limit_bytes": 67108864' '"batches": \[1, 2\]' '"input_bytes": 1' \
    '"inputs": \[2\]' '"ws_bytes": 8' '"in_place": false'; do
    grep -q "$part" problem.json || echo "$part"
done >missing
[ $code -eq 3 ] && [ ! -s missing ] && [ "$(cat where)" = "$PWD 0" ] && [ "$(cat limit)" = 65536 ] && [ ! -s open ]
report $? "it reads the problem, in this folder, within its limit of memory, with three files open;$(cat missing)"
printf '#!/bin/sh\necho null\n' >deaf && chmod +x deaf
refuses "one that does not read its input is no error of its own" 3 "has no schedule" \
    plan "$ROOT/db/profiles/resnet-50-a.csv" --memory 20MiB --planner exec:./deaf

# --- weights inside the budget ---

weights=$ROOT/db/profiles/alexnet-weights-a.csv
run plan "$weights" --memory 64MiB --request 2 --planner joint --json joint.json
program echoes <<'END'
tr -d '\n' <joint.json
END
run plan "$weights" --memory 64MiB --request 2 --weights included --planner exec:./echoes --json echo.json
# figures FILE: what the plan is expected to take, without what the planner reserved.
figures()
{
    grep '"predicted"' "$1" | sed 's/"reserved_bytes": [0-9]*, //'
}
figures joint.json >want
figures echo.json >got
[ $code -eq 0 ] && cmp -s want got && grep -q '"copied_bytes": [1-9]' got
report $? "with weights inside, a schedule of joint has the same figures"
# As many factors as layers, and one more.
{
    sed -n '/^#/p' "$weights"
    awk -F, '!/^#/ && !n[$1]++ { factors = factors ",1.5" } END { print "# beside: page-cache" factors }' "$weights"
    sed '/^#/d' "$weights"
} >beside.csv
run plan beside.csv --memory 64MiB --request 2 --weights included --copy page-cache --planner exec:./reads
[ $code -eq 3 ] && grep -q '"bytes_per_us": [0-9.]*, "beside": \[1.5, 1.5, [1., 5]*\] }' problem.json
report $? "it knows how much copies and layers slow each other down"
refuses "a schedule for weights inside where they are outside" 1 "'weights' is 'included'" \
    plan "$weights" --memory 64MiB --request 2 --planner exec:./echoes

# --- answers that break the rules ---

broken "a schedule above the budget" 3 "exec:bad, answer 1 of 1: its schedule breaks the budget of 7 bytes" <<'END'
answer 7 | sed 's/"batch":1/"batch":2/g; s/},{"layer":1.*\]/}]/'
END
broken "a schedule in the wrong order" 1 "exec:bad, answer 1 of 1: step 1 of 6" <<'END'
answer 7 | sed 's/"layer":1/"layer":2/'
END
broken "a schedule that does not end" 1 "exec:bad, answer 1 of 1:" <<'END'
answer 7 | sed 's/,{"layer":3[^]]*\]/]/'
END
broken "a schedule over several lines" 1 "answer 1 of 1: the line ends before the schedule does; an answer is one line" <<'END'
answer 7 | sed 's/,/,\n/'
END
broken "no steps at all" 1 "exec:bad, answer 1 of 1:" <<'END'
answer 7 | sed 's/\[.*\]/[]/'
END
broken "a layer that is not there" 1 "no layer 2000000000" <<'END'
answer 7 | sed 's/"layer":1/"layer":2000000000/'
END
broken "an algorithm that is not there" 1 "no row with algorithm 'magic'" <<'END'
answer 7 | sed 's/default/magic/'
END
broken "a schedule for another budget" 1 "'memory_bytes' is 8, but the budget is 7" <<'END'
answer 8
END
broken "for another request" 1 "'request' is 3, but the request is 2" <<'END'
answer 7 | sed 's/"request":2/"request":3/'
END
broken "for another io" 1 "'io' is 'resident', but the problem has 'external'" <<'END'
answer 7 | sed 's/"request"/"io":"resident","request"/'
END
broken "with weights" 1 "'weights' is 'included', but the problem has 'excluded'" <<'END'
answer 7 | sed 's/"request"/"weights":"included","request"/'
END
broken "too few lines" 1 "answered 0 lines for 1 budget" <<'END'
true
END
broken "too many lines" 1 "answered more than 1 line for 1 budget" <<'END'
answer 7; answer 7
END
broken "no JSON" 1 "exec:bad, answer 1 of 1:1: " <<'END'
echo 'hello, world'
END
broken "JSON that is nested too deep" 1 "maximum parsing depth" <<'END'
head -c 5000 /dev/zero | tr '\0' '['; echo
END
broken "bytes that are no UTF-8" 1 "unable to decode byte 0xff" <<'END'
answer 7 | sed 's/default/\xff\xfe/'
END
broken "a zero byte" 1 "exec:bad, answer 1 of 1:1: " <<'END'
printf '{"a":\0}\n'
END
broken "a huge whole number" 1 "too big integer" <<'END'
answer 7 | sed 's/"layer":1/"layer":99999999999999999999999/'
END
broken "a huge real number" 1 "real number overflow" <<'END'
answer 7 | sed 's/"layer":1/"layer":1e999/'
END
broken "a key twice" 1 "duplicate object key" <<'END'
answer 7 | sed 's/"request":2/"request":2,"request":2/'
END

# --- programs that end badly ---

broken "an exit code" 1 "ended with exit code 3 after 0 of 1 answers; it says: 'Oops: no idea'" <<'END'
echo 'first line' >&2; echo 'Oops: no idea' >&2; exit 3
END
broken "an exit code behind all answers" 1 "ended with exit code 4 after 1 of 1 answers" <<'END'
answer 7; exit 4
END
broken "a signal" 1 "died by signal 11" <<'END'
kill -SEGV $$
END
broken "a text of control characters" 1 "it says: '\\x1b[31mred'" <<'END'
printf '\033[31mred\n\n' >&2; exit 1
END
# hangs: has the program hang behind what it does first, which load may keep it from within a short limit.
hangs()
{
    program bad
    for LIMIT in 1 4 16 64; do
        rm -f began
        run plan example.csv --request 2 --memory 7 --planner exec:./bad --time-limit $LIMIT
        [ ! -e began ] || break
    done
}
hangs <<'END'
sleep 1000 & echo $! >child; echo $$ >parent; touch began; sleep 1000
END
[ $code -eq 1 ] && one_error "did not end within $LIMIT s, with 0 of 1 answers; --time-limit"
report $? "a program that hangs"
ended "$(cat child)" && ended "$(cat parent)"
report $? "is killed with its children"
hangs <<'END'
answer 7; touch began; exec sleep 1000
END
[ $code -eq 1 ] && one_error "did not end within $LIMIT s, with 1 of 1 answers"
report $? "one that hangs behind its answers"
LIMIT=20
broken "a program that floods" 1 "wrote more than 71680 bytes for one budget" <<'END'
echo $$ >parent; exec cat /dev/zero
END
ended "$(cat parent)"
report $? "is killed"
broken "one that floods with empty lines" 1 "bytes for one budget" <<'END'
exec yes ''
END
broken "one that floods with lines" 1 "exec:bad, answer 1 of 1" <<'END'
exec yes
END
broken "one that floods with errors" 1 "ended with exit code 1" <<'END'
head -c 3000000 /dev/zero | tr '\0' x >&2; exit 1
END
program leaves <<'END'
sleep 1000 & echo $! >child; answer 7
END
run plan example.csv --request 2 --memory 7 --planner exec:./leaves --time-limit 20
[ $code -eq 0 ] && ended "$(cat child)"
report $? "what a program leaves behind is killed"
if is_sanitized; then
    skip "a program that takes too much memory" "limits of memory are not for sanitizers"
else
    program big <<'END'
x=$(head -c 60000000 /dev/zero | tr '\0' x); answer 7
END
    VBSLAB_PLANNER_MEMORY=30MiB refuses "a program that takes too much memory" 1 "exec:big: " \
        plan example.csv --request 2 --memory 7 --planner exec:./big --time-limit 20
fi
program waits <<'END'
sleep 1000 & echo $! >child; echo $$ >parent.new; mv parent.new parent; sleep 1000
END
rm -f parent
"$VBSLAB" plan example.csv --request 2 --memory 7 --planner exec:./waits --time-limit 100 >out 2>err &
pid=$!
wait_until $pid test -e parent
kill -TERM $pid
wait $pid
code=$?
[ $code -eq 143 ] && one_error "interrupted" && ended "$(cat parent)" && ended "$(cat child)"
report $? "a signal to vbslab ends it with the program and its children"

# --- names ---

refuses "no program" 1 "cannot open './nobody'" plan example.csv --memory 7 --planner exec:nobody
refuses "a folder" 1 "'./other' is no file" plan example.csv --memory 7 --planner exec:./other
refuses "an empty name" 2 "write exec:PROGRAM" plan example.csv --memory 7 --planner exec:
refuses "a file that is no program" 1 "chmod +x" plan example.csv --memory 7 --planner exec:./example.csv
printf 'no program\n' >text && chmod +x text
refuses "a file without an interpreter" 1 "a script begins with" plan example.csv --memory 7 --planner exec:./text
printf '#!/nowhere/python\n' >lost && chmod +x lost
refuses "an interpreter that is missing" 1 "interpreter" plan example.csv --memory 7 --planner exec:./lost
VBSLAB_PLANNER_MEMORY=much refuses "a limit of memory that is none" 2 "VBSLAB_PLANNER_MEMORY: " \
    plan example.csv --memory 7 --planner exec:./good
refuses "options of searches" 2 "--seed is for planner optimal" plan example.csv --memory 7 --planner exec:./good --seed 1

# --- the examples ---

profile=$ROOT/db/profiles/alexnet-a.csv
if python3 -c 'import json' 2>/dev/null; then
    run compare "$profile" --planners dp-vbs+ --planner "exec:$ROOT/examples/planner.py" --memory 4MiB..12MiB:4MiB --csv
    [ $code -eq 0 ] && [ "$(grep -c 'exec:planner.py,true' out)" -eq 3 ]
    report $? "the planner in Python plans"
    for io in external resident; do
        run plan "$profile" --io $io --memory 40MiB --request 5 --planner "exec:$ROOT/examples/planner.py"
        [ $code -eq 0 ] || echo $io
    done >wrong
    [ ! -s wrong ]
    report $? "with inputs outside and inside the budget"
else
    skip "the planner in Python plans" "there is no python3"
    skip "with inputs outside and inside the budget" "there is no python3"
fi
if [ -x "$EXAMPLES/planner_exec" ]; then
    run compare "$profile" --planners dp-vbs+ --planner "exec:$EXAMPLES/planner_exec,so:$EXAMPLES/planner_so.so" \
        --memory 4MiB..12MiB:4MiB --csv
    [ $code -eq 0 ] && [ "$(grep -c 'exec:planner_exec,true' out)" -eq 3 ] && [ "$(grep -c 'so:uniform,true' out)" -eq 3 ]
    report $? "the planners in C plan"
    run frontier "$profile" --request 4 --planner "so:$EXAMPLES/planner_so.so"
    [ $code -eq 0 ] && grep -q 'planner so:uniform' out
    report $? "a shared object has a frontier"
    refuses "a shared object without a schedule" 3 "so:uniform has no schedule for 1048576 bytes" \
        plan "$profile" --memory 1MiB --planner "so:$EXAMPLES/planner_so.so"
    refuses "a shared object's own refusal" 1 "so:uniform: it knows nothing of weights" \
        plan "$profile" --memory 1GiB --weights included --planner "so:$EXAMPLES/planner_so.so"
else
    skip "the planners in C plan" "no examples in $EXAMPLES"
fi

# --- a study ---

if [ -x "$EXAMPLES/planner_exec" ]; then
    write_images data
    printf 'model tiny\ninput 1x28x28\nconv a out=16 kernel=5 stride=4\nrelu r\nfc f out=2\nsoftmax s\n' >tiny.net
    { echo '#!/bin/sh'; echo 'echo run >>runs'; echo "exec '$EXAMPLES/planner_exec'"; } >noted
    chmod +x noted
    cat >study.toml <<'END'
[study]
name = "outside"
model = "tiny.net"
data = "data"
backend = "analytic"
batches = "1,2"
request = 2
epochs = 1
batch = 16
validation = 8
memory = "100KiB"
trials = 1
sampler = "random"
round = 4
planner = "exec:./noted"
[[parameter]]
group = "a"
END
    rm -f runs
    VBSLAB_LOCKS=$dir OMP_NUM_THREADS=1 run --quiet --db study.sqlite tune study.toml
    [ $code -eq 0 ] && [ -s runs ] && grep -q '1 of 1 trials complete' out
    report $? "the trials of a study are planned by it"
    sed 's/noted/nobody/' study.toml >lost.toml
    refuses "a study whose program is missing" 1 "cannot open './nobody'" --db study.sqlite tune lost.toml
else
    skip "the trials of a study are planned by it" "no examples in $EXAMPLES"
fi

# --- shared objects that break the rules ---

# object NAME VALUE: makes a shared object whose struct has these values, with functions bad and late.
object()
{
    {
        echo '#include <vbslab/planner.h>'
        echo '#define UNUSED (void)self, (void)host, (void)problem, (void)memory_bytes'
        echo '#define PLAN(name) static enum vbs_status name(void *self, const struct vbs_planner_host *host, const struct vbs_problem *problem, int64_t memory_bytes)'
        echo "$2"
    } >object.c
    ${CC:-cc} -shared -fPIC -I"$ROOT/include" -o "$1" object.c >out 2>err || { cat err >&2; return 1; }
}
refused_object() # name, code, part, source
{
    object bad.so "$4"
    refuses "$1" "$2" "$3" plan example.csv --request 2 --memory 7 --planner so:./bad.so --time-limit 0.2
}
good='.struct_size = sizeof vbslab_planner, .api_version = VBS_PLANNER_API, .name = "n"'
begin='const struct vbs_planner_object vbslab_planner = {'
refused_object "an object of another version" 1 "was made for version 99 of vbslab/planner.h, but this is version 1" \
    "$begin $good, .api_version = 99 };"
refused_object "of another size" 1 "struct_size is its size" "$begin $good, .struct_size = 3 };"
refused_object "without the symbol" 1 "has no symbol vbslab_planner" "int nothing;"
refused_object "without a function" 1 "has no function plan" "$begin $good };"
refused_object "with an odd name" 1 "has a name that is not" \
    "PLAN(p) { UNUSED; return VBS_OK; } $begin $good, .name = \"a b\", .plan = p };"
refused_object "an object that plans nothing" 1 "so:n: after the last step" \
    "PLAN(p) { UNUSED; return VBS_OK; } $begin $good, .plan = p };"
refused_object "steps out of range" 1 "so:n: step 1 has" \
    "PLAN(p) { struct vbs_step s = {.layer = 1, .batch = 1, .algorithm = 77}; UNUSED; host->add(host, &s); return VBS_OK; } $begin $good, .plan = p };"
refused_object "a step of another kind" 1 "so:n: step 1 has" \
    "PLAN(p) { struct vbs_step s = {.layer = 1, .op = 9}; UNUSED; host->add(host, &s); return VBS_OK; } $begin $good, .plan = p };"
refused_object "weights where they are excluded" 1 "moves weights, which are excluded" \
    "PLAN(p) { struct vbs_step s = {.layer = 1, .op = VBS_STEP_LOAD, .bytes = 1}; UNUSED; host->add(host, &s); return VBS_OK; } $begin $good, .plan = p };"
refused_object "a status that is none" 1 "gave the status 1000, which is none" \
    "PLAN(p) { UNUSED; return (enum vbs_status)1000; } $begin $good, .plan = p };"
refused_object "an object that is stopped" 1 "found no schedule within 0.2 s" \
    "PLAN(p) { UNUSED; while (!host->stopped(host)) ; return VBS_INTERRUPTED; } $begin $good, .plan = p };"
refused_object "an open that fails" 1 "so:n: no licence" \
    "PLAN(p) { UNUSED; return VBS_OK; } static enum vbs_status o(const struct vbs_planner_host *h, const struct vbs_problem *q, void **s) { (void)q; (void)s; h->fail(h, \"no licence\"); return VBS_LIBRARY; } $begin $good, .open = o, .plan = p };"
refuses "a file that is no object" 1 "so:example.csv: " plan example.csv --memory 7 --planner so:./example.csv
size=$(wc -c <bad.so)
for share in 1 20 40 60 70; do
    head -c $((size * share / 100)) bad.so >cut.so
    refuses "$share% of an object" 1 "so:cut.so: " plan example.csv --memory 7 --planner so:./cut.so
done
refuses "no object" 1 "so:none.so: " plan example.csv --memory 7 --planner so:none.so

finish
