/* What is odd about a valid workload: lengths beyond the model, sizes between, fields without
 * effect.
 */
#include "core/workload_parts.h"

#include <math.h>

/* Without an amount of work a unit is priced, which has neither start nor end. */
static void warn_sessions(const struct workload *workload, const char *prefix,
			  struct error *warnings)
{
	static const enum workload_field_id fields[] = {WORKLOAD_sessions, WORKLOAD_hours_per_day};
	bool is_serving = workload->task == TASK_INFERENCE;
	bool has_amount = is_serving
				  ? workload->requests > 0 || workload->mode == SERVING_INTERACTIVE
				  : workload->tokens > 0;
	char pointer[WORKLOAD_POINTER];

	for (size_t i = 0; !has_amount && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (workload_has(workload, fields[i]))
			error_add(warnings, workload_pointer(prefix, fields[i], pointer),
				  "no_effect", NULL,
				  "%s says nothing without an amount of work: give %s",
				  workload_fields[fields[i]].name,
				  is_serving ? "requests"
					     : "total_tokens, tokens_per_epoch or examples");
}

/* Which format the weights are served in is then for the caller to say. */
static void warn_format(const struct workload *workload, const char *prefix, struct error *warnings)
{
	char pointer[WORKLOAD_POINTER];

	if (workload->task == TASK_INFERENCE && workload->architecture->native_format_unknown &&
	    !workload_has(workload, WORKLOAD_weight_format))
		error_add(
			warnings, workload_pointer(prefix, WORKLOAD_weight_format, pointer),
			"format_unknown", NULL,
			"the configuration says that the weights are quantised, in a way that is "
			"not known here: sizes are those of the formats tried; give weight_format");
}

static void warn_endpoint(const struct workload *workload, const char *prefix,
			  struct error *warnings)
{
	char pointer[WORKLOAD_POINTER];

	if (workload_is_endpoint(workload) && workload->fault_tolerant)
		error_add(warnings, workload_pointer(prefix, WORKLOAD_fault_tolerant, pointer),
			  "no_effect", NULL,
			  "an interactive service at a rate is always on, and gets no spot "
			  "machines even where it survives the loss of one");
}

/* The given field that most of a served sequence comes from; where none is, the one whose default
 * decides. */
static enum workload_field_id longest_field(const struct workload *workload)
{
	bool is_sound = workload_hears(workload) || workload_speaks(workload);
	double output = (double)workload->output_tokens;
	double sound = workload_hears(workload) && !workload_listens(workload)
			       ? workload->media_tokens
			       : output;
	const struct {
		enum workload_field_id field;
		double tokens;
	} parts[] = {
		{WORKLOAD_prompt_tokens, (double)workload->prompt_tokens},
		{WORKLOAD_output_tokens, output},
		{WORKLOAD_seconds, sound},
		{WORKLOAD_images_per_request, workload->media_tokens},
		{WORKLOAD_frames, workload->media_tokens},
	};
	enum workload_field_id field = is_sound ? WORKLOAD_seconds : WORKLOAD_prompt_tokens;
	double most = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (workload_has(workload, parts[i].field) && parts[i].tokens > most) {
			field = parts[i].field;
			most = parts[i].tokens;
		}
	return field;
}

bool workload_is_beyond(const struct workload *workload, struct workload_length *out)
{
	const struct sound *sound = &workload->architecture->sound;
	double output = (double)workload->output_tokens;

	out->most = workload->architecture->max_context;
	if (workload->task != TASK_INFERENCE) {
		bool listens = workload_listens(workload);

		out->field = listens ? WORKLOAD_target_length : WORKLOAD_sequence_length;
		out->tokens =
			(double)(listens ? workload->target_length : workload->sequence_length);
	} else {
		out->field = longest_field(workload);
		if (sound->spoken_seconds > 0) {
			out->most = sound->spoken_seconds * sound->spoken_steps;
			out->tokens = output;
		} else if (!architecture_has_source(workload->architecture))
			out->tokens = workload->full_context;
		else if (workload_listens(workload))
			out->tokens = output;
		else if (workload_speaks(workload))
			out->tokens = output - fmax(0, sound->codebooks - 1);
		else /* made for so much on each side */
			out->tokens = fmax(workload->prompt, output);
	}
	return out->most > 0 && out->tokens > out->most;
}

void workload_warn(const struct workload *workload, const char *prefix, struct error *warnings)
{
	struct workload_length length;
	char pointer[WORKLOAD_POINTER];

	if (workload_is_beyond(workload, &length))
		error_add(warnings, workload_pointer(prefix, length.field, pointer),
			  "beyond_context", NULL,
			  "%.0f tokens are more than the %.0f that the model was made for",
			  length.tokens, length.most);
	if (workload->architecture->media)
		workload_warn_media(workload, prefix, warnings);
	warn_endpoint(workload, prefix, warnings);
	warn_sessions(workload, prefix, warnings);
	warn_format(workload, prefix, warnings);
}
