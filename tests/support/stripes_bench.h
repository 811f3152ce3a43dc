/* Sessions with stripes under test: kernels on rows of a sample, at every place of their layer,
 * give the rows of whole layers from the rows that they read alone. */
#ifndef TESTS_STRIPES_BENCH_H
#define TESTS_STRIPES_BENCH_H

#include "base/ctx.h"
#include "vbslab/vbslab.h"

#define STRIPES_MAX_INPUTS 16

struct stripes_bench {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    struct vbs_network *network;
    struct vbs_session *session;
    int threads;
    char **tensors; /* [n_layers + 1] one sample each, which layers read */
    char **outputs; /* [n_layers + 1] what layers make of these: tensors itself, or other samples */
};

/* What came out for the kernels on rows. */
struct stripes_result {
    int n_layers;         /* that have reaches */
    int n_missing;        /* heights of these for which there is no kernel */
    int n_sums;           /* layers that accumulate */
    int n_kernels, n_bad; /* kernels at all places, and layers that accumulate at all heights */
    double worst;         /* difference of the others */
};

/* Opens a session at batches 1 and 3; null: the detail is in t->ctx. */
struct vbs_session *stripes_open(struct stripes_bench *t, bool stripes,
                                 const struct vbs_requested_kernel *requested, int n);

/* Gives the number of values of one sample of a tensor. */
int64_t stripes_elements(const struct vbs_network *network, int tensor);

/* Runs a kernel; false: it failed, or wrote behind its workspace. */
bool stripes_run(struct stripes_bench *t, struct vbs_session *session, int kernel,
                 const void *const *src, void *dst);

/* Allocates one sample of each tensor; null: out of memory. */
char **stripes_tensors(struct vbs_session *session);
void stripes_free_tensors(struct vbs_session *session, char **tensors);

/* Computes by the definition what each layer makes of t->tensors, as t->outputs. False: out of
 * memory, or the session cannot read or write tensors. */
bool stripes_compute(struct stripes_bench *t);

/* Gives the largest difference of n values as a fraction of the largest of all. */
double stripes_difference(const float *got, const float *want, int64_t n, const float *all,
                          int64_t n_all);

/* Checks all kernels on rows of t's session at all places. They may differ by tolerance, as a
 * fraction of the largest value. */
struct stripes_result stripes_check(struct stripes_bench *t, double tolerance);

#endif
