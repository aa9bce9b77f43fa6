/*
 * Speed of a pipeline (media.h): encode once a batch, denoise in every step, decode once; what
 * sequence parallelism, shared weights and offload add. How long a component takes: media_run.c.
 */
#include "core/speed/internal.h"

#include "core/fitted.h"

#include <math.h>

/* Kernels that one exchange of sequence parallelism adds to an attention: packing and collectives.
 */
#define EXCHANGE_KERNELS 16
/* All-to-alls an attention: queries, keys, values and the way back. */
#define EXCHANGES 4
/* Of their time at the links' rate: nothing hides them, and GPUs wait for each other. */
FITTED(EXCHANGE_WAIT, 3.41, 1, 4);
/* Gathered weights hide behind this share of a pass. */
FITTED(WEIGHT_OVERLAP, 0.799, 0.2, 1.0);
/* What a server's cores do in matrices of bf16 or fp32. */
#define HOST_FLOPS 1e12
/* What sequence parallelism exchanges: queries of all attention over the whole item. */
static void prepare_exchange(const struct media_denoiser *denoiser, const struct media_grid *grid,
			     struct speed_media *out)
{
	for (int i = 0; i < denoiser->blocks_count; i++) {
		const struct media_block *block = &denoiser->blocks[i];
		double tokens = grid->tokens + (block->is_joint ? grid->text_tokens : 0);
		double layers = block->count * (block->has_second ? 2.0 : 1.0);

		out->blocks += block->count;
		if (block->attention == MEDIA_ATTENTION_NONE)
			continue;
		out->exchanges += layers;
		out->exchanged_elements += layers * tokens * block->heads * block->head_dim;
	}
}

void speed_media_prepare(struct speed_basis *basis)
{
	const struct workload *workload = basis->workload;
	const struct media *media = workload->architecture->media;
	struct speed_media *out = &basis->media;
	struct media_size size;
	struct media_grid grid;
	struct media_count count;

	workload_media_size(workload, &size);
	media_grid(media, &size, &grid);
	media_count(media, &count);
	media_encoder_work(media, &grid, &out->encode);
	media_denoiser_work(media, &grid, &out->pass);
	/* Training looks at the other half of the autoencoder. */
	media_vae_work(media, &grid, workload->task != TASK_INFERENCE, workload->vae_tiling,
		       &out->decode);
	out->items = fmax(1, (double)workload->batch);
	out->passes = fmax(1, (double)workload->guidance_passes);
	out->linear_parameters = (double)count.denoiser_linear;
	out->encoder_bytes = media_encoder_bytes(
		media, workload->text_encoder_format ? (enum format)workload->text_encoder_format
						     : FORMAT_BF16);
	out->vae_bytes = (double)count.vae * (media->vae.is_upcast ? 4 : 2);
	prepare_exchange(&media->denoiser, &grid, out);
}

/* Queries, keys, values and results of `items` items through the links, of one pass. */
static double exchange_seconds(const struct speed_basis *basis, const struct layout *layout,
			       const struct fabric *fabric, double items, bool *assumed)
{
	const struct speed_media *media = &basis->media;
	int ways = layout->context_parallel;
	struct link link = speed_node_link(basis->accelerator, fabric, ways);
	double bytes;

	if (ways <= 1 || media->exchanges <= 0)
		return 0;
	if (ways > layout->gpus_per_node)
		link = speed_cluster_link(fabric, layout->gpus_per_node);
	*assumed |= link.is_assumed;
	bytes = 2 * items * media->exchanged_elements / media->exchanges / ways;
	return media->exchanges * EXCHANGES * EXCHANGE_WAIT *
	       speed_collective(COLLECTIVE_ALL_TO_ALL, bytes, ways, &link);
}

/* Weights that the GPUs of a replica share are gathered block by block; what a pass of so many
 * seconds does not hide. */
static double gather_seconds(const struct speed_basis *basis, const struct layout *layout,
			     const struct fabric *fabric, double pass, bool *assumed)
{
	double blocks = fmax(1, basis->media.blocks), seconds;
	int ways = layout_gpus_per_replica(layout);
	struct link link = speed_node_link(basis->accelerator, fabric, ways);

	if (ways <= 1 || !layout_shards_weights(layout))
		return 0;
	if (ways > layout->gpus_per_node)
		link = speed_cluster_link(fabric, layout->gpus_per_node);
	*assumed |= link.is_assumed;
	seconds = blocks * speed_collective(COLLECTIVE_ALL_GATHER,
					    basis->media.denoiser_bytes / blocks, ways, &link);
	return fmax(0, seconds - WEIGHT_OVERLAP * pass);
}

static void encode(const struct speed_basis *basis, const struct layout *layout,
		   struct speed_phase *out)
{
	const struct workload *workload = basis->workload;
	const struct speed_media *media = &basis->media;
	struct media_run run;

	speed_media_encoder_run(basis, &run);
	/* With guidance, what is not wanted too. */
	run.items *= media->passes > 1 ? 2 : 1;
	speed_media_run(basis, layout, &media->encode, &run, out);
	if (!workload->text_encoders_on_cpu)
		return;
	out->seconds = out->compute_seconds = run.items * media->encode.matrix_flops / HOST_FLOPS;
	out->memory_seconds = out->overhead_seconds = 0;
}

static void decode(const struct speed_basis *basis, const struct layout *layout,
		   struct speed_phase *out)
{
	struct media_run run;

	speed_media_vae_run(basis, &run);
	speed_media_run(basis, layout, &basis->media.decode, &run, out);
}

static void denoise(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_phase *out, bool *assumed)
{
	const struct workload *workload = basis->workload;
	const struct speed_media *media = &basis->media;
	int guidance = layout->guidance_parallel > 1 ? layout->guidance_parallel : 1;
	double passes = ceil(media->passes / guidance);
	struct media_run run;
	double gather;

	speed_media_denoiser_run(basis, layout->weight_format, &run);
	run.items *= passes;
	run.ways = layout->context_parallel;
	run.launches = workload->guidance_batched ? 1 : passes;
	run.exchange_seconds = exchange_seconds(basis, layout, fabric, run.items, assumed);
	if (layout->context_parallel > 1)
		run.kernels = EXCHANGE_KERNELS * media->exchanges;
	speed_media_run(basis, layout, &media->pass, &run, out);
	gather = run.launches *
		 gather_seconds(basis, layout, fabric, out->seconds / run.launches, assumed);
	out->communication_seconds += gather;
	out->seconds += gather;
	speed_phase_close(out);
}

/* What comes from host memory, over the links of all GPUs of the node at once. */
static void bring(const struct speed_basis *basis, double rate, struct speed_estimate *out)
{
	const struct workload *workload = basis->workload;
	const struct speed_media *media = &basis->media;
	double copies = workload->architecture->media->denoiser.copies;
	double denoiser = media->denoiser_bytes / rate;
	double others[MEDIA_PHASES] = {
		[MEDIA_ENCODE] = workload->text_encoders_on_cpu ? 0 : media->encoder_bytes / rate,
		[MEDIA_DENOISE] = denoiser * fmax(1, copies),
		[MEDIA_DECODE] = media->vae_bytes / rate,
	};

	if (workload->media_offload == MEDIA_OFFLOAD_NONE)
		return;
	if (workload->media_offload != MEDIA_OFFLOAD_MODEL) {
		double launches = workload->guidance_batched ? 1 : media->passes;
		double step = denoiser * launches;

		/* Groups come while the one before is at work, matrices when they are needed. */
		if (workload->media_offload == MEDIA_OFFLOAD_GROUP)
			step = fmax(0, step - out->step.seconds);
		out->step.communication_seconds += step;
		out->step.seconds += step;
		others[MEDIA_DENOISE] = 0;
	}
	for (int phase = 0; phase < MEDIA_PHASES; phase++) {
		out->media[phase].communication_seconds += others[phase];
		out->media[phase].seconds += others[phase];
	}
}

static double batch_flops(const struct speed_media *media, double steps)
{
	const struct media_work *parts[] = {&media->encode, &media->pass, &media->decode};
	const double times[] = {media->passes > 1 ? 2 : 1, steps * media->passes, 1};
	double flops = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		flops += times[i] * (parts[i]->matrix_flops + parts[i]->convolution_flops +
				     parts[i]->attention_flops);
	return flops * media->items;
}

void speed_media_serving(const struct speed_basis *basis, const struct layout *layout,
			 const struct fabric *fabric, struct speed_estimate *out)
{
	const struct workload *workload = basis->workload;
	double steps = (double)workload->steps, replicas = fmax(1, layout->replicas);
	struct speed_phase *denoising = &out->media[MEDIA_DENOISE];
	double rate = speed_host_bytes_per_second(basis->accelerator, fabric, layout->gpus_per_node,
						  &(bool){false});

	encode(basis, layout, &out->media[MEDIA_ENCODE]);
	denoise(basis, layout, fabric, &out->step, &out->link_is_assumed);
	decode(basis, layout, &out->media[MEDIA_DECODE]);
	bring(basis, rate, out);
	denoising->compute_seconds += steps * out->step.compute_seconds;
	denoising->memory_seconds += steps * out->step.memory_seconds;
	denoising->communication_seconds += steps * out->step.communication_seconds;
	denoising->overhead_seconds += steps * out->step.overhead_seconds;
	denoising->seconds += steps * out->step.seconds;
	for (int phase = 0; phase < MEDIA_PHASES; phase++) {
		speed_phase_close(&out->media[phase]);
		out->batch_seconds += out->media[phase].seconds;
	}
	out->bottleneck = denoising->bottleneck;
	if (out->media[MEDIA_DECODE].seconds > denoising->seconds)
		out->bottleneck = out->media[MEDIA_DECODE].bottleneck;
	if (out->media[MEDIA_ENCODE].seconds >
	    fmax(denoising->seconds, out->media[MEDIA_DECODE].seconds))
		out->bottleneck = out->media[MEDIA_ENCODE].bottleneck;
	out->items_per_second = replicas * basis->media.items / out->batch_seconds;
	/* What serving counts by tokens and requests is one item here. */
	out->requests_per_second = out->tokens_per_second = out->items_per_second;
	out->mfu = batch_flops(&basis->media, steps) / out->batch_seconds /
		   layout_gpus_per_replica(layout) / basis->highest_flops;
}
