/*
 * A backend for tests of the executor, whose layers compute something that can be checked: every
 * byte of an output depends on all bytes of the sample's inputs, on the layer and on its place. It
 * has the layers and rows of a profile, and checks all arguments of its calls: addresses, sizes,
 * that nothing overlaps, and that weights are the right bytes of the right format.
 */
#ifndef TESTS_EXEC_FAKE_H
#define TESTS_EXEC_FAKE_H

#include "vbslab/backend.h"

/* What the byte that was spoiled belongs to: it was none, to an operand of the call, to no operand.
 */
enum exec_fake_spoiled { EXEC_FAKE_NOTHING, EXEC_FAKE_OPERAND, EXEC_FAKE_OTHER };

/* The settings and results of the fake, of which there is one. */
struct exec_fake {
    const struct vbs_profile *profile;
    int less;    /* runs are given so many bytes less of a format than the profile counts, an eighth
                    at most: the rest stays with the session */
    int more_ws; /* workspace that kernels need beyond the profile's */
    int die_at;  /* the call, of a kernel or for packed weights, that fails, from 0; -1: none */
    int spoil_at;   /* the call that writes a byte outside of its memory; -1: none */
    bool spoils_ws; /* behind its workspace; else behind its output */
    int stop_at;    /* the call of a kernel that sets stop; -1: none */
    volatile sig_atomic_t stop;
    int reads_above; /* rows above those of its reach that a step by rows reads too, if they exist
                      */
    bool no_pack;    /* sessions cannot pack weights */
    bool is_model;   /* sessions are modelled */

    int n_calls, n_packs, n_open;
    enum exec_fake_spoiled spoiled;
    int n_wrong;
    char why[200]; /* the first fault that was found */
};
extern struct exec_fake exec_fake;
extern const struct vbs_backend exec_fake_backend;

/* Resets the fake, with this profile. */
void exec_fake_reset(const struct vbs_profile *profile);

/* Makes the network of the profile: plain values are one float for each byte. Null: out of
 * memory. */
struct vbs_network *exec_fake_network(const struct vbs_profile *profile);
void exec_fake_network_free(struct vbs_network *network);

/* Computes the outputs by plain execution, sample by sample, layer by layer. values[i] has space
 * for all samples of output i. input: null for vbs_tensor_values. False: out of memory. */
bool exec_fake_reference(const struct vbs_profile *profile, const struct vbs_network *network,
                         int64_t request, const float *input, float *const *values);

/* Makes a profile that an executor can run: all sizes times scale, workspaces rounded up to
 * multiples of 64, in place only where sizes allow it. Null, and a line of TAP: the builder refused
 * it. */
struct vbs_profile *exec_fake_profile(const struct vbs_profile *profile, int scale);

#endif
