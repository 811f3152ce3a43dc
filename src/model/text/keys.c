#include "model/text/keys.h"

#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "model/text/lines.h"
#include "model/network/network.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ON(op)  (1u << VBS_OP_##op)
#define BIASED  (ON(CONV) | ON(FC) | ON(SCALE))
#define POOLS   (ON(POOL_MAX) | ON(POOL_AVG))
#define WINDOWS (ON(CONV) | POOLS)
#define ANY     ((1u << VBS_N_TEXT_OPS) - 1)

#define LONGEST_NUMBER 40 /* characters; longer ones are not quoted in messages */

enum kind { NAMES, COUNT, SIZES, KERNEL, PADS, YES_NO, UP_DOWN, REAL };

static const struct key {
    const char *word;
    enum kind kind;
    size_t at;      /* offset of its value in struct vbs_keys */
    unsigned takes; /* operators that have the key */
    unsigned needs; /* operators that need the key */
    const char *example;
} KEYS[] = {
#define AT(field) offsetof(struct vbs_keys, field)
    {"from", NAMES, AT(from), ANY, ON(CONCAT) | ON(ADD), "from=a,b"},
    {"out", COUNT, AT(out), ON(CONV) | ON(FC), ON(CONV) | ON(FC), "out=64"},
    {"kernel", KERNEL, AT(kernel), WINDOWS, WINDOWS, "kernel=3"},
    {"stride", SIZES, AT(stride), WINDOWS, 0, "stride=2"},
    {"pad", PADS, AT(pad), WINDOWS, 0, "pad=1"},
    {"dilation", SIZES, AT(dilation), ON(CONV), 0, "dilation=2"},
    {"groups", COUNT, AT(groups), ON(CONV), 0, "groups=2"},
    {"bias", YES_NO, AT(bias), BIASED, 0, "bias=no"},
    {"affine", YES_NO, AT(affine), ON(BATCHNORM), 0, "affine=no"},
    {"round", UP_DOWN, AT(round_up), POOLS, 0, "round=down"},
    {"count_pad", YES_NO, AT(count_pad), ON(POOL_AVG), 0, "count_pad=yes"},
    {"size", COUNT, AT(size), ON(LRN), ON(LRN), "size=5"},
    {"alpha", REAL, AT(alpha), ON(LRN), ON(LRN), "alpha=0.0001"},
    {"beta", REAL, AT(beta), ON(LRN), ON(LRN), "beta=0.75"},
    {"k", REAL, AT(k), ON(LRN), 0, "k=2"},
#undef AT
};

#define N_KEYS ((int)(sizeof KEYS / sizeof KEYS[0]))

static void *value_of(struct vbs_keys *keys, const struct key *key)
{
    return (char *)keys + key->at;
}

/* Reads a whole number from low on that a dimension can have. */
static enum vbs_status read_number(struct vbs_ctx *ctx, const char *what, const char *text,
                                   int64_t low, int64_t *value)
{
    enum vbs_status status;

    if (strlen(text) > LONGEST_NUMBER)
        return vbs_fail(ctx, VBS_FORMAT, "%s '%.*s...' is not a whole number", what, LONGEST_NUMBER,
                        text);
    status = vbs_parse_int(ctx, what, text, low, VBS_MAX_DIM, value);
    return status == VBS_USAGE ? VBS_FORMAT : status;
}

/* Reads sizes such as "3" or "1x2x2". */
static enum vbs_status read_sizes(struct vbs_ctx *ctx, const char *what, char *text, int64_t low,
                                  struct vbs_sizes *sizes)
{
    sizes->n = 0;
    for (char *next; text; text = next) {
        next = strchr(text, 'x');
        if (next)
            *next++ = '\0';
        if (sizes->n == VBS_MAX_SPATIAL)
            return vbs_fail(ctx, VBS_FORMAT, "%s has more than %d values", what, VBS_MAX_SPATIAL);
        VBS_TRY(read_number(ctx, what, text, low, &sizes->value[sizes->n++]));
    }
    return VBS_OK;
}

/* Reads pads such as "1", "0x1x1", or low and high sides apart: "0:1". */
static enum vbs_status read_pads(struct vbs_ctx *ctx, const char *what, char *text,
                                 struct vbs_pads *pads)
{
    char *high = strchr(text, ':');
    enum vbs_status status;

    if (high)
        *high++ = '\0';
    status = read_sizes(ctx, what, text, 0, &pads->low);
    pads->high = pads->low;
    if (status == VBS_OK && high)
        status = read_sizes(ctx, what, high, 0, &pads->high);
    return status;
}

/* Reads one of two words. */
static enum vbs_status read_choice(struct vbs_ctx *ctx, const char *what, const char *text,
                                   const char *yes, const char *no, bool *value)
{
    *value = strcmp(text, yes) == 0;
    if (*value || strcmp(text, no) == 0)
        return VBS_OK;
    return vbs_fail(ctx, VBS_FORMAT, "%s is '%s' or '%s', not '%.40s'", what, yes, no, text);
}

/* Reads a decimal number, with a point in every locale. */
static enum vbs_status read_real(struct vbs_ctx *ctx, const char *what, const char *text,
                                 double *value)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end;

    if (!c)
        return vbs_no_memory(ctx);
    *value = strtod_l(text, &end, c);
    freelocale(c);
    if (*end || strspn(text, "0123456789.eE+-") != strlen(text) || !isfinite(*value))
        return vbs_fail(ctx, VBS_FORMAT, "%s '%.40s' is not a decimal number", what, text);
    return VBS_OK;
}

static enum vbs_status read_value(struct vbs_ctx *ctx, const struct key *key, char *text,
                                  struct vbs_keys *keys)
{
    void *value = value_of(keys, key);

    switch (key->kind) {
    case NAMES:
        *(char **)value = text;
        return VBS_OK;
    case COUNT:
        return read_number(ctx, key->word, text, 1, value);
    case KERNEL:
        if (strcmp(text, "global") == 0) {
            ((struct vbs_sizes *)value)->n = 0;
            return VBS_OK;
        }
        return read_sizes(ctx, key->word, text, 1, value);
    case SIZES:
        return read_sizes(ctx, key->word, text, 1, value);
    case PADS:
        return read_pads(ctx, key->word, text, value);
    case YES_NO:
        return read_choice(ctx, key->word, text, "yes", "no", value);
    case UP_DOWN:
        return read_choice(ctx, key->word, text, "up", "down", value);
    case REAL:
        return read_real(ctx, key->word, text, value);
    }
    return VBS_OK;
}

static enum vbs_status unknown_key(struct vbs_ctx *ctx, const char *word)
{
    const char *words[N_KEYS];
    const char *nearest;

    for (int i = 0; i < N_KEYS; i++)
        words[i] = KEYS[i].word;
    nearest = *word ? vbs_nearest_name(word, words, N_KEYS) : NULL;
    if (nearest)
        return vbs_fail(ctx, VBS_FORMAT, "unknown key '%.40s'; did you mean '%s'?", word, nearest);
    return vbs_fail(ctx, VBS_FORMAT, "unknown key '%.40s'", word);
}

/* Reads one key=value; *given has a bit for each of KEYS. */
static enum vbs_status read_key(struct vbs_ctx *ctx, enum vbs_op op, char *word, unsigned *given,
                                struct vbs_keys *keys)
{
    char *value = strchr(word, '=');
    int i = 0;

    if (!value)
        return vbs_fail(ctx, VBS_FORMAT, "'%.40s' is not key=value", word);
    *value++ = '\0';
    while (i < N_KEYS && strcmp(word, KEYS[i].word) != 0)
        i++;
    if (i == N_KEYS)
        return unknown_key(ctx, word);
    if (!(KEYS[i].takes & (1u << op)))
        return vbs_fail(ctx, VBS_FORMAT, "'%s' takes no '%s'", vbs_op_word(op), word);
    if (*given & (1u << i))
        return vbs_fail(ctx, VBS_FORMAT, "'%s' is given twice", word);
    if (!*value)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' has no value; write it as %s", word,
                        KEYS[i].example);
    *given |= 1u << i;
    return read_value(ctx, &KEYS[i], value, keys);
}

enum vbs_status vbs_keys_read(struct vbs_ctx *ctx, enum vbs_op op, char *rest,
                              struct vbs_keys *keys)
{
    const struct vbs_sizes one = {.n = 1, .value = {1}}, zero = {.n = 1};
    unsigned given = 0;

    *keys = (struct vbs_keys){.groups = 1,
                              .stride = one,
                              .dilation = one,
                              .pad = {zero, zero},
                              .bias = true,
                              .affine = true,
                              .round_up = true,
                              .k = 1};
    for (char *word; (word = vbs_lines_word(&rest));) {
        VBS_TRY(read_key(ctx, op, word, &given, keys));
    }
    for (int i = 0; i < N_KEYS; i++)
        if ((KEYS[i].needs & (1u << op)) && !(given & (1u << i)))
            return vbs_fail(ctx, VBS_FORMAT, "'%s' needs '%s', as in %s", vbs_op_word(op),
                            KEYS[i].word, KEYS[i].example);
    return VBS_OK;
}

/* Gives one value for each of n spatial dimensions. */
static enum vbs_status spread(struct vbs_ctx *ctx, const char *what, const struct vbs_sizes *sizes,
                              int n, int64_t *value)
{
    if (sizes->n != 1 && sizes->n != n)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%s has %d values, but the input has %d spatial dimensions", what, sizes->n,
                        n);
    for (int i = 0; i < n; i++)
        value[i] = sizes->value[sizes->n == 1 ? 0 : i];
    return VBS_OK;
}

static enum vbs_status spread_window(struct vbs_ctx *ctx, const struct vbs_keys *keys,
                                     const struct vbs_shape *input, struct vbs_window *window)
{
    int n = vbs_shape_n_spatial(input);
    enum vbs_status status = spread(ctx, "stride", &keys->stride, n, window->stride);

    if (status == VBS_OK)
        status = spread(ctx, "dilation", &keys->dilation, n, window->dilation);
    if (status == VBS_OK)
        status = spread(ctx, "pad", &keys->pad.low, n, window->pad_low);
    if (status == VBS_OK)
        status = spread(ctx, "pad", &keys->pad.high, n, window->pad_high);
    if (status != VBS_OK || keys->kernel.n > 0)
        return status != VBS_OK ? status : spread(ctx, "kernel", &keys->kernel, n, window->kernel);
    for (int i = 0; i < n; i++) {
        if (window->pad_low[i] > 0 || window->pad_high[i] > 0)
            return vbs_fail(ctx, VBS_FORMAT, "kernel=global takes no pad");
        window->kernel[i] = input->dim[i + 1];
    }
    return VBS_OK;
}

enum vbs_status vbs_keys_attributes(struct vbs_ctx *ctx, enum vbs_op op,
                                    const struct vbs_keys *keys, const struct vbs_shape *input,
                                    union vbs_attributes *attributes)
{
    switch (op) {
    case VBS_OP_CONV:
        *attributes = (union vbs_attributes){
            .weighted = {.out_channels = keys->out, .groups = keys->groups, .bias = keys->bias}};
        return spread_window(ctx, keys, input, &attributes->weighted.window);
    case VBS_OP_FC:
        *attributes =
            (union vbs_attributes){.weighted = {.out_channels = keys->out, .bias = keys->bias}};
        return VBS_OK;
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        *attributes = (union vbs_attributes){.pool = {.pad_counts = keys->count_pad}};
        return spread_window(ctx, keys, input, &attributes->pool.window);
    case VBS_OP_LRN:
        *attributes = (union vbs_attributes){.lrn = {keys->size, keys->alpha, keys->beta, keys->k}};
        return VBS_OK;
    case VBS_OP_BATCHNORM:
        *attributes = (union vbs_attributes){.norm = {.affine = keys->affine}};
        return VBS_OK;
    case VBS_OP_SCALE:
        *attributes = (union vbs_attributes){.scale = {.bias = keys->bias}};
        return VBS_OK;
    case VBS_OP_CONCAT: /* of channels */
        *attributes = (union vbs_attributes){.concat = {.axis = 0}};
        return VBS_OK;
    case VBS_OP_SOFTMAX: /* over channels */
        *attributes = (union vbs_attributes){.softmax = {.axis = 0}};
        return VBS_OK;
    case VBS_OP_ADD:
        *attributes = (union vbs_attributes){.binary = {.swapped = false}};
        return VBS_OK;
    default:
        return VBS_OK;
    }
}
