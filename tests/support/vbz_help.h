/* Networks with coded weights, for tests of other rooms. */
#ifndef TESTS_VBZ_HELP_H
#define TESTS_VBZ_HELP_H

#include "vbslab/model.h"

/* How all layers with a matrix are coded. */
struct vbz_recipe {
    double density;
    int bits;
    struct vbs_coding_options options;
    bool any_form;
};

/* Prunes, quantises and codes the weights of all convs and fcs of a network that have at least two
 * values, and writes it to path. */
enum vbs_status vbz_write(struct vbs_ctx *ctx, const struct vbs_network *network,
                          const struct vbz_recipe *recipe, const char *path);

/* Writes a network, which is freed, in a file of its own, and loads that, which is then removed.
 * Null, with a line on standard output, where this fails; null for null. */
struct vbs_network *vbz_coded(struct vbs_network *plain, const struct vbz_recipe *recipe);

/* Does the same with a model. */
struct vbs_network *vbz_network(const char *model, const struct vbz_recipe *recipe);

#endif
