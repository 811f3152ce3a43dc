/* Reading .vbz files, for which nobody vouches. */
#include "model/vbz/vbz.h"

#include "base/arith.h"
#include "base/fail.h"
#include "model/onnx/onnx.h"
#include "model/vbz/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_PATH 100 /* characters in messages */

/* A mapped file. */
struct vbz_reader {
    struct vbs_ctx *ctx;
    const char *path;
    const unsigned char *bytes;
    size_t n_bytes;
    struct vbs_vbz_header header;
    const struct vbs_vbz_section *sections;
    uint32_t n_before; /* sections before the sections of weights */
    const struct vbs_input_choice *choices;
    int n_choices;
    struct vbs_input_choice stored;
};

/* The bytes of a section that are not read yet. */
struct vbz_cursor {
    struct vbs_ctx *ctx;
    const unsigned char *at;
    uint64_t left;
};

/* ---- the frame ---- */

static bool has_digest(const void *bytes, uint64_t n_bytes, const unsigned char *digest)
{
    unsigned char found[VBS_SHA256_BYTES];
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, bytes, (size_t)n_bytes);
    vbs_sha256_end(&hash, found);
    return memcmp(found, digest, sizeof found) == 0;
}

static bool header_is_sound(const struct vbz_reader *r, uint64_t directory_bytes)
{
    unsigned char found[VBS_SHA256_BYTES];
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, r->bytes, offsetof(struct vbs_vbz_header, digest));
    vbs_sha256_add(&hash, r->bytes + sizeof r->header, (size_t)directory_bytes);
    vbs_sha256_end(&hash, found);
    return memcmp(found, r->header.digest, sizeof found) == 0;
}

static enum vbs_status damaged(struct vbz_reader *r)
{
    return vbs_fail(r->ctx, VBS_FORMAT,
                    "the header or the directory is damaged (its checksum does not match)");
}

static enum vbs_status read_header(struct vbz_reader *r)
{
    struct vbs_vbz_header *h = &r->header;
    uint64_t directory_bytes;

    if (r->n_bytes < sizeof h->magic || memcmp(r->bytes, VBS_VBZ_MAGIC, sizeof h->magic) != 0)
        return vbs_fail(r->ctx, VBS_FORMAT,
                        "no network with coded weights; 'vbslab compress' makes one");
    if (r->n_bytes < sizeof *h)
        return vbs_fail(r->ctx, VBS_FORMAT, "the file is cut off inside its header");
    memcpy(h, r->bytes, sizeof *h);
    if (h->version != VBS_VBZ_VERSION)
        return vbs_fail(r->ctx, VBS_UNSUPPORTED,
                        "version %u of the format; this program reads version %d",
                        (unsigned)h->version, VBS_VBZ_VERSION);
    if (h->n_bytes > r->n_bytes)
        return vbs_fail(r->ctx, VBS_FORMAT, "the file is cut off: %zu bytes of %llu", r->n_bytes,
                        (unsigned long long)h->n_bytes);
    directory_bytes = (uint64_t)h->n_sections * sizeof *r->sections;
    if (h->n_bytes < sizeof *h || directory_bytes > h->n_bytes - sizeof *h ||
        !header_is_sound(r, directory_bytes))
        return damaged(r);
    if (h->n_bytes < r->n_bytes)
        return vbs_fail(r->ctx, VBS_FORMAT, "the file has %zu bytes, more than its %llu",
                        r->n_bytes, (unsigned long long)h->n_bytes);
    r->sections = (const void *)(r->bytes + sizeof *h);
    return h->reserved == 0 ? VBS_OK : damaged(r);
}

static bool is_zero(const unsigned char *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Checks that section number i may stand where it does. */
static bool belongs(const struct vbz_reader *r, uint32_t i)
{
    const struct vbs_vbz_section *s = &r->sections[i];

    if (s->reserved != 0)
        return false;
    if (s->kind == VBS_VBZ_WEIGHTS)
        return i > 0 && s->layer > (i > r->n_before ? s[-1].layer : 0) &&
               s->flags <= VBS_VBZ_ANY_FORM;
    return s->layer == 0 && s->flags == 0 &&
           (i == 0 ? s->kind == VBS_VBZ_NETWORK : i == 1 && s->kind == VBS_VBZ_FILES);
}

/* Checks that the sections follow each other without a gap but for zeros. */
static enum vbs_status check_sections(struct vbz_reader *r)
{
    uint64_t end = sizeof r->header + (uint64_t)r->header.n_sections * sizeof *r->sections;

    r->n_before = r->header.n_sections > 1 && r->sections[1].kind == VBS_VBZ_FILES ? 2 : 1;
    for (uint32_t i = 0; i < r->header.n_sections; i++) {
        const struct vbs_vbz_section *s = &r->sections[i];

        if (!belongs(r, i) || s->offset != vbs_vbz_aligned(end) || s->offset > r->n_bytes ||
            s->n_bytes > r->n_bytes - s->offset)
            return vbs_fail(r->ctx, VBS_FORMAT, "section %u of the directory is wrong",
                            (unsigned)i);
        if (!is_zero(r->bytes + end, s->offset - end))
            return vbs_fail(r->ctx, VBS_FORMAT, "the bytes before section %u are not zero",
                            (unsigned)i);
        end = s->offset + s->n_bytes;
    }
    if (r->header.n_sections == 0 || end != r->n_bytes)
        return vbs_fail(r->ctx, VBS_FORMAT, "the sections have another length than the file");
    for (uint32_t i = 0; i < r->n_before; i++)
        if (!has_digest(r->bytes + r->sections[i].offset, r->sections[i].n_bytes,
                        r->sections[i].digest))
            return vbs_fail(r->ctx, VBS_FORMAT,
                            "the network is damaged (its checksum does not match)");
    return VBS_OK;
}

/* ---- the network ---- */

static enum vbs_status wrong_network(struct vbs_ctx *ctx, const char *what)
{
    return vbs_fail(ctx, VBS_FORMAT, "the section of the network: %s", what);
}

static enum vbs_status take(struct vbz_cursor *c, void *to, uint64_t n)
{
    if (n > c->left)
        return wrong_network(c->ctx, "it is cut off");
    if (n > 0)
        memcpy(to, c->at, (size_t)n);
    c->at += n;
    c->left -= n;
    return VBS_OK;
}

/* Reads the extents of a file. *bytes: where their bytes are; it advances behind them. */
static enum vbs_status take_extents(struct vbz_cursor *c, int64_t file_bytes, uint64_t n,
                                    struct vbz_cursor *bytes, struct vbs_extent *extents)
{
    int64_t end = 0;

    for (uint64_t i = 0; i < n; i++) {
        int64_t place[2];

        VBS_TRY(take(c, place, sizeof place));
        if (place[0] < end || place[0] > file_bytes || place[1] < 1 ||
            place[1] > file_bytes - place[0] || (uint64_t)place[1] > bytes->left)
            return wrong_network(c->ctx, "the extents of a file are wrong");
        extents[i] = (struct vbs_extent){.offset = place[0], .bytes = place[1], .data = bytes->at};
        bytes->at += place[1];
        bytes->left -= (uint64_t)place[1];
        end = place[0] + place[1];
    }
    return VBS_OK;
}

static enum vbs_status take_file(struct vbz_reader *r, struct vbz_cursor *c,
                                 struct vbz_cursor *bytes, int number, struct vbs_source *source)
{
    struct vbs_extent *extents;
    uint64_t sizes[2];
    int file;

    VBS_TRY(take(c, sizes, sizeof sizes));
    if (sizes[0] > VBS_VBZ_MAX_FILE || sizes[1] > c->left / (2 * sizeof(int64_t)))
        return wrong_network(r->ctx, "the size of a file is wrong");
    extents = vbs_source_alloc(source, (size_t)sizes[1], sizeof *extents);
    if (!extents)
        return vbs_no_memory(r->ctx);
    VBS_TRY(take_extents(c, (int64_t)sizes[0], sizes[1], bytes, extents));
    /* of the files beside the first, only the names count */
    return vbs_source_add_image(r->ctx, source, number == 0 ? r->path : "", (int64_t)sizes[0],
                                extents, (int64_t)sizes[1], &file);
}

static enum vbs_status take_name(struct vbz_cursor *c, uint32_t n_files, struct vbs_source *source)
{
    uint32_t pair[2];
    char *name;

    VBS_TRY(take(c, pair, sizeof pair));
    if (pair[0] >= n_files || pair[1] > c->left)
        return wrong_network(c->ctx, "the name of a file is wrong");
    name = vbs_source_alloc(source, (size_t)pair[1] + 1, 1);
    if (!name)
        return vbs_no_memory(c->ctx);
    VBS_TRY(take(c, name, pair[1]));
    return vbs_source_name(c->ctx, source, name, (int)pair[0]);
}

/* Makes images of the files of ONNX. */
static enum vbs_status take_images(struct vbz_reader *r, struct vbz_cursor *c,
                                   struct vbs_source *source)
{
    struct vbs_vbz_images images;
    struct vbz_cursor bytes = {.ctx = r->ctx};

    VBS_TRY(take(c, &images, sizeof images));
    if (r->n_before == 2) {
        bytes.at = r->bytes + r->sections[1].offset;
        bytes.left = r->sections[1].n_bytes;
    }
    if (images.n_files < 1 || images.n_files > c->left)
        return wrong_network(r->ctx, "the number of files is wrong");
    for (uint32_t i = 0; i < images.n_files; i++)
        VBS_TRY(take_file(r, c, &bytes, (int)i, source));
    for (uint32_t i = 0; i < images.n_names; i++)
        VBS_TRY(take_name(c, images.n_files, source));
    if (c->left > 0 || bytes.left > 0)
        return wrong_network(r->ctx, "there are more bytes than it needs");
    return VBS_OK;
}

static enum vbs_status load_images(struct vbz_reader *r, struct vbz_cursor *c,
                                   struct vbs_network **network)
{
    struct vbs_source *source = vbs_source_new();
    enum vbs_status status = source ? take_images(r, c, source) : vbs_no_memory(r->ctx);

    if (status == VBS_OK)
        return vbs_onnx_load_source(r->ctx, r->path, r->choices, r->n_choices, source, network);
    vbs_source_free(source);
    return status;
}

static enum vbs_status load_text(struct vbz_reader *r, struct vbz_cursor *c,
                                 struct vbs_network **network)
{
    char name[VBS_MAX_NAME];
    const struct vbs_shape *input;
    enum vbs_status status;

    if (r->n_before != 1)
        return wrong_network(r->ctx, "there are files beside a text");
    VBS_TRY(vbs_input_only(r->ctx, r->choices, r->n_choices, &input));
    status =
        vbs_network_parse(r->ctx, r->path, (const char *)c->at, (size_t)c->left, input, network);
    if (status == VBS_OK)
        status = vbs_network_rename(r->ctx, *network, vbs_network_file_name(r->path, name));
    return status;
}

/* Loads the network without its coded weights; after a failure *network may have one too. */
static enum vbs_status load_network(struct vbz_reader *r, struct vbs_network **network)
{
    struct vbz_cursor c = {r->ctx, r->bytes + r->sections[0].offset, r->sections[0].n_bytes};
    struct vbs_vbz_network head;

    VBS_TRY(take(&c, &head, sizeof head));
    if (head.n_dims > VBS_MAX_DIMS)
        return wrong_network(r->ctx, "its input has too many dimensions");
    r->stored.shape.n_dims = (int)head.n_dims;
    memcpy(r->stored.shape.dim, head.dim, sizeof head.dim);
    if (r->n_choices == 0 && head.n_dims > 0) {
        r->choices = &r->stored;
        r->n_choices = 1;
    }
    if (head.origin == VBS_VBZ_TEXT)
        return load_text(r, &c, network);
    if (head.origin == VBS_VBZ_ONNX)
        return load_images(r, &c, network);
    return wrong_network(r->ctx, "it is neither a text nor from ONNX");
}

/* ---- coded weights ---- */

/* Opens the coded weights of a section. */
static enum vbs_status open_weights(struct vbz_reader *r, const struct vbs_vbz_section *s,
                                    const struct vbs_network *network,
                                    struct vbs_layer_coded *coded)
{
    const unsigned char *bytes = r->bytes + s->offset;
    int64_t n_rows, n_columns;
    struct vbs_coded_shape shape;

    if (!has_digest(bytes, s->n_bytes, s->digest))
        return vbs_fail(r->ctx, VBS_FORMAT,
                        "its coded weights are damaged (their checksum does not match)");
    if (!vbs_weight_matrix(network, (int)s->layer, &n_rows, &n_columns))
        return vbs_fail(r->ctx, VBS_FORMAT, "coded weights of a layer that has no weights");
    VBS_TRY(vbs_coded_open(r->ctx, bytes, (size_t)s->n_bytes, &coded->coded));
    vbs_coded_describe(coded->coded, &shape);
    if (shape.n_rows != n_rows || shape.n_columns != n_columns)
        return vbs_fail(r->ctx, VBS_FORMAT,
                        "coded weights of %lld x %lld where the layer has %lld x %lld",
                        (long long)shape.n_rows, (long long)shape.n_columns, (long long)n_rows,
                        (long long)n_columns);
    coded->any_form = s->flags & VBS_VBZ_ANY_FORM;
    memcpy(&coded->fingerprint, s->digest, sizeof coded->fingerprint);
    return VBS_OK;
}

static enum vbs_status at_layer(struct vbs_ctx *ctx, enum vbs_status status,
                                const struct vbs_network *network, int layer)
{
    char place[160];

    if (status == VBS_NO_MEMORY || status == VBS_INTERRUPTED)
        return status;
    snprintf(place, sizeof place, "layer %d '%.100s'", layer, network->layers[layer].name);
    return vbs_fail_within(ctx, status, place);
}

static enum vbs_status load_weights(struct vbz_reader *r, struct vbs_network *network)
{
    struct vbs_parameters *p = vbs_network_own(network);

    p->coded = calloc((size_t)network->n_layers + 1, sizeof *p->coded);
    if (!p->coded)
        return vbs_no_memory(r->ctx);
    for (uint32_t i = r->n_before; i < r->header.n_sections; i++) {
        const struct vbs_vbz_section *s = &r->sections[i];
        enum vbs_status status;

        if (s->layer > (uint32_t)network->n_layers)
            return vbs_fail(r->ctx, VBS_FORMAT,
                            "coded weights of layer %u; the network has %d layers",
                            (unsigned)s->layer, network->n_layers);
        status = open_weights(r, s, network, &p->coded[s->layer]);
        if (status != VBS_OK)
            return at_layer(r->ctx, status, network, (int)s->layer);
    }
    return VBS_OK;
}

/* Checks that no parameter needs bytes that are left out of the files. */
static enum vbs_status check_values(struct vbz_reader *r, const struct vbs_network *network)
{
    const struct vbs_parameters *p = network->parameters;

    for (int k = 1; k <= network->n_layers; k++)
        for (int at = p->first[k]; at <= p->first[k] + network->layers[k].n_fused; at++)
            for (int i = 0; i < VBS_N_PARAMETERS; i++) {
                const struct vbs_values *v = p->values[at].of[i];
                struct vbs_extent extent = {0};

                if (at == p->first[k] && i == VBS_PARAMETER_WEIGHTS && p->coded[k].coded)
                    continue;
                if (v)
                    extent = vbs_values_extent(v);
                if (extent.bytes > 0 &&
                    vbs_source_present(p->source, v->file, extent.offset) < extent.bytes)
                    return at_layer(r->ctx,
                                    vbs_fail(r->ctx, VBS_FORMAT,
                                             "the file has no values of '%.100s', coded or not",
                                             v->name),
                                    network, k);
            }
    return VBS_OK;
}

/* ---- files ---- */

static enum vbs_status within_file(struct vbs_ctx *ctx, enum vbs_status status, const char *path)
{
    const char *detail = vbs_detail(ctx);
    size_t length = strlen(path);
    bool cut = length > LONGEST_PATH;
    char prefix[LONGEST_PATH + 8];

    snprintf(prefix, sizeof prefix, "%s%s", cut ? "..." : "",
             path + (cut ? length - LONGEST_PATH : 0));
    if (status == VBS_NO_MEMORY || status == VBS_INTERRUPTED ||
        (detail && strncmp(detail, prefix, strlen(prefix)) == 0))
        return status;
    return vbs_fail_within(ctx, status, prefix);
}

/* Reads a file that is mapped, and gives the mapping to the network. */
static enum vbs_status read_mapped(struct vbz_reader *r, void *mapped, struct vbs_network **network)
{
    enum vbs_status status = read_header(r);

    if (status == VBS_OK)
        status = check_sections(r);
    if (status == VBS_OK)
        status = load_network(r, network);
    if (status == VBS_OK)
        status = load_weights(r, *network);
    if (status == VBS_OK)
        status = check_values(r, *network);
    if (status != VBS_OK)
        return status;
    vbs_network_own(*network)->mapped = mapped;
    vbs_network_own(*network)->mapped_bytes = r->n_bytes;
    return VBS_OK;
}

enum vbs_status vbs_vbz_load_open(struct vbs_ctx *ctx, int fd, const char *path,
                                  const struct vbs_input_choice *choices, int n_choices,
                                  struct vbs_network **network)
{
    struct vbz_reader r = {.ctx = ctx, .path = path, .choices = choices, .n_choices = n_choices};
    struct vbs_network *made = NULL;
    struct stat about;
    void *mapped;
    enum vbs_status status;

    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return vbs_fail(ctx, VBS_IO, "cannot read '%.300s': no regular file", path);
    if (about.st_size == 0)
        return vbs_fail(ctx, VBS_FORMAT, "'%.300s' is empty", path);
    mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return vbs_fail(ctx, VBS_IO, "cannot map '%.300s': %s", path, strerror(errno));
    r.bytes = mapped;
    r.n_bytes = (size_t)about.st_size;
    status = read_mapped(&r, mapped, &made);
    if (status == VBS_OK) {
        *network = made;
        return VBS_OK;
    }
    vbs_network_free(made);
    munmap(mapped, r.n_bytes);
    return within_file(ctx, status, path);
}

static enum vbs_status load(struct vbs_ctx *ctx, const char *path,
                            const struct vbs_input_choice *choices, int n,
                            struct vbs_network **network)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum vbs_status status;

    if (fd < 0)
        return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", path, strerror(errno));
    status = vbs_vbz_load_open(ctx, fd, path, choices, n, network);
    close(fd);
    return status;
}

enum vbs_status vbs_vbz_load_inputs(struct vbs_ctx *ctx, const char *path,
                                    const struct vbs_input_choice *choices, int n,
                                    struct vbs_network **network)
{
    enum vbs_status status = load(ctx, path, choices, n, network);
    struct vbs_network *plain;

    if (n == 0 || (status != VBS_FORMAT && status != VBS_UNSUPPORTED) ||
        load(NULL, path, NULL, 0, &plain) != VBS_OK)
        return status;
    /* without the choices the file can be loaded: the mistake is the caller's */
    vbs_network_free(plain);
    return vbs_input_choices_refuse(ctx, choices, n);
}

enum vbs_status vbs_vbz_load(struct vbs_ctx *ctx, const char *path, const struct vbs_shape *input,
                             struct vbs_network **network)
{
    struct vbs_input_choice choice = {.name = NULL};

    if (input)
        choice.shape = *input;
    return vbs_vbz_load_inputs(ctx, path, &choice, input ? 1 : 0, network);
}
