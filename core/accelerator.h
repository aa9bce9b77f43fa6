/*
 * Accelerators: what the cards that one can rent can do.
 *
 * Every tensor figure is DENSE. GeForce and RTX figures are those with fp32 accumulation. A figure of
 * 0 means that the card cannot do it or that nobody published it; `memory_usable_mib` is what the
 * driver shows, which is what a workload must fit in (less the context). Data: data/accelerators.inc,
 * one row a line with its source.
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
	const char *name; /* canonical: "H100 SXM 80GB" */
	enum accelerator_vendor vendor;
	const char *architecture; /* "Hopper" */
	int compute_capability;   /* ten times NVIDIA's figure (90 for 9.0); 0 for others */
	const char *form_factor;  /* "SXM5", "PCIe", ... */
	double memory_gb;	  /* advertised */
	double memory_usable_mib; /* what the driver shows; never 0 for a rentable card */
	const char *memory_type;  /* "HBM3", "GDDR6", ... */
	double bandwidth_gb_s;
	double fp32_tflops, tf32_tflops, fp16_tflops, bf16_tflops, fp8_tflops, int8_tops, fp4_tflops;
	double nvlink_gb_s; /* total, both directions, one GPU; 0 = none */
	int pcie_generation, pcie_lanes;
	double tdp_w;
	int release_year;
	const char *confidence; /* "verified", "mixed", "recalled" */
	const char *source;
	const char *notes; /* or NULL */
};

extern const struct accelerator accelerators[];
extern const size_t accelerators_count;

/* By canonical name, exact; NULL when unknown. */
const struct accelerator *accelerator_find(const char *name);

/*
 * By what a person or a feed writes: canonical names and the exact alias table of `provider`
 * (data/accelerator_names.inc), then the aliases any provider may use. Letter case is ignored, nothing
 * else is: there is no fuzzy matching. `provider` may be NULL. NULL when no rule knows the spelling.
 */
const struct accelerator *accelerator_resolve(const char *provider, const char *spelling);

/* Canonical name nearest to a spelling that is not known, for a suggestion; NULL if none is near. */
const char *accelerator_nearest(const char *spelling);

/* Bytes that the driver shows. */
double accelerator_memory_bytes(const struct accelerator *accelerator);

#endif
