# Executed seconds for 32, 64 and 128 images at the three budgets, as in COMP Figure 5.
format = ARG1
folder = ARG2
width = 8.6
height = 3.4
load folder . '/style.gp'
set output 'figure-5.' . format
data = 'times.csv'
set style line 51 lc rgb '#0072B2' lw 7 ps 0
set style line 52 lc rgb '#56B4E9' lw 7 ps 0
set style line 53 lc rgb '#D55E00' lw 7 ps 0
schedule(s) = s == 1 ? 'fixed batch' : s == 2 ? "COMP's rule" : 'joint'
place(times) = times eq '1.5' ? 1 : times eq '2' ? 2 : 3
seconds(images, s) = strcol(1) eq 'comp' && $2 == images && strcol(5) eq schedule(s) ? $8 / 1e6 : NaN

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
do for [i = 1:3] {
    images = 16 * 2 ** i
    set lmargin at screen 0.075 + 0.32 * (i - 1)
    set rmargin at screen 0.335 + 0.32 * (i - 1)
    set title sprintf('%d images', images) offset 0, -0.4
    set yrange [0:*]
    if (i == 1) { set ylabel 'executed time (s)' offset 1.0, 0 } else { unset ylabel }
    plot for [s = 1:3] data every ::1 \
        using (place(strcol(3)) + 0.25 * (s - 2)):(seconds(images, s)) with boxes ls 50 + s
}
key_titles = '"best fixed batch" "COMP''s rule" joint'
key_styles = '51 52 53'
load folder . '/key.gp'
unset multiplot
set output
