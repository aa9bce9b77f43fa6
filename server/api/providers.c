/* GET /v1/providers and /v1/providers/{name}: terms, freshness, coverage, what is not understood.
 */
#include "server/api/api.h"
#include "server/api/coverage.h"
#include "server/api/query.h"
#include "server/api/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNPLACED_MOST 100

static void render_term(struct writer *writer, const char *key, enum term term)
{
	writer_key(writer, key);
	if (term == TERM_UNKNOWN)
		writer_null(writer);
	else
		writer_bool(writer, term == TERM_YES);
}

static void render_terms(struct writer *writer, const struct terms *terms)
{
	writer_begin_object(writer);
	render_number(writer, "billing_granularity_seconds", terms->billing_granularity_seconds, 3);
	render_number(writer, "minimum_charge_seconds", terms->minimum_charge_seconds, 3);
	render_term(writer, "can_stop", terms->can_stop);
	render_term(writer, "compute_billed_while_stopped", terms->compute_billed_while_stopped);
	render_term(writer, "storage_billed_while_stopped", terms->storage_billed_while_stopped);
	render_term(writer, "has_spot", terms->has_spot);
	render_number(writer, "spot_notice_seconds", terms->spot_notice_seconds, 3);
	render_number(writer, "spot_interruptions_per_hour", terms->spot_interruptions_per_hour, 6);
	render_number(writer, "egress_usd_per_gb", terms->egress_usd_per_gb, 6);
	render_known(writer, "free_egress_gb_per_month", terms->free_egress_gb_per_month, 3);
	render_term(writer, "persistent_volume", terms->persistent_volume);
	render_number(writer, "volume_usd_per_gb_month", terms->volume_usd_per_gb_month, 6);
	render_term(writer, "shared_filesystem", terms->shared_filesystem);
	render_term(writer, "docker", terms->docker_images);
	render_term(writer, "ssh", terms->ssh);
	render_term(writer, "jupyter", terms->jupyter);
	render_term(writer, "bare_metal", terms->bare_metal);
	render_term(writer, "cluster", terms->multi_node_cluster);
	render_number(writer, "setup_delay_seconds", terms->setup_delay_seconds, 3);
	render_term(writer, "community_hosts", terms->community_hosts);
	render_text(writer, "as_of", terms->as_of);
	render_text(writer, "source", terms->source);
	render_text(writer, "notes", terms->notes);
	writer_end_object(writer);
}

/* "no_price 2, schema 1" as an object. */
static void render_rejections(struct writer *writer, const char *text)
{
	writer_key(writer, "rejections");
	writer_begin_object(writer);
	while (*text) {
		size_t name = strcspn(text, " ");
		char reason[32];

		snprintf(reason, sizeof(reason), "%.*s", name < 31 ? (int)name : 31, text);
		text += name;
		render_integer(writer, reason, strtoll(text, NULL, 10));
		text += strcspn(text, ",");
		text += strspn(text, ", ");
	}
	writer_end_object(writer);
}

static void render_feed(struct writer *writer, const struct provider_status *status, int64_t now_us)
{
	writer_begin_object(writer);
	render_text(writer, "source", status->source);
	render_text(writer, "outcome", status->outcome);
	render_text(writer, "detail", status->detail);
	render_time(writer, "last_attempt_at", status->last_attempt_us);
	render_time(writer, "last_success_at", status->last_success_us);
	render_age(writer, "age_seconds", status->last_success_us, now_us);
	render_known(writer, "refresh_seconds", (double)status->refresh_seconds, 0);
	render_integer(writer, "rows_seen", status->rows_seen);
	render_integer(writer, "rows_accepted", status->rows_accepted);
	render_integer(writer, "rows_rejected", status->rows_rejected);
	render_integer(writer, "rows_unmapped", status->rows_unmapped);
	render_known(writer, "rows_usual", (double)status->rows_usual, 0);
	render_rejections(writer, status->rejections);
	render_flag(writer, "stale", status->is_stale);
	writer_end_object(writer);
}

static void render_feeds(struct writer *writer, const struct catalogue *catalogue,
			 const char *provider, int64_t now_us)
{
	uint32_t i;

	writer_begin_array(writer);
	for (i = 0; i < catalogue->providers_count; i++)
		if (strcmp(catalogue->providers[i].provider, provider) == 0)
			render_feed(writer, &catalogue->providers[i], now_us);
	writer_end_array(writer);
}

static void render_coverage(struct writer *writer, const struct coverage *coverage)
{
	int kind;

	writer_begin_object(writer);
	render_integer(writer, "offers", coverage->offers);
	for (kind = 0; kind < PRICE_KINDS; kind++)
		render_integer(writer, names_text(&price_kind_names, kind),
			       coverage->by_kind[kind]);
	render_integer(writer, "bundled", coverage->bundled);
	render_integer(writer, "unpriced", coverage->unpriced);
	render_integer(writer, "unmapped", coverage->unmapped);
	render_integer(writer, "accelerators", coverage->accelerators);
	render_integer(writer, "regions", coverage->regions);
	render_integer(writer, "regions_without_country", coverage->regions_unplaced);
	render_time(writer, "oldest_observed_at", coverage->oldest_us);
	render_time(writer, "newest_observed_at", coverage->newest_us);
	writer_end_object(writer);
}

static void render_unmapped(struct writer *writer, const struct catalogue *catalogue,
			    const char *provider)
{
	uint32_t i;

	writer_begin_array(writer);
	for (i = 0; i < catalogue->unmapped_count; i++) {
		const struct unmapped *entry = &catalogue->unmapped[i];

		if (strcmp(entry->provider, provider) != 0)
			continue;
		writer_begin_object(writer);
		render_text(writer, "spelling", entry->spelling);
		render_integer(writer, "rows", entry->rows);
		render_time(writer, "first_seen_at", entry->first_seen_us);
		render_time(writer, "last_seen_at", entry->last_seen_us);
		writer_end_object(writer);
	}
	writer_end_array(writer);
}

/* As the provider spells them: no country is guessed. */
static void render_unplaced(struct writer *writer, const struct catalogue *catalogue,
			    const struct coverage *coverage)
{
	uint32_t i, written = 0;

	writer_begin_array(writer);
	for (i = 0; i < catalogue->regions_count && written < UNPLACED_MOST; i++)
		if (coverage->region_is_unplaced[i]) {
			writer_string(writer, catalogue->regions[i]);
			written++;
		}
	writer_end_array(writer);
}

static bool render_provider(struct writer *writer, struct request *request, const char *provider,
			    struct error *error)
{
	const struct terms *terms = terms_find(provider);
	const struct catalogue *catalogue = request->catalogue;
	struct coverage coverage;

	if (!coverage_of(catalogue, provider, &request->arena, &coverage))
		return error_set(error, ERROR_INTERNAL, "memory is out");
	writer_begin_object(writer);
	render_text(writer, "provider", provider);
	render_text(writer, "name", terms ? terms->name : NULL);
	render_text(writer, "class",
		    terms ? names_text(&provider_class_names, (int)terms->class) : NULL);
	render_text(writer, "page", terms ? terms->page : NULL);
	writer_key(writer, "feeds");
	render_feeds(writer, catalogue, provider, request->now_us);
	writer_key(writer, "coverage");
	render_coverage(writer, &coverage);
	writer_key(writer, "unmapped");
	render_unmapped(writer, catalogue, provider);
	writer_key(writer, "regions_without_country");
	render_unplaced(writer, catalogue, &coverage);
	writer_key(writer, "terms");
	if (terms)
		render_terms(writer, terms);
	else
		writer_null(writer);
	writer_end_object(writer);
	return true;
}

/* Providers with a feed or offers that the terms table does not know, each once. */
static bool is_first_status(const struct catalogue *catalogue, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < at; i++)
		if (strcmp(catalogue->providers[i].provider, catalogue->providers[at].provider) ==
		    0)
			return false;
	return !terms_find(catalogue->providers[at].provider);
}

static bool is_provider(const struct catalogue *catalogue, const char *provider)
{
	uint32_t i;

	for (i = 0; i < catalogue->providers_count; i++)
		if (strcmp(catalogue->providers[i].provider, provider) == 0)
			return true;
	return terms_find(provider) != NULL;
}

static void begin_answer(struct writer *writer, const struct request *request, const char *key)
{
	writer_init(writer, ANSWER_BYTES_MAX);
	writer_begin_object(writer);
	writer_key(writer, "catalogue");
	render_catalogue(writer, request->catalogue, request->now_us);
	writer_key(writer, key);
}

static bool end_answer(struct writer *writer, const struct query_reader *reader,
		       struct reply *reply, struct error *error)
{
	writer_key(writer, "warnings");
	render_warnings(writer, &reader->warnings);
	writer_end_object(writer);
	return query_reply(writer, reply, error);
}

/* What a search for providers asks for. */
struct search {
	const char *part; /* of id or name; NULL = any */
	unsigned classes; /* bits; 0 = any */
	size_t found;	  /* by `part` alone */
};

static bool is_wanted(struct search *search, const char *provider, const struct terms *terms)
{
	if (!query_finds(search->part, provider) &&
	    !(terms && query_finds(search->part, terms->name)))
		return false;
	search->found++;
	return !search->classes || (terms && search->classes >> terms->class & 1);
}

static bool render_found(struct writer *writer, struct request *request, struct search *search,
			 struct error *error)
{
	const struct catalogue *catalogue = request->catalogue;
	bool is_good = true;
	size_t i;

	for (i = 0; i < terms_count && is_good; i++)
		if (is_wanted(search, terms_table[i].provider, &terms_table[i]))
			is_good = render_provider(writer, request, terms_table[i].provider, error);
	for (i = 0; i < catalogue->providers_count && is_good; i++)
		if (is_first_status(catalogue, (uint32_t)i) &&
		    is_wanted(search, catalogue->providers[i].provider, NULL))
			is_good = render_provider(writer, request, catalogue->providers[i].provider,
						  error);
	return is_good;
}

bool api_providers(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {"q", "class", NULL};
	struct search search = {0};
	struct query_reader reader;
	struct writer writer;
	bool is_good;

	query_begin(&reader, request, known, error);
	search.part = query_search(&reader);
	search.classes = query_enum_bits(&reader, "class", &provider_class_names);
	if (!query_end(&reader))
		return false;
	begin_answer(&writer, request, "items");
	writer_begin_array(&writer);
	is_good = render_found(&writer, request, &search, error);
	writer_end_array(&writer);
	if (!search.found)
		query_nothing_found(&reader, search.part, terms_nearest(search.part));
	if (is_good)
		return end_answer(&writer, &reader, reply, error);
	writer_release(&writer);
	return false;
}

bool api_provider(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	const char *provider = request->parameter[0], *nearest;
	struct query_reader reader;
	struct writer writer;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	if (!is_provider(request->catalogue, provider)) {
		nearest = terms_nearest(provider);
		return error_set(error, ERROR_NOT_FOUND, "no provider '%.60s'%s%s%s", provider,
				 nearest ? "; the nearest is '" : "", nearest ? nearest : "",
				 nearest ? "'" : "");
	}
	begin_answer(&writer, request, "provider");
	if (render_provider(&writer, request, provider, error))
		return end_answer(&writer, &reader, reply, error);
	writer_release(&writer);
	return false;
}
