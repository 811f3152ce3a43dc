# How much longer a plan takes when memory goes in steps, against memory; one panel per network.
format = ARG1
folder = ARG2
width = 8.6
height = 6.4
load folder . '/style.gp'
set output 'longer-against-memory.' . format
data = 'plans.csv'
networks = 'googlenet resnet-50 squeezenet-v1.0 mobilenet-v1'
steps = '2MiB 512KiB 100KiB'
styles = '1 2 4'
longer(network, step) = strcol(1) eq network && strcol(2) eq step ? $5 : NaN

set datafile missing NaN
set xrange [15:40]
set xtics 15, 5
set yrange [0:*]
set key off
set multiplot
do for [i = 1:4] {
    network = word(networks, i)
    left = i % 2
    set lmargin at screen left ? 0.075 : 0.565
    set rmargin at screen left ? 0.495 : 0.985
    set tmargin at screen i <= 2 ? 0.895 : 0.445
    set bmargin at screen i <= 2 ? 0.555 : 0.105
    set title network offset 0, -0.4
    if (i > 2) { set xlabel 'memory budget (MiB)' offset 0, 0.3 } else { unset xlabel }
    if (left) { set ylabel 'longer than exact (%)' offset 0.5, 0 } else { unset ylabel }
    plot for [s = 1:3] data every ::1 using ($3 / 1048576):(longer(network, word(steps, s))) \
        with linespoints ls word(styles, s)
}
key_titles = '"steps of 2 MiB" "512 KiB" "100 KiB"'
key_styles = '1 2 4'
load folder . '/key.gp'
unset multiplot
set output
