#include "cli/print/text.h"

#include "base/fail.h"
#include "base/text.h"

#include <stdio.h>

enum vbs_status cli_text_print(struct cli *cli, struct vbs_text *text)
{
    enum vbs_status status = VBS_OK;

    if (text->failed)
        status = vbs_no_memory(&cli->ctx);
    else
        fputs(text->data, stdout);
    vbs_text_clear(text);
    return status;
}
