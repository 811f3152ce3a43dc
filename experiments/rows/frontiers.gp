# Time against memory of one image, relative to the time without limit: a panel for each network.
format = ARG1
folder = ARG2
width = 8.6
height = 11
load folder . '/style.gp'
set output 'frontiers.' . format
data = 'curves.csv'
networks = 'alexnet vgg-s vgg-16 vgg-19 googlenet resnet-50 resnet-56-cifar squeezenet-v1.0 mobilenet-v1 c3d'
planners = 'rows whole patch patch-2d fusion fusion-2d'
set style line 61 lc rgb '#D55E00' lw 2.2 dt solid
set style line 62 lc rgb '#000000' lw 1.4 dt solid
set style line 63 lc rgb '#009E73' lw 1.6 dt solid
set style line 64 lc rgb '#009E73' lw 1.6 dt (6, 3)
set style line 65 lc rgb '#0072B2' lw 1.6 dt solid
set style line 66 lc rgb '#0072B2' lw 1.6 dt (6, 3)
is(network, planner) = strcol(1) eq network && strcol(2) eq planner

set datafile missing NaN
set key off
array least[10]
do for [i = 1:10] {
    stats data every ::1 using (is(word(networks, i), 'whole') ? $4 : NaN) nooutput
    least[i] = STATS_min
}
set logscale xy
set multiplot
do for [i = 1:10] {
    network = word(networks, i)
    row = (i - 1) / 2
    set lmargin at screen 0.085 + 0.49 * ((i - 1) % 2)
    set rmargin at screen 0.49 + 0.49 * ((i - 1) % 2)
    set tmargin at screen 0.945 - 0.187 * row
    set bmargin at screen 0.81 - 0.187 * row
    set title network offset 0, -0.6
    set xrange [*:*] noextend
    set yrange [0.9:8]
    set ytics (1, 1.25, 1.5, 2, 3, 4, 6, 8)
    unset xlabel
    unset label 1
    if (row == 4) { set xlabel 'memory (MiB)' offset 0, 0.4 }
    if (i % 2 == 1) { set label 1 'time' rotate center at screen 0.012, 0.8775 - 0.187 * row }
    # Of c3d, whose rows are frames, there are no estimates in two dimensions.
    shown = i == 10 ? '1 2 3 5' : '1 2 3 4 5 6'
    plot for [p in shown] data every ::1 using \
        (is(network, word(planners, p + 0)) ? $3 / 1048576 : NaN):($4 / least[i]) with steps ls 60 + p
}
unset logscale
key_titles = '"dp-vbs+ by rows" "dp-vbs+ whole" patch patch-2d fusion fusion-2d'
key_styles = '61 62 63 64 65 66'
load folder . '/key.gp'
unset multiplot
set output
