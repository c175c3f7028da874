/* Stable MSD radix sort of records, with the next 8 bytes of every key cached in its record.
 *
 * A group is a set of records whose keys agree on their first `depth` bytes and on the digits of the prefix above
 * `shift`. It lies in `from`, in input order; `other` has room for as many. Digits are distributed from one to the
 * other, so a group knows whether its final place is where it is (flip 0) or across (flip 1). When the 8 bytes are used
 * up, the lines that ended are set aside and the prefixes of the rest are refilled at depth + 8, or deeper where the
 * whole group has more in common. Each distribution recurses into all buckets but the largest and loops on that one, so
 * the recursion is at most log2(n) deep, however long the common prefixes are.
 *
 * Every record passes finish_equal exactly once for each stage of its key, in its final place. Where a stage ends in a
 * segment that is not exact, its comparison splits the group; inside each part the next stage is sorted. At the end
 * the last resort orders lines whose keys are equal, and PS_UNIQUE drops all but the first. Keyed records become records
 * of their lines in one pass over all of them, where the headers can be prefetched (2,000,000 numbers: 0.23 s become
 * 0.14 s); only where the last resort has to look at lines they do before. */
#include "kernel.h"

#include <string.h>

#define SMALL 32            /* records; up to here insertion sort is faster than counting 256 buckets */
#define DROPPED UINT32_MAX  /* offset of a record that PS_UNIQUE removes: no line starts there in an arena < 4 GiB */
#define ENDED_CLASSES 9     /* keys with 0..8 bytes left; the class after them goes on */
#define PREFETCH_AHEAD 16   /* records */

/* Prefix of a keyed record that is finished: whether it addresses its key still, or its line. */
enum { AT_KEY, AT_LINE };

struct order {
    struct ps_context *context;
    const uint8_t *arena;
    uint64_t mask;                /* complements prefixes in reverse plain order */
    int keyed;                    /* records address a stage of their keys, else their lines */
    int unique;
    uint32_t stage;               /* keyed: which one */
    const struct ps_segment *end; /* keyed: the segment that ends it and is not exact, or NULL */
};

static void sort_group(const struct order *order, struct ps_record *from, struct ps_record *other, size_t n,
                       size_t depth, int shift, int flip);

static struct order line_order(struct ps_context *context, const uint8_t *arena)
{
    struct order order = {.context = context, .arena = arena};
    order.mask = context->program->flags & PS_REVERSE ? UINT64_MAX : 0;
    return order;
}

static struct order key_order(struct ps_context *context, const uint8_t *arena, uint32_t stage)
{
    struct order order = {.context = context, .arena = arena, .keyed = 1, .stage = stage};
    order.unique = (context->program->flags & PS_UNIQUE) != 0;
    order.end = ps_stage_end(context->program, stage);
    return order;
}

/* Text and keys lie below the records, so 8 bytes can be read at any place in a key. */
static void refill(const struct order *order, struct ps_record *records, size_t n, size_t depth)
{
    for (size_t i = 0; i < n; i++) {
        if (i + PREFETCH_AHEAD < n)
            __builtin_prefetch(order->arena + records[i + PREFETCH_AHEAD].offset + depth);
        records[i].prefix =
            ps_load_prefix_fast(order->arena + records[i].offset + depth, records[i].length - depth) ^ order->mask;
    }
}

/* Makes all finished records of keys records of lines. */
static void keys_to_lines(const uint8_t *arena, struct ps_record *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i + PREFETCH_AHEAD < n)
            __builtin_prefetch(arena + records[i + PREFETCH_AHEAD].offset - sizeof(struct ps_header));
        if (records[i].prefix == AT_LINE || records[i].offset == DROPPED)
            continue;
        const struct ps_header line = ps_header_of(arena, records + i);
        records[i].offset = line.offset;
        records[i].length = line.length;
    }
}

static void set_prefixes(struct ps_record *records, size_t n, uint64_t prefix)
{
    for (size_t i = 0; i < n; i++)
        records[i].prefix = prefix;
}

/* The comparison of a group in which it cannot be encoded: lines, or the keys of the segment that ends the stage. */
static int compare_collated(const struct order *order, const struct ps_record *a, const struct ps_record *b)
{
    struct ps_header x = {a->offset, a->length}, y = {b->offset, b->length};
    if (!order->keyed)
        return ps_compare_lines(order->context, order->arena + x.offset, x.length, order->arena + y.offset, y.length);
    x = ps_header_of(order->arena, a);
    y = ps_header_of(order->arena, b);
    return ps_collate_keys(order->context, order->end, order->arena + x.offset, x.length, order->arena + y.offset,
                           y.length);
}

/* Stable merge sort. A group that is in order already, or all equal, costs one comparison a record. */
static void sort_collated(const struct order *order, struct ps_record *records, struct ps_record *scratch, size_t n)
{
    if (n < 2)
        return;
    const size_t half = n / 2;
    sort_collated(order, records, scratch, half);
    sort_collated(order, records + half, scratch, n - half);
    if (compare_collated(order, &records[half - 1], &records[half]) <= 0)
        return;
    memcpy(scratch, records, half * sizeof *records);
    size_t left = 0, right = half, to = 0;
    while (left < half && right < n)
        records[to++] = compare_collated(order, &scratch[left], &records[right]) <= 0 ? scratch[left++]
                                                                                       : records[right++];
    memcpy(records + to, scratch + left, (half - left) * sizeof *records);
}

/* n records in their final place that are equal through all their keys. */
static void finish_keys(const struct order *order, struct ps_record *records, struct ps_record *scratch, size_t n)
{
    const struct ps_program *program = order->context->program;
    set_prefixes(records, n, AT_KEY);
    if (n == 1 || program->flags & (PS_STABLE | PS_UNIQUE)) {
        for (size_t i = 1; i < n && order->unique; i++)
            records[i].offset = DROPPED;
        return;
    }
    const struct order lines = line_order(order->context, order->arena);
    keys_to_lines(order->arena, records, n);
    if (program->flags & PS_COLLATE_LINES) {
        sort_collated(&lines, records, scratch, n);
    } else {
        refill(&lines, records, n, 0);
        sort_group(&lines, records, scratch, n, 0, PS_FIRST_SHIFT, 0);
    }
    set_prefixes(records, n, AT_LINE);
}

/* n records in their final place that are equal through this stage, the segment that ends it included. */
static void finish_stage(const struct order *order, struct ps_record *records, struct ps_record *scratch, size_t n)
{
    const struct ps_program *program = order->context->program;
    const int is_last = order->end == NULL || order->end == ps_segments(program) + program->segment_n - 1;
    if (n == 1 || is_last) {
        finish_keys(order, records, scratch, n);
        return;
    }
    const struct order next = key_order(order->context, order->arena, order->stage + 1);
    for (size_t i = 0; i < n; i++)
        ps_next_stage(order->arena, records + i);
    sort_group(&next, records, scratch, n, 0, PS_FIRST_SHIFT, 0);
}

/* n records in their final place whose bytes are equal: lines, or encoded keys through this stage. */
static void finish_equal(const struct order *order, struct ps_record *records, struct ps_record *scratch, size_t n)
{
    if (!order->keyed) {
        for (size_t i = 1; i < n && order->unique; i++)
            records[i].offset = DROPPED;
        return;
    }
    if (order->end == NULL || n == 1) {
        finish_stage(order, records, scratch, n);
        return;
    }
    sort_collated(order, records, scratch, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_collated(order, &records[i], &records[end]) == 0;)
            end++;
        finish_stage(order, records + i, scratch + i, end - i);
    }
}

/* Compares keys that agree up to `depth`, prefixes filled there. Zero padding makes equal prefixes ambiguous, but not
 * beyond the lengths: where either key ends inside the 8 bytes, the shorter one begins the other. */
static inline int compare_at(const struct order *order, const struct ps_record *a, const struct ps_record *b,
                             size_t depth)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    size_t shorter = a->length < b->length ? a->length : b->length;
    size_t known = shorter - depth < 8 ? shorter : depth + 8;
    int sign = ps_compare_bytes(order->arena + a->offset + known, a->length - known, order->arena + b->offset + known,
                                b->length - known);
    return order->mask ? -sign : sign;
}

/* A group in its final place, small enough for insertion sort. */
static void sort_small(const struct order *order, struct ps_record *records, struct ps_record *scratch, size_t n,
                       size_t depth)
{
    for (size_t i = 1; i < n; i++) {
        struct ps_record record = records[i];
        size_t j = i;
        for (; j > 0 && compare_at(order, &records[j - 1], &record, depth) > 0; j--)
            records[j] = records[j - 1];
        records[j] = record;
    }
    if (!order->keyed && !order->unique)
        return; /* equal lines are identical */
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_at(order, &records[i], &records[end], depth) == 0;)
            end++;
        finish_equal(order, records + i, scratch + i, end - i);
    }
}

static size_t class_of(const struct order *order, const struct ps_record *record, size_t depth)
{
    size_t left = record->length - depth;
    size_t class = left <= 8 ? left : ENDED_CLASSES;
    return order->mask ? ENDED_CLASSES - class : class; /* longer before shorter when reversed */
}

/* The group's prefixes are all equal. Finishes the keys that end inside these 8 bytes: those of the same length are
 * equal, a shorter one comes first. The others are left together; returns how many, and where by *start. */
static size_t set_ended_aside(const struct order *order, struct ps_record *from, struct ps_record *other, size_t n,
                              size_t depth, int *flip, size_t *start)
{
    size_t count[ENDED_CLASSES + 1] = {0};
    for (size_t i = 0; i < n; i++)
        count[class_of(order, from + i, depth)]++;
    const size_t going_on = order->mask ? 0 : ENDED_CLASSES;
    *start = 0;
    if (count[going_on] == n)
        return n;

    size_t at[ENDED_CLASSES + 1], sum = 0;
    for (size_t c = 0; c <= ENDED_CLASSES; c++) {
        at[c] = sum;
        sum += count[c];
    }
    *start = at[going_on];
    for (size_t i = 0; i < n; i++)
        other[at[class_of(order, from + i, depth)]++] = from[i];
    *flip = !*flip; /* the group is in `other` now */
    for (size_t c = 0; c <= ENDED_CLASSES; c++) {
        size_t first = at[c] - count[c];
        if (c == going_on || count[c] == 0)
            continue;
        if (*flip) {
            memcpy(from + first, other + first, count[c] * sizeof *from);
            finish_equal(order, from + first, other + first, count[c]);
        } else {
            finish_equal(order, other + first, from + first, count[c]);
        }
    }
    return count[going_on];
}

/* How many bytes from `depth` on all keys of the group share; 0 as soon as that is less than a refill is worth. */
static size_t shared_length(const struct order *order, const struct ps_record *records, size_t n, size_t depth)
{
    const uint8_t *first = order->arena + records[0].offset + depth;
    size_t shared = records[0].length - depth;
    for (size_t i = 1; i < n && shared >= 8; i++) {
        const uint8_t *key = order->arena + records[i].offset + depth;
        size_t left = records[i].length - depth;
        if (left < shared)
            shared = left;
        size_t same = 0;
        while (same + 8 <= shared && memcmp(first + same, key + same, 8) == 0)
            same += 8;
        if (same + 8 <= shared)
            shared = same;
    }
    return shared >= 8 ? shared - shared % 8 : 0;
}

/* Distributes by the digit at `shift`, keeping the order, from `records` (read backwards when `descending`) to `to`. */
static void distribute(const struct ps_record *records, struct ps_record *to, size_t n, unsigned shift,
                       const size_t count[256], int descending)
{
    size_t at[256], sum = 0;
    for (unsigned digit = 0; digit < 256; digit++) {
        at[digit] = sum;
        sum += count[digit];
    }
    if (descending)
        for (size_t i = n; i-- > 0;)
            to[at[records[i].prefix >> shift & 255]++] = records[i];
    else
        for (size_t i = 0; i < n; i++)
            to[at[records[i].prefix >> shift & 255]++] = records[i];
}

static void count_digits(const struct ps_record *records, size_t n, unsigned shift, size_t count[256])
{
    memset(count, 0, 256 * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[records[i].prefix >> shift & 255]++;
}

/* The shift of the first digit, at or below `shift`, in which the prefixes differ, or -1. */
static int first_difference(const struct ps_record *records, size_t n, unsigned shift)
{
    uint64_t difference = 0;
    for (size_t i = 1; i < n; i++)
        difference |= records[i].prefix ^ records[0].prefix;
    if (shift < PS_FIRST_SHIFT)
        difference &= (UINT64_C(256) << shift) - 1;
    return difference ? (63 - __builtin_clzll(difference)) / 8 * 8 : -1;
}

/* A group as the loops below hold it: see the top. */
struct group {
    struct ps_record *from, *other;
    size_t n, depth;
    int shift, flip;
};

static void swap_sides(struct group *group)
{
    struct ps_record *from = group->from;
    group->from = group->other;
    group->other = from;
    group->flip = !group->flip;
}

/* Goes on to the first digit in which the group's keys differ, which is at group->shift then; keys that end before it
 * are finished and no more of the group. Returns 0 where few are left, or none. */
static int find_digit(const struct order *order, struct group *group)
{
    while (group->n > SMALL) {
        if (group->shift >= 0)
            group->shift = first_difference(group->from, group->n, (unsigned)group->shift);
        if (group->shift >= 0)
            return 1;
        size_t start;
        const int was = group->flip;
        int flip = was;
        group->n = set_ended_aside(order, group->from, group->other, group->n, group->depth, &flip, &start);
        group->from += start;
        group->other += start;
        if (flip != was)
            swap_sides(group);
        if (group->n == 0)
            break;
        group->depth += 8;
        group->depth += shared_length(order, group->from, group->n, group->depth);
        refill(order, group->from, group->n, group->depth);
        group->shift = PS_FIRST_SHIFT;
    }
    return 0;
}

static void finish_small(const struct order *order, const struct group *group)
{
    if (group->flip) {
        memcpy(group->other, group->from, group->n * sizeof *group->from);
        sort_small(order, group->other, group->from, group->n, group->depth);
    } else {
        sort_small(order, group->from, group->other, group->n, group->depth);
    }
}

static void sort_group(const struct order *order, struct ps_record *from, struct ps_record *other, size_t n,
                       size_t depth, int shift, int flip)
{
    struct group group = {from, other, n, depth, shift, flip};
    while (find_digit(order, &group)) {
        size_t count[256], largest = 0, largest_at = 0, at = 0;
        count_digits(group.from, group.n, (unsigned)group.shift, count);
        distribute(group.from, group.other, group.n, (unsigned)group.shift, count, 0);
        for (unsigned digit = 0; digit < 256; digit++) {
            if (count[digit] > count[largest]) {
                largest = digit;
                largest_at = at;
            }
            at += count[digit];
        }
        swap_sides(&group);
        group.shift -= 8;
        at = 0;
        for (unsigned digit = 0; digit < 256; digit++) {
            if (digit != largest && count[digit] > 0)
                sort_group(order, group.from + at, group.other + at, count[digit], group.depth, group.shift, group.flip);
            at += count[digit];
        }
        group.from += largest_at;
        group.other += largest_at;
        group.n = count[largest];
    }
    finish_small(order, &group);
}

static void reverse(struct ps_record *records, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct ps_record record = records[i];
        records[i] = records[n - 1 - i];
        records[n - 1 - i] = record;
    }
}

/* What a call sorts by and in: `records` is where the result lies. */
struct job {
    struct ps_context context;
    struct order order;
    struct ps_record *records, *scratch;
};

static void start_job(struct job *job, const struct ps_program *program, const struct ps_locale *locale,
                      const uint8_t *arena, uint8_t *top, size_t n)
{
    memset(job, 0, sizeof *job);
    job->context.program = program;
    job->context.locale = locale;
    job->order = program->segment_n > 0 ? key_order(&job->context, arena, 0) : line_order(&job->context, arena);
    job->order.unique = (program->flags & PS_UNIQUE) != 0;
    job->records = (struct ps_record *)(void *)top - n;
    job->scratch = job->records - n;
}

static int end_job(struct job *job)
{
    ps_scratch_free(&job->context.scratch);
    return !job->context.scratch.failed;
}

static struct group group_of(const struct job *job, const struct ps_part *part)
{
    struct group group = {job->records + part->start, job->scratch + part->start, part->n, part->depth,
                          (int)part->shift,           0};
    if (part->flags & PS_PART_FLIPPED)
        swap_sides(&group);
    return group;
}

/* Distributes the records of the whole, which lie in descending order, by their first digit, or turns them round where
 * no digit of the prefix differs. Returns the group as it is then: of all records, to be counted again, or distributed. */
static int distribute_descending(struct group *group, size_t count[256])
{
    group->shift = group->n > SMALL ? first_difference(group->from, group->n, PS_FIRST_SHIFT) : -1;
    if (group->shift < 0) {
        reverse(group->from, group->n);
        group->shift = PS_FIRST_SHIFT;
        return 0;
    }
    count_digits(group->from, group->n, (unsigned)group->shift, count);
    distribute(group->from, group->other, group->n, (unsigned)group->shift, count, 1);
    return 1;
}

/* One step of sorting a part. What is left of it to sort is the parts; returns how many. */
static size_t split(struct job *job, const struct ps_part *part, struct ps_part parts[256])
{
    struct group group = group_of(job, part);
    size_t count[256], part_n = 0;
    if (!(part->flags & PS_PART_DESCENDING && distribute_descending(&group, count))) {
        if (!find_digit(&job->order, &group)) {
            finish_small(&job->order, &group);
            return 0;
        }
        count_digits(group.from, group.n, (unsigned)group.shift, count);
        distribute(group.from, group.other, group.n, (unsigned)group.shift, count, 0);
    }
    swap_sides(&group);
    uint64_t start = (uint64_t)((group.flip ? group.other : group.from) - job->records);
    for (unsigned digit = 0; digit < 256; start += count[digit++])
        if (count[digit] > 0)
            parts[part_n++] = (struct ps_part){start, count[digit], group.depth, group.shift - 8,
                                               group.flip ? PS_PART_FLIPPED : 0};
    return part_n;
}

size_t ps_split(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena, uint8_t *top,
                size_t n, const struct ps_part *part, struct ps_part parts[256])
{
    struct job job;
    start_job(&job, program, locale, arena, top, n);
    size_t part_n = split(&job, part, parts);
    if (job.order.keyed) {
        const uint64_t first = part_n ? parts[0].start : part->start + part->n;
        const uint64_t end = part_n ? parts[part_n - 1].start + parts[part_n - 1].n : first;
        keys_to_lines(arena, job.records + part->start, first - part->start);
        keys_to_lines(arena, job.records + end, part->start + part->n - end);
    }
    return end_job(&job) ? part_n : PS_NO_MEMORY;
}

int ps_sort_part(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena, uint8_t *top,
                 size_t n, const struct ps_part *part)
{
    struct job job;
    struct ps_part parts[256];
    start_job(&job, program, locale, arena, top, n);
    const int is_sorted = (part->flags & PS_PART_SORTED) != 0;
    if (is_sorted && part->flags & PS_PART_DESCENDING)
        reverse(job.records, n);
    const size_t part_n = is_sorted ? 0 : split(&job, part, parts);
    if (is_sorted && job.order.keyed)
        set_prefixes(job.records + part->start, part->n, AT_KEY);
    for (size_t i = 0; i < part_n; i++) {
        const struct group group = group_of(&job, parts + i);
        sort_group(&job.order, group.from, group.other, group.n, group.depth, group.shift, group.flip);
    }
    if (job.order.keyed)
        keys_to_lines(arena, job.records + part->start, part->n);
    return end_job(&job);
}

size_t ps_drop(uint8_t *top, size_t n)
{
    struct ps_record *records = (struct ps_record *)(void *)top - n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (records[i].offset != DROPPED)
            records[kept++] = records[i];
    return kept;
}
