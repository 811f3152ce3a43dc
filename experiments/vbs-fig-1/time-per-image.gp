# Left: ResNet-50, as VBS Figure 1. Right: all networks, relative to batch 1.
format = ARG1
folder = ARG2
width = 8.6
height = 3.4
load folder . '/style.gp'
set output 'time-per-image.' . format
data = 'time-per-image.csv'
networks = 'resnet-50 googlenet squeezenet-v1.0 mobilenet-v1 alexnet vgg-16'

of(name, value) = strcol(1) eq name ? value : 1 / 0
array first[words(networks)]
do for [i = 1:words(networks)] {
    stats data every ::1 using (strcol(1) eq word(networks, i) && $2 == 1 ? $4 : 1 / 0) nooutput
    first[i] = STATS_max
}

set multiplot
set xrange [0.5:12.5]
set xtics 0, 2
set xlabel 'batch size' offset 0, 0.3
set bmargin at screen 0.14
set tmargin at screen 0.90
set datafile missing NaN

set lmargin at screen 0.075
set rmargin at screen 0.40
set title 'ResNet-50'
set ylabel 'time per image (ms)' offset 0.5, 0
set yrange [0:*]
set key bottom left samplen 2
plot data every ::1 using 2:(of('resnet-50', $4)) with linespoints ls 14 title 'second profile', \
     data every ::1 using 2:(of('resnet-50', $3)) with points ls 12 title 'first profile'

set lmargin at screen 0.485
set rmargin at screen 0.80
set title 'all networks, second profile'
set ylabel 'time per image / that at batch 1'
set yrange [0:*]
set key at screen 0.815, 0.88 left top samplen 2.5 Left reverse
plot for [i = 1:words(networks)] data every ::1 \
         using 2:(of(word(networks, i), $4) / first[i]) with linespoints ls 10 + i \
         title word(networks, i)
unset multiplot
set output
