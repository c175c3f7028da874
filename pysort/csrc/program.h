/* The key program: which lines go first, complete. Python compiles it (keys/program.py), the kernel runs it. */
#ifndef PYSORT_PROGRAM_H
#define PYSORT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Flags of a program. */
#define PS_REVERSE 1u /* whole lines compare backwards: plain order, and the last-resort comparison of keyed order */
#define PS_STABLE 2u  /* keyed order: no last-resort comparison, equal keys keep their input order */
#define PS_COLLATE_LINES 8u /* the last resort compares by the locale's collation, not by bytes */
#define PS_UNIQUE 4u  /* of lines that compare equal only the first is kept; implies PS_STABLE */
#define PS_COUNT 16u  /* the same of lines of equal bytes that come one after the other, unless PS_UNIQUE is set too;
                       * with the first one goes how many they were */

/* Kinds of segment. */
#define PS_TEXT 0u    /* bytes, after the segment's table if it has one */
#define PS_NUMERIC 1u /* -n: sign, digits, decimal point, digits; any length */
#define PS_HUMAN 2u   /* -h: the unit behind the number first, translated by the table (-f), then as -n */
#define PS_MONTH 3u   /* -M */
#define PS_GENERAL 4u /* -g: the C library's long double */
#define PS_VERSION 5u /* -V; filtered by the table as PS_TEXT is */
#define PS_RANDOM 6u  /* -R: MD5 of the seed and the key; filtered by the table */
#define PS_COLLATE 7u /* text in the locale's order, filtered by the table. Not exact: ends a stage */
#define PS_KIND_N 8u

/* Flags of a segment. */
#define PS_SEG_REVERSE 1u     /* the encoding is complemented */
#define PS_SEG_START_BLANKS 2u /* skip blanks at the start position (b) */
#define PS_SEG_END_BLANKS 4u   /* skip blanks before counting end_char (b on the end position) */
#define PS_SEG_TO_LINE_END 8u  /* no end position was given */
#define PS_SEG_BARE 16u /* last segment, text, reversed only if alone: bytes as they are, not escaped, terminated, complemented */

#define PS_SEG_COLLATED 32u /* PS_RANDOM: of the strxfrm of each NUL-separated piece, not of the bytes */

#define PS_NO_TABLE UINT32_MAX
#define PS_NO_BYTE 256u

/* One key of the key program. Field and character numbers are GNU's, made zero-based: the key starts start_char bytes
 * into field start_field; it ends after end_char bytes of field end_field, or at the end of field end_field when
 * end_char is 0. */
struct ps_segment {
    uint32_t kind;
    uint32_t flags;
    uint32_t field_separator; /* a byte, or PS_NO_BYTE: fields are separated by the empty string before blanks */
    uint32_t table;           /* which table filters and translates the bytes (-d -f -i), or PS_NO_TABLE */
    uint32_t point;           /* -n: decimal point */
    uint32_t grouping;        /* -n: thousands separator, or PS_NO_BYTE */
    uint64_t start_field;
    uint64_t start_char;
    uint64_t end_field;
    uint64_t end_char;
};

/* A table: keep[b] is 0 when byte b takes no part in the comparison, else map[b] stands for it. */
struct ps_table {
    uint8_t keep[256];
    uint8_t map[256];
};

/* The order of lines, complete. Followed in memory by segment_n segments, table_n tables and months_n bytes: the
 * twelve months in the order of their names, each its number (1 to 12), the length of its name and the name. months_n is
 * 0 when no segment is a PS_MONTH. */
struct ps_program {
    uint32_t flags;
    uint32_t segment_n; /* 0: plain order */
    uint32_t table_n;
    uint32_t separator; /* the byte that ends a line */
    uint32_t months_n;
    uint32_t plain_blanks; /* 1: the blanks are tab, newline and space, and are looked for 8 bytes at a time */
    uint8_t seed[16]; /* of PS_RANDOM */
    uint8_t blank[256]; /* 1 for the bytes that separate fields by default */
};

static inline const struct ps_segment *ps_segments(const struct ps_program *program)
{
    return (const struct ps_segment *)(program + 1);
}

static inline const struct ps_table *ps_tables(const struct ps_program *program)
{
    return (const struct ps_table *)(ps_segments(program) + program->segment_n);
}

static inline const uint8_t *ps_months(const struct ps_program *program)
{
    return (const uint8_t *)(ps_tables(program) + program->table_n);
}

/* compare.c: whether `size` bytes at `program` are a complete program that the kernel can follow; needs_locale tells
 * whether a locale has to be given with it. */
int ps_program_is_valid(const void *program, size_t size);
int ps_program_needs_locale(const struct ps_program *program);

#endif
