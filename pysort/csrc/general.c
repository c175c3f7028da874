/* Encoding the numbers of -g: what the C library's strtold reads, whatever its long double is. */
#include "encode.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define TAG_NO_NUMBER 0x00u
#define TAG_NAN 0x01u /* + 1 without a minus sign */
#define TAG_ZERO 0x80u
#define TAG_POSITIVE 0xC0u
#define TAG_INFINITY 0xFCu
#define EXPONENT_BIAS 0x8000 /* of the widest long doubles the exponents reach from -16493 to 16384 */

/* A finite number above zero: its fraction, 1/2 or more, 7 bits to a byte. */
static inline void put_positive(struct sink *sink, long double value, unsigned complement)
{
    int exponent;
    value = frexpl(value, &exponent);
    const unsigned biased = (unsigned)(exponent + EXPONENT_BIAS);
    put(sink, TAG_POSITIVE ^ complement);
    put(sink, (biased >> 8) ^ complement);
    put(sink, (biased & 0xFF) ^ complement);
#if LDBL_MANT_DIG <= 64
    for (uint64_t bits = (uint64_t)(value * 0x1p64L); bits > 0; bits <<= 7) /* exact */
        put(sink, ((unsigned)(bits >> 57) << 1 | (bits << 7 > 0)) ^ complement);
#else
    do { /* exact: 7 bits move over the point and are taken away */
        value *= 128;
        const unsigned bits = (unsigned)value;
        value -= bits;
        put(sink, (bits << 1 | (value > 0)) ^ complement);
    } while (value > 0);
#endif
}

static inline void put_value(struct sink *sink, long double value)
{
    const int negative = signbit(value) != 0;
    const unsigned complement = negative ? 0xFF : 0;
    if (isnan(value))
        put(sink, TAG_NAN + !negative);
    else if (value == 0)
        put(sink, TAG_ZERO);
    else if (isinf(value))
        put(sink, TAG_INFINITY ^ complement);
    else
        put_positive(sink, negative ? -value : value, complement);
}

/* Decimal digits that an integer, and powers of ten that a long double holds exactly. Of two exact operands the quotient
 * is rounded once, as strtold rounds. */
#if LDBL_MANT_DIG >= 64
#define EXACT_DIGITS 19
#define EXACT_POWER 27
#else
#define EXACT_DIGITS 15
#define EXACT_POWER 22
#endif

static const long double powers[EXACT_POWER + 1] = {
    1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
    1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L,
#if EXACT_POWER > 22
    1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
#endif
};

/* Digits at *p, appended to *value; returns how many there are. */
static inline size_t read_digits(const uint8_t **p, const uint8_t *end, uint64_t *value)
{
    const uint8_t *begin = *p;
    for (; *p < end && is_digit(**p); (*p)++)
        *value = *value * 10 + (unsigned)(**p - '0');
    return (size_t)(*p - begin);
}

/* The exponent at *p, if there is one. */
static inline int read_exponent(const uint8_t **p, const uint8_t *end)
{
    const uint8_t *at = *p;
    if (at == end || (*at | 0x20) != 'e')
        return 0;
    at++;
    const int negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    uint64_t value = 0;
    const size_t n = read_digits(&at, end, &value);
    if (n == 0 || n > 4) /* no exponent, or a large one: what `*p` shows is not plain then */
        return 0;
    *p = at;
    return negative ? -(int)value : (int)value;
}

/* The number at p where it is a plain one: digits, perhaps with a sign before, a point among and an exponent behind them,
 * and nothing that follows is what strtold might take for a part of it. 330 ns a line become 70. */
static int read_plain(const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, long double *value)
{
    while (p < end && *p == ' ')
        p++;
    const int negative = p < end && *p == '-';
    p += negative;
    uint64_t digits = 0;
    size_t digit_n = read_digits(&p, end, &digits), fraction_n = 0;
    if (p < end && *p == locale->point) {
        p++;
        fraction_n = read_digits(&p, end, &digits);
        digit_n += fraction_n;
    }
    if (digit_n == 0 || digit_n > EXACT_DIGITS)
        return 0;
    const int power = read_exponent(&p, end) - (int)fraction_n;
    const int goes_on = p < end && (is_letter(*p) || *p >= 0x80);
    if (goes_on || power < -EXACT_POWER || power > EXACT_POWER)
        return 0;
    *value = power < 0 ? (long double)digits / powers[-power] : (long double)digits * powers[power];
    if (negative)
        *value = -*value;
    return 1;
}

void ps_encode_general(const struct ps_program *program, const struct ps_segment *segment,
                       const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)program;
    (void)segment;
    struct sink local = *sink;
    long double value;
    if (read_plain(locale, p, end, &value)) {
        put_value(&local, value);
        *sink = local;
        return;
    }
    struct ps_copy copy;
    ps_copy_key(&copy, NULL, p, end);
    if (copy.text == NULL) {
        sink->full = 1;
        return;
    }
    char *number_end;
    value = strtold_l(copy.text, &number_end, locale->numeric);
    if (number_end == copy.text)
        put(&local, TAG_NO_NUMBER);
    else
        put_value(&local, value);
    *sink = local;
    ps_copy_free(&copy);
}
