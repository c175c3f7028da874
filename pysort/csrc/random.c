/* Encoding for a shuffle that keeps equal keys together: a digest of the seed and the key. */
#include "encode.h"
#include "md5.h"

#include <stdlib.h>

/* What the locale makes of one piece, with the NUL behind it. Returns 0 when there was no memory. */
static int add_transformed(struct ps_md5 *md5, const char *piece, locale_t collate)
{
    char small[2048];
    size_t n = strxfrm_l(small, piece, sizeof small, collate);
    if (n < sizeof small) {
        ps_md5_add(md5, small, n + 1);
        return 1;
    }
    char *large = malloc(n + 1);
    if (large == NULL)
        return 0;
    n = strxfrm_l(large, piece, n + 1, collate);
    ps_md5_add(md5, large, n + 1);
    free(large);
    return 1;
}

void ps_encode_random(const struct ps_program *program, const struct ps_segment *segment,
                      const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    struct ps_md5 md5;
    struct ps_copy copy;
    ps_copy_key(&copy, ps_table_of(program, segment), p, end);
    if (copy.text == NULL) {
        sink->full = 1;
        return;
    }
    int done = 1;
    ps_md5_start(&md5);
    ps_md5_add(&md5, program->seed, sizeof program->seed);
    if (!(segment->flags & PS_SEG_COLLATED)) {
        ps_md5_add(&md5, copy.text, copy.n);
    } else {
        for (size_t at = 0; done && at < copy.n; at += strlen(copy.text + at) + 1)
            done = add_transformed(&md5, copy.text + at, locale->collate);
    }
    ps_copy_free(&copy);
    uint8_t digest[PS_MD5_BYTES];
    ps_md5_end(&md5, digest);
    put_bytes(sink, digest, sizeof digest);
    sink->full |= !done;
}
