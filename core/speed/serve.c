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

#include "core/extremes.h"
#include "core/fitted.h"

#include <math.h>

/* A request before and after its forward passes: tokenising, scheduling, the network's stack (vLLM
 * on an L4: first token 70 ms after arrival, of which 59 read the weights). */
#define REQUEST_SECONDS 10e-3

/* Stages of a pipeline are never equal, and the slowest sets the pace: what each one more costs. */
FITTED(STAGE_LOSS, 0.035, 0.01, 0.2);
/* A copy under one load. */
struct serving {
	const struct speed_basis *basis;
	const struct layout *layout;
	const struct speed_copy *copy;
	double requests;  /* resident on one replica */
	double sequences; /* that decode them */
	double stages;	  /* that other sequences keep busy: a token passes all of them */
	double touched;	  /* share of the experts that a decode step reads */
	double share;	  /* of all weights, those that it reads */
};

/* Finds what the copy has under any load where that is not known yet. */
static struct serving prepare(const struct speed_basis *basis, const struct layout *layout,
			      const struct fabric *fabric, struct speed_copy *copy)
{
	struct serving serving = {
		.basis = basis,
		.layout = layout,
		.copy = copy,
		.requests = larger(1, layout->sequences),
		.stages = smaller(layout->pipeline_parallel, larger(1, layout->sequences)),
	};

	if (!copy->is_known)
		speed_serve_copy(basis, layout, fabric, copy);
	serving.sequences = serving.requests * basis->workload->copies;
	serving.share = copy->dense_share;
	serving.touched = 1;
	if (basis->expert_chance > 0) {
		serving.touched = engine_touched_share(basis, serving.sequences);
		serving.share = speed_touched_weights(basis, serving.touched) - copy->prompt_share;
	}
	return serving;
}

/* Seconds of a decode step that no prompts change. */
struct decoding {
	double cached, scored, matrices, read, unpacked;
};

static struct decoding decoding_of(const struct serving *serving)
{
	const struct speed_basis *basis = serving->basis;
	const struct engine_rates *rates = &serving->copy->rates;
	double tensor = serving->copy->tensor, ways = tensor * serving->stages;
	double sequences = serving->sequences;
	double cache = sequences * rates->cache_elements *
		       format_facts(serving->layout->kv_format)->linear_bits / 8;
	struct decoding step = {
		.cached = cache / basis->memory_bytes_per_second / serving->stages /
			  smaller(tensor, basis->cache_split),
		.scored = sequences * (basis->decode_flops - basis->linear_flops) *
			  basis->latent_factor / basis->attention_flops / ways,
		.matrices = engine_decode_seconds(basis, rates, sequences, serving->touched) / ways,
		.read = serving->share * serving->copy->all_seconds / tensor / rates->read_share,
	};

	if (rates->unpacked_a_second > 0)
		step.unpacked = (double)basis->parameters.linear * serving->share /
				rates->unpacked_a_second / tensor;
	return step;
}

/* What speed_serve_phase() asks of a step. */
struct passed {
	double busy, gaps, launches, step;
};

static double seconds_of(const struct passed *passed)
{
	return larger(passed->busy + passed->gaps, passed->launches) + passed->step;
}

/*
 * One step of all resident sequences with `prompts` prompts riding along; fills the parts of the
 * phase, whose memory is the weights and the cache.
 */
static struct passed decode(const struct serving *serving, const struct decoding *step,
			    double prompts, struct speed_phase *phase)
{
	const struct speed_basis *basis = serving->basis;
	const struct speed_copy *copy = serving->copy;
	const struct engine_rates *rates = &copy->rates;
	double ways = copy->tensor * serving->stages;
	double sequences = serving->sequences, tokens = prompts * copy->prompt, busy;
	double moved = (sequences * basis->traffic_bytes + tokens * basis->prompt_traffic_bytes) /
		       basis->memory_bytes_per_second / ways;
	double matrices = step->matrices;
	double attention = (tokens * basis->pass_attention / rates->attention_flops +
			    prompts * rates->tower_seconds) /
			   ways;
	bool is_captured = basis->workload->cuda_graphs && tokens <= 0;

	if (tokens > 0)
		matrices += tokens / ways *
			    engine_prefill_seconds(basis, rates, tokens + sequences) /
			    (tokens + sequences);
	matrices = larger(matrices, step->unpacked);
	phase->compute_seconds = matrices + attention + step->scored;
	phase->memory_seconds = step->read + step->cached + moved;
	phase->communication_seconds = speed_reduce_seconds(basis, copy, copy->layers,
							    (sequences + tokens) / serving->stages);
	busy = larger(matrices, step->read) + larger(step->cached, step->scored) + attention +
	       moved + phase->communication_seconds;
	busy *= 1 + STAGE_LOSS * (serving->stages - 1);
	return (struct passed){.busy = busy,
			       .gaps = copy->layers * (is_captured ? rates->captured_gap_seconds
								   : rates->gap_seconds),
			       .launches = is_captured ? 0 : copy->layers * rates->launch_seconds,
			       .step = serving->stages * rates->step_seconds +
				       sequences * rates->sequence_seconds +
				       rates->beam_seconds * sequences};
}

/* Seconds of each prompt where decoding stands still for them: launches are shared by those that
 * arrive in one step. */
static double prompt_seconds(const struct serving *serving)
{
	const struct speed_basis *basis = serving->basis;
	const struct speed_copy *copy = serving->copy;
	const struct engine_rates *rates = &copy->rates;
	double tensor = copy->tensor, prompt = copy->prompt;
	double arrivals = copy->output > 0 ? serving->requests / copy->output : serving->requests;
	double together = larger(
		1, smaller(smaller(arrivals, serving->requests), copy->step_tokens / prompt));
	double tokens = together * prompt, matrices, moved, busy;

	if (together <= 1)
		return copy->whole.seconds;
	matrices = engine_prefill_seconds(basis, rates, tokens) / tensor;
	moved = tokens / tensor *
			(basis->prompt_traffic_bytes / basis->memory_bytes_per_second +
			 basis->pass_attention / rates->attention_flops) +
		together * rates->tower_seconds / tensor;
	busy = larger(matrices, copy->prompt_read_seconds / tensor) + moved +
	       speed_reduce_seconds(basis, copy, copy->prompt_layers, tokens);
	return (larger(busy + copy->prompt_layers * rates->gap_seconds,
		       copy->prompt_layers * rates->launch_seconds) +
		rates->step_seconds) /
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

/* What a copy does under a load. */
struct pace {
	const struct speed_phase *prefill;
	struct speed_phase decode; /* not closed yet */
	struct passed passed;	   /* of it */
	double prompts, decoding;  /* seconds of the prompts and of the outputs of all sequences */
	double ttft_seconds, tpot_seconds;
	double passes; /* a second */
};

static void pace_of(const struct serving *serving, struct pace *out)
{
	const struct speed_copy *copy = serving->copy;
	double sequences = serving->requests, output = copy->output;
	struct decoding step;

	*out = (struct pace){.prefill = sequences <= 1 && output > 0 ? &copy->alone : &copy->loaded,
			     /* What one sequence after the other gets through is no more than what
			      * many do. */
			     .prompts = copy->loaded.seconds};
	out->ttft_seconds = REQUEST_SECONDS + out->prefill->seconds;
	if (output > 0) {
		step = decoding_of(serving);
		out->passed = decode(serving, &step, 0, &out->decode);
		out->decode.seconds = seconds_of(&out->passed);
		out->tpot_seconds = out->decode.seconds;
	}
	if (sequences > 1 && copy->mixes) {
		struct speed_phase parts;
		double arrivals = sequences / output; /* a step */
		struct passed passed = decode(serving, &step, larger(1, arrivals), &parts);
		double mixed = seconds_of(&passed);

		out->prompts = output * smaller(1, arrivals) * (mixed - out->decode.seconds);
		out->tpot_seconds = out->decode.seconds + out->prompts / output;
		out->ttft_seconds = REQUEST_SECONDS + larger(out->prefill->seconds, mixed);
	} else if (sequences > 1) {
		out->prompts = sequences * smaller(copy->loaded.seconds,
						   prompt_seconds(serving) / serving->stages);
		if (output > 0)
			out->tpot_seconds += out->prompts / output;
	}
	out->decoding = output * out->decode.seconds;
	out->passes = sequences / (out->prompts + out->decoding);
}

void speed_serving(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, struct speed_copy *copy, struct speed_estimate *out)
{
	double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;
	struct serving serving = prepare(basis, layout, fabric, copy);
	struct pace pace;

	pace_of(&serving, &pace);
	if (layout->tensor_parallel > 1)
		out->link_is_assumed = copy->link.is_assumed;
	out->prefill = *pace.prefill;
	out->decode = pace.decode;
	if (copy->output > 0)
		speed_serve_phase(&out->decode, pace.passed.busy, pace.passed.gaps,
				  pace.passed.launches, pace.passed.step);
	out->ttft_seconds = pace.ttft_seconds;
	out->tpot_seconds = pace.tpot_seconds;
	out->tower_seconds = copy->rates.tower_seconds / layout->tensor_parallel;
	out->requests_per_second = pace.passes / basis->workload->passes;
	out->input_tokens_per_second = pace.passes * copy->prompt;
	out->tokens_per_second = pace.passes * (copy->output > 0 ? copy->output : copy->prompt);
	out->mfu = pace.passes * copy->request_flops / ways / copy->rates.highest_flops;
	out->bottleneck =
		pace.prompts > pace.decoding ? out->prefill.bottleneck : out->decode.bottleneck;
	speed_replicate(out, layout->replicas);
}

struct speed_load speed_load_of(const struct speed_basis *basis, const struct layout *layout,
				const struct fabric *fabric, struct speed_copy *copy)
{
	struct serving serving = prepare(basis, layout, fabric, copy);
	struct pace pace;

	pace_of(&serving, &pace);
	return (struct speed_load){.ttft_seconds = pace.ttft_seconds,
				   .tpot_seconds = pace.tpot_seconds,
				   .requests_per_second = pace.passes / basis->workload->passes};
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
