/* The kernel: every loop that runs once per byte or once per line.
 *
 * Plain C over buffers that the caller owns. No function here does I/O, calls Python, or hands out memory that it
 * allocated. module*.c alone know Python; _kernel_py.py defines the same functions in plain Python and
 * is the oracle of the tests.
 *
 * An arena holds one batch of lines while it is sorted, and one window of a run while runs are merged:
 *
 *     0            text and keys grow up             free             records grow down          top
 *     | line\n line\n ... | header key | header key ...      ...   | record n-1 | ... | record 0 |
 *
 * Record i lies at top - 16 * (i + 1), so neither side has to know beforehand how long the lines will be. Offsets are
 * 32 bits: an arena is shorter than 4 GiB.
 *
 * A record is what gets sorted: 8 bytes of the sort key as one big-endian number, and where the key is. In plain order
 * (no segments in the program) the line is its own key. In keyed order the record addresses the encoded key, and the 8
 * bytes before it (struct ps_header) say where the line is.
 *
 * Where a key need not be stored its record addresses the line, with PS_IN_LINE in its length: see enum ps_form.
 *
 * Keys compare by memcmp, a shorter key before a longer one that it begins. A segment that is not exact (PS_COLLATE) ends
 * a stage of the key: its encoding only refines towards the order, so where two keys are equal up to its end, the
 * segment's own comparison (strcoll) decides before the next stage is looked at. A record addresses its first stage.
 * Every later stage lies behind the one before:
 *
 *     | header | stage 0 | length of stage 1, 4 bytes | header | stage 1 | ... */
#ifndef PYSORT_KERNEL_H
#define PYSORT_KERNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strcoll_l, strxfrm_l, strtold_l */
#endif
#include "program.h"

#include <locale.h>

struct ps_record {
    uint64_t prefix; /* bytes 0-7 of the key, big-endian, zero-padded; complemented where keys compare backwards */
    uint32_t offset; /* of the line (plain) or of its encoded key (keyed), from the start of the arena */
    uint32_t length; /* of the same, without the line's separator */
};

/* How the records of a program say where their keys are. */
#define PS_IN_LINE (UINT32_C(1) << 31) /* in a record's length: its key was not stored, it addresses the line */
enum ps_form {
    PS_LINES,  /* plain order: the line is the key */
    PS_STORED, /* each key is */
    PS_SHORT,  /* but for those of up to 8 bytes, which are whole in the prefix; no encoding begins another one */
    PS_WHOLE,  /* the key is the line, translated when it is compared: none is stored */
    PS_SLICE,  /* the key is so much of the line: none is stored but long ones, as they are in the line. PS_IN_LINE's
                * other bits are the lengths of what is before the key (10), the key (10) and what is behind it (11) */
};
#define PS_SLICE_BITS 10
#define PS_SLICE_MAX ((UINT32_C(1) << PS_SLICE_BITS) - 1)

struct ps_header {
    uint32_t offset; /* of the line */
    uint32_t length;
};

/* What has been found out about the first levels of characters, all zero at the start. Character c is U+0000 + c below
 * 0x800 (one or two bytes in UTF-8), then U+2000 to U+203F, where dashes and quotes are. Threads share it: what they
 * write is the same whoever writes it. */
#define PS_ASCII 128
#define PS_TWO_BYTES 0x800
#define PS_CHARACTER_N (PS_TWO_BYTES + 64)
#define PS_L1_MAX 8
struct ps_characters {
    uint64_t l1[PS_CHARACTER_N];                               /* the first level's bytes, as they lie in memory */
    uint8_t l1_length[PS_CHARACTER_N];                         /* their number + 1; 0: not known yet */
    uint64_t pairs[PS_CHARACTER_N][PS_CHARACTER_N / 32];       /* 2 bits for each pair */
    uint64_t tried_n;                                          /* pairs */
};

/* A locale, opened by module_locale.c: what PS_GENERAL, PS_COLLATE and a collated PS_RANDOM need. */
struct ps_locale {
    locale_t collate; /* for strcoll_l and strxfrm_l */
    locale_t numeric; /* for strtold_l */
    int point;        /* its decimal point if that is one byte, else -1 */
    int coarse;       /* first-level collation keys are known to agree with strcoll on this C library */
    int ascii;        /* ... and that of an ASCII string is that of its characters, strung together; */
    int utf8;         /* ... so may those of other characters be: the text is UTF-8 */
    struct ps_characters *characters;
};

/* Fills what follows from the two handles. coarse: see there. Takes some milliseconds. first_level.c */
void ps_locale_prepare(struct ps_locale *locale, int coarse);

/* Big-endian number of the first min(n, 8) bytes at p, zero-padded. */
static inline uint64_t ps_load_prefix(const uint8_t *p, size_t n)
{
    uint64_t value = 0;
    __builtin_memcpy(&value, p, n < 8 ? n : 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* The same where 8 bytes can be read at p whatever n is: a copy of variable length costs twice as much. */
static inline uint64_t ps_load_prefix_fast(const uint8_t *p, size_t n)
{
    uint64_t value = ps_load_prefix(p, 8);
    if (n < 8)
        value = n ? value & ~(UINT64_MAX >> (8 * n)) : 0;
    return value;
}

/* memcmp's order, a shorter key before a longer one that it begins. */
static inline int ps_compare_bytes(const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n)
{
    size_t n = a_n < b_n ? a_n : b_n;
    int order = n > 0 ? __builtin_memcmp(a, b, n) : 0;
    return order ? order : (a_n > b_n) - (a_n < b_n);
}

/* 8 bytes as ps_load_prefix_fast, translated unless map is NULL. */
static inline uint64_t ps_load_mapped(const uint8_t *map, const uint8_t *p, size_t n)
{
    if (map == NULL)
        return ps_load_prefix_fast(p, n);
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++)
        value = value << 8 | map[p[i]];
    if (n < 8)
        value = n ? value & ~(UINT64_MAX >> (8 * n)) : 0;
    return value;
}

/* ps_compare_bytes of translated bytes, unless map is NULL. */
static inline int ps_compare_mapped(const uint8_t *map, const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n)
{
    if (map == NULL)
        return ps_compare_bytes(a, a_n, b, b_n);
    const size_t n = a_n < b_n ? a_n : b_n;
    for (size_t i = 0; i < n; i++)
        if (map[a[i]] != map[b[i]])
            return map[a[i]] < map[b[i]] ? -1 : 1;
    return (a_n > b_n) - (a_n < b_n);
}

static inline struct ps_header ps_header_of(const uint8_t *arena, const struct ps_record *record)
{
    struct ps_header header;
    __builtin_memcpy(&header, arena + record->offset - sizeof header, sizeof header);
    return header;
}

/* Whether the key is whole in the prefix, stored or not: a line of 2 GiB has no room for PS_IN_LINE. No encoding begins
 * another one, so the first in a group of equal prefixes tells for all of them. */
static inline int ps_is_whole(enum ps_form form, const struct ps_record *record)
{
    return form == PS_SHORT && (record->length & PS_IN_LINE || record->length <= sizeof record->prefix);
}

/* Where the bytes of a record's key are. Not for PS_IN_LINE under PS_SHORT: they are nowhere. */
static inline struct ps_header ps_key_of(enum ps_form form, const struct ps_record *record)
{
    struct ps_header key = {record->offset, record->length};
    if (form < PS_WHOLE || !(key.length & PS_IN_LINE))
        return key;
    key.length &= ~PS_IN_LINE;
    if (form == PS_SLICE) {
        key.offset += key.length & PS_SLICE_MAX;
        key.length = key.length >> PS_SLICE_BITS & PS_SLICE_MAX;
    }
    return key;
}

/* Where the line is that a keyed record belongs to. */
static inline struct ps_header ps_line_of(enum ps_form form, const uint8_t *arena, const struct ps_record *record)
{
    if (!(record->length & PS_IN_LINE))
        return ps_header_of(arena, record);
    uint32_t length = record->length & ~PS_IN_LINE;
    if (form == PS_SLICE)
        length = (length & PS_SLICE_MAX) + (length >> PS_SLICE_BITS & PS_SLICE_MAX) + (length >> 2 * PS_SLICE_BITS);
    return (struct ps_header){record->offset, length};
}

/* A counted line is its text, its count and the separator. The count is written in digits of 6 bits, the first of them as
 * 64 + its value, the others as 192 + theirs: it can be read from either end, and no byte of it is a separator, which is
 * less than 64 under PS_COUNT. Where no count follows the text it is one. */
#define PS_COUNT_MAX 11 /* bytes */

static inline size_t ps_put_count(uint8_t *to, uint64_t count)
{
    size_t n = 0;
    unsigned shift = 0;
    while (count >> shift >> 6)
        shift += 6;
    to[n++] = (uint8_t)(64 | count >> shift);
    while (shift > 0) {
        shift -= 6;
        to[n++] = (uint8_t)(192 | (count >> shift & 63));
    }
    return n;
}

/* The count at p, where the text ends. */
static inline uint64_t ps_count_at(const uint8_t *p)
{
    if (*p < 64) /* the separator */
        return 1;
    uint64_t count = *p & 63;
    while (*++p >= 192)
        count = count << 6 | (*p & 63);
    return count;
}

/* Where the text of a counted line ends, whose separator is at `end`. */
static inline const uint8_t *ps_text_end(const uint8_t *line, const uint8_t *end)
{
    while (end > line && end[-1] >= 192)
        end--;
    return end > line ? end - 1 : end;
}

/* lines.c ---------------------------------------------------------------------------------------------------------
 * Split arena[start:stop] at the separator. Each complete line becomes the next record below `top`, until there are
 * n_max. n: records there already. Returns how many there are now; *consumed is where the first line that was not taken
 * begins, *longest the length of the longest that was. In keyed order the records address lines until ps_encode
 * replaces them. counted: whether these are counted lines; the records have their text, *longest is all of it. */
size_t ps_scan(const struct ps_program *program, const uint8_t *arena, size_t start, size_t stop, uint8_t *top, size_t n,
               size_t n_max, int counted, size_t *consumed, size_t *longest);

/* fields.c ---------------------------------------------------------------------------------------------------------
 * Where a segment's key lies in a line. *end >= *start always: a key that ends before it starts is empty. */
void ps_find_key(const struct ps_program *program, const struct ps_segment *segment, const uint8_t *line,
                 const uint8_t *line_end, const uint8_t **start, const uint8_t **end);

/* encode.c ---------------------------------------------------------------------------------------------------------
 * Encode the keys of records first..last-1, which address lines, as header and key bytes from arena + *at upwards, never
 * past arena + limit, and make the records address them, as their form wants it. Returns the index of the first record that was not encoded for
 * want of room (last when all were); *at is the new end of the keys. */
size_t ps_encode(const struct ps_program *program, const struct ps_locale *locale, uint8_t *arena, uint8_t *top,
                 size_t first, size_t last, size_t *at, size_t limit);

/* collate.c --------------------------------------------------------------------------------------------------------
 * Room for NUL-terminated copies, allocated inside one call of a kernel function and freed before it returns. All zero at
 * the start. `failed` is sticky: the comparison that ran out of memory answered 0, and its caller has to give up. */
struct ps_scratch {
    char *buffer[2];
    size_t size[2];
    int failed;
};

void ps_scratch_free(struct ps_scratch *scratch);

/* What a comparison needs beside the records. */
struct ps_context {
    const struct ps_program *program;
    const struct ps_locale *locale;
    enum ps_form form;
    const uint8_t *map; /* PS_WHOLE, PS_SLICE: what stands for a byte of a key when it is compared, or NULL */
    uint64_t mask;      /* complements prefixes where lines (PS_LINES) or keys compare backwards */
    struct ps_scratch scratch;
};

struct ps_context ps_context_of(const struct ps_program *program, const struct ps_locale *locale);

/* strcoll's order of two texts with their NULs: piece by piece, fewer pieces before more. */
int ps_collate_text(struct ps_context *context, const struct ps_table *table, const uint8_t *a, size_t a_n,
                    const uint8_t *b, size_t b_n);

/* The same for the keys that a PS_COLLATE segment finds in two lines, reversed if it is. */
int ps_collate_keys(struct ps_context *context, const struct ps_segment *segment, const uint8_t *line_a, size_t a_n,
                    const uint8_t *line_b, size_t b_n);

/* compare.c --------------------------------------------------------------------------------------------------------
 * The complete comparison of two records whose prefixes are equal (all stages, then the last resort): negative, 0 or
 * positive. */
int ps_compare(struct ps_context *context, const uint8_t *arena_a, const struct ps_record *a, const uint8_t *arena_b,
               const struct ps_record *b);

/* The last resort alone: whole lines, backwards under PS_REVERSE. */
int ps_compare_lines(struct ps_context *context, const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n);

/* The PS_COLLATE segment that ends a stage, or NULL for the last stage if that is exact. */
const struct ps_segment *ps_stage_end(const struct ps_program *program, uint32_t stage);

/* Makes the record address the stage behind the one that it addresses. */
void ps_next_stage(const uint8_t *arena, struct ps_record *record);

/* Where the line of record `index` below `top` is. */
struct ps_header ps_line_at(const struct ps_program *program, const uint8_t *arena, const uint8_t *top, size_t index);

/* Index of the first record i >= 1 of the n below `top` that is out of order with the one before it (greater, or equal
 * under PS_UNIQUE), n when there is none, PS_NO_MEMORY. */
#define PS_NO_MEMORY SIZE_MAX
size_t ps_check(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                const uint8_t *top, size_t n);

/* The same without records, in plain order alone: the complete lines of arena[start:stop]. Returns where the first begins
 * that is out of order, or where the last one ends when there is none; *line_n: the lines before that. */
size_t ps_check_text(const struct ps_program *program, const uint8_t *arena, size_t start, size_t stop, size_t *line_n);

/* 1 when the n records below `top` are in order as ps_check has it, -1 when each is less than the one before, else 0. */
int ps_presorted(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                 const uint8_t *top, size_t n);

/* radix.c ----------------------------------------------------------------------------------------------------------
 * Sorting the n records below `top` (stable); the n records below those are scratch. The result lies in ascending order
 * from top - 16 * n on, each record addressing its line, prefixes undefined, those that PS_UNIQUE drops among them until
 * ps_drop has taken them out.
 *
 * A part of that is sorted by itself: it begins with all n records, {0, n, 0, PS_FIRST_SHIFT, PS_PART_DESCENDING}, and
 * ps_split makes parts of a part. Different parts may be sorted by different threads. */
#define PS_FIRST_SHIFT 56
#define PS_PART_DESCENDING 1u /* the records as ps_scan and ps_encode left them */
#define PS_PART_FLIPPED 2u    /* they lie in the scratch */
#define PS_PART_SORTED 4u     /* nothing is left to compare; of all records, or of some that are not PS_PART_DESCENDING */
struct ps_part {
    uint64_t start, n; /* which records of the result */
    uint64_t depth;    /* bytes of the keys that are equal throughout the part, before those in the prefix */
    int64_t shift;     /* of the first digit of the prefix that may differ; below 0: none */
    uint64_t flags;
};

/* One step of sorting. What the parts do not cover is in its final place. Returns the number of parts, 256 at most, or
 * PS_NO_MEMORY. */
size_t ps_split(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena, uint8_t *top,
                size_t n, const struct ps_part *part, struct ps_part parts[256]);

/* The first step by several threads, each of which has some of the records that ps_scan and ps_encode left: the n below
 * `top`. What the threads found is put together between these calls, by whoever makes them. */

/* In which bits their prefixes differ from this one. */
uint64_t ps_differing(const uint8_t *top, size_t n, uint64_t prefix);

/* difference: of all records, not 0. How many have each digit. Returns the shift of the parts that the digits make. */
int ps_count_digits(const uint8_t *top, size_t n, uint64_t difference, uint64_t count[256]);

/* To places of records from `to` on: for each digit where the first one is put. */
void ps_distribute(const uint8_t *top, size_t n, uint64_t difference, uint8_t *to, const uint64_t places[256]);

/* All steps. Returns 0 when there was no memory for a comparison. */
int ps_sort_part(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena, uint8_t *top,
                 size_t n, const struct ps_part *part);

/* Under PS_UNIQUE, when all parts are sorted: moves the records that are kept together. Returns how many. */
size_t ps_drop(uint8_t *top, size_t n);

/* count.c ----------------------------------------------------------------------------------------------------------
 * The same under PS_COUNT: the prefix of each record that is kept is then how many lines it stands for. */
size_t ps_fold(const struct ps_program *program, const uint8_t *arena, uint8_t *top, size_t n);

/* Copies counted lines, each behind its count as uniq -c shows it, as long as they fit whole. Returns the number of bytes
 * written; *consumed is where the first line begins that is not complete, or did not fit. */
size_t ps_show_counts(const struct ps_program *program, const uint8_t *text, size_t n, size_t *consumed, uint8_t *out,
                      size_t out_size);

/* emit.c -----------------------------------------------------------------------------------------------------------
 * Copy lines, each with the separator, into out until it is full; counted lines under PS_COUNT. Starts *skip bytes into line *index and leaves both
 * where the next call has to go on. Returns the number of bytes written; *index == n when all lines are out. */
size_t ps_gather(const struct ps_program *program, const uint8_t *arena, const struct ps_record *records, size_t n,
                 size_t *index, size_t *skip, uint8_t *out, size_t out_size);

/* loser_tree.c -----------------------------------------------------------------------------------------------------
 * One run under merge. Its window starts at arena + base; its records lie below base + top, unread ones from `next`
 * on. `last` is non-zero when the run has nothing after this window. */
struct ps_cursor {
    uint64_t base;
    uint64_t top;
    uint64_t n;
    uint64_t next;
    uint64_t last;
};

#define PS_MERGE_DONE (-1)
#define PS_MERGE_FULL (-2)
#define PS_MERGE_NO_MEMORY (-3)

/* State of a merge between calls: 5 words, then one node for each of `cursor_n` cursors. All zero at the start. */
struct ps_merge {
    uint64_t started;
    uint64_t hungry;  /* 1 + the cursor whose next record the tree has not seen yet, or 0 */
    uint64_t skip;    /* bytes of what is being written that are in the output already */
    uint64_t emitted; /* 1 + the cursor that gave the last line, or 0 (kept for PS_UNIQUE and PS_COUNT) */
    uint64_t count;   /* PS_COUNT: of the last line, whose text alone is in the output, or 0 */
};

struct ps_node {
    uint64_t prefix; /* of the loser's head record */
    uint64_t cursor; /* the loser; node 0 holds the winner. UINT64_MAX: exhausted, or not played yet */
};

/* Merge until the output is full (PS_MERGE_FULL), every run is at its end (PS_MERGE_DONE), or a cursor has no record
 * left while its run has more: its index is returned (the hungry run), and the caller puts new records there before
 * the next call. Ties go to the earlier cursor. Under PS_UNIQUE and PS_COUNT the caller leaves the line read last in the
 * window as record 0 and sets next to 1. *used is the number of bytes written. Under PS_COUNT these are counted lines. */
int64_t ps_merge(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                 struct ps_cursor *cursors, size_t cursor_n, struct ps_merge *merge, uint8_t *out, size_t out_size,
                 size_t *used);

/* cut.c ------------------------------------------------------------------------------------------------------------
 * For merging in parts. The order of all unread records of sorted runs is that of ps_merge: equal ones by their cursors,
 * then as they lie. Under PS_UNIQUE and PS_COUNT equal ones are not told apart, so that no cut goes through them.
 *
 * ps_bound: places[i] is the first record of cursor i (`next` to `n`) that must not be merged before more of a run has
 * been read. ps_cut: places[i] is the first that does not go before record `index` of cursor `at`. Both return 0 when
 * there was no memory for a comparison. */
int ps_bound(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
             const struct ps_cursor *cursors, size_t cursor_n, uint64_t *places);

int ps_cut(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
           const struct ps_cursor *cursors, size_t cursor_n, size_t at, uint64_t index, uint64_t *places);

/* checksum.c -------------------------------------------------------------------------------------------------------
 * CRC-32 of bytes that are cut into blocks; `filled` < block_bytes of the first one, and their checksum *value, went
 * before. Those of blocks that are full go to `blocks`; returns how many, and in *value that of the last one if it is not.
 * Not where ps_can_checksum() returns 0. */
int ps_can_checksum(void);

size_t ps_checksum(const uint8_t *bytes, size_t n, size_t block_bytes, size_t filled, uint32_t *value, uint32_t *blocks);

#endif
