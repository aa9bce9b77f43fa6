/* Pasted configurations of models that hear, speak and see: what their files say of it. */
#include "tests/core/pasted.h"

#include "tests/suite.h"

#include <math.h>

#define AUDIO_TOWER                                                                                \
	"\"audio_config\":{\"d_model\":1280,\"hidden_size\":1280,\"encoder_layers\":32,"           \
	"\"num_hidden_layers\":32,\"encoder_ffn_dim\":5120,\"intermediate_size\":5120}"

static const struct {
	const char *text;
	double positions, tokens, window, steps;
	int codebooks, guided;
} sounds[] = {
	{"{\"model_type\":\"whisper\"}", 50, 0, 30, 0, 0, 0},
	{"{\"model_type\":\"whisper\",\"max_source_positions\":500}", 50, 0, 10, 0, 0, 0},
	{"{\"model_type\":\"wav2vec2\"}", 50, 0, 0, 0, 0, 0},
	{"{\"model_type\":\"hubert\"}", 50, 0, 0, 0, 0, 0},
	{"{\"model_type\":\"voxtral\",\"text_config\":{\"model_type\":\"llama\"}," AUDIO_TOWER "}",
	 50, 12.5, 30, 0, 0, 0},
	{"{\"model_type\":\"qwen2_audio\",\"text_config\":{\"model_type\":\"qwen2\"}," AUDIO_TOWER
	 "}",
	 50, 25, 30, 0, 0, 0},
	{"{\"model_type\":\"musicgen\",\"decoder\":{\"num_codebooks\":4},\"audio_encoder\":{"
	 "\"model_type\":\"encodec\",\"sampling_rate\":32000,\"upsampling_ratios\":[8,5,4,4]}}",
	 0, 0, 0, 50, 4, 2},
	{"{\"model_type\":\"parler_tts\",\"decoder\":{\"model_type\":\"parler_tts_decoder\","
	 "\"num_codebooks\":9,\"vocab_size\":1088},\"audio_encoder\":{\"model_type\":\"dac\","
	 "\"frame_rate\":86}}",
	 0, 0, 0, 86, 9, 1},
	{"{\"model_type\":\"dia\"}", 0, 0, 0, 44100.0 / 512, 9, 2},
	{"{\"model_type\":\"bark\"}", 0, 0, 0, 99.95, 0, 0},
};

START_TEST(files_say_how_sound_becomes_tokens)
{
	for (size_t i = 0; i < sizeof(sounds) / sizeof(sounds[0]); i++) {
		struct architecture architecture;
		const struct sound *sound = &architecture.sound;

		error_init(&error, &arena);
		ck_assert_msg(read_text(sounds[i].text, &architecture), "%s: %s", sounds[i].text,
			      error.first ? error.first->pointer : error.detail);
		ck_assert_msg(architecture.modality == MODALITY_AUDIO, "%s", sounds[i].text);
		ck_assert_msg(fabs(sound->heard_positions - sounds[i].positions) < 1e-9 &&
				      fabs(sound->heard_tokens - sounds[i].tokens) < 1e-9 &&
				      fabs(sound->window_seconds - sounds[i].window) < 1e-9 &&
				      fabs(sound->spoken_steps - sounds[i].steps) < 1e-9 &&
				      sound->codebooks == sounds[i].codebooks &&
				      sound->guided == sounds[i].guided,
			      "%s: %g %g %g %g %d %d", sounds[i].text, sound->heard_positions,
			      sound->heard_tokens, sound->window_seconds, sound->spoken_steps,
			      sound->codebooks, sound->guided);
	}
}
END_TEST

/* The family's rule with the file's sizes, for one image of so many pixels. */
static const struct {
	const char *text;
	double width, height, tokens;
} pictures[] = {
	{"{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"mistral\"},\"vision_config\":"
	 "{"
	 "\"model_type\":\"pixtral\",\"hidden_size\":1024,\"num_hidden_layers\":24,"
	 "\"intermediate_size\":4096,\"image_size\":1024,\"patch_size\":16}}",
	 1024, 512, 64 * 32 + 32},
	{"{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"llama\"},\"vision_config\":{"
	 "\"model_type\":\"clip_vision_model\",\"hidden_size\":1024,\"num_hidden_layers\":24,"
	 "\"intermediate_size\":4096,\"image_size\":224,\"patch_size\":14}}",
	 1920, 1080, 256},
	{"{\"model_type\":\"internvl_chat\",\"max_dynamic_patch\":2,\"force_image_size\":448,"
	 "\"downsample_ratio\":0.5,\"llm_config\":{\"model_type\":\"qwen2\"},\"vision_config\":{"
	 "\"model_type\":\"intern_vit_6b\",\"hidden_size\":1024,\"num_hidden_layers\":24,"
	 "\"intermediate_size\":4096,\"image_size\":448,\"patch_size\":14}}",
	 1920, 1080, 3 * 256},
	{"{\"model_type\":\"qwen2_vl\",\"vision_config\":{\"depth\":32,\"embed_dim\":1280,"
	 "\"patch_size\":14,\"spatial_merge_size\":2}}",
	 280, 560, 200},
};

START_TEST(files_say_how_pictures_become_tokens)
{
	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
		struct architecture architecture;
		struct picture picture;
		double tokens;

		error_init(&error, &arena);
		ck_assert_msg(read_text(pictures[i].text, &architecture), "%s: %s",
			      pictures[i].text, error.detail);
		ck_assert_msg(architecture_picture(&architecture, &picture), "%s",
			      pictures[i].text);
		tokens = picture_of_image(&picture, pictures[i].width, pictures[i].height).tokens;
		ck_assert_msg(fabs(tokens - pictures[i].tokens) < 0.5, "%s: %g", pictures[i].text,
			      tokens);
	}
}
END_TEST

/* None of these is a model, and none may do more harm than to be refused or sized as it is. */
START_TEST(odd_files_do_no_harm)
{
	static const char *const texts[] = {
		"{\"model_type\":\"musicgen\",\"decoder\":{\"num_codebooks\":100000}}",
		"{\"model_type\":\"musicgen\",\"decoder\":{},\"text_encoder\":{\"num_layers\":1e9},"
		"\"audio_encoder\":{\"model_type\":\"encodec\",\"num_filters\":200000,"
		"\"upsampling_ratios\":[1e9,\"x\",null,-1,2,2,2,2,2,2,2]}}",
		"{\"model_type\":\"musicgen\",\"decoder\":[],\"audio_encoder\":7}",
		"{\"model_type\":\"bark\",\"fine_acoustics_config\":{\"n_codes_given\":9}}",
		"{\"model_type\":\"bark\",\"coarse_acoustics_config\":{\"num_layers\":100000}}",
		"{\"model_type\":\"wav2vec2\",\"num_conv_pos_embedding_groups\":0}",
		"{\"model_type\":\"wav2vec2\",\"conv_dim\":[]}",
		"{\"model_type\":\"whisper\",\"max_source_positions\":0}",
		"{\"model_type\":\"parler_tts\"}",
		"{\"model_type\":\"musicgen\",\"decoder\":{},\"audio_encoder\":{\"model_type\":"
		"\"encodec\",\"sampling_rate\":1e-300,\"target_bandwidths\":[1e300]}}",
		"{\"model_type\":\"parler_tts\",\"decoder\":{},\"audio_encoder\":{\"frame_rate\":"
		"1e300}}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct architecture architecture;
		const char *reason;

		error_init(&error, &arena);
		if (read_text(texts[i], &architecture))
			ck_assert_msg(architecture_check(&architecture, &reason), "%s", texts[i]);
		else
			ck_assert_msg(error.detail[0] || error.first, "%s", texts[i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hf_config_sound");
	TCase *tests = tcase_create("hf_config_sound");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, files_say_how_sound_becomes_tokens);
	tcase_add_test(tests, files_say_how_pictures_become_tokens);
	tcase_add_test(tests, odd_files_do_no_harm);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
