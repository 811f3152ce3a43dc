# Measured networks, request 12, io resident: percent above the best known schedule, by memory.
# Grey: where the optimum must lie.
format = ARG1
folder = ARG2
width = 8.6
height = 5.6
load folder . '/style.gp'
set output 'real.' . format
data = 'real.csv'
networks = 'alexnet vgg-16 googlenet resnet-50 squeezenet-v1.0 mobilenet-v1'
planners = 'fbs-best dp-monotone dp-vbs dp-vbs+'
set style line 51 lc rgb '#E69F00' lw 1.6 dt solid pt 6 ps 0.8 * marker
set style line 52 lc rgb '#0072B2' lw 1.6 dt (6, 3) pt 8 ps 0.8 * marker
set style line 53 lc rgb '#D55E00' lw 1.8 dt solid pt 7 ps 0.7 * marker
set style line 54 lc rgb '#CC79A7' lw 2.0 dt solid pt 5 ps 0.6 * marker
MiB = 1048576.0
at(n) = strcol(1) eq word(networks, n) && $2 == 12 && strcol(3) eq 'resident'
is(n, p) = at(n) && strcol(5) eq p && strcol(9) ne ''

set datafile missing NaN
set key off
set xrange [10:40]
set xtics 10, 10
set yrange [-5:20]
set ytics -5, 5
set multiplot
do for [n = 1:6] {
    column = (n - 1) % 3
    set lmargin at screen 0.085 + 0.31 * column
    set rmargin at screen 0.365 + 0.31 * column
    set tmargin at screen n <= 3 ? 0.885 : 0.44
    set bmargin at screen n <= 3 ? 0.555 : 0.11
    set title word(networks, n) offset 0, -0.4
    if (n > 3) { set xlabel 'memory budget (MiB)' offset 0, 0.3 } else { unset xlabel }
    set format y column == 0 ? '%g%%' : ''
    if (column == 0) { set ylabel 'above the best known' offset -0.3, 0 } else { unset ylabel }
    plot data every ::1 using ($4 / MiB):(0): \
             (at(n) && strcol(5) eq 'fbs' ? 100 * ($8 / $7 - 1) : NaN) \
             with filledcurves lc rgb '#c8c8c8', \
         0 with lines lc rgb '#000000' lw 0.8, \
         for [p = 1:4] data every ::1 \
             using ($4 / MiB):(is(n, word(planners, p)) ? $9 : NaN) with linespoints ls 50 + p
}
set format y '%g'
key_titles = planners
key_styles = '51 52 53 54'
load folder . '/key.gp'
unset multiplot
set output
