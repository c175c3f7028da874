/* MD5 (RFC 1321): no protection against anybody, but what GNU sort shuffles by. */
#ifndef PYSORT_MD5_H
#define PYSORT_MD5_H

#include <stddef.h>
#include <stdint.h>

#define PS_MD5_BYTES 16
#define PS_MD5_BLOCK_BYTES 64

struct ps_md5 {
    uint32_t state[4];
    uint64_t n; /* bytes so far; those of the last incomplete block are in `block` */
    uint8_t block[PS_MD5_BLOCK_BYTES];
};

void ps_md5_start(struct ps_md5 *md5);
void ps_md5_add(struct ps_md5 *md5, const void *bytes, size_t n);
void ps_md5_end(struct ps_md5 *md5, uint8_t digest[PS_MD5_BYTES]);

#endif
