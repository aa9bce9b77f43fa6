/*
 * Speed of serving: prefill of one prompt, one decode step of all resident sequences, and what
 * both give together.
 *
 * Prefill is compute. A decode step reads the active weights once and every sequence's cache,
 * computes 2 FLOPs a weight and sequence, and pays a fixed time a layer and two all-reduces a layer
 * under tensor parallelism: t = max(bytes / bandwidth, FLOPs / rate) + layers * (c + 2 *
 * all-reduce).
 */
#include "core/speed/internal.h"

#include <math.h>
#include <string.h>

/*
 * What an engine adds to the physics: fixed time a layer and a step (facts/throughput-notes.md 4:
 * 39 us a layer for ExLlamaV2, 40-60 for graph-captured engines, 607 for transformers' eager loop),
 * and its share of the matrix ceiling in prefill and in decode.
 */
struct engine_speed {
	double layer_seconds, step_seconds,
		sequence_seconds; /* fixed; the last for every sequence of a step */
	double prefill, decode;
};

static const struct engine_speed engine_speeds[ENGINES] = {
	[ENGINE_VLLM] = {40e-6, 0.6e-3, 22e-6, 0.65, 0.45},
	[ENGINE_SGLANG] = {42e-6, 0.6e-3, 22e-6, 0.65, 0.45},
	[ENGINE_TENSORRT_LLM] = {36e-6, 0.3e-3, 4e-6, 0.80, 0.78},
	[ENGINE_TRANSFORMERS] = {600e-6, 1.0e-3, 20e-6, 0.60, 0.40},
	[ENGINE_LLAMA_CPP] = {60e-6, 0.4e-3, 20e-6, 0.92, 0.40},
};

/* Matrices of experts are small and unevenly filled: FLOP utilisation of saturated serving, MoE
 * over dense on the same cards (facts/throughput-notes.md 4: 27 of 46 %, 13 of 26 %). */
#define EXPERT_EFFICIENCY 0.55
/* Reading a paged cache reaches less of the bandwidth than reading weights. */
#define CACHE_EFFICIENCY 0.65
/* Prompts that arrive together are prefilled in one step of about this many tokens. */
#define PREFILL_STEP_TOKENS 4096.0

/* Unpacking 4-bit weights takes ordinary arithmetic: weights a second over the card's fp32 FLOP/s
 * (gpt-fast's int4 on an A100: 196.8 tokens/s of Llama-2-7B, 1.8e12 weights a second on 19.5
 * TFLOP/s). */
#define UNPACKED_A_FLOP 0.094

/* llama.cpp accumulates in fp16: GeForce cards, whose datasheet rate is for fp32, double it. */
#define FP16_ACCUMULATE 1.95
/* Its kernels for packed weights against its 16-bit ones; other engines' 4-bit kernels in prefill.
 */
#define GGUF_PREFILL 0.52
#define PACKED_PREFILL 0.70
/* 4-bit floats on tensor cores of before fp8 (gpt-oss on an A100: 8,500 tokens/s of prompts of
 * 4,000 on two cards). */
#define UNPACKED_FLOAT_PREFILL 0.57
/* Short prompts fill the card badly: tokens that reach half of the rate. */
#define HALF_PROMPT 96.0
/* Routing, sorting and launching of experts, a layer that has them. */
#define ROUTING_SECONDS 35e-6
/* transformers walks through the experts one by one. */
#define EXPERT_LOOP_SECONDS 85e-6
/* bitsandbytes' kernels for one token: a layer costs this many times as much (litgpt's nf4 rows).
 */
#define BITSANDBYTES_OVERHEAD 2.2

static double layer_seconds(const struct workload *workload, enum format format)
{
	double seconds = engine_speeds[workload->engine].layer_seconds;

	if (workload->engine != ENGINE_TRANSFORMERS)
		return seconds +
		       (architecture_experts(workload->architecture) ? ROUTING_SECONDS : 0);
	if (format == FORMAT_NF4 || format == FORMAT_NF4_DQ || format == FORMAT_FP4)
		seconds *= BITSANDBYTES_OVERHEAD;
	return seconds + EXPERT_LOOP_SECONDS * architecture_experts(workload->architecture);
}

static double expert_efficiency(const struct speed_basis *basis)
{
	return basis->parameters.experts > 0 ? EXPERT_EFFICIENCY : 1;
}

/* FLOP/s that a prompt of `tokens` reaches. */
static double prefill_flops(const struct speed_basis *basis, enum format format, double tokens)
{
	enum engine engine = (enum engine)basis->workload->engine;
	double flops = basis->compute_flops * engine_speeds[engine].prefill *
		       expert_efficiency(basis) * tokens / (tokens + HALF_PROMPT);

	if (engine == ENGINE_LLAMA_CPP && strcmp(basis->accelerator->form_factor, "consumer") == 0)
		flops *= FP16_ACCUMULATE;
	if (format_is_gguf(format))
		return flops * GGUF_PREFILL;
	if (format == FORMAT_AWQ || format == FORMAT_GPTQ || format == FORMAT_INT4)
		return flops * PACKED_PREFILL;
	if (format_facts(format)->compute == COMPUTE_FP4 && basis->accelerator->fp8_tflops <= 0)
		return flops * UNPACKED_FLOAT_PREFILL;
	return flops;
}

/* Seconds to unpack what one decode step reads; 0 where tensor cores take the format as it is. */
static double unpack_seconds(const struct speed_basis *basis, enum format format, double share)
{
	const struct accelerator *accelerator = basis->accelerator;
	bool is_native =
		format_facts(format)->compute == COMPUTE_FP4 && accelerator->fp4_tflops > 0;

	if (format_facts(format)->linear_bits >= 8 || is_native || accelerator->fp32_tflops <= 0)
		return 0;
	return (double)basis->parameters.linear * share /
	       (accelerator->fp32_tflops * 1e12 * UNPACKED_A_FLOP);
}

/* Experts that `tokens` tokens touch, as a share of all: 1 - (1 - k/E)^tokens. */
static double touched_share(const struct architecture *architecture, double tokens)
{
	double experts = 0, active = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].experts > experts) {
			experts = architecture->kinds[i].experts;
			active = architecture->kinds[i].experts_active;
		}
	return experts > 0 ? 1 - pow(1 - active / experts, fmax(1, tokens)) : 1;
}

/* What both phases share. */
struct serving {
	const struct speed_basis *basis;
	const struct layout *layout;
	struct link link;
	double sequences, prompt, output; /* resident on one replica; tokens */
	double stages;	      /* that other sequences keep busy: a token passes all of them */
	double layers, fixed; /* seconds of a step that nothing shortens */
	double read, bytes_a_weight; /* bytes of weights that a decode step reads */
};

static struct serving prepare(const struct speed_basis *basis, const struct layout *layout,
			      const struct fabric *fabric)
{
	const struct workload *workload = basis->workload;
	const struct architecture *architecture = workload->architecture;
	const struct parameter_count *parameters = &basis->parameters;
	double total = (double)parameters->total, experts = (double)parameters->experts;
	double embedding = (double)(parameters->head ? parameters->embedding : 0);
	struct serving serving = {
		.basis = basis,
		.layout = layout,
		.link = speed_node_link(basis->accelerator, fabric, layout->tensor_parallel),
		.sequences = fmax(1, layout->sequences),
		.prompt = (double)workload->prompt_tokens,
		.output = fmax(1, (double)workload->output_tokens),
		.stages = fmin(layout->pipeline_parallel, fmax(1, layout->sequences)),
		.layers = architecture_layers(architecture),
	};

	serving.fixed = serving.layers * layer_seconds(workload, layout->weight_format) +
			engine_speeds[workload->engine].step_seconds;
	serving.bytes_a_weight =
		architecture_weight_bytes(architecture, layout->weight_format) / total;
	serving.read = (total - embedding -
			experts * (1 - touched_share(architecture, serving.sequences))) *
		       serving.bytes_a_weight;
	return serving;
}

/* Two all-reduces a layer. */
static double reduce_seconds(const struct serving *serving, double tokens)
{
	double bytes = tokens * serving->basis->workload->architecture->hidden * 2;

	return serving->layers * 2 *
	       speed_collective(COLLECTIVE_ALL_REDUCE, bytes, serving->layout->tensor_parallel,
				&serving->link);
}

/* Arithmetic of one prompt, at the rate that `together` prompts reach. */
static double prompt_seconds(const struct serving *serving, double together)
{
	const struct speed_basis *basis = serving->basis;
	double prompt = serving->prompt;
	double attention = architecture_forward_flops(basis->workload->architecture, prompt / 2) -
			   basis->linear_flops;

	return prompt / serving->layout->tensor_parallel *
	       (basis->linear_flops /
			prefill_flops(basis, serving->layout->weight_format, together * prompt) +
		attention / basis->attention_flops);
}

/* Fills the phase of one prompt alone; returns seconds of each where many wait: weights and
 * launches are shared by those that go together. */
static double prefill(const struct serving *serving, struct speed_phase *phase)
{
	const struct speed_basis *basis = serving->basis;
	double tensor = serving->layout->tensor_parallel, prompt = serving->prompt;
	double together = serving->sequences > 1
				  ? fmax(1, fmin(serving->sequences, PREFILL_STEP_TOKENS / prompt))
				  : 1;
	double moved = prompt * basis->traffic_bytes / tensor / basis->memory_bytes_per_second;

	phase->compute_seconds = prompt_seconds(serving, 1);
	phase->memory_seconds = (serving->read + prompt * basis->traffic_bytes) / tensor /
				basis->memory_bytes_per_second;
	phase->communication_seconds = reduce_seconds(serving, prompt);
	phase->overhead_seconds = serving->fixed;
	phase->seconds = fmax(phase->compute_seconds + moved, phase->memory_seconds) +
			 phase->communication_seconds + phase->overhead_seconds;
	speed_phase_close(phase);
	return fmax(prompt_seconds(serving, together) + moved, phase->memory_seconds / together) +
	       (reduce_seconds(serving, together * prompt) + phase->overhead_seconds) / together;
}

/* One step of all resident sequences. Attention over the cache is memory traffic. */
static void decode(const struct serving *serving, double context, struct speed_phase *phase)
{
	const struct speed_basis *basis = serving->basis;
	const struct workload *workload = basis->workload;
	const struct layout *layout = serving->layout;
	const struct engine_speed *engine = &engine_speeds[workload->engine];
	double tensor = layout->tensor_parallel, sequences = serving->sequences;
	double cache = sequences * architecture_kv_elements(workload->architecture, context) *
		       format_facts(layout->kv_format)->linear_bits / 8;
	double share = serving->read / serving->bytes_a_weight / (double)basis->parameters.total;
	double unpacked = unpack_seconds(basis, layout->weight_format, share) / tensor;

	phase->compute_seconds = sequences * basis->linear_flops / (tensor * serving->stages) /
				 (basis->compute_flops * engine->decode * expert_efficiency(basis));
	phase->memory_seconds =
		(serving->read +
		 (cache / CACHE_EFFICIENCY + sequences * basis->traffic_bytes) / serving->stages) /
		tensor / basis->memory_bytes_per_second;
	phase->communication_seconds = reduce_seconds(serving, sequences);
	phase->overhead_seconds = serving->fixed + sequences * engine->sequence_seconds;
	phase->seconds = fmax(fmax(phase->compute_seconds, phase->memory_seconds), unpacked) +
			 phase->communication_seconds + phase->overhead_seconds;
	speed_phase_close(phase);
}

void speed_serving(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, struct speed_estimate *out)
{
	const struct architecture *architecture = basis->workload->architecture;
	struct serving serving = prepare(basis, layout, fabric);
	double sequences = serving.sequences, prompt = serving.prompt, output = serving.output;
	double context = prompt + output / 2,
	       replicas = layout->replicas > 0 ? layout->replicas : 1;
	double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;
	double prompts, decoding, flops;

	if (layout->tensor_parallel > 1)
		out->link_is_assumed = serving.link.is_assumed;
	/* Each sequence's prefill delays the others: its time is shared by all that are resident.
	 */
	prompts = sequences * prefill(&serving, &out->prefill) / serving.stages;
	decode(&serving, context, &out->decode);
	decoding = output * out->decode.seconds;
	out->ttft_seconds = out->prefill.seconds;
	out->tpot_seconds = out->decode.seconds + (sequences > 1 ? prompts / output : 0);
	out->requests_per_second = replicas * sequences / (prompts + decoding);
	out->tokens_per_second = out->requests_per_second * output;
	out->input_tokens_per_second = out->requests_per_second * prompt;
	flops = prompt * architecture_forward_flops(architecture, prompt / 2) +
		output * architecture_forward_flops(architecture, context);
	out->mfu = out->requests_per_second / replicas * flops / ways / basis->peak_flops;
	out->bottleneck = prompts > decoding ? out->prefill.bottleneck : out->decode.bottleneck;
}
