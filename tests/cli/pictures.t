#!/bin/sh
# The options of pictures: sizes, fonts, series, LaTeX, data and scripts beside them; frontiers as
# pictures. VBSLAB: the program.
. "$(dirname "$0")/lib.sh"

COMMAND=frontier
write_example >example.csv

# --- wrong usage, which needs no gnuplot ---

refuses "a size without a unit that looks like pixels" 2 "'1200x800' is in inches; write 1200x800px for pixels" \
    example.csv --plot a.png --plot-size 1200x800
for size in 3 x 3x 3x4mm ax3 0x3 -1x2 3x4in5 nanx3; do
    refuses "the size '$size'" 2 "is no size; write 4.6x3in" example.csv --plot a.svg --plot-size "$size"
done
refuses "a font without a name" 2 "names no font" example.csv --plot a.svg --plot-font ''
for size in 0 -1 9pt; do
    refuses "the size $size of a font" 2 "is no number of points" example.csv --plot a.svg --plot-font "Sans,$size"
done
refuses "no series" 2 "names no series" example.csv --plot a.svg --plot-series ,
for option in --plot-size=4x3 --plot-font=,9 --plot-series=fbs --plot-data --beside=fbs; do
    refuses "${option%%=*} without a picture" 2 "${option%%=*} belongs to --plot" example.csv "$option"
done
refuses "a picture that another one brings" 2 "'a.tex' has its lines in 'a.pdf': give one another name" \
    example.csv --plot a.pdf,a.tex
COMMAND=compare
refuses "a planner that is not compared" 2 "did you mean 'dp-vbs'" example.csv --plot a.svg --plot-series dp-vbz
COMMAND=replay
"$VBSLAB" plan example.csv --planner dp-vbs --memory 7 --request 2 --json plan.json >/dev/null
refuses "a part of memory that there is not" 2 "did you mean 'tensors'" example.csv plan.json --gantt a.svg \
    --plot-series tensor
[ -z "$(ls ./a.* 2>/dev/null)" ]
report $? "none of these draws anything"

if ! command -v gnuplot >/dev/null; then
    skip "pictures" "there is no gnuplot"
    finish
    exit
fi

# untitled FILE: prints an SVG without its titles, which gnuplot writes otherwise.
untitled()
{
    sed 's|<title>[^<]*</title>||g' "$1"
}

COMMAND=frontier
refuses "a name of a font that is a command" 2 "a name has letters" example.csv --plot a.svg --plot-font "a'b"
refuses "a size in pixels of what has none" 2 "has no pixels" example.csv --plot a.pdf --plot-size 300x200px
refuses "a picture as large as a house" 2 "the area at most" example.csv --plot a.png --plot-size 90x90in
refuses "a picture that is too small" 2 "this picture needs at least" example.csv --plot a.svg --plot-size 1x1in
refuses "a planner that is not drawn" 2 "series 'fbs' is none of" example.csv --plot a.svg --plot-series fbs
[ -z "$(ls ./a.* 2>/dev/null)" ]
report $? "nor is a part of a picture left"

run example.csv --request 2 --planner dp-vbs --beside fbs,dp-vbs --plot f.svg --plot-data
[ $code -eq 0 ] && [ "$(tail -1 out)" = "plot: f.svg" ] && grep -q '>dp-vbs<' f.svg && grep -q 'lower bound' f.svg
report $? "the frontiers of two planners, and the limit"
[ "$(head -1 f.svg.csv)" = memory_B,bound,fbs,dp-vbs,model ] &&
    [ "$(cut -d, -f1,3,4 f.svg.csv | sed -n 2,4p | tr '\n' ' ')" = "$(
        for planner in fbs dp-vbs; do
            "$VBSLAB" frontier example.csv --request 2 --planner $planner --csv - | sed 1d | cut -d, -f1,4 >$planner.csv
        done
        sort -t, -k1n -u fbs.csv dp-vbs.csv | cut -d, -f1 | while read -r memory; do
            awk -F, -v m="$memory" '$1 + 0 <= m { r[FILENAME] = $2 }
                END { print m "," (("fbs.csv" in r) ? r["fbs.csv"] : "NaN") "," r["dp-vbs.csv"] }' fbs.csv dp-vbs.csv
        done | tr '\n' ' ')" ]
report $? "whose data are all breakpoints of both"
# Each row but the last has the bound of the last byte before the next row's memory.
sed -n 2,4p f.svg.csv | cut -d, -f1,2 | awk -F, 'NR > 1 { print $1 - 1, bound } { bound = $2 }' >bounds
while read -r memory rate; do
    "$VBSLAB" plan example.csv --request 2 --planner dp-vbs --memory "$memory" --json - >planned 2>err
    bound=$(sed -n 's/.*"bound": { "time_us": \([0-9.]*\),.*/\1/p' planned)
    awk -v us="$bound" -v rate="$rate" 'BEGIN { apart = 2e6 / us - rate; exit apart > 1e-6 || apart < -1e-6 }' || break
    echo "$memory"
done <bounds >checked
[ -s bounds ] && [ "$(wc -l <checked)" -eq "$(wc -l <bounds)" ]
report $? "and the bounds of all budgets of a step"
run example.csv --request 2 --planner dp-vbs --plot b.svg --plot-series bound
[ $code -eq 0 ] && grep -q 'lower bound' b.svg && ! grep -q '>dp-vbs<' b.svg
report $? "the limit alone"

cp f.svg before.svg
gnuplot -d f.svg.gp >out 2>&1 && untitled f.svg >now && untitled before.svg | cmp -s - now
report $? "the script draws the same picture from the data"

COMMAND='' run frontier "$ROOT/db/profiles/googlenet-a.csv" --planner dp-vbs --beside fbs,dp-vbs+ --plot low.svg \
    --plot-size 12x8cm --plot-font ,10
[ $code -eq 0 ] && perl -0ne '/d=.M[\d.]+,([\d.]+) L[^>]*>\s*<g transform="translate\([\d.]+,([\d.]+)\)"[^>]*font-size="([\d.]+)"[^>]*>\s*<text>Intel/ or exit 1;
    exit($2 + 0.3 * $3 < $1 ? 0 : 1)' low.svg
report $? "in a low picture with large text the line below the title stays above the frame"
# A picture of a column: the key leaves the plot most of the height, and words stand clear of lines.
COMMAND='' run compare "$ROOT/db/profiles/alexnet-a.csv" --memory 7MiB..12MiB:1MiB --planners dp-vbs,dp-vbs+ --plot small.svg \
    --plot-size 8.8x6cm
[ $code -eq 0 ] && awk '
    /viewBox=/ { split($0, box, "\""); split(box[2], size, " ") }
    match($0, /translate\([0-9.]*,[0-9.]*\)/) { split(substr($0, RSTART, RLENGTH), at, /[,)]/) }
    /<text>axis does not start at 0</ { words = at[2] }
    match($0, /d=.M[0-9.]*,[0-9.]* L[0-9.]*,[0-9.]* L[0-9.]*,[0-9.]* M/) {
        split(substr($0, RSTART, RLENGTH), corner, /[ ,L]+/)
        top = corner[2]; bottom = corner[4]
    }
    /stroke=.rgb\(230, 159, *0\)/ && !lowest { split($0, point, /[ ,L]+/); lowest = point[6] }
    END { exit !(bottom - top >= 0.38 * size[4] && words <= bottom - 2 && lowest > top && lowest < words - 8) }' small.svg
report $? "a picture of 8.8x6cm has a plot of two fifths of its height, and no line through its words"
run example.csv --request 2 --plot big.svg --plot-size 25.4x12.7cm --plot-font "DejaVu Serif,8.64"
[ $code -eq 0 ] && head -5 big.svg | grep -q 'viewBox="0 0 1000 500"' && grep -q 'font-family="DejaVu Serif" font-size="12.00"' big.svg
report $? "a size in centimetres, a font, and its size"
run example.csv --request 2 --plot big.svg --plot-size 900x600px --plot-font ,17.28
[ $code -eq 0 ] && head -5 big.svg | grep -q 'viewBox="0 0 900 600"' && grep -q 'font-family="Helvetica" font-size="24.00"' big.svg
report $? "a size in pixels, and larger text"

COMMAND=compare
run example.csv --request 2 --plot c.svg --plot-series bound,fbs --plot-data
[ $code -eq 0 ] && grep -q '>fbs<' c.svg && grep -q 'lower bound' c.svg && ! grep -q '>fbs-best<' c.svg &&
    [ "$(head -1 c.svg.csv)" = memory_B,bound,fbs,model ]
report $? "two series of a comparison"

# --- the unit of time ---

COMMAND=replay
# slower FACTOR UNIT TIME: the example, so many times slower, has its axis in a unit that suits.
slower()
{
    awk -F, -v OFS=, -v factor="$1" 'NR > 1 { $7 = factor * $7 } { print }' example.csv >slow.csv
    run slow.csv plan.json --gantt slow.svg --plot-data
    [ $code -eq 0 ] && grep -q ">time ($2)<" slow.svg && grep -q ">$3; peak" slow.svg &&
        [ "$(head -1 slow.svg.csv)" = "lane,from_$2,to_$2,layer,batch,name" ] &&
        [ "$(sed -n 5p slow.svg.csv | cut -d, -f3)" = "${3% *}" ] && grep -q "^from_$2,weights_B" slow.svg.csv
    report $? "a schedule of $3 is drawn in $2"
}
slower 1 us '20 us'
slower 100 ms '2 ms'
slower 1000000 s '20 s'

# --- narrow pictures ---

# down FILE TEXT: prints how far down in the picture a text stands, rounded.
down()
{
    grep -B 3 -- ">$2<" "$1" | sed -n 's/.*translate([0-9.]*,\([0-9]*\).*/\1/p' | tail -1
}
"$VBSLAB" plan two-clocks --planner vdnn --request 3 --memory 18 --json clocks.json >/dev/null
run two-clocks clocks.json --gantt narrow.svg --plot-size 4.8x4.5in
[ $code -eq 0 ] && [ "$(down narrow.svg workspace)" -ge $(($(down narrow.svg 'time (us)') + 9)) ] &&
    [ "$(down narrow.svg budget)" -gt "$(down narrow.svg workspace)" ]
report $? "where the key has no space in one row, it has several below the axis"
grep -A 2 'font-size="9.00"' narrow.svg | grep -q '>L3 x2<'
report $? "the labels of few boxes are large"
run two-clocks clocks.json --gantt high.svg --plot-size 4.8x6in
[ $code -eq 0 ] && grep -q '>14<' high.svg && grep -q '>15<' narrow.svg && ! grep -q '>14<' narrow.svg
report $? "a low axis of memory has few ticks"

# --- LaTeX, and names ---

COMMAND=replay
sed 's/L1/50%_\\{$a}#\&~^/; s/L3/`touch pwned`/' example.csv >odd.csv
name="it's \`touch pwned\` \$(touch pwned).svg"
run odd.csv plan.json --gantt "./$name" --plot-data
[ $code -eq 0 ] && [ -s "$name" ] && [ -s "$name.csv" ] && [ -s "$name.gp" ]
report $? "a picture, data and script of an odd name"
cp "./$name" before.svg
gnuplot -d "./$name.gp" >out 2>&1 && untitled "./$name" >now && untitled before.svg | cmp -s - now && [ ! -e pwned ]
report $? "a script of an odd name draws it again, and nothing else happens"
run odd.csv plan.json --gantt p.tex --plot-data
[ $code -eq 0 ] && [ "$(head -c 4 p.pdf)" = %PDF ] && grep -q 'includegraphics.*{p.pdf}}%$' p.tex && [ ! -e pwned ]
report $? "a picture for LaTeX, with its lines beside it"
grep -q 'selectfont 50\\%\\_\\textbackslash{}\\{\\$a\\}\\#\\&\\textasciitilde{}\\textasciicircum{} x2}}%$' p.tex &&
    grep -q 'strut{}layer (\\#)}' p.tex
report $? "in which no name is a command of LaTeX"
[ "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'vbslab-plot-*' | wc -l)" -eq 0 ]
report $? "and no temporary folder is left"
gnuplot -d p.tex.gp >out 2>&1 && [ "$(head -c 4 p.tex.pdf)" = %PDF ]
report $? "its script draws a PDF"
refuses "a name that LaTeX cannot read" 2 "LaTeX cannot read a file whose name has one of" example.csv plan.json \
    --gantt '50%.tex'
if command -v pdflatex >/dev/null; then
    printf '%s\n' '\documentclass{article}\usepackage{graphicx,color}\begin{document}\input{p}\end{document}' >doc.tex
    pdflatex -interaction=nonstopmode -halt-on-error doc.tex >out 2>&1
    report $? "LaTeX typesets it"
else
    skip "LaTeX typesets it" "there is no pdflatex"
fi

# --- traces ---

run example.csv plan.json --trace plan.trace.json
[ $code -eq 0 ] && grep -q 'fits     yes' out && [ "$(grep -c '"ph":"X"' plan.trace.json)" -eq 4 ] &&
    [ "$(sed -n 's/.*"dur":\([0-9.]*\).*/\1/p' plan.trace.json | awk '{ s += $1 } END { print s }')" = 20 ]
report $? "a trace whose name ends in .json has events, which take the whole time"
finish
