/*
 * Speed of serving, what is the same for one copy of the model under any load: what the engine
 * reaches of the card, and the prefill of one prompt.
 *
 * The planner asks for one copy under many loads: all of this is found once for them.
 */
#include "core/speed/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"

#include <math.h>

/* What llama.cpp hides of what its stages could hide of a prompt. */
FITTED(PIECES_OVERLAP, 0.75, 0.5, 1.0);

double speed_touched_weights(const struct speed_basis *basis, double touched)
{
	const struct parameter_count *parameters = &basis->parameters;
	double total = (double)parameters->total;
	double experts = (double)parameters->experts * touched;
	double dense = total - (double)parameters->experts -
		       (double)(parameters->head ? parameters->embedding : 0);

	return (dense + experts) / total;
}

double speed_reduce_seconds(const struct speed_basis *basis, const struct speed_copy *copy,
			    double layers, double tokens)
{
	double bytes = tokens * basis->workload->architecture->hidden * 2;

	if (copy->tensor <= 1)
		return 0;
	return layers * 2 *
	       speed_collective(COLLECTIVE_ALL_REDUCE, bytes, copy->tensor, &copy->link);
}

void speed_serve_phase(struct speed_phase *phase, double busy, double gaps, double launches,
		       double step)
{
	phase->seconds = larger(busy + gaps, launches) + step;
	phase->overhead_seconds = (launches > busy + gaps ? launches : gaps) + step;
	speed_phase_close(phase);
}

/* Share of a prompt's time that llama.cpp's stages hide by working on its pieces at once: n pieces
 * pass p stages in n + p - 1 turns instead of n p. */
static double pieces_hidden(const struct speed_basis *basis, const struct layout *layout,
			    const struct speed_copy *copy)
{
	double stages = layout->pipeline_parallel;
	double pieces = larger(1, copy->prompt / engine_speed(basis)->piece_tokens);

	if (basis->workload->engine != ENGINE_LLAMA_CPP || stages <= 1)
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
		return larger(basis->workload->prompt, POOLING_STEP_TOKENS);
	if (workload_only_reads(basis->workload) && basis->workload->engine != ENGINE_LLAMA_CPP)
		return POOLING_STEP_TOKENS;
	return engine_speed(basis)->piece_tokens;
}

/* One prompt, in as many passes as it has pieces, of whose time a share is hidden; alone on the
 * card, or as one of many. */
static void prefill(const struct speed_basis *basis, const struct speed_copy *copy, double hidden,
		    double alone_factor, struct speed_phase *phase)
{
	const struct engine_rates *rates = &copy->rates;
	double tensor = copy->tensor, prompt = copy->prompt, busy;
	double pieces = larger(1, ceil(prompt / copy->step_tokens));
	double passed = pieces * copy->prompt_layers;
	double matrices = copy->prompt_matrices / tensor * alone_factor;
	double attention = prompt * basis->pass_attention / rates->attention_flops / tensor;
	double moved =
		prompt * basis->prompt_traffic_bytes / basis->memory_bytes_per_second / tensor;
	double read = pieces * copy->prompt_read_seconds / tensor;
	double reduced = speed_reduce_seconds(basis, copy, copy->prompt_layers, prompt);

	attention += rates->tower_seconds / tensor;
	phase->compute_seconds = (1 - hidden) * (matrices + attention);
	phase->memory_seconds = (1 - hidden) * (read + moved);
	phase->communication_seconds = (1 - hidden) * reduced;
	busy = (1 - hidden) * (larger(matrices, read) + attention + moved + reduced);
	speed_serve_phase(phase, busy, passed * rates->gap_seconds, passed * rates->launch_seconds,
			  pieces * rates->step_seconds);
}

/* FLOPs of one request, for utilisation. */
static double request_flops(const struct speed_basis *basis, const struct speed_copy *copy)
{
	return copy->prompt * (basis->prompt_flops + basis->pass_attention) + basis->tower_flops +
	       basis->tower_attention +
	       copy->output * basis->workload->copies * basis->decode_flops;
}

static void prepare_work(const struct speed_basis *basis, struct speed_copy *out)
{
	const struct workload *workload = basis->workload;

	out->prompt = workload->prompt;
	out->output =
		workload_only_reads(workload) ? 0 : larger(1, (double)workload->output_tokens);
	out->layers = architecture_blocks(workload->architecture) / 2.0;
	/* A decoder behind an encoder has a third block a layer, which asks it. */
	if (architecture_has_source(workload->architecture))
		out->layers = 1.5 * (out->layers - basis->prompt_layers);
	out->prompt_layers = basis->prompt_layers;
	out->step_tokens = step_tokens(basis);
	out->mixes = out->output > 0 && engine_mixes(basis);
	out->request_flops = request_flops(basis, out);
}

/* Stages work on pieces of one prompt or on several prompts, not on both. */
static void prepare_prompts(const struct speed_basis *basis, const struct layout *layout,
			    struct speed_copy *out)
{
	double hidden = pieces_hidden(basis, layout, out);
	double prompt_share = out->prompt_share;

	if (prompt_share <= 0)
		prompt_share =
			speed_touched_weights(basis, engine_touched_share(basis, out->prompt));
	out->prompt_read_seconds = prompt_share * out->all_seconds;
	out->prompt_matrices = engine_prefill_seconds(basis, &out->rates, out->prompt);
	prefill(basis, out, hidden, engine_alone_factor(basis, layout->weight_format), &out->alone);
	prefill(basis, out, hidden, 1, &out->loaded);
	prefill(basis, out, 0, 1, &out->whole);
}

void speed_serve_copy(const struct speed_basis *basis, const struct layout *layout,
		      const struct fabric *fabric, struct speed_copy *out)
{
	out->tensor = layout->tensor_parallel;
	out->link = speed_node_link(basis->accelerator, fabric, layout->tensor_parallel);
	out->all_seconds =
		speed_weight_bytes(basis, layout->weight_format) / basis->memory_bytes_per_second;
	out->prompt_share = basis->prompt_weights / (double)basis->parameters.total;
	out->dense_share = speed_touched_weights(basis, 1) - out->prompt_share;
	engine_rates(basis, layout->weight_format, &out->rates);
	prepare_work(basis, out);
	prepare_prompts(basis, layout, out);
	out->is_known = true;
}
