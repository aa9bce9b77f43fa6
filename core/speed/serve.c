/*
 * Speed of serving: prefill of one prompt, one decode step of all resident sequences, and what both
 * give together.
 *
 * Kernels run one after the other, so their times add: a step is the matrices (the longer of
 * reading the weights once and 2 FLOPs a weight and token), attention over every sequence's cache,
 * two all-reduces a layer under tensor parallelism, and gaps between kernels; or what the host
 * takes to launch them, if that is longer. Engines that mix let prompts ride along in decode steps,
 * whose weights are read once for both; in others everybody waits while a prompt is prefilled.
 */
#include "core/speed/internal.h"

#include "core/fitted.h"

#include <math.h>

/* A request before and after its forward passes: tokenising, scheduling, the network's stack (vLLM
 * on an L4: first token 70 ms after arrival, of which 59 read the weights). */
#define REQUEST_SECONDS 10e-3

/* Stages of a pipeline are never equal, and the slowest sets the pace: what each one more costs. */
FITTED(STAGE_LOSS, 0.035, 0.01, 0.2);
/* What llama.cpp hides of what its stages could hide of a prompt. */
FITTED(PIECES_OVERLAP, 0.75, 0.5, 1.0);

/* A copy under one load. */
struct serving {
	const struct speed_basis *basis;
	const struct layout *layout;
	const struct speed_copy *copy;
	double requests;  /* resident on one replica */
	double sequences; /* that decode them */
	double stages;	  /* that other sequences keep busy: a token passes all of them */
	double share;	  /* of all weights, those that a decode step reads */
	double read_seconds;
};

/* Of all weights, those that `tokens` tokens touch. */
static double touched_weights(const struct speed_basis *basis, double tokens)
{
	const struct parameter_count *parameters = &basis->parameters;
	double total = (double)parameters->total;
	double experts = (double)parameters->experts * engine_touched_share(basis, tokens);
	double dense = total - (double)parameters->experts -
		       (double)(parameters->head ? parameters->embedding : 0);

	return (dense + experts) / total;
}

/* What depends on no load, its prompts apart. */
static void prepare_copy(const struct speed_basis *basis, const struct layout *layout,
			 const struct fabric *fabric, struct speed_copy *out)
{
	const struct workload *workload = basis->workload;
	double prompt_share = basis->prompt_weights / (double)basis->parameters.total;

	out->all_seconds =
		speed_weight_bytes(basis, layout->weight_format) / basis->memory_bytes_per_second;
	out->link = speed_node_link(basis->accelerator, fabric, layout->tensor_parallel);
	out->prompt = workload->prompt;
	out->output = workload_only_reads(workload) ? 0 : fmax(1, (double)workload->output_tokens);
	out->layers = architecture_blocks(workload->architecture) / 2.0;
	/* A decoder behind an encoder has a third block a layer, which asks it. */
	if (architecture_has_source(workload->architecture))
		out->layers = 1.5 * (out->layers - basis->prompt_layers);
	out->prompt_layers = basis->prompt_layers;
	out->gap = engine_gap_seconds(basis, layout->weight_format, false);
	out->launch = engine_launch_seconds(basis, layout->weight_format);
	out->prompt_share = prompt_share;
	if (prompt_share <= 0)
		prompt_share = touched_weights(basis, out->prompt);
	out->prompt_read_seconds = prompt_share * out->all_seconds;
}

static struct serving prepare(const struct speed_basis *basis, const struct layout *layout,
			      const struct speed_copy *copy)
{
	struct serving serving = {
		.basis = basis,
		.layout = layout,
		.copy = copy,
		.requests = fmax(1, layout->sequences),
		.stages = fmin(layout->pipeline_parallel, fmax(1, layout->sequences)),
	};

	serving.sequences = serving.requests * basis->workload->copies;
	serving.share = touched_weights(basis, serving.sequences) - copy->prompt_share;
	serving.read_seconds = serving.share * copy->all_seconds;
	return serving;
}

/* Two all-reduces a layer. */
static double reduce_seconds(const struct serving *serving, double layers, double tokens)
{
	double bytes = tokens * serving->basis->workload->architecture->hidden * 2;

	return layers * 2 *
	       speed_collective(COLLECTIVE_ALL_REDUCE, bytes, serving->layout->tensor_parallel,
				&serving->copy->link);
}

/* The card's time, or the host's if it cannot launch as fast, which then is busy all the while. */
static void close_phase(struct speed_phase *phase, double busy, double gaps, double launches,
			double step)
{
	phase->seconds = fmax(busy + gaps, launches) + step;
	phase->overhead_seconds = (launches > busy + gaps ? launches : gaps) + step;
	speed_phase_close(phase);
}

/* Share of a prompt's time that llama.cpp's stages hide by working on its pieces at once: n pieces
 * pass p stages in n + p - 1 turns instead of n p. */
static double pieces_hidden(const struct serving *serving)
{
	double stages = serving->layout->pipeline_parallel;
	double pieces = fmax(1, serving->copy->prompt / engine_speed(serving->basis)->piece_tokens);

	if (serving->basis->workload->engine != ENGINE_LLAMA_CPP || stages <= 1)
		return 0;
	return PIECES_OVERLAP * (1 - (pieces + stages - 1) / (pieces * stages));
}

/* Nothing waits for a token while inputs are embedded: steps are as long as vLLM makes them for
 * pooling models (its POOLING_MODEL_MAX_NUM_BATCHED_TOKENS). */
#define POOLING_STEP_TOKENS 32768.0

static double step_tokens(const struct speed_basis *basis)
{
	/* An encoder sees all of its window at once. */
	if (workload_listens(basis->workload))
		return fmax(basis->workload->prompt, POOLING_STEP_TOKENS);
	if (workload_only_reads(basis->workload) && basis->workload->engine != ENGINE_LLAMA_CPP)
		return POOLING_STEP_TOKENS;
	return engine_speed(basis)->piece_tokens;
}

/* One prompt, in as many passes as it has pieces, of whose time a share is hidden; alone on the
 * card, or as one of many. */
static void prefill(const struct serving *serving, double hidden, bool is_alone,
		    struct speed_phase *phase)
{
	const struct speed_basis *basis = serving->basis;
	const struct layout *layout = serving->layout;
	const struct engine_speed *engine = engine_speed(basis);
	double tensor = layout->tensor_parallel, prompt = serving->copy->prompt, busy;
	double pieces = fmax(1, ceil(prompt / step_tokens(basis)));
	double passed = pieces * serving->copy->prompt_layers;
	double matrices = engine_prefill_seconds(basis, layout->weight_format, prompt) / tensor;
	double attention = prompt * basis->pass_attention / engine_attention_flops(basis) / tensor;
	double moved =
		prompt * basis->prompt_traffic_bytes / basis->memory_bytes_per_second / tensor;
	double read = pieces * serving->copy->prompt_read_seconds / tensor;
	double reduced = reduce_seconds(serving, serving->copy->prompt_layers, prompt);

	if (is_alone)
		matrices *= engine_alone_factor(basis, layout->weight_format);
	attention += engine_tower_seconds(basis) / tensor;
	phase->compute_seconds = (1 - hidden) * (matrices + attention);
	phase->memory_seconds = (1 - hidden) * (read + moved);
	phase->communication_seconds = (1 - hidden) * reduced;
	busy = (1 - hidden) * (fmax(matrices, read) + attention + moved + reduced);
	close_phase(phase, busy, passed * serving->copy->gap, passed * serving->copy->launch,
		    pieces * engine->step_seconds);
}

/* Seconds of a decode step that no prompts change. */
struct decoding {
	double cached, scored, matrices, read, unpacked;
};

static struct decoding decoding_of(const struct serving *serving)
{
	const struct speed_basis *basis = serving->basis;
	const struct layout *layout = serving->layout;
	double tensor = layout->tensor_parallel, ways = tensor * serving->stages;
	double sequences = serving->sequences;
	double read =
		basis->cache_elements + basis->cross_elements * (1 / engine_cross_share(basis) - 1);
	double cache = sequences * read * format_facts(layout->kv_format)->linear_bits / 8;

	return (struct decoding){
		.cached = cache / basis->memory_bytes_per_second / serving->stages /
			  fmin(tensor, basis->cache_split),
		.scored = sequences * (basis->decode_flops - basis->linear_flops) *
			  basis->latent_factor / basis->attention_flops / ways,
		.matrices = engine_decode_seconds(basis, layout->weight_format, sequences) / ways,
		.read = serving->read_seconds / tensor / engine_read_share(basis),
		.unpacked =
			engine_unpack_seconds(basis, layout->weight_format,
					      (double)basis->parameters.linear * serving->share) /
			tensor,
	};
}

/*
 * One step of all resident sequences with `prompts` prompts riding along; fills the phase, whose
 * memory is the weights and the cache.
 */
static void decode(const struct serving *serving, const struct decoding *step, double prompts,
		   struct speed_phase *phase)
{
	const struct speed_basis *basis = serving->basis;
	const struct layout *layout = serving->layout;
	const struct engine_speed *engine = engine_speed(basis);
	double tensor = layout->tensor_parallel, ways = tensor * serving->stages;
	double sequences = serving->sequences, tokens = prompts * serving->copy->prompt, busy;
	double moved = (sequences * basis->traffic_bytes + tokens * basis->prompt_traffic_bytes) /
		       basis->memory_bytes_per_second / ways;
	double matrices = step->matrices;
	double attention = (tokens * basis->pass_attention / engine_attention_flops(basis) +
			    prompts * engine_tower_seconds(basis)) /
			   ways;
	bool is_captured = basis->workload->cuda_graphs && tokens <= 0;

	if (tokens > 0)
		matrices +=
			tokens / ways *
			engine_prefill_seconds(basis, layout->weight_format, tokens + sequences) /
			(tokens + sequences);
	matrices = fmax(matrices, step->unpacked);
	phase->compute_seconds = matrices + attention + step->scored;
	phase->memory_seconds = step->read + step->cached + moved;
	phase->communication_seconds = reduce_seconds(serving, serving->copy->layers,
						      (sequences + tokens) / serving->stages);
	busy = fmax(matrices, step->read) + fmax(step->cached, step->scored) + attention + moved +
	       phase->communication_seconds;
	busy *= 1 + STAGE_LOSS * (serving->stages - 1);
	close_phase(phase, busy,
		    serving->copy->layers *
			    (is_captured ? engine_gap_seconds(basis, layout->weight_format, true)
					 : serving->copy->gap),
		    is_captured ? 0 : serving->copy->layers * serving->copy->launch,
		    serving->stages * engine->step_seconds + sequences * engine->sequence_seconds +
			    engine_beam_seconds(basis, sequences));
}

/* Seconds of each prompt where decoding stands still for them: launches are shared by those that
 * arrive in one step. */
static double prompt_seconds(const struct serving *serving, const struct speed_phase *alone)
{
	const struct speed_basis *basis = serving->basis;
	double tensor = serving->layout->tensor_parallel, prompt = serving->copy->prompt;
	double arrivals = serving->copy->output > 0 ? serving->requests / serving->copy->output
						    : serving->requests;
	double together =
		fmax(1, fmin(fmin(arrivals, serving->requests), step_tokens(basis) / prompt));
	double tokens = together * prompt;
	double matrices =
		engine_prefill_seconds(basis, serving->layout->weight_format, tokens) / tensor;
	double moved = tokens / tensor *
			       (basis->prompt_traffic_bytes / basis->memory_bytes_per_second +
				basis->pass_attention / engine_attention_flops(basis)) +
		       together * engine_tower_seconds(basis) / tensor;
	double busy = fmax(matrices, serving->copy->prompt_read_seconds / tensor) + moved +
		      reduce_seconds(serving, serving->copy->prompt_layers, tokens);

	if (together <= 1)
		return alone->seconds;
	return (fmax(busy + serving->copy->prompt_layers * serving->copy->gap,
		     serving->copy->prompt_layers * serving->copy->launch) +
		engine_speed(basis)->step_seconds) /
	       together;
}

double speed_request_seconds(const struct workload *workload, const struct speed_estimate *speed)
{
	double output = workload_only_reads(workload) ? 0 : (double)workload->output_tokens;

	return workload->passes * (speed->ttft_seconds + output * speed->tpot_seconds);
}

void speed_replicate(struct speed_estimate *speed, int replicas)
{
	double count = replicas > 0 ? replicas : 1;

	speed->requests_per_second *= count;
	speed->input_tokens_per_second *= count;
	speed->tokens_per_second *= count;
}

/* Stages work on pieces of one prompt or on several prompts, not on both. */
static void prepare_prompts(const struct serving *serving, struct speed_copy *out)
{
	double hidden = pieces_hidden(serving);

	prefill(serving, hidden, true, &out->alone);
	prefill(serving, hidden, false, &out->loaded);
	prefill(serving, 0, false, &out->whole);
	out->is_known = true;
}

void speed_serving(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, struct speed_copy *copy, struct speed_estimate *out)
{
	double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;
	double sequences, prompt, output, prompts, decoding, flops, passes;
	struct decoding step;
	bool mixes;
	struct serving serving;

	if (!copy->is_known)
		prepare_copy(basis, layout, fabric, copy);
	serving = prepare(basis, layout, copy);
	if (!copy->is_known)
		prepare_prompts(&serving, copy);
	sequences = serving.requests;
	prompt = copy->prompt;
	output = copy->output;
	if (layout->tensor_parallel > 1)
		out->link_is_assumed = copy->link.is_assumed;
	out->prefill = sequences <= 1 && output > 0 ? copy->alone : copy->loaded;
	/* What one sequence after the other gets through is no more than what many do. */
	prompts = copy->loaded.seconds;
	out->ttft_seconds = REQUEST_SECONDS + out->prefill.seconds;
	out->tower_seconds = engine_tower_seconds(basis) / layout->tensor_parallel;
	mixes = sequences > 1 && output > 0 && engine_mixes(basis);
	if (output > 0) {
		step = decoding_of(&serving);
		decode(&serving, &step, 0, &out->decode);
		out->tpot_seconds = out->decode.seconds;
	}
	if (sequences > 1 && !mixes) {
		prompts = sequences * fmin(copy->loaded.seconds,
					   prompt_seconds(&serving, &copy->whole) / serving.stages);
		if (output > 0)
			out->tpot_seconds += prompts / output;
	}
	if (mixes) {
		struct speed_phase mixed = {0};
		double arrivals = sequences / output; /* a step */

		decode(&serving, &step, fmax(1, arrivals), &mixed);
		prompts = output * fmin(1, arrivals) * (mixed.seconds - out->decode.seconds);
		out->tpot_seconds = out->decode.seconds + prompts / output;
		out->ttft_seconds = REQUEST_SECONDS + fmax(out->prefill.seconds, mixed.seconds);
	}
	decoding = output * out->decode.seconds;
	passes = sequences / (prompts + decoding);
	out->requests_per_second = passes / basis->workload->passes;
	out->input_tokens_per_second = passes * prompt;
	out->tokens_per_second = passes * (output > 0 ? output : prompt);
	flops = prompt * (basis->prompt_flops + basis->pass_attention) + basis->tower_flops +
		basis->tower_attention + output * basis->workload->copies * basis->decode_flops;
	out->mfu = passes * flops / ways / engine_highest_flops(basis, layout->weight_format);
	out->bottleneck = prompts > decoding ? out->prefill.bottleneck : out->decode.bottleneck;
	speed_replicate(out, layout->replicas);
}

/* Full steps, weights that are read for so many sequences that they cost none of them anything. */
double speed_least_serving(const struct speed_basis *basis, double cache_bits)
{
	const struct workload *workload = basis->workload;
	const struct engine_speed *engine = engine_speed(basis);
	double prompt = workload->prompt;
	double output = workload_only_reads(workload) ? 0 : (double)workload->output_tokens;
	double reading = prompt * (basis->prompt_flops / engine_prefill_flops(basis) +
				   basis->pass_attention / basis->attention_flops);
	double written = output * workload->copies;
	double writing = written * basis->linear_flops / (basis->compute_flops * engine->decode);
	double moved = prompt * basis->prompt_traffic_bytes +
		       written * (basis->traffic_bytes + basis->cache_elements * cache_bits / 8);

	return workload->passes * (reading + writing + engine_tower_seconds(basis) +
				   moved / basis->memory_bytes_per_second);
}
