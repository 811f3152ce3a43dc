/*
 * The copy thread beside a thread that computes: loads begin when steps have passed, steps wait for
 * loads, both read chunks of one load, runs are stopped at any moment, and files end too early.
 * There are no kernels and no OpenMP, so that ThreadSanitizer sees everything.
 */
#include "support/bail_out.h"
#include "support/tap.h"

#include "base/clock.h"
#include "base/ctx.h"
#include "exec/weights/weights.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_LOADS 9
#define N_RUNS  12
#define KIB     ((int64_t)1024)

/* Most loads are small; some are so large that both threads read them; one is empty. */
static const int64_t SIZES[N_LOADS] = {100,  1500 * KIB, 1, 64 * KIB, 1024 * KIB, 2048 * KIB + 7, 0,
                                       4096, 2500 * KIB};

struct scene {
    struct vbs_ctx ctx;
    volatile sig_atomic_t stop;
    struct vbs_exec_file file;
    struct vbs_exec_loader loader;
    struct vbs_exec_load loads[N_LOADS];
    struct vbs_exec_step trace[N_LOADS];
    struct vbs_exec_stream *stream;
    unsigned char *values, *memory; /* of the file; the destination of loads */
    int64_t bytes;
};

static bool make_file(struct scene *s)
{
    char name[] = "/tmp/vbslab-copy-thread-XXXXXX";
    uint64_t state = 1;

    s->file =
        (struct vbs_exec_file){.fd = mkstemp(name), .direct_fd = -1, .path = strdup("a file")};
    unlink(name);
    s->values = malloc((size_t)s->bytes);
    s->memory = malloc((size_t)s->bytes);
    if (s->file.fd < 0 || !s->file.path || !s->values || !s->memory)
        return false;
    for (int64_t i = 0; i < s->bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        s->values[i] = (unsigned char)(state >> 56);
    }
    return pwrite(s->file.fd, s->values, (size_t)s->bytes, 0) == s->bytes;
}

/* Begins a run: load i may begin when i half steps have passed, the first at once, and the last two
 * together. */
static bool begin(struct scene *s)
{
    int64_t at = 0;

    s->ctx.cancel = &s->stop;
    for (int i = 0; i < N_LOADS; i++)
        s->bytes += SIZES[i];
    if (!make_file(s))
        return false;
    for (int i = 0; i < N_LOADS; at += SIZES[i++])
        s->loads[i] = (struct vbs_exec_load){.step = i,
                                             .after = i < N_LOADS - 1 ? i : i - 1,
                                             .offset = at,
                                             .bytes = SIZES[i],
                                             .to = s->memory + at};
    return vbs_exec_loader_init(&s->ctx, &s->loader, &s->file, NULL) == VBS_OK &&
           vbs_exec_stream_new(&s->ctx, s->loads, N_LOADS, &s->loader, false, &s->stream) == VBS_OK;
}

static void end(struct scene *s)
{
    vbs_exec_stream_free(s->stream);
    vbs_exec_loader_clear(&s->loader);
    vbs_exec_file_close(&s->file);
    free(s->values);
    free(s->memory);
}

/* Gives whether load number i is at its destination. */
static bool has_come(const struct scene *s, int i)
{
    return memcmp(s->loads[i].to, s->values + s->loads[i].offset, (size_t)s->loads[i].bytes) == 0;
}

/* Passes steps, waits for the loads that run `lag` steps behind, and checks their bytes. Stops
 * behind n_steps; gives the status of a failure. */
static enum vbs_status run_steps(struct scene *s, int lag, int n_steps, bool *good)
{
    enum vbs_status status = VBS_OK;

    for (int step = 0; step < n_steps && status == VBS_OK; step++) {
        int due = step - lag;

        status = vbs_exec_stream_pass(&s->ctx, s->stream, step);
        if (status != VBS_OK || due < 0)
            continue;
        status = vbs_exec_stream_wait(&s->ctx, s->stream, due + 1);
        *good = *good && (status != VBS_OK || has_come(s, due));
    }
    return status;
}

static void clear_memory(struct scene *s)
{
    memset(s->memory, 0, (size_t)s->bytes);
}

/* Where there is a copy thread, nothing can fail at the beginning. */
static void begin_run(struct scene *s, struct vbs_exec_step *trace)
{
    if (vbs_exec_stream_begin(&s->ctx, s->stream, vbs_clock_s(), trace) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
}

static void test_runs(struct scene *s)
{
    bool good = true, traced = true, summed = true;
    enum vbs_status status = VBS_OK;

    for (int run = 0; run < N_RUNS && status == VBS_OK; run++) {
        clear_memory(s);
        memset(s->trace, 0, sizeof s->trace);
        begin_run(s, run % 2 ? s->trace : NULL);
        status = run_steps(s, run % 3, N_LOADS, &good);
        if (status == VBS_OK)
            status = vbs_exec_stream_wait(&s->ctx, s->stream, N_LOADS);
        vbs_exec_stream_stop(s->stream);
        for (int i = 0; i < N_LOADS; i++) {
            good = good && has_come(s, i);
            traced = traced &&
                     (run % 2 == 0 || (s->trace[i].end_us >= s->trace[i].start_us &&
                                       (i == 0 || s->trace[i].start_us >= s->trace[i - 1].end_us)));
        }
        summed = summed && vbs_exec_stream_streamed(s->stream).bytes == s->bytes;
    }
    is_int(status, VBS_OK, "runs, each with all loads");
    ok(good, "  bring every byte before who waits for it goes on");
    ok(traced, "  one after the other, by their times");
    ok(summed, "  and count what they brought");
}

static void test_stops(struct scene *s)
{
    enum vbs_status status = VBS_OK;
    bool good = true, early = true;

    for (int run = 0; run < N_RUNS && status == VBS_OK; run++) {
        int n_steps = run % N_LOADS;

        clear_memory(s);
        begin_run(s, NULL);
        status = run_steps(s, 1, n_steps, &good);
        vbs_exec_stream_stop(s->stream);
        for (int i = n_steps + 1; i < N_LOADS - 1 && status == VBS_OK; i++)
            early = early && (SIZES[i] < 100 || !has_come(s, i));
    }
    is_int(status, VBS_OK, "runs that are stopped behind any step");
    ok(good, "  have brought what was waited for");
    ok(early, "  and nothing that was not to begin yet");
}

static void test_interrupted(struct scene *s)
{
    bool good = true;

    begin_run(s, NULL);
    s->stop = 1; /* load 5 never begins, because its step never passes */
    is_int(vbs_exec_stream_wait(&s->ctx, s->stream, 6), VBS_INTERRUPTED,
           "who waits for what does not come can be interrupted");
    s->stop = 0;
    vbs_exec_stream_stop(s->stream);
    begin_run(s, NULL);
    is_int(run_steps(s, 0, N_LOADS, &good), VBS_OK, "  and runs again");
    vbs_exec_stream_stop(s->stream);
    ok(good, "    as before");
}

/* This test comes last, because the file stays short. */
static void test_short_file(struct scene *s)
{
    bool good = true;

    ok(ftruncate(s->file.fd, s->loads[5].offset + 10) == 0, "a file that ends within a load");
    for (int run = 0; run < 3; run++) {
        begin_run(s, NULL);
        is_int(run_steps(s, run, N_LOADS + run, &good), VBS_IO, "  is told to who waits for it");
        vbs_exec_stream_stop(s->stream);
    }
    ok(good && strstr(vbs_detail(&s->ctx), "a file"), "  with a line: %s", vbs_detail(&s->ctx));
}

int main(void)
{
    struct scene scene = {0};

    if (!begin(&scene))
        bail_out("no copy thread: %s", vbs_detail(&scene.ctx));
    test_runs(&scene);
    test_stops(&scene);
    test_interrupted(&scene);
    test_short_file(&scene);
    end(&scene);
    return done_testing();
}
