/* A session under test: every kernel that a backend offers for a small network computes what the
 * definition says, stays within its memory, leaves its inputs alone and keeps padding zero. */
#ifndef TESTS_BACKEND_BENCH_H
#define TESTS_BACKEND_BENCH_H

#include "base/ctx.h"
#include "vbslab/vbslab.h"

#include "cases/backend_cases.h"

#define MAX_BATCH 3

/* Receives the outcome of a check, its name, and details where it failed. */
typedef void bench_report(bool passed, const char *name, const char *detail);

struct bench;

/* What is other than usual about the values of a bench. */
struct bench_hooks {
    /* Changes MAX_BATCH samples of a tensor, count values together. */
    void (*plant)(const struct bench *t, int tensor, int64_t count, float *values);
    /* Judges what a kernel made of count values; false: they are not what is wanted. Workspace and
     * output held NaN before. */
    bool (*judge)(const struct bench *t, int kernel, const float *got, const float *want,
                  int64_t count);
};

/* A case under test. */
struct bench {
    struct vbs_ctx ctx;
    const char *name;
    struct vbs_network *network;
    struct vbs_session *session;
    float **plain;    /* by tensor: MAX_BATCH samples in plain order, seeded */
    void **canonical; /* the same in the canonical layout of the session */
    float low, high;
    bool given;                           /* runs are given packed weights */
    const struct vbs_encoding *encodings; /* by tensor, of encoded networks; null: random ones */
    const struct bench_hooks *hooks;      /* null: values are as usual */
};

/* Opens the case at batches 1, 2, 3; false: the detail is in t->ctx. Close it after success and
 * failure. */
bool bench_open(struct bench *t, const struct backend_case *c, const char *backend, int threads);
bool bench_open_operator(struct bench *t, const struct operator_case *c, const char *backend,
                         bool given);
void bench_close(struct bench *t);

/* Opens the case at batches 1, 2, 3 on onednn with these encodings, by tensor; weights have 8 bits
 * where those of a layer read 8 bits. Close it after success and failure. */
bool bench_open_encoded(struct bench *t, const struct operator_case *c,
                        const struct vbs_encoding *encodings);

/* Opens a session of onednn on one thread at batches 1 and 2, with the requested kernels alone or,
 * where requested is null, with all kernels. */
enum vbs_status bench_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                              const struct vbs_requested_kernel *requested, int n_requested,
                              struct vbs_session **session);

/* Makes the tensors, MAX_BATCH samples each. */
bool bench_tensors(struct bench *t);

/* Opens t->network on onednn, on one thread at batches 1 and MAX_BATCH; stripes: as sessions with
 * kernels on rows are, which have layouts of their own. False: the detail is in t->ctx. */
bool bench_open_few(struct bench *t, bool stripes);

/* Checks all kernels on whole samples of a session that was opened, or reports that it was not, and
 * closes it. */
void bench_check_kernels(struct bench *t, bool opened, bench_report *report);

/* Gives the number of values of one sample of a tensor in plain order. */
int64_t bench_elements(const struct bench *t, int tensor);

/* Computes MAX_BATCH samples of layer's output by the definition; the caller frees them. */
float *bench_reference(struct bench *t, int layer);

/* Checks all kernels of a case, on onednn. */
void bench_check(const struct backend_case *c, bench_report *report);
void bench_check_operator(const struct operator_case *c, bench_report *report);

/* Does the same where every run is given its weights. */
void bench_check_given(const struct operator_case *c, bench_report *report);

/* Do the same with tensors that are encoded at random, and weights of 8 bits where those of a layer
 * read 8 bits. */
void bench_check_encoded(const struct backend_case *c, uint64_t seed, bench_report *report);
void bench_check_encoded_operator(const struct operator_case *c, uint64_t seed,
                                  bench_report *report);

/* Checks these algorithms, a list that ends with a null, for each layer of a network that can be
 * computed from coded weights, on onednn; the network is freed. Null: a failure. given: runs are
 * given their weights. */
void bench_check_coded(const char *name, struct vbs_network *network, const char *const *algorithms,
                       bool given, bench_report *report);

/* Gives whether some layer of a network can be computed from coded weights. */
bool bench_is_coded(const struct vbs_network *network);

/* Opens such a network with these algorithms. Null: a failure. Close it after success and failure.
 */
bool bench_open_coded(struct bench *t, const char *name, struct vbs_network *network,
                      const char *const *algorithms, bool given);

/* Gives whether this program, which is restarted without output, passes as on a machine with
 * narrower vectors, which has other blocks and other kernels. True also where it is such a restart
 * itself. */
bool bench_passes_on(char *program, const char *isa);

/* Gives the largest difference as a fraction of the largest value. */
double difference(const float *got, const float *want, int64_t n);

/* Counts the floats that are not zero. A tensor in its canonical layout has as many as in plain
 * form, because padding is 0. */
int64_t non_zeros(const float *values, int64_t n);

#endif
