/*
 * An owner is written as "BOOT SPACE PID START HOST": the kernel's id of this boot, its name for
 * the process id namespace, the process id there, when the process started in ticks since boot, and
 * the name of the machine. A process id alone may belong to another process by now; together with
 * the start it is unique.
 *
 * A process of an earlier boot of this machine is gone. The processes of another namespace (another
 * container) or another machine cannot be seen from here. Such an owner counts as alive while it
 * has stored something within the last ten minutes, by a clock that may differ from this one by as
 * much. Where it is taken for gone and still runs, nothing is lost nor counted twice: whatever it
 * stores next is refused, because it is no longer the owner. Owners without a name of the machine,
 * which earlier versions wrote, count as owners of this one.
 */
#include "base/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define UNSEEN_LIMIT_S 600

struct owner {
    char boot[48];
    char space[32];
    int pid;
    unsigned long long start;       /* 0: unknown */
    char host[VBS_OWNER_HOST_SIZE]; /* "": unknown */
};

/* Reads the first word of a small file, or "-". */
static void read_word(const char *path, char *word, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t length = 0;

    if (file) {
        length = fread(word, 1, size - 1, file);
        fclose(file);
    }
    word[length] = '\0';
    word[strcspn(word, " \t\n")] = '\0';
    if (word[0] == '\0')
        snprintf(word, size, "-");
}

/* Reads the state letter and the start of a process; false when /proc does not show them. */
static bool read_process(int pid, char *state, unsigned long long *start)
{
    char path[40], text[1024], *after_name;
    size_t length;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    after_name = strrchr(text, ')'); /* the name of the process may contain parentheses */
    if (!after_name)
        return false;
    /* These are fields 3 and 22 of proc(5). */
    return sscanf(after_name + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%llu",
                  state, start) == 2;
}

static struct owner self(void)
{
    struct owner owner = {.pid = (int)getpid()};
    ssize_t length;
    char state;

    read_word("/proc/sys/kernel/random/boot_id", owner.boot, sizeof owner.boot);
    length = readlink("/proc/self/ns/pid", owner.space, sizeof owner.space - 1);
    if (length <= 0)
        snprintf(owner.space, sizeof owner.space, "-");
    if (!read_process(owner.pid, &state, &owner.start))
        owner.start = 0;
    read_word("/proc/sys/kernel/hostname", owner.host, sizeof owner.host);
    return owner;
}

void vbs_owner_self(char owner[VBS_OWNER_SIZE])
{
    struct owner own = self();

    snprintf(owner, VBS_OWNER_SIZE, "%s %s %d %llu %s", own.boot, own.space, own.pid, own.start,
             own.host);
}

static bool read_owner(const char *text, struct owner *owner)
{
    int n = sscanf(text, "%47s %31s %d %llu %64s", owner->boot, owner->space, &owner->pid,
                   &owner->start, owner->host);

    if (n == 4)
        owner->host[0] = '\0';
    return n >= 4 && owner->pid > 0;
}

/* Gives whether a process of this boot and namespace runs. */
static bool runs(const struct owner *other)
{
    unsigned long long start;
    char state;

    if (!read_process(other->pid, &state, &start))
        return kill(other->pid, 0) == 0 || errno == EPERM;
    return state != 'Z' && state != 'X' && (other->start == 0 || start == other->start);
}

/* Gives whether the owner is of another machine, as far as names tell. */
static bool is_elsewhere(const struct owner *own, const struct owner *other)
{
    return other->host[0] && strcmp(own->host, other->host) != 0;
}

/* Returns whether an owner that cannot be seen counts as alive. */
static bool is_recent(int64_t touched_s)
{
    return touched_s > -UNSEEN_LIMIT_S && touched_s < UNSEEN_LIMIT_S;
}

bool vbs_owner_is_alive(const char *text, int64_t touched_s)
{
    struct owner own = self(), other;
    bool same_boot;

    if (!read_owner(text, &other))
        return false;
    same_boot = strcmp(own.boot, other.boot) == 0;
    if (same_boot && strcmp(own.space, other.space) == 0)
        return runs(&other);
    if (!same_boot && !is_elsewhere(&own, &other))
        return false;
    return is_recent(touched_s);
}

bool vbs_owner_is_elsewhere(const char *text, int64_t touched_s, char host[VBS_OWNER_HOST_SIZE])
{
    struct owner own = self(), other;

    if (!read_owner(text, &other) || strcmp(own.boot, other.boot) == 0 ||
        !is_elsewhere(&own, &other) || !is_recent(touched_s))
        return false;
    strcpy(host, other.host);
    return true;
}

int vbs_owner_process(const char *text)
{
    struct owner owner;

    return read_owner(text, &owner) ? owner.pid : 0;
}

enum vbs_owner_state vbs_owner_look(const char *text)
{
    struct owner own = self(), other;

    if (!read_owner(text, &other) || strcmp(own.boot, other.boot) != 0 ||
        strcmp(own.space, other.space) != 0)
        return VBS_OWNER_UNSEEN;
    return runs(&other) ? VBS_OWNER_RUNS : VBS_OWNER_GONE;
}
