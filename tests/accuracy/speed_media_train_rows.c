/*
 * Rows of throughput.csv on the training of pipelines: MLPerf's, whose notes tell the seconds of a
 * step or the samples a second beside the minutes to a target.
 *
 * What the benchmark fixes (its rules): Stable Diffusion 2 at 512 x 512 from latents made before;
 * FLUX.1 at 256 x 256 from latents and embeddings made before. NVIDIA's software, in captured
 * graphs, states sharded over data parallelism; FLUX's weights too.
 */
#include "tests/accuracy/speed_rows.h"

#include "core/speed.h"

#include <stdio.h>
#include <string.h>

#define GIVE(workload, field, value)                                                               \
	do {                                                                                       \
		(workload)->field = (value);                                                       \
		(workload)->given |= WORKLOAD_BIT(WORKLOAD_##field);                               \
	} while (0)

#define STEP_NOTE "median step "
#define RATE_NOTE "tracked throughput "

bool speed_media_tells_step(const struct row *row)
{
	const char *notes = row_text(row, "notes");

	return text_number_after(notes, STEP_NOTE, 0) > 0 ||
	       text_number_after(notes, RATE_NOTE, 0) > 0;
}

static bool is_flux(const struct row *row)
{
	return row_has(row, "model", "FLUX");
}

static void workload_of(const struct row *row, struct workload *workload)
{
	int side = is_flux(row) ? 256 : 512;

	*workload = (struct workload){0};
	GIVE(workload, task, TASK_PRETRAIN);
	GIVE(workload, stack, STACK_MEGATRON);
	GIVE(workload, width, side);
	GIVE(workload, height, side);
	GIVE(workload, cached_latents, true);
	if (is_flux(row))
		GIVE(workload, cached_embeddings, true);
}

static void layout_of(const struct row *row, const struct accelerator *card, int gpus,
		      struct layout *layout)
{
	/* A tray of a rack has four. */
	int node = strstr(card->name, "GB200") || strstr(card->name, "GB300") ? 4 : 8;

	*layout = layout_single;
	layout->gpus_per_node = gpus < node ? gpus : node;
	layout->nodes = gpus / layout->gpus_per_node;
	layout->data_parallel = gpus;
	layout->sharding = is_flux(row) ? SHARDING_ZERO3 : SHARDING_ZERO1;
	layout->recompute = RECOMPUTE_NONE;
}

enum skip speed_media_train_row(const struct row *row, struct request *request,
				struct result *result)
{
	const char *notes = row_text(row, "notes");
	double step = text_number_after(notes, STEP_NOTE, 0);
	double rate = text_number_after(notes, RATE_NOTE, 0);
	int gpus = row_count(row, "gpus", 0),
	    batch = row_count(row, "global_batch_or_concurrency", 0);
	struct speed_basis basis;
	struct speed_estimate speed;
	enum skip reason;

	if (!gpus || !batch || batch % gpus)
		return SKIP_MICRO_BATCH_NOT_STATED;
	workload_of(row, &request->workload);
	reason = request_complete(request);
	if (reason)
		return reason;
	layout_of(row, request->cards[0], gpus, &request->layout);
	if (request->layout.nodes * request->layout.gpus_per_node != gpus)
		return SKIP_ODD_DEGREES;
	request->layout.micro_batch = batch / gpus;
	speed_row_fabric(row, request->cards[0], &request->layout, &request->fabric);
	if (!speed_prepare(&request->workload, request->cards[0], request->layout.weight_format,
			   &basis))
		return SKIP_CARD_WITHOUT_SPEED;
	speed_estimate(&basis, &request->layout, &request->fabric, &speed);
	result->measured = step > 0 ? batch / step : rate;
	result->predicted = speed.items_per_second;
	snprintf(
		result->terms, sizeof(result->terms),
		"%d x %d GPUs, %lld a GPU, step %.4f (compute %.4f memory %.4f links %.4f overhead "
		"%.4f)",
		request->layout.nodes, request->layout.gpus_per_node,
		(long long)request->layout.micro_batch, speed.step.seconds,
		speed.step.compute_seconds, speed.step.memory_seconds,
		speed.step.communication_seconds, speed.step.overhead_seconds);
	return SKIP_NONE;
}
