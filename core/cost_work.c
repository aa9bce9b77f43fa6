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
	double tokens = (double)(has_output ? workload->output_tokens : workload->prompt_tokens);

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
}

bool cost_job_prepare(const struct cost_work *work, const struct plan *plan, struct cost_job *out)
{
	const struct workload *workload = work->workload;

	*out = (struct cost_job){.work = work,
				 .nodes = plan->layout.nodes,
				 .gpus = plan->layout.nodes * plan->layout.gpus_per_node,
				 .sessions = 1};
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
