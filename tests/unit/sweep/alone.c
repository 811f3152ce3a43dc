/*
 * While one task has the machine to itself, the commands of others stand still, and afterwards they
 * go on. The program of these sweeps is this one, whose commands wait for each other by files, so
 * that no test depends on how fast the machine is.
 */
#include "base/ctx.h"
#include "base/node.h"
#include "support/profile_help.h"
#include "support/tap.h"
#include "vbslab/sweep.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_S 200 /* a test that hangs is ended then */

/* ---- the commands ---- */

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static void wait_for(const char *name)
{
    while (!is_there(name))
        poll(NULL, 0, 5);
}

/* Writes the number of this process into the file `pid`, which appears with it. */
static void tell_number(void)
{
    FILE *file = fopen("pid.new", "w");

    if (!file || fprintf(file, "%ld", (long)getpid()) < 0 || fclose(file) != 0 ||
        rename("pid.new", "pid") != 0)
        _exit(2);
}

/* Gives the number in the file `pid` of a folder, for which it waits. */
static long number_in(const char *folder)
{
    char *path = path_in(folder, "pid"), text[40] = "";
    FILE *file;

    wait_for(path);
    file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file))
        printf("# there is no number\n");
    if (file)
        fclose(file);
    free(path);
    return atol(text);
}

/* Gives the state of a process as /proc tells it, or 0. */
static char state_of(long pid)
{
    char path[60], text[400] = "", *end, state = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fgets(text, sizeof text, file) && (end = strrchr(text, ')')) && end[1] == ' ')
        state = end[2];
    fclose(file);
    return state;
}

/* The commands: `wait` tells its number and waits for the file `go`; `born` has a child of vfork do
 * so; `see` ends once one of them runs; `look` prints the state of that process, and lets it end.
 */
static int command(const char *word)
{
    if (strcmp(word, "wait") == 0 || strcmp(word, "born") == 0) {
        if (strcmp(word, "wait") == 0 || vfork() == 0) {
            tell_number();
            wait_for("go");
            if (strcmp(word, "born") == 0)
                _exit(0);
        }
        printf("went\n");
    } else if (strcmp(word, "see") == 0) {
        wait_for("pid");
    } else {
        printf("%c\n", state_of(number_in(".")));
        write_text("go", "", 0);
    }
    return 0;
}

/* ---- the tests ---- */

static struct vbs_sweep *make_sweep(const char *folder, const char *text)
{
    char *file = path_in(folder, "s.toml");
    struct vbs_sweep *sweep = NULL;
    struct vbs_ctx ctx = {0};

    write_text(file, text, strlen(text));
    if (vbs_sweep_load(&ctx, file, &sweep) != VBS_OK)
        printf("# %s\n", ctx.detail);
    free(file);
    return sweep;
}

/* Runs a sweep, whose program is this one, and gives how many of its tasks are done. */
static int run(struct vbs_sweep *sweep, int jobs)
{
    const struct vbs_sweep_options options = {.struct_size = sizeof options, .jobs = jobs};
    struct vbs_sweep_counts counts = {{0}};
    struct vbs_ctx ctx = {0};

    if (vbs_sweep_run(&ctx, sweep, &options, &counts) != VBS_OK)
        printf("# %s\n", ctx.detail);
    return (int)counts.n[VBS_SWEEP_DONE];
}

/* Gives what the task of an index printed; the caller frees it. */
static char *result_of(struct vbs_sweep *sweep, int64_t index)
{
    struct vbs_sweep_task task = {0};
    struct vbs_ctx ctx = {0};
    char path[4096], *text = NULL;
    size_t length;

    if (vbs_sweep_expand(&ctx, sweep, index, &task) == VBS_OK) {
        snprintf(path, sizeof path, "%s/%s.txt", vbs_sweep_info(sweep)->results, task.name);
        text = read_text(path, &length);
        vbs_sweep_task_clear(&task);
    }
    return text;
}

/* Runs a task with the word `wait` or `born`, and one that looks at its state alone. */
static void look_at(const char *folder, const char *word, const char *what)
{
    char text[400], *seen, *went;
    struct vbs_sweep *sweep;

    snprintf(text, sizeof text,
             "[[task]]\nname = \"wait\"\ncommand = [\"help\", \"%s\"]\n"
             "[[task]]\nname = \"see\"\ncommand = [\"help\", \"see\"]\n"
             "[[task]]\nname = \"look\"\ncommand = [\"help\", \"look\", \"{see}\"]\n"
             "exclusive = true\n",
             word);
    sweep = make_sweep(folder, text);
    is_int(run(sweep, 2), 3, what);
    seen = result_of(sweep, 2);
    went = result_of(sweep, 0);
    ok(seen && strcmp(seen, "T\n") == 0, "the task alone sees the other one stopped");
    ok(went && strcmp(went, "went\n") == 0, "... which goes on afterwards");
    free(seen);
    free(went);
    vbs_sweep_free(sweep);
}

static void a_task_alone_stops_others_of_its_sweep(const char *folder)
{
    look_at(folder, "wait", "a task that waits, one that sees it run, and one alone");
}

static void a_task_within_vfork_is_stopped(const char *folder)
{
    look_at(folder, "born", "a task that cannot be stopped, for its child runs within vfork");
}

static void another_process_stops_all(const char *folder)
{
    struct vbs_sweep *sweep =
        make_sweep(folder, "[[task]]\nname = \"wait\"\ncommand = [\"help\", \"wait\"]\n");
    struct vbs_node_lock node;
    struct vbs_ctx ctx = {0};
    char *go = path_in(folder, "go"), *went;
    int status = -1;
    pid_t child;
    long number;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(LONGEST_S);
        _exit(run(sweep, 1) == 1 ? 0 : 1);
    }
    number = number_in(folder);
    ok(vbs_node_open(&ctx, NULL, &node) == VBS_OK, "a process wants the machine to itself");
    while (!vbs_node_take(&node))
        poll(NULL, 0, 10);
    is_int(state_of(number), 'T', "when it has it, the command of a sweep stands still");
    write_text(go, "", 0);
    poll(NULL, 0, 200);
    is_int(state_of(number), 'T', "... and does so on");
    vbs_node_close(&node);
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "afterwards the sweep ends");
    went = result_of(sweep, 0);
    ok(went && strcmp(went, "went\n") == 0, "with the result of its command");
    free(went);
    free(go);
    vbs_sweep_free(sweep);
}

/* Runs a test in a folder of its own, which is the folder for locks, too. */
static void in_folder(void (*test)(const char *folder))
{
    char *folder = temporary_folder();

    setenv("VBSLAB_LOCKS", folder, 1);
    test(folder);
    remove_folder(folder);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return command(argv[2]);
    alarm(LONGEST_S);
    in_folder(a_task_alone_stops_others_of_its_sweep);
    in_folder(a_task_within_vfork_is_stopped);
    in_folder(another_process_stops_all);
    return done_testing();
}
