# Two networks, two plans of each: where a barrier helps, and where no cutting is best. Numbers: the
# order of the steps; lines: the outermost cuts.
format = ARG1
folder = ARG2
width = 8.6
height = 3.3
load folder . '/style.gp'
load folder . '/lattice/rectangles.gp'
set output 'barrier.' . format
plans = 'barrier-dp-vbs barrier-dp-vbs+ crossing-dp-vbs+ crossing-optimal'
titles = '"dp-vbs: %g" "dp-vbs+: %g" "dp-vbs+: %g" "optimal: %g"'
is(p) = strcol(1) eq p
outermost(p) = is(p) && $3 == 1

set tics scale 0
set tmargin at screen 0.74
set bmargin at screen 0.06
set x2tics ('L1' 1.5, 'L2' 2.5, 'L3' 3.5) offset 0, -0.5
unset xtics
unset ytics
set label 10 'three layers, two samples, 8 bytes' at screen 0.2725, 0.97 center
set label 11 'two layers, six samples, 16 bytes' at screen 0.7725, 0.97 center
set multiplot
do for [i = 1:4] {
    plan = word(plans, i)
    layers = i <= 2 ? 3 : 2
    samples = i <= 2 ? 2 : 6
    set autoscale
    stats 'steps.csv' every ::1 using (is(plan) ? $9 : NaN) nooutput
    set lmargin at screen 0.06 + 0.235 * (i - 1) + (i > 2 ? 0.03 : 0)
    set rmargin at screen 0.25 + 0.235 * (i - 1) + (i > 2 ? 0.03 : 0)
    set xrange [1:layers + 1]
    set x2range [1:layers + 1]
    set yrange [samples:0]
    set cbrange [1:12]
    if (i == 1) { set ylabel 'samples' offset 1.5, 0 } else { unset ylabel }
    set title sprintf(word(titles, i), STATS_max) offset 0, 0.3
    plot 'steps.csv' every ::1 \
             using ($3 + 0.5):(is(plan) ? ($6 + $7) / 2.0 : NaN):3:($3 + 1):6:7:5 \
             with boxxyerror lw 2 fc palette, \
         'cuts.csv' every ::1 using 4:(outermost(plan) ? $5 : NaN): \
             (cut(strcol(2)) * ($6 - $4)):(cut(strcol(2)) * ($7 - $5)):(colour(strcol(2))) \
             with vectors nohead lw 2.2 lc rgb variable, \
         'steps.csv' every ::1 using ($3 + 0.5):(is(plan) ? ($6 + $7) / 2.0 : NaN): \
             (sprintf('%d', $2)) with labels
    unset label
}
unset multiplot
set output
