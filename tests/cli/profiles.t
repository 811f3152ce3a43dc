#!/bin/sh
# The profiles command: import, list, show, export. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"
COMMAND=profiles

# The example of VBS III, with a model and a name that a shell could run as commands.
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

mkdir db
refuses "no store yet" 1 "cannot open store 'db/vbslab.sqlite': No such file or directory"
[ ! -e db/vbslab.sqlite ]
report $? "listing makes none"
run import example.csv
[ $code -eq 0 ] && [ "$(cat out)" = 1 ] && [ -f db/vbslab.sqlite ]
report $? "import prints the id"
"$VBSLAB" profiles import - <example.csv >out 2>err
code=$?
[ $code -eq 0 ] && [ "$(cat out)" = 1 ]
report $? "import of the same from standard input gives the same id"
sed 's/^# threads: 2/# threads: 3/' example.csv >other.csv
run import other.csv
[ $code -eq 0 ] && [ "$(cat out)" = 2 ]
report $? "import of another content gives another"
run export 1 back.csv
[ $code -eq 0 ] && cmp -s back.csv example.csv
report $? "export gives the same file"
run export 2 -
[ $code -eq 0 ] && cmp -s out other.csv
report $? "export to standard output"
prints "the list" ' 1  $(touch hostile) `x`                  a "CPU"        2      1,2     6        complete'
[ "$(wc -l <out)" -eq 3 ]
report $? "a line for each"
prints "names do not break a table" 'L1\x0a`touch hostile`' show 1
prints "provenance" 'notes    two\x0alines' show 1
run show 1
[ $code -eq 0 ] && grep -qE '^ +3  in all +- +12\.00? us +9\.000? us$' out
report $? "times are per sample"
run show '$(touch hostile) `x`'
[ $code -eq 0 ] && grep -q '^profile  2$' out && [ "$(wc -l <err)" -eq 1 ] &&
    grep -qF "is profile 2: measured on another machine, backend unknown on a \"CPU\", 2 cores, threads 3, date unknown, chosen among 2 profiles of it" err
report $? "a profile by its model's name; which one is said"
prints "a profile that is a file" 'threads  2' show example.csv
prints "the list as JSON" '"device": "a \"CPU\", 2 cores"' --json
prints "a profile as JSON" '"name": "L1\n`touch hostile`"' show 1 --json
# batches LIST: the column of a profile with these batches.
batches()
{
    run import - <<END
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
$(for b in $1; do echo "1,L1,conv,0,$b,default,$b,$b,$b,1,0,0"; done)
END
    id=$(cat out)
    run
    awk -v id="$id" '$1 == id { print $(NF - 2) }' out
}
for pair in "1:1" "1 2:1,2" "1 2 3 4:1-4" "1 2 4 8 16 32:1,2,4,8,16,32" "1 2 3 8:1-3,8" \
    "$(seq -s " " 16) 20 24 32 48 64:1-16,20..64" "1 3 5 7 9 11 13 15 17 19:1,3,5,7..19"; do
    got=$(batches "${pair%:*}")
    [ "$got" = "${pair#*:}" ]
    report $? "batches in the list: ${pair#*:} ($got)"
done
[ ! -e hostile ]
report $? "no name was run"

# --- which profile, filters, tags, deleting ---

# dated DEVICE DATE BACKEND: imports a profile of the model "m", and prints its id.
dated()
{
    "$VBSLAB" profiles import - <<END
# model: m
# device: $1
# date: $2
# backend: $3
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
1,L1,conv,0,1,x,4,1,1,1,0,0
END
}
mkdir own && cd own && mkdir db
device=$("$VBSLAB" backends --json | sed -n 's/.*"device": "\(.*\)"/\1/p' | head -n 1)
[ "$(dated "$device" 2026-05-01T00:00:00Z onednn)" = 1 ] &&
    [ "$(dated "$device" 2026-04-01T00:00:00Z onednn)" = 2 ] &&
    [ "$(dated elsewhere 2026-06-01T00:00:00Z onednn)" = 3 ] &&
    [ "$(dated imaginary 2026-07-01T00:00:00Z analytic)" = 4 ]
report $? "four profiles of a model"
run show m
[ $code -eq 0 ] && grep -q '^profile  1$' out && grep -q "is profile 1: measured on this machine, onednn on " err
report $? "this machine's are taken before others, the newest by its date"
run rm 1 2
run show m
[ $code -eq 0 ] && grep -q '^profile  3$' out && grep -q "is profile 3: measured on another machine" err
report $? "then measured ones of other machines"
run show m --quiet
[ $code -eq 0 ] && [ ! -s err ]
report $? "--quiet does not say so"
prints "only profiles of a backend" ' 4  m' --backend analytic
[ "$(wc -l <out)" -eq 2 ]
report $? "are listed"
prints "only those of a device" ' 3  m' --device ELSE
[ "$(wc -l <out)" -eq 2 ]
report $? "are listed"
# lists_none NAME WHAT OPTIONS...: nothing on standard output, and one line that names what there is not.
lists_none()
{
    name=$1 what=$2
    shift 2
    run "$@"
    [ $code -eq 0 ] && [ ! -s out ] && [ "$(cat err)" = "vbslab: profiles: 'db/vbslab.sqlite' has no $what" ]
    report $? "$name"
}
all="; 'vbslab profiles' lists all"
lists_none "no profile of a model is said to be there" "profile of model 'n'$all" --model n
lists_none "nor one of several filters" \
    "profile of model 'm' of backend 'cudnn' of a device with 'x' in its name$all" \
    --model m --backend cudnn --device x
run --model n --quiet
[ $code -eq 0 ] && [ ! -s out ] && [ ! -s err ]
report $? "--quiet says nothing"
does "JSON is an empty array" '{
  "profiles": []
}' --model n --json
does "a tag is given" '' tag 3 good
prints "it is listed" 'complete  good'
prints "it is a name of the profile" 'profile  3' show good
run --json
grep -A3 '"hash": "[0-9a-f]\{32\}"' out | tr -d ' \n' | grep -q '"tags":\["good"\]'
report $? "hash and tags are in JSON"
refuses "a tag that is a model" 2 "tag 'm' is the name of a model" tag 3 m
refuses "a tag that is an id" 2 "a tag has at most 63 letters" tag 3 7
does "a tag is given to the profile of another tag" '' tag good better
does "a tag is taken away" '' untag good
refuses "twice" 2 "no profile of store 'db/vbslab.sqlite' has the tag 'good'" untag good
refuses "rm of what is not there" 2 "has no profile 9" rm 9
refuses "rm of a name" 2 "has the tag 'm'" rm 3 m
refuses "rm of a half" 2 "'1.5' is not a whole number" rm 1.5
prints "deletes nothing" ' 3  m'
does "rm of a tag" '' rm better
lists_none "deletes its profile" "profile of a device with 'elsewhere' in its name$all" --device elsewhere
"$VBSLAB" profiles export 4 one.csv && "$VBSLAB" --db one.sqlite profiles import one.csv >/dev/null &&
    "$VBSLAB" --db one.sqlite profiles rm 1
run --db one.sqlite
[ $code -eq 0 ] && [ ! -s out ] &&
    [ "$(cat err)" = "vbslab: profiles: 'one.sqlite' has no profiles; 'vbslab measure MODEL' makes one" ]
report $? "a store without profiles says so"
refuses "filters of one profile" 2 "go with the list" show 3 --model m
cd ..

# --- merge ---

mkdir merge
cd merge
head='layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place'
for i in 1 2; do
    printf '# model: m%s\n# date: 2026-0%s-01T00:00:00Z\n%s\n1,L,conv,0,1,default,4,1,1,1,0,0\n' $i $i \
        "$head" >$i.csv
    "$VBSLAB" --db $i.sqlite profiles import $i.csv >/dev/null
    "$VBSLAB" --db $i.sqlite profiles tag 1 best
done
"$VBSLAB" --db 1.sqlite measure --quiet --backend analytic --batches 1 alexnet >/dev/null
run --db all.sqlite merge 1.sqlite 2.sqlite
[ $code -eq 0 ] && [ "$(sed -n 1p out)" = \
    "store     profiles  added  improved  tags  samples  times  trials  unfinished  conflicts" ] &&
    [ "$(sed -n 2p out)" = "1.sqlite         2      2         0     1       29      0       0           0          0" ] &&
    [ "$(sed -n 3p out)" = "2.sqlite         1      1         0     1        0      0       0           0          1" ]
report $? "merge of two stores says what came over"
[ "$(wc -l <err)" -eq 1 ] && grep -q "warning: tag 'best' named profile .* it names now .* measured last" err
report $? "and names the conflict"
run --db other.sqlite merge 2.sqlite 1.sqlite
"$VBSLAB" --db all.sqlite profiles --json | grep -v '"id"' | sort >all
"$VBSLAB" --db other.sqlite profiles --json | grep -v '"id"' | sort >other
[ -s all ] && cmp -s all other
report $? "in the other order the same comes out"
ln -s all.sqlite link.sqlite
run --db all.sqlite merge 1.sqlite link.sqlite --json
[ $code -eq 0 ] && [ "$(grep -c '"n_added": 0' out)" -eq 2 ] && [ "$(grep -c '"same_file": true' out)" -eq 1 ] &&
    grep -q "'link.sqlite' is the store itself" err
report $? "again, and with itself, nothing is added"
cp 1.sqlite read-only.sqlite
chmod 400 read-only.sqlite
run --db from.sqlite merge read-only.sqlite
[ $code -eq 0 ] && [ ! -e read-only.sqlite-wal ]
report $? "a store that cannot be written can be merged"
refuses "a store that is not there" 1 "cannot open store 'none.sqlite'" --db new.sqlite merge 1.sqlite none.sqlite
[ ! -e new.sqlite ]
report $? "before the other one is made"
refuses "a file that is no store" 1 "'1.csv' is not a store of vbslab" --db from.sqlite merge 1.csv
sqlite3 foreign.sqlite 'CREATE TABLE t (x)' 2>/dev/null &&
    refuses "another program's file" 1 "is the database of another program" --db from.sqlite merge foreign.sqlite
run --db from.sqlite merge 2.sqlite 1.csv
[ $code -eq 1 ] && [ "$(wc -l <out)" -eq 2 ] && grep -q "not a store" err
report $? "the stores before one that fails stay merged"
refuses "merge without a store" 2 "'merge' takes the stores" merge
cd ..

refuses "an unknown part" 2 "did you mean 'show'?" shwo 1
refuses "show without a profile" 2 "'show' takes one profile" show
refuses "export without a file" 2 "'export' takes a profile and the .csv file" export 1
refuses "import of two" 2 "'import' takes one .csv file" import a.csv b.csv
refuses "import as JSON" 2 "--json goes with" import example.csv --json
refuses "an id that is not there" 1 "has no profile 99" show 99
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
[ "$(grep -c '"id"' out)" -eq 9 ]
report $? "what is refused is not stored"
finish
