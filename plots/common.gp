# common.gp - what all pictures share; it stands before every template.
#
# Needs what src/report/plot/gnuplot.c sets before it: vbs_format (svg, png, pdf or tex), vbs_data, vbs_output,
# vbs_width, vbs_height (inches; 0: the picture's own), vbs_font ('': the default), vbs_points (of the
# text, as printed; 0: the default).
#
# Templates lay out pictures in inches, for text of the default size. Text of another size scales the
# whole layout, and the picture keeps its size: it has room for as many layout inches less. A template
# asks for its size by width_of and height_of, which it gives its own; checks by need that there is
# room for the layout, and begins the picture by eval begin(width, height).

set encoding utf8
set datafile separator comma
set datafile columnheaders # each block of the data begins with the names of its columns

vbs_scale = vbs_points > 0 ? vbs_points / (vbs_format eq 'svg' ? 8.64 : 8.27) : 1.0
width_of(own) = (vbs_width > 0 ? vbs_width : own) / vbs_scale
height_of(own) = (vbs_height > 0 ? vbs_height : own) / vbs_scale

marker = 1.0 # size of markers
font_of(own) = vbs_font eq '' ? own : vbs_font
sized(points, text) = text # where the terminal takes fonts of labels as they are given
if (vbs_format eq 'svg') {
    marker = 0.65 * vbs_scale # this terminal has no scale of its own
    begin(w, h) = sprintf("set terminal svg noenhanced dynamic font '%s,12' fontscale %g linewidth %g size %g,%g background '#ffffff'; set output vbs_output", \
        font_of('Helvetica'), vbs_scale, vbs_scale, 100 * vbs_scale * w, 100 * vbs_scale * h)
}
if (vbs_format eq 'png') {
    begin(w, h) = sprintf("set terminal pngcairo noenhanced font '%s,10' fontscale %g linewidth %g pointscale %g size %g,%g background '#ffffff'; set output vbs_output", \
        font_of('Sans'), 2.6 * vbs_scale, 2.6 * vbs_scale, 2.4 * vbs_scale, 300 * vbs_scale * w, 300 * vbs_scale * h)
}
if (vbs_format eq 'pdf') {
    begin(w, h) = sprintf("set terminal pdfcairo noenhanced font '%s,10' fontscale %g linewidth %g pointscale %g size %g,%g background '#ffffff'; set output vbs_output", \
        font_of('Sans'), 0.62 * vbs_scale, 1.05 * vbs_scale, 0.62 * vbs_scale, vbs_scale * w, vbs_scale * h)
}
if (vbs_format eq 'tex') {
    # LaTeX sets the text, in the size of the document unless the text itself says another one: the
    # points between two characters 1 before it (src/report/plot/latex.c). The terminal would write
    # numbers of axes as formulas.
    marker = 0.62 * vbs_scale
    sized(points, text) = sprintf("\001%.2f\001", 0.827 * points * vbs_scale).text
    set format '%g'
    begin(w, h) = sprintf("set terminal cairolatex pdf input color colortext font '%s,%g' linewidth %g size %gin,%gin background '#ffffff'; set output vbs_output", \
        vbs_font, 8.27 * vbs_scale, 1.05 * vbs_scale, vbs_scale * w, vbs_scale * h)
}

# Ends with a message where the layout, of w by h, is smaller than what it needs. The message is
# expected in this form (src/report/plot/gnuplot.c).
too_small(w, h, least_w, least_h) = w < least_w - 1e-9 || h < least_h - 1e-9
needed(least_w, least_h) = sprintf('vbslab: this picture needs at least %.2fx%.2fin with this font', \
    vbs_scale * least_w + 0.005, vbs_scale * least_h + 0.005)
need(w, h, least_w, least_h) = too_small(w, h, least_w, least_h) ? \
    "exit error '".needed(least_w, least_h)."'" : "vbs_fits = 1"

# Gives the step of ticks, 1, 2 or 5 times a power of 10, of which about so many fit the span.
round_up(part) = part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10
power(value) = 10 ** floor(log10(value))
step_of(span, ticks) = power(span / ticks) * round_up(span / ticks / power(span / ticks))
