/*
 * steps MODEL DATA STEPS THREADS RATE FOLDER - gives a network its first parameters, trains it, and
 * prints a line for each of the first steps: its number, its loss, and the milliseconds that it
 * took of the clock and of all processors. FOLDER gets MODEL.onnx with the first parameters, and
 * the batches that the steps take, as 32-bit floats (images) and whole numbers (labels), so that
 * another program can do the same.
 */
#include "vbslab/vbslab.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 128
#define SEED  1

struct steps {
    int n_wanted, n_done;
    double sum;            /* of the losses so far */
    double clock_s, cpu_s; /* when the step before ended */
    volatile sig_atomic_t stop;
};

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Prints the loss of a step, which is what it adds to the mean of the epoch so far. */
static void progress(void *self, double done, const struct vbs_train_epoch *so_far)
{
    struct steps *steps = self;
    double sum = so_far->loss * (double)so_far->n_steps;
    double clock_s = seconds_of(CLOCK_MONOTONIC), cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

    (void)done;
    if (steps->n_done == steps->n_wanted)
        return;
    printf("%d,%.9g,", ++steps->n_done, sum - steps->sum);
    if (steps->n_done > 1) /* the first step includes all preparation */
        printf("%.3f,%.3f", 1e3 * (clock_s - steps->clock_s), 1e3 * (cpu_s - steps->cpu_s));
    else
        printf(",");
    printf("\n");
    steps->sum = sum;
    steps->clock_s = clock_s;
    steps->cpu_s = cpu_s;
    steps->stop = steps->n_done == steps->n_wanted;
}

static bool put(const char *folder, const char *name, const void *values, size_t bytes)
{
    char path[1000];
    FILE *file;
    bool done;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    done = file && fwrite(values, 1, bytes, file) == bytes;
    return file && fclose(file) == 0 && done;
}

/* Writes the batches in the order in which an epoch takes them. */
static bool put_batches(const struct vbs_dataset *images, const struct vbs_normalise *normalise,
                        int n_steps, const char *folder)
{
    const struct vbs_data_info *info = vbs_dataset_info(images);
    size_t each = (size_t)(info->channels * info->height * info->width);
    size_t n = (size_t)n_steps * BATCH;
    int *order = malloc((size_t)info->n_images * sizeof *order);
    int *labels = malloc(n * sizeof *labels);
    float *pixels = malloc(n * each * sizeof *pixels);
    bool done = false;

    if (order && labels && pixels && n <= (size_t)info->n_images) {
        vbs_data_order(info->n_images, SEED, 0, order);
        vbs_dataset_images(images, order, (int)n, normalise, NULL, pixels);
        for (size_t i = 0; i < n; i++)
            labels[i] = vbs_dataset_label(images, order[i]);
        done = put(folder, "images", pixels, n * each * sizeof *pixels) &&
               put(folder, "labels", labels, n * sizeof *labels);
    }
    free(order);
    free(labels);
    free(pixels);
    return done;
}

/* Gives a network first parameters by the rule of fan-in: one step at a rate that changes nothing.
 */
static enum vbs_status begin(struct vbs_ctx *ctx, const char *model, const char *data,
                             const char *folder, struct vbs_network **first)
{
    const struct vbs_train_options options = {.struct_size = sizeof options,
                                              .epochs = 1,
                                              .batch = BATCH,
                                              .threads = 1,
                                              .seed = SEED,
                                              .rate = 1e-30,
                                              .course = VBS_RATE_CONSTANT};
    struct vbs_data_options part = {.struct_size = sizeof part, .n_validation = -1};
    struct vbs_network *network = NULL;
    struct vbs_dataset *images = NULL;
    struct vbs_train_epoch last;
    char path[1000];
    enum vbs_status status = vbs_network_load(ctx, model, NULL, &network);

    snprintf(path, sizeof path, "%s/%s.onnx", folder, model);
    if (status == VBS_OK)
        status = vbs_dataset_open(ctx, data, VBS_SPLIT_TRAIN, &part, &images);
    if (status == VBS_OK) {
        part.n_validation = vbs_dataset_info(images)->n_images - BATCH; /* one batch is left */
        vbs_dataset_free(images);
        images = NULL;
        status = vbs_dataset_open(ctx, data, VBS_SPLIT_TRAIN, &part, &images);
    }
    if (status == VBS_OK)
        status = vbs_train(ctx, network, images, NULL, NULL, &options, first, &last);
    if (status == VBS_OK)
        status = vbs_network_export(ctx, *first, path);
    vbs_dataset_free(images);
    vbs_network_free(network);
    return status;
}

int main(int argc, char **argv)
{
    struct steps steps = {.n_wanted = argc > 3 ? atoi(argv[3]) : 0};
    struct vbs_ctx *ctx = vbs_ctx_new();
    struct vbs_network *first = NULL, *trained = NULL;
    struct vbs_dataset *images = NULL;
    struct vbs_normalise normalise;
    struct vbs_train_epoch last;
    enum vbs_status status = VBS_USAGE;

    if (argc != 7 || !ctx)
        return 2;
    vbs_ctx_set_cancel(ctx, &steps.stop);
    if (begin(ctx, argv[1], argv[2], argv[6], &first) == VBS_OK &&
        vbs_dataset_open(ctx, argv[2], VBS_SPLIT_TRAIN, NULL, &images) == VBS_OK &&
        vbs_normalise_measure(ctx, argv[2], &normalise) == VBS_OK &&
        put_batches(images, &normalise, steps.n_wanted, argv[6])) {
        const struct vbs_train_options options = {.struct_size = sizeof options,
                                                  .epochs = 1,
                                                  .batch = BATCH,
                                                  .threads = atoi(argv[4]),
                                                  .seed = SEED,
                                                  .rate = atof(argv[5]),
                                                  .course = VBS_RATE_CONSTANT,
                                                  .initialisation = VBS_INITIALISATION_KEEP,
                                                  .self = &steps,
                                                  .progress = progress};

        status = vbs_train(ctx, first, images, NULL, &normalise, &options, &trained, &last);
    }
    if (status != VBS_INTERRUPTED)
        fprintf(stderr, "steps: %s\n", vbs_detail(ctx));
    vbs_network_free(trained);
    vbs_network_free(first);
    vbs_dataset_free(images);
    vbs_ctx_free(ctx);
    return status == VBS_INTERRUPTED ? 0 : 1;
}
