/* One process at a time has the machine alone: it waits for those that share, none begins to share
 * behind it, and what a process held is free when it ends. Descriptors of one process hold locks of
 * their own, and stand for processes here. */
#include "base/node.h"

#include "base/owner.h"
#include "support/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_lock(const char *folder)
{
    struct vbs_node_lock a, b, c;

    if (vbs_node_open(NULL, folder, &a) != VBS_OK || vbs_node_open(NULL, folder, &b) != VBS_OK ||
        vbs_node_open(NULL, folder, &c) != VBS_OK)
        bail_out("no locks");
    ok(vbs_node_share(&a) && vbs_node_share(&b), "two processes share the machine");
    ok(!vbs_node_take(&c) && c.hold == VBS_NODE_WANTED, "a third one does not get it alone");
    ok(vbs_node_is_wanted(&a) && vbs_node_is_wanted(&b) && !vbs_node_is_wanted(&c),
       "the others see that it is wanted");
    vbs_node_release(&a);
    ok(!vbs_node_share(&a), "one that has given its share back gets none while it is wanted");
    ok(!vbs_node_take(&c), "one share is left");
    ok(!vbs_node_take(&b) && b.hold == VBS_NODE_FREE,
       "only one process can want it, and another one that does gives its share back");
    ok(vbs_node_take(&c) && vbs_node_take(&c), "then the third one has it alone");
    ok(!vbs_node_share(&a) && !vbs_node_take(&b), "and no other");
    vbs_node_close(&c);
    ok(vbs_node_share(&a), "when it ends, others share again");
    ok(vbs_node_take(&a), "the last that shares can take it");
    vbs_node_release(&a);
    ok(vbs_node_share(&b), "a release frees it");
    vbs_node_close(&a);
    vbs_node_close(&b);
}

static void check_owner(void)
{
    char own[VBS_OWNER_SIZE], of_child[VBS_OWNER_SIZE] = "";
    int ends[2];
    pid_t child;

    vbs_owner_self(own);
    ok(vbs_owner_look(own) == VBS_OWNER_RUNS, "this process runs");
    if (pipe(ends) != 0)
        bail_out("no pipe");
    child = fork();
    if (child == 0) {
        vbs_owner_self(of_child);
        _exit(write(ends[1], of_child, sizeof of_child) != (ssize_t)sizeof of_child);
    }
    if (child < 0 || read(ends[0], of_child, sizeof of_child) != (ssize_t)sizeof of_child ||
        waitpid(child, NULL, 0) != child)
        bail_out("no child");
    ok(vbs_owner_look(of_child) == VBS_OWNER_GONE, "a process that has ended is gone");
    own[0] = own[0] == '0' ? '1' : '0';
    ok(vbs_owner_look(own) == VBS_OWNER_UNSEEN, "one of another boot cannot be seen");
    ok(vbs_owner_look("") == VBS_OWNER_UNSEEN && vbs_owner_look("a b") == VBS_OWNER_UNSEEN,
       "neither can one whose name is cut");
}

int main(void)
{
    char folder[] = "/tmp/vbslab-node-XXXXXX", path[80];
    struct vbs_ctx ctx = {0};
    struct vbs_node_lock node;

    if (!mkdtemp(folder))
        bail_out("no folder");
    check_lock(folder);
    check_owner();
    snprintf(path, sizeof path, "%s/vbslab-gate.lock", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/vbslab-node.lock", folder);
    unlink(path);
    rmdir(folder);
    ok(vbs_node_open(&ctx, folder, &node) == VBS_IO, "a folder that is not there is named: %s",
       folder);
    vbs_node_close(&node);
    return done_testing();
}
