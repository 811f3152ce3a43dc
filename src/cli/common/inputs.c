#include "cli/common/inputs.h"

#include "base/fail.h"
#include "base/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_nth_value(const struct cli *cli, const char *option, int n)
{
    size_t length = strlen(option);

    for (char **word = cli->words; word && *word && strcmp(*word, "--") != 0; word++) {
        const char *value = NULL;

        if (strncmp(*word, "--", 2) != 0 || strncmp(*word + 2, option, length) != 0)
            continue;
        if ((*word)[2 + length] == '=')
            value = *word + 3 + length;
        else if ((*word)[2 + length] == '\0' && word[1])
            value = *++word;
        if (value && n-- == 0)
            return value;
    }
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
                               const struct vbs_input_choice *choice)
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
    names[n - 1] = name ? strdup(name) : NULL;
    if (name && !names[n - 1])
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

/* Appends a choice for the input whose name ends before equals, or (null) for the only one. */
static enum vbs_status add_named(struct cli *cli, struct cli_choices *choices, const char *value,
                                 const char *equals, const struct vbs_input_choice *choice)
{
    char *name = equals ? strndup(value, (size_t)(equals - value)) : NULL;
    enum vbs_status status;

    if (equals && !name)
        return vbs_no_memory(&cli->ctx);
    status = cli_add_choice(cli, choices, name, choice);
    free(name);
    return status;
}

static enum vbs_status add_shape(struct cli *cli, const char *value, struct cli_choices *choices)
{
    const char *equals = last_equals(value);
    struct vbs_input_choice choice = {.name = NULL};

    VBS_TRY(vbs_shape_parse(&cli->ctx, equals ? equals + 1 : value, &choice.shape));
    return add_named(cli, choices, value, equals, &choice);
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
    return add_named(cli, choices, value, equals, &choice);
}

enum vbs_status cli_read_choices(struct cli *cli, bool files, struct cli_choices *choices)
{
    const char *value;

    *choices = (struct cli_choices){.n = 0};
    for (int i = 0; (value = cli_nth_value(cli, "input", i)); i++)
        if (!files || cli_is_shape_choice(value))
            VBS_TRY(add_shape(cli, value, choices));
    for (int i = 0; (value = cli_nth_value(cli, "fix", i)); i++)
        VBS_TRY(add_fixed(cli, value, choices));
    return VBS_OK;
}
