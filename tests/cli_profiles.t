#!/bin/sh
# The profiles command: import, list, show, export. VBSLAB: the program.
VBSLAB=${VBSLAB:-$PWD/build/vbslab}
case $VBSLAB in
/*) ;;
*) VBSLAB=$PWD/$VBSLAB ;;
esac
[ -x "$VBSLAB" ] || { echo "Bail out! there is no $VBSLAB"; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset VBSLAB_DB
n=0

# report PASSED(0) NAME: one line of TAP, with what the last run printed where it failed.
report()
{
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        { echo "exit code $code"; cat out err; } | head -20 | sed 's/^/# /'
    fi
}

# run ARGUMENTS...: the command's output in out and err, its exit code in $code.
run()
{
    "$VBSLAB" profiles "$@" >out 2>err
    code=$?
}

# refuses NAME CODE WANTED-PART ARGUMENTS...: exit code, one line of error, nothing printed.
refuses()
{
    name=$1 want=$2 part=$3
    shift 3
    run "$@"
    [ $code -eq "$want" ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q '^vbslab: profiles: ' err && grep -qF -- "$part" err
    report $? "$name"
}

# prints NAME WANTED-PART ARGUMENTS...: exit code 0, no error, and that part on one line.
prints()
{
    name=$1 part=$2
    shift 2
    run "$@"
    [ $code -eq 0 ] && [ ! -s err ] && grep -qF -- "$part" out
    report $? "$name"
}

# The example of VBS III, with a model and a name that are no friends of shells.
cat >example.csv <<'END'
# model: $(touch hostile) `x`
# device: a "CPU", 2 cores
# notes: "two\nlines"
# threads: 2
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,"L1
`touch hostile`",conv,0,1,default,4,1,1,1,0,0
1,"L1
`touch hostile`",conv,0,2,default,6,2,2,2,0,0
2,L2,conv,1,1,default,4,1,1,4,0,0
2,L2,conv,1,2,default,6,2,2,8,0,0
3,L3,conv,2,1,default,4,1,1,1,0,0
3,L3,conv,2,2,default,6,2,2,2,0,0
END

refuses "no store yet" 1 "cannot open store 'db/vbslab.sqlite': No such file or directory"
[ ! -e db ]
report $? "listing makes none"
run import example.csv
[ $code -eq 0 ] && [ "$(cat out)" = 1 ] && [ -f db/vbslab.sqlite ]
report $? "import prints the id"
"$VBSLAB" profiles import - <example.csv >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = 2 ]
report $? "import of standard input"
run export 1 back.csv
[ $code -eq 0 ] && cmp -s back.csv example.csv
report $? "export gives the same file"
run export 2 -
[ $code -eq 0 ] && cmp -s out example.csv
report $? "export to standard output"
prints "the list" ' 1  $(touch hostile) `x`                  a "CPU", 2 cores        2      1-2     6        complete'
prints "names do not break a table" 'L1\x0a`touch hostile`' show 1
prints "circumstances" 'notes    two\x0alines' show 1
run show 1
[ $code -eq 0 ] && grep -qE '^ +3  in all +- +12\.0 +9\.0$' out
report $? "times are per sample"
prints "a profile by its model's name" 'profile  2' show '$(touch hostile) `x`'
prints "a profile that is a file" 'threads  2' show example.csv
prints "the list as JSON" '"device": "a \"CPU\", 2 cores"' --json
prints "a profile as JSON" '"name": "L1\n`touch hostile`"' show 1 --json
[ ! -e hostile ]
report $? "no name was run"

refuses "an unknown part" 2 "did you mean 'show'?" shwo 1
refuses "show without a profile" 2 "'show' takes one profile" show
refuses "export without a file" 2 "'export' takes a profile and the .csv file" export 1
refuses "import of two" 2 "'import' takes one .csv file" import a.csv b.csv
refuses "import as JSON" 2 "--json goes with" import example.csv --json
refuses "an id that is not there" 2 "has no profile 3" show 3
refuses "a file that is not there" 1 "cannot open 'none.csv'" import none.csv
refuses "a folder that is not there" 1 "No such file or directory" export 1 none/x.csv
refuses "a full disk" 1 "No space left on device" export 1 /dev/full
sed 's/^3,L3,conv,2,2/3,L3,conv,4,2/' example.csv >cycle.csv
refuses "a file with a cycle" 1 "cycle.csv:13: layer 3 batch 2: inputs differs from that of line 12" \
    import cycle.csv
sed '/^2,L2,conv,1,2/d' example.csv >missing.csv
refuses "a file without a batch" 1 \
    "missing.csv:10: layer 2 ('L2') has no row for batch 2, which layer 1 has" import missing.csv
run --json
[ "$(grep -c '"id"' out)" -eq 2 ]
report $? "what is refused is not stored"
echo "1..$n"
