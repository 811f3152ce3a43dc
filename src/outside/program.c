/*
 * Planners that are programs. A program is run once for all budgets that are known beforehand, and
 * once for each other budget; its answers are judged as they come, and kept.
 */
#include "base/fail.h"
#include "base/grow.h"
#include "base/json.h"
#include "outside/internal.h"
#include "vbslab/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The answer for a budget. */
struct answer {
    int64_t memory_bytes;
    bool feasible; /* false: the program has no schedule */
    struct vbs_draft draft;
};

/* The answers so far. A solver's list of budgets for a frontier is asked through a constant
 * pointer, so that they are apart from the solver. */
struct answers {
    int n;
    int64_t capacity;
    struct answer *list;
    size_t bytes; /* of all steps */
};

struct program {
    struct vbs_outside *outside;
    const struct vbs_task *task;
    struct answers *answers;
};

/* A question: what the answers of a run are judged by. */
struct asked {
    const struct program *program;
    const int64_t *budgets;
    int n;
};

/* ---- Answers ---- */

/* Checks that a schedule is an answer to the question. */
static enum vbs_status check_head(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_schedule *schedule, int64_t memory_bytes)
{
    if (schedule->memory_bytes != memory_bytes)
        return vbs_fail(ctx, VBS_FORMAT, "'memory_bytes' is %lld, but the budget is %lld",
                        (long long)schedule->memory_bytes, (long long)memory_bytes);
    if (schedule->request != task->request)
        return vbs_fail(ctx, VBS_FORMAT, "'request' is %lld, but the request is %d",
                        (long long)schedule->request, task->request);
    if (schedule->io != task->problem.io)
        return vbs_fail(ctx, VBS_FORMAT, "'io' is '%s', but the problem has '%s'",
                        vbs_io_word(schedule->io), vbs_io_word(task->problem.io));
    if (schedule->weights != task->problem.weights)
        return vbs_fail(ctx, VBS_FORMAT, "'weights' is '%s', but the problem has '%s'",
                        vbs_weights_word(schedule->weights),
                        vbs_weights_word(task->problem.weights));
    return VBS_OK;
}

/* Copies the steps of a schedule that was judged: their algorithms become the profile's. */
static enum vbs_status copy_steps(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_schedule *schedule, struct vbs_step_list *steps)
{
    int *index = calloc((size_t)schedule->n_algorithms + 1, sizeof *index);
    enum vbs_status status = index ? VBS_OK : vbs_no_memory(ctx);

    for (int a = 0; index && a < schedule->n_algorithms; a++)
        index[a] = vbs_profile_algorithm(task->profile, schedule->algorithms[a]);
    for (int64_t s = 0; s < schedule->n_steps && status == VBS_OK; s++) {
        struct vbs_step step = schedule->steps[s];

        if (step.op == VBS_STEP_COMPUTE)
            step.algorithm = index[step.algorithm];
        status = vbs_step_list_append(ctx, steps, &step);
    }
    free(index);
    return status;
}

static enum vbs_status keep(struct vbs_ctx *ctx, struct answers *answers, struct answer *answer)
{
    VBS_TRY(vbs_grow(ctx, &answers->list, &answers->capacity, (int64_t)answers->n + 1,
                     sizeof *answers->list));
    answers->list[answers->n++] = *answer;
    answers->bytes += (size_t)answer->draft.steps.capacity * sizeof *answer->draft.steps.steps;
    return VBS_OK;
}

/* A line without the blanks at its ends. */
struct trimmed {
    const char *text;
    size_t length;
};

static struct trimmed trim(const char *line, size_t length)
{
    static const char BLANKS[] = " \t\r";
    size_t from = 0;

    while (from < length && line[from] && strchr(BLANKS, line[from]))
        from++;
    while (length > from && line[length - 1] && strchr(BLANKS, line[length - 1]))
        length--;
    return (struct trimmed){line + from, length - from};
}

static bool is_null(struct trimmed line)
{
    return line.length == 4 && memcmp(line.text, "null", 4) == 0;
}

/* Gives whether an object begins that the line does not end. */
static bool is_cut(struct trimmed line)
{
    return line.length > 0 && line.text[0] == '{' && line.text[line.length - 1] != '}';
}

static enum vbs_status judge(struct vbs_ctx *ctx, const struct vbs_task *task,
                             const struct vbs_schedule *schedule, struct answer *answer)
{
    VBS_TRY(check_head(ctx, task, schedule, answer->memory_bytes));
    VBS_TRY(vbs_outside_judge(ctx, task, schedule, answer->memory_bytes, &answer->draft));
    return copy_steps(ctx, task, schedule, &answer->draft.steps);
}

/* Parses the schedule of a line. */
static enum vbs_status parse(struct vbs_ctx *ctx, const char *place, const char *line,
                             size_t length, struct vbs_schedule **schedule)
{
    if (is_cut(trim(line, length)))
        return vbs_fail(ctx, VBS_FORMAT,
                        "%s: the line ends before the schedule does; an answer is one line", place);
    return vbs_schedule_parse_json(ctx, place, line, length, schedule);
}

/* Takes a line: null, or a schedule. */
static enum vbs_status take(struct vbs_ctx *ctx, void *self, int index, const char *line,
                            size_t length)
{
    const struct asked *question = self;
    const struct program *program = question->program;
    struct answer answer = {.memory_bytes = question->budgets[index]};
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = VBS_OK;
    char source[96], place[128];

    snprintf(source, sizeof source, "answer %d of %d", index + 1, question->n);
    snprintf(place, sizeof place, "%s, %s", program->outside->name, source);
    answer.feasible = !is_null(trim(line, length));
    if (answer.feasible) {
        status = parse(ctx, place, line, length, &schedule);
        if (status == VBS_OK) {
            status = judge(ctx, program->task, schedule, &answer);
            if (status != VBS_OK && status != VBS_NO_MEMORY)
                status = vbs_fail_within(ctx, status, place);
        }
    }
    if (status == VBS_OK)
        status = keep(ctx, program->answers, &answer);
    if (status != VBS_OK)
        vbs_step_list_clear(&answer.draft.steps);
    vbs_schedule_free(schedule);
    return status;
}

/* ---- Questions ---- */

/* Gives the most bytes of a line: far above what the longest schedule of the problem takes, even
 * where each step has the name of its layer, and as many as a schedule may have in a file at most.
 */
static size_t most_bytes(const struct vbs_task *task)
{
    double most = 65536 + 1024.0 * task->n_layers * task->request;

    return most < (double)(1 << 30) ? (size_t)most : (size_t)1 << 30;
}

static enum vbs_status ask(struct vbs_ctx *ctx, const struct program *program,
                           const int64_t *budgets, int n)
{
    const struct vbs_outside *outside = program->outside;
    struct asked question = {program, budgets, n};
    struct vbs_text input = {0};
    struct vbs_outside_run run = {.name = outside->name,
                                  .path = outside->path,
                                  .n_lines = n,
                                  .most_bytes = most_bytes(program->task),
                                  .time_limit_s = n * vbs_outside_limit_s(program->task),
                                  .memory_limit = outside->memory_bytes,
                                  .progress = program->task->options.progress,
                                  .take = take,
                                  .self = &question};
    enum vbs_status status = vbs_outside_problem(ctx, outside, program->task, budgets, n, &input);

    run.input = input.data;
    run.n_input = input.length;
    if (status == VBS_OK)
        status = vbs_outside_run_program(ctx, &run);
    vbs_text_clear(&input);
    return status;
}

static const struct answer *find(const struct answers *answers, int64_t memory_bytes)
{
    for (int i = 0; i < answers->n; i++)
        if (answers->list[i].memory_bytes == memory_bytes)
            return &answers->list[i];
    return NULL;
}

/* ---- The planner ---- */

static void program_close(void *self)
{
    struct program *program = self;

    for (int i = 0; i < program->answers->n; i++)
        vbs_step_list_clear(&program->answers->list[i].draft.steps);
    free(program->answers->list);
    free(program->answers);
    vbs_outside_release(program->outside);
    free(program);
}

static enum vbs_status program_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct program *program = calloc(1, sizeof *program);
    struct answers *answers = calloc(1, sizeof *answers);
    enum vbs_status status = VBS_OK;

    if (!program || !answers) {
        free(program);
        free(answers);
        return vbs_no_memory(ctx);
    }
    program->outside = (struct vbs_outside *)(uintptr_t)task->outside;
    program->task = task;
    program->answers = answers;
    vbs_outside_hold(program->outside);
    if (task->options.n_budgets > 0)
        status = ask(ctx, program, task->options.budgets, task->options.n_budgets);
    if (status != VBS_OK) {
        program_close(program);
        return status;
    }
    *self = program;
    return VBS_OK;
}

static enum vbs_status program_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                    struct vbs_draft *draft)
{
    const struct program *program = self;
    const struct answer *answer = find(program->answers, memory_bytes);
    struct vbs_step_list steps = draft->steps;
    char have[48];

    if (!answer) {
        VBS_TRY(ask(ctx, program, &memory_bytes, 1));
        answer = find(program->answers, memory_bytes);
    }
    if (!answer->feasible)
        return vbs_fail(ctx, VBS_INFEASIBLE, "%s has no schedule for %s", program->outside->name,
                        vbs_format_exact(memory_bytes, have, sizeof have));
    *draft = answer->draft;
    draft->steps = steps;
    return vbs_step_list_copy(ctx, answer->draft.steps.steps, answer->draft.steps.n_steps,
                              &draft->steps);
}

static int64_t program_least_bytes(const void *self)
{
    (void)self;
    return 0;
}

static size_t program_peak_bytes(const void *self)
{
    return ((const struct program *)self)->answers->bytes;
}

/* The program is run once for all budgets of the frontier. */
static enum vbs_status program_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                          int *n)
{
    const struct program *program = self;
    int64_t *budgets;
    int n_budgets;
    enum vbs_status status;

    VBS_TRY(vbs_outside_thresholds(ctx, program->task, &budgets, &n_budgets));
    status = ask(ctx, program, budgets, n_budgets);
    if (status != VBS_OK) {
        free(budgets);
        return status;
    }
    *bytes = budgets;
    *n = n_budgets;
    return VBS_OK;
}

enum vbs_status vbs_outside_program(struct vbs_ctx *ctx, struct vbs_outside *outside)
{
    struct vbs_planner *planner = &outside->planner;
    struct stat about;

    if (stat(outside->path, &about) != 0)
        return vbs_fail(ctx, VBS_IO, "%s: cannot open '%s': %s", outside->name, outside->path,
                        strerror(errno));
    if (!S_ISREG(about.st_mode))
        return vbs_fail(ctx, VBS_IO, "%s: '%s' is no file", outside->name, outside->path);
    if (access(outside->path, X_OK) != 0)
        return vbs_fail(ctx, VBS_IO, "%s: '%s' is no program that may be run (chmod +x)",
                        outside->name, outside->path);
    planner->open = program_open;
    planner->plan = program_plan;
    planner->least_bytes = program_least_bytes;
    planner->peak_bytes = program_peak_bytes;
    planner->thresholds = program_thresholds;
    planner->close = program_close;
    return VBS_OK;
}
