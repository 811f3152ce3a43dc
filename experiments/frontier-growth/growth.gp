# Time of a solve and breakpoints of its curve, against layers (an irregular chain; dashed:
# MobileNet to and fro) and against samples.
format = ARG1
folder = ARG2
width = 8.6
height = 6.0
load folder . '/style.gp'
set output 'growth.' . format
data = 'growth.csv'
set style line 51 lc rgb '#D55E00' lw 1.6 dt solid pt 7 ps 0.9 * marker
set style line 52 lc rgb '#CC79A7' lw 1.6 dt solid pt 5 ps 0.8 * marker
set style line 53 lc rgb '#D55E00' lw 1.6 dt (6, 3) pt 6 ps 0.9 * marker
set style line 54 lc rgb '#CC79A7' lw 1.6 dt (6, 3) pt 4 ps 0.9 * marker
is(name, planner) = strcol(2) eq name && strcol(5) eq planner && strcol(1) ne 'networks'

set datafile missing NaN
set datafile commentschars '#'
set key off
set logscale xy
set multiplot
do for [i = 1:4] {
    layers = i % 2
    top = i <= 2
    set lmargin at screen layers ? 0.09 : 0.575
    set rmargin at screen layers ? 0.50 : 0.985
    set tmargin at screen top ? 0.88 : 0.44
    set bmargin at screen top ? 0.55 : 0.11
    if (layers) {
        set xrange [9:220]
        set xtics (10, 20, 40, 80, 200)
    } else {
        set xrange [3.6:140]
        set xtics (4, 8, 16, 32, 64, 128)
    }
    if (top) {
        set title layers ? 'chains, 12 samples; dashed: MobileNet' : 'AlexNet, 14 layers' \
            offset 0, -0.4
        set yrange [1e-4:20]
        set ytics ('0.1 ms' 1e-4, '1 ms' 1e-3, '10 ms' 1e-2, '0.1 s' 0.1, '1 s' 1, '10 s' 10)
        unset xlabel
    } else {
        unset title
        set yrange [10:4000]
        set ytics (10, 100, 1000)
        set xlabel layers ? 'layers' : 'samples' offset 0, 0.3
    }
    if (layers) { set ylabel top ? 'time of a solve' : 'breakpoints' } else { unset ylabel }
    y = top ? 6 : 8
    if (layers) {
        plot data every ::1 using 3:(is('irregular', 'dp-vbs') ? column(y) : NaN) \
                 with linespoints ls 51, \
             '' every ::1 using 3:(is('irregular', 'dp-vbs+') ? column(y) : NaN) \
                 with linespoints ls 52, \
             '' every ::1 using 3:(is('hourglass', 'dp-vbs') ? column(y) : NaN) \
                 with linespoints ls 53, \
             '' every ::1 using 3:(is('hourglass', 'dp-vbs+') ? column(y) : NaN) \
                 with linespoints ls 54
    } else {
        plot data every ::1 using 4:(is('alexnet', 'dp-vbs') ? column(y) : NaN) \
                 with linespoints ls 51, \
             '' every ::1 using 4:(is('alexnet', 'dp-vbs+') ? column(y) : NaN) \
                 with linespoints ls 52
    }
}
unset logscale
key_titles = 'dp-vbs dp-vbs+'
key_styles = '51 52'
load folder . '/key.gp'
unset multiplot
set output
