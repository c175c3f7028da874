/* A touched page that its file has lost, or that cannot be read, brings SIGBUS to the thread that touched it. The handler
 * ends the copy that this thread is in, and only if the page is one that it copies from: everything else that brings
 * SIGBUS ends the process as if there were no handler. Nothing is shared between threads, and no mapping changes. */
#define _POSIX_C_SOURCE 200809L
#include "guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

struct copy {
    sigjmp_buf end;
    uintptr_t start;
    uintptr_t stop;
};

static _Thread_local struct copy *volatile current; /* the copy that the thread is in */

static void on_sigbus(int signal_n, siginfo_t *info, void *context)
{
    (void)context;
    struct copy *copy = current;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (copy != NULL && info->si_code > 0 && address >= copy->start && address < copy->stop)
        siglongjmp(copy->end, 1);
    signal(signal_n, SIG_DFL);
    raise(signal_n); /* not blocked: SA_NODEFER */
}

bool ps_install_guard(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) == 0;
}

bool ps_copy_guarded(void *out, const void *in, size_t n)
{
    struct copy copy = {.start = (uintptr_t)in, .stop = (uintptr_t)in + n};
    if (sigsetjmp(copy.end, 0) != 0) { /* the mask is as it was: the handler blocks nothing */
        current = NULL;
        return false;
    }
    current = &copy;
    memcpy(out, in, n);
    current = NULL;
    return true;
}
