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

void cli_quote_command(struct vbs_text *text, const struct cli *cli)
{
    vbs_text_add(text, "vbslab");
    for (char **word = cli->argv + 1; *word; word++) {
        vbs_text_add(text, " ");
        cli_quote(text, *word);
    }
}
