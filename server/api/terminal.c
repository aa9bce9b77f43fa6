/* Terminal: see terminal.h. */
#include "server/api/terminal.h"

#include "core/launch.h"
#include "server/api/render.h"
#include "server/api/table.h"
#include "server/clock.h"
#include "server/snapshot.h"
#include "server/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As over HTTP. */
#define BODY_BYTES_MAX ((size_t)256 * 1024)
#define ARENA_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define VIEW_BYTES_MAX ((size_t)4 * 1024 * 1024 * 1024)

/* A verb: its name, the route whose body it takes, an example, what it alone takes. */
struct verb {
	const char *name, *route, *operands, *example;
	bool takes_pick; /* --explain N and --launch TOOL[:N] */
};

struct job {
	const struct config *config;
	const struct verb *verb;
	const char *path;
	bool wants_json;
	long explain;	    /* of which recommendation to tell everything; 0 = of none */
	const char *launch; /* which text to print of how it is started, or NULL */
	struct arena arena;
	struct error error;
	char *body;
	size_t length;
	struct catalogue *catalogue;
};

static bool read_number(const char *text, long *out)
{
	char *end;

	*out = strtol(text, &end, 10);
	return end != text && *end == '\0' && *out >= 1 && *out <= RECOMMENDATIONS_MAX;
}

/* "skypilot", "dstack" or "command", of the first recommendation or, with ":N", of that one. */
static bool read_launch(struct job *job, char *text)
{
	char *colon = strchr(text, ':');

	job->explain = 1;
	if (colon)
		*colon = '\0';
	job->launch = text;
	return (!colon || read_number(colon + 1, &job->explain)) &&
	       (strcmp(text, "skypilot") == 0 || strcmp(text, "dstack") == 0 ||
		strcmp(text, "command") == 0);
}

static bool read_operand(struct job *job, int argc, char **argv, int *at)
{
	const char *operand = argv[*at];
	bool has_next = *at + 1 < argc;

	if (strcmp(operand, "--json") == 0)
		job->wants_json = true;
	else if (job->verb->takes_pick && has_next && strcmp(operand, "--explain") == 0)
		return read_number(argv[++*at], &job->explain);
	else if (job->verb->takes_pick && has_next && strcmp(operand, "--launch") == 0)
		return read_launch(job, argv[++*at]);
	else if (!job->path && (operand[0] != '-' || !operand[1]))
		job->path = operand;
	else
		return false;
	return true;
}

static bool read_operands(struct job *job, int argc, char **argv)
{
	const struct verb *verb = job->verb;
	int i = 0;

	while (i < argc && read_operand(job, argc, argv, &i))
		i++;
	if (i == argc && job->path)
		return true;
	if (i < argc)
		fprintf(stderr, "gpupick %s: unexpected operand '%s'\n", verb->name, argv[i]);
	fprintf(stderr,
		"usage: gpupick %s %s\n"
		"FILE holds the body of POST /v1/%s, for example\n%s\n",
		verb->name, verb->operands, verb->route, verb->example);
	return false;
}

static bool read_body(struct job *job)
{
	bool is_stdin = strcmp(job->path, "-") == 0;
	FILE *stream = is_stdin ? stdin : fopen(job->path, "rb");

	if (!stream)
		return error_set(&job->error, ERROR_MALFORMED, "%s: %s", job->path,
				 strerror(errno));
	job->body = malloc(BODY_BYTES_MAX + 1);
	if (job->body)
		job->length = fread(job->body, 1, BODY_BYTES_MAX + 1, stream);
	if (ferror(stream))
		error_set(&job->error, ERROR_MALFORMED, "%s: %s", job->path, strerror(errno));
	else if (!job->body || job->length > BODY_BYTES_MAX)
		error_set(&job->error, ERROR_TOO_LARGE, "%s is larger than %zu bytes", job->path,
			  BODY_BYTES_MAX);
	if (!is_stdin)
		fclose(stream);
	return !error_is_set(&job->error);
}

static int failed(const struct job *job)
{
	const struct error_item *item;

	fprintf(stderr, "gpupick %s: %s\n", job->verb->name, job->error.detail);
	for (item = job->error.first; item; item = item->next) {
		fprintf(stderr, "  %s: %s", *item->pointer ? item->pointer : "(body)",
			item->detail);
		if (item->suggestion)
			fprintf(stderr, " (did you mean %s?)", item->suggestion);
		fputc('\n', stderr);
	}
	return TERMINAL_FAILED;
}

static struct catalogue *read_database(struct job *job)
{
	struct store *store = store_new(job->config->database_url, "gpupick recommend");
	struct catalogue *catalogue = NULL;
	struct store_view view;
	struct arena arena;

	arena_init(&arena, VIEW_BYTES_MAX);
	if (!store) {
		error_set(&job->error, ERROR_INTERNAL, "memory is out");
	} else if (store_read_all(store, &arena, &view, &job->error)) {
		catalogue = catalogue_build(
			&(struct catalogue_input){.epoch = view.clock.epoch,
						  .version = view.clock.version,
						  .as_of_us = view.clock.as_of_us,
						  .built_at_us = clock_wall_us(),
						  .offers = view.offers,
						  .offers_count = view.offers_count,
						  .providers = view.providers,
						  .providers_count = view.providers_count,
						  .unmapped = view.unmapped,
						  .unmapped_count = view.unmapped_count},
			&job->error);
	}
	store_free(store);
	arena_release(&arena);
	return catalogue;
}

/* The file tells what was stale when it was written; nobody else reads this catalogue yet. */
static void refresh_staleness(struct catalogue *catalogue)
{
	struct provider_status *statuses =
		(struct provider_status *)(uintptr_t)catalogue->providers;
	int64_t now_us = clock_wall_us();
	uint32_t i;

	for (i = 0; i < catalogue->providers_count; i++)
		statuses[i].is_stale = store_is_stale(&statuses[i], now_us);
}

/* The database when there is one, since it is newest; else what a replica left on disk. */
static bool find_catalogue(struct job *job)
{
	char *path = NULL;

	if (*job->config->database_url) {
		job->catalogue = read_database(job);
		if (job->catalogue)
			return true;
		fprintf(stderr,
			"gpupick recommend: the database does not answer (%s): trying the "
			"snapshot file\n",
			job->error.detail);
		error_init(&job->error, &job->arena);
	}
	if (asprintf(&path, "%s/snapshot", job->config->data) < 0)
		return error_set(&job->error, ERROR_INTERNAL, "memory is out");
	job->catalogue = snapshot_load(path, &job->error);
	if (!job->catalogue)
		error_set(&job->error, ERROR_UNAVAILABLE,
			  "no prices: set GPUPICK_DATABASE_URL, or GPUPICK_DATA to a folder where "
			  "`gpupick serve` has left its snapshot (tried %.80s)",
			  path);
	else
		refresh_staleness(job->catalogue);
	free(path);
	return job->catalogue != NULL;
}

static bool print_json(struct job *job, struct writer *writer)
{
	size_t length;
	char *text = writer_take(writer, &length);

	if (!text)
		return error_set(&job->error, ERROR_INTERNAL, "the answer is too large");
	fwrite(text, 1, length, stdout);
	fputc('\n', stdout);
	free(text);
	return true;
}

static bool size(struct job *job)
{
	const struct request_input *input =
		request_input_sizing(job->body, job->length, NULL, &job->arena, &job->error);
	struct table table = table_open(stdout);
	struct error warnings;
	struct sizing sizing;
	struct writer writer;

	if (!input || !sizing_compute(&input->request.workload, &job->arena, &sizing, &job->error))
		return false;
	error_init(&warnings, &job->arena);
	workload_warn(&input->request.workload, "/workload", &warnings);
	sizing_warn(&input->request.workload, &sizing, "/workload", &warnings);
	if (!job->wants_json) {
		table_sizing(&table, input, &sizing);
		table_odd(&table, &warnings);
		return true;
	}
	writer_init(&writer, ANSWER_BYTES_MAX);
	render_sizing(&writer, input, &sizing, &warnings);
	return print_json(job, &writer);
}

static const struct launch_text *launch_text_of(struct job *job, const struct request_input *input,
						const struct recommendation *item,
						struct launch *launch)
{
	if (!launch_write(&input->request.workload, item, &job->arena, launch))
		return NULL;
	return strcmp(job->launch, "skypilot") == 0 ? &launch->skypilot
	       : strcmp(job->launch, "dstack") == 0 ? &launch->dstack
						    : &launch->command;
}

/* Where there is none: the page, and the best recommendation that has one. */
static bool no_launch(struct job *job, const struct request_input *input,
		      const struct recommend_answer *answer, const char *reason, const char *page)
{
	const char *other = "";
	struct launch launch;

	for (int i = 0; i < answer->recommendations_count && other && !*other; i++) {
		const struct launch_text *text =
			launch_text_of(job, input, &answer->recommendations[i], &launch);

		if (text && text->text)
			other = arena_printf(&job->arena,
					     " Recommendation %d has one: --launch %s:%d", i + 1,
					     job->launch, i + 1);
	}
	return error_set(&job->error, ERROR_NOT_FOUND, "%s%s%s%s", reason, page ? " Page: " : "",
			 page ? page : "", other ? other : "");
}

/* Nothing but the text, so that it can go into a file. */
static bool print_launch(struct job *job, const struct request_input *input,
			 const struct recommend_answer *answer, const struct recommendation *item)
{
	struct launch launch;
	const struct launch_text *text = launch_text_of(job, input, item, &launch);

	if (!text)
		return error_set(&job->error, ERROR_INTERNAL, "memory is out");
	if (!text->text)
		return no_launch(job, input, answer, text->reason, launch.page);
	fputs(text->text, stdout);
	return true;
}

static bool print_one(struct job *job, const struct request_input *input,
		      const struct recommend_answer *answer, int64_t now_us)
{
	struct table table = table_open(stdout);
	const struct recommendation *item;

	if (job->explain > answer->recommendations_count)
		return error_set(&job->error, ERROR_NOT_FOUND,
				 "there is no recommendation %ld: the answer has %d", job->explain,
				 answer->recommendations_count);
	item = &answer->recommendations[job->explain - 1];
	if (job->launch)
		return print_launch(job, input, answer, item);
	table_explain(&table, input, item, (int)job->explain, job->catalogue, now_us);
	return true;
}

static bool recommend_with(struct job *job)
{
	const struct request_input *input;
	struct recommend_answer answer;
	int64_t now_us = clock_wall_us();
	struct render_source source = {.now_us = now_us};
	struct table table = table_open(stdout);
	struct error warnings;
	struct writer writer;

	if (!find_catalogue(job))
		return false;
	input = request_input_recommend(job->body, job->length, NULL, job->catalogue, &job->arena,
					&job->error);
	if (!input ||
	    !recommend(&input->request, job->catalogue, now_us, &job->arena, &answer, &job->error))
		return false;
	error_init(&warnings, &job->arena);
	workload_warn(&input->request.workload, "/workload", &warnings);
	if (job->wants_json) {
		writer_init(&writer, ANSWER_BYTES_MAX);
		source.catalogue = job->catalogue;
		render_recommendations(&writer, input, &answer, &source, &warnings);
		return print_json(job, &writer);
	}
	if (job->explain)
		return print_one(job, input, &answer, now_us);
	table_recommendations(&table, input, &answer, job->catalogue, now_us);
	table_odd(&table, &warnings);
	return true;
}

static bool compare_with(struct job *job)
{
	const struct comparison_input *input;
	const struct compared *compared;
	int64_t now_us = clock_wall_us();
	struct table table = table_open(stdout);
	struct error warnings;
	struct writer writer;

	if (!find_catalogue(job))
		return false;
	input = request_input_compare(job->body, job->length, NULL, job->catalogue, &job->arena,
				      &job->error);
	compared = input ? compare(input, job->catalogue, NULL, now_us, &job->arena, &job->error)
			 : NULL;
	if (!compared)
		return false;
	error_init(&warnings, &job->arena);
	compare_warn(input, &job->arena, &warnings);
	if (!job->wants_json) {
		table_comparison(&table, compared, job->catalogue, now_us);
		table_odd(&table, &warnings);
		return true;
	}
	writer_init(&writer, ANSWER_BYTES_MAX);
	render_comparison(&writer, compared, job->catalogue, &warnings, now_us);
	return print_json(job, &writer);
}

static int run(const struct config *config, const struct verb *verb, int argc, char **argv,
	       bool (*answer)(struct job *))
{
	struct job job = {.config = config, .verb = verb};
	int status = TERMINAL_OK;

	arena_init(&job.arena, ARENA_BYTES_MAX);
	error_init(&job.error, &job.arena);
	if (!read_operands(&job, argc, argv))
		status = TERMINAL_USAGE;
	else if (!read_body(&job) || !answer(&job))
		status = failed(&job);
	free(job.body);
	catalogue_free(job.catalogue);
	arena_release(&job.arena);
	/* A full disk or a closed pipe must not look like success. */
	if (status == TERMINAL_OK && (fflush(stdout) != 0 || ferror(stdout)))
		status = TERMINAL_FAILED;
	return status;
}

#define QLORA                                                                                      \
	"{\"workload\": {\"task\": \"finetune\", \"method\": \"qlora\", "                          \
	"\"model\": \"meta-llama/Llama-3.1-70B\"}}"

int terminal_size(const struct config *config, int argc, char **argv)
{
	static const struct verb verb = {"size", "sizing", "FILE|- [--json]", QLORA, false};

	return run(config, &verb, argc, argv, size);
}

int terminal_recommend(const struct config *config, int argc, char **argv)
{
	static const struct verb verb = {
		"recommend", "recommendations",
		"FILE|- [--json | --explain N | --launch skypilot|dstack|command[:N]]", QLORA,
		true};

	return run(config, &verb, argc, argv, recommend_with);
}

int terminal_compare(const struct config *config, int argc, char **argv)
{
	static const struct verb verb = {
		"compare", "comparisons", "FILE|- [--json]",
		"{\"workload\": {\"task\": \"finetune\", \"model\": \"meta-llama/Llama-3.1-8B\"}, "
		"\"variants\": [{\"name\": \"lora\", \"workload\": {\"method\": \"lora\"}}, "
		"{\"name\": \"qlora\", \"workload\": {\"method\": \"qlora\"}}]}",
		false};

	return run(config, &verb, argc, argv, compare_with);
}
