/*
 * Workload of a pipeline (media.h): defaults of its tasks, which are those of the model as
 * published and of diffusers, whose scripts and pipelines most users start from.
 */
#include "core/workload_parts.h"

#include <math.h>

#define FILL(field, value)                                                                         \
	do {                                                                                       \
		if (!workload_has(workload, WORKLOAD_##field))                                     \
			workload->field = (value);                                                 \
	} while (0)

/* diffusers' scripts: rank 4 for a style, 16 and more in the guides for subjects. */
#define ADAPTER_RANK 16
/* Samples of one step in its recipes. */
#define SAMPLES_A_STEP 4

/* The pixels of a side that a pipeline makes: whole tokens, but where its own size is no multiple
 * of them either (Stable Cascade, whose latents are about 42.67 pixels wide). */
static int64_t made_side(const struct media *media, int64_t pixels)
{
	int64_t step = (int64_t)media->vae.spatial * media->denoiser.patch;

	return media->width % step == 0 && pixels > step ? pixels / step * step : pixels;
}

static int64_t latent_step(const struct media_vae *vae)
{
	return vae->temporal > 0 ? vae->temporal : 1;
}

/* The frames that it makes: so many to a latent, and a first one of its own. */
static int64_t made_frames(const struct media_vae *vae, int64_t frames)
{
	int64_t step = latent_step(vae), first = vae->is_causal ? 1 : 0;

	if (frames <= 1)
		return 1;
	if (vae->rounds_up && frames % step == 0)
		frames++;
	frames = first + (frames - first) / step * step;
	return frames > 0 ? frames : step;
}

void workload_media_size(const struct workload *workload, struct media_size *out)
{
	const struct media *media = workload->architecture->media;

	*out = (struct media_size){.width = (double)made_side(media, workload->width),
				   .height = (double)made_side(media, workload->height),
				   .frames = (double)made_frames(&media->vae, workload->frames),
				   .references = (double)workload->reference_images};
	if (media->sample_rate > 0)
		*out = (struct media_size){.samples = workload->seconds * media->sample_rate};
}

/* Those nearest to a length in seconds. */
static int64_t whole_frames(const struct media_vae *vae, double frames)
{
	double step = (double)latent_step(vae), first = vae->is_causal ? 1 : 0;

	return (int64_t)(first + step * fmax(first > 0 ? 0 : 1, round((frames - first) / step)));
}

static void fill_size(struct workload *workload)
{
	const struct media *media = workload->architecture->media;
	bool is_sound = media->sample_rate > 0;

	if (is_sound) {
		FILL(seconds, media->seconds);
		return;
	}
	FILL(width, media->width);
	FILL(height, media->height);
	FILL(fps, media->fps);
	FILL(frames, workload_has(workload, WORKLOAD_seconds) && workload->fps > 0
			     ? whole_frames(&media->vae, workload->seconds * workload->fps)
			     : media->frames);
	if (workload->fps > 0)
		FILL(seconds, (double)workload->frames / workload->fps);
	FILL(reference_images, media->references);
}

static void fill_serving(struct workload *workload)
{
	const struct media *media = workload->architecture->media;

	workload->method = METHOD_FULL;
	FILL(mode,
	     workload_has(workload, WORKLOAD_items_per_hour) ? SERVING_INTERACTIVE : SERVING_BATCH);
	FILL(steps, media->steps);
	FILL(batch, 1);
	FILL(guidance_passes, media->guidance_passes);
	FILL(guidance_batched, workload->guidance_passes > 1 && !media->is_guided_in_turn);
	/* How many GPUs share the sequence is for the planner. */
	FILL(sharding, SHARDING_AUTO);
	FILL(min_replicas, 1);
	FILL(weight_format, FORMAT_AUTO);
	FILL(media_offload, MEDIA_OFFLOAD_NONE);
	FILL(vae_tiling, media->is_tiled);
	FILL(vae_slicing, media->is_sliced);
	workload->concurrency = workload->batch;
	workload->gpu_memory_utilization = 1;
	workload->kv_format = FORMAT_BF16;
	workload->requests = workload->items;
	workload->requests_per_second = workload->items_per_hour / 3600;
}

static void fill_training(struct workload *workload)
{
	bool is_inversion =
		workload->task == TASK_FINETUNE && workload->method == METHOD_TEXTUAL_INVERSION;

	if (workload->task == TASK_PRETRAIN)
		workload->method = METHOD_FULL;
	FILL(stack, STACK_HUGGINGFACE);
	FILL(optimizer, OPTIMIZER_ADAMW);
	/* The scripts keep what they train in fp32. */
	FILL(precision, PRECISION_AMP_BF16);
	workload->gradient_precision =
		workload->precision == PRECISION_BF16 ? GRADIENTS_HALF : GRADIENTS_FP32;
	FILL(recompute, RECOMPUTE_AUTO);
	FILL(sharding, SHARDING_AUTO);
	FILL(offload, OFFLOAD_NONE);
	FILL(global_batch,
	     workload_has(workload, WORKLOAD_micro_batch) && workload->micro_batch > SAMPLES_A_STEP
		     ? workload->micro_batch
		     : SAMPLES_A_STEP);
	FILL(lora_rank, ADAPTER_RANK);
	FILL(lora_targets, LORA_ATTENTION);
	FILL(base_format, workload->method == METHOD_QLORA ? FORMAT_NF4 : FORMAT_BF16);
	FILL(train_text_encoder, is_inversion);
	FILL(prior_preservation, workload->method == METHOD_DREAMBOOTH);
	FILL(sessions, 1);
	FILL(epochs, 1.0);
	/* A sample is what a token is to a model of tokens. */
	workload->sequence_length = 1;
	workload->tokens = workload_has(workload, WORKLOAD_examples)
				   ? workload->examples * workload->epochs
				   : 0;
}

void workload_fill_media(struct workload *workload)
{
	fill_size(workload);
	if (workload->task == TASK_INFERENCE)
		fill_serving(workload);
	else
		fill_training(workload);
	FILL(text_encoder_format, FORMAT_AUTO);
	FILL(fused_attention, true);
	FILL(hours_per_day, 24.0);
	workload->full_context = workload->context = 1;
}

void workload_warn_media(const struct workload *workload, const char *prefix,
			 struct error *warnings)
{
	const struct media *media = workload->architecture->media;
	const struct {
		enum workload_field_id field;
		int64_t asked, made;
		const char *whole;
	} sizes[] = {
		{WORKLOAD_width, workload->width, made_side(media, workload->width), "tokens"},
		{WORKLOAD_height, workload->height, made_side(media, workload->height), "tokens"},
		{WORKLOAD_frames, workload->frames, made_frames(&media->vae, workload->frames),
		 "latents"},
	};
	char pointer[WORKLOAD_POINTER];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!(media->sample_rate > 0) && workload_has(workload, sizes[i].field) &&
		    sizes[i].made != sizes[i].asked)
			error_add(warnings, workload_pointer(prefix, sizes[i].field, pointer),
				  "rounded", NULL,
				  "%lld is no whole number of %s: the pipeline refuses it or makes "
				  "%lld, which the figures are of",
				  (long long)sizes[i].asked, sizes[i].whole,
				  (long long)sizes[i].made);
}

bool workload_media_takes(const struct workload *workload, enum workload_field_id field)
{
	bool is_sound = workload->architecture->media->sample_rate > 0;
	bool is_video = workload->architecture->modality == MODALITY_VIDEO;

	if (field == WORKLOAD_width || field == WORKLOAD_height ||
	    field == WORKLOAD_reference_images || field == WORKLOAD_vae_tiling)
		return !is_sound;
	if (field == WORKLOAD_frames || field == WORKLOAD_fps)
		return is_video;
	return field != WORKLOAD_seconds || is_sound || is_video;
}

struct rule {
	enum workload_field_id field;
	bool (*is_broken)(const struct workload *workload);
	const char *why;
};

static bool has_other_stack(const struct workload *workload)
{
	return workload->task != TASK_INFERENCE &&
	       (workload->stack == STACK_TORCHTITAN || workload->stack == STACK_UNSLOTH);
}

static bool trains_absent_encoder(const struct workload *workload)
{
	return workload->train_text_encoder &&
	       (workload->text_encoders_on_cpu || workload->cached_embeddings);
}

static bool offloads_and_spreads(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE &&
	       (workload->context_parallel > 1 || workload->sharding == SHARDING_ZERO3) &&
	       workload->media_offload != MEDIA_OFFLOAD_NONE;
}

static bool takes_engine_apart(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE &&
	       workload->media_engine == MEDIA_ENGINE_TENSORRT &&
	       (workload->media_offload == MEDIA_OFFLOAD_GROUP ||
		workload->media_offload == MEDIA_OFFLOAD_SEQUENTIAL);
}

static bool has_no_heads_to_spread(const struct workload *workload)
{
	const struct media_denoiser *denoiser = &workload->architecture->media->denoiser;

	return workload->task == TASK_INFERENCE && workload->context_parallel > 1 &&
	       (denoiser->unet.levels ||
		denoiser->blocks[0].heads % (int)workload->context_parallel != 0);
}

static bool slices_what_is_fused(const struct workload *workload)
{
	return workload->attention_slicing && workload->fused_attention;
}

static bool shards_states_of_training(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE && workload->sharding != SHARDING_AUTO &&
	       workload->sharding != SHARDING_NONE && workload->sharding != SHARDING_ZERO3;
}

/* diffusers and ComfyUI unpack IQ4_NL and IQ4_XS, but no smaller code books and no ternary weights.
 */
static bool is_unread(int format)
{
	static const enum format unread[] = {
		FORMAT_IQ3_M, FORMAT_IQ3_S, FORMAT_IQ3_XS, FORMAT_IQ3_XXS,
		FORMAT_IQ2_M, FORMAT_IQ2_S, FORMAT_IQ2_XS, FORMAT_IQ2_XXS,
		FORMAT_IQ1_M, FORMAT_IQ1_S, FORMAT_TQ1_0,  FORMAT_TQ2_0,
	};

	for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++)
		if (format == (int)unread[i])
			return true;
	return false;
}

static bool has_unread_weights(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE && is_unread(workload->weight_format);
}

static bool has_unread_encoders(const struct workload *workload)
{
	return is_unread(workload->text_encoder_format);
}

static bool says_length_twice(const struct workload *workload)
{
	return workload_has(workload, WORKLOAD_frames) && workload_has(workload, WORKLOAD_seconds);
}

static bool is_too_long(const struct workload *workload)
{
	return workload_has(workload, WORKLOAD_seconds) &&
	       (double)workload->frames > workload_fields[WORKLOAD_frames].most;
}

static bool is_too_small(const struct workload *workload)
{
	const struct media *media = workload->architecture->media;
	int64_t least = (int64_t)media->vae.spatial * media->denoiser.patch;

	return !(media->sample_rate > 0) && (workload->width < least || workload->height < least);
}

static const struct rule rules[] = {
	{WORKLOAD_stack, has_other_stack,
	 "that stack trains models of tokens: huggingface, deepspeed and megatron train pipelines"},
	{WORKLOAD_train_text_encoder, trains_absent_encoder,
	 "text encoders that are trained are neither left on the CPU nor replaced by a cache"},
	{WORKLOAD_media_offload, offloads_and_spreads,
	 "pipelines that are spread over GPUs keep their weights on them"},
	{WORKLOAD_media_offload, takes_engine_apart,
	 "an engine that is built ahead keeps its weights in one piece: none or model"},
	{WORKLOAD_context_parallel, has_no_heads_to_spread,
	 "sequence parallelism needs a transformer with a multiple of that many heads"},
	{WORKLOAD_attention_slicing, slices_what_is_fused,
	 "fused attention makes no scores that could be sliced: give fused_attention false"},
	{WORKLOAD_sharding, shards_states_of_training,
	 "of inference only the weights can be sharded: auto, none or zero3"},
	{WORKLOAD_weight_format, has_unread_weights,
	 "nothing that runs pipelines reads IQ1, IQ2, IQ3 and TQ types of GGUF: take q4_k_m, "
	 "q3_k_m "
	 "or iq4_xs"},
	{WORKLOAD_text_encoder_format, has_unread_encoders,
	 "nothing that runs pipelines reads IQ1, IQ2, IQ3 and TQ types of GGUF: take q4_k_m, "
	 "q3_k_m "
	 "or iq4_xs"},
	{WORKLOAD_seconds, says_length_twice, "frames already say how long the video is"},
	{WORKLOAD_seconds, is_too_long, "at that rate these are more frames than a video may have"},
	{WORKLOAD_width, is_too_small, "the picture is smaller than one token of its latents"},
};

bool workload_check_media(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];
	bool is_good = true;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].is_broken(workload))
			is_good =
				error_add(error, workload_pointer(prefix, rules[i].field, pointer),
					  "contradiction", NULL, "%s", rules[i].why);
	return is_good;
}
