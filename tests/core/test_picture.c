/* Pictures: tokens of images and videos as the models' own pages and processors count them. */
#include "core/model.h"
#include "core/picture.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

/* Qwen's, InternVL's and MiniCPM-V's by their published functions worked by hand; MiniCPM-V's page
 * (640 tokens for 1.8 million pixels), Phi-3-vision's (2509 at 1344 x 1344) and Pixtral's (a break
 * behind each row) say theirs. */
static const struct {
	const char *type;
	double width, height, tokens;
} images[] = {
	{"qwen2_5_vl", 1920, 1080, 69 * 39},
	{"qwen2_5_vl", 28, 28, 4}, /* never below 3136 pixels */
	{"qwen2_vl", 8000, 8000, 128 * 128},
	{"qwen3_vl", 1920, 1080, 60 * 34},
	{"kimi_vl", 1920, 1080, 42 * 24},
	{"pixtral", 1024, 1024, 64 * 64 + 64},
	{"pixtral", 2048, 1024, 64 * 32 + 32},
	{"mistral3", 1540, 1540, 55 * 55 + 55},
	{"llava", 1920, 1080, 576},
	{"llava_next", 672, 672, 576 + 48 * 48 + 48},
	{"llava_next", 1344, 672, 576 + 48 * 24 + 24},
	{"gemma3", 4000, 3000, 256},
	{"internvl_chat", 448, 448, 256},
	{"internvl_chat", 1920, 1080, 9 * 256},
	{"minicpmv", 1344, 1344, 640},
	{"minicpmv", 448, 448, 64},
	{"phi3_v", 1344, 1344, 2509},
	{"idefics2", 1920, 1080, 320},
	{"idefics3", 1456, 1456, 17 * 169},
	{"lfm2_vl", 512, 512, 256},
	{"mllama", 1120, 1120, 0}, /* attended to, not in the prompt */
};

START_TEST(images_take_the_tokens_that_are_published)
{
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		const struct picture *picture = picture_find(images[i].type);
		struct picture_need need;

		ck_assert_msg(picture != NULL, "%s", images[i].type);
		need = picture_of_image(picture, images[i].width, images[i].height);
		ck_assert_msg(fabs(need.tokens - images[i].tokens) < 0.5,
			      "%s at %g x %g: %g tokens, not %g", images[i].type, images[i].width,
			      images[i].height, need.tokens, images[i].tokens);
		ck_assert_msg(need.patches >= need.tokens / 2 && need.span <= need.patches, "%s",
			      images[i].type);
	}
}
END_TEST

START_TEST(a_tower_sees_more_patches_than_the_text_sees_tokens)
{
	struct picture_need need = picture_of_image(picture_find("qwen2_5_vl"), 1932, 1092);

	ck_assert_double_eq_tol(need.patches, 138 * 78, 0.5);
	need = picture_of_image(picture_find("gemma3"), 800, 600);
	ck_assert_double_eq_tol(need.patches, 64 * 64, 0.5);
	need = picture_of_image(picture_find("mllama"), 1120, 1120);
	ck_assert_double_eq_tol(need.patches, 4 * 40 * 40, 0.5);
}
END_TEST

START_TEST(frames_of_a_video_are_smaller_and_merge)
{
	const struct picture *qwen = picture_find("qwen2_5_vl");
	double one = picture_of_video(qwen, 1920, 1080, 2).tokens;

	/* 602,112 pixels at most: 36 x 20 tokens of 28 x 28. */
	ck_assert_double_eq_tol(one, 36 * 20, 0.5);
	ck_assert_double_eq_tol(picture_of_video(qwen, 1920, 1080, 60).tokens, 30 * one, 0.5);
	ck_assert_double_eq_tol(
		picture_of_video(picture_find("llava_onevision"), 640, 360, 10).tokens, 10 * 196,
		0.5);
	ck_assert_double_eq_tol(
		picture_of_video(picture_find("internvl_chat"), 1920, 1080, 8).tokens, 8 * 256,
		0.5);
}
END_TEST

START_TEST(more_pixels_never_take_fewer_tokens)
{
	static const char *const types[] = {"qwen2_vl", "qwen3_vl", "glm4v",	"kimi_vl",
					    "pixtral",	"mistral3", "minicpmv", "gemma3"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		double before = 0;

		for (double side = 112; side <= 8192; side *= 2) {
			double tokens = picture_of_image(picture_find(types[i]), side, side).tokens;

			ck_assert_msg(tokens >= before, "%s at %g", types[i], side);
			before = tokens;
		}
	}
}
END_TEST

/* All that the registry has, but for MiniMax-M3's, of whose processor nothing is known. */
START_TEST(every_model_that_sees_has_a_rule)
{
	struct picture llama;
	size_t found = 0;

	for (size_t i = 0; i < models_count; i++) {
		struct picture picture;

		if (models[i].architecture.modality != MODALITY_VISION_TEXT ||
		    strcmp(models[i].architecture.family, "minimax_m3") == 0)
			continue;
		ck_assert_msg(architecture_picture(&models[i].architecture, &picture), "%s",
			      models[i].id);
		found++;
	}
	ck_assert_uint_ge(found, 60);
	ck_assert(architecture_picture(
		&model_find("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic")->architecture,
		&llama));
	ck_assert_int_eq(llama.tile_tokens, 144);
	ck_assert_ptr_null(picture_find("llama"));
	ck_assert_ptr_null(picture_find(""));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("picture");
	TCase *tests = tcase_create("picture");

	tcase_add_test(tests, images_take_the_tokens_that_are_published);
	tcase_add_test(tests, a_tower_sees_more_patches_than_the_text_sees_tokens);
	tcase_add_test(tests, frames_of_a_video_are_smaller_and_merge);
	tcase_add_test(tests, more_pixels_never_take_fewer_tokens);
	tcase_add_test(tests, every_model_that_sees_has_a_rule);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
