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

/* Rank of the unit behind the number at p, 0 without one. Unlike a number for -n, this one has at most one grouping byte
 * between two digits and none elsewhere: where it is a blank the unit is not looked for in the next column. */
static unsigned unit_rank(const struct ps_segment *segment, const struct ps_table *table, const uint8_t *p,
                          const uint8_t *end)
{
    static const char units[] = "KMGTPEZYRQ";
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
    if (p == end)
        return 0;
    const int byte = table ? table->map[*p] : *p;
    const char *unit = memchr(units, byte == 'k' ? 'K' : byte, sizeof units - 1);
    return unit ? (unsigned)(unit - units) + 1 : 0;
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
