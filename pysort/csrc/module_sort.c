/* Sorting, as Python sees it. */
#include "module.h"

#define PART_N 256  /* that ps_split makes at most */
#define DIGIT_N 256 /* that records are distributed by at most */

/* What was parsed for a function that sorts a part, or the reason why it cannot be done. */
static const char *check_part(const struct arguments *args, Py_ssize_t top, Py_ssize_t n)
{
    const char *why = ps_check_records(args, top, n, 2);
    if (why == NULL)
        why = ps_check_locale(args);
    if (why != NULL)
        return why;
    const struct ps_part *part = args->part.buf;
    if (args->part.len != sizeof *part || !ps_is_aligned(part) || part->start > (uint64_t)n ||
        part->n > (uint64_t)n - part->start || part->shift > PS_FIRST_SHIFT || part->shift % 8 != 0 ||
        (part->flags & PS_PART_DESCENDING && part->n != (uint64_t)n))
        return "not a part of the records";
    return NULL;
}

PyObject *ps_py_split(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nny*w*:split", &args.program, ps_as_locale, &args.locale, &args.arena, &top, &n,
                          &args.part, &args.out)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = check_part(&args, top, n);
    if (why == NULL && (args.out.len < (Py_ssize_t)(PART_N * sizeof(struct ps_part)) || !ps_is_aligned(args.out.buf)))
        why = "no room for all parts";
    if (why != NULL)
        return ps_refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    const struct ps_part *part = args.part.buf;
    size_t part_n = 0;
    WITHOUT_GIL(part->n * 16, part_n = ps_split(args.program.buf, args.locale, arena, arena + top, (size_t)n, part,
                                                args.out.buf));
    ps_release(&args);
    return part_n == PS_NO_MEMORY ? PyErr_NoMemory() : PyLong_FromSize_t(part_n);
}

PyObject *ps_py_sort_part(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    if (!PyArg_ParseTuple(tuple, "y*O&w*nny*:sort_part", &args.program, ps_as_locale, &args.locale, &args.arena, &top, &n,
                          &args.part)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = check_part(&args, top, n);
    if (why != NULL)
        return ps_refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    const struct ps_part *part = args.part.buf;
    int done = 0;
    WITHOUT_GIL(part->n * 16, done = ps_sort_part(args.program.buf, args.locale, arena, arena + top, (size_t)n, part));
    ps_release(&args);
    if (!done)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static int holds_digits(const Py_buffer *buffer)
{
    return (size_t)buffer->len == DIGIT_N * sizeof(uint64_t) && ps_is_aligned(buffer->buf);
}

PyObject *ps_py_differing(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    unsigned long long prefix;
    if (!PyArg_ParseTuple(tuple, "y*w*nnK:differing", &args.program, &args.arena, &top, &n, &prefix)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n, 1);
    if (why != NULL)
        return ps_refuse(&args, why);
    const uint8_t *arena = args.arena.buf;
    uint64_t difference = 0;
    WITHOUT_GIL(n * 16, difference = ps_differing(arena + top, (size_t)n, prefix));
    ps_release(&args);
    return PyLong_FromUnsignedLongLong(difference);
}

PyObject *ps_py_count_digits(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n;
    unsigned long long difference;
    if (!PyArg_ParseTuple(tuple, "y*w*nnKw*:count_digits", &args.program, &args.arena, &top, &n, &difference, &args.out)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n, 1);
    if (why == NULL && (difference == 0 || !holds_digits(&args.out)))
        why = "no digit, or no room for all";
    if (why != NULL)
        return ps_refuse(&args, why);
    const uint8_t *arena = args.arena.buf;
    int shift = 0;
    WITHOUT_GIL(n * 16, shift = ps_count_digits(arena + top, (size_t)n, difference, args.out.buf));
    ps_release(&args);
    return PyLong_FromLong(shift);
}

PyObject *ps_py_distribute(PyObject *self, PyObject *tuple)
{
    (void)self;
    struct arguments args = {0};
    Py_ssize_t top, n, to, room;
    unsigned long long difference;
    if (!PyArg_ParseTuple(tuple, "y*w*nnKnny*:distribute", &args.program, &args.arena, &top, &n, &difference, &to, &room,
                          &args.part)) {
        ps_release(&args);
        return NULL;
    }
    const char *why = ps_check_records(&args, top, n, 1);
    if (why == NULL)
        why = ps_check_records(&args, to, room, 1);
    if (why == NULL && (difference == 0 || !holds_digits(&args.part)))
        why = "no digit, or not a place for each";
    const uint64_t *places = args.part.buf;
    for (size_t d = 0; why == NULL && d < DIGIT_N; d++)
        if (places[d] > (uint64_t)room)
            why = "a place is not below `to`";
    if (why != NULL)
        return ps_refuse(&args, why);
    uint8_t *arena = args.arena.buf;
    WITHOUT_GIL(n * 16, ps_distribute(arena + top, (size_t)n, difference, arena + to - 16 * room, places));
    ps_release(&args);
    Py_RETURN_NONE;
}
