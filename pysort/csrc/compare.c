/* The complete comparison of two records, and the check of the program that defines it. */
#include "kernel.h"

/* Whole lines, after all keys were equal. */
static int last_resort(const struct ps_program *program, const uint8_t *arena_a, const struct ps_record *a,
                       const uint8_t *arena_b, const struct ps_record *b)
{
    const struct ps_header line_a = ps_header_of(arena_a, a);
    const struct ps_header line_b = ps_header_of(arena_b, b);
    int order = ps_compare_bytes(arena_a + line_a.offset, line_a.length, arena_b + line_b.offset, line_b.length);
    return program->flags & PS_REVERSE ? -order : order;
}

int ps_compare(const struct ps_program *program, const uint8_t *arena_a, const struct ps_record *a,
               const uint8_t *arena_b, const struct ps_record *b)
{
    size_t shorter = a->length < b->length ? a->length : b->length;
    size_t known = shorter < 8 ? shorter : 8; /* equal prefixes: see compare_at in radix.c */
    int order = ps_compare_bytes(arena_a + a->offset + known, a->length - known, arena_b + b->offset + known,
                                 b->length - known);
    if (program->segment_n == 0)
        return program->flags & PS_REVERSE ? -order : order;
    if (order || program->flags & (PS_STABLE | PS_UNIQUE))
        return order;
    return last_resort(program, arena_a, a, arena_b, b);
}

static int segment_is_valid(const struct ps_program *program, uint32_t index)
{
    const struct ps_segment *segment = ps_segments(program) + index;
    if (segment->kind > PS_NUMERIC || segment->field_separator > PS_NO_BYTE || segment->point > PS_NO_BYTE ||
        segment->grouping > PS_NO_BYTE)
        return 0;
    if (segment->table != PS_NO_TABLE && segment->table >= program->table_n)
        return 0;
    if (segment->flags & PS_SEG_BARE)
        return segment->kind == PS_TEXT && index == program->segment_n - 1 && !(segment->flags & PS_SEG_REVERSE);
    return 1;
}

int ps_program_is_valid(const void *bytes, size_t size)
{
    const struct ps_program *program = bytes;
    if (size < sizeof *program)
        return 0;
    size -= sizeof *program;
    if (program->separator > 255 || program->segment_n > size / sizeof(struct ps_segment))
        return 0;
    size -= program->segment_n * sizeof(struct ps_segment);
    if (program->table_n != size / sizeof(struct ps_table) || size % sizeof(struct ps_table) != 0)
        return 0;
    for (uint32_t i = 0; i < program->segment_n; i++)
        if (!segment_is_valid(program, i))
            return 0;
    return 1;
}
