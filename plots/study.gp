# study.gp - a study: its course, the importance of its parameters, its trials over all axes, slices and a
# contour of the search space, the Pareto front.
#
# Needs what src/study/pictures.c sets before it: vbs_format, vbs_data, vbs_output, vbs_kind, vbs_title,
# vbs_note, vbs_objective (the label of the first objective), vbs_control (its value for the control, NaN:
# there is none), and by kind
#   history     blocks: trial and value of feasible trials, of others; the best value so far
#   importance  vbs_n, vbs_name[]; a block: number, percent
#   parallel    vbs_n axes, vbs_name[], vbs_low[], vbs_high[], vbs_from, vbs_to (of the objective); blocks:
#               lines of trials that are not feasible, of feasible ones: axis, height, value
#   slice       vbs_n, vbs_name[], vbs_last; a block: trial, value, feasible, then the parameters
#   contour     vbs_x, vbs_y; blocks: a grid of x, y, value; feasible trials, others
#   pareto      vbs_x, vbs_y, vbs_first (1 or -1: which x is better); blocks: feasible trials, others, the
#               front, the control

width_inches = 6.2
height_inches = 3.8
if (vbs_kind eq 'importance') { height_inches = 1.3 + 0.26 * vbs_n }
if (vbs_kind eq 'parallel') { width_inches = vbs_n > 6 ? 1.1 * vbs_n : 7 }
if (vbs_kind eq 'slice') {
    columns = vbs_n < 3 ? vbs_n : 3
    rows = (vbs_n + columns - 1) / columns
    width_inches = columns == 1 ? 4.4 : columns * 2.9
    height_inches = 0.7 + rows * 2.4
}
if (vbs_kind eq 'contour') { width_inches = 5.6; height_inches = 4.4 }

set encoding utf8
marker = 1.0 # size of markers
if (vbs_format eq 'svg') {
    marker = 0.65 # this terminal has no scale of its own
    set terminal svg noenhanced dynamic font 'Helvetica,12' linewidth 1 \
        size 100 * width_inches, 100 * height_inches background '#ffffff'
}
if (vbs_format eq 'png') {
    set terminal pngcairo noenhanced font 'Sans,10' fontscale 2.6 linewidth 2.6 pointscale 2.4 \
        size 300 * width_inches, 300 * height_inches background '#ffffff'
}
if (vbs_format eq 'pdf') {
    set terminal pdfcairo noenhanced font 'Sans,10' fontscale 0.62 linewidth 1.05 pointscale 0.62 \
        size width_inches, height_inches background '#ffffff'
}
set output vbs_output

# Colours of Okabe and Ito.
good = '#0072B2'
bad = '#B0B0B0'
line = '#D55E00'
set palette defined (0 '#440154', 0.25 '#3b528b', 0.5 '#21918c', 0.75 '#5ec962', 1 '#fde725')
set tics nomirror out scale 0.6
set border 3 lw 0.8
set grid lc rgb '#e4e4e4' lw 0.6
set key top left reverse Left samplen 1.6 font ',9'
set title vbs_title.': '.vbs_kind noenhanced offset 0, -0.2
set label 1 vbs_note noenhanced at graph 1, screen 0.03 right font ',8' textcolor rgb '#606060'
set bmargin 4.8

if (vbs_kind eq 'history') {
    set key outside top center horizontal
    set title offset 0, 0.4
    set xlabel 'trial'
    set ylabel vbs_objective noenhanced
    set xrange [0:*]
    set offsets 0, 1, graph 0.06, graph 0.06
    plot vbs_data index 2 using 1:2 with steps lc rgb line lw 1.6 title 'best so far', \
         '' index 1 using 1:2 with points pt 6 ps 0.9 * marker lc rgb bad title 'not accurate enough', \
         '' index 0 using 1:2 with points pt 7 ps 0.9 * marker lc rgb good title 'feasible', \
         vbs_control with lines dt (6, 4) lc rgb '#000000' lw 0.9 title 'control'
}
if (vbs_kind eq 'importance') {
    set key off
    unset label 1
    set lmargin 22
    set bmargin 3.2
    set yrange [0.4:vbs_n + 0.6]
    set xrange [0:*]
    set xlabel 'variance of '.vbs_objective.' that it explains alone (%)' noenhanced
    unset ytics
    # Labels and not tics, in which a percent sign would begin a format.
    do for [i = 1:vbs_n] {
        set label i + 10 vbs_name[i] noenhanced at graph -0.02, first i right
    }
    set style fill solid 1.0 noborder
    plot vbs_data index 0 using (0):1:(0):2:($1 - 0.34):($1 + 0.34) with boxxyerror lc rgb good
}
if (vbs_kind eq 'parallel') {
    set key off
    unset grid
    unset border
    unset ytics
    set lmargin 7
    set rmargin at screen 1 - 1.75 / width_inches
    set tmargin 4
    set bmargin 6
    set xrange [1:vbs_n]
    set yrange [0:1]
    unset xtics
    do for [i = 1:vbs_n] {
        set label i + 300 vbs_name[i] noenhanced at first i, graph -0.13 center
        set arrow i + 10 from first i, graph 0 to first i, graph 1 nohead lc rgb '#303030' lw 1 front
        set label i + 100 vbs_low[i] noenhanced at first i, graph -0.05 center font ',9'
        set label i + 200 vbs_high[i] noenhanced at first i, graph 1.05 center font ',9'
    }
    set title offset 0, 1.4
    set cbrange [vbs_from:vbs_to > vbs_from ? vbs_to : vbs_from + 1]
    set cblabel vbs_objective noenhanced
    set colorbox user origin screen 1 - 1.25 / width_inches, graph 0 size 0.14 / width_inches, graph 1
    plot vbs_data index 0 using 1:2 with lines lc rgb '#d4d4d4' lw 0.9, \
         '' index 1 using 1:2:3 with lines lc palette lw 1.6
}
if (vbs_kind eq 'slice') {
    unset label 1
    set key off
    unset title
    set multiplot layout rows, columns title vbs_title.': '.vbs_kind noenhanced
    set bmargin 3.6
    set tmargin 1
    set lmargin 12
    set rmargin 3
    set offsets 0, 0, graph 0.08, graph 0.08
    set xrange [-4:104]
    set xtics 0, 25, 100
    set cbrange [1:vbs_last > 1 ? vbs_last : 2]
    unset colorbox
    do for [k = 1:vbs_n] {
        set xlabel vbs_name[k].' (% removed)' noenhanced
        if ((k - 1) % columns == 0) { set ylabel vbs_objective noenhanced } else { set ylabel }
        plot vbs_data index 0 using (column(3 + k)):($3 > 0 ? NaN : $2) with points pt 6 ps 0.9 * marker \
                 lc rgb bad, \
             '' index 0 using (column(3 + k)):($3 > 0 ? $2 : NaN):1 with points pt 7 ps 0.9 * marker \
                 lc palette
    }
    unset multiplot
}
if (vbs_kind eq 'contour') {
    unset grid
    set border 15
    set key outside top center horizontal
    set title offset 0, 0.4
    set xlabel vbs_x.' (% removed)' noenhanced
    set ylabel vbs_y.' (% removed)' noenhanced
    set cblabel vbs_objective.', as the model expects it' noenhanced offset 1, 0
    set autoscale fix
    set rmargin 16
    set bmargin 5
    plot vbs_data index 0 using 1:2:3 with image notitle, \
         '' index 2 using 1:2 with points pt 7 ps 1.1 * marker lc rgb '#000000' notitle, \
         '' index 2 using 1:2 with points pt 7 ps 0.8 * marker lc rgb '#ffffff' notitle, \
         NaN with points pt 6 ps 1.1 * marker lc rgb '#000000' title 'not accurate enough', \
         '' index 1 using 1:2 with points pt 7 ps 1.1 * marker lc rgb line title 'feasible'
}
if (vbs_kind eq 'pareto') {
    set key outside top center horizontal
    set title offset 0, 0.4
    set xlabel vbs_x noenhanced
    set ylabel vbs_y noenhanced
    set rmargin 5
    set offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04
    plot vbs_data index 2 using 1:2 with lines lc rgb line lw 1.4 title 'Pareto front', \
         '' index 1 using 1:2 with points pt 6 ps 0.9 * marker lc rgb bad title 'not accurate enough', \
         '' index 0 using 1:2 with points pt 7 ps 0.9 * marker lc rgb good title 'feasible', \
         '' index 3 using 1:2 with points pt 3 ps 1.5 * marker lc rgb '#000000' title 'control'
}
set output
