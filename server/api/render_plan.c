/* Render: memory, layout, speed and cost of one plan. */
#include "server/api/render.h"

#include <math.h>
#include <stdio.h>

/* Of a pipeline: what each phase allocates, of which the highest counts. */
static void phase_fields(struct writer *writer, const struct memory_estimate *memory)
{
	char name[24];

	if (!(memory->phase_bytes[MEDIA_DENOISE] > 0))
		return;
	writer_key(writer, "phases");
	writer_begin_object(writer);
	for (int phase = 0; phase < MEDIA_PHASES; phase++) {
		snprintf(name, sizeof(name), "%s_bytes", names_text(&media_phase_names, phase));
		render_whole(writer, name, memory->phase_bytes[phase]);
	}
	writer_end_object(writer);
}

static void memory_fields(struct writer *writer, const struct memory_estimate *memory)
{
#define X(term) render_whole(writer, #term "_bytes", memory->term##_bytes);
	MEMORY_TERMS(X)
#undef X
	render_whole(writer, "allocated_bytes", memory->allocated_bytes);
	render_whole(writer, "reserved_bytes", memory->reserved_bytes);
	render_whole(writer, "total_bytes", memory->device_bytes);
	render_whole(writer, "low_bytes", memory->low_bytes);
	render_whole(writer, "high_bytes", memory->high_bytes);
	render_whole(writer, "host_bytes", memory->host_bytes);
	phase_fields(writer, memory);
}

void render_memory(struct writer *writer, const struct memory_estimate *memory)
{
	writer_begin_object(writer);
	memory_fields(writer, memory);
	writer_end_object(writer);
}

void render_memory_on(struct writer *writer, const struct plan *plan)
{
	writer_begin_object(writer);
	memory_fields(writer, &plan->memory);
	render_whole(writer, "usable_bytes", plan->usable_bytes);
	render_whole(writer, "headroom_bytes", plan->headroom_bytes);
	writer_end_object(writer);
}

static void training_layout(struct writer *writer, const struct layout *layout)
{
	render_text(writer, "sharding", names_text(&sharding_names, (int)layout->sharding));
	render_integer(writer, "micro_batch", layout->micro_batch);
	render_integer(writer, "accumulation", layout->accumulation);
	render_text(writer, "recompute", names_text(&recompute_names, (int)layout->recompute));
	render_text(writer, "offload", names_text(&offload_names, (int)layout->offload));
}

static void serving_layout(struct writer *writer, const struct layout *layout,
			   const struct plan *plan, bool has_cache)
{
	if (has_cache)
		render_text(writer, "kv_format", names_text(&format_names, (int)layout->kv_format));
	render_integer(writer, "replicas", layout->replicas);
	render_number(writer, "sequences_per_replica", layout->sequences, 3);
	if (!plan)
		return;
	render_whole(writer, "kv_tokens_capacity", plan->kv_tokens_capacity);
	render_number(writer, "max_concurrency", plan->max_concurrency, 1);
}

static void pipeline_layout(struct writer *writer, const struct layout *layout)
{
	int guidance = layout->guidance_parallel > 1 ? layout->guidance_parallel : 1;

	render_integer(writer, "guidance_parallel", guidance);
	render_text(writer, "sharding", names_text(&sharding_names, (int)layout->sharding));
	render_integer(writer, "replicas", layout->replicas);
}

void render_layout(struct writer *writer, const struct workload *workload,
		   const struct layout *layout, const struct plan *plan)
{
	writer_begin_object(writer);
	render_integer(writer, "gpus", layout->gpus_per_node);
	render_integer(writer, "nodes", layout->nodes);
	render_integer(writer, "tensor_parallel", layout->tensor_parallel);
	render_integer(writer, "pipeline_parallel", layout->pipeline_parallel);
	render_integer(writer, "data_parallel", layout->data_parallel);
	render_integer(writer, "context_parallel", layout->context_parallel);
	render_integer(writer, "expert_parallel", layout->expert_parallel);
	render_flag(writer, "sequence_parallel", layout->sequence_parallel);
	if (plan)
		render_integer(writer, "idle_gpus", plan->idle_gpus);
	writer_key(writer, "weight_format");
	if (layout->weight_format == FORMAT_AUTO) /* full training: the precision decides */
		writer_null(writer);
	else
		writer_string(writer, names_text(&format_names, (int)layout->weight_format));
	if (workload->task == TASK_INFERENCE && workload->architecture->media)
		pipeline_layout(writer, layout);
	else if (workload->task == TASK_INFERENCE)
		serving_layout(writer, layout, plan, !workload_only_reads(workload));
	else
		training_layout(writer, layout);
	writer_end_object(writer);
}

static void render_phase(struct writer *writer, const char *key, const struct speed_phase *phase)
{
	writer_key(writer, key);
	writer_begin_object(writer);
	render_number(writer, "seconds", phase->seconds, 6);
	render_number(writer, "compute_seconds", phase->compute_seconds, 6);
	render_number(writer, "memory_seconds", phase->memory_seconds, 6);
	render_number(writer, "communication_seconds", phase->communication_seconds, 6);
	render_number(writer, "overhead_seconds", phase->overhead_seconds, 6);
	render_text(writer, "bottleneck", names_text(&bottleneck_names, (int)phase->bottleneck));
	writer_end_object(writer);
}

/* Seconds of sound that all copies get through in one, and what one request takes for each of its
 * own: under 1 it keeps up with the speaker. */
static void render_sound(struct writer *writer, const struct workload *workload,
			 const struct speed_estimate *speed)
{
	double seconds = workload_sound_seconds(workload);

	if (speed->tower_seconds > 0)
		render_number(writer, "tower_seconds", speed->tower_seconds, 6);
	if (!(seconds > 0))
		return;
	render_number(writer, "audio_seconds_per_second", speed->requests_per_second * seconds, 3);
	render_number(writer, "real_time_factor", speed_request_seconds(workload, speed) / seconds,
		      5);
}

/* Of a batch on one copy of a pipeline: from the prompts to the items, and its parts. */
static void render_pipeline(struct writer *writer, const struct workload *workload,
			    const struct speed_estimate *speed)
{
	/* Promised of every model: a pipeline's items are its tokens. */
	render_number(writer, "tokens_per_second", speed->tokens_per_second, 6);
	render_number(writer, "items_per_hour", speed->items_per_second * SECONDS_PER_HOUR, 3);
	render_number(writer, "utilisation", speed->mfu, 4);
	render_phase(writer, "step", &speed->step);
	if (workload->task != TASK_INFERENCE)
		return;
	render_number(writer, "item_seconds", speed->batch_seconds, 6);
	for (int phase = 0; phase < MEDIA_PHASES; phase++)
		render_phase(writer, names_text(&media_phase_names, phase), &speed->media[phase]);
}

static void render_tokens(struct writer *writer, const struct workload *workload,
			  const struct speed_estimate *speed)
{
	render_number(writer, "tokens_per_second", speed->tokens_per_second, 2);
	if (workload->task == TASK_INFERENCE) {
		render_number(writer, "input_tokens_per_second", speed->input_tokens_per_second, 2);
		render_number(writer, "requests_per_second", speed->requests_per_second, 4);
		render_number(writer, "ttft_seconds", speed->ttft_seconds, 6);
		render_phase(writer, "prefill", &speed->prefill);
		if (!workload_only_reads(workload)) {
			render_number(writer, "tpot_seconds", speed->tpot_seconds, 6);
			render_phase(writer, "decode", &speed->decode);
		}
		render_sound(writer, workload, speed);
	} else {
		render_number(writer, "utilisation", speed->mfu, 4);
		render_whole(writer, "tokens_per_step", speed->tokens_per_step);
		render_phase(writer, "step", &speed->step);
	}
}

void render_speed(struct writer *writer, const struct workload *workload,
		  const struct speed_estimate *speed)
{
	writer_begin_object(writer);
	render_text(writer, "bottleneck", names_text(&bottleneck_names, (int)speed->bottleneck));
	if (workload->architecture->media)
		render_pipeline(writer, workload, speed);
	else
		render_tokens(writer, workload, speed);
	render_number(writer, "low_factor", speed->low_factor, 3);
	render_number(writer, "high_factor", speed->high_factor, 3);
	render_flag(writer, "link_is_assumed", speed->link_is_assumed);
	writer_end_object(writer);
}

static void render_assumed(struct writer *writer, unsigned assumed)
{
	static const struct {
		unsigned bit;
		const char *name;
	} terms[] = {
		{COST_ASSUMED_GRANULARITY, "billing_granularity"},
		{COST_ASSUMED_MINIMUM, "minimum_charge"},
		{COST_ASSUMED_VOLUME_PRICE, "volume_price"},
		{COST_ASSUMED_EGRESS_PRICE, "egress_price"},
		{COST_ASSUMED_INTERRUPTIONS, "interruptions"},
		{COST_ASSUMED_SETUP, "setup_time"},
	};
	size_t i;

	writer_begin_array(writer);
	for (i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (assumed & terms[i].bit)
			writer_string(writer, terms[i].name);
	writer_end_array(writer);
}

/* Those without a number are as each provider publishes them. */
void render_assumptions(struct writer *writer, const struct cost_assumptions *assumptions)
{
	writer_begin_object(writer);
	for (int id = 0; id < ASSUMPTIONS; id++) {
		double value = cost_assumption(assumptions, (enum cost_assumption_id)id);

		writer_key(writer, cost_assumption_fields[id].name);
		if (isnan(value))
			writer_null(writer);
		else
			writer_number(writer, value, 6);
	}
	writer_key(writer, "defaults");
	writer_begin_array(writer);
	for (int id = 0; id < ASSUMPTIONS; id++)
		if (!(assumptions->given >> id & 1u))
			writer_string(writer, cost_assumption_fields[id].name);
	writer_end_array(writer);
	writer_end_object(writer);
}

void render_cost(struct writer *writer, const struct cost *cost)
{
	writer_begin_object(writer);
	render_text(writer, "basis", names_text(&cost_basis_names, (int)cost->basis));
	render_micros(writer, "total_usd", cost->total_micros);
	render_micros(writer, "compute_usd", cost->compute_micros);
	render_micros(writer, "storage_usd", cost->storage_micros);
	render_micros(writer, "stopped_storage_usd", cost->stopped_storage_micros);
	render_micros(writer, "egress_usd", cost->egress_micros);
	render_micros(writer, "interruption_usd", cost->interruption_micros);
	render_micros(writer, "usd_per_hour", cost->usd_per_hour_micros);
	render_micros(writer, "usd_per_million_tokens", cost->per_million_tokens_micros);
	writer_key(writer, "unit");
	writer_string(writer, names_text(&cost_unit_names, (int)cost->unit));
	render_micros(writer, "usd_per_unit", cost->per_unit_micros);
	render_micros(writer, "usd_per_million_input_tokens", cost->per_million_input_micros);
	render_micros(writer, "usd_per_million_output_tokens", cost->per_million_output_micros);
	render_known(writer, "billed_seconds", cost->billed_seconds, 0);
	render_known(writer, "start_seconds", cost->start_seconds, 0);
	render_number(writer, "sessions", cost->sessions, 2);
	render_text(writer, "between_sessions",
		    names_text(&cost_between_names, (int)cost->between));
	render_known(writer, "stopped_seconds", cost->stopped_seconds, 0);
	render_known(writer, "interruptions_per_hour", cost->interruptions_per_hour, 6);
	render_known(writer, "checkpoint_interval_seconds", cost->checkpoint_interval_seconds, 0);
	writer_key(writer, "assumed");
	render_assumed(writer, cost->assumed);
	writer_end_object(writer);
}
