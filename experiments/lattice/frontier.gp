# ResNet-50: time against memory as exact curves of three planners, in a table of 2 MB, and the
# lower bound.
format = ARG1
folder = ARG2
width = 8.6
height = 4.2
load folder . '/style.gp'
set output 'frontier.' . format
data = 'frontier.csv'
MB = 1e6
set style line 51 lc rgb '#0072B2' lw 1.6 dt solid
set style line 52 lc rgb '#D55E00' lw 1.6 dt solid
set style line 53 lc rgb '#CC79A7' lw 1.6 dt solid
set style line 54 lc rgb '#000000' pt 7 ps 0.7 * marker
set style line 55 lc rgb '#707070' lw 1.4 dt (7, 5)
ms(curve) = strcol(1) eq curve ? $3 / 12000 : NaN

set datafile missing NaN
set xrange [6:80]
set xtics 10, 10
set yrange [15:23]
set xlabel 'memory budget (MB)' offset 0, 0.3
set ylabel 'time an image (ms)' offset 0.5, 0
set key top right samplen 3
plot data every ::1 using ($2 / MB):(ms('fbs-best')) with steps ls 51 title 'fbs-best', \
     '' every ::1 using ($2 / MB):(ms('dp-vbs')) with steps ls 52 title 'dp-vbs', \
     '' every ::1 using ($2 / MB):(ms('table')) with points ls 54 \
         title 'dp-vbs in a table of 2 MB', \
     '' every ::1 using ($2 / MB):(ms('dp-vbs+')) with steps ls 53 title 'dp-vbs+', \
     '' every ::1 using ($2 / MB):(ms('bound')) with lines ls 55 title 'lower bound'
set output
