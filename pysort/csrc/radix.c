/* Stable MSD radix sort of records, with the next 8 bytes of every key cached in its record.
 *
 * A group is a set of records whose keys agree on their first `depth` bytes and on the digits of the prefix above
 * `shift`. It lies in `from`, in input order; `other` has room for as many. Digits are distributed from one to the
 * other, so a group knows whether its final place is where it is (flip 0) or across (flip 1). When the 8 bytes are used
 * up, the lines that ended are set aside and the prefixes of the rest are refilled at depth + 8, or deeper where the
 * whole group has more in common. Each distribution recurses into all buckets but the largest and loops on that one, so
 * the recursion is at most log2(n) deep, however long the common prefixes are.
 *
 * Every record passes ps_finish_equal exactly once for each stage of its key, in its final place: see ties.c. */
#include "radix.h"

#include <string.h>

#define SMALL 32        /* records; up to here insertion sort is faster than counting 256 buckets */
#define ENDED_CLASSES 9 /* keys with 0..8 bytes left; the class after them goes on */

/* Text and keys lie below the records, so 8 bytes can be read at any place in a key. */
void ps_refill(const struct ps_order *order, struct ps_record *records, size_t n, size_t depth)
{
    for (size_t i = 0; i < n; i++) {
        if (i + PS_PREFETCH_AHEAD < n)
            __builtin_prefetch(order->arena + records[i + PS_PREFETCH_AHEAD].offset + depth);
        const struct ps_header key = ps_key_of(order->form, records + i);
        records[i].prefix =
            ps_load_mapped(order->map, order->arena + key.offset + depth, key.length - depth) ^ order->mask;
    }
}

static size_t class_of(const struct ps_order *order, const struct ps_record *record, size_t depth)
{
    size_t left = ps_key_of(order->form, record).length - depth;
    size_t class = left <= 8 ? left : ENDED_CLASSES;
    return order->mask ? ENDED_CLASSES - class : class; /* longer before shorter when reversed */
}

/* The group's prefixes are all equal. Finishes the keys that end inside these 8 bytes: those of the same length are
 * equal, a shorter one comes first. The others are left together; returns how many, and where by *start. */
static size_t set_ended_aside(const struct ps_order *order, struct ps_record *from, struct ps_record *other, size_t n,
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
            ps_finish_equal(order, from + first, other + first, count[c]);
        } else {
            ps_finish_equal(order, other + first, from + first, count[c]);
        }
    }
    return count[going_on];
}

/* How many bytes from `depth` on all keys of the group share; 0 as soon as that is less than a refill is worth. */
static size_t shared_length(const struct ps_order *order, const struct ps_record *records, size_t n, size_t depth)
{
    const struct ps_header key_0 = ps_key_of(order->form, records);
    const uint8_t *first = order->arena + key_0.offset + depth;
    size_t shared = key_0.length - depth;
    for (size_t i = 1; i < n && shared >= 8; i++) {
        const struct ps_header key_i = ps_key_of(order->form, records + i);
        const uint8_t *key = order->arena + key_i.offset + depth;
        size_t left = key_i.length - depth;
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

void ps_swap_sides(struct ps_group *group)
{
    struct ps_record *from = group->from;
    group->from = group->other;
    group->other = from;
    group->flip = !group->flip;
}

/* A group of equal keys. */
static void finish_whole(const struct ps_order *order, struct ps_group *group)
{
    if (group->flip) {
        memcpy(group->other, group->from, group->n * sizeof *group->from);
        ps_swap_sides(group);
    }
    ps_finish_equal(order, group->from, group->other, group->n);
    group->n = 0;
}

/* Goes on to the first digit in which the group's keys differ, which is at group->shift then; keys that end before it
 * are finished and no more of the group. Returns 0 where few are left, or none. */
static int find_digit(const struct ps_order *order, struct ps_group *group)
{
    while (group->n > SMALL) {
        if (group->shift >= 0)
            group->shift = first_difference(group->from, group->n, (unsigned)group->shift);
        if (group->shift >= 0)
            return 1;
        if (ps_is_whole(order->form, group->from)) {
            finish_whole(order, group);
            return 0;
        }
        size_t start;
        const int was = group->flip;
        int flip = was;
        group->n = set_ended_aside(order, group->from, group->other, group->n, group->depth, &flip, &start);
        group->from += start;
        group->other += start;
        if (flip != was)
            ps_swap_sides(group);
        if (group->n == 0)
            break;
        group->depth += 8;
        group->depth += shared_length(order, group->from, group->n, group->depth);
        ps_refill(order, group->from, group->n, group->depth);
        group->shift = PS_FIRST_SHIFT;
    }
    return 0;
}

static void finish_small(const struct ps_order *order, const struct ps_group *group)
{
    if (group->flip) {
        memcpy(group->other, group->from, group->n * sizeof *group->from);
        ps_sort_small(order, group->other, group->from, group->n, group->depth);
    } else {
        ps_sort_small(order, group->from, group->other, group->n, group->depth);
    }
}

void ps_sort_group(const struct ps_order *order, struct ps_record *from, struct ps_record *other, size_t n,
                       size_t depth, int shift, int flip)
{
    struct ps_group group = {from, other, n, depth, shift, flip};
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
        ps_swap_sides(&group);
        group.shift -= 8;
        at = 0;
        for (unsigned digit = 0; digit < 256; digit++) {
            if (digit != largest && count[digit] > 0)
                ps_sort_group(order, group.from + at, group.other + at, count[digit], group.depth, group.shift, group.flip);
            at += count[digit];
        }
        group.from += largest_at;
        group.other += largest_at;
        group.n = count[largest];
    }
    finish_small(order, &group);
}

void ps_reverse(struct ps_record *records, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct ps_record record = records[i];
        records[i] = records[n - 1 - i];
        records[n - 1 - i] = record;
    }
}

/* Distributes the records of the whole, which lie in descending order, by their first digit, or turns them round where
 * no digit of the prefix differs. Returns the group as it is then: of all records, to be counted again, or distributed. */
static int distribute_descending(struct ps_group *group, size_t count[256])
{
    group->shift = group->n > SMALL ? first_difference(group->from, group->n, PS_FIRST_SHIFT) : -1;
    if (group->shift < 0) {
        ps_reverse(group->from, group->n);
        group->shift = PS_FIRST_SHIFT;
        return 0;
    }
    count_digits(group->from, group->n, (unsigned)group->shift, count);
    distribute(group->from, group->other, group->n, (unsigned)group->shift, count, 1);
    return 1;
}

int ps_split_group(const struct ps_order *order, struct ps_group *group, size_t count[256], int descending)
{
    if (!(descending && distribute_descending(group, count))) {
        if (!find_digit(order, group)) {
            finish_small(order, group);
            return 0;
        }
        count_digits(group->from, group->n, (unsigned)group->shift, count);
        distribute(group->from, group->other, group->n, (unsigned)group->shift, count, 0);
    }
    ps_swap_sides(group);
    return 1;
}
