/* Sorting records, or parts of them. */
#include "radix.h"

/* What a call sorts by and in: `records` is where the result lies. */
struct job {
    struct ps_context context;
    struct ps_ties ties;
    struct ps_order order;
    struct ps_record *records, *scratch;
};

static void start_job(struct job *job, const struct ps_program *program, const struct ps_locale *locale,
                      const uint8_t *arena, uint8_t *top, size_t n)
{
    job->ties.first = job->ties.n = 0;
    job->context = ps_context_of(program, locale);
    job->order = program->segment_n > 0 ? ps_key_order(&job->context, &job->ties, arena, 0)
                                        : ps_line_order(&job->context, &job->ties, arena);
    job->order.unique = (program->flags & PS_UNIQUE) != 0;
    job->records = (struct ps_record *)(void *)top - n;
    job->scratch = job->records - n;
}

static int end_job(struct job *job)
{
    ps_scratch_free(&job->context.scratch);
    return !job->context.scratch.failed;
}

static struct ps_group group_of(const struct job *job, const struct ps_part *part)
{
    struct ps_group group = {job->records + part->start, job->scratch + part->start, part->n, part->depth,
                          (int)part->shift,           0};
    if (part->flags & PS_PART_FLIPPED)
        ps_swap_sides(&group);
    return group;
}

/* One step of sorting a part. What is left of it to sort is the parts; returns how many. */
static size_t split(struct job *job, const struct ps_part *part, struct ps_part parts[256])
{
    struct ps_group group = group_of(job, part);
    size_t count[256] = {0}, part_n = 0;
    if (!ps_split_group(&job->order, &group, count, (part->flags & PS_PART_DESCENDING) != 0))
        return 0;
    uint64_t start = (uint64_t)((group.flip ? group.other : group.from) - job->records);
    for (unsigned digit = 0; digit < 256; start += count[digit++])
        if (count[digit] > 0)
            parts[part_n++] = (struct ps_part){start, count[digit], group.depth, group.shift,
                                               group.flip ? PS_PART_FLIPPED : 0};
    return part_n;
}

/* What has been sorted of records first..end-1 of the result. */
static void finish(struct job *job, uint64_t first, uint64_t end)
{
    ps_settle_ties(&job->ties);
    if (job->order.form != PS_LINES)
        ps_finish_lines(&job->order, job->records + first, job->scratch + first, end - first);
}

size_t ps_split(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena, uint8_t *top,
                size_t n, const struct ps_part *part, struct ps_part parts[256])
{
    struct job job;
    start_job(&job, program, locale, arena, top, n);
    const size_t part_n = split(&job, part, parts);
    const uint64_t first = part_n ? parts[0].start : part->start + part->n;
    const uint64_t end = part_n ? parts[part_n - 1].start + parts[part_n - 1].n : first;
    finish(&job, part->start, first);
    finish(&job, end, part->start + part->n);
    return end_job(&job) ? part_n : PS_NO_MEMORY;
}

int ps_sort_part(const struct ps_program *program, const struct ps_locale *locale, const uint8_t *arena, uint8_t *top,
                 size_t n, const struct ps_part *part)
{
    struct job job;
    struct ps_part parts[256];
    start_job(&job, program, locale, arena, top, n);
    if (part->flags & PS_PART_SORTED) {
        if (part->flags & PS_PART_DESCENDING)
            ps_reverse(job.records, n);
        if (job.order.form != PS_LINES)
            ps_keys_to_lines(job.order.form, arena, job.records + part->start, part->n);
        return end_job(&job);
    }
    const size_t part_n = split(&job, part, parts);
    for (size_t i = 0; i < part_n; i++) {
        const struct ps_group group = group_of(&job, parts + i);
        ps_sort_group(&job.order, group.from, group.other, group.n, group.depth, group.shift, group.flip);
    }
    finish(&job, part->start, part->start + part->n);
    return end_job(&job);
}

size_t ps_drop(uint8_t *top, size_t n)
{
    struct ps_record *records = (struct ps_record *)(void *)top - n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (records[i].offset != PS_DROPPED)
            records[kept++] = records[i];
    return kept;
}
