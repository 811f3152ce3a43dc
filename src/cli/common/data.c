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

enum vbs_status cli_find_shipped_profile(struct cli *cli, const char *name, char **path)
{
    static const char *const BESIDE[] = {"/../share/vbslab/profiles", "/../db/profiles"};
    const char *data = getenv("VBSLAB_DATA");
    char program[PATH_MAX];
    const char *root = data && data[0] ? data : program_folder(program);
    size_t n = root == data ? 1 : sizeof BESIDE / sizeof BESIDE[0];

    for (size_t i = 0; i < n; i++) {
        struct vbs_text text = {0};

        vbs_text_addf(&text, "%s%s/%s", root, root == data ? "/profiles" : BESIDE[i], name);
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
    return vbs_fail(&cli->ctx, VBS_IO,
                    root == data ? "there is no profile '%s' in '%.200s/profiles', the folder that "
                                   "VBSLAB_DATA names"
                                 : "the profile '%s' is not installed beside '%.200s'; VBSLAB_DATA "
                                   "names the folder that has it in profiles/",
                    name, root);
}
