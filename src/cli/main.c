#include "cli/common/common.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct cli_command cli_models, cli_compress, cli_quantize, cli_mixed, cli_prune,
    cli_train, cli_sensitivity, cli_export, cli_eval, cli_tune, cli_measure, cli_calibrate,
    cli_profiles, cli_plan, cli_frontier, cli_replay, cli_compare, cli_explain_command, cli_report,
    cli_run, cli_place, cli_sweep, cli_planners, cli_backends, cli_lesson, cli_exercise, cli_demo,
    cli_help;

/* The commands are in the order of work. */
static const struct cli_command *const COMMANDS[] = {
    &cli_models,          &cli_compress,    &cli_quantize, &cli_mixed,    &cli_prune,
    &cli_train,           &cli_sensitivity, &cli_export,   &cli_eval,     &cli_tune,
    &cli_measure,         &cli_calibrate,   &cli_profiles, &cli_plan,     &cli_frontier,
    &cli_explain_command, &cli_replay,      &cli_compare,  &cli_report,   &cli_run,
    &cli_place,           &cli_sweep,       &cli_planners, &cli_backends, &cli_lesson,
    &cli_exercise,        &cli_demo,        &cli_help,     NULL,
};

/* The signal that came, or 0: a handler can leave no other message. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    interrupted = signal;
}

/* Catches signals. The first signal asks the program to end in good order, the second of its kind
 * ends it at once. System calls are not restarted, so that waiting for input ends too. Ignored
 * signals stay ignored. A file that grows beyond `ulimit -f` is an error like a full disk, and does
 * not kill the program. */
static void catch_signals(void)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND}, before;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof SIGNALS[0]; i++)
        if (sigaction(SIGNALS[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(SIGNALS[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

static void set_up(struct cli *cli, char **argv)
{
    const char *term = environment("TERM");
    bool redraws = term && strcmp(term, "dumb") != 0;

    cli->argv = argv;
    cli->commands = COMMANDS;
    cli->ctx.cancel = &interrupted;
    cli_choose_store(cli);
    cli->tty = redraws && isatty(STDERR_FILENO);
    cli->colour = redraws && isatty(STDOUT_FILENO) && !environment("NO_COLOR");
    cli->columns = cli_columns_of(STDOUT_FILENO);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    int code;

    set_up(&cli, argv);
    catch_signals();
    code = cli_run_words(&cli, argc > 0 ? argv + 1 : argv);
    cli_progress_end(&cli);
    cli_unload(&cli);
    if (code == 0)
        code = cli_finish(&cli);
    /* This is the exit code that a shell gives for a program that a signal ended. */
    return interrupted ? 128 + interrupted : code;
}
