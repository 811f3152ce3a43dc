/*
 * Carrying a trial out, stage by stage. Times come first, because they show whether the pruned
 * network fits the memory at all; then it is trained, with a checkpoint, and evaluated on the
 * validation images. Whether it is accurate enough may depend on the control, and is judged last.
 */
#include "study/study.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "model/network/network.h"
#include "vbslab/eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOUCH_S      20 /* between two signs of life */
#define CHECKPOINT_S 20
#define UNKNOWN_US   1e6 /* stands for the latency of a control that does not fit the memory */

/* A trial that is being carried out. */
struct carried {
    struct study_work *w;
    const struct vbs_trial_record *trial;
    double start_s, touched_s;
    bool lost; /* another process has taken it over */
};

double study_value(enum study_objective objective, const struct vbs_trial_record *trial)
{
    double value = vbs_trial_number(trial, true, study_objective_word(objective));

    return objective == STUDY_LATENCY ? 1e6 / value : value;
}

/* ---- the point ---- */

/* Computes the widths of a trial; the control keeps all. */
static enum vbs_status keep_of(const struct study_work *w, const struct vbs_trial_record *trial,
                               int64_t *keep)
{
    double levels[VBS_STUDY_MAX_PARAMETERS];

    for (int p = 0; p < w->study->n_parameters && trial->number > 0; p++) {
        double share = vbs_trial_number(trial, false, w->study->parameters[p].name);

        if (isnan(share))
            return vbs_fail(w->ctx, VBS_STORE, "trial %d has no parameter '%s'", trial->number,
                            w->study->parameters[p].name);
        levels[p] = study_level(w, p, share);
    }
    study_keep(w, trial->number > 0 ? levels : NULL, keep);
    return VBS_OK;
}

static enum vbs_status keep_new(const struct study_work *w, const struct vbs_trial_record *trial,
                                int64_t **keep)
{
    enum vbs_status status;

    *keep = calloc((size_t)w->groups->n_groups, sizeof **keep);
    if (!*keep)
        return vbs_no_memory(w->ctx);
    status = keep_of(w, trial, *keep);
    if (status != VBS_OK)
        free(*keep);
    return status;
}

/* ---- ends ---- */

static void tell_end(const struct study_work *w, int number, const char *text)
{
    struct vbs_study_event event = {.trial = number, .doing = text, .done = 1, .ended = true};

    if (w->options.report)
        w->options.report(w->options.self, &event);
}

/* Ends a trial without values. */
static enum vbs_status end_without(struct study_work *w, const struct vbs_trial_record *trial,
                                   enum vbs_trial_state state, const char *reason, double spent_s)
{
    const struct vbs_trial_step step = {.state = state, .reason = reason, .spent_s = spent_s};
    char text[VBS_DETAIL_SIZE + 20];

    VBS_TRY(vbs_store_trial_step(w->ctx, w->store, trial->id, &step));
    snprintf(text, sizeof text, "%s: %s", state == VBS_TRIAL_FAILED ? "failed" : "infeasible",
             reason);
    tell_end(w, trial->number, text);
    return VBS_OK;
}

/* Ends a trial that could not be carried out, where this is a fault of the trial and not of the
 * study, the store or the machine; else gives the status back. */
static enum vbs_status end_failed(struct study_work *w, const struct vbs_trial_record *trial,
                                  enum vbs_status status, double start_s)
{
    char reason[VBS_DETAIL_SIZE];

    if (trial->number == 0 || (status != VBS_UNSUPPORTED && status != VBS_LIBRARY &&
                               status != VBS_FORMAT && status != VBS_INVALID))
        return status;
    snprintf(reason, sizeof reason, "%s", vbs_detail(w->ctx));
    return end_without(w, trial, VBS_TRIAL_FAILED, reason, vbs_clock_s() - start_s);
}

void study_give_back(struct study_work *w, int64_t id, const char *stage)
{
    const struct vbs_trial_step step = {.stage = stage};

    /* The context keeps the reason of the failure before. */
    if (vbs_store_trial_step(NULL, w->store, id, &step) != VBS_OK)
        return; /* the trial is no longer this process's, or the store is out of reach */
}

/* ---- times ---- */

enum vbs_status study_trial_measure(struct study_work *w, const struct vbs_trial_record *trial)
{
    double start_s = vbs_clock_s();
    struct vbs_trial_value values[4];
    struct vbs_trial_step step = {.stage = STAGE_TRAIN, .values = values};
    struct study_speed speed = {0};
    enum vbs_status status;
    int64_t *keep;

    study_report(w, trial->number, -1, "takes times");
    VBS_TRY(keep_new(w, trial, &keep));
    status = study_speed(w, keep, true, &speed);
    free(keep);
    if (status == VBS_OK && trial->number == 0 && study_knows_speed(w))
        status = study_measure_all(w);
    if (status != VBS_OK)
        return end_failed(w, trial, status, start_s);
    if (!speed.fits && trial->number > 0)
        return end_without(w, trial, VBS_TRIAL_INFEASIBLE, speed.reason, vbs_clock_s() - start_s);
    if (speed.fits)
        values[step.n_values++] = (struct vbs_trial_value){true, "latency", speed.latency_us};
    if (speed.fits && speed.samples_per_s > 0) {
        values[step.n_values++] = (struct vbs_trial_value){true, "throughput", speed.samples_per_s};
        values[step.n_values++] =
            (struct vbs_trial_value){true, "peak_bytes", (double)speed.peak_bytes};
        values[step.n_values++] =
            (struct vbs_trial_value){true, "max_batch", (double)speed.max_batch};
    }
    if (!speed.fits)
        step.reason = speed.reason; /* of the control, which is trained all the same */
    step.spent_s = vbs_clock_s() - start_s;
    return vbs_store_trial_step(w->ctx, w->store, trial->id, &step);
}

/* ---- training ---- */

/* Gives a sign of life, where the last one was a while ago. */
static void touch(struct carried *c)
{
    double now_s = vbs_clock_s();

    if (now_s - c->touched_s < TOUCH_S || c->lost)
        return;
    c->touched_s = now_s;
    c->lost = vbs_store_trial_touch(c->w->ctx, c->w->store, c->trial->id) != VBS_OK;
}

/* Pauses while another process takes times on this machine. */
static void give_way(struct carried *c)
{
    touch(c);
    if (!vbs_node_is_wanted(&c->w->node))
        return;
    vbs_node_release(&c->w->node);
    while (!vbs_node_share(&c->w->node) && !vbs_cancelled(c->w->ctx)) {
        study_report(c->w, c->trial->number, -1, "pauses while times are taken");
        touch(c);
        study_pause();
    }
}

static void progress(void *self, double done, const struct vbs_train_epoch *so_far)
{
    struct carried *c = self;

    study_report(c->w, c->trial->number, done, "trains, epoch %d, loss %.4f", so_far->epoch,
                 so_far->loss);
    give_way(c);
}

static void evaluated(void *self, double done, double left_s, const char *what)
{
    struct carried *c = self;

    (void)done, (void)left_s, (void)what;
    give_way(c);
}

/* Gives the path of a file of a trial. */
static char *path_of(struct study_work *w, int number, const char *ending)
{
    size_t size = strlen(w->options.folder) + 60;
    char *path = vbs_arena_alloc(&w->arena, size, 1);

    if (path)
        snprintf(path, size, "%s/trial-%04d.%s", w->options.folder, number, ending);
    return path;
}

/* Gives the network with which a trial begins: the pruned one, or, where it continues an earlier
 * trial, the network of that; *trained are the epochs that this one has. */
static enum vbs_status first_network(struct study_work *w, const struct vbs_trial_record *trial,
                                     const struct vbs_trial_list *all, struct vbs_network **network,
                                     int *trained)
{
    double continues = vbs_trial_number(trial, true, "continues");
    int64_t *keep;
    enum vbs_status status;

    *trained = 0;
    for (int i = 0; i < all->n_trials && !isnan(continues); i++)
        if (all->trials[i].number == (int)continues && all->trials[i].file[0]) {
            *trained = (int)vbs_trial_number(&all->trials[i], true, "epochs");
            return vbs_network_load_as(w->ctx, all->trials[i].file, NULL, 0, VBS_PRECISION_FP32,
                                       network);
        }
    VBS_TRY(keep_new(w, trial, &keep));
    status = vbs_prune_apply(w->ctx, w->network, w->groups, w->scores, keep, network);
    free(keep);
    return status;
}

static struct vbs_train_options train_options(struct carried *c, int epochs)
{
    const struct vbs_study *s = c->w->study;

    return (struct vbs_train_options){.struct_size = sizeof(struct vbs_train_options),
                                      .epochs = epochs,
                                      .batch = (int)s->batch,
                                      .threads =
                                          s->threads > 0 ? (int)s->threads : c->w->options.threads,
                                      .seed = c->trial->seed,
                                      .optimiser = s->optimiser,
                                      .rate = s->rate,
                                      .momentum = s->momentum < 0   ? 0
                                                  : s->momentum > 0 ? s->momentum
                                                                    : -1,
                                      .nesterov = s->nesterov,
                                      .weight_decay = s->weight_decay < 0   ? 0
                                                      : s->weight_decay > 0 ? s->weight_decay
                                                                            : -1,
                                      .course = s->schedule,
                                      .warm_up_epochs = fmin(s->warm_up, epochs),
                                      .label_smoothing = s->label_smoothing,
                                      .initialisation = VBS_INITIALISATION_KEEP,
                                      .mirror = s->mirror,
                                      .max_shift = (int)s->shift,
                                      .checkpoint = path_of(c->w, c->trial->number, "checkpoint"),
                                      .checkpoint_s = CHECKPOINT_S,
                                      .self = c,
                                      .progress = progress};
}

static enum vbs_status train(struct carried *c, const struct vbs_network *first, int epochs,
                             struct vbs_network **trained)
{
    const struct vbs_train_options options = train_options(c, epochs);
    struct vbs_train_epoch last;

    if (!options.checkpoint)
        return vbs_no_memory(c->w->ctx);
    return vbs_train(c->w->ctx, first, c->w->images, NULL, &c->w->normalise, &options, trained,
                     &last);
}

/* What evaluation says of a trained network. */
struct trained_results {
    double accuracy; /* 0..1, on the validation images */
    double loss;
    bool reused; /* another trial trained and evaluated it */
};

static enum vbs_status evaluate(struct carried *c, const struct vbs_network *network,
                                struct trained_results *results)
{
    struct study_work *w = c->w;
    const struct vbs_eval_options options = {
        .struct_size = sizeof options,
        .threads = w->study->threads > 0 ? (int)w->study->threads : w->options.threads,
        .progress = {.self = c, .report = evaluated}};
    struct vbs_score score = {0};

    study_report(w, c->trial->number, -1, "is evaluated");
    VBS_TRY(vbs_evaluate(w->ctx, network, w->validation, &w->normalise, &options, NULL, &score));
    results->accuracy = (double)score.n_right / (double)score.n_images;
    results->loss = score.loss_sum / (double)score.n_images;
    vbs_score_clear(&score);
    return VBS_OK;
}

static double macs_of(const struct vbs_network *network)
{
    double macs = 0;

    for (int k = 1; k <= network->n_layers; k++)
        macs += (double)network->layers[k].macs;
    return macs;
}

/* ---- what another trial has trained ---- */

static void add_images(struct vbs_sha256 *hash, const struct vbs_dataset *images)
{
    unsigned char digest[VBS_DATASET_DIGEST_BYTES];

    vbs_dataset_digest(images, digest);
    vbs_sha256_add(hash, digest, sizeof digest);
}

/* Computes the hash of all that decides the network which training gives, and its accuracy. */
static enum vbs_status hash_training(struct carried *c, const struct vbs_network *first, int epochs,
                                     char text[STUDY_HASH_SIZE])
{
    const struct vbs_train_options o = train_options(c, epochs);
    uint64_t shapes = vbs_network_hash(first);
    char options[VBS_TRAIN_OPTIONS_SIZE], normalise[VBS_NORMALISE_SIZE];
    struct vbs_sha256 hash;

    vbs_train_options_text(&o, options);
    vbs_normalise_format(&c->w->normalise, normalise, sizeof normalise);
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, c->w->options.vbslab, strlen(c->w->options.vbslab));
    vbs_sha256_add(&hash, &o.threads, sizeof o.threads);
    vbs_sha256_add(&hash, options, sizeof options);
    vbs_sha256_add(&hash, normalise, strlen(normalise));
    add_images(&hash, c->w->images);
    add_images(&hash, c->w->validation);
    vbs_sha256_add(&hash, &shapes, sizeof shapes);
    VBS_TRY(vbs_network_hash_values(c->w->ctx, first, &hash));
    vbs_sha256_end_text(&hash, text, STUDY_HASH_SIZE);
    return VBS_OK;
}

/* Reads the network and the results of a trial of some study; *trained stays null where the trial
 * or its file cannot be read. */
static enum vbs_status read_trained(struct carried *c, int64_t study, int number,
                                    struct trained_results *results, struct vbs_network **trained)
{
    struct vbs_trial_list *list = NULL;
    const struct vbs_trial_record *trial = NULL;
    enum vbs_status status = VBS_OK;

    VBS_TRY(vbs_store_trials(c->w->ctx, c->w->store, study, &list));
    for (int i = 0; i < list->n_trials; i++)
        if (list->trials[i].number == number)
            trial = &list->trials[i];
    if (trial)
        status = vbs_network_load_as(c->w->ctx, trial->file, NULL, 0, VBS_PRECISION_FP32, trained);
    if (trial && status == VBS_OK)
        *results = (struct trained_results){.accuracy = vbs_trial_number(trial, true, "accuracy"),
                                            .loss = vbs_trial_number(trial, true, "loss"),
                                            .reused = true};
    vbs_trial_list_free(list);
    return status == VBS_NO_MEMORY ? status : VBS_OK;
}

/* Gives the network and the results of a trial, also of another study, that was trained in just
 * this way: of the first one whose file can still be read. *trained stays null where there is none.
 */
static enum vbs_status find_trained(struct carried *c, const char *training,
                                    struct trained_results *results, struct vbs_network **trained)
{
    int64_t id = 0, study = 0;
    int number = 0;

    for (;;) {
        VBS_TRY(vbs_store_trained(c->w->ctx, c->w->store, training, &id, &study, &number));
        if (id == 0)
            return VBS_OK;
        VBS_TRY(read_trained(c, study, number, results, trained));
        if (*trained)
            return VBS_OK;
    }
}

/* ---- from the first network to the trained one ---- */

/* Keeps a trained network and its results, and hands the trial on. */
static enum vbs_status keep_trained(struct carried *c, const struct vbs_network *network,
                                    const struct trained_results *results, const char *training)
{
    struct study_work *w = c->w;
    struct vbs_trial_value values[] = {
        {true, "accuracy", results->accuracy},
        {true, "loss", results->loss},
        {true, "parameters", (double)vbs_network_parameters(network)},
        {true, "macs", macs_of(network)},
        {true, "reused", results->reused}};
    struct vbs_trial_step step = {.stage = STAGE_JUDGE,
                                  .file = path_of(w, c->trial->number, "onnx"),
                                  .training = training,
                                  .n_values = sizeof values / sizeof *values,
                                  .values = values};
    const char *checkpoint = path_of(w, c->trial->number, "checkpoint");

    if (!step.file || !checkpoint)
        return vbs_no_memory(w->ctx);
    VBS_TRY(vbs_network_export(w->ctx, network, step.file));
    step.spent_s = vbs_clock_s() - c->start_s;
    VBS_TRY(vbs_store_trial_step(w->ctx, w->store, c->trial->id, &step));
    unlink(checkpoint);
    return VBS_OK;
}

/* Trains, evaluates and keeps a network, unless a trial has done just this: then its network is
 * kept. */
static enum vbs_status carry_network(struct carried *c, const struct vbs_network *first, int epochs)
{
    struct vbs_network *trained = NULL;
    struct trained_results results = {0};
    char training[STUDY_HASH_SIZE];
    enum vbs_status status = hash_training(c, first, epochs, training);

    if (status == VBS_OK)
        status = find_trained(c, training, &results, &trained);
    if (status == VBS_OK && !trained) {
        status = train(c, first, epochs, &trained);
        if (status == VBS_OK)
            status = evaluate(c, trained, &results);
    }
    if (status == VBS_OK)
        status = keep_trained(c, trained, &results, training);
    vbs_network_free(trained);
    return status;
}

/* Evaluates and keeps a network that is not trained. */
static enum vbs_status carry_untrained(struct carried *c, struct vbs_network *network)
{
    struct study_work *w = c->w;
    struct trained_results results = {0};
    char normalise[VBS_NORMALISE_SIZE];

    VBS_TRY(vbs_network_set_normalise(
        w->ctx, network, vbs_normalise_format(&w->normalise, normalise, sizeof normalise)));
    VBS_TRY(evaluate(c, network, &results));
    return keep_trained(c, network, &results, NULL);
}

static enum vbs_status carry_training(struct carried *c, const struct vbs_trial_list *all)
{
    struct study_work *w = c->w;
    double epochs = vbs_trial_number(c->trial, true, "epochs");
    struct vbs_network *first = NULL;
    int before = 0;
    enum vbs_status status = first_network(w, c->trial, all, &first, &before);
    int left = (isnan(epochs) ? (int)w->study->epochs : (int)epochs) - before;

    if (status == VBS_OK)
        status = left > 0 ? carry_network(c, first, left) : carry_untrained(c, first);
    vbs_network_free(first);
    return status;
}

enum vbs_status study_trial_train(struct study_work *w, const struct vbs_trial_record *trial,
                                  const struct vbs_trial_list *all)
{
    struct carried c = {
        .w = w, .trial = trial, .start_s = vbs_clock_s(), .touched_s = vbs_clock_s()};
    enum vbs_status status = study_share_machine(w);

    if (status == VBS_OK)
        status = carry_training(&c, all);
    vbs_node_release(&w->node);
    return status == VBS_OK ? VBS_OK : end_failed(w, trial, status, c.start_s);
}

/* ---- the judgement ---- */

/* Gives accuracy above what is required, or NAN where nothing is. */
static double margin_of(const struct vbs_study *s, double accuracy, double control)
{
    if (s->accuracy_at_least > 0)
        return accuracy - s->accuracy_at_least;
    return s->accuracy_loss_at_most >= 0 ? accuracy - (control - s->accuracy_loss_at_most)
                                         : (double)NAN;
}

enum vbs_status study_trial_judge(struct study_work *w, const struct vbs_trial_record *trial,
                                  const struct vbs_trial_record *control)
{
    const struct vbs_study *s = w->study;
    double accuracy = vbs_trial_number(trial, true, "accuracy");
    double latency = vbs_trial_number(trial, true, "latency");
    double base = vbs_trial_number(control, true, "latency");
    double margin = margin_of(s, accuracy, vbs_trial_number(control, true, "accuracy"));
    struct vbs_trial_value values[2];
    struct vbs_trial_step step = {.state = VBS_TRIAL_COMPLETE, .values = values};
    char text[100];

    if (!isnan(margin))
        values[step.n_values++] = (struct vbs_trial_value){true, "margin", margin};
    if (latency > 0)
        values[step.n_values++] = (struct vbs_trial_value){
            true, "hybrid",
            accuracy * pow((base > 0 ? base : UNKNOWN_US) / latency, s->hybrid_weight)};
    VBS_TRY(vbs_store_trial_step(w->ctx, w->store, trial->id, &step));
    snprintf(text, sizeof text, "complete: accuracy %.2f%%%s", 100 * accuracy,
             margin < 0 ? ", too low" : "");
    tell_end(w, trial->number, text);
    return VBS_OK;
}
