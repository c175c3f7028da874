/* Encoding months: which of the program's names the key begins with. */
#include "encode.h"

#define MONTH_N 12

/* Order of the key against a name: 0 if it begins with it. name: a length byte and the name. */
static int compare_name(const uint8_t *name, const struct ps_table *table, const uint8_t *p, const uint8_t *end)
{
    const size_t n = name[0];
    for (size_t i = 0; i < n; i++) {
        if (p + i == end)
            return -1;
        const int byte = table ? table->map[p[i]] : p[i];
        const int order = byte - name[1 + i];
        if (order != 0)
            return order;
    }
    return 0;
}

/* In a few locales one name begins another one; which is found then is what a binary search meets first. */
void ps_encode_month(const struct ps_program *program, const struct ps_segment *segment,
                     const struct ps_locale *locale, const uint8_t *p, const uint8_t *end, struct sink *sink)
{
    (void)locale;
    const struct ps_table *table = ps_table_of(program, segment);
    while (p < end && program->blank[*p])
        p++;
    const uint8_t *months[MONTH_N];
    const uint8_t *at = ps_months(program);
    for (int i = 0; i < MONTH_N; i++) {
        months[i] = at;
        at += 2 + at[1];
    }
    int low = 0, high = MONTH_N;
    while (low < high) {
        const int middle = (low + high) / 2;
        const int order = compare_name(months[middle] + 1, table, p, end);
        if (order == 0) {
            put(sink, months[middle][0]);
            return;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    put(sink, 0);
}
