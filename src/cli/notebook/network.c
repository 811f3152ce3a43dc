/* The notebook about a network of the user's, of the text network.md, which is embedded at build.
 */
#include "base/embedded.h"
#include "base/fail.h"
#include "cli/notebook/notebook.h"

#include <stdlib.h>
#include <string.h>

extern const struct vbs_embedded cli_notebook_files[];

#define FENCE "```"
#define LOAD  "LOAD\n"

/* The code that loads a profile: of a file, of the store, or of a network that is measured where
 * the store has no profile of it. */
static enum vbs_status add_load(struct notebook *notebook, struct vbs_text *code, const char *word)
{
    bool is_file = cli_is_network_file(word) || cli_ends_in(word, ".csv");
    struct vbs_text name = {0};
    enum vbs_status status = VBS_OK;

    if (is_file)
        status = notebook_add_path(notebook, &name, word);
    else if (word[strspn(word, "0123456789")] == '\0')
        vbs_text_add(&name, word);
    else
        notebook_add_literal(&name, word);
    if (status == VBS_OK && name.data && cli_is_model(word))
        vbs_text_addf(code,
                      "network = vbslab.Network(%s)\n"
                      "try:\n"
                      "    profile = vbslab.Profile(network.name)  # the newest one of the store\n"
                      "except vbslab.VbslabError:\n"
                      "    with vbslab.Store() as store:\n"
                      "        profile = store.measure(network)  # about a minute\n",
                      name.data);
    else if (status == VBS_OK && name.data)
        vbs_text_addf(code, "profile = vbslab.Profile(%s)\n", name.data);
    code->failed |= name.failed;
    vbs_text_clear(&name);
    return status;
}

/* Makes sure that there is what the notebook is about. */
static enum vbs_status check(struct cli *cli, const char *word)
{
    struct vbs_network *network = NULL;
    struct vbs_profile *profile = NULL;
    int64_t id;
    enum vbs_status status;

    if (strcmp(word, "-") == 0)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "a notebook reads a file each time it runs, not standard input");
    status = cli_is_model(word) ? vbs_network_load(&cli->ctx, word, NULL, &network)
                                : cli_load_profile(cli, word, &profile, &id);
    vbs_network_free(network);
    vbs_profile_free(profile);
    return status;
}

/* Adds the cells of a text in Markdown, whose fenced parts are code. */
static enum vbs_status add_cells(struct notebook *notebook, const char *at, const char *word)
{
    struct vbs_text cell = {0};
    bool in_code = false;
    const char *line;
    size_t length;
    enum vbs_status status = VBS_OK;

    while (status == VBS_OK && (line = notebook_next_line(&at, &length)) != NULL) {
        if (strncmp(line, FENCE, strlen(FENCE)) == 0) {
            notebook->failed |= cell.failed;
            if (cell.data)
                (in_code ? notebook_add_code : notebook_add_text)(notebook, cell.data);
            vbs_text_clear(&cell);
            in_code = !in_code;
        } else if (in_code && strncmp(line, LOAD, strlen(LOAD)) == 0) {
            status = add_load(notebook, &cell, word);
        } else {
            vbs_text_add_bytes(&cell, line, length);
            vbs_text_add(&cell, "\n");
        }
    }
    if (cell.data)
        notebook_add_text(notebook, cell.data);
    notebook->failed |= cell.failed;
    vbs_text_clear(&cell);
    return status;
}

enum vbs_status notebook_add_network(struct notebook *notebook, const char *word)
{
    enum vbs_status status = check(notebook->cli, word);

    return status == VBS_OK ? add_cells(notebook, cli_notebook_files[0].text, word) : status;
}
