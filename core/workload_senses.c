/*
 * What a model of tokens sees, hears and says: pictures and sound to tokens of the prompt, to work
 * of a tower and to steps of the decoder. See picture.h and sound.h for the models' side.
 *
 * A request to a model that hears in windows it decodes apart (Whisper) comes to several passes;
 * prompt_tokens and output_tokens are then those of one window.
 */
#include "core/workload_parts.h"

#include <math.h>
#include <stddef.h>

#define FILL(field, value)                                                                         \
	do {                                                                                       \
		if (!workload_has(workload, WORKLOAD_##field))                                     \
			workload->field = (value);                                                 \
	} while (0)

/*
 * Tokens of text for a second of speech: MLPerf Inference v5.1 counts 74.9 tokens that Whisper puts
 * out for a sample of LibriSpeech's development sets, of which 10.7 hours make 1,633 samples
 * of 23.6 s; its 960 hours have 9.4 million words, 2.7 a second.
 */
#define SPOKEN_TOKENS_PER_SECOND 3.2

/* A window of Whisper's kind, and a clip as generators' pages make them. */
#define HEARD_SECONDS 30.0
#define SPOKEN_SECONDS 10.0
/* Of text around a clip of sound or a picture: an instruction. */
#define INSTRUCTION_TOKENS 64
#define IMAGE_PIXELS 1024

static const struct sound *sound_of(const struct workload *workload)
{
	return &workload->architecture->sound;
}

bool workload_hears(const struct workload *workload)
{
	return sound_of(workload)->heard_positions > 0;
}

bool workload_speaks(const struct workload *workload)
{
	return sound_of(workload)->spoken_steps > 0;
}

bool workload_listens(const struct workload *workload)
{
	return workload_hears(workload) && !(sound_of(workload)->heard_tokens > 0);
}

bool workload_may_split(const struct workload *workload)
{
	if (workload->task != TASK_INFERENCE)
		return true;
	return workload->engine != ENGINE_CTRANSLATE2 &&
	       !(workload->engine == ENGINE_LLAMA_CPP && workload_listens(workload)) &&
	       !(workload->engine == ENGINE_TRANSFORMERS && workload_speaks(workload));
}

double workload_sound_seconds(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE &&
			       (workload_hears(workload) || workload_speaks(workload))
		       ? workload->seconds
		       : 0;
}

static bool is_of_sound(enum workload_field_id field)
{
	return field == WORKLOAD_seconds || field == WORKLOAD_audio_hours;
}

static bool is_of_sight(enum workload_field_id field)
{
	return field == WORKLOAD_images_per_request || field == WORKLOAD_width ||
	       field == WORKLOAD_height || field == WORKLOAD_frames;
}

bool workload_takes_sense(const struct workload *workload, enum workload_field_id field)
{
	struct picture picture;

	if (workload->architecture->media)
		return true;
	if (is_of_sound(field))
		return workload_hears(workload) || workload_speaks(workload);
	if (is_of_sight(field))
		return architecture_picture(workload->architecture, &picture);
	if (field == WORKLOAD_beams)
		return architecture_has_source(workload->architecture);
	/* The seconds decide. */
	return field != WORKLOAD_prompt_tokens || !workload_listens(workload);
}

const char *workload_why_no_sense(enum workload_field_id field)
{
	if (is_of_sound(field))
		return "is for models of sound and video";
	if (is_of_sight(field))
		return "is for models that see pictures by a rule that is known";
	if (field == WORKLOAD_beams)
		return "is for models with an encoder and a decoder";
	return field == WORKLOAD_prompt_tokens ? "follows from seconds: this model reads sound"
					       : NULL;
}

/* Seconds as the model takes them: padded to whole windows. */
static double padded(const struct sound *sound, double seconds)
{
	return sound->window_seconds > 0
		       ? ceil(seconds / sound->window_seconds - 1e-9) * sound->window_seconds
		       : seconds;
}

static double steps_of(const struct sound *sound, double seconds)
{
	return ceil(sound->spoken_steps * seconds) + fmax(0, sound->codebooks - 1);
}

/* What is said decides how long it takes, or the other way round. */
static void fill_speech(struct workload *workload)
{
	const struct sound *sound = sound_of(workload);
	double least = fmax(0, sound->codebooks - 1);

	if (workload_has(workload, WORKLOAD_output_tokens))
		FILL(seconds,
		     fmax(0.01, ((double)workload->output_tokens - least) / sound->spoken_steps));
	FILL(seconds, SPOKEN_SECONDS);
	FILL(output_tokens, (int64_t)steps_of(sound, workload->seconds));
	FILL(prompt_tokens,
	     (int64_t)fmax(INSTRUCTION_TOKENS, SPOKEN_TOKENS_PER_SECOND * workload->seconds));
}

static void fill_hearing(struct workload *workload)
{
	const struct sound *sound = sound_of(workload);
	double window = sound->window_seconds, heard;

	FILL(seconds, HEARD_SECONDS);
	if (!workload_listens(workload)) {
		FILL(prompt_tokens, INSTRUCTION_TOKENS);
		FILL(output_tokens,
		     (int64_t)fmax(1, ceil(SPOKEN_TOKENS_PER_SECOND * workload->seconds)));
		return;
	}
	heard = window > 0 ? fmin(window, workload->seconds) : workload->seconds;
	workload->prompt_tokens = (int64_t)fmax(
		1, ceil(sound->heard_positions * (window > 0 ? window : workload->seconds)));
	if (!workload_only_reads(workload))
		FILL(output_tokens, (int64_t)fmax(1, ceil(SPOKEN_TOKENS_PER_SECOND * heard)));
}

static void fill_sight(struct workload *workload)
{
	bool is_asked =
		workload_has(workload, WORKLOAD_width) || workload_has(workload, WORKLOAD_height);
	bool is_video = workload_has(workload, WORKLOAD_frames);

	FILL(images_per_request, is_asked && !is_video ? 1 : 0);
	if (workload->images_per_request > 0 || is_video) {
		FILL(width,
		     workload_has(workload, WORKLOAD_height) ? workload->height : IMAGE_PIXELS);
		FILL(height, workload->width);
	}
}

void workload_fill_senses(struct workload *workload)
{
	struct picture picture;

	if (workload_speaks(workload))
		fill_speech(workload);
	else if (workload_hears(workload))
		fill_hearing(workload);
	if (architecture_picture(workload->architecture, &picture))
		fill_sight(workload);
	FILL(beams, 1);
	if (workload_has(workload, WORKLOAD_audio_hours) && workload->seconds > 0)
		FILL(requests, workload->audio_hours * 3600 / workload->seconds);
}

/* Images and one video, each by the model's rule. */
static void see(struct workload *workload)
{
	double width = (double)workload->width, height = (double)workload->height;
	struct picture_need need;
	struct picture picture;

	if (!architecture_picture(workload->architecture, &picture))
		return;
	if (workload->images_per_request > 0) {
		need = picture_of_image(&picture, width, height);
		workload->media_tokens += (double)workload->images_per_request * need.tokens;
		workload->tower_patches += (double)workload->images_per_request * need.patches;
		workload->tower_span = need.span;
	}
	if (workload->frames > 0) {
		need = picture_of_video(&picture, width, height, (double)workload->frames);
		workload->media_tokens += need.tokens;
		workload->tower_patches += need.patches;
		workload->tower_span = fmax(workload->tower_span, need.span);
	}
}

static void hear(struct workload *workload)
{
	const struct sound *sound = sound_of(workload);
	double seconds = padded(sound, workload->seconds);

	if (workload_listens(workload)) {
		if (sound->window_seconds > 0)
			workload->passes = seconds / sound->window_seconds;
		return;
	}
	workload->media_tokens = ceil(sound->heard_tokens * seconds);
	workload->tower_patches = sound->heard_positions * seconds;
	workload->tower_span =
		sound->heard_positions *
		fmin(seconds, sound->window_seconds > 0 ? sound->window_seconds : seconds);
}

void workload_derive_senses(struct workload *workload)
{
	workload->media_tokens = workload->tower_patches = workload->tower_span = 0;
	workload->passes = 1;
	workload->copies = fmax(1, fmax((double)workload->beams, sound_of(workload)->guided));
	if (workload_hears(workload))
		hear(workload);
	else
		see(workload);
	workload->prompt = (double)workload->prompt_tokens + workload->media_tokens;
}

/* Whisper's windows have one length; a transcript is a quarter of what its decoder can hold, as
 * targets of text are of their source. Generators learn whole clips from a line of text. */
struct sound_lengths workload_sound_lengths(const struct workload *workload)
{
	const struct sound *sound = sound_of(workload);
	int context = workload->architecture->max_context;
	double window = sound->window_seconds > 0 ? sound->window_seconds : HEARD_SECONDS;

	if (workload_listens(workload))
		return (struct sound_lengths){(int64_t)ceil(sound->heard_positions * window),
					      context / 4};
	if (workload_speaks(workload) && architecture_has_source(workload->architecture))
		return (struct sound_lengths){INSTRUCTION_TOKENS, context};
	return (struct sound_lengths){0, 0};
}
