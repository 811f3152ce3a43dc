# mixed.gp - mixed precision: throughput against memory for bounds of the loss, and against the loss for budgets.
#
# Needs what src/mixed/picture.c sets before it: vbs_curves, vbs_budgets (numbers of curves of the two panels), the
# arrays vbs_name (per curve), vbs_budget (per budget, as text), vbs_title, vbs_note, vbs_unit, vbs_last (budgets that
# were planned, less 1), vbs_memory_from, vbs_memory_to (in the unit), vbs_rate_to (samples/s), vbs_loss_from,
# vbs_loss_to (dB); and plots/common.gp.
# Block 0 of the data holds the left panel: memory, the throughput of each curve; its last line draws the curves on to
# the edge. Block b holds budget b of the right one: decibels, throughput, from the largest error to the least.

width_inches = width_of(8.6)
height_inches = height_of(4.0)
eval need(width_inches, height_inches, 5.6, 2.8)
eval begin(width_inches, height_inches)

key_columns = 3
key_rows = (vbs_curves + key_columns - 1) / key_columns
right_rows = (vbs_budgets + key_columns - 1) / key_columns
key_rows = right_rows > key_rows ? right_rows : key_rows
key_inches = 0.14 + 0.18 * key_rows

# Bounds are told apart by dashes and markers as well as by colour: the first curve is all in 8 bits, the last all in floats.
set style line 1 lc rgb '#E69F00' lw 3.2 dt solid pt 4 ps 1.1 * marker
set style line 2 lc rgb '#56B4E9' lw 2.0 dt solid pt 6 ps 0.8 * marker
set style line 3 lc rgb '#009E73' lw 1.8 dt (8, 4) pt 8 ps 0.9 * marker
set style line 4 lc rgb '#0072B2' lw 1.6 dt (6, 3) pt 10 ps 0.9 * marker
set style line 5 lc rgb '#CC79A7' lw 1.6 dt (8, 3, 2, 3) pt 12 ps 0.9 * marker
set style line 6 lc rgb '#7F3C8D' lw 1.4 dt (10, 3, 2, 3, 2, 3) pt 2 ps 0.7 * marker
set style line 7 lc rgb '#000000' lw 1.4 dt solid pt 7 ps 0.6 * marker
style_of(curve) = curve == 1 ? 1 : curve == vbs_curves ? 7 : 2 + (curve - 2) % 5

# Budgets go from light to dark.
shade(b) = vbs_budgets > 1 ? (b - 1.0) / (vbs_budgets - 1) : 1.0
mixed(light, dark, part) = light + (dark - light) * part
colour_of(b) = sprintf('#%02x%02x%02x', mixed(0xf0, 0x2c, shade(b)), mixed(0xb0, 0x1e, shade(b)), mixed(0x60, 0x6e, shade(b)))

set style line 41 lc rgb '#d8d8d8' lw 0.5 dt solid
set grid back linestyle 41
set border 3 lw 0.8
set tics nomirror out scale 0.6

unit = vbs_rate_to < 1e4 ? 1 : vbs_rate_to < 1e7 ? 1e3 : 1e6
unit_name = unit == 1 ? '' : unit == 1e3 ? 'thousand ' : 'million '
to = vbs_rate_to / unit
step = step_of(to, 8.0)
decimals = step >= 1 ? 0 : ceil(-log10(step) - 1e-6)
tick_form = to < 1e6 && decimals <= 5 ? sprintf('%%.%df', decimals) : '%.3g'
figures = strlen(sprintf(tick_form, to))
margin = 0.41 + 0.09 * (figures > 3 ? figures : 3)

set multiplot
set key off
set format y tick_form
set yrange [0:to]
set ytics step
set tmargin at screen 1 - 0.46 / height_inches
set bmargin at screen (key_inches + 0.50) / height_inches
set label 2 sized(11, vbs_title) noenhanced at screen 0.5, screen 1 - 0.16 / height_inches center font ',11'
set label 1 sized(8, vbs_note) noenhanced at screen 0.5, screen 1 - 0.35 / height_inches center font ',8' textcolor rgb '#404040'

# The left panel.
set lmargin at screen margin / width_inches
set rmargin at screen 0.5 - 0.14 / width_inches
set label 4 'throughput (' . unit_name . 'samples/s)' rotate by 90 center at screen 0.15 / width_inches, graph 0.5
set xlabel sprintf('memory budget (%s)', vbs_unit) offset 0, 0.4
set xrange [vbs_memory_from:vbs_memory_to]
octaves = log(vbs_memory_to / vbs_memory_from) / log(2)
if (octaves >= 2) {
    set logscale x 2
    figures = strlen(sprintf('%.0f', vbs_memory_to))
    doublings = 1
    while (octaves / doublings * (figures + 1) > 40) { doublings = 2 * doublings }
    first_power = doublings * floor(log(vbs_memory_from) / log(2) / doublings)
    set xtics ()
    do for [i = 0:ceil(octaves) + doublings:doublings] {
        tick = 2.0 ** (first_power + i)
        if (tick < vbs_memory_to * 2 ** (-0.02 * octaves)) { set xtics add (sprintf('%g', tick) tick) }
        if (octaves < 4) { set xtics add (sprintf('%g', 1.5 * tick) 1.5 * tick) }
    }
}
plot for [c = 1:vbs_curves] vbs_data index 0 using 1:(column(1 + c) / unit) with steps linestyle style_of(c) notitle, \
     for [c = 1:vbs_curves] vbs_data index 0 every ::::vbs_last using 1:(column(1 + c) / unit) with points \
        linestyle style_of(c) notitle

# The right panel.
unset logscale x
unset label
set xtics autofreq
set lmargin at screen 0.5 + (margin - 0.1) / width_inches
set rmargin at screen 1 - 0.18 / width_inches
set xlabel 'output over error, predicted (dB)' offset 0, 0.4
set xrange [vbs_loss_from:vbs_loss_to]
plot for [b = 1:vbs_budgets] vbs_data index b using 1:($2 / unit) with fsteps lc rgb colour_of(b) lw 1.6 notitle, \
     for [b = 1:vbs_budgets] vbs_data index b using 1:($2 / unit) with points lc rgb colour_of(b) pt 7 ps 0.45 * marker notitle

# The keys, set by hand: gnuplot would guess the width of the text and leave entries out.
unset xlabel
unset border
unset tics
unset grid
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen key_inches / height_inches
key_x(i, rows) = 0.30 + (0.5 * width_inches - 0.40) / key_columns * ((i - 1) / rows)
key_y(i, rows) = (key_inches - 0.18 * ((i - 1) % rows) - 0.12) / height_inches
do for [c = 1:vbs_curves] {
    x = key_x(c, key_rows) / width_inches
    set arrow c from screen x, key_y(c, key_rows) to screen x + 0.36 / width_inches, key_y(c, key_rows) nohead linestyle style_of(c)
    set label 3 * c '' at screen x + 0.18 / width_inches, key_y(c, key_rows) point linestyle style_of(c)
    set label 3 * c + 1 sized(9, vbs_name[c]) noenhanced at screen x + 0.45 / width_inches, key_y(c, key_rows) left font ',9'
}
do for [b = 1:vbs_budgets] {
    x = 0.5 + key_x(b, key_rows) / width_inches
    set arrow 100 + b from screen x, key_y(b, key_rows) to screen x + 0.36 / width_inches, key_y(b, key_rows) nohead lc rgb colour_of(b) lw 1.6
    set label 300 + b sized(9, vbs_budget[b]) noenhanced at screen x + 0.45 / width_inches, key_y(b, key_rows) left font ',9'
}
plot [0:1] [0:1] 1 / 0 notitle
unset multiplot
set output
