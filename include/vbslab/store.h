/*
 * vbslab/store.h - profiles kept in one SQLite file.
 *
 * A store has a write-ahead log, foreign keys, STRICT tables, the application_id "VBSL" and
 * migrations by user_version (db/schema.sql and db/migration-*.sql are compiled in). Any number of
 * processes may use a store at once: writers wait for each other and never fail as "locked". The
 * samples that a killed process had handed over are in the store. Once the owner of an unfinished
 * profile is gone, the next measurement of the same network under the same provenance resumes it.
 *
 * Every call returns VBS_INTERRUPTED soon after its context is cancelled, and VBS_STORE when it
 * wrote to a file that was deleted, moved or replaced since it was opened.
 *
 * Threads: a store and what borrows it (samples, a run) belong to one thread; lists are immutable
 * and may be shared.
 */
#ifndef VBSLAB_STORE_H
#define VBSLAB_STORE_H

#include "vbslab/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A connection to a file of profiles. Threads: one thread at a time; any number of processes may
 * use one file at the same time. Closed by vbs_store_close. */
struct vbs_store;

/* The modes of opening a store. */
enum vbs_store_mode {
    /* The file must exist; no row is written, and it may be on a read-only medium. A store that an
     * earlier version wrote is first migrated, for which it must be writable. */
    VBS_STORE_READ,
    VBS_STORE_WRITE,       /* the file is made when it does not exist; its folder must exist */
    VBS_STORE_MAKE_FOLDER, /* the same, and the folder is made too */
};

/* Opens a store. VBS_STORE, with the reason, when the file is another program's, of a newer
 * version, damaged, full or not writable. */
enum vbs_status vbs_store_open(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode,
                               struct vbs_store **store) VBS_MUST_CHECK;
/* Closes a store; null is allowed. */
void vbs_store_close(struct vbs_store *store);

/* One profile in a listing; texts are owned by the list. */
struct vbs_store_entry {
    int64_t id;
    bool complete;
    int n_layers, n_batches;
    int max_batch; /* the largest of the batches */
    int64_t n_rows;
    const char *batches; /* "1,2,4": ascending */
    const char *hash;    /* of its content (vbs_profile_hash); "" while it is unfinished, and where
                            another profile of the store has the same content */
    const char *tags;    /* "a,b": ascending; "" without any */
    struct vbs_provenance provenance;
};

/* The profiles of a store. Freed by vbs_store_list_free. */
struct vbs_store_list {
    int n_entries;
    struct vbs_store_entry *entries; /* newest last: complete ones in the order of completion or
                                        import, then unfinished ones */
};

/* Lists all profiles, unfinished ones too. VBS_STORE, VBS_NO_MEMORY. */
enum vbs_status vbs_store_profiles(struct vbs_ctx *ctx, struct vbs_store *store,
                                   struct vbs_store_list **list) VBS_MUST_CHECK;
/* Frees a listing; null is allowed. */
void vbs_store_list_free(struct vbs_store_list *list);

/* Loads a complete profile by its id. VBS_NOT_FOUND; VBS_STORE when it is unfinished, which the
 * detail says. */
enum vbs_status vbs_store_load(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                               struct vbs_profile **profile) VBS_MUST_CHECK;

/* The caller's order of the profiles of a model. */
struct vbs_store_preference {
    void *self;
    /* Gives a rank: the larger, the better. Null: all are equal. */
    int (*rank)(void *self, const struct vbs_provenance *provenance);
    /* A network with the name of the model, of this input: a profile that was measured into this
     * store with this input, but on a network of another hash, is passed over. Null: none is. */
    const char *input;
    uint64_t network_hash;
};

/* The profile that vbs_store_choose chose, and the number of profiles of the model, without those
 * that are passed over. */
struct vbs_store_choice {
    int64_t id;
    int rank;       /* of the profile that was chosen */
    int n_complete; /* profiles of the model to choose from */
};

/*
 * Chooses among the complete profiles of a model: one of the highest rank (preference null: all are
 * equal), of these the one measured last by its date (profiles without a date come before all
 * others), of these the one completed or imported last. VBS_NOT_FOUND suggests the nearest name.
 */
enum vbs_status vbs_store_choose(struct vbs_ctx *ctx, struct vbs_store *store, const char *model,
                                 const struct vbs_store_preference *preference,
                                 struct vbs_store_choice *choice) VBS_MUST_CHECK;

/* Gives whether profile id was measured into this store on a network of another hash than this one
 * (vbs_network_hash); false for an imported profile, whose network is not known. VBS_STORE. */
enum vbs_status vbs_store_is_of_another(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                        uint64_t network_hash, bool *another) VBS_MUST_CHECK;

/* Deletes n profiles with all their data; on failure none of them. An id that is given twice counts
 * once. VBS_NOT_FOUND; VBS_STORE when a process that still runs measures one. */
enum vbs_status vbs_store_delete(struct vbs_ctx *ctx, struct vbs_store *store, const int64_t *ids,
                                 int n) VBS_MUST_CHECK;

#define VBS_MAX_TAG 63 /* characters */

/* Gives a complete profile a tag, a name that it alone has: at most VBS_MAX_TAG letters, digits and
 * ". _ + -", a letter first. A profile can have several; one that had this tag loses it. VBS_USAGE
 * when the text is not a tag, or is the name of a model in the store. */
enum vbs_status vbs_store_tag(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                              const char *tag) VBS_MUST_CHECK;
/* Removes a tag; VBS_NOT_FOUND. */
enum vbs_status vbs_store_untag(struct vbs_ctx *ctx, struct vbs_store *store,
                                const char *tag) VBS_MUST_CHECK;
/* Gives the id of the profile that has a tag; VBS_NOT_FOUND. */
enum vbs_status vbs_store_find_tag(struct vbs_ctx *ctx, struct vbs_store *store, const char *tag,
                                   int64_t *id) VBS_MUST_CHECK;

/*
 * The samples of a complete profile, read from the store row by row. A profile that was imported
 * has none, nor has one that was deleted after the call. Borrows store until free, and source is
 * valid as long; its errors are those of the store. VBS_NO_MEMORY, VBS_STORE.
 */
struct vbs_store_samples;

/* Opens the samples of the complete profile id. */
enum vbs_status vbs_store_samples_open(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       struct vbs_store_samples **samples) VBS_MUST_CHECK;
/* Gives the source of samples that comparisons read; it belongs to samples. */
const struct vbs_sample_source *vbs_store_samples_source(const struct vbs_store_samples *samples);
/* Frees the samples; null is allowed. */
void vbs_store_samples_free(struct vbs_store_samples *samples);

/* Stores a finished profile in one transaction. Where the store has a profile with the same content
 * (vbs_profile_hash), nothing is written and *id is the id of that profile. */
enum vbs_status vbs_store_save(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_profile *profile, int64_t *id) VBS_MUST_CHECK;

/*
 * A measurement under way: begin finds an unfinished profile of the same model and network (hash),
 * input, layers, kernels (batches, algorithms, workspaces, weights) and provenance (backend,
 * library, device, threads, vbslab version) whose owner no longer runs, and takes it over, or
 * starts a new one. This is one transaction, so that two processes never share a profile. Where a
 * process was taken for gone but still runs, its next add fails.
 *
 * sink is valid until free. Samples are committed when 20 ms of measured time or 256 samples have
 * gathered (of modelled times, which cost nothing: 256 samples), and by free. The memory of
 * sink->stored is the run's. Rounds of a resumed run count on from those stored. Copies that an
 * earlier process measured stay, whether this one measures any or not.
 */
struct vbs_store_run;

/* Begins a run, which borrows store and session until it is freed. VBS_FORMAT when the session's
 * layers and kernels do not make a profile. */
enum vbs_status vbs_store_run_begin(struct vbs_ctx *ctx, struct vbs_store *store,
                                    uint64_t network_hash, const struct vbs_session *session,
                                    struct vbs_store_run **run) VBS_MUST_CHECK;
/* True when the run resumes a profile with samples of an earlier process. */
bool vbs_store_run_resumed(const struct vbs_store_run *run);
/* Gives the sink to which measuring hands samples; it belongs to run. */
const struct vbs_sample_sink *vbs_store_run_sink(struct vbs_store_run *run);
/* Computes the medians, and completes the profile with notes (null: those of the session) and the
 * current date, in one transaction. VBS_STORE names the kernel that has no sample. */
enum vbs_status vbs_store_run_finish(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                     const char *notes, int64_t *id) VBS_MUST_CHECK;
/* Commits the samples that are still held, and frees the run. An unfinished run stays in the store
 * for the next begin; one without samples is deleted where this takes no time (up to 20,000
 * kernels). Null is allowed; also after finish. */
void vbs_store_run_free(struct vbs_store_run *run);

#ifdef __cplusplus
}
#endif
#endif
