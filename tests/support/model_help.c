#include "support/model_help.h"

#include "base/ctx.h"
#include "support/bail_out.h"

#include <string.h>

struct vbs_network *parse_network(const char *text)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_parse(&ctx, "test", text, strlen(text), NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return network;
}
