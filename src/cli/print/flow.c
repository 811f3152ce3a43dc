#include "cli/print/flow.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_COLUMNS 100 /* of long lines where there is no terminal */

#define ESCAPE '\033'

/* Gives the terminal columns of the first length bytes of text. */
static int width_of(const char *text, int length)
{
    bool escaped = false;
    int width = 0;

    for (int i = 0; i < length; i++) {
        if (text[i] == ESCAPE)
            escaped = true;
        else if (!escaped)
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        else if (text[i] == 'm')
            escaped = false;
    }
    return width;
}

/* Gives the column at which a line continues: below the text behind its label, or two blanks
 * further in. */
static int hang_of(const char *line, int length, int columns)
{
    int blanks = 0, at;

    while (blanks < length && line[blanks] == ' ')
        blanks++;
    for (at = blanks; at + 1 < length && !(line[at] == ' ' && line[at + 1] == ' '); at++)
        ;
    while (at < length && line[at] == ' ')
        at++;
    return blanks > 0 && at < length && at < columns / 3 ? at : blanks + 2;
}

/* Prints line[0..length), without ending the line. */
static void print_line(const char *line, int length, int columns)
{
    int hang = hang_of(line, length, columns), at = 0;

    while (width_of(line, length) + at > columns) {
        int end = 0, next;

        for (int i = 1; i < length && width_of(line, i) + at <= columns; i++)
            if (line[i] == ' ' && strspn(line, " ") < (size_t)i)
                end = i;
        /* A word that is wider than the terminal is not divided. */
        for (int i = 1; end == 0 && i < length; i++)
            if (line[i] == ' ' && strspn(line, " ") < (size_t)i)
                end = i;
        if (end == 0)
            break;
        for (next = end; next < length && line[next] == ' '; next++)
            ;
        while (end > 0 && line[end - 1] == ' ')
            end--;
        printf("%*s%.*s\n", at, "", end, line);
        line += next;
        length -= next;
        at = hang;
    }
    if (length > 0)
        printf("%*s%.*s", at, "", length, line);
}

void cli_flow_line(struct cli *cli, const char *line)
{
    print_line(line, (int)strlen(line), cli->columns > 0 ? INT_MAX : FILE_COLUMNS);
    putchar('\n');
}

void cli_flow_begin(struct cli *cli)
{
    if (cli->columns > 0)
        cli_flow_begin_text(cli);
}

void cli_flow_begin_text(struct cli *cli)
{
    FILE *gathered = open_memstream(&cli->gathered, &cli->n_gathered);

    if (!gathered)
        return;
    cli->output = stdout;
    stdout = gathered;
}

void cli_flow_end(struct cli *cli)
{
    const char *line;

    if (!cli->output)
        return;
    fclose(stdout);
    stdout = cli->output;
    cli->output = NULL;
    for (line = cli->gathered; line && *line;) {
        int length = (int)strcspn(line, "\n");

        print_line(line, length, cli->columns > 0 ? cli->columns : FILE_COLUMNS);
        line += length;
        if (*line == '\n') {
            putchar('\n');
            line++;
        }
    }
    free(cli->gathered);
    cli->gathered = NULL;
}
