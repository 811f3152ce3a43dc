/*
 * Readers of coded weights, and of networks that have them.
 */
#include "fuzz/reading.h"

#include "model/network/network.h"
#include "model/vbz/layout.h"
#include "model/vbz/vbz.h"
#include "vbslab/coded.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BLOCK   (1 << 22) /* coded weights of a block that is decoded */
#define MAX_WRITTEN 64        /* layers with coded weights of a network that is written anew */
#define MAX_ANEW    (1 << 14) /* weights of a matrix that is coded anew */

/* ---- coded weights ---- */

/* Decodes all blocks into memory of exactly their size, so that sanitizers see what is outside. */
static const char *decode_blocks(const struct vbs_coded *coded)
{
    struct vbs_coded_shape shape;
    const char *broken = NULL;

    vbs_coded_describe(coded, &shape);
    for (int64_t b = 0; !broken && b < shape.n_block_rows * shape.n_block_columns; b++) {
        int64_t n_rows = shape.n_rows - b / shape.n_block_columns * shape.block_rows;
        int64_t n_columns = shape.n_columns - b % shape.n_block_columns * shape.block_columns;
        float *dense;

        n_rows = n_rows < shape.block_rows ? n_rows : shape.block_rows;
        n_columns = n_columns < shape.block_columns ? n_columns : shape.block_columns;
        if (n_rows * n_columns > MAX_BLOCK)
            return NULL; /* a block without entries may be as large as it likes */
        dense = malloc((size_t)(n_rows * n_columns) * sizeof *dense);
        if (!dense)
            return NULL;
        vbs_coded_block(coded, b, dense);
        for (int64_t i = 0; i < n_rows * n_columns; i++)
            if (!isfinite(dense[i]))
                broken = "decoded weights are finite";
        free(dense);
    }
    return broken;
}

/* Decodes all blocks into one matrix of n weights. */
static float *decode_matrix(const struct vbs_coded *coded, const struct vbs_coded_shape *shape)
{
    int64_t n = shape->n_rows * shape->n_columns;
    float *dense = malloc((size_t)n * sizeof *dense), *block = malloc((size_t)n * sizeof *block);

    for (int64_t b = 0; dense && block && b < shape->n_block_rows * shape->n_block_columns; b++) {
        int64_t row = b / shape->n_block_columns * shape->block_rows;
        int64_t column = b % shape->n_block_columns * shape->block_columns;
        int64_t width = shape->n_columns - column;

        width = width < shape->block_columns ? width : shape->block_columns;
        vbs_coded_block(coded, b, block);
        for (int64_t r = 0; r < shape->block_rows && row + r < shape->n_rows; r++)
            memcpy(&dense[(row + r) * shape->n_columns + column], &block[r * width],
                   (size_t)width * sizeof *dense);
    }
    free(block);
    return dense;
}

/* Codes a small matrix in the next form with other blocks; its weights stay what they are. */
static const char *code_anew(const struct vbs_coded *coded)
{
    struct vbs_coded_shape shape, other_shape;
    struct vbs_coded *other = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    struct vbs_coding_options options = {.index_bits = 3, .block_rows = 5, .block_columns = 11};
    enum vbs_status status;

    vbs_coded_describe(coded, &shape);
    if (shape.n_columns > MAX_ANEW / shape.n_rows)
        return NULL;
    options.coding = (enum vbs_coding)((shape.coding + 1) % VBS_N_CODINGS);
    status = vbs_coded_recode(&ctx, coded, &options, &other);
    if (status == VBS_OK) {
        float *before = decode_matrix(coded, &shape), *after;

        vbs_coded_describe(other, &other_shape);
        after = decode_matrix(other, &other_shape);
        if (before && after &&
            memcmp(before, after, (size_t)(shape.n_rows * shape.n_columns) * sizeof *before) != 0)
            broken = "weights that are coded anew are the same";
        free(before);
        free(after);
    } else if (status != VBS_USAGE) /* too many bits for pairs */
        broken = "coded weights are coded anew";
    vbs_coded_free(other);
    return broken;
}

const char *fuzz_read_coded(const char *text, size_t length)
{
    struct vbs_coded *coded = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken;
    void *bytes = malloc(length + 1); /* aligned */
    enum vbs_status status;

    if (!bytes)
        return NULL;
    memcpy(bytes, text, length);
    status = vbs_coded_open(&ctx, bytes, length, &coded);
    broken = status == VBS_OK ? decode_blocks(coded) : fuzz_failed_well(&ctx, status);
    if (status == VBS_OK && !broken)
        broken = code_anew(coded);
    vbs_coded_free(coded);
    free(bytes);
    return broken;
}

/* ---- networks with coded weights ---- */

static void take_digest(const unsigned char *bytes, uint64_t n, const unsigned char *more,
                        uint64_t n_more, unsigned char *digest)
{
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, bytes, n);
    vbs_sha256_add(&hash, more, n_more);
    vbs_sha256_end(&hash, digest);
}

/* Makes what a hostile file would have right: places of sections, zeros between, and checksums. */
static void repair(unsigned char *bytes, uint64_t length)
{
    struct vbs_vbz_header header;
    uint64_t end;

    if (length < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    header.n_sections %= 16;
    header.n_bytes = length;
    end = sizeof header + header.n_sections * sizeof(struct vbs_vbz_section);
    if (end > length)
        return;
    for (uint32_t i = 0; i < header.n_sections; i++) {
        unsigned char *at = bytes + sizeof header + i * sizeof(struct vbs_vbz_section);
        struct vbs_vbz_section section;
        uint64_t left;

        memcpy(&section, at, sizeof section);
        section.offset = vbs_vbz_aligned(end);
        if (section.offset > length)
            return;
        left = length - section.offset;
        memset(bytes + end, 0, section.offset - end);
        if (section.n_bytes > left || i + 1 == header.n_sections)
            section.n_bytes = left;
        take_digest(bytes + section.offset, section.n_bytes, NULL, 0, section.digest);
        memcpy(at, &section, sizeof section);
        end = section.offset + section.n_bytes;
    }
    take_digest((const unsigned char *)&header, offsetof(struct vbs_vbz_header, digest),
                bytes + sizeof header, header.n_sections * sizeof(struct vbs_vbz_section),
                header.digest);
    memcpy(bytes, &header, sizeof header);
}

/* Gives whether all blocks are small enough to be decoded. */
static bool has_small_blocks(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_coded *coded = vbs_network_coded(network, k);
        struct vbs_coded_shape shape = {0};

        if (coded)
            vbs_coded_describe(coded, &shape);
        if (shape.block_rows * shape.block_columns > MAX_BLOCK)
            return false;
    }
    return true;
}

/* Writes a network that was read anew, and loads that. */
static const char *write_again(const struct vbs_network *network)
{
    struct vbs_layer_weights weights[MAX_WRITTEN];
    char path[] = "/dev/shm/fuzz_vbz.XXXXXX"; /* a disk would be slow */
    int file = mkstemp(path), n = 0;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    for (int k = 1; k <= network->n_layers && n < MAX_WRITTEN; k++)
        if (vbs_network_coded(network, k))
            weights[n++] = (struct vbs_layer_weights){
                .layer = k, .coded = vbs_network_coded(network, k), .any_form = true};
    if (file < 0 || n == MAX_WRITTEN) /* cannot be tried */
        status = VBS_OK;
    else
        status = vbs_network_write(&ctx, network, weights, n, path);
    if (file >= 0)
        close(file);
    unlink(path);
    return status == VBS_OK ? NULL : "a network that was read can be written";
}

const char *fuzz_read_vbz(const char *text, size_t length)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    unsigned char *bytes = malloc(length + 1);
    const char *broken = NULL;
    char path[40];
    int file;

    if (!bytes)
        return NULL;
    memcpy(bytes, text, length);
    repair(bytes, length);
    file = fuzz_memory_file(bytes, length);
    free(bytes);
    if (file >= 0) {
        enum vbs_status status = vbs_vbz_load(&ctx, fuzz_path_of(file, path), NULL, &network);

        if (status == VBS_OK && length % 8 == 0)
            broken = write_again(network);
        if (!broken && status == VBS_OK && !has_small_blocks(network))
            vbs_network_free(network);
        else if (!broken)
            broken = fuzz_end_network(&ctx, status, network);
        close(file);
    }
    return broken;
}
