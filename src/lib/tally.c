/*
 * tally.c - how much has been done so far: each worker counts for itself.
 */
#include <errno.h>
#include <pfu/tally.h>
#include <stdlib.h>
#include <string.h>

struct pfu_counts *pfu_tally_join(struct pfu_tally *tally)
{
	struct pfu_counts *counts = aligned_alloc(_Alignof(struct pfu_counts), sizeof(*counts));

	if (!counts) {
		errno = ENOMEM;
		return NULL;
	}
	memset(counts, 0, sizeof(*counts));
	counts->next = atomic_load(&tally->first);
	while (!atomic_compare_exchange_weak(&tally->first, &counts->next, counts))
		;
	return counts;
}

uint64_t pfu_tally_sum(const struct pfu_tally *tally, enum pfu_count what)
{
	const struct pfu_counts *counts = atomic_load(&tally->first);
	uint64_t sum = 0;

	for (; counts; counts = counts->next)
		sum += atomic_load_explicit(&counts->n[what], memory_order_relaxed);
	return sum;
}

void pfu_tally_free(struct pfu_tally *tally)
{
	struct pfu_counts *counts = atomic_exchange(&tally->first, NULL), *next;

	for (; counts; counts = next) {
		next = counts->next;
		free(counts);
	}
}
