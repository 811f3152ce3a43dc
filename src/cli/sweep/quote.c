#include "cli/sweep/sweep.h"

void sweep_add_command(struct vbs_text *text, const struct sweep_job *job)
{
    cli_quote(text, job->program);
    if (job->store[0]) {
        vbs_text_add(text, " --db ");
        cli_quote(text, job->store);
    }
    vbs_text_add(text, " sweep ");
    cli_quote(text, job->info->file);
}

bool sweep_is_open(const struct sweep_job *job, enum vbs_sweep_state state)
{
    return state == VBS_SWEEP_LEFT || state == VBS_SWEEP_RUNNING ||
           (job->retry && (state == VBS_SWEEP_FAILED || state == VBS_SWEEP_BLOCKED));
}
