/*
 * Lists of numbers in which long parts repeat: plans for neighbouring budgets have most of their
 * steps in common. A part that was written before is written as its length and its distance (Ziv
 * and Lempel, 1977), which report.js undoes in a few lines.
 */
#include "report/html/html.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

#define LEAST     4  /* numbers of a part that is not written again */
#define MOST_SEEN 32 /* earlier places that are tried for a part */
#define HASH_BITS 16

/* Places of the list by the numbers that stand there. */
struct vbs_page_places {
    int64_t *last;   /* [1 << HASH_BITS] the last place with this hash, or -1 */
    int64_t *before; /* [n] the place before with the same hash, or -1 */
};

static uint64_t hash_at(const int32_t *list, int64_t i)
{
    uint64_t hash = VBS_MIX_FIRST;

    for (int j = 0; j < LEAST; j++)
        hash = vbs_mix(hash, (uint64_t)list[i + j]);
    return hash >> (64 - HASH_BITS);
}

/* Enters the places from..to - 1 of which enough numbers follow. */
static void enter(struct vbs_page_places *places, const int32_t *list, int64_t n, int64_t from,
                  int64_t to)
{
    for (int64_t i = from; i < to && i + LEAST <= n; i++) {
        uint64_t hash = hash_at(list, i);

        places->before[i] = places->last[hash];
        places->last[hash] = i;
    }
}

/* Finds the longest part that begins at i and stands at an earlier place, too. Returns its length,
 * 0 where there is none. */
static int64_t find_part(const struct vbs_page_places *places, const int32_t *list, int64_t n,
                         int64_t i, int64_t *distance)
{
    int64_t longest = 0;

    if (i + LEAST > n)
        return 0;
    for (int64_t at = places->last[hash_at(list, i)], seen = 0; at >= 0 && seen < MOST_SEEN;
         at = places->before[at], seen++) {
        int64_t length = 0;

        while (i + length < n && list[at + length] == list[i + length])
            length++;
        if (length > longest) {
            longest = length;
            *distance = i - at;
        }
    }
    return longest >= LEAST ? longest : 0;
}

static void add_packed(struct vbs_text *text, struct vbs_page_places *places, const int32_t *list,
                       int64_t n)
{
    for (int64_t i = 0, length; i < n; i += length) {
        int64_t distance = 0;

        length = find_part(places, list, n, i, &distance);
        vbs_text_add(text, i ? "," : "");
        if (length)
            vbs_text_addf(text, "-%lld,%lld", (long long)length, (long long)distance);
        else
            vbs_text_addf(text, "%d", (int)list[i]);
        length = length ? length : 1;
        enter(places, list, n, i, i + length);
    }
}

enum vbs_status vbs_page_pack(struct vbs_ctx *ctx, struct vbs_text *text, const int32_t *list,
                              int64_t n)
{
    struct vbs_page_places places = {
        .last = malloc(sizeof *places.last << HASH_BITS),
        .before = malloc((size_t)(n ? n : 1) * sizeof *places.before),
    };
    enum vbs_status status = places.last && places.before ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK) {
        for (int64_t i = 0; i < INT64_C(1) << HASH_BITS; i++)
            places.last[i] = -1;
        vbs_text_add(text, "[");
        add_packed(text, &places, list, n);
        vbs_text_add(text, "]");
    }
    free(places.last);
    free(places.before);
    return status;
}
