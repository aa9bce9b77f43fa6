/*
 * Serve: see serve.h. The main thread starts everything, waits for a signal, and stops everything
 * in the order of server/README.md; all other threads have the signals blocked.
 */
#include "server/serve.h"

#include "server/api/price_versions.h"
#include "server/clock.h"
#include "server/http/coding.h"
#include "server/http/http.h"
#include "server/ingest/fetch.h"
#include "server/keyring.h"
#include "server/later.h"
#include "server/log.h"
#include "server/notify.h"
#include "server/refresh.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_APART_FROM_CLIENTS 256
#define PRICES_WITHIN_SECONDS 30 /* else the port is opened without them */

struct service {
	struct server server;
	struct refresh *refresh;
	struct ingest *ingest;
	struct keyring *keyring; /* NULL when no keys are wanted */
	struct http *api, *ops;
	sigset_t signals;
};

static unsigned threads_wanted(const struct config *config)
{
	cpu_set_t allowed;

	if (config->threads > 0)
		return (unsigned)config->threads;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return 2;
	return (unsigned)CPU_COUNT(&allowed);
}

/* Most systems allow 1024 until asked. */
static void raise_descriptor_limit(const struct config *config)
{
	rlim_t wanted = (rlim_t)config->connections + DESCRIPTORS_APART_FROM_CLIENTS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < wanted)
		log_event(LOG_WARNING, "the descriptor limit is lower than GPUPICK_CONNECTIONS",
			  NULL);
}

static void report_unread(const char *name, const char *nearest, const char *why)
{
	log_event(LOG_WARNING, "unknown variable", "name", name, "nearest", nearest, "detail", why,
		  NULL);
}

void serve_report_unread(void)
{
	config_unread(report_unread);
}

/* Before any thread exists. */
static bool prepare(struct service *service, const struct config *config, struct error *error)
{
	log_configure(config->log_level);
	serve_report_unread();
	sigemptyset(&service->signals);
	sigaddset(&service->signals, SIGTERM);
	sigaddset(&service->signals, SIGINT);
	sigaddset(&service->signals, SIGHUP); /* a terminal that is gone: stop as politely */
	pthread_sigmask(SIG_BLOCK, &service->signals, NULL);
	signal(SIGPIPE, SIG_IGN); /* libpq and libcurl write to sockets that may be gone */
	raise_descriptor_limit(config);
	service->server.config = config;
	service->server.metrics = metrics_new(routes_count, providers_count);
	if (!service->server.metrics || !fetch_global_init())
		return error_set(error, ERROR_INTERNAL, "out of memory");
	return true;
}

static struct http *open_port(struct service *service, enum route_port port, struct error *error)
{
	const struct config *config = service->server.config;
	const char *address = port == ROUTE_API ? config->listen : config->ops_listen;
	struct http *http = http_start(&service->server, port, address,
				       port == ROUTE_API ? threads_wanted(config) : 1, error);

	if (http)
		log_event(LOG_INFO, "listening", "port", port == ROUTE_API ? "api" : "ops",
			  "address", http_address(http), NULL);
	return http;
}

/* A second ingest on one machine must not fail over a port that nobody chose. */
static bool open_ops_port(struct service *service, bool is_needed, struct error *error)
{
	const struct config *config = service->server.config;

	service->ops = open_port(service, ROUTE_OPS, error);
	if (service->ops)
		return true;
	if (is_needed || config->source[CONFIG_ops_listen] != CONFIG_DEFAULT)
		return false;
	log_event(LOG_WARNING, "no ops port", "detail", error->detail, NULL);
	error_init(error, error->arena);
	return true;
}

/* Who may call, and how often. */
static bool start_guard(struct service *service, struct error *error)
{
	struct server *server = &service->server;
	const struct config *config = server->config;

	if (auth_wants_keys(config) && (*config->database_url || *config->api_keys) &&
	    !(service->keyring = keyring_start(config, error)))
		return false;
	server->auth = auth_new(config, service->keyring, error);
	if (!server->auth)
		return false;
	if (config->limit_requests > 0)
		server->limit = limit_new(config->limit_requests, config->limit_seconds);
	return !config->limit_requests || server->limit ||
	       error_set(error, ERROR_INTERNAL, "out of memory");
}

/* Waits for a signal, at most `seconds`; negative: without end. */
static int wait_signal(const struct service *service, double seconds)
{
	struct timespec most = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	int signal_number;

	do {
		if (seconds < 0)
			signal_number = sigwaitinfo(&service->signals, NULL);
		else
			signal_number = sigtimedwait(&service->signals, NULL, &most);
	} while (signal_number < 0 && errno == EINTR);
	return signal_number;
}

/*
 * Where clients may come here at once, from a port that another process serves too or a queue that
 * the service manager keeps: they shall not be told that nothing is loaded yet.
 */
static void await_prices(const struct service *service)
{
	const struct config *config = service->server.config;

	if (!config->reuse_port && !getenv("LISTEN_FDS"))
		return;
	for (double left = PRICES_WITHIN_SECONDS;
	     left > 0 && snapshot_number(service->server.slot) == 0; left -= 0.01) {
		int signal_number = wait_signal(service, 0.01);

		if (signal_number > 0) {
			kill(getpid(), signal_number); /* once more, for run() */
			return;
		}
	}
}

static bool start(struct service *service, const struct ingest_options *ingest, bool has_api,
		  struct error *error)
{
	const struct config *config = service->server.config;
	struct metrics *metrics = service->server.metrics;

	if (!start_guard(service, error))
		return false;
	if (has_api) {
		service->server.slot = snapshot_slot_new();
		if (!service->server.slot)
			return error_set(error, ERROR_INTERNAL, "out of memory");
		service->refresh = refresh_start(config, service->server.slot, metrics, error);
		if (!service->refresh)
			return false;
		if (config->database_url[0] &&
		    !(service->server.later = later_start(config->database_url, error)))
			return false;
	}
	service->server.holds =
		holds_new((unsigned)config->long_polls, (unsigned)config->long_polls_a_caller);
	service->server.price_versions = price_versions_new();
	service->server.coded =
		memo_new(CODING_KEPT_BYTES_MAX, free, &service->server.coded_counts);
	if (!service->server.holds || !service->server.price_versions)
		return error_set(error, ERROR_INTERNAL, "out of memory");
	if (!open_ops_port(service, has_api, error))
		return false;
	if (has_api)
		await_prices(service);
	if (has_api && !(service->api = open_port(service, ROUTE_API, error)))
		return false;
	if (ingest && !(service->ingest = ingest_start(config, ingest, metrics, error)))
		return false;
	return true;
}

static void stop(struct service *service)
{
	const struct config *config = service->server.config;

	if (service->api) {
		/* Not ready any more, but still serving: balancers notice and send others. A second
		 * signal ends the wait. */
		atomic_store(&service->server.is_draining, true);
		if (config->drain_seconds > 0)
			wait_signal(service, config->drain_seconds);
		http_stop(service->api, config->grace_seconds);
	}
	later_stop(service->server.later);
	if (service->ingest)
		ingest_stop(service->ingest);
	if (service->refresh)
		refresh_stop(service->refresh);
	if (service->ops)
		http_stop(service->ops, 1);
	if (service->server.slot)
		snapshot_slot_free(service->server.slot);
	auth_free(service->server.auth);
	keyring_stop(service->keyring);
	limit_free(service->server.limit);
	holds_free(service->server.holds);
	price_versions_free(service->server.price_versions);
	memo_free(service->server.coded);
	metrics_free(service->server.metrics);
}

static int run(const struct config *config, const struct ingest_options *ingest, bool has_api)
{
	struct service *service = calloc(1, sizeof(*service));
	struct error error;
	bool is_good;

	error_init(&error, NULL);
	if (!service)
		return EXIT_FAILURE;
	is_good = prepare(service, config, &error) && start(service, ingest, has_api, &error);
	if (is_good) {
		notify_manager("READY=1");
		log_event(LOG_INFO, "started", "version", GPUPICK_VERSION, NULL);
		wait_signal(service, -1);
		notify_manager("STOPPING=1");
		log_event(LOG_INFO, "stopping", NULL);
	} else {
		log_event(LOG_ERROR, "cannot start", "detail", error.detail, NULL);
	}
	stop(service);
	log_event(LOG_INFO, "stopped", NULL);
	free(service);
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int serve(const struct config *config, const struct ingest_options *ingest)
{
	return run(config, ingest, true);
}

int serve_ingest(const struct config *config, const struct ingest_options *options)
{
	return run(config, options, false);
}
