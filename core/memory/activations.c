/*
 * Activations of training: what each layer leaves behind for the backward pass, and the working set
 * of the layer that is recomputed.
 *
 * Bytes a token, counted tensor by tensor in 16-bit arithmetic. With h the residual width, q, k, v
 * the widths of the projections and f the width of the MLP: a norm keeps its input, a linear layer
 * its input, attention q, k, v and its output, a gated MLP gate, up, activation and product; a
 * fused kernel recomputes the activation. A stack that does not fuse its norms keeps an fp32 copy
 * of the input too; a compiler recomputes what a norm put out. Korthikanti et al. (arXiv
 * 2205.05198) count 34 bytes an h for a fused GPT layer with dropout; so does this. A frozen layer
 * without an adapter keeps no linear input.
 */
#include "core/memory/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"
#include "core/units.h"

#include <math.h>

/* What a stack's own kernels keep. */
struct stack_habits {
	double norm_copy;   /* bytes an h and norm beyond the 16-bit input */
	double norm_output; /* bytes an h: the linear input behind a norm; 0 where it is recomputed
			     */
	double gated_tensors; /* f-wide tensors of a gated MLP */
	double plain_tensors; /* of a plain MLP */
	double repeated_kv;   /* 1: K and V are copied to all heads */
	double scores;	      /* bytes a score where the matrix is materialised */
	double selective;     /* share that selective recompute keeps */
	double dropout;	      /* mask bytes an h of a layer with a plain MLP */
	double logits;	      /* bytes a token and vocabulary entry, loss and gradients included */
	double logits_left;   /* the same that the pool keeps of what was freed on the way there */
	double fused_logits;  /* the same with a fused or compiled loss, in place of the logits */
};

/*
 * Hugging Face eager: fp32 norm input; silu, up and product apart; a logit is 2 B, its fp32 copy,
 * the log-softmax and the gradient 4 each: 14 alive at once (12 to 15 by torch's own counter in
 * fms-acceleration's tables of Mistral-7B and PowerLM-3b). The shifted copy's block is left in the
 * pool, where nothing else fits: 18 counted, 20 in Liger's benchmark. torchtitan: compiled, 8B at
 * 4,096 tokens: 46.6 GiB without and 28.0 with full recompute give 39 bytes an h, 37.4 with
 * per-operator recompute 0.5 of that (0.38 with those of 2025) (torchao's float8nocompile table).
 * Its compiled loss keeps 4 B a logit, as Liger's fused one does in place (facts/memory-notes.md
 * 3). Megatron: fused kernels, dropout masks in GPT-like models; core-attention recompute saves
 * nothing under fused attention (Megatron-Bridge's activation-recompute study).
 */
FITTED_TABLE struct stack_habits habits[STACKS] = {
	[STACK_HUGGINGFACE] = {2, 2, 4, 2, 1, 6, 1, 0, 14, 5, 4},
	[STACK_TORCHTITAN] = {0, 1, 4, 2, 0, 6, 0.38, 0, 20, 0, 4},
	[STACK_MEGATRON] = {0, 2, 3, 2, 0, 5, 1, 2, 8, 0, 6},
	[STACK_DEEPSPEED] = {2, 2, 4, 2, 1, 6, 1, 0, 14, 5, 4},
	[STACK_UNSLOTH] = {0, 2, 3, 2, 0, 6, 1, 0, 4, 0, 4},
};
FITTED_CELL(habits[STACK_TORCHTITAN].selective, 0.3, 0.7);
FITTED_CELL(habits[STACK_MEGATRON].logits, 4, 14);
FITTED_CELL(habits[STACK_UNSLOTH].logits, 2, 12);

/* Logits that never exist all at once (facts/memory-notes.md 3: Liger 0.054 MB a token at 128,256
 * entries, Apple's CCE next to nothing). */
#define CHUNKED_LOGIT_BYTES 0.5

/* Saved linear inputs in fp8 training (MLPerf 70B LoRA: 27.6 bytes an h instead of 34). */
#define FP8_INPUT_BYTES 1.0

/* Which linear inputs must be kept. */
struct kept_inputs {
	bool attention, output, mlp;
};

static struct kept_inputs kept_inputs(const struct workload *workload)
{
	if (workload->task != TASK_FINETUNE || !workload_base_is_frozen(workload))
		return (struct kept_inputs){true, true, true};
	if (workload->method != METHOD_LORA && workload->method != METHOD_QLORA)
		return (struct kept_inputs){false, false, false};
	switch ((enum lora_targets)workload->lora_targets) {
	case LORA_ATTENTION_QV:
		return (struct kept_inputs){true, false, false};
	case LORA_ATTENTION:
		return (struct kept_inputs){true, true, false};
	case LORA_MLP:
		return (struct kept_inputs){false, false, true};
	case LORA_ALL_LINEAR:
	case LORA_TARGETS:
	default:
		return (struct kept_inputs){true, true, true};
	}
}

static void attention_activation(const struct layer_kind *kind, const struct stack_habits *habit,
				 const struct workload *workload, double input,
				 struct memory_activation *out)
{
	double query = (double)kind->heads * kind->head_dim;
	double value = (double)kind->heads * layer_value_dim(kind);
	double keys = (double)kind->kv_heads * (kind->head_dim + layer_value_dim(kind));
	double blocks = kind->has_cross_attention ? 2 : 1;

	if (kind->attention == ATTENTION_LATENT) {
		query = (double)kind->heads * (kind->nope_dim + kind->rope_dim);
		keys = query + value;
		out->whole += (2 + input) * (kind->q_rank + kind->kv_rank + kind->rope_dim);
	} else if (kind->attention != ATTENTION_GROUPED) {
		return;
	} else if (habit->repeated_kv > 0 && kind->kv_heads < kind->heads) {
		keys += (query + value) * habit->repeated_kv;
	}
	out->split += blocks * (2 * (query + keys + value) + 4.0 * kind->heads);
	/* The output is the linear input of o as well; fp8 keeps a copy in its own type. */
	if (input < 2)
		out->split += blocks * input * value;
	/* Without dropout only the 16-bit softmax stays in fused kernels' unfused path. */
	if (!workload->fused_attention)
		out->scores += blocks * kind->heads *
			       (habit->dropout > 0 && kind->gated ? 2 : habit->scores);
}

static void mlp_activation(const struct layer_kind *kind, const struct stack_habits *habit,
			   double hidden, double input, bool keep_product,
			   struct memory_activation *out)
{
	double tensors = (kind->gated ? habit->gated_tensors : habit->plain_tensors) - 1;
	double width = (double)kind->ffn + kind->shared_ffn;
	double copies = kind->experts ? kind->experts_active : 0;

	out->split += (2 * tensors + (keep_product ? input : 0)) * (width + copies * kind->moe_ffn);
	/* Each routed copy of a token is an input; the weights of the sum are applied inside.  */
	out->whole += input * copies * hidden;
}

/*
 * DoRA scales a sum of the frozen output and the adapter's, and keeps both to learn the scale, the
 * second in fp32 (PEFT's comparison: DoRA over LoRA on q and v of Llama-3.2-3B, 2.2 GB at 3,072
 * tokens: 6.2 B an element of the targets' outputs).
 */
#define DORA_OUTPUT_BYTES 6.0

static double dora_outputs(const struct workload *workload, const struct kept_inputs *kept,
			   const struct layer_kind *kind)
{
	double hidden = workload->architecture->hidden, width = 0;
	double mlp =
		(double)kind->ffn + kind->shared_ffn + (double)kind->experts_active * kind->moe_ffn;

	if (workload->task != TASK_FINETUNE || !workload->dora)
		return 0;
	if (kept->attention)
		width += (double)kind->heads * kind->head_dim +
			 (double)kind->kv_heads * layer_value_dim(kind);
	if (kept->output)
		width += (double)kind->kv_heads * kind->head_dim + hidden;
	if (kept->mlp)
		width += (kind->gated ? 2 : 1) * mlp + hidden;
	return DORA_OUTPUT_BYTES * width;
}

/* State mixers (Mamba, GDN, ...): their parameters over h is the width of what they compute. */
FITTED(MIXER_TENSORS, 1.5, 1, 4);

/*
 * bitsandbytes keeps the input of every quantised layer, in a copy of its own where the compute
 * type differs: four inputs as wide as the residual stream and the product, at 2 to 4 bytes
 * (litgpt: QLoRA over LoRA of the same run, seven models: 2.9 MB a token for Llama-2-7B, 1.0 for
 * TinyLlama).
 */
FITTED(QUANTISED_INPUT_BYTES, 3.3, 2, 4);

static double quantised_inputs(const struct workload *workload, const struct layer_kind *kind)
{
	double width =
		(double)kind->ffn + kind->shared_ffn + (double)kind->experts_active * kind->moe_ffn;

	if (workload->task != TASK_FINETUNE || workload->method != METHOD_QLORA)
		return 0;
	return QUANTISED_INPUT_BYTES * (4.0 * workload->architecture->hidden + width);
}

/*
 * Adapters drop out a part of their input: a mask of one byte an element (recipes of PEFT and
 * litgpt use 0.05; Unsloth's fast path has none). Phi-3-mini over all linear layers at micro-batch
 * 4: 2.4 GiB that the inputs alone do not explain.
 */
#define DROPOUT_MASK_BYTES 1.0

static double dropout_masks(const struct workload *workload, const struct kept_inputs *kept,
			    const struct layer_kind *kind)
{
	double hidden = workload->architecture->hidden, width = 0;
	bool has_adapters = workload->task == TASK_FINETUNE &&
			    (workload->method == METHOD_LORA || workload->method == METHOD_QLORA);

	if (!has_adapters ||
	    (workload->stack != STACK_HUGGINGFACE && workload->stack != STACK_DEEPSPEED))
		return 0;
	if (kept->attention)
		width += hidden;
	if (kept->output)
		width += (double)kind->heads * layer_value_dim(kind);
	if (kept->mlp && (kind->ffn || kind->experts))
		width += hidden + (double)kind->ffn + kind->shared_ffn +
			 (double)kind->experts_active * kind->moe_ffn;
	return DROPOUT_MASK_BYTES * width;
}

static struct memory_activation layer_activation(const struct workload *workload,
						 const struct stack_habits *habit,
						 const struct layer_kind *kind)
{
	struct kept_inputs kept = kept_inputs(workload);
	struct memory_activation out = {0};
	double hidden = workload->architecture->hidden;
	double input = workload->precision == PRECISION_FP8 ? FP8_INPUT_BYTES : 2;
	double normed = smaller(habit->norm_output, input);
	bool has_mlp = kind->ffn || kind->experts;

	out.whole = hidden * (2 + habit->norm_copy) * layer_blocks(kind);
	if (kept.attention && (!has_mlp || layer_blocks(kind) == 2))
		out.whole += normed * hidden;
	if (kept.mlp && has_mlp)
		out.whole += normed * hidden;
	if (!kind->gated)
		out.whole += habit->dropout * hidden;
	attention_activation(kind, habit, workload, kept.output ? input : 2, &out);
	out.split += 2 * MIXER_TENSORS * (double)kind->mixer_parameters / hidden;
	mlp_activation(kind, habit, hidden, input, kept.mlp, &out);
	if (workload->stack != STACK_UNSLOTH)
		out.split += quantised_inputs(workload, kind);
	out.split += dropout_masks(workload, &kept, kind);
	out.split += dora_outputs(workload, &kept, kind);
	/* Two bottlenecks keep their input and both sides of their activation. */
	if (workload->task == TASK_FINETUNE && workload->method == METHOD_ADAPTER)
		out.whole += 2 * (2 * hidden + 4.0 * (double)workload->adapter_size);
	if (workload->precision == PRECISION_FP32) {
		out.whole *= 2;
		out.split *= 2;
	}
	return out;
}

/* Of a sequence's tokens a layer of an encoder-decoder sees those of its own side; cross-attention
 * keeps keys and values of the source, which has trained tokens in front of it too, and scores of
 * its tokens against those. */
static void on_its_side(const struct workload *workload, const struct layer_kind *kind,
			double source, struct memory_activation *one)
{
	double share = workload_token_share(workload, kind);
	double own = share * workload_sequence_tokens(workload);

	one->whole *= share;
	one->split *= share;
	one->scores *= share;
	if (!kind->has_cross_attention)
		return;
	one->split +=
		2.0 * kind->kv_heads * (kind->head_dim + layer_value_dim(kind)) * (1 - 2 * share);
	one->scores *= (own + source) / (2 * source);
}

static double logit_bytes(const struct workload *workload, const struct stack_habits *habit)
{
	switch ((enum cross_entropy)workload->cross_entropy) {
	case CROSS_ENTROPY_FUSED:
		return habit->fused_logits;
	case CROSS_ENTROPY_CHUNKED:
		return CHUNKED_LOGIT_BYTES;
	case CROSS_ENTROPY_PLAIN:
	case CROSS_ENTROPIES:
	default:
		return habit->logits;
	}
}

void memory_prepare_activations(const struct workload *workload, struct memory_basis *basis)
{
	const struct architecture *architecture = workload->architecture;
	const struct stack_habits *habit = &habits[workload->stack];
	double passed = 0;

	basis->context = (double)workload->sequence_length;
	basis->sequence_tokens = workload_sequence_tokens(workload);
	if (workload->task == TASK_FINETUNE && workload->method == METHOD_PROMPT) {
		basis->context += (double)workload->prefix_tokens;
		basis->sequence_tokens += (double)workload->prefix_tokens;
	}
	basis->selective = habit->selective;
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		struct memory_activation one = layer_activation(workload, habit, kind);

		on_its_side(workload, kind, basis->context, &one);
		passed += kind->count * workload_token_share(workload, kind);
		basis->saved.whole += kind->count * one.whole;
		basis->saved.split += kind->count * one.split;
		basis->saved.scores += kind->count * one.scores;
		basis->kinds[i] = one;
	}
	basis->boundary_bytes = (workload->precision == PRECISION_FP32 ? 4.0 : 2.0) *
				architecture->hidden * passed / basis->layers;
	basis->logits_bytes = workload_scored_share(workload) * logit_bytes(workload, habit) *
			      architecture->vocab;
	if (workload->cross_entropy == CROSS_ENTROPY_PLAIN)
		basis->logits_left = habit->logits_left / habit->logits;
}

static double score_bytes(const struct memory_activation *one, const struct layout *layout,
			  double context)
{
	return one->scores * context / layout->tensor_parallel;
}

static double activation_bytes(const struct memory_activation *one, const struct layout *layout,
			       double context, bool with_scores)
{
	double tensor = layout->tensor_parallel;

	return one->whole / (layout->sequence_parallel ? tensor : 1) + one->split / tensor +
	       (with_scores ? score_bytes(one, layout, context) : 0);
}

/* The layer that leaves most. Which one depends on the layout: tensor parallelism splits some more.
 */
static const struct memory_activation *largest_layer(const struct memory_basis *basis,
						     const struct layout *layout)
{
	const struct memory_activation *largest = &basis->kinds[0];
	double most = 0;

	for (int i = 0; i < basis->workload->architecture->kinds_count; i++) {
		double bytes = activation_bytes(&basis->kinds[i], layout, basis->context, true);

		if (bytes > most) {
			most = bytes;
			largest = &basis->kinds[i];
		}
	}
	return largest;
}

void memory_training_activations(const struct memory_basis *basis, const struct layout *layout,
				 struct memory_flow *out)
{
	const struct memory_activation *largest = largest_layer(basis, layout);
	double tensor = layout->tensor_parallel, stages = layout->pipeline_parallel;
	double tokens =
		(double)layout->micro_batch * basis->sequence_tokens / layout->context_parallel;
	/* 1F1B: the first stage holds as many micro-batches as there are stages, if there are as
	 * many; the last one a single one. */
	double in_flight = smaller(stages, larger(1, (double)layout->accumulation));
	double first, last = 1 / stages;
	double all;

	/* Hugging Face's device map runs one micro-batch through all GPUs at a time. */
	if (basis->workload->stack == STACK_HUGGINGFACE)
		in_flight = 1;
	/* An interleaved schedule warms up with more of them (Megatron-LM's
	 * theoretical_memory_usage.py). */
	if (basis->workload->pipeline_chunks > 1 && in_flight >= stages)
		in_flight += (stages - 1) / (double)basis->workload->pipeline_chunks;
	first = in_flight / stages;
	out->last_saved = 0;
	if (layout->recompute == RECOMPUTE_FULL) {
		all = tokens * basis->boundary_bytes * basis->layers /
		      (layout->sequence_parallel ? tensor : 1);
		if (memory_is_upcast(basis->workload, layout->weight_format))
			all *= 2;
		out->working = tokens * activation_bytes(largest, layout, basis->context, true);
		/* Unsloth sends layer inputs to the host (its tables: 0.41 MB a token at 70B, not
		 * the 1.3 of the inputs). */
		if (basis->workload->stack == STACK_UNSLOTH)
			all = 0;
	} else {
		bool is_selective = layout->recompute == RECOMPUTE_SELECTIVE;

		all = tokens *
		      activation_bytes(&basis->saved, layout, basis->context, !is_selective);
		if (is_selective)
			all *= basis->selective;
		/* Gradients that flow through the layer at hand, whose scores are made again where
		 * they were not kept. */
		out->working =
			tokens *
			(activation_bytes(largest, layout, basis->context, false) / 4 +
			 score_bytes(largest, layout, basis->context) * (is_selective ? 1 : 0.25));
		out->last_saved = tokens *
				  activation_bytes(largest, layout, basis->context, !is_selective) *
				  (is_selective ? basis->selective : 1);
	}
	out->saved_first = all * first;
	out->saved_last = all * last;
	out->logits = tokens * basis->logits_bytes / tensor;
}
