/* What sorting shares: radix.c, ties.c, parts.c. See radix.c for the words. */
#ifndef PYSORT_RADIX_H
#define PYSORT_RADIX_H

#include "kernel.h"

#define PS_DROPPED UINT32_MAX /* offset of a record that PS_UNIQUE removes: no line starts there in an arena < 4 GiB */
#define PS_PREFETCH_AHEAD 16  /* records */

/* Prefix of a keyed record that is finished: whether its keys are equal to those of the one before it. */
enum { PS_ANOTHER_KEY, PS_EQUAL_KEY };

struct ps_ties;

/* What a group is sorted by. */
struct ps_order {
    struct ps_context *context;
    struct ps_ties *ties;
    const uint8_t *arena;
    enum ps_form form;            /* PS_LINES when records address their lines alone */
    const uint8_t *map;           /* what bytes of keys are translated with, or NULL */
    uint64_t mask;                /* complements prefixes where keys compare backwards */
    int unique;
    uint32_t stage;               /* of keys: which one */
    const struct ps_segment *end; /* the segment that ends it and is not exact, or NULL */
};

/* Sets of records in their final place whose keys agree beyond the prefix. What it takes to compare them is fetched when
 * they are put here, and looked at when PS_TIE_N others are: 0.25 s instead of 0.33 s for 2,000,000 lines of prose, -f. */
#define PS_TIE_N 16
struct ps_ties {
    struct ps_tie {
        struct ps_order order;
        struct ps_record *records, *scratch;
        size_t n, depth;
    } queue[PS_TIE_N];
    size_t first, n;
};

/* By the lines of the records. */
struct ps_order ps_line_order(struct ps_context *context, struct ps_ties *ties, const uint8_t *arena);

/* By a stage of their keys. */
struct ps_order ps_key_order(struct ps_context *context, struct ps_ties *ties, const uint8_t *arena, uint32_t stage);

/* radix.c: fills the prefixes with what is at `depth` of the keys. */
void ps_refill(const struct ps_order *order, struct ps_record *records, size_t n, size_t depth);

/* How many bytes from `depth` on all keys share; 0 as soon as that is less than `least`, at least 1. */
size_t ps_shared_length(const struct ps_order *order, const struct ps_record *records, size_t n, size_t depth,
                        size_t least);

/* Sorts a group, but for ties. */
void ps_sort_group(const struct ps_order *order, struct ps_record *from, struct ps_record *other, size_t n,
                   size_t depth, int shift, int flip);

/* A group as it is held while it is sorted. */
struct ps_group {
    struct ps_record *from, *other;
    size_t n, depth;
    int shift, flip;
};
void ps_swap_sides(struct ps_group *group);

/* One step of sorting a group, which lies in descending order if `descending`. Returns 0 when that finished it, but for
 * ties; else it is distributed by a digit, `count` of each, all 0 before, and its shift is that of what is left to sort by. */
int ps_split_group(const struct ps_order *order, struct ps_group *group, size_t count[256], int descending);

void ps_reverse(struct ps_record *records, size_t n);

/* ties.c: a group in its final place, small enough for insertion sort. */
void ps_sort_small(const struct ps_order *order, struct ps_record *records, struct ps_record *scratch, size_t n,
                   size_t depth);

/* Records in their final place whose bytes are equal: lines, or encoded keys through this stage. */
void ps_finish_equal(const struct ps_order *order, struct ps_record *records, struct ps_record *scratch, size_t n);

/* Sorts all ties. */
void ps_settle_ties(struct ps_ties *ties);

/* Makes records of keys, all finished, records of lines. */
void ps_keys_to_lines(enum ps_form form, const uint8_t *arena, struct ps_record *records, size_t n);

/* The same, and brings those whose keys are equal in the order of their lines where the program wants it. */
void ps_finish_lines(const struct ps_order *order, struct ps_record *records, struct ps_record *scratch, size_t n);

#endif
