/* The table of models, against published counts, and how one is found. */
#include "core/media.h"
#include "core/model.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

START_TEST(rows_are_in_order_and_unique)
{
	ck_assert_uint_ge(models_count, 420);
	for (size_t i = 1; i < models_count; i++)
		ck_assert_msg(strcasecmp(models[i - 1].id, models[i].id) < 0, "%s before %s",
			      models[i - 1].id, models[i].id);
}
END_TEST

START_TEST(every_row_is_found_by_id_and_alias)
{
	for (size_t i = 0; i < models_count; i++) {
		char names[1024], *rest = names, *name;

		ck_assert_ptr_eq(model_find(models[i].id), &models[i]);
		snprintf(names, sizeof(names), "%s", models[i].aliases ? models[i].aliases : "");
		while ((name = strsep(&rest, ";")))
			if (*name)
				ck_assert_msg(model_find(name) == &models[i], "%s of %s", name,
					      models[i].id);
	}
}
END_TEST

START_TEST(an_instruct_version_keeps_its_own_weights)
{
	static const char *const cases[][2] = {
		{"Qwen/Qwen2.5-32B-Instruct", "Qwen/Qwen2.5-32B-Instruct"},
		{"QWEN/qwen2.5-32b-instruct", "Qwen/Qwen2.5-32B-Instruct"},
		{"Qwen/Qwen2.5-32B", "Qwen/Qwen2.5-32B"},
		{"qwen2.5-32b", "Qwen/Qwen2.5-32B"},
		{"qwen3:32b", "Qwen/Qwen3-32B"}, /* of another registry: no place to load from */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct model *model = model_find(cases[i][0]);

		ck_assert_msg(model != NULL, "%s", cases[i][0]);
		ck_assert_str_eq(model_checkpoint(model, cases[i][0]), cases[i][1]);
	}
}
END_TEST

START_TEST(letter_case_does_not_matter)
{
	const struct model *model = model_find("meta-llama/Llama-3.1-70B");

	ck_assert_ptr_nonnull(model);
	ck_assert_ptr_eq(model_find("META-LLAMA/llama-3.1-70b"), model);
	ck_assert_ptr_eq(model_find("meta-llama/llama-3.1-70b-instruct"), model);
	ck_assert_ptr_eq(model_find("llama-3.1-70b"), model);
	ck_assert_ptr_eq(model_find("wan2.1-t2v-14b"), model_find("Wan-AI/Wan2.1-T2V-14B"));
	ck_assert_ptr_nonnull(model_find("wan2.1-t2v-14b"));
	ck_assert_ptr_null(model_find("llama-9-70b"));
	ck_assert_ptr_null(model_find(""));
}
END_TEST

/* Distilled and resized checkpoints have the weights of others, and not what is asked of them. */
START_TEST(a_distilled_checkpoint_is_asked_for_few_steps)
{
	static const struct {
		const char *id;
		int width, frames, steps, passes;
	} cases[] = {
		{"sd3.5-large", 1024, 1, 28, 2},
		{"stabilityai/stable-diffusion-3.5-large-turbo", 1024, 1, 4, 1},
		{"black-forest-labs/FLUX.2-klein-base-4B", 1024, 1, 50, 2},
		{"black-forest-labs/FLUX.2-klein-4B", 1024, 1, 4, 1},
		{"flux-schnell", 1024, 1, 4, 1},
		{"Wan-AI/Wan2.1-I2V-14B-480P", 832, 81, 40, 2},
		{"Wan-AI/Wan2.1-I2V-14B-720P", 1280, 81, 40, 2},
		{"Skywork/SkyReels-V2-T2V-14B-540P", 960, 97, 50, 2},
		{"stabilityai/stable-diffusion-2-base", 512, 1, 50, 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct model *model = model_find(cases[i].id);
		const struct media *media = model ? model->architecture.media : NULL;

		ck_assert_msg(media, "%s", cases[i].id);
		ck_assert_int_eq(media->width, cases[i].width);
		ck_assert_int_eq(media->frames, cases[i].frames);
		ck_assert_int_eq(media->steps, cases[i].steps);
		ck_assert_int_eq(media->guidance_passes, cases[i].passes);
	}
}
END_TEST

START_TEST(every_row_says_where_it_is_from)
{
	for (size_t i = 0; i < models_count; i++) {
		ck_assert_msg(models[i].source && *models[i].source, "%s", models[i].id);
		ck_assert_msg(strcmp(models[i].confidence, "A") == 0 ||
				      strcmp(models[i].confidence, "B") == 0,
			      "%s", models[i].id);
		ck_assert_msg(models[i].published_parameters > 0, "%s", models[i].id);
	}
}
END_TEST

/*
 * Rows whose published total counts something else than what is loaded, with the share.
 * - gte-Qwen2-7B: the checkpoint holds an output head of 543499264 weights that embedding never
 * loads.
 * - bge-reranker: counted with a pooler of 1049600 in place of its classification head of 1050625.
 */
static double allowed(const char *id)
{
	if (strcmp(id, "Alibaba-NLP/gte-Qwen2-7B-instruct") == 0)
		return 0.072;
	return strcmp(id, "BAAI/bge-reranker-v2-m3") == 0 ? 0.002 : 0;
}

START_TEST(totals_match_the_published_ones)
{
	size_t exact = 0;

	for (size_t i = 0; i < models_count; i++) {
		struct parameter_count count;
		double published = (double)models[i].published_parameters, error;
		const char *reason;

		ck_assert_msg(architecture_check(&models[i].architecture, &reason), "%s: %s",
			      models[i].id, reason);
		architecture_count(&models[i].architecture, &count);
		/* Where the tower's own count is not published the total is the text model's. */
		if (count.total == models[i].published_parameters ||
		    count.total - count.tower == models[i].published_parameters) {
			exact++;
			continue;
		}
		error = (double)count.total / published - 1;
		ck_assert_msg(error < allowed(models[i].id) && -error < allowed(models[i].id),
			      "%s: %lu computed, %lu published", models[i].id,
			      (unsigned long)count.total,
			      (unsigned long)models[i].published_parameters);
	}
	ck_assert_uint_eq(exact, models_count - 2);
}
END_TEST

/* Whole models: what the table counts in all, towers with it. */
START_TEST(audio_models_are_counted_with_their_towers)
{
	size_t found = 0;

	for (size_t i = 0; i < models_count; i++) {
		struct parameter_count count;

		if (models[i].architecture.modality != MODALITY_AUDIO)
			continue;
		found++;
		architecture_count(&models[i].architecture, &count);
		ck_assert_msg(count.total == models[i].published_parameters,
			      "%s: %lu computed, %lu published", models[i].id,
			      (unsigned long)count.total,
			      (unsigned long)models[i].published_parameters);
	}
	ck_assert_uint_eq(found, 21);
}
END_TEST

START_TEST(near_ids_are_suggested_best_first)
{
	const char *near[3];
	size_t count = model_nearest("meta-lama/Llama-3.1-8B", near, 3);

	ck_assert_uint_eq(count, 3);
	ck_assert_str_eq(near[0], "meta-llama/Llama-3.1-8B");
	count = model_nearest("qwen3-8b-instruct", near, 1);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(near[0], "Qwen/Qwen3-8B");
	ck_assert_uint_eq(model_nearest("zzzzzzzzzzzzzzzzzzzzzz", near, 3), 0);
	ck_assert_uint_eq(model_nearest("meta-llama/Llama-3.1-8B", near, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model");
	TCase *tests = tcase_create("model");

	tcase_add_test(tests, rows_are_in_order_and_unique);
	tcase_add_test(tests, every_row_is_found_by_id_and_alias);
	tcase_add_test(tests, an_instruct_version_keeps_its_own_weights);
	tcase_add_test(tests, letter_case_does_not_matter);
	tcase_add_test(tests, a_distilled_checkpoint_is_asked_for_few_steps);
	tcase_add_test(tests, every_row_says_where_it_is_from);
	tcase_add_test(tests, totals_match_the_published_ones);
	tcase_add_test(tests, audio_models_are_counted_with_their_towers);
	tcase_add_test(tests, near_ids_are_suggested_best_first);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
