/*
 * Training: a small network learns to tell images apart; two runs are equal to the bit, also where
 * one was stopped, or killed, and continued from its checkpoint; what cannot be trained is refused.
 */
#include "vbslab/vbslab.h"

#include "cases/backend_cases.h"
#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_IMAGES 40

static const char TEXT[] = "model small\n"
                           "input 1x3x4\n"
                           "conv c out=12 kernel=3 pad=1 bias=no\n"
                           "batchnorm cb\n"
                           "relu cr\n"
                           "maxpool p kernel=2 stride=1 round=down\n"
                           "fc f out=32\n"
                           "relu fr\n"
                           "dropout d\n"
                           "fc g out=4\n"
                           "softmax s\n";

struct subject {
    struct vbs_ctx ctx;
    char folder[DATA_FOLDER_SIZE];
    char checkpoint[DATA_FOLDER_SIZE + 20];
    struct vbs_network *network;
    struct vbs_dataset *images, *test;
    struct vbs_normalise normalise;
    volatile sig_atomic_t stop;
    double stop_at; /* share of the steps; 0: never */
    bool die;
    int n_reports;
    struct vbs_train_epoch last;
};

/* Writes images of 3 rows and 4 columns, of which the column of the label is bright, in noise. */
static void put_images(const char *folder, const char *images, const char *labels, int n, int seed)
{
    unsigned char pixels[16 + 12 * N_IMAGES] = {0, 0, 8, 3, 0, 0, 0, (unsigned char)n,
                                                0, 0, 0, 3, 0, 0, 0, 4};
    unsigned char classes[8 + N_IMAGES] = {0, 0, 8, 1, 0, 0, 0, (unsigned char)n};

    for (int i = 0; i < n; i++) {
        classes[8 + i] = (unsigned char)(i % 4);
        for (int p = 0; p < 12; p++)
            pixels[16 + 12 * i + p] =
                (unsigned char)(data_pixel(seed + i, p) / 3 + (p % 4 == i % 4 ? 150 : 0));
    }
    data_put(folder, images, pixels, (size_t)(16 + 12 * n));
    data_put(folder, labels, classes, (size_t)(8 + n));
}

static void open_subject(struct subject *s)
{
    struct vbs_data_options all = {sizeof all, -1};

    *s = (struct subject){{0}, {0}, {0}, NULL, NULL, NULL, {0}, 0, 0, false, 0, {0}};
    data_folder_new(s->folder);
    put_images(s->folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", N_IMAGES, 0);
    put_images(s->folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 19, 500);
    snprintf(s->checkpoint, sizeof s->checkpoint, "%s/checkpoint", s->folder);
    if (vbs_network_parse(&s->ctx, "test", TEXT, sizeof TEXT - 1, NULL, &s->network) != VBS_OK ||
        vbs_dataset_open(&s->ctx, s->folder, VBS_SPLIT_TRAIN, &all, &s->images) != VBS_OK ||
        vbs_dataset_open(&s->ctx, s->folder, VBS_SPLIT_TEST, &all, &s->test) != VBS_OK ||
        vbs_normalise_measure(&s->ctx, s->folder, &s->normalise) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    vbs_ctx_set_cancel(&s->ctx, &s->stop);
}

static void report(void *self, const struct vbs_train_epoch *epoch)
{
    struct subject *s = self;

    s->n_reports++;
    s->last = *epoch;
}

static void progress(void *self, double done, const struct vbs_train_epoch *so_far)
{
    struct subject *s = self;

    (void)so_far;
    if (s->stop_at > 0 && done > s->stop_at) {
        if (s->die)
            raise(SIGKILL);
        s->stop = 1;
    }
}

static struct vbs_train_options options_of(struct subject *s)
{
    return (struct vbs_train_options){.struct_size = sizeof(struct vbs_train_options),
                                      .epochs = 12,
                                      .batch = 8,
                                      .threads = 1,
                                      .seed = 3,
                                      .rate = 0.02,
                                      .mirror = true,
                                      .max_shift = 1,
                                      .self = s,
                                      .report = report,
                                      .progress = progress};
}

static enum vbs_status train(struct subject *s, const struct vbs_train_options *options,
                             struct vbs_network **trained)
{
    struct vbs_train_epoch last = {0};

    return vbs_train(&s->ctx, s->network, s->images, s->test, &s->normalise, options, trained,
                     &last);
}

/* Gives all values of a network, the number of which is *n; the caller frees them. */
static float *values_of(const struct vbs_network *network, int64_t *n)
{
    float *values = NULL;
    struct vbs_ctx ctx = {0};

    *n = 0;
    for (int k = 1; k <= network->n_layers; k++)
        for (int f = -1; f < network->layers[k].n_fused; f++)
            for (int what = 0; what < VBS_N_PARAMETERS; what++) {
                enum vbs_parameter p = (enum vbs_parameter)what;
                int64_t count = vbs_parameter_count(network, k, f, p);

                if (count == 0)
                    continue;
                values = realloc(values, (size_t)(*n + count) * sizeof *values);
                if (!values ||
                    vbs_parameter_values(&ctx, network, k, f, p, 0, count, values + *n) != VBS_OK)
                    bail_out("cannot read parameters");
                *n += count;
            }
    return values;
}

static bool are_equal(const struct vbs_network *a, const struct vbs_network *b)
{
    int64_t n, m;
    float *x = values_of(a, &n), *y = values_of(b, &m);
    bool equal = n == m && n > 0 && memcmp(x, y, (size_t)n * sizeof *x) == 0;

    free(x);
    free(y);
    return equal;
}

/* ---- learning ---- */

static void check_learning(struct subject *s, enum vbs_optimiser optimiser, const char *name)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *trained = NULL;

    options.optimiser = optimiser;
    options.rate = 0;
    options.epochs = 60;
    options.threads = 1;
    options.mirror = false;
    options.max_shift = 0;
    options.dropout_rate = -1;
    s->n_reports = 0;
    if (!ok(train(s, &options, &trained) == VBS_OK, "%s", name)) {
        printf("# %s\n", vbs_detail(&s->ctx));
        return;
    }
    is_int(s->n_reports, 60, "each epoch is reported");
    if (!ok(s->last.loss < 0.2 && s->last.accuracy > 0.95 && s->last.validated &&
                s->last.validation_accuracy > 0.95 && s->last.validation_loss < 0.2,
            "%s learns to tell the images apart, also those of the test", name))
        printf("# loss %g, accuracy %g; test: %g, %g\n", s->last.loss, s->last.accuracy,
               s->last.validation_loss, s->last.validation_accuracy);
    ok(trained->normalise && strchr(trained->normalise, ';'), "the normalisation is kept");
    vbs_network_free(trained);
}

/* ---- first parameters ---- */

/* Gives the mean square of a layer's weights, behind one step that changes them by nothing. */
static double first_square(struct subject *s, enum vbs_initialisation initialisation, int layer)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *trained = NULL;
    int64_t n = vbs_weight_count(s->network, layer);
    float *weights = malloc((size_t)n * sizeof *weights);
    double sum = 0;

    options.initialisation = initialisation;
    options.epochs = 1;
    options.rate = 1e-30;
    if (!weights || train(s, &options, &trained) != VBS_OK ||
        vbs_parameter_values(&s->ctx, trained, layer, -1, VBS_PARAMETER_WEIGHTS, 0, n, weights) !=
            VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    for (int64_t i = 0; i < n; i++)
        sum += (double)weights[i] * (double)weights[i];
    free(weights);
    vbs_network_free(trained);
    return sum / (double)n;
}

static void check_first(struct subject *s)
{
    float *own = malloc((size_t)vbs_weight_count(s->network, 3) * sizeof *own);
    double sum = 0;
    int64_t n = vbs_weight_count(s->network, 3);

    is_int(n, 32 * 12 * 6, "weights of layer 3, which has a ReLU");
    is_near(first_square(s, VBS_INITIALISATION_FAN, 3) * 72, 2, 0.2, "fan, with a ReLU");
    is_near(first_square(s, VBS_INITIALISATION_FAN, 4) * 32, 1, 0.3, "fan, without a ReLU");
    is_near(first_square(s, VBS_INITIALISATION_HE, 4) * 32, 2, 0.6, "He");
    is_near(first_square(s, VBS_INITIALISATION_GLOROT, 3) * (72 + 32), 2, 0.2, "Glorot");
    if (!own || vbs_parameter_values(&s->ctx, s->network, 3, -1, VBS_PARAMETER_WEIGHTS, 0, n,
                                     own) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    for (int64_t i = 0; i < n; i++)
        sum += (double)own[i] * (double)own[i];
    is_near(first_square(s, VBS_INITIALISATION_KEEP, 3), sum / (double)n, 1e-12, "keep");
    free(own);
}

/* ---- warnings ---- */

static void keep_warning(void *self, const char *text)
{
    char *kept = self;

    snprintf(kept, VBS_DETAIL_SIZE, "%s", text);
}

/* The operators of which the backend has only a reference are named, once, before the first step.
 */
static void check_warning(struct subject *s)
{
    static const union vbs_attributes pool = {
        .pool = {.window = {.kernel = {2, 2}, .stride = {1, 1}, .dilation = {2, 2}}}};
    const struct operator_case c = {
        .name = "dilated pool",
        .input = {3, {1, 3, 4}},
        .nodes = {{VBS_OP_POOL_AVG, "wide", .n_inputs = 1, .inputs = (const int[]){0},
                   .attributes = pool},
                  {VBS_OP_FC, "f", .n_inputs = 1, .inputs = (const int[]){1},
                   .attributes = {.weighted = {.out_channels = 4}}}}};
    struct vbs_train_options options = options_of(s);
    struct vbs_network *own = s->network, *trained = NULL;
    char text[VBS_DETAIL_SIZE] = "";

    if (operator_case_network(&s->ctx, &c, &s->network) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    options.epochs = 1;
    options.progress = NULL;
    options.report = NULL;
    options.self = text;
    options.warn = keep_warning;
    ok(train(s, &options, &trained) == VBS_OK && strstr(text, "1 operator,") &&
           strstr(text, "'wide'"),
       "a slow operator is named: %s", text);
    vbs_network_free(trained);
    vbs_network_free(s->network);
    s->network = own;
}

/* ---- equal to the bit ---- */

/* Runs the training in a process that is killed behind a share of the steps. */
static void train_and_die(struct subject *s, const struct vbs_train_options *options)
{
    int state = 0;
    pid_t child = fork();

    if (child == 0) {
        struct vbs_network *trained = NULL;

        s->die = true;
        _exit(train(s, options, &trained) == VBS_OK ? 0 : 1);
    }
    ok(child > 0 && waitpid(child, &state, 0) == child && WIFSIGNALED(state) &&
           WTERMSIG(state) == SIGKILL,
       "a process is killed while it trains");
}

static void check_continued(struct subject *s, const struct vbs_network *whole, bool die,
                            const char *name)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *trained = NULL;

    options.checkpoint = s->checkpoint;
    options.checkpoint_s = 1e-9;
    options.threads = 1;
    s->stop_at = 0.45;
    if (die) {
        train_and_die(s, &options);
    } else {
        is_int(train(s, &options, &trained), VBS_INTERRUPTED, "training stops when it is asked to");
        ok(!trained, "and gives no network");
    }
    s->stop = 0;
    s->stop_at = 0;
    s->n_reports = 0;
    ok(train(s, &options, &trained) == VBS_OK && are_equal(whole, trained), "%s", name);
    is_int(s->n_reports, 7, "only the epochs that were left are trained");
    vbs_network_free(trained);
    trained = NULL;
    ok(train(s, &options, &trained) == VBS_OK && are_equal(whole, trained),
       "a finished training gives its network again");
    vbs_network_free(trained);
    data_remove(s->folder, "checkpoint");
}

/* A process after the other is killed a few steps behind the one before: the checkpoint is written
 * behind every step, or only at the end of epochs. */
static void check_killed_often(struct subject *s, const struct vbs_network *whole,
                               double checkpoint_s)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *trained = NULL;

    options.checkpoint = s->checkpoint;
    options.checkpoint_s = checkpoint_s;
    for (int i = 1; i <= 8; i++) {
        s->stop_at = 0.11 * i;
        train_and_die(s, &options);
    }
    s->stop_at = 0;
    ok(train(s, &options, &trained) == VBS_OK && are_equal(whole, trained),
       "a training that was killed eight times ends with the same bits");
    vbs_network_free(trained);
    data_remove(s->folder, "checkpoint");
}

static void check_equal(struct subject *s)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *first = NULL, *second = NULL, *other = NULL;

    options.threads = 1;
    ok(train(s, &options, &first) == VBS_OK && train(s, &options, &second) == VBS_OK &&
           are_equal(first, second),
       "two trainings are equal to the bit");
    options.seed++;
    ok(train(s, &options, &other) == VBS_OK && !are_equal(first, other),
       "another seed trains other parameters");
    check_continued(s, first, false, "a training that was stopped goes on to the same bits");
    check_continued(s, first, true, "a training that was killed goes on to the same bits");
    check_killed_often(s, first, 1e-9);
    check_killed_often(s, first, 60);
    vbs_network_free(first);
    vbs_network_free(second);
    vbs_network_free(other);
}

/* ---- refusals ---- */

static void check_refused(struct subject *s, const struct vbs_train_options *options,
                          enum vbs_status status, const char *part, const char *name)
{
    struct vbs_network *trained = NULL;

    is_int(train(s, options, &trained), status, name);
    if (!ok(strstr(vbs_detail(&s->ctx), part) && !trained, "%s: %s", name, part))
        printf("# %s\n", vbs_detail(&s->ctx));
    vbs_network_free(trained);
}

/* The checkpoint is not that of images with the same labels and other pixels. */
static void check_other_images(struct subject *s, const struct vbs_train_options *options)
{
    struct vbs_data_options all = {sizeof all, -1};
    struct vbs_dataset *own = s->images;
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    put_images(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", N_IMAGES, 1);
    put_images(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 19, 500);
    if (vbs_dataset_open(&s->ctx, folder, VBS_SPLIT_TRAIN, &all, &s->images) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    check_refused(s, options, VBS_USAGE, "differs in the images, their labels or",
                  "a checkpoint of other pixels");
    vbs_dataset_free(s->images);
    s->images = own;
    data_folder_remove(folder);
}

/* Where parameters are kept, the checkpoint is not that of a network of other parameters. */
static void check_other_parameters(struct subject *s, const struct vbs_train_options *options)
{
    struct vbs_train_options keep = *options;
    struct vbs_network *own = s->network, *trained = NULL, *again = NULL;
    char path[DATA_FOLDER_SIZE + 20];

    snprintf(path, sizeof path, "%s/kept", s->folder);
    keep.initialisation = VBS_INITIALISATION_KEEP;
    keep.checkpoint = path;
    if (train(s, &keep, &trained) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    ok(train(s, &keep, &again) == VBS_OK && are_equal(trained, again),
       "a checkpoint of kept parameters is taken up again");
    s->network = trained;
    check_refused(s, &keep, VBS_USAGE, "differs in the network or its first parameters;",
                  "a checkpoint of other parameters");
    s->network = own;
    vbs_network_free(trained);
    vbs_network_free(again);
    data_remove(s->folder, "kept");
}

/* Gives the file's bytes, which the caller frees. */
static char *read_bytes(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rbe");
    char *bytes = malloc(1 << 20);

    if (!file || !bytes)
        bail_out("cannot read '%s'", path);
    *n = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* A changed byte is found wherever it is, also among what says to which training the file belongs.
 */
static void check_other_bytes(struct subject *s, const struct vbs_train_options *options)
{
    static const size_t CHANGED[] = {30, 130, 700};
    size_t n;
    char *bytes = read_bytes(s->checkpoint, &n);

    for (int i = 0; i < 3; i++) {
        bytes[CHANGED[i]] ^= 0x10;
        data_put(s->folder, "checkpoint", bytes, n);
        check_refused(s, options, VBS_FORMAT, "is cut or damaged",
                      "a checkpoint with another byte");
        bytes[CHANGED[i]] ^= 0x10;
    }
    data_put(s->folder, "checkpoint", bytes, n);
    free(bytes);
}

static void check_checkpoints(struct subject *s)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *trained = NULL;

    options.checkpoint = s->checkpoint;
    options.epochs = 1;
    ok(train(s, &options, &trained) == VBS_OK, "a checkpoint is made");
    vbs_network_free(trained);
    options.seed++;
    check_refused(s, &options, VBS_USAGE, "differs in the options;", "another seed");
    options.seed--;
    options.initialisation = VBS_INITIALISATION_KEEP;
    check_refused(s, &options, VBS_USAGE, "the network or its first parameters, the options;",
                  "other first parameters");
    options.initialisation = VBS_INITIALISATION_FAN;
    check_other_images(s, &options);
    check_other_parameters(s, &options);
    check_other_bytes(s, &options);
    data_cut(s->folder, "checkpoint", 500);
    check_refused(s, &options, VBS_FORMAT, "is cut or damaged; remove it",
                  "a checkpoint that is cut");
    data_remove(s->folder, "checkpoint");
    data_put(s->folder, "checkpoint", TEXT, sizeof TEXT);
    check_refused(s, &options, VBS_FORMAT, "is no checkpoint", "a file that is no checkpoint");
    data_remove(s->folder, "checkpoint");
}

/* The rate rises, so that the first epochs end well: weight decay alone lets parameters grow
 * without bound where its product with the rate is above 2. */
static void check_divergence(struct subject *s)
{
    struct vbs_train_options options = options_of(s);
    char detail[VBS_DETAIL_SIZE], *first, *second;
    size_t n = 0, m = 0;

    options.rate = 1;
    options.weight_decay = 100;
    options.warm_up_epochs = 12;
    options.checkpoint = s->checkpoint;
    options.checkpoint_s = 1e-9;
    s->n_reports = 0;
    check_refused(s, &options, VBS_UNSUPPORTED, "training diverged: ", "values that overflow");
    snprintf(detail, sizeof detail, "%s", vbs_detail(&s->ctx));
    ok(strstr(detail, " step ") && strstr(detail, " of '") && strstr(detail, "are not finite"),
       "step and layer are named: %s", detail);
    ok(s->n_reports > 0, "%d epochs ended before", s->n_reports);
    first = read_bytes(s->checkpoint, &n);
    check_refused(s, &options, VBS_UNSUPPORTED, detail, "going on from the checkpoint");
    second = read_bytes(s->checkpoint, &m);
    ok(n == m && memcmp(first, second, n) == 0, "the checkpoint stays as it was");
    free(first);
    free(second);
    data_remove(s->folder, "checkpoint");
}

static void check_options(struct subject *s)
{
    struct vbs_train_options options = options_of(s);
    struct vbs_network *own = s->network;

    options.epochs = 0;
    check_refused(s, &options, VBS_USAGE, "0 epochs of training", "no epochs");
    options = options_of(s);
    options.batch = 41;
    check_refused(s, &options, VBS_USAGE, "a batch of 41 for training on 40 images",
                  "a batch larger than the data set");
    options = options_of(s);
    options.label_smoothing = 1.5;
    check_refused(s, &options, VBS_USAGE, "a label smoothing of 1.5", "smoothing above 1");
    options = options_of(s);
    if (vbs_network_parse(&s->ctx, "test", "model m\ninput 1x3x4\nfc f out=3\n",
                          strlen("model m\ninput 2x3x4\nfc f out=3\n"), NULL,
                          &s->network) == VBS_OK)
        check_refused(s, &options, VBS_USAGE, "have 4 classes", "fewer outputs than classes");
    vbs_network_free(s->network);
    if (vbs_network_parse(&s->ctx, "test", "model m\ninput 1x4x4\nfc f out=4\n",
                          strlen("model m\ninput 2x3x4\nfc f out=3\n"), NULL,
                          &s->network) == VBS_OK)
        check_refused(s, &options, VBS_USAGE, "the images are 1x3x4", "another shape");
    vbs_network_free(s->network);
    s->network = own;
}

int main(void)
{
    struct subject s;

    open_subject(&s);
    check_learning(&s, VBS_OPTIMISER_SGD, "SGD");
    check_learning(&s, VBS_OPTIMISER_ADAM, "Adam");
    check_first(&s);
    check_warning(&s);
    check_equal(&s);
    check_checkpoints(&s);
    check_divergence(&s);
    check_options(&s);
    vbs_network_free(s.network);
    vbs_dataset_free(s.images);
    vbs_dataset_free(s.test);
    data_folder_remove(s.folder);
    return done_testing();
}
