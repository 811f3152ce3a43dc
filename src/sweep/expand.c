/*
 * From the index of a task to its words and its name.
 *
 * A name is the first 8 bytes of the SHA-256 hash of: the ending of the output; each word; the
 * contents of the files that it reads. The task's own result, and results of other tasks, of which
 * it has the names, are words that do not depend on the folder of results.
 */
#include "sweep/description.h"

#include "base/fail.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 32 /* lists of a sweep */

#define OWN_RESULT "\1result"
#define RESULT     "\1"

const char *vbs_sweep_state_word(enum vbs_sweep_state state)
{
#define WORD(name, word) word,
    static const char *const WORDS[] = {VBS_SWEEP_STATE_LIST(WORD)};
#undef WORD

    return WORDS[state];
}

void vbs_sweep_write_name(uint64_t name, char text[VBS_SWEEP_NAME_SIZE])
{
    for (int i = 0; i < 16; i++)
        text[i] = "0123456789abcdef"[name >> (60 - 4 * i) & 15];
    text[16] = '\0';
}

bool vbs_sweep_read_name(const char *text, uint64_t *name)
{
    *name = 0;
    for (int i = 0; i < 16; i++) {
        if (text[i] >= '0' && text[i] <= '9')
            *name = *name << 4 | (uint64_t)(text[i] - '0');
        else if (text[i] >= 'a' && text[i] <= 'f')
            *name = *name << 4 | (uint64_t)(text[i] - 'a' + 10);
        else
            return false;
    }
    return true;
}

int vbs_sweep_digits(const struct vbs_sweep *sweep, int64_t index, int64_t *digits)
{
    const struct vbs_sweep_rules *rules;
    int g = 0;

    while (index >= sweep->groups[g].first + sweep->groups[g].n_tasks)
        g++;
    rules = &sweep->rules[g];
    index -= sweep->groups[g].first;
    for (int i = rules->n_lists - 1; i >= 0; i--) {
        const struct vbs_sweep_list *list = &sweep->lists[rules->lists[i]];

        digits[rules->lists[i]] = index % list->n;
        index /= list->n;
    }
    return g;
}

int64_t vbs_sweep_index(const struct vbs_sweep *sweep, int group, const int64_t *digits)
{
    const struct vbs_sweep_rules *rules = &sweep->rules[group];
    int64_t index = 0;

    for (int i = 0; i < rules->n_lists; i++)
        index = index * sweep->lists[rules->lists[i]].n + digits[rules->lists[i]];
    return sweep->groups[group].first + index;
}

/* A word that is made: for a command, which has paths of results, or for a hash. */
struct word_making {
    struct vbs_ctx *ctx;
    struct vbs_sweep *sweep;
    const int64_t *digits;
    const char *own; /* path of the task's own result, without its ending; null: for a hash */
    struct vbs_text *text;
};

static enum vbs_status add_result(const struct word_making *m, int group)
{
    char name[VBS_SWEEP_NAME_SIZE];
    uint64_t hash;

    VBS_TRY(vbs_sweep_hash(m->ctx, m->sweep, vbs_sweep_index(m->sweep, group, m->digits), &hash));
    vbs_sweep_write_name(hash, name);
    if (m->own) {
        vbs_text_add(m->text, m->sweep->info.results);
        vbs_text_add(m->text, "/");
    } else {
        vbs_text_add(m->text, RESULT);
    }
    vbs_text_add(m->text, name);
    return VBS_OK;
}

/* Appends a number; a million tasks have many. */
static void add_number(struct vbs_text *text, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0)
        digits[--at] = '-';
    vbs_text_add_bytes(text, digits + at, sizeof digits - at);
}

static void add_value(const struct word_making *m, const struct vbs_sweep_piece *piece)
{
    const struct vbs_sweep_list *list = &m->sweep->lists[piece->list];
    int64_t i = m->digits[piece->list];

    if (list->values)
        vbs_text_add(m->text, list->values[i * list->n_fields + piece->field]);
    else
        add_number(m->text, list->first + i * list->step);
}

static enum vbs_status add_word(const struct word_making *m, const struct vbs_sweep_word *word)
{
    for (int p = 0; p < word->n_pieces; p++) {
        const struct vbs_sweep_piece *piece = &word->pieces[p];

        if (piece->kind == VBS_PIECE_TEXT)
            vbs_text_add(m->text, piece->text);
        else if (piece->kind == VBS_PIECE_VALUE)
            add_value(m, piece);
        else if (piece->kind == VBS_PIECE_OWN_RESULT)
            vbs_text_add(m->text, m->own ? m->own : OWN_RESULT);
        else
            VBS_TRY(add_result(m, piece->group));
    }
    return m->text->failed ? vbs_no_memory(m->ctx) : VBS_OK;
}

/* ---- names ---- */

/* Gives whether a word may name a file that the program reads. A result's word never does: its
 * content follows from the name of its task. */
static bool may_be_file(const char *word)
{
    static const char *const ENDINGS[] = {".net", ".onnx", ".vbz", ".csv", ".toml", ".npy"};
    const char *ending = strrchr(word, '.');

    if (!ending || ending == word || word[0] == '\1')
        return false;
    for (size_t i = 0; i < sizeof ENDINGS / sizeof ENDINGS[0]; i++)
        if (strcmp(ending, ENDINGS[i]) == 0)
            return true;
    return false;
}

static enum vbs_status hash_content(const struct word_making *m, const char *path, bool must,
                                    struct vbs_sha256 *hash)
{
    const unsigned char *digest;

    VBS_TRY(vbs_file_digest(m->ctx, m->sweep->files, m->sweep->info.folder, path, must, &digest));
    if (digest)
        vbs_sha256_add(hash, digest, VBS_SHA256_BYTES);
    return VBS_OK;
}

/* Adds words and contents of files to a hash. The words are gathered, with a zero byte behind each,
 * because many short additions are slow. */
static enum vbs_status hash_words(const struct word_making *m, int g, struct vbs_sha256 *hash)
{
    const struct vbs_sweep_rules *rules = &m->sweep->rules[g];
    size_t first = m->text->length, begin[2 * 256 + 1];

    vbs_text_add(m->text, m->sweep->groups[g].ending);
    for (int w = 0; w < rules->n_words + rules->n_reads; w++) {
        vbs_text_add_bytes(m->text, "", 1);
        begin[w] = m->text->length;
        VBS_TRY(
            add_word(m, w < rules->n_words ? &rules->words[w] : &rules->reads[w - rules->n_words]));
    }
    vbs_text_add_bytes(m->text, "", 1);
    if (m->text->failed)
        return vbs_no_memory(m->ctx);
    vbs_sha256_add(hash, m->text->data + first, m->text->length - first);
    for (int w = 0; w < rules->n_words + rules->n_reads; w++) {
        const char *word = m->text->data + begin[w], *value = strchr(word, '=');
        bool must = w >= rules->n_words;

        if (must && word[0] == '\1')
            continue;
        if (word[0] == '-' && value)
            word = value + 1;
        if (must || may_be_file(word))
            VBS_TRY(hash_content(m, word, must, hash));
    }
    return VBS_OK;
}

enum vbs_status vbs_sweep_hash(struct vbs_ctx *ctx, struct vbs_sweep *sweep, int64_t index,
                               uint64_t *name)
{
    int64_t digits[MAX_DIGITS];
    unsigned char digest[VBS_SHA256_BYTES];
    struct word_making m = {.ctx = ctx, .sweep = sweep, .digits = digits, .text = &sweep->scratch};
    size_t begin = sweep->scratch.length; /* the words of a task that reads this one's result */
    struct vbs_sha256 hash;
    enum vbs_status status;

    vbs_sha256_begin(&hash);
    status = hash_words(&m, vbs_sweep_digits(sweep, index, digits), &hash);
    sweep->scratch.length = begin;
    sweep->scratch.failed = false;
    if (status != VBS_OK)
        return status;
    vbs_sha256_end(&hash, digest);
    *name = 0;
    for (int i = 0; i < 8; i++)
        *name = *name << 8 | digest[i];
    return VBS_OK;
}

/* ---- tasks ---- */

void vbs_sweep_task_clear(struct vbs_sweep_task *task)
{
    for (char **word = task->words; word && *word; word++)
        free(*word);
    free(task->words);
    task->words = NULL;
}

enum vbs_status vbs_sweep_make_words(struct vbs_ctx *ctx, struct vbs_sweep *sweep, int64_t index,
                                     const char *own, char ***words)
{
    int64_t digits[MAX_DIGITS];
    const struct vbs_sweep_rules *rules = &sweep->rules[vbs_sweep_digits(sweep, index, digits)];
    struct vbs_sweep_task made = {.words = calloc((size_t)rules->n_words + 1, sizeof(char *))};
    enum vbs_status status = made.words ? VBS_OK : vbs_no_memory(ctx);

    for (int w = 0; status == VBS_OK && w < rules->n_words; w++) {
        struct vbs_text text = {0};
        struct word_making m = {ctx, sweep, digits, own, &text};

        vbs_text_add(&text, "");
        status = add_word(&m, &rules->words[w]);
        made.words[w] = text.data;
    }
    if (status == VBS_OK)
        *words = made.words;
    else
        vbs_sweep_task_clear(&made);
    return status;
}

enum vbs_status vbs_sweep_expand(struct vbs_ctx *ctx, struct vbs_sweep *sweep, int64_t index,
                                 struct vbs_sweep_task *task)
{
    int64_t digits[MAX_DIGITS];
    struct vbs_sweep_task made = {.index = index};
    struct vbs_text own = {0};
    uint64_t name;
    enum vbs_status status;

    if (index < 0 || index >= sweep->info.n_tasks)
        return vbs_fail(ctx, VBS_USAGE, "there is no task %lld: the sweep has %lld",
                        (long long)index, (long long)sweep->info.n_tasks);
    VBS_TRY(vbs_sweep_hash(ctx, sweep, index, &name));
    made.group = vbs_sweep_digits(sweep, index, digits);
    vbs_sweep_write_name(name, made.name);
    vbs_text_addf(&own, "%s/%s", sweep->info.results, made.name);
    status = own.failed ? vbs_no_memory(ctx)
                        : vbs_sweep_make_words(ctx, sweep, index, own.data, &made.words);
    vbs_text_clear(&own);
    if (status == VBS_OK)
        *task = made;
    return status;
}

enum vbs_status vbs_sweep_find(struct vbs_ctx *ctx, struct vbs_sweep *sweep, const char *word,
                               int64_t *index)
{
    const char *dash;
    uint64_t wanted, name;
    int64_t read;
    char *end;

    read = strtoll(word, &end, 10);
    dash = end;
    if (word[0] < '0' || word[0] > '9' || *dash != '-' || !vbs_sweep_read_name(dash + 1, &wanted) ||
        dash[17])
        return vbs_fail(ctx, VBS_USAGE, "'%.60s' is no task: 'INDEX-NAME', as --list prints it",
                        word);
    if (read >= sweep->info.n_tasks)
        return vbs_fail(ctx, VBS_USAGE, "there is no task %.60s: the description has changed",
                        word);
    VBS_TRY(vbs_sweep_hash(ctx, sweep, read, &name));
    if (name != wanted)
        return vbs_fail(ctx, VBS_USAGE,
                        "task %.60s is another one now: the description, or a file that it reads, "
                        "has changed",
                        word);
    *index = read;
    return VBS_OK;
}
