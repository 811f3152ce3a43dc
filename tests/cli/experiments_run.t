#!/bin/sh
# The steps that the experiments share (experiments/lib), and the smallest experiment as a whole,
# whose results are the same as the ones that the project keeps. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

export VBSLAB
for tool in sqlite3 gnuplot; do
    command -v $tool >/dev/null || {
        skip "the experiments" "no $tool"
        finish
    }
done

# step COMMAND...: calls a function of experiments/lib/common.sh as an experiment does.
step()
{
    (
        here=$ROOT/experiments/try RESULTS=$dir/try
        . "$ROOT/experiments/lib/common.sh"
        "$@"
    ) >out 2>err
    code=$?
}

# gives NAME TEXT COMMAND...: checks that a step prints TEXT, and no error.
gives()
{
    name=$1 part=$2
    shift 2
    step "$@"
    [ $code -eq 0 ] && [ ! -s err ] && [ "$(cat out)" = "$part" ]
    report $? "$name"
}

# fails NAME PART COMMAND...: checks that a step fails with an error that has PART.
fails()
{
    name=$1 part=$2
    shift 2
    step "$@"
    [ $code -ne 0 ] && grep -qF -- "$part" err
    report $? "$name"
}

cat >times.csv <<'END'
# device: a machine's name
# date: 2026-11-21T09:16:29Z
network,batch,us,note
alexnet,1,0.125,it's
alexnet,2,2.50,
vgg-16,1,16777217,100%
END

cat >table.md <<'END'
-- The mean of a network, over its batches.
    CREATE VIEW means AS SELECT network, avg(us) AS us FROM times GROUP BY network

**In short:** 100% of\
%s %.2f\
    SELECT ' ' || network, us FROM means WHERE us < :limit
.

| network | us | of %d | note |
    SELECT :limit
| --- | ---: | ---: | --- |
| %s | %.2f | %+.1f%% | %s |
    SELECT network, us, iif(batch = 2, NULL, 100 * us / :limit), note FROM times

Timed on %s, %s.
    SELECT device, day FROM origin WHERE source = 'times'
END
cat >table.expected <<'END'
**In short:** 100% of alexnet 1.31.

| network | us | of 1000 | note |
| --- | ---: | ---: | --- |
| alexnet | 0.12 | +0.0% | it's |
| alexnet | 2.50 | - | - |
| vgg-16 | 16777217.00 | +1677721.7% | 100% |

Timed on a machine's name, 2026-11-21.
END
gives "query fills in text, rows and parameters; ties round as printf rounds them" \
    "$(cat table.expected)" query "$dir/table.md" :limit=1000 "$dir/times.csv"

printf '%%s,%%s,%%s\n    SELECT network, us, note FROM t WHERE batch < :below\n' >rows.rows
gives "numbers keep their digits, missing ones are empty in CSV, a table may come of two files" \
    "alexnet,0.125,it's
vgg-16,16777217,100%
alexnet,0.125,it's
vgg-16,16777217,100%" query "$dir/rows.rows" :below=2 t="$dir/times.csv" t="$dir/times.csv"
gives "value gives one value" "3" value 'SELECT count(*) FROM times' "$dir/times.csv"
echo '{ "predicted": { "time_us": 12.5 } }' >plan.json
gives "a JSON file is a table" "12.5" value "SELECT json ->> '\$.predicted.time_us' FROM plan" \
    plan="$dir/plan.json"
gives "a text parameter may have quotes" "it's COMP's" value "SELECT 'it''s ' || :whose" :whose="COMP's"
sed -n '3p;5p' times.csv >one.csv
gives "columns copies them as they stand" "x,2.50,alexnet" columns x, us,network "$dir/one.csv"

fails "an unknown column is an error" "no such column: speed" value 'SELECT speed FROM times' \
    "$dir/times.csv"
fails "so is an unknown column to copy" "no column 'speed'" columns "" speed "$dir/times.csv"
gives "a parameter of several points is a text" "2.6.3" value "SELECT :version" :version=2.6.3
mkdir "it's=here" && cp times.csv "it's=here/times.csv" && cp plan.json "it's=here/plan.json"
gives "a path may have quotes and signs" "3 12.5" \
    value "SELECT count(*) || ' ' || (SELECT json ->> '\$.predicted.time_us' FROM p) FROM times" \
    "$dir/it's=here/times.csv" p="$dir/it's=here/plan.json"
fails "a JSON file that is not there is an error" "none.json" value 'SELECT 1' p="$dir/none.json"
fails "so is a CSV file that is not there" "none.csv" value 'SELECT 1' "$dir/none.csv"
printf '%%s,%%d\n    SELECT 1\n' >few.rows
fails "so are fewer values than conversions" "1 values for the format" query "$dir/few.rows"
printf '\n    SELECT 1\n' >bare.rows
fails "so is a query without a format" "needs a format" query "$dir/bare.rows"
printf 'error: %%s is too slow\n    SELECT network FROM times WHERE us > 1e6\nnever\n' >check.rows
fails "a text that begins with error ends it" "error: vgg-16 is too slow" query "$dir/check.rows" \
    "$dir/times.csv"
! grep -q never out
report $? "and nothing behind it is printed"
printf 'network,"us"\n"a,""b"", c",1\n"","2"\n' >quoted.csv
gives "quoted fields have commas and quotes" 'a,"b", c 1.0; 2.0' \
    value "SELECT group_concat(coalesce(network, '') || ' ' || us, ';') FROM quoted" "$dir/quoted.csv"
gives "and are copied with them" '"a,""b"", c",1
,2' columns "" network,us "$dir/quoted.csv"
printf 'network,us\n"a\nb",1\n' >lines.csv
fails "a quoted field of two lines is refused" "lines.csv:2: a quoted field" value 'SELECT 1' "$dir/lines.csv"
fails "when columns are copied too" "lines.csv:2: a quoted field" columns "" us "$dir/lines.csv"
printf 'network,us\na,1\na\n' >short.csv
fails "so is a row that is too short" "short.csv:3: not as many fields" value 'SELECT 1' "$dir/short.csv"

mkdir example
RESULTS=$dir/example "$ROOT/experiments/vbs-example/run" >out 2>err
code=$?
[ $code -eq 0 ] && [ ! -s err ] && grep -q '^vbs-example: 10 a sample' out
report $? "the example of VBS runs"
same=0
for file in README.md compare.csv; do
    cmp "$ROOT/experiments/vbs-example/$file" "example/$file" >>err 2>&1 || same=1
done
report $same "and gives what the project keeps"

# --- the list of experiments ---

missing=
for folder in "$ROOT"/experiments/*/; do
    name=$(basename "$folder")
    [ ! -x "$folder/run" ] || grep -q "^[a-z ].*[ ]$name[ ;]" "$ROOT/experiments/run" || missing="$missing $name"
done
[ -z "$missing" ] || echo "# not in experiments/run:$missing" >&2
[ -z "$missing" ]
report $? "every experiment is run by experiments/run"
finish
