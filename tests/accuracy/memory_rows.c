/*
 * Rows of memory.csv: each becomes a request, and the counter that the source read (allocated,
 * reserved, whole device, one term) is compared in its own unit.
 */
#include "tests/accuracy/memory_rows.h"

#include "tests/accuracy/audio_rows.h"

#include "core/memory.h"
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rows that no predictor can meet, by their own words. */
static enum skip excluded(const struct row *row)
{
	static const struct {
		const char *column, *word;
		enum skip reason;
	} rules[] = {
		{"quality", "claim", SKIP_CLAIM},
		{"metric", "estimate", SKIP_ESTIMATE},
		{"metric", "claim", SKIP_CLAIM},
		{"metric", "stated", SKIP_STATED_REQUIREMENT},
		{"metric", "requirement", SKIP_STATED_REQUIREMENT},
		{"metric", "theoretical minimum", SKIP_ESTIMATE},
		{"notes", "SUSPECT", SKIP_OWN_NOTE},
		{"notes", "probably swapped", SKIP_OWN_NOTE},
		{"notes", "pre-allocated cache", SKIP_CACHE_LAYOUT},
		{"notes", "activation reserve huge", SKIP_WRONG_PROFILING},
		{"notes", "before MLA", SKIP_BEFORE_LATENT},
		{"notes", "hybrid manager off", SKIP_WITHOUT_HYBRID_CACHE},
		{"metric", "hybrid manager off", SKIP_WITHOUT_HYBRID_CACHE},
		{"metric", "v0.20.0", SKIP_WITHOUT_HYBRID_CACHE},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (row_has(row, rules[i].column, rules[i].word))
			return rules[i].reason;
	return SKIP_NONE;
}

static double unit_bytes(const char *unit)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = {{"GiB", GIB}, {"MiB", MIB}, {"GB", GB}, {"G", GIB}, {"bytes", 1}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].bytes;
	return 0;
}

/* diffusers' pages and scripts print what torch allocated. */
static bool is_diffusers(const struct row *row)
{
	return row_has(row, "source", "huggingface/diffusers") ||
	       row_has(row, "source", "huggingface.co/blog");
}

/* Some sources print GiB or MiB under the name of GB or MB: facts/memory-notes.md 0. */
static double measured_bytes(const struct row *row)
{
	const char *unit = row_text(row, "measured_unit");
	double value = row_number(row, "measured_value", (double)NAN);

	if (strcmp(unit, "MB") == 0)
		return value * (row_has(row, "notes", "HF transformers") ? MIB
				: row_has(row, "metric", "torch")	 ? MIB
				: row_has(row, "metric", "nvidia-smi")	 ? MIB
									 : 1e6);
	if (strcmp(unit, "GB") == 0 &&
	    (row_has(row, "metric", "allocated after load") ||
	     strcmp(row_text(row, "metric"), "weights") == 0 || row_has(row, "notes", "GiB") ||
	     is_diffusers(row) || row_has(row, "source", "finetrainers") ||
	     row_has(row, "notes", "HF transformers (Qwen2") || row_has(row, "source", "vllm") ||
	     row_has(row, "notes", "vLLM") || row_has(row, "notes", "SGLang") ||
	     row_has(row, "source", "torchtitan") ||
	     row_has(row, "source", "docs/source/workflows/training.md")))
		return value * GIB;
	return value * unit_bytes(unit);
}

/* Batches of varying length: the pool grows beyond what is needed. */
static bool is_tuner_table(const struct row *row)
{
	return row_has(row, "notes", "dynamically padded") || row_has(row, "notes", "tuner table");
}

static bool is_padded(const struct row *row)
{
	return is_tuner_table(row) || row_has(row, "notes", "padded to longest") ||
	       row_has(row, "source", "unsloth@");
}

/* What an engine left to its cache, which depends on the card. */
static bool is_budget(const struct row *row)
{
	return !row_has(row, "metric", "KV self") &&
	       (row_has(row, "metric", "kv tokens") || row_has(row, "metric", "kv blocks") ||
		row_has(row, "metric", "KV cache") || row_has(row, "metric", "KV pool"));
}

/* The cache's counters, of one GPU; NAN where the row read another one. */
static double kv_counter(const struct row *row, const struct request *request,
			 const struct memory_basis *basis, const struct memory_estimate *memory)
{
	const char *metric = row_text(row, "metric");
	double budget;

	if (text_has(metric, "KV self"))
		return memory->kv_cache_bytes;
	if (!is_budget(row))
		return (double)NAN;
	budget = memory_kv_capacity(basis, &request->layout, request->cards[0]);
	/* Not one of the product's questions: taken at its default there. */
	budget *= (1 - text_number_after(row_text(row, "notes"), "VLLM_GRAPH_RESERVED_MEM ",
					 MEMORY_GAUDI_GRAPH_SHARE)) /
		  (1 - MEMORY_GAUDI_GRAPH_SHARE);
	if (text_has(metric, "kv tokens"))
		return budget / memory->kv_bytes_per_token;
	if (text_has(metric, "kv blocks"))
		return budget / memory->kv_bytes_per_token / text_number_after(metric, "(", 16);
	return budget;
}

/* One term or the sum that the counter names; NAN for a counter that is not known. */
static double term_counter(const struct row *row, const struct request *request,
			   const struct memory_estimate *memory)
{
	const char *metric = row_text(row, "metric");
	bool is_serving = request->workload.task == TASK_INFERENCE;
	bool is_made = is_serving && request->workload.architecture->media;
	double grown = is_padded(row) ? memory->pool_growth_bytes : 0;

	if (is_made && (text_has(metric, "after load")))
		return memory->weights_bytes + memory->text_encoders_bytes + memory->vae_bytes;
	/* torch's counters are named; the rest is what the driver showed. */
	if (text_has(metric, "memory used"))
		return memory->device_bytes;
	if (request->workload.architecture->media && !text_has(metric, "torch") &&
	    !text_has(metric, "alloc") && !text_has(metric, "reserved") &&
	    !text_has(metric, "memory_before"))
		return is_diffusers(row) ? memory->allocated_bytes : memory->device_bytes;
	if (text_has(metric, "memory_before"))
		return memory->reserved_bytes;
	if (text_has(metric, "weights") || text_has(metric, "file size") ||
	    text_has(metric, "engine size") || text_has(metric, "engine memory") ||
	    text_has(metric, "model buffer") || text_has(metric, "allocated after load"))
		return memory->weights_bytes;
	if (text_has(metric, "reserved"))
		return memory->reserved_bytes +
		       (is_tuner_table(row) ? memory->pool_growth_bytes : 0);
	if (text_has(metric, "allocated") || text_has(metric, "alloc") || text_has(metric, "torch"))
		return memory->allocated_bytes;
	if (text_has(metric, "nvidia-smi") || text_has(metric, "device memory") ||
	    strcmp(metric, "VRAM") == 0)
		return memory->device_bytes;
	if (text_has(metric, "runtime memory")) /* of the process: no card has a part in it */
		return memory->allocated_bytes;
	if (text_has(metric, "peak GPU memory"))
		return is_serving ? memory->allocated_bytes : memory->reserved_bytes + grown;
	if (text_has(metric, "profiled GPU memory"))
		return is_serving ? memory->reserved_bytes : memory->device_bytes;
	if (text_has(metric, "reported") || text_has(metric, "GPU memory") ||
	    strcmp(metric, "memory") == 0 || text_has(metric, "peak"))
		return memory->reserved_bytes;
	return (double)NAN;
}

/* The cache of latents and embeddings is made by the process that then trains. */
static double caching_bytes(const struct request *request)
{
	struct workload workload = request->workload;
	struct memory_basis basis;
	struct memory_estimate memory;

	workload.cached_latents = workload.cached_embeddings = false;
	memory_prepare(&workload, &basis);
	memory_estimate(&basis, &request->layout, NULL, &memory);
	return memory.text_encoders_bytes + memory.vae_bytes + memory.phase_bytes[MEDIA_ENCODE];
}

/* Quantised on the card after they were loaded whole, and the counter not reset in between. */
static double loading_bytes(const struct row *row, const struct request *request,
			    const struct memory_basis *basis)
{
	struct layout whole = request->layout;
	struct memory_estimate memory;

	if (row_has(row, "source", "finetrainers"))
		return caching_bytes(request);
	if (!row_has(row, "notes", "bf16-load") || !row_has(row, "metric", "peak"))
		return 0;
	whole.weight_format = FORMAT_BF16;
	memory_estimate(basis, &whole, NULL, &memory);
	return memory.weights_bytes + memory.text_encoders_bytes + memory.vae_bytes;
}

/* The figure that the row's counter read, in bytes (or in tokens for a count of them). */
static double counter(const struct row *row, const struct request *request,
		      const struct memory_basis *basis, const struct memory_estimate *memory)
{
	const char *metric = row_text(row, "metric");
	double ways =
		layout_gpus_per_replica(&request->layout) * (double)request->layout.data_parallel;
	double value = kv_counter(row, request, basis, memory);

	if (isfinite(value))
		return value;
	value = term_counter(row, request, memory);
	if (loading_bytes(row, request, basis) > value) /* not of a counter that is not known */
		value = loading_bytes(row, request, basis);
	/* torchao's size leaves the input embedding out. */
	if (text_has(metric, "weights_size") && row_has(row, "notes", "embedding is excluded"))
		value -= 2 * (double)basis->parameters.embedding;
	/* The Qwen3 table rises with the length by exactly the KV formula (facts/memory-notes.md
	 * 0): it was read after the run, not at the peak of the prefill. */
	if (row_has(row, "source", "speed_benchmark.md (Qwen3)"))
		value -= memory->activations_bytes;
	if (!row_has(row, "per", "total"))
		return value;
	/* Layers spread over GPUs: only the last one holds the prompt's logits. */
	if (request->layout.is_legacy_engine && ways > 1) {
		struct layout others = request->layout;
		struct memory_estimate other;

		others.is_legacy_engine = false;
		memory_estimate(basis, &others, request->cards_count ? request->cards[0] : NULL,
				&other);
		return value + (ways - 1) * other.allocated_bytes;
	}
	return value * ways;
}

static enum skip run_row(const struct row *row, struct request *request, struct result *result)
{
	bool is_audio = strcmp(row_text(row, "kind"), "audio") == 0;
	bool is_media = strncmp(row_text(row, "kind"), "diffusion", 9) == 0;
	bool is_made = strcmp(row_text(row, "kind"), "diffusion_infer") == 0;
	bool serving = is_audio || is_made || strncmp(row_text(row, "kind"), "serve", 5) == 0;
	struct memory_basis basis;
	struct memory_estimate memory;
	const char *unit = row_text(row, "measured_unit");
	enum skip reason = excluded(row);

	if (reason || (reason = is_media ? media_model(row, &request->architecture)
					 : request_architecture(row, &request->architecture)))
		return reason;
	/* litgpt gives every model an output head of its own. */
	if (row_has(row, "source", "litgpt"))
		request->architecture.tied_embeddings = false;
	reason = is_made    ? media_infer_request(row, request)
		 : is_media ? media_train_request(row, request)
		 : is_audio ? audio_memory_request(row, request)
		 : serving  ? memory_serving_request(row, request)
			    : memory_training_request(row, request);
	if (reason || (reason = request_complete(request)))
		return reason;
	if ((reason = request_cards(row_text(row, "gpu"), request)) &&
	    (is_budget(row) || row_has(row, "metric", "available KV")))
		return reason;
	memory_prepare(&request->workload, &basis);
	memory_estimate(&basis, &request->layout, request->cards_count ? request->cards[0] : NULL,
			&memory);
	if (!serving && request->cards_count &&
	    memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes >
		    accelerator_memory_bytes(request->cards[0]))
		return SKIP_STATES_EXCEED_CARD;
	result->predicted = counter(row, request, &basis, &memory);
	result->measured = strcmp(unit, "tokens") == 0 || strcmp(unit, "blocks") == 0
				   ? row_number(row, "measured_value", (double)NAN)
				   : measured_bytes(row);
	if (!isfinite(result->predicted))
		return SKIP_COUNTER_UNKNOWN;
	if (row_has(row, "metric", "available KV") &&
	    measured_bytes(row) < 0.02 * accelerator_memory_bytes(request->cards[0]))
		return SKIP_NOTHING_LEFT;
	if (!isfinite(result->measured) || result->measured <= 0)
		return SKIP_NO_VALUE;
	if (strcmp(unit, "tokens") != 0 && strcmp(unit, "blocks") != 0) {
		result->predicted /= GIB;
		result->measured /= GIB;
	}
	snprintf(result->terms, sizeof(result->terms),
		 "w %.2f m %.2f g %.2f o %.2f s %.2f a %.2f l %.2f kv %.2f ad %.2f c %.2f f %.2f | "
		 "%.2f "
		 "%.2f %.2f",
		 memory.weights_bytes / GIB, memory.master_weights_bytes / GIB,
		 memory.gradients_bytes / GIB, memory.optimizer_bytes / GIB,
		 memory.optimizer_step_bytes / GIB, memory.activations_bytes / GIB,
		 memory.logits_bytes / GIB, memory.kv_cache_bytes / GIB,
		 memory.adapters_bytes / GIB, memory.communication_bytes / GIB,
		 memory.framework_bytes / GIB, memory.allocated_bytes / GIB,
		 memory.reserved_bytes / GIB, memory.device_bytes / GIB);
	return SKIP_NONE;
}

enum skip memory_row_device(const struct row *row, double *device_bytes, double *usable_bytes)
{
	struct request request = {0};
	struct result result = {0};
	struct memory_basis basis;
	struct memory_estimate memory;
	enum skip reason = run_row(row, &request, &result);

	if (reason)
		return reason;
	if (!request.cards_count)
		return SKIP_CARD_NOT_STATED;
	memory_prepare(&request.workload, &basis);
	memory_estimate(&basis, &request.layout, request.cards[0], &memory);
	*device_bytes = memory.device_bytes;
	/* A label without a size is any of its parts. */
	*usable_bytes = 0;
	for (int i = 0; i < request.cards_count; i++)
		*usable_bytes = fmax(*usable_bytes, accelerator_memory_bytes(request.cards[i]));
	return SKIP_NONE;
}

const char *const memory_kinds[] = {"serve_weights",   "serve_kv",	 "train_full",
				    "train_lora",      "train_qlora",	 "audio",
				    "diffusion_infer", "diffusion_train"};
const size_t memory_kinds_count = sizeof(memory_kinds) / sizeof(memory_kinds[0]);

static void predict(struct result *result)
{
	struct request request = {0};
	enum skip reason = run_row(&result->row, &request, result);

	if (reason == SKIP_REFUSED)
		snprintf(result->terms, sizeof(result->terms), "%s", request.refusal);
	result_close(result, reason);
}

static void name_result(const struct row *row, const char *kind, struct result *result)
{
	result->table = RESULT_MEMORY;
	result->row = *row;
	result->predict = predict;
	result_set_kind(result, kind);
	snprintf(result->id, sizeof(result->id), "%s", row_text(row, "id"));
	snprintf(result->source, sizeof(result->source), "%s", row_text(row, "source"));
	snprintf(result->model, sizeof(result->model), "%s", row_text(row, "model"));
	snprintf(result->card, sizeof(result->card), "%s", row_text(row, "gpu"));
	snprintf(result->setting, sizeof(result->setting), "%s|%s|%s|%s|%s|%s|%s",
		 row_text(row, "model"), row_text(row, "parallelism"),
		 row_text(row, "weight_dtype"), row_text(row, "seq_len"),
		 row_text(row, "micro_batch_per_gpu"), row_text(row, "checkpointing"),
		 row_text(row, "metric"));
}

void memory_rows_run(const struct table *table, struct results *results)
{
	for (size_t k = 0; k < memory_kinds_count; k++)
		for (size_t i = 0; i < table->rows; i++) {
			struct row row = {table, i};
			struct result *result;

			if (strcmp(row_text(&row, "kind"), memory_kinds[k]) != 0)
				continue;
			result = results_add(results);
			name_result(&row, memory_kinds[k], result);
			predict(result);
		}
}
