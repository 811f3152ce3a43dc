# study.gp - a study: its course, the importance of its parameters, its trials over all axes, slices and a
# contour of the search space, the Pareto front.
#
# Needs what src/study/pictures.c sets before it: vbs_kind, vbs_title, vbs_note, vbs_objectives, and the
# arrays vbs_objective (labels of the objectives) and vbs_control (their values for the control, NaN: there
# is none); and plots/common.gp; and by kind
#   history     vbs_histories, vbs_which[] (numbers of the objectives that are drawn); for each blocks: trial and
#               value of feasible trials, of others; the best so far
#   importance  vbs_n, vbs_name[]; a block: number, percent
#   parallel    vbs_n axes, vbs_name[], vbs_low[], vbs_high[], vbs_from, vbs_to (of the objective); blocks:
#               lines of trials that are not feasible, of feasible ones: axis, height, value
#   slice       vbs_n, vbs_name[], vbs_last; a block: trial, feasible, the objectives, then the parameters
#   contour     vbs_x, vbs_y; blocks: a grid of x, y, value; feasible trials, others
#   pareto      vbs_x, vbs_y, vbs_first (1 or -1: which x is better), vbs_shows_feasible,
#               vbs_shows_infeasible, vbs_shows_front, vbs_shows_control; blocks: feasible trials, others,
#               the front, the control

# Histories stand one below the other, slices in rows of three or, of several objectives, in a column for each.
own_width = 6.2
own_height = 3.8
longest = 0 # characters of a name
if (vbs_kind eq 'importance' || vbs_kind eq 'parallel' || vbs_kind eq 'slice') {
    do for [i = 1:vbs_n] { longest = strlen(vbs_name[i]) > longest ? strlen(vbs_name[i]) : longest }
}
head_inches = 0.78 # title and key
foot_inches = 0.80
least_width = 3.2
least_height = head_inches + foot_inches + 0.9
if (vbs_kind eq 'history' && vbs_histories > 1) {
    own_height = head_inches + foot_inches + 2.1 * vbs_histories
    least_height = head_inches + foot_inches + vbs_histories
}
if (vbs_kind eq 'importance') {
    own_height = 1.3 + 0.26 * vbs_n
    least_height = 1.1 + 0.12 * vbs_n
    least_width = 1.6 + 0.085 * longest
}
slanted = 0 # names below axes that stand too near for them
if (vbs_kind eq 'parallel') {
    own_width = vbs_n > 6 ? 1.1 * vbs_n : 7
    least_width = 2.5 + 0.3 * vbs_n
    slanted = longest > 14
    if (slanted) { own_height = 3.4 + 0.043 * longest }
}
if (vbs_kind eq 'slice') {
    columns = vbs_objectives > 1 ? vbs_objectives : vbs_n < 3 ? vbs_n : 3
    panels = vbs_n * vbs_objectives
    rows = (panels + columns - 1) / columns
    own_width = columns == 1 ? 5 : columns * 3.1
    own_height = head_inches + rows * 2.3 + 0.1
    least_width = columns * 1.9
    least_height = head_inches + rows * 1.5 + 0.1
}
if (vbs_kind eq 'contour') { own_width = 5.6; own_height = 4.6 }
width_inches = width_of(own_width)
height_inches = height_of(own_height)
eval need(width_inches, height_inches, least_width, least_height)
eval begin(width_inches, height_inches)

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
set label 1 sized(8, vbs_note) noenhanced at screen 1 - 0.2 / width_inches, screen 0.12 / height_inches right font ',8' textcolor rgb '#606060'
set tmargin at screen 1 - head_inches / height_inches
set bmargin at screen foot_inches / height_inches

if (vbs_kind eq 'history') {
    set lmargin at screen 1.05 / width_inches
    set rmargin at screen 1 - 0.2 / width_inches
    set xrange [0:*]
    set offsets 0, 1, graph 0.06, graph 0.06
    set multiplot
    pitch = (height_inches - head_inches - foot_inches) / vbs_histories
    do for [h = 1:vbs_histories] {
        o = vbs_which[h]
        set tmargin at screen 1 - (head_inches + (h - 1) * pitch + (h > 1 ? 0.12 : 0)) / height_inches
        set bmargin at screen 1 - (head_inches + h * pitch - (h < vbs_histories ? 0.12 : 0)) / height_inches
        if (h == vbs_histories) { set xlabel 'trial'; set format x } else { set format x '' }
        set label 3 vbs_objective[o] noenhanced rotate by 90 center at screen 0.2 / width_inches, graph 0.5
        first = 3 * (h - 1)
        plot vbs_data index first + 2 using 1:2 with steps lc rgb line lw 1.6 title sized(9, 'best so far'), \
             '' index first + 1 using 1:2 with points pt 6 ps 0.9 * marker lc rgb bad \
                 title sized(9, 'not accurate enough'), \
             '' index first using 1:2 with points pt 7 ps 0.9 * marker lc rgb good title sized(9, 'feasible'), \
             vbs_control[o] with lines dt (6, 4) lc rgb '#000000' lw 0.9 title sized(9, 'control')
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
        set label i + 100 sized(9, vbs_low[i]) noenhanced at first i, graph -0.05 center font ',9'
        set label i + 200 sized(9, vbs_high[i]) noenhanced at first i, graph 1.05 center font ',9'
    }
    set cbrange [vbs_from:vbs_to > vbs_from ? vbs_to : vbs_from + 1]
    set cblabel vbs_objective[1] noenhanced offset 1, 0
    set colorbox user origin screen 1 - 1.25 / width_inches, graph 0 size 0.14 / width_inches, graph 1
    plot vbs_data index 0 using 1:2 with lines lc rgb '#d4d4d4' lw 0.9, \
         '' index 1 using 1:2:3 with lines lc palette lw 1.6
}
if (vbs_kind eq 'slice') {
    set label 1 sized(9, 'colour: number of the trial, from dark to light; hollow: not accurate enough') font ',9' \
        at screen 0.5, screen 1 - 0.42 / height_inches center
    set key off
    set offsets 0, 0, graph 0.08, graph 0.08
    set xrange [-4:104]
    set xtics 0, 25, 100
    set cbrange [1:vbs_last > 1 ? vbs_last : 2]
    unset colorbox
    set multiplot
    across = width_inches / columns
    pitch = (height_inches - head_inches - 0.1) / rows
    do for [k = 0:panels - 1] {
        objective = vbs_objectives > 1 ? k % columns : 0
        parameter = vbs_objectives > 1 ? k / columns : k
        set lmargin at screen (k % columns * across + 0.95) / width_inches
        set rmargin at screen ((k % columns + 1) * across - 0.2) / width_inches
        set tmargin at screen 1 - (0.68 + k / columns * pitch) / height_inches
        set bmargin at screen 1 - (0.68 + k / columns * pitch + pitch - 0.62) / height_inches
        # Labels and not xlabel and ylabel: gnuplot cuts what is wider than the margins.
        set label 3 sized(9, vbs_name[parameter + 1].' (% removed)') noenhanced font ',9' center \
            at graph 0.42, screen 1 - (0.68 + k / columns * pitch + pitch - 0.28) / height_inches
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
         NaN with points pt 6 ps 1.1 * marker lc rgb '#000000' title sized(9, 'not accurate enough'), \
         '' index 1 using 1:2 with points pt 7 ps 1.1 * marker lc rgb line title sized(9, 'feasible')
}
if (vbs_kind eq 'pareto') {
    set xlabel vbs_x noenhanced
    set ylabel vbs_y noenhanced
    set rmargin at screen 1 - 0.3 / width_inches
    set offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04
    of(shown, value) = shown ? value : NaN
    entry(shown, text) = shown ? sized(9, text) : ''
    plot vbs_data index 2 using (of(vbs_shows_front, column(1))):2 with lines lc rgb line lw 1.4 \
             title entry(vbs_shows_front, 'Pareto front'), \
         '' index 1 using (of(vbs_shows_infeasible, column(1))):2 with points pt 6 ps 0.9 * marker lc rgb bad \
             title entry(vbs_shows_infeasible, 'not accurate enough'), \
         '' index 0 using (of(vbs_shows_feasible, column(1))):2 with points pt 7 ps 0.9 * marker lc rgb good \
             title entry(vbs_shows_feasible, 'feasible'), \
         '' index 3 using (of(vbs_shows_control, column(1))):2 with points pt 3 ps 1.5 * marker lc rgb '#000000' \
             title entry(vbs_shows_control, 'control')
}
set output
