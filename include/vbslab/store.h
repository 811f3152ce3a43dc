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
    bool input_only; /* profiles that were measured with another input are passed over, too */
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

/* Loads the complete profile id with the medians of its samples in the place of its times, which
 * may be posterior ones; times of rows without samples stay. The caller frees *profile. Errors as
 * vbs_store_load. Linear in the samples. */
enum vbs_status vbs_store_load_medians(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       struct vbs_profile **profile) VBS_MUST_CHECK;

/* Stores a finished profile in one transaction. Where the store has a profile with the same content
 * (vbs_profile_hash), nothing is written and *id is the id of that profile. */
enum vbs_status vbs_store_save(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_profile *profile, int64_t *id) VBS_MUST_CHECK;

/* Stores profile, which is the complete profile id with other times, calibration or notes, with all
 * samples of that one, as a profile of its own; *revised is its id. Where the store has a profile
 * of this content, *revised is the id of that one. VBS_STORE. */
enum vbs_status vbs_store_revise(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                 const struct vbs_profile *profile,
                                 int64_t *revised) VBS_MUST_CHECK;

/* Stores a copy of the complete profile id with this calibration in the place of its own, with all
 * samples, as a profile of its own; *calibrated is its id. Sources that the profile has no copies
 * from are left out. Where the store has a profile of this content, *calibrated is the id of that
 * one. VBS_NOT_FOUND, VBS_FORMAT, VBS_STORE. */
enum vbs_status vbs_store_calibrate(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                    const struct vbs_calibration *calibration,
                                    int64_t *calibrated) VBS_MUST_CHECK;

/* The kinds of notes that a merge makes: X(NAME, word). */
#define VBS_MERGE_NOTE_LIST(X)                                                                     \
    /* a tag names profiles of different content in the two stores, or is no tag */                \
    X(TAG, "tag")                                                                                  \
    /* profiles of one content have different samples, or different networks */                    \
    X(SAMPLES, "samples")                                                                          \
    /* profiles of one provenance, but for their notes, have different content; both are kept */   \
    X(PROVENANCE, "provenance")                                                                    \
    /* an unfinished measurement, or a trial, was left in its store */                             \
    X(UNFINISHED, "unfinished")                                                                    \
    /* a profile, a study, a trial or times were left in their store, which no sound store has */  \
    X(DAMAGED, "damaged")                                                                          \
    /* a study was left in its store, because another one has its name */                          \
    X(STUDY, "study")                                                                              \
    /* the two stores have different kernel times of one geometry on one machine */                \
    X(TIMES, "times")                                                                              \
    /* trials of one study and number have ended with different results */                         \
    X(TRIAL, "trial")                                                                              \
    /* a trial came without its network */                                                         \
    X(NETWORK, "network")

#define VBS_MERGE_NOTE_ENUM(name, word) VBS_MERGE_##name,
/* The kind of a note that a merge makes. */
enum vbs_merge_note_kind { VBS_MERGE_NOTE_LIST(VBS_MERGE_NOTE_ENUM) VBS_N_MERGE_NOTES };
#undef VBS_MERGE_NOTE_ENUM

/* Gives the word of a kind, such as "tag". */
const char *vbs_merge_note_word(enum vbs_merge_note_kind kind);

/* What people should know of a merge. Texts are owned by the report, and none is null. */
struct vbs_merge_note {
    enum vbs_merge_note_kind kind;
    const char *name;  /* the tag, the study, the geometry (16 digits), else the model */
    const char *hash;  /* content of the profile that was kept, or that has the tag now; "": none */
    const char *other; /* content of the other profile; "": none, or the same */
    const char *text;  /* all of it in one line */
};

/* The outcome of a merge. Freed by vbs_merge_report_free. */
struct vbs_merge_report {
    bool same_file;     /* the source is the store itself: nothing was done */
    int64_t n_profiles; /* complete profiles of the source, without damaged ones */
    int64_t n_added;    /* of these, the store did not have */
    int64_t n_improved; /* the store had with fewer samples or others, and has with the source's */
    int64_t n_samples;  /* samples that were copied */
    int64_t n_tags;     /* tags that were copied, or moved to another profile */
    int64_t n_unfinished; /* profiles that were left in the source */
    int64_t n_damaged;    /* what is no sound profile, study, trial or times, and was left there */
    int64_t n_conflicts;  /* notes of the kinds TAG, SAMPLES, PROVENANCE, STUDY, TIMES, TRIAL */
    int n_notes;
    const struct vbs_merge_note *notes;
    int64_t n_timings;          /* kernel times of the source, by geometry */
    int64_t n_timings_added;    /* of these, the store did not have */
    int64_t n_timings_improved; /* the store had others, and has those of the source */
    int64_t n_studies;          /* studies of the source that the store has now */
    int64_t n_trials;           /* trials of these in the source */
    int64_t n_trials_added, n_trials_improved; /* as above */
    int64_t n_networks;                        /* networks of trials that were copied */
};

/* The options of vbs_store_merge. Begin with {.struct_size = sizeof(struct vbs_merge_options)}. */
struct vbs_merge_options {
    size_t struct_size;
    struct vbs_progress progress;
    /* Folders in which the networks of trials lie, in one folder for each study with its name: that
     * of the source, and that of the store, which is made where it is needed. Null: trials are
     * copied without their networks. */
    const char *from_networks, *networks;
};

/*
 * Copies the complete profiles of the store at path from, with their samples and tags, its kernel
 * times by geometry (timings.h) and its studies (trials.h) into store. This is one transaction: all
 * of it or nothing is done, and other processes that write to store wait meanwhile. The source is
 * not changed: of a store that an earlier version wrote a temporary copy is migrated, which SQLite
 * keeps in the folder of temporary files. A source into which others write is read as it was at the
 * begin.
 *
 * Profiles are the same where their content is (vbs_profile_hash). A merge that is repeated changes
 * nothing, and several merges into one store give the same profiles, samples, tags, times and ended
 * trials in any order; only ids, the choice between profiles of a model without a date or of the
 * same second, and which of two studies of one name is kept follow the order. For this, each
 * difference between two stores is settled by a rule that does not depend on it, and noted:
 *
 * - Of one content, the samples that are more are kept (an imported profile has none), of equally
 *   many those with a network hash, then those with the greater SHA-256.
 * - A tag that names different profiles stays with the one measured last by its date, of one date
 *   with the greater content hash.
 * - Profiles of one provenance and different content are all kept.
 * - Of kernel times of one geometry, batches, backend, library, device, build and threads those of
 *   more runs are kept, of equally many those with the greater SHA-256.
 * - A study is the same where its name, description, hash and build are, and its trials are united
 *   by their numbers. A trial that has ended goes before one that runs, a complete one before an
 *   infeasible one, and that before a failed one; else the greater SHA-256 decides, of parameters,
 *   results, seed and reason. A study of which the store has another one with this name stays.
 *
 * Unfinished measurements stay where they are: their own store resumes them, and a second store
 * that did so too would measure the same twice. A trial on which a living process works stays in
 * its store, and so do later ones that would leave a gap in the numbers; a trial of the store on
 * which a living process works is left alone. Trials that have not ended and on which nobody works
 * come over, to be gone on with.
 *
 * The networks of trials are copied before the transaction ends, each whole or not at all, under
 * names with a hash of their content; nothing is replaced or removed.
 *
 * options may be null. Errors: those of vbs_store_open and, with the source's name, its damage;
 * VBS_STORE where the disk is full; VBS_IO: a network cannot be read or written. O(profiles of the
 * source), and linear in the rows and samples that are copied.
 */
enum vbs_status vbs_store_merge(struct vbs_ctx *ctx, struct vbs_store *store, const char *from,
                                const struct vbs_merge_options *options,
                                struct vbs_merge_report **report) VBS_MUST_CHECK;

/* Frees a report; null is allowed. */
void vbs_merge_report_free(struct vbs_merge_report *report);

/*
 * A measurement under way: begin finds an unfinished profile of the same model and network (hash),
 * input, layers, kernels (batches, algorithms, workspaces, weights) and provenance (backend,
 * library, device, threads, vbslab version) whose owner no longer runs, and takes it over, or
 * starts a new one. This is one transaction, so that two processes never share a profile. Where a
 * process was taken for gone but still runs, its next add fails.
 *
 * sink is valid until free. A kernel that it is told to leave out is no row of the profile, where
 * it has no sample. Samples are committed when 20 ms of measured time or 256 samples have gathered
 * (of modelled times, which cost nothing: 256 samples), and by free. The memory of sink->stored is
 * the run's. Rounds of a resumed run count on from those stored. Copies that an earlier process
 * measured stay, whether this one measures any or not.
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
/* Stores the calibration of the profile that is measured, in the place of an earlier one. */
enum vbs_status vbs_store_run_calibrate(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                        const struct vbs_calibration *calibration) VBS_MUST_CHECK;

/* Makes the profile of the medians of all samples so far, without completing it; the caller frees
 * *profile by vbs_profile_free. VBS_STORE names the kernel that has no sample. */
enum vbs_status vbs_store_run_draft(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                    struct vbs_profile **profile) VBS_MUST_CHECK;
/* Has finish take the times of the rows and their intervals from profile, which has the rows of the
 * draft and is borrowed until then, in the place of medians: posterior times, say (posterior.h).
 * The samples stay as they are. */
void vbs_store_run_revise(struct vbs_store_run *run, const struct vbs_profile *profile);

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
