/* Encoding keys so that memcmp orders them.
 *
 * Every segment's encoding is prefix-free: no encoding begins another one. So the encodings of several segments can be
 * strung together, and the complement of an encoding is the key's reverse order. The byte values are defined, with their
 * reasons, in _kernel_py_encode.py. */
#include "kernel.h"

#include <string.h>

/* Where encoded bytes go. `full` is sticky: once a byte found no room nothing more is written. */
struct sink {
    uint8_t *at;
    uint8_t *limit;
    int full;
};

static inline void put(struct sink *sink, unsigned byte)
{
    if (sink->at < sink->limit)
        *sink->at++ = (uint8_t)byte;
    else
        sink->full = 1;
}

static void put_bytes(struct sink *sink, const uint8_t *p, size_t n)
{
    if ((size_t)(sink->limit - sink->at) < n) {
        sink->full = 1;
        return;
    }
    if (n > 0)
        memcpy(sink->at, p, n);
    sink->at += n;
}

static inline void put_escaped(struct sink *sink, unsigned byte)
{
    if (byte <= 1) {
        put(sink, 1);
        byte++;
    }
    put(sink, byte);
}

static void encode_text(const struct ps_segment *segment, const struct ps_table *table, const uint8_t *p,
                        const uint8_t *end, struct sink *sink)
{
    const int bare = (segment->flags & PS_SEG_BARE) != 0;
    if (table == NULL && bare) {
        put_bytes(sink, p, (size_t)(end - p));
        return;
    }
    for (; p < end && !sink->full; p++) {
        unsigned byte = *p;
        if (table != NULL) {
            if (!table->keep[byte])
                continue;
            byte = table->map[byte];
        }
        if (bare)
            put(sink, byte);
        else
            put_escaped(sink, byte);
    }
    if (!bare)
        put(sink, 0);
}

static inline int is_digit(unsigned byte)
{
    return byte - '0' < 10u;
}

/* A number as text: its significant integer digits (with any grouping bytes between them) and fraction digits. */
struct number {
    const uint8_t *integer, *integer_end;
    const uint8_t *fraction, *fraction_end;
    size_t integer_n; /* digits, grouping bytes not counted */
    int negative;
};

static struct number parse_number(const struct ps_program *program, const struct ps_segment *segment,
                                  const uint8_t *p, const uint8_t *end)
{
    struct number number = {.negative = 0};
    while (p < end && program->blank[*p])
        p++;
    if (p < end && *p == '-') {
        number.negative = 1;
        p++;
    }
    while (p < end && (*p == '0' || *p == segment->grouping))
        p++;
    number.integer = p;
    for (; p < end && (is_digit(*p) || *p == segment->grouping); p++)
        number.integer_n += *p != segment->grouping;
    number.integer_end = p;
    if (p < end && *p == segment->point)
        p++;
    else
        end = p;
    number.fraction = p;
    while (p < end && is_digit(*p))
        p++;
    while (p > number.fraction && p[-1] == '0')
        p--;
    number.fraction_end = p;
    return number;
}

/* Digits two to a byte, as 1 + their value, so that 0 can end them. `pending` is a leading half. */
static void put_digits(struct sink *sink, const uint8_t *p, const uint8_t *end, unsigned grouping, int leading_zero,
                       unsigned complement)
{
    int half = leading_zero ? 0 : -1;
    for (; p < end && !sink->full; p++) {
        if (*p == grouping)
            continue;
        int digit = *p - '0';
        if (half < 0) {
            half = digit;
        } else {
            put(sink, (unsigned)(10 * half + digit + 1) ^ complement);
            half = -1;
        }
    }
    if (half >= 0)
        put(sink, (unsigned)(10 * half + 1) ^ complement);
}

#define TAG_ZERO 0x80u
#define TAG_POSITIVE 0x81u /* + number of integer digits, up to LENGTH_IN_TAG */
#define TAG_LONG 0xE6u     /* the number of integer digits follows in 8 bytes */
#define LENGTH_IN_TAG 100u

static void encode_numeric(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *p,
                           const uint8_t *end, struct sink *sink)
{
    const struct number number = parse_number(program, segment, p, end);
    if (number.integer_n == 0 && number.fraction == number.fraction_end) {
        put(sink, TAG_ZERO);
        return;
    }
    const unsigned complement = number.negative ? 0xFF : 0;
    if (number.integer_n <= LENGTH_IN_TAG) {
        put(sink, (TAG_POSITIVE + (unsigned)number.integer_n) ^ complement);
    } else {
        put(sink, TAG_LONG ^ complement);
        for (int shift = 56; shift >= 0; shift -= 8)
            put(sink, (unsigned)(((uint64_t)number.integer_n >> shift) & 0xFF) ^ complement);
    }
    put_digits(sink, number.integer, number.integer_end, segment->grouping, number.integer_n % 2 == 1, complement);
    put_digits(sink, number.fraction, number.fraction_end, PS_NO_BYTE, 0, complement);
    put(sink, 0 ^ complement);
}

static void encode_segment(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *line,
                           const uint8_t *line_end, struct sink *sink)
{
    const uint8_t *key, *key_end;
    uint8_t *begin = sink->at;
    ps_find_key(program, segment, line, line_end, &key, &key_end);
    switch (segment->kind) {
    case PS_NUMERIC:
        encode_numeric(program, segment, key, key_end, sink);
        break;
    default:
        encode_text(segment, segment->table == PS_NO_TABLE ? NULL : ps_tables(program) + segment->table, key, key_end,
                    sink);
    }
    if (segment->flags & PS_SEG_REVERSE)
        for (uint8_t *p = begin; p < sink->at; p++)
            *p = (uint8_t)~*p;
}

size_t ps_encode(const struct ps_program *program, uint8_t *arena, uint8_t *top, size_t first, size_t last, size_t *at,
                 size_t limit)
{
    const struct ps_segment *segments = ps_segments(program);
    struct ps_record *records = (struct ps_record *)(void *)top;
    for (size_t i = first; i < last; i++) {
        struct ps_record *record = records - 1 - i;
        const uint8_t *line = arena + record->offset;
        const struct ps_header header = {record->offset, record->length};
        if (limit < *at || limit - *at < sizeof header)
            return i;
        uint8_t *key = arena + *at + sizeof header;
        struct sink sink = {key, arena + limit, 0};
        for (uint32_t s = 0; s < program->segment_n && !sink.full; s++)
            encode_segment(program, segments + s, line, line + record->length, &sink);
        if (sink.full)
            return i;
        memcpy(arena + *at, &header, sizeof header);
        *at = (size_t)(sink.at - arena);
        record->offset = (uint32_t)(key - arena);
        record->length = (uint32_t)(sink.at - key);
        record->prefix = ps_load_prefix(key, record->length);
    }
    return last;
}
