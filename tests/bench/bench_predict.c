/*
 * What one memory and one speed evaluation cost, on the largest models and the layouts that a
 * planner asks for. usage: bench_predict [ROUNDS]
 */
#include "core/memory.h"
#include "core/model.h"
#include "core/speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The sum of what was computed, so that no compiler leaves it out. */
static double evaluate(const struct model *model, enum task task, long rounds)
{
	const struct accelerator *card = accelerator_find("H100 SXM5 80GB");
	struct workload workload = {.architecture = &model->architecture,
				    .task = (int)task,
				    .given = WORKLOAD_BIT(WORKLOAD_task)};
	struct fabric fabric = fabric_of_accelerator(card, 8);
	struct error error = {0};
	double sum = 0;

	if (!workload_complete(&workload, "", &error)) {
		fprintf(stderr, "%s: %s\n", model->id, error.detail);
		exit(1);
	}
	for (long i = 0; i < rounds; i++) {
		struct layout layout = {.gpus_per_node = 8,
					.nodes = 8,
					.tensor_parallel = 8,
					.pipeline_parallel = 4,
					.data_parallel = 2,
					.context_parallel = 1,
					.expert_parallel = 1,
					.sequence_parallel = true,
					.sharding = SHARDING_ZERO1,
					.recompute = RECOMPUTE_SELECTIVE,
					.offload = OFFLOAD_NONE,
					.micro_batch = 1 + i % 4,
					.accumulation = 16,
					.weight_format = FORMAT_BF16,
					.kv_format = FORMAT_BF16,
					.replicas = 1,
					.sequences = 32};
		struct memory_basis memory_basis;
		struct memory_estimate memory;
		struct speed_basis speed_basis;
		struct speed_estimate speed;

		memory_prepare(&workload, &memory_basis);
		memory_estimate(&memory_basis, &layout, card, &memory);
		speed_prepare(&workload, card, FORMAT_BF16, &speed_basis);
		speed_estimate(&speed_basis, &layout, &fabric, &speed);
		sum += memory.device_bytes + speed.tokens_per_second;
	}
	return sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000;
	double worst = 0;

	for (size_t i = 0; i < models_count; i++) {
		struct parameter_count count;

		architecture_count(&models[i].architecture, &count);
		if (count.total < UINT64_C(400000000000) && models[i].architecture.kinds_count < 12)
			continue;
		for (int task = 0; task < 3; task += 2) {
			enum task which = task ? TASK_INFERENCE : TASK_PRETRAIN;
			double start = seconds(), sum = evaluate(&models[i], which, rounds);
			double each = (seconds() - start) / (double)rounds * 1e6;

			worst = each > worst ? each : worst;
			printf("%-48s %-10s %2d kinds %6.2f us (%g)\n", models[i].id,
			       names_text(&task_names, (int)which),
			       models[i].architecture.kinds_count, each, sum);
		}
	}
	printf("dearest: %.2f us, target 20 us\n", worst);
	return worst < 20 ? 0 : 1;
}
