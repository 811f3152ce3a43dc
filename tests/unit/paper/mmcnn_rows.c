/*
 * The accounting of mmCNN: Table 4 of its paper, the numbers that its text gives of other networks,
 * limits at breakpoints, and random chains against a reference that finds every number by trying.
 */
#include "support/fault.h"
#include "cases/random_profile.h"
#include "support/tally.h"
#include "support/tap.h"
#include "vbslab/mmcnn.h"
#include "vbslab/units.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>

#define MiB ((int64_t)1 << 20)

static struct vbs_network *load(const char *model)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;

    if (vbs_network_load(&ctx, model, NULL, &network) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return network;
}

static struct vbs_network *parse(const char *text)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;

    if (vbs_network_parse(&ctx, "t.net", text, strlen(text), NULL, &network) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return network;
}

/* Makes a table. Null, with the reason as a comment, where there is none. */
static struct vbs_mmcnn_table *tabulate(const struct vbs_network *network, int64_t limit_bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_mmcnn_table *table = NULL;

    if (!network || vbs_mmcnn_table_new(&ctx, network, limit_bytes, &table) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return table;
}

static const struct vbs_mmcnn_row *find(const struct vbs_mmcnn_table *table, const char *name)
{
    static const struct vbs_mmcnn_row none = {.name = "", .map_slices = 1, .weight_slices = 1};

    for (int i = 0; table && i < table->n_rows; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return &none;
}

/* ---- The paper ---- */

#define N_LIMITS 5
static const int64_t LIMITS[N_LIMITS] = {200 * MiB, 100 * MiB, 50 * MiB, 10 * MiB, 5 * MiB};

/* Table 4 in hundredths, the bold rows with a column for each limit. */
static const int TABLE_4[][N_LIMITS] = {
    {72, 72, 72, 72, 72},      {170, 170, 170, 170, 170}, {228, 228, 228, 228, 228},
    {222, 222, 222, 222, 222}, {137, 137, 137, 137, 137}, {98, 98, 98, 98, 98},
    {409, 409, 409, 409, 409}, {142, 142, 142, 142, 142}, {88, 88, 88, 88, 88},
    {41, 41, 41, 41, 41},      {278, 278, 278, 278, 278}, {50, 50, 50, 50, 50},
    {194, 194, 194, 194, 194}, {41, 41, 41, 41, 41},      {14418, 7217, 4817, 17, 17},
    {20, 20, 20, 20, 20},      {5, 5, 5, 965, 485},       {6403, 6403, 3202, 2, 2},
    {3, 3, 3, 918, 496},       {16, 16, 16, 16, 16},      {2, 2, 2, 2, 2},
};
#define N_PAPER_ROWS ((int)(sizeof TABLE_4 / sizeof TABLE_4[0]))
#define ROW_20       19 /* ReLU of fc7: 0.16 with fewer classes than 1000 */

static void test_table_4(void)
{
    struct vbs_network *network = load("alexnet");

    for (int l = 0; l < N_LIMITS; l++) {
        struct vbs_mmcnn_table *table = tabulate(network, LIMITS[l]);
        int n_rows = table ? table->n_rows : 0, n_wrong = 0;

        for (int i = 0; i < n_rows && i < N_PAPER_ROWS; i++) {
            int64_t ours = vbs_mmcnn_hundredths(&table->rows[i]);

            if (i == ROW_20 || ours == TABLE_4[i][l])
                continue;
            n_wrong++;
            printf("# row %d: %lld, not %d\n", i + 1, (long long)ours, TABLE_4[i][l]);
        }
        ok(n_rows == N_PAPER_ROWS && n_wrong == 0,
           "AlexNet in %d MiB is that of Table 4 to the digit, row 20 excepted",
           (int)(LIMITS[l] / MiB));
        vbs_mmcnn_table_free(table);
    }
    vbs_network_free(network);
}

/* AlexNet's row 20 with nine classes is the paper's at every limit. */
static void test_row_20(void)
{
    const char *text = vbs_model_text(0), *classes = strstr(text, "out=1000");
    char nine[VBS_MAX_NAME * 16];
    struct vbs_network *network;
    bool same = true;

    snprintf(nine, sizeof nine, "%.*sout=9%s", (int)(classes - text), text, classes + 8);
    network = parse(nine);
    for (int l = 0; l < N_LIMITS; l++) {
        struct vbs_mmcnn_table *table = tabulate(network, LIMITS[l]);

        same = same && vbs_mmcnn_hundredths(find(table, "relu7")) == TABLE_4[ROW_20][l];
        vbs_mmcnn_table_free(table);
    }
    ok(same, "row 20 is the paper's with nine classes");
    vbs_network_free(network);
}

static int64_t self_number(const char *model, const char *row, int64_t limit_bytes)
{
    struct vbs_network *network = load(model);
    struct vbs_mmcnn_table *table = tabulate(network, limit_bytes);
    int64_t number = find(table, row)->self_number;

    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
    return number;
}

static void test_text(void)
{
    is_int(self_number("vgg-19", "fc6", 10 * MiB), 40, "VGG-19 runs fc6 in 40 parts in 10 MiB");
    is_int(self_number("vgg-19", "fc6", 5 * MiB), 81, "and in 81 in 5 MiB");
    is_int(self_number("vgg-s", "fc6", 10 * MiB), 30, "VGG-S in 30");
    is_int(self_number("vgg-s", "fc6", 5 * MiB), 59, "and in 59");
    is_int(self_number("alexnet", "fc6", 10 * MiB), 15, "AlexNet in fewer, 15");
    is_int(self_number("alexnet", "fc6", 5 * MiB), 30, "and 30");
}

/* Compares a whole table with the expected one, "layer:sn:cn:hundredths" between spaces. */
static void is_table(const char *text, int64_t limit_bytes, const char *expected, const char *name)
{
    struct vbs_network *network = parse(text);
    struct vbs_mmcnn_table *table = tabulate(network, limit_bytes);
    char got[1024] = "";

    for (int i = 0; table && i < table->n_rows; i++) {
        const struct vbs_mmcnn_row *row = &table->rows[i];
        size_t length = strlen(got);

        snprintf(got + length, sizeof got - length, "%s%s:%lld:%lld:%lld", i ? " " : "", row->name,
                 (long long)row->self_number, (long long)row->conv_number,
                 (long long)vbs_mmcnn_hundredths(row));
    }
    is_str(got, expected, name);
    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
}

static void test_rows(void)
{
    is_table("model m\ninput 1x512x512\nconv c out=1 kernel=1\nbatchnorm b\nscale s\nrelu r\n"
             "lrn n size=3 alpha=1 beta=1\nfc f out=1\ndropout d\nrelu q\nsoftmax p\n",
             8 * MiB, "data:1:1:100 c:1:0:200 r:1:1:200 n:1:0:200 f:1:0:100 q:1:0:0",
             "rows are data, layers and ReLUs; batchnorm, scale, dropout and softmax have none");
    is_table(
        "model m\ninput 1x512x512\nrelu r\nconv c out=1 kernel=1\nmaxpool p kernel=2 stride=2\n",
        MiB, "data:1:0:100 r:2:0:100 c:3:0:67 p:2:0:63",
        "a ReLU of its own is not in place; the part of a row behind the last conv");
    is_table("model m\ninput 32768\nfc f out=1\n", 4 * MiB, "data:1:1:25 f:1:0:13",
             "halves of a hundredth are rounded up, what is less down");
}
/* One fc: data 16 bytes, maps 32 bytes, weights 80 bytes. */
#define FC "model m\ninput 4\nfc f out=4\n"

static void is_split(int64_t limit_bytes, int64_t cn, int64_t sn, int64_t map_slices)
{
    struct vbs_network *network = parse(FC);
    struct vbs_mmcnn_table *table = tabulate(network, limit_bytes);
    const struct vbs_mmcnn_row *data = find(table, "data"), *fc = find(table, "f");

    if (!ok(data->conv_number == cn && fc->conv_number == 0 && fc->self_number == sn &&
                fc->map_slices == map_slices,
            "in %lld bytes cn %lld, sn %lld, sm %lld", (long long)limit_bytes, (long long)cn,
            (long long)sn, (long long)map_slices))
        printf("# got %lld, %lld, %lld\n", (long long)data->conv_number, (long long)fc->self_number,
               (long long)fc->map_slices);
    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
}

/* Checks the limits at which a number changes, and one byte below. */
static void test_breakpoints(void)
{
    is_split(VBS_MAX_BYTES, 1, 1, 1);
    is_split(112, 1, 1, 1);
    is_split(111, 2, 2, 1);
    is_split(72, 2, 2, 1);
    is_split(71, 3, 3, 1);
    is_split(48, 5, 5, 1); /* w / free = pn_max */
    is_split(47, 0, 6, 1);
    is_split(33, 0, 80, 1); /* one byte beside the maps */
    is_split(32, 0, 5, 2);  /* none: the maps are divided once more */
    is_split(31, 0, 6, 2);  /* 16 beside 15: 5.33 parts */
    is_split(16, 0, 15, 3); /* 32 / 2 leaves none; 80 / 5.33 parts */
    is_split(1, 0, 2640, 33);
}

/* A conv right behind another is its segment's head too. */
static void test_lone_conv(void)
{
    struct vbs_network *network = parse(FC "fc g out=4\n");
    struct vbs_mmcnn_table *table = tabulate(network, 52);
    const struct vbs_mmcnn_row *lone = find(table, "g");

    ok(lone->conv_number == 4 && lone->self_number == 4 && lone->weight_bytes == 80 &&
           lone->weight_slices == 4,
       "a conv alone in its segment prefetches for itself");
    vbs_mmcnn_table_free(table);
    table = tabulate(network, 47);
    lone = find(table, "g");
    ok(lone->conv_number == 0 && lone->self_number == 6 && lone->weight_slices == 6,
       "or comes in parts");
    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
}

/* Groups divide the weights; the layer's own batchnorm and scale belong to them. */
static void test_weights(void)
{
    struct vbs_network *network = parse("model m\ninput 8x4x4\nconv c out=6 kernel=3 groups=2\n"
                                        "batchnorm b\nscale s\n");
    struct vbs_mmcnn_table *table = tabulate(network, MiB);

    is_int(find(table, "data")->weight_bytes, 4 * (6 * 9 * 4 + 6 + 12 + 12),
           "weights with groups, bias, batchnorm and scale");
    is_int(find(table, "c")->maps_bytes, 4 * (8 * 16 + 6 * 4), "maps of a conv");
    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
}

/* ---- Refusals ---- */

static void refuses(const char *model, const char *text, int64_t limit_bytes, enum vbs_status want,
                    const char *part, const char *name)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = model ? load(model) : parse(text);
    struct vbs_mmcnn_table *untouched = (struct vbs_mmcnn_table *)&ctx, *table = untouched;
    enum vbs_status status = vbs_mmcnn_table_new(&ctx, network, limit_bytes, &table);

    if (!ok(status == want && strstr(ctx.detail, part) && table == untouched, "%s", name))
        printf("# %d: %s\n", (int)status, ctx.detail);
    vbs_network_free(network);
}

/* The input has 2^36 - 2^20 values, so that 63 bits do not count the slices of the weights. */
#define VAST "model m\ninput 1x65536x1048560\nfc f out=1\n"

static void test_refusals(void)
{
    refuses("googlenet", NULL, MiB, VBS_UNSUPPORTED,
            "'googlenet' is branched at layer 'inception_3a/3x3_reduce'", "a branched network");
    refuses("resnet-50", NULL, MiB, VBS_UNSUPPORTED, "'resnet-50' is branched at layer",
            "one with sums");
    refuses("alexnet", NULL, 0, VBS_USAGE, "a limit of 0 bytes", "no limit");
    refuses("alexnet", NULL, -1, VBS_USAGE, "a limit of -1 bytes", "less than none");
    refuses(NULL, VAST, 1, VBS_UNSUPPORTED, "layer 'f' falls into more slices than can be counted",
            "more slices than 63 bits count");
}

static void test_faults(void)
{
    struct vbs_network *network = load("alexnet");
    struct vbs_mmcnn_table *table = NULL;
    enum vbs_status status = VBS_NO_MEMORY;
    int n_faults = 0;
    bool said = true;

    while (said && status != VBS_OK) {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n_faults + 1};
        status = vbs_mmcnn_table_new(&ctx, network, MiB, &table);
        allocation_faults.countdown = 0;
        n_faults += allocation_faults.hit;
        said = status == VBS_OK || (status == VBS_NO_MEMORY && ctx.status == status && !table);
    }
    ok(said && n_faults == 2, "each of %d allocations fails once", n_faults);
    vbs_mmcnn_table_free(table);
    vbs_mmcnn_table_free(NULL);
    vbs_network_free(network);
}

/* ---- Random chains ---- */

#define MAX_CHAIN 60 /* rows */

/* A chain as a text, and the rows that it must have. */
struct chain {
    char text[8192];
    int64_t channels, side; /* side 0: [C] */
    int n_rows;
    int64_t maps[MAX_CHAIN];
    int64_t weights[MAX_CHAIN]; /* 0: no conv or fc */
    int64_t limit_bytes;
};

static int64_t map_bytes(const struct chain *chain)
{
    return 4 * chain->channels * (chain->side ? chain->side * chain->side : 1);
}

static void write_line(struct chain *chain, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_line(struct chain *chain, const char *format, ...)
{
    size_t length = strlen(chain->text);
    va_list args;

    va_start(args, format);
    vsnprintf(chain->text + length, sizeof chain->text - length, format, args);
    va_end(args);
}

static void add_row(struct chain *chain, int64_t maps, int64_t weights)
{
    chain->maps[chain->n_rows] = maps;
    chain->weights[chain->n_rows++] = weights;
}

static void add_conv(gsl_rng *rng, struct chain *chain)
{
    int64_t in_bytes = map_bytes(chain), kernel = random_once_in(rng, 2) ? 1 : 3;
    int64_t groups = random_once_in(rng, 3) ? 2 : 1, out = 2 * random_int(rng, 1, 8);
    bool bias = !random_once_in(rng, 3);

    write_line(chain, "conv r%d out=%d kernel=%d pad=%d groups=%d bias=%s\n", chain->n_rows,
               (int)out, (int)kernel, (int)(kernel / 2), (int)groups, bias ? "yes" : "no");
    add_row(chain, in_bytes, 4 * (out * chain->channels / groups * kernel * kernel + bias * out));
    chain->channels = out;
    chain->maps[chain->n_rows - 1] += map_bytes(chain);
}

static void add_fc(gsl_rng *rng, struct chain *chain)
{
    int64_t in_bytes = map_bytes(chain), out = random_int(rng, 1, 64);

    write_line(chain, "fc r%d out=%d\n", chain->n_rows, (int)out);
    chain->channels = out;
    chain->side = 0;
    add_row(chain, in_bytes + map_bytes(chain), out * (in_bytes + 4));
}

static void add_other(gsl_rng *rng, struct chain *chain)
{
    int64_t in_bytes = map_bytes(chain);

    if (chain->side % 2 == 0 && chain->side > 0 && random_once_in(rng, 2)) {
        write_line(chain, "maxpool r%d kernel=2 stride=2\n", chain->n_rows);
        chain->side /= 2;
    } else {
        write_line(chain, "lrn r%d size=3 alpha=1 beta=1\n", chain->n_rows);
    }
    add_row(chain, in_bytes + map_bytes(chain), 0);
}

/* Adds layers whose rows are fused, or that have none. */
static void add_fused(gsl_rng *rng, struct chain *chain)
{
    if (random_once_in(rng, 4))
        write_line(chain, "dropout d%d\n", chain->n_rows);
    if (!random_once_in(rng, 3)) {
        write_line(chain, "relu r%d\n", chain->n_rows);
        add_row(chain, map_bytes(chain), 0);
    }
}

static void make_chain(gsl_rng *rng, struct chain *chain)
{
    int n_layers = random_int(rng, 1, 12);

    *chain =
        (struct chain){.channels = 2 * random_int(rng, 1, 8), .side = 1 << random_int(rng, 0, 6)};
    write_line(chain, "model m\ninput %dx%dx%d\n", (int)chain->channels, (int)chain->side,
               (int)chain->side);
    add_row(chain, map_bytes(chain), 0);
    for (int i = 0; i < n_layers; i++) {
        int kind = random_int(rng, 0, 5);

        if (chain->side == 0 || kind == 0)
            add_fc(rng, chain);
        else if (kind < 3)
            add_conv(rng, chain);
        else
            add_other(rng, chain);
        add_fused(rng, chain);
    }
    /* Limits go from infeasible to ample; some are the size of some row's maps to the byte or
     * nearly so. */
    if (random_once_in(rng, 2))
        chain->limit_bytes = chain->maps[random_int(rng, 0, chain->n_rows - 1)] *
                                 random_int(rng, 1, 4) / random_int(rng, 1, 8) +
                             random_int(rng, 0, 1);
    else
        chain->limit_bytes = random_int(rng, 1, 1 << random_int(rng, 4, 22));
    if (chain->limit_bytes < 1)
        chain->limit_bytes = 1;
}

#define PROPERTY_LIST(X)                                                                           \
    X(ROWS, "rows are data, layers and ReLUs, with their maps and weights")                        \
    X(MAPS, "sm is the least number of parts of at most the limit")                                \
    X(PREFETCHES, "cn is the least of at most 5 that fits beside every row of the segment")        \
    X(HEADS, "and only heads prefetch")                                                            \
    X(DIVIDES, "a conv without prefetched weights comes in the least number of parts that fit")    \
    X(SELF, "sn is the most that maps or weights ask for")                                         \
    X(ROUNDED, "hundredths are the nearest")

enum { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };

static void describe(const void *self)
{
    const struct chain *chain = self;
    const char *line = chain->text;

    printf("in %lld bytes", (long long)chain->limit_bytes);
    for (size_t length; *line; line += length + (line[length] != '\0')) {
        length = strcspn(line, "\n");
        printf("; %.*s", (int)length, line);
    }
}

/* Gives the bytes that the limit leaves beside the row's maps, times its map_slices. */
static int64_t room(const struct chain *chain, const struct vbs_mmcnn_row *row)
{
    return chain->limit_bytes * row->map_slices - row->maps_bytes;
}

/* Gives whether 1/n of weights fits beside each of rows [head..conv] with maps divided as sm
 * requires. */
static bool all_fit(const struct chain *chain, int head, int conv, int64_t weights, int64_t parts)
{
    for (int i = head; i <= conv; i++) {
        int64_t limit = chain->limit_bytes, sm = (chain->maps[i] + limit - 1) / limit;

        if (weights * sm > parts * (limit * sm - chain->maps[i]))
            return false;
    }
    return true;
}

static void check_segment(struct tally *tally, const struct chain *chain,
                          const struct vbs_mmcnn_row *rows, int head, int conv)
{
    int64_t weights = chain->weights[conv], cn = 1, k = rows[conv].weight_slices;

    while (cn <= 5 && !all_fit(chain, head, conv, weights, cn))
        cn++;
    tally_check(tally, PREFETCHES, rows[head].conv_number == (cn <= 5 ? cn : 0));
    for (int i = head + 1; i <= conv; i++)
        tally_check(tally, HEADS, rows[i].conv_number == 0);
    if (cn <= 5) {
        tally_check(tally, ROWS,
                    rows[head].weight_bytes == weights && rows[head].weight_slices == cn &&
                        (head == conv || rows[conv].weight_bytes == 0));
        tally_check(tally, SELF,
                    rows[conv].self_number ==
                        (cn > rows[conv].map_slices ? cn : rows[conv].map_slices));
        return;
    }
    tally_check(
        tally, DIVIDES,
        rows[conv].weight_bytes == weights &&
            weights * rows[conv].map_slices <= k * room(chain, &rows[conv]) &&
            (k == 1 || weights * rows[conv].map_slices > (k - 1) * room(chain, &rows[conv])));
    tally_check(tally, SELF,
                rows[conv].self_number == (k > rows[conv].map_slices ? k : rows[conv].map_slices));
}

/* Gives whether the maps fit: finds the least number of slices, or, for a conv that must divide
 * itself and would have no bytes left, the least that leaves some. */
static bool maps_fit(const struct chain *chain, const struct vbs_mmcnn_row *row)
{
    int64_t limit = chain->limit_bytes, parts = row->map_slices, maps = row->maps_bytes;
    bool least = limit * parts >= maps && (parts == 1 || limit * (parts - 1) < maps);

    return least || (row->weight_bytes > 0 && row->conv_number == 0 && limit * (parts - 1) == maps);
}

static void check_row(struct tally *tally, const struct chain *chain,
                      const struct vbs_mmcnn_row *row)
{
    double bytes = (double)row->maps_bytes / (double)row->map_slices +
                   (double)row->weight_bytes / (double)row->weight_slices;
    double hundredths = bytes * 100 / (double)MiB;

    tally_check(tally, MAPS, maps_fit(chain, row));
    tally_check(tally, ROUNDED, fabs(hundredths - (double)vbs_mmcnn_hundredths(row)) <= 0.5 + 1e-9);
}

static void check_chain(struct tally *tally, const struct chain *chain)
{
    struct vbs_network *network = parse(chain->text);
    struct vbs_mmcnn_table *table = tabulate(network, chain->limit_bytes);
    bool as_written = table && table->n_rows == chain->n_rows;
    int head = 0;

    for (int i = 0; as_written && i < chain->n_rows; i++) {
        char name[16];

        snprintf(name, sizeof name, i ? "r%d" : "data", i);
        as_written =
            strcmp(table->rows[i].name, name) == 0 && table->rows[i].maps_bytes == chain->maps[i];
    }
    tally_check(tally, ROWS, as_written);
    for (int i = 0; as_written && i < chain->n_rows; i++) {
        check_row(tally, chain, &table->rows[i]);
        if (chain->weights[i] == 0)
            continue;
        check_segment(tally, chain, table->rows, head, i);
        head = i + 1;
    }
    for (int i = 0; as_written && i < chain->n_rows; i++)
        if (chain->weights[i] == 0)
            tally_check(tally, SELF, table->rows[i].self_number == table->rows[i].map_slices);
    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
}

static void test_random(void)
{
    static const char *const texts[] = {TALLY_TEXTS(PROPERTY_LIST)};
    static struct chain chain;
    struct tally tally = {
        .n_properties = N_PROPERTIES, .texts = texts, .describe = describe, .self = &chain};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, 4);
    for (int i = 0; i < 3000; i++) {
        make_chain(rng, &chain);
        check_chain(&tally, &chain);
    }
    tally_report(&tally, "random chains");
    gsl_rng_free(rng);
}

int main(void)
{
    test_table_4();
    test_row_20();
    test_text();
    test_rows();
    test_breakpoints();
    test_lone_conv();
    test_weights();
    test_refusals();
    test_faults();
    test_random();
    return done_testing();
}
