/* The time that a process loses to others is what the files of /proc say. */
#include "base/lost.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Writes a file of a folder like /proc. */
static void put_text(const char *folder, const char *name, const char *text)
{
    char *path = path_in(folder, name);
    FILE *file = fopen(path, "w");

    if (file) {
        fputs(text, file);
        fclose(file);
    }
    free(path);
}

static void make_folder(const char *folder, const char *name)
{
    char *path = path_in(folder, name);

    mkdir(path, 0700);
    free(path);
}

static void counts_are_added_up(const char *folder)
{
    struct vbs_lost lost = {7, 7, 7};

    ok(!vbs_lost_read(folder, &lost) && lost.waited_us == 0 && lost.stolen_us == 0,
       "a system that tells nothing");
    make_folder(folder, "self");
    make_folder(folder, "self/task");
    make_folder(folder, "self/task/10");
    make_folder(folder, "self/task/11");
    make_folder(folder, "self/task/12");
    put_text(folder, "self/task/10/schedstat", "900000 2000000 17\n");
    put_text(folder, "self/task/11/schedstat", "5 3000999 17\n");
    ok(!vbs_lost_read(folder, &lost), "nothing of the host");
    put_text(folder, "stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\n");
    ok(vbs_lost_read(folder, &lost), "threads and host");
    is_int(lost.waited_us, 5000, "the waiting of all threads that are there");
    put_text(folder, "self/task/10/comm", "vbslab\n");
    put_text(folder, "self/task/11/comm", "vbslab-copy\n");
    ok(vbs_lost_read(folder, &lost) && lost.waited_us == 2000 && lost.copied_us == 0,
       "a thread that copies loses nothing");
    put_text(folder, "self/task/11/schedstat", "1500000 3000999 17\n");
    ok(vbs_lost_read(folder, &lost) && lost.copied_us == 1500, "and what it ran is known");
    is_int(lost.stolen_us, 8 * 1000000 / sysconf(_SC_CLK_TCK), "the ticks of all processors");
    put_text(folder, "stat", "cpu  1 2 three\n");
    ok(!vbs_lost_read(folder, &lost) && lost.waited_us == 0, "a line that is too short");
}

static void differences_are_never_negative(void)
{
    const struct vbs_lost before = {10, 20, 5}, after = {7, 24, 9}, later = {15, 22, 5};

    is_int(vbs_lost_between(&before, &after), 4, "a thread that ended counts as 0");
    is_int(vbs_lost_between(&before, &later), 3, "waiting that copies explain does not count");
}

static double processor_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void work(double seconds)
{
    double end_s = processor_s() + seconds;

    while (processor_s() < end_s)
        continue;
}

/* Two processes on one processor: while this one works, the other one takes about as much. */
static void a_busy_processor_is_seen(void)
{
    struct vbs_lost before, after;
    cpu_set_t all, one;
    pid_t child;

    if (!vbs_lost_read("/proc", &before) || sched_getaffinity(0, sizeof all, &all) != 0) {
        skip("150 ms of work beside another process", "the system does not tell");
        return;
    }
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    child = fork();
    if (child == 0) {
        work(0.3);
        _exit(0);
    }
    vbs_lost_read("/proc", &before);
    work(0.15);
    vbs_lost_read("/proc", &after);
    waitpid(child, NULL, 0);
    sched_setaffinity(0, sizeof all, &all);
    ok(vbs_lost_between(&before, &after) > 50000,
       "150 ms of work beside another process: %lld us are lost",
       (long long)vbs_lost_between(&before, &after));
}

int main(void)
{
    char *folder = temporary_folder();

    counts_are_added_up(folder);
    differences_are_never_negative();
    a_busy_processor_is_seen();
    remove_folder(folder);
    return done_testing();
}
