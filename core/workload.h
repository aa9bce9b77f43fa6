/*
 * Workload: what the caller wants to run.
 *
 * One table, WORKLOAD_FIELDS, describes every scalar field of a workload: its JSON name, where it
 * lives, what it may be and which tasks take it. The JSON decoder, validation, the normalised
 * workload of an answer and the OpenAPI check all read that table, so a field cannot exist in one
 * place only. The model is decoded apart (server/json) and arrives as an architecture.
 *
 * `given` has one bit a field: the caller named it. workload_complete() fills the rest with the
 * defaults of the task and of the stack (facts/memory-notes.md 1) and leaves their bits clear, so
 * that an answer can mark them.
 */
#ifndef CORE_WORKLOAD_H
#define CORE_WORKLOAD_H

#include "core/architecture.h"
#include "core/error.h"
#include "core/format.h"
#include "core/media.h"
#include "core/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum task { TASK_PRETRAIN, TASK_FINETUNE, TASK_INFERENCE, TASKS };
enum method {
	METHOD_FULL,
	METHOD_LORA,
	METHOD_QLORA,
	METHOD_ADAPTER,
	METHOD_PREFIX,	   /* trained keys and values before those of every layer */
	METHOD_PROMPT,	   /* trained embeddings before those of the input */
	METHOD_DREAMBOOTH, /* of a pipeline: full, on pictures of one subject and of its class */
	METHOD_TEXTUAL_INVERSION, /* of a pipeline: embeddings of new words */
	METHODS
};
enum stack {
	STACK_HUGGINGFACE,
	STACK_TORCHTITAN,
	STACK_MEGATRON,
	STACK_DEEPSPEED,
	STACK_UNSLOTH,
	STACKS
};
enum optimizer {
	OPTIMIZER_ADAMW, /* fp32 states, or the parameters' type in pure bf16 */
	OPTIMIZER_ADAMW_8BIT,
	OPTIMIZER_PAGED_ADAMW_8BIT, /* states move to host memory under pressure */
	OPTIMIZER_PAGED_ADAMW,
	OPTIMIZER_ADAMW_4BIT,
	OPTIMIZER_ADAFACTOR,
	OPTIMIZER_SGD,
	OPTIMIZER_SGD_MOMENTUM,
	OPTIMIZER_LION,
	OPTIMIZER_MUON,
	OPTIMIZER_ADAMW_FP32,	/* fp32 states whatever the parameters are kept in */
	OPTIMIZER_ADAMW_BF16,	/* bf16 states whatever the parameters are kept in */
	OPTIMIZER_GALORE_ADAMW, /* states of gradients projected to a low rank */
	OPTIMIZERS
};
/* What is kept per trained parameter and what arithmetic runs. */
enum precision {
	PRECISION_FP32,
	PRECISION_AMP_BF16, /* fp32 weights, gradients and states; bf16 copies while computing */
	PRECISION_AMP_FP16,
	PRECISION_BF16_MASTER, /* bf16 weights, fp32 gradients, fp32 master and states (Megatron) */
	PRECISION_BF16,	       /* everything in bf16 */
	PRECISION_FP8,	       /* as BF16_MASTER, linear layers computed in fp8 */
	PRECISIONS
};
/* In what gradients are accumulated and reduced. */
enum gradient_precision { GRADIENTS_FP32, GRADIENTS_HALF, GRADIENT_PRECISIONS };
/* Of the loss over the vocabulary: as written; fused or compiled, in place of the logits; or never
 * all logits at once. */
enum cross_entropy {
	CROSS_ENTROPY_PLAIN,
	CROSS_ENTROPY_FUSED,
	CROSS_ENTROPY_CHUNKED,
	CROSS_ENTROPIES
};
enum recompute { RECOMPUTE_AUTO, RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTES };
enum sharding {
	SHARDING_AUTO,
	SHARDING_NONE, /* plain data parallel */
	SHARDING_ZERO1,
	SHARDING_ZERO2,
	SHARDING_ZERO3,	 /* and FSDP full shard */
	SHARDING_HYBRID, /* full shard in the node, replicated across nodes */
	SHARDINGS
};
enum offload {
	OFFLOAD_AUTO,
	OFFLOAD_NONE,
	OFFLOAD_OPTIMIZER,  /* optimizer states in host memory */
	OFFLOAD_PARAMETERS, /* parameters and optimizer states */
	OFFLOADS
};
enum lora_targets { LORA_ATTENTION_QV, LORA_ATTENTION, LORA_MLP, LORA_ALL_LINEAR, LORA_TARGETS };
enum engine {
	ENGINE_VLLM,
	ENGINE_SGLANG,
	ENGINE_TENSORRT_LLM,
	ENGINE_TRANSFORMERS,
	ENGINE_LLAMA_CPP,
	ENGINE_CTRANSLATE2,
	ENGINES
};
/* Where the parts of a pipeline wait that are not at work: on the GPU; in host memory, whole parts
 * coming by turns, or groups of blocks, or matrix by matrix. */
enum media_offload {
	MEDIA_OFFLOAD_NONE,
	MEDIA_OFFLOAD_MODEL,
	MEDIA_OFFLOAD_GROUP,
	MEDIA_OFFLOAD_SEQUENTIAL,
	MEDIA_OFFLOADS
};
/* What runs a pipeline: PyTorch; or engines built ahead for one shape (TensorRT and its kin). */
enum media_engine { MEDIA_ENGINE_PYTORCH, MEDIA_ENGINE_TENSORRT, MEDIA_ENGINES };
/* Kernels of attention: those that run on Ampere too; or FlashAttention-3's, made for Hopper. */
enum attention_kernels { ATTENTION_KERNELS_FLASH2, ATTENTION_KERNELS_FLASH3, ATTENTION_KERNELS };
enum serving_mode { SERVING_INTERACTIVE, SERVING_BATCH, SERVING_MODES };

#define TASK_BIT(task) (1u << (task))
#define TRAINING (TASK_BIT(TASK_PRETRAIN) | TASK_BIT(TASK_FINETUNE))
#define FINETUNING TASK_BIT(TASK_FINETUNE)
#define SERVING TASK_BIT(TASK_INFERENCE)
#define EVERY_TASK (TRAINING | SERVING)

/*
 * kind, field (JSON name and member), name table (ENUM) or 0, least, most, tasks that take it where
 * the model is one of tokens, tasks where it is a pipeline (media.h)
 * ENUM members are int, COUNT int64_t, NUMBER double, FLAG bool.
 */
#define WORKLOAD_FIELDS(X)                                                                         \
	X(ENUM, task, &task_names, 0, 0, EVERY_TASK, EVERY_TASK)                                   \
	X(ENUM, method, &method_names, 0, 0, FINETUNING, FINETUNING)                               \
	X(ENUM, stack, &stack_names, 0, 0, TRAINING, TRAINING)                                     \
	X(COUNT, sequence_length, 0, 1, 1e8, TRAINING, 0)                                          \
	X(COUNT, target_length, 0, 1, 1e8, TRAINING, 0)                                            \
	X(NUMBER, total_tokens, 0, 1, 1e16, TRAINING, 0)                                           \
	X(NUMBER, tokens_per_epoch, 0, 1, 1e16, TRAINING, 0)                                       \
	X(NUMBER, examples, 0, 1, 1e13, TRAINING, TRAINING)                                        \
	X(NUMBER, epochs, 0, 1e-3, 1e5, TRAINING, TRAINING)                                        \
	X(COUNT, global_batch, 0, 1, 1e7, TRAINING, TRAINING)                                      \
	X(COUNT, micro_batch, 0, 1, 65536, TRAINING, TRAINING)                                     \
	X(ENUM, optimizer, &optimizer_names, 0, 0, TRAINING, TRAINING)                             \
	X(FLAG, optimizer_in_backward, 0, 0, 0, TRAINING, 0)                                       \
	X(COUNT, galore_rank, 0, 1, 65536, TRAINING, 0)                                            \
	X(ENUM, precision, &precision_names, 0, 0, TRAINING, TRAINING)                             \
	X(ENUM, gradient_precision, &gradient_precision_names, 0, 0, TRAINING, 0)                  \
	X(ENUM, recompute, &recompute_names, 0, 0, TRAINING, TRAINING)                             \
	X(ENUM, sharding, &sharding_names, 0, 0, TRAINING, EVERY_TASK)                             \
	X(ENUM, offload, &offload_names, 0, 0, TRAINING, TRAINING)                                 \
	X(FLAG, packing, 0, 0, 0, TRAINING, 0)                                                     \
	X(FLAG, fused_attention, 0, 0, 0, EVERY_TASK, EVERY_TASK)                                  \
	X(ENUM, cross_entropy, &cross_entropy_names, 0, 0, TRAINING, 0)                            \
	X(FLAG, fused_cross_entropy, 0, 0, 0, TRAINING,                                            \
	  0) /* before cross_entropy: 1.0 of the API */                                            \
	X(FLAG, sequence_parallel, 0, 0, 0, TRAINING, 0)                                           \
	X(COUNT, pipeline_chunks, 0, 1, 64, TRAINING, 0)                                           \
	X(COUNT, tensor_parallel, 0, 1, 64, EVERY_TASK, 0)                                         \
	X(COUNT, pipeline_parallel, 0, 1, 256, EVERY_TASK, 0)                                      \
	X(COUNT, context_parallel, 0, 1, 256, TRAINING, SERVING)                                   \
	X(COUNT, expert_parallel, 0, 1, 1024, TRAINING, 0)                                         \
	X(COUNT, lora_rank, 0, 1, 65536, FINETUNING | SERVING, FINETUNING | SERVING)               \
	X(ENUM, lora_targets, &lora_targets_names, 0, 0, FINETUNING, FINETUNING)                   \
	X(FLAG, dora, 0, 0, 0, FINETUNING, FINETUNING)                                             \
	X(FLAG, train_embeddings, 0, 0, 0, FINETUNING, 0)                                          \
	X(COUNT, adapter_size, 0, 1, 65536, FINETUNING, 0)                                         \
	X(COUNT, prefix_tokens, 0, 1, 65536, FINETUNING, 0)                                        \
	X(ENUM, base_format, &format_names, 0, 0, FINETUNING, FINETUNING)                          \
	X(NUMBER, dataset_gb, 0, 0, 1e9, TRAINING, TRAINING)                                       \
	X(NUMBER, bytes_per_token, 0, 0, 1e9, TRAINING, 0)                                         \
	X(NUMBER, samples_per_second, 0, 1e-9, 1e9, TRAINING, TRAINING)                            \
	X(NUMBER, checkpoint_gb, 0, 0, 1e9, TRAINING, TRAINING)                                    \
	X(NUMBER, checkpoint_interval_seconds, 0, 1, 1e8, TRAINING, TRAINING)                      \
	X(COUNT, sessions, 0, 1, 1e6, TRAINING, TRAINING)                                          \
	X(NUMBER, hours_per_day, 0, 0.05, 24, EVERY_TASK, EVERY_TASK)                              \
	X(FLAG, fault_tolerant, 0, 0, 0, EVERY_TASK, EVERY_TASK)                                   \
	X(COUNT, prompt_tokens, 0, 1, 1e8, SERVING, 0)                                             \
	X(COUNT, output_tokens, 0, 0, 1e8, SERVING, 0)                                             \
	X(COUNT, concurrency, 0, 1, 1e7, SERVING, 0)                                               \
	X(COUNT, mean_context, 0, 1, 1e8, SERVING, 0)                                              \
	X(NUMBER, requests_per_second, 0, 1e-9, 1e9, SERVING, 0)                                   \
	X(NUMBER, peak_requests_per_second, 0, 1e-9, 1e9, SERVING, 0)                              \
	X(COUNT, min_replicas, 0, 0, 1e6, SERVING, SERVING)                                        \
	X(NUMBER, requests, 0, 1, 1e15, SERVING, 0)                                                \
	X(NUMBER, max_ttft_seconds, 0, 0, 1e6, SERVING, 0)                                         \
	X(NUMBER, max_tpot_seconds, 0, 0, 1e6, SERVING, 0)                                         \
	X(ENUM, weight_format, &format_names, 0, 0, SERVING, SERVING)                              \
	X(ENUM, kv_format, &format_names, 0, 0, SERVING, 0)                                        \
	X(ENUM, mode, &serving_mode_names, 0, 0, SERVING, SERVING)                                 \
	X(ENUM, engine, &engine_names, 0, 0, SERVING, 0)                                           \
	X(NUMBER, gpu_memory_utilization, 0, 0.05, 1, SERVING, 0)                                  \
	X(COUNT, lora_adapters, 0, 0, 4096, SERVING, SERVING)                                      \
	X(FLAG, paged_kv, 0, 0, 0, SERVING, 0)                                                     \
	X(FLAG, chunked_prefill, 0, 0, 0, SERVING, 0)                                              \
	X(COUNT, images_per_request, 0, 0, 10000, SERVING, 0)                                      \
	X(NUMBER, audio_hours, 0, 1e-6, 1e12, SERVING, 0)                                          \
	X(COUNT, beams, 0, 1, 64, SERVING, 0)                                                      \
	X(FLAG, cuda_graphs, 0, 0, 0, SERVING, 0)                                                  \
	X(COUNT, width, 0, 16, 65536, SERVING, EVERY_TASK)                                         \
	X(COUNT, height, 0, 16, 65536, SERVING, EVERY_TASK)                                        \
	X(COUNT, frames, 0, 1, 100000, SERVING, EVERY_TASK)                                        \
	X(NUMBER, fps, 0, 0.1, 1000, 0, EVERY_TASK)                                                \
	X(NUMBER, seconds, 0, 0.01, 1e6, SERVING, EVERY_TASK)                                      \
	X(COUNT, steps, 0, 1, 10000, 0, SERVING)                                                   \
	X(COUNT, batch, 0, 1, 65536, 0, SERVING)                                                   \
	X(COUNT, guidance_passes, 0, 1, 4, 0, SERVING)                                             \
	X(FLAG, guidance_batched, 0, 0, 0, 0, SERVING)                                             \
	X(COUNT, reference_images, 0, 0, 16, 0, EVERY_TASK)                                        \
	X(FLAG, attention_slicing, 0, 0, 0, 0, SERVING)                                            \
	X(FLAG, compile, 0, 0, 0, 0, EVERY_TASK)                                                   \
	X(ENUM, media_engine, &media_engine_names, 0, 0, 0, SERVING)                               \
	X(ENUM, attention_kernels, &attention_kernels_names, 0, 0, 0, EVERY_TASK)                  \
	X(FLAG, vae_tiling, 0, 0, 0, 0, SERVING)                                                   \
	X(FLAG, vae_slicing, 0, 0, 0, 0, SERVING)                                                  \
	X(ENUM, media_offload, &media_offload_names, 0, 0, 0, SERVING)                             \
	X(FLAG, text_encoders_on_cpu, 0, 0, 0, 0, EVERY_TASK)                                      \
	X(ENUM, text_encoder_format, &format_names, 0, 0, 0, EVERY_TASK)                           \
	X(NUMBER, items, 0, 1, 1e15, 0, SERVING)                                                   \
	X(NUMBER, items_per_hour, 0, 1e-6, 1e12, 0, SERVING)                                       \
	X(NUMBER, max_item_seconds, 0, 0, 1e6, 0, SERVING)                                         \
	X(FLAG, cached_latents, 0, 0, 0, 0, TRAINING)                                              \
	X(FLAG, cached_embeddings, 0, 0, 0, 0, TRAINING)                                           \
	X(FLAG, ema, 0, 0, 0, 0, TRAINING)                                                         \
	X(FLAG, train_text_encoder, 0, 0, 0, 0, FINETUNING)                                        \
	X(FLAG, prior_preservation, 0, 0, 0, 0, FINETUNING)

enum workload_field_id {
#define X(kind, field, names, least, most, tasks, media) WORKLOAD_##field,
	WORKLOAD_FIELDS(X)
#undef X
		WORKLOAD_FIELD_COUNT
};

/* One bit a field. */
typedef unsigned __int128 workload_bits;
#define WORKLOAD_BIT(id) ((workload_bits)1 << (id))

#define WORKLOAD_TYPE_ENUM int
#define WORKLOAD_TYPE_COUNT int64_t
#define WORKLOAD_TYPE_NUMBER double
#define WORKLOAD_TYPE_FLAG bool

struct workload {
	const struct architecture *architecture;
	const char *model;	/* registry id, "config" or "parameters" */
	const char *checkpoint; /* the weights that were asked for; NULL = as `model` says */
#define X(kind, field, names, least, most, tasks, media) WORKLOAD_TYPE_##kind field;
	WORKLOAD_FIELDS(X)
#undef X
	workload_bits given; /* WORKLOAD_BIT(WORKLOAD_<field>): the caller said so */

	/* Derived by workload_complete(). */
	double tokens;	     /* training tokens in all; 0 = no amount of work given */
	double context;	     /* tokens resident a sequence: mean_context, or prompt + output */
	double full_context; /* prompt + output */
	double prompt;	     /* inference: prompt_tokens and those of pictures and sound */
	double media_tokens; /* of these, the latter */
	double tower_patches, tower_span; /* that a tower attends over, of one request; together */
	double passes; /* windows of sound that a request comes to, each decoded by itself; or 1 */
	double copies; /* sequences that decode one request: beams, or classifier-free guidance */
};

_Static_assert(WORKLOAD_FIELD_COUNT <= 128, "the given bits need a wider type");

enum field_kind { FIELD_ENUM, FIELD_COUNT, FIELD_NUMBER, FIELD_FLAG };

struct workload_field {
	const char *name;
	enum field_kind kind;
	size_t offset;
	const struct names *names;
	double least, most;
	unsigned tasks, media_tasks;
};

extern const struct workload_field workload_fields[WORKLOAD_FIELD_COUNT];

extern const struct names task_names, method_names, stack_names, optimizer_names, precision_names,
	gradient_precision_names, cross_entropy_names, recompute_names, sharding_names,
	offload_names, lora_targets_names, engine_names, serving_mode_names, media_offload_names,
	media_engine_names, attention_kernels_names;

static inline bool workload_has(const struct workload *workload, enum workload_field_id field)
{
	return workload->given >> field & 1u;
}

/*
 * Checks what the caller gave (ranges; fields that the task does not take; contradictions; formats
 * that the method cannot use) and fills what was not given. Every fault is one item whose pointer
 * is `prefix` + "/" + field ("/workload/epochs"). `architecture` and `given` must be set.
 */
bool workload_complete(struct workload *workload, const char *prefix, struct error *error);

/* The tasks that take a field, of the model in question. */
unsigned workload_field_tasks(const struct workload *workload, enum workload_field_id id);

/* Do its task, its method where it fine-tunes, and its model take the field? */
bool workload_takes(const struct workload *workload, enum workload_field_id field);

/* Tokens of the side that comes nearest to what the model was made for (what is heard has a length
 * of its own), and the field that decides it. */
struct workload_length {
	enum workload_field_id field;
	double tokens, most; /* most: 0 = not known */
};

/* Whether they are more than that. */
bool workload_is_beyond(const struct workload *workload, struct workload_length *out);

/* What is odd about a valid workload: items of `warnings`, with pointers as workload_complete()'s.
 */
void workload_warn(const struct workload *workload, const char *prefix, struct error *warnings);

/* The adapted methods keep the base frozen. */
bool workload_base_is_frozen(const struct workload *workload);

/* Inference that puts out no tokens: an encoder, or a decoder that is published to embed. */
bool workload_only_reads(const struct workload *workload);

/* Inference of a model of tokens that hears (Whisper) or speaks (MusicGen): what `seconds` are of.
 */
bool workload_hears(const struct workload *workload);
bool workload_speaks(const struct workload *workload);

/* It hears with an encoder, which takes all of a request: there is no prompt of text. */
bool workload_listens(const struct workload *workload);

/* Inference: whether the software that runs it can share one copy among GPUs: CTranslate2,
 * whisper.cpp and transformers' generators of sound cannot. */
bool workload_may_split(const struct workload *workload);

/* Seconds of sound that a request reads or makes; 0 where there is none. */
double workload_sound_seconds(const struct workload *workload);

/* People wait for its answers at a rate that does not end: it must always be there. */
bool workload_is_endpoint(const struct workload *workload);

/* What vLLM and SGLang have no code for: text-to-text encoder-decoders, encoders of images by
 * themselves, and some families of recurrent models. */
bool workload_needs_transformers(const struct workload *workload);

/* Training: tokens of one sequence, of an encoder-decoder on both sides. */
double workload_sequence_tokens(const struct workload *workload);

/* Of a pipeline: what one item measures: what is made, which is whole tokens and latents. */
void workload_media_size(const struct workload *workload, struct media_size *out);

/* Training: share of those tokens whose logits the loss needs. */
double workload_scored_share(const struct workload *workload);

/* Training: share of those tokens that pass a layer of this kind: its side's of an
 * encoder-decoder. */
double workload_token_share(const struct workload *workload, const struct layer_kind *kind);

#endif
