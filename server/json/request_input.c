/* Request input: see request_input.h. */
#include "server/json/request_input.h"

#include "core/country.h"
#include "core/terms.h"
#include "server/json/request_input_parts.h"

#include <string.h>

static void read_constraints(struct input *input, const struct input_at *at,
			     struct constraints *out)
{
	static const char *const texts[] = {"deadline_hours", "max_total_usd", "max_usd_per_hour",
					    "max_nodes"};
	static const struct names known = {texts, COUNT_OF(texts)};
	struct input_at member;
	double value;
	int64_t nodes;

	out->max_total_micros = out->max_usd_per_hour_micros = PRICE_UNKNOWN;
	if (!input_object(input, at, &known))
		return;
	member = input_member(at, "deadline_hours");
	if (input_number_within(input, &member, 1e-3, 1e6, &value))
		out->deadline_seconds = value * SECONDS_PER_HOUR;
	member = input_member(at, "max_total_usd");
	if (input_number_within(input, &member, 1e-6, 1e12, &value))
		out->max_total_micros = micros_from_usd(value);
	member = input_member(at, "max_usd_per_hour");
	if (input_number_within(input, &member, 1e-6, 1e9, &value))
		out->max_usd_per_hour_micros = micros_from_usd(value);
	member = input_member(at, "max_nodes");
	if (input_whole_within(input, &member, 1, 1024, &nodes))
		out->max_nodes = (int)nodes;
}

/* What nobody publishes, as the caller has it: one table says the names and the ranges. */
static void read_assumptions(struct decoder *decoder, const struct input_at *at,
			     struct recommend_request *request)
{
	static const char *const texts[] = {
#define X(field, value, least, most) #field,
		COST_ASSUMPTIONS(X)
#undef X
	};
	static const struct names known = {texts, ASSUMPTIONS};
	struct input *input = &decoder->input;

	decoder->assumptions = cost_assumptions_default;
	if (!at->value || !input_object(input, at, &known))
		return;
	for (int id = 0; id < ASSUMPTIONS; id++) {
		const struct cost_assumption_field *field = &cost_assumption_fields[id];
		struct input_at member = input_member(at, field->name);
		double value;

		if (input_number_within(input, &member, field->least, field->most, &value))
			cost_assumption_set(&decoder->assumptions, (enum cost_assumption_id)id,
					    value);
	}
	request->assumptions = &decoder->assumptions;
}

static const char *const *read_texts(struct input *input, const struct input_at *at, size_t *count)
{
	size_t i, listed = input_list(input, at);
	const char **texts = arena_array(input->arena, listed, sizeof(*texts));

	*count = texts ? listed : 0;
	if (!texts)
		error_set(input->error, ERROR_TOO_LARGE, "the request needs too much memory");
	for (i = 0; i < *count; i++) {
		struct input_at element = input_element(at, i);
		input_text(input, &element, &texts[i]);
	}
	return texts;
}

static bool provider_is_known(const struct catalogue *catalogue, const char *provider)
{
	uint32_t i;

	if (terms_find(provider))
		return true;
	for (i = 0; catalogue && i < catalogue->providers_count; i++)
		if (strcmp(catalogue->providers[i].provider, provider) == 0)
			return true;
	return false;
}

/* A provider that nobody knows would silently leave an empty answer, or the one that was meant. */
static const char *const *read_providers(struct decoder *decoder, const struct input_at *at,
					 size_t *count)
{
	const char *const *texts = read_texts(&decoder->input, at, count);

	for (size_t i = 0; i < *count; i++) {
		struct input_at element = input_element(at, i);

		if (texts[i] && !provider_is_known(decoder->catalogue, texts[i]))
			input_fault(
				&decoder->input, &element, "unknown_value", terms_nearest(texts[i]),
				"'%s' is not a known provider: see GET /v1/providers", texts[i]);
	}
	return texts;
}

/* A code in small letters is meant as the same country. */
static void read_countries(struct input *input, const struct input_at *at, struct filters *out)
{
	size_t i, count;
	const char *const *texts = read_texts(input, at, &count);
	const char **codes = arena_array(input->arena, count, sizeof(*codes));

	for (i = 0; codes && i < count; i++) {
		struct input_at element = input_element(at, i);
		char code[COUNTRY_TEXT];

		if (!texts[i])
			continue;
		if (!country_read(texts[i], code))
			input_fault(input, &element, "syntax", NULL,
				    "must be a country code of two letters (ISO 3166): \"US\"");
		codes[i] = arena_strdup(input->arena, code);
		if (!codes[i])
			codes = NULL;
	}
	if (!codes)
		error_set(input->error, ERROR_TOO_LARGE, "the request needs too much memory");
	out->countries = codes;
	out->countries_count = codes ? count : 0;
}

/* A name that means one card is that card; else a family's name is all its variants. */
static void read_accelerators(struct input *input, const struct input_at *at, struct filters *out)
{
	size_t i, listed, room = 0, count = 0;
	const char *const *texts = read_texts(input, at, &listed);
	const struct accelerator **found;

	for (i = 0; i < listed; i++)
		room += texts[i] ? 1 + accelerator_family(texts[i], NULL, 0) : 0;
	found = arena_array(input->arena, room, sizeof(*found));
	if (!found)
		error_set(input->error, ERROR_TOO_LARGE, "the request needs too much memory");
	for (i = 0; found && i < listed; i++) {
		struct input_at element = input_element(at, i);
		size_t variants;

		if (!texts[i])
			continue;
		found[count] = accelerator_resolve(NULL, texts[i]);
		variants = found[count] ? 1
					: accelerator_family(texts[i], found + count, room - count);
		if (!variants)
			input_fault(input, &element, "unknown_value", accelerator_nearest(texts[i]),
				    "'%s' is not a known accelerator: see GET /v1/accelerators",
				    texts[i]);
		count += variants;
	}
	out->accelerators = found;
	out->accelerators_count = count;
}

/* A deadline or a budget for the whole of a job that has no amount of work would be ignored. */
static void check_amount(struct input *input, const struct input_at *at,
			 const struct recommend_request *request)
{
	const struct workload *workload = &request->workload;
	bool is_serving = workload->task == TASK_INFERENCE;
	bool has_amount = is_serving ? workload->requests > 0 : workload->tokens > 0;
	bool is_monthly = is_serving && workload->mode == SERVING_INTERACTIVE;
	const char *amount = is_serving ? "requests" : "total_tokens, tokens_per_epoch or examples";
	struct input_at member;

	if (error_is_set(input->error) || has_amount)
		return;
	member = input_member(at, "deadline_hours");
	if (request->constraints.deadline_seconds > 0)
		input_fault(input, &member, "needs_amount", NULL,
			    "says nothing without an amount of work: give %s", amount);
	member = input_member(at, "max_total_usd");
	if (!is_monthly && request->constraints.max_total_micros != PRICE_UNKNOWN)
		input_fault(input, &member, "needs_amount", NULL,
			    "says nothing without an amount of work: give %s", amount);
}

static void read_filters(struct decoder *decoder, const struct input_at *at, struct filters *out)
{
	static const char *const texts[] = {"providers",
					    "exclude_providers",
					    "regions",
					    "countries",
					    "accelerators",
					    "price_kinds",
					    "features",
					    "min_gpus",
					    "max_gpus",
					    "available_only",
					    "max_price_age_seconds"};
	static const struct names known = {texts, COUNT_OF(texts)};
	struct input *input = &decoder->input;
	struct input_at member;
	int64_t gpus;

	if (!input_object(input, at, &known))
		return;
	member = input_member(at, "providers");
	out->providers = read_providers(decoder, &member, &out->providers_count);
	member = input_member(at, "exclude_providers");
	out->excluded_providers = read_providers(decoder, &member, &out->excluded_providers_count);
	member = input_member(at, "regions");
	out->regions = read_texts(input, &member, &out->regions_count);
	member = input_member(at, "countries");
	read_countries(input, &member, out);
	member = input_member(at, "accelerators");
	read_accelerators(input, &member, out);
	member = input_member(at, "price_kinds");
	out->price_kinds = input_enum_bits(input, &member, &price_kind_names);
	member = input_member(at, "features");
	out->features = input_enum_bits(input, &member, &feature_names);
	member = input_member(at, "min_gpus");
	if (input_whole_within(input, &member, 1, 1024, &gpus))
		out->least_gpus = (int)gpus;
	member = input_member(at, "max_gpus");
	if (input_whole_within(input, &member, 1, 1024, &gpus))
		out->most_gpus = (int)gpus;
	if (out->least_gpus && out->most_gpus && out->least_gpus > out->most_gpus)
		input_fault(input, &member, "conflict", NULL, "must not be less than min_gpus");
	member = input_member(at, "available_only");
	input_flag(input, &member, &out->available_only);
	member = input_member(at, "max_price_age_seconds");
	input_whole_within(input, &member, 1, INT64_C(1000000000), &out->max_age_seconds);
}

void request_input_read(struct decoder *decoder, const struct input_at *root)
{
	static const char *const texts[] = {"workload",	 "constraints", "filters", "assumptions",
					    "objective", "group",	"limit",   "launch"};
	static const struct names known = {texts, COUNT_OF(texts)};
	struct recommend_request *request = &decoder->result.request;
	struct input *input = &decoder->input;
	struct input_at member;
	int value;
	int64_t limit = RECOMMENDATIONS_DEFAULT;

	input_object(input, root, &known);
	member = input_member(root, "workload");
	workload_input(input, &member, &decoder->workload, &request->workload);
	member = input_member(root, "constraints");
	read_constraints(input, &member, &request->constraints);
	check_amount(input, &member, request);
	member = input_member(root, "assumptions");
	read_assumptions(decoder, &member, request);
	member = input_member(root, "filters");
	read_filters(decoder, &member, &request->filters);
	member = input_member(root, "objective");
	if (input_enum(input, &member, &objective_names, &value))
		request->objective = (enum objective)value;
	member = input_member(root, "group");
	if (input_enum(input, &member, &grouping_names, &value))
		request->group = (enum grouping)value;
	member = input_member(root, "limit");
	input_whole_within(input, &member, 1, RECOMMENDATIONS_MAX, &limit);
	request->limit = (int)limit;
	member = input_member(root, "launch");
	input_flag(input, &member, &decoder->result.wants_launch);
	decoder->result.model = decoder->workload.model;
}

static void read_sizing(struct decoder *decoder, const struct input_at *root)
{
	static const char *const texts[] = {"workload"};
	static const struct names known = {texts, COUNT_OF(texts)};
	struct input_at member;

	input_object(&decoder->input, root, &known);
	member = input_member(root, "workload");
	workload_input(&decoder->input, &member, &decoder->workload,
		       &decoder->result.request.workload);
	decoder->result.model = decoder->workload.model;
}

bool request_input_conclude(struct error *error)
{
	const struct error_item *item;
	unsigned unknown = 0, unsupported = 0, all;

	if (!error_is_set(error))
		return true;
	if (!error->first)
		return false; /* a headline of its own: memory ran out */
	for (item = error->first; item; item = item->next) {
		unknown += strcmp(item->code, "unknown_model") == 0;
		unsupported += strcmp(item->code, "unsupported") == 0;
	}
	all = error->count;
	if (unknown == all && !error->dropped)
		return error_set(error, ERROR_UNKNOWN_MODEL, "%s", error->first->detail);
	if (unsupported == all && !error->dropped)
		return error_set(error, ERROR_UNSUPPORTED, "%s", error->first->detail);
	all += error->dropped;
	return error_set(error, ERROR_INVALID,
			 all == 1 ? "one field is invalid" : "%u fields are invalid", all);
}

static const struct request_input *decode(const char *body, size_t length, struct error *warnings,
					  const struct catalogue *catalogue, struct arena *arena,
					  struct error *error,
					  void (*read)(struct decoder *, const struct input_at *))
{
	struct decoder *decoder = arena_alloc(arena, sizeof(*decoder));
	struct input_at root = {.value = NULL};
	json_auto_t *json = NULL;

	if (!decoder) {
		error_set(error, ERROR_INTERNAL, "memory is out");
		return NULL;
	}
	error->arena = error->arena ? error->arena : arena;
	decoder->catalogue = catalogue;
	decoder->input = (struct input){.arena = arena, .error = error, .warnings = warnings};
	json = input_parse(&decoder->input, body, length);
	if (!json)
		return NULL;
	root.value = json;
	read(decoder, &root);
	if (!request_input_conclude(error))
		return NULL;
	return &decoder->result;
}

const struct request_input *request_input_recommend(const char *body, size_t length,
						    struct error *warnings,
						    const struct catalogue *catalogue,
						    struct arena *arena, struct error *error)
{
	return decode(body, length, warnings, catalogue, arena, error, request_input_read);
}

const struct request_input *request_input_sizing(const char *body, size_t length,
						 struct error *warnings, struct arena *arena,
						 struct error *error)
{
	return decode(body, length, warnings, NULL, arena, error, read_sizing);
}
