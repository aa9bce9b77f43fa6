/*
 * What the store and the snapshot cost at N offers (1,000,000 unless told): run by `tests/bench/run
 * store`, in a private cluster without fsync. Prints a table; nothing here is a test.
 */
#include "server/clock.h"
#include "server/refresh_merge.h"
#include "server/snapshot.h"
#include "server/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROVIDER_ROWS 50000
#define DELTA_ROWS 1000
#define SNAPSHOT_FILE "/tmp/gpupick-bench-snapshot"
#define ARENA_BYTES ((size_t)16 << 30)

static struct error error;
static int64_t started_us, cpu_started_us, server_cpu_started_us;

/* Wall time means little on a machine that does other things too, so CPU time is shown beside it.
 */
static int64_t cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * US_PER_SECOND +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* User and system time of one process; 0 when it has gone. */
static int64_t process_cpu_us(long pid)
{
	char path[64], line[512], *after_name;
	unsigned long user = 0, kernel = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	after_name = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (after_name)
		sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		       &kernel);
	return (int64_t)(user + kernel) * US_PER_SECOND / sysconf(_SC_CLK_TCK);
}

/* Of all living processes of the cluster that tests/store/cluster.py made for us, autovacuum too:
 * when one of its workers ends in between, the figure is too small. */
static int64_t server_cpu_us(void)
{
	const char *folder = getenv("GPUPICK_TEST_CLUSTER");
	char path[256];
	long postmaster = 0, pid;
	int64_t sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/data/postmaster.pid", folder ? folder : "");
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%ld", &postmaster) != 1)
		postmaster = 0;
	fclose(file);
	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", postmaster, postmaster);
	file = fopen(path, "r");
	while (file && fscanf(file, "%ld", &pid) == 1)
		sum += process_cpu_us(pid);
	if (file)
		fclose(file);
	return sum;
}

static void begin(void)
{
	server_cpu_started_us = server_cpu_us();
	cpu_started_us = cpu_us();
	started_us = clock_monotonic_us();
}

static void end(const char *what, size_t rows)
{
	double seconds = (double)(clock_monotonic_us() - started_us) / 1e6;

	printf("%-44s %9.1f %9.1f %9.1f", what, seconds * 1e3,
	       (double)(cpu_us() - cpu_started_us) / 1e3,
	       (double)(server_cpu_us() - server_cpu_started_us) / 1e3);
	if (rows > 1)
		printf("  %8.0f rows/s", (double)rows / seconds);
	putchar('\n');
	fflush(stdout);
}

static void must(bool done)
{
	if (done)
		return;
	fprintf(stderr, "bench: %s\n", error.detail);
	exit(1);
}

static void print_memory(const char *when)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-44s %9.1f MB peak\n", when, (double)usage.ru_maxrss / 1024);
}

static struct offer *make_rows(struct arena *arena, const char *provider, size_t count)
{
	static const char *const cards[] = {"H100-SXM", "H200-SXM", "A100-SXM-80GB",
					    "L40S",	"RTX-4090", "B200"};
	struct offer *offers = arena_array(arena, count, sizeof(*offers));

	must(offers != NULL);
	for (size_t i = 0; i < count; i++) {
		offers[i] = (struct offer){
			.provider = provider,
			.region = arena_printf(arena, "region-%zu", i % 61),
			.zone = arena_printf(arena, "%c", (int)('a' + i % 3)),
			.instance_type = arena_printf(arena, "gpu.%zux.large", i / 180),
			.accelerator = cards[i % 6],
			.count_milli = COUNT_MILLI_ONE << (i % 4),
			.tier = "",
			.price_kind = (enum price_kind)(i % 2),
			.is_mapped = true,
			.memory_gb = 80,
			.vcpus = 26,
			.ram_gib = 200,
			.interconnect = "",
			.country = "US",
			.price_micros = (int64_t)(1000000 + i),
			.price_basis = "instance",
			.original_currency = "USD",
			.original_amount = arena_printf(arena, "1.%06zu", i),
			.availability = AVAILABILITY_YES,
			.quantity = -1,
			.source = "bench",
		};
		offers[i].id = offer_id(&offers[i]);
	}
	return offers;
}

static struct store_outcome apply(struct store *store, const char *provider,
				  const struct offer *offers, size_t count)
{
	struct store_refresh refresh = {.provider = provider,
					.source = "bench",
					.offers = offers,
					.offers_count = count,
					.observed_at_us = clock_wall_us()};
	struct store_outcome outcome;

	must(store_apply(store, &refresh, &outcome, &error));
	return outcome;
}

static void seed(struct store *store, size_t providers)
{
	int64_t first_us = clock_monotonic_us(), first_cpu_us = cpu_us();
	int64_t first_server_us = server_cpu_us();

	for (size_t i = 0; i < providers; i++) {
		char name[32];
		struct arena arena;

		snprintf(name, sizeof(name), "provider-%zu", i);
		arena_init(&arena, ARENA_BYTES);
		begin();
		apply(store, name, make_rows(&arena, name, PROVIDER_ROWS), PROVIDER_ROWS);
		if (i == 0)
			end("first refresh of 50,000 rows (all new)", PROVIDER_ROWS);
		arena_release(&arena);
	}
	started_us = first_us;
	cpu_started_us = first_cpu_us;
	server_cpu_started_us = first_server_us;
	end("all rows stored", providers * PROVIDER_ROWS);
}

static void refreshes(struct store *store)
{
	struct arena arena;
	struct offer *offers;

	arena_init(&arena, ARENA_BYTES);
	offers = make_rows(&arena, "provider-0", PROVIDER_ROWS);
	begin();
	apply(store, "provider-0", offers, PROVIDER_ROWS);
	end("refresh of 50,000 rows, nothing changed", PROVIDER_ROWS);
	for (size_t i = 0; i < PROVIDER_ROWS; i += 20)
		offers[i].price_micros += 7;
	begin();
	apply(store, "provider-0", offers, PROVIDER_ROWS);
	end("refresh of 50,000 rows, 5 % changed", PROVIDER_ROWS);
	for (size_t i = 0; i < PROVIDER_ROWS; i++)
		offers[i].price_micros += 11;
	begin();
	apply(store, "provider-0", offers, PROVIDER_ROWS);
	end("refresh of 50,000 rows, all changed", PROVIDER_ROWS);
	arena_release(&arena);
}

/* DELTA_ROWS changed at once, then read and published. */
static struct catalogue *delta(struct store *store, struct store *reader, struct book *book,
			       struct catalogue *base)
{
	struct arena arena;
	struct store_view view;
	struct catalogue *next;
	struct offer *offers;

	arena_init(&arena, ARENA_BYTES);
	offers = make_rows(&arena, "provider-1", PROVIDER_ROWS);
	for (size_t i = 0; i < DELTA_ROWS; i++)
		offers[i * 50].price_micros += 13;
	apply(store, "provider-1", offers, PROVIDER_ROWS);
	begin();
	must(store_read_since(reader, base->epoch, base->version, &arena, &view, &error));
	end("delta of 1,000 rows read", view.offers_count);
	begin();
	next = book_build(book, base, &view, &error);
	must(next != NULL);
	end("catalogue built from the delta", next->offers_count);
	catalogue_free(base);
	arena_release(&arena);
	return next;
}

static void snapshot_file(const struct catalogue *catalogue)
{
	struct catalogue *loaded;
	struct stat status;

	begin();
	must(snapshot_save(catalogue, SNAPSHOT_FILE, &error));
	end("snapshot file saved", catalogue->offers_count);
	stat(SNAPSHOT_FILE, &status);
	printf("%-44s %9.1f MB\n", "its size", (double)status.st_size / 1e6);
	begin();
	loaded = snapshot_load(SNAPSHOT_FILE, &error);
	must(loaded != NULL);
	end("snapshot file loaded and built", loaded->offers_count);
	catalogue_free(loaded);
	unlink(SNAPSHOT_FILE);
}

int main(int argc, char **argv)
{
	size_t providers = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000) / PROVIDER_ROWS;
	const char *url = getenv("GPUPICK_DATABASE_URL");
	struct store *store = store_new(url ? url : "", "bench"),
		     *reader = store_new(url ? url : "", "reader");
	struct migration_report report;
	struct catalogue *catalogue;
	struct book book = {.is_complete = false};
	struct store_view view;
	struct store_clock clock;
	struct arena arena;
	bool is_leader;

	printf("%-44s %9s %9s %9s\n", "milliseconds", "wall", "CPU here", "CPU there");
	error_init(&error, NULL);
	must(store_migrate(store, &report, &error) && store_lead(store, &is_leader, &error));
	seed(store, providers < 2 ? 2 : providers);
	refreshes(store);
	print_memory("memory of the writer");
	must(store_read_clock(reader, &clock, &error));
	begin();
	for (int i = 0; i < 1000; i++)
		must(store_read_clock(reader, &clock, &error));
	end("1,000 looks at the clock", 1000);
	arena_init(&arena, ARENA_BYTES);
	begin();
	must(store_read_all(reader, &arena, &view, &error));
	end("everything read", view.offers_count);
	print_memory("memory with every row read");
	begin();
	catalogue = book_build(&book, NULL, &view, &error);
	must(catalogue != NULL);
	end("catalogue built", catalogue->offers_count);
	arena_release(&arena);
	printf("%-44s %9.1f MB\n", "its size", (double)catalogue->arena.used / 1e6);
	catalogue = delta(store, reader, &book, catalogue);
	print_memory("memory with two catalogues");
	snapshot_file(catalogue);
	catalogue_free(catalogue);
	book_release(&book);
	store_free(store);
	store_free(reader);
	return 0;
}
