/* exercise --sheet: variants of a level, and the key to them. */
#include "base/fail.h"
#include "base/text.h"
#include "cli/exercise/exercise.h"

#include <string.h>

void exercise_name_key(const char *output, bool is_folder, struct vbs_text *text)
{
    const char *ending = strrchr(output, '.');
    size_t length = strlen(output);

    if (is_folder) {
        while (length > 1 && output[length - 1] == '/')
            length--;
        vbs_text_add_bytes(text, output, length);
        vbs_text_add(text, "-key.md");
        return;
    }
    if (ending && !strchr(ending, '/') && ending > output && ending[-1] != '/')
        length = (size_t)(ending - output);
    vbs_text_add_bytes(text, output, length);
    vbs_text_addf(text, "-key%s", output + length);
}

/* Writes the key first: a sheet is never there without its key. */
static enum vbs_status write_sheet(struct cli *cli, const struct exercise_words *words, int64_t n,
                                   const char *output, const char *key)
{
    struct vbs_exercise_sheet sheet = {0};
    enum vbs_status status =
        vbs_exercise_sheet_make(&cli->ctx, (int)words->level, words->seed, (int)n, &sheet);

    if (status == VBS_OK)
        status = vbs_write_file(&cli->ctx, key, sheet.key, strlen(sheet.key));
    if (status == VBS_OK)
        status = vbs_write_file(&cli->ctx, output, sheet.text, strlen(sheet.text));
    if (status == VBS_OK)
        cli_note(cli, "%lld variants in '%.200s', their key in '%.200s'", (long long)n, output,
                 key);
    vbs_exercise_sheet_clear(&sheet);
    return status;
}

enum vbs_status exercise_write_sheet(struct cli *cli, const char *const *values,
                                     const struct exercise_words *words)
{
    const char *output = cli_value(cli, values, "output"), *key = cli_value(cli, values, "key");
    struct vbs_text name = {0};
    int64_t n = 0;
    enum vbs_status status;

    VBS_TRY(cli_read_whole(cli, values, "sheet", 1, VBS_MAX_SHEET, &n));
    if (!key)
        exercise_name_key(output, false, &name);
    status = name.failed ? vbs_no_memory(&cli->ctx)
                         : write_sheet(cli, words, n, output, key ? key : name.data);
    vbs_text_clear(&name);
    return status;
}
