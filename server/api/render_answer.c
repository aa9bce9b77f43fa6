/* Render: the answers of POST /v1/recommendations and POST /v1/sizing. */
#include "server/api/render.h"

static void render_notes(struct writer *writer, const char *key, const struct note *notes,
			 int count)
{
	int i;

	writer_key(writer, key);
	writer_begin_array(writer);
	for (i = 0; i < count; i++) {
		writer_begin_object(writer);
		render_text(writer, "code", notes[i].code);
		render_text(writer, "text", notes[i].text);
		writer_end_object(writer);
	}
	writer_end_array(writer);
}

static const char *fit_text(enum fit fit)
{
	return fit == FIT_FITS ? "fits" : fit == FIT_TIGHT ? "tight" : "no";
}

static void render_alternatives(struct writer *writer, const struct recommendation *item,
				const struct render_source *source)
{
	int i;

	writer_key(writer, "alternatives");
	writer_begin_array(writer);
	for (i = 0; i < item->alternatives_count; i++)
		render_sourced_offer(writer, source, item->alternatives[i]);
	writer_end_array(writer);
}

static void render_recommendation(struct writer *writer, const struct request_input *input,
				  const struct recommendation *item, int rank,
				  const struct render_source *source)
{
	const struct workload *workload = &input->request.workload;
	const struct cost *cost = &item->cost;

	writer_begin_object(writer);
	if (rank)
		render_integer(writer, "rank", rank);
	render_text(writer, "fit", fit_text(item->plan.fit));
	render_flag(writer, "pareto", item->is_pareto);
	writer_key(writer, "offer");
	render_sourced_offer(writer, source, item->offer->place);
	writer_key(writer, "fabric");
	render_fabric(writer, &item->shape->fabric);
	writer_key(writer, "plan");
	render_layout(writer, workload, &item->plan.layout, &item->plan);
	writer_key(writer, "memory_per_gpu");
	render_memory_on(writer, &item->plan);
	writer_key(writer, "speed");
	render_speed(writer, workload, &item->plan.speed);
	render_service(writer, workload, item);
	writer_key(writer, "time");
	writer_begin_object(writer);
	render_known(writer, "run_seconds", cost->run_seconds, 1);
	render_known(writer, "wall_seconds", cost->wall_seconds, 1);
	render_known(writer, "elapsed_seconds", cost->elapsed_seconds, 1);
	writer_end_object(writer);
	writer_key(writer, "cost");
	render_cost(writer, cost);
	render_notes(writer, "reasons", item->reasons, item->reasons_count);
	render_notes(writer, "warnings", item->warnings, item->warnings_count);
	render_time(writer, "price_observed_at", item->offer->observed_at_us);
	render_age(writer, "price_age_seconds", item->offer->observed_at_us, source->now_us);
	render_alternatives(writer, item, source);
	/* A remedy's result is of another workload, whose command this would not be. */
	if (input->wants_launch && rank)
		render_launch(writer, workload, item);
	writer_end_object(writer);
}

static void render_exclusion(struct writer *writer, const struct exclusion *exclusion)
{
	const struct shape *nearest = exclusion->nearest;

	writer_begin_object(writer);
	render_text(writer, "reason", exclusion->reason);
	render_text(writer, "text", exclusion->text);
	render_integer(writer, "shapes", exclusion->shapes);
	render_integer(writer, "offers", exclusion->offers);
	writer_key(writer, "nearest");
	if (!nearest) {
		writer_null(writer);
	} else {
		writer_begin_object(writer);
		render_text(writer, "accelerator", nearest->accelerator->name);
		render_number(writer, "count", nearest->count_milli / (double)COUNT_MILLI_ONE, 3);
		render_text(writer, "text", exclusion->nearest_text);
		writer_end_object(writer);
	}
	writer_end_object(writer);
}

static void render_remedy(struct writer *writer, const struct request_input *input,
			  const struct remedy *remedy, const struct render_source *source)
{
	writer_begin_object(writer);
	render_text(writer, "code", remedy->code);
	writer_key(writer, "changes");
	writer_begin_array(writer);
	for (int i = 0; i < REMEDY_CHANGES_MAX && remedy->changes[i]; i++)
		writer_string(writer, remedy->changes[i]);
	writer_end_array(writer);
	render_text(writer, "text", remedy->text);
	writer_key(writer, "result");
	if (remedy->result)
		render_recommendation(writer, input, remedy->result, 0, source);
	else
		writer_null(writer);
	writer_end_object(writer);
}

void render_ranked(struct writer *writer, const struct request_input *input,
		   const struct recommend_answer *answer, const struct render_source *source)
{
	writer_key(writer, "recommendations");
	writer_begin_array(writer);
	for (int i = 0; i < answer->recommendations_count; i++)
		render_recommendation(writer, input, &answer->recommendations[i], i + 1, source);
	writer_end_array(writer);
}

void render_why_not(struct writer *writer, const struct request_input *input,
		    const struct recommend_answer *answer, const struct render_source *source)
{
	writer_key(writer, "excluded");
	writer_begin_array(writer);
	for (int i = 0; i < answer->exclusions_count; i++)
		render_exclusion(writer, &answer->exclusions[i]);
	writer_end_array(writer);
	writer_key(writer, "remedies");
	writer_begin_array(writer);
	for (int i = 0; i < answer->remedies_count; i++)
		render_remedy(writer, input, &answer->remedies[i], source);
	writer_end_array(writer);
}

void render_recommendations(struct writer *writer, const struct request_input *input,
			    const struct recommend_answer *answer,
			    const struct render_source *source, const struct error *warnings)
{
	const struct workload *workload = &input->request.workload;

	writer_begin_object(writer);
	render_text(writer, "currency", "USD");
	writer_key(writer, "catalogue");
	render_catalogue(writer, source->catalogue, source->now_us);
	writer_key(writer, "workload");
	render_workload(writer, workload, input->model);
	writer_key(writer, "memory");
	render_memory(writer, &answer->memory);
	writer_key(writer, "assumptions");
	render_assumptions(writer, &answer->assumptions);
	render_ranked(writer, input, answer, source);
	render_why_not(writer, input, answer, source);
	writer_key(writer, "considered");
	writer_begin_object(writer);
	render_integer(writer, "shapes", answer->shapes_considered);
	render_integer(writer, "offers", answer->offers_considered);
	render_integer(writer, "searches_cut", answer->searches_cut);
	render_integer(writer, "max_nodes", answer->max_nodes);
	writer_key(writer, "defaults");
	writer_begin_array(writer);
	if (input->request.constraints.max_nodes == 0)
		writer_string(writer, "max_nodes");
	writer_end_array(writer);
	writer_end_object(writer);
	render_accuracy(writer, workload, true);
	writer_key(writer, "warnings");
	render_warnings(writer, warnings);
	writer_end_object(writer);
}

static void render_holders(struct writer *writer, const struct sizing_layout *item)
{
	int i;

	writer_key(writer, "accelerators");
	writer_begin_array(writer);
	for (i = 0; i < item->holders_count; i++) {
		const struct sizing_holder *holder = &item->holders[i];

		writer_begin_object(writer);
		render_text(writer, "accelerator", holder->accelerator->name);
		render_known(writer, "memory_gb", holder->accelerator->memory_gb, 3);
		render_text(writer, "fit", fit_text(holder->fit));
		render_whole(writer, "total_bytes", holder->total_bytes);
		render_whole(writer, "usable_bytes", holder->usable_bytes);
		render_whole(writer, "headroom_bytes", holder->headroom_bytes);
		writer_end_object(writer);
	}
	writer_end_array(writer);
}

static void render_sizing_layout(struct writer *writer, const struct workload *workload,
				 const struct sizing_layout *item)
{
	writer_begin_object(writer);
	writer_key(writer, "plan");
	render_layout(writer, workload, &item->layout, NULL);
	writer_key(writer, "memory_per_gpu");
	render_memory(writer, &item->memory);
	render_holders(writer, item);
	writer_end_object(writer);
}

void render_sizing(struct writer *writer, const struct request_input *input,
		   const struct sizing *sizing, const struct error *warnings)
{
	const struct workload *workload = &input->request.workload;
	int i;

	writer_begin_object(writer);
	writer_key(writer, "workload");
	render_workload(writer, workload, input->model);
	writer_key(writer, "memory");
	render_memory(writer, &sizing->memory);
	writer_key(writer, "layouts");
	writer_begin_array(writer);
	for (i = 0; i < sizing->layouts_count; i++)
		render_sizing_layout(writer, workload, &sizing->layouts[i]);
	writer_end_array(writer);
	render_accuracy(writer, workload, false);
	writer_key(writer, "warnings");
	render_warnings(writer, warnings);
	writer_end_object(writer);
}
