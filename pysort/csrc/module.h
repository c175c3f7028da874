/* What the files of the extension module share. They alone know Python.h. */
#ifndef PYSORT_MODULE_H
#define PYSORT_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernel.h"

#define GIL_THRESHOLD (64 * 1024) /* bytes of work; below it, giving up the GIL costs more than it frees */

/* Runs `call` without the GIL when it is over more than GIL_THRESHOLD bytes. */
#define WITHOUT_GIL(work, call)                                                                                        \
    do {                                                                                                               \
        PyThreadState *saved = (size_t)(work) > GIL_THRESHOLD ? PyEval_SaveThread() : NULL;                            \
        call;                                                                                                          \
        if (saved != NULL)                                                                                             \
            PyEval_RestoreThread(saved);                                                                               \
    } while (0)

struct arguments {
    Py_buffer program;
    Py_buffer arena;
    Py_buffer cursors;
    Py_buffer state;
    Py_buffer out;
    Py_buffer part;
    const struct ps_locale *locale; /* kept alive by the caller's reference */
};

static inline int ps_is_aligned(const void *p)
{
    return (uintptr_t)p % sizeof(uint64_t) == 0;
}

void ps_release(struct arguments *args);

/* The same, and ValueError. */
PyObject *ps_refuse(struct arguments *args, const char *why);

/* The program, and `n` records with `arrays - 1` times as many below them below `top`, or the reason why not. */
const char *ps_check_records(const struct arguments *args, Py_ssize_t top, Py_ssize_t n, Py_ssize_t arrays);

/* module_locale.c. Converter: a locale that open_locale returned, or None. */
int ps_as_locale(PyObject *object, void *address);

/* NULL, or why the program cannot be followed with this locale. */
const char *ps_check_locale(const struct arguments *args);

/* Functions of the module that are not in module.c. */
PyObject *ps_py_open_locale(PyObject *self, PyObject *tuple);
PyObject *ps_py_locale_facts(PyObject *self, PyObject *tuple);
PyObject *ps_py_differing(PyObject *self, PyObject *tuple);
PyObject *ps_py_count_digits(PyObject *self, PyObject *tuple);
PyObject *ps_py_distribute(PyObject *self, PyObject *tuple);
PyObject *ps_py_split(PyObject *self, PyObject *tuple);
PyObject *ps_py_sort_part(PyObject *self, PyObject *tuple);
PyObject *ps_py_merge(PyObject *self, PyObject *tuple);
PyObject *ps_py_bound(PyObject *self, PyObject *tuple);
PyObject *ps_py_cut(PyObject *self, PyObject *tuple);
PyObject *ps_py_merge_state_bytes(PyObject *self, PyObject *argument);

#endif
