/* Comparing texts in the locale's order, which is strcoll's. A text is compared piece by piece around its NULs. */
#include "encode.h"

#include <stdlib.h>

#define ON_STACK 1024

void ps_scratch_free(struct ps_scratch *scratch)
{
    free(scratch->buffer[0]);
    free(scratch->buffer[1]);
}

/* A copy through the table, NULs kept, ended by one more. NULL when there is no memory. */
static char *copy_text(struct ps_scratch *scratch, int which, const struct ps_table *table, const uint8_t *p,
                       size_t n, size_t *length)
{
    if (n >= scratch->size[which]) {
        const size_t size = n < ON_STACK ? ON_STACK : 2 * n;
        char *larger = realloc(scratch->buffer[which], size);
        if (larger == NULL) {
            scratch->failed = 1;
            return NULL;
        }
        scratch->buffer[which] = larger;
        scratch->size[which] = size;
    }
    char *text = scratch->buffer[which], *at = text;
    if (table == NULL) {
        if (n > 0)
            memcpy(text, p, n);
        at += n;
    } else {
        for (size_t i = 0; i < n; i++)
            if (table->keep[p[i]])
                *at++ = (char)table->map[p[i]];
    }
    *at = 0;
    *length = (size_t)(at - text);
    return text;
}

int ps_collate_text(struct ps_context *context, const struct ps_table *table, const uint8_t *a, size_t a_n,
                    const uint8_t *b, size_t b_n)
{
    if (a_n == b_n && (a_n == 0 || memcmp(a, b, a_n) == 0))
        return 0;
    const char *x = copy_text(&context->scratch, 0, table, a, a_n, &a_n);
    const char *y = copy_text(&context->scratch, 1, table, b, b_n, &b_n);
    if (x == NULL || y == NULL)
        return 0;
    if (a_n == 0 || b_n == 0)
        return (a_n > 0) - (b_n > 0);
    const char *x_end = x + a_n, *y_end = y + b_n;
    for (;;) {
        int order = strcoll_l(x, y, context->locale->collate);
        if (order)
            return order;
        x += strlen(x);
        y += strlen(y);
        if (x == x_end || y == y_end)
            return (x != x_end) - (y != y_end);
        x++;
        y++;
    }
}

int ps_collate_keys(struct ps_context *context, const struct ps_segment *segment, const uint8_t *line_a, size_t a_n,
                    const uint8_t *line_b, size_t b_n)
{
    const uint8_t *a, *a_end, *b, *b_end;
    ps_find_key(context->program, segment, line_a, line_a + a_n, &a, &a_end);
    ps_find_key(context->program, segment, line_b, line_b + b_n, &b, &b_end);
    int order = ps_collate_text(context, ps_table_of(context->program, segment), a, (size_t)(a_end - a), b,
                                (size_t)(b_end - b));
    return segment->flags & PS_SEG_REVERSE ? -order : order;
}
