/*
 * Warnings: what a careful buyer would ask before renting, each from a figure of the plan, the
 * provider's terms or the price's age; what billing does to the work is in recommend_rental.c. Most
 * important first: an answer carries at most NOTES_MAX.
 */
#include "core/recommend_notes.h"

#include <stdio.h>
#include <string.h>

/* A price older than this is told to be old even where nobody asked. */
#define OLD_PRICE_SECONDS (24 * SECONDS_PER_HOUR)
/* Room beyond the high estimate, as a share of the card, that a small change uses up. */
#define LITTLE_ROOM_SHARE 0.03
/* So many cards in one machine are scarcer than single ones. */
#define SCARCE_GPUS_MILLI (8 * COUNT_MILLI_ONE)
/* Slow links that take less of the time than this hold nothing back. */
#define SLOW_LINK_SHARE 0.01
/* A month is longer than prices, machines and plans usually hold. */
#define LONG_RUN_SECONDS (30 * 24 * SECONDS_PER_HOUR)
/* About as fast as people read: the limit where none is asked, see workload_defaults.c. */
#define READING_TPOT_SECONDS 0.2

void warn(struct warner *warner, const char *code, const char *text)
{
	note_add(warner->out->warnings, &warner->out->warnings_count, code, text);
}

static void warn_fit(struct warner *warner)
{
	const struct plan *plan = warner->plan;

	if (plan->fit == FIT_TIGHT)
		warn(warner, "tight",
		     arena_printf(
			     warner->arena,
			     "The estimate leaves %.1f GiB, less than its own uncertainty: it may "
			     "run out of memory.",
			     plan->headroom_bytes / GIB));
	else if (plan->usable_bytes - plan->memory.high_bytes <
		 LITTLE_ROOM_SHARE * plan->usable_bytes)
		warn(warner, "little_room",
		     arena_printf(warner->arena,
				  "It fits even at worst, but with %.1f GiB of %.1f GiB left then: "
				  "longer inputs or larger batches will not.",
				  (plan->usable_bytes - plan->memory.high_bytes) / GIB,
				  plan->usable_bytes / GIB));
	if (plan->support.support == SUPPORT_SLOW && plan->support.code)
		warn(warner, plan->support.code, arena_strdup(warner->arena, plan->support.reason));
}

static void warn_formats(struct warner *warner)
{
	const struct workload *workload = warner->workload;
	const struct layout *layout = &warner->plan->layout;
	enum format native = workload->architecture->native_format;

	if (workload->task != TASK_INFERENCE)
		return;
	if (native == FORMAT_AUTO || native == FORMAT_FP32)
		native = FORMAT_BF16;
	if (workload->weight_format == FORMAT_AUTO &&
	    format_facts(layout->weight_format)->linear_bits < format_facts(native)->linear_bits)
		warn(warner, "quantised_weights",
		     arena_printf(warner->arena,
				  "Only with weights in %s: in %s they lack room, speed or "
				  "kernels here.",
				  names_text(&format_names, (int)layout->weight_format),
				  names_text(&format_names, (int)native)));
	if (workload->kv_format == FORMAT_AUTO && format_facts(layout->kv_format)->linear_bits < 16)
		warn(warner, "quantised_kv",
		     arena_printf(warner->arena,
				  "Only with the KV cache in %s: in 16 bit what is asked lacks "
				  "room or speed on %d %s.",
				  names_text(&format_names, (int)layout->kv_format), layout->nodes,
				  layout->nodes == 1 ? "machine" : "machines"));
}

static void warn_latency(struct warner *warner)
{
	const struct workload *workload = warner->workload;
	double seconds = warner->plan->speed.tpot_seconds;

	if (workload->task == TASK_INFERENCE && workload->mode == SERVING_INTERACTIVE &&
	    !(workload->max_tpot_seconds > 0) && seconds > READING_TPOT_SECONDS)
		warn(warner, "slow_tokens",
		     arena_printf(
			     warner->arena,
			     "%.0f ms a token is slower than people read: set max_tpot_seconds to "
			     "leave such answers out.",
			     seconds * 1e3));
}

static void warn_length(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	char text[DURATION_TEXT];

	duration_text(cost->elapsed_seconds, text);
	/* Who gave a deadline knows. */
	if (cost->basis == COST_RUN && cost->elapsed_seconds > LONG_RUN_SECONDS &&
	    !(warner->search->request->constraints.deadline_seconds > 0))
		warn(warner, "long_run",
		     arena_printf(
			     warner->arena,
			     "It would run for %s: set deadline_hours to leave such answers out, "
			     "or max_nodes to spread it over more machines.",
			     text));
}

static void warn_layout(struct warner *warner)
{
	const struct plan *plan = warner->plan;
	int gpus = plan->layout.gpus_per_node * plan->layout.nodes;

	if (plan->idle_gpus > 0)
		warn(warner, "idle_gpus",
		     arena_printf(
			     warner->arena,
			     "%d of the %d GPUs would stand idle: the model and the batch do not "
			     "divide among all of them.",
			     plan->idle_gpus, gpus));
	if (plan->layout.offload != OFFLOAD_NONE)
		warn(warner, "offload",
		     arena_printf(
			     warner->arena,
			     "%s: %.1f GiB of a GPU's share lie in the machine's RAM, and every "
			     "step waits for the CPU and the bus.",
			     plan->layout.offload == OFFLOAD_PARAMETERS
				     ? "Parameters and optimizer states are offloaded"
				     : "Optimizer states are offloaded",
			     plan->memory.host_bytes / GIB / plan->layout.gpus_per_node));
	if (plan->is_cut)
		warn(warner, "search_cut",
		     arena_strdup(warner->arena,
				  "Not every layout was tried, as there are too many: a faster one "
				  "may exist. Name degrees of freedom (recompute, sharding, "
				  "micro_batch) or fewer max_nodes to search them all."));
}

static void warn_links(struct warner *warner)
{
	const struct fabric *fabric = &warner->shape->fabric;
	const struct speed_estimate *speed = &warner->plan->speed;
	const struct speed_phase *phase =
		warner->workload->task == TASK_INFERENCE ? &speed->decode : &speed->step;
	double share = phase->seconds > 0 ? phase->communication_seconds / phase->seconds : 0;

	if (!note_gpus_talk(warner->plan))
		return;
	if (warner->plan->layout.gpus_per_node > 1 && !fabric_is_fast(fabric) &&
	    share >= SLOW_LINK_SHARE)
		warn(warner, "pcie_only",
		     arena_printf(
			     warner->arena,
			     "The GPUs exchange data %s: this holds back tensor parallelism and "
			     "sharded training (%.0f %% of the time here).",
			     fabric->node_link == NODE_LINK_NVLINK_PAIR
				     ? "over NVLink bridges only in pairs, else over PCIe"
				     : "over PCIe only",
			     100 * share));
	if (speed->link_is_assumed)
		warn(warner, "link_assumed",
		     arena_strdup(warner->arena,
				  "The rate of a link is not published: the slowest of its kind is "
				  "assumed."));
}

static const struct provider_status *status_of(const struct catalogue *catalogue,
					       const char *provider)
{
	for (uint32_t i = 0; i < catalogue->providers_count; i++)
		if (strcmp(catalogue->providers[i].provider, provider) == 0)
			return &catalogue->providers[i];
	return NULL;
}

static void warn_price(struct warner *warner)
{
	const struct provider_status *status =
		status_of(warner->search->catalogue, warner->offer->provider);
	double age = (double)(warner->search->now_us - warner->offer->observed_at_us) / 1e6;
	char text[DURATION_TEXT];

	duration_text(age, text);
	if (strcmp(warner->offer->source, "bundled") == 0)
		warn(warner, "bundled_price",
		     arena_printf(
			     warner->arena,
			     "The price comes from the bundled catalogue, %s old, not from the "
			     "provider today.",
			     text));
	else if (age > OLD_PRICE_SECONDS || (status && status->is_stale))
		warn(warner, "stale_price",
		     arena_printf(warner->arena, "The price was last seen %s ago.", text));
}

/* Copies of a served model need not lie together; a job, or a copy over several nodes, must. */
static bool are_joined(const struct warner *warner)
{
	const struct layout *layout = &warner->plan->layout;

	return warner->workload->task != TASK_INFERENCE || layout->nodes > layout->replicas;
}

static void warn_availability(struct warner *warner)
{
	const struct offer *offer = warner->offer;
	int nodes = warner->plan->layout.nodes;

	if (offer->availability == AVAILABILITY_UNKNOWN)
		warn(warner, "availability_unknown",
		     arena_strdup(warner->arena,
				  "The provider does not tell whether it is available now."));
	if (offer->quantity >= 0 && offer->quantity < nodes)
		warn(warner, "scarce",
		     arena_printf(warner->arena, "%d are available where %d are needed.",
				  offer->quantity, nodes));
	else if (nodes > 1)
		warn(warner, "several_nodes",
		     arena_printf(warner->arena,
				  "%d machines are needed%s: confirm that so many are available "
				  "together.",
				  nodes, are_joined(warner) ? " in one zone" : ""));
	else if (warner->shape->count_milli >= SCARCE_GPUS_MILLI && offer->quantity < nodes)
		warn(warner, "scarce_multi_gpu",
		     arena_printf(
			     warner->arena,
			     "%d GPUs in one machine are scarcer than single ones: confirm that "
			     "it can be had before all else.",
			     warner->shape->count_milli / COUNT_MILLI_ONE));
	if ((warner->list->terms && warner->list->terms->community_hosts == TERM_YES &&
	     strcmp(offer->tier, "secure") != 0) ||
	    strcmp(offer->tier, "community") == 0)
		warn(warner, "community_host",
		     arena_strdup(
			     warner->arena,
			     "The host is a stranger's machine: uptime, links and privacy vary."));
}

static void warn_assumed(struct warner *warner)
{
	static const char *const names[] = {"billing granularity", "minimum charge",
					    "volume price",	   "egress price",
					    "interruption rate",   "set-up time"};
	unsigned assumed = warner->candidate->cost.assumed;
	char list[160] = "";
	size_t used = 0;

	if (!assumed)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && used < sizeof(list); i++)
		if (assumed >> i & 1u)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
						 used ? ", " : "", names[i]);
	warn(warner, "assumed_terms",
	     arena_printf(
		     warner->arena,
		     "The provider does not publish its %s: the dearest quartile of its class is "
		     "assumed.",
		     list));
}

static void warn_model(struct warner *warner)
{
	const struct workload *workload = warner->workload;
	struct workload_length length;

	if (workload_is_beyond(workload, &length))
		warn(warner, "beyond_context",
		     arena_printf(warner->arena,
				  "%.0f tokens are more than the %.0f that the model was made for.",
				  length.tokens, length.most));
	if (warner->shape->count_milli % COUNT_MILLI_ONE)
		warn(warner, "slice",
		     arena_strdup(
			     warner->arena,
			     "A slice of a card: its share of compute and bandwidth is assumed to "
			     "be its share of memory."));
}

void recommend_warnings(const struct search *search, const struct candidate *candidate,
			struct recommendation *out)
{
	struct warner warner = {.search = search,
				.candidate = candidate,
				.workload = &search->request->workload,
				.plan = candidate->plan,
				.shape = candidate->planned->shape,
				.offer = out->offer,
				.list = &search->catalogue->lists[candidate->list],
				.arena = search->arena,
				.out = out};

	warn_fit(&warner);
	warn_formats(&warner);
	warn_latency(&warner);
	warn_length(&warner);
	warn_layout(&warner);
	warn_links(&warner);
	warn_rental(&warner);
	warn_availability(&warner);
	warn_price(&warner);
	warn_model(&warner);
	warn_assumed(&warner);
}
