#include "cli/common/option.h"

#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME 32 /* bytes of an option with its hyphens */

/* Gives the value of an option, and its name as messages have it. */
static const char *find(const struct cli *cli, const char *const *values, const char *option,
                        char name[NAME])
{
    snprintf(name, NAME, "--%s", option);
    return cli_value(cli, values, option);
}

enum vbs_status cli_read_whole(struct cli *cli, const char *const *values, const char *option,
                               int64_t low, int64_t high, int64_t *number)
{
    char name[NAME];
    const char *value = find(cli, values, option, name);

    return value ? vbs_parse_int(&cli->ctx, name, value, low, high, number) : VBS_OK;
}

enum vbs_status cli_read_from_0(struct cli *cli, const char *const *values, const char *option,
                                double *number)
{
    char name[NAME];
    const char *value = find(cli, values, option, name);

    return value ? cli_parse_from_0(&cli->ctx, name, value, "", number) : VBS_OK;
}

enum vbs_status cli_read_word(struct cli *cli, const char *const *values, const char *option,
                              const char *const *words, int n_words, int *index)
{
    char name[NAME];
    const char *value = find(cli, values, option, name);

    return value ? vbs_parse_word(&cli->ctx, name, value, words, n_words, index) : VBS_OK;
}

int cli_check_model(struct cli *cli, const char *const *values, int n_arguments)
{
    static const char *const FORMS[] = {"json", "csv", "toml"};
    const char *given[3];
    int n = 0;

    for (int i = 0; i < 3; i++)
        if (cli_value(cli, values, FORMS[i]))
            given[n++] = FORMS[i];
    if (n_arguments != 1)
        return cli_usage(cli, "needs one MODEL");
    return n > 1 ? cli_usage(cli, "--%s and --%s exclude each other", given[0], given[1]) : 0;
}

enum vbs_status cli_read_seconds(struct cli *cli, const char *const *values, const char *option,
                                 double *seconds)
{
    const char *text = cli_value(cli, values, option);
    double value;
    char *end;

    if (!text)
        return VBS_OK;
    value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && isfinite(value)))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--%s '%s' is not a number of seconds above 0",
                        option, text);
    *seconds = value;
    return VBS_OK;
}
