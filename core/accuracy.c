/* Accuracy: see accuracy.h. */
#include "core/accuracy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct accuracy accuracy_table[] = {
#include "core/data/accuracy.inc"
};

const size_t accuracy_count = sizeof(accuracy_table) / sizeof(accuracy_table[0]);

const struct accuracy *accuracy_find(const char *kind)
{
	for (size_t i = 0; i < accuracy_count; i++)
		if (strcmp(accuracy_table[i].kind, kind) == 0)
			return &accuracy_table[i];
	return NULL;
}

/* Adapters and prefixes have no measurements of their own: they are LoRA with another adapter. */
static const char *finetuning_kind(const struct workload *workload, const char *full,
				   const char *lora, const char *qlora)
{
	if (workload->method == METHOD_FULL)
		return full;
	return workload->method == METHOD_QLORA ? qlora : lora;
}

/* Speech and music by a model of tokens. */
static bool is_of_sound(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE &&
	       workload->architecture->modality == MODALITY_AUDIO && !workload->architecture->media;
}

static const struct accuracy *known(const char *kind)
{
	const struct accuracy *accuracy = accuracy_find(kind);

	assert(accuracy);
	return accuracy;
}

const struct accuracy *accuracy_of_memory(const struct workload *workload)
{
	if (workload->architecture->media)
		return known(workload->task == TASK_INFERENCE ? "diffusion_infer_memory"
							      : "diffusion_train");
	if (is_of_sound(workload))
		return known("audio_memory");
	if (workload->task == TASK_INFERENCE)
		return known("serve_kv");
	return known(finetuning_kind(workload, "train_full", "train_lora", "train_qlora"));
}

const struct accuracy *accuracy_of_speed(const struct workload *workload)
{
	if (workload->architecture->media && workload->task != TASK_INFERENCE)
		return known("diffusion_train_speed");
	if (workload->architecture->media)
		return known(workload->architecture->modality == MODALITY_VIDEO
				     ? "diffusion_video"
				     : "diffusion_infer_speed");
	if (is_of_sound(workload))
		return known("audio_speed");
	/* What only reads is all prefill. */
	if (workload_only_reads(workload))
		return known("serve_prefill");
	if (workload->task == TASK_INFERENCE)
		return known("serve_throughput");
	if (workload->task == TASK_PRETRAIN)
		return known("pretrain");
	return known(finetuning_kind(workload, "finetune_full", "finetune_lora", "finetune_qlora"));
}
