# VGG-16, 12 images, io resident: three lower bounds below the best schedules.
format = ARG1
folder = ARG2
width = 8.6
height = 3.8
load folder . '/style.gp'
set output 'bounds.' . format
data = 'bounds.csv'
MiB = 1048576.0
set style line 51 lc rgb '#D55E00' lw 1.6 dt solid pt 7 ps 0.8 * marker
set style line 52 lc rgb '#000000' lw 1.6 dt (2, 4) pt 6 ps 1.4 * marker
set style line 53 lc rgb '#0072B2' lw 1.6 dt (7, 5) pt 8 ps 0.8 * marker
set style line 54 lc rgb '#707070' lw 1.6 dt (7, 5) pt 4 ps 0.8 * marker

set xrange [30:52]
set yrange [43:61]
set xtics 30, 5
set xlabel 'memory budget (MiB)' offset 0, 0.3
set ylabel 'time an image (ms)' offset 0.5, 0
set key top right samplen 4
plot data every ::1 using ($1 / MiB):($2 / 12000) with linespoints ls 51 title 'dp-vbs+', \
     '' every ::1 using ($1 / MiB):($5 / 12000) with linespoints ls 52 \
         title 'bound by patterns: the optimum', \
     '' every ::1 using ($1 / MiB):($4 / 12000) with linespoints ls 53 \
         title 'bound with what waiting samples keep', \
     '' every ::1 using ($1 / MiB):($3 / 12000) with linespoints ls 54 \
         title 'bound of each layer alone'
set output
