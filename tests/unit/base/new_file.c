/* Files that appear under their names only when they are complete. */
#include "base/new_file.h"

#include "support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/t_new_file.XXXXXX";

/* Gives the path of a file in the folder. */
static const char *in_folder(const char *name, char path[80])
{
    snprintf(path, 80, "%s/%s", folder, name);
    return path;
}

static int count_files(void)
{
    DIR *open = opendir(folder);
    int n = 0;

    for (struct dirent *entry; open && (entry = readdir(open));)
        n += entry->d_name[0] != '.';
    if (open)
        closedir(open);
    return n;
}

/* Gives whether a file has this text. */
static bool has(const char *path, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(path, "rb");
    bool same =
        file && fread(found, 1, sizeof found - 1, file) == strlen(text) && strcmp(found, text) == 0;

    if (file)
        fclose(file);
    return same;
}

static void write_text(const char *path, const char *text)
{
    struct vbs_new_file file = {0};
    struct vbs_ctx ctx = {0};
    int64_t n = (int64_t)strlen(text);
    int before = count_files();

    ok(vbs_new_file_open(&ctx, path, &file) == VBS_OK &&
           vbs_new_file_write(&ctx, &file, 1, text + 1, n - 1) == VBS_OK &&
           vbs_new_file_write(&ctx, &file, 0, text, 1) == VBS_OK && !has(path, text) &&
           count_files() <= before + 1,
       "'%s' is written", text);
    ok(vbs_new_file_commit(&ctx, &file) == VBS_OK && has(path, text), "and gets its name");
    vbs_new_file_abandon(&file);
}

/* A file behind a link that leads nowhere yet, which the caller goes on with. */
static void test_publish(void)
{
    char path[80], link[80];
    struct vbs_new_file file = {0};
    struct vbs_ctx ctx = {0};
    struct stat about = {0};
    int descriptor = -1, before = count_files();

    in_folder("p", path);
    in_folder("q", link);
    ok(symlink("p", link) == 0 && vbs_new_file_open(&ctx, link, &file) == VBS_OK &&
           vbs_new_file_write(&ctx, &file, 0, "fourth", 6) == VBS_OK && access(path, F_OK) != 0,
       "a file behind a dangling link");
    ok(vbs_new_file_publish(&ctx, &file, &descriptor) == VBS_OK && has(path, "fourth") &&
           lstat(link, &about) == 0 && S_ISLNK(about.st_mode),
       "gets the name to which the link leads");
    ok(vbs_write_at(descriptor, 0, "F", 1) == 0 && has(path, "Fourth"), "and stays open");
    vbs_new_file_abandon(&file);
    close(descriptor);
    unlink(path);
    unlink(link);
    ok(symlink("q", link) == 0 && vbs_new_file_open(&ctx, link, &file) == VBS_IO &&
           strstr(ctx.detail, "symbolic links"),
       "a link to itself is refused: %s", ctx.detail);
    vbs_new_file_abandon(&file);
    unlink(link);
    is_int(vbs_write_at(-1, 0, "", 1), EBADF, "writing says why it failed");
    is_int(count_files(), before, "nothing else is left");
}

int main(void)
{
    char path[80], link[80];
    struct vbs_new_file file = {0};
    struct vbs_ctx ctx = {0};
    struct stat about = {0};

    if (!mkdtemp(folder))
        bail_out("no folder for files");
    in_folder("a", path);
    in_folder("l", link);
    write_text(path, "first");
    ok(chmod(path, 0640) == 0 && symlink("a", link) == 0, "a file with a mode, and a link to it");
    write_text(link, "second");
    ok(has(path, "second") && stat(path, &about) == 0 && (about.st_mode & 0777) == 0640 &&
           lstat(link, &about) == 0 && S_ISLNK(about.st_mode),
       "a link is followed, and the mode is kept");
    ok(vbs_new_file_open(&ctx, path, &file) == VBS_OK &&
           vbs_new_file_write(&ctx, &file, 0, "third", 5) == VBS_OK,
       "a file that is not finished");
    vbs_new_file_abandon(&file);
    ok(has(path, "second") && count_files() == 2, "leaves the old one, and nothing else");
    ok(vbs_new_file_open(&ctx, folder, &file) == VBS_IO && strstr(ctx.detail, "no regular file"),
       "a folder is refused");
    vbs_new_file_abandon(&file);
    ok(vbs_new_file_open(&ctx, "/tmp/none/there/a", &file) == VBS_IO &&
           strstr(ctx.detail, "cannot create '/tmp/none/there/a'"),
       "and a folder that is not there");
    test_publish();
    unlink(path);
    unlink(link);
    rmdir(folder);
    return done_testing();
}
