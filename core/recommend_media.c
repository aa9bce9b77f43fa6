/* Reasons and near misses of pipelines: items, steps and phases in place of tokens. */
#include "core/recommend_notes.h"
#include "core/recommend_parts.h"

#include <math.h>
#include <stdio.h>

/* "an image", "images" */
static const char *item_text(const struct workload *workload, bool is_many)
{
	const struct media *media = workload->architecture->media;

	if (media->sample_rate > 0)
		return is_many ? "pieces of sound" : "a piece of sound";
	if (workload->frames > 1)
		return is_many ? "videos" : "a video";
	return is_many ? "images" : "an image";
}

static void seconds_text(double seconds, char out[DURATION_TEXT])
{
	if (seconds < 120)
		snprintf(out, DURATION_TEXT, seconds < 10 ? "%.2f s" : "%.1f s", seconds);
	else
		duration_text(seconds, out);
}

static void reason_items(const struct workload *workload, const struct plan *plan,
			 struct arena *arena, struct recommendation *out)
{
	const struct speed_estimate *speed = &plan->speed;
	char took[DURATION_TEXT], encode[DURATION_TEXT], denoise[DURATION_TEXT],
		decode[DURATION_TEXT];

	seconds_text(speed->batch_seconds, took);
	seconds_text(speed->media[MEDIA_ENCODE].seconds, encode);
	seconds_text(speed->media[MEDIA_DENOISE].seconds, denoise);
	seconds_text(speed->media[MEDIA_DECODE].seconds, decode);
	note_add(out->reasons, &out->reasons_count, "makes",
		 arena_printf(arena,
			      "%.4g %s an hour over %d %s; %s takes %s: %s to encode, %s for %lld "
			      "steps, %s to decode.",
			      speed->items_per_second * SECONDS_PER_HOUR, item_text(workload, true),
			      plan->layout.replicas, plan->layout.replicas == 1 ? "copy" : "copies",
			      workload->batch > 1 ? "a batch" : item_text(workload, false), took,
			      encode, denoise, (long long)workload->steps, decode));
}

static void reason_sharing(const struct plan *plan, struct arena *arena, struct recommendation *out)
{
	const struct layout *layout = &plan->layout;
	const struct speed_phase *step = &plan->speed.step;

	if (layout->guidance_parallel > 1)
		note_add(out->reasons, &out->reasons_count, "guidance_parallel",
			 arena_printf(
				 arena,
				 "%d GPUs share the passes of guidance, with next to nothing to "
				 "tell each other.",
				 layout->guidance_parallel));
	if (layout->context_parallel > 1)
		note_add(out->reasons, &out->reasons_count, "sequence_parallel",
			 arena_printf(arena,
				      "%d GPUs share the sequence of every pass, of which their "
				      "links take %.0f %%%s.",
				      layout->context_parallel,
				      100 * step->communication_seconds / step->seconds,
				      layout_shards_weights(layout)
					      ? "; each keeps a part of the weights"
					      : ""));
}

/* What nobody asked for and the figures rest on. */
static void reason_tiling(const struct workload *workload, struct arena *arena,
			  struct recommendation *out)
{
	bool is_tiled = workload->vae_tiling && !workload_has(workload, WORKLOAD_vae_tiling);

	if (is_tiled)
		note_add(out->reasons, &out->reasons_count, "vae_tiling",
			 arena_printf(arena,
				      "The VAE works tile by tile%s, as in the example that the "
				      "pipeline is published with: vae_tiling false decodes whole "
				      "frames.",
				      workload->vae_slicing ? " and item by item" : ""));
}

void recommend_media_speed(const struct workload *workload, const struct candidate *candidate,
			   struct arena *arena, struct recommendation *out)
{
	const struct plan *plan = candidate->plan;
	const struct speed_estimate *speed = &plan->speed;
	char took[DURATION_TEXT];

	if (workload->task == TASK_INFERENCE) {
		reason_items(workload, plan, arena, out);
		reason_sharing(plan, arena, out);
		reason_tiling(workload, arena, out);
		if (workload->items_per_hour > 0)
			note_add(out->reasons, &out->reasons_count, "load",
				 arena_printf(
					 arena,
					 "At %.4g an hour it runs at %.0f %% of what it can do: "
					 "sized for at most %.0f %%, since queues grow without "
					 "end near 100 %%.",
					 workload->items_per_hour, 100 * plan->utilisation,
					 100 * PLAN_TARGET_LOAD));
		return;
	}
	duration_text(candidate->cost.run_seconds, took);
	if (candidate->cost.basis == COST_RUN)
		note_add(out->reasons, &out->reasons_count, "runs",
			 arena_printf(arena,
				      "%.3g samples a second, so that %.0f samples take %s of "
				      "work.",
				      speed->items_per_second, workload->tokens, took));
	else
		note_add(out->reasons, &out->reasons_count, "runs",
			 arena_printf(arena, "%.3g samples a second.", speed->items_per_second));
}

const struct speed_phase *recommend_media_phase(const struct workload *workload,
						const struct speed_estimate *speed,
						const char **what)
{
	const struct speed_phase *decode = &speed->media[MEDIA_DECODE];
	const struct speed_phase *encode = &speed->media[MEDIA_ENCODE];
	double denoise = speed->media[MEDIA_DENOISE].seconds;

	*what = workload->task == TASK_INFERENCE ? "A step of denoising" : "A training step";
	if (workload->task != TASK_INFERENCE || denoise >= fmax(decode->seconds, encode->seconds))
		return &speed->step;
	*what = decode->seconds >= encode->seconds ? "Decoding, which takes longest,"
						   : "Encoding, which takes longest,";
	return decode->seconds >= encode->seconds ? decode : encode;
}

const char *recommend_media_miss(struct arena *arena, const char *name,
				 const struct workload *workload, const struct plan *slow,
				 int max_nodes)
{
	if (slow->layout.nodes > max_nodes || workload->max_item_seconds <= 0 ||
	    slow->speed.batch_seconds <= workload->max_item_seconds)
		return arena_printf(arena,
				    "%s makes %.4g %s an hour: %.4g at %.0f %% load need more than "
				    "the %d machine%s allowed",
				    name, slow->speed.items_per_second * SECONDS_PER_HOUR,
				    item_text(workload, true), workload->items_per_hour,
				    100 * PLAN_TARGET_LOAD, max_nodes, max_nodes == 1 ? "" : "s");
	return arena_printf(arena, "%s takes %.4g s for %s, the limit is %.4g s", name,
			    slow->speed.batch_seconds, item_text(workload, false),
			    workload->max_item_seconds);
}
