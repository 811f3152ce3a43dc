#include "cli/common/words.h"

#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct cli_command cli_models, cli_measure, cli_profiles, cli_plan, cli_frontier,
    cli_replay, cli_compare, cli_run, cli_place, cli_backends;

/* In the order of work. */
static const struct cli_command *const COMMANDS[] = {
    &cli_models,  &cli_measure, &cli_profiles, &cli_plan,     &cli_frontier, &cli_replay,
    &cli_compare, &cli_run,     &cli_place,    &cli_backends, NULL,
};

#define N_COMMANDS ((int)(sizeof COMMANDS / sizeof COMMANDS[0]) - 1)

/* A signal has no other way to say anything. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* The first signal asks for an end in good order, the second of its kind ends at once. Calls of the
 * system are not restarted, so that waiting for input ends too. Ignored signals stay ignored. A
 * file that grows beyond `ulimit -f` is an error like a full disk, not a reason to be killed. */
static void catch_signals(void)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM};
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
    cli->ctx.cancel = &interrupted;
    cli->db_path = environment("VBSLAB_DB");
    if (!cli->db_path)
        cli->db_path = "db/vbslab.sqlite";
    cli->tty = redraws && isatty(STDERR_FILENO);
    cli->colour = redraws && isatty(STDOUT_FILENO) && !environment("NO_COLOR");
}

static const struct cli_command *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(COMMANDS[i]->name, name) == 0)
            return COMMANDS[i];
    return NULL;
}

static int unknown_command(struct cli *cli, const char *name)
{
    const char *names[N_COMMANDS], *nearest;

    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = COMMANDS[i]->name;
    nearest = vbs_nearest_name(name, names, N_COMMANDS);
    if (nearest)
        return cli_usage(cli, "unknown command '%s'; did you mean '%s'?", name, nearest);
    return cli_usage(cli, "unknown command '%s'", name);
}

/* What the options of all commands ask for. True when that was all, with the exit code. */
static bool obey_globals(struct cli *cli, const struct cli_words *words, int *code)
{
    *code = 0;
    if (words->globals[CLI_DB])
        cli->db_path = words->globals[CLI_DB];
    if (words->globals[CLI_QUIET])
        cli->quiet = true;
    if (cli->db_path[0] == '\0') {
        *code = cli_usage(cli, "--db needs the name of a file");
        return true;
    }
    if (words->globals[CLI_HELP] && cli->command)
        cli_print_command_help(cli->command);
    else if (words->globals[CLI_HELP])
        cli_print_help(COMMANDS);
    else if (words->globals[CLI_VERSION])
        printf("vbslab %s\n", vbs_version());
    else
        return false;
    return true;
}

static int count_options(const struct cli_command *command)
{
    int n = 0;

    while (command->options[n].name)
        n++;
    return n;
}

static int run_command(struct cli *cli, int argc, char **argv, int next, struct cli_words *words)
{
    int code;

    words->values = calloc((size_t)count_options(cli->command) + 1, sizeof *words->values);
    words->arguments = calloc((size_t)argc, sizeof *words->arguments);
    if (!words->values || !words->arguments) {
        code = cli_fail(cli, VBS_NO_MEMORY);
    } else {
        code = cli_words_read(cli, argv, &next, words);
        if (code == 0 && !obey_globals(cli, words, &code))
            code = cli->command->run(cli, words->values, words->n_arguments, words->arguments);
    }
    free(words->values);
    free(words->arguments);
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct cli_words words = {0};
    int next = argc > 0 ? 1 : 0;
    int code = cli_words_read(cli, argv, &next, &words);

    if (code != 0 || obey_globals(cli, &words, &code))
        return code;
    if (!argv[next])
        return cli_usage(cli, "no command; usage: vbslab [--db FILE] [--quiet] COMMAND "
                              "[ARGUMENTS]");
    cli->command = find_command(argv[next]);
    if (!cli->command)
        return unknown_command(cli, argv[next]);
    return run_command(cli, argc, argv, next + 1, &words);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    int code;

    set_up(&cli, argv);
    catch_signals();
    code = run(&cli, argc, argv);
    cli_progress_end(&cli);
    return code == 0 ? cli_finish(&cli) : code;
}
