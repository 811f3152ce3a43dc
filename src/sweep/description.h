/*
 * A description as it was read: groups of tasks, whose words are made of pieces. Internal to the
 * room.
 *
 * The tasks of a group are numbered by the values of its lists, of which the last one varies
 * fastest.
 */
#ifndef VBS_SWEEP_DESCRIPTION_H
#define VBS_SWEEP_DESCRIPTION_H

#include "base/arena.h"
#include "base/text.h"
#include "vbslab/sweep.h"

#include <stdbool.h>

/* A list: n values of n_fields texts each, or whole numbers. */
struct vbs_sweep_list {
    const char *name;
    int64_t n;
    int n_fields;              /* 1, or the members of tables */
    const char *const *fields; /* names of members; null: values are no tables */
    const char *const *values; /* [n][n_fields]; null: value i is first + i * step */
    int64_t first, step;
    bool used;
};

enum vbs_piece_kind { VBS_PIECE_TEXT, VBS_PIECE_VALUE, VBS_PIECE_OWN_RESULT, VBS_PIECE_RESULT };

/* A piece of a word. */
struct vbs_sweep_piece {
    enum vbs_piece_kind kind;
    const char *text;
    int list, field; /* of a value */
    int group;       /* whose result is read, as a place in the file, then in the order of levels */
};

struct vbs_sweep_word {
    int n_pieces;
    struct vbs_sweep_piece *pieces;
};

/* What stands behind struct vbs_sweep_group. */
struct vbs_sweep_rules {
    int n_words, n_reads, n_accepted, n_lists, n_needs;
    const struct vbs_sweep_word *words, *reads; /* reads: further files */
    const int *accepted;                        /* exit codes of a task that is done */
    int *lists;                                 /* that the group is multiplied out by */
    int *needs;                                 /* groups whose results are read */
};

struct vbs_file_memory; /* the hashes of contents */

struct vbs_sweep {
    struct vbs_arena arena; /* of everything here but files */
    struct vbs_sweep_info info;
    struct vbs_sweep_group *groups;
    struct vbs_sweep_rules *rules; /* of each group */
    struct vbs_sweep_list *lists;
    int n_lists;
    double patience_s; /* how long the count of a claim may stand still */
    struct vbs_file_memory *files;
    struct vbs_text scratch; /* words of tasks while their names are made */
};

/* Gives the group of an index, and writes the place of the task in each list of the sweep. */
int vbs_sweep_digits(const struct vbs_sweep *sweep, int64_t index, int64_t *digits);

/* Gives the index of the task of a group with the values of these places. */
int64_t vbs_sweep_index(const struct vbs_sweep *sweep, int group, const int64_t *digits);

/* Gives the name of a task as a number. digits has space for a number for each list. */
enum vbs_status vbs_sweep_hash(struct vbs_ctx *ctx, struct vbs_sweep *sweep, int64_t index,
                               uint64_t *name) VBS_MUST_CHECK;

/* Makes the words of a task; own: the path of its result without the ending. The caller frees them
 * as those of a task. */
enum vbs_status vbs_sweep_make_words(struct vbs_ctx *ctx, struct vbs_sweep *sweep, int64_t index,
                                     const char *own, char ***words) VBS_MUST_CHECK;

/* Write a name's 16 digits, and read them; false: they are none. */
void vbs_sweep_write_name(uint64_t name, char text[VBS_SWEEP_NAME_SIZE]);
bool vbs_sweep_read_name(const char *text, uint64_t *name);

/* Makes the memory of contents of files. */
struct vbs_file_memory *vbs_file_memory_new(void);
void vbs_file_memory_free(struct vbs_file_memory *memory);

/* Gives the SHA-256 of a file in folder, read at the first call for it; *digest is null where there
 * is no regular file of this name and must is false. VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_file_digest(struct vbs_ctx *ctx, struct vbs_file_memory *memory,
                                const char *folder, const char *path, bool must,
                                const unsigned char **digest) VBS_MUST_CHECK;

#endif
