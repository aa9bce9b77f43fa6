/*
 * Memory and speed over random workloads, layouts and cards: what must hold whatever the constants
 * are. More of anything never needs less memory or time; figures keep their order; a phase is no
 * shorter than its longest part, which is what it says that it is bound by.
 */
#include "core/memory.h"
#include "core/model.h"
#include "core/speed.h"
#include "core/support.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

#define DRAWS 20000
#define SAID(field) (WORKLOAD_BIT(WORKLOAD_##field))
#define SMALL 1e-9

struct draw {
	struct workload workload;
	struct layout layout;
	struct fabric fabric;
	const struct accelerator *card;
	const char *model;
};

static uint64_t state = 88172645463325252ull;

static int upto(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)((state >> 11) % (unsigned)n);
}

/* A power of two up to `most`. */
static int power(int most)
{
	int value = 1;

	while (value < most && upto(2))
		value *= 2;
	return value;
}

static bool complete(struct workload *workload)
{
	struct error error = {0};

	return workload_complete(workload, "", &error);
}

static void draw_training(struct draw *draw)
{
	struct workload *workload = &draw->workload;

	workload->stack = upto(STACKS);
	workload->sequence_length = 16ll << upto(13);
	workload->cross_entropy = upto(CROSS_ENTROPIES);
	workload->fused_attention = upto(3) > 0;
	workload->given |=
		SAID(stack) | SAID(sequence_length) | SAID(cross_entropy) | SAID(fused_attention);
	if (workload->task == TASK_FINETUNE) {
		workload->method = upto(METHODS);
		workload->given |= SAID(method);
	}
}

static void draw_serving(struct draw *draw)
{
	struct workload *workload = &draw->workload;

	workload->engine = upto(ENGINES);
	workload->prompt_tokens = INT64_C(1) << upto(17);
	workload->output_tokens = INT64_C(1) << upto(12);
	workload->given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
}

static void draw_layout(struct draw *draw)
{
	static const enum format formats[] = {FORMAT_FP32,   FORMAT_BF16, FORMAT_FP8,
					      FORMAT_INT8,   FORMAT_AWQ,  FORMAT_NF4,
					      FORMAT_Q4_K_M, FORMAT_MXFP4};
	const struct workload *workload = &draw->workload;
	struct layout *layout = &draw->layout;
	bool is_serving = workload->task == TASK_INFERENCE;
	bool splits = is_serving || workload->stack == STACK_MEGATRON ||
		      workload->stack == STACK_TORCHTITAN;
	int gpus;

	*layout = (struct layout){
		.tensor_parallel = splits ? power(8) : 1,
		.pipeline_parallel = splits ? power(8) : 1,
		.context_parallel = splits && !is_serving ? power(4) : 1,
		.data_parallel = is_serving ? 1 : power(64),
		.expert_parallel = 1,
		.sharding = (enum sharding)(SHARDING_NONE + upto(5)),
		.recompute = upto(2) ? RECOMPUTE_FULL : RECOMPUTE_NONE,
		.offload = OFFLOAD_NONE,
		.micro_batch = INT64_C(1) << upto(6),
		.accumulation = INT64_C(1) << upto(6),
		.weight_format = is_serving ? formats[upto(8)] : FORMAT_BF16,
		.kv_format = FORMAT_BF16,
		.replicas = 1,
		.sequences = is_serving ? 1 << upto(12) : 0,
	};
	if (!is_serving && workload_base_is_frozen(workload) && workload->base_format)
		layout->weight_format = (enum format)workload->base_format;
	gpus = layout_gpus_per_replica(layout) * layout->data_parallel;
	layout->gpus_per_node = gpus < 8 ? gpus : 8;
	layout->nodes = gpus / layout->gpus_per_node;
	draw->fabric = fabric_of_accelerator(draw->card, layout->gpus_per_node);
	draw->fabric.cluster_link = CLUSTER_LINK_INFINIBAND;
	draw->fabric.cluster_bytes_per_second = 400e9;
}

/* False for what is refused or runs nowhere. */
static bool draw_one(struct draw *draw)
{
	const struct model *model = &models[upto((int)models_count)];
	int heads = architecture_heads_divisor(&model->architecture);

	*draw = (struct draw){.card = &accelerators[upto((int)accelerators_count)],
			      .model = model->id};
	draw->workload.architecture = &model->architecture;
	draw->workload.task = upto(TASKS);
	draw->workload.given = SAID(task);
	if (draw->workload.task == TASK_INFERENCE)
		draw_serving(draw);
	else
		draw_training(draw);
	if (!complete(&draw->workload))
		return false;
	draw_layout(draw);
	return (heads == 0 || heads % draw->layout.tensor_parallel == 0) &&
	       draw->layout.pipeline_parallel <= architecture_layers(&model->architecture) &&
	       support_of(&draw->workload, draw->layout.weight_format, draw->card).support <=
		       SUPPORT_SLOW;
}

static struct memory_estimate memory_of(const struct draw *draw)
{
	struct memory_estimate memory;
	struct memory_basis basis;

	memory_prepare(&draw->workload, &basis);
	memory_estimate(&basis, &draw->layout, draw->card, &memory);
	return memory;
}

static bool speed_of(const struct draw *draw, struct speed_estimate *speed)
{
	struct speed_basis basis;

	if (!speed_prepare(&draw->workload, draw->card, draw->layout.weight_format, &basis))
		return false;
	speed_estimate(&basis, &draw->layout, &draw->fabric, speed);
	return true;
}

#define ck_rises(less, more, draw)                                                                 \
	ck_assert_msg((more) >= (less) * (1 - SMALL), "%s on %s: %g, then %g", (draw)->model,      \
		      (draw)->card->name, (less), (more))

/* Longer, more at once, more bits: no less. */
static void check_memory(const struct draw *draw)
{
	struct memory_estimate memory = memory_of(draw);
	struct draw more = *draw;

	ck_assert(memory.allocated_bytes > 0 && isfinite(memory.high_bytes));
	ck_assert(memory.allocated_bytes <= memory.reserved_bytes);
	ck_assert(memory.reserved_bytes <= memory.device_bytes);
	ck_assert(memory.low_bytes <= memory.device_bytes);
	ck_assert(memory.device_bytes <= memory.high_bytes);
	if (draw->workload.task == TASK_INFERENCE) {
		more.workload.prompt_tokens += 1 + upto(100);
		more.layout.sequences += upto(2);
		ck_assert(complete(&more.workload) || true);
		ck_rises(memory.device_bytes, memory_of(&more).device_bytes, draw);
		more = *draw;
		more.layout.kv_format = FORMAT_FP32;
		ck_rises(memory.device_bytes, memory_of(&more).device_bytes, draw);
		return;
	}
	more.workload.sequence_length += 1 + upto(100);
	if (complete(&more.workload))
		ck_rises(memory.device_bytes, memory_of(&more).device_bytes, draw);
	more = *draw;
	more.layout.micro_batch += 1 + upto(3);
	ck_rises(memory.device_bytes, memory_of(&more).device_bytes, draw);
}

static void check_phase(const struct speed_phase *phase, const struct draw *draw)
{
	const double parts[] = {phase->compute_seconds, phase->memory_seconds,
				phase->communication_seconds, phase->overhead_seconds};
	double longest = 0;

	for (int i = 0; i < 4; i++) {
		ck_assert(parts[i] >= 0 && isfinite(parts[i]));
		longest = fmax(longest, parts[i]);
	}
	ck_assert(phase->seconds > 0);
	ck_rises(longest, phase->seconds, draw);
	ck_assert(phase->bottleneck == BOTTLENECK_DATA_LOADING ||
		  parts[phase->bottleneck] >= longest);
}

static void check_training(const struct draw *draw, const struct speed_estimate *speed)
{
	struct speed_estimate other;
	struct draw more = *draw;

	check_phase(&speed->step, draw);
	more.layout.micro_batch *= 2;
	ck_assert(speed_of(&more, &other));
	ck_rises(speed->tokens_per_second, other.tokens_per_second, draw);
	more = *draw;
	more.workload.sequence_length += 1 + upto(100);
	if (complete(&more.workload) && speed_of(&more, &other))
		ck_rises(speed->step.seconds, other.step.seconds, draw);
}

static void check_serving(const struct draw *draw, const struct speed_estimate *speed)
{
	bool only_reads = workload_only_reads(&draw->workload);
	struct speed_estimate other;
	struct draw more = *draw;

	check_phase(&speed->prefill, draw);
	if (!only_reads)
		check_phase(&speed->decode, draw);
	/* Little's law, but for a single stream, whose time to the first token is apart. */
	if (!only_reads && draw->layout.sequences > 1)
		ck_assert_double_eq_tol(speed->tokens_per_second * speed->tpot_seconds,
					draw->layout.sequences, 1e-6 * draw->layout.sequences);
	more.workload.prompt_tokens += 1 + upto(100);
	if (complete(&more.workload) && speed_of(&more, &other)) {
		ck_rises(speed->ttft_seconds, other.ttft_seconds, draw);
		ck_rises(other.requests_per_second, speed->requests_per_second, draw);
	}
}

START_TEST(whatever_is_asked_the_figures_keep_their_order)
{
	int judged = 0;

	for (int i = 0; i < DRAWS; i++) {
		struct speed_estimate speed;
		struct draw draw;

		if (!draw_one(&draw))
			continue;
		check_memory(&draw);
		if (!speed_of(&draw, &speed))
			continue;
		judged++;
		ck_assert_msg(speed.mfu > 0 && speed.mfu <= 1, "%s on %s: %g", draw.model,
			      draw.card->name, speed.mfu);
		ck_assert(speed.low_factor > 0 && speed.low_factor <= 1 && speed.high_factor >= 1);
		if (draw.workload.task == TASK_INFERENCE)
			check_serving(&draw, &speed);
		else
			check_training(&draw, &speed);
	}
	ck_assert_int_gt(judged, DRAWS / 20);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("predictor");
	TCase *tcase = tcase_create("predictor");

	tcase_add_test(tcase, whatever_is_asked_the_figures_keep_their_order);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
