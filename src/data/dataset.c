#include "data/dataset.h"

#include "base/fail.h"
#include "base/options.h"
#include "base/sha256.h"
#include "data/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)1 << 24) /* of pixels that are allocated before any is read */

const char *vbs_split_word(enum vbs_split split)
{
#define WORD(name, word) word,
    static const char *const WORDS[] = {VBS_SPLIT_LIST(WORD)};
#undef WORD

    return (unsigned)split < VBS_N_SPLITS ? WORDS[split] : "";
}

/* ---- keeping the images of one part ---- */

/* A data set that is being read. */
struct keeper {
    struct vbs_dataset *dataset;
    int64_t n_validation; /* of the options */
    unsigned char *keep;  /* [images of the files] 1: the image belongs to the part; null: all do */
    const struct vbs_data_labels *labels;
    size_t capacity; /* bytes that are allocated for pixels */
    int n_kept;
};

/* Marks the images of a part of the training files, and counts them. */
static enum vbs_status mark(struct vbs_ctx *ctx, struct keeper *keeper, int n, int64_t n_validation)
{
    bool validation = keeper->dataset->info.split == VBS_SPLIT_VALIDATION;
    int *order = malloc((size_t)n * sizeof *order);

    keeper->keep = malloc((size_t)n);
    if (!order || !keeper->keep) {
        free(order);
        return vbs_no_memory(ctx);
    }
    vbs_data_order(n, VBS_VALIDATION_SEED, 0, order);
    for (int i = 0; i < n; i++)
        keeper->keep[order[i]] = (i < n_validation) == validation;
    free(order);
    keeper->dataset->info.n_images = (int)(validation ? n_validation : n - n_validation);
    return VBS_OK;
}

/* Chooses the images that are kept. */
static enum vbs_status choose(struct vbs_ctx *ctx, struct keeper *keeper, int n)
{
    struct vbs_data_info *info = &keeper->dataset->info;
    int64_t n_validation = keeper->n_validation;

    info->n_images = n;
    if (info->split == VBS_SPLIT_TEST)
        return VBS_OK;
    n_validation = n_validation == 0 ? n / 10 : n_validation < 0 ? 0 : n_validation;
    if (n_validation > n || (info->split == VBS_SPLIT_TRAIN && n_validation == n))
        return vbs_fail(ctx, VBS_USAGE,
                        "%" PRId64 " of %d training images cannot be set aside "
                        "for validation",
                        n_validation, n);
    if (info->split == VBS_SPLIT_VALIDATION && n_validation == 0)
        return vbs_fail(ctx, VBS_USAGE,
                        "none of the %d training images is set aside for "
                        "validation",
                        n);
    return mark(ctx, keeper, n, n_validation);
}

/* Copies the list of classes. */
static enum vbs_status keep_classes(struct vbs_ctx *ctx, struct vbs_dataset *dataset,
                                    const struct vbs_data_labels *labels)
{
    const char *last = labels->names[labels->n_classes - 1];
    size_t size = (size_t)(last - labels->text) + strlen(last) + 1;

    dataset->class_text = malloc(size);
    dataset->classes = malloc((size_t)labels->n_classes * sizeof *dataset->classes);
    if (!dataset->class_text || !dataset->classes)
        return vbs_no_memory(ctx);
    memcpy(dataset->class_text, labels->text, size);
    for (int k = 0; k < labels->n_classes; k++)
        dataset->classes[k] = dataset->class_text + (labels->names[k] - labels->text);
    return VBS_OK;
}

static enum vbs_status begin(struct vbs_ctx *ctx, void *self, const struct vbs_images_head *head,
                             const struct vbs_data_labels *labels)
{
    struct keeper *keeper = self;
    struct vbs_dataset *dataset = keeper->dataset;

    dataset->info.channels = head->channels;
    dataset->info.height = head->height;
    dataset->info.width = head->width;
    dataset->info.is_float = head->is_float;
    dataset->info.n_classes = labels->n_classes;
    dataset->info.largest_label = labels->largest;
    dataset->image_bytes = vbs_image_bytes(head);
    keeper->labels = labels;
    VBS_TRY(choose(ctx, keeper, head->n_images));
    if (labels->names)
        VBS_TRY(keep_classes(ctx, dataset, labels));
    dataset->labels = malloc((size_t)dataset->info.n_images * sizeof *dataset->labels);
    return dataset->labels ? VBS_OK : vbs_no_memory(ctx);
}

/* Allocates memory for one more image: not for all at once, because a short compressed file may
 * claim any number of images. */
static enum vbs_status grow(struct vbs_ctx *ctx, struct keeper *keeper)
{
    struct vbs_dataset *dataset = keeper->dataset;
    size_t all, next, needed = ((size_t)keeper->n_kept + 1) * dataset->image_bytes;
    unsigned char *pixels;

    if (needed <= keeper->capacity)
        return VBS_OK;
    all = (size_t)dataset->info.n_images * dataset->image_bytes;
    next = 2 * needed > FIRST_BYTES ? 2 * needed : FIRST_BYTES;
    next = next < all ? next : all;
    pixels = realloc(dataset->pixels, next);
    if (!pixels)
        return vbs_no_memory(ctx);
    dataset->pixels = pixels;
    keeper->capacity = next;
    return VBS_OK;
}

static enum vbs_status take(struct vbs_ctx *ctx, void *self, int i, const void *pixels)
{
    struct keeper *keeper = self;
    struct vbs_dataset *dataset = keeper->dataset;

    if (keeper->keep && !keeper->keep[i])
        return VBS_OK;
    VBS_TRY(grow(ctx, keeper));
    memcpy(dataset->pixels + (size_t)keeper->n_kept * dataset->image_bytes, pixels,
           dataset->image_bytes);
    dataset->labels[keeper->n_kept++] = keeper->labels->labels[i];
    return VBS_OK;
}

/* ---- the door ---- */

enum vbs_status vbs_dataset_open(struct vbs_ctx *ctx, const char *folder, enum vbs_split split,
                                 const struct vbs_data_options *options,
                                 struct vbs_dataset **dataset)
{
    struct vbs_data_options own;
    const struct vbs_data_format *format;
    struct keeper keeper = {.n_kept = 0};
    struct vbs_image_receiver receiver = {.self = &keeper, .begin = begin, .take = take};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_data_options", options, &own, sizeof own));
    if ((unsigned)split >= VBS_N_SPLITS)
        return vbs_fail(ctx, VBS_USAGE, "a data set has the parts train, validation and test");
    VBS_TRY(vbs_data_format_find(ctx, folder, split == VBS_SPLIT_TEST, &format));
    keeper.n_validation = own.n_validation;
    keeper.dataset = calloc(1, sizeof *keeper.dataset);
    if (!keeper.dataset)
        return vbs_no_memory(ctx);
    keeper.dataset->info.split = split;
    keeper.dataset->info.format = format->name;
    status = format->read(ctx, format, folder, split == VBS_SPLIT_TEST, &receiver);
    free(keeper.keep);
    if (status != VBS_OK) {
        vbs_dataset_free(keeper.dataset);
        return status;
    }
    *dataset = keeper.dataset;
    return VBS_OK;
}

void vbs_dataset_free(struct vbs_dataset *dataset)
{
    if (!dataset)
        return;
    free(dataset->labels);
    free(dataset->pixels);
    free(dataset->class_text);
    free(dataset->classes);
    free(dataset);
}

const struct vbs_data_info *vbs_dataset_info(const struct vbs_dataset *dataset)
{
    return &dataset->info;
}

const char *vbs_dataset_class(const struct vbs_dataset *dataset, int k)
{
    return dataset->classes ? dataset->classes[k] : NULL;
}

int vbs_dataset_label(const struct vbs_dataset *dataset, int i)
{
    return dataset->labels[i];
}

void vbs_dataset_digest(const struct vbs_dataset *dataset,
                        unsigned char digest[VBS_DATASET_DIGEST_BYTES])
{
    const struct vbs_data_info *info = &dataset->info;
    const int head[] = {info->n_images, info->channels, info->height, info->width, info->is_float};
    struct vbs_sha256 hash;

    _Static_assert(VBS_DATASET_DIGEST_BYTES == VBS_SHA256_BYTES, "the hash has another length");
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, head, sizeof head);
    vbs_sha256_add(&hash, dataset->labels, (size_t)info->n_images * sizeof *dataset->labels);
    vbs_sha256_add(&hash, dataset->pixels, (size_t)info->n_images * dataset->image_bytes);
    vbs_sha256_end(&hash, digest);
}
