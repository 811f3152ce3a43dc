#include "cli/sweep/sweep.h"

#include <string.h>

void sweep_quote(struct vbs_text *text, const char *word)
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

void sweep_add_command(struct vbs_text *text, const struct sweep_job *job)
{
    sweep_quote(text, job->program);
    if (job->store[0]) {
        vbs_text_add(text, " --db ");
        sweep_quote(text, job->store);
    }
    vbs_text_add(text, " sweep ");
    sweep_quote(text, job->info->file);
}

bool sweep_is_open(const struct sweep_job *job, enum vbs_sweep_state state)
{
    return state == VBS_SWEEP_LEFT || state == VBS_SWEEP_RUNNING ||
           (job->retry && (state == VBS_SWEEP_FAILED || state == VBS_SWEEP_BLOCKED));
}
