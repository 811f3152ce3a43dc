#!/bin/sh
# The course: every command of every lesson prints what the lesson says, answers of its exercises are
# judged as it says, and lessons are opened as text and as pages. VBSLAB: the program. With
# UPDATE_GOLDEN=1 the outputs in docs/course are renewed, but for those with "..." lines.
. "$(dirname "$0")/lib.sh"
COMMAND=lesson

# --- the commands in the lessons ---

number=0
for lesson in "$ROOT"/docs/course/[1-9]-*.md; do
    number=$((number + 1))
    mkdir -p "lesson-$number/db" && ln -s "$ROOT/db/profiles" "lesson-$number/db/profiles"
    (cd "lesson-$number" && python3 "$ROOT/tests/cli/lesson.py" "$VBSLAB" "$lesson") >out 2>err
    code=$?
    [ $code -eq 0 ]
    report $? "lesson $number: $(cat out)"
done
printf '    $ echo one; echo two\n    one\n    $ echo three\n    three\n' >wrong.md
UPDATE_GOLDEN='' python3 "$ROOT/tests/cli/lesson.py" "$VBSLAB" wrong.md >out 2>err
[ $? -eq 1 ] && grep -qxF 'wrong.md:1: echo one; echo two' err && ! grep -q three err
report $? "an output that is not the printed one is found"

COMMAND=plan
mkdir elsewhere
(cd elsewhere && "$VBSLAB" plan db/profiles/alexnet-a.csv --memory 3MiB) >out 2>err
[ $? -eq 1 ] && grep -qF "there is no file 'db/profiles/alexnet-a.csv' here; the profile of this name that comes with vbslab is '/" err
report $? "from another folder, the error has the path of the profile of lessons 1 and 6"
path=$(sed "s/.* is '//; s/'$//" err)
run "$path" --memory 3MiB --planner fbs
[ $code -eq 0 ] && grep -q '^  time     129.7 ms' out
report $? "which is that of the lessons"
refuses "a file that is nowhere" 1 "cannot open 'nowhere.csv'" nowhere.csv --memory 3MiB
COMMAND=lesson

# --- the lessons in the program ---

run
[ $code -eq 0 ] && [ ! -s err ] && grep -c '^  [1-9]\. .* ([0-9]* minutes)$' out >count
[ "$(cat count)" -eq $number ] && [ $number -eq 7 ]
report $? "the list has all lessons, with the time that each takes"
for lesson in "$ROOT"/docs/course/[1-9]-*.md; do
    number=$(basename "$lesson" | cut -c1)
    run "$number"
    [ $code -eq 0 ] && [ ! -s err ] && [ "$(head -n 1 out)" = "$(sed -n '1s/^# //p' "$lesson")" ] &&
        [ "$(awk 'length > 80' out | wc -l)" -eq 0 ] && ! LC_ALL=C grep -q '[^ -~]' out
    report $? "lesson $number as text has its title and at most 80 columns of ASCII"
    sed -n 's/^    \(\$ .*\)/\1/p' "$lesson" >want
    sed -n 's/^  \(\$ .*\)/\1/p' out >got
    cmp -s want got && [ -s got ] &&
        [ "$(grep -c '^Exercise$' out)" -eq 1 ] && [ "$(grep -c '^Solution$' out)" -eq 1 ]
    report $? "and all commands, an exercise and its solution"
    run "$number" --html -o page.html
    [ $code -eq 0 ] && [ ! -s out ] && [ "$(grep -c '<h1>' page.html)" -eq 1 ] &&
        [ "$(grep -c '^    \$ ' "$lesson")" -eq "$(grep -c '^\(<pre><code>\)*\$ ' page.html)" ] &&
        [ "$(grep -c '^!\[' "$lesson")" -eq "$(grep -c '<img src="data:image/svg+xml;base64,[A-Za-z0-9+/=]*" alt="[^"]' page.html)" ] &&
        [ "$(grep -c '<details>' page.html)" -eq 1 ] && [ "$(grep -c '</details>' page.html)" -eq 1 ]
    report $? "lesson $number as a page has them too, its pictures inside, the solution folded"
    ! grep -o '\(src\|href\)="[^"]*"' page.html | grep -v '="data:' | grep -q . && ! grep -q '{{\|<script\|@import' page.html
    report $? "and asks for nothing else"
done
run 7 --html
cmp -s out page.html
report $? "without -o a page goes to standard output"
run 7 -o text && [ ! -s out ] && mv text want && run 7 -o - && cmp -s want out
report $? "a text goes to a file, too"

# --- the whole course, with links ---

run --html -o course
[ $code -eq 0 ] && [ ! -s out ] && [ "$(ls course | tr '\n' ' ')" = "index.html $(printf 'lesson-%d.html ' 1 2 3 4 5 6 7)" ] &&
    grep -qF "begins with 'course/index.html'" err
report $? "all lessons are written into a folder, with a page that lists them"
# links FILE: prints the files that a page links to.
links()
{
    grep -o '<a[^>]* href="[^"]*"' "course/$1" | sed 's/.* href="//; s/"$//' | sort -u | tr '\n' ' '
}
[ "$(links index.html)" = "$(printf 'lesson-%d.html ' 1 2 3 4 5 6 7)" ] &&
    grep -qF '>4. The dynamic program on a chain (30 minutes)</a>' course/index.html && grep -q '<title>A course' course/index.html
report $? "which links to each by its title"
[ "$(links lesson-1.html)" = "index.html lesson-2.html " ] && [ "$(links lesson-4.html)" = "index.html lesson-3.html lesson-5.html " ] &&
    [ "$(links lesson-7.html)" = "index.html lesson-6.html " ]
report $? "each links to the list, and to those before and behind it"
for number in 1 2 3 4 5 6 7; do
    "$VBSLAB" lesson $number --html >one.html
    sed '/^<nav/,/^<\/nav>/d' course/lesson-$number.html | cmp -s one.html - || break
done
[ "$number" -eq 7 ] && sed '/^<nav/,/^<\/nav>/d' course/lesson-7.html | cmp -s one.html - && ! grep -q '<nav' one.html
report $? "and is otherwise the page of the lesson alone, which has no links"
refuses "a folder with files" 1 "'course' is there already and no empty folder" --html -o course
refuses "a page of all lessons" 2 "'course.html' would be the folder of all lessons" --html -o course.html
refuses "all lessons on standard output" 2 "--html of all lessons needs -o FOLDER" --html -o -
refuses "a list in a file" 2 "--output needs the number of a lesson" -o list.txt
refuses "a folder in no folder" 1 "cannot make the folder 'none/course'" --html -o none/course

refuses "a lesson that is not there" 2 "lesson 8 is out of range" 8
refuses "no number" 2 "'one'" one
refuses "two lessons" 2 "takes one N at most, got 2" 1 2
refuses "all lessons without a folder" 2 "--html of all lessons needs -o FOLDER; of one lesson its number" --html
refuses "a text by the name of a page" 2 "'page.html' is to be a page; that needs --html" 1 -o page.html
refuses "a page by another name" 2 "ends in .html" 1 --html -o page.txt
refuses "a folder that is not there" 1 "there is no folder" 1 --html -o none/page.html

finish
