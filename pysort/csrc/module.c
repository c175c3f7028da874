/* The extension module pysort._kernel: checks arguments, drops the GIL, calls the kernel. Nothing else is here. The
 * functions and their arguments are those of _kernel_py.py. */
#include "module.h"

#include "guard.h"

#define ARENA_LIMIT ((size_t)UINT32_MAX)

void ps_release(struct arguments *args)
{
    Py_buffer *buffers[] = {&args->program, &args->arena, &args->cursors, &args->state, &args->out,
                            &args->part};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]->obj != NULL)
            PyBuffer_Release(buffers[i]);
}

PyObject *ps_refuse(struct arguments *args, const char *why)
{
    ps_release(args);
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

const char *ps_check_records(const struct arguments *args, Py_ssize_t top, Py_ssize_t n, Py_ssize_t arrays)
{
    if (!ps_is_aligned(args->program.buf) || !ps_program_is_valid(args->program.buf, (size_t)args->program.len))
        return "not a key program";
    if ((size_t)args->arena.len > ARENA_LIMIT)
        return "arena of 4 GiB or more";
    if (top < 0 || top > args->arena.len || top % 16 != 0 || !ps_is_aligned((char *)args->arena.buf + top))
        return "top is not an aligned place in the arena";
    if (n < 0 || n > top / 16 / arrays)
        return "more records than fit below top";
    return NULL;
}

static PyObject *scan(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t start, stop, top, n, n_max;
    int counted = 0;
    if (!PyArg_ParseTuple(tuple, "y*w*nnnnn|p:scan", &args.program, &args.arena, &start, &stop, &top, &n, &n_max,
                          &counted)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n_max, 1);
    if (why == NULL && (start < 0 || start > stop || stop > args.arena.len))
        why = "start and stop are not in the arena";
    if (why == NULL && (n < 0 || n > n_max))
        why = "n is more than n_max";
    if (why != NULL)
        return ps_refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    size_t consumed = 0, longest = 0, count = 0;
    WITHOUT_GIL(stop - start, count = ps_scan(args.program.buf, arena, (size_t)start, (size_t)stop, arena + top,
                                              (size_t)n, (size_t)n_max, counted, &consumed, &longest));
    ps_release(&args);
    return Py_BuildValue("nnn", (Py_ssize_t)count, (Py_ssize_t)consumed, (Py_ssize_t)longest);
}

static PyObject *encode(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, first, last, at, limit;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nnnnn:encode", &args.program, ps_as_locale, &args.locale, &args.arena, &top,
                          &first, &last, &at, &limit)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, last, 1);
    if (why == NULL && (first < 0 || first > last))
        why = "first is more than last";
    if (why == NULL && (at < 0 || limit > args.arena.len))
        why = "keys are not in the arena";
    if (why == NULL)
        why = ps_check_locale(&args);
    if (why != NULL)
        return ps_refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    size_t end = (size_t)at, done = 0;
    WITHOUT_GIL(limit - at, done = ps_encode(args.program.buf, args.locale, arena, arena + top,
                                                      (size_t)first, (size_t)last, &end,
                                                      limit < 0 ? 0 : (size_t)limit));
    ps_release(&args);
    return Py_BuildValue("nn", (Py_ssize_t)done, (Py_ssize_t)end);
}

static PyObject *drop(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*w*nn:drop", &args.program, &args.arena, &top, &n)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n, 1);
    if (why != NULL)
        return ps_refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    size_t kept = (size_t)n;
    const struct ps_program *program = args.program.buf;
    if (program->flags & PS_COUNT)
        WITHOUT_GIL(n * 16, kept = ps_fold(program, arena, arena + top, (size_t)n));
    else if (program->flags & PS_UNIQUE)
        WITHOUT_GIL(n * 16, kept = ps_drop(arena + top, (size_t)n));
    ps_release(&args);
    return PyLong_FromSize_t(kept);
}

static PyObject *line(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, index;
    if (!PyArg_ParseTuple(tuple, "y*w*nn:line", &args.program, &args.arena, &top, &index)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = index < 0 ? "no such record" : ps_check_records(&args, top, index + 1, 1);
    if (why != NULL)
        return ps_refuse(&args, why);
    const struct ps_header header = ps_line_at(args.program.buf, args.arena.buf, (uint8_t *)args.arena.buf + top,
                                               (size_t)index);
    ps_release(&args);
    return Py_BuildValue("nn", (Py_ssize_t)header.offset, (Py_ssize_t)header.length);
}

static PyObject *check_order(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nn:check", &args.program, ps_as_locale, &args.locale, &args.arena, &top, &n)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n, 1);
    if (why == NULL)
        why = ps_check_locale(&args);
    if (why != NULL)
        return ps_refuse(&args, why);
    const uint8_t *arena = args.arena.buf;
    size_t index = 0;
    WITHOUT_GIL(n * 16, index = ps_check(args.program.buf, args.locale, arena, arena + top, (size_t)n));
    ps_release(&args);
    return index == PS_NO_MEMORY ? PyErr_NoMemory() : PyLong_FromSize_t(index);
}

static PyObject *check_text(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(tuple, "y*y*nn:check_text", &args.program, &args.arena, &start, &stop)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, 0, 0, 1);
    if (why == NULL && (start < 0 || start > stop || stop > args.arena.len))
        why = "start and stop are not in the arena";
    if (why == NULL && ((const struct ps_program *)args.program.buf)->segment_n > 0)
        why = "not the plain order";
    if (why != NULL)
        return ps_refuse(&args, why);
    size_t at = 0, line_n = 0;
    WITHOUT_GIL(stop - start, at = ps_check_text(args.program.buf, args.arena.buf, (size_t)start, (size_t)stop, &line_n));
    ps_release(&args);
    return Py_BuildValue("nn", (Py_ssize_t)line_n, (Py_ssize_t)at);
}

static PyObject *presorted(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nn:presorted", &args.program, ps_as_locale, &args.locale, &args.arena, &top, &n)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n, 1);
    if (why == NULL)
        why = ps_check_locale(&args);
    if (why != NULL)
        return ps_refuse(&args, why);
    const uint8_t *arena = args.arena.buf;
    int direction = 0;
    WITHOUT_GIL(n * 16, direction = ps_presorted(args.program.buf, args.locale, arena, arena + top, (size_t)n));
    ps_release(&args);
    return PyLong_FromLong(direction);
}

static PyObject *gather(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t records_at, n, index_in, skip_in;
    if (!PyArg_ParseTuple(tuple, "y*w*nnnnw*:gather", &args.program, &args.arena, &records_at, &n, &index_in, &skip_in,
                          &args.out)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = records_at < 0 || n < 0 || n > (args.arena.len - records_at) / 16
                          ? "records are not in the arena"
                          : ps_check_records(&args, records_at + n * 16, n, 1);
    if (why == NULL && (index_in < 0 || index_in > n || skip_in < 0))
        why = "index is not that of a record";
    const uint8_t *arena = args.arena.buf;
    const struct ps_record *records = why ? NULL : (const struct ps_record *)(const void *)(arena + records_at);
    const size_t behind = why == NULL && ((const struct ps_program *)args.program.buf)->flags & PS_COUNT ? PS_COUNT_MAX : 0;
    if (why == NULL && skip_in > 0 && (index_in == n || (size_t)skip_in > records[index_in].length + behind))
        why = "skip is longer than the line";
    if (why != NULL)
        return ps_refuse(&args, why);
    size_t index = (size_t)index_in, skip = (size_t)skip_in, used = 0;
    WITHOUT_GIL(args.out.len, used = ps_gather(args.program.buf, arena, records, (size_t)n, &index, &skip,
                                               args.out.buf, (size_t)args.out.len));
    ps_release(&args);
    return Py_BuildValue("nnn", (Py_ssize_t)index, (Py_ssize_t)skip, (Py_ssize_t)used);
}

static PyObject *show_counts(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    if (!PyArg_ParseTuple(tuple, "y*y*w*:show_counts", &args.program, &args.arena, &args.out)) {
        ps_release(&args);
        return NULL;
    }
    const struct ps_program *program = args.program.buf;
    if (!ps_is_aligned(program) || !ps_program_is_valid(program, (size_t)args.program.len) || !(program->flags & PS_COUNT))
        return ps_refuse(&args, "not a key program that counts lines");
    size_t consumed = 0, used = 0;
    WITHOUT_GIL(args.arena.len, used = ps_show_counts(program, args.arena.buf, (size_t)args.arena.len, &consumed,
                                                      args.out.buf, (size_t)args.out.len));
    ps_release(&args);
    return Py_BuildValue("nn", (Py_ssize_t)consumed, (Py_ssize_t)used);
}

static PyObject *install_guard(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    if (!ps_install_guard())
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *copy_guarded(PyObject *self, PyObject *tuple)
{
    (void)self;
    Py_buffer source, target;
    if (!PyArg_ParseTuple(tuple, "y*w*:copy_guarded", &source, &target))
        return NULL;
    PyObject *came = NULL;
    if (source.len == target.len) {
        bool whole;
        WITHOUT_GIL(source.len, whole = ps_copy_guarded(target.buf, source.buf, (size_t)source.len));
        came = PyBool_FromLong(whole);
    } else {
        PyErr_SetString(PyExc_ValueError, "source and target differ in length");
    }
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    return came;
}

static PyObject *checksum(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t block_bytes, filled;
    unsigned int value;
    if (!PyArg_ParseTuple(tuple, "y*nnIw*:checksum", &args.arena, &block_bytes, &filled, &value, &args.out)) {
        ps_release(&args);
        return NULL;
    }
    if (block_bytes < 1 || filled < 0 || filled >= block_bytes)
        return ps_refuse(&args, "not a block that has room");
    if ((args.out.len > 0 && (uintptr_t)args.out.buf % sizeof(uint32_t) != 0) ||
        ((size_t)filled + (size_t)args.arena.len) / (size_t)block_bytes > (size_t)args.out.len / sizeof(uint32_t))
        return ps_refuse(&args, "no room for the checksums");
    uint32_t last = value;
    size_t n = 0;
    /* 16 times as fast as other work. */
    WITHOUT_GIL(args.arena.len / 16, n = ps_checksum(args.arena.buf, (size_t)args.arena.len, (size_t)block_bytes,
                                                (size_t)filled, &last, args.out.buf));
    ps_release(&args);
    return Py_BuildValue("nk", (Py_ssize_t)n, (unsigned long)last);
}

/* Where the processor can: Python's own is as fast elsewhere. */
static PyMethodDef checksum_methods[] = {
    {"checksum", checksum, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, NULL},
    {"encode", encode, METH_VARARGS, NULL},
    {"differing", ps_py_differing, METH_VARARGS, NULL},
    {"count_digits", ps_py_count_digits, METH_VARARGS, NULL},
    {"distribute", ps_py_distribute, METH_VARARGS, NULL},
    {"split", ps_py_split, METH_VARARGS, NULL},
    {"sort_part", ps_py_sort_part, METH_VARARGS, NULL},
    {"drop", drop, METH_VARARGS, NULL},
    {"line", line, METH_VARARGS, NULL},
    {"check", check_order, METH_VARARGS, NULL},
    {"check_text", check_text, METH_VARARGS, NULL},
    {"presorted", presorted, METH_VARARGS, NULL},
    {"gather", gather, METH_VARARGS, NULL},
    {"show_counts", show_counts, METH_VARARGS, NULL},
    {"merge", ps_py_merge, METH_VARARGS, NULL},
    {"bound", ps_py_bound, METH_VARARGS, NULL},
    {"cut", ps_py_cut, METH_VARARGS, NULL},
    {"locale_facts", ps_py_locale_facts, METH_VARARGS, NULL},
    {"open_locale", ps_py_open_locale, METH_VARARGS, NULL},
    {"merge_state_bytes", ps_py_merge_state_bytes, METH_O, NULL},
    {"install_guard", install_guard, METH_NOARGS, NULL},
    {"copy_guarded", copy_guarded, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module)
{
    if (PyModule_AddStringConstant(module, "NAME", "c") < 0 ||
        PyModule_AddIntConstant(module, "RECORD_BYTES", sizeof(struct ps_record)) < 0 ||
        PyModule_AddIntConstant(module, "HEADER_BYTES", sizeof(struct ps_header)) < 0 ||
        PyModule_AddIntConstant(module, "PART_BYTES", sizeof(struct ps_part)) < 0 ||
        PyModule_AddIntConstant(module, "CURSOR_BYTES", sizeof(struct ps_cursor)) < 0 ||
        PyModule_AddIntConstant(module, "MERGE_DONE", PS_MERGE_DONE) < 0 ||
        PyModule_AddIntConstant(module, "MERGE_FULL", PS_MERGE_FULL) < 0)
        return -1;
    return ps_can_checksum() ? PyModule_AddFunctions(module, checksum_methods) : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "pysort._kernel",
    .m_doc = "The C kernel. _kernel_py.py documents its functions.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
