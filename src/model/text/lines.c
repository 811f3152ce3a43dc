#include "model/text/lines.h"

#include "base/fail.h"

#include <string.h>

#define BLANKS " \t\r"

/* Gives the bytes of the character at text (length left), or 0 when it is not UTF-8 (RFC 3629). */
static size_t utf8_length(const unsigned char *text, size_t length)
{
    unsigned char first = text[0];
    unsigned char low = 0x80, high = 0xbf; /* of the second byte */
    size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (n == 1)
        return 1;
    if (first < 0xc2 || first > 0xf4 || length < n)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* True for C0, DEL, C1, and characters that end lines or change the direction of writing: U+200E,
 * U+200F, U+2028 to U+202E, U+2066 to U+2069. */
static bool is_control(const unsigned char *text)
{
    if (text[0] == '\t' || text[0] == '\n' || text[0] == '\r')
        return false;
    if (text[0] == 0xe2 && text[1] == 0x80)
        return text[2] == 0x8e || text[2] == 0x8f || (text[2] >= 0xa8 && text[2] <= 0xae);
    if (text[0] == 0xe2 && text[1] == 0x81)
        return text[2] >= 0xa6 && text[2] <= 0xa9;
    return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

enum vbs_status vbs_lines_check(struct vbs_ctx *ctx, const char *text, size_t length, int *line)
{
    const unsigned char *bytes = (const unsigned char *)text;

    *line = 1;
    for (size_t i = 0; i < length;) {
        size_t n = utf8_length(bytes + i, length - i);

        if (n == 0)
            return vbs_fail(ctx, VBS_FORMAT, "byte 0x%02x is not UTF-8", bytes[i]);
        if (is_control(bytes + i))
            return vbs_fail(ctx, VBS_FORMAT, "control character, of %zu byte%s from 0x%02x", n,
                            n == 1 ? "" : "s", bytes[i]);
        if (bytes[i] == '\n')
            ++*line;
        i += n;
    }
    return VBS_OK;
}

char *vbs_lines_next(char **text)
{
    char *line = *text, *end;

    if (!line || *line == '\0')
        return NULL;
    end = strchr(line, '\n');
    if (end)
        *end++ = '\0';
    else
        end = line + strlen(line);
    *text = end;
    return line;
}

char *vbs_lines_word(char **line)
{
    char *word = *line + strspn(*line, BLANKS);
    char *end = word + strcspn(word, BLANKS);

    if (end == word) {
        *line = end;
        return NULL;
    }
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

char *vbs_lines_trim(char *line)
{
    char *start = line + strspn(line, BLANKS);
    char *end = start + strlen(start);

    while (end > start && strchr(BLANKS, end[-1]))
        end--;
    *end = '\0';
    return start;
}

/* True when the second word at line is name. */
static bool names(const char *line, const char *name)
{
    size_t length = strlen(name);

    line += strspn(line, BLANKS);
    if (*line == '#')
        return false;
    line += strcspn(line, BLANKS "\n#");
    line += strspn(line, BLANKS);
    return strncmp(line, name, length) == 0 && strcspn(line, BLANKS "\n#") == length;
}

int vbs_lines_find_name(const char *text, const char *name)
{
    for (int below = 1; text && *text; below++) {
        const char *end = strchr(text, '\n');

        if (names(text, name))
            return below;
        text = end ? end + 1 : NULL;
    }
    return 0;
}
