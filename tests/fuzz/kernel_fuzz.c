/* One input of the fuzzer through the whole kernel, with what has to hold at each step.
 *
 *     0            what the order is and how the work is cut: see the enum
 *     HEAD_BYTES   if RAW is odd: 2 bytes, a length, and so many bytes of a program, valid or not
 *     ...          lines
 *
 * All ways lead to the same bytes: one step of sorting or many, gathered in pieces of any size, sorted at once or as
 * runs that are merged through windows of a few lines. */
#include "job.h"

#include <limits.h>

#define SEGMENT_MAX 4

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
    FAIL, /* which allocation of the kernel fails, if not 0 */
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
    const uint8_t separator = separators[head[SEPARATOR] % 4];
    const uint32_t flags = head[FLAGS] & (separator < 64 ? 31 : 15);
    struct ps_program *program = make_program(flags, separator, segments, n, &size);
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

/* Lines are in order without records up to where their records say. */
static void require_same_disorder(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
                                  size_t text_n)
{
    if (program->segment_n > 0)
        return;
    struct job job;
    start_job(&job, program, locale, text, text_n, 0);
    uint8_t *exact = allocate(text_n); /* nothing may be read behind it */
    memcpy(exact, text, text_n);
    size_t n;
    const size_t at = ps_check_text(program, exact, 0, text_n, &n);
    REQUIRE(n == ps_check(program, locale, job.arena, job.arena + job.top, job.n));
    if (n < job.n)
        REQUIRE(at == ((const struct ps_record *)(const void *)(job.arena + job.top) - 1 - n)->offset);
    else
        REQUIRE(at <= text_n && (at == 0 || text[at - 1] == program->separator));
    free(exact);
    end_job(&job);
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

/* Encoded records still know their lines. */
static void require_lines(const struct job *job, const uint8_t *text)
{
    size_t at = 0;
    for (size_t i = 0; i < job->n; i++) {
        const struct ps_header line = ps_line_at(job->program, job->arena, job->arena + job->top, i);
        REQUIRE(line.offset == at && at + line.length < job->text_n);
        at += line.length + (size_t)1;
        REQUIRE(text[at - 1] == job->program->separator);
    }
}

/* Lines that are found to be in order need no more than to be numbered, in as many parts as there are shares, where each
 * was less than the one before it. Returns 0 where neither is so. */
static int sort_presorted(struct job *job, size_t share_n)
{
    uint8_t *top = job->arena + job->top;
    const int direction = ps_presorted(job->program, job->locale, job->arena, top, job->n);
    if (direction == 0)
        return 0;
    const size_t step = direction > 0 ? job->n : job->n / share_n + 1;
    size_t first = 0;
    do {
        const size_t n = job->n - first < step ? job->n - first : step;
        const uint64_t flags = PS_PART_SORTED | (direction > 0 ? PS_PART_DESCENDING : 0);
        const struct ps_part part = {first, n, 0, PS_FIRST_SHIFT, flags};
        REQUIRE(ps_sort_part(job->program, job->locale, job->arena, top, job->n, &part));
        first += n;
    } while (first < job->n);
    return 1;
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
    require_lines(&job, text);
    if (steps == 0 || !sort_presorted(&job, 1 + steps % 5))
        sort_job(&job, steps);
    require_permutation(&job);
    uint8_t *out = gather_job(&job, piece_n, size);
    end_job(&job);
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
    uint8_t *out = merge_runs(program, locale, runs, run_n, lines_n, out_n, size);
    for (size_t i = 0; i < run_n; i++)
        free(runs[i].text);
    return out;
}

/* As uniq -c shows them, in exactly as many bytes as that takes; in fewer, as many as fit whole. */
static void require_shown(const struct ps_program *program, const uint8_t *text, size_t text_n, size_t shown_n,
                          size_t less_n)
{
    uint8_t *shown = allocate(shown_n), *at = shown;
    size_t consumed;
    REQUIRE(ps_show_counts(program, text, text_n, &consumed, shown, shown_n) == shown_n && consumed == text_n);
    for (const uint8_t *p = text, *stop; p < text + text_n; p = stop + 1) {
        stop = memchr(p, (int)program->separator, (size_t)(text + text_n - p));
        const size_t line_n = (size_t)(ps_text_end(p, stop) - p);
        char number[32];
        snprintf(number, sizeof number, "%7llu ", (unsigned long long)ps_count_at(p + line_n));
        REQUIRE(memcmp(at, number, strlen(number)) == 0 && memcmp(at + strlen(number), p, line_n) == 0);
        at += strlen(number) + line_n + 1;
        REQUIRE(at[-1] == program->separator);
    }
    uint8_t *less = allocate(less_n);
    const size_t less_used = ps_show_counts(program, text, text_n, &consumed, less, less_n);
    REQUIRE(less_used <= less_n && consumed <= text_n && memcmp(less, shown, less_used) == 0);
    REQUIRE(less_used == 0 || less[less_used - 1] == program->separator);
    free(less);
    free(shown);
}

/* Counted lines stand for the lines that are sorted without counting: all of them, or those that PS_UNIQUE keeps. */
static void require_counts(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
                           size_t text_n, const uint8_t *counted, size_t counted_n, size_t less_n)
{
    const size_t size = (size_t)(ps_months(program) - (const uint8_t *)program) + program->months_n;
    struct ps_program *plain = allocate(size);
    memcpy(plain, program, size);
    plain->flags &= ~PS_COUNT;
    const int unique = (program->flags & PS_UNIQUE) != 0;
    size_t done, n, at = 0, sum = 0, shown_n = 0, before_n = SIZE_MAX;
    uint8_t *all = sorted(plain, locale, text, text_n, enough_for_keys(plain, text, text_n), 0, 4096, &done, &n);
    const uint8_t *before = NULL;
    for (const uint8_t *p = counted, *end = counted + counted_n; p < end;) {
        const uint8_t *stop = memchr(p, (int)program->separator, (size_t)(end - p));
        REQUIRE(stop != NULL);
        const size_t line_n = (size_t)(ps_text_end(p, stop) - p);
        const uint64_t count = ps_count_at(p + line_n);
        uint8_t digits[PS_COUNT_MAX];
        REQUIRE(count > 0 && count <= text_n && line_n + ps_put_count(digits, count) == (size_t)(stop - p));
        REQUIRE(unique || line_n != before_n || memcmp(before, p, line_n) != 0);
        for (uint64_t i = 0; i < (unique ? 1 : count); i++, at += line_n + 1)
            REQUIRE(line_n < n - at && memcmp(all + at, p, line_n) == 0 && all[at + line_n] == program->separator);
        sum += count;
        shown_n += 8 + line_n + 1; /* counts here have up to 4 digits */
        before = p;
        before_n = line_n;
        p = stop + 1;
    }
    REQUIRE(at == n);
    for (size_t i = 0; i < text_n; i++)
        sum -= text[i] == program->separator;
    REQUIRE(sum == 0);
    require_shown(program, counted, counted_n, shown_n, less_n);
    require_order(plain, locale, all, n);
    free(all);
    free(plain);
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
    require_same_disorder(program, locale, text, text_n);
    if (program->flags & PS_COUNT) {
        require_counts(program, locale, text, done, out, size, head[OUT]);
    } else {
        require_order(program, locale, out, size);
        require_same_disorder(program, locale, out, size);
    }
    other = sorted_in_runs(program, locale, text, done, 1u + head[RUN_N] % RUN_MAX, 1u + head[REFILL] % 32,
                           1u + head[OUT], &other_n);
    REQUIRE(size == other_n && memcmp(out, other, size) == 0);
    free(other);
    free(out);
}

void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_realloc(void *p, size_t n);

static unsigned allocations_left = UINT_MAX;

static int allocation_fails(void)
{
    return allocations_left != UINT_MAX && allocations_left-- == 0;
}

void *__wrap_malloc(size_t n)
{
    return allocation_fails() ? NULL : __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return allocation_fails() ? NULL : __real_realloc(p, n);
}

/* Where memory fails somebody is told: an encoder stops at its line, everything else says so. */
static void run_without_memory(const struct ps_program *program, const uint8_t *head, const uint8_t *text, size_t text_n)
{
    const struct ps_locale *locale = ps_program_needs_locale(program) ? locale_of(head[LOCALE]) : NULL;
    struct job job;
    start_job(&job, program, locale, text, text_n, enough_for_keys(program, text, text_n));
    const size_t n = job.n;
    allocations_left = head[FAIL] - 1u;
    encode_job(&job);
    uint8_t *top = job.arena + job.top;
    const size_t checked = ps_check(program, locale, job.arena, top, job.n);
    const struct ps_part part = {0, job.n, 0, PS_FIRST_SHIFT, PS_PART_DESCENDING};
    const int is_sorted = ps_sort_part(program, locale, job.arena, top, job.n, &part);
    const int has_failed = allocations_left == UINT_MAX;
    allocations_left = UINT_MAX;
    REQUIRE(has_failed || (job.n == n && checked <= n && is_sorted));
    REQUIRE(checked <= n || checked == PS_NO_MEMORY);
    if (is_sorted)
        require_permutation(&job);
    end_job(&job);
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
        (head[FAIL] ? run_without_memory : run)(program, head, p, (size_t)(end - p));
    free(program);
    return 0;
}
