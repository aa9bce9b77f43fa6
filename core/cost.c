/*
 * Cost: billed time, storage, egress and expected interruptions of one plan on one offer: see
 * cost.h. What the work needs is prepared in cost_work.c, what a provider does not publish in
 * cost_terms.c.
 */
#include "core/cost.h"

#include <math.h>

static const char *const basis_text[COST_BASES] = {
	[COST_RUN] = "run",
	[COST_MONTH] = "month",
	[COST_UNIT] = "unit",
};
static const char *const between_text[BETWEENS] = {
	[BETWEEN_NOTHING] = "nothing",
	[BETWEEN_STOP] = "stop",
	[BETWEEN_VOLUME] = "volume",
	[BETWEEN_DELETE] = "delete",
};
const struct names cost_basis_names = {basis_text, COST_BASES};
const struct names cost_between_names = {between_text, BETWEENS};

#define TOKENS_PER_MILLION 1e6
#define SECONDS_PER_DAY (24 * SECONDS_PER_HOUR)
#define SECONDS_PER_MONTH (HOURS_PER_MONTH * SECONDS_PER_HOUR)

/* As llround() does it, without the call: a thousand offers are costed a request. */
static bool micros_from_double(double micros, int64_t *out)
{
	int64_t whole;

	if (!(micros >= 0 && micros < 9.2e18))
		return false;
	whole = (int64_t)micros;
	*out = whole + (micros - (double)whole >= 0.5);
	return true;
}

/* Seconds until work starts on a machine that has nothing, or that finds what `between` kept. */
static double start_seconds(const struct cost_job *job, const struct cost_terms *terms,
			    enum cost_between between)
{
	const struct cost_assumptions *rates = &job->work->assumptions;
	double weights = job->work->weights_gb - job->spared_gb, download = 0;

	if (between != BETWEEN_STOP)
		download += rates->image_gb;
	if (between == BETWEEN_NOTHING || between == BETWEEN_DELETE)
		download += weights + job->work->data_gb;
	return terms->setup_seconds + download / rates->download_gb_per_second +
	       weights / rates->storage_read_gb_per_second;
}

/* Seconds for a node's share of a checkpoint, which leaves the provider where no volume keeps it.
 */
static double checkpoint_seconds(const struct cost_job *job, enum cost_between between, bool writes)
{
	const struct cost_assumptions *rates = &job->work->assumptions;
	double rate =
		writes ? rates->storage_write_gb_per_second : rates->storage_read_gb_per_second;

	if (between == BETWEEN_DELETE)
		rate = rates->download_gb_per_second;
	return job->work->checkpoint_gb / (rate * job->nodes);
}

static double stall_seconds(const struct cost_job *job, enum cost_between between)
{
	return job->work->assumptions.checkpoint_stall_seconds +
	       checkpoint_seconds(job, between, true);
}

/*
 * How much longer than `seconds` it takes, as a share of them, to get that much done and saved
 * (`saving` is the time for that) when interruptions come at random every `between` seconds on
 * average and each costs a restart besides: M e^(R/M) (e^((t + d)/M) - 1) / t - 1 (J. T. Daly,
 * FGCS 22, 2006), which a restart may be interrupted by too. Where interruptions are rare this is
 * d / t + t / 2M + R / M; where they are about as frequent as restarts take it is far more.
 */
static double time_lost(double seconds, double saving, double restart, double between)
{
	return between / seconds * exp(restart / between) * expm1((seconds + saving) / between) - 1;
}

/*
 * Share of time that interruptions cost: checkpoints, work since the last one, and starting again.
 * The interval is Young/Daly's, sqrt(2 d M) - d, unless the caller fixed it.
 */
static double interruption_share(const struct cost_job *job, const struct cost_terms *terms,
				 struct cost *out)
{
	const struct workload *workload = job->work->workload;
	double between = SECONDS_PER_HOUR / out->interruptions_per_hour;
	enum cost_between kept = terms->keeps_data ? BETWEEN_VOLUME : BETWEEN_DELETE;
	double restart = start_seconds(job, terms, kept) + checkpoint_seconds(job, kept, false);
	double stall, interval;

	if (workload->task == TASK_INFERENCE)
		return restart / between;
	stall = stall_seconds(job, kept);
	interval = workload->checkpoint_interval_seconds;
	if (!(interval > 0))
		interval = fmax(sqrt(2 * stall * between) - stall, fmax(stall, 1));
	/* A run that ends before the first checkpoint is due takes none, and may be lost whole. */
	if (job->basis == COST_RUN && job->run_seconds <= interval)
		return time_lost(job->run_seconds, 0, restart, between);
	out->checkpoint_interval_seconds = interval;
	return time_lost(interval, stall, restart, between);
}

static double round_up(double seconds, const struct cost_terms *terms)
{
	double billed = fmax(seconds, terms->minimum_seconds);

	if (terms->granularity_seconds > 0)
		billed = ceil(billed / terms->granularity_seconds) * terms->granularity_seconds;
	return billed;
}

/* A machine that is always up, or a spot machine, is not stopped but given back. */
static enum cost_between between_sessions(const struct cost_job *job,
					  const struct cost_terms *terms, enum price_kind kind)
{
	if (job->sessions <= 1)
		return BETWEEN_NOTHING;
	if ((terms->keeps_machine && kind != PRICE_SPOT) || kind == PRICE_RESERVED)
		return BETWEEN_STOP;
	return terms->keeps_data ? BETWEEN_VOLUME : BETWEEN_DELETE;
}

/* Billed seconds of a node over all sessions, for `run_seconds` of work; the time that passes. */
static double billed_seconds(const struct cost_job *job, const struct cost_terms *terms,
			     double run_seconds, struct cost *out)
{
	double sessions = job->sessions, each = run_seconds / sessions;
	double first = start_seconds(job, terms, BETWEEN_NOTHING) + each;
	double later = start_seconds(job, terms, out->between) +
		       checkpoint_seconds(job, out->between, false) + each;
	double gaps = sessions - 1;

	if (gaps > 0) {
		/* A service has nothing to save. */
		double save = job->work->checkpoint_gb > 0 ? stall_seconds(job, out->between) : 0;

		/* The last session ends with the result, not with a checkpoint. */
		out->wall_seconds = first + gaps * (later + save);
		/* One session a day, unless it takes longer than that. */
		out->stopped_seconds = gaps * fmax(0, SECONDS_PER_DAY - later);
		return round_up(first + save, terms) + (gaps - 1) * round_up(later + save, terms) +
		       round_up(later, terms);
	}
	out->wall_seconds = first;
	return round_up(first, terms);
}

static bool add_all(struct cost *cost)
{
	return micros_add(cost->compute_micros, cost->storage_micros, &cost->total_micros) &&
	       micros_add(cost->total_micros, cost->egress_micros, &cost->total_micros) &&
	       micros_add(cost->total_micros, cost->interruption_micros, &cost->total_micros);
}

/* Cost of a unit of work while it runs: no start, no rounding. */
static bool cost_unit(const struct cost_job *job, double share, struct cost *out)
{
	double hours = job->unit_tokens / job->tokens_per_second / SECONDS_PER_HOUR;

	out->wall_seconds = hours * SECONDS_PER_HOUR * (1 + share);
	out->elapsed_seconds = out->wall_seconds;
	out->billed_seconds = out->wall_seconds;
	return micros_from_double((double)out->usd_per_hour_micros * hours, &out->compute_micros) &&
	       micros_from_double((double)out->usd_per_hour_micros * hours * share,
				  &out->interruption_micros) &&
	       add_all(out);
}

/* Bytes on a volume, while machines run and between sessions. */
static bool cost_storage(const struct cost_job *job, const struct cost_terms *terms,
			 struct cost *out)
{
	double month = (job->work->stored_gb - job->spared_gb) * terms->volume_usd_per_gb_month;
	double stopped = 0;
	int64_t running;

	if (out->between == BETWEEN_VOLUME ||
	    (out->between == BETWEEN_STOP && terms->bills_stopped_storage))
		stopped = month * out->stopped_seconds / SECONDS_PER_MONTH;
	if (!terms->bills_storage)
		month = 0;
	return micros_from_double(month * out->wall_seconds / SECONDS_PER_MONTH * 1e6, &running) &&
	       micros_from_double(stopped * 1e6, &out->stopped_storage_micros) &&
	       micros_add(running, out->stopped_storage_micros, &out->storage_micros);
}

/* Results and answers, and every checkpoint that no volume keeps. */
static double egress_gb(const struct cost_job *job, const struct cost_terms *terms,
			const struct cost *cost)
{
	double checkpoints = cost->between == BETWEEN_DELETE ? job->sessions - 1 : 0;

	if (cost->checkpoint_interval_seconds > 0 && !terms->keeps_data)
		checkpoints += floor(job->run_seconds / cost->checkpoint_interval_seconds);
	return job->egress_gb + checkpoints * job->work->checkpoint_gb;
}

/* A commitment is paid for its whole term, and for the nights and pauses too. */
static double committed_seconds(const struct cost_job *job, const struct cost_price *price,
				const struct cost *cost)
{
	if (price->kind != PRICE_RESERVED)
		return 0;
	if (job->basis == COST_MONTH)
		return SECONDS_PER_MONTH;
	return fmax(price->term_seconds, cost->wall_seconds + cost->stopped_seconds);
}

static bool cost_time(const struct cost_job *job, const struct cost_terms *terms, double share,
		      const struct cost_price *price, struct cost *out)
{
	double hourly = (double)out->usd_per_hour_micros;
	double billed, without, egress;

	out->between = between_sessions(job, terms, price->kind);
	if (job->basis == COST_MONTH && job->sessions <= 1) {
		/* A month is a month, however often it is interrupted. */
		without = job->run_seconds;
		out->wall_seconds = job->run_seconds;
		billed = job->run_seconds * (1 + share);
	} else {
		without = billed_seconds(job, terms, job->run_seconds, out);
		billed = billed_seconds(job, terms, job->run_seconds * (1 + share), out);
		out->start_seconds = start_seconds(job, terms, BETWEEN_NOTHING);
	}
	without = fmax(without, committed_seconds(job, price, out));
	billed = fmax(billed, without);
	out->billed_seconds = billed;
	out->elapsed_seconds = out->wall_seconds;
	if (job->work->workload->hours_per_day < 24)
		out->elapsed_seconds += out->stopped_seconds;
	egress = fmax(0, egress_gb(job, terms, out) - terms->free_egress_gb) *
		 terms->egress_usd_per_gb;
	return micros_from_double(hourly * without / SECONDS_PER_HOUR, &out->compute_micros) &&
	       micros_from_double(hourly * (billed - without) / SECONDS_PER_HOUR,
				  &out->interruption_micros) &&
	       cost_storage(job, terms, out) &&
	       micros_from_double(egress * 1e6, &out->egress_micros) && add_all(out);
}

/* Which replaced terms this cost rests on. */
static unsigned assumptions(const struct cost_job *job, const struct cost_terms *terms,
			    const struct cost_price *price, const struct cost *cost)
{
	unsigned used = 0;

	if (job->basis == COST_RUN || job->sessions > 1)
		used |= COST_ASSUMED_GRANULARITY | COST_ASSUMED_MINIMUM | COST_ASSUMED_SETUP;
	if (cost->storage_micros > 0)
		used |= COST_ASSUMED_VOLUME_PRICE;
	if (cost->egress_micros > 0)
		used |= COST_ASSUMED_EGRESS_PRICE;
	if (price->kind == PRICE_SPOT)
		used |= COST_ASSUMED_SETUP;
	if (price->kind == PRICE_SPOT && isnan(price->interruptions_per_hour) &&
	    isnan(job->work->assumptions.spot_interruptions_per_hour))
		used |= COST_ASSUMED_INTERRUPTIONS;
	return terms->assumed & used;
}

/* Of all nodes together: what is taken back, and in training on several machines what breaks. */
static double interruption_rate(const struct cost_job *job, const struct cost_terms *terms,
				const struct cost_price *price)
{
	const struct cost_assumptions *given = &job->work->assumptions;
	double rate = 0;

	if (price->kind == PRICE_SPOT) {
		rate = given->spot_interruptions_per_hour;
		if (isnan(rate))
			rate = isnan(price->interruptions_per_hour) ? terms->interruptions_per_hour
								    : price->interruptions_per_hour;
		rate *= job->nodes;
	}
	if (job->nodes > 1 && job->work->workload->task != TASK_INFERENCE)
		rate += given->failures_per_gpu_hour * job->gpus;
	return rate;
}

/* What a million of the tokens costs that take `share` of the time, `each` of them a request. */
static bool cost_side(const struct cost_job *job, const struct cost *cost, double requests,
		      double share, double each, int64_t *out)
{
	if (job->work->workload->task != TASK_INFERENCE || each <= 0)
		return true;
	return micros_from_double(
		(double)cost->total_micros * share * (TOKENS_PER_MILLION / (requests * each)), out);
}

static bool cost_tokens(const struct cost_job *job, struct cost *out)
{
	const struct workload *workload = job->work->workload;
	double tokens = job->basis == COST_UNIT ? job->unit_tokens
						: job->run_seconds * job->tokens_per_second;
	double requests = tokens / job->tokens_per_second * job->requests_per_second;

	out->unit = job->unit;
	if (!micros_from_double((double)out->total_micros * (job->unit_tokens / tokens),
				&out->per_unit_micros))
		return false;
	/* Items are no tokens. */
	if (workload->architecture->media)
		return true;
	return micros_from_double((double)out->total_micros * (TOKENS_PER_MILLION / tokens),
				  &out->per_million_tokens_micros) &&
	       cost_side(job, out, requests, job->input_share, workload->passes * workload->prompt,
			 &out->per_million_input_micros) &&
	       cost_side(job, out, requests, 1 - job->input_share,
			 workload->passes * (double)workload->output_tokens,
			 &out->per_million_output_micros);
}

bool cost_of(const struct cost_job *job, const struct cost_terms *terms,
	     const struct cost_price *price, struct cost *out)
{
	double share = 0;
	bool is_good;

	*out = (struct cost){.basis = job->basis,
			     .nodes = job->nodes,
			     .sessions = job->sessions,
			     .run_seconds = job->run_seconds,
			     .per_million_tokens_micros = PRICE_UNKNOWN,
			     .per_unit_micros = PRICE_UNKNOWN,
			     .per_million_input_micros = PRICE_UNKNOWN,
			     .per_million_output_micros = PRICE_UNKNOWN};
	if (price->micros <= 0 ||
	    !micros_multiply(price->micros, job->nodes, &out->usd_per_hour_micros))
		return false;
	out->interruptions_per_hour = interruption_rate(job, terms, price);
	if (out->interruptions_per_hour > 0)
		share = interruption_share(job, terms, out);
	is_good = job->basis == COST_UNIT ? cost_unit(job, share, out)
					  : cost_time(job, terms, share, price, out);
	if (!is_good)
		return false;
	out->assumed = assumptions(job, terms, price, out);
	return cost_tokens(job, out);
}

bool cost_compute(const struct workload *workload, const struct cost_assumptions *given,
		  const struct plan *plan, const struct offer *offer, const struct terms *terms,
		  struct cost *out)
{
	struct cost_terms resolved;
	struct cost_work work;
	struct cost_job job;
	struct cost_price price = {
		.kind = offer->price_kind,
		.micros = offer->price_micros,
		.interruptions_per_hour =
			terms_spot_interruptions_per_hour(offer->provider, offer->instance_type,
							  offer->region, offer->interruption_band),
		.term_seconds = offer->term_months * SECONDS_PER_MONTH,
	};

	cost_work_prepare(workload, given, &work);
	cost_terms_resolve(terms, &work.defaults, &resolved);
	return cost_job_prepare(&work, plan, &job) && cost_of(&job, &resolved, &price, out);
}
