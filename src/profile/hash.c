/*
 * The content hash of a profile: SHA-256 over its layers, rows, copies and provenance, each number
 * as eight bytes, the lowest first, each text behind its length. Two profiles have one hash when
 * their CSV files are equal, whichever machine wrote them.
 *
 * A profile keeps its hash when a later version of vbslab adds members: where such a member is
 * empty or 0, nothing of it is hashed; else its name and its value follow behind all earlier data,
 * with layer, batch and algorithm between the two for a member of a layer or row.
 */
#include "base/sha256.h"
#include "vbslab/profile.h"

#include <stdio.h>
#include <string.h>

static void add_bits(struct vbs_sha256 *hash, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    vbs_sha256_add(hash, bytes, sizeof bytes);
}

static void add_int(struct vbs_sha256 *hash, int64_t value)
{
    add_bits(hash, (uint64_t)value);
}

static void add_double(struct vbs_sha256 *hash, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_bits(hash, bits);
}

static void add_text(struct vbs_sha256 *hash, const char *text)
{
    size_t length = strlen(text);

    add_bits(hash, length);
    vbs_sha256_add(hash, text, length);
}

/* The texts that a provenance had when profiles got hashes. This list does not grow. */
#define FIRST_TEXTS(X) X(model) X(input) X(backend) X(library) X(device) X(vbslab) X(date) X(notes)

static void add_provenance(struct vbs_sha256 *hash, const struct vbs_provenance *provenance)
{
#define ADD(member) add_text(hash, provenance->member);
    FIRST_TEXTS(ADD)
#undef ADD
    add_int(hash, provenance->threads);
}

static bool is_first_text(const char *member)
{
#define IS(first)                                                                                  \
    if (strcmp(member, #first) == 0)                                                               \
        return true;
    FIRST_TEXTS(IS)
#undef IS
    return false;
}

static void add_later_text(struct vbs_sha256 *hash, const char *member, const char *text)
{
    if (is_first_text(member) || text[0] == '\0')
        return;
    add_text(hash, member);
    add_text(hash, text);
}

static void add_copy(struct vbs_sha256 *hash, const struct vbs_copy *copy)
{
    add_text(hash, copy->source);
    add_int(hash, copy->n_rows);
    for (int i = 0; i < copy->n_rows; i++) {
        const struct vbs_copy_row *row = &copy->rows[i];

        add_int(hash, row->bytes);
        add_double(hash, row->time_us);
        add_double(hash, row->mad_us);
        add_double(hash, row->low_us);
        add_double(hash, row->high_us);
        add_int(hash, row->n_runs);
    }
}

static void add_layer(struct vbs_sha256 *hash, const struct vbs_profile_layer *layer)
{
    add_text(hash, layer->name);
    add_text(hash, layer->kind);
    add_int(hash, layer->n_inputs);
    for (int i = 0; i < layer->n_inputs; i++)
        add_int(hash, layer->inputs[i]);
    add_int(hash, layer->in_bytes);
    add_int(hash, layer->out_bytes);
    add_int(hash, layer->weight_bytes);
    add_int(hash, layer->in_place);
    add_int(hash, layer->channels);
}

static void add_row(struct vbs_sha256 *hash, const struct vbs_profile_row *row)
{
    add_int(hash, row->algorithm);
    add_double(hash, row->time_us);
    add_int(hash, row->ws_bytes);
    add_int(hash, row->weight_bytes);
    add_int(hash, row->format);
    add_int(hash, row->n_slices);
    add_double(hash, row->mad_us);
    add_double(hash, row->low_us);
    add_double(hash, row->high_us);
    add_int(hash, row->n_runs);
}

/* Adds the rows of layers and the rows of stripes, which profiles may lack. */
static void add_stripes(struct vbs_sha256 *hash, const struct vbs_profile *profile)
{
    for (int layer = 0; layer <= profile->n_layers; layer++) {
        const struct vbs_profile_layer *about = &profile->layers[layer];
        const struct vbs_profile_stripe *stripes = NULL;
        int n_stripes = 0;

        if (about->rows == 0)
            continue;
        add_text(hash, "rows");
        add_int(hash, layer);
        add_int(hash, about->rows);
        for (int i = 0; about->reaches && i < about->n_inputs; i++) {
            add_text(hash, "reach");
            add_int(hash, about->reaches[i].step);
            add_int(hash, about->reaches[i].unit);
            add_int(hash, about->reaches[i].low);
            add_int(hash, about->reaches[i].high);
        }
        if (layer > 0)
            stripes = vbs_profile_stripes(profile, layer, &n_stripes);
        for (int i = 0; i < n_stripes; i++) {
            add_text(hash, "stripe");
            add_int(hash, stripes[i].batch);
            add_int(hash, stripes[i].row.rows);
            add_row(hash, &stripes[i].row);
        }
    }
}

/* Adds the factors beside copies and the machine's speed, which profiles may lack. */
static void add_calibration(struct vbs_sha256 *hash, const struct vbs_profile *profile)
{
    for (int i = 0; i < profile->n_copies; i++) {
        const struct vbs_link *link = &profile->copies[i].link;

        if (!link->beside)
            continue;
        add_text(hash, "beside");
        add_text(hash, link->source);
        for (int layer = 0; layer <= profile->n_layers; layer++)
            add_double(hash, link->beside[layer]);
    }
    if (profile->speed.flops_per_us > 0) {
        add_text(hash, "speed");
        add_double(hash, profile->speed.flops_per_us);
        add_double(hash, profile->speed.cache_bytes_per_us);
        add_double(hash, profile->speed.memory_bytes_per_us);
    }
}

void vbs_profile_hash(const struct vbs_profile *profile, char text[VBS_PROFILE_HASH_SIZE])
{
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    add_text(&hash, "vbslab-profile-1");
    add_provenance(&hash, &profile->provenance);
    add_int(&hash, profile->n_copies);
    for (int i = 0; i < profile->n_copies; i++)
        add_copy(&hash, &profile->copies[i]);
    add_int(&hash, profile->n_algorithms);
    for (int i = 0; i < profile->n_algorithms; i++)
        add_text(&hash, profile->algorithms[i]);
    add_int(&hash, profile->n_batches);
    for (int i = 0; i < profile->n_batches; i++)
        add_int(&hash, profile->batches[i]);
    add_int(&hash, profile->n_layers);
    for (int layer = 1; layer <= profile->n_layers; layer++) {
        add_layer(&hash, &profile->layers[layer]);
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

            add_int(&hash, n_rows);
            for (int i = 0; i < n_rows; i++)
                add_row(&hash, &rows[i]);
        }
    }
#define ADD(member) add_later_text(&hash, #member, profile->provenance.member);
    VBS_PROVENANCE_TEXTS(ADD)
#undef ADD
    add_stripes(&hash, profile);
    add_calibration(&hash, profile);
    vbs_sha256_end_text(&hash, text, VBS_PROFILE_HASH_SIZE);
}
