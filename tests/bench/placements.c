/*
 * Measures the offset allocation on problems without slack, cut at random: one row of CSV for each,
 * with what was found. experiments/placement reads it.
 *
 *   placements [PROBLEMS [SECONDS [SEED [ONLY]...]]]   per kind (default 25), for each (default
 * 10); ONLY: the seeds of the only ones
 *
 * Seconds are processor time, so that other programs do not matter much.
 *
 * Kinds: cut from side to side or by growing lines; sizes in units of 1 KiB or of 64 bytes of a
 * capacity of 1 MiB; cuts at 1024 steps or at 256; 100, 200, ... 500 buffers. Every
 * placement is proven by the validator. One that is wrong ends the program.
 */
#include "base/clock.h"
#include "base/ctx.h"
#include "cases/place_cuts.h"
#include "reference/place/place_check.h"

#include <stdio.h>
#include <stdlib.h>

#define N_PROBLEMS 25
#define SEED       31415

static const char *const METHOD_WORDS[] = {"greedy", "repair", "search", "order"};

/* Stops a search after some processor time. */
struct watch {
    double end_s;
    volatile sig_atomic_t stop;
};

static void look(void *self, double done, double left_s, const char *text)
{
    struct watch *watch = self;

    (void)done;
    (void)left_s;
    (void)text;
    watch->stop = vbs_thread_s() >= watch->end_s;
}

/* Gives why a result is wrong, or null. */
static const char *fault_of(const struct place_cuts *cuts, const struct vbs_place_result *result,
                            enum vbs_status status, int64_t *height)
{
    const char *fault = place_fault(&cuts->problem, result->offsets, height);

    if (!fault && (status == VBS_OK) != (*height <= cuts->problem.capacity))
        fault = "the height is not that of the status";
    if (!fault && result->bound_bytes > cuts->problem.capacity)
        fault = "a placement was refuted that is there";
    return fault;
}

/* Searches for a placement until it is found; a search that is stopped gives no height. */
static void measure(const struct place_cuts_kind *kind, unsigned long seed, double seconds)
{
    double start_s = vbs_thread_s();
    struct watch watch = {.end_s = start_s + seconds};
    struct vbs_place_options options = {
        .struct_size = sizeof options, .time_limit_s = -1, .progress = {&watch, look}};
    struct vbs_place_result *result = NULL;
    struct vbs_ctx ctx = {.cancel = &watch.stop};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct place_cuts cuts;
    enum vbs_status status;
    int64_t height = 0;
    const char *fault;

    gsl_rng_set(rng, seed);
    cuts = place_cuts_make(rng, kind);
    status = vbs_place(&ctx, &cuts.problem, &options, &result);
    fault = result                      ? fault_of(&cuts, result, status, &height)
            : status == VBS_INTERRUPTED ? NULL
                                        : vbs_detail(&ctx);
    if (fault) {
        fprintf(stderr, "placements: seed %lu: %s\n", seed, fault);
        exit(1);
    }
    printf("%s,%lld,%lld,%d,%lu,%d,", kind->guillotine ? "guillotine" : "lines",
           (long long)kind->unit_bytes, (long long)kind->n_steps, kind->n_buffers, seed,
           status == VBS_OK);
    if (result)
        printf("%s,%.6f,%lld", METHOD_WORDS[result->method],
               (double)height / (double)cuts.problem.capacity, (long long)result->n_steps);
    else
        printf("none,,");
    printf(",%.3f\n", vbs_thread_s() - start_s);
    fflush(stdout);
    vbs_place_free(result);
    place_cuts_clear(&cuts);
    gsl_rng_free(rng);
}

static bool is_one_of(unsigned long seed, char **seeds, int n)
{
    for (int i = 0; i < n; i++)
        if (seed == strtoul(seeds[i], NULL, 10))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : N_PROBLEMS;
    double seconds = argc > 2 ? atof(argv[2]) : 10;
    unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : SEED;

    puts("cut,unit_bytes,steps,buffers,seed,solved,method,height,n_steps,seconds");
    for (int k = 0; k < n; k++)
        for (int buffers = 100; buffers <= 500; buffers += 100)
            for (int which = 0; which < 8; which++) {
                struct place_cuts_kind kind = {.guillotine = which & 1,
                                               .n_buffers = buffers,
                                               .n_units = which & 2 ? 1024 : 16384,
                                               .unit_bytes = which & 2 ? 1024 : 64,
                                               .n_steps = which & 4 ? 256 : 1024};

                if (argc <= 4 || is_one_of(seed, argv + 4, argc - 4))
                    measure(&kind, seed, seconds);
                seed++;
            }
    return 0;
}
