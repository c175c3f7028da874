/* How the kernel's work grows with inputs made to be slow. Work is counted, not timed: edges of the kernel's code that
 * are passed (-fsanitize-coverage=trace-pc), and bytes that the C library is given. Twice the text may be 2.5 times the
 * work at most. Prints a table; the exit status is 1 where something grows faster. */
#include "job.h"

#include <inttypes.h>

#define LEAST_BYTES (400u << 10)
#define STEP_N 3 /* sizes, each twice the one before */
#define MOST 2.5

static uint64_t work;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    work++;
}

int __wrap_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    size_t i = 0;
    while (i < n && x[i] == y[i])
        i++;
    work += 1 + i / 8;
    return i < n ? x[i] - y[i] : 0;
}

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    work += 1 + n / 8;
    return __real_memcpy(to, from, n);
}

void *__real_memchr(const void *p, int byte, size_t n);
void *__wrap_memchr(const void *p, int byte, size_t n);
void *__wrap_memchr(const void *p, int byte, size_t n)
{
    const uint8_t *found = __real_memchr(p, byte, n);
    work += 1 + (found ? (size_t)(found - (const uint8_t *)p) : n) / 8;
    return (void *)(uintptr_t)found;
}

int __real_strcoll_l(const char *a, const char *b, locale_t locale);
int __wrap_strcoll_l(const char *a, const char *b, locale_t locale);
int __wrap_strcoll_l(const char *a, const char *b, locale_t locale)
{
    work += 1 + strlen(a) + strlen(b);
    return __real_strcoll_l(a, b, locale);
}

size_t __real_strxfrm_l(char *to, const char *from, size_t n, locale_t locale);
size_t __wrap_strxfrm_l(char *to, const char *from, size_t n, locale_t locale);
size_t __wrap_strxfrm_l(char *to, const char *from, size_t n, locale_t locale)
{
    work += 1 + strlen(from);
    return __real_strxfrm_l(to, from, n, locale);
}

/* Texts: each writes line i of about as many as fill the size, without its newline, and returns its length. `lines_n`
 * is how many there will be. */
typedef size_t line_maker(uint8_t *at, size_t i, size_t lines_n);

static size_t put_number(uint8_t *at, size_t i)
{
    return (size_t)sprintf((char *)at, "%08zu", i * 2654435761u % 100000000u);
}

static size_t equal(uint8_t *at, size_t i, size_t n)
{
    (void)i, (void)n;
    memset(at, '=', 50);
    return 50;
}

static size_t one_byte(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    *at = (uint8_t)("abcdefghijklmnopqrstuvwxyz"[i * 7 % 26]);
    return 1;
}

static size_t empty(uint8_t *at, size_t i, size_t n)
{
    (void)at, (void)i, (void)n;
    return 0;
}

static size_t prefixed(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    memset(at, '/', 200);
    return 200 + put_number(at + 200, i);
}

static size_t nested(uint8_t *at, size_t i, size_t n) /* each line begins the longer ones */
{
    (void)n;
    const size_t length = i * 7919 % 400;
    memset(at, 'a', length);
    return length;
}

static size_t long_lines(uint8_t *at, size_t i, size_t n) /* few, and equal to the last byte but one */
{
    (void)n;
    memset(at, 'x', 3000);
    at[2999] = (uint8_t)('a' + i % 26);
    return 3000;
}

static size_t one_line(uint8_t *at, size_t i, size_t n)
{
    (void)i;
    memset(at, '0', n);
    return n;
}

static size_t descending(uint8_t *at, size_t i, size_t n)
{
    return (size_t)sprintf((char *)at, "%010zu tail", n - i);
}

static size_t equal_key(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    memcpy(at, "key ", 4);
    return 4 + put_number(at + 4, i);
}

static size_t few_keys(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    *at = (uint8_t)('a' + i % 3);
    at[1] = ' ';
    return 2 + put_number(at + 2, i);
}

static size_t deep_keys(uint8_t *at, size_t i, size_t n) /* the second key decides, behind 100 bytes */
{
    (void)n;
    memset(at, 'k', 200);
    at[80] = ' ';
    return 200 + put_number(at + 200, i);
}

static size_t many_fields(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    for (int field = 0; field < 100; field++)
        memcpy(at + 2 * field, "f ", 2);
    return 200 + put_number(at + 200, i);
}

static size_t long_numbers(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    memset(at, '1', 300);
    return 300 + put_number(at + 300, i);
}

static size_t zeros(uint8_t *at, size_t i, size_t n)
{
    (void)i, (void)n;
    memset(at, '0', 300);
    return 300;
}

static size_t versions(uint8_t *at, size_t i, size_t n)
{
    (void)n;
    for (int part = 0; part < 60; part++)
        memcpy(at + 4 * part, ".a01", 4);
    return 240 + put_number(at + 240, i);
}

static size_t cases(uint8_t *at, size_t i, size_t n) /* first levels are equal: only strcoll tells them apart */
{
    (void)n;
    for (int bit = 0; bit < 20; bit++)
        at[bit] = (uint8_t)((i * 2654435761u >> bit & 1 ? 'a' : 'A') + bit);
    return 20;
}

static size_t characters(uint8_t *at, size_t i, size_t n) /* more pairs than are looked at: strxfrm has to do */
{
    (void)n;
    for (size_t c = 0; c < 20; c++) {
        const size_t code = 0x80 + (i * 31 + c * c * 97) % 0x700;
        at[2 * c] = (uint8_t)(0xC0 | code >> 6);
        at[2 * c + 1] = (uint8_t)(0x80 | (code & 0x3F));
    }
    return 40;
}

struct shape {
    const char *name;
    line_maker *line;
    uint32_t flags;
    uint32_t kinds[2]; /* of the keys, the second of them from field 2 on; PS_KIND_N: none */
    int ends;          /* the first key ends with its field */
};

#define NONE PS_KIND_N
static const struct shape shapes[] = {
    {"all lines equal", equal, 0, {NONE, NONE}, 0},
    {"all lines equal, -u", equal, PS_UNIQUE, {NONE, NONE}, 0},
    {"empty lines", empty, 0, {NONE, NONE}, 0},
    {"one byte a line", one_byte, 0, {NONE, NONE}, 0},
    {"200 bytes in common", prefixed, 0, {NONE, NONE}, 0},
    {"200 bytes in common, -r", prefixed, PS_REVERSE, {NONE, NONE}, 0},
    {"each line begins others", nested, 0, {NONE, NONE}, 0},
    {"each line begins others, -r", nested, PS_REVERSE, {NONE, NONE}, 0},
    {"3,000 bytes a line, nearly equal", long_lines, 0, {NONE, NONE}, 0},
    {"one line", one_line, 0, {NONE, NONE}, 0},
    {"in descending order", descending, 0, {NONE, NONE}, 0},
    {"equal keys, -s", equal_key, PS_STABLE, {PS_TEXT, NONE}, 1},
    {"equal keys, -u", equal_key, PS_UNIQUE, {PS_TEXT, NONE}, 1},
    {"equal keys", equal_key, 0, {PS_TEXT, NONE}, 1},
    {"three keys, -s", few_keys, PS_STABLE, {PS_TEXT, NONE}, 1},
    {"three keys and a second one", few_keys, 0, {PS_TEXT, PS_NUMERIC}, 1},
    {"keys equal for 80 and 119 bytes", deep_keys, 0, {PS_TEXT, PS_TEXT}, 1},
    {"100 fields, the last decides", many_fields, 0, {PS_TEXT, PS_TEXT}, 1},
    {"numbers of 300 digits, -n", long_numbers, 0, {PS_NUMERIC, NONE}, 0},
    {"one number, -n", one_line, 0, {PS_NUMERIC, NONE}, 0},
    {"300 zeros, -n", zeros, 0, {PS_NUMERIC, NONE}, 0},
    {"300 zeros, -V", zeros, 0, {PS_VERSION, NONE}, 0},
    {"60 suffixes, -V", versions, 0, {PS_VERSION, NONE}, 0},
    {"one number, -V", one_line, 0, {PS_VERSION, NONE}, 0},
    {"numbers of 300 digits, -g", long_numbers, 0, {PS_GENERAL, NONE}, 0},
    {"equal keys, -R", equal_key, 0, {PS_RANDOM, NONE}, 1},
    {"all lines equal, in a locale", equal, PS_COLLATE_LINES | PS_STABLE, {PS_COLLATE, NONE}, 0},
    {"equal but for case, in a locale", cases, PS_COLLATE_LINES | PS_STABLE, {PS_COLLATE, NONE}, 0},
    {"many characters, in a locale", characters, PS_COLLATE_LINES | PS_STABLE, {PS_COLLATE, NONE}, 0},
    {"equal keys, in a locale", equal_key, PS_COLLATE_LINES, {PS_COLLATE, NONE}, 1},
};

static uint8_t *make_text(line_maker *line, size_t size, size_t *n)
{
    uint8_t *text = allocate(size + 20000);
    const size_t lines_n = line == one_line ? size : size / (line(text, 0, 1) + 1) + 1;
    *n = 0;
    for (size_t i = 0; *n < size; i++) {
        *n += line(text + *n, i, lines_n);
        text[(*n)++] = '\n';
    }
    return text;
}

static uint64_t work_of(const struct shape *shape, size_t size)
{
    struct ps_segment segments[2];
    uint32_t segment_n = 0;
    for (; segment_n < 2 && shape->kinds[segment_n] != NONE; segment_n++) {
        segments[segment_n] = whole_line(shape->kinds[segment_n]);
        segments[segment_n].start_field = segment_n;
        if (segment_n == 0 && shape->ends)
            segments[0].flags = 0;
    }
    size_t program_n, text_n, out_n;
    struct ps_program *program = make_program(shape->flags, '\n', segments, segment_n, &program_n);
    struct ps_locale *locale = ps_program_needs_locale(program) ? open_locale("en_US.UTF-8") : NULL;
    uint8_t *text = make_text(shape->line, size, &text_n);
    struct job job;
    work = 0;
    start_job(&job, program, locale, text, text_n, enough_for_keys(program, text, text_n));
    encode_job(&job);
    sort_job(&job, 0);
    free(gather_job(&job, 4096, &out_n));
    const uint64_t found = work;
    end_job(&job);
    free(text);
    if (locale != NULL)
        close_locale(locale);
    free(program);
    return found;
}

int main(void)
{
    int failed = 0;
    printf("%-36s %14s %8s %8s\n", "work, twice the text, and again", "units a byte", "x", "x");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t found[STEP_N];
        for (size_t step = 0; step < STEP_N; step++)
            found[step] = work_of(shapes + i, (size_t)LEAST_BYTES << step);
        printf("%-36s %14.1f", shapes[i].name, (double)found[STEP_N - 1] / ((double)(LEAST_BYTES << (STEP_N - 1))));
        for (size_t step = 1; step < STEP_N; step++) {
            const double ratio = (double)found[step] / (double)found[step - 1];
            printf(" %8.2f", ratio);
            failed |= ratio > MOST;
        }
        printf("\n");
    }
    printf(failed ? "some work grows faster than %.1f for twice the text\n"
                  : "no work grows faster than %.1f for twice the text\n", MOST);
    return failed;
}
