/* Encoding keys so that memcmp orders them.
 *
 * Every segment's encoding is prefix-free: no encoding begins another one. So the encodings of several segments can be
 * strung together, and the complement of an encoding is the key's reverse order. The byte values are defined, with their
 * reasons, in _kernel_py_encode.py. */
#include "encode.h"

/* Bare text through a table, where there is room for all of it: no look at the room, no branch. */
static uint8_t *translate(const struct ps_table *table, const uint8_t *p, const uint8_t *end, uint8_t *at)
{
    for (; p < end; p++) {
        *at = table->map[*p];
        at += table->keep[*p] != 0;
    }
    return at;
}

static void encode_text(const struct ps_program *program, const struct ps_segment *segment,
                        const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)locale;
    const struct ps_table *table = ps_table_of(program, segment);
    const int bare = (segment->flags & PS_SEG_BARE) != 0;
    struct sink local = *sink;
    if (table == NULL && bare) {
        put_bytes(sink, p, (size_t)(end - p));
        return;
    }
    if (bare && end - p < local.limit - local.at) {
        sink->at = translate(table, p, end, local.at);
        return;
    }
    for (; p < end && !local.full; p++) {
        unsigned byte = *p;
        if (table != NULL) {
            if (!table->keep[byte])
                continue;
            byte = table->map[byte];
        }
        if (bare)
            put(&local, byte);
        else
            put_escaped(&local, byte);
    }
    if (!bare)
        put(&local, 0);
    *sink = local;
}

static ps_encoder *const encoders[PS_KIND_N] = {
    [PS_TEXT] = encode_text,
    [PS_NUMERIC] = ps_encode_numeric,
    [PS_HUMAN] = ps_encode_human,
    [PS_MONTH] = ps_encode_month,
    [PS_GENERAL] = ps_encode_general,
    [PS_VERSION] = ps_encode_version,
    [PS_RANDOM] = ps_encode_random,
    [PS_COLLATE] = ps_encode_collate,
};

static void encode_segment(const struct ps_program *program, const struct ps_segment *segment,
                           const struct ps_locale *locale, const uint8_t *line, const uint8_t *line_end,
                           struct sink *sink)
{
    const uint8_t *key, *key_end;
    uint8_t *begin = sink->at;
    ps_find_key(program, segment, line, line_end, &key, &key_end);
    encoders[segment->kind](program, segment, locale, key, key_end, sink);
    if (segment->flags & PS_SEG_REVERSE && !(segment->flags & PS_SEG_BARE))
        for (uint8_t *p = begin; p < sink->at; p++)
            *p = (uint8_t)~*p;
}

/* All stages of one line's key, each behind its header; the first begins at sink->at. Returns the first one's length. */
static size_t encode_key(const struct ps_program *program, const struct ps_locale *locale, const struct ps_header *line,
                         const uint8_t *arena, struct sink *sink)
{
    const struct ps_segment *segments = ps_segments(program);
    const uint8_t *text = arena + line->offset;
    uint8_t *begin = sink->at;
    uint8_t *stage = begin;
    size_t first_length = 0;
    for (uint32_t s = 0; s < program->segment_n && !sink->full; s++) {
        encode_segment(program, segments + s, locale, text, text + line->length, sink);
        const int is_last = s + 1 == program->segment_n;
        if (segments[s].kind != PS_COLLATE && !is_last)
            continue;
        const uint32_t length = (uint32_t)(sink->at - stage);
        if (stage == begin)
            first_length = length;
        else
            memcpy(stage - sizeof *line - sizeof length, &length, sizeof length);
        if (!is_last) {
            const uint32_t unknown = 0;
            put_bytes(sink, (const uint8_t *)&unknown, sizeof unknown);
            put_bytes(sink, (const uint8_t *)line, sizeof *line);
            stage = sink->at;
        }
    }
    return first_length;
}

/* A key that is a part of its line. Returns 0 when it has to be stored and there is no room. */
static int address_slice(const struct ps_context *context, uint8_t *arena, struct ps_record *record, size_t *at,
                         size_t limit)
{
    const struct ps_header line = {record->offset, record->length};
    const uint8_t *text = arena + line.offset, *key, *key_end;
    ps_find_key(context->program, ps_segments(context->program), text, text + line.length, &key, &key_end);
    const size_t before = (size_t)(key - text), length = (size_t)(key_end - key);
    const size_t behind = line.length - before - length;
    const uint64_t prefix = ps_load_mapped(context->map, key, length) ^ context->mask;
    if (context->form == PS_WHOLE && line.length < PS_IN_LINE) {
        record->length = line.length | PS_IN_LINE;
    } else if (context->form == PS_SLICE && before <= PS_SLICE_MAX && length <= PS_SLICE_MAX &&
               behind <= 2 * PS_SLICE_MAX) {
        record->length =
            (uint32_t)(behind << 2 * PS_SLICE_BITS | length << PS_SLICE_BITS | before) | PS_IN_LINE;
    } else {
        if (limit < *at || limit - *at < sizeof line + length)
            return 0;
        memcpy(arena + *at, &line, sizeof line);
        memcpy(arena + *at + sizeof line, key, length);
        record->offset = (uint32_t)(*at + sizeof line);
        record->length = (uint32_t)length;
        *at += sizeof line + length;
    }
    record->prefix = prefix;
    return 1;
}

/* A key that is one number, and whole in the prefix. Returns 0 when it has to be encoded byte by byte. `room`: for a key
 * and its header, which this one needs as well, so that it does not matter how it is encoded. */
static int put_short_number(const struct ps_context *context, const uint8_t *arena, struct ps_record *record,
                            size_t room)
{
    const struct ps_segment *segment = ps_segments(context->program);
    const uint8_t *text = arena + record->offset, *key, *key_end;
    ps_find_key(context->program, segment, text, text + record->length, &key, &key_end);
    uint64_t code;
    const unsigned length = ps_short_number(context->program, segment, key, key_end, &code);
    if (length == 0 || record->length >= PS_IN_LINE || room < sizeof(struct ps_header) + length)
        return 0;
    record->prefix = segment->flags & PS_SEG_REVERSE ? code ^ ps_high_bytes(length) : code;
    record->length |= PS_IN_LINE;
    return 1;
}

/* A key that is encoded, and stored unless it is whole in the prefix. Returns 0 when there is no room. */
static int store_key(const struct ps_context *context, uint8_t *arena, struct ps_record *record, size_t *at,
                     size_t limit)
{
    const struct ps_header line = {record->offset, record->length};
    if (limit < *at || limit - *at < sizeof line)
        return 0;
    uint8_t *key = arena + *at + sizeof line;
    struct sink sink = {key, arena + limit, 0};
    const size_t length = encode_key(context->program, context->locale, &line, arena, &sink);
    if (sink.full)
        return 0;
    record->prefix = ps_load_prefix(key, length) ^ context->mask;
    if (context->form == PS_SHORT && length <= sizeof record->prefix && line.length < PS_IN_LINE) {
        record->length = line.length | PS_IN_LINE;
        return 1;
    }
    memcpy(arena + *at, &line, sizeof line);
    *at = (size_t)(sink.at - arena);
    record->offset = (uint32_t)(key - arena);
    record->length = (uint32_t)length;
    return 1;
}

size_t ps_encode(const struct ps_program *program, const struct ps_locale *locale, uint8_t *arena, uint8_t *top,
                 size_t first, size_t last, size_t *at, size_t limit)
{
    const struct ps_context context = ps_context_of(program, locale);
    const uint32_t kind = program->segment_n == 1 ? ps_segments(program)->kind : PS_KIND_N;
    const int is_number = kind == PS_NUMERIC || kind == PS_HUMAN;
    struct ps_record *records = (struct ps_record *)(void *)top;
    for (size_t i = first; i < last; i++) {
        struct ps_record *record = records - 1 - i;
        if (is_number && put_short_number(&context, arena, record, limit < *at ? 0 : limit - *at))
            continue;
        if (!(context.form < PS_WHOLE ? store_key(&context, arena, record, at, limit)
                                      : address_slice(&context, arena, record, at, limit)))
            return i;
    }
    return last;
}
