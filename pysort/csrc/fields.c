/* Where a key lies in its line: GNU sort's fields and characters. A character is a byte. */
#include "kernel.h"

#include <string.h>

static const uint8_t *skip_blanks(const uint8_t *blank, const uint8_t *p, const uint8_t *end)
{
    while (p < end && blank[*p])
        p++;
    return p;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The highest bit of the first byte that is 0, and perhaps those of others behind it. */
static inline uint64_t first_zero(uint64_t bytes)
{
    return (bytes - EACH(1)) & ~bytes & EACH(0x80);
}

/* The first blank, or the end. -k2,2: 2,000,000 keys are encoded in 0.056 s instead of 0.071 s. */
static const uint8_t *find_blank(const struct ps_program *program, const uint8_t *p, const uint8_t *end)
{
    for (; program->plain_blanks && end - p >= 8; p += 8) {
        uint64_t bytes;
        memcpy(&bytes, p, sizeof bytes);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
        bytes = __builtin_bswap64(bytes);
#endif
        const uint64_t found =
            first_zero(bytes ^ EACH(' ')) | first_zero(bytes ^ EACH('\t')) | first_zero(bytes ^ EACH('\n'));
        if (found != 0)
            return p + __builtin_ctzll(found) / 8;
    }
    while (p < end && !program->blank[*p])
        p++;
    return p;
}

/* The start of field `count` (zero-based), or the end of the line when there are fewer. By default a field begins with
 * the blanks before it. */
static const uint8_t *field_start(const struct ps_program *program, const struct ps_segment *segment,
                                  const uint8_t *p, const uint8_t *end, uint64_t count)
{
    if (segment->field_separator != PS_NO_BYTE) {
        while (count > 0 && p < end) {
            const uint8_t *found = memchr(p, (int)segment->field_separator, (size_t)(end - p));
            if (found == NULL)
                return end;
            p = found + 1;
            count--;
        }
        return p;
    }
    while (count > 0 && p < end) {
        p = skip_blanks(program->blank, p, end);
        p = find_blank(program, p, end);
        count--;
    }
    return p;
}

/* The end of field `index` (zero-based), its separator not included. */
static const uint8_t *field_end(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *p,
                                const uint8_t *end, uint64_t index)
{
    p = field_start(program, segment, p, end, index);
    if (segment->field_separator != PS_NO_BYTE) {
        const uint8_t *found = p < end ? memchr(p, (int)segment->field_separator, (size_t)(end - p)) : NULL;
        return found ? found : end;
    }
    return field_start(program, segment, p, end, 1);
}

static const uint8_t *advance(const uint8_t *p, const uint8_t *end, uint64_t count)
{
    return count < (uint64_t)(end - p) ? p + count : end;
}

void ps_find_key(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *line,
                 const uint8_t *line_end, const uint8_t **start, const uint8_t **end)
{
    const uint8_t *from = field_start(program, segment, line, line_end, segment->start_field);
    const uint8_t *field = line; /* from where fields are counted to the end's, and how many */
    uint64_t field_n = segment->end_field;
    if (segment->end_field >= segment->start_field) {
        field = from;
        field_n -= segment->start_field;
    }
    if (segment->flags & PS_SEG_START_BLANKS)
        from = skip_blanks(program->blank, from, line_end);
    from = advance(from, line_end, segment->start_char);

    const uint8_t *to = line_end;
    if (!(segment->flags & PS_SEG_TO_LINE_END)) {
        if (segment->end_char == 0) {
            to = field_end(program, segment, field, line_end, field_n);
        } else {
            to = field_start(program, segment, field, line_end, field_n);
            if (segment->flags & PS_SEG_END_BLANKS)
                to = skip_blanks(program->blank, to, line_end);
            to = advance(to, line_end, segment->end_char);
        }
    }
    *start = from;
    *end = to < from ? from : to;
}
