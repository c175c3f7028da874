/* Copying sorted lines to the output. */
#include "kernel.h"

#include <string.h>

#define PREFETCH_AHEAD 16 /* lines; 0.115 s against 0.146 s without, 200 MB of random lines */

/* Copies what fits of text[skip:n]. Returns how much. */
static size_t copy_rest(const uint8_t *text, size_t n, size_t skip, uint8_t *at, size_t room)
{
    if (skip >= n)
        return 0;
    const size_t size = n - skip < room ? n - skip : room;
    memcpy(at, text + skip, size);
    return size;
}

/* ps_gather under PS_COUNT. */
static size_t gather_counted(const struct ps_program *program, const uint8_t *arena, const struct ps_record *records,
                             size_t n, size_t *index, size_t *skip, uint8_t *out, size_t out_size)
{
    uint8_t *at = out;
    for (; *index < n; ++*index) {
        const struct ps_record *record = records + *index;
        if (*index + PREFETCH_AHEAD < n)
            __builtin_prefetch(arena + record[PREFETCH_AHEAD].offset);
        uint8_t tail[PS_COUNT_MAX + 1];
        size_t tail_n = ps_put_count(tail, record->prefix);
        tail[tail_n++] = (uint8_t)program->separator;
        const size_t text_n = record->length;
        size_t used = copy_rest(arena + record->offset, text_n, *skip, at, out_size - (size_t)(at - out));
        at += used;
        *skip += used;
        if (*skip >= text_n) {
            used = copy_rest(tail, tail_n, *skip - text_n, at, out_size - (size_t)(at - out));
            at += used;
            *skip += used;
        }
        if (*skip < text_n + tail_n)
            break;
        *skip = 0;
    }
    return (size_t)(at - out);
}

size_t ps_gather(const struct ps_program *program, const uint8_t *arena, const struct ps_record *records, size_t n,
                 size_t *index, size_t *skip, uint8_t *out, size_t out_size)
{
    if (program->flags & PS_COUNT)
        return gather_counted(program, arena, records, n, index, skip, out, out_size);
    uint8_t *at = out;
    uint8_t *limit = out + out_size;
    size_t i = *index;
    size_t done = *skip;
    for (; i < n; i++) {
        const struct ps_record *record = records + i;
        if (i + PREFETCH_AHEAD < n)
            __builtin_prefetch(arena + record[PREFETCH_AHEAD].offset);
        size_t left = (size_t)record->length - done;
        size_t room = (size_t)(limit - at);
        if (left >= room) { /* the separator must fit as well */
            memcpy(at, arena + record->offset + done, room);
            at = limit;
            done += room;
            break;
        }
        memcpy(at, arena + record->offset + done, left);
        at += left;
        *at++ = (uint8_t)program->separator;
        done = 0;
    }
    *index = i;
    *skip = done;
    return (size_t)(at - out);
}
