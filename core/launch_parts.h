/* What the files of core/launch_*.c share; private to them. */
#ifndef CORE_LAUNCH_PARTS_H
#define CORE_LAUNCH_PARTS_H

#include "core/launch.h"

/* launch_text.c: text that grows in an arena. Memory that runs out is noticed once, at the end. */
struct text {
	struct arena *arena;
	char *bytes;
	size_t length, room;
	bool failed;
};

void text_init(struct text *text, struct arena *arena);
void text_add(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
/* Each line of `lines` with `indent` spaces in front. */
void text_indented(struct text *text, int indent, const char *lines);
const char *text_take(struct text *text); /* NULL when memory ran out */

/* One word for a POSIX shell, quoted when it has to be; NULL when memory is out. */
const char *launch_shell(struct arena *arena, const char *word);
/* One double-quoted scalar of YAML. */
const char *launch_yaml(struct arena *arena, const char *text);
/* Has it neither control characters nor too many bytes for a name? */
bool launch_is_name(const char *text);
/* "gpupick-llama-3-1-8b": what every tool takes as a name. */
#define LAUNCH_NAME 40
void launch_name(const struct workload *workload, char out[LAUNCH_NAME]);
/* The weights to load: what was asked for, where the registry knows it by its base. */
const char *launch_model(const struct workload *workload);

/* What runs on the machines; the same for every provider and tool. */
struct launch_run {
	const char *setup, *run; /* lines of shell */
	bool serves, has_key;	 /* a service on LAUNCH_PORT; one that asks for a key */
	bool needs_data;	 /* DATASET must be given */
	bool needs_model;	 /* the model has no id: MODEL must be given */
	const char *also;	 /* a variable that must be given besides; or NULL */
	const char *also_is;	 /* what it is */
	bool needs_files;	 /* which lies in the caller's folder */
	int disk_gb;
};

#define LAUNCH_PORT 8000

/* launch_serve.c and launch_train.c: the lines that differ by engine or stack. */
void launch_serve(struct text *run, const struct workload *workload, const struct plan *plan,
		  struct launch_run *out);
void launch_train(struct text *run, const struct workload *workload, const struct plan *plan,
		  struct launch_run *out);

/* launch_media.c: of pipelines. */
void launch_media_serve(struct text *run, const struct workload *workload, const struct plan *plan,
			struct launch_run *out);
void launch_media_train(struct text *run, const struct workload *workload, const struct plan *plan,
			struct launch_run *out);

/* launch_providers.c */
enum launch_by {
	BY_NOTHING,	/* no name is known; without `name`, the tool does not serve the provider */
	BY_TYPE,	/* its name of the machine is the tool's too */
	BY_ACCELERATOR, /* by the tool's name of the card */
	BY_BOTH		/* both must be said */
};

#define CAN_SPOT 1u
#define CAN_NODES 2u  /* several machines in one network */
#define CAN_PORTS 4u  /* opens ports */
#define HAS_REGION 8u /* its regions are named as the feeds name them */
#define HAS_ZONE 16u
#define HAS_COUNTRY 32u /* its region is the country, its zone the feeds' region */
#define HAS_DISK 64u	/* the size of its disk is for the caller to say */

struct launch_way {
	enum launch_by by;
	const char *name; /* of the provider, in the tool */
	unsigned can;
};

struct launch_provider {
	const char *provider;
	struct launch_way skypilot, dstack;
	/* Adds the commands that rent the machines; false when the offer cannot be named so. NULL:
	 * its page is the way. */
	bool (*command)(struct text *out, const struct recommendation *item, const char *name,
			int disk_gb);
};

/* NULL when neither tool serves it and no command is known. */
const struct launch_provider *launch_provider_find(const char *provider);

/* The tool's name of the card, or NULL where it has none that means this card only. */
const char *launch_skypilot_card(const char *provider, const struct offer *offer);
const char *launch_dstack_card(const struct offer *offer);

#endif
