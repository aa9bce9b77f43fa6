/*
 * Engines: what the software adds to the physics of a step, and what it reaches of a card with a
 * weight format.
 */
#include "core/speed/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"

#include <math.h>
#include <string.h>

/*
 * `layer_seconds`: gaps between a layer's kernels in a captured graph (facts/throughput-notes.md 4:
 * 39 us for ExLlamaV2, 40-60 for graph-captured engines). `launch_seconds`: host time to launch a
 * layer where no graph is captured: prompts, and every step of an engine without graphs (607 us for
 * transformers); it runs ahead of the card, so the longer of the two counts. `prefill` and
 * `decode`: share of the matrix ceiling.
 */
FITTED_TABLE struct engine_speed engine_speeds[ENGINES] = {
	[ENGINE_VLLM] = {39e-6, 660e-6, 0.4e-3, 9e-6, 0.2e-3, 0.50, 0.54, 4096, true, true},
	[ENGINE_SGLANG] = {58e-6, 1000e-6, 0.43e-3, 12e-6, 0.2e-3, 0.65, 0.54, 4096, false, true},
	[ENGINE_TENSORRT_LLM] = {40e-6, 190e-6, 0.1e-3, 2.1e-6, 0.1e-3, 0.83, 0.74, 4096, true,
				 false},
	[ENGINE_TRANSFORMERS] = {60e-6, 620e-6, 1.5e-3, 20e-6, 1.5e-3, 0.60, 0.40, 4096, false,
				 true},
	[ENGINE_LLAMA_CPP] = {31e-6, 60e-6, 0.11e-3, 20e-6, 3.0e-3, 0.60, 0.44, 512, false, false},
	[ENGINE_CTRANSLATE2] = {60e-6, 400e-6, 0.3e-3, 20e-6, 0.1e-3, 0.60, 0.40, 4096, false,
				true},
};
FITTED_COLUMN(engine_speeds, layer_seconds, 20e-6, 100e-6);
/* Of C++, and of Python (notes 4: 607 us for transformers). */
FITTED_COLUMN(engine_speeds, launch_seconds, 50e-6, 400e-6);
FITTED_CELL(engine_speeds[ENGINE_VLLM].launch_seconds, 300e-6, 1200e-6);
FITTED_CELL(engine_speeds[ENGINE_SGLANG].launch_seconds, 300e-6, 1200e-6);
FITTED_CELL(engine_speeds[ENGINE_TRANSFORMERS].launch_seconds, 300e-6, 1200e-6);
/* Its decoder is driven from C++ too, but step by step: copies, sampling and reordering between
 * (Whisper's 32 layers on an A100: 19 ms a token of one beam). */
FITTED_CELL(engine_speeds[ENGINE_CTRANSLATE2].launch_seconds, 100e-6, 800e-6);
/* Of a beam (faster-whisper's README, four engines at five beams): scores over the vocabulary
 * sorted on the card or (llama.cpp's kin) on the host, caches put in another order. */
FITTED_COLUMN(engine_speeds, beam_seconds, 0.05e-3, 1e-3);
FITTED_CELL(engine_speeds[ENGINE_TRANSFORMERS].beam_seconds, 0.3e-3, 3e-3);
FITTED_CELL(engine_speeds[ENGINE_LLAMA_CPP].beam_seconds, 0.5e-3, 5e-3);
FITTED_COLUMN(engine_speeds, step_seconds, 0.1e-3, 3e-3);
FITTED_COLUMN(engine_speeds, sequence_seconds, 2e-6, 50e-6);
/* Notes 4, of the datasheet's peak: 44 to 64 % on an A100 and 34 to 43 % on an H100 in vLLM and
 * SGLang, 59 to 69 % on an A100 in TensorRT-LLM, 31 to 45 % on data-centre cards in llama.cpp; the
 * ceiling is 87 % and 80 %. Where llama.cpp calls the vendor's library it may come near that. */
FITTED_COLUMN(engine_speeds, prefill, 0.42, 0.75);
FITTED_CELL(engine_speeds[ENGINE_TENSORRT_LLM].prefill, 0.65, 1.0);
FITTED_CELL(engine_speeds[ENGINE_LLAMA_CPP].prefill, 0.36, 0.9);
FITTED_COLUMN(engine_speeds, decode, 0.3, 1.0);

/* Matrices of experts are narrow: the width that reaches half of the rate. */
FITTED(EXPERT_HALF_WIDTH, 2200, 100, 4000);
/* Rows that a matrix kernel adds to those of each expert, in the mean over its last tile. */
FITTED(EXPERT_TILE_ROWS, 11.7, 4, 128);
/* Rows that a kernel of cuBLAS computes at least, however few there are. */
FITTED(LEAST_ROWS, 64, 16, 128);
/* Unpacking 4-bit weights takes ordinary arithmetic: weights a second over the card's fp32 FLOP/s
 * (gpt-fast's int4 on an A100: 196.8 tokens/s of Llama-2-7B, 1.8e12 weights a second on 19.5
 * TFLOP/s). */
FITTED(UNPACKED_A_FLOP, 0.091, 0.03, 0.3);
/* llama.cpp accumulates in fp16: GeForce cards, whose datasheet rate is for fp32, double it as far
 * as their power allows. */
FITTED(FP16_ACCUMULATE, 1.98, 1.8, 2.0);
/* Its kernels for one token keep too little in flight for the latency of HBM
 * (facts/throughput-notes.md 4: 0.53 to 0.74 of the datasheet, against 0.84 to 0.96 of GDDR). */
FITTED(HBM_SHARE, 0.9, 0.6, 1.0);
/* Kernels that are launched one by one leave longer gaps than those of a graph, however far ahead
 * the host is (notes 4: 87 to 140 us a layer in llama.cpp of before graphs). */
FITTED(EAGER_GAP, 3.2, 1.0, 4.0);
/* Its kernels for packed weights against its 16-bit ones; other engines' 4-bit kernels in prefill.
 */
FITTED(GGUF_PREFILL, 0.63, 0.4, 1.0);
FITTED(PACKED_PREFILL, 0.69, 0.4, 1.0);
/* 4-bit floats on tensor cores of before fp8 (gpt-oss on an A100: 8,500 tokens/s of prompts of
 * 4,000 on two cards). */
FITTED(UNPACKED_FLOAT_PREFILL, 0.50, 0.3, 1.0);
/* Share of the ceiling that a long prompt has alone in vLLM, where no tokens of others ride in its
 * steps, as in TensorRT-LLM (AccelMark: 28,650 tokens of an 8B model, A100 to RTX 5090). Of
 * 16-bit and fp8 matrices; nobody has told it of experts and of packed weights. */
#define PROMPT_ALONE 0.83
/* Short prompts fill the card badly: tokens that reach half of the rate. */
FITTED(HALF_PROMPT, 36, 32, 512);
/* Routing, sorting and launching of experts, a layer that has them. */
FITTED(ROUTING_SECONDS, 18e-6, 10e-6, 150e-6);
/* Experts in fp8 on AMD have kernels that fit their sizes badly (sgl-cookbook, three makers' models
 * on MI300X: 150 to 240 us a layer more than elsewhere; none in bf16). */
FITTED(AMD_EXPERT_SECONDS, 170e-6, 50e-6, 300e-6);
/* Experts without a captured graph, in times of a layer's launch. */
FITTED(ROUTING_LAUNCH, 0.83, 0.3, 4.0);
/* Attention over latents takes more and smaller kernels than over heads. */
FITTED(LATENT_SECONDS, 98e-6, 5e-6, 200e-6);
/* transformers walks through the experts one by one. */
FITTED(EXPERT_LOOP_SECONDS, 78e-6, 20e-6, 300e-6);
/* bitsandbytes' kernels for one token: a layer costs this many times as much (litgpt's nf4 rows).
 */
FITTED(BITSANDBYTES_OVERHEAD, 2.28, 1.2, 4.0);

/* Cross-attention has a head of its own for every query: each reads its keys and values alone, in
 * kernels that are not shaped for one query. Share of the bandwidth (MLPerf v5.1, Whisper on L4,
 * L40S, H100, H200 and B200). */
FITTED(CROSS_SHARE, 0.66, 0.25, 1.0);
/* An encoder's window has few rows and its matrices are narrow: tiles do not go round. Width that
 * reaches half of the rate (whisper.cpp's bench: three sizes on V100 and RTX 5090). */
FITTED(HALF_ENCODER_WIDTH, 500, 100, 1500);
/* llama.cpp's fused attention on cards of before Turing runs without tensor cores: what it reaches
 * of the card's fp32 FLOP/s, of which pairs of fp16 do twice as many (whisper.cpp's bench on V100).
 */
FITTED(VECTOR_ATTENTION, 0.8, 0.4, 1.4);

const struct engine_speed *engine_speed(const struct speed_basis *basis)
{
	return &engine_speeds[basis->workload->engine];
}

bool engine_mixes(const struct speed_basis *basis)
{
	return engine_speed(basis)->mixes && basis->workload->chunked_prefill;
}

/* What decoding reaches of the bandwidth. */
static double read_share(const struct speed_basis *basis)
{
	bool is_hbm = strncmp(basis->accelerator->memory_type, "HBM", 3) == 0;

	return basis->workload->engine == ENGINE_LLAMA_CPP && is_hbm ? HBM_SHARE : 1;
}

static double gap_seconds(const struct speed_basis *basis, enum format format, bool is_captured)
{
	double seconds = engine_speed(basis)->layer_seconds;

	if (!is_captured)
		seconds *= EAGER_GAP;

	if (basis->experts > 0)
		seconds += ROUTING_SECONDS;
	if (basis->experts > 0 && basis->accelerator->vendor == VENDOR_AMD &&
	    format_facts(format)->compute == COMPUTE_FP8)
		seconds += AMD_EXPERT_SECONDS;
	if (basis->has_latent)
		seconds += LATENT_SECONDS;
	return seconds;
}

static double launch_seconds(const struct speed_basis *basis, enum format format)
{
	double seconds = engine_speed(basis)->launch_seconds;

	if (format_is_bitsandbytes(format))
		seconds *= BITSANDBYTES_OVERHEAD;
	if (basis->workload->engine == ENGINE_TRANSFORMERS)
		return seconds + EXPERT_LOOP_SECONDS * basis->experts;
	return basis->experts > 0 ? seconds * (1 + ROUTING_LAUNCH) : seconds;
}

/* Experts that `tokens` tokens touch, as a share of all: 1 - (1 - k/E)^tokens. */
double engine_touched_share(const struct speed_basis *basis, double tokens)
{
	return basis->expert_chance > 0 ? 1 - pow(1 - basis->expert_chance, larger(1, tokens)) : 1;
}

/* Seconds of the matrices for `tokens` tokens, which touch that share of the experts, at `flops` a
 * second: experts', whose tiles are filled by what each of them gets, and all others', which reach
 * `filled` of it. */
static double matrix_seconds(const struct speed_basis *basis, double token_flops, double tokens,
			     double touched, double flops, double filled)
{
	double expert_flops = smaller(token_flops, basis->expert_flops), each;

	if (expert_flops <= 0)
		return tokens * token_flops / flops / filled;
	/* Tokens of one expert, of those that get any. */
	each = tokens * basis->expert_chance / touched;
	return tokens *
	       ((token_flops - expert_flops) / filled +
		expert_flops * (1 + EXPERT_HALF_WIDTH / basis->expert_width) *
			(1 + EXPERT_TILE_ROWS / each)) /
	       flops;
}

static bool accumulates_half(const struct speed_basis *basis, enum format format)
{
	return basis->workload->engine == ENGINE_LLAMA_CPP &&
	       basis->accelerator->vendor == VENDOR_NVIDIA &&
	       strcmp(basis->accelerator->form_factor, "consumer") == 0 &&
	       format_facts(format)->compute != COMPUTE_FP32;
}

/* Dense peak of the fastest arithmetic that runs. */
static double highest_flops(const struct speed_basis *basis, enum format format)
{
	return basis->highest_flops * (accumulates_half(basis, format) ? FP16_ACCUMULATE : 1);
}

double engine_tower_seconds(const struct speed_basis *basis)
{
	return basis->tower_flops / (basis->half_flops * engine_speed(basis)->prefill) +
	       basis->tower_attention / basis->attention_flops;
}

/* What a prompt's attention reaches. */
static double attention_flops(const struct speed_basis *basis)
{
	const struct accelerator *accelerator = basis->accelerator;

	if (basis->workload->engine != ENGINE_LLAMA_CPP || accelerator->vendor != VENDOR_NVIDIA ||
	    accelerator->compute_capability >= 75 || accelerator->fp32_tflops <= 0)
		return basis->attention_flops;
	return smaller(basis->attention_flops, VECTOR_ATTENTION * 1e12 * accelerator->fp32_tflops);
}

/* Those of a source are read at less than the full bandwidth. */
static double cache_elements(const struct speed_basis *basis)
{
	double share = basis->cross_elements > 0 ? CROSS_SHARE : 1;

	return basis->cache_elements + basis->cross_elements * (1 / share - 1);
}

double engine_prefill_flops(const struct speed_basis *basis)
{
	double more = basis->workload->engine == ENGINE_LLAMA_CPP ? FP16_ACCUMULATE : 1;

	return basis->compute_flops * more * engine_speed(basis)->prefill;
}

static double prefill_flops(const struct speed_basis *basis, enum format format)
{
	double flops = basis->compute_flops;

	if (accumulates_half(basis, format))
		flops = larger(flops, smaller(flops * FP16_ACCUMULATE, basis->powered_flops));
	flops *= engine_speed(basis)->prefill;
	if (format_is_gguf(format))
		flops *= GGUF_PREFILL;
	else if (format_is_packed_integer(format))
		flops *= PACKED_PREFILL;
	else if (format_facts(format)->compute == COMPUTE_FP4 &&
		 basis->accelerator->fp8_tflops <= 0)
		flops *= UNPACKED_FLOAT_PREFILL;
	if (workload_listens(basis->workload)) {
		double width = basis->workload->architecture->hidden;

		flops *= width / (width + HALF_ENCODER_WIDTH);
	}
	return flops;
}

double engine_prefill_seconds(const struct speed_basis *basis, const struct engine_rates *rates,
			      double tokens)
{
	double filled = smaller(tokens, rates->piece_tokens);
	double touched = basis->expert_flops > 0 ? engine_touched_share(basis, tokens) : 1;

	/* The head's one row a prompt is not filled by more tokens. */
	return matrix_seconds(basis, basis->prompt_flops - basis->prompt_head_flops, tokens,
			      touched, rates->prefill_flops, filled / (filled + HALF_PROMPT)) +
	       tokens * basis->prompt_head_flops / rates->prefill_flops;
}

double engine_alone_factor(const struct speed_basis *basis, enum format format)
{
	const struct engine_speed *engine = engine_speed(basis);

	if (basis->workload->engine != ENGINE_VLLM || basis->expert_flops > 0 ||
	    format_facts(format)->linear_bits < 8)
		return 1;
	return smaller(1, engine->prefill / PROMPT_ALONE);
}

double engine_decode_seconds(const struct speed_basis *basis, const struct engine_rates *rates,
			     double tokens, double touched)
{
	return larger(
		matrix_seconds(basis, basis->linear_flops, tokens, touched, rates->decode_flops, 1),
		rates->least_row_seconds);
}

/* Weights that are unpacked a second; 0 where tensor cores take the format as it is. */
static double unpacked_a_second(const struct speed_basis *basis, enum format format)
{
	const struct accelerator *accelerator = basis->accelerator;
	bool is_native =
		format_facts(format)->compute == COMPUTE_FP4 && accelerator->fp4_tflops > 0;

	if (format_facts(format)->linear_bits >= 8 || is_native || accelerator->fp32_tflops <= 0)
		return 0;
	return accelerator->fp32_tflops * 1e12 * UNPACKED_A_FLOP;
}

void engine_rates(const struct speed_basis *basis, enum format format, struct engine_rates *out)
{
	const struct engine_speed *engine = engine_speed(basis);

	*out = (struct engine_rates){
		.prefill_flops = prefill_flops(basis, format),
		.attention_flops = attention_flops(basis),
		.tower_seconds = engine_tower_seconds(basis),
		.decode_flops = basis->compute_flops * engine->decode,
		.unpacked_a_second = unpacked_a_second(basis, format),
		.cache_elements = cache_elements(basis),
		.read_share = read_share(basis),
		.highest_flops = highest_flops(basis, format),
		.piece_tokens = engine->piece_tokens,
		.step_seconds = engine->step_seconds,
		.sequence_seconds = engine->sequence_seconds,
		.beam_seconds = basis->workload->beams > 1 ? engine->beam_seconds : 0,
		.gap_seconds = gap_seconds(basis, format, false),
		.captured_gap_seconds = gap_seconds(basis, format, true),
		.launch_seconds = launch_seconds(basis, format),
	};
	if (engine->has_matrix_kernels && format_facts(format)->linear_bits >= 8)
		out->least_row_seconds = LEAST_ROWS * basis->linear_flops / basis->compute_flops;
}
