#include "cli/common/folder.h"

#include "base/fail.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool is_empty(const char *folder)
{
    DIR *opened = opendir(folder);
    int n = 0;

    if (!opened)
        return false;
    while (n <= 2 && readdir(opened))
        n++;
    closedir(opened);
    return n <= 2; /* the folder itself and the one above */
}

enum vbs_status cli_make_folder(struct cli *cli, const char *folder)
{
    int error = mkdir(folder, 0777) != 0 ? errno : 0;

    if (error == 0 || (error == EEXIST && is_empty(folder)))
        return VBS_OK;
    if (error == EEXIST)
        return vbs_fail(&cli->ctx, VBS_IO,
                        "'%s' is there already and no empty folder; name a new one", folder);
    return vbs_fail(&cli->ctx, VBS_IO, "cannot make the folder '%s': %s", folder, strerror(error));
}
