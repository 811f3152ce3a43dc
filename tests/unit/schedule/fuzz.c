/*
 * Schedules with random faults: each is refused with a reason, or read into a schedule that keeps
 * the promises of its header, comes back unchanged when written and read, and can be judged.
 * Argument: seed.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "support/tap.h"

#include "vbslab/replay.h"
#include "vbslab/units.h"

#include <stdlib.h>

#define SEED        1729
#define N_MUTATIONS 6000
#define N_TEXTS     6
#define ROOM        65536 /* bytes of a mutated text */
#define SOURCE      "s.json"

static const char *const TOKENS[] = {
    "\"",
    "\\",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "[]",
    "{}",
    "null",
    "true",
    "0",
    "-1",
    "1",
    "2",
    "4096",
    "4097",
    "16777217",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    "-0.0",
    "1e308",
    "1e999",
    "NaN",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\xff",
    "\x1b[2J",
    "\"op\": \"compute\", ",
    "\"op\": \"load\", ",
    "\"op\": \"drop\", ",
    "\"resident\": true, ",
    "\"part\": 2, ",
    "\"parts\": 1048577, ",
    "\"form\": 64, ",
    "\"bytes\": 3, ",
    "\"copy\": {\"source\": \"x\", \"bytes_per_us\": 2}, ",
    "\"weights\": \"included\", ",
    "\"io\": \"resident\", ",
    "\"layer\": 0, ",
    "\"batch\": 1, ",
    "\"request\": 3, ",
    "\"steps\": [], ",
    "\"format\": \"vbslab-schedule-2\", ",
    "\"latency_us\": 12.5, ",
    "\"latency_us\": 0, ",
    "\"solver\": {\"peak_bytes\": 7}, ",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
};

static size_t replace(char *text, size_t length, size_t at, size_t n_old, const char *piece,
                      size_t n_new)
{
    if (length - n_old + n_new > ROOM)
        return length;
    memmove(text + at + n_new, text + at + n_old, length - at - n_old);
    memmove(text + at, piece, n_new);
    return length - n_old + n_new;
}

/* Finds the word, number or mark at or behind at: its beginning, and its length. */
static size_t find_token(const char *text, size_t length, size_t at, size_t *n)
{
    static const char WORD[] = "+-.0123456789abcdefghijklmnopqrstuvwxyz_";

    while (at > 0 && at < length && strchr(WORD, text[at]) && strchr(WORD, text[at - 1]))
        at--;
    for (*n = at < length; *n && at + *n < length && strchr(WORD, text[at + *n]); ++*n)
        ;
    return at;
}

/* Overwrites a byte, replaces or deletes a token, inserts one, repeats or drops a piece. */
static size_t mutate(gsl_rng *rng, char *text, size_t length)
{
    size_t at = (size_t)random_int(rng, 0, (int)length), n, most = length - at;
    const char *token = TOKENS[random_int(rng, 0, sizeof TOKENS / sizeof TOKENS[0] - 1)];
    char piece[64];

    switch (random_int(rng, 0, 5)) {
    case 0:
        if (at < length)
            text[at] = (char)random_int(rng, 0, 255);
        return length;
    case 1:
        at = find_token(text, length, at, &n);
        return replace(text, length, at, n, token, strlen(token));
    case 2:
        at = find_token(text, length, at, &n);
        return replace(text, length, at, n, "", 0);
    case 3:
        return replace(text, length, at, 0, token, strlen(token));
    case 4:
        n = (size_t)random_int(rng, 1, sizeof piece);
        n = n > most ? most : n;
        memcpy(piece, text + at, n);
        return replace(text, length, at, 0, piece, n);
    default:
        n = (size_t)random_int(rng, 1, 40);
        return replace(text, length, at, n > most ? most : n, "", 0);
    }
}

static bool is_sound_of_weights(const struct vbs_schedule *schedule)
{
    const struct vbs_link *copy = &schedule->copy;

    if (schedule->weights == VBS_WEIGHTS_EXCLUDED)
        return !copy->source && copy->latency_us == 0 && copy->bytes_per_us == 0 &&
               schedule->predicted.copy_us == 0 && schedule->predicted.copied_bytes == 0 &&
               schedule->predicted.resident_bytes == 0;
    return schedule->weights == VBS_WEIGHTS_INCLUDED && copy->latency_us >= 0 &&
           isfinite(copy->latency_us) && copy->bytes_per_us >= 0 && isfinite(copy->bytes_per_us) &&
           schedule->predicted.copy_us >= 0 && isfinite(schedule->predicted.copy_us) &&
           schedule->predicted.copied_bytes >= 0 && schedule->predicted.resident_bytes >= 0;
}

static bool is_sound_step(const struct vbs_schedule *schedule, const struct vbs_step *step)
{
    bool whole = step->n_slices == 0 && step->slice == 0;
    bool in_slices = step->n_slices > 1 && step->n_slices <= VBS_MAX_SLICES && step->slice >= 1 &&
                     step->slice <= step->n_slices;

    if (step->layer < 1 || !(whole || in_slices))
        return false;
    if (step->op == VBS_STEP_COMPUTE)
        return step->batch >= 1 && step->batch <= VBS_MAX_BATCH && step->algorithm >= 0 &&
               step->algorithm < schedule->n_algorithms && schedule->algorithms[step->algorithm] &&
               !step->resident && step->format == 0 && step->bytes == 0;
    return step->op <= VBS_STEP_EVICT && schedule->weights == VBS_WEIGHTS_INCLUDED &&
           step->bytes >= 1 && step->format < VBS_MAX_FORMATS && step->batch == 0 &&
           step->algorithm == 0 && (!step->resident || step->op == VBS_STEP_LOAD);
}

static bool is_sound(const struct vbs_schedule *schedule)
{
    bool sound = schedule->model && schedule->planner && schedule->request >= 1 &&
                 schedule->request <= VBS_MAX_REQUEST && schedule->memory_bytes >= 0 &&
                 (schedule->io == VBS_IO_EXTERNAL || schedule->io == VBS_IO_RESIDENT) &&
                 schedule->predicted.time_us >= 0 && isfinite(schedule->predicted.time_us) &&
                 schedule->bound.time_us >= 0 && isfinite(schedule->bound.time_us) &&
                 isfinite(schedule->bound.gap_percent) && schedule->predicted.peak_bytes >= 0 &&
                 schedule->predicted.reserved_bytes >= 0 && schedule->n_steps >= 0 &&
                 schedule->latency_us >= 0 && schedule->latency_us <= VBS_MAX_TIME_US &&
                 schedule->predicted.latency_us >= 0 && isfinite(schedule->predicted.latency_us) &&
                 schedule->solver.peak_bytes >= 0 && is_sound_of_weights(schedule);

    for (int64_t i = 0; sound && i < schedule->n_steps; i++)
        sound = is_sound_step(schedule, &schedule->steps[i]);
    return sound;
}

/* Compares a step with one as the reader gives it: the whole is 0 slices. */
static bool same_step(const struct vbs_schedule *a, const struct vbs_step *step,
                      const struct vbs_schedule *b, const struct vbs_step *other)
{
    return step->op == other->op && step->layer == other->layer && step->batch == other->batch &&
           step->slice == other->slice && step->n_slices == other->n_slices &&
           step->format == other->format && step->resident == other->resident &&
           step->bytes == other->bytes &&
           (step->op != VBS_STEP_COMPUTE ||
            strcmp(a->algorithms[step->algorithm], b->algorithms[other->algorithm]) == 0);
}

static bool same_weights(const struct vbs_schedule *a, const struct vbs_schedule *b)
{
    const char *source = a->copy.source ? a->copy.source : "(none)";

    return a->weights == b->weights &&
           strcmp(source, b->copy.source ? b->copy.source : "(none)") == 0 &&
           a->copy.latency_us == b->copy.latency_us &&
           a->copy.bytes_per_us == b->copy.bytes_per_us &&
           a->predicted.copy_us == b->predicted.copy_us &&
           a->predicted.copied_bytes == b->predicted.copied_bytes &&
           a->predicted.resident_bytes == b->predicted.resident_bytes;
}

static bool same(const struct vbs_schedule *a, const struct vbs_schedule *b)
{
    bool equal =
        strcmp(a->model, b->model) == 0 && strcmp(a->planner, b->planner) == 0 &&
        a->request == b->request && a->memory_bytes == b->memory_bytes && a->io == b->io &&
        a->predicted.time_us == b->predicted.time_us &&
        a->predicted.peak_bytes == b->predicted.peak_bytes &&
        a->predicted.reserved_bytes == b->predicted.reserved_bytes &&
        a->latency_us == b->latency_us && a->predicted.latency_us == b->predicted.latency_us &&
        a->solver.peak_bytes == b->solver.peak_bytes && a->bound.time_us == b->bound.time_us &&
        a->bound.gap_percent == b->bound.gap_percent && a->n_steps == b->n_steps;

    for (int64_t i = 0; equal && i < a->n_steps; i++)
        equal = same_step(a, &a->steps[i], b, &b->steps[i]);
    return equal && same_weights(a, b);
}

static bool comes_back(const struct vbs_schedule *schedule, const char *path)
{
    struct vbs_schedule *again = NULL;
    bool equal = vbs_schedule_write_json(NULL, schedule, path) == VBS_OK &&
                 vbs_schedule_read_json(NULL, path, &again) == VBS_OK && same(schedule, again);

    vbs_schedule_free(again);
    return equal;
}

static bool can_be_judged(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_replay_run(&ctx, profile, schedule, -1, true, &replay);

    vbs_replay_free(replay);
    return status == VBS_OK || (status == VBS_INVALID && ctx.detail[0]);
}

static bool is_explained(const struct vbs_ctx *ctx)
{
    for (const unsigned char *c = (const unsigned char *)ctx->detail; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return false;
    return ctx->status == VBS_FORMAT && strstr(ctx->detail, SOURCE) &&
           ctx->detail[strlen(ctx->detail) - 1] != ' ';
}

struct texts {
    struct vbs_profile *profile;
    struct vbs_profile *weighted; /* of the schedules with weights included */
    char *text[N_TEXTS];          /* schedules of it */
    size_t length[N_TEXTS];
};

/* Gives whether a schedule loads, evicts, keeps and computes slices. */
static bool has_all(const struct vbs_schedule *schedule)
{
    bool has[3] = {false}, resident = false;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        has[schedule->steps[i].op] |= schedule->steps[i].n_slices > 1;
        resident |= schedule->steps[i].resident;
    }
    return resident && has[VBS_STEP_COMPUTE] && has[VBS_STEP_LOAD] && has[VBS_STEP_EVICT];
}

/* Makes a schedule with weights included, of a network of its own, that has all of these. */
static struct vbs_schedule *make_weighted(gsl_rng *rng, struct texts *texts, enum vbs_io io)
{
    struct vbs_schedule *schedule;

    for (;;) {
        if (!texts->weighted)
            texts->weighted = random_transfer_profile(rng, 3, 3);
        schedule = random_transfer_schedule(rng, texts->weighted, 2, io, 3);
        if (!schedule || (has_all(schedule) && schedule->n_steps < 60))
            return schedule;
        vbs_schedule_free(schedule);
        if (random_once_in(rng, 20)) {
            vbs_profile_free(texts->weighted);
            texts->weighted = NULL;
        }
    }
}

static struct vbs_schedule *make_schedule(gsl_rng *rng, struct texts *texts, int i)
{
    enum vbs_io io = i % 2 ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL;
    struct vbs_schedule *schedule =
        i < 4 ? random_schedule(rng, texts->profile, 1 + i, io) : make_weighted(rng, texts, io);

    if (schedule && i == 4) {
        schedule->copy =
            (struct vbs_link){.source = "disk \"1\"", .latency_us = 0.5, .bytes_per_us = 12.25};
        schedule->predicted.copy_us = 17.5;
        schedule->predicted.copied_bytes = 99;
        schedule->predicted.resident_bytes = 7;
    }
    return schedule;
}

static void make_texts(gsl_rng *rng, const char *path, struct texts *texts)
{
    for (int i = 0; i < N_TEXTS; i++) {
        struct vbs_schedule *schedule = make_schedule(rng, texts, i);

        if (schedule && i / 2 == 1) {
            schedule->latency_us = 40;
            schedule->predicted.latency_us = 30.5;
            schedule->solver.peak_bytes = 4096;
        }
        if (!schedule || vbs_schedule_write_json(NULL, schedule, path) != VBS_OK)
            bail_out("no schedule");
        texts->text[i] = read_text(path, &texts->length[i]);
        vbs_schedule_free(schedule);
    }
}

/* Tries one text; its copy ends where it ends, so that a sanitizer notices reads beyond. */
static enum vbs_status try_text(const struct texts *texts, const char *text, size_t length,
                                const char *path, bool *wrong)
{
    char *exact = malloc(length ? length : 1);
    struct vbs_schedule *schedule = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    memcpy(exact, text, length);
    status = vbs_schedule_parse_json(&ctx, SOURCE, exact, length, &schedule);
    free(exact);
    if (status == VBS_OK)
        *wrong = !is_sound(schedule) || !comes_back(schedule, path) ||
                 !can_be_judged(texts->profile, schedule) ||
                 !can_be_judged(texts->weighted, schedule);
    else
        *wrong = status != VBS_FORMAT || schedule || !is_explained(&ctx);
    if (*wrong)
        printf("# status %d (%s) of: %.*s\n", (int)status, ctx.detail, (int)length, text);
    vbs_schedule_free(schedule);
    return status;
}

static void check_mutations(gsl_rng *rng, const struct texts *texts, const char *path)
{
    static char text[ROOM];
    int n_taken = 0, n_refused = 0, n_wrong = 0;

    for (int i = 0; i < N_MUTATIONS && n_wrong < 3; i++) {
        size_t length = texts->length[i % N_TEXTS];
        bool wrong;

        memcpy(text, texts->text[i % N_TEXTS], length);
        for (int n = random_int(rng, 1, 3); n > 0; n--)
            length = mutate(rng, text, length);
        if (try_text(texts, text, length, path, &wrong) == VBS_OK)
            n_taken++;
        else
            n_refused++;
        n_wrong += wrong;
    }
    is_int(n_wrong, 0, "every mutated schedule is refused with a reason or comes back unchanged");
    ok(n_taken > 300 && n_refused > 1000, "mutations hit both: %d taken, %d refused", n_taken,
       n_refused);
}

static void check_truncations(const struct texts *texts, const char *path)
{
    size_t whole = texts->length[0] - 1; /* the last byte ends the line */
    int n_wrong = 0;
    bool wrong;

    for (size_t length = 0; length < whole; length++)
        n_wrong += try_text(texts, texts->text[0], length, path, &wrong) != VBS_FORMAT || wrong;
    is_int(n_wrong, 0, "every beginning of a schedule is refused");
    ok(try_text(texts, texts->text[0], whole, path, &wrong) == VBS_OK && !wrong,
       "without its last line end it is read");
}

/* A step per algorithm; as many as a profile may have are read, one more is refused. */
static void check_algorithms(const char *path, int n_algorithms, enum vbs_status expected)
{
    char(*names)[16] = calloc((size_t)n_algorithms, sizeof *names);
    const char **pointers = calloc((size_t)n_algorithms, sizeof *pointers);
    struct vbs_step *steps = calloc((size_t)n_algorithms, sizeof *steps);
    struct vbs_schedule draft = {.model = "",
                                 .planner = "",
                                 .request = 1,
                                 .n_algorithms = n_algorithms,
                                 .algorithms = pointers,
                                 .n_steps = n_algorithms,
                                 .steps = steps};
    struct vbs_schedule *again = NULL;
    enum vbs_status status;

    for (int i = 0; i < n_algorithms; i++) {
        snprintf(names[i], sizeof names[i], "a%d", i);
        pointers[i] = names[i];
        steps[i] = (struct vbs_step){.layer = 1, .batch = 1, .algorithm = i};
    }
    status = vbs_schedule_write_json(NULL, &draft, path);
    if (status == VBS_OK)
        status = vbs_schedule_read_json(NULL, path, &again);
    ok(status == expected && (status != VBS_OK || same(&draft, again)), "%d algorithms: %s",
       n_algorithms, vbs_status_text(expected));
    vbs_schedule_free(again);
    free(steps);
    free(pointers);
    free(names);
}

/* Checks the members of newer versions: valid and invalid ones; without them a file is read as
 * before. */
static void check_members(void)
{
    static const struct {
        const char *member, *detail; /* null: it is read */
    } CASES[] = {
        {"", NULL},
        {"\"latency_us\": 20,", NULL},
        {"\"latency_us\": 0.5,", NULL},
        {"\"latency_us\": 0,", "'latency_us' is out of range"},
        {"\"latency_us\": -1,", "'latency_us' is out of range"},
        {"\"latency_us\": 2e18,", "'latency_us' is out of range"},
        {"\"latency_us\": \"20\",", "'latency_us' is not a number"},
        {"\"latency_us\": null,", "'latency_us' is not a number"},
        {"\"predicted\": {\"latency_us\": 0},", NULL},
        {"\"predicted\": {\"latency_us\": -1},", "'predicted.latency_us' is out of range"},
        {"\"predicted\": {\"time_us\": 0},", NULL},
        {"\"predicted\": {\"time_us\": -1},", "'predicted.time_us' is out of range"},
        {"\"bound\": {\"time_us\": -1e-9},", "'bound.time_us' is out of range"},
        {"\"predicted\": {\"latency_us\": []},", "'predicted.latency_us' is not a number"},
        {"\"predicted\": {\"reserved_bytes\": 1.5},",
         "'predicted.reserved_bytes' is not a whole number"},
        {"\"predicted\": 7,", "'predicted' is not an object"},
        {"\"bound\": [],", "'bound' is not an object"},
        {"\"bound\": {\"time_us\": true},", "'bound.time_us' is not a number"},
        {"\"solver\": {},", NULL},
        {"\"solver\": {\"peak_bytes\": 4096, \"name\": \"x\"},", NULL},
        {"\"solver\": {\"peak_bytes\": -1},", "'solver.peak_bytes' is out of range"},
        {"\"solver\": 4096,", "'solver' is not an object"},
        {"\"unknown\": 1,", NULL},
        {"\"weights\": \"included\",", NULL},
        {"\"weights\": \"both\",", "'weights' is neither \"excluded\" nor \"included\""},
        {"\"weights\": 1,", "'weights' is not a string"},
        {"\"copy\": 1,", NULL}, /* says nothing with weights excluded */
        {"\"weights\": \"included\", \"copy\": 1,", "'copy' is not an object"},
        {"\"weights\": \"included\", \"copy\": {},", "'copy.source' is missing"},
        {"\"weights\": \"included\", \"copy\": {\"source\": \"x\"},", NULL},
        {"\"weights\": \"included\", \"copy\": {\"source\": \"x\", \"latency_us\": -1},",
         "'copy.latency_us' is out of range"},
        {"\"weights\": \"included\", \"copy\": {\"source\": \"x\", \"bytes_per_us\": 1e300},",
         "'copy.bytes_per_us' is out of range"},
        {"\"weights\": \"included\", \"copy\": {\"source\": \"x\", \"bytes_per_us\": \"2\"},",
         "'copy.bytes_per_us' is not a number"},
        {"\"weights\": \"included\", \"predicted\": {\"copy_us\": -1},",
         "'predicted.copy_us' is out of range"},
        {"\"weights\": \"included\", \"predicted\": {\"copied_bytes\": -1},",
         "'predicted.copied_bytes' is out of range"},
        {"\"weights\": \"included\", \"predicted\": {\"resident_bytes\": true},",
         "'predicted.resident_bytes' is not a whole number"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_schedule *schedule = NULL;
        struct vbs_ctx ctx = {0};
        char text[512], want[128];
        enum vbs_status status;

        snprintf(text, sizeof text,
                 "{ \"format\": \"vbslab-schedule-1\", \"request\": 1, \"memory_bytes\": 7, %s "
                 "\"steps\": [] }",
                 CASES[i].member);
        snprintf(want, sizeof want, SOURCE ": %s", CASES[i].detail ? CASES[i].detail : "");
        status = vbs_schedule_parse_json(&ctx, SOURCE, text, strlen(text), &schedule);
        ok(CASES[i].detail ? status == VBS_FORMAT && strcmp(ctx.detail, want) == 0
                           : status == VBS_OK,
           "%s %s", CASES[i].member, CASES[i].detail ? CASES[i].detail : "is read");
        vbs_schedule_free(schedule);
    }
}

/* Checks the members of a step, with weights included or not. */
static void check_steps(void)
{
    static const struct {
        const char *weights, *step, *detail; /* null: it is read, and comes back */
    } CASES[] = {
        {"included",
         "\"op\": \"load\", \"layer\": 16, \"part\": 1, \"parts\": 12, \"bytes\": 12582912, "
         "\"form\": 1, \"resident\": true",
         NULL},
        {"included", "\"op\": \"drop\", \"layer\": 1, \"bytes\": 5", NULL},
        {"included", "\"op\": \"drop\", \"layer\": 1, \"part\": 1, \"parts\": 1, \"bytes\": 5",
         NULL},
        {"included", "\"op\": \"drop\", \"layer\": 1, \"bytes\": 5, \"resident\": false", NULL},
        {"excluded", "\"layer\": 1, \"batch\": 2, \"algorithm\": \"a\", \"part\": 3, \"parts\": 3",
         NULL},
        {"included", "\"op\": \"compute\", \"layer\": 1, \"batch\": 2, \"algorithm\": \"a\"", NULL},
        {"excluded", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5",
         "'op' moves weights, but 'weights' is not \"included\""},
        {"included", "\"op\": \"move\", \"layer\": 1, \"bytes\": 5",
         "'op' is neither \"compute\" nor \"load\" nor \"drop\""},
        {"included", "\"op\": 1, \"layer\": 1, \"bytes\": 5", "'op' is not a string"},
        {"included", "\"op\": \"load\", \"layer\": 1", "'bytes' is missing"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 0", "'bytes' is out of range"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 1.5",
         "'bytes' is not a whole number"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"form\": 64",
         "'form' is out of range"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"form\": -1",
         "'form' is out of range"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"resident\": 1",
         "'resident' is neither true nor false"},
        {"included", "\"op\": \"drop\", \"layer\": 1, \"bytes\": 5, \"resident\": true",
         "'resident' is true of a step that is not a load"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"part\": 1",
         "'parts' is missing"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"parts\": 2",
         "'part' is missing"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"part\": 3, \"parts\": 2",
         "'part' is out of range"},
        {"included", "\"op\": \"load\", \"layer\": 1, \"bytes\": 5, \"part\": 0, \"parts\": 2",
         "'part' is out of range"},
        {"excluded",
         "\"layer\": 1, \"batch\": 1, \"algorithm\": \"a\", \"part\": 1, \"parts\": 1048577",
         "'parts' is out of range"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_schedule *schedule = NULL;
        struct vbs_ctx ctx = {0};
        char text[512], want[128];
        enum vbs_status status;

        snprintf(text, sizeof text,
                 "{ \"format\": \"vbslab-schedule-1\", \"request\": 1, \"memory_bytes\": 7, "
                 "\"weights\": \"%s\", \"steps\": [ { %s } ] }",
                 CASES[i].weights, CASES[i].step);
        snprintf(want, sizeof want, SOURCE ": step 1: %s", CASES[i].detail ? CASES[i].detail : "");
        status = vbs_schedule_parse_json(&ctx, SOURCE, text, strlen(text), &schedule);
        ok(CASES[i].detail ? status == VBS_FORMAT && strcmp(ctx.detail, want) == 0
                           : status == VBS_OK && is_sound(schedule),
           "%s, weights %s: %s", CASES[i].step, CASES[i].weights,
           CASES[i].detail ? CASES[i].detail : "is read");
        if (CASES[i].detail && strcmp(ctx.detail, want) != 0)
            printf("#  got %s\n", ctx.detail);
        vbs_schedule_free(schedule);
    }
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    char *folder = temporary_folder(), *path = path_in(folder, SOURCE);
    struct texts texts = {0};

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    texts.profile = random_profile(rng, RANDOM_BRANCHED, 4);
    make_texts(rng, path, &texts);
    check_members();
    check_steps();
    check_truncations(&texts, path);
    check_mutations(rng, &texts, path);
    check_algorithms(path, VBS_MAX_ALGORITHMS, VBS_OK);
    check_algorithms(path, VBS_MAX_ALGORITHMS + 1, VBS_FORMAT);
    for (int i = 0; i < N_TEXTS; i++)
        free(texts.text[i]);
    vbs_profile_free(texts.profile);
    vbs_profile_free(texts.weighted);
    free(path);
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
