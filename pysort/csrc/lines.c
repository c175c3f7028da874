/* Splitting text into lines. */
#include "kernel.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LONG 192 /* bytes of a line */

/* Where separators are: those found and not given out yet, a bit for each of the 64 bytes before `next`. */
struct separators {
    const uint8_t *next;
    uint64_t found;
};

#ifdef __SSE2__
static inline uint64_t equal_16(const uint8_t *bytes, __m128i value)
{
    const __m128i loaded = _mm_loadu_si128((const __m128i *)(const void *)bytes);
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(loaded, value));
}

/* 64 bytes at a time: lines of 0 to 100 bytes are split in 0.6 of the time that a memchr() for each takes, which is
 * faster where a line is long. */
static inline void find_more(struct separators *separators, const uint8_t *line, const uint8_t *end, int separator)
{
    const __m128i value = _mm_set1_epi8((char)separator);
    while (separators->found == 0 && end - separators->next >= 64 && separators->next - line < LONG) {
        const uint8_t *bytes = separators->next;
        separators->found = equal_16(bytes, value) | equal_16(bytes + 16, value) << 16 |
                            equal_16(bytes + 32, value) << 32 | equal_16(bytes + 48, value) << 48;
        separators->next += 64;
    }
}
#else
static inline void find_more(struct separators *separators, const uint8_t *line, const uint8_t *end, int separator)
{
    (void)separators, (void)line, (void)end, (void)separator;
}
#endif

/* The first separator in line..end-1, NULL if there is none. */
static inline const uint8_t *find_separator(struct separators *separators, const uint8_t *line, const uint8_t *end,
                                            int separator)
{
    find_more(separators, line, end, separator);
    if (separators->found != 0) {
        const uint8_t *found = separators->next - 64 + __builtin_ctzll(separators->found);
        separators->found &= separators->found - 1;
        return found;
    }
    if (separators->next >= end)
        return NULL;
    const uint8_t *found = memchr(separators->next, separator, (size_t)(end - separators->next));
    separators->next = found == NULL ? end : found + 1;
    return found;
}

size_t ps_scan(const struct ps_program *program, const uint8_t *arena, size_t start, size_t stop, uint8_t *top, size_t n,
               size_t n_max, int counted, size_t *consumed, size_t *longest)
{
    const uint8_t *line = arena + start;
    const uint8_t *end = arena + stop;
    const int separator = (int)program->separator;
    const int plain = program->segment_n == 0;
    const uint64_t mask = program->flags & PS_REVERSE ? UINT64_MAX : 0;
    struct separators separators = {line, 0};
    size_t longest_length = 0;
    struct ps_record *record = (struct ps_record *)(void *)top - n;

    while (n < n_max) {
        const uint8_t *found = find_separator(&separators, line, end, separator);
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
