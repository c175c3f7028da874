/* Where sorted runs under merge can be cut, so that several threads merge what lies between two cuts. */
#include "kernel.h"

struct cuts {
    struct ps_context *context;
    const uint8_t *arena;
    const struct ps_cursor *cursors;
};

static const struct ps_record *record_at(const struct cuts *cuts, size_t cursor, uint64_t index)
{
    const struct ps_cursor *c = cuts->cursors + cursor;
    return (const struct ps_record *)(const void *)(cuts->arena + c->base + c->top) - 1 - index;
}

/* Whether record i of cursor a goes before record j of cursor b. */
static int goes_before(const struct cuts *cuts, size_t a, uint64_t i, size_t b, uint64_t j)
{
    const struct ps_record *x = record_at(cuts, a, i), *y = record_at(cuts, b, j);
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix;
    const int order =
        ps_compare(cuts->context, cuts->arena + cuts->cursors[a].base, x, cuts->arena + cuts->cursors[b].base, y);
    if (order || cuts->context->program->flags & (PS_UNIQUE | PS_COUNT))
        return order < 0;
    return a < b || (a == b && i < j);
}

/* The first unread record of the cursor that does not go before that one. */
static uint64_t place_in(const struct cuts *cuts, size_t cursor, size_t at, uint64_t index)
{
    uint64_t low = cuts->cursors[cursor].next, high = cuts->cursors[cursor].n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (goes_before(cuts, cursor, middle, at, index))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of the runs that go on behind their windows the one whose last record goes first, cursor_n if there is none. */
static size_t first_to_end(const struct cuts *cuts, size_t cursor_n)
{
    size_t first = cursor_n;
    for (size_t i = 0; i < cursor_n; i++) {
        const struct ps_cursor *c = cuts->cursors + i;
        if (c->last || c->next >= c->n)
            continue;
        if (first == cursor_n || goes_before(cuts, i, c->n - 1, first, cuts->cursors[first].n - 1))
            first = i;
    }
    return first;
}

int ps_bound(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
             const struct ps_cursor *cursors, size_t cursor_n, uint64_t *places)
{
    struct ps_context context = ps_context_of(program, locale);
    const struct cuts cuts = {&context, arena, cursors};
    const size_t first = first_to_end(&cuts, cursor_n);
    int hungry = 0;
    for (size_t i = 0; i < cursor_n; i++)
        hungry |= !cursors[i].last && cursors[i].next >= cursors[i].n;
    for (size_t i = 0; i < cursor_n; i++) {
        if (hungry)
            places[i] = cursors[i].next;
        else
            places[i] = first == cursor_n ? cursors[i].n : place_in(&cuts, i, first, cursors[first].n - 1);
    }
    if (!hungry && first < cursor_n && !(program->flags & (PS_UNIQUE | PS_COUNT)))
        places[first] = cursors[first].n;
    ps_scratch_free(&context.scratch);
    return !context.scratch.failed;
}

int ps_cut(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
           const struct ps_cursor *cursors, size_t cursor_n, size_t at, uint64_t index, uint64_t *places)
{
    struct ps_context context = ps_context_of(program, locale);
    const struct cuts cuts = {&context, arena, cursors};
    for (size_t i = 0; i < cursor_n; i++)
        places[i] = place_in(&cuts, i, at, index);
    ps_scratch_free(&context.scratch);
    return !context.scratch.failed;
}
