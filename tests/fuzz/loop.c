/* A fuzzer that needs nothing but gcc: inputs are changed at random, and those that reach a place in the kernel that
 * none has reached, or reach it more often, are kept and changed in turn. The kernel is compiled with
 * -fsanitize-coverage=trace-pc. Where there is libFuzzer it takes this file's place.
 *
 *     kernel_fuzz SECONDS SEED CRASH CORPUS...    runs the files, then SECONDS of changed ones
 *
 * An input that fails is written to the file CRASH. With KEPT=DIR in the environment those that are kept go there. */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#define MAP_N (1u << 16)
#define INPUT_MAX 1400
#define CORPUS_MAX 20000
#define SLOW_S 20 /* an input that takes more time of the processor has failed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
void __sanitizer_set_death_callback(void (*callback)(void));
void __sanitizer_cov_trace_pc(void);

struct input {
    uint8_t *bytes;
    size_t n;
};

static struct input corpus[CORPUS_MAX];
static size_t corpus_n;
static uint8_t hits[MAP_N];        /* of the places that this input reached */
static uint8_t known[MAP_N];       /* classes of numbers of hits that some input has had */
static unsigned reached[1u << 14]; /* places in hits */
static unsigned reached_n;
static uint64_t random_state;
static uint8_t current[INPUT_MAX];
static size_t current_n;
static const char *crash_name;

void __sanitizer_cov_trace_pc(void)
{
    static uintptr_t before;
    const uintptr_t place = (uintptr_t)__builtin_return_address(0);
    const unsigned edge = (unsigned)((place * UINT64_C(0x9E3779B97F4A7C15) >> 40 ^ before) % MAP_N);
    before = (place * UINT64_C(0x9E3779B97F4A7C15) >> 41) % MAP_N;
    if (hits[edge] == 0 && reached_n < sizeof reached / sizeof *reached)
        reached[reached_n++] = edge;
    if (hits[edge] < UINT8_MAX)
        hits[edge]++;
}

static unsigned below(unsigned n)
{
    random_state ^= random_state << 13; /* xorshift64 */
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 16) % n);
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    if (file == NULL || fwrite(bytes, 1, n, file) != n || fclose(file) != 0)
        perror(name);
}

static void on_death(void)
{
    write_file(crash_name, current, current_n);
    fprintf(stderr, "the input that failed is in %s\n", crash_name);
}

static void on_alarm(int signal_n)
{
    (void)signal_n;
    fprintf(stderr, "more than %d s of the processor for one input\n", SLOW_S);
    abort();
}

/* Runs the current input. Whether it reached something new. */
static int run(void)
{
    /* A copy of its exact size, so that reading beyond it is seen. */
    uint8_t *copy = malloc(current_n ? current_n : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, current, current_n);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SLOW_S}, NULL);
    LLVMFuzzerTestOneInput(copy, current_n);
    free(copy);
    int is_new = 0;
    for (unsigned i = 0; i < reached_n; i++) {
        uint8_t *hit = hits + reached[i];
        const unsigned log = 31u - (unsigned)__builtin_clz(*hit);
        const uint8_t class = (uint8_t)(1u << log);
        is_new |= (known[reached[i]] & class) == 0;
        known[reached[i]] |= class;
        *hit = 0;
    }
    reached_n = 0;
    return is_new;
}

static void keep(void)
{
    if (corpus_n == CORPUS_MAX)
        return;
    struct input *input = corpus + corpus_n++;
    input->n = current_n;
    input->bytes = malloc(current_n ? current_n : 1);
    if (input->bytes == NULL)
        abort();
    memcpy(input->bytes, current, current_n);
    const char *directory = getenv("KEPT");
    if (directory != NULL) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%06zu", directory, corpus_n);
        write_file(name, current, current_n);
    }
}

static const char *const words[] = {"\n\n\n\n", "aaaaaaaa", "\0\0\0\0\0\0\0\0", "1e4000", "0x1p4", "nan", "-inf", "99999999",
                                    "0.000", "1K", "9Q", "JAN", "dec", ".tar.gz", "~", "a01", "\xC3\xA9", "\xE2\x80\x99",
                                    "\xED\xA0\x81", "\xFF\xFE", "\xC4\x87", " \t ", ",,,", "-", "ch", "\xE3\x81\x8C"};

/* A random place, more often in the head that says what is done. */
static size_t place(void)
{
    const unsigned n = (unsigned)current_n;
    return below(3) == 0 ? below(n < 48 ? n : 48) : below(n);
}

static void insert(const uint8_t *bytes, size_t n)
{
    if (n > INPUT_MAX - current_n)
        n = INPUT_MAX - current_n;
    const size_t at = current_n ? place() : 0;
    memmove(current + at + n, current + at, current_n - at);
    memcpy(current + at, bytes, n);
    current_n += n;
}

static void change(void)
{
    static const uint8_t bytes[] = {0, 1, 2, 8, 10, 16, 31, 32, 33, '0', '9', ',', '-', 'a', 127, 128, 240, 254, 255};
    uint8_t chunk[256];
    const struct input *other = corpus + below((unsigned)corpus_n);
    switch (current_n ? below(9) : 4) {
    case 0:
        current[place()] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        current[place()] = bytes[below(sizeof bytes)];
        break;
    case 2:
        current[place()] = (uint8_t)below(256);
        break;
    case 3: { /* taken out */
        const size_t at = place(), n = 1 + below(below(4) ? 8 : 128), left = current_n - at;
        memmove(current + at, current + at + (n < left ? n : left), left - (n < left ? n : left));
        current_n -= n < left ? n : left;
        break;
    }
    case 4: { /* a word; NULs have no end of their own */
        const unsigned which = below(sizeof words / sizeof *words);
        insert((const uint8_t *)words[which], which == 2 ? 8 : strlen(words[which]));
        break;
    }
    case 5: { /* again */
        const size_t at = place(), left = current_n - at, n = 1 + below(sizeof chunk);
        memcpy(chunk, current + at, n < left ? n : left);
        insert(chunk, n < left ? n : left);
        break;
    }
    case 6: { /* one byte many times */
        memset(chunk, bytes[below(sizeof bytes)], sizeof chunk);
        insert(chunk, 1 + below(sizeof chunk));
        break;
    }
    case 7: /* the head of another */
        memcpy(current, other->bytes, other->n < 48 ? other->n : 48);
        current_n = current_n < 48 && other->n >= 48 ? 48 : current_n;
        break;
    default: /* the tail of another */
        if (other->n > 48)
            insert(other->bytes + 48, other->n - 48);
    }
}

static void load(const char *directory)
{
    struct dirent **entries;
    const int n = scandir(directory, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", directory, entries[i]->d_name);
        struct stat facts;
        FILE *file = stat(name, &facts) == 0 && S_ISREG(facts.st_mode) ? fopen(name, "rb") : NULL;
        free(entries[i]);
        if (file == NULL)
            continue;
        current_n = fread(current, 1, sizeof current, file);
        fclose(file);
        if (run())
            keep();
    }
    if (n < 0)
        perror(directory);
    else
        free(entries);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s SECONDS SEED CRASH CORPUS...\n", argv[0]);
        return 2;
    }
    const time_t end = time(NULL) + atoi(argv[1]);
    const uint64_t seed = strtoull(argv[2], NULL, 10);
    random_state = (seed ^ UINT64_C(0x9E3779B97F4A7C15)) | 1;
    crash_name = argv[3];
    __sanitizer_set_death_callback(on_death);
    signal(SIGPROF, on_alarm);
    for (int i = 4; i < argc; i++)
        load(argv[i]);
    const size_t loaded_n = corpus_n;
    if (loaded_n == 0) {
        fprintf(stderr, "no input could be read\n");
        return 2;
    }
    uint64_t run_n = 0;
    for (; run_n % 64 != 0 || time(NULL) < end; run_n++) {
        const struct input *from = corpus + below((unsigned)corpus_n);
        current_n = from->n;
        memcpy(current, from->bytes, from->n);
        for (unsigned n = 1u + below(6); n > 0; n--)
            change();
        if (run())
            keep();
    }
    unsigned places = 0;
    for (unsigned i = 0; i < MAP_N; i++)
        places += known[i] != 0;
    printf("%" PRIu64 " executions in %s s, seed %" PRIu64 ", %zu inputs to begin with and %zu found, %u places, no failure\n",
           run_n, argv[1], seed, loaded_n, corpus_n - loaded_n, places);
    return 0;
}
