/*
 * The content hash of a profile: SHA-256 against its published examples, the same hash on every
 * machine, for every way to make the same profile, and another for every other profile.
 */
#include "base/sha256.h"

#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include <stdlib.h>

static void to_hex(struct vbs_sha256 *hash, char text[2 * VBS_SHA256_BYTES + 1])
{
    unsigned char digest[VBS_SHA256_BYTES];

    vbs_sha256_end(hash, digest);
    for (int i = 0; i < VBS_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

/* The examples that NIST publishes with FIPS 180-4, and the empty message. */
static void sha256_gives_the_published_hashes(void)
{
    char text[2 * VBS_SHA256_BYTES + 1], letters[1000];
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    to_hex(&hash, text);
    is_str(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing");
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, "abc", 3);
    to_hex(&hash, text);
    is_str(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    to_hex(&hash, text);
    is_str(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "56 letters");
    memset(letters, 'a', sizeof letters);
    vbs_sha256_begin(&hash);
    for (size_t given = 0, n = 1; given < 1000000; given += n, n = given % 997 + 1) {
        n = n > 1000000 - given ? 1000000 - given : n;
        vbs_sha256_add(&hash, letters, n);
    }
    to_hex(&hash, text);
    is_str(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
           "a million letters in pieces of all lengths");
}

/* The profile has every text and number, none of them 0. */
static const char SEED[] =
    "# model: name\n# input: 1x2\n# backend: b\n# library: l\n# device: d\n# vbslab: 1\n"
    "# date: today\n# notes: n\n# threads: 3\n"
    "# copy: disk,9,4\n# copy: cache,9,4.5,1,4,5,7\n# copy: disk,90,8\n"
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place,mad_us,low_us,high_us,n_runs,channels,packed_bytes,form,parts\n"
    "1,L1,conv,0,1,x,4.5,10,10,1,40,0,0.1,4,5,9,4,40,2,0\n"
    "1,L1,conv,0,2,x,6.5,20,20,2,40,0,0,0,0,0,4,40,2,2\n"
    "2,L2,add,1;0,1,x,4,20,10,4,7,0,0,0,0,0,0,7,0,0\n"
    "2,L2,add,1;0,2,y,6,40,20,8,7,0,0,0,0,0,0,9,1,0\n";

static void the_hash_is_the_same_on_every_machine(void)
{
    struct vbs_profile *profile = example_profile();
    char hash[VBS_PROFILE_HASH_SIZE];

    if (!ok(profile != NULL, "the example of VBS III"))
        return;
    vbs_profile_hash(profile, hash);
    is_str(hash, "124b12ff435e91e1eed232d21a6190df", "its hash");
    vbs_profile_free(profile);
}

/* Stores and plans of version 0.2.0 have this hash: members that are added later must not change
 * it. */
static void a_hash_stays_in_later_versions(void)
{
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    char hash[VBS_PROFILE_HASH_SIZE];

    if (!ok(vbs_profile_parse_csv(&ctx, "t", SEED, strlen(SEED), &profile) == VBS_OK,
            "a profile with all that one can have: %s", ctx.detail))
        return;
    vbs_profile_hash(profile, hash);
    is_str(hash, "673a5ebcbd49142307ee2e598d9f9518", "its hash");
    vbs_profile_free(profile);
}

static void a_profile_that_was_written_and_read_keeps_its_hash(gsl_rng *rng)
{
    char *folder = temporary_folder(), *path = path_in(folder, "p.csv");
    int n_wrong = 0;

    for (int i = 0; i < 100; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_profile *profile = hostile_profile(&ctx, rng, i % 2), *back = NULL;
        char before[VBS_PROFILE_HASH_SIZE], after[VBS_PROFILE_HASH_SIZE] = "";

        if (!profile || vbs_profile_write_csv(&ctx, profile, path) != VBS_OK ||
            vbs_profile_read_csv(&ctx, path, &back) != VBS_OK) {
            n_wrong++;
        } else {
            vbs_profile_hash(profile, before);
            vbs_profile_hash(back, after);
            n_wrong += strcmp(before, after) != 0;
        }
        vbs_profile_free(profile);
        vbs_profile_free(back);
    }
    is_int(n_wrong, 0, "100 profiles come back from CSV with the same hash");
    free(path);
    remove_folder(folder);
}

/* Changes one byte in a digit or letter of text, and hashes the profile that the text then
 * describes. */
static void every_difference_gives_another_hash(gsl_rng *rng)
{
    char text[sizeof SEED], first[VBS_PROFILE_HASH_SIZE], other[VBS_PROFILE_HASH_SIZE];
    char where[80];
    struct vbs_profile *seed = NULL, *profile;
    struct vbs_ctx ctx = {0};
    int n_changed = 0, n_same = 0, n_wrong = 0;

    if (!ok(vbs_profile_parse_csv(&ctx, "t", SEED, strlen(SEED), &seed) == VBS_OK, "the seed: %s",
            ctx.detail))
        return;
    vbs_profile_hash(seed, first);
    for (int i = 0; i < 5000; i++) {
        size_t at = (size_t)random_int(rng, 0, (int)strlen(SEED) - 1);
        bool equal;

        memcpy(text, SEED, sizeof SEED);
        text[at] = (char)random_int(rng, '0', 'z');
        if (vbs_profile_parse_csv(&ctx, "t", text, strlen(text), &profile) != VBS_OK)
            continue;
        vbs_profile_hash(profile, other);
        equal = !profile_difference(seed, profile, where, sizeof where);
        n_same += equal;
        n_changed += !equal;
        n_wrong += equal != (strcmp(first, other) == 0);
        vbs_profile_free(profile);
    }
    ok(n_wrong == 0, "profiles differ exactly where their hashes do (%d differ, %d are equal)",
       n_changed, n_same);
    ok(n_changed > 200 && n_same > 5, "both were tried");
    vbs_profile_free(seed);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    unsigned long seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 10) : 20261122;

    printf("# SEED=%lu\n", seed);
    gsl_rng_set(rng, seed);
    sha256_gives_the_published_hashes();
    the_hash_is_the_same_on_every_machine();
    a_hash_stays_in_later_versions();
    a_profile_that_was_written_and_read_keeps_its_hash(rng);
    every_difference_gives_another_hash(rng);
    gsl_rng_free(rng);
    return done_testing();
}
