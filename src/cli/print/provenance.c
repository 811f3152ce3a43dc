#include "cli/print/provenance.h"

#include "cli/print/json.h"

#include "base/text.h"
#include "cli/print/flow.h"
#include "vbslab/backend.h"

#include <stdio.h>

#define HASH_SHOWN 12  /* digits: enough to tell profiles apart by eye */
#define SHOWN      200 /* characters of a text of the profile */

static void add(struct vbs_text *line, const char *before, const char *words, const char *behind)
{
    if (words[0] == '\0')
        return;
    vbs_text_add(line, before);
    vbs_text_add_visible(line, words, SHOWN);
    vbs_text_add(line, behind);
}

/* Appends ": onednn (oneDNN 2.6.3, OpenMP) on AMD EPYC, 2 threads", as far as these are known. */
static void add_machine(struct vbs_text *line, const struct vbs_provenance *from)
{
    if (!from->backend[0] && !from->library[0] && !from->device[0])
        return;
    add(line, ": ", from->backend[0] ? from->backend : "backend unknown", "");
    add(line, " (", from->library, ")");
    add(line, " on ", from->device, "");
    if (from->threads > 0)
        vbs_text_addf(line, ", %d thread%s", from->threads, from->threads == 1 ? "" : "s");
}

void cli_print_provenance(struct cli *cli, const struct vbs_profile *profile, int64_t id)
{
    const struct vbs_provenance *from = &profile->provenance;
    bool modelled = vbs_provenance_modelled(from);
    char hash[VBS_PROFILE_HASH_SIZE], day[sizeof "2026-11-22"];
    struct vbs_text line = {0};

    vbs_profile_hash(profile, hash);
    snprintf(day, sizeof day, "%s", from->date);
    vbs_text_add(&line, "  profile  ");
    if (id > 0)
        vbs_text_addf(&line, "%lld, ", (long long)id);
    vbs_text_addf(&line, "content %.*s", HASH_SHOWN, hash);
    add_machine(&line, from);
    if (modelled || day[0])
        vbs_text_add(&line, modelled ? ", modelled" : ", measured");
    add(&line, " ", day, "");
    if (!line.failed)
        cli_flow_line(cli, line.data);
    vbs_text_clear(&line);
}

json_t *cli_provenance_json(const struct vbs_profile *profile)
{
    const struct vbs_provenance *from = &profile->provenance;
    char hash[VBS_PROFILE_HASH_SIZE];

    vbs_profile_hash(profile, hash);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:b}", "hash", hash, "backend", from->backend,
                     "library", from->library, "device", from->device, "threads",
                     from->threads ? json_integer(from->threads) : json_null(), "date", from->date,
                     "modelled", (int)vbs_provenance_modelled(from));
}

json_t *cli_speed_json(const struct vbs_speed *speed, bool *failed)
{
    json_t *object = json_object();

    cli_json_put(object, "flops_per_us", json_real(speed->flops_per_us), failed);
    cli_json_put(object, "cache_bytes_per_us", json_real(speed->cache_bytes_per_us), failed);
    if (speed->memory_bytes_per_us > 0)
        cli_json_put(object, "memory_bytes_per_us", json_real(speed->memory_bytes_per_us), failed);
    return object;
}
