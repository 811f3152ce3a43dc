/*
 * Measuring, on a fake session, runs kernels in the order that it promises, hands every time to
 * the sink, and ends when it should.
 */
#include "support/tap.h"

#include "fake/session.h"

/* Enough for everything to end by itself; the fake clock runs fast. */
static const struct vbs_measure_options patient = {
    .struct_size = sizeof(struct vbs_measure_options), .time_limit_s = 1e6, .seed = 1};

/* ---- Order ---- */

static void layers_run_in_network_order(void)
{
    struct fake *fake = fake_new(21, 3, 2);
    struct vbs_measure_report report;
    int n_out_of_order = 0, n_mixed = 0;

    is_int(fake_measure(fake, &patient, &report), VBS_OK, "a quiet session is measured");
    for (int call = 0; call < fake->n_calls; call++) {
        const struct vbs_kernel *kernel = &fake->kernels[fake->calls[call]];
        const struct vbs_kernel *first = &fake->kernels[fake->calls[call - call % 21]];

        n_out_of_order += kernel->layer != call % 21 + 1;
        n_mixed += kernel->batch != first->batch;
    }
    ok(fake->n_calls > 0 && fake->n_calls % 21 == 0, "passes are whole");
    is_int(n_out_of_order, 0, "each pass runs the layers in network order");
    is_int(n_mixed, 0, "each pass has one batch");
    is_int(fake->n_wrong, 0, "layers get their inputs, outputs and workspace where they belong");
    is_int(fake->n_frees, fake->n_allocs, "all device memory is given back");
    is_int(fake->n_fills, 1, "the input is filled once where nothing overwrites it");
    fake_free(fake);
}

static void input_is_renewed_where_the_first_layer_is_in_place(void)
{
    struct fake *fake = fake_new(3, 2, 1);
    struct vbs_measure_report report;

    fake->layers[1].in_place = true;
    fake->layers[1].out_bytes = fake->layers[0].out_bytes + 8;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "an in-place first layer is measured");
    is_int(fake->n_wrong, 0, "it finds a fresh input in every pass");
    is_int(fake->n_fills, 1 + fake->n_calls / 3, "the input is filled before every pass");
    fake_free(fake);
}

static void turns_of_different_layers_are_independent(void)
{
    struct fake *fake = fake_new(6, 1, 2);
    struct vbs_measure_report report;
    int seen[2][2] = {{0}};

    fake->sigma = 0.5;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "two algorithms take turns");
    for (int call = 0; call < fake->n_calls; call += 6)
        seen[fake->calls[call] % 2][fake->calls[call + 5] % 2]++;
    ok(seen[0][0] >= 10 && seen[0][1] >= 10 && seen[1][0] >= 10 && seen[1][1] >= 10,
       "every pair of algorithms of two layers meets (%d %d %d %d)", seen[0][0], seen[0][1],
       seen[1][0], seen[1][1]);
    fake_free(fake);
}

static void a_pass_runs_twice(void)
{
    struct fake *fake = fake_new(6, 1, 3);
    struct vbs_measure_report report;
    int n_other = 0;

    fake->sigma = 0.5;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "three algorithms take turns");
    for (int call = 6; call + 12 <= fake->n_calls; call += 12) /* behind the warm-up */
        n_other += memcmp(&fake->calls[call], &fake->calls[call + 6], 6 * sizeof *fake->calls) != 0;
    is_int(n_other, 0, "each pass runs twice with the same kernels");
    is_int(report.n_samples + report.n_rejected, (fake->n_calls - 6) / 2, "and counts once");
    fake_free(fake);
}

static void each_round_shuffles_the_batches(void)
{
    struct fake *fake = fake_new(5, 4, 1);
    struct vbs_measure_report report;
    int n_repeated = 0, n_other = 0;

    fake->sigma = 0.5;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "four batches take turns");
    /* after the first round, which also warms up, a round is 40 calls */
    for (int call = 100; call + 40 <= 780; call += 40) {
        for (int b = 0; b < 4; b++) {
            int batch = fake->kernels[fake->calls[call + 10 * b]].batch;

            n_other += batch != fake->kernels[fake->calls[60 + 10 * b]].batch;
            for (int c = 0; c < b; c++)
                n_repeated += batch == fake->kernels[fake->calls[call + 10 * c]].batch;
        }
    }
    is_int(n_repeated, 0, "each round visits every batch once");
    ok(n_other > 30, "in ever other orders (%d of 68 places differ)", n_other);
    fake_free(fake);
}

static void the_seed_decides_the_order(void)
{
    struct fake *a = fake_new(5, 4, 3), *b = fake_new(5, 4, 3), *c = fake_new(5, 4, 3);
    struct vbs_measure_options other = patient;
    struct vbs_measure_report report;
    int failed = 0;

    other.seed = 2;
    failed += fake_measure(a, &patient, &report) != VBS_OK;
    failed += fake_measure(b, &patient, &report) != VBS_OK;
    failed += fake_measure(c, &other, &report) != VBS_OK;
    is_int(failed, 0, "three measurements");
    ok(a->n_calls == b->n_calls && memcmp(a->calls, b->calls, sizeof a->calls) == 0,
       "the same seed gives the same calls");
    ok(memcmp(a->calls, c->calls, sizeof a->calls) != 0, "another seed gives another order");
    fake_free(a);
    fake_free(b);
    fake_free(c);
}

/* ---- When it ends ---- */

static void quiet_kernels_need_six_runs(void)
{
    struct fake *fake = fake_new(10, 3, 3);
    struct vbs_measure_report report;

    is_int(fake_measure(fake, &patient, &report), VBS_OK, "kernels without noise");
    is_int(fake_fewest_runs(fake), 6, "six runs give the least 95% interval");
    is_int(fake_most_runs(fake), 6, "and no kernel takes more");
    is_int(fake->n_calls, 10 * 3 * (1 + 2 * 3 * 6),
           "one warm-up pass for each batch is not recorded, and every second pass");
    is_int(report.n_samples, 10 * 3 * 3 * 6, "samples are counted");
    is_int(report.n_unconverged, 0, "none is unconverged");
    is_near(report.worst_interval, 0, 0, "intervals are points");
    fake_free(fake);
}

static void noisy_kernels_stop_when_tight_or_at_max_runs(void)
{
    struct fake *fake = fake_new(10, 2, 2);
    struct vbs_measure_options options = patient;
    struct vbs_measure_report report;
    int n_early = 0;

    options.relative_interval = 0.05;
    fake->sigma = 0.08;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "kernels with 8% of noise");
    for (int i = 0; i < fake->session.n_kernels; i++) {
        struct vbs_profile_row row;
        double times_us[FAKE_RUNS];

        memcpy(times_us, fake->runs[i].times_us, sizeof times_us);
        vbs_measure_summary(times_us, fake->runs[i].n, &row);
        if (fake->runs[i].n < 50)
            n_early += vbs_relative_interval(&row) > 0.05;
    }
    is_int(n_early, 0, "each is tight or has max_runs");
    ok(fake_fewest_runs(fake) >= 6 && fake_most_runs(fake) == 50, "within 6..50 runs (%d..%d)",
       fake_fewest_runs(fake), fake_most_runs(fake));
    fake_restart(fake);
    options.relative_interval = 1e-9;
    options.max_runs = 60;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "an aim that cannot be reached");
    ok(fake_fewest_runs(fake) == 60 && fake_most_runs(fake) == 60, "ends at max_runs exactly");
    is_int(report.n_unconverged, fake->session.n_kernels, "and all are reported as unconverged");
    ok(report.n_few == 0 && report.worst_interval > 0.001, "with the worst interval (%g)",
       report.worst_interval);
    fake_free(fake);
}

static void dominated_algorithms_get_few_runs(void)
{
    struct fake *fake = fake_new(8, 2, 3);
    struct vbs_measure_options options = patient;
    struct vbs_measure_report report;
    int most_dominated = 0, least_frugal = FAKE_RUNS;

    options.relative_interval = 1e-9;
    options.max_runs = 30;
    fake->sigma = 0.02;
    for (int layer = 1; layer <= 8; layer++) {
        for (int b = 0; b < 2; b++) {
            int first = fake_kernel(fake, layer, b, 0);

            /* the second is slow for as much workspace, the third slow for less */
            fake->kernels[first + 1].ws_bytes = fake->kernels[first].ws_bytes;
            fake->base_us[first + 1] = 2 * fake->base_us[first];
            fake->base_us[first + 2] = 4 * fake->base_us[first];
        }
    }
    is_int(fake_measure(fake, &options, &report), VBS_OK, "slow algorithms");
    for (int i = 0; i < fake->session.n_kernels; i += 3) {
        if (fake->runs[i + 1].n > most_dominated)
            most_dominated = fake->runs[i + 1].n;
        if (fake->runs[i + 2].n < least_frugal)
            least_frugal = fake->runs[i + 2].n;
    }
    is_int(most_dominated, 5, "one that no planner can choose gets min_runs");
    is_int(least_frugal, 30, "one that needs less workspace is measured like the fastest");
    is_int(report.n_unconverged, 2 * 8 * 2, "dominated kernels are not counted as unconverged");
    is_int(report.n_judged, 2 * 8 * 2, "nor among those that are judged");
    fake_free(fake);
}

static void every_kernel_gets_min_runs_whatever_the_limit(void)
{
    struct fake *fake = fake_new(7, 4, 3);
    struct vbs_measure_options options = {.struct_size = sizeof(struct vbs_measure_options),
                                          .time_limit_s = 1e-6,
                                          .min_runs = 4,
                                          .seed = 3};
    struct vbs_measure_report report;

    fake->sigma = 0.3;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a limit that is up at once");
    is_int(fake_fewest_runs(fake), 4, "every kernel gets min_runs");
    is_int(fake_most_runs(fake), 4, "and no more");
    ok(report.n_unconverged == report.n_judged && report.n_few == report.n_judged &&
           report.worst_interval == 0,
       "all are reported as unconverged, and their ranges are no intervals");
    fake_free(fake);
}

static bool append_runs(struct vbs_table *table, int n_runs)
{
    for (int i = 0; i < table->session->n_kernels; i++)
        for (int r = 0; r < n_runs; r++)
            if (vbs_table_append(NULL, table, i, 1 + r) != VBS_OK)
                return false;
    return true;
}

static void a_limit_affords_as_many_runs_as_it_has_time_for(void)
{
    static const double PASS_S[] = {1, 2, 3, 4};
    struct fake *fake = fake_new(7, 4, 3);
    struct vbs_table table = {.session = &fake->session, .options = {.min_runs = 5}};

    if (vbs_table_init(NULL, &table) != VBS_OK)
        abort();
    /* Three algorithms take turns, so that a run of each takes three passes at each batch. */
    is_int(vbs_table_affordable_runs(&table, PASS_S, 1e9), 5, "min_runs where there is time");
    is_int(vbs_table_affordable_runs(&table, PASS_S, 150), 5, "or just enough");
    is_int(vbs_table_affordable_runs(&table, PASS_S, 149), 4, "one less where there is less");
    is_int(vbs_table_affordable_runs(&table, PASS_S, 60), 2, "two in two fifths of it");
    is_int(vbs_table_affordable_runs(&table, PASS_S, -7), 1, "and one where the limit is past");
    if (!append_runs(&table, 3))
        abort();
    is_int(vbs_table_affordable_runs(&table, PASS_S, 0), 3, "runs that are there cost nothing");
    is_int(vbs_table_affordable_runs(&table, PASS_S, 30), 4, "a further one costs its own passes");
    if (!append_runs(&table, 9))
        abort();
    is_int(vbs_table_affordable_runs(&table, PASS_S, 0), 5, "no more than min_runs are counted");
    vbs_table_release(&table);
    fake_free(fake);
}

/* Measures noisy kernels under a limit, and gives the report. */
static struct vbs_measure_report limited(double limit_s, int *fewest, int *most)
{
    struct fake *fake = fake_new(7, 4, 3);
    struct vbs_measure_options options = {
        .struct_size = sizeof(struct vbs_measure_options), .time_limit_s = limit_s, .seed = 3};
    struct vbs_measure_report report = {0};

    fake->sigma = 0.3;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a limit is given");
    *fewest = fake_fewest_runs(fake);
    *most = fake_most_runs(fake);
    fake_free(fake);
    return report;
}

static void a_short_limit_is_kept_but_for_one_run_of_each_kernel(void)
{
    int fewest, most;
    struct vbs_measure_report least = limited(1e-6, &fewest, &most), three, patient_report;

    ok(fewest == 1 && most <= 2, "where it is up at once, every kernel has a run (%d..%d)", fewest,
       most);
    ok(least.n_unconverged == least.n_judged && least.n_judged == 7 * 4 * 3 &&
           least.n_few == least.n_judged && least.worst_interval == 0,
       "none of them counts as precise, or as too slow ever to be chosen");
    three = limited(3 * least.total_s, &fewest, &most);
    ok(fewest >= 2 && fewest < 5 && three.total_s <= 3 * least.total_s,
       "three times as much allows %d..%d runs, and is kept", fewest, most);
    ok(three.n_few == three.n_judged && three.worst_interval == 0,
       "and the range of so few is no interval");
    patient_report = limited(20 * least.total_s, &fewest, &most);
    ok(fewest >= 5 && patient_report.total_s <= 20 * least.total_s,
       "where there is time every kernel has 5 runs at least (%d..%d)", fewest, most);
}

static void the_time_limit_is_kept(void)
{
    struct fake *fake = fake_new(20, 4, 2);
    struct vbs_measure_options options = {.struct_size = sizeof(struct vbs_measure_options),
                                          .time_limit_s = 2.5,
                                          .max_runs = 200,
                                          .seed = 1};
    struct vbs_measure_report report;

    fake->sigma = 0.5;
    fake->clock_factor = 1.25;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a limit amid the measurement");
    ok(report.total_s <= 2.5 && report.total_s > 2.4, "it is used and kept (%g s)", report.total_s);
    ok(fake_fewest_runs(fake) >= 5 && fake_most_runs(fake) < 200, "with runs for all (%d..%d)",
       fake_fewest_runs(fake), fake_most_runs(fake));
    is_near(report.timed_s, report.total_s / 1.25, 1e-9, "time inside and outside is told apart");
    fake_free(fake);
}

static void wrong_options_are_refused(void)
{
    struct fake *fake = fake_new(2, 1, 1);
    struct vbs_measure_report report;

    is_int(fake_measure(fake,
                        &(struct vbs_measure_options){
                            .struct_size = sizeof(struct vbs_measure_options), .time_limit_s = -1},
                        &report),
           VBS_USAGE, "a negative time limit is refused");
    is_int(fake_measure(
               fake,
               &(struct vbs_measure_options){.struct_size = sizeof(struct vbs_measure_options),
                                             .relative_interval = NAN},
               &report),
           VBS_USAGE, "an aim that is no number is refused");
    is_int(fake_measure(fake,
                        &(struct vbs_measure_options){
                            .struct_size = sizeof(struct vbs_measure_options), .max_runs = -3},
                        &report),
           VBS_USAGE, "a negative number of runs is refused");
    is_int(fake_measure(fake, NULL, &report), VBS_OK, "no options mean the defaults");
    fake_free(fake);
}

/* ---- Ends before the end ---- */

static void an_interrupted_measurement_keeps_what_it_has(void)
{
    struct fake *fake = fake_new(10, 1, 2);
    struct vbs_measure_report report;

    fake->cancel_at = 10 + 3 * 10 + 3; /* warm-up, a pass and a half, and four layers */
    is_int(fake_measure(fake, &patient, &report), VBS_INTERRUPTED, "cancelling ends it");
    is_int(fake->n_calls, 44, "before the next layer");
    is_str(vbs_detail(&fake->ctx), "interrupted", "and says so");
    is_int(fake->n_added, 14, "all times but the warm-up's are in the sink");
    is_int(fake->n_frees, fake->n_allocs, "device memory is given back");
    fake_free(fake);
}

static void at_most_a_piece_is_held_back(void)
{
    struct fake *fake = fake_new(16, 1, 1);
    struct vbs_measure_report report;

    for (int i = 0; i < fake->session.n_kernels; i++)
        fake->base_us[i] *= 60;  /* 6 ms: four layers are a stretch */
    fake->die_at = 16 + 16 + 15; /* in the pass that is counted */
    is_int(fake_measure(fake, &patient, &report), VBS_LIBRARY, "a process that ends in a pass");
    ok(fake->n_added >= 15 - 3, "loses less than 20 ms of samples (%d of 15 kept)", fake->n_added);
    fake_free(fake);
}

static void resuming_repeats_nothing(void)
{
    struct fake *fake = fake_new(10, 2, 2);
    struct vbs_measure_report report;
    int n_before;

    fake->cancel_at = 137;
    is_int(fake_measure(fake, &patient, &report), VBS_INTERRUPTED, "a measurement breaks off");
    n_before = fake->n_added;
    fake_restart(fake);
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "another goes on");
    ok(n_before + fake->n_added >= 240 && n_before + fake->n_added < 240 + 10,
       "together they take what one takes, and at most the broken pass again (%d)",
       n_before + fake->n_added);
    is_int(report.n_samples, fake->n_added, "only new samples are counted");
    ok(fake_fewest_runs(fake) == 6 && fake_most_runs(fake) <= 7, "every kernel has its six runs");
    fake_restart(fake);
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "a third finds all done");
    ok(fake->n_calls == 0 && fake->n_allocs == 0 && report.n_samples == 0,
       "and runs and allocates nothing, not even to warm up");
    fake_free(fake);
}

static void a_finished_batch_is_not_run_again(void)
{
    struct fake *fake = fake_new(5, 3, 2);
    struct vbs_measure_report report;
    int n_again = 0;

    is_int(fake_measure(fake, &patient, &report), VBS_OK, "a whole measurement");
    for (int i = 0; i < fake->session.n_kernels; i++)
        if (fake->kernels[i].batch != 2)
            fake->runs[i].n = i % 7;
    for (int i = 0; i < fake->session.n_kernels; i++)
        if (fake->kernels[i].batch == 2)
            fake->runs[i].n = 6;
    fake_restart(fake);
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "of which all but batch 2 is lost");
    for (int call = 0; call < fake->n_calls; call++)
        n_again += fake->kernels[fake->calls[call]].batch == 2;
    is_int(n_again, 0, "batch 2 is not run again");
    fake_free(fake);
}

static void a_failing_kernel_ends_it(void)
{
    struct fake *fake = fake_new(10, 2, 1);
    struct vbs_measure_report report;

    fake->die_at = 10 + 10 + 6;
    is_int(fake_measure(fake, &patient, &report), VBS_LIBRARY, "a kernel fails");
    is_str(vbs_detail(&fake->ctx), "the kernel died", "with the session's reason");
    is_int(fake->n_frees, fake->n_allocs, "device memory is given back");
    fake_restart(fake);
    fake->nan_at = 3;
    is_int(fake_measure(fake, &patient, &report), VBS_LIBRARY, "a time is no number");
    ok(strstr(vbs_detail(&fake->ctx), "layer 'L4': 'first' at batch "), "and is named: %s",
       vbs_detail(&fake->ctx));
    fake_free(fake);
}

static void a_full_store_ends_it(void)
{
    struct fake *fake = fake_new(10, 2, 1);
    struct vbs_measure_report report;

    fake->fail_add = 25;
    is_int(fake_measure(fake, &patient, &report), VBS_STORE, "a sink that fails ends it");
    is_str(vbs_detail(&fake->ctx), "the store is full", "with the sink's reason");
    is_int(fake->n_frees, fake->n_allocs, "device memory is given back");
    fake_free(fake);
}

static void every_failed_allocation_is_survived(void)
{
    int n = 0;

    for (enum vbs_status status = VBS_NO_MEMORY; status != VBS_OK; n++) {
        struct fake *fake = fake_new(6, 2, 2);
        struct vbs_measure_report report;

        fake->fail_alloc = n;
        status = fake_measure(fake, &patient, &report);
        if (status != VBS_OK && (status != VBS_NO_MEMORY || fake->n_allocs != fake->n_frees ||
                                 !strstr(vbs_detail(&fake->ctx), "measure smaller batches")))
            break;
        fake_free(fake);
    }
    is_int(n - 1, 5, "input, three buffers and workspace can each fail");
}

/* ---- Modelled sessions, broken sessions, progress ---- */

static void modelled_kernels_are_asked_once(void)
{
    struct fake *fake = fake_new(10, 3, 2);
    struct vbs_measure_report report;

    fake->session.modelled = true;
    fake->cancel_at = 20;
    is_int(fake_measure(fake, &patient, &report), VBS_INTERRUPTED, "a modelled session broken off");
    is_int(fake->n_added, 21, "keeps what was asked");
    fake_restart(fake);
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "and goes on");
    is_int(fake->n_calls, 10 * 3 * 2 - 21, "with the others");
    ok(fake_fewest_runs(fake) == 1 && fake_most_runs(fake) == 1, "each kernel has one sample");
    is_int(fake->n_allocs + fake->n_fills + fake->n_wrong, 0, "no memory is asked for or touched");
    ok(report.n_unconverged == 0 && report.worst_interval == 0 && report.n_rejected == 0,
       "nothing is unconverged");
    fake_free(fake);
}

static void sessions_with_gaps_are_refused(void)
{
    struct fake *fake = fake_new(4, 2, 1);
    struct vbs_measure_report report;

    fake->kernels[fake_kernel(fake, 3, 1, 0)].batch = 3;
    is_int(fake_measure(fake, &patient, &report), VBS_UNSUPPORTED, "a layer that lacks a batch");
    ok(strstr(vbs_detail(&fake->ctx), "layer 'L3' at batch 2"), "is named: %s",
       vbs_detail(&fake->ctx));
    fake->kernels[fake_kernel(fake, 3, 1, 0)].batch = 2;
    fake->session.n_layers = 3;
    is_int(fake_measure(fake, &patient, &report), VBS_LIBRARY, "a kernel of no layer is refused");
    fake->session.n_kernels = 0;
    is_int(fake_measure(fake, &patient, &report), VBS_UNSUPPORTED, "no kernels are refused");
    is_int(fake->n_calls, 0, "and nothing is run");
    fake_free(fake);
}

struct watched {
    int n_reports, n_falls, n_outside, n_late;
    double last, last_left_s;
};

static void watch(void *self, double done, double left_s, const char *text)
{
    struct watched *watched = self;

    watched->n_falls += done < watched->last;
    watched->n_outside += done < 0 || done > 1 || strncmp(text, "fake batch ", 11) != 0;
    watched->n_late += strstr(text, "past limit: 5 runs of each come first") != NULL;
    watched->last = done;
    watched->last_left_s = left_s;
    watched->n_reports++;
}

static void progress_rises_to_the_end(void)
{
    struct fake *fake = fake_new(10, 4, 2);
    struct watched watched = {0};
    struct vbs_measure_options options = patient;
    struct vbs_measure_report report;

    options.progress = (struct vbs_progress){.self = &watched, .report = watch};
    options.relative_interval = 0.05;
    fake->sigma = 0.1;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a watched measurement");
    is_int(watched.n_reports, 4 + (fake->n_calls / 10 - 4) / 2,
           "progress is told after each pass, all but four of which run twice");
    is_int(watched.n_falls + watched.n_outside, 0, "it never falls and stays within 0..1");
    ok(watched.last == 1 && watched.last_left_s == 0, "and ends at 1 with nothing left (%g, %g s)",
       watched.last, watched.last_left_s);
    is_int(watched.n_late, 0, "no limit is passed");
    fake_free(fake);
}

static void progress_tells_that_the_limit_is_passed(void)
{
    struct fake *fake = fake_new(10, 4, 2);
    struct watched watched = {0};
    struct vbs_measure_options options = {.struct_size = sizeof(struct vbs_measure_options),
                                          .time_limit_s = 0.01};
    struct vbs_measure_report report;

    options.progress = (struct vbs_progress){.self = &watched, .report = watch};
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a measurement past its limit");
    ok(watched.n_late > watched.n_reports / 2, "says why it goes on");
    ok(watched.n_falls + watched.n_outside == 0 && watched.last == 1, "and still ends at 1");
    fake_free(fake);
}

int main(void)
{
    layers_run_in_network_order();
    input_is_renewed_where_the_first_layer_is_in_place();
    turns_of_different_layers_are_independent();
    a_pass_runs_twice();
    each_round_shuffles_the_batches();
    the_seed_decides_the_order();
    quiet_kernels_need_six_runs();
    noisy_kernels_stop_when_tight_or_at_max_runs();
    dominated_algorithms_get_few_runs();
    every_kernel_gets_min_runs_whatever_the_limit();
    a_limit_affords_as_many_runs_as_it_has_time_for();
    a_short_limit_is_kept_but_for_one_run_of_each_kernel();
    the_time_limit_is_kept();
    wrong_options_are_refused();
    an_interrupted_measurement_keeps_what_it_has();
    at_most_a_piece_is_held_back();
    resuming_repeats_nothing();
    a_finished_batch_is_not_run_again();
    a_failing_kernel_ends_it();
    a_full_store_ends_it();
    every_failed_allocation_is_survived();
    modelled_kernels_are_asked_once();
    sessions_with_gaps_are_refused();
    progress_rises_to_the_end();
    progress_tells_that_the_limit_is_passed();
    return done_testing();
}
