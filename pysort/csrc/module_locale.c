/* Locales, as Python sees them. */
#include "module.h"

#include <ctype.h>
#include <langinfo.h>

#define LOCALE_CAPSULE "pysort._kernel.locale"

int ps_as_locale(PyObject *object, void *address)
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
PyObject *ps_py_open_locale(PyObject *self, PyObject *tuple)
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
PyObject *ps_py_locale_facts(PyObject *self, PyObject *tuple)
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

const char *ps_check_locale(const struct arguments *args)
{
    return args->locale == NULL && ps_program_needs_locale(args->program.buf) ? "the key program needs a locale" : NULL;
}
