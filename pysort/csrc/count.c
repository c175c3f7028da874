/* Equal lines as one, with their number. */
#include "radix.h"

#include <string.h>

static int is_same_line(const uint8_t *arena, const struct ps_record *a, const struct ps_record *b)
{
    return a->length == b->length && memcmp(arena + a->offset, arena + b->offset, a->length) == 0;
}

size_t ps_fold(const struct ps_program *program, const uint8_t *arena, uint8_t *top, size_t n)
{
    const int by_bytes = !(program->flags & PS_UNIQUE);
    struct ps_record *records = (struct ps_record *)(void *)top - n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (by_bytes && i + PS_PREFETCH_AHEAD < n)
            __builtin_prefetch(arena + records[i + PS_PREFETCH_AHEAD].offset);
        if (kept > 0 && (by_bytes ? is_same_line(arena, records + kept - 1, records + i)
                                  : records[i].offset == PS_DROPPED)) {
            records[kept - 1].prefix++;
            continue;
        }
        records[kept] = records[i];
        records[kept++].prefix = 1;
    }
    return kept;
}

/* The count and a blank, right-aligned as "%7" PRIu64 " " has it. Returns how many bytes. */
static size_t show(uint64_t count, uint8_t shown[21])
{
    uint8_t digits[20];
    size_t n = 0, at = 0;
    do {
        digits[n++] = (uint8_t)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    while (at + n < 7)
        shown[at++] = ' ';
    while (n > 0)
        shown[at++] = digits[--n];
    shown[at++] = ' ';
    return at;
}

size_t ps_show_counts(const struct ps_program *program, const uint8_t *text, size_t n, size_t *consumed, uint8_t *out,
                      size_t out_size)
{
    const uint8_t *line = text, *end = text + n, *found;
    uint8_t *at = out;
    while (line < end && (found = memchr(line, (int)program->separator, (size_t)(end - line))) != NULL) {
        const uint8_t *text_end = ps_text_end(line, found);
        uint8_t shown[21];
        const size_t shown_n = show(ps_count_at(text_end), shown), text_n = (size_t)(text_end - line);
        if (out_size - (size_t)(at - out) < shown_n + text_n + 1)
            break;
        memcpy(at, shown, shown_n);
        memcpy(at + shown_n, line, text_n);
        at += shown_n + text_n;
        *at++ = (uint8_t)program->separator;
        line = found + 1;
    }
    *consumed = (size_t)(line - text);
    return (size_t)(at - out);
}
