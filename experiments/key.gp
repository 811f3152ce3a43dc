# One key for all panels of a figure, along its top, in multiplot. Needs key_titles, titles in
# double quotes, and key_styles, their line styles.
unset title
unset xlabel
unset ylabel
unset border
unset tics
unset grid
unset label
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen 1
set key at screen 0.5, 1 - 0.05 / height center top horizontal maxrows 1 samplen 2.5 width 2
plot [0:1] [0:1] for [k = 1:words(key_titles)] 2 with linespoints ls word(key_styles, k) \
    title word(key_titles, k)
