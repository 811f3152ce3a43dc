# How all figures of the experiments look. Needs `format` (svg or png), `width` and `height` in
# inches. Colours are those of Okabe and Ito, told apart by the colour-blind; dashes and markers
# tell curves apart without colour.
marker = 1.0
if (format eq 'svg') {
    marker = 0.65 # this terminal has no scale of its own
    set terminal svg noenhanced dynamic font 'Helvetica,12' linewidth 1 \
        size 100 * width, 100 * height background '#ffffff'
} else {
    set terminal pngcairo noenhanced font 'Sans,10' fontscale 1.75 linewidth 1.75 pointscale 1.6 \
        size 200 * width, 200 * height background '#ffffff'
}

# The planners: fbs, fbs-best, greedy-vbs, dp-vbs; 5 is the lower bound, 6 a budget.
set style line 1 lc rgb '#E69F00' lw 3.0 dt solid pt 4 ps 1.1 * marker
set style line 2 lc rgb '#0072B2' lw 1.6 dt solid pt 6 ps 0.8 * marker
set style line 3 lc rgb '#009E73' lw 1.8 dt (8, 4) pt 8 ps 1.0 * marker
set style line 4 lc rgb '#D55E00' lw 1.4 dt solid pt 7 ps 0.6 * marker
set style line 5 lc rgb '#707070' lw 1.2 dt (7, 5) pt 7 ps 0.3 * marker
set style line 6 lc rgb '#000000' lw 1.2 dt (6, 3) pt -1

# Networks.
set style line 11 lc rgb '#E69F00' lw 1.6 dt solid pt 4 ps 0.9 * marker
set style line 12 lc rgb '#0072B2' lw 1.6 dt solid pt 6 ps 0.9 * marker
set style line 13 lc rgb '#009E73' lw 1.6 dt (8, 4) pt 8 ps 0.9 * marker
set style line 14 lc rgb '#D55E00' lw 1.6 dt solid pt 7 ps 0.8 * marker
set style line 15 lc rgb '#56B4E9' lw 1.6 dt (6, 3) pt 9 ps 0.9 * marker
set style line 16 lc rgb '#CC79A7' lw 1.6 dt (8, 3, 2, 3) pt 5 ps 0.8 * marker

# Kinds of memory: inputs or what is held, outputs, workspace.
set style line 21 lc rgb '#9CC8E8' lw 0.6
set style line 22 lc rgb '#0072B2' lw 0.6
set style line 23 lc rgb '#E69F00' lw 0.6

set style line 31 lc rgb '#d8d8d8' lw 0.5 dt solid
set grid back linestyle 31
set border 3 lw 0.8
set tics nomirror out scale 0.6
set key noenhanced
set title noenhanced
set datafile separator ','
