/* The files of --input: FILE.npy of the only input, NAME=FILE.npy of each of several. */
#include "cli/run/inputs.h"

#include "base/fail.h"

#include <string.h>
#include <unistd.h>

/* Returns the path where value is NAME=PATH of this name, else null. */
static const char *path_for(const char *name, const char *value)
{
    size_t length = strlen(name);

    return strncmp(value, name, length) == 0 && value[length] == '=' ? value + length + 1 : NULL;
}

/* Refuses a value of --input that is of no input. */
static enum vbs_status refuse_name(struct cli *cli, const struct vbs_network *network,
                                   const char *value)
{
    char names[400] = "";
    size_t at = 0;

    for (int i = 0; i < network->n_inputs && at + 100 < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.80s'", i ? ", " : "",
                               network->inputs[i].name);
    return vbs_fail(&cli->ctx, VBS_USAGE,
                    "--input '%.100s' is NAME=FILE.npy of no input; the input%s %s", value,
                    network->n_inputs > 1 ? "s are" : " is", names);
}

/* Returns the name of the input that nothing reads and that a value of --input is for; null: it is
 * for none. */
static const char *find_unread(const struct vbs_network *network, const char *value)
{
    for (int i = 0; i < network->n_unread_inputs; i++)
        if (path_for(network->unread_inputs[i], value))
            return network->unread_inputs[i];
    return NULL;
}

/* Finds the input that a value of --input is for, and its path: the longest name that fits. *input
 * is -1 where it is for one that nothing reads. */
static enum vbs_status find_input(struct cli *cli, const struct vbs_network *network,
                                  const char *value, int *input, const char **path)
{
    bool is_file = access(value, F_OK) == 0;

    *input = -1;
    for (int i = 0; i < network->n_inputs; i++) {
        const char *found = path_for(network->inputs[i].name, value);

        if (found && (*input < 0 || found > *path)) {
            *input = i;
            *path = found;
        }
    }
    if (*input >= 0 && !(network->n_inputs == 1 && is_file))
        return VBS_OK;
    if (*input < 0 && find_unread(network, value))
        return VBS_OK;
    *input = 0;
    *path = value;
    if (network->n_inputs == 1 && (is_file || !run_looks_named(value)))
        return VBS_OK;
    return refuse_name(cli, network, value);
}

enum vbs_status run_find_files(struct cli *cli, const struct vbs_network *network,
                               struct run_input_file *files, int *n)
{
    const char *value, *path = NULL;
    int input;

    for (int i = 0; i < network->n_inputs; i++)
        files[i].input = &network->inputs[i];
    *n = 0;
    for (int i = 0; (value = cli_nth_value(cli, "input", i)); i++) {
        if (cli_is_shape_choice(value))
            continue;
        VBS_TRY(find_input(cli, network, value, &input, &path));
        if (input < 0)
            continue;
        if (files[input].path)
            return vbs_fail(&cli->ctx, VBS_USAGE, "--input gives two files for input '%.80s'",
                            network->inputs[input].name);
        files[input].path = path;
        (*n)++;
    }
    for (int i = 0; *n > 0 && i < network->n_inputs; i++)
        if (!files[i].path)
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--input gives no file for input '%.80s', but for %d of %d: give all, "
                            "or none for seeded values",
                            network->inputs[i].name, *n, network->n_inputs);
    return VBS_OK;
}

void run_warn_of_unread(struct run_job *job)
{
    const char *value, *name;

    for (int i = 0; (value = cli_nth_value(job->cli, "input", i)); i++)
        if (!cli_is_shape_choice(value) && (name = find_unread(job->network, value)))
            cli_warn(job->cli, "no node of the network reads input '%.80s': '%.200s' is not read",
                     name, path_for(name, value));
}

bool run_gives_file(const struct cli *cli)
{
    const char *value;

    for (int i = 0; (value = cli_nth_value(cli, "input", i)); i++)
        if (!cli_is_shape_choice(value))
            return true;
    return false;
}

int run_wanted_shape(const struct run_job *job, const struct vbs_input *input, int64_t *want)
{
    if (!input->shared)
        return run_batch_shape(job, &input->shape, want);
    memcpy(want, input->shape.dim, (size_t)input->shape.n_dims * sizeof *want);
    return input->shape.n_dims;
}

int run_count_shapes(const struct cli_choices *choices)
{
    int n = 0;

    for (int i = 0; i < choices->n; i++)
        n += !choices->choices[i].fixed && !choices->choices[i].until;
    return n;
}
