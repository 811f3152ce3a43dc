/*
 * gnuplot's terminal cairolatex writes the texts of a picture as they are, and LaTeX would take a
 * model's name for commands. It ignores the sizes of fonts, too: templates put them, in points,
 * between two characters 1 before a text (plots/common.gp).
 */
#include "report/plot/latex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MARK '\001'

static const char TEXT_BEGIN[] = "\\strut{}";

bool vbs_latex_can_name(const char *name)
{
    static const char SPECIAL[] = "\\{}#%~$&^\"";

    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f || strchr(SPECIAL, *at))
            return false;
    return true;
}

static void add_size(struct vbs_text *text, double points)
{
    vbs_text_addf(text, "\\fontsize{%.2f}{%.2f}\\selectfont ", points, 1.2 * points);
}

/* Appends a character as LaTeX prints it. */
static void add_character(struct vbs_text *text, char c)
{
    static const struct {
        char c;
        const char *command;
    } COMMANDS[] = {{'\\', "\\textbackslash{}"},
                    {'~', "\\textasciitilde{}"},
                    {'^', "\\textasciicircum{}"},
                    {'<', "\\textless{}"},
                    {'>', "\\textgreater{}"},
                    {'|', "\\textbar{}"},
                    {'"', "''"}};

    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++)
        if (c == COMMANDS[i].c) {
            vbs_text_add(text, COMMANDS[i].command);
            return;
        }
    vbs_text_addf(text, "%s%c", strchr("{}$&#%_", c) ? "\\" : "", c);
}

/* Appends length bytes of a text of the picture, after its size where it names one. */
static void add_words(struct vbs_text *text, const char *words, size_t length)
{
    const char *end = words + length;
    const char *mark =
        length > 0 && words[0] == SIZE_MARK ? memchr(words + 1, SIZE_MARK, length - 1) : NULL;

    if (mark) {
        add_size(text, strtod(words + 1, NULL));
        words = mark + 1;
    }
    for (; words < end; words++)
        add_character(text, *words);
}

/* Gives how many braces are open behind length bytes. */
static size_t open_braces(const char *line, size_t length)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        n += line[i] == '{';
        n -= line[i] == '}' && n > 0;
    }
    return n;
}

/* Appends a line that places a text, from begin on, behind which the open braces are closed. */
static void add_placed(struct vbs_text *text, const char *line, size_t length, const char *begin)
{
    size_t before = (size_t)(begin - line), behind = open_braces(line, before) + 1;

    if (before + behind > length || line[length - behind] != '}') {
        vbs_text_add_bytes(text, line, length);
        return;
    }
    vbs_text_add_bytes(text, line, before);
    add_words(text, begin, length - before - behind);
    vbs_text_add_bytes(text, line + length - behind, behind);
}

/* Appends a line that includes the graphics, with another name. */
static void add_included(struct vbs_text *text, const char *line, size_t length, const char *name)
{
    const char *from = memmem(line, length, "]{", 2);
    const char *to = from ? memchr(from, '}', length - (size_t)(from - line)) : NULL;

    if (!to) {
        vbs_text_add_bytes(text, line, length);
        return;
    }
    vbs_text_add_bytes(text, line, (size_t)(from + 2 - line));
    vbs_text_add(text, name);
    vbs_text_add_bytes(text, to, length - (size_t)(to - line));
}

static void add_line(struct vbs_text *text, const char *line, size_t length, const char *graphics)
{
    const char *begin = memmem(line, length, TEXT_BEGIN, strlen(TEXT_BEGIN));
    size_t indent = strspn(line, " ");

    if (begin && strncmp(line + indent, "\\put(", 5) == 0)
        add_placed(text, line, length, begin + strlen(TEXT_BEGIN));
    else if (strncmp(line + indent, "\\put(0,0){\\includegraphics", 26) == 0)
        add_included(text, line, length, graphics);
    else
        vbs_text_add_bytes(text, line, length);
    vbs_text_add(text, "\n");
}

void vbs_latex_add(struct vbs_text *text, const char *picture, const char *graphics, double points)
{
    bool begun = false;

    while (*picture) {
        size_t length = strcspn(picture, "\n");

        add_line(text, picture, length, graphics);
        if (!begun && strncmp(picture, "\\begingroup", 11) == 0) {
            vbs_text_add(text, "  ");
            add_size(text, points);
            vbs_text_add(text, "%\n");
            begun = true;
        }
        picture += length + (picture[length] == '\n');
    }
}
