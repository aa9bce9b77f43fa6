/*
 * Sizing: what a workload needs of memory in every sensible layout, on cards of any size.
 *
 * No prices and no speed: a layout is listed with what one GPU of it holds, and with the smallest
 * cards on which it fits.
 */
#ifndef CORE_SIZING_H
#define CORE_SIZING_H

#include "core/accelerator.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/layout.h"
#include "core/memory.h"
#include "core/plan.h"
#include "core/workload.h"

#define SIZING_HOLDERS_MAX 8

/* A card on which a layout fits. */
struct sizing_holder {
	const struct accelerator *accelerator;
	enum fit fit;
	double total_bytes; /* on this card: engines take more on large ones */
	double usable_bytes, headroom_bytes;
};

struct sizing_layout {
	struct layout layout;
	struct memory_estimate memory;			  /* a GPU, on NVIDIA's context */
	struct sizing_holder holders[SIZING_HOLDERS_MAX]; /* those that fit first, smallest first */
	int holders_count;
};

struct sizing {
	/* On one GPU of unlimited size, no parallelism: the least, with activations recomputed
	 * where the caller left that open. */
	struct memory_estimate memory;
	const struct sizing_layout *layouts; /* by GPUs, then as listed in sizing.c */
	int layouts_count;
};

/* The workload must be completed. What varies the memory of one GPU without parallelism. */
void sizing_single_layout(const struct workload *workload, struct layout *out);

/* Why no layout is listed, or none with a card: items of `warnings`, as workload_warn()'s. */
void sizing_warn(const struct workload *workload, const struct sizing *sizing, const char *prefix,
		 struct error *warnings);

/* Everything lives in `arena`. False only when memory is out. */
bool sizing_compute(const struct workload *workload, struct arena *arena, struct sizing *out,
		    struct error *error);

#endif
