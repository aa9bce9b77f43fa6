/*
 * What a source of N offers (1,000,000 unless told) costs, from its pages to the table, against a
 * bare COPY of the same rows in the same run: first load, an unchanged refresh, one in which every
 * price moved. Run by `tests/bench/run ingest`, in a private cluster without fsync; pages of 5,000
 * rows come from bench_ingest.py, whose address is the second argument. Nothing here is a test.
 */
#include "server/clock.h"
#include "server/ingest/apply.h"
#include "server/ingest/providers/csv.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PAGE_ROWS 5000

static struct error error;
static long rows_all = 1000000, salt;

static bool request(struct feed *feed, struct fetch_request *out, struct error *problem)
{
	(void)problem;
	if ((long)feed->page * PAGE_ROWS >= rows_all)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = arena_printf(feed->arena, "%s/page?at=%d&salt=%ld", feed->base_url,
				    feed->page, salt),
		.label = "page",
	};
	return true;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *problem)
{
	static const char *const required[] = {"type", "region", "price", "count", NULL};
	struct arena page;
	struct csv csv;
	bool ok;

	(void)asked;
	arena_init(&page, (size_t)16 << 20);
	ok = csv_open(&csv, &page, response->body, response->length, required, problem);
	while (ok && csv_next(&csv)) {
		struct offer *offer = feed_add(feed);

		feed->rows_seen++;
		if (!offer)
			break;
		offer->instance_type = feed_text(feed, csv_text(&csv, "type"));
		offer->region = feed_text(feed, csv_text(&csv, "region"));
		offer->accelerator = "H100 SXM5 80GB";
		offer->country = "US";
		offer->count_milli = (int32_t)csv_number(&csv, "count") * COUNT_MILLI_ONE;
		offer->price_micros = price_parse(csv_text(&csv, "price"));
		offer->vcpus = 26;
		offer->ram_gib = 200;
	}
	arena_release(&page);
	feed->page++;
	return ok;
}

static const char *const pages[] = {"page", NULL};
static const struct provider synthetic = {
	.id = "synthetic",
	.source = "synthetic",
	.base_url = "https://bench.invalid",
	.refresh_seconds = 3600,
	.body_max = (size_t)8 << 20,
	.pages_max = 100000,
	.pages = pages,
	.request = request,
	.parse = parse,
};

static double seconds_since(int64_t start_us)
{
	return (double)(clock_monotonic_us() - start_us) / 1e6;
}

static double peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, error.detail);
	exit(1);
}

/* Rows as the table has them, into a table of the same columns without index: the bare minimum. */
static double copy_seconds(const char *url)
{
	PGconn *connection = PQconnectdb(url);
	PGresult *result;
	int64_t start_us;
	double seconds;
	char *data;
	int length;
	FILE *spool = tmpfile();

	if (PQstatus(connection) != CONNECTION_OK || !spool)
		exit(1);
	result = PQexec(connection, "copy offer to stdout");
	PQclear(result);
	while ((length = PQgetCopyData(connection, &data, 0)) > 0) {
		fwrite(data, 1, (size_t)length, spool);
		PQfreemem(data);
	}
	PQclear(PQgetResult(connection));
	PQclear(PQexec(connection, "create table bare (like offer)"));
	rewind(spool);
	start_us = clock_monotonic_us();
	PQclear(PQexec(connection, "copy bare from stdin"));
	{
		static char block[1 << 16];
		size_t got;

		while ((got = fread(block, 1, sizeof(block), spool)) > 0)
			PQputCopyData(connection, block, (int)got);
	}
	PQputCopyEnd(connection, NULL);
	result = PQgetResult(connection);
	seconds = seconds_since(start_us);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fprintf(stderr, "copy: %s\n", PQerrorMessage(connection));
	PQclear(result);
	PQclear(PQexec(connection, "drop table bare"));
	PQfinish(connection);
	fclose(spool);
	return seconds;
}

static double refresh(struct store *store, const char *base_url, struct apply_result *out)
{
	struct harvest harvest = {
		.provider = &synthetic, .base_url = base_url, .attempts = 2, .timeout_seconds = 60};
	const int64_t start_us = clock_monotonic_us();

	harvest_run(&harvest);
	error = harvest.error;
	apply(store, &harvest, &(struct apply_options){.refresh_seconds = 3600}, out);
	harvest_release(&harvest);
	if (!out->is_ok) {
		fprintf(stderr, "bench: %s: %s\n", out->outcome, out->detail);
		exit(1);
	}
	return seconds_since(start_us);
}

static void print(const char *what, double seconds, double copy, const char *target,
		  const struct apply_result *result)
{
	printf("%-22s %8.2f s  %5.2f x COPY  (target %s)  %lld new, %lld changed, %lld unchanged\n",
	       what, seconds, seconds / copy, target, (long long)result->inserted,
	       (long long)result->changed, (long long)result->unchanged);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *url = getenv("GPUPICK_DATABASE_URL");
	double first, same, all, copy;
	struct apply_result results[3];
	struct migration_report migrated;
	struct store *store;
	bool leads = false;

	if (argc < 2 || !url)
		return 2;
	if (argc > 2)
		rows_all = strtol(argv[2], NULL, 10);
	error_init(&error, NULL);
	must(fetch_global_init(), "curl");
	store = store_new(url, "bench");
	must(store && store_migrate(store, &migrated, &error), "migrate");
	must(store_lead(store, &leads, &error) && leads, "lead");
	salt = 1;
	first = refresh(store, argv[1], &results[0]);
	same = refresh(store, argv[1], &results[1]);
	salt = 2;
	all = refresh(store, argv[1], &results[2]);
	copy = copy_seconds(url);
	printf("%ld offers in pages of %d; bare COPY of the same rows %.2f s\n", rows_all,
	       PAGE_ROWS, copy);
	print("first load", first, copy, "8", &results[0]);
	print("unchanged refresh", same, copy, "3", &results[1]);
	print("all changed", all, copy, "15", &results[2]);
	printf("peak memory of the worker %.0f MiB (target 512)\n", peak_mib());
	store_free(store);
	return 0;
}
