/*
 * Reads a description. Groups are sorted by their levels, so that a task stands behind those whose
 * results it reads.
 */
#include "sweep/description.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "base/toml.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LISTS  32
#define MAX_GROUPS 256
#define MAX_WORDS  256

#define DEFAULT_PATIENCE_S 60
#define MAX_PATIENCE_S     86400

#define N(names) ((int)(sizeof(names) / sizeof(names)[0]))

struct description_reader {
    struct vbs_ctx *ctx;
    struct vbs_sweep *sweep;
    const char *file; /* as it was given */
    json_t *root;
    char place[160]; /* for messages: "FILE: task 'measure'" */
};

static enum vbs_status refuse(struct description_reader *r, const char *format, ...)
    VBS_PRINTF(2, 3);

static enum vbs_status refuse(struct description_reader *r, const char *format, ...)
{
    enum vbs_status status;
    va_list args;

    va_start(args, format);
    status = vbs_vfail_at(r->ctx, VBS_FORMAT, r->place, format, args);
    va_end(args);
    return status;
}

static void set_place(struct description_reader *r, const char *what, const char *name)
{
    snprintf(r->place, sizeof r->place, name ? "%.90s: %.20s '%.40s'" : "%.90s: %.20s", r->file,
             what, name);
}

/* Copies text into the arena of the sweep. */
static enum vbs_status keep_text(struct description_reader *r, const char *text, const char **kept)
{
    *kept = vbs_arena_strdup(&r->sweep->arena, text);
    return *kept ? VBS_OK : vbs_no_memory(r->ctx);
}

/* Gives zeroed memory for count items and one more out of the arena of the sweep, or null. */
static void *allocate(struct description_reader *r, int64_t count, size_t size)
{
    return vbs_arena_alloc(&r->sweep->arena, (size_t)count + 1, size);
}

/* Names are letters, digits, - and _, because they stand in braces. */
static enum vbs_status check_name(struct description_reader *r, const char *what, const char *name)
{
    if (name[0] == '\0' || strlen(name) > 60 ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")])
        return refuse(r, "the name of a %s has 1 to 60 letters, digits, - and _", what);
    if (strcmp(name, "result") == 0)
        return refuse(r, "'result' is the task's own result, and cannot be the name of a %s", what);
    return VBS_OK;
}

/* ---- members of objects ---- */

static enum vbs_status text_member(struct description_reader *r, const json_t *object,
                                   const char *key, const char **text)
{
    const json_t *value = json_object_get(object, key);

    if (!value)
        return VBS_OK;
    if (!json_is_string(value) || !*json_string_value(value))
        return refuse(r, "%s is a text", key);
    return keep_text(r, json_string_value(value), text);
}

static enum vbs_status number_member(struct description_reader *r, const json_t *object,
                                     const char *key, int64_t low, int64_t high, int64_t *number)
{
    const json_t *value = json_object_get(object, key);

    if (!value)
        return VBS_OK;
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return refuse(r, "%s is a whole number of %lld to %lld", key, (long long)low,
                      (long long)high);
    *number = json_integer_value(value);
    return VBS_OK;
}

static enum vbs_status texts_member(struct description_reader *r, const json_t *object,
                                    const char *key, int *n, const char *const **texts)
{
    const json_t *all = json_object_get(object, key);
    const char **made;

    if (!all)
        return VBS_OK;
    if (!json_is_array(all) || json_array_size(all) > MAX_WORDS)
        return refuse(r, "%s is a list of at most %d texts", key, MAX_WORDS);
    made = allocate(r, (int64_t)json_array_size(all), sizeof *made);
    if (!made)
        return vbs_no_memory(r->ctx);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *value = json_array_get(all, i);

        if (!json_is_string(value))
            return refuse(r, "%s has something that is no text: write it in quotes", key);
        VBS_TRY(keep_text(r, json_string_value(value), &made[i]));
    }
    *n = (int)json_array_size(all);
    *texts = made;
    return VBS_OK;
}

/* ---- lists ---- */

/* Makes a value of a list a text. */
static enum vbs_status value_text(struct description_reader *r, const json_t *value,
                                  const char **text)
{
    struct vbs_text number = {0};
    enum vbs_status status;

    if (json_is_string(value))
        return keep_text(r, json_string_value(value), text);
    if (json_is_integer(value))
        vbs_text_addf(&number, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        vbs_text_add_double(&number, json_real_value(value));
    else
        return refuse(r, "a value is a text or a number");
    status = number.failed ? vbs_no_memory(r->ctx) : keep_text(r, number.data, text);
    vbs_text_clear(&number);
    return status;
}

/* Reads { from, to, step }. */
static enum vbs_status read_range(struct description_reader *r, json_t *range,
                                  struct vbs_sweep_list *list)
{
    static const char *const KEYS[] = {"from", "to", "step"};
    int64_t from = 0, to = -1, step = 1, span;

    VBS_TRY(vbs_json_check_keys(r->ctx, r->place, range, KEYS, N(KEYS)));
    VBS_TRY(number_member(r, range, "from", INT64_MIN, INT64_MAX, &from));
    VBS_TRY(number_member(r, range, "to", INT64_MIN, INT64_MAX, &to));
    VBS_TRY(number_member(r, range, "step", 1, INT64_MAX, &step));
    if (!json_object_get(range, "from") || !json_object_get(range, "to"))
        return refuse(r, "a range has from and to");
    if (to < from || __builtin_sub_overflow(to, from, &span) || span / step >= VBS_SWEEP_MAX_TASKS)
        return refuse(r, "the range from %lld to %lld has none or too many numbers",
                      (long long)from, (long long)to);
    list->n = span / step + 1;
    list->n_fields = 1;
    list->first = from;
    list->step = step;
    return VBS_OK;
}

/* Reads a table of a list of tables, all of which have the members of the first. */
static enum vbs_status read_table(struct description_reader *r, json_t *table,
                                  const struct vbs_sweep_list *list, const char **values)
{
    if (!json_is_object(table))
        return refuse(r, "all values are tables, or none is");
    VBS_TRY(vbs_json_check_keys(r->ctx, r->place, table, list->fields, list->n_fields));
    for (int f = 0; f < list->n_fields; f++) {
        const json_t *value = json_object_get(table, list->fields[f]);

        if (!value)
            return refuse(r, "a value lacks '%.60s', which others have", list->fields[f]);
        VBS_TRY(value_text(r, value, &values[f]));
    }
    return VBS_OK;
}

static enum vbs_status read_fields(struct description_reader *r, json_t *first,
                                   struct vbs_sweep_list *list)
{
    const char **fields;
    const char *key;
    json_t *value;

    fields = allocate(r, (int64_t)json_object_size(first), sizeof *fields);
    if (!fields)
        return vbs_no_memory(r->ctx);
    json_object_foreach(first, key, value)
    {
        VBS_TRY(check_name(r, "member", key));
        VBS_TRY(keep_text(r, key, &fields[list->n_fields++]));
    }
    if (list->n_fields == 0)
        return refuse(r, "a value is an empty table");
    list->fields = fields;
    return VBS_OK;
}

static enum vbs_status read_values(struct description_reader *r, const json_t *all,
                                   struct vbs_sweep_list *list)
{
    int64_t n = (int64_t)json_array_size(all);
    const char **values;

    if (n == 0)
        return refuse(r, "it has no value");
    if (json_is_object(json_array_get(all, 0)))
        VBS_TRY(read_fields(r, json_array_get(all, 0), list));
    else
        list->n_fields = 1;
    values = allocate(r, n * list->n_fields, sizeof *values);
    if (!values)
        return vbs_no_memory(r->ctx);
    for (int64_t i = 0; i < n; i++)
        if (list->fields)
            VBS_TRY(
                read_table(r, json_array_get(all, (size_t)i), list, values + i * list->n_fields));
        else
            VBS_TRY(value_text(r, json_array_get(all, (size_t)i), &values[i]));
    list->values = values;
    list->n = n;
    return VBS_OK;
}

static enum vbs_status read_lists(struct description_reader *r)
{
    json_t *lists = json_object_get(r->root, "lists"), *value;
    const char *key;

    r->sweep->lists = allocate(r, MAX_LISTS, sizeof *r->sweep->lists);
    if (!r->sweep->lists)
        return vbs_no_memory(r->ctx);
    set_place(r, "[lists]", NULL);
    if (lists && !json_is_object(lists))
        return refuse(r, "it is a table");
    json_object_foreach(lists, key, value)
    {
        struct vbs_sweep_list *list = &r->sweep->lists[r->sweep->n_lists];

        set_place(r, "list", key);
        if (r->sweep->n_lists == MAX_LISTS)
            return refuse(r, "there are more than %d lists", MAX_LISTS);
        VBS_TRY(check_name(r, "list", key));
        VBS_TRY(keep_text(r, key, &list->name));
        if (json_is_object(value))
            VBS_TRY(read_range(r, value, list));
        else if (json_is_array(value))
            VBS_TRY(read_values(r, value, list));
        else
            return refuse(r, "it is a list of values, or { from, to, step }");
        r->sweep->n_lists++;
    }
    return VBS_OK;
}

/* ---- words ---- */

/* Finds what a name in braces stands for. */
static enum vbs_status resolve(struct description_reader *r, const char *name,
                               struct vbs_sweep_piece *piece)
{
    struct vbs_sweep *sweep = r->sweep;
    const char *names[MAX_LISTS + MAX_GROUPS + 1], *nearest;
    size_t head = strcspn(name, ".");
    int n = 0;

    if (strcmp(name, "result") == 0) {
        piece->kind = VBS_PIECE_OWN_RESULT;
        return VBS_OK;
    }
    for (int g = 0; g < sweep->info.n_groups; g++) {
        if (strcmp(name, sweep->groups[g].name) == 0) {
            *piece = (struct vbs_sweep_piece){.kind = VBS_PIECE_RESULT, .group = g};
            return VBS_OK;
        }
        names[n++] = sweep->groups[g].name;
    }
    for (int l = 0; l < sweep->n_lists; l++) {
        const struct vbs_sweep_list *list = &sweep->lists[l];

        names[n++] = list->name;
        if (strncmp(name, list->name, head) != 0 || list->name[head])
            continue;
        *piece = (struct vbs_sweep_piece){.kind = VBS_PIECE_VALUE, .list = l};
        if (!name[head] && !list->fields)
            return VBS_OK;
        for (int f = 0; name[head] && list->fields && f < list->n_fields; f++) {
            piece->field = f;
            if (strcmp(name + head + 1, list->fields[f]) == 0)
                return VBS_OK;
        }
        return refuse(r,
                      list->fields ? "{%.40s} names no member of the tables of the list"
                                   : "{%.40s}: the values of the list are no tables",
                      name);
    }
    names[n++] = "result";
    nearest = vbs_nearest_name(name, names, n);
    return refuse(r, "{%.40s} is no list, no other task and not {result}%s%s%s", name,
                  nearest ? ": did you mean {" : "; {{ is a brace", nearest ? nearest : "",
                  nearest ? "}?" : "");
}

/* Adds a piece of text, where it is not empty. */
static enum vbs_status add_text(struct description_reader *r, struct vbs_text *text,
                                struct vbs_sweep_piece *pieces, int *n)
{
    enum vbs_status status = VBS_OK;

    if (text->failed)
        return vbs_no_memory(r->ctx);
    if (text->length > 0) {
        pieces[*n] = (struct vbs_sweep_piece){.kind = VBS_PIECE_TEXT};
        status = keep_text(r, text->data, &pieces[*n].text);
        *n += 1;
        vbs_text_clear(text);
    }
    return status;
}

/* Cuts a word into pieces; there is space for one piece more than it has characters. */
static enum vbs_status cut_word(struct description_reader *r, const char *word,
                                struct vbs_text *text, struct vbs_sweep_piece *pieces, int *n)
{
    for (const char *c = word; *c;) {
        size_t length = strcspn(c, "{}");
        char name[130];

        vbs_text_addf(text, "%.*s", (int)length, c);
        c += length;
        if (!*c)
            break;
        if (c[1] == c[0]) {
            vbs_text_addf(text, "%c", *c);
            c += 2;
            continue;
        }
        length = *c == '{' ? strcspn(c + 1, "{}") : sizeof name;
        if (*c == '}' || c[1 + length] != '}' || length >= sizeof name)
            return refuse(r, "'%.40s' has a brace without its fellow; {{ and }} are braces", word);
        memcpy(name, c + 1, length);
        name[length] = '\0';
        VBS_TRY(add_text(r, text, pieces, n));
        VBS_TRY(resolve(r, name, &pieces[*n]));
        *n += 1;
        c += length + 2;
    }
    return add_text(r, text, pieces, n);
}

static enum vbs_status read_words(struct description_reader *r, int n, const char *const *texts,
                                  const struct vbs_sweep_word **words)
{
    struct vbs_sweep_word *made;

    made = allocate(r, n, sizeof *made);
    if (!made)
        return vbs_no_memory(r->ctx);
    for (int i = 0; i < n; i++) {
        struct vbs_sweep_piece *pieces;
        struct vbs_text text = {0};
        enum vbs_status status;

        if (strlen(texts[i]) > 65536)
            return refuse(r, "a word is longer than 65536 bytes");
        pieces = allocate(r, (int64_t)strlen(texts[i]), sizeof *pieces);
        if (!pieces)
            return vbs_no_memory(r->ctx);
        status = cut_word(r, texts[i], &text, pieces, &made[i].n_pieces);
        vbs_text_clear(&text);
        if (status != VBS_OK)
            return status;
        made[i].pieces = pieces;
    }
    *words = made;
    return VBS_OK;
}

/* Refuses a file to be written that is not the task's own: tasks would write it over each other. */
static enum vbs_status check_output(struct description_reader *r, int n, const char *const *texts)
{
    for (int i = 1; i < n; i++) {
        bool before = strcmp(texts[i - 1], "-o") == 0 || strcmp(texts[i - 1], "--output") == 0;

        if ((before || strncmp(texts[i], "--output=", 9) == 0) && !strstr(texts[i], "{result}"))
            return refuse(r,
                          "'%.60s' is written by every task: a file of one task is called "
                          "{result} with an ending",
                          texts[i]);
    }
    return VBS_OK;
}

/* ---- tasks ---- */

/* Gives whether there is an option that has no file of the task as its value. */
static bool has_switch(int n, const char *const *texts, const char *word)
{
    for (int i = 0; i < n; i++)
        if (strcmp(texts[i], word) == 0 && (i + 1 == n || !strstr(texts[i + 1], "{result}")))
            return true;
    return false;
}

static enum vbs_status read_ending(struct description_reader *r, const json_t *task, int n,
                                   const char *const *texts, struct vbs_sweep_group *group)
{
    group->ending = has_switch(n, texts, "--json")  ? "json"
                    : has_switch(n, texts, "--csv") ? "csv"
                                                    : "txt";
    VBS_TRY(text_member(r, task, "output", &group->ending));
    if (strlen(group->ending) > 16 ||
        group->ending[strspn(group->ending, "abcdefghijklmnopqrstuvwxyz0123456789")] ||
        strcmp(group->ending, "log") == 0 || strcmp(group->ending, "failed") == 0)
        return refuse(r, "output is the ending of a file's name, such as json, csv or txt, and "
                         "not log or failed");
    return VBS_OK;
}

static enum vbs_status read_accepted(struct description_reader *r, const json_t *task,
                                     struct vbs_sweep_rules *rules)
{
    const json_t *all = json_object_get(task, "accept");
    int n = (int)json_array_size(all), *codes;

    codes = allocate(r, n, sizeof *codes);
    if (!codes)
        return vbs_no_memory(r->ctx);
    if (all && (!json_is_array(all) || n == 0))
        return refuse(r, "accept is a list of exit codes");
    for (int i = 0; i < n; i++) {
        const json_t *code = json_array_get(all, (size_t)i);

        if (!json_is_integer(code) || json_integer_value(code) < 0 ||
            json_integer_value(code) > 125)
            return refuse(r, "an exit code that is accepted is a whole number of 0 to 125");
        codes[i] = (int)json_integer_value(code);
    }
    rules->accepted = codes;
    rules->n_accepted = all ? n : 1; /* 0 alone */
    return VBS_OK;
}

static enum vbs_status read_task(struct description_reader *r, int g)
{
    static const char *const KEYS[] = {"name", "command", "output", "accept", "exclusive", "reads"};
    json_t *task = json_array_get(json_object_get(r->root, "task"), (size_t)g);
    struct vbs_sweep_group *group = &r->sweep->groups[g];
    struct vbs_sweep_rules *rules = &r->sweep->rules[g];
    const json_t *exclusive = json_object_get(task, "exclusive");
    const char *const *words = NULL, *const *reads = NULL;

    set_place(r, "task", group->name);
    VBS_TRY(vbs_json_check_keys(r->ctx, r->place, task, KEYS, N(KEYS)));
    VBS_TRY(texts_member(r, task, "command", &rules->n_words, &words));
    VBS_TRY(texts_member(r, task, "reads", &rules->n_reads, &reads));
    if (rules->n_words == 0)
        return refuse(r, "command is a list of words, the first of which is a command of vbslab");
    if (strcmp(words[0], "sweep") == 0)
        return refuse(r, "a task cannot be another sweep");
    if (exclusive && !json_is_boolean(exclusive))
        return refuse(r, "exclusive is true or false");
    group->exclusive = exclusive ? json_is_true(exclusive)
                                 : strcmp(words[0], "measure") == 0 || strcmp(words[0], "run") == 0;
    VBS_TRY(check_output(r, rules->n_words, words));
    VBS_TRY(read_ending(r, task, rules->n_words, words, group));
    VBS_TRY(read_accepted(r, task, rules));
    VBS_TRY(read_words(r, rules->n_words, words, &rules->words));
    return read_words(r, rules->n_reads, reads, &rules->reads);
}

/* Reads the names, which words refer to. A group without one has the first word of its command. */
static enum vbs_status read_task_names(struct description_reader *r)
{
    json_t *tasks = json_object_get(r->root, "task");
    int n = (int)json_array_size(tasks);

    set_place(r, "[[task]]", NULL);
    if (!json_is_array(tasks) || n == 0 || n > MAX_GROUPS)
        return refuse(r, "a sweep has 1 to %d tables of this name", MAX_GROUPS);
    r->sweep->groups = allocate(r, n, sizeof *r->sweep->groups);
    if (!r->sweep->groups)
        return vbs_no_memory(r->ctx);
    r->sweep->rules = allocate(r, n, sizeof *r->sweep->rules);
    if (!r->sweep->rules)
        return vbs_no_memory(r->ctx);
    for (int g = 0; g < n; g++) {
        json_t *task = json_array_get(tasks, (size_t)g);
        const char *first = json_string_value(json_array_get(json_object_get(task, "command"), 0));
        const char **name = &r->sweep->groups[g].name;

        if (!json_is_object(task))
            return refuse(r, "a task is a table");
        *name = first ? first : "task";
        VBS_TRY(text_member(r, task, "name", name));
        set_place(r, "task", *name);
        VBS_TRY(check_name(r, "task", *name));
        VBS_TRY(keep_text(r, *name, name));
        for (int l = 0; l < r->sweep->n_lists; l++)
            if (strcmp(*name, r->sweep->lists[l].name) == 0)
                return refuse(r, "a list has this name, too");
        for (int h = 0; h < g; h++)
            if (strcmp(*name, r->sweep->groups[h].name) == 0)
                return refuse(r, "another task has this name, too: give one of them another name");
        r->sweep->info.n_groups++;
    }
    return VBS_OK;
}

/* ---- lists and results that a group uses ---- */

/* Marks what the words use. */
static void mark_uses(const struct vbs_sweep *sweep, int n, const struct vbs_sweep_word *words,
                      bool *lists, bool *needs)
{
    for (int w = 0; w < n; w++)
        for (int p = 0; p < words[w].n_pieces; p++) {
            const struct vbs_sweep_piece *piece = &words[w].pieces[p];

            if (piece->kind == VBS_PIECE_VALUE)
                lists[piece->list] = sweep->lists[piece->list].used = true;
            else if (piece->kind == VBS_PIECE_RESULT)
                needs[piece->group] = true;
        }
}

/* Keeps the marked numbers. */
static enum vbs_status keep_marked(struct description_reader *r, int n, const bool *marked,
                                   int *n_kept, int **kept)
{
    *kept = allocate(r, n, sizeof **kept);
    if (!*kept)
        return vbs_no_memory(r->ctx);
    *n_kept = 0;
    for (int i = 0; i < n; i++)
        if (marked[i])
            (*kept)[(*n_kept)++] = i;
    return VBS_OK;
}

/* The walk through the groups whose results a group reads. */
struct level_walk {
    struct description_reader *r;
    bool lists[MAX_GROUPS][MAX_LISTS], needs[MAX_GROUPS][MAX_GROUPS];
    char state[MAX_GROUPS]; /* 0: not visited; 1: its needs are visited; 2: done */
};

/* Gives a group its level and all lists of the groups that it reads. */
static enum vbs_status visit(struct level_walk *w, int g)
{
    struct vbs_sweep *sweep = w->r->sweep;
    struct vbs_sweep_group *group = &sweep->groups[g];

    if (w->state[g] == 2)
        return VBS_OK;
    set_place(w->r, "task", group->name);
    if (w->state[g] == 1)
        return refuse(w->r, "it reads its own result, through other tasks or itself");
    w->state[g] = 1;
    for (int h = 0; h < sweep->info.n_groups; h++) {
        if (!w->needs[g][h])
            continue;
        VBS_TRY(visit(w, h));
        if (group->level <= sweep->groups[h].level)
            group->level = sweep->groups[h].level + 1;
        for (int l = 0; l < sweep->n_lists; l++)
            w->lists[g][l] = w->lists[g][l] || w->lists[h][l];
    }
    w->state[g] = 2;
    set_place(w->r, "task", group->name);
    VBS_TRY(keep_marked(w->r, sweep->n_lists, w->lists[g], &sweep->rules[g].n_lists,
                        &sweep->rules[g].lists));
    return keep_marked(w->r, sweep->info.n_groups, w->needs[g], &sweep->rules[g].n_needs,
                       &sweep->rules[g].needs);
}

static enum vbs_status find_levels(struct description_reader *r)
{
    struct vbs_sweep *sweep = r->sweep;
    struct level_walk *w = calloc(1, sizeof *w);
    enum vbs_status status = w ? VBS_OK : vbs_no_memory(r->ctx);

    for (int g = 0; status == VBS_OK && g < sweep->info.n_groups; g++) {
        w->r = r;
        mark_uses(sweep, sweep->rules[g].n_words, sweep->rules[g].words, w->lists[g], w->needs[g]);
        mark_uses(sweep, sweep->rules[g].n_reads, sweep->rules[g].reads, w->lists[g], w->needs[g]);
    }
    for (int g = 0; status == VBS_OK && g < sweep->info.n_groups; g++)
        status = visit(w, g);
    free(w);
    for (int l = 0; status == VBS_OK && l < sweep->n_lists; l++)
        if (!sweep->lists[l].used) {
            set_place(r, "list", sweep->lists[l].name);
            status = refuse(r, "no command has {%.40s%s}", sweep->lists[l].name,
                            sweep->lists[l].fields ? ".MEMBER" : "");
        }
    return status;
}

/* ---- the order of groups ---- */

/* Replaces the numbers of groups, which are places in the file, by places in the order of levels.
 */
static void renumber(struct vbs_sweep *sweep, const int *place)
{
    for (int g = 0; g < sweep->info.n_groups; g++) {
        const struct vbs_sweep_rules *rules = &sweep->rules[g];

        for (int w = 0; w < rules->n_words + rules->n_reads; w++) {
            const struct vbs_sweep_word *word =
                w < rules->n_words ? &rules->words[w] : &rules->reads[w - rules->n_words];

            for (int p = 0; p < word->n_pieces; p++)
                word->pieces[p].group = place[word->pieces[p].group];
        }
        for (int i = 0; i < rules->n_needs; i++)
            rules->needs[i] = place[rules->needs[i]];
    }
}

static void sort_by_level(struct vbs_sweep *sweep)
{
    int place[MAX_GROUPS], n = sweep->info.n_groups;

    for (int g = 0; g < n; g++)
        place[g] = g;
    for (int i = 1; i < n; i++) /* an insertion sort keeps the order of the file in each level */
        for (int j = i; j > 0 && sweep->groups[j].level < sweep->groups[j - 1].level; j--) {
            struct vbs_sweep_group group = sweep->groups[j];
            struct vbs_sweep_rules rules = sweep->rules[j];

            sweep->groups[j] = sweep->groups[j - 1];
            sweep->groups[j - 1] = group;
            sweep->rules[j] = sweep->rules[j - 1];
            sweep->rules[j - 1] = rules;
            for (int g = 0; g < n; g++)
                place[g] = place[g] == j ? j - 1 : place[g] == j - 1 ? j : place[g];
        }
    renumber(sweep, place);
}

static enum vbs_status count_tasks(struct description_reader *r)
{
    struct vbs_sweep *sweep = r->sweep;

    for (int g = 0; g < sweep->info.n_groups; g++) {
        const struct vbs_sweep_rules *rules = &sweep->rules[g];
        int64_t n = 1;

        for (int i = 0; i < rules->n_lists; i++)
            if (!vbs_mul(n, sweep->lists[rules->lists[i]].n, &n) || n > VBS_SWEEP_MAX_TASKS)
                n = VBS_SWEEP_MAX_TASKS + 1;
        sweep->groups[g].first = sweep->info.n_tasks;
        sweep->groups[g].n_tasks = n;
        sweep->info.n_tasks += n;
        set_place(r, "task", sweep->groups[g].name);
        if (sweep->info.n_tasks > VBS_SWEEP_MAX_TASKS)
            return refuse(r, "a sweep has at most %lld tasks", (long long)VBS_SWEEP_MAX_TASKS);
    }
    return VBS_OK;
}

/* ---- [sweep] and [slurm] ---- */

/* Gives in *folder the folder of the description, and *base its name without ".toml". */
static enum vbs_status read_path(struct description_reader *r, const char **base)
{
    char *path = realpath(r->file, NULL), *dot;
    enum vbs_status status;

    if (!path)
        return vbs_fail(r->ctx, VBS_IO, "cannot find '%.200s'", r->file);
    status = keep_text(r, path, &r->sweep->info.file);
    if (status == VBS_OK)
        status = keep_text(r, basename(path), base);
    if (status == VBS_OK) {
        dot = strrchr(*base, '.');
        if (dot && dot > *base && strcmp(dot, ".toml") == 0)
            *dot = '\0';
        status = keep_text(r, dirname(path), &r->sweep->info.folder);
    }
    free(path);
    return status;
}

static enum vbs_status read_head(struct description_reader *r)
{
    static const char *const KEYS[] = {"name", "results", "patience"};
    json_t *head = json_object_get(r->root, "sweep");
    struct vbs_text path = {0};
    const char *results = NULL, *base = "";
    int64_t patience = DEFAULT_PATIENCE_S;
    enum vbs_status status;

    VBS_TRY(read_path(r, &base));
    set_place(r, "[sweep]", NULL);
    if (head && !json_is_object(head))
        return refuse(r, "it is a table");
    VBS_TRY(vbs_json_check_keys(r->ctx, r->place, head, KEYS, N(KEYS)));
    r->sweep->info.name = base;
    VBS_TRY(text_member(r, head, "name", &r->sweep->info.name));
    VBS_TRY(text_member(r, head, "results", &results));
    VBS_TRY(number_member(r, head, "patience", 1, MAX_PATIENCE_S, &patience));
    r->sweep->patience_s = (double)patience;
    if (!results || results[0] != '/')
        vbs_text_addf(&path, "%s/", r->sweep->info.folder);
    vbs_text_addf(&path, results ? "%s" : "%s.results", results ? results : base);
    status = path.failed ? vbs_no_memory(r->ctx) : keep_text(r, path.data, &r->sweep->info.results);
    vbs_text_clear(&path);
    return status;
}

static enum vbs_status read_slurm(struct description_reader *r)
{
    static const char *const KEYS[] = {"options", "array"};
    json_t *slurm = json_object_get(r->root, "slurm");

    set_place(r, "[slurm]", NULL);
    if (slurm && !json_is_object(slurm))
        return refuse(r, "it is a table");
    VBS_TRY(vbs_json_check_keys(r->ctx, r->place, slurm, KEYS, N(KEYS)));
    VBS_TRY(texts_member(r, slurm, "options", &r->sweep->info.n_slurm_options,
                         &r->sweep->info.slurm_options));
    return number_member(r, slurm, "array", 1, 1000000, &r->sweep->info.slurm_array);
}

static enum vbs_status read_all(struct description_reader *r)
{
    static const char *const KEYS[] = {"sweep", "lists", "task", "slurm"};

    snprintf(r->place, sizeof r->place, "%.150s", r->file);
    VBS_TRY(vbs_json_check_keys(r->ctx, r->place, r->root, KEYS, N(KEYS)));
    VBS_TRY(read_head(r));
    VBS_TRY(read_slurm(r));
    VBS_TRY(read_lists(r));
    VBS_TRY(read_task_names(r));
    for (int g = 0; g < r->sweep->info.n_groups; g++)
        VBS_TRY(read_task(r, g));
    VBS_TRY(find_levels(r));
    sort_by_level(r->sweep);
    r->sweep->info.groups = r->sweep->groups;
    return count_tasks(r);
}

enum vbs_status vbs_sweep_load(struct vbs_ctx *ctx, const char *path, struct vbs_sweep **sweep)
{
    struct description_reader r = {.ctx = ctx, .file = path};
    enum vbs_status status;

    VBS_TRY(vbs_toml_read(ctx, path, &r.root));
    r.sweep = calloc(1, sizeof *r.sweep);
    if (r.sweep)
        r.sweep->files = vbs_file_memory_new();
    status = r.sweep && r.sweep->files ? read_all(&r) : vbs_no_memory(ctx);
    json_decref(r.root);
    if (status == VBS_OK)
        *sweep = r.sweep;
    else
        vbs_sweep_free(r.sweep);
    return status;
}

void vbs_sweep_free(struct vbs_sweep *sweep)
{
    if (!sweep)
        return;
    vbs_file_memory_free(sweep->files);
    vbs_text_clear(&sweep->scratch);
    vbs_arena_clear(&sweep->arena);
    free(sweep);
}

const struct vbs_sweep_info *vbs_sweep_info(const struct vbs_sweep *sweep)
{
    return &sweep->info;
}
