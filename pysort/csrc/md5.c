/* MD5, by RFC 1321. */
#include "md5.h"

#include <string.h>

/* The first 32 bits of the fraction of |sin(i)|, i = 1 to 64. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const uint8_t shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static inline uint32_t load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void store32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t rotate(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static void add_block(uint32_t state[4], const uint8_t *block)
{
    uint32_t words[16];
    for (unsigned i = 0; i < 16; i++)
        words[i] = load32(block + 4 * i);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t mixed;
        unsigned word;
        switch (i / 16) {
        case 0:
            mixed = (b & c) | (~b & d);
            word = i;
            break;
        case 1:
            mixed = (b & d) | (c & ~d);
            word = 5 * i + 1;
            break;
        case 2:
            mixed = b ^ c ^ d;
            word = 3 * i + 5;
            break;
        default:
            mixed = c ^ (b | ~d);
            word = 7 * i;
        }
        const uint32_t sum = a + mixed + words[word % 16] + sines[i];
        a = d;
        d = c;
        c = b;
        b += rotate(sum, shifts[i / 16][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void ps_md5_start(struct ps_md5 *md5)
{
    static const uint32_t initial[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    memcpy(md5->state, initial, sizeof initial);
    md5->n = 0;
}

void ps_md5_add(struct ps_md5 *md5, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    const size_t kept = md5->n % PS_MD5_BLOCK_BYTES;
    md5->n += n;
    if (kept > 0) {
        const size_t room = PS_MD5_BLOCK_BYTES - kept;
        const size_t step = n < room ? n : room;
        memcpy(md5->block + kept, p, step);
        if (step < room)
            return;
        add_block(md5->state, md5->block);
        p += step;
        n -= step;
    }
    for (; n >= PS_MD5_BLOCK_BYTES; p += PS_MD5_BLOCK_BYTES, n -= PS_MD5_BLOCK_BYTES)
        add_block(md5->state, p);
    if (n > 0)
        memcpy(md5->block, p, n);
}

void ps_md5_end(struct ps_md5 *md5, uint8_t digest[PS_MD5_BYTES])
{
    static const uint8_t padding[PS_MD5_BLOCK_BYTES] = {0x80};
    const uint64_t bits = 8 * md5->n;
    const size_t kept = md5->n % PS_MD5_BLOCK_BYTES;
    uint8_t length[8];
    store32(length, (uint32_t)bits);
    store32(length + 4, (uint32_t)(bits >> 32));
    ps_md5_add(md5, padding, (kept < 56 ? 56 : 56 + PS_MD5_BLOCK_BYTES) - kept);
    ps_md5_add(md5, length, sizeof length);
    for (int i = 0; i < 4; i++)
        store32(digest + 4 * i, md5->state[i]);
}
