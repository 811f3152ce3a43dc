/*
 * Global pools that accumulate: means of rows are within the bound of docs/accounting.md of the
 * exact ones, in steps of any height, and the largest values are exact.
 */
#include "vbslab/vbslab.h"

#include "support/stripes_bench.h"
#include "support/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define CHANNELS 70 /* more than a block of the loops, and a part of one */
#define ROWS     13
#define COLUMNS  11
#define VALUES   (ROWS * COLUMNS)

/* Makes values of both signs whose magnitudes differ by a million, so that sums cancel. */
static void fill(float *values)
{
    for (int i = 0; i < CHANNELS * VALUES; i++)
        values[i] = (float)ldexp((i * 7919 % 2001 - 1000) / 1000.0, i * 31 % 21);
}

/* Runs the layer in steps of some rows; false: it failed. */
static bool run(struct stripes_bench *t, const struct vbs_requested_kernel *steps, int n,
                const float *values, float *output)
{
    struct vbs_session *s = stripes_open(t, true, steps, n);
    int64_t in_bytes = s ? s->layers[0].out_bytes : 0;
    char *in = s ? s->ops->alloc(s, in_bytes) : NULL;
    void *out = s ? s->ops->alloc(s, s->layers[1].out_bytes) : NULL;
    bool worked = in && out && s->ops->write(&t->ctx, s, 0, 1, values, in) == VBS_OK;

    for (int i = 0; i < n && worked; i++) {
        const void *src = in + in_bytes / ROWS * steps[i].row;

        worked = stripes_run(t, s, i, &src, out);
    }
    worked = worked && s->ops->read(&t->ctx, s, 1, 1, out, output) == VBS_OK;
    if (s) {
        s->ops->free(s, in);
        s->ops->free(s, out);
        s->ops->close(s);
    }
    return worked;
}

/* Gives the largest error of a channel, as a share of the bound for steps of some rows. */
static double error(const float *values, const float *output, bool largest, int n_steps)
{
    double worst = 0;

    for (int c = 0; c < CHANNELS; c++) {
        const float *x = values + c * VALUES;
        long double sum = 0, magnitude = 0, most = x[0];
        double off;

        for (int i = 0; i < VALUES; i++) {
            sum += (long double)x[i];
            magnitude += fabsl((long double)x[i]);
            most = fmaxl(most, (long double)x[i]);
        }
        if (largest)
            off = (double)output[c] == (double)most ? 0 : HUGE_VAL;
        else
            off =
                (double)(fabsl((long double)output[c] - sum / VALUES) /
                         ((VALUES + n_steps) * (long double)FLT_EPSILON / 2 * magnitude / VALUES));
        worst = fmax(worst, off);
    }
    return worst;
}

static void check(const char *op, int threads)
{
    struct stripes_bench t = {.threads = threads};
    struct vbs_requested_kernel steps[ROWS] = {{0}};
    float *values = malloc(CHANNELS * VALUES * sizeof *values), output[CHANNELS];
    char text[200];

    snprintf(text, sizeof text, "model m\ninput %dx%dx%d\n%s p kernel=global\n", CHANNELS, ROWS,
             COLUMNS, op);
    if (!values ||
        vbs_network_parse(&t.ctx, "case", text, strlen(text), NULL, &t.network) != VBS_OK ||
        vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK)
        bail_out("%s", vbs_detail(&t.ctx));
    fill(values);
    for (int height = 1; height < ROWS; height *= 2) {
        int n = 0, rows = height;
        double worst;

        for (int row = 0; row < ROWS; row += rows) {
            while (rows > ROWS - row)
                rows /= 2;
            steps[n++] = (struct vbs_requested_kernel){
                .layer = 1, .batch = 1, .row = row, .rows = rows, .algorithm = "loop:pool"};
        }
        worst = run(&t, steps, n, values, output)
                    ? error(values, output, strcmp(op, "maxpool") == 0, n)
                    : HUGE_VAL;
        if (!ok(worst <= 1, "%s in %d steps of up to %d rows, %d threads: %.2f of the bound", op, n,
                height, threads, worst))
            printf("# %s\n", t.ctx.detail);
    }
    vbs_network_free(t.network);
    free(values);
}

int main(void)
{
    for (int threads = 1; threads <= 2; threads++) {
        check("avgpool", threads);
        check("maxpool", threads);
    }
    return done_testing();
}
