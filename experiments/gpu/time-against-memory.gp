# Time per image against memory on a GPU, one panel per network. Lines: planned, judged by the second
# profile. Points: executed.
format = ARG1
folder = ARG2
width = 8.6
height = 6.4
load folder . '/style.gp'
set output 'time-against-memory.' . format
set datafile commentschars '#'
networks = 'alexnet vgg-16 googlenet resnet-50 squeezenet-v1.0 mobilenet-v1'
planners = 'fbs dp-vbs'
styles = '1 4'
is(network, planner) = strcol(1) eq network && strcol(2) eq 'second' && strcol(6) eq planner && \
    strcol(7) eq 'true'
ran(network, planner) = strcol(1) eq network && strcol(2) eq planner && strcol(3) eq 'excluded'

set datafile missing NaN
set logscale x 2
set xrange [4:128]
set xtics 4, 2
set yrange [0:*]
set key off
set multiplot
do for [i = 1:6] {
    network = word(networks, i)
    column = (i - 1) % 3
    set lmargin at screen 0.065 + 0.325 * column
    set rmargin at screen 0.325 + 0.325 * column
    set tmargin at screen i <= 3 ? 0.895 : 0.445
    set bmargin at screen i <= 3 ? 0.555 : 0.105
    set title network offset 0, -0.4
    if (i > 3) { set xlabel 'memory budget (MiB)' offset 0, 0.3 } else { unset xlabel }
    if (column == 0) { set ylabel 'time per image (ms)' offset 0.5, 0 } else { unset ylabel }
    plot for [p = 1:2] 'compare.csv' every ::1 \
             using ($5 / 1048576):(is(network, word(planners, p)) ? $8 / 1000 : NaN) \
             with lines ls word(styles, p), \
         'executed.csv' every ::1 using ($5 / 1048576):(ran(network, 'fbs') ? $7 / 12000 : NaN) \
             with points ls 1, \
         'executed.csv' every ::1 using ($5 / 1048576):(ran(network, 'dp-vbs+') ? $7 / 12000 : NaN) \
             with points ls 4
}
unset logscale
key_titles = 'fbs dp-vbs'
key_styles = '1 4'
load folder . '/key.gp'
unset multiplot
set output
