# Test accuracy against how many times smaller the weights are, one panel for each network.
format = ARG1
folder = ARG2
width = 11.0
height = 3.9
load folder . '/style.gp'
set output 'accuracy.' . format
data = 'points.csv'
set style line 51 lc rgb '#0072B2' lw 1.4 dt (7, 5) pt 6 ps 0.8 * marker
set style line 52 lc rgb '#009E73' lw 1.6 dt solid pt 8 ps 0.9 * marker
set style line 53 lc rgb '#D55E00' lw 1.8 dt solid pt 7 ps 0.7 * marker
set style line 54 lc rgb '#000000' lw 1.4 dt solid pt 5 ps 0.7 * marker

set datafile missing NaN
set key off
set logscale x 10
set xrange [0.75:130]
set xtics ('1' 1, '2' 2, '5' 5, '10' 10, '20' 20, '40' 40, '85' 85)
set format y '%.1f'
set tmargin at screen 0.80
set bmargin at screen 0.15
set xlabel 'times smaller (dense: 1)' offset 0, 0.4
mean(name, kind) = (strcol(1) eq name && strcol(2) eq kind && strcol(3) ne 'all')
set multiplot
do for [i = 1:3] {
    name = word('lenet300 lenet5 resnet8', i)
    set lmargin at screen 0.066 + 0.325 * (i - 1)
    set rmargin at screen 0.336 + 0.325 * (i - 1)
    set title word('LeNet-300-100 LeNet-5 ResNet-8', i) offset 0, -0.4
    if (i == 1) { set ylabel 'test images that are right (%)' offset 0.6, 0 } else { unset ylabel }
    stats data every ::1 using (mean(name, 'dense') ? $5 : NaN) nooutput
    dense = STATS_mean
    stats data every ::1 using (mean(name, 'longer') ? $5 : NaN) nooutput
    longer = STATS_mean
    set yrange [*:*]
    set ytics word('0.2 0.1 0.5', i) + 0
    plot dense with lines ls 51, longer with lines ls 52, \
         data every ::1 using (0.93 * $4):(mean(name, 'dense') ? $5 : NaN) with points ls 51, \
         data every ::1 using (1.1 * $4):(mean(name, 'longer') ? $5 : NaN) with points ls 52, \
         data every ::1 using 4:(strcol(1) eq name && strcol(2) ne 'dense' && strcol(2) ne 'longer' && \
             strcol(3) ne 'all' ? $5 : NaN) with points ls 53, \
         data every ::1 using (1.1 * $4):(strcol(1) eq name && strcol(3) eq 'all' ? $5 : NaN):6:7 \
             with yerrorbars ls 54
}
unset logscale
key_titles = '"dense" "dense, trained as long" "coded, a seed" "coded, mean"'
key_styles = '51 52 53 54'
load folder . '/key.gp'
unset multiplot
set output
