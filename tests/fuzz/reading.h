/*
 * What the readers share, and the readers that have a file of their own. Each gives null, or the
 * promise that was broken, as readers_run does.
 */
#ifndef TESTS_FUZZ_READING_H
#define TESTS_FUZZ_READING_H

#include "base/ctx.h"
#include "vbslab/model.h"

#include <stddef.h>

/* Checks a failure: it has a status, and one line of text without control characters. Memory does
 * not run out where files are as small as these, and nobody interrupts. */
const char *fuzz_failed_well(const struct vbs_ctx *ctx, enum vbs_status status);

/* Makes a file of these bytes in memory; -1: it cannot be made. The caller closes it. */
int fuzz_memory_file(const void *data, size_t length);
/* Gives the path of an open file. */
const char *fuzz_path_of(int file, char path[40]);

/* ---- networks.c ---- */

/* Checks a failure to read a network, or the network, which is freed. */
const char *fuzz_end_network(const struct vbs_ctx *ctx, enum vbs_status status,
                             struct vbs_network *network);
const char *fuzz_read_network(const char *text, size_t length);
const char *fuzz_read_network_as(const char *text, size_t length);
const char *fuzz_read_model(const char *text, size_t length);
const char *fuzz_read_model_as(const char *text, size_t length);
const char *fuzz_read_tensor(const char *text, size_t length);
const char *fuzz_export_text(const char *text, size_t length);
const char *fuzz_export_model(const char *text, size_t length);

/* ---- coded.c ---- */

const char *fuzz_read_coded(const char *text, size_t length);
const char *fuzz_read_vbz(const char *text, size_t length);

/* ---- images.c ---- */

const char *fuzz_read_data(const char *text, size_t length);

#endif
