/*
 * The planner's search against one that leaves nothing out: every layout of the space, judged by
 * the memory and speed models alone.
 */
#include "core/plan.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>

#define NODES_MOST 16
/* A search that stops where nothing can be gained may miss this share of the speed. */
#define CLOSE 0.999

struct best {
	enum fit fit;
	double merit;
	int fidelity;
	struct layout layout;
};

struct exhaustive {
	const struct workload *workload;
	const struct shape *shape;
	struct plan_basis *basis;
	int gpus, fidelity;
	double usable, limit, ram;
	struct best best[NODES_MOST + 1]; /* by nodes */
	struct layout layout;
	long evaluations;
};

static enum fit fit_of(struct exhaustive *all, struct memory_estimate *memory)
{
	memory_estimate(&all->basis->memory, &all->layout, &all->basis->slice, memory);
	all->evaluations++;
	if (memory->device_bytes > all->limit ||
	    (memory->host_bytes > 0 && all->ram > 0 && memory->host_bytes > all->ram))
		return FIT_NO;
	if (memory->high_bytes > all->usable || (memory->host_bytes > 0 && !(all->ram > 0)))
		return FIT_TIGHT;
	return FIT_FITS;
}

/* Better: what fits, then fidelity, then merit. */
static void consider(struct best *best, const struct layout *layout, enum fit fit, int fidelity,
		     double merit)
{
	if (fit < best->fit || (fit == best->fit && fidelity > best->fidelity) ||
	    (fit == best->fit && fidelity == best->fidelity && merit <= best->merit))
		return;
	*best = (struct best){fit, merit, fidelity, *layout};
}

static void train_layout(struct exhaustive *all)
{
	struct memory_estimate memory;
	enum fit fit = fit_of(all, &memory);
	struct speed_estimate speed;

	if (fit == FIT_NO)
		return;
	all->evaluations++;
	speed_estimate(&all->basis->formats[0].speed, &all->layout, &all->shape->fabric, &speed);
	consider(&all->best[all->layout.nodes], &all->layout, fit, 0, speed.tokens_per_second);
}

static void train_micro_batches(struct exhaustive *all, int ranks)
{
	const struct workload *workload = all->workload;
	bool is_given = workload_has(workload, WORKLOAD_global_batch);
	int64_t most = 32768 / workload->sequence_length, share = workload->global_batch / ranks;

	most = most > 64 ? 64 : most;
	most = most > share ? share : most;
	most = most < 1 ? 1 : most;
	for (int64_t micro = 1; micro <= (workload_has(workload, WORKLOAD_micro_batch) ? 1 : most);
	     micro *= 2) {
		int64_t size = workload_has(workload, WORKLOAD_micro_batch) ? workload->micro_batch
									    : micro;
		int64_t passes = workload->global_batch / size;

		all->layout.micro_batch = size;
		all->layout.data_parallel = ranks;
		all->layout.accumulation =
			(workload->global_batch + ranks * size - 1) / (ranks * size);
		if (is_given) {
			if (workload->global_batch % size)
				continue;
			while (passes % all->layout.data_parallel)
				all->layout.data_parallel--;
			all->layout.accumulation = passes / all->layout.data_parallel;
		}
		train_layout(all);
	}
	all->layout.data_parallel = ranks;
}

static void train_states(struct exhaustive *all, int ranks)
{
	static const struct {
		int count;
		enum sharding values[4];
	} shardings[STACKS] = {
		[STACK_HUGGINGFACE] = {3, {SHARDING_NONE, SHARDING_ZERO2, SHARDING_ZERO3}},
		[STACK_TORCHTITAN] = {2, {SHARDING_ZERO3, SHARDING_HYBRID}},
		[STACK_MEGATRON] = {1, {SHARDING_ZERO1}},
		[STACK_DEEPSPEED] = {4,
				     {SHARDING_NONE, SHARDING_ZERO1, SHARDING_ZERO2,
				      SHARDING_ZERO3}},
		[STACK_UNSLOTH] = {1, {SHARDING_NONE}},
	};
	int stack = all->workload->stack, most = shardings[stack].count;
	bool has_selective = stack == STACK_TORCHTITAN || stack == STACK_MEGATRON;

	for (int i = 0; i < most; i++) {
		all->layout.sharding = ranks == 1 ? SHARDING_NONE : shardings[stack].values[i];
		if (all->layout.sharding == SHARDING_HYBRID && all->layout.nodes == 1)
			continue;
		for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++) {
			if ((recompute == RECOMPUTE_SELECTIVE && !has_selective) ||
			    (all->workload->recompute != RECOMPUTE_AUTO &&
			     recompute != all->workload->recompute))
				continue;
			all->layout.recompute = (enum recompute)recompute;
			train_micro_batches(all, ranks);
		}
	}
}

static void train_degrees(struct exhaustive *all)
{
	const struct architecture *architecture = all->workload->architecture;
	int stack = all->workload->stack, experts = architecture_experts(architecture);
	bool is_parallel = stack == STACK_TORCHTITAN || stack == STACK_MEGATRON;
	bool is_joined = all->shape->fabric.node_link == NODE_LINK_NVSWITCH;
	int tensor_most = is_parallel && is_joined ? 8 : 1, most = is_parallel ? 8 : 1;
	int context_most = is_parallel && all->workload->sequence_length >= 32768 ? 8 : 1;
	int total = all->gpus * all->layout.nodes;

	for (int t = 1; t <= tensor_most && t <= all->gpus; t *= 2)
		for (int s = 1; s <= most && s <= architecture_layers(architecture); s *= 2)
			for (int c = 1; c <= context_most; c *= 2)
				for (int e = 1; e <= (experts ? most : 1); e *= 2) {
					int ranks = total / (t * s * c);

					if (architecture_heads_divisor(architecture) % t ||
					    (experts && experts % e) || ranks < e || ranks % e)
						continue;
					all->layout.tensor_parallel = t;
					all->layout.sequence_parallel =
						t > 1 && all->workload->sequence_parallel;
					all->layout.pipeline_parallel = s;
					all->layout.context_parallel = c;
					all->layout.expert_parallel = e;
					train_states(all, ranks);
				}
}

static void search_all(struct exhaustive *all, int max_nodes)
{
	const struct plan_format *format = &all->basis->formats[0];

	for (int nodes = 1; nodes <= max_nodes; nodes *= 2) {
		all->layout = (struct layout){.gpus_per_node = all->gpus,
					      .nodes = nodes,
					      .offload = OFFLOAD_NONE,
					      .weight_format = format->weight,
					      .kv_format = format->kv,
					      .replicas = 1};
		train_degrees(all);
	}
}

/* The search's plans against the best of every number of nodes. */
static void compare(const struct exhaustive *all, const struct plan_set *set, const char *what)
{
	for (int nodes = 1; nodes <= NODES_MOST; nodes++) {
		const struct best *best = &all->best[nodes];
		bool is_matched = false;

		if (best->fit == FIT_NO)
			continue;
		for (int i = 0; i < set->count; i++) {
			const struct plan *plan = &set->plans[i];

			if (plan->layout.nodes > nodes || plan->fit < best->fit)
				continue;
			is_matched =
				is_matched || plan->speed.tokens_per_second >= CLOSE * best->merit;
		}
		ck_assert_msg(
			is_matched,
			"%s on %d x %d %s: missed %g tokens a second with t%d p%d c%d e%d d%d, "
			"sharding %d, recompute %d, micro-batch %d",
			what, nodes, all->gpus, all->shape->accelerator->name, best->merit,
			best->layout.tensor_parallel, best->layout.pipeline_parallel,
			best->layout.context_parallel, best->layout.expert_parallel,
			best->layout.data_parallel, (int)best->layout.sharding,
			(int)best->layout.recompute, (int)best->layout.micro_batch);
	}
	for (int i = 0; i < set->count; i++) {
		const struct best *best = &all->best[set->plans[i].layout.nodes];

		ck_assert_int_le(set->plans[i].fit, best->fit);
		ck_assert_double_le(set->plans[i].speed.tokens_per_second * CLOSE, best->merit);
	}
}

static struct shape shape_of(const char *card, int gpus, bool joined)
{
	struct shape shape = {.accelerator = accelerator_find(card),
			      .count_milli = gpus * COUNT_MILLI_ONE,
			      .ram_gib = 1024};

	shape.fabric = fabric_of_accelerator(shape.accelerator, gpus);
	if (joined) {
		shape.has_cluster = true;
		shape.fabric.cluster_link = CLUSTER_LINK_INFINIBAND;
		shape.fabric.cluster_bytes_per_second = 400 * GB;
	}
	return shape;
}

static const char *const cards[] = {"L4 24GB",	      "L40S 48GB",	"A100 SXM4 80GB",
				    "H100 SXM5 80GB", "H200 SXM 141GB", "B200 SXM 180GB",
				    "RTX 4090 24GB"};
#define CARDS (sizeof(cards) / sizeof(cards[0]))
static const char *const models[] = {"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B",
				     "mistralai/Mixtral-8x7B-v0.1", "deepseek-ai/DeepSeek-V3"};
#define MODELS (sizeof(models) / sizeof(models[0]))

static void begin(struct exhaustive *all, struct plan_basis *basis, const struct workload *workload,
		  const struct shape *shape)
{
	*all = (struct exhaustive){.workload = workload,
				   .shape = shape,
				   .basis = basis,
				   .gpus = shape->count_milli / COUNT_MILLI_ONE,
				   .usable = accelerator_memory_bytes(shape->accelerator),
				   .ram = 0.85 * shape->ram_gib * GIB};
	all->limit = all->usable;
	if (workload->task == TASK_INFERENCE)
		all->limit *= workload->gpu_memory_utilization;
}

START_TEST(training_finds_what_an_exhaustive_search_finds)
{
	static const char *const stacks[] = {"huggingface", "torchtitan", "megatron", "deepspeed",
					     "unsloth"};
	static const char *const methods[] = {"full", "lora", "qlora"};
	static struct plan_basis basis;
	static struct exhaustive all;
	uint64_t state = 20261130;
	long found = 0, exhaustive = 0, evaluations = 0;

	for (int i = 0; i < 300; i++) {
		bool is_joined = market_random(&state) % 2;
		struct shape shape = shape_of(cards[market_random(&state) % CARDS],
					      1 << market_random(&state) % 4, is_joined);
		int nodes = is_joined ? NODES_MOST : 1;
		struct workload workload;
		struct plan_set set;
		char fields[240], batch[40] = "";

		if (market_random(&state) % 3 == 0)
			snprintf(batch, sizeof(batch), " global_batch=%u",
				 (unsigned)(market_random(&state) % 500 + 1));
		snprintf(fields, sizeof(fields),
			 "task=finetune method=%s stack=%s sequence_length=%u%s",
			 methods[market_random(&state) % 3], stacks[market_random(&state) % 5],
			 128u << market_random(&state) % 9, batch);
		workload = market_workload(models[market_random(&state) % MODELS], fields);
		plan_prepare(&workload, &basis);
		plan_shape(&basis, &shape, nodes, &set);
		if (set.failure == PLAN_UNSUPPORTED || set.failure == PLAN_NO_FIGURES)
			continue;
		ck_assert(!set.is_cut);
		begin(&all, &basis, &workload, &shape);
		search_all(&all, workload.stack == STACK_UNSLOTH ? 1 : nodes);
		compare(&all, &set, fields);
		found += set.count > 0;
		exhaustive += all.evaluations;
		evaluations += basis.evaluations;
	}
	ck_assert_int_gt(found, 60);
	/* Worth its name. */
	ck_assert_int_lt(3 * evaluations, exhaustive);
}
END_TEST

/* More is better: of a rate that is answered, the time that a request takes. */
static double serving_merit(const struct workload *workload, const struct speed_estimate *speed)
{
	if (!(workload->requests_per_second > 0))
		return speed->tokens_per_second;
	return 1 / (speed->ttft_seconds + speed->tpot_seconds * (double)workload->output_tokens);
}

/* Whether one replica holds that many sequences with room to spare; fills its speed. */
static bool holds(struct exhaustive *all, double sequences, struct speed_estimate *speed)
{
	const struct workload *workload = all->workload;
	struct memory_estimate memory;

	all->layout.sequences = sequences;
	if (fit_of(all, &memory) != FIT_FITS)
		return false;
	all->evaluations++;
	speed_estimate(&all->basis->formats[all->fidelity].speed, &all->layout, &all->shape->fabric,
		       speed);
	return !(workload->max_tpot_seconds > 0) ||
	       speed->tpot_seconds <= workload->max_tpot_seconds;
}

/* Copies of `tensor` x `stages` GPUs on as few nodes as the load takes, and then the fewest
 * sequences each: all numbers of both are tried. The nodes; 0 when no number does. */
static int serve_copies(struct exhaustive *all, int tensor, int stages, int max_nodes)
{
	const struct workload *workload = all->workload;
	const struct plan_format *format = &all->basis->formats[all->fidelity];
	double rate = workload->requests_per_second / PLAN_TARGET_LOAD;
	int copies = all->gpus / (tensor * stages), most = rate > 0 ? 256 : 64;
	struct speed_estimate speed;

	for (int nodes = 1; nodes <= max_nodes; nodes++) {
		int replicas = nodes * copies;

		all->layout = (struct layout){.gpus_per_node = all->gpus,
					      .nodes = 1,
					      .tensor_parallel = tensor,
					      .pipeline_parallel = stages,
					      .data_parallel = 1,
					      .context_parallel = 1,
					      .expert_parallel = 1,
					      .sharding = SHARDING_NONE,
					      .recompute = RECOMPUTE_NONE,
					      .offload = OFFLOAD_NONE,
					      .micro_batch = 1,
					      .accumulation = 1,
					      .weight_format = format->weight,
					      .kv_format = format->kv,
					      .replicas = 1};
		for (int sequences = 1; sequences <= most; sequences++) {
			if (rate > 0 ? !holds(all, sequences, &speed)
				     : !holds(all, ceil((double)workload->concurrency / replicas),
					      &speed))
				break;
			if (rate > 0 && speed.requests_per_second * replicas < rate)
				continue;
			all->layout.replicas = replicas;
			speed_estimate(&format->speed, &all->layout, &all->shape->fabric, &speed);
			all->layout.nodes = nodes;
			consider(&all->best[nodes], &all->layout, FIT_FITS, all->fidelity,
				 serving_merit(workload, &speed));
			return nodes;
		}
	}
	return 0;
}

/* Whether a limit on latency, and not memory, keeps a replica from one more sequence. */
static bool is_late(struct exhaustive *all)
{
	struct speed_estimate speed;
	struct memory_estimate memory;
	double sequences = 1;

	all->layout.nodes = all->layout.replicas = 1;
	while (sequences < 256 && holds(all, sequences, &speed))
		sequences++;
	all->layout.sequences = sequences;
	return fit_of(all, &memory) == FIT_FITS;
}

/* Stages add memory, not speed: more of them only where fewer do not hold the load on a node, and
 * memory is what they lack. */
static void serve_formats(struct exhaustive *all)
{
	int heads = architecture_heads_divisor(all->workload->architecture);

	for (int format = 0; format < all->basis->formats_count; format++) {
		all->fidelity = format;
		for (int t = 1; t <= all->gpus && all->basis->formats[format].has_speed; t++)
			for (int s = 1; s * t <= all->gpus && heads % t == 0; s *= 2)
				if (serve_copies(all, t, s, NODES_MOST) == 1 || is_late(all))
					break;
	}
}

static void compare_serving(const struct exhaustive *all, const struct plan_set *set,
			    const char *what)
{
	for (int nodes = 1; nodes <= NODES_MOST; nodes++) {
		const struct best *best = &all->best[nodes];
		bool is_matched = best->fit == FIT_NO;

		for (int i = 0; i < set->count && !is_matched; i++) {
			const struct plan *plan = &set->plans[i];
			int fidelity = 0;

			while (all->basis->formats[fidelity].weight != plan->layout.weight_format ||
			       all->basis->formats[fidelity].kv != plan->layout.kv_format)
				fidelity++;
			is_matched = plan->layout.nodes <= nodes && plan->fit == FIT_FITS &&
				     (fidelity < best->fidelity ||
				      (fidelity == best->fidelity &&
				       serving_merit(all->workload, &plan->speed) >=
					       CLOSE * best->merit));
		}
		ck_assert_msg(is_matched,
			      "%s on %d x %d %s: missed merit %g with t%d p%d, %d replicas of %g, "
			      "format %d",
			      what, nodes, all->gpus, all->shape->accelerator->name, best->merit,
			      best->layout.tensor_parallel, best->layout.pipeline_parallel,
			      best->layout.replicas, best->layout.sequences, best->fidelity);
	}
}

START_TEST(serving_finds_what_an_exhaustive_search_finds)
{
	static struct plan_basis basis;
	static struct exhaustive all;
	uint64_t state = 20261131;
	long found = 0, exhaustive = 0, evaluations = 0;

	for (int i = 0; i < 200; i++) {
		struct shape shape = shape_of(cards[market_random(&state) % CARDS],
					      1 << market_random(&state) % 4, false);
		struct workload workload;
		struct plan_set set;
		char fields[240], load[80];

		if (market_random(&state) % 2)
			snprintf(load, sizeof(load), "concurrency=%u",
				 (unsigned)(market_random(&state) % 64 + 1));
		else
			snprintf(load, sizeof(load), "requests_per_second=%g",
				 0.2 * (double)(market_random(&state) % 100 + 1));
		snprintf(fields, sizeof(fields),
			 "task=inference prompt_tokens=%u output_tokens=%u max_tpot_seconds=%g "
			 "max_ttft_seconds=0 %s",
			 (unsigned)(market_random(&state) % 8000 + 1),
			 (unsigned)(market_random(&state) % 800 + 1),
			 market_random(&state) % 2 ? 0.06 : 1e6, load);
		workload = market_workload(models[market_random(&state) % MODELS], fields);
		plan_prepare(&workload, &basis);
		plan_shape(&basis, &shape, NODES_MOST, &set);
		begin(&all, &basis, &workload, &shape);
		serve_formats(&all);
		compare_serving(&all, &set, fields);
		found += set.count > 0;
		exhaustive += all.evaluations;
		evaluations += basis.evaluations;
	}
	ck_assert_int_gt(found, 60);
	ck_assert_int_lt(10 * evaluations, exhaustive);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_search");
	TCase *tests = tcase_create("plan_search");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, training_finds_what_an_exhaustive_search_finds);
	tcase_add_test(tests, serving_finds_what_an_exhaustive_search_finds);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
