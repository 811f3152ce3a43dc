#include "cli/common/inputs.h"

#include "base/fail.h"
#include "base/grow.h"
#include "cli/common/words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_nth_value(const struct cli *cli, const char *option, int n)
{
    const struct cli_words *words = cli->words;

    for (int i = 0; words && i < words->n_given; i++)
        if (strcmp(cli->command->options[words->given[i].option].name, option) == 0 && n-- == 0)
            return words->given[i].value;
    return NULL;
}

/* Gives the place of the last = of a value, null: it has none. */
static const char *last_equals(const char *value)
{
    const char *equals = strrchr(value, '=');

    return equals && equals != value ? equals : NULL;
}

bool cli_is_shape_choice(const char *value)
{
    const char *equals = last_equals(value);
    struct vbs_shape shape;

    return vbs_shape_parse(NULL, equals ? equals + 1 : value, &shape) == VBS_OK &&
           access(value, F_OK) != 0;
}

enum vbs_status cli_add_choice(struct cli *cli, struct cli_choices *choices, const char *name,
                               size_t length, const struct vbs_input_choice *choice)
{
    size_t n = (size_t)choices->n + 1;
    struct vbs_input_choice *grown = realloc(choices->choices, n * sizeof *grown);
    char **names = realloc(choices->names, n * sizeof *names);

    if (grown)
        choices->choices = grown;
    if (names)
        choices->names = names;
    if (!grown || !names)
        return vbs_no_memory(&cli->ctx);
    names[n - 1] = length > 0 ? strndup(name, length) : NULL;
    if (length > 0 && !names[n - 1])
        return vbs_no_memory(&cli->ctx);
    grown[n - 1] = *choice;
    grown[n - 1].name = names[n - 1];
    choices->n++;
    return VBS_OK;
}

void cli_choices_clear(struct cli_choices *choices)
{
    for (int i = 0; i < choices->n; i++)
        free(choices->names[i]);
    free(choices->names);
    free(choices->choices);
    *choices = (struct cli_choices){.n = 0};
}

static enum vbs_status add_shape(struct cli *cli, const char *value, struct cli_choices *choices)
{
    const char *equals = last_equals(value);
    struct vbs_input_choice choice = {.name = NULL};

    VBS_TRY(vbs_shape_parse(&cli->ctx, equals ? equals + 1 : value, &choice.shape));
    return cli_add_choice(cli, choices, value, equals ? (size_t)(equals - value) : 0, &choice);
}

static enum vbs_status add_fixed(struct cli *cli, const char *value, struct cli_choices *choices)
{
    const char *equals = last_equals(value);
    struct vbs_input_choice choice = {.fixed = true};
    char *end = NULL;

    if (equals)
        choice.value = strtod(equals + 1, &end);
    if (!equals || end == equals + 1 || *end || !isfinite(choice.value))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--fix '%.100s' is not NAME=NUMBER", value);
    return cli_add_choice(cli, choices, value, (size_t)(equals - value), &choice);
}

bool cli_is_percentage(const char *value)
{
    return value[0] && value[strlen(value) - 1] == '%';
}

enum vbs_status cli_read_choices(struct cli *cli)
{
    bool files = cli->command->input_files;
    const char *value;

    for (int i = 0; (value = cli_nth_value(cli, "input", i)); i++)
        if (!files || cli_is_shape_choice(value))
            VBS_TRY(add_shape(cli, value, &cli->choices));
    for (int i = 0; (value = cli_nth_value(cli, "fix", i)); i++)
        VBS_TRY(add_fixed(cli, value, &cli->choices));
    for (int i = 0; (value = cli_nth_value(cli, "until", i)); i++) {
        const struct vbs_input_choice choice = {.until = true};

        if (cli->command->until_percentage && cli_is_percentage(value))
            continue;
        if (!value[0])
            return vbs_fail(&cli->ctx, VBS_USAGE, "--until names no node");
        VBS_TRY(cli_add_choice(cli, &cli->choices, value, strlen(value), &choice));
    }
    return VBS_OK;
}
