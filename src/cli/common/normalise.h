/* How the inputs of a network are normalised. */
#ifndef VBS_CLI_COMMON_NORMALISE_H
#define VBS_CLI_COMMON_NORMALISE_H

#include "cli/common/cli.h"
#include "vbslab/data.h"
#include "vbslab/model.h"

/* The options of commands that run a network on images, for a table of options. */
#define CLI_OPTIONS_IMAGES                                                                         \
    {"normalise", "MEAN,DEVIATION",                                                                \
     "the network takes (pixel - MEAN) / DEVIATION, bytes counting as 0 to 1; M,M,M;D,D,D for "    \
     "each "                                                                                       \
     "channel its own (default: as the network's file says, else those of the training images)"},  \
        {"batch", "N", "images at once (default 64, fewer where these need more than 256 MiB)"},   \
    {                                                                                              \
        "threads", "N", "threads that compute (default: as many as this process may use)"          \
    }

/*
 * Finds the normalisation of images of n_channels: that of the option --normalise, of the network's
 * file (model), or of the training images in folder. *from is "option", "network" or "data". One
 * mean and deviation are those of all channels. VBS_USAGE, VBS_FORMAT, VBS_IO, VBS_NO_MEMORY.
 */
enum vbs_status cli_find_normalise(struct cli *cli, const char *const *values,
                                   const struct vbs_network *network, const char *model,
                                   const char *folder, int n_channels,
                                   struct vbs_normalise *normalise,
                                   const char **from) VBS_MUST_CHECK;

#endif
