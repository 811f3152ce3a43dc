# Weights of every row, as in MMCNN Figure 6.
format = ARG1
folder = ARG2
width = 8.6
height = 2.9
load folder . '/style.gp'
set output 'figure-6.' . format
data = 'weights.csv'
MiB = 1048576.0
of(network) = strcol(1) eq network ? $4 / MiB : NaN

set datafile missing NaN
set key off
set style fill solid 1.0 noborder
set boxwidth 0.7
set tmargin at screen 0.88
set bmargin at screen 0.18
set xlabel 'row' offset 0, 0.4
set multiplot
do for [i = 1:3] {
    network = word('alexnet vgg-s vgg-19', i)
    set lmargin at screen 0.070 + 0.32 * (i - 1)
    set rmargin at screen 0.335 + 0.32 * (i - 1)
    set title word('AlexNet VGG-S VGG-D19', i) offset 0, -0.4
    set xrange [0.3:(i == 3 ? 43.7 : i == 2 ? 20.7 : 21.7)]
    set xtics 1, (i == 3 ? 6 : 4)
    set yrange [0:(i == 1 ? 160 : i == 2 ? 320 : 440)]
    set ytics 0, (i == 1 ? 40 : i == 2 ? 80 : 100)
    if (i == 1) { set ylabel 'weights (MiB)' offset 1.0, 0 } else { unset ylabel }
    plot data every ::1 using 2:(of(network)) with boxes ls 22
}
unset multiplot
set output
