/* The complete comparison of two records, and the check of the program that defines it. */
#include "kernel.h"

#include <string.h>

/* What stands for the bytes of a segment's key, NULL for themselves. *drops: whether its table takes some out. */
static const uint8_t *map_of(const struct ps_program *program, const struct ps_segment *segment, int *drops)
{
    *drops = 0;
    if (segment->table == PS_NO_TABLE)
        return NULL;
    const struct ps_table *table = ps_tables(program) + segment->table;
    *drops = memchr(table->keep, 0, sizeof table->keep) != NULL;
    return table->map;
}

static int takes_whole_line(const struct ps_segment *segment)
{
    return segment->start_field == 0 && segment->start_char == 0 && segment->flags & PS_SEG_TO_LINE_END &&
           !(segment->flags & PS_SEG_START_BLANKS);
}

struct ps_context ps_context_of(const struct ps_program *program, const struct ps_locale *locale)
{
    const struct ps_segment *segments = ps_segments(program);
    struct ps_context context = {.program = program, .locale = locale, .form = PS_LINES};
    if (program->segment_n == 0) {
        context.mask = program->flags & PS_REVERSE ? UINT64_MAX : 0;
        return context;
    }
    const struct ps_segment *last = segments + program->segment_n - 1;
    int drops;
    const uint8_t *map = map_of(program, last, &drops);
    context.form = last->flags & PS_SEG_BARE ? PS_STORED : PS_SHORT;
    for (const struct ps_segment *segment = segments; segment <= last; segment++)
        if (segment->kind == PS_COLLATE)
            context.form = PS_STORED;
    if (segments == last && last->flags & PS_SEG_BARE) {
        context.mask = last->flags & PS_SEG_REVERSE ? UINT64_MAX : 0;
        if (!drops) {
            context.form = takes_whole_line(last) ? PS_WHOLE : PS_SLICE;
            context.map = map;
        }
    }
    return context;
}

const struct ps_segment *ps_stage_end(const struct ps_program *program, uint32_t stage)
{
    const struct ps_segment *segments = ps_segments(program);
    for (uint32_t i = 0; i < program->segment_n; i++)
        if (segments[i].kind == PS_COLLATE && stage-- == 0)
            return segments + i;
    return NULL;
}

void ps_next_stage(const uint8_t *arena, struct ps_record *record)
{
    uint32_t length;
    __builtin_memcpy(&length, arena + record->offset + record->length, sizeof length);
    record->offset += record->length + (uint32_t)sizeof length + (uint32_t)sizeof(struct ps_header);
    record->length = length;
    record->prefix = ps_load_prefix(arena + record->offset, length);
}

int ps_compare_lines(struct ps_context *context, const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n)
{
    int order = context->program->flags & PS_COLLATE_LINES ? ps_collate_text(context, NULL, a, a_n, b, b_n)
                                                           : ps_compare_bytes(a, a_n, b, b_n);
    return context->program->flags & PS_REVERSE ? -order : order;
}

/* Keys of one stage whose prefixes are equal: see compare_at in radix.c. */
static int compare_stage(const struct ps_context *context, const uint8_t *arena_a, const struct ps_record *a,
                         const uint8_t *arena_b, const struct ps_record *b)
{
    if (ps_is_whole(context->form, a))
        return 0;
    const struct ps_header x = ps_key_of(context->form, a), y = ps_key_of(context->form, b);
    const size_t shorter = x.length < y.length ? x.length : y.length;
    const size_t known = shorter < 8 ? shorter : 8;
    const int order = ps_compare_mapped(context->map, arena_a + x.offset + known, x.length - known,
                                        arena_b + y.offset + known, y.length - known);
    return context->mask ? -order : order;
}

int ps_compare(struct ps_context *context, const uint8_t *arena_a, const struct ps_record *a, const uint8_t *arena_b,
               const struct ps_record *b)
{
    const struct ps_program *program = context->program;
    int order = compare_stage(context, arena_a, a, arena_b, b);
    if (order || context->form == PS_LINES)
        return order;

    const struct ps_header line_a = ps_line_of(context->form, arena_a, a);
    const struct ps_header line_b = ps_line_of(context->form, arena_b, b);
    const uint8_t *text_a = arena_a + line_a.offset, *text_b = arena_b + line_b.offset;
    const struct ps_segment *last = ps_segments(program) + program->segment_n - 1;
    struct ps_record x = *a, y = *b;
    for (uint32_t stage = 0;; stage++) {
        const struct ps_segment *end = ps_stage_end(program, stage);
        if (end == NULL)
            break;
        order = ps_collate_keys(context, end, text_a, line_a.length, text_b, line_b.length);
        if (order)
            return order;
        if (end == last)
            break;
        ps_next_stage(arena_a, &x);
        ps_next_stage(arena_b, &y);
        if (x.prefix != y.prefix)
            return x.prefix < y.prefix ? -1 : 1;
        order = compare_stage(context, arena_a, &x, arena_b, &y);
        if (order)
            return order;
    }
    if (program->flags & (PS_STABLE | PS_UNIQUE))
        return 0;
    return ps_compare_lines(context, text_a, line_a.length, text_b, line_b.length);
}

/* The complete comparison of a record and the one before it. */
static int compare_neighbours(struct ps_context *context, const uint8_t *arena, const struct ps_record *before,
                              const struct ps_record *record)
{
    if (before->prefix != record->prefix)
        return before->prefix < record->prefix ? -1 : 1;
    return ps_compare(context, arena, before, arena, record);
}

size_t ps_check(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                const uint8_t *top, size_t n)
{
    const struct ps_record *records = (const struct ps_record *)(const void *)top;
    struct ps_context context = ps_context_of(program, locale);
    const int unique = (program->flags & PS_UNIQUE) != 0;
    size_t i = 1;
    for (; i < n; i++) {
        const int order = compare_neighbours(&context, arena, records - i, records - 1 - i);
        if (order > 0 || (unique && order == 0) || context.scratch.failed)
            break;
    }
    if (context.scratch.failed)
        i = PS_NO_MEMORY;
    else if (i > n)
        i = n;
    ps_scratch_free(&context.scratch);
    return i;
}

/* Two lines whose prefixes are equal. Sorted ones often differ in the next 8 bytes: 16 ns a line instead of 18. */
static int compare_equal_prefixes(const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n)
{
    const size_t shorter = a_n < b_n ? a_n : b_n;
    const size_t known = shorter < 8 ? shorter : 8;
    if (shorter >= 16) {
        const uint64_t x = ps_load_prefix(a + 8, 8), y = ps_load_prefix(b + 8, 8);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return ps_compare_bytes(a + known, a_n - known, b + known, b_n - known);
}

size_t ps_check_text(const struct ps_program *program, const uint8_t *arena, size_t start, size_t stop, size_t *line_n)
{
    const uint64_t mask = program->flags & PS_REVERSE ? UINT64_MAX : 0;
    const int most = program->flags & PS_UNIQUE ? -1 : 0; /* what the comparison with the next line may be */
    const int separator = (int)program->separator;
    const uint8_t *line = arena + start, *end = arena + stop, *before = NULL;
    size_t before_n = 0;
    uint64_t before_prefix = 0;
    for (*line_n = 0; line < end; ++*line_n) {
        const uint8_t *found = memchr(line, separator, (size_t)(end - line));
        if (found == NULL)
            break;
        const size_t n = (size_t)(found - line);
        const uint64_t prefix = mask ^ (end - line >= 8 ? ps_load_prefix_fast(line, n) : ps_load_prefix(line, n));
        if (before_prefix > prefix)
            break;
        if (before_prefix == prefix && before != NULL) {
            const int order = compare_equal_prefixes(before, before_n, line, n);
            if ((mask ? -order : order) > most)
                break;
        }
        before = line;
        before_n = n;
        before_prefix = prefix;
        line = found + 1;
    }
    return (size_t)(line - arena);
}

int ps_presorted(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                 const uint8_t *top, size_t n)
{
    const struct ps_record *records = (const struct ps_record *)(const void *)top;
    struct ps_context context = ps_context_of(program, locale);
    const int equal = program->flags & PS_UNIQUE ? 0 : 1; /* how equal ones count */
    int direction = 1;
    for (size_t i = 1; i < n && direction != 0 && !context.scratch.failed; i++) {
        const int order = compare_neighbours(&context, arena, records - i, records - 1 - i);
        const int this = order < 0 ? 1 : order > 0 ? -1 : equal;
        if (i == 1)
            direction = this;
        else if (this != direction)
            direction = 0;
    }
    if (context.scratch.failed)
        direction = 0; /* whoever sorts will find out */
    ps_scratch_free(&context.scratch);
    return direction;
}

struct ps_header ps_line_at(const struct ps_program *program, const uint8_t *arena, const uint8_t *top, size_t index)
{
    const struct ps_record *record = (const struct ps_record *)(const void *)top - 1 - index;
    const enum ps_form form = ps_context_of(program, NULL).form;
    return form == PS_LINES ? (struct ps_header){record->offset, record->length} : ps_line_of(form, arena, record);
}

static int segment_is_valid(const struct ps_program *program, uint32_t index)
{
    const struct ps_segment *segment = ps_segments(program) + index;
    if (segment->kind >= PS_KIND_N || segment->field_separator > PS_NO_BYTE || segment->point > PS_NO_BYTE ||
        segment->grouping > PS_NO_BYTE)
        return 0;
    if (segment->table != PS_NO_TABLE && segment->table >= program->table_n)
        return 0;
    if (segment->kind == PS_MONTH && program->months_n == 0)
        return 0;
    if (segment->flags & PS_SEG_BARE)
        return segment->kind == PS_TEXT && index == program->segment_n - 1 &&
               (index == 0 || !(segment->flags & PS_SEG_REVERSE));
    return 1;
}

static int months_are_valid(const uint8_t *months, size_t size)
{
    unsigned n = 0;
    for (; size > 0; n++) {
        if (size < 2 || size - 2 < months[1])
            return 0;
        const size_t step = 2 + (size_t)months[1];
        months += step;
        size -= step;
    }
    return n == 0 || n == 12;
}

int ps_program_is_valid(const void *bytes, size_t size)
{
    const struct ps_program *program = bytes;
    if (size < sizeof *program)
        return 0;
    size -= sizeof *program;
    if (program->separator > (program->flags & PS_COUNT ? 63 : 255))
        return 0;
    if (program->segment_n > size / sizeof(struct ps_segment))
        return 0;
    size -= program->segment_n * sizeof(struct ps_segment);
    if (program->table_n > size / sizeof(struct ps_table))
        return 0;
    size -= program->table_n * sizeof(struct ps_table);
    if (program->months_n != size || !months_are_valid(ps_months(program), size))
        return 0;
    for (uint32_t i = 0; i < program->segment_n; i++)
        if (!segment_is_valid(program, i))
            return 0;
    return 1;
}

int ps_program_needs_locale(const struct ps_program *program)
{
    const struct ps_segment *segments = ps_segments(program);
    if (program->flags & PS_COLLATE_LINES)
        return 1;
    for (uint32_t i = 0; i < program->segment_n; i++)
        if (segments[i].kind == PS_COLLATE || segments[i].kind == PS_GENERAL || segments[i].flags & PS_SEG_COLLATED)
            return 1;
    return 0;
}
