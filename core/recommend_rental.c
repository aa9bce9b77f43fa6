/*
 * Warnings about the rental: interruptions, rounding, what waits between sessions, what besides the
 * GPUs makes the total.
 */
#include "core/recommend_notes.h"

#include <math.h>

/* Billing steps as coarse as this punish short sessions. */
#define COARSE_BILLING_SECONDS (10 * 60)
/* Rounding up that costs more than this share is worth a word. */
#define ROUNDING_SHARE 0.10
#define LARGE_DATASET_GB 50
/* Storage or egress above this share of the total decides more than the GPUs' price does. */
#define HEAVY_SHARE 0.2
/* Failures that cost more than this share are worth a word. */
#define FAILURES_SHARE 0.01

/* Clusters break now and then, at any price. */
static void warn_failures(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	char interval[DURATION_TEXT], between[DURATION_TEXT];

	if ((double)cost->interruption_micros < FAILURES_SHARE * (double)cost->total_micros ||
	    !(cost->checkpoint_interval_seconds > 0))
		return;
	duration_text(cost->checkpoint_interval_seconds, interval);
	duration_text(SECONDS_PER_HOUR / cost->interruptions_per_hour, between);
	warn(warner, "failures",
	     arena_printf(warner->arena,
			  "Of %d machines one fails every %s or so: a checkpoint every %s, lost "
			  "work and restarts are counted with $%s.",
			  cost->nodes, between, interval,
			  usd_text(cost->interruption_micros).text));
}

static void warn_spot(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	char interval[DURATION_TEXT];

	if (warner->offer->price_kind != PRICE_SPOT) {
		warn_failures(warner);
		return;
	}
	duration_text(cost->checkpoint_interval_seconds, interval);
	if (cost->checkpoint_interval_seconds > 0)
		warn(warner, "spot",
		     arena_printf(warner->arena,
				  "Spot may be taken away: a checkpoint every %s, lost work and "
				  "restarts are counted with $%s, at one interruption in %.1f h.",
				  interval, usd_text(cost->interruption_micros).text,
				  1 / cost->interruptions_per_hour));
	else
		warn(warner, "spot",
		     arena_printf(warner->arena,
				  "Spot may be taken away: restarts are counted with $%s.",
				  usd_text(cost->interruption_micros).text));
	if (cost->checkpoint_interval_seconds > 0 && warner->list->terms &&
	    warner->list->terms->spot_notice_seconds < 30)
		warn(warner, "spot_notice",
		     arena_printf(
			     warner->arena,
			     "The provider gives %.0f s of notice: a checkpoint cannot be written "
			     "in that time.",
			     warner->list->terms->spot_notice_seconds));
}

/* Rounding up is a matter of each session. */
static void warn_rounding(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	double used = cost->wall_seconds, billed = cost->billed_seconds;
	double step = warner->candidate->terms->granularity_seconds;
	char text[DURATION_TEXT];

	if ((cost->basis != COST_RUN && cost->sessions <= 1) || !(used > 0) ||
	    warner->offer->price_kind == PRICE_RESERVED || step < COARSE_BILLING_SECONDS ||
	    billed - used <= ROUNDING_SHARE * used)
		return;
	duration_text(step, text);
	warn(warner, "coarse_billing",
	     arena_printf(warner->arena, "Billing in steps of %s%s adds %.0f %%%s.", text,
			  cost->assumed & COST_ASSUMED_GRANULARITY ? " (assumed)" : "",
			  100 * (billed / used - 1),
			  cost->sessions > 1 ? ", since each session is rounded up"
					     : " to this run"));
}

/* What stop-and-start work finds, or does not find, when it comes back. */
static void warn_sessions(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	const struct terms *terms = warner->list->terms;
	double idle = (double)cost->usd_per_hour_micros * cost->stopped_seconds / SECONDS_PER_HOUR;

	if (idle > 0 && terms && terms->compute_billed_while_stopped == TERM_YES)
		warn(warner, "billed_while_stopped",
		     arena_printf(warner->arena,
				  "The machine is billed while stopped, $%s between these "
				  "sessions: delete it each time, as is counted here.",
				  usd_text(llround(idle)).text));
	if (terms && terms->shared_filesystem != TERM_YES && cost->nodes > 1 &&
	    warner->workload->task != TASK_INFERENCE)
		warn(warner, "no_shared_storage",
		     arena_printf(warner->arena,
				  "%d machines read one data set and write one checkpoint: the "
				  "provider %s file system that all of them see.",
				  cost->nodes,
				  terms->shared_filesystem == TERM_NO
					  ? "has no"
					  : "does not say that it has a"));
	if (cost->between == BETWEEN_DELETE || (terms && terms->persistent_volume == TERM_NO &&
						warner->workload->dataset_gb > LARGE_DATASET_GB))
		warn(warner, "no_volume",
		     arena_strdup(warner->arena,
				  "No volume is known to survive the machine: weights, data and "
				  "checkpoints are loaded again in every session."));
	if (cost->between == BETWEEN_STOP && warner->offer->price_kind != PRICE_RESERVED && terms &&
	    terms->class == PROVIDER_MARKETPLACE)
		warn(warner, "restart_uncertain",
		     arena_strdup(warner->arena,
				  "A stopped machine waits on its host, whose GPUs others may take "
				  "meanwhile: it may not start again."));
	if (cost->stopped_storage_micros > 0)
		warn(warner, "storage_while_stopped",
		     arena_printf(warner->arena, "Storage between sessions costs $%s, over %.0f h.",
				  usd_text(cost->stopped_storage_micros).text,
				  cost->stopped_seconds / SECONDS_PER_HOUR));
}

/* What besides the GPUs decides the total. */
static void warn_parts(struct warner *warner)
{
	const struct cost *cost = &warner->candidate->cost;
	double heavy = HEAVY_SHARE * (double)cost->total_micros;

	if ((double)cost->egress_micros > heavy)
		warn(warner, "egress_heavy",
		     arena_printf(warner->arena, "$%s of the $%s is egress, at $%.3f a GB.",
				  usd_text(cost->egress_micros).text,
				  usd_text(cost->total_micros).text,
				  warner->candidate->terms->egress_usd_per_gb));
	if ((double)cost->storage_micros > heavy)
		warn(warner, "storage_heavy",
		     arena_printf(
			     warner->arena, "$%s of the $%s is storage, at $%.3f a GB and month.",
			     usd_text(cost->storage_micros).text, usd_text(cost->total_micros).text,
			     warner->candidate->terms->volume_usd_per_gb_month));
	if (warner->plan->speed.bottleneck == BOTTLENECK_DATA_LOADING)
		warn(warner, "data_loading",
		     arena_strdup(warner->arena,
				  "The data come slower than the GPUs could take them: faster "
				  "storage or more loaders would end it sooner."));
}

static void warn_commitment(struct warner *warner)
{
	if (warner->offer->price_kind == PRICE_RESERVED)
		warn(warner, "commitment",
		     arena_printf(
			     warner->arena,
			     "The price is that of a commitment of %d months, paid whether used "
			     "or not.",
			     warner->offer->term_months));
}

void warn_rental(struct warner *warner)
{
	warn_spot(warner);
	warn_rounding(warner);
	warn_sessions(warner);
	warn_parts(warner);
	warn_commitment(warner);
}
