/* Encoding the numbers of -g: what the C library's strtold reads, whatever its long double is. */
#include "encode.h"

#include <math.h>
#include <stdlib.h>

#define TAG_NO_NUMBER 0x00u
#define TAG_NAN 0x01u /* + 1 without a minus sign */
#define TAG_ZERO 0x80u
#define TAG_POSITIVE 0xC0u
#define TAG_INFINITY 0xFCu
#define EXPONENT_BIAS 0x8000 /* of the widest long doubles the exponents reach from -16493 to 16384 */

/* A finite number above zero. */
static void put_positive(struct sink *sink, long double value, unsigned complement)
{
    int exponent;
    value = frexpl(value, &exponent);
    const unsigned biased = (unsigned)(exponent + EXPONENT_BIAS);
    put(sink, TAG_POSITIVE ^ complement);
    put(sink, (biased >> 8) ^ complement);
    put(sink, (biased & 0xFF) ^ complement);
    do { /* exact: 7 bits move over the point and are taken away */
        value *= 128;
        const unsigned bits = (unsigned)value;
        value -= bits;
        put(sink, (bits << 1 | (value > 0)) ^ complement);
    } while (value > 0);
}

static void put_value(struct sink *sink, long double value)
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

void ps_encode_general(const struct ps_program *program, const struct ps_segment *segment,
                       const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)program;
    (void)segment;
    struct ps_copy copy;
    ps_copy_key(&copy, NULL, p, end);
    if (copy.text == NULL) {
        sink->full = 1;
        return;
    }
    char *number_end;
    const long double value = strtold_l(copy.text, &number_end, locale->numeric);
    if (number_end == copy.text)
        put(sink, TAG_NO_NUMBER);
    else
        put_value(sink, value);
    ps_copy_free(&copy);
}
