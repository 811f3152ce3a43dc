#include "cli/common/data.h"

#include "base/fail.h"
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Gives the folder of the program, without its last slash; "." where the system does not tell. */
static const char *program_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash;

    if (length <= 0)
        return ".";
    folder[length] = '\0';
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return folder;
}

/* Looks for name in a folder of the data that come with the program: `kind` of $VBSLAB_DATA, or one
 * of the two folders beside the program. *root: what was looked at. *path is null where it is not
 * there; the caller frees it. */
static enum vbs_status find(struct cli *cli, const char *kind, const char *const beside[2],
                            const char *name, char root[PATH_MAX], char **path)
{
    const char *data = getenv("VBSLAB_DATA");
    bool is_named = data && data[0];
    char program[PATH_MAX];

    *path = NULL;
    snprintf(root, PATH_MAX, "%s", is_named ? data : program_folder(program));
    for (int i = 0; i < (is_named ? 1 : 2); i++) {
        struct vbs_text text = {0};

        vbs_text_addf(&text, "%s%s%s/%s", root, is_named ? "/" : "", is_named ? kind : beside[i],
                      name);
        if (text.failed) {
            vbs_text_clear(&text);
            return vbs_no_memory(&cli->ctx);
        }
        if (access(text.data, R_OK) == 0) {
            *path = text.data;
            return VBS_OK;
        }
        vbs_text_clear(&text);
    }
    return VBS_OK;
}

enum vbs_status cli_find_shipped_profile(struct cli *cli, const char *name, char **path)
{
    static const char *const BESIDE[] = {"/../share/vbslab/profiles", "/../db/profiles"};
    const char *data = getenv("VBSLAB_DATA");
    char root[PATH_MAX];
    enum vbs_status status = find(cli, "profiles", BESIDE, name, root, path);

    if (status != VBS_OK || *path)
        return status;
    return vbs_fail(&cli->ctx, VBS_IO,
                    data && data[0]
                        ? "there is no profile '%s' in '%.200s/profiles', the folder that "
                          "VBSLAB_DATA names"
                        : "the profile '%s' is not installed beside '%.200s'; VBSLAB_DATA "
                          "names the folder that has it in profiles/",
                    name, root);
}

enum vbs_status cli_find_experiments(struct cli *cli, char **folder)
{
    static const char *const BESIDE[] = {"/../share/vbslab", "/.."};
    char root[PATH_MAX];
    enum vbs_status status = find(cli, ".", BESIDE, "experiments", root, folder);

    if (status != VBS_OK || *folder)
        return status;
    return vbs_fail(&cli->ctx, VBS_IO,
                    "there is no folder 'experiments' in or beside '%.200s'; VBSLAB_DATA names the "
                    "folder that has it",
                    root);
}
