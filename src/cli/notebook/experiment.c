/* The notebook about an experiment: its README.md, with its answer.md in the place of the results.
 */
#include "cli/notebook/notebook.h"

#include <stdlib.h>
#include <string.h>

#define BEGIN "<!-- results of ./run: begin -->"
#define END   "<!-- results of ./run: end -->"

/* Gives where in the results of the README what follows the template begins, such as rows of a
 * table that other templates fill: behind the last line of the template, where that is no query.
 * Null where there is no such line. */
static const char *find_rest(const struct notebook_story *story, const char *readme)
{
    const char *end = strstr(readme, "\n" END), *found = NULL, *line, *last = NULL;
    const char *at = story->template;
    size_t length, n_last = 0;

    while ((line = notebook_next_line(&at, &length)) != NULL)
        if (length > 0) {
            last = line;
            n_last = length;
        }
    if (!end || !last || notebook_begins(last, "    "))
        return NULL;
    while ((line = notebook_next_line(&readme, &length)) != NULL && line < end)
        if (length == n_last && strncmp(line, last, length) == 0)
            found = readme;
    return found;
}

/* Adds the README, with the template in the place of what it was filled in to. Of that only what
 * comes from elsewhere stays: what follows the template, and the lines that tell where times come
 * from. */
static enum vbs_status tell_readme(struct notebook_story *story, const char *readme)
{
    const char *rest = find_rest(story, readme), *line;
    enum vbs_status status = VBS_OK;
    bool inside = false;
    size_t length;

    while (status == VBS_OK && (line = notebook_next_line(&readme, &length)) != NULL) {
        if (notebook_begins(line, BEGIN)) {
            inside = true;
            status = notebook_add_template(story);
        } else if (notebook_begins(line, END)) {
            inside = false;
        } else if (!inside || (rest && line >= rest) || notebook_begins(line, "Measured with ")) {
            status = notebook_tell(story, line, length);
        }
    }
    return status;
}

/* Adds what the experiment's again.py does: a part of the experiment anew, from a profile. */
static enum vbs_status compute_again(struct notebook_story *story)
{
    char *code;
    const char *rest, *line;
    size_t length;
    enum vbs_status status =
        notebook_read(story->notebook->cli, story->folder, "again.py", true, &code);

    if (status != VBS_OK || !code)
        return status;
    notebook_end_text(story);
    vbs_text_add(&story->text, "## Again, from the profile\n\n");
    for (rest = code; *rest == '#' && (line = notebook_next_line(&rest, &length)) != NULL;) {
        size_t skipped = 1 + (length > 1);

        vbs_text_add_bytes(&story->text, line + skipped, length - skipped);
        vbs_text_add(&story->text, "\n");
    }
    status = notebook_compute(story, rest);
    free(code);
    return status;
}

enum vbs_status notebook_add_experiment(struct notebook *notebook, const char *question)
{
    struct notebook_story story = {.notebook = notebook};
    char *folder = NULL, *readme = NULL;
    enum vbs_status status = notebook_find(notebook->cli, question, &folder, &story.own);

    if (status == VBS_OK) {
        story.folder = folder;
        story.name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
        status = notebook_read(notebook->cli, folder, "README.md", false, &readme);
    }
    if (status == VBS_OK)
        status = notebook_read(notebook->cli, folder, "answer.md", false, &story.template);
    if (status == VBS_OK)
        status = tell_readme(&story, readme);
    if (status == VBS_OK)
        status = notebook_draw_others(&story);
    if (status == VBS_OK)
        status = compute_again(&story);
    notebook_end_text(&story);
    vbs_text_clear(&story.shown);
    free(story.template);
    free(readme);
    free(folder);
    return status;
}
