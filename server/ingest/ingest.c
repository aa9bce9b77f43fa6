/* One round over the feeds: every harvest on its thread, stored as each is done. */
#include "server/ingest/ingest.h"

#include "server/ingest/bundled.h"
#include "server/ingest/files.h"
#include "server/ingest/round.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAST_BYTES_MAX ((size_t)256 << 20)
#define LEAD_ATTEMPTS 20
#define LEAD_PAUSE_SECONDS 0.5

/* Is it one of a list separated by commas? */
static bool is_listed(const char *list, const struct provider *provider)
{
	while (*list) {
		size_t item = strcspn(list, ",");

		if (provider_is_called(provider, list, item))
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

const char *round_skip_reason(const struct config *config, const struct ingest_options *options,
			      const struct provider *provider)
{
	if (options->only && !provider_is_called(provider, options->only, strlen(options->only)))
		return "not asked for";
	if (!options->only && *config->providers && !is_listed(config->providers, provider))
		return "not in GPUPICK_PROVIDERS";
	if (provider->key_variable && !config_provider(config, provider->id, "KEY"))
		return "no key";
	if (round_is_superseded(config, provider))
		return "a better feed of the same has its key";
	return NULL;
}

bool round_is_superseded(const struct config *config, const struct provider *provider)
{
	return provider->superseded_by && config_provider(config, provider->id, "KEY");
}

static bool check_name(const char *name, size_t length, const char *setting, struct error *error)
{
	for (size_t i = 0; i < providers_count; i++)
		if (provider_is_called(providers[i], name, length))
			return true;
	return error_set(error, ERROR_INVALID, "%s: there is no provider \"%.*s\"", setting,
			 length < 40 ? (int)length : 40, name);
}

bool round_check_names(const struct config *config, const struct ingest_options *options,
		       struct error *error)
{
	const struct provider *only = options->only ? provider_find(options->only) : NULL;

	if (options->only && !check_name(options->only, strlen(options->only), "--provider", error))
		return false;
	if (only && only->key_variable && !config_provider(config, only->id, "KEY"))
		return error_set(error, ERROR_INVALID, "%s needs %s", only->id, only->key_variable);
	for (const char *at = config->providers; *at;) {
		size_t length = strcspn(at, ",");

		if (length && !check_name(at, length, "GPUPICK_PROVIDERS", error))
			return false;
		at += length + (at[length] == ',');
	}
	return true;
}

int64_t round_refresh_seconds(const struct config *config, const struct provider *provider)
{
	return config->refresh_seconds >= 1 ? (int64_t)config->refresh_seconds
					    : (int64_t)provider->refresh_seconds;
}

static bool remember(struct harvest *harvest, struct store *store, struct error *error)
{
	const char *provider = harvest->provider->id, *source = harvest->provider->source;
	struct offer *last;
	char *memo;

	arena_init(&harvest->past, PAST_BYTES_MAX);
	if (!store_read_source(store, provider, source, &harvest->past, &last, &harvest->last_count,
			       error) ||
	    !store_read_memo(store, provider, source, &harvest->past, &memo, error)) {
		arena_release(&harvest->past);
		return false;
	}
	harvest->last = last;
	harvest->memo = memo;
	return true;
}

bool round_start(struct crew *crew, size_t index, const struct config *config,
		 const struct ingest_options *options, struct store *store, struct error *error)
{
	const struct provider *provider = providers[index];
	struct task *task = &crew->tasks[index];

	task->harvest = (struct harvest){
		.provider = provider,
		.base_url = config_provider(config, provider->id, "URL"),
		.key = provider->key_variable ? config_provider(config, provider->id, "KEY") : NULL,
		.discount = config_provider(config, provider->id, "DISCOUNT"),
		.record = options->record,
		.attempts = !options->is_probe && config->fetch_attempts > 0
				    ? config->fetch_attempts
				    : 1,
		.timeout_seconds = config->fetch_timeout_seconds,
	};
	if (provider->remembers && !remember(&task->harvest, store, error))
		return false;
	return crew_start(crew, task, error);
}

/* A scheduler that is just stopping gives its lead up within seconds. */
static bool take_lead(struct store *store, struct error *error)
{
	for (int attempt = 0; attempt < LEAD_ATTEMPTS; attempt++) {
		bool is_leader;

		if (!store_lead(store, &is_leader, error))
			return false;
		if (is_leader)
			return true;
		pause_seconds(LEAD_PAUSE_SECONDS, NULL);
	}
	return error_set(error, ERROR_UNAVAILABLE,
			 "another ingest leads on this database; stop it, or let it do the work");
}

bool round_retire(const struct config *config, struct store *store, struct error *error)
{
	for (size_t i = 0; i < providers_count; i++)
		if (round_is_superseded(config, providers[i]) &&
		    !apply_retire(store, providers[i]->id, providers[i]->source,
				  "superseded by the feed that its key opens", error))
			return false;
	return true;
}

/* Without an error when only some rows or files are bad: the report has told which. */
static bool read_files(const struct config *config, struct store *store, FILE *report,
		       struct error *error)
{
	struct files *files = files_new(config->price_files);
	bool ok = files ? files_apply(files, store, report, error)
			: error_set(error, ERROR_INTERNAL, "no memory");

	files_free(files);
	return ok;
}

static bool seed(const struct config *config, struct store *store, FILE *report,
		 struct error *error)
{
	struct bundled_outcome outcome;

	if (!config->bundled)
		return true;
	if (!bundled_apply(config, store, &outcome, error))
		return false;
	if (report && outcome.providers)
		fprintf(report,
			"bundled prices: %" PRId64 " offers of %" PRId64
			" providers without live ones (%" PRId64 " changes)\n",
			outcome.rows, outcome.providers, outcome.changed);
	return true;
}

static bool run_round(const struct config *config, const struct ingest_options *options,
		      struct store *store, struct metrics *metrics, struct apply_result *results,
		      struct error *error)
{
	struct crew crew;
	bool ok = true, any = false;

	if (!crew_init(&crew, providers_count, config->ecb_url, error))
		return false;
	for (size_t i = 0; i < providers_count; i++) {
		const char *skipped = round_skip_reason(config, options, providers[i]);

		results[i] = (struct apply_result){.provider = providers[i]->id,
						   .source = providers[i]->source,
						   .outcome = "skipped",
						   .is_ok = true};
		if (skipped) {
			snprintf(results[i].detail, sizeof(results[i].detail), "%s", skipped);
			continue;
		}
		any = true;
		if (!round_start(&crew, i, config, options, store, error)) {
			results[i].outcome = "failed";
			results[i].is_ok = ok = false;
		}
	}
	while (crew_is_busy(&crew)) {
		struct task *task = crew_wait(&crew, 1);
		size_t index;

		if (!task)
			continue;
		index = (size_t)(task - crew.tasks);
		apply(store, &task->harvest,
		      &(struct apply_options){
			      .refresh_seconds = round_refresh_seconds(config, providers[index]),
			      .accept = options->accept,
			      .metrics = metrics,
			      .index = index},
		      &results[index]);
		ok = ok && results[index].is_ok;
		crew_give_back(&crew, task);
	}
	crew_release(&crew);
	if (!any && !*config->price_files)
		return error_set(error, ERROR_INVALID, "no feed can run");
	if (!ok && !error_is_set(error))
		error_set(error, ERROR_FEED, "a feed failed");
	return ok;
}

bool ingest_once(const struct config *config, const struct ingest_options *options, FILE *report,
		 struct metrics *metrics, struct error *error)
{
	struct store *store;
	struct apply_result *results;
	bool ok;

	if (!round_check_names(config, options, error))
		return false;
	if (!*config->database_url)
		return error_set(error, ERROR_INVALID, "GPUPICK_DATABASE_URL is not set");
	store = store_new(config->database_url, "gpupick ingest --once");
	results = calloc(providers_count, sizeof(*results));
	if (!store || !results) {
		ok = error_set(error, ERROR_INTERNAL, "no memory");
	} else {
		ok = take_lead(store, error) && store_housekeeping(store, error) &&
		     round_retire(config, store, error) && seed(config, store, report, error);
		if (ok) {
			bool files_ok = options->only || read_files(config, store, report, error);

			ok = run_round(config, options, store, metrics, results, error) && files_ok;
			if (report)
				report_print(report, results, providers_count);
		}
	}
	free(results);
	store_free(store);
	return ok;
}
