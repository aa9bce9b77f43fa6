/* One round over the feeds: every harvest on its thread, stored as each is done. */
#include "server/ingest/ingest.h"

#include "server/ingest/bundled.h"
#include "server/ingest/round.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAD_ATTEMPTS 20
#define LEAD_PAUSE_SECONDS 0.5

/* Is `name` one of a list separated by commas? */
static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (*list) {
		size_t item = strcspn(list, ",");

		if (item == length && strncmp(list, name, length) == 0)
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

const char *round_skip_reason(const struct config *config, const struct ingest_options *options,
			      const struct provider *provider)
{
	if (options->only && strcmp(options->only, provider->id) != 0)
		return "not asked for";
	if (!options->only && *config->providers && !is_listed(config->providers, provider->id))
		return "not in GPUPICK_PROVIDERS";
	if (provider->key_variable && !config_provider(config, provider->id, "KEY"))
		return "no key";
	return NULL;
}

static bool check_name(const char *name, size_t length, const char *setting, struct error *error)
{
	for (size_t i = 0; i < providers_count; i++)
		if (strlen(providers[i]->id) == length && !strncmp(providers[i]->id, name, length))
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

bool round_start(struct crew *crew, size_t index, const struct config *config,
		 const struct ingest_options *options, struct error *error)
{
	const struct provider *provider = providers[index];
	struct task *task = &crew->tasks[index];

	task->harvest = (struct harvest){
		.provider = provider,
		.base_url = config_provider(config, provider->id, "URL"),
		.key = provider->key_variable ? config_provider(config, provider->id, "KEY") : NULL,
		.record = options->record,
		.attempts = config->fetch_attempts > 0 ? config->fetch_attempts : 1,
		.timeout_seconds = config->fetch_timeout_seconds,
	};
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

static bool seed(const struct config *config, struct store *store, FILE *report,
		 struct error *error)
{
	struct bundled_outcome outcome;

	if (!config->bundled)
		return true;
	if (!bundled_apply(store, &outcome, error))
		return false;
	if (report && outcome.providers)
		fprintf(report,
			"bundled prices: %" PRId64 " offers of %" PRId64
			" providers without live ones (%" PRId64 " changes)\n",
			outcome.rows, outcome.providers, outcome.changed);
	return true;
}

static bool run_round(const struct config *config, const struct ingest_options *options,
		      struct store *store, struct metrics *metrics, struct result *results,
		      struct error *error)
{
	struct crew crew;
	bool ok = true, any = false;

	if (!crew_init(&crew, providers_count, config->ecb_url, error))
		return false;
	for (size_t i = 0; i < providers_count; i++) {
		const char *skipped = round_skip_reason(config, options, providers[i]);

		results[i] = (struct result){.provider = providers[i]->id,
					     .source = providers[i]->source,
					     .outcome = "skipped",
					     .is_ok = true};
		if (skipped) {
			snprintf(results[i].detail, sizeof(results[i].detail), "%s", skipped);
			continue;
		}
		any = true;
		if (!round_start(&crew, i, config, options, error)) {
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
	if (!any)
		return error_set(error, ERROR_INVALID, "no feed can run");
	if (!ok && !error_is_set(error))
		error_set(error, ERROR_FEED, "a feed failed");
	return ok;
}

bool ingest_once(const struct config *config, const struct ingest_options *options, FILE *report,
		 struct metrics *metrics, struct error *error)
{
	struct store *store;
	struct result *results;
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
		     seed(config, store, report, error);
		if (ok) {
			ok = run_round(config, options, store, metrics, results, error);
			if (report)
				report_print(report, results, providers_count);
		}
	}
	free(results);
	store_free(store);
	return ok;
}
