#!/bin/sh
# The documents describe the program truly: links lead somewhere, commands and options exist,
# columns and keys of all files are described. Files that comments name exist. VBSLAB: the program;
# BUILD: the folder of the tests.
. "$(dirname "$0")/lib.sh"

documents="README.md CONTRIBUTING.md ARCHITECTURE.md CHANGELOG.md models/README.md docs/*.md docs/course/*.md"
documents=$(cd "$ROOT" && ls $documents)

# --- links ---

# anchors FILE: prints the names of its headings in links.
anchors()
{
    awk '/^    |^```/ { next }
        /^#+ / { sub(/^#+ /, ""); $0 = tolower($0); gsub(/[^a-z0-9 _-]/, ""); gsub(/ /, "-"); print }' "$1"
}

# dead_links FILE: prints the links of a document that lead nowhere or out of the project.
dead_links()
{
    folder=$ROOT/$(dirname "$1")
    grep -o '](<*[^)]*)' "$ROOT/$1" | sed 's/^](<*//; s/>*)$//' | grep -v '^[a-z]*:' | while read -r link; do
        path=${link%%#*} anchor=
        case $link in *'#'*) anchor=${link#*#} ;; esac
        case $path in /*) echo "$link" ;; esac
        target=$folder/$path
        [ -n "$path" ] || target=$ROOT/$1
        [ -e "$target" ] || { echo "$link"; continue; }
        [ -z "$anchor" ] || anchors "$target" | grep -qx -- "$anchor" || echo "$link"
    done
}

for document in $documents; do
    dead_links "$document" >out
    [ ! -s out ]
    report $? "links of $document lead somewhere"
done
mkdir "$dir/bad" && printf '[a](none.md) [b](other.md#there) [c](other.md#not-there) [d](https://x)\n# A, B: `c`\n[e](#a-b-c)\n' \
    >"$dir/bad/bad.md" && echo '# There' >"$dir/bad/other.md"
(ROOT=$dir && dead_links bad/bad.md) >out
[ "$(tr '\n' ' ' <out)" = "none.md other.md#not-there " ]
report $? "a dead link is found"
for page in $(cd "$ROOT/docs" && ls ./*.md); do
    [ "$page" = ./README.md ] || grep -qF "](${page#./})" "$ROOT/docs/README.md" || echo "$page"
done >out
[ ! -s out ]
report $? "docs/README.md leads to every page"

# missing_files FILE: prints the files and folders of the project that a document names and that do
# not exist; in such names capitals (SUB/cmd_NAME.c) stand for anything.
missing_files()
{
    grep -o '`[a-z]*/[A-Za-z0-9_./*-]*`' "$1" | tr -d '\`' | sort -u | while read -r name; do
        [ -d "$ROOT/${name%%/*}" ] || continue
        # shellcheck disable=SC2086 # a pattern
        set -- $(echo "$ROOT/$name" | sed "s|^$ROOT/\(.*\)|\1|; s/[A-Z][A-Z]*\([_.\/]\)/*\1/g")
        (cd "$ROOT" && ls -d $1 >/dev/null 2>&1) || echo "$name"
    done
}

for document in $documents; do
    missing_files "$ROOT/$document"
done >out
[ ! -s out ]
report $? "all files that documents name are there"
printf '`src/cli/cmd_NAME.c` `src/none.c` `tests/cli` `a/b`\n' >bad/names.md
missing_files bad/names.md >out
[ "$(cat out)" = src/none.c ]
report $? "a file that is not there is found"

# comments FILE...: prints file:line:name for each source file or script that their comments name.
comments()
{
    awk '
        FNR == 1 { inside = 0; is_c = FILENAME ~ /\.[ch]$/ }
        is_c {
            text = ""
            for (line = $0; line != ""; ) {
                if (inside) {
                    end = index(line, "*/")
                    text = text " " (end ? substr(line, 1, end - 1) : line)
                    line = end ? substr(line, end + 2) : ""
                    inside = !end
                } else {
                    begin = index(line, "/*")
                    line = begin ? substr(line, begin + 2) : ""
                    inside = begin > 0
                }
            }
        }
        !is_c { text = match($0, /(^|[ \t])#/) ? substr($0, RSTART + RLENGTH) : "" }
        !is_c && text ~ /^include/ { next } # of a program in a script
        {
            while (match(text, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_]\.(c|h|sh|t|awk)/)) {
                name = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                sub(/^(\.*\/)+/, "", name)
                if (text !~ /^[A-Za-z0-9_(]/)
                    print FILENAME ":" FNR ":" name
            }
        }' "$@"
}

# unknown_names FOLDER: prints the names in comments of a project in which no path of a file
# ends. Capitals stand for anything; omp.h belongs to the compiler.
unknown_names()
{
    (cd "$1" && find src include tests tools experiments Makefile -name '*.[cht]' -o -name '*.sh' \
        -o -name '*.awk' -o -name Makefile) >paths
    # shellcheck disable=SC2046 # names of files
    (cd "$1" && comments $(grep -v ^experiments "$dir/paths")) | awk -F: '
        FILENAME == "paths" {
            for (path = $0; path != ""; path = sub(/^[^\/]*\//, "", path) ? path : "")
                known[path] = 1
            next
        }
        $3 ~ /[A-Z]/ || $3 in known || $3 == "omp.h" { next }
        { print }' paths -
}

unknown_names "$ROOT" >out
[ ! -s out ]
report $? "all files that comments name are there"
(mkdir -p project/src/room && cd project && mkdir include tests tools experiments)
printf '/* there.c, room/there.c, SUB/cmd_NAME.c\n * src/moved/there.c x */ int a; /* gone.h. */\n' >project/src/room/there.c
printf '\043 gone.sh, ../../src/room/there.c\nx: y.c \043 see there.c\n\043include "a.h"\n' >project/Makefile
unknown_names project | sort >out
[ "$(tr '\n' ' ' <out)" = "Makefile:1:gone.sh src/room/there.c:2:gone.h src/room/there.c:2:src/moved/there.c " ]
report $? "a file that a comment names and that is not there is found"

# --- commands ---

# commands_of FILE: prints the command lines of its examples, one a line, without comments and pipes.
commands_of()
{
    awk '{ while (/\\$/) { sub(/ *\\$/, " "); if ((getline more) <= 0) break; sub(/^ */, "", more); $0 = $0 more } }
        /^\.SH/ { examples = man && /EXAMPLES/ }
        /^    (\$ )?vbslab / || (examples && /^vbslab /) {
            sub(/^ *(\$ )?/, ""); gsub(/\\-/, "-"); sub(/  +#.*/, ""); sub(/ [|>&].*/, ""); print }' \
        man="$(case $1 in *.1) echo 1 ;; esac)" "$ROOT/$1"
}

"$VBSLAB" --help >help-
sed -n 's/^  \([a-z]*\)  .*/\1/p' help- | grep -vx 'db' >commands

# check_command WORDS...: prints the options and commands that the program does not know.
check_command()
{
    command=
    shift
    for word in "$@"; do
        case $word in
        --db=* | --db | --quiet | --help | --version) ;;
        -*)
            option=${word%%=*}
            [ -n "$command" ] || { echo "$option before a command"; continue; }
            [ "$option" = - ] || grep -q -- "^  \(--[a-z-]*, \)*$option\([ ,]\|$\)" "help-$command" || echo "$command $option"
            ;;
        *)
            [ -n "$command" ] && continue
            command=$word
            grep -qx -- "$command" commands || { echo "no command $command"; return; }
            [ -e "help-$command" ] || "$VBSLAB" "$command" --help >"help-$command"
            ;;
        esac
    done
}

n_lines=0
for document in $documents tools/vbslab.1; do
    commands_of "$document" >lines
    n_lines=$((n_lines + $(wc -l <lines)))
    while read -r line; do
        set -f
        # shellcheck disable=SC2086 # words of an example
        check_command $line
        set +f
    done <lines >out
    [ ! -s out ]
    report $? "the program knows the commands and options in $document"
done
[ "$n_lines" -ge 30 ]
report $? "there are examples to check"
{ check_command vbslab plan x --planer y; check_command vbslab pln x; } >out
[ "$(tr '\n' ' ' <out)" = "plan --planer no command pln " ]
report $? "an unknown option and an unknown command are found"
while read -r command; do
    grep -q "^\.B[RI]* \"*$command\b" "$ROOT/tools/vbslab.1" || echo "$command"
done <commands >out
[ ! -s out ]
report $? "the man page has every command"
for document in $documents; do
    sed -n 's/^    \(\$ \)*make \([a-z][a-z-]*\).*/\2/p' "$ROOT/$document"
done | sort -u | while read -r target; do
    grep -q "^$target:\|^\.PHONY:.* $target\( \|$\)" "$ROOT/Makefile" || echo "$target"
done >out
[ ! -s out ]
report $? "the Makefile has every target that is named"
[ "$(wc -l <"$ROOT/README.md")" -le 120 ]
report $? "README.md has at most 120 lines"

# --- outputs of commands ---

# Commands on shipped profiles print the output in the documents; UPDATE_GOLDEN=1 renews it there.
# A block is a command line, "$ vbslab ...", with its output below it, which "..." cuts short.
# blocks DOCUMENT: writes the command and the output of each such block to the files N.command and N.want;
# blocks DOCUMENT 1 prints the document with the outputs of N.have.
blocks()
{
    awk -v new="$2" '
        function is_planned() { return /^    \$ vbslab (models show alexnet|[a-z]* (\$profiles|vbs-example))/ }
        /^    \$ / || (/^[^ ]/ && on) {
            if (on && new && !cut) while ((getline line < (n ".have")) > 0) print (line == "" ? "" : "    " line)
            if (on && new) printf "%s", held
            on = 0
        }
        is_planned() {
            n++; on = 1; cut = 0; held = ""; lines = 0
            if (new) print; else print substr($0, 7) > (n ".command")
            printf "" > (n ".want")
            next
        }
        on && /^    \.\.\.$/ {
            cut = 1
            for (i = 0; new && i < lines && (getline line < (n ".have")) > 0; i++) print (line == "" ? "" : "    " line)
            if (new) print
            next
        }
        on && /^$/ { held = held "\n"; next }
        on {
            while (held != "") { held = substr(held, 2); lines++; if (!new) print "" > (n ".want") }
            lines++
            if (!new) print substr($0, 5) > (n ".want")
            next
        }
        new { print }' "$ROOT/$1"
}

# outputs DOCUMENT N: checks all such blocks of a document, which are N.
outputs()
{
    mkdir blocks && cd blocks || exit 1
    blocks "$1"
    for want in *.want; do
        number=${want%.want}
        # shellcheck disable=SC2046,SC2086 # words of an example
        COMMAND= run $(sed "s|^vbslab ||; s|\$profiles|$ROOT/db/profiles|g" "$number.command")
        cat out err >"$number.have"
        head -n "$(wc -l <"$want")" "$number.have" | diff "$want" - >out
        report $? "$1 has the output of $(cut -c 1-60 <"$number.command")"
    done
    [ -e "$2.want" ] && [ ! -e "$(($2 + 1)).want" ]
    report $? "$1 has $2 outputs to compare"
    [ -z "$UPDATE_GOLDEN" ] || { blocks "$1" 1 >new && cat new >"$ROOT/$1"; }
    cd .. && rm -r blocks || exit 1
}

outputs docs/tutorial.md 4
outputs docs/explain.md 3

# --- columns and keys ---

# section TITLE: prints the lines of docs/formats.md under headings that begin with TITLE.
section()
{
    awk -v title="$1" '/^## / { on = index($0, "## " title) == 1 } on' "$ROOT/docs/formats.md"
}

# describes TITLE NAME: checks that the section has all words of the file "names", one a line.
describes()
{
    section "$1" >text
    while read -r word; do
        grep -qF "\`$word\`" text || echo "$word"
    done <names >out
    [ -s names ] && [ ! -s out ]
    report $? "docs/formats.md describes $2"
}

# columns FILE, keys FILE: writes the names of its columns or keys to the file "names".
columns()
{
    grep -v '^#' "$1" | head -n 1 | tr , '\n' >names
}
keys()
{
    grep -o '"[A-Za-z_]*" *:' "$1" | tr -d '": ' | sort -u >names
}

cat >full.csv <<'END'
# model: full
# threads: 2
# copy: disk,65536,100,1,99,101,5
# copy: disk,1048576,900,1,890,910,5
layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place,mad_us,low_us,high_us,n_runs,channels,packed_bytes,form,parts
1,L1,conv,0,1,a,40,64,64,64,4096,0,1,39,41,5,4,4096,0,2
1,L1,conv,0,2,a,60,128,128,128,4096,0,1,59,61,5,4,4096,0,2
2,L2,fc,1,1,a,40,64,64,0,8192,0,1,39,41,5,8,8192,0,0
2,L2,fc,1,2,a,60,128,128,0,8192,0,1,59,61,5,8,8192,0,0
END
run profiles import full.csv && run profiles export 1 again.csv
columns again.csv
# A store keeps no rows of samples, so that no command writes their columns.
printf '%s\n' out_rows reach rows >>names
cp names profile-columns
sed -n '/^#define CSV_COLUMNS/,/[^\\]$/s/.*X(\([a-z_]*\)).*/\1/p' "$ROOT/src/profile/csv/csv.h" | sort >known
sort names | cmp -s - known && [ "$(wc -l <known)" -gt 10 ]
report $? "a profile has $(wc -l <known) columns, all that its reader knows"
describes "Profile, CSV" "the columns of a profile"
tr -d '\\' <"$ROOT/tools/vbslab.1" >page
while read -r word; do
    grep -qE "^\.BR? (.*\" ?,? ?\"? ?)?$word\b" page || echo "$word"
done <profile-columns >out
[ ! -s out ]
report $? "the man page describes the columns of a profile"
sed -n 's/^# \([a-z]*\): .*/\1/p' again.csv >names
describes "Profile, CSV" "the comment lines of a profile"
run plan full.csv --planner joint --memory 12KiB --request 2 --json plan.json
keys plan.json
describes "Schedule, JSON" "the keys of a schedule"
run replay full.csv plan.json --trace trace.csv --json && mv out replay.json
columns trace.csv
describes "Trace of a replay" "the columns of a replay's trace"
keys replay.json
describes "Verdict of a replay" "the keys of a replay"
run replay full.csv plan.json --trace events.json
keys events.json
describes "Trace events" "the keys of trace events"
run replay full.csv plan.json --memory 1 --latency-us 1 --json && mv out late.json
keys late.json
describes "Verdict of a replay" "the keys of a replay of a schedule that is refused"
run compare full.csv --memory 12KiB --weights included --csv && mv out compare.csv
columns compare.csv
describes "Comparison" "the columns of a comparison"
run compare full.csv --memory 12KiB --weights included --json && mv out compare.json
keys compare.json
describes "Comparison" "the keys of a comparison"
run frontier full.csv --planner dp-vbs --csv - && mv out frontier.csv
columns frontier.csv
describes "Frontier" "the columns of a frontier"
run frontier full.csv --planner dp-vbs --json - && mv out frontier.json
keys frontier.json
describes "Frontier" "the keys of a frontier"
run explain full.csv --planner dp-vbs --memory 1GiB --request 2 --table 512 --csv - && mv out cells.csv
columns cells.csv
describes "Explanation" "the columns of an explanation"
for planner in dp-vbs joint optimal; do
    run explain full.csv --planner $planner --memory 1GiB --request 2 --json - && mv out why.json
    keys why.json
    describes "Explanation" "the keys of an explanation of $planner"
done
printf 'id,lower,upper,size,alignment,gaps,hint\na,0,2,4,4,,-1\n' >buffers.csv
run place buffers.csv && mv out placed.csv
columns placed.csv
describes "Placement" "the columns of a placement"
for what in models profiles planners backends; do
    run $what --json && mv out $what.json
    keys $what.json
    describes "$(echo $what | sed 's/^./\U&/')" "the keys of $what"
done
run models --csv && mv out models.csv
columns models.csv
describes "Models" "the columns of models"
run models show "$DATA/onnx/torch_gates.onnx" --json && mv out show.json
keys show.json
describes "Models" "the keys of a model"
run compress "$DATA/onnx/torch_gates.onnx" -o gates.vbz --bits 1=4,3=4 --json && mv out compress.json
keys compress.json
describes "Compression" "the keys of a compression"
run compress "$DATA/onnx/torch_gates.onnx" -o gates.vbz --bits 1=4,3=4 --csv && mv out compress.csv
columns compress.csv
describes "Compression" "the columns of a compression"
run models show gates.vbz --json && mv out show.json
keys show.json
describes "Models" "the keys of a model with coded weights"
run models show alexnet --csv && mv out show.csv
columns show.csv
describes "Models" "the columns of a model"
run profiles show 1 --json && mv out show.json
keys show.json
describes "Profiles" "the keys of a profile"

cat >tiny.net <<'END'
model tiny
input 4x8x8
conv c1 out=8 kernel=3
fc f1 out=5
END
OMP_PROC_BIND=false run measure tiny.net --batches 1-2 --time-limit 0.1 --threads 1
OMP_PROC_BIND=false run run tiny.net --planner joint --memory 1MiB --request 2 --repeat 2 --check --output y.npy \
    --trace trace.csv --json && mv out run.json
columns trace.csv
describes "Trace of a run" "the columns of a run's trace"
keys run.json
describes "Result of a run" "the keys of a run"
sqlite="SELECT name FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'
    UNION SELECT c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
    WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'"
if command -v sqlite3 >/dev/null; then
    sqlite3 "$XDG_DATA_HOME/vbslab/vbslab.sqlite" "$sqlite" >names
    describes "The store" "the tables and columns of the store"
else
    skip "docs/formats.md describes the tables and columns of the store" "no sqlite3"
fi

# --- operators ---

conformance=${BUILD:-$ROOT/build}/tests/unit/backend/conformance
if [ -x "$conformance" ] && (cd "$ROOT" && "$conformance" --table) >table 2>err && [ -s table ]; then
    # rows OPTIONS...: the rows of one table of it, as the document writes them
    rows() {
        sed "$@" table |
            sed -n 's/^| \([A-Za-z0-9]*\) | \([0-9]*\) | 0 | 0 |$/\1 \2/p; s/^| \([A-Za-z0-9]*\) | \([0-9]*\) | \([1-9][0-9]*\) | 0 |$/\1 \2 (+\3)/p' |
            grep -v '^several' | sort
    }
    # told HEAD: the rows of the document's table that begins so
    told() {
        sed -n "/^| $1: cases/,/^\$/p" "$ROOT/docs/onnx.md" | tr '|' '\n' | sed 's/^ *//; s/ *$//' |
            grep '^[A-Z][A-Za-z0-9]* [0-9]' | sort
    }
    rows '/^On constants:/,$d' >have
    told operator >said
    diff have said >out
    report $? "docs/onnx.md has the table of conformance"
    rows '1,/^On constants:/d' >have
    told 'on constants' >said
    diff have said >out
    report $? "docs/onnx.md has the table of conformance on constants"
    skipped=
else
    skip "docs/onnx.md has the table of conformance" "no test of conformance, or none of its cases"
fi

finish
