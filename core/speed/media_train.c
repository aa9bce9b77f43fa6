/*
 * Speed of training a pipeline's denoiser: one optimizer step.
 *
 * A pass forward, one back through activations, one through weights where they are trained; the
 * first once more where it is recomputed; attention 2.5 times as long backward. The pictures and
 * prompts pass the autoencoder and the encoders first unless they are cached. Gradients of data
 * parallelism hide behind a part of the pass, as in train.c.
 */
#include "core/speed/internal.h"

#include "core/fitted.h"
#include "core/memory.h"

#include <math.h>

#define ATTENTION_BACKWARD 2.5
/* Read and written a trained parameter and step, by AdamW with fp32 states; by an average of them.
 */
#define OPTIMIZER_BYTES 34
#define AVERAGE_BYTES 12
/* Of both passes back, convolutions in times of their pass forward each: gradients of weights are
 * summed over all places. */
FITTED(CONVOLUTION_BACKWARD, 2.05, 1, 2.5);
/* What a step hides of reducing gradients. */
FITTED(GRADIENT_OVERLAP, 0.923, 0.3, 1.0);

/* Passes forward and backward, in times of one forward. */
static struct media_work trained(const struct workload *workload, const struct layout *layout,
				 const struct media_work *pass)
{
	double again = layout->recompute == RECOMPUTE_FULL ? 1 : 0;
	double matrices = (workload_base_is_frozen(workload) ? 2 : 3) + again;
	double attention = 1 + ATTENTION_BACKWARD + again;
	struct media_work work = *pass;

	work.matrix_flops *= matrices;
	work.convolution_flops *= 1 + again + (matrices - 1 - again) * CONVOLUTION_BACKWARD;
	work.attention_flops *= attention;
	work.scores *= attention;
	work.traffic_elements *= 3 + again;
	work.rotated_elements *= 3 + again;
	work.kernels *= matrices;
	return work;
}

/* Parameters whose gradients and states a step moves. */
static double trained_parameters(const struct speed_basis *basis)
{
	struct media_count count;

	if (workload_base_is_frozen(basis->workload))
		return memory_adapter_parameters(basis->workload);
	media_count(basis->workload->architecture->media, &count);
	return (double)count.denoiser;
}

/* Of one step: gradients once, and gathered weights in every pass. */
static double data_seconds(const struct speed_basis *basis, const struct layout *layout,
			   const struct fabric *fabric, double parameters, bool *assumed)
{
	int ways = layout->data_parallel;
	bool is_across = layout->nodes > 1;
	struct link link = is_across ? speed_cluster_link(fabric, layout->gpus_per_node)
				     : speed_node_link(basis->accelerator, fabric, ways);
	/* Between nodes each GPU carries its share of what the node has reduced. */
	double share = is_across ? layout->gpus_per_node : 1;
	double gradient = basis->workload->precision == PRECISION_BF16 ? 2 : 4;
	double seconds;

	if (ways <= 1)
		return 0;
	*assumed |= link.is_assumed;
	seconds = speed_collective(COLLECTIVE_ALL_REDUCE, gradient * parameters / share,
				   is_across ? layout->nodes : ways, &link);
	if (layout_shards_weights(layout))
		seconds +=
			2 * (double)layout->accumulation *
			speed_collective(COLLECTIVE_ALL_GATHER, basis->media.denoiser_bytes / share,
					 is_across ? layout->nodes : ways, &link);
	return seconds;
}

/* What is made of pictures and prompts before the denoiser sees them. */
static void prepare_items(const struct speed_basis *basis, const struct layout *layout,
			  struct speed_phase *out)
{
	const struct workload *workload = basis->workload;
	struct speed_phase part = {0};
	struct media_run run;

	*out = (struct speed_phase){0};
	if (!workload->cached_embeddings) {
		speed_media_encoder_run(basis, &run);
		run.items = (double)layout->micro_batch;
		speed_media_run(basis, layout, &basis->media.encode, &run, out);
	}
	if (workload->cached_latents)
		return;
	speed_media_vae_run(basis, &run);
	run.items = (double)layout->micro_batch;
	speed_media_run(basis, layout, &basis->media.decode, &run, &part);
	out->seconds += part.seconds;
	out->compute_seconds += part.compute_seconds;
	out->memory_seconds += part.memory_seconds;
	out->overhead_seconds += part.overhead_seconds;
}

void speed_media_training(const struct speed_basis *basis, const struct layout *layout,
			  const struct fabric *fabric, struct speed_estimate *out)
{
	const struct workload *workload = basis->workload;
	struct media_work work = trained(workload, layout, &basis->media.pass);
	double micro_batches = (double)layout->accumulation, items, data, update;
	double parameters = trained_parameters(basis);
	struct speed_phase pass, before, *step = &out->step;
	struct media_run run;

	speed_media_denoiser_run(basis, layout->weight_format, &run);
	run.items = (double)layout->micro_batch;
	speed_media_run(basis, layout, &work, &run, &pass);
	prepare_items(basis, layout, &before);
	data = data_seconds(basis, layout, fabric, parameters, &out->link_is_assumed);
	update = parameters * (OPTIMIZER_BYTES + (workload->ema ? AVERAGE_BYTES : 0)) /
		 basis->memory_bytes_per_second;
	if (layout->sharding != SHARDING_NONE && layout->data_parallel > 1)
		update /= layout->data_parallel;
	step->compute_seconds = micro_batches * (pass.compute_seconds + before.compute_seconds);
	step->memory_seconds =
		micro_batches * (pass.memory_seconds + before.memory_seconds) + update;
	step->overhead_seconds = micro_batches * (pass.overhead_seconds + before.overhead_seconds);
	step->communication_seconds = data;
	step->seconds = micro_batches * (pass.seconds + before.seconds) + update +
			fmax(0, data - GRADIENT_OVERLAP * pass.seconds);
	speed_phase_close(step);
	items = (double)layout->micro_batch * micro_batches * layout->data_parallel;
	if (workload->samples_per_second > 0 &&
	    items / workload->samples_per_second > step->seconds) {
		step->seconds = items / workload->samples_per_second;
		step->bottleneck = BOTTLENECK_DATA_LOADING;
	}
	out->media[MEDIA_ENCODE] = before;
	out->media[MEDIA_DENOISE] = pass;
	out->batch_seconds = step->seconds;
	out->items_per_second = items / step->seconds;
	/* What training counts a sequence by is one item here. */
	out->tokens_per_step = items;
	out->tokens_per_second = out->items_per_second;
	/* Of what the result needs: nothing recomputed, no gradients of frozen weights. */
	out->mfu = items * (workload_base_is_frozen(workload) ? 2 : 3) *
		   (basis->media.pass.matrix_flops + basis->media.pass.convolution_flops +
		    basis->media.pass.attention_flops) /
		   step->seconds / layout->data_parallel / basis->highest_flops;
	out->bottleneck = step->bottleneck;
}
