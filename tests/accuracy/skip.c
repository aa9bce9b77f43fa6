/* Reasons and their classes: see skip.h. */
#include "tests/accuracy/skip.h"

static const char *const class_text[SKIP_CLASSES] = {
	[COLUMNS_INSUFFICIENT] = "columns_insufficient",
	[NOT_A_MEASUREMENT] = "not_a_measurement",
	[OUT_OF_SCOPE] = "out_of_scope",
	[NOT_OFFERED] = "not_offered",
	[DOUBTFUL] = "doubtful",
};

static const struct {
	enum skip_class of;
	const char *text;
} skips[SKIPS] = {
	[SKIP_NONE] = {COLUMNS_INSUFFICIENT, ""},
	[SKIP_CARD_NOT_STATED] = {COLUMNS_INSUFFICIENT, "card not stated"},
	[SKIP_MODEL_NOT_GIVEN] = {COLUMNS_INSUFFICIENT,
				  "model unknown and its dimensions not given"},
	[SKIP_MODEL_BY_NAME] = {COLUMNS_INSUFFICIENT, "model not in the registry"},
	[SKIP_LAYOUT_BY_NAME] = {COLUMNS_INSUFFICIENT, "model and layout known by name only"},
	[SKIP_RECOMPUTE_NOT_STATED] = {COLUMNS_INSUFFICIENT, "recompute mode not stated"},
	[SKIP_SIZE_NOT_STATED] = {COLUMNS_INSUFFICIENT, "size or frames not stated"},
	[SKIP_LENGTH_NOT_STATED] = {COLUMNS_INSUFFICIENT, "sequence length not stated"},
	[SKIP_LENGTHS_NOT_STATED] = {COLUMNS_INSUFFICIENT, "lengths not stated"},
	[SKIP_DATASET_LENGTHS] = {COLUMNS_INSUFFICIENT,
				  "lengths of a data set that are not stated"},
	[SKIP_LENGTH_IS_A_LIMIT] =
		{COLUMNS_INSUFFICIENT,
		 "length is a limit: the data set decides, by the source's own note"},
	[SKIP_SAMPLES_ARE_SHORTER] = {COLUMNS_INSUFFICIENT,
				      "length is a limit; samples are shorter"},
	[SKIP_BURST] = {COLUMNS_INSUFFICIENT,
			"one burst of answers of varied length: its last ones decide"},
	[SKIP_OTHER_VOCABULARY] = {COLUMNS_INSUFFICIENT,
				   "a vocabulary other than the columns', by its own note"},
	[SKIP_IMAGES_NOT_STATED] =
		{COLUMNS_INSUFFICIENT,
		 "a vision tower is trained as well: images a sample not stated"},
	[SKIP_MICRO_BATCH_NOT_STATED] = {COLUMNS_INSUFFICIENT, "micro-batch not stated"},
	[SKIP_GPUS_NOT_STATED] = {COLUMNS_INSUFFICIENT, "number of GPUs not stated"},
	[SKIP_BASE_FORMAT_NOT_STATED] = {COLUMNS_INSUFFICIENT, "format of the base not stated"},
	[SKIP_WEIGHT_FORMAT_NOT_STATED] = {COLUMNS_INSUFFICIENT, "weight format not stated"},
	[SKIP_LOAD_NOT_STATED] = {COLUMNS_INSUFFICIENT, "load not stated"},
	[SKIP_LATENCY_LIMIT] = {COLUMNS_INSUFFICIENT,
				"saturated under a latency limit that depends on the submission"},
	[SKIP_TOKENS_NOT_STATED] = {COLUMNS_INSUFFICIENT,
				    "the source does not say which tokens it counts"},
	[SKIP_LANES_NOT_STATED] =
		{COLUMNS_INSUFFICIENT,
		 "a board whose PCIe lanes are cut by an amount that is not stated"},
	[SKIP_HOSTED] = {COLUMNS_INSUFFICIENT, "hosted service of undisclosed hardware"},
	[SKIP_NO_VALUE] = {COLUMNS_INSUFFICIENT, "no measured value in a known unit"},
	[SKIP_CLAIM] = {NOT_A_MEASUREMENT, "a claim, not a measurement"},
	[SKIP_CLAIM_OF_SPEED] = {NOT_A_MEASUREMENT, "a claim without a full configuration"},
	[SKIP_ESTIMATE] = {NOT_A_MEASUREMENT, "an estimate, not a measurement"},
	[SKIP_STATED_REQUIREMENT] = {NOT_A_MEASUREMENT, "a stated requirement, not a measurement"},
	[SKIP_EMPTIER_GPU] = {NOT_A_MEASUREMENT, "not the fullest GPU of its run"},
	[SKIP_OTHER_PHASE] = {NOT_A_MEASUREMENT, "failed in a phase of its own"},
	[SKIP_MINUTES_TO_TARGET] = {NOT_A_MEASUREMENT, "minutes to a target depend on convergence"},
	[SKIP_MINUTES_OF_A_RUN] = {NOT_A_MEASUREMENT,
				   "minutes of a run count validation and padding"},
	[SKIP_GPU_HOURS] = {NOT_A_MEASUREMENT,
			    "GPU hours count failures, evaluations and restarts"},
	[SKIP_RATIO] = {NOT_A_MEASUREMENT, "a ratio, not a speed"},
	[SKIP_REQUEST_RATE] = {NOT_A_MEASUREMENT, "a request rate: latency at a load, not a speed"},
	[SKIP_UNIT_DOES_NOT_CONVERT] = {NOT_A_MEASUREMENT,
					"measured in a unit that does not convert"},
	[SKIP_REFUSED] = {NOT_OFFERED, "the product refuses the request"},
	[SKIP_CARD_UNKNOWN] = {NOT_OFFERED, "card not in the table"},
	[SKIP_CARD_NOT_RENTED] = {OUT_OF_SCOPE, "hardware that nobody rents out"},
	[SKIP_CARD_WITHOUT_SPEED] = {NOT_OFFERED, "card without the figures that speed needs"},
	[SKIP_MODEL_DOES_NOT_ADD_UP] =
		{NOT_OFFERED, "model unknown and its dimensions do not add up to its parameters"},
	[SKIP_METHOD] = {NOT_OFFERED, "a method that is not offered"},
	[SKIP_OPTIMIZER] = {NOT_OFFERED, "optimizer not offered"},
	[SKIP_TRAINING_IN_FP4] = {NOT_OFFERED, "training in fp4 is not offered"},
	[SKIP_WEIGHT_FORMAT] = {NOT_OFFERED, "weight format not offered"},
	[SKIP_WEIGHTS_ON_HOST] = {NOT_OFFERED, "part of the weights in host memory"},
	[SKIP_LOADED_WHOLE] =
		{NOT_OFFERED,
		 "built whole on the card before it was sharded: the peak is that of loading"},
	[SKIP_CACHE_LAYOUT] = {NOT_OFFERED, "a cache pre-allocated in a layout of its own"},
	[SKIP_BEFORE_LATENT] = {NOT_OFFERED,
				"an engine of before MLA support: KV stored decompressed"},
	[SKIP_WITHOUT_HYBRID_CACHE] = {NOT_OFFERED, "an engine without a hybrid KV manager"},
	[SKIP_ONE_TOKEN_KERNEL] = {NOT_OFFERED, "a kernel for one token at a time, given a prompt"},
	[SKIP_SPECULATIVE] = {NOT_OFFERED, "speculative decoding"},
	[SKIP_NO_EVEN_LAYOUT] = {NOT_OFFERED, "no layout comes out even"},
	[SKIP_COUNTER_UNKNOWN] = {NOT_OFFERED, "counter not known"},
	[SKIP_OWN_NOTE] = {DOUBTFUL, "doubtful by its own note"},
	[SKIP_WRONG_PROFILING] = {DOUBTFUL, "an engine version whose profiling was wrong"},
	[SKIP_BROKEN_RUN] = {DOUBTFUL, "slower on four cards than on one or on PCIe: a broken run "
				       "(facts/throughput-notes.md 9.4)"},
	[SKIP_STATES_EXCEED_CARD] =
		{DOUBTFUL, "states of the optimizer stated exceed the card: another one ran"},
	[SKIP_NOTHING_LEFT] = {DOUBTFUL,
			       "next to nothing is left: the difference of two equal figures"},
	[SKIP_ONE_GPU_OF_MANY] = {DOUBTFUL,
				  "the run used one of its GPUs (facts/memory-notes.md 12)"},
	[SKIP_CONTROL_NET] = {NOT_OFFERED, "a ControlNet beside the denoiser"},
	[SKIP_STEP_CACHE] = {NOT_OFFERED, "steps that are taken from those before them"},
	[SKIP_UNCOMPILED_INT8] = {NOT_OFFERED,
				  "int8 without a kernel: 20 times as slow as what it replaces"},
	[SKIP_BOUND_BY_HOST] = {DOUBTFUL,
				"two cards do no more than one: what feeds them bounds it, "
				"of which no column tells"},
	[SKIP_ODD_DEGREES] = {DOUBTFUL, "GPUs are not a multiple of the model-parallel degrees"},
};

const char *skip_text(enum skip skip)
{
	return skips[skip].text;
}

enum skip_class skip_class(enum skip skip)
{
	return skips[skip].of;
}

const char *skip_class_text(enum skip_class of)
{
	return class_text[of];
}

bool skip_counts(enum skip skip)
{
	return skip == SKIP_NONE || skips[skip].of == NOT_OFFERED || skips[skip].of == DOUBTFUL;
}
