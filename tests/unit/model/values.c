/*
 * Values of parameters are read from where files keep them: of every element type, and any range
 * of them in another order than they are stored, from memory and from files.
 */
#include "model/network/values.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define N_STORED 40000 /* elements of the file; values of element i is 3 i + 1 */

static void fill(float *stored)
{
    for (int i = 0; i < N_STORED; i++)
        stored[i] = (float)(3 * i + 1);
}

static bool write_file(const char *path, int64_t skip, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    bool written =
        file && fseek(file, skip, SEEK_SET) == 0 && fwrite(data, 1, bytes, file) == bytes;

    return (!file || fclose(file) == 0) && written;
}

/* Gives where value i is stored, digit by digit. */
static int64_t stored_at(const struct vbs_values *v, int64_t i)
{
    int64_t at = 0;

    for (int d = v->n_dims - 1; d >= 0; d--) {
        at += i % v->dim[d] * v->stride[d];
        i /= v->dim[d];
    }
    return at;
}

static int64_t wrong_values(const struct vbs_source *source, const struct vbs_values *v,
                            int64_t first, int64_t count)
{
    float *got = malloc((size_t)count * sizeof *got);
    struct vbs_ctx ctx = {0};
    int64_t wrong = 0;

    if (!got || vbs_values_read(&ctx, source, v, first, count, got) != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        wrong = count;
    }
    for (int64_t i = 0; wrong < count && i < count; i++)
        wrong += got[i] != (float)(3 * stored_at(v, first + i) + 1);
    free(got);
    return wrong;
}

static const struct {
    const char *name;
    struct vbs_values values;
} ORDERS[] = {
    {"a transposed matrix", {.n_dims = 2, .dim = {200, 200}, .stride = {1, 200}}},
    {"a wide transposed matrix", {.n_dims = 2, .dim = {20000, 2}, .stride = {1, 20000}}},
    {"a tall transposed matrix", {.n_dims = 2, .dim = {2, 20000}, .stride = {1, 2}}},
    {"channels last", {.n_dims = 4, .dim = {40, 25, 8, 5}, .stride = {1, 40, 5000, 1000}}},
    {"every third column", {.n_dims = 2, .dim = {100, 133}, .stride = {400, 3}}},
    {"a repeated row", {.n_dims = 3, .dim = {3, 5, 1000}, .stride = {0, 1000, 1}}},
    {"a repeated column", {.n_dims = 2, .dim = {1000, 7}, .stride = {1, 0}}},
    {"far apart", {.n_dims = 3, .dim = {2, 3, 4}, .stride = {1, 12000, 3000}}},
    {"single values", {.n_dims = 3, .dim = {1, 1, 1}, .stride = {9, 9, 9}}},
};

static int64_t count_of(const struct vbs_values *v)
{
    int64_t count = 1;

    for (int d = 0; d < v->n_dims; d++)
        count *= v->dim[d];
    return count;
}

static void check_orders(struct vbs_source *source, const char *where, struct vbs_values base)
{
    for (size_t k = 0; k < sizeof ORDERS / sizeof ORDERS[0]; k++) {
        struct vbs_values v = ORDERS[k].values;
        int64_t count = count_of(&v), wrong = 0;
        unsigned seed = 7;

        v.file = base.file;
        v.memory = base.memory;
        v.offset = base.offset;
        v.count = count;
        v.name = "w";
        wrong = wrong_values(source, &v, 0, count);
        for (int i = 0; i < 40; i++) {
            int64_t first = (seed = seed * 1103515245 + 12345) / 65536 % count;
            int64_t n = 1 + (seed = seed * 1103515245 + 12345) / 65536 % (count - first);

            wrong += wrong_values(source, &v, first, n);
        }
        ok(wrong == 0, "%s in %s: %lld values and any range of them", ORDERS[k].name, where,
           (long long)count);
    }
}

static void check_elements(struct vbs_source *source)
{
    static const struct {
        enum vbs_element element;
        const char *bytes;
        float values[2];
    } CASES[] = {
        {VBS_F32, "\0\0\x80\x3f\0\0\0\xc0", {1, -2}},
        {VBS_F64, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", {1, -2}},
        {VBS_F16, "\0\x3c\x01\x80", {1, -0x1p-24f}},
        {VBS_BF16, "\x80\x3f\0\xc0", {1, -2}},
        {VBS_I8, "\x01\xfe", {1, -2}},
        {VBS_U8, "\x01\xfe", {1, 254}},
        {VBS_I16, "\x01\0\xfe\xff", {1, -2}},
        {VBS_U16, "\x01\0\xfe\xff", {1, 65534}},
        {VBS_I32, "\x01\0\0\0\xfe\xff\xff\xff", {1, -2}},
        {VBS_U32, "\x01\0\0\0\xff\xff\xff\xff", {1, 4294967295.0f}},
        {VBS_U64, "\x01\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", {1, 0x1p64f}},
        {VBS_I64, "\x01\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", {1, -2}},
    };
    struct vbs_ctx ctx = {0};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_values v = {
            .name = "w", .element = CASES[i].element, .count = 2, .memory = CASES[i].bytes};
        float got[2] = {0};

        ok(vbs_values_read(&ctx, source, &v, 0, 2, got) == VBS_OK && got[0] == CASES[i].values[0] &&
               got[1] == CASES[i].values[1],
           "element type %d of %d bytes", (int)v.element, vbs_element_bits(v.element) / 8);
    }
}

/* Gives the value that element i of 24 numbers of 4 bits, i * 7 % 16, stands for. */
static float stands_for(const struct vbs_grid *grid, int64_t i)
{
    int64_t p = i / grid->run % grid->extent;
    int64_t own = i / (grid->run * grid->extent) * grid->outer_step +
                  p / grid->block * grid->block_step + i % grid->run * grid->inner_step;

    return ((float)(i * 7 % 16) - (grid->zeros ? grid->zeros[own] : 0)) * grid->scales[own];
}

/* Reads every range of 24 numbers of 4 bits, of which the first `skipped` belong to no value, by
 * grids of several kinds. */
static void check_grids(struct vbs_source *source, const char *where, struct vbs_values v)
{
    static const float scales[] = {0.5f, -2, 0.25f, 3, 1, 7, 0.125f, 5, 9, 11, 13, 17};
    static const float zeros[] = {8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13};
    static const struct vbs_grid GRIDS[] = {
        {24, 1, 1, 0, 0, 0, scales, NULL, 0}, {4, 3, 1, 0, 1, 0, scales, zeros, 0},
        {1, 6, 1, 0, 1, 0, scales, zeros, 0}, {2, 6, 4, 4, 2, 1, scales, zeros, 0},
        {3, 8, 1, 0, 1, 0, scales, zeros, 0}, {3, 4, 4, 3, 0, 1, scales, zeros, 0}};
    struct vbs_ctx ctx = {0};

    for (size_t k = 0; k < sizeof GRIDS / sizeof GRIDS[0]; k++) {
        int wrong = 0;

        v.grid = &GRIDS[k];
        v.name = "w";
        v.element = VBS_U4;
        for (int skipped = 0; skipped < 4; skipped++)
            for (int first = 0; first < 24 - skipped; first++)
                for (int n = 1; first + n <= 24 - skipped; n++) {
                    float got[24];

                    v.first = skipped;
                    v.count = 24 - skipped;
                    if (vbs_values_read(&ctx, source, &v, first, n, got) != VBS_OK) {
                        wrong++;
                        continue;
                    }
                    for (int i = 0; i < n; i++)
                        wrong += got[i] != stands_for(v.grid, skipped + first + i);
                }
        ok(wrong == 0, "numbers of 4 bits in %s by grid %zu", where, k);
    }
}

static void check_four_bits(void)
{
    unsigned char pairs[12];
    char path[] = "/tmp/t_model_nibbles.XXXXXX";
    struct vbs_source *source = vbs_source_new();
    struct vbs_ctx ctx = {0};
    struct vbs_values v;
    float got[2];
    int made = mkstemp(path), file = -1;
    int64_t bytes = 0;

    for (int i = 0; i < 12; i++)
        pairs[i] = (unsigned char)(2 * i * 7 % 16 | (2 * i + 1) * 7 % 16 << 4);
    v = (struct vbs_values){.memory = pairs, .file = -1};
    check_grids(source, "memory", v);
    ok(made >= 0 && write_file(path, 9, pairs, sizeof pairs) &&
           vbs_source_open(&ctx, source, path, &file, &bytes) == VBS_OK,
       "a file of numbers of 4 bits");
    v = (struct vbs_values){.file = file, .offset = 9};
    check_grids(source, "a file", v);
    v = (struct vbs_values){
        .name = "w", .element = VBS_I4, .count = 2, .memory = pairs, .file = -1, .first = 1};
    ok(vbs_values_read(&ctx, source, &v, 0, 2, got) == VBS_OK && got[0] == 7 && got[1] == -2,
       "numbers of 4 bits with a sign");
    v = (struct vbs_values){
        .element = VBS_U4, .count = 4, .file = file, .offset = 9, .first = 3, .n_dims = 0};
    ok(vbs_values_extent(&v).offset == 10 && vbs_values_extent(&v).bytes == 3,
       "elements 3 to 6 are in bytes 1 to 3");
    vbs_source_free(source);
    close(made);
    unlink(path);
}

static void check_refusals(struct vbs_source *source, const char *path)
{
    static const float odd[] = {1, NAN, INFINITY};
    struct vbs_values v = {.name = "conv1.weight", .count = 3, .memory = odd};
    struct vbs_ctx ctx = {0};
    int64_t bytes;
    float got[4];
    int file;

    ok(vbs_values_read(&ctx, source, &v, 0, 1, got) == VBS_OK, "values before a NaN are read");
    ok(vbs_values_read(&ctx, source, &v, 0, 2, got) == VBS_FORMAT, "a NaN is refused");
    is_str(vbs_detail(&ctx), "parameter 'conv1.weight': value 1 is no number", "and named");
    ok(vbs_values_read(&ctx, source, &v, 2, 1, got) == VBS_FORMAT, "so is infinity");
    ok(vbs_source_open(&ctx, source, "/nonexistent/w", &file, &bytes) == VBS_IO,
       "a file that is not there");
    ok(vbs_source_open(&ctx, source, "/", &file, &bytes) == VBS_IO, "a folder is no file");
    ok(vbs_source_open(&ctx, source, path, &file, &bytes) == VBS_OK, "the file again");
    v = (struct vbs_values){.name = "w", .count = 4, .file = file, .offset = bytes - 8};
    ok(vbs_values_read(&ctx, source, &v, 0, 4, got) == VBS_IO, "a file that ends too early");
}

int main(void)
{
    static float stored[N_STORED];
    struct vbs_source *source = vbs_source_new();
    struct vbs_ctx ctx = {0};
    char path[] = "/tmp/t_model_values.XXXXXX";
    int made = mkstemp(path), file = -1, again = -1;
    int64_t bytes = 0;

    fill(stored);
    ok(source && made >= 0 && write_file(path, 100, stored, sizeof stored) &&
           vbs_source_open(&ctx, source, path, &file, &bytes) == VBS_OK &&
           bytes == 100 + (int64_t)sizeof stored,
       "a file is opened");
    ok(vbs_source_open(&ctx, source, path, &again, &bytes) == VBS_OK && again == file, "once");
    check_orders(source, "memory", (struct vbs_values){.memory = stored, .file = -1});
    check_orders(source, "a file", (struct vbs_values){.file = file, .offset = 100});
    check_elements(source);
    check_four_bits();
    check_refusals(source, path);
    vbs_source_free(source);
    close(made);
    unlink(path);
    return done_testing();
}
