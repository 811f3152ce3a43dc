# Executed seconds for 64 images at four prunings and three budgets, as in COMP Figure 6.
format = ARG1
folder = ARG2
width = 9.6
height = 3.4
load folder . '/style.gp'
set output 'figure-6.' . format
data = 'times.csv'
set style line 51 lc rgb '#0072B2' lw 7 ps 0
set style line 52 lc rgb '#56B4E9' lw 7 ps 0
set style line 53 lc rgb '#D55E00' lw 7 ps 0
schedule(s) = s == 1 ? 'fixed batch' : s == 2 ? "COMP's rule" : 'joint'
place(times) = times eq '1.5' ? 1 : times eq '2' ? 2 : 3
seconds(pruning, s) = strcol(1) eq pruning && $2 == 64 && strcol(5) eq schedule(s) ? $8 / 1e6 : NaN

set datafile missing NaN
set key off
set style fill solid 1.0 noborder
set boxwidth 0.22
set xrange [0.4:3.6]
set xtics ('1.5x' 1, '2x' 2, '2.5x' 3) scale 0
set tmargin at screen 0.79
set bmargin at screen 0.17
set xlabel 'memory, times the model' offset 0, 0.3
set multiplot
do for [i = 1:4] {
    pruning = word('comp 70 80 90', i)
    set lmargin at screen 0.065 + 0.24 * (i - 1)
    set rmargin at screen 0.265 + 0.24 * (i - 1)
    set title (i == 1 ? 'Table I' : pruning . '% pruned') offset 0, -0.4
    set yrange [0:*]
    if (i == 1) { set ylabel 'executed time (s)' offset 1.0, 0 } else { unset ylabel }
    plot for [s = 1:3] data every ::1 \
        using (place(strcol(3)) + 0.25 * (s - 2)):(seconds(pruning, s)) with boxes ls 50 + s
}
key_titles = '"best fixed batch" "COMP''s rule" joint'
key_styles = '51 52 53'
load folder . '/key.gp'
unset multiplot
set output
