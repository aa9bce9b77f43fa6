/* Rows of throughput.csv: what is common to training and serving. */
#include "tests/accuracy/speed_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Metrics that say nothing about speed alone: facts/throughput-notes.md 0. */
static const char *excluded(const struct row *row)
{
	static const struct {
		const char *metric, *reason;
	} rules[] = {
		{"minutes_to_target", "minutes to a target depend on convergence"},
		{"minutes_run", "minutes of a run count validation and padding"},
		{"gpu_hours", "GPU hours count failures, evaluations and restarts"},
		{"speedup", "a ratio, not a speed"},
		{"slowdown", "a ratio, not a speed"},
		{"as tabled", "the source does not say which tokens it counts"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (row_has(row, "metric", rules[i].metric))
			return rules[i].reason;
	if (row_has(row, "source", "GPU-Benchmarks-on-LLM-Inference") &&
	    row_has(row, "gpu", "A100 SXM4"))
		return "slower than the PCIe card: a broken run (facts/throughput-notes.md 9.4)";
	if (row_has(row, "interconnect", "weak board"))
		return "a board whose PCIe lanes are cut by an amount that is not stated";
	if (row_has(row, "quality", "claimed"))
		return "a claim without a full configuration";
	if (row_has(row, "gpu", "hosted API"))
		return "hosted service of undisclosed hardware";
	if (row_has(row, "gpu", "Apple") || row_has(row, "gpu", "CPU") ||
	    row_has(row, "gpu", "Jetson") || row_has(row, "gpu", "Ascend") ||
	    row_has(row, "gpu", "Graphcore"))
		return "hardware that nobody rents out";
	return NULL;
}

/* What clouds join such cards with, a node and direction: HDR for Ampere, NDR for Hopper and later.
 */
#define HDR_NODE_BYTES_PER_SECOND 200e9
#define NDR_NODE_BYTES_PER_SECOND 400e9
#define OLD_NODE_BYTES_PER_SECOND 50e9

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
	if (text_has(text, "1600 Gbps"))
		out->cluster_bytes_per_second = HDR_NODE_BYTES_PER_SECOND;
	if (text_has(text, "4x100Gb OPA"))
		out->cluster_bytes_per_second = OLD_NODE_BYTES_PER_SECOND;
}

/* Everything that names the configuration but the card; with the software, so that only repeats in
 * one engine class count as noise. */
static void name_result(const struct row *row, const char *kind, struct result *result)
{
	result->table = RESULT_THROUGHPUT;
	snprintf(result->kind, sizeof(result->kind), "%s", kind);
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

/* A label that several cards match takes the one that comes nearest. */
static const char *nearest_card(const struct row *row, bool serving, const struct request *request,
				struct result *result)
{
	const char *reason = "card not in the table";
	struct result best = {0};

	for (int i = 0; i < request->cards_count; i++) {
		struct request one = *request;
		struct result trial = *result;
		const char *fault;

		one.cards[0] = request->cards[i];
		one.cards_count = 1;
		one.workload.architecture = &one.architecture;
		fault = serving ? speed_serve_row(row, &one, &trial)
				: speed_train_row(row, &one, &trial);
		if (fault) {
			reason = fault;
			continue;
		}
		trial.is_used = true;
		result_score(&trial);
		if (!best.is_used || fabs(trial.error_percent) < fabs(best.error_percent))
			best = trial;
	}
	if (!best.is_used)
		return reason;
	*result = best;
	return NULL;
}

void speed_rows_run(const struct table *table, struct results *results)
{
	static const char *const kinds[] = {
		"pretrain",	  "finetune_full",	 "finetune_lora",
		"finetune_qlora", "serve_decode_single", "serve_throughput",
		"serve_prefill"};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = 0; i < table->rows; i++) {
			struct row row = {table, i};
			static struct request request;
			struct result *result;

			if (strcmp(row_text(&row, "kind"), kinds[k]) != 0)
				continue;
			request = (struct request){0};
			result = results_add(results);
			name_result(&row, kinds[k], result);
			result->reason = excluded(&row);
			if (!result->reason)
				result->reason = request_architecture(&row, &request.architecture);
			if (!result->reason)
				result->reason = request_cards(row_text(&row, "gpu"), &request);
			if (!result->reason)
				result->reason = nearest_card(
					&row, strncmp(kinds[k], "serve", 5) == 0, &request, result);
			result->is_used = !result->reason;
			result_score(result);
		}
}
