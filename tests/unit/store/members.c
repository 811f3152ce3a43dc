/*
 * Each member of a profile: each text of its provenance and each number of its layers and rows
 * comes back from CSV and from the store, and another value gives another hash.
 *
 * A new number of struct vbs_profile_layer or struct vbs_profile_row makes this file fail to
 * compile: give it a value below, of which one more is valid too, and name it in LAYER_NUMBERS or
 * ROW_NUMBERS (tests/support/profile_help.h). Reaches and the rows of a row, which depend on each
 * other, are not among them: tests/unit/store/stripes.c has them.
 */
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <stdlib.h>

static const int INPUTS[] = {0};

/* The initialiser is positional, so that the compiler requires the value of a new member. */
static struct vbs_profile_layer some_layer(void)
{
    return (struct vbs_profile_layer){"L1", "conv", 1, INPUTS, 64, 64, 4096, false, 12, 1, NULL};
}

static struct vbs_profile_row some_row(void)
{
    return (struct vbs_profile_row){0, 10, 64, 4096, 2, 1, 1, 5, 20, 9, 0};
}

/* A profile of one layer with one row; null, and a comment, when it is refused. */
static struct vbs_profile *make(const struct vbs_provenance *provenance,
                                const struct vbs_profile_layer *layer,
                                const struct vbs_profile_row *row)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    if (!builder || vbs_profile_builder_provenance(&ctx, builder, provenance) != VBS_OK ||
        vbs_profile_builder_layer(&ctx, builder, layer) != VBS_OK ||
        vbs_profile_builder_row(&ctx, builder, 1, 1, "x", row) != VBS_OK ||
        vbs_profile_builder_finish(&ctx, builder, &profile) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_profile_builder_free(builder);
    return profile;
}

/* Checks that the two are equal; name tells where back comes from. Frees back. */
static void is_kept(const struct vbs_profile *profile, struct vbs_profile *back, const char *member,
                    const char *name)
{
    char where[80];
    const char *difference =
        back ? profile_difference(profile, back, where, sizeof where) : "nothing";

    ok(!difference, "%s comes back from %s", member, name);
    if (difference)
        printf("# %s\n", difference);
    vbs_profile_free(back);
}

/* Checks a profile that has another value of member than base. Frees it. */
static void check(const char *folder, const struct vbs_profile *base, struct vbs_profile *profile,
                  const char *member)
{
    char *csv = path_in(folder, "p.csv"), *path = path_in(folder, "members.sqlite");
    char first[VBS_PROFILE_HASH_SIZE], other[VBS_PROFILE_HASH_SIZE], where[80];
    struct vbs_profile *back = NULL;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    int64_t id;

    if (ok(profile && store, "%s may be larger", member)) {
        ok(profile_difference(base, profile, where, sizeof where), "%s differs then", member);
        vbs_profile_hash(base, first);
        vbs_profile_hash(profile, other);
        ok(strcmp(first, other) != 0, "and the hash with it");
        if (vbs_profile_write_csv(&ctx, profile, csv) == VBS_OK)
            (void)!vbs_profile_read_csv(&ctx, csv, &back);
        is_kept(profile, back, member, "CSV");
        back = NULL;
        if (vbs_store_save(&ctx, store, profile, &id) == VBS_OK)
            (void)!vbs_store_load(&ctx, store, id, &back);
        is_kept(profile, back, member, "the store");
        if (ctx.detail[0])
            printf("# %s\n", ctx.detail);
    }
    vbs_store_close(store);
    vbs_profile_free(profile);
    free(path);
    free(csv);
}

int main(void)
{
    char *folder = temporary_folder();
    struct vbs_provenance provenance = {.threads = 2};
    struct vbs_profile_layer layer = some_layer();
    struct vbs_profile_row row = some_row();
    struct vbs_profile *base;

#define SET(member) provenance.member = #member;
    VBS_PROVENANCE_TEXTS(SET)
#undef SET
    base = make(&provenance, &layer, &row);
    if (!ok(base != NULL, "a profile"))
        return done_testing();
#define TRY(member)                                                                                \
    {                                                                                              \
        struct vbs_provenance other = provenance;                                                  \
        other.member = "another";                                                                  \
        check(folder, base, make(&other, &layer, &row), #member);                                  \
    }
    VBS_PROVENANCE_TEXTS(TRY)
#undef TRY
#define TRY(member)                                                                                \
    {                                                                                              \
        struct vbs_profile_layer other = layer;                                                    \
        other.member += 1;                                                                         \
        check(folder, base, make(&provenance, &other, &row), "layer." #member);                    \
    }
    LAYER_NUMBERS(TRY)
#undef TRY
#define TRY(member)                                                                                \
    {                                                                                              \
        struct vbs_profile_row other = row;                                                        \
        other.member += 1;                                                                         \
        check(folder, base, make(&provenance, &layer, &other), "row." #member);                    \
    }
    ROW_NUMBERS(TRY)
#undef TRY
    vbs_profile_free(base);
    remove_folder(folder);
    return done_testing();
}
