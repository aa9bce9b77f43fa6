/*
 * Warnings: what a careful buyer would ask before renting, each from a figure of the plan, the
 * provider's terms or the price's age. Most important first: an answer carries at most NOTES_MAX.
 */
#include "core/recommend_notes.h"

#include <stdio.h>
#include <string.h>

/* A price older than this is told to be old even where nobody asked. */
#define OLD_PRICE_SECONDS (24 * SECONDS_PER_HOUR)
/* Billing steps as coarse as this punish short sessions. */
#define COARSE_BILLING_SECONDS (10 * 60)
/* Rounding up that costs more than this share is worth a word. */
#define ROUNDING_SHARE 0.10
#define LARGE_DATASET_GB 50
/* A month is longer than prices, machines and plans usually hold. */
#define LONG_RUN_SECONDS (30 * 24 * SECONDS_PER_HOUR)
/* Ten tokens a second: about as fast as people read. */
#define READING_TPOT_SECONDS 0.1

struct warner {
	const struct search *search;
	const struct candidate *candidate;
	const struct workload *workload;
	const struct plan *plan;
	const struct shape *shape;
	const struct offer *offer;
	const struct offer_list *list;
	struct arena *arena;
	struct recommendation *out;
};

static void warn(struct warner *warner, const char *code, const char *text)
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
				  "Only with weights in %s: in %s they leave too little room here.",
				  names_text(&format_names, (int)layout->weight_format),
				  names_text(&format_names, (int)native)));
	if (workload->kv_format == FORMAT_AUTO && format_facts(layout->kv_format)->linear_bits < 16)
		warn(warner, "quantised_kv",
		     arena_printf(warner->arena,
				  "Only with the KV cache in %s: in 16 bit the asked context and "
				  "concurrency would not be resident on %d %s.",
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

	duration_text(cost->wall_seconds, text);
	if (cost->basis == COST_RUN && cost->wall_seconds > LONG_RUN_SECONDS)
		warn(warner, "long_run",
		     arena_printf(
			     warner->arena,
			     "It would run for %s: set deadline_hours to leave such answers out, "
			     "or max_nodes to spread it over more machines.",
			     text));
}

static void warn_links(struct warner *warner)
{
	const struct fabric *fabric = &warner->shape->fabric;

	if (!note_gpus_talk(warner->plan))
		return;
	if (warner->plan->layout.gpus_per_node > 1 && !fabric_is_fast(fabric))
		warn(warner, "pcie_only",
		     arena_printf(
			     warner->arena,
			     "The GPUs exchange data %s: this holds back tensor parallelism and "
			     "sharded training (%.0f %% of the time here).",
			     fabric->node_link == NODE_LINK_NVLINK_PAIR
				     ? "over NVLink bridges only in pairs, else over PCIe"
				     : "over PCIe only",
			     warner->workload->task == TASK_INFERENCE
				     ? 100 * warner->plan->speed.decode.communication_seconds /
					       warner->plan->speed.decode.seconds
				     : 100 * warner->plan->speed.step.communication_seconds /
					       warner->plan->speed.step.seconds));
	if (warner->plan->speed.link_is_assumed)
		warn(warner, "link_assumed",
		     arena_strdup(warner->arena,
				  "The rate of a link is not published: the slowest of its kind is "
				  "assumed."));
}

static void warn_spot(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	char interval[DURATION_TEXT];

	if (warner->offer->price_kind != PRICE_SPOT)
		return;
	duration_text(cost->checkpoint_interval_seconds, interval);
	if (cost->checkpoint_interval_seconds > 0)
		warn(warner, "spot",
		     arena_printf(warner->arena,
				  "Spot may be taken away: a checkpoint every %s, lost work and "
				  "restarts are counted with $%.2f, at one interruption in %.1f h.",
				  interval, usd_from_micros(cost->interruption_micros),
				  1 / (cost->interruptions_per_hour * cost->nodes)));
	else
		warn(warner, "spot",
		     arena_printf(warner->arena,
				  "Spot may be taken away: restarts are counted with $%.2f.",
				  usd_from_micros(cost->interruption_micros)));
	if (cost->checkpoint_interval_seconds > 0 && warner->list->terms &&
	    warner->list->terms->spot_notice_seconds < 30)
		warn(warner, "spot_notice",
		     arena_printf(
			     warner->arena,
			     "The provider gives %.0f s of notice: a checkpoint cannot be written "
			     "in that time.",
			     warner->list->terms->spot_notice_seconds));
}

static void warn_billing(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	const struct terms *terms = warner->list->terms;
	double used = cost->wall_seconds, billed = cost->billed_seconds;
	char text[DURATION_TEXT];

	if (cost->basis == COST_RUN && used > 0 &&
	    warner->candidate->terms->granularity_seconds >= COARSE_BILLING_SECONDS &&
	    billed - used > ROUNDING_SHARE * used) {
		duration_text(warner->candidate->terms->granularity_seconds, text);
		warn(warner, "coarse_billing",
		     arena_printf(warner->arena,
				  "Billing in steps of %s%s adds %.0f %% to this run.", text,
				  cost->assumed & COST_ASSUMED_GRANULARITY ? " (assumed)" : "",
				  100 * (billed / used - 1)));
	}
	if (terms && warner->workload->sessions > 1 &&
	    terms->compute_billed_while_stopped == TERM_YES)
		warn(warner, "billed_while_stopped",
		     arena_strdup(
			     warner->arena,
			     "The machine is billed while stopped: delete it between sessions."));
	if (terms && terms->persistent_volume == TERM_NO &&
	    (warner->workload->sessions > 1 || warner->workload->dataset_gb > LARGE_DATASET_GB))
		warn(warner, "no_volume",
		     arena_strdup(
			     warner->arena,
			     "No volume survives the machine: weights and data are loaded again in "
			     "every session."));
	if (warner->offer->price_kind == PRICE_RESERVED)
		warn(warner, "commitment",
		     arena_printf(
			     warner->arena,
			     "The price is that of a commitment of %d months, paid whether used "
			     "or not.",
			     warner->offer->term_months));
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
				  "%d machines are needed in one zone: confirm that so many are "
				  "available together.",
				  nodes));
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
	const struct architecture *architecture = workload->architecture;
	double asked = workload->task == TASK_INFERENCE ? workload->full_context
							: (double)workload->sequence_length;

	if (architecture->max_context > 0 && asked > architecture->max_context)
		warn(warner, "beyond_context",
		     arena_printf(warner->arena,
				  "%.0f tokens are more than the %d that the model was made for.",
				  asked, architecture->max_context));
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
	warn_links(&warner);
	warn_spot(&warner);
	warn_billing(&warner);
	warn_availability(&warner);
	warn_price(&warner);
	warn_model(&warner);
	warn_assumed(&warner);
}
