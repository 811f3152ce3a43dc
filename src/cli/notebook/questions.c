/* The questions that notebooks are about: experiments, and a network of the user's. */
#include "base/fail.h"
#include "base/utf8.h"
#include "cli/notebook/notebook.h"
#include "cli/print/print.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NETWORK_TITLE "A network of mine: how fast it is in how much memory"

enum vbs_status notebook_read(struct cli *cli, const char *folder, const char *name, bool may_lack,
                              char **text)
{
    struct vbs_text path = {0};
    size_t length = 0;
    enum vbs_status status = VBS_OK;

    *text = NULL;
    vbs_text_addf(&path, "%s/%s", folder, name);
    if (path.failed)
        status = vbs_no_memory(&cli->ctx);
    else if (!may_lack || access(path.data, F_OK) == 0)
        status = vbs_read_file(&cli->ctx, path.data, NOTEBOOK_MOST_BYTES, text, &length);
    if (status == VBS_OK && *text && (strlen(*text) != length || !vbs_utf8_valid(*text))) {
        status = vbs_fail(&cli->ctx, VBS_FORMAT, "'%.200s' is no text in UTF-8", path.data);
        free(*text);
        *text = NULL;
    }
    vbs_text_clear(&path);
    return status;
}

/* Whether a folder has the files of an experiment. */
static bool is_experiment(const char *folder)
{
    static const char *const FILES[] = {"README.md", "answer.md"};
    bool has = true;

    for (int i = 0; i < 2 && has; i++) {
        struct vbs_text path = {0};

        vbs_text_addf(&path, "%s/%s", folder, FILES[i]);
        has = !path.failed && access(path.data, R_OK) == 0;
        vbs_text_clear(&path);
    }
    return has;
}

/* The names of the experiments. */
struct notebook_names {
    struct dirent **entries;
    int n;
};

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int compare(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_names(struct notebook_names *names)
{
    for (int i = 0; i < names->n; i++)
        free(names->entries[i]);
    free(names->entries);
}

/* Gives the path of a folder's entry where that is an experiment, else null; the caller frees it.
 */
static char *experiment_in(const char *folder, const char *name)
{
    struct vbs_text path = {0};

    vbs_text_addf(&path, "%s/%s", folder, name);
    if (!path.failed && is_experiment(path.data))
        return path.data;
    vbs_text_clear(&path);
    return NULL;
}

static enum vbs_status read_names(struct cli *cli, const char *folder, struct notebook_names *names)
{
    names->n = scandir(folder, &names->entries, is_visible, compare);
    if (names->n >= 0)
        return VBS_OK;
    *names = (struct notebook_names){0};
    return vbs_fail(&cli->ctx, VBS_IO, "cannot read the folder '%.200s'", folder);
}

/* Fails with the nearest name of an experiment. */
static enum vbs_status unknown(struct cli *cli, const char *folder, const char *question)
{
    const char **known, *nearest = NULL;
    struct notebook_names names;
    int n = 0;
    enum vbs_status status = read_names(cli, folder, &names);

    if (status != VBS_OK)
        return status;
    known = calloc((size_t)names.n + 1, sizeof *known);
    for (int i = 0; i < names.n && known; i++) {
        char *path = experiment_in(folder, names.entries[i]->d_name);

        if (path)
            known[n++] = names.entries[i]->d_name;
        free(path);
    }
    if (known) {
        known[n++] = NOTEBOOK_NETWORK;
        nearest = vbs_nearest_name(question, known, n);
    }
    if (nearest)
        status =
            vbs_fail(&cli->ctx, VBS_NOT_FOUND,
                     "there is no question '%.100s'; did you mean '%.100s'?", question, nearest);
    else
        status = vbs_fail(
            &cli->ctx, VBS_NOT_FOUND,
            "there is no question '%.100s'; 'vbslab export --notebook list' lists them", question);
    free(known);
    free_names(&names);
    return status;
}

/* A folder of the user's own. */
static enum vbs_status find_own(struct cli *cli, const char *question, char **folder)
{
    size_t length = strlen(question);

    while (length > 1 && question[length - 1] == '/')
        length--;
    if (!is_experiment(question))
        return vbs_fail(&cli->ctx, VBS_NOT_FOUND,
                        "'%.200s' is no experiment: it has no README.md and answer.md", question);
    *folder = strndup(question, length);
    return *folder ? VBS_OK : vbs_no_memory(&cli->ctx);
}

enum vbs_status notebook_find(struct cli *cli, const char *question, char **folder, bool *own)
{
    char *root = NULL;
    enum vbs_status status;

    *own = strchr(question, '/') != NULL;
    if (*own)
        return find_own(cli, question, folder);
    status = cli_find_experiments(cli, &root);
    if (status == VBS_OK && question[0] != '.')
        *folder = experiment_in(root, question);
    if (status == VBS_OK && !*folder)
        status = unknown(cli, root, question);
    free(root);
    return status;
}

/* Adds a row of the list: an experiment, and the first heading of its README. */
static enum vbs_status add_row(struct cli *cli, struct cli_table *table, const char *folder,
                               const char *name)
{
    char *path = experiment_in(folder, name), *readme = NULL;
    enum vbs_status status = VBS_OK;

    if (path)
        status = notebook_read(cli, path, "README.md", false, &readme);
    if (readme) {
        const char *title = readme + strspn(readme, "# \n");

        cli_table_add(table, "%s", name);
        cli_table_add(table, "%.*s", (int)strcspn(title, "\n"), title);
    }
    free(readme);
    free(path);
    return status;
}

enum vbs_status notebook_list(struct cli *cli)
{
    static const struct cli_column COLUMNS[] = {{"question", false}, {"about", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 2};
    struct notebook_names names = {0};
    char *folder = NULL;
    enum vbs_status status = cli_find_experiments(cli, &folder), printed;

    if (status == VBS_OK)
        status = read_names(cli, folder, &names);
    if (status != VBS_OK) {
        free(folder);
        return status;
    }
    cli_table_add(&table, NOTEBOOK_NETWORK);
    cli_table_add(&table, NETWORK_TITLE);
    for (int i = 0; i < names.n && status == VBS_OK; i++)
        status = add_row(cli, &table, folder, names.entries[i]->d_name);
    printed = cli_table_print(cli, &table);
    free_names(&names);
    free(folder);
    return status != VBS_OK ? status : printed;
}
