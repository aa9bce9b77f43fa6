/* Render: the answer of POST /v1/comparisons. */
#include "server/api/render.h"

static void render_ratios(struct writer *writer, const struct comparison_ratios *ratios)
{
	writer_key(writer, "against_first");
	writer_begin_object(writer);
	render_known(writer, "memory_ratio", ratios->memory, 4);
	render_known(writer, "cost_ratio", ratios->cost, 4);
	render_known(writer, "time_ratio", ratios->time, 4);
	render_text(writer, "text", ratios->text);
	writer_end_object(writer);
}

/* The best recommendation's, so that nobody has to dig for what is compared. */
static void render_figures(struct writer *writer, const struct comparison_variant *variant)
{
	const char *outcome = !variant->is_computed  ? "not_computed"
			      : variant->is_feasible ? "fits"
						     : "nothing_fits";

	render_text(writer, "outcome", outcome);
	render_text(writer, "cost_basis",
		    variant->is_feasible ? names_text(&cost_basis_names, (int)variant->cost_basis)
					 : NULL);
	render_text(writer, "cost_unit",
		    variant->is_feasible ? names_text(&cost_unit_names, (int)variant->unit) : NULL);
	render_micros(writer, "cost_usd",
		      variant->is_feasible ? variant->cost_micros : PRICE_UNKNOWN);
	render_text(writer, "time_basis",
		    variant->is_feasible ? names_text(&time_basis_names, (int)variant->time_basis)
					 : NULL);
	render_known(writer, "seconds", variant->seconds, 3);
}

static void render_variant(struct writer *writer, const struct compared *compared, int index,
			   const struct render_source *source)
{
	static const struct recommend_answer nothing = {.recommendations = NULL};
	const struct comparison_variant *variant = &compared->variants[index];
	const struct request_input *input = &compared->input->variants[index];
	const struct recommend_answer *answer = &compared->answers[index];

	writer_begin_object(writer);
	render_text(writer, "name", variant->name);
	render_figures(writer, variant);
	render_ratios(writer, &compared->comparison.ratios[index]);
	writer_key(writer, "workload");
	render_workload(writer, &input->request.workload, input->model);
	writer_key(writer, "memory");
	if (variant->is_computed)
		render_memory(writer, &answer->memory);
	else
		writer_null(writer);
	render_ranked(writer, input, answer, source);
	/* Why the rest is out fills pages; of a variant that has an answer it can be asked. */
	render_why_not(writer, input, variant->is_feasible ? &nothing : answer, source);
	render_accuracy(writer, &input->request.workload, true);
	writer_end_object(writer);
}

static void render_winner(struct writer *writer, const char *key, const struct compared *compared,
			  int index)
{
	render_text(writer, key, index < 0 ? NULL : compared->variants[index].name);
}

void render_comparison(struct writer *writer, const struct compared *compared,
		       const struct catalogue *catalogue, const struct error *warnings,
		       int64_t now_us)
{
	const struct render_source source = {.catalogue = catalogue, .now_us = now_us};
	const struct comparison *found = &compared->comparison;

	writer_begin_object(writer);
	render_text(writer, "currency", "USD");
	writer_key(writer, "catalogue");
	render_catalogue(writer, catalogue, now_us);
	writer_key(writer, "comparison");
	writer_begin_object(writer);
	render_winner(writer, "cheapest", compared, found->cheapest);
	render_winner(writer, "fastest", compared, found->fastest);
	render_winner(writer, "least_memory", compared, found->smallest);
	render_text(writer, "text", found->text);
	writer_end_object(writer);
	writer_key(writer, "variants");
	writer_begin_array(writer);
	for (int i = 0; i < compared->input->count; i++)
		render_variant(writer, compared, i, &source);
	writer_end_array(writer);
	writer_key(writer, "warnings");
	render_warnings(writer, warnings);
	writer_end_object(writer);
}
