/* Stable MSD radix sort of records, with the next 8 bytes of every key cached in its record.
 *
 * A group is a set of records whose keys agree on their first `depth` bytes and on the bytes of the prefix above
 * the one at `shift`. It lies in `from`, in input order; `other` has room for as many. Distributing goes from one to
 * the other, so a group knows whether its final place is where it is (flip 0) or across (flip 1). When the 8 bytes are used
 * up, the lines that ended are set aside and the prefixes of the rest are refilled at depth + 8, or deeper where the
 * whole group has more in common. Each distribution recurses into all buckets but the largest and loops on that one, so
 * the recursion is at most log2(n) deep, however long the common prefixes are.
 *
 * Every record passes ps_finish_equal exactly once for each stage of its key, in its final place: see ties.c. */
#include "radix.h"

#include <string.h>

#define SMALL 32        /* records left to insertion sort; with 12 or 16 random lines take 1.2 times as long or more */
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

size_t ps_shared_length(const struct ps_order *order, const struct ps_record *records, size_t n, size_t depth,
                        size_t least)
{
    const struct ps_header key_0 = ps_key_of(order->form, records);
    const uint8_t *first = order->arena + key_0.offset + depth;
    size_t shared = key_0.length - depth;
    for (size_t i = 1; i < n && shared >= least; i++) {
        const struct ps_header key_i = ps_key_of(order->form, records + i);
        const uint8_t *key = order->arena + key_i.offset + depth;
        const size_t left = key_i.length - depth;
        size_t same = 0;
        uint64_t difference = 0;
        for (; same < shared && difference == 0; same += 8)
            difference = ps_load_prefix(first + same, 8) ^ ps_load_prefix(key + same, 8);
        if (difference != 0)
            same += (size_t)__builtin_clzll(difference) / 8 - 8;
        if (same < shared)
            shared = same;
        if (left < shared)
            shared = left;
    }
    return shared >= least ? shared : 0;
}

/* What records are distributed by: the low bits of the first byte of the prefix in which a group differs, and those of
 * the next such byte where there is room: text of decimal digits takes half as many passes then. All higher bits
 * are the same throughout the group, so the order of digits is that of the bytes. */
struct digit {
    unsigned shift[2], bits[2]; /* of the one byte and of the other; no bits of the other where there is none */
};

/* By value, as everywhere below: what is behind a pointer would be read again for each record that is written. */
static inline size_t high_of(struct digit digit, uint64_t prefix)
{
    return prefix >> digit.shift[0] & ((1u << digit.bits[0]) - 1);
}

static inline size_t digit_of(struct digit digit, uint64_t prefix)
{
    const size_t low = prefix >> digit.shift[1] & ((1u << digit.bits[1]) - 1);
    return high_of(digit, prefix) << digit.bits[1] | low;
}

static size_t digit_n(struct digit digit)
{
    return (size_t)1 << (digit.bits[0] + digit.bits[1]);
}

/* Which bits of the prefixes, those of the byte at `shift` and below, differ. */
static uint64_t differing(const struct ps_record *records, size_t n, int shift)
{
    uint64_t difference = 0;
    for (size_t i = 1; i < n; i++)
        difference |= records[i].prefix ^ records[0].prefix;
    return shift < PS_FIRST_SHIFT ? difference & ((UINT64_C(256) << shift) - 1) : difference;
}

/* Takes the first byte that differs, or its low bits, out of *difference, which is not 0. */
static void take_byte(uint64_t *difference, unsigned *shift, unsigned *bits)
{
    const unsigned high = 63 - (unsigned)__builtin_clzll(*difference);
    *shift = high / 8 * 8;
    *bits = high - *shift + 1;
    *difference &= (UINT64_C(1) << *shift) - 1;
}

/* The first digit of a group, and in *next the shift of what is left behind it: below 0 nothing. */
static struct digit first_digit(uint64_t difference, int *next)
{
    struct digit digit = {{0, 0}, {0, 0}}, longer;
    take_byte(&difference, &digit.shift[0], &digit.bits[0]);
    longer = digit;
    if (difference != 0)
        take_byte(&difference, &longer.shift[1], &longer.bits[1]);
    if (longer.bits[0] + longer.bits[1] <= 8)
        digit = longer;
    *next = (int)digit.shift[digit.bits[1] > 0] - 8;
    return digit;
}

static void count_digits(const struct ps_record *records, size_t n, struct digit digit, size_t count[256])
{
    memset(count, 0, digit_n(digit) * sizeof *count);
    if (digit.bits[1] == 0) { /* one byte: half the work for each record, here and below */
        for (size_t i = 0; i < n; i++)
            count[high_of(digit, records[i].prefix)]++;
        return;
    }
    for (size_t i = 0; i < n; i++)
        count[digit_of(digit, records[i].prefix)]++;
}

/* Distributes from `records` (read backwards when `descending`) to `to`, keeping the order; at: where in it the first one
 * with each digit is put, and behind the last one when it returns. */
static void distribute(const struct ps_record *records, struct ps_record *to, size_t n, struct digit digit, size_t at[256],
                       int descending)
{
    if (descending)
        for (size_t i = n; i-- > 0;)
            to[at[digit_of(digit, records[i].prefix)]++] = records[i];
    else if (digit.bits[1] == 0)
        for (size_t i = 0; i < n; i++)
            to[at[high_of(digit, records[i].prefix)]++] = records[i];
    else
        for (size_t i = 0; i < n; i++)
            to[at[digit_of(digit, records[i].prefix)]++] = records[i];
}

/* All records of a group, of which there are so many with each digit. */
static void distribute_all(const struct ps_record *records, struct ps_record *to, size_t n, struct digit digit,
                           const size_t count[256], int descending)
{
    size_t at[256], sum = 0;
    for (size_t d = 0; d < digit_n(digit); d++) {
        at[d] = sum;
        sum += count[d];
    }
    distribute(records, to, n, digit, at, descending);
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

/* Goes on to where the group's keys differ, and returns which bits of the prefixes do; keys that end before that are
 * finished and no more of the group. Returns 0 where few are left, or none. */
static uint64_t find_difference(const struct ps_order *order, struct ps_group *group)
{
    while (group->n > SMALL) {
        const uint64_t difference = group->shift >= 0 ? differing(group->from, group->n, group->shift) : 0;
        if (difference != 0)
            return difference;
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
        group->depth += ps_shared_length(order, group->from, group->n, group->depth, 8);
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
    uint64_t difference;
    while ((difference = find_difference(order, &group)) != 0) {
        const struct digit digit = first_digit(difference, &group.shift);
        size_t count[256], largest = 0, largest_at = 0, at = 0;
        count_digits(group.from, group.n, digit, count);
        distribute_all(group.from, group.other, group.n, digit, count, 0);
        for (size_t d = 0; d < digit_n(digit); d++) {
            if (count[d] > count[largest]) {
                largest = d;
                largest_at = at;
            }
            at += count[d];
        }
        ps_swap_sides(&group);
        at = 0;
        for (size_t d = 0; d < digit_n(digit); d++) {
            if (d != largest && count[d] > 0)
                ps_sort_group(order, group.from + at, group.other + at, count[d], group.depth, group.shift, group.flip);
            at += count[d];
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

int ps_split_group(const struct ps_order *order, struct ps_group *group, size_t count[256], int descending)
{
    uint64_t difference = 0;
    if (descending) {
        difference = group->n > SMALL ? differing(group->from, group->n, PS_FIRST_SHIFT) : 0;
        if (difference == 0)
            ps_reverse(group->from, group->n);
    }
    const int is_reversed = descending && difference != 0;
    if (!is_reversed && (difference = find_difference(order, group)) == 0) {
        finish_small(order, group);
        return 0;
    }
    const struct digit digit = first_digit(difference, &group->shift);
    count_digits(group->from, group->n, digit, count);
    distribute_all(group->from, group->other, group->n, digit, count, is_reversed);
    ps_swap_sides(group);
    return 1;
}

uint64_t ps_differing(const uint8_t *top, size_t n, uint64_t prefix)
{
    const struct ps_record *records = (const struct ps_record *)(const void *)top - n;
    uint64_t difference = 0;
    for (size_t i = 0; i < n; i++)
        difference |= records[i].prefix ^ prefix;
    return difference;
}

int ps_count_digits(const uint8_t *top, size_t n, uint64_t difference, uint64_t count[256])
{
    int next;
    const struct digit digit = first_digit(difference, &next);
    size_t counted[256] = {0};
    count_digits((const struct ps_record *)(const void *)top - n, n, digit, counted);
    for (size_t d = 0; d < 256; d++)
        count[d] = counted[d];
    return next;
}

void ps_distribute(const uint8_t *top, size_t n, uint64_t difference, uint8_t *to, const uint64_t places[256])
{
    int next;
    size_t at[256];
    for (size_t d = 0; d < 256; d++)
        at[d] = (size_t)places[d];
    distribute((const struct ps_record *)(const void *)top - n, (struct ps_record *)(void *)to, n,
               first_digit(difference, &next), at, 1);
}
