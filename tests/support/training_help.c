#include "support/training_help.h"

#include "vbslab/vbslab.h"

#include <math.h>
#include <stdlib.h>

/* ---- making subjects ---- */

static double *as_doubles(const float *values, int64_t n)
{
    double *made = malloc((size_t)n * sizeof *made);

    for (int64_t i = 0; made && i < n; i++)
        made[i] = (double)values[i];
    return made;
}

static void add_array(struct training_subject *s, int layer, int fused, enum vbs_parameter what,
                      int64_t count, const float *values)
{
    struct reference_array *a = &s->reference.arrays[s->reference.n_arrays++];

    *a = (struct reference_array){layer,
                                  fused,
                                  what,
                                  count,
                                  as_doubles(values, count),
                                  calloc((size_t)count, sizeof(double))};
}

/* Gives the reference the parameters that the session has. */
static bool read_arrays(struct training_subject *s)
{
    const struct vbs_training *t = s->session;

    s->reference.arrays =
        calloc((size_t)(t->n_trainable + t->n_statistics), sizeof *s->reference.arrays);
    for (int i = 0; i < t->n_trainable; i++) {
        const struct vbs_trainable *p = &t->trainable[i];
        float *plain = calloc((size_t)p->count, sizeof *plain);
        bool read = t->ops->read(&s->ctx, s->session, i, false, plain) == VBS_OK;

        if (read)
            add_array(s, p->layer, p->fused, p->what, p->count, plain);
        free(plain);
        if (!read)
            return false;
    }
    for (int i = 0; i < t->n_statistics; i++)
        add_array(s, t->statistics[i].layer, t->statistics[i].fused, t->statistics[i].what,
                  t->statistics[i].count, t->statistics[i].values);
    return true;
}

void training_close(struct training_subject *s)
{
    for (int i = 0; i < s->reference.n_arrays; i++) {
        free(s->reference.arrays[i].values);
        free(s->reference.arrays[i].gradient);
    }
    free(s->reference.arrays);
    reference_training_clear(&s->reference);
    free(s->input);
    free(s->output);
    free(s->output_gradient);
    free(s->input_gradient);
    free(s->input_d);
    free(s->output_gradient_d);
    if (s->session)
        s->session->ops->close(s->session);
    vbs_network_free(s->network);
}

static bool make_tensors(struct training_subject *s)
{
    int64_t in = TRAINING_BATCH * s->session->input_elements,
            out = TRAINING_BATCH * s->session->output_elements;

    s->input = malloc((size_t)in * sizeof(float));
    s->input_gradient = malloc((size_t)in * sizeof(float));
    s->output = malloc((size_t)out * sizeof(float));
    s->output_gradient = malloc((size_t)out * sizeof(float));
    if (!s->input || !s->input_gradient || !s->output || !s->output_gradient)
        return false;
    vbs_tensor_values(1, 0, in, s->input);
    vbs_tensor_values(2, 0, out, s->output_gradient);
    s->input_d = as_doubles(s->input, in);
    s->output_gradient_d = as_doubles(s->output_gradient, out);
    s->reference.network = s->network;
    s->reference.batch = TRAINING_BATCH;
    return s->input_d && s->output_gradient_d;
}

struct vbs_training_options training_options(int threads, double dropout_rate)
{
    return (struct vbs_training_options){.struct_size = sizeof(struct vbs_training_options),
                                         .batch = TRAINING_BATCH,
                                         .threads = threads,
                                         .dropout_rate = dropout_rate,
                                         .input_gradient = true};
}

static bool open_session(struct training_subject *s, int threads, double dropout_rate)
{
    const struct vbs_training_options options = training_options(threads, dropout_rate);

    return vbs_training_open(&s->ctx, "onednn", s->network, &options, &s->session) == VBS_OK &&
           make_tensors(s) && read_arrays(s);
}

bool training_open(struct training_subject *s, const struct backend_case *c, int threads,
                   double dropout_rate)
{
    *s = (struct training_subject){.name = c->name};
    return backend_case_network(&s->ctx, c, &s->network) == VBS_OK &&
           open_session(s, threads, dropout_rate);
}

bool training_open_operator(struct training_subject *s, const struct operator_case *c, int threads)
{
    *s = (struct training_subject){.name = c->name};
    return operator_case_network(&s->ctx, c, &s->network) == VBS_OK && open_session(s, threads, -1);
}

/* ---- comparing ---- */

double training_difference(const double *want, const float *got, int64_t n)
{
    double worst = 0, largest = 1e-3;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
        worst = fmax(worst, isfinite(got[i]) ? fabs(want[i] - (double)got[i]) : INFINITY);
    }
    return worst / largest;
}

/* A gradient that is zero by definition, such as that of a bias before a BatchNorm, is compared
 * with `scale`, the size of its terms. */
static double gradient_difference(struct training_subject *s, int index, double scale)
{
    const struct vbs_trainable *p = &s->session->trainable[index];
    const double *want = s->reference.arrays[index].gradient;
    float *plain = calloc((size_t)p->count, sizeof *plain);
    double worst = INFINITY, largest = scale;

    if (s->session->ops->read(&s->ctx, s->session, index, true, plain) == VBS_OK) {
        worst = 0;
        for (int64_t i = 0; i < p->count; i++) {
            largest = fmax(largest, fabs(want[i]));
            worst = fmax(worst, isfinite(plain[i]) ? fabs(want[i] - (double)plain[i]) : INFINITY);
        }
    }
    free(plain);
    return worst / largest;
}

/* Computes the largest difference of a pass of training, its parts in the order in which they are
 * computed. */
double training_check(struct training_subject *s, uint64_t step)
{
    const struct vbs_training_pass pass = {.input = s->input, .training = true, .step = step};
    const struct vbs_training *t = s->session;
    const double *want;
    double worst = 0;

    if (t->ops->forward(&s->ctx, s->session, &pass, s->output) != VBS_OK ||
        t->ops->backward(&s->ctx, s->session, s->output_gradient) != VBS_OK ||
        t->ops->input_gradient(&s->ctx, s->session, s->input_gradient) != VBS_OK)
        return INFINITY;
    s->reference.training = true;
    want = reference_forward(&s->reference, s->input_d);
    worst = fmax(worst, training_difference(want, s->output, TRAINING_BATCH * t->output_elements));
    want = reference_backward(&s->reference, s->output_gradient_d);
    worst = fmax(worst,
                 training_difference(want, s->input_gradient, TRAINING_BATCH * t->input_elements));
    for (int i = 0; i < t->n_trainable; i++)
        worst = fmax(worst, gradient_difference(s, i, 1));
    return worst;
}

double training_check_inference(struct training_subject *s)
{
    const struct vbs_training_pass pass = {.input = s->input};

    if (s->session->ops->forward(&s->ctx, s->session, &pass, s->output) != VBS_OK)
        return INFINITY;
    s->reference.training = false;
    return training_difference(reference_forward(&s->reference, s->input_d), s->output,
                               TRAINING_BATCH * s->session->output_elements);
}
