/* Rows of throughput.csv: what is common to training and serving. */
#include "tests/accuracy/speed_rows.h"

#include "tests/accuracy/audio_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* MLPerf's runs, of which those of pipelines tell how long a step takes. */
#define TRAINED_PIPELINES "train_to_target"

/* Metrics that say nothing about speed alone: facts/throughput-notes.md 0. */
static enum skip excluded(const struct row *row, bool is_media)
{
	static const struct {
		const char *metric;
		enum skip reason;
	} rules[] = {
		{"minutes_to_target", SKIP_MINUTES_TO_TARGET},
		{"minutes_run", SKIP_MINUTES_OF_A_RUN},
		{"gpu_hours", SKIP_GPU_HOURS},
		{"speedup", SKIP_RATIO},
		{"slowdown", SKIP_RATIO},
		{"as tabled", SKIP_TOKENS_NOT_STATED},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (row_has(row, "metric", rules[i].metric) &&
		    !(is_media && speed_media_tells_step(row)))
			return rules[i].reason;
	if (row_has(row, "source", "GPU-Benchmarks-on-LLM-Inference") &&
	    row_has(row, "gpu", "A100 SXM4") && row_count(row, "gpus", 1) > 1)
		return SKIP_BROKEN_RUN;
	if (row_has(row, "interconnect", "weak board"))
		return SKIP_LANES_NOT_STATED;
	/* A page's prose, of which the note quotes where it starts from: half of its table's total
	 * of two GPUs. */
	if (row_has(row, "notes", "stated by source:") && row_count(row, "gpus", 1) > 1)
		return SKIP_OWN_NOTE;
	if (row_has(row, "quality", "claimed"))
		return SKIP_CLAIM_OF_SPEED;
	if (row_has(row, "gpu", "hosted API"))
		return SKIP_HOSTED;
	if (row_has(row, "gpu", "Apple") || row_has(row, "gpu", "CPU") ||
	    row_has(row, "gpu", "Jetson") || row_has(row, "gpu", "Ascend") ||
	    row_has(row, "gpu", "Graphcore") || row_has(row, "gpu", "GB10"))
		return SKIP_CARD_NOT_RENTED;
	return SKIP_NONE;
}

/* What clouds join such cards with, a node and direction: HDR for Ampere, NDR for Hopper and later.
 */
#define HDR_NODE_BYTES_PER_SECOND 200e9
#define NDR_NODE_BYTES_PER_SECOND 400e9
#define OLD_NODE_BYTES_PER_SECOND 50e9

/* Where a row says what joins its nodes, and it is not the usual. */
static const struct {
	const char *text;
	double node_gbit_per_second;
	enum cluster_link link;
} wires[] = {
	{"1600 Gbps", 1600, CLUSTER_LINK_ROCE},
	{"400 Gbps EFA", 400, CLUSTER_LINK_EFA},
	{"400 Gbps TCP", 400, CLUSTER_LINK_ROCE},
	{"4x100Gb OPA", 400, CLUSTER_LINK_INFINIBAND},
	{"4x OmniPath", 400, CLUSTER_LINK_INFINIBAND},
	{"2xBF3 400Gbps", 800, CLUSTER_LINK_ROCE},
	{"2x 400Gbe", 800, CLUSTER_LINK_ROCE},
	{"100GbE InfiniBand", 100, CLUSTER_LINK_INFINIBAND},
};

void speed_row_fabric(const struct row *row, const struct accelerator *card,
		      const struct layout *layout, struct fabric *out)
{
	const char *text = row_text(row, "interconnect");

	*out = fabric_of_accelerator(card, layout->gpus_per_node);
	if (layout->gpus_per_node > 1) {
		bool is_pcie = text_has(text, "PCIe") && !text_has(text, "NVLink/NVSwitch");

		if (is_pcie && strcmp(card->form_factor, "SXM") != 0)
			out->node_link = text_has(card->form_factor, "consumer")
						 ? NODE_LINK_PCIE_HOST
						 : NODE_LINK_PCIE_PEER;
		if (text_has(text, "NVLink") && !text_has(text, "no NVLink") &&
		    !text_has(text, "not NVLink") && !is_pcie && card->nvlink_gb_s > 0 &&
		    card->vendor == VENDOR_NVIDIA && out->node_link != NODE_LINK_NVSWITCH)
			out->node_link = NODE_LINK_NVLINK_PAIR;
	}
	if (layout->nodes <= 1)
		return;
	out->cluster_link = CLUSTER_LINK_INFINIBAND;
	out->cluster_bytes_per_second = card->compute_capability >= 90 ? NDR_NODE_BYTES_PER_SECOND
					: card->compute_capability >= 80
						? HDR_NODE_BYTES_PER_SECOND
						: OLD_NODE_BYTES_PER_SECOND;
	/* Per node of eight; a rack of more has as many adapters. */
	out->cluster_bytes_per_second *= fmax(1, layout->gpus_per_node / 8.0);
	for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++)
		if (text_has(text, wires[i].text)) {
			out->cluster_link = wires[i].link;
			out->cluster_bytes_per_second = wires[i].node_gbit_per_second / 8 * 1e9;
			return;
		}
}

/* Everything that names the configuration but the card; with the software, so that only repeats in
 * one engine class count as noise. */
static void name_result(const struct row *row, const char *kind, struct result *result)
{
	result->table = RESULT_THROUGHPUT;
	result_set_kind(result, kind);
	snprintf(result->id, sizeof(result->id), "%s", row_text(row, "id"));
	snprintf(result->source, sizeof(result->source), "%s", row_text(row, "source"));
	snprintf(result->model, sizeof(result->model), "%s", row_text(row, "model"));
	snprintf(result->card, sizeof(result->card), "%.46s", row_text(row, "gpu"));
	snprintf(result->configuration, sizeof(result->configuration),
		 "%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%.30s", row_text(row, "model"),
		 row_text(row, "gpus"), row_text(row, "tp"), row_text(row, "pp"),
		 row_text(row, "weight_dtype"), row_text(row, "compute_dtype"),
		 row_text(row, "seq_len_or_isl_osl"), row_text(row, "micro_batch"),
		 row_text(row, "global_batch_or_concurrency"), row_text(row, "checkpointing"),
		 row_text(row, "metric"), row_text(row, "software_version"));
	snprintf(result->setting, sizeof(result->setting), "%s|%s|%s|%s|%s|%s|%s|%s|%s|%s",
		 row_text(row, "model"), row_text(row, "gpu"), row_text(row, "gpus"),
		 row_text(row, "tp"), row_text(row, "weight_dtype"), row_text(row, "compute_dtype"),
		 row_text(row, "seq_len_or_isl_osl"), row_text(row, "global_batch_or_concurrency"),
		 row_text(row, "checkpointing"), row_text(row, "metric"));
}

typedef enum skip predict_row(const struct row *row, struct request *request,
			      struct result *result);

static predict_row *predictor_of(const char *kind)
{
	if (strcmp(kind, "diffusion_train_speed") == 0)
		return speed_media_train_row;
	if (strncmp(kind, "diffusion", 9) == 0)
		return speed_media_row;
	if (strncmp(kind, "audio", 5) == 0)
		return audio_speed_row;
	return strncmp(kind, "serve", 5) == 0 ? speed_serve_row : speed_train_row;
}

/* A label that several cards match takes the one that comes nearest. */
static enum skip nearest_card(const struct row *row, const struct request *request,
			      struct result *result)
{
	enum skip reason = SKIP_CARD_UNKNOWN;
	struct result best = {0};

	for (int i = 0; i < request->cards_count; i++) {
		struct request one = *request;
		struct result trial = *result;
		enum skip fault;

		one.cards[0] = request->cards[i];
		one.cards_count = 1;
		one.workload.architecture = &one.architecture;
		fault = predictor_of(result->kind)(row, &one, &trial);
		if (fault) {
			reason = fault;
			if (fault == SKIP_REFUSED)
				snprintf(result->terms, sizeof(result->terms), "%s", one.refusal);
			continue;
		}
		result_close(&trial, SKIP_NONE);
		if (!best.is_used || fabs(trial.error_percent) < fabs(best.error_percent))
			best = trial;
	}
	if (!best.is_used)
		return reason;
	*result = best;
	return SKIP_NONE;
}

const char *const speed_kinds[] = {"pretrain",
				   "finetune_full",
				   "finetune_lora",
				   "finetune_qlora",
				   "serve_decode_single",
				   "serve_throughput",
				   "serve_prefill",
				   "audio",
				   "diffusion_infer",
				   "diffusion_video",
				   TRAINED_PIPELINES};
const size_t speed_kinds_count = sizeof(speed_kinds) / sizeof(speed_kinds[0]);

static void predict(struct result *result)
{
	const struct row *row = &result->row;
	struct request request = {0};
	bool is_media = strncmp(result->kind, "diffusion", 9) == 0;
	enum skip reason = excluded(row, is_media);

	if (!reason)
		reason = is_media ? speed_media_model(row, &request.architecture)
				  : request_architecture(row, &request.architecture);
	if (!reason)
		reason = is_media ? speed_media_cards(row, &request)
				  : request_cards(row_text(row, "gpu"), &request);
	if (!reason)
		reason = nearest_card(row, &request, result);
	result_close(result, reason);
}

void speed_rows_run(const struct table *table, struct results *results)
{
	for (size_t k = 0; k < speed_kinds_count; k++)
		for (size_t i = 0; i < table->rows; i++) {
			struct row row = {table, i};
			struct result *result;

			if (strcmp(row_text(&row, "kind"), speed_kinds[k]) != 0)
				continue;
			result = results_add(results);
			/* What of these is a speed is that of training pipelines. */
			name_result(&row,
				    strcmp(speed_kinds[k], TRAINED_PIPELINES) == 0
					    ? "diffusion_train_speed"
					    : speed_kinds[k],
				    result);
			result->row = row;
			result->predict = predict;
			predict(result);
		}
}
