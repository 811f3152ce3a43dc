/*
 * Arrays in .npy files: files of numpy are read, whatever their type, order and version; files that
 * are written equal numpy's, byte for byte; all others are refused with a line that gives the
 * reason. Files here are put together by hand from numpy's description of the format. Memory that
 * runs out and files that end anywhere leave nothing behind.
 */
#include "vbslab/npy.h"
#include "support/fault.h"
#include "support/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 1000000

/* A file in memory. */
struct file {
    char data[4096];
    size_t length;
};

static void append(struct file *file, const void *bytes, size_t n)
{
    if (n > 0)
        memcpy(file->data + file->length, bytes, n);
    file->length += n;
}

/* Makes a file of version, with this header, and with values behind it. */
static struct file make(int version, const char *header, const void *values, size_t n)
{
    size_t size = strlen(header);
    unsigned char start[12] = {0x93,
                               'N',
                               'U',
                               'M',
                               'P',
                               'Y',
                               (unsigned char)version,
                               0,
                               (unsigned char)(size & 255),
                               (unsigned char)(size >> 8)};
    struct file file = {.length = 0};

    append(&file, start, version == 1 ? 10 : 12);
    append(&file, header, size);
    append(&file, values, n);
    return file;
}

static struct file floats(const char *header, int n, const float *values)
{
    return make(1, header, values, (size_t)n * sizeof *values);
}

static enum vbs_status parse(struct vbs_ctx *ctx, const struct file *file, struct vbs_npy *npy)
{
    /* The copy ends where the file does, so that reading beyond it is noticed. */
    char *data = malloc(file->length + !file->length);
    enum vbs_status status;

    memcpy(data, file->data, file->length);
    status = vbs_npy_parse(ctx, "a.npy", data, file->length, LIMIT, npy);
    free(data);
    return status;
}

/* Checks that the file is read as an array with this shape and the values 1, 2, 3, ... */
static void reads(const char *name, const struct file *file, const char *shape)
{
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy;
    char text[80];
    bool counts = true;

    if (!ok(parse(&ctx, file, &npy) == VBS_OK, "%s", name)) {
        printf("# %s\n", ctx.detail);
        return;
    }
    is_str(vbs_npy_shape(npy.n_dims, npy.dim, text, sizeof text), shape, "its shape");
    for (int64_t i = 0; i < npy.n_values; i++)
        counts = counts && npy.values[i] == (float)(i + 1);
    ok(counts, "its values, in C order");
    vbs_npy_clear(&npy);
}

static void refuses_file(const char *name, const struct file *file, const char *part)
{
    struct vbs_npy npy = {.n_dims = 77};
    struct vbs_ctx ctx = {0};
    enum vbs_status status = parse(&ctx, file, &npy);

    if (!ok(status == VBS_FORMAT && npy.n_dims == 77 && strstr(ctx.detail, part), "refused: %s",
            name))
        printf("# %d: %s\n", (int)status, ctx.detail);
}

/* Checks that six floats behind this header are refused, with this part in the line. */
static void refuses(const char *header, const char *part)
{
    static const float SIX[6] = {1, 2, 3, 4, 5, 6};
    struct file file = floats(header, 6, SIX);

    refuses_file(header, &file, part);
}

/* ---- What numpy writes ---- */

static void every_type_and_order_is_read(void)
{
    static const float VALUES[6] = {1, 2, 3, 4, 5, 6}, TURNED[6] = {1, 4, 2, 5, 3, 6};
    static const double WIDE[6] = {1, 2, 3, 4, 5, 6};
    static const unsigned char BIG[8] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    static const unsigned char BIG_WIDE[16] = {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x40};
    static const float CUBE[24] = {1, 13, 5, 17, 9,  21, 2, 14, 6, 18, 10, 22,
                                   3, 15, 7, 19, 11, 23, 4, 16, 8, 20, 12, 24};
    struct file file;

    file = floats("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n", 6,
                  VALUES);
    reads("32-bit floats", &file, "2x3");
    file =
        make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }\n", WIDE, sizeof WIDE);
    reads("64-bit floats", &file, "6");
    file = make(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", BIG, sizeof BIG);
    reads("floats of the other byte order", &file, "2");
    file = make(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }\n", BIG_WIDE,
                sizeof BIG_WIDE);
    reads("doubles of the other byte order", &file, "2");
    file = floats("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", 6, TURNED);
    reads("Fortran order", &file, "2x3");
    file = floats("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }\n", 24, CUBE);
    reads("Fortran order of three dimensions", &file, "2x3x4");
    file = make(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", VALUES, 24);
    reads("version 2", &file, "6");
    file = make(3, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", VALUES, 24);
    reads("version 3", &file, "6");
    file = floats("{\"shape\":(6L,),\"fortran_order\":False,\"descr\":\"=f4\"}", 6, VALUES);
    reads("other quotes, another order of keys, Python 2", &file, "6");
    file = floats("{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n", 1, VALUES);
    reads("a single value", &file, "one value");
    file = floats("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 3), }\n", 0, VALUES);
    reads("no values", &file, "0x3");
}

static void doubles_are_rounded(void)
{
    static const double VALUES[3] = {0.1, 1e300, -1e-300};
    struct file file = make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n",
                            VALUES, sizeof VALUES);
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy = {0};

    ok(parse(&ctx, &file, &npy) == VBS_OK && npy.values[0] == 0.1f && isinf(npy.values[1]) &&
           npy.values[2] == 0,
       "a double becomes the nearest float");
    vbs_npy_clear(&npy);
}

static void floats_of_16_bits_are_widened(void)
{
    static const uint16_t VALUES[8] = {0x3c00, 0xc000, 0x7bff, 0x0001,
                                       0x83ff, 0x0400, 0xfc00, 0x7c01};
    static const float WANT[7] = {1, -2, 65504, 0x1p-24f, -0x1.ff8p-15f, 0x1p-14f, -INFINITY};
    struct file file = make(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (8,), }\n",
                            VALUES, sizeof VALUES);
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy = {0};

    if (!ok(parse(&ctx, &file, &npy) == VBS_OK, "floats of 16 bits are read"))
        return;
    for (int i = 0; i < 7; i++)
        ok(npy.values[i] == WANT[i], "%04x is %g", VALUES[i], (double)WANT[i]);
    ok(isnan(npy.values[7]), "7c01 is no number");
    vbs_npy_clear(&npy);
}

/* Checks that `count` values of a type become these floats. */
static void check_wholes(const char *type, const void *values, size_t size, const float *want,
                         int count)
{
    char header[100];
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy = {0};
    struct file file;
    bool same;

    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }\n",
             type, count);
    file = make(1, header, values, size);
    same = parse(&ctx, &file, &npy) == VBS_OK && npy.n_values == count &&
           memcmp(npy.values, want, (size_t)count * sizeof *want) == 0;
    ok(same, "values of type %s become floats", type);
    vbs_npy_clear(&npy);
}

static void whole_numbers_become_floats(void)
{
    static const signed char I1[] = {-128, 0, 127};
    static const unsigned char U1[] = {0, 1, 255}, B1[] = {0, 1, 2};
    static const int16_t I2[] = {-32768, 32767};
    static const uint16_t U2[] = {65535, 0};
    static const int32_t I4[] = {-16777216, 16777216};
    static const uint32_t U4[] = {16777216, 7};
    static const int64_t I8[] = {-16777216, -1, 16777216};
    static const uint64_t U8[] = {16777216};
    static const unsigned char BIG[] = {0, 0, 1, 0, 255, 255, 255, 254};

    check_wholes("|i1", I1, sizeof I1, (const float[]){-128, 0, 127}, 3);
    check_wholes("|u1", U1, sizeof U1, (const float[]){0, 1, 255}, 3);
    check_wholes("|b1", B1, sizeof B1, (const float[]){0, 1, 1}, 3);
    check_wholes("<i2", I2, sizeof I2, (const float[]){-32768, 32767}, 2);
    check_wholes("<u2", U2, sizeof U2, (const float[]){65535, 0}, 2);
    check_wholes("<i4", I4, sizeof I4, (const float[]){-16777216, 16777216}, 2);
    check_wholes("<u4", U4, sizeof U4, (const float[]){16777216, 7}, 2);
    check_wholes("<i8", I8, sizeof I8, (const float[]){-16777216, -1, 16777216}, 3);
    check_wholes("<u8", U8, sizeof U8, (const float[]){16777216}, 1);
    check_wholes(">i4", BIG, sizeof BIG, (const float[]){256, -2}, 2);
}

static void check_too_large(const char *type, const void *value, size_t size, const char *named)
{
    char header[100];
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy = {0};
    struct file file;

    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }\n",
             type);
    file = make(1, header, value, size);
    ok(parse(&ctx, &file, &npy) == VBS_FORMAT && strstr(vbs_detail(&ctx), named),
       "%s of type %s is refused", named, type);
}

static void whole_numbers_that_no_float_holds_are_refused(void)
{
    static const int32_t I4 = 16777217;
    static const int64_t I8 = INT64_MIN;
    static const uint64_t U8 = UINT64_MAX;

    check_too_large("<i4", &I4, sizeof I4, "16777217");
    check_too_large("<i8", &I8, sizeof I8, "-9223372036854775808");
    check_too_large("<u8", &U8, sizeof U8, "9223372036854775807");
}

/* ---- What it refuses ---- */

static void other_types_are_named(void)
{
    refuses("{'descr': '<u3', 'fortran_order': False, 'shape': (6,), }",
            "holds values of type '<u3'; wanted are 32-bit floats ('<f4'), as "
            "array.astype('float32') makes them");
    refuses("{'descr': '|i8', 'fortran_order': False, 'shape': (6,), }", "'|i8'");
    refuses("{'descr': '<f1', 'fortran_order': False, 'shape': (6,), }", "'<f1'");
    refuses("{'descr': '<c8', 'fortran_order': False, 'shape': (6,), }", "'<c8'");
    refuses("{'descr': '|O', 'fortran_order': False, 'shape': (6,), }", "'|O'");
    refuses("{'descr': '', 'fortran_order': False, 'shape': (6,), }", "type ''");
    refuses("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,), }",
            "'descr' is no plain type");
}

static void malformed_headers_are_refused(void)
{
    static const char LONG[] = "{'descr': '<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<"
                               "f4<f4<f4<f4', 'fortran_order': False, 'shape': (6,)}";

    refuses("", "it is no dictionary");
    refuses("[]", "it is no dictionary");
    refuses("{}", "is missing");
    refuses("{'descr': '<f4', 'shape': (6,)}", "is missing");
    refuses("{'descr': '<f4', 'fortran_order': False}", "is missing");
    refuses("{'fortran_order': False, 'shape': (6,)}", "is missing");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", "unknown");
    refuses("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", "twice");
    refuses("{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", "no comma between entries");
    refuses("{'descr' '<f4', 'fortran_order': False, 'shape': (6,)}", "not KEY: VALUE");
    refuses("{'descr': '<f4', 'fortran_order': 1, 'shape': (6,)}", "neither True nor False");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': 6}", "'shape' is no tuple");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", "'shape' is no tuple");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "'shape' is no tuple");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3)}", "'shape' is no tuple");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "'shape' is no tuple");
    refuses(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
        "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6)}",
        "at most 32 sizes");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} + {}", "something follows");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", "no comma");
    refuses("{'descr': '<f4", "'descr' is no plain type");
    refuses(LONG, "'descr' is no plain type");
}

static void sizes_that_cannot_be_are_refused(void)
{
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}",
            "24 bytes of values; shape 7 of '<f4' has 28");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
            "24 bytes of values; shape 5 of '<f4' has 20");
    refuses("{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}", "has 48");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1000001,)}",
            "shape 1000001 is more than the 1000000 values that can be of use");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3037000500, 3037000500, 4)}",
            "more than");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
            "more than");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0)}",
            "has 0");
}

static void other_files_are_refused(void)
{
    static const float SIX[6] = {1, 2, 3, 4, 5, 6};
    struct file whole =
        floats("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }\n", 6, SIX);
    struct file file = whole;
    int n_refused = 0;

    file.data[0] = 'P';
    refuses_file("a zip file", &file, "does not begin as one");
    file = whole;
    file.data[6] = 4;
    refuses_file("version 4", &file, ".npy version 4; known are 1 to 3");
    file.data[6] = 2;
    refuses_file("a header of a gigabyte", &file, "the file ends in it");
    for (file = whole; file.length > 0;) {
        struct vbs_ctx ctx = {0};
        struct vbs_npy npy;

        file.length--;
        n_refused += parse(&ctx, &file, &npy) == VBS_FORMAT;
    }
    is_int(n_refused, (int64_t)whole.length, "a file that is cut off anywhere");
}

/* ---- Files ---- */

/* Compares with the bytes that numpy 1.24 writes for np.arange(1, 7, dtype='f4').reshape(shape). */
static void writes_what_numpy_writes(int n_dims, const int64_t *dim, const char *shape)
{
    static const float VALUES[6] = {1, 2, 3, 4, 5, 6};
    struct vbs_ctx ctx = {0};
    char header[119], data[512];
    struct file want;
    size_t length = 0;
    FILE *file;

    memset(header, ' ', sizeof header);
    length = (size_t)snprintf(header, sizeof header,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    header[length] = ' ';
    header[117] = '\n';
    header[118] = '\0';
    length = 0;
    want = floats(header, 6, VALUES);
    ok(vbs_npy_write(&ctx, "t_npy.npy", n_dims, dim, VALUES) == VBS_OK, "%s is written", shape);
    file = fopen("t_npy.npy", "rb");
    if (file) {
        length = fread(data, 1, sizeof data, file);
        fclose(file);
    }
    ok(length == want.length && memcmp(data, want.data, length) == 0, "as numpy writes it");
    unlink("t_npy.npy");
}

static void files_are_written_and_read(void)
{
    static const float VALUES[4] = {0.1f, -INFINITY, 1e-45f, 3};
    const int64_t dim[3] = {2, 1, 2};
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy = {0};

    ok(vbs_npy_write(&ctx, "t_npy.npy", 3, dim, VALUES) == VBS_OK &&
           vbs_npy_read(&ctx, "t_npy.npy", 4, &npy) == VBS_OK,
       "what is written is read");
    ok(npy.n_dims == 3 && memcmp(npy.dim, dim, sizeof dim) == 0 &&
           memcmp(npy.values, VALUES, sizeof VALUES) == 0,
       "to the bit");
    vbs_npy_clear(&npy);
    ok(vbs_npy_read(&ctx, "t_npy.npy", 3, &npy) == VBS_FORMAT && !npy.values,
       "more than is wanted is refused");
    unlink("t_npy.npy");
    ok(vbs_npy_read(&ctx, "t_npy.npy", 4, &npy) == VBS_IO && strstr(ctx.detail, "t_npy.npy"),
       "a file that is not there");
    ok(vbs_npy_write(&ctx, "no/t_npy.npy", 3, dim, VALUES) == VBS_IO, "a folder that is not there");
}

static void shapes_that_cannot_be_are_not_written(void)
{
    struct vbs_ctx ctx = {0};
    const int64_t dim[VBS_NPY_MAX_DIMS + 1] = {2, -1};

    ok(vbs_npy_write(&ctx, "t_npy.npy", 2, dim, NULL) == VBS_USAGE, "a dimension below 0: %s",
       vbs_detail(&ctx));
    ok(vbs_npy_write(&ctx, "t_npy.npy", VBS_NPY_MAX_DIMS + 1, dim, NULL) == VBS_USAGE,
       "too many dimensions: %s", vbs_detail(&ctx));
    ok(vbs_npy_write(&ctx, "t_npy.npy", -1, dim, NULL) == VBS_USAGE, "fewer than none: %s",
       vbs_detail(&ctx));
}

/* ---- Shapes without values ---- */

/* Writes a file with this header, whose values take n bytes, all of them 0, which no file system
 * stores. Returns whether there can be such a file. */
static bool write_sparse(const char *header, int64_t n)
{
    struct file file = make(1, header, NULL, 0);
    FILE *out = fopen("t_npy.npy", "wb");
    bool written = out && fwrite(file.data, 1, file.length, out) == file.length &&
                   fflush(out) == 0 && ftruncate(fileno(out), (off_t)file.length + n) == 0;

    if (out)
        fclose(out);
    return written;
}

static void shapes_are_read_without_values(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy = {.values = NULL};
    const int64_t n = (int64_t)1 << 40;

    if (write_sparse("{'descr': '<i8', 'fortran_order': True, 'shape': (1024, 134217728)}", n)) {
        ok(vbs_npy_read_shape(&ctx, "t_npy.npy", INT64_MAX, &npy) == VBS_OK && npy.n_dims == 2 &&
               npy.dim[0] == 1024 && npy.dim[1] == 134217728 && npy.n_values == n / 8 &&
               !npy.values,
           "the shape of a file of a tebibyte is read: %s", vbs_detail(&ctx));
        ok(vbs_npy_read_shape(&ctx, "t_npy.npy", n / 8 - 1, &npy) == VBS_FORMAT &&
               strstr(vbs_detail(&ctx), "more than"),
           "more values than are wanted are refused");
    } else {
        skip("the shape of a file of a tebibyte is read", "the file system has no such files");
        skip("more values than are wanted are refused", "the file system has no such files");
    }
    unlink("t_npy.npy");
}

static void shapes_of_faulty_files_are_refused(void)
{
    static const char HEADER[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}";
    static const struct {
        const char *header, *part;
        int n;
    } FAULTS[] = {{HEADER, "20 bytes of values", 20},
                  {HEADER, "28 bytes of values", 28},
                  {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3)}", "type '<c8'", 48},
                  {"{'descr': '<f4', 'shape': (2, 3)}", "is missing", 24}};

    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_npy npy = {.n_dims = 77};

        ok(write_sparse(FAULTS[i].header, FAULTS[i].n) &&
               vbs_npy_read_shape(&ctx, "t_npy.npy", LIMIT, &npy) == VBS_FORMAT &&
               strstr(vbs_detail(&ctx), FAULTS[i].part) && npy.n_dims == 77,
           "the shape of a faulty file is refused: %s", vbs_detail(&ctx));
    }
    unlink("t_npy.npy");
}

/* The read ends of pipes would lose what is read, and opening one without a writer would never
 * return. */
static void pipes_are_left_alone(void)
{
    static const char *const PATHS[] = {"t_pipe", "-", "/dev/null"};
    struct vbs_npy npy = {.n_dims = 77};
    struct vbs_ctx ctx = {0};

    if (mkfifo("t_pipe", 0600) != 0)
        return;
    for (int i = 0; i < 3; i++)
        ok(vbs_npy_read_shape(&ctx, PATHS[i], LIMIT, &npy) == VBS_UNSUPPORTED && npy.n_dims == 77,
           "nothing is read of '%s': %s", PATHS[i], vbs_detail(&ctx));
    unlink("t_pipe");
    ok(vbs_npy_read_shape(&ctx, "t_pipe", LIMIT, &npy) == VBS_IO, "no file: %s", vbs_detail(&ctx));
}

static enum vbs_status write_and_read(struct vbs_ctx *ctx)
{
    static const float VALUES[4] = {1, 2, 3, 4};
    const int64_t dim[2] = {2, 2};
    struct vbs_npy npy = {0};
    enum vbs_status status = vbs_npy_write(ctx, "t_npy.npy", 2, dim, VALUES);

    if (status == VBS_OK)
        status = vbs_npy_read_shape(ctx, "t_npy.npy", LIMIT, &npy);
    if (status == VBS_OK)
        status = vbs_npy_read(ctx, "t_npy.npy", LIMIT, &npy);
    vbs_npy_clear(&npy);
    unlink("t_npy.npy");
    return status;
}

static void memory_runs_out(void)
{
    enum vbs_status status;
    int n_faults = 0, n_wrong = 0;

    do {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n_faults + 1};
        status = write_and_read(&ctx);
        allocation_faults.countdown = 0;
        n_faults += allocation_faults.hit;
        n_wrong += allocation_faults.hit && status != VBS_NO_MEMORY && status != VBS_OK;
    } while (allocation_faults.hit);
    ok(n_faults > 2 && n_wrong == 0 && status == VBS_OK, "%d allocations, each fails once",
       n_faults);
}

int main(void)
{
    char folder[] = "/tmp/t_npy-XXXXXX";

    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    every_type_and_order_is_read();
    doubles_are_rounded();
    floats_of_16_bits_are_widened();
    whole_numbers_become_floats();
    whole_numbers_that_no_float_holds_are_refused();
    other_types_are_named();
    malformed_headers_are_refused();
    sizes_that_cannot_be_are_refused();
    other_files_are_refused();
    writes_what_numpy_writes(1, (const int64_t[]){6}, "(6,)");
    writes_what_numpy_writes(2, (const int64_t[]){2, 3}, "(2, 3)");
    writes_what_numpy_writes(3, (const int64_t[]){1, 6, 1}, "(1, 6, 1)");
    files_are_written_and_read();
    shapes_that_cannot_be_are_not_written();
    shapes_are_read_without_values();
    shapes_of_faulty_files_are_refused();
    pipes_are_left_alone();
    memory_runs_out();
    if (chdir("/") != 0 || rmdir(folder) != 0)
        return 1;
    return done_testing();
}
