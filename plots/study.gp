# study.gp - a study: its course, the importance of its parameters, its trials over all axes, slices and a
# contour of the search space, the Pareto front.
#
# Needs what src/study/pictures.c sets before it: vbs_format, vbs_data, vbs_output, vbs_kind, vbs_title,
# vbs_note, vbs_objectives, and the arrays vbs_objective (labels of the objectives) and vbs_control (their
# values for the control, NaN: there is none), and by kind
#   history     for each objective blocks: trial and value of feasible trials, of others; the best so far
#   importance  vbs_n, vbs_name[]; a block: number, percent
#   parallel    vbs_n axes, vbs_name[], vbs_low[], vbs_high[], vbs_from, vbs_to (of the objective); blocks:
#               lines of trials that are not feasible, of feasible ones: axis, height, value
#   slice       vbs_n, vbs_name[], vbs_last; a block: trial, feasible, the objectives, then the parameters
#   contour     vbs_x, vbs_y; blocks: a grid of x, y, value; feasible trials, others
#   pareto      vbs_x, vbs_y, vbs_first (1 or -1: which x is better); blocks: feasible trials, others, the
#               front, the control

# Histories stand one below the other, slices in rows of three or, of several objectives, in a column for each.
width_inches = 6.2
height_inches = 3.8
longest = 0 # characters of a name
if (vbs_kind eq 'importance' || vbs_kind eq 'parallel' || vbs_kind eq 'slice') {
    do for [i = 1:vbs_n] { longest = strlen(vbs_name[i]) > longest ? strlen(vbs_name[i]) : longest }
}
head_inches = 0.78 # title and key
foot_inches = 0.80
if (vbs_kind eq 'history' && vbs_objectives > 1) { height_inches = head_inches + foot_inches + 2.1 * vbs_objectives }
if (vbs_kind eq 'importance') { height_inches = 1.3 + 0.26 * vbs_n }
slanted = 0 # names below axes that stand too near for them
if (vbs_kind eq 'parallel') {
    width_inches = vbs_n > 6 ? 1.1 * vbs_n : 7
    slanted = longest > 14
    if (slanted) { height_inches = 3.4 + 0.043 * longest }
}
if (vbs_kind eq 'slice') {
    columns = vbs_objectives > 1 ? vbs_objectives : vbs_n < 3 ? vbs_n : 3
    panels = vbs_n * vbs_objectives
    rows = (panels + columns - 1) / columns
    width_inches = columns == 1 ? 5 : columns * 3.1
    height_inches = head_inches + rows * 2.3 + 0.1
}
if (vbs_kind eq 'contour') { width_inches = 5.6; height_inches = 4.6 }

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
set key reverse Left samplen 1.6 font ',9'
# The title stands above the key, in the middle of the picture.
set label 2 vbs_title.': '.vbs_kind noenhanced at screen 0.5, screen 1 - 0.17 / height_inches center front
set key at screen 0.5, screen 1 - 0.3 / height_inches center top horizontal
set label 1 vbs_note noenhanced at screen 1 - 0.2 / width_inches, screen 0.12 / height_inches right font ',8' textcolor rgb '#606060'
set tmargin at screen 1 - head_inches / height_inches
set bmargin at screen foot_inches / height_inches

if (vbs_kind eq 'history') {
    set lmargin at screen 1.05 / width_inches
    set rmargin at screen 1 - 0.2 / width_inches
    set xrange [0:*]
    set offsets 0, 1, graph 0.06, graph 0.06
    set multiplot
    pitch = (height_inches - head_inches - foot_inches) / vbs_objectives
    do for [o = 1:vbs_objectives] {
        set tmargin at screen 1 - (head_inches + (o - 1) * pitch + (o > 1 ? 0.12 : 0)) / height_inches
        set bmargin at screen 1 - (head_inches + o * pitch - (o < vbs_objectives ? 0.12 : 0)) / height_inches
        if (o == vbs_objectives) { set xlabel 'trial'; set format x } else { set format x '' }
        set label 3 vbs_objective[o] noenhanced rotate by 90 center at screen 0.2 / width_inches, graph 0.5
        first = 3 * (o - 1)
        plot vbs_data index first + 2 using 1:2 with steps lc rgb line lw 1.6 title 'best so far', \
             '' index first + 1 using 1:2 with points pt 6 ps 0.9 * marker lc rgb bad \
                 title 'not accurate enough', \
             '' index first using 1:2 with points pt 7 ps 0.9 * marker lc rgb good title 'feasible', \
             vbs_control[o] with lines dt (6, 4) lc rgb '#000000' lw 0.9 title 'control'
        set key off
        unset label 1
        unset label 2
    }
    unset multiplot
}
if (vbs_kind eq 'importance') {
    set key off
    unset label 1
    set lmargin at screen (0.25 + 0.085 * longest) / width_inches
    set rmargin at screen 1 - 0.25 / width_inches
    set tmargin at screen 1 - 0.4 / height_inches
    set bmargin at screen 0.7 / height_inches
    set yrange [0.4:vbs_n + 0.6]
    set xrange [0:*]
    set xlabel 'variance of '.vbs_objective[1].' that it explains alone (%)' noenhanced
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
    set lmargin at screen (slanted ? 0.25 + 0.06 * longest : 0.75) / width_inches
    set rmargin at screen 1 - 1.75 / width_inches
    set bmargin at screen (slanted ? 0.65 + 0.043 * longest : 0.95) / height_inches
    set xrange [1:vbs_n]
    set yrange [0:1]
    unset xtics
    do for [i = 1:vbs_n] {
        if (slanted) {
            set label i + 300 vbs_name[i] noenhanced at first i, graph -0.11 right rotate by 35
        } else {
            set label i + 300 vbs_name[i] noenhanced at first i, graph -0.13 center
        }
        set arrow i + 10 from first i, graph 0 to first i, graph 1 nohead lc rgb '#303030' lw 1 front
        set label i + 100 vbs_low[i] noenhanced at first i, graph -0.05 center font ',9'
        set label i + 200 vbs_high[i] noenhanced at first i, graph 1.05 center font ',9'
    }
    set cbrange [vbs_from:vbs_to > vbs_from ? vbs_to : vbs_from + 1]
    set cblabel vbs_objective[1] noenhanced
    set colorbox user origin screen 1 - 1.25 / width_inches, graph 0 size 0.14 / width_inches, graph 1
    plot vbs_data index 0 using 1:2 with lines lc rgb '#d4d4d4' lw 0.9, \
         '' index 1 using 1:2:3 with lines lc palette lw 1.6
}
if (vbs_kind eq 'slice') {
    set label 1 'colour: number of the trial, from dark to light; hollow: not accurate enough' font ',9' \
        at screen 0.5, screen 1 - 0.42 / height_inches center
    set key off
    set offsets 0, 0, graph 0.08, graph 0.08
    set xrange [-4:104]
    set xtics 0, 25, 100
    set cbrange [1:vbs_last > 1 ? vbs_last : 2]
    unset colorbox
    set multiplot
    across = width_inches / columns
    do for [k = 0:panels - 1] {
        objective = vbs_objectives > 1 ? k % columns : 0
        parameter = vbs_objectives > 1 ? k / columns : k
        set lmargin at screen (k % columns * across + 0.95) / width_inches
        set rmargin at screen ((k % columns + 1) * across - 0.2) / width_inches
        set tmargin at screen 1 - (0.68 + k / columns * 2.3) / height_inches
        set bmargin at screen 1 - (0.68 + k / columns * 2.3 + 1.68) / height_inches
        # Labels and not xlabel and ylabel: gnuplot cuts what is wider than the margins.
        set label 3 vbs_name[parameter + 1].' (% removed)' noenhanced font ',9' center \
            at graph 0.42, screen 1 - (0.68 + k / columns * 2.3 + 2.02) / height_inches
        if (vbs_objectives > 1 || k % columns == 0) {
            set label 4 vbs_objective[objective + 1] noenhanced rotate by 90 center \
                at screen (k % columns * across + 0.15) / width_inches, graph 0.5
        }
        plot vbs_data index 0 using (column(3 + vbs_objectives + parameter)):($2 > 0 ? NaN : column(3 + objective)) \
                 with points pt 6 ps 0.9 * marker lc rgb bad, \
             '' index 0 using (column(3 + vbs_objectives + parameter)):($2 > 0 ? column(3 + objective) : NaN):1 \
                 with points pt 7 ps 0.9 * marker lc palette
        unset label
    }
    unset multiplot
}
if (vbs_kind eq 'contour') {
    unset grid
    set border 15
    set xlabel vbs_x.' (% removed)' noenhanced
    set ylabel vbs_y.' (% removed)' noenhanced
    set cblabel vbs_objective[1].', as the model expects it' noenhanced offset 1, 0
    set autoscale fix
    set lmargin at screen 0.85 / width_inches
    set rmargin at screen 1 - 1.35 / width_inches
    plot vbs_data index 0 using 1:2:3 with image notitle, \
         '' index 2 using 1:2 with points pt 7 ps 1.1 * marker lc rgb '#000000' notitle, \
         '' index 2 using 1:2 with points pt 7 ps 0.8 * marker lc rgb '#ffffff' notitle, \
         NaN with points pt 6 ps 1.1 * marker lc rgb '#000000' title 'not accurate enough', \
         '' index 1 using 1:2 with points pt 7 ps 1.1 * marker lc rgb line title 'feasible'
}
if (vbs_kind eq 'pareto') {
    set xlabel vbs_x noenhanced
    set ylabel vbs_y noenhanced
    set rmargin at screen 1 - 0.3 / width_inches
    set offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04
    plot vbs_data index 2 using 1:2 with lines lc rgb line lw 1.4 title 'Pareto front', \
         '' index 1 using 1:2 with points pt 6 ps 0.9 * marker lc rgb bad title 'not accurate enough', \
         '' index 0 using 1:2 with points pt 7 ps 0.9 * marker lc rgb good title 'feasible', \
         '' index 3 using 1:2 with points pt 3 ps 1.5 * marker lc rgb '#000000' title 'control'
}
set output
