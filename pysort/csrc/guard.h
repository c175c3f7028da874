/* Copying out of mappings of files that others may cut short: the one signal handler of pysort. */
#ifndef PYSORT_GUARD_H
#define PYSORT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Installs the handler of SIGBUS, for the whole process. False, with errno, when that cannot be done. */
bool ps_install_guard(void);

/* Copies n bytes, which do not overlap. False when a page of `in` could not be had, because its file was cut short or
 * cannot be read; what `out` holds is not defined then. Requires the handler; without it the process ends. Any number of
 * threads may copy at a time. */
bool ps_copy_guarded(void *out, const void *in, size_t n);

#endif
