#include "cli/common/pin.h"

#include "base/fail.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* This function is from libgomp. It is declared here because only gcc has omp.h. */
extern int omp_get_num_procs(void);
extern int omp_get_thread_limit(void);

/* The variable is set to the number of threads in the program that was started again, so that it is
 * not started once more. */
#define PINNED "VBSLAB_PINNED"

/* The number of times that a waiting thread of libgomp looks before it sleeps. Where the processors
 * are its own, it looks for a tenth of a millisecond instead of the usual several, in which it
 * would keep its core from the thread that copies weights. Where others want them, too, it sleeps
 * at once, because the thread that it waits for may be the one that has no processor. */
#define OWN_SPINS    "10000"
#define SHARED_SPINS "0"

#define LOOKS   5       /* at the programs that run; most of them decide */
#define LOOK_NS 2000000 /* between two */

/* Gives the processors that the group of this process may use together, 0: no limit. The limit of a
 * container is often a share of time, and more threads than this only wait for each other. */
static int group_limit(void)
{
    static const char *const FILES[][2] = {
        {"/sys/fs/cgroup/cpu.max", NULL}, /* "QUOTA PERIOD" or "max PERIOD" */
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"},
    };

    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        double numbers[2] = {0, 0};
        int n = 0;

        for (int f = 0; f < 2 && FILES[i][f]; f++) {
            FILE *file = fopen(FILES[i][f], "re");

            while (file && n < 2 && fscanf(file, "%lf", &numbers[n]) == 1)
                n++;
            if (file)
                fclose(file);
        }
        if (n == 2 && numbers[0] > 0 && numbers[1] > 0)
            return numbers[0] > numbers[1] ? (int)(numbers[0] / numbers[1]) : 1;
    }
    return 0;
}

/* Gives the processors that libgomp counted before it bound this thread to a core. */
static int usable_processors(void)
{
    int limit = group_limit(), n = omp_get_num_procs();

    return limit > 0 && limit < n ? limit : n;
}

/* Reads a number of threads from the environment, 0 when there is none. */
static int threads_in(const char *variable)
{
    const char *text = getenv(variable);
    int n = text ? atoi(text) : 0;

    return n > 0 && n <= 65536 ? n : 0;
}

/* Holds back signals that ask for an end while the program is replaced. They would be lost with it,
 * and so they reach the program that is started again. */
static void hold_signals(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(how, &set, NULL);
}

/* Returns how many threads of the whole machine run or wait for a processor, with this one; 0: the
 * system does not tell. */
static int running_threads(void)
{
    FILE *file = fopen("/proc/loadavg", "re");
    int n = 0;

    if (file && fscanf(file, "%*s %*s %*s %d/", &n) != 1)
        n = 0;
    if (file)
        fclose(file);
    return n;
}

/* Returns whether other programs run, so that there are not enough processors for these threads,
 * too. */
static bool is_shared(int threads)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int n_shared = 0, n_own = 0;

    for (int i = 0; n_shared <= LOOKS / 2 && n_own <= LOOKS / 2; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        if (running_threads() - 1 + threads > processors)
            n_shared++;
        else
            n_own++;
    }
    return n_shared > n_own;
}

/* Sets the variables of OpenMP that are not set. Threads are bound to cores where these are their
 * own; where they are not, a bound thread would wait for its core while another one is free. */
static bool set_openmp(const char *number, bool shared)
{
    return setenv("OMP_NUM_THREADS", number, 1) == 0 &&
           setenv("OMP_PROC_BIND", shared ? "false" : "true", 1) == 0 &&
           (shared || setenv("OMP_PLACES", "cores", 0) == 0) &&
           (getenv("OMP_WAIT_POLICY") ||
            setenv("GOMP_SPINCOUNT", shared ? SHARED_SPINS : OWN_SPINS, 0) == 0);
}

/* Starts the program again. Returns where this is impossible, or where the program must end. */
static void start_anew(struct cli *cli, int threads)
{
    char number[16];

    snprintf(number, sizeof number, "%d", threads);
    hold_signals(SIG_BLOCK);
    if (!vbs_cancelled(&cli->ctx) && setenv(PINNED, number, 1) == 0 &&
        set_openmp(number, is_shared(threads)))
        execv("/proc/self/exe", cli->argv);
    hold_signals(SIG_UNBLOCK);
}

enum vbs_status cli_check_threads(struct cli *cli, int threads)
{
    int n = threads > 0 ? threads : threads_in("OMP_NUM_THREADS"), most = usable_processors();

    if (n <= most)
        return VBS_OK;
    return vbs_fail(&cli->ctx, VBS_USAGE,
                    "%d threads are more than the %d processor%s that this process may use; "
                    "'vbslab measure --oversubscribe' measures all the same",
                    n, most, most == 1 ? "" : "s");
}

int cli_limit_threads(int threads)
{
    int limit = omp_get_thread_limit();

    return threads < limit ? threads : limit;
}

bool cli_is_started_anew(void)
{
    return threads_in(PINNED) > 0;
}

bool cli_pin_threads(struct cli *cli, int *threads)
{
    int pinned = threads_in(PINNED);

    unsetenv(PINNED);
    if (pinned > 0) {
        hold_signals(SIG_UNBLOCK);
        *threads = pinned;
        return true;
    }
    if (getenv("OMP_PROC_BIND"))
        return *threads == 0;
    if (*threads == 0)
        *threads = cli_limit_threads(threads_in("OMP_NUM_THREADS"));
    if (*threads == 0)
        *threads = cli_limit_threads(usable_processors());
    start_anew(cli, *threads);
    if (!vbs_cancelled(&cli->ctx))
        cli_warn(cli, "threads are not bound to cores, times may vary: %s", strerror(errno));
    unsetenv(PINNED);
    return false;
}
