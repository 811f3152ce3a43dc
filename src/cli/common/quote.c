#include "cli/common/quote.h"

#include <string.h>

void cli_quote(struct vbs_text *text, const char *word)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_-+=:,./";

    if (word[0] && !word[strspn(word, PLAIN)]) {
        vbs_text_add(text, word);
        return;
    }
    vbs_text_add(text, "'");
    while (*word) {
        size_t length = strcspn(word, "'");

        vbs_text_addf(text, "%.*s", (int)length, word);
        word += length;
        if (*word) {
            vbs_text_add(text, "'\\''");
            word++;
        }
    }
    vbs_text_add(text, "'");
}
