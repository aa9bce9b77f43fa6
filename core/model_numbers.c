/* An architecture from bare numbers: see model_numbers.h. */
#include "core/model_numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Habits of published decoders. Llama-3, Qwen3 and Mistral: heads of 128 (64 in small models), 8 KV
 * heads, a gated MLP of 3.5 times the width, Llama-3's vocabulary. */
#define HEAD_DIM 128
#define SMALL_HEAD_DIM 64
#define SMALL_HIDDEN 2048
#define KV_HEADS 8
#define MLP_RATIO 3.5
#define VOCAB 128256
/* BERT's, of whose kind most encoders are: four times the width, not gated. */
#define ENCODER_VOCAB 30522
#define ENCODER_MLP_RATIO 4.0
/* Up to this width embedding and head share their table (Llama-3.2 3B, Qwen2.5 3B: 2048-3072). */
#define TIED_HIDDEN 3072
/* Qwen3-MoE and DeepSeek choose 8 of 128 or 256 experts, whose widths add up to some three times
 * the hidden size (2.6 in DeepSeek-V3, 3.0 in Qwen3-30B). */
#define EXPERTS 128
#define FEW_EXPERTS 16
#define EXPERTS_ACTIVE 8
#define FEW_EXPERTS_ACTIVE 2
#define EXPERTS_RATIO 3.0

/* How far what was told may be from what it adds up to: biases, norms and rounding. */
#define TOTAL_TOLERANCE 0.05
/* The number of experts that a token passes is a whole one, and shared experts are not told. */
#define ACTIVE_TOLERANCE 0.2

#define UNCERTAINTY 0.15
#define UNCERTAINTY_EXPERTS 0.20

const struct model_number_field model_number_fields[MODEL_NUMBER_COUNT] = {
#define X(member, name, least, most) [MODEL_NUMBER_##member] = {name, least, most},
	MODEL_NUMBERS(X)
#undef X
};

/* Share of the uncertainty that a fact takes away, when it is told. */
static const double weights[MODEL_NUMBER_COUNT] = {
	[MODEL_NUMBER_layers] = 0.15,
	[MODEL_NUMBER_hidden] = 0.20,
	[MODEL_NUMBER_heads] = 0.05,
	[MODEL_NUMBER_kv_heads] = 0.20,
	[MODEL_NUMBER_ffn] = 0.15,
	[MODEL_NUMBER_vocab] = 0.10,
	[MODEL_NUMBER_experts_active] = 0.05,
};

struct search {
	const struct model_numbers *told;
	struct architecture best;
	double unlikely; /* of the best so far */
};

static double told(const struct model_numbers *numbers, enum model_number which)
{
	return numbers->values[which];
}

#define TOLD(member) told(numbers, MODEL_NUMBER_##member)

static bool has_experts(const struct model_numbers *numbers)
{
	return TOLD(experts) > 0 || TOLD(experts_active) > 0 ||
	       (TOLD(active_parameters) > 0 && TOLD(active_parameters) < TOLD(parameters));
}

/* Depth that published decoders of this width have, from Llama-3 (2048: 16, 4096: 32, 8192: 80,
 * 16384: 126) by interpolation in the logarithm of the width. */
static double usual_depth(double hidden)
{
	static const double widths[] = {16, 512, 2048, 4096, 8192, 16384, 1048576};
	static const double depths[] = {2, 8, 16, 32, 80, 126, 400};
	size_t i = 1;

	while (i < sizeof(widths) / sizeof(widths[0]) - 1 && hidden > widths[i])
		i++;
	return depths[i - 1] + (depths[i] - depths[i - 1]) * log(hidden / widths[i - 1]) /
				       log(widths[i] / widths[i - 1]);
}

static int usual_vocab(const struct model_numbers *numbers)
{
	double parameters = TOLD(parameters);

	if (numbers->modality == MODALITY_EMBEDDING && parameters < 1e9)
		return ENCODER_VOCAB;
	/* A small model with Llama-3's vocabulary would be nothing but its table. */
	return parameters < 5e8 ? (int)fmax(1000, parameters / 16384) : VOCAB;
}

/* Everything but the widths of the MLP, which have to make up the total. */
static void shape(const struct model_numbers *numbers, int hidden, struct architecture *out)
{
	struct layer_kind *kind = &out->kinds[0];
	bool is_encoder = numbers->modality == MODALITY_EMBEDDING;

	out->hidden = hidden;
	kind->attention = ATTENTION_GROUPED;
	kind->head_dim = hidden < SMALL_HIDDEN ? SMALL_HEAD_DIM : HEAD_DIM;
	kind->heads = (int)TOLD(heads);
	if (TOLD(head_dim) > 0)
		kind->head_dim = (int)TOLD(head_dim);
	else if (kind->heads && hidden % kind->heads == 0)
		kind->head_dim = hidden / kind->heads;
	if (!kind->heads)
		kind->heads = (int)fmax(fmax(1, TOLD(kv_heads)), hidden / kind->head_dim);
	kind->v_head_dim = kind->head_dim;
	kind->kv_heads = (int)TOLD(kv_heads);
	if (!kind->kv_heads)
		kind->kv_heads = is_encoder || kind->heads % KV_HEADS ? kind->heads : KV_HEADS;
	kind->is_encoder = is_encoder;
	kind->gated = !is_encoder;
	kind->extra_parameters = 2 * (uint64_t)(unsigned)hidden;
	out->tied_embeddings = hidden <= TIED_HIDDEN;
	out->extra_parameters = (unsigned)hidden;
}

static double total_of(const struct architecture *architecture, double *active)
{
	struct parameter_count count;

	architecture_count(architecture, &count);
	if (active)
		*active = (double)count.active;
	return (double)count.total;
}

/* How many experts, and how many a token passes; their width still open. */
static void choose_experts(const struct model_numbers *numbers, struct architecture *trial)
{
	struct layer_kind *kind = &trial->kinds[0];
	double total = TOLD(parameters), active = TOLD(active_parameters), dense;

	kind->experts = TOLD(experts) > 0 ? (int)TOLD(experts) : EXPERTS;
	kind->experts_active = (int)TOLD(experts_active);
	if (kind->experts_active > 0)
		return;
	kind->experts_active = kind->experts < FEW_EXPERTS ? FEW_EXPERTS_ACTIVE : EXPERTS_ACTIVE;
	dense = total_of(trial, NULL);
	if (active > dense && total > dense)
		kind->experts_active =
			(int)fmax(1, round(kind->experts * (active - dense) / (total - dense)));
	if (kind->experts_active > kind->experts)
		kind->experts_active = kind->experts;
}

/* What the habits say of the widths; the total has come out right by then. */
static double unlikeliness(const struct model_numbers *numbers, const struct architecture *trial)
{
	const struct layer_kind *kind = &trial->kinds[0];
	double hidden = trial->hidden, active, unlikely = 0;
	double total = total_of(trial, &active);

	if (kind->experts)
		unlikely += fabs(
			log(kind->experts_active * (double)kind->moe_ffn / hidden / EXPERTS_RATIO));
	else
		unlikely += fabs(
			log(kind->ffn / hidden / (kind->gated ? MLP_RATIO : ENCODER_MLP_RATIO)));
	unlikely += fabs(log(kind->count / usual_depth(hidden)));
	if (TOLD(active_parameters) > 0)
		unlikely += 10 * fabs(log(active / TOLD(active_parameters)));
	return unlikely + 100 * fabs(log(total / TOLD(parameters)));
}

static void keep_if_likelier(struct search *search, const struct architecture *trial)
{
	double unlikely = unlikeliness(search->told, trial);

	if (unlikely < search->unlikely) {
		search->unlikely = unlikely;
		search->best = *trial;
	}
}

/* The width of the MLP, or of an expert, that makes up the total at this depth. */
static void try_width(struct search *search, struct architecture *trial)
{
	const struct model_numbers *numbers = search->told;
	struct layer_kind *kind = &trial->kinds[0];
	double matrices = (kind->gated ? 3.0 : 2.0) * trial->hidden * kind->count, ffn;
	bool is_sparse = has_experts(numbers);

	kind->ffn = kind->moe_ffn = kind->experts = kind->experts_active = 0;
	if (is_sparse)
		choose_experts(numbers, trial);
	ffn = (TOLD(parameters) - total_of(trial, NULL)) /
	      (matrices * (is_sparse ? kind->experts : 1));
	/* Widths are multiples of some power of two, but only where that hardly shows. */
	ffn = ffn > 4096 ? round(ffn / 16) * 16 : round(ffn);
	if (TOLD(ffn) > 0)
		ffn = TOLD(ffn);
	/* More weights than any count may hold make no total. */
	if (ffn < trial->hidden / 64.0 || ffn < 1 || ffn > 1e8 ||
	    matrices * ffn * fmax(1, kind->experts) > 1e16)
		return;
	if (is_sparse)
		kind->moe_ffn = (int)ffn;
	else
		kind->ffn = (int)ffn;
	keep_if_likelier(search, trial);
}

/* The depth that makes up the total when the widths are told. */
static int solved_depth(const struct model_numbers *numbers, const struct architecture *trial)
{
	struct architecture one = *trial;
	struct layer_kind *kind = &one.kinds[0];
	double tables, layer;

	kind->count = 0;
	tables = total_of(&one, NULL);
	kind->count = 1;
	if (has_experts(numbers)) {
		choose_experts(numbers, &one);
		kind->moe_ffn = (int)TOLD(ffn);
	} else {
		kind->ffn = (int)TOLD(ffn);
	}
	layer = total_of(&one, NULL) - tables;
	return (int)fmin(4096, fmax(1, round((TOLD(parameters) - tables) / layer)));
}

/* One width of the model: gates and a tied table are tried where the total can tell. */
static void try_hidden(struct search *search, int hidden)
{
	const struct model_numbers *numbers = search->told;
	bool is_told = TOLD(ffn) > 0;
	struct architecture trial;

	for (int variant = 0; variant < (is_told ? 4 : 1); variant++) {
		memset(&trial, 0, sizeof(trial));
		snprintf(trial.family, sizeof(trial.family), "generic");
		trial.modality = numbers->modality;
		trial.vocab = TOLD(vocab) > 0 ? (int)TOLD(vocab) : usual_vocab(numbers);
		trial.max_context = (int)TOLD(max_context);
		trial.kinds_count = 1;
		shape(numbers, hidden, &trial);
		if (variant & 1)
			trial.kinds[0].gated = !trial.kinds[0].gated;
		if (variant & 2)
			trial.tied_embeddings = !trial.tied_embeddings;
		trial.kinds[0].count = (int)TOLD(layers);
		if (!trial.kinds[0].count)
			trial.kinds[0].count = is_told ? solved_depth(numbers, &trial)
						       : (int)round(usual_depth(hidden));
		try_width(search, &trial);
	}
}

/* Widths worth trying: fine steps below 1024, then those with a multiple of 8 heads. */
static int next_width(int hidden)
{
	return hidden + (hidden < 1024 ? 64 : hidden < 2048 ? 256 : hidden < 32768 ? 512 : 4096);
}

static bool fault(struct error *error, const char *prefix, enum model_number which,
		  const char *code, const char *detail)
{
	char pointer[200];

	snprintf(pointer, sizeof(pointer), "%s/%s", prefix, model_number_fields[which].name);
	return error_add(error, pointer, code, NULL, "%s", detail);
}

static bool check_ranges(const struct model_numbers *numbers, const char *prefix,
			 struct error *error)
{
	bool is_good = true;
	char detail[120];

	for (int i = 0; i < MODEL_NUMBER_COUNT; i++) {
		const struct model_number_field *field = &model_number_fields[i];
		double value = numbers->values[i];

		if (i != MODEL_NUMBER_parameters && !(value < 0) && !(value > 0) && !isnan(value))
			continue;
		snprintf(detail, sizeof(detail), "must be from %g to %g", field->least,
			 field->most);
		/* Written so that NaN fails too. */
		if (!(value >= field->least && value <= field->most))
			is_good =
				fault(error, prefix, (enum model_number)i, "out_of_range", detail);
	}
	return is_good;
}

static bool check_pairs(const struct model_numbers *numbers, const char *prefix,
			struct error *error)
{
	double heads = TOLD(heads), kv_heads = TOLD(kv_heads);
	bool is_good = true;

	if (TOLD(active_parameters) > TOLD(parameters))
		is_good = fault(error, prefix, MODEL_NUMBER_active_parameters, "contradiction",
				"must not be more than parameters");
	if (heads > 0 && kv_heads > 0 && (kv_heads > heads || fmod(heads, kv_heads) > 0))
		is_good = fault(error, prefix, MODEL_NUMBER_kv_heads, "contradiction",
				"must divide heads");
	if (TOLD(experts_active) > 0 && !(TOLD(experts) > 0))
		is_good = fault(error, prefix, MODEL_NUMBER_experts_active, "incomplete",
				"needs experts: of how many");
	else if (TOLD(experts_active) > TOLD(experts))
		is_good = fault(error, prefix, MODEL_NUMBER_experts_active, "contradiction",
				"must not be more than experts");
	return is_good;
}

/* What was found against what was told of the sums. */
static bool check_sums(const struct search *search, const char *prefix, struct error *error)
{
	const struct model_numbers *numbers = search->told;
	double active = 0, total = 0;
	const char *reason;
	char detail[200];

	if (isfinite(search->unlikely))
		total = total_of(&search->best, &active);
	if (!(fabs(total / TOLD(parameters) - 1) <= TOTAL_TOLERANCE)) {
		snprintf(detail, sizeof(detail),
			 total > 0 ? "the sizes that are given make about %.4g parameters, not %.4g"
				   : "the sizes that are given leave no room for an MLP",
			 total, TOLD(parameters));
		return fault(error, prefix, MODEL_NUMBER_parameters, "contradiction", detail);
	}
	if (!architecture_check(&search->best, &reason))
		return fault(error, prefix, MODEL_NUMBER_parameters, "contradiction", reason);
	if (TOLD(active_parameters) > 0 &&
	    !(fabs(active / TOLD(active_parameters) - 1) <= ACTIVE_TOLERANCE)) {
		snprintf(detail, sizeof(detail),
			 "the sizes that are given make about %.4g active parameters, not %.4g",
			 active, TOLD(active_parameters));
		return fault(error, prefix, MODEL_NUMBER_active_parameters, "contradiction",
			     detail);
	}
	return true;
}

static void set_doubt(const struct model_numbers *numbers, struct architecture *out)
{
	bool is_sparse = has_experts(numbers);
	double left = 1;

	for (int i = 0; i < MODEL_NUMBER_COUNT; i++) {
		bool is_of_experts = i == MODEL_NUMBER_experts || i == MODEL_NUMBER_experts_active;

		if (numbers->values[i] > 0)
			left -= weights[i];
		else if (i != MODEL_NUMBER_active_parameters && i != MODEL_NUMBER_max_context &&
			 (is_sparse || !is_of_experts))
			out->assumed |= 1u << i;
	}
	/* Either tells how much of the model works for a token. */
	if (TOLD(active_parameters) > 0 || TOLD(experts) > 0)
		left -= 0.1;
	out->uncertainty = (is_sparse ? UNCERTAINTY_EXPERTS : UNCERTAINTY) * left;
}

bool model_numbers_build(const struct model_numbers *numbers, const char *prefix,
			 struct architecture *out, struct error *error)
{
	struct search search = {.told = numbers, .unlikely = HUGE_VAL};

	if (!check_ranges(numbers, prefix, error) || !check_pairs(numbers, prefix, error))
		return false;
	if (TOLD(hidden) > 0)
		try_hidden(&search, (int)TOLD(hidden));
	else
		for (int hidden = 64; hidden <= 131072; hidden = next_width(hidden))
			try_hidden(&search, hidden);
	if (!check_sums(&search, prefix, error))
		return false;
	set_doubt(numbers, &search.best);
	*out = search.best;
	return true;
}
