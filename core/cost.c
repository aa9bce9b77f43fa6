/*
 * Cost: billed time, storage, egress and expected interruptions of one plan on one offer: see
 * cost.h. What a provider does not publish is resolved in cost_terms.c.
 */
#include "core/cost.h"

#include <math.h>

static const char *const basis_text[COST_BASES] = {
	[COST_RUN] = "run",
	[COST_MONTH] = "month",
	[COST_UNIT] = "unit",
};
const struct names cost_basis_names = {basis_text, COST_BASES};

/* Weights and data arrive at 2 Gbit/s a node, which mirrors and object stores sustain. */
#define DOWNLOAD_GB_PER_SECOND 0.25
/* Checkpoints go to a network volume: 1 GB/s a node. */
#define CHECKPOINT_GB_PER_SECOND 1.0
/* Stopping the step and flushing, whatever the size. */
#define CHECKPOINT_STALL_SECONDS 2.0
/* Kept while running: the last checkpoint and the one being written. */
#define CHECKPOINTS_KEPT 2
/* bf16 weights, fp32 master and Adam's two states (facts/memory-notes.md 1). */
#define CHECKPOINT_BYTES_PER_TRAINED 14.0
#define RESULT_BYTES_PER_TRAINED 2.0
/* A generated token as text on the wire. */
#define BYTES_PER_OUTPUT_TOKEN 6.0
#define TOKENS_PER_UNIT 1e6

static bool micros_from_double(double micros, int64_t *out)
{
	if (!(micros >= 0 && micros < 9.2e18))
		return false;
	*out = llround(micros);
	return true;
}

void cost_work_prepare(const struct workload *workload, struct cost_work *out)
{
	const struct architecture *architecture = workload->architecture;
	struct memory_basis basis;
	double weights, data;

	memory_prepare(workload, &basis);
	*out = (struct cost_work){.workload = workload};
	weights = architecture_weight_bytes(architecture, FORMAT_BF16) / GB;
	if (workload->task == TASK_INFERENCE) {
		out->download_gb = weights;
		out->stored_gb = weights;
		return;
	}
	data = workload->dataset_gb > 0 ? workload->dataset_gb
					: workload->tokens * workload->bytes_per_token / GB;
	/* Pre-training starts from nothing. */
	out->download_gb = (workload->task == TASK_PRETRAIN ? 0 : weights) + data;
	out->checkpoint_gb =
		workload->checkpoint_gb > 0
			? workload->checkpoint_gb
			: basis.trainable_parameters * CHECKPOINT_BYTES_PER_TRAINED / GB;
	out->result_gb = basis.trainable_parameters * RESULT_BYTES_PER_TRAINED / GB;
	out->stored_gb = out->download_gb + CHECKPOINTS_KEPT * out->checkpoint_gb;
}

static double requests_rate(const struct workload *workload, const struct plan *plan)
{
	double saturated = plan->speed.requests_per_second;

	/* A service is paid for at the load that comes, not at the load that it could take. */
	if (workload->requests_per_second > 0 && workload->requests_per_second < saturated)
		return workload->requests_per_second;
	return saturated;
}

static void job_of_inference(const struct workload *workload, const struct plan *plan,
			     struct cost_job *job)
{
	double rate = requests_rate(workload, plan);
	bool has_output = workload->output_tokens > 0;
	double tokens = (double)(has_output ? workload->output_tokens : workload->prompt_tokens);

	job->tokens_per_second = rate * tokens;
	if (workload->requests > 0) {
		job->basis = COST_RUN;
		job->run_seconds = workload->requests / rate;
	} else if (workload->mode == SERVING_INTERACTIVE) {
		job->basis = COST_MONTH;
		job->run_seconds = HOURS_PER_MONTH * SECONDS_PER_HOUR;
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

	*out = (struct cost_job){.work = work, .nodes = plan->layout.nodes, .sessions = 1};
	if (workload->task == TASK_INFERENCE) {
		job_of_inference(workload, plan, out);
	} else {
		out->tokens_per_second = plan->speed.tokens_per_second;
		out->basis = workload->tokens > 0 ? COST_RUN : COST_UNIT;
		if (out->basis == COST_RUN) {
			out->run_seconds = workload->tokens / out->tokens_per_second;
			out->sessions = (int)workload->sessions;
			out->egress_gb = work->result_gb;
		}
	}
	return out->tokens_per_second > 0 && isfinite(out->run_seconds);
}

/* Seconds until work starts, on a fresh machine or on one that finds its volume again. */
static double start_seconds(const struct cost_job *job, const struct cost_terms *terms,
			    bool has_data)
{
	return terms->setup_seconds +
	       (has_data ? 0 : job->work->download_gb / DOWNLOAD_GB_PER_SECOND);
}

/*
 * Share of time that interruptions cost: checkpoints, work since the last one, and starting again.
 * The interval is Young/Daly's, sqrt(2 d M) - d, unless the caller fixed it.
 */
static double interruption_share(const struct cost_job *job, const struct cost_terms *terms,
				 double interruptions_per_hour, double *interval)
{
	const struct workload *workload = job->work->workload;
	double between = SECONDS_PER_HOUR / (interruptions_per_hour * job->nodes);
	double restart = start_seconds(job, terms, terms->keeps_data);
	double rate = CHECKPOINT_GB_PER_SECOND * job->nodes;
	double stall;

	*interval = 0;
	if (workload->task == TASK_INFERENCE)
		return restart / between;
	stall = CHECKPOINT_STALL_SECONDS + job->work->checkpoint_gb / rate;
	restart += job->work->checkpoint_gb / rate;
	*interval = workload->checkpoint_interval_seconds;
	if (!(*interval > 0))
		*interval = fmax(sqrt(2 * stall * between) - stall, stall);
	return stall / *interval + *interval / (2 * between) + restart / between;
}

static double round_up(double seconds, const struct cost_terms *terms)
{
	double billed = fmax(seconds, terms->minimum_seconds);

	if (terms->granularity_seconds > 0)
		billed = ceil(billed / terms->granularity_seconds) * terms->granularity_seconds;
	return billed;
}

/* Billed seconds of a node over all sessions, for `run_seconds` of work; `wall` is what passes. */
static double billed_seconds(const struct cost_job *job, const struct cost_terms *terms,
			     double run_seconds, double *wall)
{
	double each = run_seconds / job->sessions;
	double first = start_seconds(job, terms, false) + each;
	double later = start_seconds(job, terms, terms->keeps_data) + each;

	*wall = first + (job->sessions - 1) * later;
	return round_up(first, terms) + (job->sessions - 1) * round_up(later, terms);
}

static bool add_all(struct cost *cost)
{
	return micros_add(cost->compute_micros, cost->storage_micros, &cost->total_micros) &&
	       micros_add(cost->total_micros, cost->egress_micros, &cost->total_micros) &&
	       micros_add(cost->total_micros, cost->interruption_micros, &cost->total_micros);
}

/* Cost of a million tokens while it runs: no start, no rounding. */
static bool cost_unit(const struct cost_job *job, double share, struct cost *out)
{
	double hours = TOKENS_PER_UNIT / job->tokens_per_second / SECONDS_PER_HOUR;

	out->wall_seconds = hours * SECONDS_PER_HOUR * (1 + share);
	out->billed_seconds = out->wall_seconds;
	return micros_from_double((double)out->usd_per_hour_micros * hours, &out->compute_micros) &&
	       micros_from_double((double)out->usd_per_hour_micros * hours * share,
				  &out->interruption_micros) &&
	       add_all(out);
}

static bool cost_time(const struct cost_job *job, const struct cost_terms *terms, double share,
		      struct cost *out)
{
	double hourly = (double)out->usd_per_hour_micros;
	double billed, without, months, egress;

	if (job->basis == COST_MONTH) {
		/* A month is a month, however often it is interrupted. */
		without = job->run_seconds;
		out->wall_seconds = job->run_seconds;
		billed = job->run_seconds * (1 + share);
	} else {
		without = billed_seconds(job, terms, job->run_seconds, &out->wall_seconds);
		billed = billed_seconds(job, terms, job->run_seconds * (1 + share),
					&out->wall_seconds);
	}
	out->billed_seconds = billed;
	months = out->wall_seconds / (HOURS_PER_MONTH * SECONDS_PER_HOUR);
	egress = fmax(0, job->egress_gb - terms->free_egress_gb) * terms->egress_usd_per_gb;
	return micros_from_double(hourly * without / SECONDS_PER_HOUR, &out->compute_micros) &&
	       micros_from_double(hourly * (billed - without) / SECONDS_PER_HOUR,
				  &out->interruption_micros) &&
	       micros_from_double(job->work->stored_gb * terms->volume_usd_per_gb_month * months *
					  1e6,
				  &out->storage_micros) &&
	       micros_from_double(egress * 1e6, &out->egress_micros) && add_all(out);
}

/* Which replaced terms this cost rests on. */
static unsigned assumptions(const struct cost_job *job, const struct cost_terms *terms,
			    const struct cost_price *price, const struct cost *cost)
{
	unsigned used = 0;

	if (job->basis == COST_RUN)
		used |= COST_ASSUMED_GRANULARITY | COST_ASSUMED_MINIMUM | COST_ASSUMED_SETUP;
	if (cost->storage_micros > 0)
		used |= COST_ASSUMED_VOLUME_PRICE;
	if (cost->egress_micros > 0)
		used |= COST_ASSUMED_EGRESS_PRICE;
	if (price->kind == PRICE_SPOT)
		used |= COST_ASSUMED_SETUP;
	if (price->kind == PRICE_SPOT && isnan(price->interruptions_per_hour))
		used |= COST_ASSUMED_INTERRUPTIONS;
	return terms->assumed & used;
}

bool cost_of(const struct cost_job *job, const struct cost_terms *terms,
	     const struct cost_price *price, struct cost *out)
{
	double share = 0, tokens;
	bool is_good;

	*out = (struct cost){.basis = job->basis,
			     .nodes = job->nodes,
			     .run_seconds = job->run_seconds,
			     .per_million_tokens_micros = PRICE_UNKNOWN};
	if (price->micros <= 0 ||
	    !micros_multiply(price->micros, job->nodes, &out->usd_per_hour_micros))
		return false;
	if (price->kind == PRICE_SPOT) {
		out->interruptions_per_hour = isnan(price->interruptions_per_hour)
						      ? terms->interruptions_per_hour
						      : price->interruptions_per_hour;
		share = interruption_share(job, terms, out->interruptions_per_hour,
					   &out->checkpoint_interval_seconds);
	}
	is_good = job->basis == COST_UNIT ? cost_unit(job, share, out)
					  : cost_time(job, terms, share, out);
	if (!is_good)
		return false;
	tokens = job->basis == COST_UNIT ? TOKENS_PER_UNIT
					 : job->run_seconds * job->tokens_per_second;
	out->assumed = assumptions(job, terms, price, out);
	return micros_from_double((double)out->total_micros * (TOKENS_PER_UNIT / tokens),
				  &out->per_million_tokens_micros);
}

bool cost_compute(const struct workload *workload, const struct plan *plan,
		  const struct offer *offer, const struct terms *terms, struct cost *out)
{
	struct cost_terms resolved;
	struct cost_work work;
	struct cost_job job;
	struct cost_price price = {
		.kind = offer->price_kind,
		.micros = offer->price_micros,
		.interruptions_per_hour = terms_spot_interruptions_per_hour(
			offer->provider, offer->instance_type, offer->region),
	};

	cost_terms_resolve(terms, &resolved);
	cost_work_prepare(workload, &work);
	return cost_job_prepare(&work, plan, &job) && cost_of(&job, &resolved, &price, out);
}
