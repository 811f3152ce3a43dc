/*
 * Ctrl-C during a call of the library. Python's own handler of SIGINT only notes the signal, and
 * the interpreter looks at it when the call has returned, which may be minutes later. So while a
 * call of the main thread is under way another handler sets the flag that ends the call.
 * vbspy_unwatch tells whether the signal came, and the caller raises it again for Python, after it
 * has taken over the results of the call.
 */
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t *vbspy_cancel;
static volatile sig_atomic_t vbspy_came;
static struct sigaction vbspy_before;
static int vbspy_watching;

static void vbspy_on_interrupt(int number)
{
    (void)number;
    vbspy_came = 1;
    if (vbspy_cancel)
        *vbspy_cancel = 1;
}

/* From now on SIGINT sets *cancel. Nothing is done where the process ignores SIGINT, or where the
 * signal ends it. Called by the main thread only, never twice without vbspy_unwatch between. */
static void vbspy_watch(volatile sig_atomic_t *cancel)
{
    struct sigaction watch = {.sa_handler = vbspy_on_interrupt};

    vbspy_came = 0;
    vbspy_cancel = cancel;
    vbspy_watching = 0;
    sigemptyset(&watch.sa_mask);
    if (sigaction(SIGINT, NULL, &vbspy_before) != 0)
        return;
    if (!(vbspy_before.sa_flags & SA_SIGINFO) &&
        (vbspy_before.sa_handler == SIG_IGN || vbspy_before.sa_handler == SIG_DFL))
        return;
    vbspy_watching = sigaction(SIGINT, &watch, NULL) == 0;
}

/* Ends this, and gives whether the signal came. */
static int vbspy_unwatch(void)
{
    if (vbspy_watching)
        sigaction(SIGINT, &vbspy_before, NULL);
    vbspy_watching = 0;
    vbspy_cancel = NULL;
    return vbspy_came;
}
