/* Splitting text into lines. */
#include "kernel.h"

#include <string.h>

size_t ps_scan(const struct ps_program *program, const uint8_t *arena, size_t start, size_t stop, uint8_t *top, size_t n,
               size_t n_max, int counted, size_t *consumed, size_t *longest)
{
    const uint8_t *line = arena + start;
    const uint8_t *end = arena + stop;
    const int separator = (int)program->separator;
    const int plain = program->segment_n == 0;
    const uint64_t mask = program->flags & PS_REVERSE ? UINT64_MAX : 0;
    size_t longest_length = 0;
    struct ps_record *record = (struct ps_record *)(void *)top - n;

    while (n < n_max) {
        const uint8_t *found = line < end ? memchr(line, separator, (size_t)(end - line)) : NULL;
        if (found == NULL)
            break;
        size_t length = (size_t)(found - line);
        if (length > longest_length)
            longest_length = length;
        if (counted)
            length = (size_t)(ps_text_end(line, found) - line);
        record--;
        record->offset = (uint32_t)(line - arena);
        record->length = (uint32_t)length;
        if (plain) {
            record->prefix = end - line >= 8 ? ps_load_prefix_fast(line, length) : ps_load_prefix(line, length);
            record->prefix ^= mask;
        }
        n++;
        line = found + 1;
    }
    *longest = longest_length;
    *consumed = (size_t)(line - arena);
    return n;
}
