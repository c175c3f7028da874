/* Encoding version strings, in which digits count by their value. The code is derived in _kernel_py_orderings.py. */
#include "encode.h"

#define CLASS_HIDDEN 3u /* begins with a dot. Below: "", "." and "..", by their length */
#define CLASS_OTHER 4u
#define RANK_TILDE 1u
#define RANK_END 2u /* of a run of bytes that are no digits, and of the whole */
#define RANK_LETTERS 3u
#define RANK_OTHERS 55u
#define LENGTH_FOLLOWS 255u

/* Of a byte that is no digit. */
static inline unsigned rank_of(unsigned byte)
{
    if (is_letter(byte))
        return RANK_LETTERS + (byte < 'a' ? byte - 'A' : byte - 'a' + 26);
    if (byte == '~')
        return RANK_TILDE;
    /* Their own order without the digits, the letters and the tilde below them. */
    return RANK_OTHERS + byte - 10u * (byte > '9') - 26u * (byte > 'Z') - 26u * (byte > 'z') - 1u * (byte > '~');
}

/* The end of a run, and the value of the digits behind it, of which there may be none. */
static inline void put_value(struct sink *sink, const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p == '0')
        p++;
    const size_t n = (size_t)(end - p);
    put(sink, RANK_END);
    if (n < LENGTH_FOLLOWS) {
        put(sink, (unsigned)n);
    } else {
        put(sink, LENGTH_FOLLOWS);
        put_count(sink, n, 0);
    }
    put_digits(sink, p, end, PS_NO_BYTE, n % 2 == 1, 0);
}

static inline void put_open(struct sink *sink, const uint8_t *p, const uint8_t *end)
{
    while (p < end && !sink->full) {
        if (is_digit(*p)) {
            const uint8_t *digits = p;
            while (p < end && is_digit(*p))
                p++;
            put_value(sink, digits, p);
        } else {
            put(sink, rank_of(*p++));
        }
    }
}

static inline void put_closed(struct sink *sink, const uint8_t *p, const uint8_t *end)
{
    put_open(sink, p, end);
    if (p == end || !is_digit(end[-1]))
        put_value(sink, end, end);
    put(sink, RANK_END);
}

/* Where the suffixes begin: as many as there are of a dot, a letter or tilde, and letters, digits and tildes. The first
 * byte belongs to none. */
static const uint8_t *stem_end(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *stem = p;
    while (p < end) {
        stem = ++p;
        while (end - p >= 2 && p[0] == '.' && (is_letter(p[1]) || p[1] == '~'))
            for (p += 2; p < end && (is_letter(*p) || is_digit(*p) || *p == '~'); p++)
                continue;
    }
    return stem;
}

static void put_name(struct sink *sink, const uint8_t *p, const uint8_t *end)
{
    const size_t n = (size_t)(end - p);
    if (n == 0 || (n <= 2 && p[0] == '.' && p[n - 1] == '.')) {
        put(sink, (unsigned)n);
        return;
    }
    const uint8_t *stem = stem_end(p, end);
    const uint8_t *shared = stem; /* of the codes of stem and whole */
    while (shared > p && shared[-1] == '0')
        shared--;
    if (shared > p && is_digit(shared[-1]))
        shared = stem;
    struct sink local = *sink;
    put(&local, p[0] == '.' ? CLASS_HIDDEN : CLASS_OTHER);
    put_open(&local, p, shared);
    put_closed(&local, shared, stem);
    put_closed(&local, shared, end);
    *sink = local;
}

void ps_encode_version(const struct ps_program *program, const struct ps_segment *segment,
                       const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)locale;
    const struct ps_table *table = ps_table_of(program, segment);
    if (table == NULL) {
        put_name(sink, p, end);
        return;
    }
    struct ps_copy copy;
    ps_copy_key(&copy, table, p, end);
    if (copy.text == NULL) {
        sink->full = 1;
        return;
    }
    put_name(sink, (const uint8_t *)copy.text, (const uint8_t *)copy.text + copy.n);
    ps_copy_free(&copy);
}
