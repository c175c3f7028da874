/* Copies of keys, for those encoders that have to look at the filtered bytes twice or to hand them to the C library. */
#include "encode.h"

#include <stdlib.h>

void ps_copy_key(struct ps_copy *copy, const struct ps_table *table, const uint8_t *p, const uint8_t *end)
{
    const size_t n = (size_t)(end - p);
    copy->n = 0;
    copy->text = n < sizeof copy->small ? copy->small : malloc(n + 1);
    if (copy->text == NULL)
        return;
    if (table == NULL) {
        if (n > 0)
            memcpy(copy->text, p, n);
        copy->n = n;
    } else {
        for (; p < end; p++)
            if (table->keep[*p])
                copy->text[copy->n++] = (char)table->map[*p];
    }
    copy->text[copy->n] = 0;
}

void ps_copy_free(struct ps_copy *copy)
{
    if (copy->text != copy->small)
        free(copy->text);
}
