# Images a second against total memory, one line for each way.
format = ARG1
folder = ARG2
width = 7.2
height = 4.4
load folder . '/style.gp'
set output 'together.' . format
set datafile missing NaN
set rmargin 4
set style line 51 lc rgb '#707070' lw 2.0 dt solid
set style line 52 lc rgb '#E69F00' lw 2.0 dt solid
set style line 53 lc rgb '#009E73' lw 2.0 dt (8, 4)
set style line 54 lc rgb '#0072B2' lw 2.0 dt (6, 3)
set style line 55 lc rgb '#56B4E9' lw 1.6 dt (8, 3, 2, 3)
set style line 56 lc rgb '#D55E00' lw 2.4 dt solid
set logscale x 2
set xlabel 'weights and activations (KiB)' offset 0, 0.4
set ylabel 'images a second' offset 1.0, 0
set xtics (64, 128, 256, 512, 1024, 2048, 4096)
set xrange [64:4500]
set yrange [0:*]
set key top left samplen 3 Left reverse
rate(profile, planner) = strcol(1) eq profile && strcol(3) eq planner && strcol(4) eq 'true' ? 1e6 / $5 : NaN
plot 'plans.csv' every ::1 using ($2 / 1024):(rate('conv-5-pruned-coded', 'joint')) with lines ls 56 title 'pruned, coded, planned', \
     'plans.csv' every ::1 using ($2 / 1024):(rate('conv-5-pruned', 'joint')) with lines ls 54 title 'pruned, planned', \
     'plans.csv' every ::1 using ($2 / 1024):(rate('conv-5-pruned-coded', 'fbs')) with lines ls 55 title 'pruned, coded, one batch', \
     'plans.csv' every ::1 using ($2 / 1024):(rate('conv-5-coded', 'joint')) with lines ls 53 title 'coded, planned', \
     'plans.csv' every ::1 using ($2 / 1024):(rate('conv-5', 'joint')) with lines ls 52 title 'planned', \
     'plans.csv' every ::1 using ($2 / 1024):(rate('conv-5', 'fbs')) with lines ls 51 title 'one batch'
set output
