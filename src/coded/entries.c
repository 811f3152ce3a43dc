#include "coded/forms.h"

#include "base/fail.h"
#include "base/grow.h"

int vbs_entries_find(const uint16_t *indices, int n, int most, struct vbs_entry *entries)
{
    int n_entries = 0, last = -1;

    for (int i = 0; i < n; i++) {
        if (indices[i] == 0)
            continue;
        for (; i - last > most; last += most)
            entries[n_entries++] = (struct vbs_entry){.distance = (uint16_t)most};
        entries[n_entries++] = (struct vbs_entry){(uint16_t)(i - last), indices[i]};
        last = i;
    }
    return n_entries;
}

enum vbs_status vbs_coded_reserve(struct vbs_ctx *ctx, struct vbs_coded_stream *stream,
                                  uint64_t n_bytes)
{
    int64_t before = stream->capacity;
    int64_t needed = (int64_t)((stream->bits.at + 7) / 8 + n_bytes);

    VBS_TRY(vbs_grow(ctx, &stream->bits.bytes, &stream->capacity, needed, 1));
    memset(stream->bits.bytes + before, 0, (size_t)(stream->capacity - before));
    return VBS_OK;
}
