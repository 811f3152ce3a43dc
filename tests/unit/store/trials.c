/*
 * Studies, their trials, and kernel times by geometry in a store: they come back as they were
 * given, no two processes work on one trial, and what a killed process worked on is taken over.
 */
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"
#include "vbslab/timings.h"
#include "vbslab/trials.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct vbs_study_record STUDY = {
    .name = "first", .description = "{}", .hash = "abc", .vbslab = "1.0"};

static int64_t begin_study(struct vbs_ctx *ctx, struct vbs_store *store)
{
    int64_t id = -1;

    if (vbs_store_study(ctx, store, &STUDY, true, &id) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return id;
}

static int64_t begin_trial(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study, int number)
{
    const struct vbs_trial_value values[] = {{false, "b", 0.5}, {false, "a", number}};
    const struct vbs_trial_begin begin = {.number = number,
                                          .seed = UINT64_MAX - 1,
                                          .stage = "train",
                                          .n_values = 2,
                                          .values = values};
    int64_t id = -1;

    if (vbs_store_trial_begin(ctx, store, study, &begin, &id) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return id;
}

/* ---- studies ---- */

static void a_study_has_its_name_alone(const char *folder)
{
    char *path = path_in(folder, "studies.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_study_record other = STUDY;
    int64_t first = begin_study(&ctx, store), again = begin_study(&ctx, store), id = 7;

    ok(first > 0 && again == first, "a study is made once and found again");
    other.hash = "xyz";
    ok(vbs_store_study(&ctx, store, &other, true, &id) == VBS_USAGE && id == 7 &&
           strstr(ctx.detail, "another description"),
       "another description of the same name is refused");
    other = STUDY;
    other.vbslab = "2.0";
    ok(vbs_store_study(&ctx, store, &other, true, &id) == VBS_USAGE &&
           strstr(ctx.detail, "begun by vbslab 1.0 and this is 2.0"),
       "another build is refused");
    other = STUDY;
    other.name = "firts";
    ok(vbs_store_study(&ctx, store, &other, false, &id) == VBS_NOT_FOUND &&
           strstr(ctx.detail, "did you mean 'first'?"),
       "an unknown study is refused with the nearest name");
    ok(run_sql(path, "UPDATE study SET description = '{1}'") != NULL,
       "the description of a study cannot be changed");
    vbs_store_close(store);
    free(path);
}

/* ---- trials ---- */

static void trials_come_back(const char *folder)
{
    char *path = path_in(folder, "trials.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    const struct vbs_trial_value results[] = {{true, "accuracy", 0.75}};
    struct vbs_trial_step step = {.stage = "measure",
                                  .spent_s = 2,
                                  .file = "net.onnx",
                                  .training = "cafe",
                                  .n_values = 1,
                                  .values = results};
    struct vbs_trial_list *list = NULL;
    const struct vbs_trial_record *t;
    int64_t study = begin_study(&ctx, store), id = begin_trial(&ctx, store, study, 0), other = 3;
    int64_t found = 0;
    int number = -1;

    begin_trial(&ctx, store, study, 1);
    is_int(begin_trial(&ctx, store, study, 0), 0, "a number is given once");
    ok(vbs_store_trial_claim(&ctx, store, study, "train", &other) == VBS_OK && other == 0,
       "a trial that this process owns is not claimed again");
    ok(vbs_store_trial_step(&ctx, store, id, &step) == VBS_OK, "a stage is handed on");
    ok(vbs_store_trial_touch(&ctx, store, id) == VBS_STORE, "... which ends the ownership");
    ok(vbs_store_trained(&ctx, store, "cafe", &found, &other, &number) == VBS_OK && found == id &&
           other == study && number == 0,
       "what a trial trained is found");
    ok(vbs_store_trained(&ctx, store, "cafe", &found, &other, &number) == VBS_OK && found == 0,
       "... once");
    ok(vbs_store_trained(&ctx, store, "cafe1", &found, &other, &number) == VBS_OK && found == 0,
       "... and nothing else is");
    ok(vbs_store_trial_claim(&ctx, store, study, "measure", &other) == VBS_OK && other == id,
       "... so that another can claim it");
    step = (struct vbs_trial_step){.state = VBS_TRIAL_INFEASIBLE, .spent_s = 1.5, .reason = "why"};
    ok(vbs_store_trial_step(&ctx, store, id, &step) == VBS_OK, "a trial ends");
    ok(vbs_store_trials(&ctx, store, study, &list) == VBS_OK && list->n_trials == 2, "two trials");
    t = &list->trials[0];
    ok(t->state == VBS_TRIAL_INFEASIBLE && t->seed == UINT64_MAX - 1 && t->spent_s == 3.5 &&
           t->ended[0] && !t->owned,
       "state, seed and times come back");
    ok(strcmp(t->file, "net.onnx") == 0 && strcmp(t->reason, "why") == 0 && t->n_values == 3 &&
           vbs_trial_number(t, false, "b") == 0.5 &&
           vbs_trial_number(t, true, "accuracy") == 0.75 &&
           isnan(vbs_trial_number(t, false, "accuracy")),
       "file, reason, parameters and results come back");
    ok(list->trials[1].owned && vbs_trial_number(&list->trials[1], false, "a") == 1,
       "the other trial has its own values, and this process owns it");
    vbs_trial_list_free(list);
    ok(run_sql(path, "UPDATE trial SET reason = '' WHERE number = 0") != NULL &&
           run_sql(path, "DELETE FROM trial_value WHERE name = 'accuracy'") != NULL &&
           run_sql(path, "INSERT INTO trial_value VALUES (1, 'result', 'x', 1)") != NULL,
       "a trial that has ended cannot be changed");
    ok(vbs_store_study_delete(&ctx, store, "first") == VBS_STORE &&
           strstr(ctx.detail, "trial 1 of 'first'"),
       "a study is not deleted while a process works on it");
    step = (struct vbs_trial_step){.state = VBS_TRIAL_FAILED, .reason = "x"};
    ok(vbs_store_trial_claim(&ctx, store, study, "train", &other) == VBS_OK && other == 0 &&
           vbs_store_trial_step(&ctx, store, id + 1, &step) == VBS_OK &&
           vbs_store_study_delete(&ctx, store, "first") == VBS_OK &&
           query(path,
                 "SELECT (SELECT count(*) FROM trial) + (SELECT count(*) FROM trial_value)") == 0,
       "... and goes with its trials afterwards");
    vbs_store_close(store);
    free(path);
}

/* ---- processes ---- */

/* Begins trials until 40 are begun; killed: dies in the middle of the first. Exit code: trials. */
static int work(const char *path, int64_t study, bool killed)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    int n = 0;

    for (int number = 0; number < 40 && store; number++) {
        int64_t id = begin_trial(&ctx, store, study, number);
        const struct vbs_trial_step end = {.state = VBS_TRIAL_COMPLETE};

        if (id > 0 && killed)
            kill(getpid(), SIGKILL);
        if (id > 0 && vbs_store_trial_step(&ctx, store, id, &end) == VBS_OK)
            n++;
    }
    vbs_store_close(store);
    return n;
}

static void no_trial_is_carried_out_twice(const char *folder)
{
    char *path = path_in(folder, "processes.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    int64_t study = begin_study(&ctx, store), id = 0;
    int total = 0, n_killed = 0, status;

    vbs_store_close(store);
    fflush(stdout);
    if (fork() == 0)
        _exit(work(path, study, true));
    if (wait(&status) > 0)
        n_killed += WIFSIGNALED(status);
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            _exit(work(path, study, false));
    for (int i = 0; i < 4; i++)
        if (wait(&status) > 0)
            total += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    ok(n_killed == 1 && total == 39,
       "four processes carry out all trials but one, whose process is "
       "killed (%d)",
       total);
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    ok(vbs_store_trial_claim(&ctx, store, study, "train", &id) == VBS_OK && id > 0 &&
           vbs_store_trial_touch(&ctx, store, id) == VBS_OK,
       "... and this one is taken over");
    ok(vbs_store_trial_claim(&ctx, store, study, "train", &id) == VBS_OK && id == 0, "... once");
    vbs_store_close(store);
    free(path);
}

/* ---- kernel times ---- */

static bool rows_agree(const struct vbs_timing *timing, const struct vbs_timing_row *rows, int n)
{
    bool agree = timing && timing->n_rows == n;

    for (int i = 0; i < n && agree; i++) {
        const struct vbs_profile_row *a = &timing->rows[i].row, *b = &rows[i].row;

        agree = timing->rows[i].batch == rows[i].batch &&
                strcmp(timing->rows[i].algorithm, rows[i].algorithm) == 0;
#define SAME(member) agree = agree && a->member == b->member;
        ROW_NUMBERS(SAME)
#undef SAME
    }
    return agree;
}

static void times_come_back_by_geometry(const char *folder)
{
    char *path = path_in(folder, "timings.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_provenance machine = {
        .backend = "onednn", .library = "lib", .device = "dev", .threads = 2};
    struct vbs_timing_key key = {.geometry = UINT64_MAX, .batches = "1,2", .provenance = &machine};
    const struct vbs_timing_row rows[] = {{2, "z", {0, 10, 64, 4096, 2, 1, 1, 5, 20, 9, 0}},
                                          {1, "a", {0, 0.1, 0, 1, 0, 4, 0, 0, 1, 1, 0}}};
    const struct vbs_timing_row later[] = {{1, "a", {0, 7, 0, 1, 0, 0, 0, 0, 9, 1, 0}}};
    const struct vbs_timing_copy copies[] = {{"disk", {4096, 2, 1, 1, 3, 5}}};
    struct vbs_timing *back = NULL;

    ok(vbs_store_timing_find(&ctx, store, &key, &back) == VBS_OK && !back,
       "nothing is known first");
    ok(vbs_store_timing_save(&ctx, store, &key, &(struct vbs_timing){.n_rows = 2, .rows = rows}) ==
               VBS_OK &&
           vbs_store_timing_find(&ctx, store, &key, &back) == VBS_OK && rows_agree(back, rows, 2),
       "times come back to the bit, in their order");
    vbs_timing_free(back);
    ok(vbs_store_timing_save(&ctx, store, &key, &(struct vbs_timing){.n_rows = 1, .rows = later}) ==
               VBS_OK &&
           vbs_store_timing_find(&ctx, store, &key, &back) == VBS_OK && rows_agree(back, rows, 2),
       "the times that came first stay");
    vbs_timing_free(back);
    machine.threads = 1;
    ok(vbs_store_timing_find(&ctx, store, &key, &back) == VBS_OK && !back,
       "other threads are another machine");
    machine.threads = 2;
    key.batches = "1,2,4";
    ok(vbs_store_timing_find(&ctx, store, &key, &back) == VBS_OK && !back,
       "other batches are other times");
    key = (struct vbs_timing_key){.geometry = 0, .batches = "", .provenance = &machine};
    ok(vbs_store_timing_save(&ctx, store, &key,
                             &(struct vbs_timing){.n_copies = 1, .copies = copies}) == VBS_OK &&
           vbs_store_timing_find(&ctx, store, &key, &back) == VBS_OK && back &&
           back->n_copies == 1 && strcmp(back->copies[0].source, "disk") == 0 &&
           back->copies[0].row.bytes == 4096 && back->copies[0].row.high_us == 3,
       "copies come back");
    vbs_timing_free(back);
    vbs_store_close(store);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder();

    a_study_has_its_name_alone(folder);
    trials_come_back(folder);
    no_trial_is_carried_out_twice(folder);
    times_come_back_by_geometry(folder);
    remove_folder(folder);
    return done_testing();
}
