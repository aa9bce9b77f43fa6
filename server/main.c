/* gpupick: the verbs. Each loads what it needs and hands over; `serve` is in serve.c. */
#include "server/api/terminal.h"
#include "server/config.h"
#include "server/http/address.h"
#include "server/http/routes.h"
#include "server/ingest/fetch.h"
#include "server/ingest/ingest.h"
#include "server/log.h"
#include "server/serve.h"
#include "server/store/store.h"
#include "server/verb_key.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define CONFIG_BYTES_MAX ((size_t)16 << 20)
#define EXIT_USAGE 2

struct verb {
	const char *name, *operands, *help;
	int (*run)(const struct config *config, int argc, char **argv); /* after the verb */
};

static int usage(const char *verb, const char *what, const char *operand)
{
	fprintf(stderr, "gpupick%s%s: %s '%s' (see gpupick help)\n", *verb ? " " : "", verb, what,
		operand);
	return EXIT_USAGE;
}

/* Takes "--name VALUE" or "--name=VALUE" at argv[*at]. NULL: something else, or without a value. */
static const char *take_value(const char *name, int argc, char **argv, int *at)
{
	size_t length = strlen(name);

	if (strncmp(argv[*at], name, length) != 0)
		return NULL;
	if (argv[*at][length] == '=')
		return argv[*at] + length + 1;
	if (argv[*at][length] || *at + 1 >= argc)
		return NULL;
	return argv[++*at];
}

static int verb_serve(const struct config *config, int argc, char **argv)
{
	static const struct ingest_options all;
	const struct ingest_options *ingest = NULL;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--with-ingest") != 0)
			return usage("serve", "unknown operand", argv[i]);
		ingest = &all;
	}
	return serve(config, ingest);
}

static int ingest_now(const struct config *config, const struct ingest_options *options,
		      FILE *report)
{
	struct metrics *metrics = metrics_new(routes_count, providers_count);
	struct error error;
	bool is_good;

	error_init(&error, NULL);
	log_configure(config->log_level);
	serve_report_unread();
	signal(SIGPIPE, SIG_IGN);
	if (!metrics || !fetch_global_init()) {
		fputs("gpupick ingest: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	is_good = ingest_once(config, options, report, metrics, &error);
	metrics_free(metrics);
	if (!is_good)
		fprintf(stderr, "gpupick ingest: %s\n", error.detail);
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int verb_ingest(const struct config *config, int argc, char **argv)
{
	struct ingest_options options = {0};
	bool is_once = false, reports = false;

	for (int i = 0; i < argc; i++) {
		const char *value;

		if (strcmp(argv[i], "--once") == 0)
			is_once = true;
		else if (strcmp(argv[i], "--report") == 0)
			reports = is_once = true; /* a report is of one round */
		else if (strcmp(argv[i], "--accept") == 0)
			options.accept = true;
		else if ((value = take_value("--provider", argc, argv, &i)))
			options.only = value;
		else if ((value = take_value("--record", argc, argv, &i)))
			options.record = value;
		else
			return usage("ingest", "unknown or incomplete operand", argv[i]);
	}
	if (options.only && !provider_find(options.only))
		return usage("ingest", "unknown provider", options.only);
	return is_once ? ingest_now(config, &options,
				    reports || isatty(STDOUT_FILENO) ? stdout : NULL)
		       : serve_ingest(config, &options);
}

static int verb_migrate(const struct config *config, int argc, char **argv)
{
	struct migration_report report = {0};
	struct store *store;
	struct error error;
	bool is_good;

	error_init(&error, NULL);
	log_configure(config->log_level);
	if (argc > 0)
		return usage("migrate", "unknown operand", argv[0]);
	store = store_new(config->database_url, "gpupick migrate");
	if (!store) {
		fputs("gpupick migrate: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	is_good = store_migrate(store, &report, &error);
	store_free(store);
	if (!is_good) {
		fprintf(stderr, "gpupick migrate: %s\n", error.detail);
		return EXIT_FAILURE;
	}
	printf("%d applied, %d were there already\n", report.applied, report.already);
	return EXIT_SUCCESS;
}

static int verb_check_config(const struct config *config, int argc, char **argv)
{
	if (argc > 0)
		return usage("check-config", "unknown operand", argv[0]);
	serve_report_unread();
	config_print(config, stdout);
	return EXIT_SUCCESS;
}

/* For containers, which have no curl: is the ops port alive (or, on request, ready)? */
static int verb_healthcheck(const struct config *config, int argc, char **argv)
{
	const char *path = argc > 0 && strcmp(argv[0], "ready") == 0 ? "/readyz" : "/livez";
	const struct timeval patience = {.tv_sec = 3};
	char text[256];
	ssize_t length = 0;
	int fd;

	if (argc > 1 || (argc == 1 && strcmp(path, "/livez") == 0))
		return usage("healthcheck", "unknown operand", argv[argc - 1]);
	fd = address_connect(config->ops_listen);
	if (fd < 0) {
		fprintf(stderr, "gpupick healthcheck: nothing answers on %s\n", config->ops_listen);
		return EXIT_FAILURE;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(text, sizeof(text),
		 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	if (write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	printf("%s %s\n", path, *text ? text : "no answer");
	return strncmp(text, "HTTP/1.1 200", 12) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct verb verbs[] = {
	{"serve", "[--with-ingest]", "answer the API", verb_serve},
	{"ingest", "[--once] [--provider NAME] [--record DIR] [--report] [--accept]",
	 "keep the prices fresh", verb_ingest},
	{"parse", "PROVIDER [FILE]", "what a provider's payload would become", ingest_verb_parse},
	{"migrate", "", "bring the database up to date", verb_migrate},
	{"key", "new NAME [--scopes ...] [--expires 90d|DATE] | list | revoke ID [--file PATH]",
	 "who may call: API keys. A key file stays its owner's; root makes a new one for its "
	 "folder's owner, mode 0600",
	 verb_key},
	{"size", "FILE|- [--json]", "the memory of a workload", terminal_size},
	{"recommend", "FILE|- [--json | --explain N | --launch skypilot|dstack|command[:N]]",
	 "ranked instances for a workload; all about one; what starts it", terminal_recommend},
	{"compare", "FILE|- [--json]", "a workload in several variants", terminal_compare},
	{"healthcheck", "[ready]", "is the ops port alive, or ready", verb_healthcheck},
	{"check-config", "", "every setting and where it comes from", verb_check_config},
};
#define VERBS (sizeof(verbs) / sizeof(*verbs))

static int help(FILE *stream)
{
	fputs("gpupick sizes AI workloads and ranks priced GPU instances.\n\n", stream);
	for (size_t i = 0; i < VERBS; i++)
		fprintf(stream, "  gpupick %s %s\n\t%s\n", verbs[i].name, verbs[i].operands,
			verbs[i].help);
	fputs("  gpupick routes\n\tmethod, pattern and operation of every route\n"
	      "  gpupick help config\n\tevery setting\n"
	      "  gpupick version\n",
	      stream);
	return stream == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

/* `gpupick help`, `gpupick help config`, `gpupick help VERB`. */
static int help_about(const char *topic)
{
	if (strcmp(topic, "config") == 0) {
		config_help(stdout);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(verbs[i].name, topic) == 0) {
			printf("gpupick %s %s\n\t%s\n", verbs[i].name, verbs[i].operands,
			       verbs[i].help);
			return EXIT_SUCCESS;
		}
	}
	return *topic ? usage("help", "there is none about", topic) : help(stdout);
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
	struct config config;
	struct arena arena;
	struct error error;
	int status = EXIT_USAGE;

	arena_init(&arena, CONFIG_BYTES_MAX);
	error_init(&error, NULL);
	if (config_load(&config, &arena, &argc, argv, &error))
		status = verb->run(&config, argc, argv);
	else
		fprintf(stderr, "gpupick: %s\n", error.detail);
	arena_release(&arena);
	return status;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (strcmp(name, "routes") == 0) {
		routes_print();
		return EXIT_SUCCESS;
	}
	if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
		puts("gpupick " GPUPICK_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
	    (argc > 2 && strcmp(argv[2], "--help") == 0)) {
		return help_about(argc > 2 && strcmp(name, "help") == 0 ? argv[2] : "");
	}
	for (size_t i = 0; i < VERBS; i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return run_verb(&verbs[i], argc - 2, argv + 2);
	}
	return *name ? usage("", "unknown verb", name) : help(stderr);
}
