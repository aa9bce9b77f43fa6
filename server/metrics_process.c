/* Metrics of the snapshot and the process, and all of them together. */
#include "server/clock.h"
#include "server/metrics_parts.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void metrics_head(struct writer *writer, const char *name, const char *type, const char *help)
{
	writer_format(writer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_gauge(struct writer *writer, const char *name, const char *help, double number)
{
	metrics_head(writer, name, "gauge", help);
	writer_format(writer, "%s %.17g\n", name, number);
}

double metrics_seconds(int64_t us)
{
	return (double)us / (double)US_PER_SECOND;
}

static void render_snapshot(const struct metrics *metrics, struct writer *writer)
{
	struct metrics_snapshot snapshot;

	pthread_mutex_lock(metrics->lock);
	snapshot = metrics->snapshot;
	pthread_mutex_unlock(metrics->lock);
	metrics_gauge(writer, "gpupick_snapshot_version", "Version of the prices in memory.",
		      (double)snapshot.version);
	metrics_gauge(writer, "gpupick_snapshot_timestamp_seconds",
		      "When the database committed that version.",
		      metrics_seconds(snapshot.as_of_us));
	metrics_gauge(writer, "gpupick_snapshot_built_timestamp_seconds",
		      "When this replica learned of it.", metrics_seconds(snapshot.built_at_us));
	metrics_gauge(writer, "gpupick_snapshot_rows", "Offers on sale.", (double)snapshot.offers);
	metrics_gauge(writer, "gpupick_snapshot_unmapped_rows",
		      "Offers whose accelerator no rule knew.", (double)snapshot.unmapped_offers);
	metrics_gauge(writer, "gpupick_snapshot_unpriced_rows", "Offers without a known price.",
		      (double)snapshot.unpriced_offers);
	metrics_gauge(writer, "gpupick_database_up", "1 when the database answered last.",
		      snapshot.database_is_up ? 1 : 0);
}

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int open = -3; /* ".", ".." and the directory itself */

	if (!directory)
		return 0;
	while (readdir(directory))
		open++;
	closedir(directory);
	return open;
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long size = 0, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident;
}

static void render_process(const struct metrics *metrics, struct writer *writer)
{
	struct rusage usage = {0};
	struct rlimit files = {0};

	getrusage(RUSAGE_SELF, &usage);
	getrlimit(RLIMIT_NOFILE, &files);
	metrics_head(writer, "gpupick_build_info", "gauge", "The version that runs.");
	writer_format(writer, "gpupick_build_info{version=\"%s\"} 1\n", GPUPICK_VERSION);
	metrics_head(writer, "process_cpu_seconds_total", "counter", "User and system time.");
	writer_format(writer, "process_cpu_seconds_total %.6f\n",
		      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			      metrics_seconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	metrics_gauge(writer, "process_start_time_seconds", "When the process started.",
		      metrics_seconds(metrics->started_us));
	metrics_gauge(writer, "process_resident_memory_bytes", "Resident memory.",
		      (double)resident_pages() * (double)sysconf(_SC_PAGESIZE));
	metrics_gauge(writer, "process_open_fds", "Open descriptors.", open_descriptors());
	metrics_gauge(writer, "process_max_fds", "Most descriptors.", (double)files.rlim_cur);
}

void metrics_render(const struct metrics *metrics, struct writer *writer)
{
	metrics_render_http(metrics, writer);
	render_snapshot(metrics, writer);
	metrics_render_ingest(metrics, writer);
	render_process(metrics, writer);
}
