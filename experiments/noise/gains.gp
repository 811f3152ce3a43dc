# How far the second profile's gain is from the first one's, against how far the first one's
# interval reaches on that side; below the line it lies in the interval.
format = ARG1
folder = ARG2
width = 7.0
height = 4.6
load folder . '/style.gp'
set output 'gains.' . format
data = 'gains.csv'
networks = 'googlenet resnet-50 squeezenet-v1.0 mobilenet-v1 alexnet vgg-16 c3d'
of(name, value) = strcol(1)[1:strlen(name)] eq name ? value : NaN
reach(name) = of(name, $9 > $6 ? $8 - $6 : $6 - $7)
least = 0.01

set datafile missing NaN
set logscale xy
set format '%g'
set xrange [0.1:20]
set yrange [least:5]
set xlabel 'from the gain to the end of its interval (percentage points)' offset 0, 0.3
set ylabel 'from the gain to that of the second profile' offset 0.5, 0
set key at screen 0.79, 0.9 left top samplen 1 Left reverse
set lmargin at screen 0.1
set rmargin at screen 0.77
set label 'outside the interval' at 0.12, 3 textcolor rgb '#404040'
set label 'inside' at 6, 0.02 textcolor rgb '#404040'
style(k) = k < 7 ? 10 + k : 6
plot x with lines ls 6 notitle, \
     for [k = 1:7] data every ::1 using \
         (reach(word(networks, k))):(abs($9 - $6) > least ? abs($9 - $6) : least) \
         with points ls style(k) lw 1 ps 0.7 * marker title word(networks, k)
set output
