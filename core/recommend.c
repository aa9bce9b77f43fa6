/*
 * Recommend: one pass over the shapes of a catalogue: filter, plan, price, rank, explain. See
 * recommend.h; the parts are in recommend_*.c.
 */
#include "core/recommend.h"

#include "core/recommend_parts.h"
#include "core/sizing.h"

static const char *const objective_text[OBJECTIVES] = {
	[OBJECTIVE_TOTAL_COST] = "total_cost",
	[OBJECTIVE_TIME] = "time",
	[OBJECTIVE_USD_PER_HOUR] = "usd_per_hour",
	[OBJECTIVE_USD_PER_MILLION_TOKENS] = "usd_per_million_tokens",
	[OBJECTIVE_VALUE] = "value",
};
static const char *const grouping_text[GROUPINGS] = {
	[GROUP_SHAPE] = "shape",
	[GROUP_OFFER] = "offer",
};
static const char *const feature_text[FEATURES] = {
	[FEATURE_PERSISTENT_VOLUME] = "persistent_volume",
	[FEATURE_SHARED_FILESYSTEM] = "shared_filesystem",
	[FEATURE_DOCKER] = "docker",
	[FEATURE_SSH] = "ssh",
	[FEATURE_JUPYTER] = "jupyter",
	[FEATURE_BARE_METAL] = "bare_metal",
	[FEATURE_CAN_STOP] = "can_stop",
	[FEATURE_CLUSTER] = "cluster",
};
const struct names objective_names = {objective_text, OBJECTIVES};
const struct names grouping_names = {grouping_text, GROUPINGS};
const struct names feature_names = {feature_text, FEATURES};

#define SERVING_NODES_DEFAULT 8

int recommend_max_nodes(const struct recommend_request *request)
{
	if (request->constraints.max_nodes > 0)
		return request->constraints.max_nodes;
	return request->workload.task == TASK_INFERENCE ? SERVING_NODES_DEFAULT : 1;
}

/* The lowest of the reasons is the one that is told. */
static void tally_failed(struct search *search, unsigned failed, const struct shape *shape,
			 uint32_t offers)
{
	search_tally(search, (enum exclusion_reason)__builtin_ctz(failed), shape, offers);
}

/* How many offers of the shape pass every filter; counts the others. */
static uint32_t passing_offers(struct search *search, const struct shape *shape)
{
	int64_t *cheapest = &search->screen->cheapest_micros[shape - search->catalogue->shapes];
	unsigned failed = search_filter_shape(search, shape);
	uint32_t left = 0;

	if (failed) {
		tally_failed(search, failed, shape, shape->offers);
		return 0;
	}
	for (uint32_t i = 0; i < shape->lists; i++) {
		const struct offer_list *list = &search->catalogue->lists[shape->first_list + i];
		struct passing *passing = &search->screen->passing[shape->first_list + i];

		failed = search_filter_list(search, list);
		if (failed) {
			tally_failed(search, failed, shape, list->count);
			continue;
		}
		if (search->known && search->known->passing[shape->first_list + i].is_scanned)
			*passing = search->known->passing[shape->first_list + i];
		else
			search_scan_list(search, list, passing);
		left += passing->count;
		if (passing->count) {
			int64_t micros = catalogue_price(search->catalogue, list, passing->first);

			*cheapest = *cheapest && *cheapest < micros ? *cheapest : micros;
		}
	}
	return left;
}

/* One more job is kept; the least machine time of all, of one unit where that is priced. */
static void note_hours(struct planned *planned, const struct cost_job *job)
{
	double seconds = job->basis == COST_UNIT ? job->unit_tokens / job->tokens_per_second
						 : job->run_seconds;
	double hours = seconds * job->nodes / SECONDS_PER_HOUR;

	if (!planned->count || hours < planned->least_hours)
		planned->least_hours = hours;
	planned->count++;
}

/* The plans of a shape and what their jobs cost in time; NULL without plans or memory. */
static struct planned *keep_plans(struct search *search, const struct shape *shape,
				  const struct plan_set *set)
{
	size_t count = (size_t)set->count;
	struct arena *scratch = &search->scratch;
	struct planned *planned = arena_alloc(scratch, sizeof(*planned));
	struct plan *plans = arena_copy(scratch, set->plans, count * sizeof(*plans));
	struct cost_job *jobs = arena_array(scratch, count, sizeof(*jobs));

	if (!planned || !plans || !jobs) {
		search->is_out_of_memory = true;
		return NULL;
	}
	*planned = (struct planned){.shape = shape, .plans = plans, .jobs = jobs};
	for (int i = 0; i < set->count; i++) {
		if (planned->count < i)
			plans[planned->count] = set->plans[i];
		cost_throttle(&search->work, &plans[planned->count]);
		if (cost_job_prepare(&search->work, &plans[planned->count], &jobs[planned->count]))
			note_hours(planned, &jobs[planned->count]);
	}
	return planned;
}

/* How many of the list's offers cost too much, when its head does not: prices only rise. */
static uint32_t tally_dear_tail(struct search *search, const struct candidate *head, uint32_t left)
{
	const struct constraints *constraints = &search->request->constraints;
	const struct offer_list *list = &search->catalogue->lists[head->list];
	uint32_t low = head->position + 1, high = list->first + list->launchable, end = high;
	uint32_t dear;
	enum exclusion_reason why, last = EXCLUSION_NONE;

	if ((constraints->max_total_micros == PRICE_UNKNOWN &&
	     constraints->max_usd_per_hour_micros == PRICE_UNKNOWN) ||
	    left < 2)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct candidate candidate;

		if (search_price(search, head->planned, list, middle, &candidate, &why)) {
			low = middle + 1;
		} else {
			last = why;
			high = middle;
		}
	}
	if (last == EXCLUSION_NONE)
		return 0;
	/* Of the dear ones, those that single-offer filters removed are counted there. */
	dear = search_count_passing(search, list, low, end);
	search_tally(search, last, head->planned->shape, dear);
	return dear;
}

static void price_lists(struct search *search, const struct planned *planned)
{
	const struct catalogue *catalogue = search->catalogue;
	const struct shape *shape = planned->shape;

	for (uint32_t i = 0; i < shape->lists; i++) {
		const struct offer_list *list = &catalogue->lists[shape->first_list + i];
		struct passing passing = search->screen->passing[shape->first_list + i];
		struct candidate *head = &search->heads[search->heads_count];
		enum exclusion_reason why;

		if (!passing.count)
			continue;
		if (!search_price(search, planned, list, passing.first, head, &why)) {
			search_tally(search, why, shape, passing.count);
			continue;
		}
		search->heads_count++;
		if (search->bar && !search->bar->is_spread)
			search_raise_bar(search->bar, head);
		if (!search->is_trial)
			search_raise_bar(&search->screen->best[shape - catalogue->shapes], head);
		if (!search->is_trial)
			search->offers_held +=
				passing.count - tally_dear_tail(search, head, passing.count);
	}
}

/* Plans and prices one shape, of which `offers` pass. */
static void search_shape(struct search *search, struct plan_search *plans, uint32_t place,
			 uint32_t offers)
{
	const struct shape *shape = &search->catalogue->shapes[place];
	const struct plan_set *set = plan_search_shape(plans, place);
	const struct planned *planned;

	search->searches_cut += set->is_cut;
	if (!set->count) {
		search_miss_plan(search, shape, offers, set);
		return;
	}
	planned = keep_plans(search, shape, set);
	if (!planned)
		return;
	price_lists(search, planned);
	if (!search->is_trial)
		search_near(search, planned);
}

static void search_all(struct search *search, struct plan_search *plans)
{
	const struct catalogue *catalogue = search->catalogue;

	for (uint32_t i = 0; i < catalogue->shapes_count && !search->is_out_of_memory; i++) {
		const struct shape *shape = &catalogue->shapes[i];
		uint32_t offers = search->is_screened ? search->screen->cheapest_micros[i] > 0
						      : passing_offers(search, shape);

		search->shapes_considered += offers > 0;
		search->offers_considered += offers;
		if (offers || (!search->is_trial && search_has_near(search, shape)))
			search_shape(search, plans, i, offers);
	}
}

static void search_promising(struct search *search, struct plan_search *plans)
{
	const struct catalogue *catalogue = search->catalogue;
	struct turn *turns =
		arena_array_raw(&search->scratch, catalogue->shapes_count, sizeof(*turns));
	uint32_t count;

	search->is_out_of_memory = !turns;
	for (uint32_t i = 0; i < catalogue->shapes_count && !search->is_screened; i++)
		passing_offers(search, &catalogue->shapes[i]);
	count = turns ? search_turns(search, turns) : 0;
	for (uint32_t i = 0; i < count && !search->is_out_of_memory &&
			     !search_is_beaten(search, turns[i].least_micros);
	     i++)
		search_shape(search, plans, turns[i].place, 1);
}

static void search_shapes(struct search *search)
{
	struct plan_search *plans = arena_array_raw(&search->scratch, 1, sizeof(*plans));

	if (!plans) {
		search->is_out_of_memory = true;
		return;
	}
	plan_search_begin(plans, search->request->keeper, &search->request->workload,
			  search->catalogue, recommend_max_nodes(search->request));
	if (search->bar)
		search_promising(search, plans);
	else
		search_all(search, plans);
	plan_search_end(plans);
}

static bool screen_init(struct screen *screen, const struct catalogue *catalogue,
			struct arena *arena)
{
	screen->passing = arena_array(arena, catalogue->lists_count, sizeof(*screen->passing));
	screen->cheapest_micros =
		arena_array(arena, catalogue->shapes_count, sizeof(*screen->cheapest_micros));
	screen->best = arena_array(arena, catalogue->shapes_count, sizeof(*screen->best));
	return screen->passing && screen->cheapest_micros && screen->best;
}

static bool search_prepare(struct search *search)
{
	struct arena *arena = &search->scratch;

	search->missed =
		arena_array(arena, search->is_screened ? 0 : search->catalogue->lists_count,
			    sizeof(*search->missed));
	search->heads =
		arena_array_raw(arena, search->catalogue->lists_count, sizeof(*search->heads));
	cost_work_prepare(&search->request->workload, search->request->assumptions, &search->work);
	return search->missed && search->heads && search_prepare_filters(search);
}

static void estimate_memory(const struct workload *workload, struct memory_estimate *out)
{
	struct memory_basis basis;
	struct layout layout;

	memory_prepare(workload, &basis);
	sizing_single_layout(workload, &layout);
	memory_estimate(&basis, &layout, NULL, out);
}

/* `search` begins with what it is asked; its scratch is dropped. */
static bool answer(struct search *search, struct recommend_answer *out, struct error *error)
{
	const struct recommend_request *request = search->request;
	bool is_good;

	*out = (struct recommend_answer){0};
	if (!search->is_trial)
		estimate_memory(&request->workload, &out->memory);
	is_good = !search->is_out_of_memory && search_prepare(search);
	if (is_good) {
		search_shapes(search);
		is_good = !search->is_out_of_memory && search_rank(search, out) &&
			  (search->is_trial || search_exclusions(search, out));
	}
	arena_release(&search->scratch);
	if (!is_good)
		return error_set(error, ERROR_UNAVAILABLE,
				 "the answer needs more memory than a request may take");
	out->assumptions = search->work.assumptions;
	out->shapes_considered = search->shapes_considered;
	out->offers_considered = search->offers_considered;
	out->searches_cut = search->searches_cut;
	out->max_nodes = recommend_max_nodes(request);
	return true;
}

bool recommend_trial(const struct recommend_request *request, const struct catalogue *catalogue,
		     int64_t now_us, const struct screen *screen, const struct bar *bar,
		     struct arena *arena, struct recommend_answer *out, struct error *error)
{
	bool is_alike = screen && search_filters_alike(screen->request, request);
	struct screen mine = is_alike ? *screen : (struct screen){.request = request};
	struct bar rising = bar ? *bar : (struct bar){0};
	struct search search = {.request = request,
				.catalogue = catalogue,
				.now_us = now_us,
				.is_trial = true,
				.bar = bar ? &rising : NULL,
				.screen = &mine,
				.is_screened = is_alike,
				.arena = arena};

	arena_init(&search.scratch, arena->limit);
	if (screen && search_sieves_alike(screen->request, request))
		search.known = screen;
	search.is_out_of_memory = !is_alike && !screen_init(&mine, catalogue, &search.scratch);
	return answer(&search, out, error);
}

/* With remedies or without; these take over what the filters left. */
static bool recommend_with(const struct recommend_request *request,
			   const struct catalogue *catalogue, int64_t now_us, bool has_remedies,
			   struct arena *arena, struct recommend_answer *out, struct error *error)
{
	struct screen screen = {.request = request};
	struct search search = {.request = request,
				.catalogue = catalogue,
				.now_us = now_us,
				.screen = &screen,
				.arena = arena};
	struct arena kept;
	bool is_good;

	arena_init(&kept, arena->limit);
	arena_init(&search.scratch, arena->limit);
	search.is_out_of_memory = !screen_init(&screen, catalogue, &kept);
	is_good = answer(&search, out, error);
	if (is_good && has_remedies)
		is_good =
			recommend_remedies(request, catalogue, now_us, &screen, arena, out, error);
	arena_release(&kept);
	return is_good;
}

bool recommend_once(const struct recommend_request *request, const struct catalogue *catalogue,
		    int64_t now_us, struct arena *arena, struct recommend_answer *out,
		    struct error *error)
{
	return recommend_with(request, catalogue, now_us, false, arena, out, error);
}

bool recommend(const struct recommend_request *request, const struct catalogue *catalogue,
	       int64_t now_us, struct arena *arena, struct recommend_answer *out,
	       struct error *error)
{
	return recommend_with(request, catalogue, now_us, true, arena, out, error);
}
