/*
 * The store of a command line, and its PROFILE: an id, a file, or the name of a model or a tag.
 */
#include "cli/common/cli.h"

#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/data.h"
#include "cli/common/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BACKENDS 8

/* ---- the store ---- */

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

void cli_choose_store(struct cli *cli)
{
    const char *path = getenv("VBSLAB_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length = -1;

    cli->db_path = path && path[0] ? path : CLI_LOCAL_STORE;
    cli->db_is_default = cli->db_path != path;
    if (!cli->db_is_default || is_folder("db"))
        return;
    if (data && data[0] == '/')
        length = snprintf(cli->db_buffer, sizeof cli->db_buffer, "%s/vbslab/vbslab.sqlite", data);
    else if (home && home[0] == '/')
        length = snprintf(cli->db_buffer, sizeof cli->db_buffer,
                          "%s/.local/share/vbslab/vbslab.sqlite", home);
    if (length > 0 && length < (int)sizeof cli->db_buffer)
        cli->db_path = cli->db_buffer;
}

char *cli_networks_folder(const char *store)
{
    struct vbs_text path = {0};

    vbs_text_addf(&path, "%s-studies", store);
    if (!path.failed)
        return path.data;
    vbs_text_clear(&path);
    return NULL;
}

enum vbs_status cli_open_store(struct cli *cli, bool write, struct vbs_store **store)
{
    enum vbs_store_mode mode = !write               ? VBS_STORE_READ
                               : cli->db_is_default ? VBS_STORE_MAKE_FOLDER
                                                    : VBS_STORE_WRITE;

    /* A folder db may belong to somebody else. */
    if (write && strcmp(cli->db_path, CLI_LOCAL_STORE) == 0 && cli->db_is_default &&
        access(CLI_LOCAL_STORE, F_OK) != 0)
        cli_note(cli,
                 "makes the store '%s', as there is a folder db; --db FILE or $VBSLAB_DB "
                 "names another one",
                 CLI_LOCAL_STORE);
    return vbs_store_open(&cli->ctx, cli->db_path, mode, store);
}

/* ---- PROFILE ---- */

static bool is_built_in(const char *name)
{
    size_t length = vbs_model_word_length(name, NULL);

    for (int i = 0; i < vbs_model_count(); i++)
        if (strlen(vbs_model_name(i)) == length && strncmp(vbs_model_name(i), name, length) == 0)
            return true;
    return false;
}

#define MAX_SUGGESTED 60 /* bytes: a name that was cut would be wrong */

/* Appends "; did you mean 'NAME'?" with the most similar name of the built-in networks and the
 * complete profiles of list, or nothing. */
static enum vbs_status suggest(struct cli *cli, const char *word, const struct vbs_store_list *list,
                               char *text, size_t size)
{
    const struct vbs_teaching_profile *teaching;
    const char **names, *nearest;
    int n = 0, n_teaching = 0;

    while (vbs_teaching_profile_at(n_teaching))
        n_teaching++;
    names = malloc((size_t)(vbs_model_count() + n_teaching + list->n_entries) * sizeof *names);

    if (!names)
        return vbs_no_memory(&cli->ctx);
    for (int i = 0; i < list->n_entries; i++)
        if (list->entries[i].complete && list->entries[i].provenance.model[0])
            names[n++] = list->entries[i].provenance.model;
    for (int i = 0; i < vbs_model_count(); i++)
        names[n++] = vbs_model_name(i);
    for (int i = 0; (teaching = vbs_teaching_profile_at(i)) != NULL; i++)
        names[n++] = teaching->name;
    nearest = vbs_nearest_name(word, names, n);
    text[0] = '\0';
    if (nearest && strlen(nearest) <= MAX_SUGGESTED)
        snprintf(text, size, "; did you mean '%s'?", nearest);
    free(names);
    return VBS_OK;
}

/* Gives whether list has a profile of model that is complete, or one that is not. */
static bool has_profile(const struct vbs_store_list *list, const char *model, bool complete)
{
    for (int i = 0; i < list->n_entries; i++)
        if (list->entries[i].complete == complete &&
            strcmp(list->entries[i].provenance.model, model) == 0)
            return true;
    return false;
}

/* Fails because list has no complete profile of model, for which word stands, or only such of
 * another network: the detail names the command that makes one, or a similar name. */
static enum vbs_status fail_unmeasured(struct cli *cli, const char *word, const char *model,
                                       const struct vbs_store_list *list)
{
    char suggestion[MAX_SUGGESTED + 32];
    struct cli_suggestion command;

    VBS_TRY(vbs_model_check_precision(&cli->ctx, word));
    if (has_profile(list, model, true))
        return vbs_fail(&cli->ctx, VBS_STORE,
                        "the profiles of '%.100s' in '%.150s' are of another network with this "
                        "name, of other layers or other coded weights; run '%s' first",
                        model, cli->db_path, cli_suggest(cli, "measure", word, NULL, &command));
    if (has_profile(list, model, false))
        return vbs_fail(&cli->ctx, VBS_STORE,
                        "store '%.150s' has only an unfinished profile of '%.100s'; 'vbslab "
                        "measure' goes on with it",
                        cli->db_path, model);
    if (is_built_in(word) || cli_is_network_file(word))
        return vbs_fail(&cli->ctx, VBS_STORE, "no profile of '%.100s' in '%.150s'; run '%s' first",
                        model, cli->db_path, cli_suggest(cli, "measure", word, NULL, &command));
    if (access(word, F_OK) == 0)
        return vbs_fail(&cli->ctx, VBS_STORE,
                        "no profile of '%.100s'; a file with a profile has a name that ends in "
                        ".csv",
                        word);
    VBS_TRY(suggest(cli, word, list, suggestion, sizeof suggestion));
    return vbs_fail(&cli->ctx, VBS_STORE,
                    "no profile of '%.100s' in '%.150s'; PROFILE is an id, a tag, a .csv file or "
                    "the name of a measured model%s",
                    word, cli->db_path, suggestion);
}

/* The devices of the backends on this machine, each looked up once. */
struct machine {
    struct {
        const struct vbs_backend *backend;
        struct vbs_backend_info info;
    } known[MAX_BACKENDS];
    int n_known;
    long n_processors;
};

static const struct vbs_backend_info *probe(struct machine *machine,
                                            const struct vbs_backend *backend)
{
    int i = 0;

    while (i < machine->n_known && machine->known[i].backend != backend)
        i++;
    if (i == MAX_BACKENDS)
        return NULL;
    if (i == machine->n_known) {
        machine->known[i].backend = backend;
        backend->probe(&machine->known[i].info);
        machine->n_known++;
    }
    return &machine->known[i].info;
}

enum { RANK_MODELLED, RANK_ELSEWHERE, RANK_PREDICTED, RANK_HERE };

/* Ranks a profile. A measurement with more threads than there are processors is from another
 * machine, or of no use on this one. */
static int rank(void *self, const struct vbs_provenance *provenance)
{
    struct machine *machine = self;
    const struct vbs_backend_info *info;
    const struct vbs_backend *backend;

    if (vbs_backend_find(NULL, provenance->backend, &backend) != VBS_OK)
        return RANK_ELSEWHERE;
    if (backend->modelled)
        return RANK_MODELLED;
    info = probe(machine, backend);
    if (!info || !info->usable || strcmp(info->device, provenance->device) != 0 ||
        provenance->threads > machine->n_processors)
        return vbs_provenance_predicted(provenance) ? RANK_MODELLED : RANK_ELSEWHERE;
    return vbs_provenance_predicted(provenance) ? RANK_PREDICTED : RANK_HERE;
}

/* ---- the networks of files ---- */

void cli_forget_network(struct cli *cli)
{
    vbs_network_free(cli->named);
    free(cli->named_word);
    cli->named = NULL;
    cli->named_word = NULL;
}

enum vbs_status cli_name_network(struct cli *cli, const char *word,
                                 const struct vbs_network **network)
{
    if (!cli->named || strcmp(cli->named_word, word) != 0) {
        cli_forget_network(cli);
        cli->named_word = strdup(word);
        if (!cli->named_word)
            return vbs_no_memory(&cli->ctx);
        VBS_TRY(cli_load_network(cli, word, &cli->named));
    }
    *network = cli->named;
    return VBS_OK;
}

enum vbs_status cli_take_network(struct cli *cli, const char *word, const char *inputs,
                                 struct vbs_network **network)
{
    char *text = NULL;

    if (cli->named && strcmp(cli->named_word, word) == 0) {
        VBS_TRY(vbs_network_inputs_text(&cli->ctx, cli->named, &text));
        if (strcmp(text, inputs) == 0) {
            *network = cli->named;
            cli->named = NULL;
        }
        free(text);
    }
    cli_forget_network(cli);
    return *network ? VBS_OK : vbs_network_load_by_text(&cli->ctx, word, inputs, network);
}

/* ---- models ---- */

/* A model that a word of the command line stands for. */
struct named_model {
    char name[VBS_MAX_NAME]; /* under which its profiles are stored */
    char *input;             /* vbs_network_inputs_text of the network in a file, which the owner
                                frees; null: the network is not known */
    uint64_t network_hash;
    bool
        several; /* it has several inputs, or some that are fixed: profiles of others do not suit */
};

/* Returns whether the command says where its network ends. */
static bool has_end(const struct cli *cli)
{
    for (int i = 0; i < cli->choices.n; i++)
        if (cli->choices.choices[i].until)
            return true;
    return false;
}

/* Finds the model of word, a model's name or file. */
static enum vbs_status find_model(struct cli *cli, const char *word, struct named_model *model)
{
    const struct vbs_network *network;
    enum vbs_status status;

    snprintf(model->name, sizeof model->name, "%s", word);
    model->input = NULL;
    if (!cli_is_network_file(word))
        return VBS_OK;
    status = cli_name_network(cli, word, &network);
    if (status == VBS_OK)
        status = vbs_network_inputs_text(&cli->ctx, network, &model->input);
    if (status == VBS_OK) {
        snprintf(model->name, sizeof model->name, "%s", network->name);
        model->network_hash = vbs_network_hash(network);
        model->several =
            network->n_inputs > 1 || network->n_fixed_inputs > 0 || network->n_until > 0;
    }
    if (status != VBS_USAGE || has_end(cli))
        return status;
    /* The file leaves sizes open, which the profile has. */
    vbs_network_file_name(word, model->name);
    return VBS_OK;
}

static enum vbs_status choose(struct cli *cli, struct vbs_store *store,
                              const struct named_model *model, struct vbs_store_choice *choice)
{
    struct machine machine = {.n_processors = sysconf(_SC_NPROCESSORS_ONLN)};
    struct vbs_store_preference preference = {.self = &machine,
                                              .rank = rank,
                                              .input = model->input,
                                              .input_only = model->several || cli->choices.n > 0,
                                              .network_hash = model->network_hash};

    return vbs_store_choose(&cli->ctx, store, model->name, &preference, choice);
}

static bool is_for_teaching(const char *word)
{
    const struct vbs_teaching_profile *teaching;

    for (int i = 0; (teaching = vbs_teaching_profile_at(i)) != NULL; i++)
        if (strcmp(teaching->name, word) == 0)
            return true;
    return false;
}

/* Chooses the profile of model where only the model is named; a store that does not exist has
 * none. VBS_NOT_FOUND: the store has none, but there is a built-in one. */
static enum vbs_status find_by_name(struct cli *cli, struct vbs_store *store, const char *word,
                                    const struct named_model *model,
                                    struct vbs_store_choice *choice)
{
    struct vbs_store_list none = {0}, *list = NULL;
    enum vbs_status status = VBS_NOT_FOUND;

    if (store)
        status = choose(cli, store, model, choice);
    if (status == VBS_NOT_FOUND && store) {
        status = vbs_store_find_tag(&cli->ctx, store, word, &choice->id);
        choice->n_complete = 0;
    }
    if (status != VBS_NOT_FOUND || is_for_teaching(word))
        return status;
    status = store ? vbs_store_profiles(&cli->ctx, store, &list) : VBS_OK;
    if (status == VBS_OK)
        status = fail_unmeasured(cli, word, model->name, list ? list : &none);
    vbs_store_list_free(list);
    return status;
}

/* Prints which profile was chosen, where this is not obvious. */
static void note_choice(struct cli *cli, const struct vbs_store_choice *choice,
                        const struct vbs_profile *profile)
{
    static const char *const HOW[] = {[RANK_MODELLED] = "modelled, not measured",
                                      [RANK_ELSEWHERE] = "measured on another machine",
                                      [RANK_PREDICTED] = "predicted for this machine",
                                      [RANK_HERE] = "measured on this machine"};
    const struct vbs_provenance *provenance = &profile->provenance;
    char threads[32] = "", among[64] = "";

    if (choice->n_complete == 0 || (choice->n_complete == 1 && choice->rank != RANK_ELSEWHERE))
        return;
    if (provenance->threads)
        snprintf(threads, sizeof threads, ", threads %d", provenance->threads);
    if (choice->n_complete > 1)
        snprintf(among, sizeof among, ", chosen among %d profiles of it", choice->n_complete);
    cli_note(cli, "'%.60s' is profile %lld: %s, %.20s on %.100s%s, %.*s%s", provenance->model,
             (long long)choice->id, HOW[choice->rank],
             provenance->backend[0] ? provenance->backend : "backend unknown",
             provenance->device[0] ? provenance->device : "device unknown", threads,
             provenance->date[0] ? 10 : 12, provenance->date[0] ? provenance->date : "date unknown",
             among);
}

static enum vbs_status load_by_id(struct cli *cli, struct vbs_store *store, int64_t id,
                                  struct vbs_profile **profile)
{
    enum vbs_status status = vbs_store_load(&cli->ctx, store, id, profile);

    if (status == VBS_NOT_FOUND)
        return vbs_fail(&cli->ctx, VBS_STORE,
                        "store '%.200s' has no profile %lld; 'vbslab profiles' lists them",
                        cli->db_path, (long long)id);
    return status;
}

/* Loads a profile from the store, or a built-in one whose name the store does not have. word: its
 * name, or a description of it where *id is not 0. */
static enum vbs_status load_from_store(struct cli *cli, const char *word, int64_t *id,
                                       struct vbs_profile **profile)
{
    struct vbs_store_choice choice = {.id = *id};
    struct vbs_store *store = NULL;
    bool by_id = *id != 0;
    struct named_model model = {.input = NULL};
    enum vbs_status status = by_id ? VBS_OK : find_model(cli, word, &model);

    if (status == VBS_OK)
        status = cli_open_store(cli, false, &store);
    if (status == VBS_STORE && !by_id && access(cli->db_path, F_OK) != 0)
        status = VBS_OK;
    if (status == VBS_OK && !by_id)
        status = find_by_name(cli, store, word, &model, &choice);
    if (status == VBS_OK)
        status = load_by_id(cli, store, choice.id, profile);
    vbs_store_close(store);
    free(model.input);
    if (status == VBS_NOT_FOUND)
        return vbs_teaching_profile_load(&cli->ctx, word, profile);
    if (status != VBS_OK)
        return status;
    if (!by_id)
        note_choice(cli, &choice, *profile);
    *id = choice.id;
    return VBS_OK;
}

enum vbs_status cli_has_times(struct cli *cli, const char *word, bool *has, bool *here)
{
    struct vbs_store_choice choice = {.rank = RANK_MODELLED};
    struct vbs_store *store = NULL;
    struct named_model model = {.input = NULL};
    enum vbs_status status = find_model(cli, word, &model);

    if (status == VBS_OK && access(cli->db_path, F_OK) == 0)
        status = cli_open_store(cli, false, &store);
    if (status == VBS_OK && store)
        status = choose(cli, store, &model, &choice);
    vbs_store_close(store);
    free(model.input);
    if (status != VBS_OK && status != VBS_NOT_FOUND)
        return status;
    *has = status == VBS_OK && choice.rank != RANK_MODELLED;
    *here = *has && choice.rank != RANK_ELSEWHERE;
    return VBS_OK;
}

bool cli_is_model(const char *word)
{
    return is_built_in(word) || cli_is_network_file(word);
}

/* Reads a profile from a file. Where it is not there, the error names the one that comes with the
 * program under its name, if there is one. */
static enum vbs_status read_csv(struct cli *cli, const char *path, struct vbs_profile **profile)
{
    const char *slash = strrchr(path, '/');
    char *found = NULL, *shipped;
    enum vbs_status status;

    if (strcmp(path, "-") == 0 || access(path, F_OK) == 0 ||
        cli_find_shipped_profile(cli, slash ? slash + 1 : path, &found) != VBS_OK)
        return vbs_profile_read_csv(&cli->ctx, path, profile);
    shipped = realpath(found, NULL);
    status = vbs_fail(&cli->ctx, VBS_IO,
                      "there is no file '%.100s' here; the profile of this name that comes with "
                      "vbslab is '%.300s'",
                      path, shipped ? shipped : found);
    free(shipped);
    free(found);
    return status;
}

enum vbs_status cli_load_profile(struct cli *cli, const char *word, struct vbs_profile **profile,
                                 int64_t *id)
{
    bool by_id = word[0] != '\0' && strspn(word, "0123456789") == strlen(word);
    int64_t number = 0;

    if (cli_ends_in(word, ".csv") || strcmp(word, "-") == 0) {
        VBS_TRY(read_csv(cli, word, profile));
    } else {
        if (by_id)
            VBS_TRY(vbs_parse_int(&cli->ctx, "profile", word, 1, INT64_MAX, &number));
        VBS_TRY(load_from_store(cli, word, &number, profile));
    }
    *id = number;
    return VBS_OK;
}
