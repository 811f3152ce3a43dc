#!/bin/sh
# Names that are dangerous to shells, SQL, gnuplot and terminals pass through all commands: they
# come out unchanged, and neither steer a terminal nor run commands. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

VBSLAB_DB=store.sqlite
export VBSLAB_DB
plan='--planner dp-vbs --memory 7 --request 2'
esc=$escape
csi=$(printf '\302\233')      # the C1 form of ESC [
override=$(printf '\342\200\256') # turns the direction of writing
long=$(printf '%0251d' 0)

if command -v gnuplot >/dev/null; then
    plots=1
else
    plots=0
fi

# hostile MODEL-AS-COMMENT NAME: prints the example with NAME as device, layer, kind and algorithm.
hostile()
{
    quoted=\"$(printf '%s' "$2" | sed 's/"/""/g')\"
    printf '# model: %s\n# device: %s\n' "$1" "$1"
    echo layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_place
    for row in '1 0 1 4 1 1' '1 0 2 6 2 2' '2 1 1 4 1 4' '2 1 2 6 2 8' '3 2 1 4 1 1' '3 2 2 6 2 2'; do
        set -- $row
        printf '%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,0,0\n' "$1" "$quoted" "$quoted" "$2" "$3" "$quoted" \
            "$4" "$5" "$5" "$6"
    done
}

# Checks that no command ran, here or where plots are written.
nothing_ran()
{
    [ -z "$(find . -name 'pwned*')" ]
}

# harmless ARGUMENTS...: the program succeeds, and neither stream steers a terminal.
harmless()
{
    run "$@"
    [ $code -eq 0 ] && ! cat out err | tr -d '\n' | grep -q "[[:cntrl:]]" &&
        ! cat out err | grep -qF -e "$csi" -e "$override" && return
    bad="$bad $1"
}

# through NAME MODEL-AS-COMMENT NAME-OF-LAYERS: passes the names through all commands.
through()
{
    name=$1 bad=
    hostile "$2" "$3" >hostile.csv
    run profiles import hostile.csv
    id=$(cat out)
    "$VBSLAB" profiles show hostile.csv --json | grep -v '^  "id":' >want.json
    "$VBSLAB" --quiet profiles export "$id" back.csv
    for file in "$id" back.csv; do
        "$VBSLAB" profiles show $file --json | grep -v '^  "id":' | cmp -s - want.json ||
            bad="$bad round-trip"
    done
    [ $code -eq 0 ] && [ "$(wc -l <want.json)" -gt 50 ] || bad="$bad import"
    harmless profiles
    harmless profiles show "$id"
    harmless plan "$id" $plan
    harmless frontier "$id" --planner dp-vbs --request 2
    harmless plan "$id" $plan --json plan.json
    harmless replay "$id" plan.json
    harmless replay hostile.csv plan.json --trace trace.csv
    harmless compare "$id" hostile.csv --request 2
    "$VBSLAB" compare "$id" --request 2 --json >out && [ "$(grep -c '^ "model": ".*",$' out)" -eq 1 ] ||
        bad="$bad json"
    [ "$("$VBSLAB" replay "$id" plan.json --json | grep -c '^  "model": ".*",$')" -eq 1 ] ||
        bad="$bad replay-json"
    run plan "$id" --planner fbs --memory 1
    [ $code -eq 3 ] && one_error "the least budget" || bad="$bad infeasible"
    if [ $plots -eq 1 ]; then
        harmless compare "$id" --request 2 --plot plot.svg
        [ -s plot.svg ] && ! tr -d '\n\t' <plot.svg | grep -q '[[:cntrl:]]' || bad="$bad plot.svg"
    fi
    nothing_ran || bad="$bad RAN"
    [ -z "$bad" ]
    report $? "$name;$bad"
}

through 'a command to be substituted' '$(touch pwned)' '$(touch pwned)'
through 'backticks' '`touch pwned`' '`touch pwned`'
through 'quotes' "it's \"\"quoted\"\"" "it's \"quoted\""
through 'a quote that ends a string' "'; touch pwned; '" "'; touch pwned; '"
through 'SQL' "x'; DROP TABLE profile; --" "x'); DELETE FROM kernel; --"
through 'a gnuplot function' "'.system('touch pwned').'" "\".system(\"touch pwned\").\""
through 'a gnuplot shell escape' '"a\n!touch pwned\n"' "$(printf 'a\n!touch pwned\n')"
through 'gnuplot variables and text marks' '@pwned {/Symbol a}_b^c & %s%n \\' '@pwned {/Symbol a}_b^c & %s%n \'
through 'marks of XML' '<script>touch pwned</script>&lt;' '</text><script>&amp;'
through 'printf formats' '%s%s%s%n%1000000d' '%s%s%s%n%1000000d'
through 'ANSI escapes' "\"${esc}[2J${esc}]0;pwned\\x07\"" "${esc}[2J${esc}[31mred$(printf '\a')"
through 'a carriage return' '"good\x0dbad"' "$(printf 'good\rbad')"
through 'C1 controls' "${csi}2J" "${csi}2J"
through 'turned writing' "a${override}b" "a${override}b"
through 'other scripts' 'Größe 漢字 Ω' 'Größe 漢字 Ω'
through 'names of the greatest length' "$long" "abcd$long"
through 'a name like an option' '--help' '--help'
through 'a name like standard output' '-' '-'
through 'a formula' '=1+1' '=1+1'
through 'a formula behind the end of a cell' 'a;@b' 'a;@b'
through 'blanks alone' '"   "' '   '

# --- texts that spreadsheets execute ---

# executed FILE...: prints the cells of CSV that are formulas for some spreadsheet: those that begin
# like one, and those that have one behind a character that ends a cell elsewhere.
executed()
{
    python3 - "$@" <<'END'
import csv, re, sys

def is_number(cell):
    try:
        return float(cell) is not None
    except ValueError:
        return False

for name in sys.argv[1:]:
    with open(name, newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert cells, name
    for cell in cells:
        if re.search(r"(^|[,;\t\r\n])[=+\-@\t\r].", cell, re.DOTALL) and not is_number(cell):
            print(name, repr(cell))
END
}

printf '#\n=1+1\n' >formula.csv
[ "$(executed formula.csv)" = "formula.csv '=1+1'" ]
report $? "the check of cells finds a formula"
for text in '=1+1' '+a' '-a' '@a' 'a;=b'; do
    hostile "$text" "$text" >formula.csv
    run plan formula.csv $plan --json plan.json
    run replay formula.csv plan.json --trace trace.csv
    run frontier formula.csv --planner dp-vbs --request 2 --csv frontier.csv
    run compare formula.csv --request 2 --csv
    mv out compare.csv
    cp formula.csv "./$text.json"
    run exercise --csv --check="$text.json"
    mv out class.csv
    executed trace.csv frontier.csv compare.csv class.csv >found && [ ! -s found ] &&
        [ "$(grep -lF "${text%%[=+@-]*}'" trace.csv frontier.csv compare.csv class.csv | wc -l)" -eq 4 ]
    report $? "no command writes $text"
    run profiles export formula.csv back.csv
    [ $code -eq 0 ] && grep -qF "'$text' is a formula for spreadsheets" err && grep -qF ",$text,$text," back.csv
    report $? "but a profile, which is read back, with a warning"
done
for text in '+a' '-a' '@a'; do
    printf 'model %s\ninput 4x8x8\nconv %s out=32 kernel=3\n' "$text" "$text" >formula.net
    run models show ./formula.net --csv
    mv out models.csv
    run compress ./formula.net -o formula.vbz --csv
    mv out compress.csv
    run prune ./formula.net --list --csv
    mv out prune.csv
    executed models.csv compress.csv prune.csv >found && [ ! -s found ] &&
        [ "$(grep -lF "'$text" models.csv compress.csv prune.csv | wc -l)" -eq 3 ]
    report $? "nor do those of networks write $text"
done
printf 'id,lower,upper,size\n=1+1,0,1,4\n' >place.csv
run place place.csv
[ $code -eq 0 ] && grep -q '^=1+1,' out
report $? "a placement, which is read back, keeps its texts"

# --- names of models on the command line ---

hostile '$(touch pwned)' x >model.csv
"$VBSLAB" profiles import model.csv >out 2>err
refuses "a model's name that is SQL" 1 "x' OR '1'='1" plan "x' OR '1'='1" $plan
refuses "a model's name that is a pattern" 1 "no profile of '%'" plan % $plan
refuses "a model's name that steers the terminal" 1 '\x1b]0;x\x07' \
    plan "$(printf '\033]0;x\007')" $plan
refuses "a planner's name that does" 2 'a\x0ab\x1b[31m' \
    plan model.csv --planner "$(printf 'a\nb\033[31m')" --memory 7
refuses "a budget that does" 2 '\x1b[31m7' plan model.csv --planner fbs --memory "$(printf '\033[31m7')"
refuses "an option that does" 2 '\x1b[31m' plan model.csv "$(printf -- '--\033[31m')"
refuses "a file that does" 1 '\x1b[31m.csv' plan "$(printf '\033[31m.csv')" $plan
refuses "a command of 100000 bytes" 2 "unknown command '" "$(printf '%0100000d' 0)"
refuses "a name of 100000 bytes" 1 "no profile of '" plan "$(printf '%0100000d' 0)x" $plan
run plan '$(touch pwned)' $plan
[ $code -eq 0 ] && nothing_ran
report $? "a profile by the name of a command"

# --- names of files ---

# The name of a store is not read as a URI or a pragma.
for db in 'file:a?mode=memory' ':memory:' 'a%41#b.sqlite' "x'; DROP TABLE profile; --" '$(touch pwned)' \
    'with blank' "$(printf 'new\nline')" '|touch pwned' 'Größe.sqlite'; do
    run --db "./$db" profiles import model.csv
    [ $code -eq 0 ] && [ -f "./$db" ] && [ "$(head -c 15 "./$db")" = 'SQLite format 3' ] && nothing_ran
    report $? "a store called $(printf '%s' "$db" | tr '\n' ' ')"
done
run --db ':memory:' profiles import model.csv
[ $code -eq 0 ] && [ -f ./:memory: ]
report $? "a store called :memory: without a folder is a file too"

for file in '$(touch pwned)' '`touch pwned`' '|touch pwned' "'; touch pwned; '" 'a"b' \
    "$(printf 'new\nline')" "$(printf '\033[31m')" 'Größe 漢字' -- --json; do
    run plan model.csv $plan --json "./$file.json"
    bad=
    [ $code -eq 0 ] && [ -s "./$file.json" ] || bad="$bad plan"
    run replay model.csv "./$file.json" --trace "./$file.csv"
    [ $code -eq 0 ] && [ -s "./$file.csv" ] || bad="$bad replay"
    run profiles export '$(touch pwned)' "./$file.csv"
    [ $code -eq 0 ] || bad="$bad export"
    harmless plan "./$file.csv" $plan
    if [ $plots -eq 1 ]; then
        harmless compare model.csv --request 2 --plot "./$file.svg,./$file.png"
        [ -s "./$file.svg" ] && [ -s "./$file.png" ] || bad="$bad plot"
    fi
    nothing_ran || bad="$bad RAN"
    [ -z "$bad" ]
    report $? "files called $(printf '%s' "$file" | tr '\n\033' '  ');$bad"
done
if [ $plots -eq 1 ]; then
    for file in '|touch pwned.svg' '"; system "touch pwned" # .svg' "'.system('touch pwned').'.svg"; do
        run compare model.csv --request 2 --plot "$file"
        [ $code -eq 0 ] && [ -s "./$file" ] && nothing_ran
        report $? "a plot called $file"
    done
    refuses "a plot whose name steers the terminal" 2 "plot '\\x1b[31m.bmp' must end in" \
        compare model.csv --plot "$(printf '\033[31m.bmp')"
else
    skip "names of plots" "there is no gnuplot"
fi

# --- networks of one's own ---

# own_net NAME: writes own.net, whose model and layer have this name.
own_net()
{
    printf 'model %s\ninput 1x4x4\nconv %s out=1 kernel=1\n' "$1" "$1" >own.net
}

own_net "${esc}[31m"
refuses "a network whose names steer the terminal" 1 "own.net:1: control character" \
    models show ./own.net
own_net "$(printf '$(touch\302\240pwned)`x`%%s;"\047@{}&<b>')"
bad=
harmless models show ./own.net
harmless measure ./own.net --backend analytic --batches 1,2
harmless profiles show "$(cat out)"
nothing_ran || bad="$bad RAN"
[ -z "$bad" ]
report $? "a network with other names;$bad"

# --- on a terminal ---

if command -v script >/dev/null; then
    hostile "\"${esc}]0;title\\x07${esc}[2J\"" "${esc}[2J" >terminal.csv
    bad=
    for arguments in "plan terminal.csv $plan" "compare terminal.csv --request 2" \
        "profiles show terminal.csv" "frontier terminal.csv --planner fbs --request 2" \
        "plan terminal.csv --planner fbs --memory 1"; do
        on_terminal "'$VBSLAB' $arguments"
        grep -qF -e "${esc}[2J" -e "${esc}]" out && bad="$bad $arguments"
        grep -q . out || bad="$bad nothing"
    done
    [ -z "$bad" ]
    report $? "names do not steer a terminal;$bad"
else
    skip "names do not steer a terminal" "there is no script(1)"
fi
finish
