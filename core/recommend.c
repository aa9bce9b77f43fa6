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

/* Filters nothing of the shape's lists but single offers; counts what whole lists lose. */
static uint32_t passing_offers(struct search *search, const struct shape *shape)
{
	enum exclusion_reason why = search_filter_shape(search, shape);
	uint32_t left = 0;

	if (why != EXCLUSION_NONE) {
		search_tally(search, why, shape, shape->offers);
		return 0;
	}
	for (uint32_t i = 0; i < shape->lists; i++) {
		const struct offer_list *list = &search->catalogue->lists[shape->first_list + i];

		why = search_filter_list(search, list);
		if (why != EXCLUSION_NONE) {
			search_tally(search, why, shape, list->count);
			continue;
		}
		search->left[shape->first_list + i] = search_count_list(search, list);
		left += search->left[shape->first_list + i];
	}
	return left;
}

/* The plans of a shape and what their jobs cost in time; NULL without plans or memory. */
static struct planned *keep_plans(struct search *search, const struct shape *shape,
				  const struct plan_set *set)
{
	size_t count = (size_t)set->count;
	struct arena *scratch = &search->scratch;
	struct planned *planned = arena_alloc(scratch, sizeof(*planned));
	struct plan *plans = arena_array(scratch, count, sizeof(*plans));
	struct cost_job *jobs = arena_array(scratch, count, sizeof(*jobs));

	if (!planned || !plans || !jobs) {
		search->is_out_of_memory = true;
		return NULL;
	}
	*planned = (struct planned){.shape = shape, .plans = plans, .jobs = jobs};
	for (int i = 0; i < set->count; i++) {
		plans[planned->count] = set->plans[i];
		if (cost_job_prepare(&search->work, &set->plans[i], &jobs[planned->count]))
			planned->count++;
	}
	return planned;
}

/* How many of the list's offers cost too much, when its head does not: prices only rise. */
static void tally_dear_tail(struct search *search, const struct candidate *head, uint32_t left)
{
	const struct constraints *constraints = &search->request->constraints;
	const struct offer_list *list = &search->catalogue->lists[head->list];
	uint32_t low = head->position + 1, high = list->first + list->launchable, end = high;
	uint32_t dear = 0;
	enum exclusion_reason why, last = EXCLUSION_NONE;

	if ((constraints->max_total_micros == PRICE_UNKNOWN &&
	     constraints->max_usd_per_hour_micros == PRICE_UNKNOWN) ||
	    left < 2)
		return;
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
		return;
	/* Of the dear ones, those that single-offer filters removed are counted there. */
	for (uint32_t i = low; i < end; i++)
		dear += !search->has_tag_filters ||
			search_filter_tag(search, &search->catalogue->tags[i]) == EXCLUSION_NONE;
	search_tally(search, last, head->planned->shape, dear);
}

static void price_lists(struct search *search, const struct planned *planned)
{
	const struct catalogue *catalogue = search->catalogue;
	const struct shape *shape = planned->shape;

	for (uint32_t i = 0; i < shape->lists; i++) {
		const struct offer_list *list = &catalogue->lists[shape->first_list + i];
		uint32_t left = search->left[shape->first_list + i], position;
		enum exclusion_reason why;

		if (!left)
			continue;
		position = search_next(search, list, list->first);
		if (search_price(search, planned, list, position,
				 &search->heads[search->heads_count], &why))
			tally_dear_tail(search, &search->heads[search->heads_count++], left);
		else
			search_tally(search, why, shape, left);
	}
}

static void search_shapes(struct search *search)
{
	const struct catalogue *catalogue = search->catalogue;
	int max_nodes = recommend_max_nodes(search->request);
	struct plan_basis basis;
	struct plan_set set;

	plan_prepare(&search->request->workload, &basis);
	for (uint32_t i = 0; i < catalogue->shapes_count && !search->is_out_of_memory; i++) {
		const struct shape *shape = &catalogue->shapes[i];
		uint32_t offers = passing_offers(search, shape);
		const struct planned *planned;

		if (!offers)
			continue;
		search->shapes_considered++;
		search->offers_considered += offers;
		plan_shape(&basis, shape, max_nodes, &set);
		if (!set.count) {
			search_miss_plan(search, shape, offers, &set);
			continue;
		}
		planned = keep_plans(search, shape, &set);
		if (planned)
			price_lists(search, planned);
	}
}

static bool search_prepare(struct search *search)
{
	struct arena *arena = &search->scratch;

	search->terms = arena_array(arena, terms_count + 1, sizeof(*search->terms));
	search->has_terms = arena_array(arena, terms_count + 1, sizeof(*search->has_terms));
	search->left = arena_array(arena, search->catalogue->lists_count, sizeof(*search->left));
	search->heads = arena_array(arena, search->catalogue->lists_count, sizeof(*search->heads));
	cost_work_prepare(&search->request->workload, &search->work);
	return search->terms && search->has_terms && search->left && search->heads &&
	       search_prepare_filters(search);
}

bool recommend_once(const struct recommend_request *request, const struct catalogue *catalogue,
		    int64_t now_us, struct arena *arena, struct recommend_answer *out,
		    struct error *error)
{
	struct search search = {
		.request = request, .catalogue = catalogue, .now_us = now_us, .arena = arena};
	struct memory_basis basis;
	struct layout layout;
	bool is_good;

	*out = (struct recommend_answer){0};
	memory_prepare(&request->workload, &basis);
	sizing_single_layout(&request->workload, &layout);
	memory_estimate(&basis, &layout, NULL, &out->memory);
	arena_init(&search.scratch, arena->limit);
	is_good = search_prepare(&search);
	if (is_good) {
		search_shapes(&search);
		is_good = !search.is_out_of_memory && search_rank(&search, out) &&
			  search_exclusions(&search, out);
	}
	arena_release(&search.scratch);
	if (!is_good)
		return error_set(error, ERROR_UNAVAILABLE,
				 "the answer needs more memory than a request may take");
	out->shapes_considered = search.shapes_considered;
	out->offers_considered = search.offers_considered;
	return true;
}

bool recommend(const struct recommend_request *request, const struct catalogue *catalogue,
	       int64_t now_us, struct arena *arena, struct recommend_answer *out,
	       struct error *error)
{
	return recommend_once(request, catalogue, now_us, arena, out, error) &&
	       recommend_remedies(request, catalogue, now_us, arena, out, error);
}
