# Time an image for 64 images at every budget; dashed: COMP's three.
format = ARG1
folder = ARG2
width = 6.4
height = 3.8
load folder . '/style.gp'
set output 'time-against-memory.' . format
data = 'curves.csv'
MiB = 1048576.0
planners = 'fbs-best dp-monotone dp-vbs+'
set style line 51 lc rgb '#0072B2' lw 1.6 dt solid
set style line 52 lc rgb '#D55E00' lw 1.6 dt solid
set style line 53 lc rgb '#CC79A7' lw 1.6 dt (8, 3, 2, 3)
title(p) = p == 1 ? 'best fixed batch' : word(planners, p)

set datafile missing NaN
set xrange [5:45]
set yrange [80:200]
set xlabel 'memory budget (MiB)' offset 0, 0.3
set ylabel 'time an image (ms)' offset 0.5, 0
set key top right samplen 3
do for [i = 1:3] {
    times = 1 + 0.5 * i
    set arrow i from 6.81 * times, graph 0 to 6.81 * times, graph 0.62 nohead ls 6
    set label i sprintf('%gx', times) at 6.81 * times, graph 0.65 center
}
plot for [p = 1:3] data every ::1 \
    using ($2 / MiB):(strcol(1) eq word(planners, p) ? $3 / 64000 : NaN) \
    with steps ls 50 + p title title(p)
set output
