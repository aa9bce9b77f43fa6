/* Training rows of memory.csv: stack, precision, layout and adapters from their columns. */
#include "tests/accuracy/memory_rows.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Qwen's finetune_lora_single_gpu.sh, whose trainer names DeepSpeed, takes it for fp16 only. */
static bool is_plain_trainer(const struct row *row)
{
	return row_has(row, "optim_dtype_notes", "DeepSpeed/HF Trainer") &&
	       row_count(row, "gpus", 1) <= 1 && row_has(row, "kind", "train_lora");
}

/* Software that a source's runs use, as the stack that has its habits. */
static enum stack stack_of(const struct row *row)
{
	static const struct {
		const char *column, *word;
		enum stack stack;
	} words[] = {
		{"notes", "unsloth", STACK_UNSLOTH},
		{"source", "torchtitan", STACK_TORCHTITAN},
		{"source", "torchtune", STACK_TORCHTITAN},
		{"source", "litgpt", STACK_HUGGINGFACE},
		{"source", "pytorch/ao", STACK_TORCHTITAN},
		{"source", "Megatron", STACK_MEGATRON},
		{"source", "mlcommons", STACK_MEGATRON},
		{"source", "bigscience", STACK_DEEPSPEED},
		{"source", "NeMo", STACK_MEGATRON},
		{"parallelism", "zero", STACK_DEEPSPEED},
		{"optim_dtype_notes", "DeepSpeed", STACK_DEEPSPEED},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row_has(row, words[i].column, words[i].word) && !is_plain_trainer(row))
			return words[i].stack;
	return STACK_HUGGINGFACE;
}

static enum precision precision_of(const struct row *row, enum stack stack)
{
	if (row_has(row, "weight_dtype", "fp32 params"))
		return PRECISION_AMP_BF16;
	if (stack == STACK_MEGATRON)
		return row_has(row, "weight_dtype", "fp8") ? PRECISION_FP8 : PRECISION_BF16_MASTER;
	if (stack == STACK_DEEPSPEED)
		return row_has(row, "weight_dtype", "fp16") ? PRECISION_AMP_FP16
							    : PRECISION_BF16_MASTER;
	/* HF's trainer over a bitsandbytes base: mixed precision. */
	if (row_has(row, "weight_dtype", "(bnb)"))
		return PRECISION_AMP_BF16;
	if (strncmp(row_text(row, "weight_dtype"), "fp32", 4) == 0)
		return PRECISION_FP32;
	return PRECISION_BF16;
}

static enum optimizer optimizer_of(const char *text)
{
	static const struct {
		const char *word;
		enum optimizer optimizer;
	} words[] = {
		{"paged_adamw8bit", OPTIMIZER_PAGED_ADAMW_8BIT},
		{"paged_adamw", OPTIMIZER_PAGED_ADAMW},
		{"8bit", OPTIMIZER_ADAMW_8BIT},
		{"8-bit", OPTIMIZER_ADAMW_8BIT},
		{"4-bit", OPTIMIZER_ADAMW_4BIT},
		{"4bit", OPTIMIZER_ADAMW_4BIT},
		{"adafactor", OPTIMIZER_ADAFACTOR},
		{"lion", OPTIMIZER_LION},
		{"muon", OPTIMIZER_MUON},
		{"momentum", OPTIMIZER_SGD_MOMENTUM},
		{"sgd", OPTIMIZER_SGD},
		{"galore", OPTIMIZER_GALORE_ADAMW},
		{"adam", OPTIMIZER_ADAMW},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_has(text, words[i].word))
			return words[i].optimizer;
	return text[0] ? OPTIMIZERS : OPTIMIZER_ADAMW;
}

static enum lora_targets targets_of(const struct row *row)
{
	static const char *const everything[] = {"all", "mlp", "gate", "w1", "fc1"};
	static const char *const attention[] = {"qkv", "c_attn", "q,k,v", "proj"};
	const char *text = row_text(row, "lora_targets");

	for (size_t i = 0; i < sizeof(everything) / sizeof(everything[0]); i++)
		if (text_has(text, everything[i]))
			return LORA_ALL_LINEAR;
	for (size_t i = 0; i < sizeof(attention) / sizeof(attention[0]); i++)
		if (text_has(text, attention[i]) && !text_has(text, "q_proj,v_proj"))
			return LORA_ATTENTION;
	return LORA_ATTENTION_QV;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strcasestr(text, word); at; at = strcasestr(at + 1, word))
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[length]))
			return true;
	return false;
}

/* Tuners and methods that the product does not offer. */
static enum skip unsupported(const struct row *row)
{
	static const char *const words[] = {
		"lisa",	       "lisa_2",   "lisa_4",
		"longlora",    "boft",	   "ia3",
		"osf",	       "prompt",   "prefix",
		"badam",       "llamapro", "vera",
		"adalora",     "loha",	   "lokr",
		"hra",	       "DPO",	   "KTO",
		"SimPO",       "ORPO",	   "PPO",
		"GRPO",	       "aqlm",	   "apollo",
		"loftq",       "pissa",	   "ln_tuning",
		"shira",       "c3a",	   "oft",
		"bone",	       "miss",	   "randlora",
		"neftune",     "reft",	   "fourierft",
		"roadtest",    "waveft",   "trainable_tokens",
		"gralora",     "delora",   "psoft",
		"lily",	       "unsloth",  "Q-APOLLO",
		"apollo-mini",
	};
	const char *notes = row_text(row, "notes");

	if (strstr(notes,
		   "7B model (section says")) /* ColossalChat's SFT rows name PPO in passing */
		return SKIP_NONE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_word(row_text(row, "optimizer"), words[i]) ||
		    (has_word(notes, words[i]) && !row_has(row, "kind", "qlora") &&
		     !(strcmp(words[i], "unsloth") == 0)))
			return SKIP_METHOD;
	return SKIP_NONE;
}

static enum skip recompute_of(const struct row *row, struct layout *layout)
{
	const char *text = row_text(row, "checkpointing");

	if (text_has(text, "full") || strcmp(text, "y") == 0)
		layout->recompute = RECOMPUTE_FULL;
	else if (text_has(text, "selective") && (!row_has(row, "notes", "recompute modules") ||
						 row_has(row, "notes", "core_attn")))
		layout->recompute = RECOMPUTE_SELECTIVE;
	else if (text_has(text, "selective"))
		layout->recompute = RECOMPUTE_NONE; /* attention scores are kept */
	else if (text_has(text, "none") || strcmp(text, "n") == 0)
		layout->recompute = RECOMPUTE_NONE;
	else
		return SKIP_RECOMPUTE_NOT_STATED;
	return SKIP_NONE;
}

static enum skip length_of(const struct row *row, int64_t *out)
{
	*out = row_count(row, "seq_len", 0);
	if (*out <= 0)
		return SKIP_LENGTH_NOT_STATED;
	/* The peak follows the longest sample, which the column does not tell for short ones. */
	if (row_has(row, "notes", "dataset matters") || row_has(row, "notes", "short, unpacked") ||
	    (row_has(row, "source", "unsloth@") && row_has(row, "notes", " on ")))
		return SKIP_LENGTH_IS_A_LIMIT;
	return SKIP_NONE;
}

/* Runs whose peak the columns do not describe. */
static enum skip not_described(const struct row *row)
{
	if (row_has(row, "notes", "enlarged vocab"))
		return SKIP_OTHER_VOCABULARY;
	if (row_has(row, "notes", "Llama3-V"))
		return SKIP_IMAGES_NOT_STATED;
	if (row_has(row, "source", "litgpt") && row_has(row, "parallelism", "fsdp"))
		return SKIP_LOADED_WHOLE;
	if (row_has(row, "notes", "GPU 0 of"))
		return SKIP_EMPTIER_GPU;
	if (row_count(row, "gpus", 0) > 1 && row_has(row, "source", "litgpt") &&
	    row_has(row, "source", "config_hub"))
		return SKIP_ONE_GPU_OF_MANY;
	return SKIP_NONE;
}

static enum skip training_layout(const struct row *row, struct layout *layout)
{
	double gpus = row_count(row, "gpus", 0);
	enum skip reason;

	if ((reason = recompute_of(row, layout)) ||
	    (reason = request_parallelism(row_text(row, "parallelism"), gpus, layout)))
		return reason;
	if (row_number(row, "micro_batch_per_gpu", 0) <= 0)
		return SKIP_MICRO_BATCH_NOT_STATED;
	layout->micro_batch = row_count(row, "micro_batch_per_gpu", 1);
	/* A recipe that does not say accumulates: so do the defaults of the tools. */
	layout->accumulation = row_count(row, "grad_accum", 16);
	/* Megatron-Bridge always runs the distributed optimizer. */
	if (row_has(row, "optim_dtype_notes", "distributed optimizer") ||
	    (row_has(row, "source", "Megatron-Bridge") && layout->sharding == SHARDING_NONE))
		layout->sharding = SHARDING_ZERO1;
	if (gpus <= 0 && layout->sharding != SHARDING_NONE)
		return SKIP_GPUS_NOT_STATED;
	/* torchtitan always splits the residual stream, and a local batch into one micro-batch a
	 * stage. */
	if (stack_of(row) == STACK_TORCHTITAN && layout->tensor_parallel > 1)
		layout->sequence_parallel = true;
	if (stack_of(row) == STACK_TORCHTITAN && layout->pipeline_parallel > 1) {
		layout->accumulation = layout->pipeline_parallel;
		layout->micro_batch =
			(layout->micro_batch + layout->accumulation - 1) / layout->accumulation;
	}
	return SKIP_NONE;
}

static enum skip adapter_request(const struct row *row, bool is_qlora, struct request *request)
{
	struct workload *workload = &request->workload;
	struct layout *layout = &request->layout;

	workload->lora_rank = row_count(row, "lora_rank", 8);
	workload->lora_targets = (int)targets_of(row);
	workload->dora = row_has(row, "notes", "dora");
	workload->train_embeddings = row_has(row, "lora_targets", "lm_head fully trained");
	workload->given |= WORKLOAD_BIT(WORKLOAD_lora_rank) | WORKLOAD_BIT(WORKLOAD_lora_targets) |
			   WORKLOAD_BIT(WORKLOAD_dora) | WORKLOAD_BIT(WORKLOAD_train_embeddings);
	layout->weight_format = request_format(row_text(row, "weight_dtype"));
	if (layout->weight_format == FORMAT_AUTO)
		return SKIP_BASE_FORMAT_NOT_STATED;
	/* torchao's NF4 tensors quantise their scales too. */
	if (layout->weight_format == FORMAT_NF4 && row_has(row, "source", "torchtune"))
		layout->weight_format = FORMAT_NF4_DQ;
	/* An 8-bit base is LoRA in the product's words. */
	if (is_qlora && format_facts(layout->weight_format)->linear_bits >= 8)
		workload->method = METHOD_LORA;
	workload->base_format = (int)layout->weight_format;
	workload->given |= WORKLOAD_BIT(WORKLOAD_base_format);
	return SKIP_NONE;
}

enum skip memory_training_request(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	struct layout *layout = &request->layout;
	bool is_full = strcmp(row_text(row, "kind"), "train_full") == 0;
	bool is_qlora = strcmp(row_text(row, "kind"), "train_qlora") == 0;
	double chunks = text_number_after(row_text(row, "parallelism"), "vpp=", 0);
	enum skip reason;

	if ((reason = length_of(row, &workload->sequence_length)) || (reason = unsupported(row)) ||
	    (reason = not_described(row)) || (reason = training_layout(row, layout)))
		return reason;
	workload->task = TASK_FINETUNE;
	workload->method = is_full ? METHOD_FULL : is_qlora ? METHOD_QLORA : METHOD_LORA;
	workload->stack = (int)stack_of(row);
	workload->precision = (int)precision_of(row, (enum stack)workload->stack);
	workload->optimizer = (int)optimizer_of(row_text(row, "optimizer"));
	if (workload->optimizer == OPTIMIZERS)
		return SKIP_OPTIMIZER;
	workload->fused_attention = !row_has(row, "flash_attention", "n");
	if (row_has(row, "notes", "optimizer-in-backward")) {
		workload->optimizer_in_backward = true;
		workload->given |= WORKLOAD_BIT(WORKLOAD_optimizer_in_backward);
	}
	if (chunks > 1) {
		workload->pipeline_chunks = (int64_t)chunks;
		workload->given |= WORKLOAD_BIT(WORKLOAD_pipeline_chunks);
	}
	workload->given |= WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_method) |
			   WORKLOAD_BIT(WORKLOAD_stack) | WORKLOAD_BIT(WORKLOAD_precision) |
			   WORKLOAD_BIT(WORKLOAD_optimizer) |
			   WORKLOAD_BIT(WORKLOAD_sequence_length) |
			   WORKLOAD_BIT(WORKLOAD_fused_attention);
	layout->weight_format = layout->kv_format = FORMAT_BF16;
	/* The loss was compiled from 2025 on. */
	if (row_has(row, "source", "202412") || row_has(row, "source", "(2024")) {
		workload->cross_entropy = CROSS_ENTROPY_PLAIN;
		workload->given |= WORKLOAD_BIT(WORKLOAD_cross_entropy);
	}
	return is_full ? SKIP_NONE : adapter_request(row, is_qlora, request);
}
