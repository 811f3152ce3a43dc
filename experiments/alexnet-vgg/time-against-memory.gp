# Time per image against memory: AlexNet, request 64; VGG-16, request 12; io external, judged by
# the second profile.
format = ARG1
folder = ARG2
width = 8.6
height = 3.6
load folder . '/style.gp'
set output 'time-against-memory.' . format
data = 'compare.csv'
networks = 'alexnet vgg-16'
planners = 'fbs fbs-best dp-vbs'
styles = '1 2 4'
is(network, judge, planner) = strcol(1) eq network && strcol(2) eq judge && \
    strcol(4) eq 'external' && strcol(6) eq planner && strcol(7) eq 'true'
ms(network, judge, planner) = is(network, judge, planner) ? $8 / 1000 : NaN

set datafile missing NaN
set key off
set xlabel 'memory budget (MiB)' offset 0, 0.3
set tmargin at screen 0.79
set bmargin at screen 0.15
set multiplot
do for [i = 1:2] {
    network = word(networks, i)
    set lmargin at screen i == 1 ? 0.075 : 0.565
    set rmargin at screen i == 1 ? 0.490 : 0.975
    if (i == 1) {
        set title 'alexnet, request of 64' offset 0, -0.4
        set xrange [4:64]
        set ylabel 'time per image (ms)' offset 0.5, 0
    } else {
        set title 'vgg-16, request of 12' offset 0, -0.4
        set xrange [20:160]
        unset ylabel
    }
    plot for [p = 1:3] data every ::1 \
             using ($5 / 1048576):(ms(network, 'second', word(planners, p))) \
             with linespoints ls word(styles, p), \
         data every ::1 using ($5 / 1048576):(ms(network, 'self', 'dp-vbs')) with lines ls 5
}
key_titles = 'fbs fbs-best dp-vbs "dp-vbs, self-judged"'
key_styles = '1 2 4 5'
load folder . '/key.gp'
unset multiplot
set output
