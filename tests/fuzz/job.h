/* What the drivers share: programs, locales, and lines on their way through the kernel, with every buffer of its exact
 * size so that the address sanitizer sees each byte beyond it. Whatever fails ends the process. */
#ifndef PYSORT_FUZZ_JOB_H
#define PYSORT_FUZZ_JOB_H

#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The tables of every program that make_program makes, by the letters that ask for them. */
enum { TABLE_F, TABLE_D, TABLE_I, TABLE_DF, TABLE_N };

/* Room for so many bytes; never NULL. */
void *allocate(size_t n);

/* A program with these segments, TABLE_N tables and the English months; to be freed. */
struct ps_program *make_program(uint32_t flags, uint8_t separator, const struct ps_segment *segments, uint32_t segment_n,
                                size_t *size);

/* A segment of a whole line; no table. */
struct ps_segment whole_line(uint32_t kind);

/* As module.c opens it; the locale C where that name is not known. */
struct ps_locale *open_locale(const char *name);
void close_locale(struct ps_locale *locale);

/* Lines in an arena of `top` bytes: text, keys from `text_n` to `keys_at`, n records and scratch for as many. */
struct job {
    const struct ps_program *program;
    const struct ps_locale *locale; /* NULL where the program needs none */
    uint8_t *arena;
    size_t text_n, keys_at, limit, top, n;
};

/* Room for keys that is enough for these lines. */
size_t enough_for_keys(const struct ps_program *program, const uint8_t *text, size_t n);

/* The text's complete lines, split; key_n bytes of room for keys. */
void start_job(struct job *job, const struct ps_program *program, const struct ps_locale *locale, const uint8_t *text,
               size_t n, size_t key_n);
/* Keys for as many lines as there is room for, no more than which are kept. */
void encode_job(struct job *job);
/* Makes the first step of sorting for ranges of the n >= 1 records, RANGE_MAX at most; run: calls work with each, in
 * threads of their own or not. Returns how many parts are left to sort. */
#define RANGE_MAX 8
size_t first_step(struct job *job, size_t range_n, void (*run)(void *(*work)(void *), void *ranges, size_t size),
                  struct ps_part parts[256]);
/* Brings the records in order, in one step or many: bit i % 16 of `steps` says whether step i splits a part, and the
 * last of these whether ranges share the first step. */
void sort_job(struct job *job, unsigned steps);
/* The lines in their order, in pieces of at most piece_n bytes; to be freed. */
uint8_t *gather_job(const struct job *job, size_t piece_n, size_t *size);
void end_job(struct job *job);

/* A run under merge: its text, how far that is in the window, and where the line read last begins. */
struct run {
    uint8_t *text;
    size_t n, at, last;
};

/* RUN_MAX runs at most, merged through windows of lines_n lines, out_n bytes at a time; to be freed. */
#define RUN_MAX 9
uint8_t *merge_runs(const struct ps_program *program, const struct ps_locale *locale, struct run *runs, size_t run_n,
                    size_t lines_n, size_t out_n, size_t *size);

#endif
