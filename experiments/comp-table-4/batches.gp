# Batches of every layer at the three budgets: Table IV, COMP's rule here, dp-monotone.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'batches.' . format
data = 'batches.csv'
set style line 41 lc rgb '#000000' lw 1.2 dt (6, 3) pt 6 ps 1.2 * marker
set style line 42 lc rgb '#0072B2' lw 1.6 dt solid pt 5 ps 0.9 * marker
set style line 43 lc rgb '#D55E00' lw 1.4 dt solid pt 7 ps 0.6 * marker
layers = 'conv1 norm1 pool1 conv2 norm2 pool2 conv3 conv4 conv5 pool5 fc6 fc7 fc8'
at(layer) = sum [k = 1:13] (word(layers, k) eq layer ? k : 0)
batch(times, schedule) = strcol(1) eq times && strcol(2) eq schedule ? $4 : NaN

set datafile missing NaN
set key off
set xrange [0.4:13.6]
set yrange [0.8:90]
set logscale y 2
set tmargin at screen 0.79
set bmargin at screen 0.20
set for [k = 1:13] xtics rotate by 90 right (word(layers, k) k)
set multiplot
do for [i = 1:3] {
    times = word('1.5 2 2.5', i)
    set lmargin at screen 0.065 + 0.315 * (i - 1)
    set rmargin at screen 0.355 + 0.315 * (i - 1)
    set title times . ' times the model' offset 0, -0.4
    if (i == 1) { set ylabel 'batch of the layer' offset 1.0, 0 } else { unset ylabel }
    if (i > 1) { set format y '' }
    plot data every ::1 using (at(strcol(3))):(batch(times, 'Table IV')) with linespoints ls 41, \
         data every ::1 using (at(strcol(3))):(batch(times, "COMP's rule 1")) \
             with linespoints ls 42, \
         data every ::1 using (at(strcol(3))):(batch(times, 'dp-monotone')) with linespoints ls 43
}
unset logscale
key_titles = '"Table IV" "by COMP''s rule" dp-monotone'
key_styles = '41 42 43'
load folder . '/key.gp'
unset multiplot
set output
