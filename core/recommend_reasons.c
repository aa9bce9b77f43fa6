/*
 * Reasons and warnings: why an answer is in its place, as a stable code and a sentence with
 * figures. Warnings about the machine and the rental are in recommend_warnings.c.
 */
#include "core/recommend_parts.h"

#include "core/recommend_notes.h"

#include <math.h>
#include <stdio.h>

void note_add(struct note *notes, int *count, const char *code, const char *text)
{
	if (text && *count < NOTES_MAX)
		notes[(*count)++] = (struct note){code, text};
}

void duration_text(double seconds, char out[DURATION_TEXT])
{
	if (seconds < 120)
		snprintf(out, DURATION_TEXT, "%.0f s", seconds);
	else if (seconds < 2 * SECONDS_PER_HOUR)
		snprintf(out, DURATION_TEXT, "%.0f min", seconds / 60);
	else if (seconds < 72 * SECONDS_PER_HOUR)
		snprintf(out, DURATION_TEXT, "%.1f h", seconds / SECONDS_PER_HOUR);
	else
		snprintf(out, DURATION_TEXT, "%.1f days", seconds / (24 * SECONDS_PER_HOUR));
}

/* "50 million", "1.2 trillion" */
static void count_text(double count, char out[DURATION_TEXT])
{
	if (count >= 1e12)
		snprintf(out, DURATION_TEXT, "%.4g trillion", count / 1e12);
	else if (count >= 1e9)
		snprintf(out, DURATION_TEXT, "%.4g billion", count / 1e9);
	else if (count >= 1e6)
		snprintf(out, DURATION_TEXT, "%.4g million", count / 1e6);
	else
		snprintf(out, DURATION_TEXT, "%.0f", count);
}

struct usd_text usd_text(int64_t micros)
{
	int digits = micros >= 100000 || micros == 0 ? 2 : micros >= 1000 ? 4 : 6;
	int64_t unit = digits == 4 ? 100 : 1;
	struct usd_text out;

	/* No zeros at the end: "0.07" and not "0.0700". */
	for (; digits > 2 && micros / unit % 10 == 0; unit *= 10)
		digits--;
	snprintf(out.text, sizeof(out.text), "%.*f", digits, usd_from_micros(micros));
	return out;
}

/* A code of the API as words: "memory_bandwidth" → "memory bandwidth". */
static void words_text(const char *code, char out[DURATION_TEXT])
{
	snprintf(out, DURATION_TEXT, "%s", code);
	for (char *at = out; *at; at++)
		if (*at == '_')
			*at = ' ';
}

static const char *link_text(enum node_link link)
{
	switch (link) {
	case NODE_LINK_NVSWITCH:
		return "NVLink through a switch";
	case NODE_LINK_NVLINK_MESH:
		return "direct NVLink";
	case NODE_LINK_NVLINK_PAIR:
		return "NVLink bridges in pairs";
	case NODE_LINK_XGMI:
		return "xGMI";
	case NODE_LINK_TORUS:
		return "a torus";
	case NODE_LINK_PCIE_PEER:
		return "PCIe, peer to peer";
	case NODE_LINK_UNKNOWN:
	case NODE_LINK_SINGLE:
	case NODE_LINK_PCIE_HOST:
	case NODE_LINKS:
		break;
	}
	return "PCIe through host memory";
}

const char *note_cluster_link(enum cluster_link link)
{
	switch (link) {
	case CLUSTER_LINK_INFINIBAND:
		return "InfiniBand";
	case CLUSTER_LINK_ROCE:
		return "RoCE";
	case CLUSTER_LINK_EFA:
		return "EFA";
	case CLUSTER_LINK_TCPX:
		return "GPUDirect-TCPX";
	case CLUSTER_LINK_NVL72:
		return "NVLink";
	case CLUSTER_LINK_TCP:
	case CLUSTER_LINK_NONE:
	case CLUSTER_LINKS:
		break;
	}
	return "Ethernet";
}

bool note_gpus_talk(const struct plan *plan)
{
	const struct layout *layout = &plan->layout;

	return layout_gpus_per_replica(layout) > 1 || layout->data_parallel > 1;
}

static void reason_memory(const struct candidate *candidate, struct arena *arena,
			  struct recommendation *out)
{
	const struct plan *plan = candidate->plan;
	const struct memory_estimate *memory = &plan->memory;

	if (plan->fit == FIT_FITS)
		note_add(out->reasons, &out->reasons_count, "fits",
			 arena_printf(
				 arena,
				 "Each GPU needs about %.1f GiB, %.1f GiB at worst, of the %.1f "
				 "GiB that its driver shows: %.1f GiB to spare.",
				 memory->device_bytes / GIB, memory->high_bytes / GIB,
				 plan->usable_bytes / GIB, plan->headroom_bytes / GIB));
	else
		note_add(out->reasons, &out->reasons_count, "tight",
			 arena_printf(
				 arena,
				 "Each GPU needs about %.1f GiB of the %.1f GiB that its driver "
				 "shows, but may need %.1f GiB.",
				 memory->device_bytes / GIB, plan->usable_bytes / GIB,
				 memory->high_bytes / GIB));
}

static void reason_rank(const struct ranking_context *context, const struct candidate *candidate,
			int rank, struct arena *arena, struct recommendation *out)
{
	const struct extremes *extremes = context->extremes;
	bool is_cheapest = candidate->cost.total_micros == extremes->cheapest_micros;
	int64_t hourly = candidate->cost.usd_per_hour_micros;
	double cheapest_total = (double)extremes->cheapest_micros;
	double total = (double)candidate->cost.total_micros;
	bool is_run = candidate->cost.basis == COST_RUN;
	char took[DURATION_TEXT], other[DURATION_TEXT], objective[DURATION_TEXT];

	words_text(names_text(&objective_names, (int)context->search->request->objective),
		   objective);
	if (rank == 0 && context->answers > 1)
		note_add(out->reasons, &out->reasons_count, "best",
			 arena_printf(arena, "The best of %u that hold the workload, by %s.",
				      context->answers, objective));
	if (is_cheapest && context->answers > 1)
		note_add(out->reasons, &out->reasons_count, "cheapest",
			 arena_printf(arena, "Nothing else does it for less than $%s%s.",
				      usd_text(candidate->cost.total_micros).text,
				      candidate->cost.basis == COST_UNIT
					      ? cost_unit_words(candidate->cost.unit)
				      : candidate->cost.basis == COST_MONTH ? " a month"
									    : ""));
	else if (is_run && candidate->seconds < 0.8 * extremes->cheapest_seconds) {
		duration_text(candidate->seconds, took);
		duration_text(extremes->cheapest_seconds, other);
		note_add(out->reasons, &out->reasons_count, "sooner",
			 arena_printf(
				 arena,
				 "Ends after %s, where the cheapest takes %s, for %.0f %% more.",
				 took, other, 100 * (total / cheapest_total - 1)));
	}
	if (is_run && is_cheapest &&
	    (double)hourly > 1.5 * (double)extremes->lowest_hourly_micros) {
		duration_text(candidate->seconds, took);
		note_add(
			out->reasons, &out->reasons_count, "dearer_but_faster",
			arena_printf(arena,
				     "$%s an hour, where others that hold it start at $%s: it ends "
				     "after %s and costs less in all.",
				     usd_text(hourly).text,
				     usd_text(extremes->lowest_hourly_micros).text, took));
	}
}

/* Of the time of a replica at its load, what reading prompts takes. */
static double prompt_share(const struct workload *workload, const struct speed_estimate *speed)
{
	double output = (double)workload->output_tokens;
	double writing = output * speed->decode.seconds;
	double reading = speed->tpot_seconds > speed->decode.seconds
				 ? output * speed->tpot_seconds - writing
				 : speed->prefill.seconds;

	return writing > 0 ? reading / (reading + writing) : 1;
}

static void phase_text(const struct speed_phase *phase, char bound[DURATION_TEXT],
		       char took[DURATION_TEXT])
{
	snprintf(took, DURATION_TEXT, phase->seconds < 1 ? "%.1f ms" : "%.2f s",
		 phase->seconds < 1 ? phase->seconds * 1e3 : phase->seconds);
	words_text(names_text(&bottleneck_names, (int)phase->bottleneck), bound);
}

/* What bounds it, and how near the others are. */
static void reason_bottleneck(const struct search *search, const struct candidate *candidate,
			      struct arena *arena, struct recommendation *out)
{
	const struct speed_estimate *speed = &candidate->plan->speed;
	const struct workload *workload = &search->request->workload;
	bool is_serving = workload->task == TASK_INFERENCE;
	bool is_pipeline = workload->architecture->media != NULL;
	bool is_reading = is_serving && !is_pipeline && prompt_share(workload, speed) > 0.5;
	const struct speed_phase *phase = is_reading   ? &speed->prefill
					  : is_serving ? &speed->decode
						       : &speed->step;
	const char *what = workload_only_reads(workload) ? "Reading an input"
			   : is_reading			 ? "Reading a prompt"
			   : is_serving			 ? "Generating a token"
							 : "A training step";
	char bound[DURATION_TEXT], took[DURATION_TEXT], share[2 * DURATION_TEXT] = "";
	double whole;

	if (is_pipeline)
		phase = recommend_media_phase(workload, speed, &what);
	whole = phase->seconds > 0 ? phase->seconds / 100 : 1;
	phase_text(phase, bound, took);
	if (is_reading && !workload_only_reads(workload))
		snprintf(share, sizeof(share), "which takes %.0f %% of the time, ",
			 100 * prompt_share(workload, speed));
	note_add(out->reasons, &out->reasons_count, "bottleneck",
		 arena_printf(arena,
			      "%s%s%sis bound by %s: of its %s, arithmetic alone would take %.0f "
			      "%%, memory traffic %.0f %%, communication %.0f %%.",
			      what, *share ? ", " : " ", share, bound, took,
			      phase->compute_seconds / whole, phase->memory_seconds / whole,
			      phase->communication_seconds / whole));
	if (is_serving && !is_pipeline && !is_reading &&
	    phase->bottleneck == BOTTLENECK_MEMORY_BANDWIDTH &&
	    phase->compute_seconds < 0.5 * phase->seconds)
		note_add(
			out->reasons, &out->reasons_count, "memory_bound",
			arena_printf(
				arena,
				"The arithmetic units idle %.0f %% of that: faster memory, weights "
				"or cache in fewer bits, or more sequences at once would help.",
				100 - phase->compute_seconds / whole));
}

static void reason_load(const struct workload *workload, const struct plan *plan,
			struct arena *arena, struct recommendation *out)
{
	note_add(out->reasons, &out->reasons_count, "load",
		 arena_printf(arena,
			      "At %.4g request%s a second it runs at %.0f %% of what it can do "
			      "(%.4g): sized for at most %.0f %%, since queues grow without end "
			      "near 100 %%. One waits %.2f s in the mean before it is taken up.",
			      workload->requests_per_second,
			      fabs(workload->requests_per_second - 1) > 0 ? "s" : "",
			      100 * plan->utilisation, plan->most_requests_per_second,
			      100 * PLAN_TARGET_LOAD, plan->wait_seconds));
}

/* Sound by the clock, and what pictures take of the cache and of the time to the first token. */
static void reason_senses(const struct workload *workload, const struct candidate *candidate,
			  struct arena *arena, struct recommendation *out)
{
	const struct speed_estimate *speed = &candidate->plan->speed;
	double seconds = workload_sound_seconds(workload);

	if (seconds > 0)
		note_add(
			out->reasons, &out->reasons_count, "sound",
			arena_printf(arena,
				     "%.4g seconds of sound a second over all copies; a request of "
				     "%.4g s takes %.3g s.",
				     speed->requests_per_second * seconds, seconds,
				     speed_request_seconds(workload, speed)));
	if (workload->media_tokens > 0)
		note_add(out->reasons, &out->reasons_count, "media_tokens",
			 arena_printf(arena,
				      "Of the %.0f tokens that a sequence holds %.0f (%.0f %%) are "
				      "%s: so much of the KV cache; the tower takes %.0f %% of the "
				      "time to the first token.",
				      workload->full_context, workload->media_tokens,
				      100 * workload->media_tokens / workload->full_context,
				      seconds > 0 ? "sound" : "pictures",
				      100 * speed->tower_seconds / speed->ttft_seconds));
}

static void reason_speed(const struct search *search, const struct candidate *candidate,
			 struct arena *arena, struct recommendation *out)
{
	const struct workload *workload = &search->request->workload;
	const struct speed_estimate *speed = &candidate->plan->speed;
	char took[DURATION_TEXT], work[DURATION_TEXT];

	if (workload->architecture->media) {
		recommend_media_speed(workload, candidate, arena, out);
		return;
	}
	if (workload_only_reads(workload))
		note_add(out->reasons, &out->reasons_count, "serves",
			 arena_printf(arena,
				      "%.4g inputs a second, %.0f tokens a second, over %d %s with "
				      "%.0f inputs at once each; one alone takes %.3g s.",
				      speed->requests_per_second, speed->input_tokens_per_second,
				      candidate->plan->layout.replicas,
				      candidate->plan->layout.replicas == 1 ? "copy" : "copies",
				      candidate->plan->layout.sequences, speed->ttft_seconds));
	else if (workload->task == TASK_INFERENCE)
		note_add(
			out->reasons, &out->reasons_count, "serves",
			arena_printf(
				arena,
				"%.*f output tokens a second over %d %s with %.0f sequence%s each: "
				"first token after %.2f s, then %.1f ms a token.",
				speed->tokens_per_second < 10 ? 2 : 0, speed->tokens_per_second,
				candidate->plan->layout.replicas,
				candidate->plan->layout.replicas == 1 ? "copy" : "copies",
				candidate->plan->layout.sequences,
				candidate->plan->layout.sequences > 1 ? "s" : "",
				speed->ttft_seconds, speed->tpot_seconds * 1e3));
	if (workload->task == TASK_INFERENCE) {
		reason_senses(workload, candidate, arena, out);
		if (workload->requests_per_second > 0)
			reason_load(workload, candidate->plan, arena, out);
		return;
	}
	duration_text(candidate->cost.run_seconds, took);
	count_text(workload->tokens, work);
	if (candidate->cost.basis == COST_RUN)
		note_add(out->reasons, &out->reasons_count, "runs",
			 arena_printf(arena,
				      "%.0f tokens a second, so that %s tokens take %s of work.",
				      speed->tokens_per_second, work, took));
	else
		note_add(out->reasons, &out->reasons_count, "runs",
			 arena_printf(arena, "%.0f tokens a second.", speed->tokens_per_second));
}

static void reason_topology(const struct candidate *candidate, struct arena *arena,
			    struct recommendation *out)
{
	const struct shape *shape = candidate->planned->shape;
	const struct layout *layout = &candidate->plan->layout;

	if (!note_gpus_talk(candidate->plan)) {
		if (layout->gpus_per_node == 1 && layout->nodes == 1)
			note_add(
				out->reasons, &out->reasons_count, "one_gpu",
				arena_printf(arena, "One GPU holds it: nothing waits for a link."));
		else if (layout->replicas > 1)
			note_add(out->reasons, &out->reasons_count, "copies",
				 arena_printf(
					 arena,
					 "%d copies of the model, one a GPU, need no link between "
					 "them.",
					 layout->replicas));
		return;
	}
	if (fabric_is_fast(&shape->fabric))
		note_add(
			out->reasons, &out->reasons_count, "fast_links",
			arena_printf(arena,
				     "The GPUs of a node are joined by %s (%.0f GB/s each way%s).",
				     link_text(shape->fabric.node_link),
				     shape->fabric.node_bytes_per_second / GB,
				     shape->fabric.node_link == NODE_LINK_XGMI ? " and peer" : ""));
	if (layout->nodes > 1 && fabric_has_rdma(&shape->fabric))
		note_add(out->reasons, &out->reasons_count, "cluster_fabric",
			 arena_printf(arena, "Nodes are joined by %s (%.0f GB/s a node).",
				      note_cluster_link(shape->fabric.cluster_link),
				      shape->fabric.cluster_bytes_per_second / GB));
}

void recommend_notes(const struct ranking_context *context, const struct candidate *candidate,
		     int rank, struct recommendation *out)
{
	const struct search *search = context->search;
	struct arena *arena = search->arena;

	/* A trial does not look at all that would hold the workload. */
	if (!search->is_trial)
		reason_rank(context, candidate, rank, arena, out);
	reason_memory(candidate, arena, out);
	reason_speed(search, candidate, arena, out);
	reason_bottleneck(search, candidate, arena, out);
	reason_topology(candidate, arena, out);
	recommend_warnings(search, candidate, out);
}
