/*
 * What a workload and a plan bring to their cost, whatever the offer: bytes to move and to keep,
 * how long the work runs, in how many sessions. See cost.h.
 */
#include "core/cost.h"

#include <math.h>

/* bf16 weights, fp32 master and Adam's two states (facts/memory-notes.md 1). */
#define CHECKPOINT_BYTES_PER_TRAINED 14.0
#define RESULT_BYTES_PER_TRAINED 2.0
/* A generated token as text on the wire. */
#define BYTES_PER_OUTPUT_TOKEN 6.0
#define DAYS_PER_MONTH (HOURS_PER_MONTH / 24)

static const char *const unit_text[COST_UNITS] = {
	[COST_MILLION_TOKENS] = "million_tokens",     [COST_THOUSAND_IMAGES] = "thousand_images",
	[COST_VIDEO_MINUTE] = "video_minute",	      [COST_AUDIO_HOUR] = "audio_hour",
	[COST_THOUSAND_SAMPLES] = "thousand_samples",
};
const struct names cost_unit_names = {unit_text, COST_UNITS};

const char *cost_unit_words(enum cost_unit unit)
{
	static const char *const words[COST_UNITS] = {
		[COST_MILLION_TOKENS] = " a million tokens",
		[COST_THOUSAND_IMAGES] = " a thousand images",
		[COST_VIDEO_MINUTE] = " a minute of video",
		[COST_AUDIO_HOUR] = " an hour of sound",
		[COST_THOUSAND_SAMPLES] = " a thousand samples",
	};

	return words[unit];
}

/* Tokens by which inference is counted, of one request: put out, or read where nothing is. */
static double request_tokens(const struct workload *workload)
{
	return workload->passes *
	       (workload->output_tokens > 0 ? (double)workload->output_tokens : workload->prompt);
}

double cost_unit_tokens(const struct workload *workload, enum cost_unit *unit)
{
	const struct media *media = workload->architecture->media;
	struct media_size size;

	if (workload_sound_seconds(workload) > 0) {
		*unit = COST_AUDIO_HOUR;
		return SECONDS_PER_HOUR / workload->seconds * request_tokens(workload);
	}
	*unit = COST_MILLION_TOKENS;
	if (!media)
		return 1e6;
	*unit = COST_THOUSAND_SAMPLES;
	if (workload->task != TASK_INFERENCE)
		return 1000;
	if (media->sample_rate > 0) {
		*unit = COST_AUDIO_HOUR;
		return SECONDS_PER_HOUR / fmax(1e-6, workload->seconds);
	}
	*unit = COST_VIDEO_MINUTE;
	workload_media_size(workload, &size);
	if (size.frames > 1 && workload->fps > 0)
		return 60 * workload->fps / size.frames;
	*unit = COST_THOUSAND_IMAGES;
	return 1000;
}

/* Of one item on the wire: PNG keeps about half of a picture's bytes, video and sound a fiftieth.
 */
static double item_bytes(const struct workload *workload)
{
	const struct media *media = workload->architecture->media;
	struct media_size size;
	double pixels;

	if (media->sample_rate > 0)
		return workload->seconds * media->sample_rate * 4 / 50;
	workload_media_size(workload, &size);
	pixels = size.width * size.height * 3;
	return size.frames > 1 ? pixels * size.frames / 50 : pixels / 2;
}

/* Bytes of the data set behind one token: read once an epoch. */
static double read_bytes_per_token(const struct workload *workload)
{
	double epochs = workload->epochs > 0 ? workload->epochs : 1;

	if (workload->bytes_per_token > 0)
		return workload->bytes_per_token;
	if (workload->dataset_gb > 0 && workload->tokens > 0)
		return workload->dataset_gb * GB * epochs / workload->tokens;
	return 0;
}

/* What a model's files hold when nobody quantised them. */
static enum format published_in(const struct architecture *architecture)
{
	return architecture->native_format == FORMAT_AUTO ? FORMAT_BF16
							  : architecture->native_format;
}

/* Packed integers and GGUF come as files of their own; the rest is made while loading. */
static double spared_gb(const struct cost_work *work, enum format format)
{
	if (!format_is_gguf(format) && !format_is_packed_integer(format))
		return 0;
	return fmax(0, work->weights_gb - work->format_gb[format]);
}

void cost_work_prepare(const struct workload *workload, const struct cost_assumptions *assumptions,
		       struct cost_work *out)
{
	const struct architecture *architecture = workload->architecture;
	double epochs = workload->epochs > 0 ? workload->epochs : 1;
	struct memory_basis basis;

	memory_prepare(workload, &basis);
	*out = (struct cost_work){.workload = workload,
				  .assumptions =
					  assumptions ? *assumptions : cost_assumptions_default};
	cost_defaults_prepare(&out->assumptions, &out->defaults);
	out->weights_gb = architecture_weight_bytes(architecture, published_in(architecture)) / GB;
	out->stored_gb = out->weights_gb;
	if (workload->task == TASK_INFERENCE) {
		for (int format = FORMAT_AUTO + 1; format < FORMATS; format++)
			out->format_gb[format] = basis.weight_bytes[format] / GB;
		return;
	}
	/* Pre-training starts from nothing. */
	if (workload->task == TASK_PRETRAIN)
		out->weights_gb = 0;
	out->data_gb = workload->dataset_gb > 0
			       ? workload->dataset_gb
			       : workload->tokens / epochs * workload->bytes_per_token / GB;
	out->checkpoint_gb =
		workload->checkpoint_gb > 0
			? workload->checkpoint_gb
			: basis.trainable_parameters * CHECKPOINT_BYTES_PER_TRAINED / GB;
	out->result_gb = basis.trainable_parameters * RESULT_BYTES_PER_TRAINED / GB;
	out->stored_gb = out->weights_gb + out->data_gb +
			 out->assumptions.checkpoints_kept * out->checkpoint_gb;
	out->read_bytes_per_token = read_bytes_per_token(workload);
}

bool cost_throttle(const struct cost_work *work, struct plan *plan)
{
	double rate = work->assumptions.storage_read_gb_per_second * GB * plan->layout.nodes;
	struct speed_estimate *speed = &plan->speed;
	double share;

	if (work->workload->task == TASK_INFERENCE ||
	    !(speed->tokens_per_second * work->read_bytes_per_token > rate))
		return false;
	share = rate / work->read_bytes_per_token / speed->tokens_per_second;
	speed->tokens_per_second *= share;
	speed->mfu *= share;
	speed->step.seconds /= share;
	speed->step.bottleneck = speed->bottleneck = BOTTLENECK_DATA_LOADING;
	return true;
}

/* Sessions of a service or a run that is up so many hours a day; one where it is up always. */
static double sessions_of_days(const struct workload *workload, double run_seconds)
{
	double day = workload->hours_per_day * SECONDS_PER_HOUR;

	return workload->hours_per_day < 24 ? ceil(run_seconds / day) : 1;
}

static double requests_rate(const struct workload *workload, const struct plan *plan)
{
	double saturated = plan->speed.requests_per_second;

	/* A service is paid for at the load that comes, not at the load that it could take. */
	if (workload->requests_per_second > 0 && workload->requests_per_second < saturated)
		return workload->requests_per_second;
	return saturated;
}

/* Of the time that a full replica spends on one request, the part that its prompt takes. */
static double input_share(const struct workload *workload, const struct plan *plan)
{
	const struct speed_estimate *speed = &plan->speed;
	double reading = speed->prefill.seconds * plan->layout.sequences;
	double writing = speed->decode.seconds * (double)workload->output_tokens;

	return reading + writing > 0 ? reading / (reading + writing) : 1;
}

static void job_of_inference(const struct workload *workload, const struct plan *plan,
			     struct cost_job *job)
{
	double rate = requests_rate(workload, plan);
	bool has_output = workload->output_tokens > 0;
	bool is_pipeline = workload->architecture->media != NULL;
	double tokens = request_tokens(workload);

	/* Items count as requests and as tokens. */
	if (is_pipeline)
		tokens = 1;

	job->requests_per_second = rate;
	job->tokens_per_second = rate * tokens;
	job->input_share = has_output ? input_share(workload, plan) : 1;
	if (workload->requests > 0) {
		job->basis = COST_RUN;
		job->run_seconds = workload->requests / rate;
		job->sessions = sessions_of_days(workload, job->run_seconds);
	} else if (workload->mode == SERVING_INTERACTIVE) {
		job->basis = COST_MONTH;
		job->run_seconds = DAYS_PER_MONTH * workload->hours_per_day * SECONDS_PER_HOUR;
		job->sessions = workload->hours_per_day < 24 ? DAYS_PER_MONTH : 1;
	} else {
		job->basis = COST_UNIT;
	}
	job->egress_gb =
		has_output ? job->run_seconds * job->tokens_per_second * BYTES_PER_OUTPUT_TOKEN / GB
			   : 0;
	if (is_pipeline)
		job->egress_gb = job->run_seconds * rate * item_bytes(workload) / GB;
}

bool cost_job_prepare(const struct cost_work *work, const struct plan *plan, struct cost_job *out)
{
	const struct workload *workload = work->workload;

	*out = (struct cost_job){.work = work,
				 .nodes = plan->layout.nodes,
				 .gpus = plan->layout.nodes * plan->layout.gpus_per_node,
				 .sessions = 1};
	out->unit_tokens = cost_unit_tokens(workload, &out->unit);
	if (workload->task == TASK_INFERENCE) {
		job_of_inference(workload, plan, out);
		out->spared_gb = spared_gb(work, plan->layout.weight_format);
	} else {
		out->tokens_per_second = plan->speed.tokens_per_second;
		out->basis = workload->tokens > 0 ? COST_RUN : COST_UNIT;
		if (out->basis == COST_RUN) {
			out->run_seconds = workload->tokens / out->tokens_per_second;
			out->sessions = fmax((double)workload->sessions,
					     sessions_of_days(workload, out->run_seconds));
			out->egress_gb = work->result_gb + work->assumptions.checkpoints_exported *
								   work->checkpoint_gb;
		}
	}
	return out->tokens_per_second > 0 && isfinite(out->run_seconds);
}
