# throughput.gp - samples per second against the memory budget, one panel per profile.
#
# Needs what src/report/plot/throughput.c sets before it: vbs_panels, vbs_planners, vbs_bound, vbs_marks (1: the bound, the
# budgets are drawn; without marks lines are steps of exact curves), vbs_executed and the arrays vbs_name, vbs_style (per planner),
# vbs_title, vbs_note, vbs_unit, vbs_every, vbs_last, vbs_log, vbs_weights, vbs_weights_label, vbs_memory_from,
# vbs_memory_to, vbs_rate_from, vbs_rate_to (per panel); and plots/common.gp.
# Block p-1 of the data holds panel p: memory, the lower bound's throughput, that of each planner, the model, and where
# vbs_executed is 1 (lines are then predictions, without markers, and bars have them) three columns of each planner: its executed throughput and both ends of the interval.
#
# What fits a budget fits every larger one, so a planner's curve keeps its height up to the next
# budget that was tried; the last line of a block has no marker (vbs_last) and draws the curve on
# to the edge. What bounds a budget bounds every smaller one: the bound's curve steps the other way. That of exact
# curves bounds all budgets of a step, and is drawn as they are.

# Sizes are made for print: one panel in one column of a paper, two side by side across both.
columns = vbs_panels == 1 ? 1 : 2
curves = vbs_planners > 0 ? vbs_planners : 1 # gnuplot reads the variable of an empty loop
rows = (vbs_panels + columns - 1) / columns
width_inches = width_of(columns == 1 ? 4.6 : 8.6)
# In a narrow picture, as wide as a column of a paper with two, the entries of the key are smaller and stand one behind the
# other as text does: in columns they would leave the plot a third of the height.
narrow = width_inches < 4.1
entries = vbs_planners + vbs_bound
key_points = narrow ? 8 : 9
key_line = narrow ? 0.15 : 0.18
key_stroke = narrow ? 0.26 : 0.36
key_left = narrow ? 0.12 : 0.30
key_name(i) = i <= vbs_planners ? vbs_name[i] : narrow ? 'lower bound' : 'lower bound (limit)'
entry_inches(i) = key_stroke + 0.20 + 0.054 * strlen(key_name(i))
array key_x[entries + 1]
array key_row[entries + 1]
key_rows = 1
key_end = key_left
do for [i = 1:entries] {
    if (narrow && key_end > key_left && key_end + entry_inches(i) > width_inches) {
        key_rows = key_rows + 1
        key_end = key_left
    }
    key_x[i] = key_end
    key_row[i] = key_rows - 1
    key_end = key_end + entry_inches(i)
}
if (!narrow) {
    key_columns = floor(width_inches / 2.05)
    key_rows = (entries + key_columns - 1) / key_columns
    do for [i = 1:entries] {
        key_x[i] = key_left + (width_inches - key_left) / key_columns * ((i - 1) / key_rows)
        key_row[i] = (i - 1) % key_rows
    }
}
key_inches = (narrow ? 0.08 : 0.12) + key_line * key_rows
above = narrow ? 0.40 : 0.46 # the title and the note
below = narrow ? 0.44 : 0.50 # the ticks' labels and that of the axis
height_inches = height_of(rows * 3.0 + key_inches)
panel_inches = (height_inches - key_inches) / rows
plot_inches = panel_inches - above - below
eval need(width_inches, height_inches, columns * 2.0, rows * (above + below + 0.64) + key_inches)
eval begin(width_inches, height_inches)

# Planners in the order of all planners. Colours are those of Okabe and Ito, told apart by the
# colour-blind; dashes and markers tell the curves apart without colour; widths and markers shrink,
# so that curves that coincide show each other. Style n + 20 is drawn beneath the markers of n: it
# keeps open ones open where a curve runs through them.
set style line 1 lc rgb '#E69F00' lw 3.2 dt solid pt 4 ps 1.2 * marker
set style line 2 lc rgb '#0072B2' lw 1.6 dt solid pt 6 ps 0.8 * marker
set style line 3 lc rgb '#009E73' lw 1.8 dt (8, 4) pt 8 ps 1.0 * marker
set style line 4 lc rgb '#D55E00' lw 1.4 dt solid pt 7 ps 0.6 * marker
set style line 5 lc rgb '#56B4E9' lw 1.6 dt (6, 3) pt 9 ps 0.7 * marker
set style line 6 lc rgb '#CC79A7' lw 1.5 dt (8, 3, 2, 3) pt 5 ps 0.5 * marker
set style line 7 lc rgb '#000000' lw 1.0 dt (3, 3) pt 1 ps 0.6 * marker
set style line 8 lc rgb '#7F3C8D' lw 1.2 dt (10, 3, 2, 3, 2, 3) pt 12 ps 0.8 * marker
set style line 9 lc rgb '#8C6D31' lw 1.2 dt (12, 4) pt 2 ps 0.6 * marker
set style line 10 lc rgb '#2C3E9E' lw 2.0 dt solid pt 10 ps 0.9 * marker
set style line 21 lc rgb '#ffffff' pt 5 ps 1.2 * marker
set style line 22 lc rgb '#ffffff' pt 7 ps 0.8 * marker
set style line 23 lc rgb '#ffffff' pt 9 ps 1.0 * marker
set style line 24 lc rgb '#D55E00' pt 7 ps 0.6 * marker
set style line 25 lc rgb '#56B4E9' pt 9 ps 0.7 * marker
set style line 26 lc rgb '#CC79A7' pt 5 ps 0.5 * marker
set style line 27 lc rgb '#000000' pt 1 ps 0.6 * marker
set style line 28 lc rgb '#ffffff' pt 13 ps 0.8 * marker
set style line 29 lc rgb '#8C6D31' pt 2 ps 0.6 * marker
set style line 30 lc rgb '#ffffff' pt 11 ps 0.9 * marker
style_of(planner) = 1 + (vbs_style[planner] - 1) % 10
bound_style = 40
set style line bound_style lc rgb '#707070' lw 1.2 dt (7, 5) pt 7 ps 0.3 * marker

set style line 41 lc rgb '#d8d8d8' lw 0.5 dt solid
set grid back linestyle 41
set border 3 lw 0.8
set tics nomirror out scale 0.6
set xtics autofreq
set ytics autofreq

# Rates are told in a unit that keeps the ticks' labels short; the margin has room for the longest,
# in figures: that of the tick step decides on the decimals.
unit_of(rate) = rate < 1e4 ? 1 : rate < 1e7 ? 1e3 : rate < 1e10 ? 1e6 : 1e9
unit_name(unit) = unit == 1 ? '' : unit == 1e3 ? 'thousand ' : unit == 1e6 ? 'million ' : 'billion '
decimals_of(step) = step >= 1 ? 0 : ceil(-log10(step) - 1e-6)
part(inches) = inches / plot_inches # of the plot's height

# Bars of one budget stand side by side, each in the colour of its planner.
shift_of(planner) = 0.014 * (planner - (curves + 1) / 2.0)
beside(panel, planner, memory) = vbs_log[panel] \
    ? memory * (vbs_memory_to[panel] / vbs_memory_from[panel]) ** shift_of(planner) \
    : memory + (vbs_memory_to[panel] - vbs_memory_from[panel]) * shift_of(planner)
executed(planner, end) = vbs_executed && planner <= vbs_planners ? column(1 + vbs_planners + 3 * planner + end) : NaN

set multiplot
set key off
do for [panel = 1:vbs_panels] {
    across = (panel - 1) % columns
    down = (panel - 1) / columns
    left = real(across) / columns
    right = real(across + 1) / columns
    top = 1.0 - down * panel_inches / height_inches
    bottom = top - panel_inches / height_inches

    empty = !(vbs_rate_to[panel] > 0)
    unit = unit_of(vbs_rate_to[panel])
    from = empty ? 0.0 : vbs_rate_from[panel] / unit
    to = empty ? 1.0 : vbs_rate_to[panel] / unit
    # The lowest curve stands above the words at a broken axis, in a low plot too.
    low = from + 0.16 / 1.24 * (to - from)
    if (from > 0 && low - from < part(0.24) * (to - from)) { from = (low - part(0.24) * to) / (1 - part(0.24)) }
    if (from < 0) { from = 0 }
    step = step_of(to - from, 8.0)
    tick_form = to < 1e6 && decimals_of(step) <= 5 ? sprintf('%%.%df', decimals_of(step)) : '%.3g'
    figures = strlen(sprintf(tick_form, to))
    set format y tick_form
    lowest = from > 0 ? step * ceil((from + part(0.17) * (to - from)) / step) : 0 # above the gap
    set ytics lowest, step
    set lmargin at screen left + (0.41 + 0.09 * (figures > 3 ? figures : 3)) / width_inches
    set rmargin at screen right - 0.18 / width_inches
    set tmargin at screen top - above / height_inches
    set bmargin at screen bottom + below / height_inches

    set title vbs_title[panel] noenhanced offset 0, 0.45
    set label 1 sized(8, vbs_note[panel]) noenhanced at graph 0.5, screen top - (above - 0.09) / height_inches center font ',8' \
        textcolor rgb '#404040'
    set xlabel sprintf('memory budget (%s)', vbs_unit[panel]) offset 0, 0.4
    # Set by hand: gnuplot guesses the width of the ticks' labels, and too low.
    set label 4 'throughput (' . unit_name(unit) . 'samples/s)' rotate by 90 center \
        at screen left + 0.15 / width_inches, graph 0.5
    unset logscale x
    set xtics autofreq
    set xrange [vbs_memory_from[panel]:vbs_memory_to[panel]]
    if (vbs_log[panel]) {
        set logscale x 2
        # Ticks at powers of 2, or of 4, 16, ... where their labels would touch; in a narrow range also
        # at 1.5 times each. gnuplot's own ticks may begin at any number.
        octaves = log(vbs_memory_to[panel] / vbs_memory_from[panel]) / log(2)
        figures = strlen(sprintf('%.0f', vbs_memory_to[panel]))
        doublings = 1
        while (octaves / doublings * (figures + 1) > 44) { doublings = 2 * doublings }
        first_power = doublings * floor(log(vbs_memory_from[panel]) / log(2) / doublings)
        set xtics ()
        do for [i = 0:ceil(octaves) + doublings:doublings] {
            tick = 2.0 ** (first_power + i)
            # At the very end a label would leave the picture.
            if (tick < vbs_memory_to[panel] * 2 ** (-0.02 * octaves)) {
                set xtics add (sprintf('%g', tick) tick)
            }
            if (octaves < 4) { set xtics add (sprintf('%g', 1.5 * tick) 1.5 * tick) }
        }
    }
    set yrange [from:to]
    unset label 2
    unset label 3
    unset label 5
    unset arrow
    if (empty) {
        set label 2 'no planner fits these budgets' at graph 0.5, 0.5 center
    }
    # From here on all weights could be resident, if nothing else needed room.
    weights = vbs_weights[panel]
    if (weights > vbs_memory_from[panel] && weights < vbs_memory_to[panel]) {
        set arrow 104 from first weights, graph 0 to first weights, graph 1 nohead back \
            lc rgb '#404040' lw 0.8 dt (2, 4)
        set label 5 sized(8, 'all weights') at first weights, graph vbs_weights_label[panel] rotate by 90 center offset -0.7, 0 \
            front font ',8' textcolor rgb '#404040'
    }
    # An axis that leaves out 0 is broken for all to see: a gap between two strokes, and words, which stand above the other axis
    # whatever the height of the plot.
    if (from > 0) {
        set arrow 101 from graph 0, part(0.067) to graph 0, part(0.124) nohead front lc rgb '#ffffff' lw 3
        set arrow 102 from graph -0.014, part(0.041) to graph 0.014, part(0.094) nohead front lw 0.8
        set arrow 103 from graph -0.014, part(0.098) to graph 0.014, part(0.151) nohead front lw 0.8
        set label 3 sized(8, 'axis does not start at 0') at graph 0.025, part(0.085) left font ',8' \
            textcolor rgb '#404040'
    }
    plot vbs_data index panel - 1 every ::::vbs_last[panel] \
            using 1:(vbs_bound && vbs_marks ? column(2) / unit : NaN) \
            with fsteps linestyle bound_style notitle, \
         vbs_data index panel - 1 using 1:(vbs_bound && !vbs_marks ? column(2) / unit : NaN) \
            with steps linestyle bound_style notitle, \
         vbs_data index panel - 1 every vbs_every[panel]::::vbs_last[panel] \
            using 1:(vbs_bound && vbs_marks && !vbs_executed ? column(2) / unit : NaN) with points linestyle bound_style notitle, \
         for [p = 1:curves] vbs_data index panel - 1 using 1:(p <= vbs_planners ? column(2 + p) / unit : NaN) \
            with steps linestyle style_of(p) notitle, \
         for [i = 0:2 * curves - 1] vbs_data index panel - 1 \
            every vbs_every[panel]::::vbs_last[panel] \
            using 1:(vbs_marks && !vbs_executed && i / 2 < vbs_planners ? column(3 + i / 2) / unit : NaN) with points \
            linestyle style_of(1 + i / 2) + (i % 2 == 0 ? 20 : 0) notitle, \
         for [p = 1:curves] vbs_data index panel - 1 every ::::vbs_last[panel] \
            using (beside(panel, p, $1)):(executed(p, 0) / unit):(executed(p, 1) / unit):(executed(p, 2) / unit) \
            with yerrorbars linestyle style_of(p) lw 1.1 dt solid notitle
}

# One key for all panels, beneath them, where it hides nothing. It is set by hand: gnuplot would
# guess the width of the text and leave entries out.
unset title
unset xlabel
unset border
unset tics
unset grid
unset label
unset arrow
unset logscale x
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen key_inches / height_inches
do for [i = 1:entries] {
    x = key_x[i] / width_inches
    y = (key_inches - key_line * key_row[i] - 0.83 * key_line) / height_inches
    style = i <= vbs_planners ? style_of(i) : bound_style
    set arrow i from screen x, y to screen x + key_stroke / width_inches, y nohead linestyle style
    if (vbs_marks) { set label 2 * i '' at screen x + key_stroke / 2 / width_inches, y point linestyle style }
    set label 2 * i + 1 sized(key_points, key_name(i)) noenhanced \
        at screen x + (key_stroke + 0.09) / width_inches, y left font sprintf(',%d', key_points)
}
plot [0:1] [0:1] 1 / 0 notitle
unset multiplot
set output
