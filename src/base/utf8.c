#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

int vbs_utf8_character(const char *text, uint32_t *code)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)text[0];
    int length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t value = length == 1   ? lead
                     : length == 2 ? lead & 0x1f
                     : length == 3 ? lead & 0xf
                                   : lead & 7;

    if (length == 0 || lead > 0xf4)
        return 0;
    for (int i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | ((unsigned char)text[i] & 0x3f);
    }
    if (value < LEAST[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return length;
}

bool vbs_utf8_valid(const char *text)
{
    uint32_t code;

    for (int length; *text; text += length) {
        length = vbs_utf8_character(text, &code);
        if (length == 0)
            return false;
    }
    return true;
}

/* True for C0 and C1 controls, line separators, and characters that change the direction of
 * writing. */
static bool is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

int vbs_utf8_show(const char *text, char shown[VBS_UTF8_SHOWN])
{
    uint32_t code = 0;
    int length = vbs_utf8_character(text, &code);

    if (length > 0 && !is_harmful(code)) {
        memcpy(shown, text, (size_t)length);
        shown[length] = '\0';
        return length;
    }
    length = length > 0 ? length : 1;
    for (int i = 0; i < length; i++)
        snprintf(shown + 4 * i, 5, "\\x%02x", (unsigned char)text[i]);
    return length;
}
