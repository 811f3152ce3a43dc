/*
 * The forms of coded weights: their layout in memory, and what each does with a block. Internal to
 * the room.
 *
 * Coded weights are a header, a codebook, the lengths of the codes, offsets of the blocks, and
 * data. All numbers are little-endian, and each section begins at a multiple of 8.
 */
#ifndef VBS_CODED_FORMS_H
#define VBS_CODED_FORMS_H

#include "coded/bits.h"
#include "coded/huffman.h"
#include "vbslab/coded.h"

#include <stdbool.h>

#define VBS_CODED_MAGIC   "vbsc"
#define VBS_CODED_VERSION 1

#define VBS_MAX_CODED_BLOCK ((int64_t)1 << 30) /* weights of a block */

#define VBS_MAX_BYTES_COLUMNS 65535 /* of a block in form bytes, which counts them in 16 bits */

#define VBS_MAX_PAIR_CODE_BITS 14 /* joint reads four codes at once */

struct vbs_coded_header {
    char magic[4];
    uint8_t version, coding, bits, index_bits;
    uint8_t code_bits[2]; /* the most bits of a code: comp has two codes, joint one, bytes none */
    uint8_t reserved[2];  /* 0 */
    uint32_t n_values;
    int64_t n_rows, n_columns;
    uint32_t block_rows, block_columns;
    uint64_t n_entries, n_nonzero;
    uint64_t n_data; /* bytes of the data */
};

_Static_assert(sizeof(struct vbs_coded_header) == 64, "the header has no gaps");

/*
 * What a code of a pair of distance and value stands for, in one word: from the lowest bit on the
 * bits of the code (6 bits), the index of the value (12), the distance (14), and the value itself,
 * a float (32). All 0: no code begins so. A pair is one load from a small table, and a shift by the
 * word is a shift by the bits of the code.
 */
typedef uint64_t vbs_pair_hit;

static inline vbs_pair_hit vbs_pair_of(unsigned n_bits, unsigned index, unsigned distance,
                                       float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (uint64_t)bits << 32 | distance << 20 | index << 8 | n_bits;
}

static inline unsigned vbs_pair_bits(vbs_pair_hit hit)
{
    return hit & 63;
}

static inline unsigned vbs_pair_index(vbs_pair_hit hit)
{
    return hit >> 8 & 4095;
}

/* Gives the index, of up to 8 bits. */
static inline unsigned vbs_pair_short_index(vbs_pair_hit hit)
{
    return (uint8_t)(hit >> 8);
}

static inline unsigned vbs_pair_distance(vbs_pair_hit hit)
{
    return (uint32_t)hit >> 20;
}

struct vbs_coded {
    struct vbs_coded_header header;
    int64_t n_block_rows, n_block_columns;
    const float *codebook;
    const uint32_t *offsets; /* [blocks + 1][streams] */
    const uint8_t *data;     /* of the streams, one behind the other */
    const uint8_t *bytes;    /* all of it */
    size_t n_bytes;
    uint8_t *owned;                  /* bytes, where they are not borrowed */
    size_t table_bytes;              /* of hits and pairs, which are owned */
    struct vbs_huffman_hit *hits[2]; /* comp: [2^code_bits] of values, of distances */
    vbs_pair_hit *pairs;             /* joint: [2^code_bits] */
    const uint32_t *narrow_pairs;    /* joint, where coded weights were moved: without the values */
    const uint8_t *lengths[2];       /* where the lengths of the codes are written */
    uint32_t most_entries;           /* of a block */
};

/* Gives the end of a stream of n_bytes from begin on, a multiple of 8: decoding reads some bytes
 * behind the stream. */
static inline uint64_t vbs_coded_stream_end(uint64_t begin, uint64_t n_bytes)
{
    return (begin + n_bytes + VBS_BITS_SLACK + 7) & ~UINT64_C(7);
}

/* One block of a matrix. */
struct vbs_coded_place {
    int64_t number;
    int64_t first_row, first_column;
    int n_rows, n_columns;
};

/* Gives the place of a block. */
struct vbs_coded_place vbs_coded_place(const struct vbs_coded *coded, int64_t block);

/* A weight that is not 0, or one of the value 0 that fills a distance. */
struct vbs_entry {
    uint16_t distance; /* from the entry before, 1 to 256 */
    uint16_t value;
};

/* The entries of a run of weights, which vbs_entries_next gives one after the other. */
struct vbs_entries {
    const uint16_t *indices; /* [n] of the run */
    int n;
    int most; /* the largest distance */
    int next; /* the first weight that may be the next that is not 0 */
    int last; /* the place of the entry before */
};

static inline struct vbs_entries vbs_entries_of(const uint16_t *indices, int n, int most)
{
    return (struct vbs_entries){.indices = indices, .n = n, .most = most, .last = -1};
}

/* False: there are no more. */
static inline bool vbs_entries_next(struct vbs_entries *entries, struct vbs_entry *entry)
{
    int distance;

    while (entries->next < entries->n && entries->indices[entries->next] == 0)
        entries->next++;
    if (entries->next == entries->n)
        return false;
    distance = entries->next - entries->last;
    if (distance > entries->most) {
        *entry = (struct vbs_entry){.distance = (uint16_t)entries->most};
        entries->last += entries->most;
        return true;
    }
    *entry = (struct vbs_entry){(uint16_t)distance, entries->indices[entries->next]};
    entries->last = entries->next++;
    return true;
}

#define VBS_MOST_RUNS 4

/* Entries of a block in runs, each of which begins anew: distances count from `begins` less 1, a
 * place in the block. */
struct vbs_entry_runs {
    int n_runs;
    uint32_t begins[VBS_MOST_RUNS];
    uint32_t n_entries[VBS_MOST_RUNS];
};

#define VBS_JOINT_STREAMS 4

/* The streams of a block of VBS_CODING_JOINT. */
struct vbs_joint_streams {
    uint64_t bits[VBS_JOINT_STREAMS]; /* where they begin in the data */
    uint32_t n_entries[VBS_JOINT_STREAMS];
    int64_t begins[VBS_JOINT_STREAMS]; /* the place of the first weight in the block */
};

/* Finds the streams of a block that has been checked. */
void vbs_joint_find_streams(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                            struct vbs_joint_streams *streams);

/* Totals that a check of a block adds to. */
struct vbs_coded_totals {
    uint64_t n_entries, n_nonzero;
};

/* The output of coding. */
struct vbs_coded_writer {
    const struct vbs_coded *coded; /* its header is known, but for n_data */
    const uint8_t *lengths[2];     /* of the codes of symbols */
    const uint32_t *codes[2];
    struct vbs_bit_writer streams[2]; /* with space for most_bytes; the second is only for comp */
};

struct vbs_coded_form {
    const char *name;
    int n_codes;   /* Huffman codes */
    int n_streams; /* of data: an offset of a block for each */
    bool has_bits; /* offsets count bits, not bytes */
    /* Counts the symbols of a block, of each code, and gives the number of entries. indices are
     * those of the block, row by row. */
    int64_t (*count)(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                     const uint16_t *indices, uint64_t *const counts[2]);
    /* Gives the most bytes that a stream takes whose codes have n_bits; exact but for joint, where
     * streams begin at bytes. */
    uint64_t (*most_bytes)(const struct vbs_coded *coded, uint64_t n_bits);
    /* Writes a block. */
    void (*write)(struct vbs_coded_writer *writer, const struct vbs_coded_place *place,
                  const uint16_t *indices);
    /* Gives whether a block of data that nobody vouches for decodes to its end and within its
     * place. Reads nothing outside the data. */
    bool (*check)(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                  struct vbs_coded_totals *totals);
    /* Decodes a block that has been checked; dense is 0. */
    void (*decode)(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                   float *dense);
    /* Decodes it to indices into the codebook, which are 0. */
    void (*decode_indices)(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                           uint16_t *indices);
    /* Lists the entries of a block that has been checked, as lower halves of hits of which distance
     * and index are set. Null: they lie in the block as they are. */
    void (*list)(const struct vbs_coded *coded, const struct vbs_coded_place *place, uint32_t *hits,
                 struct vbs_entry_runs *runs);
};

extern const struct vbs_coded_form vbs_coded_form_comp, vbs_coded_form_joint, vbs_coded_form_bytes;

#endif
