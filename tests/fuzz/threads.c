/* The kernel driven by 8 threads as run generation and merges drive it, under the thread sanitizer: keys of one arena are
 * encoded at the same time with one locale about which nothing is known yet, parts of it sorted, its lines gathered to
 * different places; while windows are merged the other halves of them are filled, and what lies between two cuts is merged
 * by each. What comes out is what one thread makes. */
#include "job.h"

#include <pthread.h>

#define THREAD_N 8
#define LINE_N 6000
#define LEAF_N 200   /* records; smaller parts are sorted rather than split */
#define WINDOW_LINES_N 100
#define OUT_N 5000

static uint64_t random_state;

static unsigned below(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(random_state >> 33) % n;
}

static const char *const words[] = {"a", "A", "b", "word", "Word", "co-op", "coop", "\xC3\xA9", "\xC3\x89", "\xC3\xA8t", " ",
                                    "\t", "1", "10", "-3.5", "007", "1e3", "0x1f", "nan", "2K", "JAN", "feb", ".tar", "~",
                                    "\xE2\x80\x99", "\xC4\x8D", "ch", "\xFF", "prefix that is long enough"};

static uint8_t *make_text(size_t *n)
{
    uint8_t *text = allocate(LINE_N * 400);
    *n = 0;
    for (int line = 0; line < LINE_N; line++) {
        for (unsigned word_n = below(9); word_n > 0; word_n--) {
            const char *word = words[below(sizeof words / sizeof *words)];
            memcpy(text + *n, word, strlen(word));
            *n += strlen(word);
        }
        text[(*n)++] = '\n';
    }
    return text;
}

struct order {
    struct ps_program *program;
    const char *locale_name;
    struct ps_locale *locale; /* opened anew for each use */
};

static void start_threads(pthread_t threads[THREAD_N], void *(*work)(void *), void *argument, size_t size)
{
    for (size_t i = 0; i < THREAD_N; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (char *)argument + i * size) == 0);
}

static void join_threads(const pthread_t threads[THREAD_N])
{
    for (size_t i = 0; i < THREAD_N; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void run_threads(void *(*work)(void *), void *argument, size_t size)
{
    pthread_t threads[THREAD_N];
    start_threads(threads, work, argument, size);
    join_threads(threads);
}

/* Encoding: each thread its records, into its own part of the room for keys. */
struct encoding {
    struct job *job;
    size_t first, last, at, limit;
};

static void *encode(void *argument)
{
    const struct encoding *encoding = argument;
    const struct job *job = encoding->job;
    size_t at = encoding->at;
    REQUIRE(ps_encode(job->program, job->locale, job->arena, job->arena + job->top, encoding->first, encoding->last, &at,
                      encoding->limit) == encoding->last);
    return NULL;
}

static void encode_together(struct job *job)
{
    struct encoding encodings[THREAD_N];
    const size_t room = (job->limit - job->text_n) / THREAD_N;
    for (size_t i = 0; i < THREAD_N; i++)
        encodings[i] = (struct encoding){job, job->n * i / THREAD_N, job->n * (i + 1) / THREAD_N,
                                         job->text_n + i * room, job->text_n + (i + 1) * room};
    run_threads(encode, encodings, sizeof *encodings);
}

/* Sorting: parts that wait, and how many are in hand. */
struct sorting {
    struct job *job;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct ps_part *waiting;
    size_t waiting_n, capacity, in_hand_n;
};

static void hand_over(struct sorting *sorting, const struct ps_part *parts, size_t n)
{
    pthread_mutex_lock(&sorting->mutex);
    if (sorting->waiting_n + n > sorting->capacity) {
        sorting->capacity += 256 + n;
        sorting->waiting = realloc(sorting->waiting, sorting->capacity * sizeof *parts);
        REQUIRE(sorting->waiting != NULL);
    }
    if (n > 0)
        memcpy(sorting->waiting + sorting->waiting_n, parts, n * sizeof *parts);
    sorting->waiting_n += n;
    sorting->in_hand_n--;
    pthread_cond_broadcast(&sorting->changed);
    pthread_mutex_unlock(&sorting->mutex);
}

static int take_part(struct sorting *sorting, struct ps_part *part)
{
    pthread_mutex_lock(&sorting->mutex);
    while (sorting->waiting_n == 0 && sorting->in_hand_n > 0)
        pthread_cond_wait(&sorting->changed, &sorting->mutex);
    const int is_left = sorting->waiting_n > 0;
    if (is_left) {
        *part = sorting->waiting[--sorting->waiting_n];
        sorting->in_hand_n++;
    }
    pthread_mutex_unlock(&sorting->mutex);
    return is_left;
}

static void *sort_parts(void *argument)
{
    struct sorting *sorting = argument;
    const struct job *job = sorting->job;
    struct ps_part part, parts[256];
    while (take_part(sorting, &part)) {
        size_t n = 0;
        if (part.n > LEAF_N)
            n = ps_split(job->program, job->locale, job->arena, job->arena + job->top, job->n, &part, parts);
        else
            REQUIRE(ps_sort_part(job->program, job->locale, job->arena, job->arena + job->top, job->n, &part));
        REQUIRE(n <= 256);
        hand_over(sorting, parts, n);
    }
    return NULL;
}

static void sort_together(struct job *job)
{
    struct sorting sorting = {.job = job, .in_hand_n = 1};
    pthread_mutex_init(&sorting.mutex, NULL);
    pthread_cond_init(&sorting.changed, NULL);
    struct ps_part parts[256];
    hand_over(&sorting, parts, first_step(job, THREAD_N, run_threads, parts));
    run_threads(sort_parts, &sorting, 0);
    pthread_cond_destroy(&sorting.changed);
    pthread_mutex_destroy(&sorting.mutex);
    free(sorting.waiting);
}

/* Gathering: each thread its share of the sorted records, to a buffer of its own. */
struct gathering {
    const struct job *job;
    size_t first, n, size;
    uint8_t *out;
};

static void *gather(void *argument)
{
    struct gathering *g = argument;
    const struct job *job = g->job;
    const struct ps_record *records = (const struct ps_record *)(const void *)(job->arena + job->top) - job->n + g->first;
    size_t index = 0, skip = 0;
    g->out = allocate(job->text_n);
    g->size = ps_gather(job->program, job->arena, records, g->n, &index, &skip, g->out, job->text_n);
    REQUIRE(index == g->n || g->size == job->text_n);
    return NULL;
}

static uint8_t *gather_together(const struct job *job, size_t kept, size_t *size)
{
    struct gathering shares[THREAD_N];
    for (size_t i = 0; i < THREAD_N; i++) {
        const size_t first = kept * i / THREAD_N;
        shares[i] = (struct gathering){job, first, kept * (i + 1) / THREAD_N - first, 0, NULL};
    }
    run_threads(gather, shares, sizeof *shares);
    uint8_t *out = allocate(job->text_n);
    *size = 0;
    for (size_t i = 0; i < THREAD_N; i++) {
        memcpy(out + *size, shares[i].out, shares[i].size);
        *size += shares[i].size;
        free(shares[i].out);
    }
    return out;
}

static uint8_t *sorted(const struct order *order, const uint8_t *text, size_t text_n, int together, size_t *size)
{
    struct job job;
    start_job(&job, order->program, order->locale, text, text_n, THREAD_N * enough_for_keys(order->program, text, text_n));
    uint8_t *out;
    if (together) {
        if (order->program->segment_n > 0)
            encode_together(&job);
        sort_together(&job);
        const size_t kept = order->program->flags & PS_UNIQUE ? ps_drop(job.arena + job.top, job.n) : job.n;
        out = gather_together(&job, kept, size);
    } else {
        encode_job(&job);
        sort_job(&job, 0);
        out = gather_job(&job, text_n + 1, size);
    }
    end_job(&job);
    return out;
}

/* Merging: thread i fills the half of window i that the merge does not read. */
struct window {
    const struct order *order;
    const uint8_t *text; /* of the run */
    size_t n, at, last;
    uint8_t *halves[2];
    size_t half_n;
    int filled; /* which half has been filled, -1: none, and there is room */
    int target; /* which half comes next */
    int ended;
    struct ps_cursor cursor; /* of the filled half; base is set by the merge */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

static void fill(struct window *window)
{
    const struct ps_program *program = window->order->program;
    const int keeps = program->flags & PS_UNIQUE && window->at > 0;
    const size_t begin = keeps ? window->last : window->at;
    for (int lines_n = 0; lines_n < WINDOW_LINES_N && window->at < window->n; lines_n++) {
        window->last = window->at;
        window->at = (size_t)((const uint8_t *)memchr(window->text + window->at, '\n', window->n - window->at) + 1 -
                              window->text);
    }
    const size_t text_n = window->at - begin;
    uint8_t *half = window->halves[window->target];
    memcpy(half, window->text + begin, text_n);
    size_t consumed, longest, at = text_n;
    struct ps_cursor *cursor = &window->cursor;
    cursor->top = window->half_n;
    cursor->n = ps_scan(program, half, 0, text_n, half + window->half_n, 0, window->half_n / 16, 0, &consumed,
                        &longest);
    if (program->segment_n > 0)
        REQUIRE(ps_encode(program, window->order->locale, half, half + window->half_n, 0, cursor->n, &at,
                          window->half_n - 16 * cursor->n) == cursor->n);
    cursor->next = (uint64_t)keeps;
    cursor->last = window->at == window->n;
}

static void *fill_windows(void *argument)
{
    struct window *window = argument;
    for (int ended = 0; !ended;) {
        fill(window);
        pthread_mutex_lock(&window->mutex);
        window->filled = window->target;
        window->target = !window->target;
        ended = window->cursor.last != 0;
        pthread_cond_signal(&window->changed);
        while (window->filled >= 0 && !ended)
            pthread_cond_wait(&window->changed, &window->mutex);
        pthread_mutex_unlock(&window->mutex);
    }
    return NULL;
}

static void take_half(struct window *window, uint8_t *arena, struct ps_cursor *cursor)
{
    pthread_mutex_lock(&window->mutex);
    while (window->filled < 0)
        pthread_cond_wait(&window->changed, &window->mutex);
    *cursor = window->cursor;
    cursor->base = (uint64_t)(window->halves[window->filled] - arena);
    window->filled = -1; /* the other half may be filled now */
    pthread_cond_signal(&window->changed);
    pthread_mutex_unlock(&window->mutex);
}

static uint8_t *merged(const struct order *order, uint8_t *const runs[THREAD_N], const size_t sizes[THREAD_N],
                       size_t *size)
{
    const size_t half_n = (WINDOW_LINES_N + 1) * (300 + 16 + order->program->segment_n * 4000) / 16 * 16;
    uint8_t *arena = allocate(2 * THREAD_N * half_n);
    struct window windows[THREAD_N];
    struct ps_cursor cursors[THREAD_N];
    pthread_t threads[THREAD_N];
    size_t sum = 0;
    for (size_t i = 0; i < THREAD_N; i++) {
        windows[i] = (struct window){.order = order, .text = runs[i], .n = sizes[i], .half_n = half_n, .filled = -1};
        for (size_t half = 0; half < 2; half++)
            windows[i].halves[half] = arena + (2 * i + half) * half_n;
        pthread_mutex_init(&windows[i].mutex, NULL);
        pthread_cond_init(&windows[i].changed, NULL);
        sum += sizes[i];
    }
    start_threads(threads, fill_windows, windows, sizeof *windows);
    for (size_t i = 0; i < THREAD_N; i++)
        take_half(windows + i, arena, cursors + i);
    struct ps_merge *state = calloc(1, sizeof *state + THREAD_N * sizeof(struct ps_node));
    REQUIRE(state != NULL);
    uint8_t *out = allocate(sum + OUT_N);
    *size = 0;
    for (int64_t status = 0; status != PS_MERGE_DONE;) {
        size_t used;
        status = ps_merge(order->program, order->locale, arena, cursors, THREAD_N, state, out + *size, OUT_N, &used);
        *size += used;
        REQUIRE(*size <= sum && status >= PS_MERGE_FULL);
        if (status >= 0)
            take_half(windows + status, arena, cursors + status);
    }
    join_threads(threads);
    for (size_t i = 0; i < THREAD_N; i++) {
        pthread_cond_destroy(&windows[i].changed);
        pthread_mutex_destroy(&windows[i].mutex);
    }
    free(state);
    free(arena);
    return out;
}

/* Merging in parts: each thread what lies between two cuts. */
struct share {
    const struct order *order;
    const uint8_t *arena;
    struct ps_cursor cursors[THREAD_N];
    uint8_t *out;
    size_t out_n, size;
};

static void *merge_share(void *argument)
{
    struct share *share = argument;
    struct ps_merge *state = calloc(1, sizeof *state + THREAD_N * sizeof(struct ps_node));
    REQUIRE(state != NULL);
    REQUIRE(ps_merge(share->order->program, share->order->locale, share->arena, share->cursors, THREAD_N, state,
                     share->out, share->out_n, &share->size) == PS_MERGE_DONE);
    free(state);
    return NULL;
}

static uint8_t *merged_in_parts(const struct order *order, uint8_t *const runs[THREAD_N], const size_t sizes[THREAD_N],
                                size_t *size)
{
    struct job jobs[THREAD_N];
    struct ps_cursor cursors[THREAD_N];
    struct share shares[THREAD_N];
    uint64_t cut[THREAD_N];
    size_t arena_n = 0, out_n = 1;
    for (size_t i = 0; i < THREAD_N; i++) {
        start_job(&jobs[i], order->program, order->locale, runs[i], sizes[i],
                  enough_for_keys(order->program, runs[i], sizes[i]));
        encode_job(&jobs[i]);
        cursors[i] = (struct ps_cursor){arena_n, jobs[i].top, jobs[i].n, 0, 1};
        arena_n += jobs[i].top;
        out_n += sizes[i];
    }
    uint8_t *arena = allocate(arena_n), *out = allocate(out_n);
    for (size_t i = 0; i < THREAD_N; i++) {
        memcpy(arena + cursors[i].base, jobs[i].arena, jobs[i].top);
        end_job(&jobs[i]);
    }
    for (size_t t = 0; t < THREAD_N; t++) {
        shares[t] = (struct share){.order = order, .arena = arena, .out = allocate(out_n), .out_n = out_n};
        if (t + 1 < THREAD_N)
            REQUIRE(ps_cut(order->program, order->locale, arena, cursors, THREAD_N, 0, cursors[0].n * (t + 1) / THREAD_N,
                           cut));
        for (size_t i = 0; i < THREAD_N; i++) {
            struct ps_cursor *cursor = shares[t].cursors + i;
            *cursor = cursors[i];
            cursor->next = t == 0 ? 0 : shares[t - 1].cursors[i].n;
            cursor->n = t + 1 < THREAD_N ? cut[i] : cursors[i].n;
        }
    }
    run_threads(merge_share, shares, sizeof *shares);
    *size = 0;
    for (size_t t = 0; t < THREAD_N; t++) {
        memcpy(out + *size, shares[t].out, shares[t].size);
        *size += shares[t].size;
        free(shares[t].out);
    }
    free(arena);
    return out;
}

static void check(struct order *order, const uint8_t *text, size_t text_n)
{
    size_t size, other_n, sizes[THREAD_N];
    uint8_t *runs[THREAD_N];
    order->locale = open_locale(order->locale_name);
    uint8_t *expected = sorted(order, text, text_n, 0, &size);
    close_locale(order->locale);
    order->locale = open_locale(order->locale_name); /* all of them find out about it together */
    uint8_t *out = sorted(order, text, text_n, 1, &other_n);
    REQUIRE(size == other_n && memcmp(out, expected, size) == 0);
    free(out);

    const uint8_t *p = text;
    for (size_t i = 0; i < THREAD_N; i++) {
        const uint8_t *stop = p + (size_t)(text + text_n - p) / (THREAD_N - i);
        while (stop > p && stop[-1] != '\n')
            stop--;
        runs[i] = sorted(order, p, (size_t)(stop - p), 0, sizes + i);
        p = stop;
    }
    close_locale(order->locale);
    order->locale = open_locale(order->locale_name);
    out = merged(order, runs, sizes, &other_n);
    REQUIRE(size == other_n && memcmp(out, expected, size) == 0);
    free(out);
    out = merged_in_parts(order, runs, sizes, &other_n);
    REQUIRE(size == other_n && memcmp(out, expected, size) == 0);
    for (size_t i = 0; i < THREAD_N; i++)
        free(runs[i]);
    free(out);
    free(expected);
    close_locale(order->locale);
}

int main(void)
{
    size_t text_n, program_n;
    uint8_t *text = make_text(&text_n);
    int order_n = 0;
    for (uint32_t kind = 0; kind <= PS_KIND_N; kind++)
        for (uint32_t flags = 0; flags < 8; flags += 2) {
            struct ps_segment segments[2] = {whole_line(kind), whole_line(PS_COLLATE)};
            segments[0].flags |= kind == PS_RANDOM ? PS_SEG_COLLATED : 0;
            segments[1].flags |= PS_SEG_REVERSE;
            segments[1].start_field = 1;
            const uint32_t segment_n = kind == PS_KIND_N ? 0 : 2; /* whole lines by their bytes */
            struct order order = {
                make_program(flags | (segment_n ? PS_COLLATE_LINES : 0), '\n', segments, segment_n, &program_n),
                kind % 2 ? "en_US.UTF-8" : "cs_CZ.UTF-8", NULL};
            check(&order, text, text_n);
            free(order.program);
            order_n++;
        }
    free(text);
    printf("%d orders, %d threads, %d lines: no race, and the bytes of one thread\n", order_n, THREAD_N, LINE_N);
    return 0;
}
