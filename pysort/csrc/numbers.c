/* Encoding numbers of any length, and sizes: numbers with a unit behind them. */
#include "encode.h"

/* A number as text: its significant integer digits (with any grouping bytes between them) and fraction digits. */
struct number {
    const uint8_t *begin; /* behind the sign */
    const uint8_t *integer, *integer_end;
    const uint8_t *fraction, *fraction_end;
    size_t integer_n; /* digits, grouping bytes not counted */
    int negative;
};

static inline struct number parse_number(const struct ps_program *program, const struct ps_segment *segment,
                                  const uint8_t *p, const uint8_t *end)
{
    struct number number = {.negative = 0};
    while (p < end && program->blank[*p])
        p++;
    if (p < end && *p == '-') {
        number.negative = 1;
        p++;
    }
    number.begin = p;
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

#define TAG_ZERO 0x80u
#define TAG_POSITIVE 0x81u /* + number of integer digits, up to LENGTH_IN_TAG; of a size: + rank of its unit */
#define TAG_LONG 0xE6u     /* the number of integer digits follows in 8 bytes */
#define LENGTH_IN_TAG 100u

static int is_zero(const struct number *number)
{
    return number->integer_n == 0 && number->fraction == number->fraction_end;
}

/* A number that is not zero. */
static inline void put_number(struct sink *sink, const struct number *number, unsigned grouping)
{
    const unsigned complement = number->negative ? 0xFF : 0;
    if (number->integer_n <= LENGTH_IN_TAG) {
        put(sink, (TAG_POSITIVE + (unsigned)number->integer_n) ^ complement);
    } else {
        put(sink, TAG_LONG ^ complement);
        put_count(sink, number->integer_n, complement);
    }
    put_digits(sink, number->integer, number->integer_end, grouping, number->integer_n % 2 == 1, complement);
    put_digits(sink, number->fraction, number->fraction_end, PS_NO_BYTE, 0, complement);
    put(sink, 0 ^ complement);
}

void ps_encode_numeric(const struct ps_program *program, const struct ps_segment *segment,
                       const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)locale;
    const struct number number = parse_number(program, segment, p, end);
    struct sink local = *sink;
    if (is_zero(&number))
        put(&local, TAG_ZERO);
    else
        put_number(&local, &number, segment->grouping);
    *sink = local;
}

/* Rank of the unit at p, 0 without one. */
static inline unsigned rank_at(const struct ps_table *table, const uint8_t *p, const uint8_t *end)
{
    static const uint8_t ranks[256] = {['K'] = 1, ['k'] = 1, ['M'] = 2, ['G'] = 3, ['T'] = 4,  ['P'] = 5,
                                       ['E'] = 6, ['Z'] = 7, ['Y'] = 8, ['R'] = 9, ['Q'] = 10};
    return p < end ? ranks[table ? table->map[*p] : *p] : 0;
}

/* Rank of the unit behind the number at p. Unlike a number for -n, this one has at most one grouping byte
 * between two digits and none elsewhere: where it is a blank the unit is not looked for in the next column. */
static unsigned unit_rank(const struct ps_segment *segment, const struct ps_table *table, const uint8_t *p,
                          const uint8_t *end)
{
    while (p < end && is_digit(*p)) {
        p++;
        if (p < end && *p == segment->grouping) {
            p++;
            if (p == end || !is_digit(*p))
                return 0;
        }
    }
    if (p < end && *p == segment->point) {
        p++;
        while (p < end && is_digit(*p))
            p++;
    }
    return rank_at(table, p, end);
}

void ps_encode_human(const struct ps_program *program, const struct ps_segment *segment,
                     const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)locale;
    const struct number number = parse_number(program, segment, p, end);
    if (is_zero(&number)) {
        put(sink, TAG_ZERO);
        return;
    }
    const unsigned rank = unit_rank(segment, ps_table_of(program, segment), number.begin, end);
    struct sink local = *sink;
    put(&local, (TAG_POSITIVE + rank) ^ (number.negative ? 0xFF : 0));
    put_number(&local, &number, segment->grouping);
    *sink = local;
}

/* Up to eight digits, read at once. */
struct digits {
    uint64_t values; /* one in a byte, the first one in the lowest, 0 behind the last */
    unsigned n;
};

/* Those at p, where 8 bytes can be read whatever `end` is. */
static inline struct digits load_digits(const uint8_t *p, const uint8_t *end)
{
    uint64_t text;
    memcpy(&text, p, sizeof text);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    text = __builtin_bswap64(text);
#endif
    const uint64_t high = UINT64_C(0xF0F0F0F0F0F0F0F0), zeros = UINT64_C(0x3030303030303030);
    /* A carry out of the sum comes from a byte that is no digit, and changes only bytes behind it. */
    const uint64_t others = ((text & high) ^ zeros) | (((text + UINT64_C(0x0606060606060606)) & high) ^ zeros);
    unsigned n = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    if (end - p < (ptrdiff_t)n)
        n = (unsigned)(end - p);
    return (struct digits){n ? (text ^ zeros) & UINT64_MAX >> (64 - 8 * n) : 0, n};
}

/* Digits as put_digits has them: four pairs, the first in the highest byte. */
static inline uint32_t pairs_of(uint64_t values)
{
    const uint64_t even = UINT64_C(0x00FF00FF00FF00FF);
    const uint64_t pairs = (values & even) * 10 + (values >> 8 & even);
    const uint64_t first = (pairs & 0xFF) << 24 | (pairs >> 16 & 0xFF) << 16;
    return (uint32_t)(first | (pairs >> 32 & 0xFF) << 8 | (pairs >> 48 & 0xFF)) + 0x01010101u;
}

#define INTEGER_MAX 12 /* digits: six pairs, more do not fit 8 bytes with what is before and behind them */

/* The pairs of the n integer digits at p, of which `first` are the first ones, in the lowest bytes. */
static inline uint64_t integer_pairs(const uint8_t *p, struct digits first, unsigned n)
{
    const unsigned head_n = n > 8 ? n - 8 : n;
    const uint64_t head = pairs_of(first.values << (64 - 8 * head_n)) & UINT32_MAX >> (32 - 8 * ((head_n + 1) / 2));
    return n > 8 ? head << 32 | pairs_of(load_digits(p + head_n, p + n).values) : head;
}

unsigned ps_short_number(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *p,
                         const uint8_t *end, uint64_t *code)
{
    if (segment->grouping != PS_NO_BYTE)
        return 0;
    while (p < end && program->blank[*p])
        p++;
    const int negative = p < end && *p == '-';
    p += negative;
    while (p < end && *p == '0')
        p++;
    const uint8_t *integer = p;
    const struct digits first = load_digits(p, end);
    unsigned digit_n = first.n;
    if (digit_n == 8)
        digit_n += load_digits(p + 8, end).n;
    p += digit_n;
    struct digits fraction = {0, 0};
    if (p < end && *p == segment->point) {
        fraction = load_digits(p + 1, end);
        p += 1 + fraction.n;
    }
    if (digit_n > INTEGER_MAX || fraction.n == 8)
        return 0; /* more may follow */
    if (digit_n == 0 && fraction.values == 0) {
        *code = (uint64_t)TAG_ZERO << 56;
        return 1;
    }
    const unsigned is_size = segment->kind == PS_HUMAN;
    const unsigned integer_n = (digit_n + 1) / 2;
    const unsigned fraction_n = fraction.values ? (9 - (unsigned)__builtin_clzll(fraction.values) / 8) / 2 : 0;
    const unsigned length = is_size + 1 + integer_n + fraction_n + 1;
    if (length > 8)
        return 0;
    uint64_t value = TAG_POSITIVE + digit_n;
    if (is_size)
        value |= (uint64_t)(TAG_POSITIVE + rank_at(ps_table_of(program, segment), p, end)) << 8;
    if (digit_n)
        value = value << 8 * integer_n | integer_pairs(integer, first, digit_n);
    if (fraction_n)
        value = value << 8 * fraction_n | pairs_of(fraction.values) >> (32 - 8 * fraction_n);
    value <<= 8 * (8 - length + 1);
    *code = negative ? value ^ ps_high_bytes(length) : value;
    return length;
}
