/* One input of the fuzzer through the whole kernel, with what has to hold at each step.
 *
 *     0            what the order is and how the work is cut: see the enum
 *     HEAD_BYTES   if RAW is odd: 2 bytes, a length, and so many bytes of a program, valid or not
 *     ...          lines
 *
 * All ways lead to the same bytes: one step of sorting or many, gathered in pieces of any size, sorted at once or as
 * runs that are merged through windows of a few lines. */
#include "job.h"

#define SEGMENT_MAX 4
#define RUN_MAX 9

enum {
    RAW,
    FLAGS,
    SEPARATOR,
    SEGMENT_N,
    LOCALE,
    STEPS, /* 2 bytes */
    PIECE = STEPS + 2,
    KEY_ROOM,
    RUN_N,
    REFILL,
    OUT,
    SEGMENTS = 16, /* 8 bytes each */
    HEAD_BYTES = SEGMENTS + 8 * SEGMENT_MAX
};

static const char *const locale_names[] = {"C", "en_US.UTF-8", "C.UTF-8", "cs_CZ.UTF-8", "ja_JP.UTF-8", "sv_SE.UTF-8"};
#define LOCALE_N (sizeof locale_names / sizeof *locale_names)
static const uint8_t separators[] = {'\n', 0, ',', 'a'};
static const uint32_t field_separators[] = {PS_NO_BYTE, ',', ' ', 'a', 0, 0xFF, '\t', '.'};

static const struct ps_locale *locale_of(unsigned byte)
{
    static struct ps_locale *opened[LOCALE_N];
    const unsigned which = byte % LOCALE_N;
    if (opened[which] == NULL)
        opened[which] = open_locale(locale_names[which]);
    return opened[which];
}

/* Small counts, and all that is next to the largest. */
static uint64_t count_of(unsigned byte)
{
    return byte < 240 ? byte % 16 : UINT64_MAX - (byte - 240);
}

static struct ps_segment segment_of(const uint8_t *p, int is_first, int is_last)
{
    struct ps_segment segment = whole_line(p[0] % PS_KIND_N);
    segment.flags = p[1] & (PS_SEG_REVERSE | PS_SEG_START_BLANKS | PS_SEG_END_BLANKS | PS_SEG_TO_LINE_END);
    if (segment.kind == PS_RANDOM && p[1] & 16)
        segment.flags |= PS_SEG_COLLATED;
    if (segment.kind == PS_TEXT && is_last && p[1] & 16)
        segment.flags = (is_first ? segment.flags : segment.flags & ~PS_SEG_REVERSE) | PS_SEG_BARE;
    segment.field_separator = field_separators[p[2] % 8];
    const unsigned table = p[2] / 8 % 8;
    if (table < TABLE_N)
        segment.table = table;
    segment.point = p[3] & 1 ? ',' : '.';
    segment.grouping = p[3] & 2 ? (p[3] & 4 ? ' ' : ',') : PS_NO_BYTE;
    segment.start_field = count_of(p[4]);
    segment.start_char = count_of(p[5]);
    segment.end_field = count_of(p[6]);
    segment.end_char = count_of(p[7]);
    return segment;
}

static struct ps_program *program_of(const uint8_t *head)
{
    struct ps_segment segments[SEGMENT_MAX];
    const uint32_t n = head[SEGMENT_N] % (SEGMENT_MAX + 1);
    for (uint32_t i = 0; i < n; i++)
        segments[i] = segment_of(head + SEGMENTS + 8 * i, i == 0, i + 1 == n);
    size_t size;
    struct ps_program *program = make_program(head[FLAGS] & 15, separators[head[SEPARATOR] % 4], segments, n, &size);
    REQUIRE(ps_program_is_valid(program, size));
    return program;
}

/* The program that the bytes are, or NULL: nobody would run it. */
static struct ps_program *raw_program(const uint8_t **p, const uint8_t *end)
{
    if (end - *p < 2)
        return NULL;
    size_t n = (size_t)(*p)[0] << 8 | (*p)[1];
    *p += 2;
    if (n > (size_t)(end - *p))
        n = (size_t)(end - *p);
    struct ps_program *program = allocate(n);
    memcpy(program, *p, n);
    *p += n;
    if (ps_program_is_valid(program, n))
        return program;
    free(program);
    return NULL;
}

/* A key that the segment finds, as its table has it; to be freed. */
static uint8_t *key_of(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *line,
                       size_t line_n, size_t *n)
{
    const uint8_t *p, *end;
    ps_find_key(program, segment, line, line + line_n, &p, &end);
    REQUIRE(p >= line && p <= end && end <= line + line_n);
    uint8_t *key = allocate((size_t)(end - p));
    const struct ps_table *table = segment->table == PS_NO_TABLE ? NULL : ps_tables(program) + segment->table;
    *n = 0;
    for (; p < end; p++)
        if (table == NULL || table->keep[*p])
            key[(*n)++] = table == NULL ? *p : table->map[*p];
    return key;
}

/* The order of two lines by their keys themselves, as far as they are text: 0 where another kind has to decide. */
static int compare_texts(struct ps_context *context, const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n)
{
    const struct ps_program *program = context->program;
    for (uint32_t i = 0; i < program->segment_n; i++) {
        const struct ps_segment *segment = ps_segments(program) + i;
        int order = 0;
        if (segment->kind == PS_COLLATE) {
            order = ps_collate_keys(context, segment, a, a_n, b, b_n);
        } else if (segment->kind == PS_TEXT) {
            size_t x_n, y_n;
            uint8_t *x = key_of(program, segment, a, a_n, &x_n), *y = key_of(program, segment, b, b_n, &y_n);
            order = ps_compare_bytes(x, x_n, y, y_n);
            order = segment->flags & PS_SEG_REVERSE ? -order : order;
            free(x);
            free(y);
        } else {
            return 0;
        }
        if (order)
            return order;
    }
    if (program->segment_n == 0) { /* plain order, whatever PS_COLLATE_LINES says */
        const int order = ps_compare_bytes(a, a_n, b, b_n);
        return program->flags & PS_REVERSE ? -order : order;
    }
    return program->flags & (PS_STABLE | PS_UNIQUE) ? 0 : ps_compare_lines(context, a, a_n, b, b_n);
}

/* Sorted lines are in order, by all that can tell. */
static void require_order(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
                          size_t text_n)
{
    struct job job;
    start_job(&job, program, locale, text, text_n, enough_for_keys(program, text, text_n));
    struct ps_context context = ps_context_of(program, locale);
    const struct ps_record *records = (const struct ps_record *)(const void *)(job.arena + job.top);
    for (size_t i = 1; i < job.n; i++) {
        const struct ps_record *a = records - i, *b = records - 1 - i;
        REQUIRE(compare_texts(&context, text + a->offset, a->length, text + b->offset, b->length) <= 0);
    }
    ps_scratch_free(&context.scratch);
    const size_t n = job.n;
    encode_job(&job);
    REQUIRE(job.n == n);
    REQUIRE(ps_check(program, locale, job.arena, job.arena + job.top, n) == n);
    REQUIRE(ps_presorted(program, locale, job.arena, job.arena + job.top, n) == 1);
    const size_t repeated = ps_repeat(program, locale, job.arena, job.arena + job.top, n);
    REQUIRE(repeated <= n && (repeated == n || !(program->flags & PS_UNIQUE)));
    /* In order already: they stay as they are. */
    const struct ps_part part = {0, n, 0, PS_FIRST_SHIFT, PS_PART_DESCENDING | PS_PART_SORTED};
    REQUIRE(ps_sort_part(program, locale, job.arena, job.arena + job.top, n, &part));
    size_t size;
    uint8_t *again = gather_job(&job, text_n + 1, &size);
    REQUIRE(size == text_n && memcmp(again, text, size) == 0);
    free(again);
    end_job(&job);
}

static int compare_spans(const void *a, const void *b)
{
    const struct ps_header *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The sorted records are those of all lines, or under PS_UNIQUE of some. */
static void require_permutation(const struct job *job)
{
    const struct ps_record *records = (const struct ps_record *)(const void *)(job->arena + job->top) - job->n;
    struct ps_header *spans = allocate(job->n * sizeof *spans);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < job->n; i++)
        if (records[i].offset != UINT32_MAX)
            spans[n++] = (struct ps_header){records[i].offset, records[i].length};
    REQUIRE(n == job->n || job->program->flags & PS_UNIQUE);
    qsort(spans, n, sizeof *spans, compare_spans);
    for (size_t i = 0; i < n; i++) {
        REQUIRE(spans[i].offset >= at && spans[i].offset + (size_t)spans[i].length < job->text_n);
        REQUIRE(n < job->n || spans[i].offset == at);
        REQUIRE(job->arena[spans[i].offset + spans[i].length] == job->program->separator);
        at = spans[i].offset + spans[i].length + (size_t)1;
    }
    free(spans);
}

/* Complete lines, sorted; *done is how many bytes of the text they were. To be freed. */
static uint8_t *sorted(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
                       size_t text_n, size_t key_n, unsigned steps, size_t piece_n, size_t *done, size_t *size)
{
    struct job job;
    start_job(&job, program, locale, text, text_n, key_n);
    const size_t n = job.n;
    encode_job(&job);
    *done = text_n;
    if (job.n < n) { /* no room: the first line without a key is where its record still says */
        const struct ps_record *record = (const struct ps_record *)(const void *)(job.arena + job.top) - 1 - job.n;
        *done = record->offset;
    }
    sort_job(&job, steps);
    require_permutation(&job);
    uint8_t *out = gather_job(&job, piece_n, size);
    end_job(&job);
    return out;
}

/* A run under merge: its text, how far that is in the window, and the window. */
struct run {
    uint8_t *text;
    size_t n, at, last; /* last: where the line read last begins */
};

/* The next lines_n lines, behind the last one if that is to be kept. */
static void refill(const struct ps_program *program, const struct ps_locale *locale, struct run *run, size_t lines_n,
                   uint8_t *arena, struct ps_cursor *cursor, size_t window_n)
{
    const int keeps = program->flags & PS_UNIQUE && run->at > 0;
    const size_t begin = keeps ? run->last : run->at;
    for (; lines_n > 0 && run->at < run->n; lines_n--) {
        run->last = run->at;
        run->at = (size_t)((uint8_t *)memchr(run->text + run->at, (int)program->separator, run->n - run->at) + 1 -
                           run->text);
    }
    const size_t text_n = run->at - begin;
    uint8_t *window = arena + cursor->base;
    if (text_n > 0)
        memcpy(window, run->text + begin, text_n);
    size_t consumed, longest, at = text_n;
    cursor->n = ps_scan(program, window, 0, text_n, window + window_n, 0, window_n / 16, &consumed, &longest);
    REQUIRE(consumed == text_n);
    if (program->segment_n > 0)
        REQUIRE(ps_encode(program, locale, window, window + window_n, 0, cursor->n, &at, window_n - 16 * cursor->n) ==
                cursor->n);
    cursor->top = window_n;
    cursor->next = (uint64_t)keeps;
    cursor->last = run->at == run->n;
}

/* As module.c holds the caller to it. */
static void require_cursors(const struct ps_cursor *cursors, size_t n, size_t arena_n)
{
    for (size_t i = 0; i < n; i++)
        REQUIRE(cursors[i].base + cursors[i].top <= arena_n && cursors[i].next <= cursors[i].n);
}

/* Room for the largest window of so many lines of this run. */
static size_t window_size(const struct ps_program *program, const struct run *run, size_t lines_n)
{
    size_t at = 0, longest = 0;
    while (at < run->n) {
        const uint8_t *line = run->text + at;
        const size_t n = (size_t)((const uint8_t *)memchr(line, (int)program->separator, run->n - at) + 1 - line);
        const size_t needed = n + enough_for_keys(program, line, n) + sizeof(struct ps_record);
        longest = needed > longest ? needed : longest;
        at += n;
    }
    return (lines_n + 1) * longest / 16 * 16 + 16;
}

/* The runs, merged; to be freed. */
static uint8_t *merged(const struct ps_program *program, const struct ps_locale *locale, struct run *runs, size_t run_n,
                       size_t lines_n, size_t out_n, size_t *size)
{
    size_t window_n = 0, sum = 0;
    for (size_t i = 0; i < run_n; i++) {
        const size_t needed = window_size(program, runs + i, lines_n);
        window_n = needed > window_n ? needed : window_n;
        sum += runs[i].n;
    }
    uint8_t *arena = allocate(run_n * window_n), *out = allocate(sum), *piece = allocate(out_n);
    struct ps_cursor cursors[RUN_MAX];
    struct ps_merge *state = calloc(1, sizeof *state + run_n * sizeof(struct ps_node));
    REQUIRE(state != NULL);
    for (size_t i = 0; i < run_n; i++) {
        cursors[i].base = i * window_n;
        refill(program, locale, runs + i, lines_n, arena, cursors + i, window_n);
    }
    *size = 0;
    for (int64_t status = 0; status != PS_MERGE_DONE;) {
        size_t used;
        require_cursors(cursors, run_n, run_n * window_n);
        status = ps_merge(program, locale, arena, cursors, run_n, state, piece, out_n, &used);
        REQUIRE(used <= out_n && used <= sum - *size);
        REQUIRE(status != PS_MERGE_FULL || used == out_n);
        REQUIRE(status >= PS_MERGE_FULL && status < (int64_t)run_n);
        memcpy(out + *size, piece, used);
        *size += used;
        if (status >= 0)
            refill(program, locale, runs + status, lines_n, arena, cursors + status, window_n);
    }
    free(state);
    free(piece);
    free(arena);
    return out;
}

/* The text in run_n parts, each sorted by itself, and merged; to be freed. */
static uint8_t *sorted_in_runs(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
                               size_t text_n, size_t run_n, size_t lines_n, size_t out_n, size_t *size)
{
    struct run runs[RUN_MAX];
    const uint8_t *p = text, *end = text + text_n;
    for (size_t i = 0; i < run_n; i++) {
        const uint8_t *stop = i + 1 == run_n ? end : p + (size_t)(end - p) / (run_n - i);
        while (stop > p && stop[-1] != program->separator)
            stop--;
        size_t done;
        runs[i] = (struct run){.at = 0};
        runs[i].text = sorted(program, locale, p, (size_t)(stop - p),
                              enough_for_keys(program, p, (size_t)(stop - p)), 0, 4096, &done, &runs[i].n);
        REQUIRE(done == (size_t)(stop - p));
        p = stop;
    }
    uint8_t *out = merged(program, locale, runs, run_n, lines_n, out_n, size);
    for (size_t i = 0; i < run_n; i++)
        free(runs[i].text);
    return out;
}

static void run(const struct ps_program *program, const uint8_t *head, const uint8_t *text, size_t text_n)
{
    const struct ps_locale *locale = ps_program_needs_locale(program) ? locale_of(head[LOCALE]) : NULL;
    const unsigned steps = (unsigned)head[STEPS] << 8 | head[STEPS + 1];
    const size_t enough = enough_for_keys(program, text, text_n);
    const size_t key_n = head[KEY_ROOM] % 2 ? enough : (size_t)head[KEY_ROOM] * 16;
    size_t size, other_n, done, other_done;
    uint8_t *out = sorted(program, locale, text, text_n, key_n, steps, 1u + head[PIECE], &done, &size);
    while (done > 0 && text[done - 1] != program->separator) /* what is behind the last line */
        done--;
    uint8_t *other = sorted(program, locale, text, done, enough, 0, text_n + 1, &other_done, &other_n);
    REQUIRE(size == other_n && memcmp(out, other, size) == 0);
    free(other);
    require_order(program, locale, out, size);
    other = sorted_in_runs(program, locale, text, done, 1u + head[RUN_N] % RUN_MAX, 1u + head[REFILL] % 32,
                           1u + head[OUT], &other_n);
    REQUIRE(size == other_n && memcmp(out, other, size) == 0);
    free(other);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t head[HEAD_BYTES] = {0};
    const size_t head_n = n < HEAD_BYTES ? n : HEAD_BYTES;
    if (n > 0)
        memcpy(head, data, head_n);
    const uint8_t *p = data + head_n, *end = data + n;
    struct ps_program *program = head[RAW] % 2 ? raw_program(&p, end) : program_of(head);
    if (program != NULL)
        run(program, head, p, (size_t)(end - p));
    free(program);
    return 0;
}
