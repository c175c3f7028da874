/* Sorted runs, merged through windows of a few lines. */
#include "job.h"

/* The next lines_n lines, behind the last one if that is to be kept. */
static void refill(const struct ps_program *program, const struct ps_locale *locale, struct run *run, size_t lines_n,
                   uint8_t *arena, struct ps_cursor *cursor, size_t window_n)
{
    const int keeps = program->flags & (PS_UNIQUE | PS_COUNT) && run->at > 0;
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
    cursor->n = ps_scan(program, window, 0, text_n, window + window_n, 0, window_n / 16,
                        (program->flags & PS_COUNT) != 0, &consumed, &longest);
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

/* Merges what the cursors have, from `first` to `stop` of each; appends it to out. */
static size_t merge_part(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                         const struct ps_cursor *cursors, size_t run_n, const uint64_t *first, const uint64_t *stop,
                         uint8_t *out, size_t out_n)
{
    struct ps_cursor part[RUN_MAX];
    for (size_t i = 0; i < run_n; i++) {
        REQUIRE(first[i] >= cursors[i].next && first[i] <= stop[i] && stop[i] <= cursors[i].n);
        part[i] = cursors[i];
        part[i].next = first[i];
        part[i].n = stop[i];
        part[i].last = 1;
    }
    struct ps_merge *state = calloc(1, sizeof *state + run_n * sizeof(struct ps_node));
    REQUIRE(state != NULL);
    size_t used;
    REQUIRE(ps_merge(program, locale, arena, part, run_n, state, out, out_n, &used) == PS_MERGE_DONE);
    free(state);
    return used;
}

/* What may be merged is the same bytes when it is merged in two parts, cut at any record. */
static void require_cuts(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena,
                         const struct ps_cursor *cursors, size_t run_n, size_t out_n, unsigned choice)
{
    uint64_t first[RUN_MAX], middle[RUN_MAX], stop[RUN_MAX];
    REQUIRE(ps_bound(program, locale, arena, cursors, run_n, stop));
    size_t at = 0;
    for (size_t i = 0; i < run_n; i++) {
        first[i] = cursors[i].next;
        at = stop[(i + choice) % run_n] > cursors[(i + choice) % run_n].next ? (i + choice) % run_n : at;
    }
    if (stop[at] == cursors[at].next)
        return;
    const uint64_t index = cursors[at].next + choice % (stop[at] - cursors[at].next);
    REQUIRE(ps_cut(program, locale, arena, cursors, run_n, at, index, middle));
    REQUIRE(middle[at] == index || (middle[at] < index && program->flags & (PS_UNIQUE | PS_COUNT)));
    uint8_t *whole = allocate(out_n), *parts = allocate(out_n);
    const size_t n = merge_part(program, locale, arena, cursors, run_n, first, stop, whole, out_n);
    size_t used = merge_part(program, locale, arena, cursors, run_n, first, middle, parts, out_n);
    used += merge_part(program, locale, arena, cursors, run_n, middle, stop, parts + used, out_n - used);
    REQUIRE(used == n && memcmp(whole, parts, n) == 0);
    free(whole);
    free(parts);
}

uint8_t *merge_runs(const struct ps_program *program, const struct ps_locale *locale, struct run *runs, size_t run_n,
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
        cursors[i] = (struct ps_cursor){.base = i * window_n};
        if (lines_n % 2) /* else each is found to be hungry before anything is merged */
            refill(program, locale, runs + i, lines_n, arena, cursors + i, window_n);
    }
    *size = 0;
    for (int64_t status = 0; status != PS_MERGE_DONE;) {
        size_t used;
        require_cursors(cursors, run_n, run_n * window_n);
        if (status >= 0 && state->skip == 0)
            require_cuts(program, locale, arena, cursors, run_n, run_n * window_n, (unsigned)*size);
        status = ps_merge(program, locale, arena, cursors, run_n, state, piece, out_n, &used);
        REQUIRE(used <= out_n && used <= sum - *size);
        REQUIRE(status != PS_MERGE_FULL || used == out_n);
        REQUIRE(status >= PS_MERGE_FULL && status < (int64_t)run_n);
        memcpy(out + *size, piece, used);
        *size += used;
        if (status < 0)
            continue;
        REQUIRE(ps_merge(program, locale, arena, cursors, run_n, state, piece, out_n, &used) == status && used == 0);
        refill(program, locale, runs + status, lines_n, arena, cursors + status, window_n);
    }
    free(state);
    free(piece);
    free(arena);
    return out;
}
