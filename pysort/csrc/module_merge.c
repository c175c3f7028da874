/* Merging, as Python sees it. */
#include "module.h"

/* Cursors whose windows and records lie in the arena. */
static const char *check_cursors(const struct arguments *args, Py_ssize_t n)
{
    if (!ps_is_aligned(args->program.buf) || !ps_program_is_valid(args->program.buf, (size_t)args->program.len))
        return "not a key program";
    if (n < 1 || n > args->cursors.len / (Py_ssize_t)sizeof(struct ps_cursor) || !ps_is_aligned(args->cursors.buf))
        return "fewer cursors than cursor_n";
    const struct ps_cursor *cursors = args->cursors.buf;
    const uint64_t size = (uint64_t)args->arena.len;
    for (Py_ssize_t i = 0; i < n; i++) {
        const struct ps_cursor *c = cursors + i;
        if (c->base > size || c->top > size - c->base || !ps_is_aligned((char *)args->arena.buf + c->base + c->top) ||
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
        !ps_is_aligned(args->state.buf))
        return "the merge state is not of merge_state_bytes(cursor_n)";
    const struct ps_cursor *cursors = args->cursors.buf;
    const struct ps_merge *state = args->state.buf;
    if (state->hungry > (uint64_t)n || state->emitted > (uint64_t)n)
        return "the merge state is damaged";
    if (state->emitted > 0 && cursors[state->emitted - 1].next == 0 &&
        ((const struct ps_program *)args->program.buf)->flags & (PS_UNIQUE | PS_COUNT))
        return "the line read last was not kept";
    return NULL;
}

/* bound(program, locale, arena, cursors, cursor_n, places), and cut() with a record of one of the cursors. */
static PyObject *find_places(PyObject *tuple, int with_record)
{
    struct arguments args = {0};
    Py_ssize_t n, at = 0, index = 0;
    const int parsed =
        with_record ? PyArg_ParseTuple(tuple, "y*O&w*w*nnnw*:cut", &args.program, ps_as_locale, &args.locale, &args.arena,
                                       &args.cursors, &n, &at, &index, &args.out)
                    : PyArg_ParseTuple(tuple, "y*O&w*w*nw*:bound", &args.program, ps_as_locale, &args.locale, &args.arena,
                                       &args.cursors, &n, &args.out);
    if (!parsed) {
        ps_release(&args);
        return NULL;
    }
    const char *why = check_cursors(&args, n);
    if (why == NULL)
        why = ps_check_locale(&args);
    const struct ps_cursor *cursors = args.cursors.buf;
    if (why == NULL && with_record && (at < 0 || at >= n || index < 0 || (uint64_t)index >= cursors[at].n))
        why = "no such record";
    if (why == NULL && (args.out.len / (Py_ssize_t)sizeof(uint64_t) < n || !ps_is_aligned(args.out.buf)))
        why = "fewer places than cursor_n";
    if (why != NULL)
        return ps_refuse(&args, why);
    int done = 0;
    if (with_record)
        WITHOUT_GIL(0, done = ps_cut(args.program.buf, args.locale, args.arena.buf, cursors, (size_t)n, (size_t)at,
                                     (uint64_t)index, args.out.buf));
    else
        WITHOUT_GIL(0, done = ps_bound(args.program.buf, args.locale, args.arena.buf, cursors, (size_t)n, args.out.buf));
    ps_release(&args);
    if (!done)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyObject *ps_py_bound(PyObject *self, PyObject *tuple)
{
    (void)self;
    return find_places(tuple, 0);
}

PyObject *ps_py_cut(PyObject *self, PyObject *tuple)
{
    (void)self;
    return find_places(tuple, 1);
}

PyObject *ps_py_merge(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*w*nw*w*:merge", &args.program, ps_as_locale, &args.locale, &args.arena,
                          &args.cursors, &n, &args.state, &args.out)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = check_merge(&args, n);
    if (why == NULL)
        why = ps_check_locale(&args);
    if (why != NULL)
        return ps_refuse(&args, why);
    size_t used = 0;
    int64_t status = 0;
    WITHOUT_GIL(args.out.len, status = ps_merge(args.program.buf, args.locale, args.arena.buf, args.cursors.buf,
                                                (size_t)n, args.state.buf, args.out.buf, (size_t)args.out.len,
                                                &used));
    ps_release(&args);
    if (status == PS_MERGE_NO_MEMORY)
        return PyErr_NoMemory();
    return Py_BuildValue("Ln", (long long)status, (Py_ssize_t)used);
}

PyObject *ps_py_merge_state_bytes(PyObject *self, PyObject *argument)
{
    (void)self;
    size_t n = PyLong_AsSize_t(argument);
    if (n == (size_t)-1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromSize_t(sizeof(struct ps_merge) + n * sizeof(struct ps_node));
}
