/*
 * Exclusions: what is not in the answer, why, how much of it, and what missed by least. "Nothing
 * fits" is thereby never a bare empty list.
 */
#include "core/recommend_notes.h"
#include "core/recommend_parts.h"

#include <math.h>
#include <string.h>

static const char *const reason_codes[EXCLUSION_REASONS] = {
#define X(id, code) [EXCLUSION_##id] = code,
	EXCLUSION_TABLE(X)
#undef X
};

/* The rest of "N offers of M shapes ...". */
static const char *const reason_texts[EXCLUSION_REASONS] = {
	[EXCLUSION_UNSUPPORTED] = "have cards on which this method or format does not run",
	[EXCLUSION_MEMORY] =
		"have too little GPU memory, or RAM to offload to, in every layout that was tried",
	[EXCLUSION_NO_LAYOUT] = "cannot be divided by the degrees of parallelism that were asked",
	[EXCLUSION_NO_CLUSTER] = "are too small alone and nothing is known to join several of them",
	[EXCLUSION_NO_FIGURES] =
		"have cards whose published figures do not suffice to predict speed",
	[EXCLUSION_TOO_SLOW] = "hold the model but not the asked latency or rate",
	[EXCLUSION_DEADLINE] = "would end after the deadline",
	[EXCLUSION_OVER_BUDGET] = "would cost more than max_total_usd",
	[EXCLUSION_OVER_HOURLY_BUDGET] = "cost more an hour than max_usd_per_hour",
	[EXCLUSION_FILTERED_PROVIDER] = "are of providers that the filter leaves out",
	[EXCLUSION_FILTERED_REGION] = "are in regions that the filter leaves out",
	[EXCLUSION_FILTERED_COUNTRY] =
		"are in countries that the filter leaves out, or in none that is known",
	[EXCLUSION_FILTERED_ACCELERATOR] = "have accelerators that the filter leaves out",
	[EXCLUSION_FILTERED_GPUS] = "have more or fewer GPUs than the filter allows",
	[EXCLUSION_FILTERED_PRICE_KIND] = "are of price kinds that the filter leaves out",
	[EXCLUSION_FILTERED_FEATURE] =
		"are of providers that lack an asked feature or do not say that they have it",
	[EXCLUSION_FILTERED_AVAILABILITY] = "are not known to be available now",
	[EXCLUSION_STALE] = "have prices older than max_price_age_seconds",
	[EXCLUSION_SOLD_OUT] = "are sold out, as their provider says",
	[EXCLUSION_SPOT_NOT_TOLERATED] =
		"are spot, which this workload does not tolerate: set fault_tolerant if it does",
	[EXCLUSION_TERM_TOO_LONG] = "are committed for longer than the work lasts",
	[EXCLUSION_UNKNOWN_PRICE] = "have no known price",
	[EXCLUSION_UNMAPPED_ACCELERATOR] = "have an accelerator that no rule recognises",
	[EXCLUSION_UNCOUNTABLE] = "have a price or a time beyond what can be counted",
};

void search_tally(struct search *search, enum exclusion_reason reason, const struct shape *shape,
		  uint32_t offers)
{
	struct tally *tally = &search->tallies[reason];
	uint32_t number = (uint32_t)(shape - search->catalogue->shapes) + 1;

	if (!offers)
		return;
	tally->offers += offers;
	if (tally->last_shape != number) {
		tally->last_shape = number;
		tally->shapes++;
	}
}

bool search_is_nearer(const struct search *search, enum exclusion_reason reason, double distance)
{
	const struct tally *tally = &search->tallies[reason];

	return !search->is_trial && (!tally->nearest || distance < tally->distance);
}

void search_set_nearest(struct search *search, enum exclusion_reason reason,
			const struct shape *shape, double distance, const char *text)
{
	struct tally *tally = &search->tallies[reason];

	tally->nearest = shape;
	tally->distance = distance;
	tally->nearest_text = text;
	tally->near = NULL;
	search->is_out_of_memory = search->is_out_of_memory || !text;
}

const char *shape_text(struct arena *arena, const struct shape *shape)
{
	if (shape->count_milli % COUNT_MILLI_ONE)
		return arena_printf(arena, "%.3g × %s",
				    (double)shape->count_milli / COUNT_MILLI_ONE,
				    shape->accelerator->name);
	return arena_printf(arena, "%d × %s", shape->count_milli / COUNT_MILLI_ONE,
			    shape->accelerator->name);
}

static enum exclusion_reason reason_of(enum plan_failure failure)
{
	switch (failure) {
	case PLAN_UNSUPPORTED:
		return EXCLUSION_UNSUPPORTED;
	case PLAN_NO_FIGURES:
		return EXCLUSION_NO_FIGURES;
	case PLAN_TOO_SLOW:
		return EXCLUSION_TOO_SLOW;
	case PLAN_NO_CLUSTER:
		return EXCLUSION_NO_CLUSTER;
	case PLAN_NO_LAYOUT:
		return EXCLUSION_NO_LAYOUT;
	case PLAN_OK:
	case PLAN_NO_MEMORY:
	case PLAN_FAILURES:
		break;
	}
	return EXCLUSION_MEMORY;
}

/* "its best layout" and what it holds, so that the need can be checked. */
static const char *layout_text(struct search *search, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	bool is_serving = search->request->workload.task == TASK_INFERENCE;
	const char *machines =
		layout->nodes > 1 ? arena_printf(search->arena, " on %d machines", layout->nodes)
				  : "";

	if (!machines || !is_serving)
		return machines ? arena_printf(search->arena, "its best layout%s", machines) : NULL;
	if (search->request->workload.architecture->media)
		return arena_printf(search->arena, "one machine with weights in %s",
				    format_facts(layout->weight_format)->name);
	return arena_printf(search->arena, "one machine with weights in %s and %.0f sequence%s",
			    format_facts(layout->weight_format)->name, layout->sequences,
			    layout->sequences > 1 ? "s" : "");
}

static const char *lack_text(struct search *search, const char *name, const char *layout,
			     const struct plan_set *set, const char *end)
{
	const struct memory_estimate *memory = &set->nearest.memory;
	double lack = memory->device_bytes - set->nearest_limit_bytes;

	if (lack > 0 && lack < 0.1 * GIB)
		return arena_printf(search->arena,
				    "%s: %s needs %.2f GiB a GPU, where %.2f GiB may be used: %.0f "
				    "MiB too little%s",
				    name, layout, memory->device_bytes / GIB,
				    set->nearest_limit_bytes / GIB, ceil(lack / MIB), end);
	if (lack > 0)
		return arena_printf(search->arena,
				    "%s: %s needs %.1f GiB a GPU, where %.1f GiB may be used: %.1f "
				    "GiB too little%s",
				    name, layout, memory->device_bytes / GIB,
				    set->nearest_limit_bytes / GIB, lack / GIB, end);
	return arena_printf(search->arena,
			    "%s: %s offloads %.1f GiB to the machine's RAM, where %.1f GiB may be "
			    "used: %.1f GiB too little%s",
			    name, layout, memory->host_bytes / GIB, set->nearest_ram_bytes / GIB,
			    (memory->host_bytes - set->nearest_ram_bytes) / GIB, end);
}

/* What the nearest layout lacks: memory, or nodes to spread over. */
static void miss_memory(struct search *search, enum exclusion_reason reason,
			const struct shape *shape, const struct plan_set *set)
{
	const struct plan *nearest = &set->nearest;
	const char *name, *layout, *text;

	if (!search_is_nearer(search, reason, set->nearest_distance))
		return;
	name = shape_text(search->arena, shape);
	layout = layout_text(search, nearest);
	if (!name || !layout)
		text = NULL;
	else if (nearest->layout.nodes > recommend_max_nodes(search->request))
		text = arena_printf(
			search->arena,
			"%s holds %.0f sequences at once: the load needs %d machines, %d are "
			"allowed",
			name, nearest->layout.sequences, nearest->layout.nodes,
			recommend_max_nodes(search->request));
	else
		text = lack_text(search, name, layout, set,
				 reason == EXCLUSION_NO_CLUSTER
					 ? ", and nothing is known to join several of them"
					 : "");
	search_set_nearest(search, reason, shape, set->nearest_distance, text);
}

static void miss_speed(struct search *search, const struct shape *shape, const struct plan_set *set)
{
	const struct workload *workload = &search->request->workload;
	const struct speed_estimate *speed = &set->slow.speed;
	const char *name, *text = NULL;

	if (!search_is_nearer(search, EXCLUSION_TOO_SLOW, set->slow_distance))
		return;
	name = shape_text(search->arena, shape);
	if (name && workload->architecture->media)
		text = recommend_media_miss(search->arena, name, workload, &set->slow,
					    recommend_max_nodes(search->request));
	else if (name && set->slow.layout.nodes > recommend_max_nodes(search->request))
		text = arena_printf(search->arena,
				    "%s: %.4g requests a second at %.0f %% load need %d machines, "
				    "%d are allowed",
				    name, workload->requests_per_second, 100 * PLAN_TARGET_LOAD,
				    set->slow.layout.nodes, recommend_max_nodes(search->request));
	else if (name && workload->max_tpot_seconds > 0 &&
		 speed->tpot_seconds > workload->max_tpot_seconds)
		text = arena_printf(search->arena, "%s takes %.1f ms a token, the limit is %.1f ms",
				    name, speed->tpot_seconds * 1e3,
				    workload->max_tpot_seconds * 1e3);
	else if (name)
		text = arena_printf(search->arena,
				    "%s takes %.3f s to the first token, the limit is %.3f s", name,
				    speed->ttft_seconds, workload->max_ttft_seconds);
	search_set_nearest(search, EXCLUSION_TOO_SLOW, shape, set->slow_distance, text);
}

void search_miss_plan(struct search *search, const struct shape *shape, uint32_t offers,
		      const struct plan_set *set)
{
	enum exclusion_reason reason = reason_of(set->failure);
	const struct support_verdict *verdict = &set->nearest.support;
	bool is_memory = reason == EXCLUSION_MEMORY || reason == EXCLUSION_NO_CLUSTER;

	/* Planned for its near misses alone. */
	if (!offers)
		return;
	search_tally(search, reason, shape, offers);
	if (reason == EXCLUSION_TOO_SLOW)
		miss_speed(search, shape, set);
	else if (is_memory && set->nearest.usable_bytes > 0)
		miss_memory(search, reason, shape, set);
	/* Of what does not run, the newest card is nearest. */
	else if (reason == EXCLUSION_UNSUPPORTED && verdict->reason &&
		 search_is_nearer(search, reason, -shape->accelerator->release_year))
		search_set_nearest(search, reason, shape, -shape->accelerator->release_year,
				   arena_printf(search->arena, "%s: %s", shape->accelerator->name,
						verdict->reason));
}

/* Offers that no shape holds: counted for the asked providers only. */
static void tally_unlisted(struct search *search)
{
	const struct filters *filters = &search->request->filters;
	const struct catalogue *catalogue = search->catalogue;
	const bool has_filter = filters->providers_count || filters->excluded_providers_count;
	uint32_t unmapped = catalogue->unmapped_offers, unpriced = catalogue->unpriced_offers;

	if (has_filter)
		unmapped = unpriced = 0;
	for (uint32_t i = 0; has_filter && i < catalogue->unlisted_count; i++) {
		struct offer offer;
		bool is_unpriced;

		catalogue_read(catalogue, catalogue->unlisted[i], &offer);
		is_unpriced = offer.is_mapped && offer.price_micros <= 0;
		if (search_wants_provider(filters, offer.provider)) {
			unpriced += is_unpriced;
			unmapped += !is_unpriced;
		} else {
			search->tallies[EXCLUSION_FILTERED_PROVIDER].offers++;
		}
	}
	search->tallies[EXCLUSION_UNMAPPED_ACCELERATOR].offers = unmapped;
	search->tallies[EXCLUSION_UNKNOWN_PRICE].offers = unpriced;
}

static const char *reason_text(const struct search *search, int reason)
{
	if (reason == EXCLUSION_SPOT_NOT_TOLERATED &&
	    workload_is_endpoint(&search->request->workload))
		return "are spot, whose machines may all be taken from an endpoint at once: only "
		       "batch work may use it";
	return reason_texts[reason];
}

/* "1 offer of 1 shape is sold out": the verb comes first in every text. */
static const char *tally_text(struct arena *arena, const struct tally *tally, const char *text)
{
	const char *offers = tally->offers == 1 ? "" : "s", *shapes = tally->shapes == 1 ? "" : "s";
	static const struct {
		const char *many, *one;
	} verbs[] = {{"are ", "is "}, {"have ", "has "}, {"hold ", "holds "}, {"cost ", "costs "}};
	const char *verb = "";

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs) && tally->offers == 1; i++)
		if (strncmp(text, verbs[i].many, strlen(verbs[i].many)) == 0) {
			verb = verbs[i].one;
			text += strlen(verbs[i].many);
			break;
		}
	if (tally->shapes)
		return arena_printf(arena, "%u offer%s of %u shape%s %s%s.", tally->offers, offers,
				    tally->shapes, shapes, verb, text);
	return arena_printf(arena, "%u offer%s %s%s.", tally->offers, offers, verb, text);
}

bool search_exclusions(struct search *search, struct recommend_answer *out)
{
	struct exclusion *exclusions =
		arena_array(search->arena, EXCLUSION_REASONS, sizeof(*exclusions));
	int count = 0;

	if (!exclusions)
		return false;
	tally_unlisted(search);
	for (int reason = 0; reason < EXCLUSION_REASONS; reason++) {
		const struct tally *tally = &search->tallies[reason];
		struct exclusion *exclusion = &exclusions[count];

		if (!tally->offers)
			continue;
		*exclusion = (struct exclusion){
			.reason = reason_codes[reason],
			.shapes = tally->shapes,
			.offers = tally->offers,
			.nearest = tally->nearest,
			.nearest_text = tally->near ? search_near_text(search, tally->near)
						    : tally->nearest_text,
			.text = tally_text(search->arena, tally, reason_text(search, reason))};
		if (!exclusion->text || (tally->near && !exclusion->nearest_text))
			return false;
		count++;
	}
	out->exclusions = exclusions;
	out->exclusions_count = count;
	return true;
}
