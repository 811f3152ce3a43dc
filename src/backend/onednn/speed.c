/*
 * The speed of the machine: fixed work on all threads, so that it can be seen later whether the
 * machine is as fast as it was. The figures are not the most that the machine can do; plain C is
 * compiled for any processor.
 *
 * Each figure is the median of some runs of about a millisecond. Beside other programs a run takes
 * many times as long, because its threads wait for each other: then there are fewer.
 */
#include "backend/onednn/kernels/kernels.h"

#include "base/clock.h"
#include "base/fail.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LANES      8 /* sums that a thread keeps in registers at once */
#define TURNS      131072
#define RUNS       15
#define FEW_RUNS   5
#define LONG_S     0.1                 /* that runs take together, from which on one is enough */
#define CACHE_READ ((int64_t)16 << 20) /* bytes that are read in a run */
#define LINE_WORDS 8                   /* of 64 bits in a line of the caches */
#define LINES      4096                /* that a thread takes from another one; a power of 2 */

struct speed_job {
    const char *data; /* null: multiply and add */
    int64_t bytes;    /* of data, read as often as total says */
    int64_t total;
    uint64_t *lines;    /* [n_exchange * LINES * LINE_WORDS] zeros that threads exchange */
    int64_t n_exchange; /* threads that do; 0: none */
    int64_t turn;       /* of exchanging them */
    float seed;
    volatile float sink;
};

static float multiply(float seed)
{
    float sums[LANES], sum = 0;

    for (int i = 0; i < LANES; i++)
        sums[i] = seed + (float)i;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < LANES; i++)
            sums[i] = sums[i] * 0.999f + seed;
    for (int i = 0; i < LANES; i++)
        sum += sums[i];
    return sum;
}

/* Reads whole lines of the caches, in order. */
static float read_bytes(const char *data, int64_t bytes)
{
    const uint64_t *words = (const uint64_t *)data;
    uint64_t sums[8] = {0};

    for (int64_t i = 0; i + 8 <= bytes / 8; i += 8)
        for (int j = 0; j < 8; j++)
            sums[j] += words[i + j];
    for (int j = 1; j < 8; j++)
        sums[0] += sums[j];
    return (float)sums[0];
}

/* Reads and writes lines, each when the one before has come, in an order that is not foreseen. */
static uint64_t take_lines(uint64_t *lines)
{
    uint64_t at = 0;

    for (int i = 0; i < LINES; i++) {
        uint64_t *line = &lines[at * LINE_WORDS];

        at = (at * 5 + 1 + *line) % LINES; /* each line once, for all of them are 0 */
        *line = 0;
    }
    return at;
}

static void work(void *self, int64_t thread, int64_t threads)
{
    struct speed_job *job = self;
    int64_t share = job->bytes / threads / 64 * 64;
    float sum = 0;

    if (!job->data)
        sum = multiply(job->seed);
    for (int64_t done = 0; job->data && done < job->total; done += job->bytes)
        sum += read_bytes(job->data + thread * share, share);
    if (thread < job->n_exchange)
        sum += (float)take_lines(job->lines +
                                 (thread + job->turn) % job->n_exchange * LINES * LINE_WORDS);
    if (sum == 0.123f) /* never, but the compiler cannot know */
        job->sink = sum;
}

/* Gives the median microseconds of a job in n <= RUNS runs, or fewer where they take long. */
static double median_us(struct speed_job *job, int n)
{
    double times_us[RUNS], begin_s = vbs_clock_s();
    int n_runs = 0;

    od_on_threads(work, job); /* wakes the threads up, and brings the data in */
    while (n_runs < n && (n_runs == 0 || vbs_clock_s() - begin_s < LONG_S)) {
        double start_s = vbs_clock_s();

        job->turn++;
        od_on_threads(work, job);
        times_us[n_runs++] = (vbs_clock_s() - start_s) * 1e6;
    }
    gsl_sort(times_us, 1, (size_t)n_runs);
    return gsl_stats_median_from_sorted_data(times_us, 1, (size_t)n_runs);
}

static int64_t cache_bytes(int name, int64_t otherwise)
{
    long bytes = sysconf(name);

    return bytes > 0 ? bytes : otherwise;
}

/*
 * Gives the bytes per microsecond from the last-level cache; 0: out of memory.
 *
 * In each run threads also take lines that another thread has written, as layers do. Where the host
 * has moved the processors of this machine to places that have no last-level cache in common, each
 * line takes several times as long (62 ns instead of 17 on an EPYC of family 25), and layers up to
 * eight times, those most that do little but read what another thread has written. So the lines are
 * enough for the figure to fall by a quarter or more then, which no other change of it resembles.
 */
static double read_cache(const struct vbs_session *session, int n_runs)
{
    int64_t second = cache_bytes(_SC_LEVEL2_CACHE_SIZE, (int64_t)1 << 20);
    int64_t last = cache_bytes(_SC_LEVEL3_CACHE_SIZE, (int64_t)32 << 20);
    int64_t threads = session->provenance.threads, own = 2 * second * threads, bytes;
    struct speed_job job = {.total = CACHE_READ};
    double us;
    char *data;

    /* More than the threads' own caches hold, and less than the last one. */
    job.bytes = (own < last / 4 ? own : last / 4) / 64 * 64;
    bytes = job.bytes + threads * LINES * LINE_WORDS * (int64_t)sizeof *job.lines;
    /* Pages of its own: the heap would keep them, and with them grow the process that is measured.
     */
    data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return 0;
    memset(data, 1, (size_t)job.bytes);
    job.data = data;
    job.lines = (uint64_t *)(data + job.bytes);
    job.n_exchange = threads;
    us = median_us(&job, n_runs);
    munmap(data, (size_t)bytes);
    return (double)((job.total + job.bytes - 1) / job.bytes * job.bytes) / us;
}

double od_cache_speed(const struct vbs_session *session)
{
    return read_cache(session, FEW_RUNS);
}

enum vbs_status od_speed(struct vbs_ctx *ctx, const struct vbs_session *session, const void *memory,
                         int64_t bytes, struct vbs_speed *speed)
{
    int64_t last = cache_bytes(_SC_LEVEL3_CACHE_SIZE, (int64_t)32 << 20);
    struct speed_job job = {.seed = 1.5f};

    *speed = (struct vbs_speed){0};
    speed->flops_per_us = 2.0 * LANES * TURNS * session->provenance.threads / median_us(&job, RUNS);
    speed->cache_bytes_per_us = read_cache(session, RUNS);
    if (speed->cache_bytes_per_us == 0)
        return vbs_no_memory(ctx);
    if (bytes < 2 * last)
        return VBS_OK;
    job.data = memory;
    job.bytes = job.total = 2 * last / 64 * 64;
    speed->memory_bytes_per_us = (double)job.total / median_us(&job, RUNS);
    return VBS_OK;
}
