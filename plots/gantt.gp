# gantt.gp - a replay over time: what is computed and copied, and what memory holds meanwhile. Below
# its lanes there may be those of a run of the same steps; the memory is then the run's.
#
# Needs what src/report/plot/gantt_plot.c sets before it: vbs_lanes, vbs_shift (where the run's lanes begin,
# 0: there is none), vbs_layers, vbs_borders, vbs_waits, vbs_time, vbs_time_unit, vbs_title, vbs_note, vbs_unit,
# vbs_budget (0: no line), vbs_memory_to, vbs_weights, vbs_tensors, vbs_workspace (1: it is drawn) and labels from
# 100 on in the lanes' coordinates; and plots/common.gp.
# Block 0 of the data: lane (0 compute, 1 copy; the run's shifted), from, to, layer (0: computing
# waits). Block 1: from, and weights, tensors and workspace added up. Block 2: the same as planned,
# where block 1 is the run's.

lane_inches = 0.55
top_inches = 0.56
gap_inches = 0.16
width_inches = width_of(8.6)
# The key has several rows where the picture is narrow.
entries = vbs_weights + vbs_tensors + vbs_workspace + (vbs_shift > 0) + vbs_waits + (vbs_budget > 0)
key_columns = floor((width_inches - 0.3) / (vbs_waits ? 1.5 : 1.2))
key_rows = entries > key_columns ? ceil(real(entries) / key_columns) : 1
bottom_inches = 0.88 + 0.17 * (key_rows - 1)
all_lanes = vbs_lanes + vbs_shift
rest_inches = top_inches + all_lanes * lane_inches + gap_inches + bottom_inches
height_inches = height_of(rest_inches + 2.1)
memory_inches = height_inches - rest_inches
eval need(width_inches, height_inches, 4.0, rest_inches + 0.8)
eval begin(width_inches, height_inches)

left = 0.85 / width_inches
right = 1 - 0.85 / width_inches
lanes_top = 1 - top_inches / height_inches
lanes_bottom = lanes_top - all_lanes * lane_inches / height_inches
memory_top = lanes_bottom - gap_inches / height_inches
memory_bottom = memory_top - memory_inches / height_inches

# Light enough for black text on all of them; neighbours in the network are neighbours here.
set palette defined (0 '#8fbfe0', 0.25 '#a8dba0', 0.5 '#fbe59a', 0.75 '#f6b27a', 1 '#c9b2dd')
set cbrange [1:vbs_layers > 1 ? vbs_layers : 2]
set lmargin at screen left
set rmargin at screen right
set xrange [0:vbs_time]
set tics nomirror out scale 0.6
set border 3 lw 0.8

set multiplot
set key off
set title vbs_title noenhanced offset 0, 0.85
# A long note gets a smaller font; characters of 9 points are about 0.068 inches wide.
fitting = 9 * (width_inches - 0.3) / (0.068 * (strlen(vbs_note) + 1))
note_points = fitting > 9 ? 9 : fitting < 4 ? 4 : fitting
set label 1 sized(note_points, vbs_note) noenhanced at screen (left + right) / 2, \
    screen 1 - 0.43 / height_inches center font sprintf(',%g', note_points) textcolor rgb '#404040'
set tmargin at screen lanes_top
set bmargin at screen lanes_bottom
set yrange [0.5 - all_lanes:0.5]
set ytics ('compute' 0, 'copy' -1) scale 0
if (vbs_shift > 0 && vbs_lanes == 1) { set ytics ('planned' 0, 'executed' -vbs_shift) scale 0 }
if (vbs_shift > 0 && vbs_lanes > 1) {
    set ytics add ('compute' -vbs_shift, 'copy' -vbs_shift - 1)
    set label 3 'planned' rotate by 90 center at screen 0.15 / width_inches, first -0.5
    set label 4 'executed' rotate by 90 center at screen 0.15 / width_inches, first -vbs_shift - 0.5
}
if (vbs_shift > 0) {
    set arrow 2 from graph 0, first 0.6 - vbs_shift to graph 1, first 0.6 - vbs_shift nohead front \
        lc rgb '#a0a0a0' lw 0.6
}
set xtics format ''
set colorbox vertical user origin right + 0.12 / width_inches, memory_bottom \
    size 0.12 / width_inches, lanes_top - memory_bottom
set cblabel 'layer (#)' offset 0.4, 0
if (vbs_layers <= 16) { set cbtics 1, 1 } else { set cbtics autofreq }
set cbtics scale 0.4 font ',8'
set style fill solid 1.0 border lc rgb '#606060'
# Waits are hatched beneath the boxes: computing stands still there.
plot vbs_data index 0 using ($4 == 0 ? ($2 + $3) / 2 : NaN):(-$1):2:3:(-$1 - 0.4):(-$1 + 0.4) \
        with boxxyerror fillstyle pattern 5 transparent noborder lc rgb '#b03030' lw 0.5, \
     vbs_data index 0 using ($4 > 0 ? ($2 + $3) / 2 : NaN):(-$1):2:3:(-$1 - 0.4):(-$1 + 0.4):4 \
        with boxxyerror lc palette lw vbs_borders

unset title
unset label
unset arrow
unset colorbox
set style fill solid 1.0 noborder
set tmargin at screen memory_top
set bmargin at screen memory_bottom
set yrange [0:vbs_memory_to]
rows_of_ticks = memory_inches / 0.2 < 10 ? memory_inches / 0.2 : 10.0
set ytics 0, step_of(vbs_memory_to, rows_of_ticks) format '%g' scale 0.6
set xtics format '%g'
set xlabel 'time (' . vbs_time_unit . ')' offset 0, 0.3
set label 2 'memory (' . vbs_unit . ')' rotate by 90 center \
    at screen 0.15 / width_inches, screen (memory_top + memory_bottom) / 2
set key at screen (left + right) / 2, screen 0.02 center bottom horizontal maxrows key_rows samplen 2 \
    font ',9' width -2 noautotitles
if (vbs_budget > 0) {
    set arrow 1 from 0, vbs_budget to vbs_time, vbs_budget nohead front lc rgb '#b03030' \
        lw 1.2 dt (7, 4)
}
# What a title is empty for has no place in the key.
entry(shown, text) = shown ? sized(9, text) : ''
plot vbs_data index 1 using 1:(vbs_workspace ? column(4) : NaN) with fillsteps lc rgb '#e69f00' \
        title entry(vbs_workspace, 'workspace'), \
     vbs_data index 1 using 1:(vbs_tensors ? column(3) : NaN) with fillsteps lc rgb '#56b4e9' \
        title entry(vbs_tensors, 'tensors'), \
     vbs_data index 1 using 1:(vbs_weights ? column(2) : NaN) with fillsteps lc rgb '#7f8c8d' \
        title entry(vbs_weights, 'weights'), \
     vbs_data index (vbs_shift > 0 ? 2 : 1) using 1:(vbs_shift > 0 ? column(4) : NaN) with steps \
        lc rgb '#202020' lw 0.9 title entry(vbs_shift > 0, 'planned'), \
     1 / 0 with boxes fillstyle pattern 5 transparent noborder lc rgb '#b03030' lw 0.5 \
        title entry(vbs_waits, 'computing waits'), \
     1 / 0 with lines lc rgb '#b03030' lw 1.2 dt (7, 4) title entry(vbs_budget > 0, 'budget')
unset multiplot
set output
