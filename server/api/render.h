/*
 * Render: core's structs as the JSON of the API, one encoder for each thing that several answers
 * hold, so that it looks the same in all of them. Unknown is null, never zero; "" is null too.
 */
#ifndef SERVER_API_RENDER_H
#define SERVER_API_RENDER_H

#include "core/recommend.h"
#include "core/sizing.h"
#include "server/api/compare.h"
#include "server/fragments.h"
#include "server/json/request_input.h"
#include "server/json/writer.h"

#define ANSWER_BYTES_MAX ((size_t)8 * 1024 * 1024)

/* A key and its value in one call. */
void render_text(struct writer *writer, const char *key, const char *text); /* "" prints null */
void render_micros(struct writer *writer, const char *key, int64_t micros);
void render_number(struct writer *writer, const char *key, double value, int decimals);
void render_whole(struct writer *writer, const char *key, double value);
void render_integer(struct writer *writer, const char *key, int64_t value);
void render_flag(struct writer *writer, const char *key, bool value);
void render_time(struct writer *writer, const char *key, int64_t wall_us);
/* The value, or null when it is not positive: for "0 = not told". */
void render_known(struct writer *writer, const char *key, double value, int decimals);
void render_age(struct writer *writer, const char *key, int64_t then_us, int64_t now_us);

/* render_offer.c */
void render_offer(struct writer *writer, const struct offer *offer, int64_t now_us);
/* Where offers come from, and when they are told. */
struct render_source {
	const struct catalogue *catalogue;
	struct fragments *fragments; /* of its offers; NULL: each is rendered anew */
	int64_t now_us;
};
void render_sourced_offer(struct writer *writer, const struct render_source *source,
			  uint32_t place);
void render_fabric(struct writer *writer, const struct fabric *fabric);

/* render_catalogue.c: {version, epoch, as_of, age_seconds, offers, bundled_offers,
 * oldest_observed_at, newest_observed_at, stale_providers} */
void render_catalogue(struct writer *writer, const struct catalogue *catalogue, int64_t now_us);

/* render_workload.c: the workload as it was understood, and what of it the caller did not say */
void render_workload(struct writer *writer, const struct workload *workload,
		     const struct model *model);
void render_model(struct writer *writer, const char *id, const struct architecture *architecture,
		  const struct model *model);
void render_warnings(struct writer *writer, const struct error *warnings);

/* render_plan.c; `plan` may be NULL where only an estimate exists */
void render_memory(struct writer *writer, const struct memory_estimate *memory);
void render_memory_on(struct writer *writer, const struct plan *plan);
void render_layout(struct writer *writer, const struct workload *workload,
		   const struct layout *layout, const struct plan *plan);
void render_speed(struct writer *writer, const struct workload *workload,
		  const struct speed_estimate *speed);
void render_cost(struct writer *writer, const struct cost *cost);
void render_assumptions(struct writer *writer, const struct cost_assumptions *assumptions);

/* render_service.c: the member `service`, for a service at a rate only. */
void render_service(struct writer *writer, const struct workload *workload,
		    const struct recommendation *item);

/* render_accuracy.c: the member `accuracy`: how predictions of this kind fared against published
 * measurements */
void render_accuracy(struct writer *writer, const struct workload *workload, bool with_speed);

/* render_answer.c: the whole answers, and the parts of one that a comparison shows too */
void render_ranked(struct writer *writer, const struct request_input *input,
		   const struct recommend_answer *answer, const struct render_source *source);
void render_why_not(struct writer *writer, const struct request_input *input,
		    const struct recommend_answer *answer, const struct render_source *source);
void render_recommendations(struct writer *writer, const struct request_input *input,
			    const struct recommend_answer *answer,
			    const struct render_source *source, const struct error *warnings);
void render_sizing(struct writer *writer, const struct request_input *input,
		   const struct sizing *sizing, const struct error *warnings);

/* render_launch.c: {skypilot, dstack, provider, page} */
void render_launch(struct writer *writer, const struct workload *workload,
		   const struct recommendation *item);

/* render_comparison.c */
void render_comparison(struct writer *writer, const struct compared *compared,
		       const struct catalogue *catalogue, const struct error *warnings,
		       int64_t now_us);

#endif
