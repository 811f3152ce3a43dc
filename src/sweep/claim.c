#include "sweep/claim.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_DIGITS 20
#define BEATS        12 /* in the time of the sweep's patience */
#define LOOKS        4  /* in that time, at least, before a claim is taken over */

/* What a claim's file says. */
struct holder {
    uint64_t count;
    char host[VBS_OWNER_HOST_SIZE];
    char owner[VBS_OWNER_SIZE];
};

/* The path of a claim. It takes no memory that could be out: a claim that could not be looked at or
 * removed for that would stand as if its owner still ran. */
struct claim_path {
    char text[PATH_MAX + VBS_SWEEP_NAME_SIZE + 32];
};

static struct claim_path path_of(const struct vbs_sweep *sweep, uint64_t name, int generation)
{
    struct claim_path path;
    char text[VBS_SWEEP_NAME_SIZE];

    vbs_sweep_write_name(name, text);
    snprintf(path.text, sizeof path.text, "%s/claims/%s.%d", sweep->info.results, text, generation);
    return path;
}

static int open_claim(const struct vbs_sweep *sweep, uint64_t name, int generation, int flags)
{
    struct claim_path path = path_of(sweep, name, generation);

    return open(path.text, flags | O_CLOEXEC, 0666);
}

/* Reads a claim that was opened. One that is not whole, because its owner has just made it, has no
 * owner. */
static struct holder read_holder(int file)
{
    struct holder holder = {0};
    char text[512], *host, *line, *end;
    ssize_t n = pread(file, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    holder.count = strtoull(text, &end, 10);
    host = *end == '\n' ? end + 1 : end;
    line = strchr(host, '\n');
    if (line && strlen(line + 1) < sizeof holder.owner) {
        snprintf(holder.host, sizeof holder.host, "%.*s", (int)(line - host), host);
        strcpy(holder.owner, line + 1);
        holder.owner[strcspn(holder.owner, "\n")] = '\0';
    }
    return holder;
}

/* Finds the last generation of a claim; 0: there is none. */
static int last_generation(const struct vbs_sweep *sweep, uint64_t name, struct holder *holder)
{
    int generation = 0;

    for (;;) {
        int file = open_claim(sweep, name, generation + 1, O_RDONLY);

        if (file < 0)
            return generation;
        *holder = read_holder(file);
        close(file);
        generation++;
    }
}

/* Counts the time for which a claim's count has stood still while it was watched. The time between
 * two looks counts little, however long it was: a process that was itself stopped meanwhile has
 * seen nothing. Returns whether it is the sweep's patience. */
static bool is_silent(const struct vbs_sweep *sweep, const struct holder *holder, int generation,
                      struct vbs_claim_watch *watch)
{
    double now_s = vbs_clock_s();

    if (watch->generation != generation || watch->count != holder->count)
        *watch = (struct vbs_claim_watch){.generation = generation, .count = holder->count};
    else
        watch->still_s += fmin(now_s - watch->looked_s, sweep->patience_s / LOOKS);
    watch->looked_s = now_s;
    return watch->still_s >= sweep->patience_s;
}

/* Makes a claim of a generation that nobody has. */
static enum vbs_status make_claim(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                  struct vbs_claim *claim)
{
    int file = open_claim(sweep, claim->name, claim->generation, O_RDWR | O_CREAT | O_EXCL);
    char text[512], host[128] = "", owner[VBS_OWNER_SIZE];
    int length;

    if (file < 0 && errno == EEXIST)
        return VBS_OK;
    if (file < 0)
        return vbs_fail(ctx, VBS_IO, "cannot claim a task in '%.200s/claims': %s",
                        sweep->info.results, strerror(errno));
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    host[strcspn(host, "\n")] = '\0';
    vbs_owner_self(owner);
    length = snprintf(text, sizeof text, "%0*d\n%s\n%s\n", COUNT_DIGITS, 0, host, owner);
    if (pwrite(file, text, (size_t)length, 0) != length) {
        enum vbs_status status =
            vbs_fail(ctx, VBS_IO, "cannot write a claim in '%.200s/claims': %s",
                     sweep->info.results, strerror(errno));

        claim->file = file;
        vbs_claim_release(sweep, claim);
        return status;
    }
    claim->file = file;
    claim->beaten_s = vbs_clock_s();
    return VBS_OK;
}

enum vbs_status vbs_claim_take(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                               struct vbs_claim_watch *watch, struct vbs_claim *claim)
{
    struct holder holder = {0};
    int generation = last_generation(sweep, name, &holder);

    bool passed = generation > 0 && vbs_owner_look(holder.owner) != VBS_OWNER_GONE;

    *claim = (struct vbs_claim){.file = -1, .generation = generation + 1, .name = name};
    if (passed && !is_silent(sweep, &holder, generation, watch))
        return VBS_OK;
    if (passed) {
        claim->passed = vbs_owner_process(holder.owner);
        strcpy(claim->passed_host, holder.host);
    }
    return make_claim(ctx, sweep, claim);
}

/* Returns whether the claim's own file is not the one of its name any more: an owner of a later
 * generation removed it when the task had ended, or was given back. Another process may have made
 * a new one since. */
static bool is_removed(const struct vbs_sweep *sweep, const struct vbs_claim *claim)
{
    struct claim_path path = path_of(sweep, claim->name, claim->generation);
    struct stat own, named;

    if (claim->file < 0)
        return false;
    if (fstat(claim->file, &own) != 0)
        return errno == ESTALE;
    if (stat(path.text, &named) != 0)
        return errno == ENOENT || errno == ESTALE;
    return own.st_dev != named.st_dev || own.st_ino != named.st_ino;
}

bool vbs_claim_is_lost(const struct vbs_sweep *sweep, const struct vbs_claim *claim)
{
    int next = open_claim(sweep, claim->name, claim->generation + 1, O_RDONLY);

    if (next >= 0)
        close(next);
    return next >= 0 || is_removed(sweep, claim);
}

bool vbs_claim_beat(const struct vbs_sweep *sweep, struct vbs_claim *claim)
{
    char text[COUNT_DIGITS + 1];
    double now_s = vbs_clock_s();

    if (now_s - claim->beaten_s < sweep->patience_s / BEATS)
        return true;
    claim->beaten_s = now_s;
    snprintf(text, sizeof text, "%0*llu", COUNT_DIGITS, (unsigned long long)++claim->count);
    /* A count that cannot be written is raised at the next time. */
    if (pwrite(claim->file, text, COUNT_DIGITS, 0) == COUNT_DIGITS)
        fdatasync(claim->file);
    return !vbs_claim_is_lost(sweep, claim);
}

void vbs_claim_release(const struct vbs_sweep *sweep, struct vbs_claim *claim)
{
    bool lost = vbs_claim_is_lost(sweep, claim);

    if (claim->file >= 0)
        close(claim->file);
    for (int g = claim->generation; g > 0 && !lost; g--) {
        struct claim_path path = path_of(sweep, claim->name, g);

        unlink(path.text);
    }
    claim->file = -1;
}

bool vbs_claim_is_held(const struct vbs_sweep *sweep, uint64_t name)
{
    struct holder holder = {0};

    return last_generation(sweep, name, &holder) > 0 &&
           vbs_owner_look(holder.owner) != VBS_OWNER_GONE;
}
