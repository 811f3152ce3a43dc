# VBS Figure 7: time per image against memory, one panel per network; io resident, judged by the
# second profile. Dashed: dp-vbs as the first profile judges itself.
format = ARG1
folder = ARG2
width = 8.6
height = 6.4
load folder . '/style.gp'
set output 'time-against-memory.' . format
data = 'compare.csv'
networks = 'googlenet resnet-50 squeezenet-v1.0 mobilenet-v1'
planners = 'fbs fbs-best dp-vbs'
styles = '1 2 4'
is(network, judge, planner) = strcol(1) eq network && strcol(2) eq judge && \
    strcol(4) eq 'resident' && strcol(6) eq planner && strcol(7) eq 'true'
ms(network, judge, planner) = is(network, judge, planner) ? $8 / 1000 : NaN

set datafile missing NaN
set xrange [15:40]
set xtics 15, 5
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
    if (left) { set ylabel 'time per image (ms)' offset 0.5, 0 } else { unset ylabel }
    # greedy-vbs may fit nowhere: where it does not, its points lie left of the panel.
    plot for [p = 1:3] data every ::1 \
             using ($5 / 1048576):(ms(network, 'second', word(planners, p))) \
             with linespoints ls word(styles, p), \
         data every ::1 using (is(network, 'second', 'greedy-vbs') ? $5 / 1048576 : 0): \
             ($8 / 1000) with points ls 3, \
         data every ::1 using ($5 / 1048576):(ms(network, 'self', 'dp-vbs')) with lines ls 5
}
key_titles = 'fbs fbs-best greedy-vbs dp-vbs "dp-vbs, self-judged"'
key_styles = '1 2 3 4 5'
load folder . '/key.gp'
unset multiplot
set output
