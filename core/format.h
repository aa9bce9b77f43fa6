/*
 * Format: how a number is stored, and what that costs in bits.
 *
 * `linear_bits` is what one weight of a quantised linear layer takes with its scales and zeros;
 * embeddings, the output head, norms and routers keep `other_bits` (formats leave them alone).
 * Sources: facts/memory-notes.md 6.3, 6.4 (ggml block sizes), QLoRA paper (NF4: 4 bit + fp32 absmax
 * per 64 weights = 4.5; double quantisation 4.127).
 */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include "core/names.h"

/* Arithmetic that a format runs in: decides which peak of a card counts. */
enum compute_type {
	COMPUTE_FP32,
	COMPUTE_FP16,
	COMPUTE_BF16,
	COMPUTE_FP8,
	COMPUTE_INT8,
	COMPUTE_FP4,
};

/* id, name in the API, bits of a linear weight, bits of the rest, compute type */
#define FORMAT_TABLE(X)                                                                            \
	X(FP32, "fp32", 32, 32, COMPUTE_FP32)                                                      \
	X(BF16, "bf16", 16, 16, COMPUTE_BF16)                                                      \
	X(FP16, "fp16", 16, 16, COMPUTE_FP16)                                                      \
	X(FP8, "fp8", 8, 16, COMPUTE_FP8)                                                          \
	X(INT8, "int8", 8.06, 16, COMPUTE_INT8)                                                    \
	X(NF4, "nf4", 4.5, 16, COMPUTE_BF16)                                                       \
	X(NF4_DQ, "nf4_dq", 4.127, 16, COMPUTE_BF16)                                               \
	X(FP4, "fp4", 4.5, 16, COMPUTE_BF16)                                                       \
	X(AWQ, "awq", 4.16, 16, COMPUTE_FP16)                                                      \
	X(GPTQ, "gptq", 4.16, 16, COMPUTE_FP16)                                                    \
	X(MXFP4, "mxfp4", 4.25, 16, COMPUTE_FP4)                                                   \
	X(NVFP4, "nvfp4", 4.5, 16, COMPUTE_FP4)

enum format {
	FORMAT_AUTO, /* let the planner try formats in order of fidelity */
#define X(id, name, linear_bits, other_bits, compute) FORMAT_##id,
	FORMAT_TABLE(X)
#undef X
		FORMATS
};

struct format_facts {
	const char *name;
	double linear_bits, other_bits;
	enum compute_type compute;
};

extern const struct names format_names;

/* Facts of any format but FORMAT_AUTO. */
const struct format_facts *format_facts(enum format format);

#endif
