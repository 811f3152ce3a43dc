#include "cli/common/suggest.h"

#include "cli/common/quote.h"

#include <stdio.h>

/* Appends an option whose value is NAME=VALUE, or VALUE where there is no name. */
static void add_option(struct vbs_text *text, const char *option, const char *name,
                       const char *value)
{
    struct vbs_text whole = {0};

    vbs_text_addf(&whole, "%s%s%s", name ? name : "", name && value[0] ? "=" : "", value);
    vbs_text_addf(text, " --%s ", option);
    if (!whole.failed)
        cli_quote(text, whole.data);
    text->failed = text->failed || whole.failed;
    vbs_text_clear(&whole);
}

static void add_choice(struct vbs_text *text, const struct vbs_input_choice *choice)
{
    char value[VBS_MAX_DIMS * 21];

    if (choice->until) {
        add_option(text, "until", choice->name, "");
    } else if (choice->fixed) {
        snprintf(value, sizeof value, "%.17g", choice->value);
        add_option(text, "fix", choice->name, value);
    } else {
        vbs_shape_format(&choice->shape, value, sizeof value);
        add_option(text, "input", choice->name, value);
    }
}

const char *cli_suggest(const struct cli *cli, const char *command, const char *subject,
                        const char *model, struct cli_suggestion *suggestion)
{
    struct vbs_text text = {0};

    vbs_text_addf(&text, "vbslab %s ", command);
    cli_quote(&text, subject);
    for (int i = 0; i < cli->choices.n; i++)
        add_choice(&text, &cli->choices.choices[i]);
    if (model)
        add_option(&text, "model", NULL, model);
    if (cli->db_is_given)
        add_option(&text, "db", NULL, cli->db_path);
    if (text.failed || text.length >= sizeof suggestion->text)
        snprintf(suggestion->text, sizeof suggestion->text, "vbslab %s", command);
    else
        snprintf(suggestion->text, sizeof suggestion->text, "%s", text.data);
    vbs_text_clear(&text);
    return suggestion->text;
}
