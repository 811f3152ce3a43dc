/*
 * Planners by name: those from outside are loaded.
 */
#include "outside/internal.h"

#include "base/fail.h"
#include "base/text.h"
#include "vbslab/units.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_VARIABLE "VBSLAB_PLANNER_MEMORY"
#define SHOWN_NAME      32 /* characters of a file's name in the name of its planner */

/* The kinds of planners from outside, by the beginning of their names. */
static const struct kind {
    const char *prefix, *what;
    enum vbs_status (*fill)(struct vbs_ctx *ctx, struct vbs_outside *outside);
} KINDS[] = {
    {"exec:", "PROGRAM", vbs_outside_program},
    {"so:", "FILE", vbs_outside_object},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++)
        if (strncmp(name, KINDS[i].prefix, strlen(KINDS[i].prefix)) == 0)
            return &KINDS[i];
    return NULL;
}

static enum vbs_status read_memory(struct vbs_ctx *ctx, int64_t *bytes)
{
    const char *given = getenv(MEMORY_VARIABLE);

    *bytes = VBS_OUTSIDE_MEMORY_BYTES;
    if (!given || !given[0])
        return VBS_OK;
    if (vbs_parse_bytes(ctx, given, bytes) != VBS_OK)
        return vbs_fail_within(ctx, VBS_USAGE, MEMORY_VARIABLE);
    return VBS_OK;
}

/* Sets the name to the prefix and the file's name without its folder, and the path to one that has
 * a slash, so that nothing searches for it. */
static enum vbs_status set_names(struct vbs_ctx *ctx, struct vbs_outside *outside,
                                 const char *prefix, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct vbs_text name = {0}, full = {0};

    vbs_text_add(&name, prefix);
    vbs_text_add_visible(&name, slash ? slash + 1 : path, SHOWN_NAME);
    vbs_text_add(&full, slash ? "" : "./");
    vbs_text_add(&full, path);
    outside->name = name.data;
    outside->path = full.data;
    return name.failed || full.failed ? vbs_no_memory(ctx) : VBS_OK;
}

static enum vbs_status load(struct vbs_ctx *ctx, const struct kind *kind, const char *path,
                            struct vbs_outside *outside)
{
    if (!path[0] || path[strlen(path) - 1] == '/')
        return vbs_fail(ctx, VBS_USAGE, "planner '%s' names no file; write %s%s", kind->prefix,
                        kind->prefix, kind->what);
    VBS_TRY(read_memory(ctx, &outside->memory_bytes));
    VBS_TRY(set_names(ctx, outside, kind->prefix, path));
    outside->planner = (struct vbs_planner){.summary = "a planner from outside",
                                            .source = "outside",
                                            .cost = "not known",
                                            .outside = true,
                                            .may_slow_down = true,
                                            .may_be_late = true};
    VBS_TRY(kind->fill(ctx, outside));
    outside->planner.name = outside->name;
    return VBS_OK;
}

enum vbs_status vbs_planner_load(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_planner **planner)
{
    const struct kind *kind = find_kind(name);
    struct vbs_outside *outside;
    enum vbs_status status;

    if (!kind)
        return vbs_planner_find(ctx, name, planner);
    outside = calloc(1, sizeof *outside);
    if (!outside)
        return vbs_no_memory(ctx);
    vbs_outside_hold(outside);
    status = load(ctx, kind, name + strlen(kind->prefix), outside);
    if (status != VBS_OK) {
        vbs_outside_release(outside);
        return status;
    }
    *planner = &outside->planner;
    return VBS_OK;
}

void vbs_planner_unload(const struct vbs_planner *planner)
{
    if (planner && planner->outside)
        vbs_outside_release((struct vbs_outside *)(uintptr_t)planner);
}
