# Functions that the tests of the command line share. Read this file with: . "$(dirname "$0")/lib.sh"
#
# A test works in an empty folder of its own, which is removed at the end. There is no store yet; the
# default one would be data/vbslab/vbslab.sqlite in this folder. VBSLAB is the program, ROOT the
# folder of the project, DATA the folder of the files that tests read.

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
DATA=$ROOT/tests/data
VBSLAB=${VBSLAB:-$ROOT/build/vbslab}
case $VBSLAB in
/*) ;;
*) VBSLAB=$PWD/$VBSLAB ;;
esac
[ -x "$VBSLAB" ] || { echo "Bail out! there is no $VBSLAB"; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'cd / && chmod -R u+w "$dir" && rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
unset VBSLAB_DB NO_COLOR OMP_PROC_BIND OMP_NUM_THREADS OMP_WAIT_POLICY
LC_ALL=C
XDG_DATA_HOME=$dir/data
export LC_ALL XDG_DATA_HOME
COMMAND= # one word to put before all arguments
n=0
n_failed=0
code=0
escape=$(printf '\033')

# report PASSED(0) NAME: prints one line of TAP, with the output of the last run where it failed.
report()
{
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        n_failed=$((n_failed + 1))
        echo "not ok $n - $2"
        { echo "exit code $code"; cat out err; } 2>/dev/null | head -20 | sed 's/^/# /' >&2
    fi
}

# skip NAME WHY: reports a check that is skipped.
skip()
{
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# is_sanitized: whether the program is built with AddressSanitizer, which keeps memory that was freed
# and does not start in 16 GiB of address space.
is_sanitized()
{
    ! (ulimit -v 16777216 && "$VBSLAB" --version; exit $?) >/dev/null 2>&1
}

# tries_all: whether all subjects are tried, as by make proofs; make test tries fewer.
tries_all()
{
    [ "${TRIALS_PERCENT:-100}" -ge 100 ]
}

# run ARGUMENTS...: runs the program; its output is in out and err, its exit code in $code.
run()
{
    "$VBSLAB" ${COMMAND:+"$COMMAND"} "$@" >out 2>err
    code=$?
}

# one_error PART: checks the output of a failed command: one line that begins with the program's name
# and has this part, no control characters, and no result.
one_error()
{
    [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "^vbslab: ${COMMAND:+$COMMAND: }" err &&
        grep -qF -- "$1" err && ! grep -q '[[:cntrl:]]' err
}

# refuses NAME CODE WANTED-PART ARGUMENTS...: checks this exit code, one line of error, no output.
refuses()
{
    name=$1 want=$2 part=$3
    shift 3
    run "$@"
    [ $code -eq "$want" ] && one_error "$part"
    report $? "$name"
}

# does NAME WANTED-OUTPUT ARGUMENTS...: checks exit code 0 and exactly this output.
does()
{
    name=$1 part=$2
    shift 2
    run "$@"
    [ $code -eq 0 ] && [ "$(cat out)" = "$part" ]
    report $? "$name"
}

# prints NAME WANTED-PART ARGUMENTS...: checks exit code 0, no error, and this part on one line.
prints()
{
    name=$1 part=$2
    shift 2
    run "$@"
    [ $code -eq 0 ] && [ ! -s err ] && grep -qF -- "$part" out
    report $? "$name"
}

# The tests have a terminal where script(1) is installed.
# on_terminal COMMAND: runs it with its streams on a terminal, whose contents are in out.
on_terminal()
{
    TERM=xterm script -qec "$1" /dev/null </dev/null >out 2>&1
    code=$?
}

# wait_until PID COMMAND...: waits until the command succeeds, for five minutes at most. Fails where the
# process has ended before.
wait_until()
{
    waited_for=$1
    shift
    for _ in $(seq 6000); do
        "$@" && return 0
        case $(sed 's/.*) \(.\).*/\1/' "/proc/$waited_for/stat" 2>/dev/null) in
        '' | Z | X) break ;;
        esac
        sleep 0.05
    done
    return 1
}

# has_samples STORE: whether the store holds samples.
has_samples()
{
    [ "$(sqlite3 -readonly "$1" 'SELECT count(*) > 0 FROM sample' 2>/dev/null)" = 1 ]
}

# ends_at_key SAYING WHAT COMMAND...: sends Ctrl-C on a terminal once the progress bar says SAYING,
# when there is a result. The output of the command goes to the file "found".
ends_at_key()
{
    saying=$1 what=$2
    shift 2
    rm -f keys
    mkfifo keys
    : >out
    TERM=xterm script -qec "env --default-signal=INT '$VBSLAB' $* >found; echo code \$?" /dev/null <keys >out 2>&1 &
    pid=$!
    exec 4>keys
    wait_until $pid grep -q "$saying" out
    printf '\003' >&4
    wait $pid
    exec 4>&-
    # Messages are wrapped at the width of the terminal.
    tr -d '\r' <out | grep -q '^code 130$' && tr -s '\r\n ' ' ' <out | grep -q "interrupted; $what"
}

# member FILE KEY: prints the values of all members of this name in JSON, one a line; only for
# numbers and texts without brackets and commas. In a comparison of one profile, it prints the
# members of the object itself.
member()
{
    sed '/^ "profiles": \[/,$d' "$1" | tr '{}[],' '\n\n\n\n\n' | sed -n "s/^ *\"$2\": *\(.*[^ ]\) *\$/\1/p"
}

# The example of VBS III, as docs/formats.md has it.
write_example()
{
    cat <<END
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,default,4,1,1,1,0,0
1,L1,conv,0,2,default,6,2,2,2,0,0
2,L2,conv,1,1,default,4,1,1,4,0,0
2,L2,conv,1,2,default,6,2,2,8,0,0
3,L3,conv,2,1,default,4,1,1,1,0,0
3,L3,conv,2,2,default,6,2,2,2,0,0
END
}

# Makes a folder of 40 training and 4 test images of 28 x 28 bytes, which are dark or bright by their
# label.
write_images() # folder
{
    mkdir "$1"
    for part in train:40 t10k:4; do
        n_images=${part#*:}
        octal=$(printf %03o "$n_images")
        { printf '\0\0\010\003\0\0\0'; printf "\\$octal"; printf '\0\0\0\034\0\0\0\034'; } >"$1/${part%:*}-images-idx3-ubyte"
        { printf '\0\0\010\001\0\0\0'; printf "\\$octal"; } >"$1/${part%:*}-labels-idx1-ubyte"
        i=0
        while [ $i -lt "$n_images" ]; do
            if [ $((i % 2)) -eq 0 ]; then pixel='\020'; else pixel='\300'; fi
            head -c 784 /dev/zero | tr '\0' "$pixel" >>"$1/${part%:*}-images-idx3-ubyte"
            printf "\\00$((i % 2))" >>"$1/${part%:*}-labels-idx1-ubyte"
            i=$((i + 1))
        done
    done
}

# Call this function last.
finish()
{
    echo "1..$n"
    [ $n_failed -eq 0 ]
    exit
}
