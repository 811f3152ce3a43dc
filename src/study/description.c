/*
 * Reading the description of a study: a TOML file with a table [study] and tables [[parameter]]
 * (docs/formats.md). Keys stand in tables of this file, with the member that each sets; a key that
 * is in none of them is refused with the name that is nearest to it.
 */
#include "study/study.h"

#include "base/fail.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/toml.h"
#include "vbslab/units.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HYBRID_WEIGHT 0.07 /* Tan et al., MnasNet, 2019, section 3.1 */

/* ---- words ---- */

#define WORD_OF(name, word)               word,
#define OBJECTIVE(name, word, unit, sign) word,
#define UNIT(name, word, unit, sign)      unit,
#define SIGN(name, word, unit, sign)      sign,
static const char *const objective_words[] = {STUDY_OBJECTIVE_LIST(OBJECTIVE) NULL};
static const char *const objective_units[] = {STUDY_OBJECTIVE_LIST(UNIT)};
static const int objective_signs[] = {STUDY_OBJECTIVE_LIST(SIGN)};
static const char *const sampler_words[] = {VBS_SAMPLER_LIST(WORD_OF) NULL};
static const char *const ranking_words[] = {VBS_PRUNE_RANKING_LIST(WORD_OF) NULL};
static const char *const optimiser_words[] = {VBS_OPTIMISER_LIST(WORD_OF) NULL};
static const char *const schedule_words[] = {VBS_RATE_LIST(WORD_OF) NULL};
static const char *const io_words[] = {"external", "resident", NULL};
static const char *const weights_words[] = {"excluded", "included", NULL};
#undef WORD_OF
#undef OBJECTIVE
#undef UNIT
#undef SIGN

const char *study_objective_word(enum study_objective objective)
{
    return objective_words[objective];
}

const char *study_objective_unit(enum study_objective objective)
{
    return objective_units[objective];
}

int study_objective_sign(enum study_objective objective)
{
    return objective_signs[objective];
}

/* ---- keys ---- */

enum key_kind { TEXT, WHOLE, REAL, SIZE, SWITCH, WORD, OWN };

/* A key, and the member that it sets. WORD: one of a list, whose number is set. OWN: it is read by
 * a function of its own. */
struct study_key {
    const char *name;
    enum key_kind kind;
    size_t member;
    double low, high;         /* of numbers, both allowed */
    const char *const *words; /* ends with null */
};

#define AT(member)   offsetof(struct vbs_study, member)
#define OF(member)   offsetof(struct study_parameter, member)
#define MANY         1e9
#define ABOVE_0(top) 1e-12, top

static const struct study_key STUDY_KEYS[] = {
    {"name", TEXT, AT(name), 0, 0, NULL},
    {"model", TEXT, AT(model), 0, 0, NULL},
    {"data", TEXT, AT(data), 0, 0, NULL},
    {"objective", OWN, 0, 0, 0, NULL},
    {"hybrid_weight", REAL, AT(hybrid_weight), ABOVE_0(100), NULL},
    {"accuracy_at_least", REAL, AT(accuracy_at_least), 0, 1, NULL},
    {"accuracy_loss_at_most", REAL, AT(accuracy_loss_at_most), 0, 1, NULL},
    {"sampler", WORD, AT(sampler), 0, 0, sampler_words},
    {"model_speed", SWITCH, AT(model_speed), 0, 0, NULL},
    {"trials", WHOLE, AT(n_trials), 1, 1e6, NULL},
    {"initial", WHOLE, AT(n_initial), 1, 1e6, NULL},
    {"seed", WHOLE, AT(seed), 0, 9e15, NULL},
    {"training_seed", WHOLE, AT(training_seed), 0, 9e15, NULL},
    {"least_epochs", WHOLE, AT(least_epochs), 1, 1e6, NULL},
    {"reduction", REAL, AT(reduction), 1.5, 100, NULL},
    {"ranking", WORD, AT(ranking), 0, 0, ranking_words},
    {"preset", TEXT, AT(preset), 0, 0, NULL},
    {"round", WHOLE, AT(round), 1, 65536, NULL},
    {"epochs", WHOLE, AT(epochs), 0, 1e6, NULL},
    {"batch", WHOLE, AT(batch), 1, VBS_MAX_BATCH, NULL},
    {"threads", WHOLE, AT(threads), 1, 1024, NULL},
    {"shift", WHOLE, AT(shift), 0, 4096, NULL},
    {"validation", WHOLE, AT(validation), 1, 2e9, NULL},
    {"rate", REAL, AT(rate), ABOVE_0(1000), NULL},
    {"momentum", REAL, AT(momentum), 0, 1, NULL},
    {"weight_decay", REAL, AT(weight_decay), 0, 100, NULL},
    {"warm_up", REAL, AT(warm_up), 0, 1e6, NULL},
    {"label_smoothing", REAL, AT(label_smoothing), 0, 1, NULL},
    {"mirror", SWITCH, AT(mirror), 0, 0, NULL},
    {"nesterov", SWITCH, AT(nesterov), 0, 0, NULL},
    {"optimiser", WORD, AT(optimiser), 0, 0, optimiser_words},
    {"schedule", WORD, AT(schedule), 0, 0, schedule_words},
    {"backend", TEXT, AT(backend), 0, 0, NULL},
    {"batches", TEXT, AT(batches), 0, 0, NULL},
    {"measure_threads", WHOLE, AT(measure_threads), 1, 4096, NULL},
    {"measure_seconds", REAL, AT(measure_seconds), ABOVE_0(1e6), NULL},
    {"memory", SIZE, AT(memory), 0, 0, NULL},
    {"request", WHOLE, AT(request), 1, MANY, NULL},
    {"io", WORD, AT(io), 0, 0, io_words},
    {"weights", WORD, AT(weights), 0, 0, weights_words},
    {"planner", TEXT, AT(planner), 0, 0, NULL},
    {"latency_us", REAL, AT(latency_us), ABOVE_0(1e15), NULL},
};

static const struct study_key PARAMETER_KEYS[] = {
    {"name", TEXT, OF(name), 0, 0, NULL},
    {"group", OWN, 0, 0, 0, NULL},
    {"groups", OWN, 0, 0, 0, NULL},
    {"low", REAL, OF(low), 0, 0.999999, NULL},
    {"high", REAL, OF(high), 0, 0.999999, NULL},
    {"step", REAL, OF(step), ABOVE_0(1), NULL},
};

#define MAX_KEYS     64 /* of a table */
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* A table that is being read. */
struct study_table {
    struct vbs_ctx *ctx;
    struct vbs_study *study;
    const char *place; /* "FILE: [study]" */
    const struct study_key *keys;
    int n_keys;
    void *target; /* the struct of which keys set members */
};

static enum vbs_status wrong(const struct study_table *table, const char *key, const char *what)
{
    return vbs_fail_at(table->ctx, VBS_USAGE, table->place, "%s %s", key, what);
}

static const struct study_key *find_key(const struct study_table *table, const char *name)
{
    for (int i = 0; i < table->n_keys; i++)
        if (strcmp(table->keys[i].name, name) == 0)
            return &table->keys[i];
    return NULL;
}

static enum vbs_status copy_text(const struct study_table *table, const char *key,
                                 const json_t *value, const char **text)
{
    if (!json_is_string(value) || json_string_value(value)[0] == '\0' ||
        strlen(json_string_value(value)) != json_string_length(value))
        return wrong(table, key, "is not a text");
    *text = vbs_arena_strdup(&table->study->arena, json_string_value(value));
    return *text ? VBS_OK : vbs_no_memory(table->ctx);
}

static enum vbs_status read_number(const struct study_table *table, const struct study_key *key,
                                   const json_t *value, double *number)
{
    char what[120];

    if (!json_is_number(value) || (key->kind == WHOLE && !json_is_integer(value)))
        return wrong(table, key->name,
                     key->kind == WHOLE ? "is not a whole number" : "is not a number");
    *number = json_number_value(value);
    if (*number >= key->low && *number <= key->high)
        return VBS_OK;
    snprintf(what, sizeof what, "is %g, but it must be %s%g and at most %g", *number,
             key->low > 0 && key->low < 1e-9 ? "above " : "at least ",
             key->low < 1e-9 ? 0 : key->low, key->high);
    return wrong(table, key->name, what);
}

/* Finds a text among words, the last of which is followed by null. */
static enum vbs_status find_word(const struct study_table *table, const char *key,
                                 const char *const *words, const json_t *value, int *number)
{
    char what[200];
    int n = 0;

    if (!json_is_string(value))
        return wrong(table, key, "is not a text");
    while (words[n])
        n++;
    snprintf(what, sizeof what, "%s: %s", table->place, key);
    return vbs_parse_word(table->ctx, what, json_string_value(value), words, n, number);
}

/* Sets the member of a key. */
static enum vbs_status set(const struct study_table *table, const struct study_key *key,
                           const json_t *value)
{
    void *member = (char *)table->target + key->member;
    double number;

    switch (key->kind) {
    case TEXT:
        return copy_text(table, key->name, value, member);
    case WHOLE:
        VBS_TRY(read_number(table, key, value, &number));
        *(int64_t *)member = (int64_t)number;
        return VBS_OK;
    case REAL:
        VBS_TRY(read_number(table, key, value, &number));
        *(double *)member = number;
        return VBS_OK;
    case SIZE:
        if (json_is_integer(value) && json_integer_value(value) > 0)
            *(int64_t *)member = json_integer_value(value);
        else if (!json_is_string(value) ||
                 vbs_parse_bytes(table->ctx, json_string_value(value), member) != VBS_OK)
            return wrong(table, key->name, "is not a size, such as \"20MiB\" or a number of bytes");
        return VBS_OK;
    case WORD:
        return find_word(table, key->name, key->words, value, member);
    case SWITCH:
        if (!json_is_boolean(value))
            return wrong(table, key->name, "is neither true nor false");
        *(bool *)member = json_is_true(value);
        return VBS_OK;
    default:
        return VBS_OK;
    }
}

/* Refuses keys that are in no list, as a wrong use. */
static enum vbs_status check_keys(struct vbs_ctx *ctx, const char *place, json_t *object,
                                  const char *const *names, int n_names)
{
    enum vbs_status status = vbs_json_check_keys(ctx, place, object, names, n_names);

    return status == VBS_FORMAT ? vbs_fail(ctx, VBS_USAGE, "%s", vbs_detail(ctx)) : status;
}

static enum vbs_status read_keys(const struct study_table *table, json_t *object)
{
    const char *names[MAX_KEYS], *name;
    json_t *value;

    for (int i = 0; i < table->n_keys; i++)
        names[i] = table->keys[i].name;
    VBS_TRY(check_keys(table->ctx, table->place, object, names, table->n_keys));
    json_object_foreach(object, name, value)
    {
        VBS_TRY(set(table, find_key(table, name), value));
    }
    return VBS_OK;
}

/* ---- what has a form of its own ---- */

static enum vbs_status read_objective(const struct study_table *table, const json_t *value)
{
    struct vbs_study *study = table->study;
    int objective;

    VBS_TRY(find_word(table, "objective", objective_words, value, &objective));
    for (int i = 0; i < study->n_objectives; i++)
        if (study->objectives[i] == (enum study_objective)objective)
            return wrong(table, "objective", "names one objective twice");
    study->objectives[study->n_objectives++] = (enum study_objective)objective;
    return VBS_OK;
}

static enum vbs_status read_objectives(const struct study_table *table, const json_t *value)
{
    if (!value) {
        table->study->objectives[table->study->n_objectives++] = STUDY_THROUGHPUT;
        return VBS_OK;
    }
    if (!json_is_array(value))
        return read_objective(table, value);
    if (json_array_size(value) < 1 || json_array_size(value) > STUDY_MAX_OBJECTIVES)
        return wrong(table, "objective", "must have one to three objectives");
    for (size_t i = 0; i < json_array_size(value); i++)
        VBS_TRY(read_objective(table, json_array_get(value, i)));
    return VBS_OK;
}

static enum vbs_status read_groups(const struct study_table *table, const json_t *object,
                                   struct study_parameter *parameter)
{
    const json_t *one = json_object_get(object, "group"), *many = json_object_get(object, "groups");
    const char **names;

    if (!one == !many)
        return wrong(table, "group", "or groups must be given, and not both");
    if (many && (!json_is_array(many) || json_array_size(many) == 0))
        return wrong(table, "groups", "is not a list of names");
    parameter->n_groups = many ? (int)json_array_size(many) : 1;
    names = vbs_arena_alloc(&table->study->arena, (size_t)parameter->n_groups, sizeof *names);
    if (!names)
        return vbs_no_memory(table->ctx);
    for (int i = 0; i < parameter->n_groups; i++)
        VBS_TRY(copy_text(table, many ? "groups" : "group",
                          many ? json_array_get(many, (size_t)i) : one, &names[i]));
    parameter->groups = names;
    if (!parameter->name)
        parameter->name = names[0];
    return VBS_OK;
}

static enum vbs_status read_parameter(struct vbs_ctx *ctx, struct vbs_study *study, int i,
                                      json_t *object)
{
    char place[160];
    struct study_parameter *parameter = &study->parameters[i];
    const struct study_table table = {.ctx = ctx,
                                      .study = study,
                                      .place = place,
                                      .keys = PARAMETER_KEYS,
                                      .n_keys = COUNT(PARAMETER_KEYS),
                                      .target = parameter};

    snprintf(place, sizeof place, "%.100s: [[parameter]] %d", study->path, i + 1);
    if (!json_is_object(object))
        return vbs_fail_at(ctx, VBS_USAGE, place, "it is not a table");
    VBS_TRY(read_keys(&table, object));
    VBS_TRY(read_groups(&table, object, parameter));
    if (json_object_get(object, "high") && parameter->high < parameter->low)
        return wrong(&table, "high", "is less than low");
    for (int j = 0; j < i; j++)
        if (strcmp(study->parameters[j].name, parameter->name) == 0)
            return wrong(&table, "name", "is that of an earlier parameter");
    return VBS_OK;
}

static enum vbs_status read_parameters(struct vbs_ctx *ctx, struct vbs_study *study, json_t *array)
{
    if (!json_is_array(array) || json_array_size(array) == 0)
        return vbs_fail_at(ctx, VBS_USAGE, study->path, "there is no [[parameter]]");
    if (json_array_size(array) > VBS_STUDY_MAX_PARAMETERS)
        return vbs_fail_at(ctx, VBS_USAGE, study->path, "there are more than %d parameters",
                           VBS_STUDY_MAX_PARAMETERS);
    study->n_parameters = (int)json_array_size(array);
    study->parameters =
        vbs_arena_alloc(&study->arena, json_array_size(array), sizeof *study->parameters);
    if (!study->parameters)
        return vbs_no_memory(ctx);
    for (int i = 0; i < study->n_parameters; i++)
        VBS_TRY(read_parameter(ctx, study, i, json_array_get(array, (size_t)i)));
    return VBS_OK;
}

/* ---- the whole ---- */

/* Keeps the description as JSON, without what does not decide the result of any trial. */
static enum vbs_status keep_canonical(struct vbs_ctx *ctx, struct vbs_study *study, json_t *root)
{
    json_t *own = json_object_get(root, "study");
    struct vbs_text text = {0};

    json_object_del(own, "name");
    json_object_del(own, "trials");
    vbs_text_add_json(&text, root, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text.failed) {
        study->canonical = text.data;
        return VBS_OK;
    }
    vbs_text_clear(&text);
    return vbs_no_memory(ctx);
}

/* Refuses what is missing, and keys that contradict each other or have no effect. */
static enum vbs_status check(const struct study_table *table)
{
    const struct vbs_study *s = table->study;
    bool throughput = false;

    for (int i = 0; i < s->n_objectives; i++)
        throughput = throughput || s->objectives[i] == STUDY_THROUGHPUT;
    if (!s->name || !s->model || !s->data)
        return wrong(table, !s->name ? "name" : !s->model ? "model" : "data", "is missing");
    if (strlen(s->name) > 100 ||
        strspn(s->name, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") != strlen(s->name))
        return wrong(table, "name", "must have at most 100 letters, digits and \". _ + -\"");
    if (s->accuracy_at_least > 0 && s->accuracy_loss_at_most >= 0)
        return wrong(table, "accuracy_at_least", "and accuracy_loss_at_most exclude each other");
    if (throughput && s->memory == 0)
        return wrong(table, "memory", "is missing: throughput is that of a plan within it");
    if (s->weights == VBS_WEIGHTS_INCLUDED && s->memory == 0)
        return wrong(table, "memory", "is missing: weights are included in it");
    return VBS_OK;
}

static enum vbs_status read_root(struct vbs_ctx *ctx, struct vbs_study *study, json_t *root)
{
    static const char *const TABLES[] = {"study", "parameter"};
    char place[140];
    const struct study_table table = {.ctx = ctx,
                                      .study = study,
                                      .place = place,
                                      .keys = STUDY_KEYS,
                                      .n_keys = COUNT(STUDY_KEYS),
                                      .target = study};
    json_t *own = json_object_get(root, "study");

    VBS_TRY(check_keys(ctx, study->path, root, TABLES, COUNT(TABLES)));
    snprintf(place, sizeof place, "%.100s: [study]", study->path);
    if (!json_is_object(own))
        return vbs_fail_at(ctx, VBS_USAGE, study->path, "there is no table [study]");
    VBS_TRY(read_keys(&table, own));
    VBS_TRY(read_objectives(&table, json_object_get(own, "objective")));
    VBS_TRY(check(&table));
    VBS_TRY(read_parameters(ctx, study, json_object_get(root, "parameter")));
    return keep_canonical(ctx, study, root);
}

enum vbs_status vbs_study_read(struct vbs_ctx *ctx, const char *path, struct vbs_study **study)
{
    struct vbs_study *read = calloc(1, sizeof *read);
    json_t *root = NULL;
    enum vbs_status status;

    if (!read)
        return vbs_no_memory(ctx);
    *read = (struct vbs_study){.hybrid_weight = DEFAULT_HYBRID_WEIGHT,
                               .accuracy_loss_at_most = -1,
                               .n_trials = 50,
                               .seed = 1,
                               .training_seed = -1,
                               .least_epochs = 1,
                               .reduction = 3,
                               .round = VBS_PRUNE_STEP,
                               .epochs = 1,
                               .momentum = -1,
                               .weight_decay = -1,
                               .batches = "1-12",
                               .request = 12};
    read->path = vbs_arena_strdup(&read->arena, path);
    status = read->path ? vbs_toml_read(ctx, path, &root) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = read_root(ctx, read, root);
    json_decref(root);
    if (status != VBS_OK) {
        vbs_study_free(read);
        return status;
    }
    *study = read;
    return VBS_OK;
}

const char *vbs_study_name(const struct vbs_study *study)
{
    return study->name;
}

int vbs_study_trials(const struct vbs_study *study)
{
    return (int)study->n_trials;
}

void vbs_study_free(struct vbs_study *study)
{
    if (!study)
        return;
    free(study->canonical);
    vbs_arena_clear(&study->arena);
    free(study);
}
