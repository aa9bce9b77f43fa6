/* Rows to requests: see request.h. */
#include "tests/accuracy/request.h"

#include "core/error.h"
#include "core/model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct layer_kind layer_from_columns(const struct row *row)
{
	double hidden = row_number(row, "hidden", 0), heads = row_number(row, "heads", 0);
	struct layer_kind kind = {
		.count = row_count(row, "layers", 0),
		.attention = ATTENTION_GROUPED,
		.heads = (int)heads,
		.kv_heads = (int)row_number(row, "kv_heads", heads),
		.head_dim = (int)row_number(row, "head_dim", heads > 0 ? hidden / heads : 0)};
	double experts = text_number_after(row_text(row, "notes"), "MoE ", 0);
	double active = text_number_after(row_text(row, "notes"), "top-", 0);

	kind.v_head_dim = kind.head_dim;
	kind.extra_parameters = (uint64_t)(2 * hidden);
	if (experts > 1 && active > 0) {
		kind.experts = (int)experts;
		kind.experts_active = (int)active;
		kind.moe_ffn = row_count(row, "ffn", 0);
	} else {
		kind.ffn = row_count(row, "ffn", 0);
	}
	return kind;
}

/* Columns do not say whether the MLP is gated and the embeddings tied: the total does. */
static void fit_total(struct architecture *architecture, double total)
{
	double best = (double)INFINITY;
	int choice = 0;

	for (int i = 0; i < 4; i++) {
		struct parameter_count count;
		double off;

		architecture->kinds[0].gated = i & 1;
		architecture->tied_embeddings = i & 2;
		architecture_count(architecture, &count);
		off = fabs((double)count.total - total);
		if (off < best) {
			best = off;
			choice = i;
		}
	}
	architecture->kinds[0].gated = choice & 1;
	architecture->tied_embeddings = choice & 2;
}

static enum skip architecture_from_columns(const struct row *row, struct architecture *out)
{
	double total = row_number(row, "params_total", 0);
	struct parameter_count count;

	if (row_number(row, "layers", 0) <= 0 || row_number(row, "hidden", 0) <= 0 ||
	    row_number(row, "heads", 0) <= 0 || row_number(row, "ffn", 0) <= 0 ||
	    row_number(row, "vocab", 0) <= 0)
		return SKIP_MODEL_NOT_GIVEN;
	*out = (struct architecture){.family = "columns",
				     .modality = MODALITY_TEXT,
				     .hidden = row_count(row, "hidden", 0),
				     .vocab = row_count(row, "vocab", 0),
				     .native_format = FORMAT_BF16,
				     .kinds_count = 1};
	out->kinds[0] = layer_from_columns(row);
	if (total > 0) {
		fit_total(out, total);
		architecture_count(out, &count);
		if (fabs((double)count.total / total - 1) > 0.08)
			return SKIP_MODEL_DOES_NOT_ADD_UP;
	} else {
		out->kinds[0].gated = row_has(row, "notes", "swiglu=True");
		out->tied_embeddings = !row_has(row, "notes", "untie-embeddings");
	}
	return SKIP_NONE;
}

/* Letters and digits in lower case: "Nemotron_3_Nano" is "nemotron3nano". */
static void plain_name(const char *text, char *out, size_t room)
{
	size_t length = 0;

	for (; *text && length + 1 < room; text++)
		if (isalnum((unsigned char)*text))
			out[length++] = (char)tolower((unsigned char)*text);
	out[length] = '\0';
}

/* Tables write "Mixtral-8x7B" for "mistralai/Mixtral-8x7B-v0.1": the one whose name begins so (or
 * does after its maker's) and whose parameters agree. */
static const struct model *find_short(const char *name, double total)
{
	const struct model *found = NULL;
	char wanted[96];
	double nearest = 0.04;

	plain_name(name, wanted, sizeof(wanted));
	if (total <= 0 || strlen(wanted) < 4)
		return NULL;
	for (size_t i = 0; i < models_count; i++) {
		const char *base = strrchr(models[i].id, '/');
		struct parameter_count count;
		char plain[96];
		double off;

		plain_name(base ? base + 1 : models[i].id, plain, sizeof(plain));
		if (!strstr(plain, wanted))
			continue;
		architecture_count(&models[i].architecture, &count);
		off = fabs((double)count.total / total - 1);
		if (off < nearest) {
			nearest = off;
			found = &models[i];
		}
	}
	return found;
}

/* The model that a note quotes ("model string Kimi-K2.5;") is nearer to what ran than the family in
 * the column. */
static const struct model *find_quoted(const struct row *row, double total)
{
	static const char mark[] = "model string ";
	const char *text = strstr(row_text(row, "notes"), mark);
	char name[96];

	if (!text)
		return NULL;
	text += sizeof(mark) - 1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ";"), text);
	return find_short(name, total);
}

enum skip request_architecture(const struct row *row, struct architecture *out)
{
	double total = row_number(row, "params_total", 0);
	const struct model *model = find_quoted(row, total);

	if (!model)
		model = model_find(row_text(row, "model"));
	if (!model)
		model = find_short(row_text(row, "model"), total);
	if (model) {
		struct parameter_count count;

		architecture_count(&model->architecture, &count);
		if (total <= 0 || fabs((double)count.total / total - 1) < 0.1) {
			*out = model->architecture;
			return SKIP_NONE;
		}
	}
	return architecture_from_columns(row, out);
}

/* By id, or by the shortest id that begins so: "meta-llama/Llama-3.3-70B" is its instruct model. */
enum skip request_model(const char *id, struct architecture *out)
{
	const struct model *model = model_find(id);

	for (size_t i = 0; !model && i < models_count; i++)
		if (strncasecmp(models[i].id, id, strlen(id)) == 0)
			model = &models[i];
	if (!model)
		return SKIP_MODEL_BY_NAME;
	*out = model->architecture;
	return SKIP_NONE;
}

/* Whether every word of the label begins a word of the name: "A100 SXM" is "A100 SXM4 80GB". */
static bool label_matches(const char *label, const char *name)
{
	char word[64];
	size_t length = 0;

	for (const char *at = label;; at++) {
		if (isalnum((unsigned char)*at) || *at == '.') {
			if (length + 1 < sizeof(word))
				word[length++] = *at;
			continue;
		}
		if (length) {
			const char *found = name;
			bool is_found = false;

			word[length] = '\0';
			while ((found = strcasestr(found, word))) {
				bool starts = found == name || !isalnum((unsigned char)found[-1]);
				char next = found[length];
				/* "H20" must not be "H200", nor "A100" an "A100X". */
				bool ends = !isalnum((unsigned char)next) ||
					    !isdigit((unsigned char)word[length - 1]);

				if (starts && ends)
					is_found = true;
				found++;
			}
			if (!is_found)
				return false;
			length = 0;
		}
		if (!*at)
			return true;
	}
}

/* Labels with remarks: the part before a parenthesis, a plus or a slash. */
enum skip request_cards(const char *label, struct request *request)
{
	char text[96];

	request->cards_count = 0;
	snprintf(text, sizeof(text), "%s", label);
	text[strcspn(text, "(+/")] = '\0';
	for (size_t end = strlen(text); end && text[end - 1] == ' ';)
		text[--end] = '\0';
	if (!text[0])
		return SKIP_CARD_NOT_STATED;
	for (size_t i = 0; i < accelerators_count; i++)
		if (strcmp(accelerators[i].name, label) == 0) {
			request->cards[0] = &accelerators[i];
			request->cards_count = 1;
			return SKIP_NONE;
		}
	for (size_t i = 0; i < accelerators_count && request->cards_count < CARDS_MAX; i++)
		if (label_matches(text, accelerators[i].name))
			request->cards[request->cards_count++] = &accelerators[i];
	return request->cards_count ? SKIP_NONE : SKIP_CARD_UNKNOWN;
}

enum format request_format(const char *text)
{
	static const struct {
		const char *word;
		enum format format;
	} words[] = {
		{"nf4-dq", FORMAT_NF4_DQ},
		{"nf4", FORMAT_NF4},
		{"nvfp4", FORMAT_NVFP4},
		{"mxfp4", FORMAT_MXFP4},
		{"fp4", FORMAT_FP4},
		{"awq", FORMAT_AWQ},
		{"gptq int4 g32", FORMAT_GPTQ_G32},
		{"gptq-int8", FORMAT_GPTQ_INT8},
		{"gptq int8", FORMAT_GPTQ_INT8},
		{"int8 (gptq)", FORMAT_GPTQ_INT8},
		{"gptq", FORMAT_GPTQ},
		{"int4 (bnb)", FORMAT_NF4},
		{"int4wo-64", FORMAT_INT4},
		{"int4", FORMAT_INT4},
		{"int8", FORMAT_INT8},
		{"8-bit", FORMAT_INT8},
		{"fp8", FORMAT_FP8},
		{"float8", FORMAT_FP8},
		{"bf16", FORMAT_BF16},
		{"fp16", FORMAT_FP16},
		{"fp32", FORMAT_FP32},
	};
	size_t longest = 0;
	enum format found = FORMAT_AUTO;

	/* GGUF names: "gguf Q4_K_M", "Q6_K". The longest one wins. */
	for (int i = FORMAT_AUTO + 1; i < FORMATS; i++) {
		const char *name = names_text(&format_names, i);

		if (format_is_gguf((enum format)i) && text_has(text, name) &&
		    strlen(name) > longest) {
			longest = strlen(name);
			found = (enum format)i;
		}
	}
	if (found != FORMAT_AUTO)
		return found;
	if (text_has(text, "gguf"))
		return text_has(text, "F16") ? FORMAT_FP16 : FORMAT_AUTO;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_has(text, words[i].word))
			return words[i].format;
	return FORMAT_AUTO;
}

#define DEGREE_MOST 1e6

static int degree(const char *text, const char *key, int fallback)
{
	double value = text_number_after(text, key, fallback);

	return value >= 1 && value <= DEGREE_MOST ? (int)value : fallback;
}

enum skip request_parallelism(const char *text, double gpus, struct layout *layout)
{
	int model;

	layout->tensor_parallel = degree(text, "tp=", 1);
	layout->pipeline_parallel = degree(text, "pp=", 1);
	layout->context_parallel = degree(text, "cp=", 1);
	layout->expert_parallel = degree(text, "ep=", 1);
	layout->expert_tensor_parallel = degree(text, "etp=", 0);
	layout->sequence_parallel = text_has(text, ",sp") || text_has(text, "sp=1");
	layout->sharding = SHARDING_NONE;
	if (text_has(text, "zero=1") || text_has(text, "dist-opt"))
		layout->sharding = SHARDING_ZERO1;
	if (text_has(text, "zero=2"))
		layout->sharding = SHARDING_ZERO2;
	if (text_has(text, "zero=3") || text_has(text, "fsdp") ||
	    text_has(text, "optim_grads_params"))
		layout->sharding = SHARDING_ZERO3;
	layout->offload = OFFLOAD_NONE;
	if (text_has(text, "cpu_offload"))
		layout->offload = text_has(text, "params") || text_has(text, "fsdp")
					  ? OFFLOAD_PARAMETERS
					  : OFFLOAD_OPTIMIZER;
	if (text_has(text, "naive pipeline"))
		layout->pipeline_parallel = (int)gpus;
	model = layout->tensor_parallel * layout->pipeline_parallel * layout->context_parallel;
	layout->data_parallel = degree(text, "dp=", degree(text, "fsdp=", 0));
	if (!layout->data_parallel) {
		if (gpus <= 0)
			gpus = model;
		if (fmod(gpus, model) > 0)
			return SKIP_ODD_DEGREES;
		layout->data_parallel = (int)gpus / model;
	}
	layout->gpus_per_node = model * layout->data_parallel;
	layout->nodes = 1;
	if (layout->gpus_per_node > 8 && layout->gpus_per_node % 8 == 0) {
		layout->nodes = layout->gpus_per_node / 8;
		layout->gpus_per_node = 8;
	}
	layout->micro_batch = layout->accumulation = 1;
	layout->replicas = 1;
	return SKIP_NONE;
}

enum skip request_complete(struct request *request)
{
	struct error error = {0};

	request->workload.architecture = &request->architecture;
	request->workload.model = "row";
	if (workload_complete(&request->workload, "", &error))
		return SKIP_NONE;
	snprintf(request->refusal, sizeof(request->refusal), "%s",
		 error.first ? error.first->detail : error.detail);
	return SKIP_REFUSED;
}
