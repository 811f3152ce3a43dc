/*
 * Measuring copies: the sizes and sources that are measured, the evidence that a disk must give,
 * and folders in which no file can be made. No check depends on the speed of anything.
 */
#include "profile/measure/copy_file.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB        ((int64_t)1 << 20)
#define TMPFS      0x01021994
#define MAX_COPIES 12
#define MAX_TIMES  100

/* A sink that keeps copies in memory. */
struct kept {
    struct {
        const char *source;
        int64_t bytes;
        double times_us[MAX_TIMES];
        int n_times, n_stored;
    } copies[MAX_COPIES];
    int n_copies;
    int n_added, fail_at; /* the add that fails; 0: none */
    int cancel_at;        /* the add after which to stop; 0: none */
    volatile sig_atomic_t cancel;
};

static int find(const struct kept *kept, const char *source, int64_t bytes)
{
    for (int i = 0; i < kept->n_copies; i++)
        if (kept->copies[i].bytes == bytes && strcmp(kept->copies[i].source, source) == 0)
            return i;
    return -1;
}

static enum vbs_status stored(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                              const double **times_us, int *n_times)
{
    struct kept *kept = self;
    int i = find(kept, source, bytes);

    (void)ctx;
    *n_times = i < 0 ? 0 : kept->copies[i].n_stored;
    *times_us = i < 0 ? NULL : kept->copies[i].times_us;
    return VBS_OK;
}

static enum vbs_status add(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                           double time_us)
{
    struct kept *kept = self;
    int i = find(kept, source, bytes);

    if (++kept->n_added == kept->fail_at) {
        snprintf(ctx->detail, sizeof ctx->detail, "the store is full");
        return VBS_STORE;
    }
    kept->cancel = kept->n_added == kept->cancel_at;
    if (i < 0) {
        i = kept->n_copies++;
        kept->copies[i].source = source;
        kept->copies[i].bytes = bytes;
    }
    kept->copies[i].times_us[kept->copies[i].n_times++] = time_us;
    return VBS_OK;
}

static struct vbs_sample_sink sink_of(struct kept *kept)
{
    return (struct vbs_sample_sink){.self = kept, .stored_copies = stored, .add_copy = add};
}

/* Measures for a network with these weights. */
static enum vbs_status measure(struct vbs_ctx *ctx, const char *folder, int64_t weight_bytes,
                               bool modelled, struct kept *kept, struct vbs_copy_report *report)
{
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_copy_options options = {
        .struct_size = sizeof(struct vbs_copy_options), .folder = folder, .time_limit_s = 1};
    struct vbs_sample_sink sink = sink_of(kept);
    enum vbs_status status;

    *ctx = (struct vbs_ctx){.cancel = &kept->cancel};
    *report = (struct vbs_copy_report){0};
    plain->layers[1].weight_bytes = weight_bytes - 10;
    plain->session.modelled = modelled;
    status = vbs_measure_copies(ctx, &plain->session, &options, &sink, report);
    plain_session_free(plain);
    return status;
}

/* Counts the sizes of a source, each with five times or more; -1 when they are not 64 KiB, 256 KiB,
 * ... */
static int count_sizes(const struct kept *kept, const char *source)
{
    int n = 0;

    for (int i = 0; i < kept->n_copies; i++) {
        if (strcmp(kept->copies[i].source, source) != 0)
            continue;
        if (kept->copies[i].bytes != INT64_C(65536) << (2 * n++) || kept->copies[i].n_times < 5)
            return -1;
        for (int k = 0; k < kept->copies[i].n_times; k++)
            if (!(kept->copies[i].times_us[k] > 0))
                return -1;
    }
    return n;
}

static bool is_tmpfs(const char *folder)
{
    struct statfs info;

    return statfs(folder, &info) == 0 && (unsigned long)info.f_type == TMPFS;
}

static void copies_of_small_networks_have_three_sizes(const char *folder)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;

    kept = (struct kept){0};
    if (!ok(measure(&ctx, folder, 1000, false, &kept, &report) == VBS_OK && !report.warning[0],
            "measured: %s%s", ctx.detail, report.warning))
        return;
    is_int(count_sizes(&kept, "page-cache"), 3, "64 KiB to 1 MiB from the page cache");
    ok(count_sizes(&kept, "disk") == 3 || (count_sizes(&kept, "disk") == 0 && report.notes[0]),
       "... and from the disk, or it is said why not: %s", report.notes);
    is_int(report.n_samples, kept.n_added, "samples are counted");
}

static void sizes_end_with_the_weights(const char *folder)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;

    kept = (struct kept){0};
    if (!ok(measure(&ctx, folder, 4 * MIB, false, &kept, &report) == VBS_OK, "measured"))
        return;
    /* A slow or busy machine may leave out the largest. */
    ok(count_sizes(&kept, "page-cache") == 4 || count_sizes(&kept, "page-cache") == 3,
       "weights of 4 MiB are copied in at most 4 MiB");
}

static void a_file_system_in_memory_is_no_disk(void)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;

    if (access("/dev/shm", W_OK) != 0 || !is_tmpfs("/dev/shm")) {
        skip("a file system in memory", "there is none at /dev/shm");
        return;
    }
    kept = (struct kept){0};
    if (!ok(measure(&ctx, "/dev/shm", 1000, false, &kept, &report) == VBS_OK, "measured"))
        return;
    is_int(count_sizes(&kept, "disk"), 0, "nothing is called disk");
    ok(strstr(report.notes, "no copies from disk"), "which is said: %s", report.notes);
    is_int(count_sizes(&kept, "page-cache"), 3, "the page cache is measured");
}

static void what_is_stored_is_not_measured_again(const char *folder)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;
    static const char *const SOURCES[] = {"page-cache", "disk"};

    kept = (struct kept){0};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 3; i++) {
            kept.copies[kept.n_copies].source = SOURCES[s];
            kept.copies[kept.n_copies].bytes = INT64_C(65536) << (2 * i);
            kept.copies[kept.n_copies++].n_stored = 5;
        }
    ok(measure(&ctx, "/no/such/folder", 1000, false, &kept, &report) == VBS_OK &&
           kept.n_added == 0 && !report.warning[0],
       "five times of each are enough: no file is made");
    kept.copies[1].n_stored = 3;
    if (!ok(measure(&ctx, folder, 1000, false, &kept, &report) == VBS_OK, "three of one are not"))
        return;
    ok(kept.copies[1].n_times >= 2, "the source goes on");
    is_int(kept.copies[4].n_times, 0, "the other does not");
}

static void where_no_file_can_be_made_there_is_a_warning(const char *folder)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;
    int status;
    pid_t child;

    kept = (struct kept){0};
    ok(measure(&ctx, "/no/such/folder", 1000, false, &kept, &report) == VBS_OK &&
           kept.n_added == 0 &&
           strcmp(report.warning, "cannot make a file to copy from in '/no/such/folder': No such "
                                  "file or directory") == 0,
       "a folder that is not there: %s", report.warning);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 1 << 20, .rlim_max = 1 << 20});
        _exit(measure(&ctx, folder, 1000, false, &kept, &report) == VBS_OK && kept.n_added == 0 &&
                      strstr(report.warning, "only 1 MiB of room for it")
                  ? 0
                  : 1);
    }
    ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0,
       "a disk without room");
}

static void without_time_nothing_is_copied(const char *folder)
{
    static struct kept kept;
    struct plain_session *plain = plain_session_new(2, 1, 1);
    const struct vbs_copy_options options = {
        .struct_size = sizeof options, .folder = folder, .time_limit_s = 1e-3};
    struct vbs_sample_sink sink = sink_of(&kept);
    struct vbs_copy_report report;

    ok(vbs_measure_copies(NULL, &plain->session, &options, &sink, &report) == VBS_OK &&
           kept.n_added == 0 && report.n_sources == 0,
       "a millisecond is too short for copies");
    is_str(report.warning, "there is no time for it", "which a warning says");
    plain_session_free(plain);
}

static void measuring_ends_when_it_is_cancelled_or_the_store_fails(const char *folder)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;

    kept = (struct kept){.cancel = 1};
    ok(measure(&ctx, folder, 1000, false, &kept, &report) == VBS_INTERRUPTED && kept.n_added == 0,
       "cancelled before it began");
    kept = (struct kept){.cancel_at = 4};
    ok(measure(&ctx, folder, 1000, false, &kept, &report) == VBS_INTERRUPTED && kept.n_added == 4,
       "cancelled after four samples");
    kept = (struct kept){.fail_at = 2};
    ok(measure(&ctx, folder, 1000, false, &kept, &report) == VBS_STORE && kept.n_added == 2 &&
           strcmp(ctx.detail, "the store is full") == 0,
       "the store's failure is passed on");
}

static void modelled_copies_are_computed(void)
{
    static struct kept kept;
    struct vbs_copy_report report;
    struct vbs_ctx ctx;
    int i;

    kept = (struct kept){0};
    if (!ok(measure(&ctx, NULL, 100 * MIB, true, &kept, &report) == VBS_OK && kept.n_copies == 12,
            "six sizes of two sources, without a file"))
        return;
    i = find(&kept, "page-cache", 64 * MIB);
    ok(i >= 0 && kept.copies[i].n_times == 1 &&
           kept.copies[i].times_us[0] == 20 + 67108864.0 / 5000,
       "page cache: 20 us and 5000 bytes per us");
    i = find(&kept, "disk", 65536);
    ok(i >= 0 && kept.copies[i].times_us[0] == 100 + 65536.0 / 1000,
       "disk: 100 us and 1000 bytes per us");
    for (i = 0; i < kept.n_copies; i++)
        kept.copies[i].n_stored = 1;
    ok(measure(&ctx, NULL, 100 * MIB, true, &kept, &report) == VBS_OK && kept.n_added == 12,
       "what is stored is not computed again");
}

/* ---- the file ---- */

static void the_file_leaves_no_name_and_reads_back(const char *folder)
{
    struct vbs_copy_file file;
    struct vbs_ctx ctx = {0};
    char *buffer = aligned_alloc(VBS_COPY_ALIGNMENT, (size_t)(4 * MIB));
    char *copy = aligned_alloc(VBS_COPY_ALIGNMENT, (size_t)MIB);
    struct vbs_copy_landing whole = {.memory = buffer, .bytes = 4 * MIB};
    struct vbs_copy_landing stretch = {.memory = copy, .bytes = MIB};
    int n_same = 0, n_repeats = 0;
    bool shown;
    double us;

    if (!ok(vbs_copy_file_make(&ctx, folder, 4 * MIB, 4 * MIB, 0, buffer, MIB, &file) == VBS_OK,
            "a file of 4 MiB: %s", ctx.detail))
        return;
    ok(rmdir(folder) == 0, "its folder is empty");
    is_int(file.bytes, 4 * MIB, "it has its size even if there is no time");
    ok(vbs_copy_file_read(&ctx, &file, VBS_COPY_CACHED, &whole, 4 * MIB, &us, &shown) == VBS_OK &&
           us > 0,
       "the whole of it is read");
    for (int i = 0; i < 4; i++)
        if (vbs_copy_file_read(&ctx, &file, VBS_COPY_DROPPED, &stretch, MIB, &us, &shown) == VBS_OK)
            n_same += memcmp(copy, buffer + i * MIB, (size_t)MIB) == 0;
    is_int(n_same, 4, "reads follow one another");
    for (int64_t i = 4096; i < 4 * MIB; i += 4096)
        n_repeats += memcmp(buffer, buffer + i, 4096) == 0;
    is_int(n_repeats, 0, "no block is like the first");
    vbs_copy_file_close(&file);
    vbs_copy_file_close(&file);
    free(buffer);
    free(copy);
}

int main(void)
{
    char *folder = temporary_folder(), *inner = path_in(folder, "inner");
    char disk[] = "/tmp/vbslab-copies-XXXXXX";
    const char *place = mkdtemp(disk);

    copies_of_small_networks_have_three_sizes(place ? place : folder);
    sizes_end_with_the_weights(folder);
    a_file_system_in_memory_is_no_disk();
    what_is_stored_is_not_measured_again(folder);
    where_no_file_can_be_made_there_is_a_warning(folder);
    without_time_nothing_is_copied(folder);
    measuring_ends_when_it_is_cancelled_or_the_store_fails(folder);
    modelled_copies_are_computed();
    if (mkdir(inner, 0700) == 0)
        the_file_leaves_no_name_and_reads_back(inner);
    if (place)
        rmdir(place);
    free(inner);
    remove_folder(folder);
    return done_testing();
}
