/*
 * print_launch MODEL FIELDS [KEY=VALUE]...: what render_launch() writes for a recommendation that
 * is made up from the arguments: a workload (see market.h), an offer (provider, region, zone, type,
 * accelerator, tier, kind, country, count_milli) and a layout (gpus, nodes, tensor, pipeline, data,
 * replicas, context, guidance, sequences, held, micro_batch, accumulation, and sharding, recompute,
 * offload, weights, kv by name).
 */
#include "server/api/render.h"
#include "tests/core/market.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct offer offer = {.provider = "aws",
			     .region = "us-east-1",
			     .zone = "",
			     .instance_type = "p5.48xlarge",
			     .accelerator = "H100 SXM5 80GB",
			     .tier = "",
			     .country = ""};
static struct layout layout = {.gpus_per_node = 8,
			       .nodes = 1,
			       .tensor_parallel = 1,
			       .pipeline_parallel = 1,
			       .data_parallel = 1,
			       .context_parallel = 1,
			       .expert_parallel = 1,
			       .micro_batch = 1,
			       .accumulation = 1,
			       .replicas = 1,
			       .sequences = 1,
			       .weight_format = FORMAT_BF16,
			       .kv_format = FORMAT_BF16};

static double held; /* sequences that the caches of all copies hold */

static bool set_text(const char *key, const char *value)
{
	const struct {
		const char *key;
		const char **member;
	} texts[] = {
		{"provider", &offer.provider}, {"region", &offer.region},
		{"zone", &offer.zone},	       {"type", &offer.instance_type},
		{"tier", &offer.tier},	       {"accelerator", &offer.accelerator},
		{"country", &offer.country},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i].key, key) == 0) {
			*texts[i].member = value;
			return true;
		}
	return false;
}

static bool set_number(const char *key, const char *value)
{
	const struct {
		const char *key;
		int *member;
	} numbers[] = {
		{"gpus", &layout.gpus_per_node},	 {"nodes", &layout.nodes},
		{"tensor", &layout.tensor_parallel},	 {"pipeline", &layout.pipeline_parallel},
		{"data", &layout.data_parallel},	 {"replicas", &layout.replicas},
		{"expert", &layout.expert_parallel},	 {"context", &layout.context_parallel},
		{"guidance", &layout.guidance_parallel},
	};
	int number = (int)strtol(value, NULL, 10);

	if (strcmp(key, "micro_batch") == 0)
		layout.micro_batch = number;
	else if (strcmp(key, "accumulation") == 0)
		layout.accumulation = number;
	else if (strcmp(key, "sequences") == 0)
		layout.sequences = number;
	else if (strcmp(key, "held") == 0)
		held = number;
	else if (strcmp(key, "count_milli") == 0)
		offer.count_milli = number;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(numbers[i].key, key) == 0) {
			*numbers[i].member = number;
			return true;
		}
	return number > 0 || strcmp(key, "held") == 0;
}

static bool set_name(const char *key, const char *value)
{
	if (strcmp(key, "kind") == 0)
		offer.price_kind = (enum price_kind)names_find(&price_kind_names, value);
	else if (strcmp(key, "sharding") == 0)
		layout.sharding = (enum sharding)names_find(&sharding_names, value);
	else if (strcmp(key, "recompute") == 0)
		layout.recompute = (enum recompute)names_find(&recompute_names, value);
	else if (strcmp(key, "offload") == 0)
		layout.offload = (enum offload)names_find(&offload_names, value);
	else if (strcmp(key, "weights") == 0)
		layout.weight_format = (enum format)names_find(&format_names, value);
	else if (strcmp(key, "kv") == 0)
		layout.kv_format = (enum format)names_find(&format_names, value);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct recommendation item = {.offer = &offer};
	struct workload workload;
	struct shape shape = {0};
	struct writer writer;
	size_t length;
	char *text;

	if (argc < 3)
		return 2;
	workload = market_workload(argv[1], argv[2]);
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return 2;
		*value++ = '\0';
		if (strcmp(argv[i], "model") == 0)
			workload.model = value;
		else if (!set_text(argv[i], value) && !set_name(argv[i], value) &&
			 !set_number(argv[i], value))
			return 2;
	}
	shape.accelerator = accelerator_find(offer.accelerator);
	if (!shape.accelerator)
		return 2;
	item.shape = &shape;
	item.plan.layout = layout;
	if (!offer.count_milli)
		offer.count_milli = layout.gpus_per_node * COUNT_MILLI_ONE;
	item.plan.speed.tokens_per_step = 65536;
	item.plan.max_concurrency = held;
	writer_init(&writer, ANSWER_BYTES_MAX);
	writer_begin_object(&writer);
	render_launch(&writer, &workload, &item);
	writer_end_object(&writer);
	text = writer_take(&writer, &length);
	if (!text)
		return 1;
	puts(text);
	free(text);
	return 0;
}
