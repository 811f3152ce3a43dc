/*
 * Whether a store belongs to this machine alone. SQLite's write-ahead log keeps its index in memory
 * that the processes of one machine share: two machines that write to one store damage it. What can
 * be told is on which file system the store lies, and who works in it.
 */
#include "store/alone.h"

#include "base/fail.h"
#include "base/owner.h"
#include "vbslab/trials.h"

#include <stdint.h>
#include <sys/vfs.h>

/* File systems of Linux that several machines may share, by statfs(2). */
static const struct {
    uint32_t type;
    const char *name;
} SHARED[] = {
    {0x00006969, "NFS"},      {0x0000517b, "SMB"},   {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},
    {0x01021997, "9p"},       {0x65735546, "FUSE"},  {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},     {0x0000564c, "NCP"},   {0x00c36400, "Ceph"},   {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},     {0x01161970, "GFS2"},  {0x7461636f, "OCFS2"},  {0x19830326, "BeeGFS"},
    {0x20030528, "OrangeFS"}, {0xaad7aaea, "PanFS"}, {0x786f4256, "vboxsf"},
};

static enum vbs_status check_place(struct vbs_ctx *ctx, struct vbs_store *store)
{
    const char *path = sqlite3_db_filename(store->db, "main");
    struct statfs about;

    if (!path || statfs(path, &about) != 0)
        return VBS_OK;
    for (size_t i = 0; i < sizeof SHARED / sizeof SHARED[0]; i++)
        if (SHARED[i].type == (uint32_t)about.f_type)
            return vbs_fail(ctx, VBS_STORE,
                            "store '%s' lies on a network file system (%s), which other machines "
                            "may use, too: SQLite's log works on one machine only; take a store on "
                            "a disk of this machine (--db), and bring stores together with "
                            "'vbslab profiles merge'",
                            store->shown, SHARED[i].name);
    return VBS_OK;
}

static enum vbs_status check_owner(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    const struct vbs_store *store = self;
    const char *owner = (const char *)sqlite3_column_text(row, 0);
    char host[VBS_OWNER_HOST_SIZE];

    if (!owner)
        return vbs_no_memory(ctx);
    if (!vbs_owner_is_elsewhere(owner, sqlite3_column_int64(row, 1), host))
        return VBS_OK;
    return vbs_fail(ctx, VBS_STORE,
                    "store '%s' has unfinished work of another machine, '%s', which wrote to it in "
                    "the last ten minutes: SQLite's log works on one machine only; take a store on "
                    "a disk of this machine (--db), and bring stores together with 'vbslab "
                    "profiles merge'",
                    store->shown, host);
}

enum vbs_status vbs_alone_check_owners(struct vbs_ctx *ctx, struct vbs_store *store)
{
    return vbs_sql_walk(ctx, store, check_owner, store,
                        "SELECT owner, ? - touched FROM profile WHERE completed IS NULL AND "
                        "owner NOTNULL UNION ALL SELECT owner, ? - touched FROM study CROSS JOIN "
                        "trial ON study = study.id AND state = 'running' AND owner NOTNULL",
                        "ii", (int64_t)time(NULL), (int64_t)time(NULL));
}

enum vbs_status vbs_store_check_alone(struct vbs_ctx *ctx, struct vbs_store *store)
{
    VBS_TRY(check_place(ctx, store));
    VBS_TRY(vbs_sql_begin_read(ctx, store));
    return vbs_sql_end(ctx, store, vbs_alone_check_owners(ctx, store));
}
