/*
 * The store of many processes: none fails because of the others, none takes over a profile that
 * another still measures, and one that is killed loses at most its last 20 ms of measured time.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_PROCESSES 8

/* A gate that opens for all processes that wait at it when its other end is closed. */
struct gate {
    int ends[2];
};

static void gate_wait(struct gate *gate)
{
    char byte;

    close(gate->ends[1]);
    if (read(gate->ends[0], &byte, 1) != 0)
        _exit(90);
}

typedef int (*process_fn)(const char *path, int number);

/* Runs n processes that start together; counts their exit codes below 100. */
static void run_together(process_fn run, const char *path, int n, int counts[100])
{
    struct gate gate;

    memset(counts, 0, 100 * sizeof counts[0]);
    fflush(stdout);
    if (pipe(gate.ends) != 0)
        return;
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            gate_wait(&gate);
            _exit(run(path, i));
        }
    close(gate.ends[0]);
    close(gate.ends[1]);
    for (int i = 0; i < n; i++) {
        int status;

        if (wait(&status) > 0)
            counts[WIFEXITED(status) && WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) : 99]++;
    }
}

/* Reports a failure of a child process. */
static int complain(const struct vbs_ctx *ctx, int code)
{
    printf("# process %d: %s\n", (int)getpid(), ctx->detail);
    fflush(stdout);
    return code;
}

/* ---- writing at once ---- */

static int save_three(const char *path, int number)
{
    struct vbs_store *store = NULL;
    struct vbs_ctx ctx = {0};
    int64_t id;

    if (vbs_store_open(&ctx, path, VBS_STORE_MAKE_FOLDER, &store) != VBS_OK)
        return complain(&ctx, 1);
    for (int i = 0; i < 3; i++) {
        struct vbs_profile *profile = numbered_example(number % 2 ? "odd" : "even", 3 * number + i);

        if (vbs_store_save(&ctx, store, profile, &id) != VBS_OK)
            return complain(&ctx, 2);
        vbs_profile_free(profile);
    }
    vbs_store_close(store);
    return 0;
}

static void processes_may_make_the_same_store_at_once(const char *folder)
{
    int n_good = 0, n_profiles = 0, counts[100];

    for (int round = 0; round < 10; round++) {
        char name[40], *path;

        snprintf(name, sizeof name, "made-%d/at/once.sqlite", round);
        path = path_in(folder, name);
        run_together(save_three, path, round % 2 ? 2 : N_PROCESSES, counts);
        n_good += counts[0];
        n_profiles += (int)query(path, "SELECT count(*) FROM profile WHERE completed NOTNULL");
        free(path);
    }
    is_int(n_good, 5 * N_PROCESSES + 5 * 2, "ten new stores, made by two or eight processes");
    is_int(n_profiles, 3 * n_good, "hold what all of them saved");
}

#define RUN_SAMPLES 600

/* Measures the same as all others, so that each must get a profile of its own. */
static int measure_and_list(const char *path, int number)
{
    struct plain_session *plain = plain_session_new(5, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = NULL;
    struct vbs_store_run *run = NULL;
    struct vbs_store_list *list = NULL;
    struct vbs_profile *profile = NULL;
    const struct vbs_sample_sink *sink;
    int64_t id;

    if (vbs_store_open(&ctx, path, VBS_STORE_WRITE, &store) != VBS_OK ||
        vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) != VBS_OK)
        return complain(&ctx, 1);
    if (vbs_store_run_resumed(run))
        return 2;
    sink = vbs_store_run_sink(run);
    for (int i = 0; i < RUN_SAMPLES; i++) {
        if (sink->add(&ctx, sink->self, i % 10, i / 10, 1000 + number) != VBS_OK)
            return complain(&ctx, 3);
        if (i % 100 == 0) {
            if (vbs_store_profiles(&ctx, store, &list) != VBS_OK)
                return complain(&ctx, 4);
            vbs_store_list_free(list);
        }
    }
    if (vbs_store_run_finish(&ctx, run, NULL, &id) != VBS_OK ||
        vbs_store_load(&ctx, store, id, &profile) != VBS_OK)
        return complain(&ctx, 5);
    vbs_profile_free(profile);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    return 0;
}

static void processes_may_measure_the_same_at_once(const char *folder)
{
    char *path = path_in(folder, "measured.sqlite");
    int counts[100];

    run_together(measure_and_list, path, N_PROCESSES, counts);
    is_int(counts[0], N_PROCESSES, "eight processes measure the same network into one store");
    is_int(query(path, "SELECT count(*) FROM profile WHERE completed NOTNULL"), N_PROCESSES,
           "each gets a profile of its own");
    is_int(query(path, "SELECT count(*) FROM (SELECT profile FROM kernel JOIN packed_sample "
                       "ON kernel = id GROUP BY profile HAVING sum(length(samples)) = 600 * 12 "
                       "AND count(DISTINCT substr(samples, 5, 8)) = 1)"),
           N_PROCESSES, "with its own samples, all of them");
    is_int(query(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
           1, "the store is sound");
    free(path);
}

/* ---- owners ---- */

/* Begins the same measurement in any process. */
static struct vbs_store_run *begin_plain(struct vbs_ctx *ctx, struct vbs_store *store,
                                         const struct plain_session *plain)
{
    struct vbs_store_run *run = NULL;

    if (vbs_store_run_begin(ctx, store, 7, &plain->session, &run) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return run;
}

/* Starts a child that begins a measurement with one sample and then waits to be killed. */
static pid_t start_owner(const char *path)
{
    int ends[2];
    char byte = 0;
    pid_t child;

    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        struct plain_session *plain = plain_session_new(2, 1, 1);
        struct vbs_ctx ctx = {0};
        struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
        struct vbs_store_run *run = begin_plain(&ctx, store, plain);
        const struct vbs_sample_sink *sink = vbs_store_run_sink(run);

        if (sink->add(&ctx, sink->self, 1, 0, 54321) != VBS_OK || write(ends[1], "x", 1) != 1)
            _exit(complain(&ctx, 1));
        for (;;)
            pause();
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        child = -1;
    close(ends[0]);
    return child;
}

static void a_live_owner_is_not_robbed(const char *folder)
{
    char *path = path_in(folder, "owner.sqlite");
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_ctx ctx = {0};
    pid_t child = start_owner(path);
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    const struct vbs_sample_sink *sink;
    const double *times = NULL;
    int n_times = 0;

    if (!ok(child > 0 && store && (run = begin_plain(&ctx, store, plain)),
            "another process measures"))
        return;
    ok(!vbs_store_run_resumed(run), "while it lives, the same measurement begins anew");
    vbs_store_run_free(run);
    kill(child, SIGKILL);
    waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT);
    run = begin_plain(&ctx, store, plain);
    if (ok(run && vbs_store_run_resumed(run), "killed, it is taken over")) {
        sink = vbs_store_run_sink(run);
        ok(sink->stored(&ctx, sink->self, 1, &times, &n_times) == VBS_OK && n_times == 1 &&
               times[0] == 54321,
           "with its sample");
    }
    waitpid(child, &n_times, 0);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* The number of heirs that have begun, in memory that all of them share. */
static atomic_int *n_begun;

/* Exit code 1 for the one that resumes. None ends before all have begun. */
static int resume_and_hold(const char *path, int number)
{
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = store ? begin_plain(&ctx, store, plain) : NULL;
    const struct vbs_sample_sink *sink;

    atomic_fetch_add(n_begun, 1);
    if (!run)
        return complain(&ctx, 2);
    sink = vbs_store_run_sink(run);
    if (sink->add(&ctx, sink->self, 0, 0, 20000 + number) != VBS_OK)
        return complain(&ctx, 3);
    while (atomic_load(n_begun) < N_PROCESSES)
        pause_ms(1);
    if (sink->add(&ctx, sink->self, 0, 0, 20000 + number) != VBS_OK)
        return complain(&ctx, 4);
    _exit(vbs_store_run_resumed(run) ? 1 : 0); /* without giving up */
}

static void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory != MAP_FAILED)
        return memory;
    perror("mmap");
    exit(1);
}

static void one_of_many_takes_a_broken_off_run_over(const char *folder)
{
    char *path = path_in(folder, "heirs.sqlite");
    pid_t child = start_owner(path);
    int counts[100], status;

    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    n_begun = shared_memory(sizeof *n_begun);
    run_together(resume_and_hold, path, N_PROCESSES, counts);
    is_int(counts[1], 1, "one of eight processes resumes");
    is_int(counts[0], N_PROCESSES - 1, "the others begin anew");
    is_int(query(path, "SELECT count(*) FROM profile"), N_PROCESSES, "no two share a profile");
    munmap(n_begun, sizeof *n_begun);
    free(path);
}

/* ---- killed at any moment ---- */

struct progress {
    atomic_int n_fed; /* samples for which add has returned */
};

#define KILL_KERNELS 6

/* The sample with this index over all processes takes 1000 + index us, so that each is known. */
static double time_of(int index)
{
    return 1000 + index;
}

static int feed_on(const char *path, struct progress *progress, int until)
{
    struct plain_session *plain = plain_session_new(3, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = store ? begin_plain(&ctx, store, plain) : NULL;
    const struct vbs_sample_sink *sink;
    int n_stored = 0;
    int64_t id;

    if (!run)
        return complain(&ctx, 1);
    sink = vbs_store_run_sink(run);
    for (int kernel = 0; kernel < KILL_KERNELS; kernel++) {
        const double *times;
        int n;

        if (sink->stored(&ctx, sink->self, kernel, &times, &n) != VBS_OK)
            return complain(&ctx, 2);
        for (int i = 0; i < n; i++)
            if (times[i] != time_of(kernel + i * KILL_KERNELS))
                return 3;
        n_stored += n;
    }
    for (int i = n_stored; i < until; i++) {
        if (sink->add(&ctx, sink->self, i % KILL_KERNELS, i / KILL_KERNELS, time_of(i)) != VBS_OK)
            return complain(&ctx, 4);
        progress->n_fed = i + 1;
    }
    if (vbs_store_run_finish(&ctx, run, NULL, &id) != VBS_OK)
        return complain(&ctx, 5);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    return 0;
}

/* Starts a process that feeds without end, and kills it after delay_us and, unless 0, no sooner
 * than it has fed so many samples; the samples that add had taken. */
static int feed_and_kill(const char *path, struct progress *progress, int delay_us, int n_fed)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(feed_on(path, progress, 1 << 30));
    while (n_fed && progress->n_fed < n_fed) {
        if (waitpid(child, &status, WNOHANG) != 0) {
            printf("# ended by itself: %d\n", status);
            return progress->n_fed;
        }
        pause_ms(1);
    }
    nanosleep(&(struct timespec){.tv_nsec = delay_us * 1000L}, NULL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return progress->n_fed;
}

static void killed_processes_lose_at_most_20_ms(const char *folder, gsl_rng *rng)
{
    char *path = path_in(folder, "killed.sqlite");
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int n_good = 0, n_with_samples = 0, n_stored = 0, status;
    pid_t child;

    for (int i = 0; i < 30; i++) {
        bool soon = i % 3 == 0; /* perhaps before it has begun */
        int n_fed = feed_and_kill(path, progress, random_int(rng, 0, soon ? 10000 : 2000),
                                  soon ? 0 : n_stored + random_int(rng, 21, 200));
        int before = n_stored;
        double lost_us = 0;
        bool prefix;

        n_stored = (int)query(path, "SELECT count(*) FROM sample");
        n_stored = n_stored < 0 ? 0 : n_stored; /* killed before there was a store */
        prefix = n_stored == 0 ||
                 (query(path, "SELECT count(DISTINCT time_us) FROM sample") == n_stored &&
                  query(path, "SELECT max(time_us) FROM sample") == (int64_t)time_of(n_stored - 1));
        for (int k = n_stored; k < n_fed; k++)
            lost_us += time_of(k);
        n_good += prefix && lost_us < 20000 && n_stored >= before;
        if (!prefix || lost_us >= 20000 || n_stored < before)
            printf("# %d fed, %d stored, %d before\n", n_fed, n_stored, before);
        n_with_samples += n_stored > before;
        progress->n_fed = n_stored;
    }
    is_int(n_good, 30, "thirty killed processes lose less than 20 ms each, and repeat nothing");
    ok(n_with_samples >= 20, "%d of them had stored something, %d samples in all", n_with_samples,
       n_stored);
    is_int(query(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
           1, "the store is sound");
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(feed_on(path, progress, n_stored + 600));
    ok(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "the next process finishes the profile");
    is_int(query(path, "SELECT sum(n_runs) FROM kernel WHERE time_us NOTNULL"), n_stored + 600,
           "of all samples");
    is_int(query(path, "SELECT count(*) FROM profile WHERE completed NOTNULL"), 1, "one profile");
    munmap(progress, sizeof *progress);
    free(path);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    unsigned long seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 10) : 20170328;
    char *folder = temporary_folder();

    printf("# SEED=%lu\n", seed);
    gsl_rng_set(rng, seed);
    processes_may_make_the_same_store_at_once(folder);
    processes_may_measure_the_same_at_once(folder);
    a_live_owner_is_not_robbed(folder);
    one_of_many_takes_a_broken_off_run_over(folder);
    killed_processes_lose_at_most_20_ms(folder, rng);
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
