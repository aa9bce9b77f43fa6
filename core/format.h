/*
 * Format: how a number is stored, and what that costs in bits.
 *
 * `linear_bits` is what one weight of a quantised linear layer takes with its scales and zeros,
 * `other_bits` what the input embedding and everything outside the linear layers takes, `head_bits`
 * what the output head takes (a tied table is the head). Most formats leave the last two alone.
 *
 * Sources: facts/memory-notes.md 6.3 (AWQ and GPTQ in groups of 128, MXFP4, NVFP4) and 4 (QLoRA
 * paper: 4 bit + fp32 absmax per 64 weights = 4.5; 4.127 with double quantisation); int8 adds fp16
 * scales per row and the outlier columns. GPTQ and AWQ keep a 16-bit scale and a 4-bit zero a
 * group: 4 + 20 / group (a group as long as the row costs next to nothing), 8 + 24 / 128 in 8 bits;
 * int4 groups without zeros (compressed-tensors) a scale alone: 4 + 16 / group.
 *
 * torchao quantises every linear layer, the output head too: bytes as its README lists them for
 * Llama-3-8B, without the embedding: int4 in groups of 64 with 16-bit scale and zero, the rest with
 * a scale a row; sparse int4 keeps two weights of four, an index bit for each of the four, and a
 * 16-bit scale a group of 64.
 *
 * GGUF types: memory-notes 6.4. A plain type is its ggml block: type size * 8 / block. A mixed type
 * (_S, _M, _L, _XS, ...) gives several block types to different matrices; its linear_bits follow
 * from the whole-file bits that llama.cpp's quantize README publishes for Llama-3.1-8B (6979321856
 * linear weights, embedding and head of 525336576 each, 266240 norm weights in fp32): linear =
 * (file_bits * 8030261248 - 525336576 * (other + head) - 32 * 266240) / 6979321856 with the types
 * that llama-quant.cpp gives to token_embd and output: output Q6_K, or Q5_K for the IQ1, IQ2 and
 * IQ3_XXS mixes; token_embd the base type, or Q2_K (IQ1, IQ2_XX, IQ2_XS), IQ3_S (IQ2_S, IQ2_M,
 * IQ3_XXS), Q4_K (TQ). The README lacks Q3_K_M: from its mix (attn_v and ffn_down Q4_K, with Q5_K
 * in the first sixteenth of the layers, attn_output Q4_K, the rest Q3_K).
 */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include "core/names.h"

#include <stdbool.h>

/* Arithmetic that a format runs in: decides which peak of a card counts. */
enum compute_type {
	COMPUTE_FP32,
	COMPUTE_FP16,
	COMPUTE_BF16,
	COMPUTE_FP8,
	COMPUTE_INT8,
	COMPUTE_FP4,
};

/* id, name in the API, bits of: a linear weight, the rest, the head; compute type.
 * The GGUF types come last: format_is_gguf() counts on it. */
#define FORMAT_TABLE(X)                                                                            \
	X(FP32, "fp32", 32, 32, 32, COMPUTE_FP32)                                                  \
	X(BF16, "bf16", 16, 16, 16, COMPUTE_BF16)                                                  \
	X(FP16, "fp16", 16, 16, 16, COMPUTE_FP16)                                                  \
	X(FP8, "fp8", 8, 16, 16, COMPUTE_FP8)                                                      \
	X(INT8, "int8", 8.06, 16, 16, COMPUTE_INT8)                                                \
	X(NF4, "nf4", 4.5, 16, 16, COMPUTE_BF16)                                                   \
	X(NF4_DQ, "nf4_dq", 4.127, 16, 16, COMPUTE_BF16)                                           \
	X(FP4, "fp4", 4.5, 16, 16, COMPUTE_BF16)                                                   \
	X(INT4, "int4", 4.16, 16, 16, COMPUTE_BF16)                                                \
	X(AWQ, "awq", 4.16, 16, 16, COMPUTE_FP16)                                                  \
	X(GPTQ, "gptq", 4.16, 16, 16, COMPUTE_FP16)                                                \
	X(INT4_G32, "int4_g32", 4.5, 16, 16, COMPUTE_BF16)                                         \
	X(INT4_G64, "int4_g64", 4.25, 16, 16, COMPUTE_BF16)                                        \
	X(AWQ_G32, "awq_g32", 4.625, 16, 16, COMPUTE_FP16)                                         \
	X(AWQ_G64, "awq_g64", 4.3125, 16, 16, COMPUTE_FP16)                                        \
	X(GPTQ_G32, "gptq_g32", 4.625, 16, 16, COMPUTE_FP16)                                       \
	X(GPTQ_G64, "gptq_g64", 4.3125, 16, 16, COMPUTE_FP16)                                      \
	X(GPTQ_INT8, "gptq_int8", 8.1875, 16, 16, COMPUTE_FP16)                                    \
	X(GPTQ_CHANNEL, "gptq_channel", 4.005, 16, 16, COMPUTE_FP16)                               \
	X(TORCHAO_FP8, "torchao_fp8", 8.01, 16, 8.01, COMPUTE_FP8)                                 \
	X(TORCHAO_INT8, "torchao_int8", 8.02, 16, 8.02, COMPUTE_INT8)                              \
	X(TORCHAO_FP6, "torchao_fp6", 6.005, 16, 6.005, COMPUTE_FP16)                              \
	X(TORCHAO_INT4, "torchao_int4", 4.5, 16, 4.5, COMPUTE_BF16)                                \
	X(TORCHAO_INT4_SPARSE, "torchao_int4_sparse", 3.25, 16, 3.25, COMPUTE_FP16)                \
	X(MXFP4, "mxfp4", 4.25, 16, 16, COMPUTE_FP4)                                               \
	X(NVFP4, "nvfp4", 4.5, 16, 16, COMPUTE_FP4)                                                \
	X(Q8_0, "q8_0", 8.5, 8.5, 8.5, COMPUTE_FP16)                                               \
	X(Q6_K, "q6_k", 6.5625, 6.5625, 6.5625, COMPUTE_FP16)                                      \
	X(Q5_K_M, "q5_k_m", 5.653, 5.5, 6.5625, COMPUTE_FP16)                                      \
	X(Q5_K_S, "q5_k_s", 5.500, 5.5, 6.5625, COMPUTE_FP16)                                      \
	X(Q5_1, "q5_1", 6, 6, 6.5625, COMPUTE_FP16)                                                \
	X(Q5_0, "q5_0", 5.5, 5.5, 6.5625, COMPUTE_FP16)                                            \
	X(Q4_K_M, "q4_k_m", 4.797, 4.5, 6.5625, COMPUTE_FP16)                                      \
	X(Q4_K_S, "q4_k_s", 4.536, 4.5, 6.5625, COMPUTE_FP16)                                      \
	X(Q4_1, "q4_1", 5, 5, 6.5625, COMPUTE_FP16)                                                \
	X(Q4_0, "q4_0", 4.5, 4.5, 6.5625, COMPUTE_FP16)                                            \
	X(IQ4_NL, "iq4_nl", 4.553, 4.5, 6.5625, COMPUTE_FP16)                                      \
	X(IQ4_XS, "iq4_xs", 4.316, 4.25, 6.5625, COMPUTE_FP16)                                     \
	X(MXFP4_MOE, "mxfp4_moe", 4.25, 8.5, 8.5, COMPUTE_FP16)                                    \
	X(Q3_K_L, "q3_k_l", 4.191, 3.4375, 6.5625, COMPUTE_FP16)                                   \
	X(Q3_K_M, "q3_k_m", 3.844, 3.4375, 6.5625, COMPUTE_FP16)                                   \
	X(Q3_K_S, "q3_k_s", 3.438, 3.4375, 6.5625, COMPUTE_FP16)                                   \
	X(IQ3_M, "iq3_m", 3.575, 3.4375, 6.5625, COMPUTE_FP16)                                     \
	X(IQ3_S, "iq3_s", 3.458, 3.4375, 6.5625, COMPUTE_FP16)                                     \
	X(IQ3_XS, "iq3_xs", 3.270, 3.4375, 6.5625, COMPUTE_FP16)                                   \
	X(IQ3_XXS, "iq3_xxs", 3.071, 3.4375, 5.5, COMPUTE_FP16)                                    \
	X(Q2_K, "q2_k", 2.942, 2.625, 6.5625, COMPUTE_FP16)                                        \
	X(Q2_K_S, "q2_k_s", 2.724, 2.625, 6.5625, COMPUTE_FP16)                                    \
	X(IQ2_M, "iq2_m", 2.697, 3.4375, 5.5, COMPUTE_FP16)                                        \
	X(IQ2_S, "iq2_s", 2.479, 3.4375, 5.5, COMPUTE_FP16)                                        \
	X(IQ2_XS, "iq2_xs", 2.365, 2.625, 5.5, COMPUTE_FP16)                                       \
	X(IQ2_XXS, "iq2_xxs", 2.128, 2.625, 5.5, COMPUTE_FP16)                                     \
	X(TQ2_0, "tq2_0", 2.0625, 4.5, 6.5625, COMPUTE_FP16)                                       \
	X(TQ1_0, "tq1_0", 1.6875, 4.5, 6.5625, COMPUTE_FP16)                                       \
	X(IQ1_M, "iq1_m", 1.856, 2.625, 5.5, COMPUTE_FP16)                                         \
	X(IQ1_S, "iq1_s", 1.693, 2.625, 5.5, COMPUTE_FP16)

enum format {
	FORMAT_AUTO, /* let the planner try formats in order of fidelity */
#define X(id, name, linear_bits, other_bits, head_bits, compute) FORMAT_##id,
	FORMAT_TABLE(X)
#undef X
		FORMATS
};

struct format_facts {
	const char *name;
	double linear_bits, other_bits, head_bits;
	enum compute_type compute;
};

/* "auto", "bf16", "q4_k_m", ... */
extern const struct names format_names;

/* Facts of any format but FORMAT_AUTO. */
const struct format_facts *format_facts(enum format format);

/* Of llama.cpp's file types, which only its engines run. */
bool format_is_gguf(enum format format);

/* bitsandbytes' formats: a base that is quantised while it is loaded. */
bool format_is_bitsandbytes(enum format format);

/* 4-bit integers in groups, packed into words: AWQ, GPTQ and their kin. */
bool format_is_packed_integer(enum format format);

/* torchao's own, which only PyTorch without a serving engine runs. */
bool format_is_torchao(enum format format);

#endif
