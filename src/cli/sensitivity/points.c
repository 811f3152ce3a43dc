#include "cli/sensitivity/sensitivity.h"

#include "base/fail.h"
#include "base/grow.h"
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)64 << 20)
#define N_NUMBERS  11 /* columns between the key and the name */
#define RETRAINED                                                                                  \
    8 /* of these, the accuracy behind retraining; epochs come before, the loss behind */

const char points_header[] = "key,number,keep,share,parameters,macs,accuracy,loss,epochs,"
                             "retrained_accuracy,retrained_loss,time_s,group\n";

/* ---- lines ---- */

static void add_number(struct vbs_text *text, double value)
{
    vbs_text_add_double(text, value);
    vbs_text_add(text, ",");
}

void points_format(const struct sensitivity_points *points, const struct sensitivity_row *row,
                   struct vbs_text *text)
{
    const struct vbs_sensitivity_point *p = &row->point;
    const struct vbs_prune_group *group = p->group < 0 ? NULL : &points->groups->groups[p->group];

    vbs_text_addf(text, "%s,%d,%" PRId64 ",", points->key, p->group, p->keep);
    add_number(text, group ? vbs_sensitivity_share(group, p->keep) : 0);
    vbs_text_addf(text, "%" PRId64 ",%" PRId64 ",", p->parameters, p->macs);
    add_number(text, p->accuracy);
    add_number(text, p->loss);
    vbs_text_addf(text, "%d,", p->retrained || p->diverged ? points->epochs : 0);
    if (p->retrained) {
        add_number(text, p->retrained_accuracy);
        add_number(text, p->retrained_loss);
    } else {
        vbs_text_add(text, ",,");
    }
    vbs_text_addf(text, "%.3f,", row->time_s);
    vbs_text_add_csv(text, group ? group->name : "");
    vbs_text_add(text, "\n");
}

/* Gives the end of the line that begins at `at`, behind its line feed; null: it is cut. A name may
 * have line feeds between quotes. */
static const char *end_of_line(const char *at)
{
    for (bool quoted = false; *at; at++) {
        quoted ^= *at == '"';
        if (*at == '\n' && !quoted)
            return at + 1;
    }
    return NULL;
}

static enum vbs_status fail_line(struct vbs_ctx *ctx, const struct sensitivity_points *points)
{
    return vbs_fail(ctx, VBS_FORMAT, "'%.300s' has a line that is no point of 'sensitivity'",
                    points->path);
}

/* Reads the numbers of a line behind its key; fields without a number give NaN. */
static bool read_numbers(const char *at, double numbers[N_NUMBERS])
{
    for (int i = 0; i < N_NUMBERS; i++) {
        char *end;

        numbers[i] = strtod(at, &end);
        if (end == at)
            numbers[i] = (double)NAN;
        if (*end != ',')
            return false;
        at = end + 1;
    }
    return true;
}

static enum vbs_status keep_row(struct vbs_ctx *ctx, struct sensitivity_points *points,
                                const struct sensitivity_row *row)
{
    VBS_TRY(vbs_grow(ctx, &points->rows, &points->max_rows, (int64_t)points->n_rows + 1,
                     sizeof *points->rows));
    points->rows[points->n_rows++] = *row;
    return VBS_OK;
}

static enum vbs_status read_line(struct vbs_ctx *ctx, struct sensitivity_points *points,
                                 const char *line)
{
    size_t key = VBS_SENSITIVITY_KEY_SIZE - 1;
    struct sensitivity_row row = {.time_s = 0};
    double numbers[N_NUMBERS];
    bool diverged;
    int group;

    if (strcspn(line, ",\n") != key || !read_numbers(line + key + 1, numbers))
        return fail_line(ctx, points);
    if (strncmp(line, points->key, key) != 0)
        return vbs_fail(ctx, VBS_USAGE,
                        "'%.300s' has points of another network, other images or other options; "
                        "remove it, or name another file",
                        points->path);
    if (!(numbers[0] >= -1 && numbers[0] < points->groups->n_groups && numbers[1] >= 0))
        return fail_line(ctx, points);
    for (int i = 2; i < N_NUMBERS; i++)
        if (isnan(numbers[i]) && i != RETRAINED && i != RETRAINED + 1)
            return fail_line(ctx, points);
    diverged = numbers[RETRAINED - 1] > 0 && isnan(numbers[RETRAINED]);
    group = (int)numbers[0];
    if (group >= 0 && !(numbers[1] <= (double)points->groups->groups[group].n_channels))
        return fail_line(ctx, points);
    row = (struct sensitivity_row){.point = {.group = group,
                                             .keep = (int64_t)numbers[1],
                                             .parameters = (int64_t)numbers[3],
                                             .macs = (int64_t)numbers[4],
                                             .accuracy = numbers[5],
                                             .loss = numbers[6],
                                             .retrained = numbers[RETRAINED - 1] > 0 && !diverged,
                                             .retrained_accuracy = numbers[RETRAINED],
                                             .retrained_loss = numbers[RETRAINED + 1],
                                             .diverged = diverged},
                                   .time_s = numbers[10]};
    return keep_row(ctx, points, &row);
}

/* Reads all whole lines; *n_whole is their length in bytes. */
static enum vbs_status read_lines(struct vbs_ctx *ctx, struct sensitivity_points *points,
                                  const char *text, size_t *n_whole)
{
    const char *at = text, *end = end_of_line(text);

    *n_whole = 0;
    if (!end) /* a header that was cut, or an empty file */
        return strncmp(points_header, text, strlen(text)) == 0 ? VBS_OK : fail_line(ctx, points);
    if (strncmp(text, points_header, strlen(points_header)) != 0)
        return fail_line(ctx, points);
    for (at = end; (end = end_of_line(at)); at = end)
        VBS_TRY(read_line(ctx, points, at));
    *n_whole = (size_t)(at - text);
    return VBS_OK;
}

/* ---- the file ---- */

static enum vbs_status fail_file(struct vbs_ctx *ctx, const char *what,
                                 const struct sensitivity_points *points)
{
    return vbs_fail(ctx, VBS_IO, "cannot %s '%.300s': %s", what, points->path, strerror(errno));
}

static enum vbs_status append(struct vbs_ctx *ctx, struct sensitivity_points *points,
                              const char *bytes, size_t n)
{
    off_t end = lseek(points->descriptor, 0, SEEK_END);
    int reason = end < 0 ? errno : vbs_write_at(points->descriptor, end, bytes, (int64_t)n);

    if (reason == 0 && fsync(points->descriptor) != 0)
        reason = errno;
    errno = reason;
    return reason ? fail_file(ctx, "write", points) : VBS_OK;
}

/* Reads what the file has, and cuts off what is no whole line. */
static enum vbs_status go_on(struct vbs_ctx *ctx, struct sensitivity_points *points)
{
    size_t length, n_whole = 0;
    enum vbs_status status;
    char *text;

    VBS_TRY(vbs_read_file(ctx, points->path, MOST_BYTES, &text, &length));
    status =
        strlen(text) == length ? read_lines(ctx, points, text, &n_whole) : fail_line(ctx, points);
    free(text);
    if (status != VBS_OK)
        return status;
    points->n_read = points->n_rows;
    if (n_whole < length && ftruncate(points->descriptor, (off_t)n_whole) != 0)
        return fail_file(ctx, "write", points);
    return n_whole == 0 ? append(ctx, points, points_header, strlen(points_header)) : VBS_OK;
}

enum vbs_status points_open(struct vbs_ctx *ctx, struct sensitivity_points *points)
{
    struct stat about;

    if (!points->path)
        return VBS_OK;
    points->descriptor = open(points->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (points->descriptor < 0)
        return fail_file(ctx, "open", points);
    if (fstat(points->descriptor, &about) != 0 || !S_ISREG(about.st_mode))
        return vbs_fail(ctx, VBS_IO, "cannot write '%.300s': no regular file", points->path);
    if (flock(points->descriptor, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? vbs_fail(ctx, VBS_IO, "another process writes '%.300s'", points->path)
                   : fail_file(ctx, "lock", points);
    return go_on(ctx, points);
}

enum vbs_status points_add(struct vbs_ctx *ctx, struct sensitivity_points *points,
                           const struct sensitivity_row *row)
{
    struct vbs_text line = {0};
    enum vbs_status status;

    points_format(points, row, &line);
    status = line.failed ? vbs_no_memory(ctx) : keep_row(ctx, points, row);
    if (status == VBS_OK && points->path)
        status = append(ctx, points, line.data, line.length);
    vbs_text_clear(&line);
    return status;
}

const struct sensitivity_row *points_find(const struct sensitivity_points *points, int group,
                                          int64_t keep)
{
    for (int i = 0; i < points->n_rows; i++)
        if (points->rows[i].point.group == group && points->rows[i].point.keep == keep)
            return &points->rows[i];
    return NULL;
}

void points_clear(struct sensitivity_points *points)
{
    if (points->descriptor >= 0)
        close(points->descriptor);
    free(points->rows);
    *points = (struct sensitivity_points){.descriptor = -1};
}
