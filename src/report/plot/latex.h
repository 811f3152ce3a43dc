/* The LaTeX of a picture. Internal to the report room. */
#ifndef VBS_REPORT_PLOT_LATEX_H
#define VBS_REPORT_PLOT_LATEX_H

#include "base/text.h"

/* Appends what gnuplot's terminal cairolatex wrote, with the texts of the picture as text of LaTeX,
 * in which no character has a meaning of its own, in their sizes; points is the size of those that
 * name none. graphics: the name of the file with the lines, beside it. */
void vbs_latex_add(struct vbs_text *text, const char *picture, const char *graphics, double points);

/* Gives whether LaTeX can read a file of this name with \includegraphics. */
bool vbs_latex_can_name(const char *name);

#endif
