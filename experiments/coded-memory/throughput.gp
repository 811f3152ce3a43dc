# Images a second against total memory: lines are planned, points are executed. One panel for each
# network.
format = ARG1
folder = ARG2
width = 9.4
height = 4.2
load folder . '/style.gp'
set output 'throughput.' . format
MiB = 1048576.0
ways = 'mixed comp dense-cache dense-disk'
set style line 51 lc rgb '#D55E00' lw 2.2 dt solid pt 7 ps 0.9 * marker
set style line 52 lc rgb '#009E73' lw 1.8 dt (8, 4) pt 9 ps 1.0 * marker
set style line 53 lc rgb '#56B4E9' lw 1.8 dt (6, 3) pt 5 ps 0.8 * marker
set style line 54 lc rgb '#0072B2' lw 1.8 dt (8, 3, 2, 3) pt 13 ps 1.0 * marker

set datafile missing NaN
set key off
set logscale x 10
set tmargin at screen 0.80
set bmargin at screen 0.14
set xlabel 'weights and activations (MiB)' offset 0, 0.4
set multiplot
do for [i = 1:2] {
    name = word('alexnet vgg-16', i)
    set lmargin at screen 0.070 + 0.49 * (i - 1)
    set rmargin at screen 0.490 + 0.49 * (i - 1)
    set title (i == 1 ? 'AlexNet' : 'VGG-16') . ', 64 images' offset 0, -0.4
    if (i == 1) { set xrange [2:512] } else { set xrange [20:1280] }
    if (i == 1) { set xtics (2, 5, 10, 20, 50, 100, 200, 500) } else { set xtics (20, 40, 80, 160, 320, 640, 1280) }
    set yrange [0:*]
    set offsets 0, 0, graph 0.05, 0
    if (i == 1) { set ylabel 'images a second' offset 1.0, 0 } else { unset ylabel }
    limit = NaN
    stats 'executed.csv' using (strcol(1) eq name && strcol(3) eq 'unlimited' ? $6 * 1e6 / $9 : NaN) \
        nooutput
    limit = STATS_mean
    plot limit with lines ls 6, \
         for [w = 1:4] 'plans.csv' every ::1 \
             using ($3 / MiB):(strcol(1) eq name && strcol(2) eq word(ways, w) && strcol(4) eq 'true' ? 1e6 / $5 : NaN) \
             with lines ls 50 + w, \
         for [w = 1:4] 'executed.csv' every ::1 \
             using ($7 / MiB):(strcol(1) eq name && strcol(3) eq word(ways, w) ? $6 * 1e6 / $9 : NaN) \
             with points ls 50 + w
}
unset logscale
key_titles = '"mixed (joint)" "coded (COMP)" "dense, page cache" "dense, disk" "no limit (executed)"'
key_styles = '51 52 53 54 6'
load folder . '/key.gp'
unset multiplot
set output
