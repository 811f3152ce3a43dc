# conv_number on top of self_number for every row of `network` at the five limits. Needs n_rows, and
# tops and steps of the y axes, besides what style.gp needs.
data = 'rows.csv'
set style line 41 lc rgb '#9CC8E8' lw 7 ps 0
set style line 42 lc rgb '#D55E00' lw 7 ps 0
limits = '200 100 50 10 5'
here(limit) = strcol(1) eq network && strcol(2) eq limit

set datafile missing NaN
set key off
set style fill solid 1.0 noborder
set boxwidth 0.7
set xrange [0.3:n_rows + 0.7]
set xtics 1, 4
set multiplot
do for [i = 1:5] {
    limit = word(limits, i)
    place = i > 3 ? i - 4 : i - 1
    left = (i > 3 ? 0.225 : 0.065) + 0.32 * place
    set lmargin at screen left
    set rmargin at screen left + 0.27
    set tmargin at screen (i > 3 ? 0.435 : 0.875)
    set bmargin at screen (i > 3 ? 0.11 : 0.55)
    set title limit . ' MiB' offset 0, -0.5
    set yrange [0:word(tops, i) + 0]
    set ytics 0, word(steps, i) + 0
    if (i == 1 || i == 4) { set ylabel 'slices' offset 1.0, 0 } else { unset ylabel }
    if (i > 3) { set xlabel 'row' offset 0, 0.4 } else { unset xlabel }
    plot data every ::1 using 3:(here(limit) ? $5 + $6 : NaN) with boxes ls 42, \
         data every ::1 using 3:(here(limit) ? $5 : NaN) with boxes ls 41
}
key_titles = '"self_number" "conv_number"'
key_styles = '41 42'
load folder . '/key.gp'
unset multiplot
set output
