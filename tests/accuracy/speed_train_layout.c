/*
 * Over how many GPUs, in which way and in what batches a training row ran. Where it does not say,
 * the best layout that fits is taken, as the planner does for a caller who does not say.
 */
#include "tests/accuracy/speed_train_layout.h"

#include "tests/accuracy/speed_rows.h"

#include <math.h>
#include <string.h>

bool speed_row_is_before_fused_attention(const struct row *row)
{
	static const char *const words[] = {"2021", "2022", "22.0", "21.1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row_has(row, "software_version", words[i]) &&
		    !row_has(row, "software_version", "flash") &&
		    !row_has(row, "source", "mlcommons"))
			return true;
	return false;
}

#define RACK_GPUS 72

static int largest_divisor(int number, int most)
{
	int divisor = most < number ? most : number;

	while (number % divisor)
		divisor--;
	return divisor;
}

static enum recompute usual_recompute(const struct row *row, int stack)
{
	/* Its BERT script keeps everything unless --checkpoint_activations is given. */
	if (row_has(row, "source", "DeepLearningExamples"))
		return RECOMPUTE_NONE;
	return stack == STACK_HUGGINGFACE || stack == STACK_DEEPSPEED ||
			       speed_row_is_before_fused_attention(row)
		       ? RECOMPUTE_FULL
		       : RECOMPUTE_SELECTIVE;
}

enum skip speed_train_layout(const struct row *row, const struct request *request,
			     struct layout *layout)
{
	const char *recompute = row_text(row, "checkpointing"), *notes = row_text(row, "notes");
	double gpus = row_count(row, "gpus", 0), nodes = row_count(row, "nodes", 0);
	int stack = request->workload.stack;
	bool is_rack = text_has(request->cards[0]->form_factor, "superchip") &&
		       request->cards[0]->compute_capability >= 100;

	if (gpus <= 0)
		return SKIP_GPUS_NOT_STATED;
	layout->tensor_parallel = row_count(row, "tp", 0);
	layout->pipeline_parallel = row_count(row, "pp", 0);
	layout->context_parallel = row_count(row, "cp", 0);
	layout->expert_parallel = row_count(row, "ep", 0);
	layout->expert_tensor_parallel = 1;
	layout->data_parallel = row_count(row, "dp", 0);
	layout->micro_batch = row_count(row, "micro_batch", 0);
	/* Its batch is that of a rank, which goes through a pipeline one by one. */
	if (stack == STACK_TORCHTITAN && layout->pipeline_parallel > 1)
		layout->micro_batch = 1;
	/* ALST (arXiv 2506.13996) keeps optimizer states in host memory. */
	layout->offload = row_has(row, "software_version", "ALST") ? OFFLOAD_OPTIMIZER
			  : !text_has(notes, "offload") || text_has(notes, "offload False")
				  ? OFFLOAD_NONE
			  : text_has(notes, "offload/recompute flags") ? OFFLOAD_OPTIMIZER
								       : OFFLOAD_PARAMETERS;
	/* A rack is one NVLink domain. */
	layout->gpus_per_node = is_rack	    ? largest_divisor((int)gpus, RACK_GPUS)
				: nodes > 0 ? (int)(gpus / nodes)
					    : (int)fmin(gpus, 8);
	layout->nodes = (int)fmax(1, ceil(gpus / layout->gpus_per_node));
	layout->sharding =
		stack == STACK_TORCHTITAN || stack == STACK_DEEPSPEED || text_has(notes, "FSDP")
			? SHARDING_ZERO3
		: stack == STACK_MEGATRON ? SHARDING_ZERO1
					  : SHARDING_NONE;
	if (text_has(notes, "DDP"))
		layout->sharding = SHARDING_NONE;
	layout->sequence_parallel = true;
	layout->recompute = text_has(recompute, "full")	       ? RECOMPUTE_FULL
			    : text_has(recompute, "selective") ? RECOMPUTE_SELECTIVE
			    : text_has(recompute, "none")      ? RECOMPUTE_NONE
							       : usual_recompute(row, stack);
	layout->replicas = 1;
	return SKIP_NONE;
}

/* Fills what follows from the degrees; false when it does not come out even. */
static bool complete(const struct row *row, struct layout *layout)
{
	int gpus = layout->gpus_per_node * layout->nodes, model = layout_gpus_per_replica(layout);
	double global = row_number(row, "global_batch_or_concurrency", 0);

	if (model > gpus || gpus % model)
		return false;
	/* Experts are spread over the GPUs of a stage, and no further. */
	if (gpus / layout->pipeline_parallel % layout->expert_parallel)
		return false;
	layout->data_parallel = gpus / model;
	layout->accumulation = 1;
	if (global > 0) {
		double passes = global / (double)(layout->micro_batch * layout->data_parallel);

		if (passes < 1)
			return false;
		layout->accumulation = (int64_t)(passes + 0.5);
	} else if (layout->pipeline_parallel > 1) {
		layout->accumulation = 8 * layout->pipeline_parallel; /* it is run full */
	}
	return true;
}

static void try_layout(struct train_search *search, struct layout *layout)
{
	const struct accelerator *card = search->request->cards[0];
	struct memory_estimate memory;
	struct speed_estimate speed;
	struct fabric fabric;

	if (!complete(search->row, layout))
		return;
	memory_estimate(&search->memory, layout, card, &memory);
	if (search->must_fit && memory.allocated_bytes > accelerator_memory_bytes(card))
		return;
	speed_row_fabric(search->row, card, layout, &fabric);
	speed_estimate(search->basis, layout, &fabric, &speed);
	if (search->found && speed.tokens_per_second <= search->speed.tokens_per_second)
		return;
	search->found = true;
	search->layout = *layout;
	search->speed = speed;
}

/* What a row says is the only choice; what it does not say doubles up to `most`. 0 is the end. */
static int next_degree(int64_t said, int value, int most)
{
	return said || value >= most ? 0 : 2 * value;
}

static void try_degrees(struct train_search *search)
{
	const struct layout *said = &search->request->layout;
	int stack = search->request->workload.stack;
	/* Stacks that shard do not split unless the row says so, llmq never does, and no encoder is
	 * large enough. */
	bool is_whole = row_has(search->row, "software_version", "llmq") ||
			search->request->architecture.modality == MODALITY_EMBEDDING;
	bool splits = stack == STACK_TORCHTITAN ? said->tensor_parallel > 0
						: stack == STACK_MEGATRON && !is_whole;
	bool has_experts = architecture_experts(&search->request->architecture) > 0;
	int expert_ways = has_experts && stack == STACK_MEGATRON ? 64 : 1;
	struct layout trial = *said;
	int t, p, c, e, m;

	for (t = said->tensor_parallel ? said->tensor_parallel : 1; t;
	     t = next_degree(said->tensor_parallel, t, splits ? 8 : 1))
		for (p = said->pipeline_parallel ? said->pipeline_parallel : 1; p;
		     p = next_degree(said->pipeline_parallel, p, splits ? 16 : 1))
			for (c = said->context_parallel ? said->context_parallel : 1; c;
			     c = next_degree(said->context_parallel, c, splits ? 8 : 1))
				for (e = said->expert_parallel ? said->expert_parallel : 1; e;
				     e = next_degree(said->expert_parallel, e, expert_ways))
					for (m = said->micro_batch ? (int)said->micro_batch : 1; m;
					     m = next_degree(said->micro_batch, m, 64)) {
						trial.tensor_parallel = t;
						trial.pipeline_parallel = p;
						trial.context_parallel = c;
						trial.expert_parallel = e;
						trial.micro_batch = m;
						try_layout(search, &trial);
					}
}

void speed_train_search(struct train_search *search)
{
	struct layout *layout = &search->request->layout;
	bool may_shard = search->request->workload.stack == STACK_HUGGINGFACE &&
			 !row_has(search->row, "notes", "DDP");
	/* llmq keeps in host memory what its flags say, and must where weights alone are too much.
	 */
	bool may_offload = row_has(search->row, "notes", "offload/recompute flags") ||
			   (row_has(search->row, "software_version", "llmq") &&
			    2 * (double)search->basis->parameters.total >
				    accelerator_memory_bytes(search->request->cards[0]));

	memory_prepare(&search->request->workload, &search->memory);
	search->must_fit = true;
	try_degrees(search);
	if (!search->found && may_shard) {
		layout->sharding = SHARDING_ZERO3;
		try_degrees(search);
	}
	while (!search->found && may_offload && layout->offload != OFFLOAD_PARAMETERS) {
		layout->offload =
			layout->offload == OFFLOAD_NONE ? OFFLOAD_OPTIMIZER : OFFLOAD_PARAMETERS;
		try_degrees(search);
	}
	search->must_fit = false;
	if (!search->found)
		try_degrees(search);
}
