#include "bench/ilp.h"
#include "reference/plan/brute_common.h"

#include <stdio.h>
#include <stdlib.h>

/* The space of the model, which grows. */
struct capacity {
    int columns, rows, entries;
};

/* A model that is being made, with the columns of the slot before and of this one. */
struct maker {
    const struct vbs_problem *problem;
    int64_t memory_bytes;
    int n; /* layers */
    struct ilp *ilp;
    struct capacity capacity;
    struct vbs_step *steps; /* the steps that a slot may run */
    int n_steps;
    int *x;                           /* [n_steps] columns of this slot, */
    int *before_x;                    /* of the slot before */
    int *p, *before_p, *m, *before_m; /* [n + 1], -1: no such column */
};

static bool is_kept(const struct vbs_problem *problem, int tensor)
{
    return problem->io == VBS_IO_RESIDENT || (tensor != 0 && !brute_is_final(problem, tensor));
}

static int count_readers(const struct vbs_problem *problem, int tensor)
{
    int n = 0;

    for (int k = 1; k <= problem->profile->n_layers; k++)
        n += brute_reads(problem, k, tensor);
    return n;
}

bool ilp_models(const struct vbs_problem *problem)
{
    for (int k = 1; k <= problem->profile->n_layers; k++)
        if (problem->profile->layers[k].in_place &&
            count_readers(problem, problem->profile->layers[k].inputs[0]) > 1)
            return false;
    return true;
}

static int add_column(struct maker *maker, struct ilp_column column)
{
    struct ilp *ilp = maker->ilp;

    if (ilp->n_columns == maker->capacity.columns) {
        maker->capacity.columns = 2 * maker->capacity.columns + 64;
        ilp->columns =
            brute_grow(ilp->columns, (size_t)maker->capacity.columns, sizeof *ilp->columns);
    }
    ilp->columns[ilp->n_columns] = column;
    ilp->n_binaries += column.binary;
    return ilp->n_columns++;
}

static int add_row(struct maker *maker, char sense, double right)
{
    struct ilp *ilp = maker->ilp;

    if (ilp->n_rows == maker->capacity.rows) {
        maker->capacity.rows = 2 * maker->capacity.rows + 64;
        ilp->rows = brute_grow(ilp->rows, (size_t)maker->capacity.rows, sizeof *ilp->rows);
    }
    ilp->rows[ilp->n_rows] = (struct ilp_row){.sense = sense, .right = right};
    return ilp->n_rows++;
}

/* Column -1 stands for 0. */
static void add_entry(struct maker *maker, int row, int column, double value)
{
    struct ilp *ilp = maker->ilp;

    if (column < 0 || value == 0)
        return;
    if (ilp->n_entries == maker->capacity.entries) {
        maker->capacity.entries = 2 * maker->capacity.entries + 256;
        ilp->entries =
            brute_grow(ilp->entries, (size_t)maker->capacity.entries, sizeof *ilp->entries);
    }
    ilp->entries[ilp->n_entries++] =
        (struct ilp_entry){.column = column, .row = row, .value = value};
}

/* Gives the bytes of a step beside the samples that are kept between steps. */
static int64_t added_bytes(const struct vbs_problem *problem, const struct vbs_step *step,
                           int64_t ws_bytes)
{
    const struct vbs_profile_layer *layer = &problem->profile->layers[step->layer];
    int64_t out_bytes = step->batch * layer->out_bytes, place_bytes = 0, bytes = ws_bytes;

    if (layer->in_place)
        place_bytes = step->batch * brute_sample_bytes(problem, layer->inputs[0]);
    bytes += out_bytes > place_bytes ? out_bytes - place_bytes : 0;
    if (brute_reads(problem, step->layer, 0) && !is_kept(problem, 0))
        bytes += step->batch * brute_sample_bytes(problem, 0);
    return bytes;
}

static const struct vbs_profile_row *row_of(const struct vbs_problem *problem,
                                            const struct vbs_step *step)
{
    int n_rows;
    const struct vbs_profile_row *row = brute_rows(problem, step->layer, step->batch, &n_rows);

    while (row->algorithm != step->algorithm)
        row++;
    return row;
}

/* Gives the least bytes of a step: its inputs, and with io resident all inputs of the request. */
static int64_t least_bytes(const struct maker *maker, const struct vbs_step *step, int64_t ws_bytes)
{
    const struct vbs_problem *problem = maker->problem;
    int64_t bytes = added_bytes(problem, step, ws_bytes);

    for (int t = 0; t <= maker->n; t++)
        if (is_kept(problem, t) && brute_reads(problem, step->layer, t))
            bytes += step->batch * brute_sample_bytes(problem, t);
    return bytes;
}

/* True when another algorithm is as good in time and workspace; of equals the first stays. */
static bool is_beaten(const struct vbs_profile_row *rows, int n_rows, int a)
{
    for (int other = 0; other < n_rows; other++)
        if (other != a && rows[other].time_us <= rows[a].time_us &&
            rows[other].ws_bytes <= rows[a].ws_bytes &&
            (other < a || rows[other].time_us < rows[a].time_us ||
             rows[other].ws_bytes < rows[a].ws_bytes))
            return true;
    return false;
}

/* Collects the steps that fit the budget by themselves. */
static void collect_steps(struct maker *maker)
{
    const struct vbs_profile *profile = maker->problem->profile;
    int room = 0;

    for (int k = 1; k <= maker->n; k++)
        for (int i = 0; i < profile->n_batches; i++) {
            int batch = profile->batches[i], n_rows;
            const struct vbs_profile_row *rows = brute_rows(maker->problem, k, batch, &n_rows);

            for (int a = 0; batch <= maker->problem->request && a < n_rows; a++) {
                struct vbs_step step = {.layer = k, .batch = batch, .algorithm = rows[a].algorithm};

                if (is_beaten(rows, n_rows, a) ||
                    least_bytes(maker, &step, rows[a].ws_bytes) > maker->memory_bytes)
                    continue;
                if (maker->n_steps == room)
                    maker->steps =
                        brute_grow(maker->steps, (size_t)(room = 2 * room + 16), sizeof step);
                maker->steps[maker->n_steps++] = step;
            }
        }
}

static void swap(int **a, int **b)
{
    int *other = *a;

    *a = *b;
    *b = other;
}

/* Adds the columns of a slot. */
static void open_slot(struct maker *maker, int slot)
{
    swap(&maker->x, &maker->before_x);
    swap(&maker->p, &maker->before_p);
    swap(&maker->m, &maker->before_m);
    for (int q = 0; q < maker->n_steps; q++)
        maker->x[q] = add_column(
            maker, (struct ilp_column){.cost = row_of(maker->problem, &maker->steps[q])->time_us,
                                       .binary = true,
                                       .slot = slot,
                                       .step = maker->steps[q]});
    maker->p[0] = -1;
    for (int k = 1; k <= maker->n; k++)
        maker->p[k] = add_column(maker, (struct ilp_column){0});
    for (int t = 0; t <= maker->n; t++) {
        int n_readers = is_kept(maker->problem, t) ? count_readers(maker->problem, t) : 0;

        maker->m[t] = n_readers > 1 ? add_column(maker, (struct ilp_column){0}) : -1;
        for (int k = 1; n_readers == 1 && k <= maker->n; k++)
            if (brute_reads(maker->problem, k, t))
                maker->m[t] = maker->p[k];
    }
}

static void add_one(struct maker *maker, int slot)
{
    int one = add_row(maker, 'L', 1), order = slot > 1 ? add_row(maker, 'L', 0) : -1;

    for (int q = 0; q < maker->n_steps; q++) {
        add_entry(maker, one, maker->x[q], 1);
        if (slot > 1) {
            add_entry(maker, order, maker->x[q], 1);
            add_entry(maker, order, maker->before_x[q], -1);
        }
    }
}

static void add_progress(struct maker *maker, int layer)
{
    int row = add_row(maker, 'E', 0);

    add_entry(maker, row, maker->p[layer], 1);
    add_entry(maker, row, maker->before_p[layer], -1);
    for (int q = 0; q < maker->n_steps; q++)
        if (maker->steps[q].layer == layer)
            add_entry(maker, row, maker->x[q], -maker->steps[q].batch);
    for (int t = 1; t < layer; t++)
        if (brute_reads(maker->problem, layer, t)) {
            row = add_row(maker, 'L', 0);
            add_entry(maker, row, maker->p[layer], 1);
            add_entry(maker, row, maker->before_p[t], -1);
        }
}

static void add_readers(struct maker *maker, int tensor)
{
    if (!is_kept(maker->problem, tensor) || count_readers(maker->problem, tensor) < 2)
        return;
    for (int k = 1; k <= maker->n; k++)
        if (brute_reads(maker->problem, k, tensor)) {
            int row = add_row(maker, 'L', 0);

            add_entry(maker, row, maker->m[tensor], 1);
            add_entry(maker, row, maker->p[k], -1);
        }
}

/* Adds the row of memory. p[s-1, k] occurs in it as a tensor's samples and as the samples that a
 * reader has done of others; the coefficients of one column are added up. */
static void add_memory(struct maker *maker)
{
    const struct vbs_problem *problem = maker->problem;
    int64_t right = maker->memory_bytes;
    double *bytes = brute_alloc((size_t)maker->ilp->n_columns, sizeof *bytes);
    int row;

    for (int t = 0; t <= maker->n; t++) {
        if (!is_kept(problem, t))
            continue;
        if (t == 0)
            right -= problem->request * brute_sample_bytes(problem, 0);
        if (maker->before_p[t] >= 0)
            bytes[maker->before_p[t]] += (double)brute_sample_bytes(problem, t);
        if (maker->before_m[t] >= 0)
            bytes[maker->before_m[t]] -= (double)brute_sample_bytes(problem, t);
    }
    row = add_row(maker, 'L', (double)right);
    for (int c = 0; c < maker->ilp->n_columns; c++)
        add_entry(maker, row, c, bytes[c]);
    for (int q = 0; q < maker->n_steps; q++)
        add_entry(maker, row, maker->x[q],
                  (double)added_bytes(problem, &maker->steps[q],
                                      row_of(problem, &maker->steps[q])->ws_bytes));
    free(bytes);
}

static int by_column(const void *a, const void *b)
{
    const struct ilp_entry *x = a, *y = b;

    return x->column != y->column ? x->column - y->column : x->row - y->row;
}

static void make(struct maker *maker)
{
    struct ilp *ilp = maker->ilp;

    for (int t = 0; t <= maker->n; t++)
        maker->p[t] = maker->m[t] = -1;
    for (int slot = 1; slot <= ilp->n_slots; slot++) {
        open_slot(maker, slot);
        add_one(maker, slot);
        for (int k = 1; k <= maker->n; k++)
            add_progress(maker, k);
        for (int t = 0; t <= maker->n; t++)
            add_readers(maker, t);
        add_memory(maker);
    }
    for (int k = 1; k <= maker->n; k++)
        add_entry(maker, add_row(maker, 'E', (double)maker->problem->request), maker->p[k], 1);
    qsort(ilp->entries, (size_t)ilp->n_entries, sizeof *ilp->entries, by_column);
}

struct ilp *ilp_new(const struct vbs_problem *problem, int64_t memory_bytes)
{
    struct maker maker = {
        .problem = problem,
        .memory_bytes = memory_bytes,
        .n = problem->profile->n_layers,
        .ilp = brute_alloc(1, sizeof *maker.ilp),
    };
    size_t n_tensors = (size_t)maker.n + 1;
    int *lists;

    maker.ilp->n_slots = maker.n * (int)problem->request;
    collect_steps(&maker);
    lists = brute_alloc(4 * n_tensors + 2 * (size_t)maker.n_steps, sizeof *lists);
    maker.p = lists;
    maker.before_p = maker.p + n_tensors;
    maker.m = maker.before_p + n_tensors;
    maker.before_m = maker.m + n_tensors;
    maker.x = maker.before_m + n_tensors;
    maker.before_x = maker.x + maker.n_steps;
    make(&maker);
    free(lists);
    free(maker.steps);
    return maker.ilp;
}

void ilp_free(struct ilp *ilp)
{
    free(ilp->columns);
    free(ilp->rows);
    free(ilp->entries);
    free(ilp);
}

/* Binaries are written between markers, as whole numbers with 1 as their upper bound. */
static void write_columns(const struct ilp *ilp, FILE *file)
{
    int entry = 0, n_markers = 0;

    fprintf(file, "COLUMNS\n");
    for (int c = 0; c < ilp->n_columns; c++) {
        bool was = c > 0 && ilp->columns[c - 1].binary;

        if (ilp->columns[c].binary != was)
            fprintf(file, " M%d 'MARKER' '%s'\n", n_markers++, was ? "INTEND" : "INTORG");
        fprintf(file, " C%d cost %.17g\n", c, ilp->columns[c].cost);
        for (; entry < ilp->n_entries && ilp->entries[entry].column == c; entry++)
            fprintf(file, " C%d R%d %.17g\n", c, ilp->entries[entry].row,
                    ilp->entries[entry].value);
    }
}

bool ilp_write(const struct ilp *ilp, const char *path)
{
    FILE *file = fopen(path, "w");
    bool failed;

    if (!file)
        return false;
    fprintf(file, "NAME schedule FREE\nROWS\n N cost\n");
    for (int r = 0; r < ilp->n_rows; r++)
        fprintf(file, " %c R%d\n", ilp->rows[r].sense, r);
    write_columns(ilp, file);
    fprintf(file, "RHS\n");
    for (int r = 0; r < ilp->n_rows; r++)
        if (ilp->rows[r].right != 0)
            fprintf(file, " RHS R%d %.17g\n", r, ilp->rows[r].right);
    fprintf(file, "BOUNDS\n");
    for (int c = 0; c < ilp->n_columns; c++)
        if (ilp->columns[c].binary)
            fprintf(file, " UP BND C%d 1\n", c);
    fprintf(file, "ENDATA\n");
    failed = ferror(file);
    return fclose(file) == 0 && !failed;
}
