# Random networks: the share of the cases in which a planner takes more than so much longer than the
# optimum. A case without a plan exceeds everything.
format = ARG1
folder = ARG2
width = 8.6
height = 5.6
load folder . '/style.gp'
set output 'random.' . format
data = 'shares.csv'
graphs = 'linear branched arbitrary'
titles = 'chains "networks with branches" "arbitrary networks"'
times = 'affine irregular'
planners = 'greedy-vbs dp-monotone dp-vbs dp-vbs+'
set style line 51 lc rgb '#009E73' lw 1.8 dt (8, 4) ps 0
set style line 52 lc rgb '#0072B2' lw 1.6 dt (6, 3) ps 0
set style line 53 lc rgb '#D55E00' lw 2.0 dt solid ps 0
set style line 54 lc rgb '#CC79A7' lw 2.4 dt solid ps 0
is(g, t, p) = strcol(1) eq word(graphs, g) && strcol(2) eq word(times, t) && \
    strcol(3) eq word(planners, p)

set datafile missing NaN
set key off
set logscale y
set xrange [0:60]
set xtics 0, 20
set yrange [0.05:100]
set ytics (0.1, 1, 10, 100)
set multiplot
do for [t = 1:2] {
    do for [g = 1:3] {
        set lmargin at screen 0.085 + 0.31 * (g - 1)
        set rmargin at screen 0.365 + 0.31 * (g - 1)
        set tmargin at screen t == 1 ? 0.885 : 0.44
        set bmargin at screen t == 1 ? 0.555 : 0.11
        set title word(titles, g) . ', ' . word(times, t) . ' times' offset 0, -0.4
        if (t == 2) { set xlabel 'percent above the optimum' offset 0, 0.3 } else { unset xlabel }
        set format y g == 1 ? '%g%%' : ''
        if (g == 1) { set ylabel 'share of the cases' offset 0.3, 0 } else { unset ylabel }
        plot for [p = 1:4] data every ::1 using 4:(is(g, t, p) && $5 > 0 ? $5 : NaN) \
            with steps ls 50 + p
    }
}
unset logscale y
set format y '%g'
key_titles = planners
key_styles = '51 52 53 54'
load folder . '/key.gp'
unset multiplot
set output
