#include "job.h"

#define BLANKS "\t\n "
static const char month_names[12][4] = {"APR", "AUG", "DEC", "FEB", "JAN", "JUL", "JUN", "MAR", "MAY", "NOV", "OCT", "SEP"};
static const uint8_t month_numbers[12] = {4, 8, 12, 2, 1, 7, 6, 3, 5, 11, 10, 9};

void *allocate(size_t n)
{
    void *p = malloc(n ? n : 1);
    REQUIRE(p != NULL);
    return p;
}

static int is_alnum(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static void fill_table(struct ps_table *table, unsigned which)
{
    for (int byte = 0; byte < 256; byte++) {
        const int is_blank = byte != 0 && strchr(BLANKS, byte) != NULL;
        const int is_lower = byte >= 'a' && byte <= 'z';
        table->keep[byte] = 1;
        if (which == TABLE_D || which == TABLE_DF)
            table->keep[byte] = is_alnum(byte) || is_blank;
        if (which == TABLE_I)
            table->keep[byte] = byte >= ' ' && byte <= '~';
        table->map[byte] = (uint8_t)(is_lower && (which == TABLE_F || which == TABLE_DF) ? byte - 'a' + 'A' : byte);
    }
}

struct ps_program *make_program(uint32_t flags, uint8_t separator, const struct ps_segment *segments, uint32_t segment_n,
                                size_t *size)
{
    const uint32_t months_n = 12 * 5;
    *size = sizeof(struct ps_program) + segment_n * sizeof *segments + TABLE_N * sizeof(struct ps_table) + months_n;
    struct ps_program *program = allocate(*size);
    memset(program, 0, *size);
    program->flags = flags;
    program->segment_n = segment_n;
    program->table_n = TABLE_N;
    program->separator = separator;
    program->months_n = months_n;
    program->plain_blanks = 1;
    for (const char *blank = BLANKS; *blank; blank++)
        program->blank[(uint8_t)*blank] = 1;
    uint8_t *at = (uint8_t *)(program + 1);
    if (segment_n > 0)
        memcpy(at, segments, segment_n * sizeof *segments);
    at += segment_n * sizeof *segments;
    for (unsigned which = 0; which < TABLE_N; which++, at += sizeof(struct ps_table))
        fill_table((struct ps_table *)at, which);
    for (int month = 0; month < 12; month++, at += 5) {
        at[0] = month_numbers[month];
        at[1] = 3;
        memcpy(at + 2, month_names[month], 3);
    }
    return program;
}

struct ps_segment whole_line(uint32_t kind)
{
    return (struct ps_segment){.kind = kind,
                               .flags = PS_SEG_TO_LINE_END,
                               .field_separator = PS_NO_BYTE,
                               .table = PS_NO_TABLE,
                               .point = '.',
                               .grouping = PS_NO_BYTE};
}

struct ps_locale *open_locale(const char *name)
{
    struct ps_locale *locale = calloc(1, sizeof *locale + sizeof *locale->characters);
    REQUIRE(locale != NULL);
    locale->characters = (struct ps_characters *)(locale + 1);
    locale->collate = newlocale(LC_COLLATE_MASK | LC_CTYPE_MASK, name, (locale_t)0);
    locale->numeric = newlocale(LC_NUMERIC_MASK | LC_CTYPE_MASK, name, (locale_t)0);
    if (locale->collate == (locale_t)0 || locale->numeric == (locale_t)0) {
        fprintf(stderr, "there is no locale %s: C stands for it\n", name);
        free(locale);
        return open_locale("C");
    }
    ps_locale_prepare(locale, 1);
    return locale;
}

void close_locale(struct ps_locale *locale)
{
    freelocale(locale->collate);
    freelocale(locale->numeric);
    free(locale);
}

static size_t count(const uint8_t *text, size_t n, uint8_t separator)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == separator;
    return found;
}

size_t enough_for_keys(const struct ps_program *program, const uint8_t *text, size_t n)
{
    const size_t lines_n = program->segment_n ? count(text, n, (uint8_t)program->separator) : 0;
    size_t room = lines_n * sizeof(struct ps_header);
    for (uint32_t i = 0; i < program->segment_n; i++) {
        /* One character may stand for a dozen in a locale, with several bytes for each. */
        const size_t longer = ps_segments(program)[i].kind == PS_COLLATE ? 40 : 4;
        room += lines_n * 60 + longer * n;
    }
    return room;
}

void start_job(struct job *job, const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
               size_t n, size_t key_n)
{
    const size_t lines_n = count(text, n, (uint8_t)program->separator);
    const size_t record_n = 2 * lines_n * sizeof(struct ps_record);
    *job = (struct job){.program = program, .locale = locale, .text_n = n, .keys_at = n};
    job->top = (n + key_n + record_n + 15) / 16 * 16;
    job->limit = job->top - record_n;
    job->arena = allocate(job->top);
    memset(job->arena + job->limit, 0xA5, record_n);
    if (n > 0)
        memcpy(job->arena, text, n);
    size_t consumed, longest, sum = 0, most = 0;
    job->n = ps_scan(program, job->arena, 0, n, job->arena + job->top, 0, lines_n, 0, &consumed, &longest);
    REQUIRE(job->n == lines_n);
    const struct ps_record *records = (const struct ps_record *)(const void *)(job->arena + job->top);
    for (size_t i = 0; i < lines_n; i++) {
        const struct ps_record *record = records - 1 - i;
        REQUIRE(record->offset == sum);
        sum += record->length + (size_t)1;
        REQUIRE(sum <= n && text[sum - 1] == program->separator);
        most = record->length > most ? record->length : most;
    }
    REQUIRE(consumed == sum && longest == most);
}

void encode_job(struct job *job)
{
    if (job->program->segment_n == 0)
        return;
    const size_t before = job->keys_at;
    job->n = ps_encode(job->program, job->locale, job->arena, job->arena + job->top, 0, job->n, &job->keys_at,
                       job->limit);
    REQUIRE(job->keys_at >= before && job->keys_at <= job->limit);
    /* The scratch of the records is behind the limit, and nobody has written there. */
    for (size_t i = job->limit; i < job->limit + 16 * job->n && i < job->top - 16 * job->n; i++)
        REQUIRE(job->arena[i] == 0xA5);
}

/* A range of the records, in the order of their lines. */
struct range {
    const struct job *job;
    size_t first, n;
    uint64_t difference, count[256], places[256];
    int shift;
};

static const uint8_t *top_of(const struct range *range)
{
    return range->job->arena + range->job->top - 16 * range->first;
}

static void *find_range(void *argument)
{
    struct range *range = argument;
    const struct ps_record *first = (const struct ps_record *)(const void *)(range->job->arena + range->job->top) - 1;
    range->difference = ps_differing(top_of(range), range->n, first->prefix);
    return NULL;
}

static void *count_range(void *argument)
{
    struct range *range = argument;
    range->shift = ps_count_digits(top_of(range), range->n, range->difference, range->count);
    return NULL;
}

static void *distribute_range(void *argument)
{
    struct range *range = argument;
    uint8_t *to = range->job->arena + range->job->top - 32 * range->job->n;
    ps_distribute(top_of(range), range->n, range->difference, to, range->places);
    return NULL;
}

size_t first_step(struct job *job, size_t range_n, void (*run)(void *(*work)(void *), void *ranges, size_t size),
                  struct ps_part parts[256])
{
    struct range ranges[RANGE_MAX];
    uint64_t difference = 0, start = 0;
    size_t part_n = 0;
    for (size_t i = 0; i < range_n; i++) {
        const size_t first = job->n * i / range_n;
        ranges[i] = (struct range){.job = job, .first = first, .n = job->n * (i + 1) / range_n - first};
    }
    run(find_range, ranges, sizeof *ranges);
    for (size_t i = 0; i < range_n; i++)
        difference |= ranges[i].difference;
    if (difference == 0) {
        parts[0] = (struct ps_part){0, job->n, 0, PS_FIRST_SHIFT, PS_PART_DESCENDING};
        return 1;
    }
    for (size_t i = 0; i < range_n; i++)
        ranges[i].difference = difference;
    run(count_range, ranges, sizeof *ranges);
    for (unsigned digit = 0; digit < 256; digit++) {
        const uint64_t first = start;
        for (size_t i = 0; i < range_n; i++) {
            ranges[i].places[digit] = start;
            start += ranges[i].count[digit];
        }
        if (start > first)
            parts[part_n++] = (struct ps_part){first, start - first, 0, ranges[0].shift, PS_PART_FLIPPED};
    }
    REQUIRE(start == job->n);
    run(distribute_range, ranges, sizeof *ranges);
    return part_n;
}

/* For three ranges, the last one first. */
static void run_alone(void *(*work)(void *), void *ranges, size_t size)
{
    for (size_t i = 3; i-- > 0;)
        work((uint8_t *)ranges + i * size);
}

void sort_job(struct job *job, unsigned steps)
{
    struct ps_part *waiting = allocate((256 + 255 * 64) * sizeof *waiting);
    size_t waiting_n = 0, capacity = 256 + 255 * 64;
    uint8_t *top = job->arena + job->top;
    if (steps >> 15 & 1 && job->n > 0)
        waiting_n = first_step(job, 3, run_alone, waiting);
    else
        waiting[waiting_n++] = (struct ps_part){0, job->n, 0, PS_FIRST_SHIFT, PS_PART_DESCENDING};
    for (unsigned step = 0; waiting_n > 0; step++) {
        const struct ps_part part = waiting[--waiting_n];
        if (!(steps >> step % 16 & 1)) {
            REQUIRE(ps_sort_part(job->program, job->locale, job->arena, top, job->n, &part));
            continue;
        }
        if (waiting_n + 256 > capacity) {
            capacity *= 2;
            waiting = realloc(waiting, capacity * sizeof *waiting);
            REQUIRE(waiting != NULL);
        }
        const size_t part_n =
            ps_split(job->program, job->locale, job->arena, top, job->n, &part, waiting + waiting_n);
        REQUIRE(part_n <= 256);
        for (size_t i = 0; i < part_n; i++) {
            const struct ps_part *made = waiting + waiting_n + i;
            REQUIRE(made->start >= part.start && made->n > 0 && made->start + made->n <= part.start + part.n);
            REQUIRE(i == 0 || made->start >= made[-1].start + made[-1].n);
        }
        waiting_n += part_n;
    }
    free(waiting);
}

uint8_t *gather_job(const struct job *job, size_t piece_n, size_t *size)
{
    const size_t n = job->n, out_n = job->text_n + n; /* a count takes a byte, more in the place of lines */
    uint8_t *out = allocate(out_n), *piece = allocate(piece_n);
    uint8_t *at = job->arena + job->top - 16 * n;
    size_t kept = n;
    if (job->program->flags & PS_COUNT)
        kept = ps_fold(job->program, job->arena, job->arena + job->top, n);
    else if (job->program->flags & PS_UNIQUE)
        kept = ps_drop(job->arena + job->top, n);
    const struct ps_record *records = (const struct ps_record *)(const void *)at;
    size_t index = 0, skip = 0;
    *size = 0;
    while (index < kept) {
        const size_t used = ps_gather(job->program, job->arena, records, kept, &index, &skip, piece, piece_n);
        REQUIRE(used == piece_n || index == kept);
        REQUIRE(used <= out_n - *size);
        memcpy(out + *size, piece, used);
        *size += used;
    }
    REQUIRE(skip == 0);
    free(piece);
    return out;
}

void end_job(struct job *job)
{
    free(job->arena);
}
