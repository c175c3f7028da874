/* Encoding version strings, in which digits count by their value. The code is derived in _kernel_py_orderings.py. */
#include "encode.h"

#define CLASS_HIDDEN 3u /* begins with a dot. Below: "", "." and "..", by their length */
#define CLASS_OTHER 4u
#define RANK_END 2u /* of a run of bytes that are no digits, and of the whole */
#define RANK_OTHERS 55u
#define LENGTH_FOLLOWS 255u

/* Of a byte that is no digit: the tilde 1, letters 3 to 54, the others in their own order from RANK_OTHERS on; 0 of a
 * digit. A table, since a quarter of the time went into telling them apart. */
static const uint8_t rank_of[256] = {
    55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70,
    71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86,
    87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 103, 104, 105, 106, 107, 108,
    109, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
    18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 110, 111, 112, 113, 114,
    115, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 116, 117, 118, 1, 119,
    120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135,
    136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151,
    152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167,
    168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180, 181, 182, 183,
    184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199,
    200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215,
    216, 217, 218, 219, 220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230, 231,
    232, 233, 234, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247,
};

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
        const unsigned rank = rank_of[*p];
        if (rank > 0) {
            put(sink, rank);
            p++;
            continue;
        }
        const uint8_t *digits = p;
        while (p < end && is_digit(*p))
            p++;
        put_value(sink, digits, p);
    }
}

static inline void put_closed(struct sink *sink, const uint8_t *p, const uint8_t *end)
{
    put_open(sink, p, end);
    if (p == end || !is_digit(end[-1]))
        put_value(sink, end, end);
    put(sink, RANK_END);
}

/* Whether a byte may be in a suffix behind its first, and whether it may be that. */
static inline int is_suffix(unsigned byte)
{
    return rank_of[byte] < RANK_OTHERS;
}

static inline int begins_suffix(unsigned byte)
{
    return is_suffix(byte) && !is_digit(byte);
}

/* Where the suffixes begin: as many as there are of a dot, a letter or tilde, and letters, digits and tildes. The first
 * byte belongs to none. */
static const uint8_t *stem_end(const uint8_t *p, const uint8_t *end)
{
    for (const uint8_t *stem = end;;) {
        const uint8_t *first = stem;
        while (first > p && is_suffix(first[-1]))
            first--;
        if (first == stem || first - p < 2 || first[-1] != '.' || !begins_suffix(*first))
            return stem;
        stem = first - 1;
    }
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
