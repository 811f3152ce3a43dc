/*
 * The memory of activations and of their gradients.
 *
 * Time runs through a step of training: operator i computes forward at time i, the outputs are read
 * at n + 1, and operator i computes backward at 2 (n + 1) - i. Values live until their last reader
 * forward, or, where a backward pass reads them, until that. A gradient lives from the first share
 * that a reader writes to the backward pass of the operator that made the values. Buffers are taken
 * again where lifetimes do not overlap.
 */
#include "backend/onednn/training/training.h"

#include "base/fail.h"

#include <stdlib.h>

struct lifetime {
    int activation;
    bool gradient;
    int begin, end;
    int64_t bytes;
    int buffer;
};

struct buffer {
    int64_t bytes;
    int free_after;
    void *memory;
};

/* ---- sharing: operators that write over what they read ---- */

/* Gives whether operator o, number `number`, may write its output over this input. */
static bool can_overwrite(const struct od_training *t, const struct od_operator *o, int input)
{
    int a = o->inputs[input];

    return (o->op == VBS_OP_ADD || o->op == VBS_OP_DROPOUT || o->reads_dst) && a > 0 &&
           a != t->output && t->activations[a].n_readers == 1 && !t->operators[a].reads_dst;
}

/* Gives whether the gradient of this input may be written over the gradient of the output. */
static bool can_overwrite_gradient(const struct od_training *t, const struct od_operator *o,
                                   int input)
{
    const struct od_activation *a = &t->activations[o->inputs[input]];

    return a->learns && a->n_readers == 1 && o->op != VBS_OP_CONV && o->op != VBS_OP_FC &&
           o->op != VBS_OP_POOL_MAX && o->op != VBS_OP_POOL_AVG && o->op != VBS_OP_LRN &&
           o->op != VBS_OP_CONCAT;
}

static void share_memory(struct od_training *t)
{
    struct od_activation *a = t->activations;

    for (int i = 1; i <= t->n_operators; i++)
        for (int j = 0; j < t->operators[i].n_inputs && a[i].values_like == i; j++)
            if (can_overwrite(t, &t->operators[i], j))
                a[i].values_like = a[t->operators[i].inputs[j]].values_like;
    for (int i = t->n_operators; i >= 1; i--)
        for (int j = 0; j < t->operators[i].n_inputs; j++)
            if (can_overwrite_gradient(t, &t->operators[i], j)) {
                a[t->operators[i].inputs[j]].gradient_like = a[i].gradient_like;
                break;
            }
}

/* ---- lifetimes ---- */

static void extend(struct lifetime *l, int begin, int end)
{
    l->begin = begin < l->begin ? begin : l->begin;
    l->end = end > l->end ? end : l->end;
}

static void add_values(const struct od_training *t, struct lifetime *lives)
{
    int turn = t->n_operators + 1;

    for (int i = 0; i <= t->n_operators; i++)
        extend(&lives[t->activations[i].values_like], i, i);
    for (int i = 1; i <= t->n_operators; i++) {
        const struct od_operator *o = &t->operators[i];

        for (int j = 0; j < o->n_inputs; j++)
            extend(&lives[t->activations[o->inputs[j]].values_like], i,
                   o->reads_src ? 2 * turn - i : i);
        if (o->reads_dst)
            extend(&lives[t->activations[i].values_like], i, 2 * turn - i);
    }
    extend(&lives[t->activations[t->output].values_like], turn, turn);
}

static void add_gradients(const struct od_training *t, struct lifetime *lives)
{
    int turn = t->n_operators + 1;

    for (int i = 0; i <= t->n_operators; i++) {
        const struct od_activation *a = &t->activations[i];
        int first = i == t->output ? turn : 2 * turn - a->last_reader;

        if (a->learns)
            extend(&lives[a->gradient_like], first, 2 * turn - i);
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct lifetime *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->gradient != y->gradient)
        return x->gradient ? 1 : -1;
    return (x->activation > y->activation) - (x->activation < y->activation);
}

/* Makes lifetimes of everything that has memory of its own; returns their number. */
static int make_lifetimes(const struct od_training *t, struct lifetime *lives)
{
    int n = t->n_operators + 1, kept = 0;

    for (int i = 0; i < 2 * n; i++) {
        const struct od_activation *a = &t->activations[i % n];

        lives[i] = (struct lifetime){.activation = i % n,
                                     .gradient = i >= n,
                                     .begin = 2 * n + 1,
                                     .bytes = (int64_t)dnnl_memory_desc_get_size(&a->md)};
    }
    add_values(t, lives);
    add_gradients(t, lives + n);
    for (int i = 0; i < 2 * n; i++)
        if (lives[i].begin <= 2 * n)
            lives[kept++] = lives[i];
    qsort(lives, (size_t)kept, sizeof *lives, by_begin);
    return kept;
}

/* ---- buffers ---- */

/* Finds a free buffer: the smallest that is large enough, else the largest; n where none is free.
 */
static int find_buffer(const struct buffer *buffers, int n, const struct lifetime *l)
{
    int best = n;

    for (int i = 0; i < n; i++) {
        bool fits = buffers[i].bytes >= l->bytes, best_fits;

        if (buffers[i].free_after >= l->begin)
            continue;
        best_fits = best < n && buffers[best].bytes >= l->bytes;
        if (best == n || (fits && (!best_fits || buffers[i].bytes < buffers[best].bytes)) ||
            (!fits && !best_fits && buffers[i].bytes > buffers[best].bytes))
            best = i;
    }
    return best;
}

static int assign_buffers(struct lifetime *lives, int n_lives, struct buffer *buffers)
{
    int n = 0;

    for (int i = 0; i < n_lives; i++) {
        int chosen = find_buffer(buffers, n, &lives[i]);

        if (chosen == n)
            buffers[n++] = (struct buffer){0};
        if (buffers[chosen].bytes < lives[i].bytes)
            buffers[chosen].bytes = lives[i].bytes;
        buffers[chosen].free_after = lives[i].end;
        lives[i].buffer = chosen;
    }
    return n;
}

/* Sets the addresses of all activations. lives: space for the values and gradients of each. */
static enum vbs_status place(struct od_train_build *b, struct lifetime *lives,
                             struct buffer *buffers)
{
    struct od_training *t = b->t;
    int n_lives = make_lifetimes(t, lives);
    int n_buffers = assign_buffers(lives, n_lives, buffers);

    for (int i = 0; i < n_buffers; i++) {
        VBS_TRY(od_train_alloc(b, buffers[i].bytes, &buffers[i].memory));
        t->session.activation_bytes += buffers[i].bytes;
    }
    for (int i = 0; i < n_lives; i++) {
        struct od_activation *a = &t->activations[lives[i].activation];
        float *memory = buffers[lives[i].buffer].memory;

        if (lives[i].gradient)
            a->gradient = memory;
        else
            a->values = memory;
    }
    for (int i = 0; i <= t->n_operators; i++) {
        struct od_activation *a = &t->activations[i];

        a->values = t->activations[a->values_like].values;
        a->gradient = a->learns ? t->activations[a->gradient_like].gradient : NULL;
    }
    return VBS_OK;
}

enum vbs_status od_place_activations(struct od_train_build *b)
{
    size_t n = 2 * ((size_t)b->t->n_operators + 1);
    struct lifetime *lives = calloc(n, sizeof *lives);
    struct buffer *buffers = calloc(n, sizeof *buffers);
    enum vbs_status status = VBS_OK;

    if (!lives || !buffers) {
        status = vbs_no_memory(b->build.ctx);
    } else {
        share_memory(b->t);
        status = place(b, lives, buffers);
    }
    free(buffers);
    free(lives);
    return status;
}
