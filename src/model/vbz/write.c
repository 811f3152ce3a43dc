/* Writing .vbz files. */
#include "base/fail.h"
#include "base/grow.h"
#include "base/new_file.h"
#include "model/vbz/layout.h"
#include "model/vbz/left_out.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((int64_t)1 << 20) /* copied at once */

struct vbz_writer {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_layer_weights *weights;
    int n_weights;
    bool *is_coded;                  /* [layer] */
    struct vbs_vbz_extents *extents; /* [file] of ONNX */
    int n_files;
    unsigned char *head; /* the section of the network */
    int64_t head_bytes, head_capacity;
    struct vbs_vbz_section *sections;
    uint32_t n_sections;
    struct vbs_new_file file;
    int64_t end; /* of what is written */
};

/* ---- what to write ---- */

static enum vbs_status check_weights(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_layer_weights *weights)
{
    int64_t n_rows, n_columns;
    struct vbs_coded_shape shape;

    if (weights->layer < 1 || weights->layer > network->n_layers ||
        !vbs_weight_matrix(network, weights->layer, &n_rows, &n_columns))
        return vbs_fail(ctx, VBS_USAGE, "coded weights of layer %d, which has none",
                        weights->layer);
    vbs_coded_describe(weights->coded, &shape);
    if (shape.n_rows != n_rows || shape.n_columns != n_columns)
        return vbs_fail(
            ctx, VBS_USAGE, "coded weights of %lld x %lld where layer %d '%.100s' has %lld x %lld",
            (long long)shape.n_rows, (long long)shape.n_columns, weights->layer,
            network->layers[weights->layer].name, (long long)n_rows, (long long)n_columns);
    return VBS_OK;
}

/* Checks the weights, and finds the layers that are coded. */
static enum vbs_status find_coded(struct vbz_writer *w)
{
    w->is_coded = calloc((size_t)w->network->n_layers + 1, sizeof *w->is_coded);
    if (!w->is_coded)
        return vbs_no_memory(w->ctx);
    for (int i = 0; i < w->n_weights; i++) {
        VBS_TRY(check_weights(w->ctx, w->network, &w->weights[i]));
        if (i > 0 && w->weights[i].layer <= w->weights[i - 1].layer)
            return vbs_fail(w->ctx, VBS_USAGE, "coded weights do not ascend by layer");
        w->is_coded[w->weights[i].layer] = true;
    }
    for (int k = 1; k <= w->network->n_layers; k++)
        if (!w->is_coded[k] && vbs_network_coded(w->network, k))
            return vbs_fail(w->ctx, VBS_USAGE,
                            "layer %d '%.100s' has only coded weights, which are not given", k,
                            w->network->layers[k].name);
    return VBS_OK;
}

static enum vbs_status find_extents(struct vbz_writer *w)
{
    const struct vbs_parameters *p = w->network->parameters;

    w->n_files = p->origin.text || !p->source ? 0 : vbs_source_n_files(p->source);
    w->extents = calloc((size_t)w->n_files + 1, sizeof *w->extents);
    if (!w->extents)
        return vbs_no_memory(w->ctx);
    for (int f = 0; f < w->n_files; f++)
        VBS_TRY(vbs_vbz_remaining(w->ctx, w->network, w->is_coded, f, &w->extents[f]));
    return VBS_OK;
}

/* ---- the section of the network ---- */

static enum vbs_status put(struct vbz_writer *w, const void *bytes, int64_t n)
{
    VBS_TRY(vbs_grow(w->ctx, &w->head, &w->head_capacity, w->head_bytes + n, 1));
    if (n > 0)
        memcpy(w->head + w->head_bytes, bytes, (size_t)n);
    w->head_bytes += n;
    return VBS_OK;
}

static enum vbs_status put_files(struct vbz_writer *w)
{
    const struct vbs_source *source = w->network->parameters->source;
    struct vbs_vbz_images images = {.n_files = (uint32_t)w->n_files,
                                    .n_names = (uint32_t)vbs_source_n_names(source)};

    VBS_TRY(put(w, &images, sizeof images));
    for (int f = 0; f < w->n_files; f++) {
        int64_t sizes[2] = {vbs_source_bytes(source, f), w->extents[f].n};

        VBS_TRY(put(w, sizes, sizeof sizes));
        for (int64_t i = 0; i < w->extents[f].n; i++) {
            const struct vbs_extent *extent = &w->extents[f].extents[i];
            int64_t place[2] = {extent->offset, extent->bytes};

            VBS_TRY(put(w, place, sizeof place));
        }
    }
    for (int i = 0; i < vbs_source_n_names(source); i++) {
        int file;
        const char *name = vbs_source_name_at(source, i, &file);
        uint32_t pair[2] = {(uint32_t)file, (uint32_t)strlen(name)};

        VBS_TRY(put(w, pair, sizeof pair));
        VBS_TRY(put(w, name, (int64_t)pair[1]));
    }
    return VBS_OK;
}

static enum vbs_status make_head(struct vbz_writer *w)
{
    const struct vbs_origin *origin = &w->network->parameters->origin;
    struct vbs_vbz_network head = {.origin = origin->text ? VBS_VBZ_TEXT : VBS_VBZ_ONNX,
                                   .n_dims = (uint32_t)origin->input.n_dims};

    for (int d = 0; d < origin->input.n_dims; d++)
        head.dim[d] = origin->input.dim[d];
    VBS_TRY(put(w, &head, sizeof head));
    return origin->text ? put(w, origin->text, (int64_t)origin->length) : put_files(w);
}

/* ---- sections ---- */

/* Begins a section of n_bytes at the end of the file. */
static struct vbs_vbz_section *begin_section(struct vbz_writer *w, enum vbs_vbz_kind kind,
                                             struct vbs_sha256 *hash)
{
    struct vbs_vbz_section *section = &w->sections[w->n_sections++];

    w->end = (int64_t)vbs_vbz_aligned((uint64_t)w->end);
    section->kind = kind;
    section->offset = (uint64_t)w->end;
    vbs_sha256_begin(hash);
    return section;
}

/* Appends bytes to the section that was begun last. */
static enum vbs_status append(struct vbz_writer *w, struct vbs_sha256 *hash, const void *bytes,
                              int64_t n)
{
    VBS_TRY(vbs_check_cancel(w->ctx));
    VBS_TRY(vbs_new_file_write(w->ctx, &w->file, w->end, bytes, n));
    vbs_sha256_add(hash, bytes, (size_t)n);
    w->end += n;
    return VBS_OK;
}

static void end_section(struct vbz_writer *w, struct vbs_vbz_section *section,
                        struct vbs_sha256 *hash)
{
    section->n_bytes = (uint64_t)w->end - section->offset;
    vbs_sha256_end(hash, section->digest);
}

static enum vbs_status write_network(struct vbz_writer *w)
{
    struct vbs_sha256 hash;
    struct vbs_vbz_section *section = begin_section(w, VBS_VBZ_NETWORK, &hash);

    VBS_TRY(append(w, &hash, w->head, w->head_bytes));
    end_section(w, section, &hash);
    return VBS_OK;
}

static enum vbs_status copy_extent(struct vbz_writer *w, int file, const struct vbs_extent *extent,
                                   unsigned char *piece, struct vbs_sha256 *hash)
{
    for (int64_t done = 0; done < extent->bytes; done += PIECE_BYTES) {
        int64_t left = extent->bytes - done, n = left < PIECE_BYTES ? left : PIECE_BYTES;

        VBS_TRY(vbs_source_read(w->ctx, w->network->parameters->source, file, extent->offset + done,
                                n, piece));
        VBS_TRY(append(w, hash, piece, n));
    }
    return VBS_OK;
}

static enum vbs_status write_files(struct vbz_writer *w)
{
    struct vbs_sha256 hash;
    struct vbs_vbz_section *section;
    unsigned char *piece;
    enum vbs_status status = VBS_OK;

    if (w->n_files == 0)
        return VBS_OK;
    piece = malloc((size_t)PIECE_BYTES);
    if (!piece)
        return vbs_no_memory(w->ctx);
    section = begin_section(w, VBS_VBZ_FILES, &hash);
    for (int f = 0; f < w->n_files; f++)
        for (int64_t i = 0; i < w->extents[f].n && status == VBS_OK; i++)
            status = copy_extent(w, f, &w->extents[f].extents[i], piece, &hash);
    free(piece);
    end_section(w, section, &hash);
    return status;
}

static enum vbs_status write_weights(struct vbz_writer *w, const struct vbs_layer_weights *weights)
{
    struct vbs_sha256 hash;
    struct vbs_vbz_section *section = begin_section(w, VBS_VBZ_WEIGHTS, &hash);
    size_t n_bytes;
    const unsigned char *bytes = vbs_coded_bytes(weights->coded, &n_bytes);

    section->layer = (uint32_t)weights->layer;
    section->flags = weights->any_form ? VBS_VBZ_ANY_FORM : 0;
    for (int64_t done = 0; done < (int64_t)n_bytes; done += PIECE_BYTES) {
        int64_t left = (int64_t)n_bytes - done;

        VBS_TRY(append(w, &hash, bytes + done, left < PIECE_BYTES ? left : PIECE_BYTES));
    }
    end_section(w, section, &hash);
    return VBS_OK;
}

/* Writes header and directory, which vouch for the rest, last. */
static enum vbs_status write_header(struct vbz_writer *w)
{
    int64_t directory_bytes = (int64_t)(w->n_sections * sizeof *w->sections);
    struct vbs_vbz_header header = {
        .version = VBS_VBZ_VERSION, .n_sections = w->n_sections, .n_bytes = (uint64_t)w->end};
    struct vbs_sha256 hash;

    memcpy(header.magic, VBS_VBZ_MAGIC, sizeof header.magic);
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, &header, offsetof(struct vbs_vbz_header, digest));
    vbs_sha256_add(&hash, w->sections, (size_t)directory_bytes);
    vbs_sha256_end(&hash, header.digest);
    VBS_TRY(vbs_new_file_write(w->ctx, &w->file, 0, &header, sizeof header));
    return vbs_new_file_write(w->ctx, &w->file, sizeof header, w->sections, directory_bytes);
}

/* ---- the file ---- */

static enum vbs_status write_sections(struct vbz_writer *w)
{
    size_t n_sections = 1 + (w->n_files > 0) + (size_t)w->n_weights;

    w->sections = calloc(n_sections, sizeof *w->sections);
    if (!w->sections)
        return vbs_no_memory(w->ctx);
    w->end = (int64_t)(sizeof(struct vbs_vbz_header) + n_sections * sizeof *w->sections);
    VBS_TRY(write_network(w));
    VBS_TRY(write_files(w));
    for (int i = 0; i < w->n_weights; i++)
        VBS_TRY(write_weights(w, &w->weights[i]));
    return write_header(w);
}

/* Loads what was written, and checks that it is the same network with the weights given. */
static enum vbs_status verify(struct vbz_writer *w)
{
    struct vbs_network *loaded;
    enum vbs_status status =
        vbs_vbz_load_open(w->ctx, w->file.descriptor, w->file.path, NULL, 0, &loaded);

    if (status == VBS_INTERRUPTED || status == VBS_NO_MEMORY)
        return status;
    if (status != VBS_OK)
        return vbs_fail_within(w->ctx, status, "what was written cannot be loaded");
    if (vbs_network_plain_hash(loaded) != vbs_network_plain_hash(w->network))
        status =
            vbs_fail(w->ctx, VBS_IO, "'%.300s': what was written is another network", w->file.path);
    for (int k = 1; k <= w->network->n_layers && status == VBS_OK; k++)
        if (!vbs_network_coded(loaded, k) == w->is_coded[k])
            status = vbs_fail(w->ctx, VBS_IO, "'%.300s': what was written has other coded weights",
                              w->file.path);
    vbs_network_free(loaded);
    return status;
}

static enum vbs_status write_file(struct vbz_writer *w, const char *path)
{
    if (!w->network->parameters->origin.text && !w->network->parameters->source)
        return vbs_fail(w->ctx, VBS_USAGE, "'%.100s' comes neither from a text nor from ONNX",
                        w->network->name);
    if (w->network->parameters->origin.chosen)
        return vbs_fail(
            w->ctx, VBS_UNSUPPORTED,
            "'%.100s' was loaded with shapes or values of single inputs, or an end of its "
            "own, which a .vbz file cannot hold; 'vbslab export' makes an .onnx file that has them",
            w->network->name);
    VBS_TRY(find_coded(w));
    VBS_TRY(find_extents(w));
    VBS_TRY(make_head(w));
    VBS_TRY(vbs_new_file_open(w->ctx, path, &w->file));
    VBS_TRY(write_sections(w));
    VBS_TRY(verify(w));
    return vbs_new_file_commit(w->ctx, &w->file);
}

enum vbs_status vbs_network_write(struct vbs_ctx *ctx, const struct vbs_network *network,
                                  const struct vbs_layer_weights *weights, int n, const char *path)
{
    struct vbz_writer w = {.ctx = ctx, .network = network, .weights = weights, .n_weights = n};
    enum vbs_status status = vbs_network_check_floats(ctx, network, "writing coded weights");

    if (status == VBS_OK)
        status = write_file(&w, path);

    vbs_new_file_abandon(&w.file);
    for (int f = 0; w.extents && f < w.n_files; f++)
        free(w.extents[f].extents);
    free(w.extents);
    free(w.is_coded);
    free(w.head);
    free(w.sections);
    return status;
}
