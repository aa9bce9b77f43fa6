/*
 * Accelerators: what the cards that one can rent can do.
 *
 * Every tensor figure is DENSE. GeForce and RTX figures are those with fp32 accumulation. A figure
 * of 0 means that the card cannot do it or that nobody published it; `memory_usable_mib` is what
 * the driver shows, which is what a workload must fit in (less the context). Data:
 * data/accelerators.inc, one row a line with its source.
 */
#ifndef CORE_ACCELERATOR_H
#define CORE_ACCELERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum accelerator_vendor {
	VENDOR_NVIDIA,
	VENDOR_AMD,
	VENDOR_INTEL,
	VENDOR_GOOGLE,
	VENDOR_AWS,
	VENDOR_OTHER,
};

struct accelerator {
	const char *name; /* canonical: "H100 SXM5 80GB" */
	enum accelerator_vendor vendor;
	const char *architecture; /* "Hopper" */
	int compute_capability;	  /* ten times NVIDIA's figure (90 for 9.0); 0 for others */
	const char *form_factor;  /* "SXM", "PCIe", "NVL", "consumer", "OAM", ... */
	int devices;	  /* that software sees of one such card, each with its share; 0 = 1 */
	double memory_gb; /* advertised */
	double memory_usable_mib; /* what the driver shows; never 0 for a rentable card */
	const char *memory_type;  /* "HBM3", "GDDR6", ... */
	double bandwidth_gb_s;
	double fp32_tflops, tf32_tflops, fp16_tflops, bf16_tflops, fp8_tflops, int8_tops,
		fp4_tflops;
	/* Total, both directions, one GPU: NVLink, or the vendor's own link (xGMI, ICI,
	 * NeuronLink); 0 = none. Of PCIe cards it needs a bridge, which joins pairs. */
	double nvlink_gb_s;
	int pcie_generation, pcie_lanes;
	double tdp_w;
	int release_year;
	const char *confidence; /* "verified", "mixed", "recalled" */
	const char *source;
	const char *notes; /* or NULL */
};

extern const struct accelerator accelerators[];
extern const size_t accelerators_count;

/* A spelling and what it means. `provider` "" = whoever says it. Several rows of one spelling
 * (accelerator_variants only) are its possible meanings. */
struct accelerator_name {
	const char *provider, *spelling, *canonical;
};

extern const struct accelerator_name accelerator_names[], accelerator_variants[];
extern const size_t accelerator_names_count, accelerator_variants_count;

/* By canonical name; letter case is ignored. NULL when unknown. */
const struct accelerator *accelerator_find(const char *name);

/*
 * By what a person or a feed writes: the exact alias table of `provider`
 * (data/accelerator_names.inc), then canonical names, then the aliases that anybody may use. Letter
 * case is ignored, nothing else is: there is no fuzzy matching. `provider` may be NULL. NULL when
 * no rule knows the spelling or when it may mean several cards ("H100").
 */
const struct accelerator *accelerator_resolve(const char *provider, const char *spelling);

/*
 * The same for a feed that also tells the memory of one GPU: the card's memory must agree within 7
 * % with its advertised GB, or with what its driver shows in GB or GiB (feeds mix them), which also
 * settles spellings that mean one of several cards (data/accelerator_variants.inc). NULL when no
 * card, or more than one, agrees. A memory of 0 is not told: then as accelerator_resolve().
 */
const struct accelerator *accelerator_resolve_memory(const char *provider, const char *spelling,
						     double memory_gb_each);

/* The rule of accelerator_resolve_memory() for one card. */
bool accelerator_memory_agrees(const struct accelerator *accelerator, double memory_gb);

/*
 * The cards whose canonical names begin with these whole words ("H100", "RTX 4090"); letter case is
 * ignored, nothing else is. How many there are, of which the first `max` go to `out`: 0 for what is
 * no family. For filters, where a family means all its variants; a card is never guessed by it.
 */
size_t accelerator_family(const char *name, const struct accelerator **out, size_t max);

/* Canonical name for a suggestion where a spelling is not known: the strongest card that has all
 * its words ("H100"), else the nearest by letters; NULL if none is near. */
const char *accelerator_nearest(const char *spelling);

/* Bytes that the driver shows. */
double accelerator_memory_bytes(const struct accelerator *accelerator);

#endif
