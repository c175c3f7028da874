/* The extension module pysort._kernel: checks arguments, drops the GIL, calls the kernel. Nothing else is here, and
 * Python.h is nowhere else. The functions and their arguments are those of _kernel_py.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "guard.h"
#include "kernel.h"

#include <ctype.h>
#include <langinfo.h>

#define GIL_THRESHOLD (64 * 1024) /* bytes of work; below it, giving up the GIL costs more than it frees */
#define PART_N 256 /* that ps_split makes at most */
#define ARENA_LIMIT ((size_t)UINT32_MAX)

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

#define LOCALE_CAPSULE "pysort._kernel.locale"

/* Converter: a locale that open_locale returned, or None. */
static int as_locale(PyObject *object, void *address)
{
    const struct ps_locale **locale = address;
    *locale = NULL;
    if (object == Py_None)
        return 1;
    *locale = PyCapsule_GetPointer(object, LOCALE_CAPSULE);
    return *locale != NULL;
}

static void close_locale(PyObject *capsule)
{
    struct ps_locale *locale = PyCapsule_GetPointer(capsule, LOCALE_CAPSULE);
    if (locale == NULL)
        return;
    if (locale->collate != (locale_t)0)
        freelocale(locale->collate);
    if (locale->numeric != (locale_t)0)
        freelocale(locale->numeric);
    PyMem_Free(locale);
}

/* open_locale(collate, numeric, coarse): names of locales, and whether this C library's first-level collation keys are
 * known to agree with strcoll. Raises OSError for a name that the C library does not know. */
static PyObject *open_locale(PyObject *self, PyObject *tuple)
{
    (void)self;
    const char *collate, *numeric;
    int coarse;
    if (!PyArg_ParseTuple(tuple, "yyp:open_locale", &collate, &numeric, &coarse))
        return NULL;
    struct ps_locale *locale = PyMem_Calloc(1, sizeof *locale + sizeof *locale->characters);
    if (locale == NULL)
        return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(locale, LOCALE_CAPSULE, close_locale);
    if (capsule == NULL) {
        PyMem_Free(locale);
        return NULL;
    }
    locale->characters = (struct ps_characters *)(locale + 1);
    locale->collate = newlocale(LC_COLLATE_MASK | LC_CTYPE_MASK, collate, (locale_t)0);
    if (locale->collate != (locale_t)0)
        locale->numeric = newlocale(LC_NUMERIC_MASK | LC_CTYPE_MASK, numeric, (locale_t)0);
    if (locale->numeric == (locale_t)0) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(capsule);
        return NULL;
    }
    ps_locale_prepare(locale, coarse);
    return capsule;
}

/* locale_facts(ctype, numeric, time): what the C library says of single bytes, numbers and months in these locales:
 * (blank, alnum, print, upper: 256 bytes each, decimal point, thousands separator, 12 abbreviated months). Raises OSError
 * for a name that it does not know. */
static PyObject *locale_facts(PyObject *self, PyObject *tuple)
{
    (void)self;
    const char *names[3];
    if (!PyArg_ParseTuple(tuple, "yyy:locale_facts", &names[0], &names[1], &names[2]))
        return NULL;
    const int masks[3] = {LC_CTYPE_MASK, LC_NUMERIC_MASK | LC_CTYPE_MASK, LC_TIME_MASK | LC_CTYPE_MASK};
    locale_t handles[3];
    int opened = 0;
    while (opened < 3 && (handles[opened] = newlocale(masks[opened], names[opened], (locale_t)0)) != (locale_t)0)
        opened++;
    PyObject *facts = NULL;
    if (opened < 3) {
        PyErr_SetFromErrno(PyExc_OSError);
    } else {
        char table[4][256];
        for (int byte = 0; byte < 256; byte++) {
            table[0][byte] = isblank_l(byte, handles[0]) != 0;
            table[1][byte] = isalnum_l(byte, handles[0]) != 0;
            table[2][byte] = isprint_l(byte, handles[0]) != 0;
            table[3][byte] = (char)toupper_l(byte, handles[0]);
        }
        const nl_item months[12] = {ABMON_1, ABMON_2, ABMON_3, ABMON_4,  ABMON_5,  ABMON_6,
                                    ABMON_7, ABMON_8, ABMON_9, ABMON_10, ABMON_11, ABMON_12};
        const char *m[12];
        for (int i = 0; i < 12; i++)
            m[i] = nl_langinfo_l(months[i], handles[2]);
        facts = Py_BuildValue("y#y#y#y#yy(yyyyyyyyyyyy)", table[0], (Py_ssize_t)256, table[1], (Py_ssize_t)256, table[2],
                              (Py_ssize_t)256, table[3], (Py_ssize_t)256, nl_langinfo_l(RADIXCHAR, handles[1]),
                              nl_langinfo_l(THOUSEP, handles[1]), m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8],
                              m[9], m[10], m[11]);
    }
    while (opened > 0)
        freelocale(handles[--opened]);
    return facts;
}

static void release(struct arguments *args)
{
    Py_buffer *buffers[] = {&args->program, &args->arena, &args->cursors, &args->state, &args->out,
                            &args->part};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]->obj != NULL)
            PyBuffer_Release(buffers[i]);
}

static PyObject *refuse(struct arguments *args, const char *why)
{
    release(args);
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

static int is_aligned(const void *p)
{
    return (uintptr_t)p % sizeof(uint64_t) == 0;
}

static const char *check_locale(const struct arguments *args)
{
    return args->locale == NULL && ps_program_needs_locale(args->program.buf) ? "the key program needs a locale" : NULL;
}

/* The program, and `n` records with `scratch` as many below `top`, or the reason why not. */
static const char *check(const struct arguments *args, Py_ssize_t top, Py_ssize_t n, Py_ssize_t arrays)
{
    if (!is_aligned(args->program.buf) || !ps_program_is_valid(args->program.buf, (size_t)args->program.len))
        return "not a key program";
    if ((size_t)args->arena.len > ARENA_LIMIT)
        return "arena of 4 GiB or more";
    if (top < 0 || top > args->arena.len || top % 16 != 0 || !is_aligned((char *)args->arena.buf + top))
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
    if (!PyArg_ParseTuple(tuple, "y*w*nnnnn:scan", &args.program, &args.arena, &start, &stop, &top, &n, &n_max)) {
        release(&args);
        return NULL;
    }
    const char *why = check(&args, top, n_max, 1);
    if (why == NULL && (start < 0 || start > stop || stop > args.arena.len))
        why = "start and stop are not in the arena";
    if (why == NULL && (n < 0 || n > n_max))
        why = "n is more than n_max";
    if (why != NULL)
        return refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    size_t consumed = 0, longest = 0, count = 0;
    WITHOUT_GIL(stop - start, count = ps_scan(args.program.buf, arena, (size_t)start, (size_t)stop, arena + top,
                                              (size_t)n, (size_t)n_max, &consumed, &longest));
    release(&args);
    return Py_BuildValue("nnn", (Py_ssize_t)count, (Py_ssize_t)consumed, (Py_ssize_t)longest);
}

static PyObject *encode(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, first, last, at, limit;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nnnnn:encode", &args.program, as_locale, &args.locale, &args.arena, &top,
                          &first, &last, &at, &limit)) {
        release(&args);
        return NULL;
    }
    const char *why = check(&args, top, last, 1);
    if (why == NULL && (first < 0 || first > last))
        why = "first is more than last";
    if (why == NULL && (at < 0 || limit > args.arena.len))
        why = "keys are not in the arena";
    if (why == NULL)
        why = check_locale(&args);
    if (why != NULL)
        return refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    size_t end = (size_t)at, done = 0;
    WITHOUT_GIL(limit - at, done = ps_encode(args.program.buf, args.locale, arena, arena + top,
                                                      (size_t)first, (size_t)last, &end,
                                                      limit < 0 ? 0 : (size_t)limit));
    release(&args);
    return Py_BuildValue("nn", (Py_ssize_t)done, (Py_ssize_t)end);
}

/* What was parsed for a function that sorts a part, or the reason why it cannot be done. */
static const char *check_part(const struct arguments *args, Py_ssize_t top, Py_ssize_t n)
{
    const char *why = check(args, top, n, 2);
    if (why == NULL)
        why = check_locale(args);
    if (why != NULL)
        return why;
    const struct ps_part *part = args->part.buf;
    if (args->part.len != sizeof *part || !is_aligned(part) || part->start > (uint64_t)n ||
        part->n > (uint64_t)n - part->start || part->shift > PS_FIRST_SHIFT || part->shift % 8 != 0 ||
        (part->flags & PS_PART_DESCENDING && part->n != (uint64_t)n))
        return "not a part of the records";
    return NULL;
}

static PyObject *split(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nny*w*:split", &args.program, as_locale, &args.locale, &args.arena, &top, &n,
                          &args.part, &args.out)) {
        release(&args);
        return NULL;
    }
    const char *why = check_part(&args, top, n);
    if (why == NULL && (args.out.len < (Py_ssize_t)(PART_N * sizeof(struct ps_part)) || !is_aligned(args.out.buf)))
        why = "no room for all parts";
    if (why != NULL)
        return refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    const struct ps_part *part = args.part.buf;
    size_t part_n = 0;
    WITHOUT_GIL(part->n * 16, part_n = ps_split(args.program.buf, args.locale, arena, arena + top, (size_t)n, part,
                                                args.out.buf));
    release(&args);
    return part_n == PS_NO_MEMORY ? PyErr_NoMemory() : PyLong_FromSize_t(part_n);
}

static PyObject *sort_part(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nny*:sort_part", &args.program, as_locale, &args.locale, &args.arena, &top, &n,
                          &args.part)) {
        release(&args);
        return NULL;
    }
    const char *why = check_part(&args, top, n);
    if (why != NULL)
        return refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    const struct ps_part *part = args.part.buf;
    int done = 0;
    WITHOUT_GIL(part->n * 16, done = ps_sort_part(args.program.buf, args.locale, arena, arena + top, (size_t)n, part));
    release(&args);
    if (!done)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *drop(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*w*nn:drop", &args.program, &args.arena, &top, &n)) {
        release(&args);
        return NULL;
    }
    const char *why = check(&args, top, n, 1);
    if (why != NULL)
        return refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    size_t kept = (size_t)n;
    if (((const struct ps_program *)args.program.buf)->flags & PS_UNIQUE)
        WITHOUT_GIL(n * 16, kept = ps_drop(arena + top, (size_t)n));
    release(&args);
    return PyLong_FromSize_t(kept);
}

static PyObject *line(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, index;
    if (!PyArg_ParseTuple(tuple, "y*w*nn:line", &args.program, &args.arena, &top, &index)) {
        release(&args);
        return NULL;
    }
    const char *why = index < 0 ? "no such record" : check(&args, top, index + 1, 1);
    if (why != NULL)
        return refuse(&args, why);
    const struct ps_header header = ps_line_at(args.program.buf, args.arena.buf, (uint8_t *)args.arena.buf + top,
                                               (size_t)index);
    release(&args);
    return Py_BuildValue("nn", (Py_ssize_t)header.offset, (Py_ssize_t)header.length);
}

typedef size_t find_pair(const struct ps_program *, const struct ps_locale *, const uint8_t *, const uint8_t *, size_t);

static PyObject *call_find_pair(find_pair *find, PyObject *tuple)
{
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nn", &args.program, as_locale, &args.locale, &args.arena, &top, &n)) {
        release(&args);
        return NULL;
    }
    const char *why = check(&args, top, n, 1);
    if (why == NULL)
        why = check_locale(&args);
    if (why != NULL)
        return refuse(&args, why);
    const uint8_t *arena = args.arena.buf;
    size_t index = 0;
    WITHOUT_GIL(n * 16, index = find(args.program.buf, args.locale, arena, arena + top, (size_t)n));
    release(&args);
    return index == PS_NO_MEMORY ? PyErr_NoMemory() : PyLong_FromSize_t(index);
}

static PyObject *check_order(PyObject *self, PyObject *tuple)
{
    (void)self;
    return call_find_pair(ps_check, tuple);
}

static PyObject *repeat(PyObject *self, PyObject *tuple)
{
    (void)self;
    return call_find_pair(ps_repeat, tuple);
}

static PyObject *presorted(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nn:presorted", &args.program, as_locale, &args.locale, &args.arena, &top, &n)) {
        release(&args);
        return NULL;
    }
    const char *why = check(&args, top, n, 1);
    if (why == NULL)
        why = check_locale(&args);
    if (why != NULL)
        return refuse(&args, why);
    const uint8_t *arena = args.arena.buf;
    int direction = 0;
    WITHOUT_GIL(n * 16, direction = ps_presorted(args.program.buf, args.locale, arena, arena + top, (size_t)n));
    release(&args);
    return PyLong_FromLong(direction);
}

static PyObject *gather(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t records_at, n, index_in, skip_in;
    if (!PyArg_ParseTuple(tuple, "y*w*nnnnw*:gather", &args.program, &args.arena, &records_at, &n, &index_in, &skip_in,
                          &args.out)) {
        release(&args);
        return NULL;
    }
    const char *why = records_at < 0 || n < 0 || n > (args.arena.len - records_at) / 16
                          ? "records are not in the arena"
                          : check(&args, records_at + n * 16, n, 1);
    if (why == NULL && (index_in < 0 || index_in > n || skip_in < 0))
        why = "index is not that of a record";
    const uint8_t *arena = args.arena.buf;
    const struct ps_record *records = why ? NULL : (const struct ps_record *)(const void *)(arena + records_at);
    if (why == NULL && skip_in > 0 && (index_in == n || (size_t)skip_in > records[index_in].length))
        why = "skip is longer than the line";
    if (why != NULL)
        return refuse(&args, why);
    size_t index = (size_t)index_in, skip = (size_t)skip_in, used = 0;
    WITHOUT_GIL(args.out.len, used = ps_gather(args.program.buf, arena, records, (size_t)n, &index, &skip,
                                               args.out.buf, (size_t)args.out.len));
    release(&args);
    return Py_BuildValue("nnn", (Py_ssize_t)index, (Py_ssize_t)skip, (Py_ssize_t)used);
}

/* Cursors whose windows and records lie in the arena. */
static const char *check_cursors(const struct arguments *args, Py_ssize_t n)
{
    if (!is_aligned(args->program.buf) || !ps_program_is_valid(args->program.buf, (size_t)args->program.len))
        return "not a key program";
    if (n < 1 || n > args->cursors.len / (Py_ssize_t)sizeof(struct ps_cursor) || !is_aligned(args->cursors.buf))
        return "fewer cursors than cursor_n";
    const struct ps_cursor *cursors = args->cursors.buf;
    const uint64_t size = (uint64_t)args->arena.len;
    for (Py_ssize_t i = 0; i < n; i++) {
        const struct ps_cursor *c = cursors + i;
        if (c->base > size || c->top > size - c->base || !is_aligned((char *)args->arena.buf + c->base + c->top) ||
            c->n > c->top / 16 || c->next > c->n)
            return "a cursor's records are not in the arena";
    }
    return NULL;
}

/* The same, and a state that belongs to as many. */
static const char *check_merge(const struct arguments *args, Py_ssize_t n)
{
    const char *why = check_cursors(args, n);
    if (why != NULL)
        return why;
    if ((size_t)args->state.len != sizeof(struct ps_merge) + (size_t)n * sizeof(struct ps_node) ||
        !is_aligned(args->state.buf))
        return "the merge state is not of merge_state_bytes(cursor_n)";
    const struct ps_cursor *cursors = args->cursors.buf;
    const struct ps_merge *state = args->state.buf;
    if (state->hungry > (uint64_t)n || state->emitted > (uint64_t)n)
        return "the merge state is damaged";
    if (state->emitted > 0 && cursors[state->emitted - 1].next == 0 &&
        ((const struct ps_program *)args->program.buf)->flags & PS_UNIQUE)
        return "the line read last was not kept";
    return NULL;
}

/* bound(program, locale, arena, cursors, cursor_n, places), and cut() with a record of one of the cursors. */
static PyObject *find_places(PyObject *tuple, int with_record)
{
    struct arguments args = {0};
    Py_ssize_t n, at = 0, index = 0;
    const int parsed =
        with_record ? PyArg_ParseTuple(tuple, "y*O&w*w*nnnw*:cut", &args.program, as_locale, &args.locale, &args.arena,
                                       &args.cursors, &n, &at, &index, &args.out)
                    : PyArg_ParseTuple(tuple, "y*O&w*w*nw*:bound", &args.program, as_locale, &args.locale, &args.arena,
                                       &args.cursors, &n, &args.out);
    if (!parsed) {
        release(&args);
        return NULL;
    }
    const char *why = check_cursors(&args, n);
    if (why == NULL)
        why = check_locale(&args);
    const struct ps_cursor *cursors = args.cursors.buf;
    if (why == NULL && with_record && (at < 0 || at >= n || index < 0 || (uint64_t)index >= cursors[at].n))
        why = "no such record";
    if (why == NULL && (args.out.len / (Py_ssize_t)sizeof(uint64_t) < n || !is_aligned(args.out.buf)))
        why = "fewer places than cursor_n";
    if (why != NULL)
        return refuse(&args, why);
    int done = 0;
    if (with_record)
        WITHOUT_GIL(0, done = ps_cut(args.program.buf, args.locale, args.arena.buf, cursors, (size_t)n, (size_t)at,
                                     (uint64_t)index, args.out.buf));
    else
        WITHOUT_GIL(0, done = ps_bound(args.program.buf, args.locale, args.arena.buf, cursors, (size_t)n, args.out.buf));
    release(&args);
    if (!done)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *bound(PyObject *self, PyObject *tuple)
{
    (void)self;
    return find_places(tuple, 0);
}

static PyObject *cut(PyObject *self, PyObject *tuple)
{
    (void)self;
    return find_places(tuple, 1);
}

static PyObject *merge(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*w*nw*w*:merge", &args.program, as_locale, &args.locale, &args.arena,
                          &args.cursors, &n, &args.state, &args.out)) {
        release(&args);
        return NULL;
    }
    const char *why = check_merge(&args, n);
    if (why == NULL)
        why = check_locale(&args);
    if (why != NULL)
        return refuse(&args, why);
    size_t used = 0;
    int64_t status = 0;
    WITHOUT_GIL(args.out.len, status = ps_merge(args.program.buf, args.locale, args.arena.buf, args.cursors.buf,
                                                (size_t)n, args.state.buf, args.out.buf, (size_t)args.out.len,
                                                &used));
    release(&args);
    if (status == PS_MERGE_NO_MEMORY)
        return PyErr_NoMemory();
    return Py_BuildValue("Ln", (long long)status, (Py_ssize_t)used);
}

static PyObject *merge_state_bytes(PyObject *self, PyObject *argument)
{
    (void)self;
    size_t n = PyLong_AsSize_t(argument);
    if (n == (size_t)-1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromSize_t(sizeof(struct ps_merge) + n * sizeof(struct ps_node));
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

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, NULL},
    {"encode", encode, METH_VARARGS, NULL},
    {"split", split, METH_VARARGS, NULL},
    {"sort_part", sort_part, METH_VARARGS, NULL},
    {"drop", drop, METH_VARARGS, NULL},
    {"line", line, METH_VARARGS, NULL},
    {"check", check_order, METH_VARARGS, NULL},
    {"presorted", presorted, METH_VARARGS, NULL},
    {"repeat", repeat, METH_VARARGS, NULL},
    {"gather", gather, METH_VARARGS, NULL},
    {"merge", merge, METH_VARARGS, NULL},
    {"bound", bound, METH_VARARGS, NULL},
    {"cut", cut, METH_VARARGS, NULL},
    {"locale_facts", locale_facts, METH_VARARGS, NULL},
    {"open_locale", open_locale, METH_VARARGS, NULL},
    {"merge_state_bytes", merge_state_bytes, METH_O, NULL},
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
    return 0;
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
