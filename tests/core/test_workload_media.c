/* Workloads of pipelines: their defaults, and what does not go together. */
#include "core/cost.h"
#include "core/media.h"
#include "core/model.h"
#include "tests/core/blank_workload.h"
#include "tests/suite.h"

static struct workload of(const char *model, enum task task)
{
	struct workload workload = blank(task);

	ck_assert_ptr_nonnull(model_find(model));
	workload.architecture = &model_find(model)->architecture;
	return workload;
}

START_TEST(a_pipeline_is_taken_as_published)
{
	struct workload flux = of("flux", TASK_INFERENCE);
	struct workload wan = of("Wan-AI/Wan2.1-T2V-14B", TASK_INFERENCE);
	struct workload xl = of("sdxl", TASK_INFERENCE);

	ck_assert(workload_complete(&flux, "", &error));
	ck_assert_int_eq(flux.width, 1024);
	ck_assert_int_eq(flux.steps, 28);
	ck_assert_int_eq(flux.guidance_passes, 1);
	ck_assert(!flux.guidance_batched);
	ck_assert_int_eq(flux.mode, SERVING_BATCH);
	ck_assert(workload_complete(&wan, "", &error));
	ck_assert_int_eq(wan.frames, 81);
	ck_assert_double_eq_tol(wan.seconds, 81.0 / 16, 1e-9);
	ck_assert(!wan.guidance_batched);
	ck_assert(workload_complete(&xl, "", &error));
	ck_assert(xl.guidance_batched);
	ck_assert_int_eq(flux.reference_images, 0);
	for (size_t i = 0; i < 2; i++) {
		static const char *const editors[] = {"FLUX.1-Kontext-dev", "Qwen-Image-Edit"};
		struct workload editor = of(editors[i], TASK_INFERENCE);

		ck_assert(workload_complete(&editor, "", &error));
		ck_assert_int_eq(editor.reference_images, 1);
	}
}
END_TEST

/* The decoder works in tiles where the pipeline's own example says so, unless its caller does. */
START_TEST(tiles_are_those_of_the_published_example)
{
	static const struct {
		const char *model;
		bool is_tiled, is_sliced;
	} cases[] = {
		{"hunyuanvideo-community/HunyuanVideo", true, false},
		{"genmo/mochi-1-preview", true, false},
		{"THUDM/CogVideoX-5b", true, true},
		{"Wan-AI/Wan2.1-T2V-14B", false, false},
		{"flux", false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = of(cases[i].model, TASK_INFERENCE), whole = workload;
		struct workload taught = of(cases[i].model, TASK_FINETUNE);

		ck_assert(workload_complete(&workload, "", &error));
		ck_assert_msg(workload.vae_tiling == cases[i].is_tiled, "%s", cases[i].model);
		ck_assert_msg(workload.vae_slicing == cases[i].is_sliced, "%s", cases[i].model);
		ck_assert(!workload_has(&workload, WORKLOAD_vae_tiling));
		GIVE(whole, vae_tiling, false);
		ck_assert(workload_complete(&whole, "", &error));
		ck_assert(!whole.vae_tiling);
		GIVE(taught, method, METHOD_LORA);
		ck_assert(workload_complete(&taught, "", &error));
		ck_assert(!taught.vae_tiling);
	}
}
END_TEST

/* Seconds are frames of the model's own rate, in whole latents: 4 frames each and a first one. */
START_TEST(seconds_are_whole_latents_of_frames)
{
	struct workload five = of("Wan-AI/Wan2.1-T2V-14B", TASK_INFERENCE), rate = five, ten = five;
	struct workload sound = of("stabilityai/stable-audio-open-1.0", TASK_INFERENCE);
	struct media_size size;

	GIVE(five, seconds, 5.0);
	ck_assert(workload_complete(&five, "", &error));
	ck_assert_int_eq(five.frames, 81);
	/* As long as the model's own video by chance: twice that is not. */
	GIVE(ten, seconds, 10.0);
	ck_assert(workload_complete(&ten, "", &error));
	ck_assert_int_eq(ten.frames, 161);
	GIVE(rate, items_per_hour, 10.0);
	ck_assert(workload_complete(&rate, "", &error));
	ck_assert_int_eq(rate.mode, SERVING_INTERACTIVE);
	GIVE(sound, seconds, 10.0);
	ck_assert(workload_complete(&sound, "", &error));
	workload_media_size(&sound, &size);
	ck_assert_double_eq_tol(size.samples, 441000, 1e-6);
}
END_TEST

START_TEST(training_defaults_follow_the_method)
{
	struct workload lora = of("sdxl", TASK_FINETUNE), booth = lora, word = lora;

	GIVE(lora, method, METHOD_LORA);
	GIVE(lora, examples, 500.0);
	GIVE(lora, epochs, 2.0);
	ck_assert(workload_complete(&lora, "", &error));
	ck_assert_double_eq_tol(lora.tokens, 1000, 1e-9);
	ck_assert_int_eq(lora.lora_targets, LORA_ATTENTION);
	GIVE(booth, method, METHOD_DREAMBOOTH);
	ck_assert(workload_complete(&booth, "", &error));
	ck_assert(booth.prior_preservation);
	GIVE(word, method, METHOD_TEXTUAL_INVERSION);
	ck_assert(workload_complete(&word, "", &error));
	ck_assert(word.train_text_encoder);
}
END_TEST

START_TEST(sizes_between_latents_are_told_of)
{
	static const struct {
		const char *model;
		int width, frames;
		const char *pointer, *part;
	} cases[] = {
		{"flux", 1008, 1, NULL, NULL},
		{"flux", 1001, 1, "/w/width", "makes 992"},
		{"sdxl", 1000, 1, NULL, NULL},
		{"Wan-AI/Wan2.1-T2V-14B", 1280, 81, NULL, NULL},
		{"Wan-AI/Wan2.1-T2V-14B", 1280, 80, "/w/frames", "makes 81"},
		{"Wan-AI/Wan2.1-T2V-14B", 1280, 79, "/w/frames", "makes 77"},
		{"tencent/HunyuanVideo", 1280, 80, "/w/frames", "makes 77"},
		{"tencent/HunyuanVideo", 1280, 129, NULL, NULL},
	};
	int whole = 0, pipelines = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = of(cases[i].model, TASK_INFERENCE);

		GIVE(workload, width, cases[i].width);
		if (cases[i].frames > 1)
			GIVE(workload, frames, cases[i].frames);
		error_init(&error, &arena);
		ck_assert(workload_complete(&workload, "/w", &error));
		workload_warn(&workload, "/w", &error);
		ck_assert_msg(!error.first == !cases[i].pointer, "%s", cases[i].model);
		if (!cases[i].pointer)
			continue;
		ck_assert_str_eq(item(cases[i].pointer)->code, "rounded");
		ck_assert_ptr_nonnull(strstr(item(cases[i].pointer)->detail, cases[i].part));
		ck_assert_uint_eq(error.count, 1);
	}
	/* What a model is published for is whole. */
	for (size_t i = 0; i < models_count; i++) {
		const struct media *media = models[i].architecture.media;
		struct workload workload;

		if (!media || media->sample_rate > 0)
			continue;
		workload = of(models[i].id, TASK_INFERENCE);
		GIVE(workload, width, media->width);
		GIVE(workload, height, media->height);
		if (media->frames > 1)
			GIVE(workload, frames, media->frames);
		error_init(&error, &arena);
		ck_assert(workload_complete(&workload, "", &error));
		workload_warn(&workload, "", &error);
		ck_assert_msg(!error.first, "%s", models[i].id);
		whole += media->width % (media->vae.spatial * media->denoiser.patch) == 0;
		pipelines++;
	}
	ck_assert_int_gt(pipelines, 40);
	ck_assert_int_ge(whole, pipelines - 1);
}
END_TEST

/* Figures are those of what is made. */
START_TEST(sizes_between_latents_cost_as_what_is_made)
{
	static const struct {
		const char *model;
		int asked[3], made[3];
	} cases[] = {
		{"flux", {1001, 770, 1}, {992, 768, 1}},
		{"sdxl", {1001, 1024, 1}, {1000, 1024, 1}},
		{"Wan-AI/Wan2.1-T2V-14B", {1290, 720, 80}, {1280, 720, 81}},
		{"tencent/HunyuanVideo", {1280, 727, 100}, {1280, 720, 97}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = of(cases[i].model, TASK_INFERENCE);
		struct media_size size;
		enum cost_unit unit;
		double items;

		GIVE(workload, width, cases[i].asked[0]);
		GIVE(workload, height, cases[i].asked[1]);
		if (cases[i].asked[2] > 1)
			GIVE(workload, frames, cases[i].asked[2]);
		ck_assert(workload_complete(&workload, "", &error));
		workload_media_size(&workload, &size);
		ck_assert_double_eq_tol(size.width, cases[i].made[0], 1e-9);
		ck_assert_double_eq_tol(size.height, cases[i].made[1], 1e-9);
		ck_assert_double_eq_tol(size.frames, cases[i].made[2], 1e-9);
		items = cost_unit_tokens(&workload, &unit);
		if (cases[i].asked[2] > 1)
			ck_assert_double_eq_tol(items, 60 * workload.fps / cases[i].made[2], 1e-9);
	}
}
END_TEST

START_TEST(what_does_not_go_together_is_named)
{
	static const struct {
		const char *model;
		enum task task;
		enum workload_field_id field;
		int value;
		enum workload_field_id other; /* given beside it, or the same */
		int other_value;
		const char *pointer, *code;
	} cases[] = {
		{"sdxl", TASK_INFERENCE, WORKLOAD_context_parallel, 2, WORKLOAD_context_parallel, 2,
		 "/workload/context_parallel", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_context_parallel, 5, WORKLOAD_context_parallel, 5,
		 "/workload/context_parallel", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_context_parallel, 4, WORKLOAD_media_offload,
		 MEDIA_OFFLOAD_MODEL, "/workload/media_offload", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_sharding, SHARDING_ZERO3, WORKLOAD_media_offload,
		 MEDIA_OFFLOAD_MODEL, "/workload/media_offload", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_media_engine, MEDIA_ENGINE_TENSORRT,
		 WORKLOAD_media_offload, MEDIA_OFFLOAD_GROUP, "/workload/media_offload",
		 "contradiction"},
		{"Wan-AI/Wan2.1-T2V-14B", TASK_INFERENCE, WORKLOAD_seconds, 100000, WORKLOAD_fps,
		 1000, "/workload/seconds", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_frames, 20, WORKLOAD_frames, 20,
		 "/workload/frames", "not_applicable"},
		{"stabilityai/stable-audio-open-1.0", TASK_INFERENCE, WORKLOAD_width, 512,
		 WORKLOAD_width, 512, "/workload/width", "not_applicable"},
		{"flux", TASK_INFERENCE, WORKLOAD_width, 16, WORKLOAD_height, 8, "/workload/height",
		 "out_of_range"},
		{"flux", TASK_INFERENCE, WORKLOAD_sharding, SHARDING_ZERO2, WORKLOAD_sharding,
		 SHARDING_ZERO2, "/workload/sharding", "contradiction"},
		{"flux", TASK_PRETRAIN, WORKLOAD_stack, STACK_TORCHTITAN, WORKLOAD_stack,
		 STACK_TORCHTITAN, "/workload/stack", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_weight_format, FORMAT_IQ3_S,
		 WORKLOAD_weight_format, FORMAT_IQ3_S, "/workload/weight_format", "contradiction"},
		{"flux", TASK_INFERENCE, WORKLOAD_weight_format, FORMAT_BF16,
		 WORKLOAD_text_encoder_format, FORMAT_TQ1_0, "/workload/text_encoder_format",
		 "contradiction"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = of(cases[i].model, cases[i].task);
		const enum workload_field_id fields[] = {cases[i].field, cases[i].other};
		const int values[] = {cases[i].value, cases[i].other_value};

		for (int k = 0; k < 2; k++) {
			char *member = (char *)&workload + workload_fields[fields[k]].offset;

			if (workload_fields[fields[k]].kind == FIELD_COUNT)
				*(int64_t *)(void *)member = values[k];
			else if (workload_fields[fields[k]].kind == FIELD_NUMBER)
				*(double *)(void *)member = values[k];
			else
				*(int *)(void *)member = values[k];
			workload.given |= WORKLOAD_BIT(fields[k]);
		}
		error_init(&error, &arena);
		expect_fault(&workload, cases[i].pointer, cases[i].code);
	}
}
END_TEST

/* Of GGUF, what diffusers unpacks. */
START_TEST(formats_that_pipelines_read_are_taken)
{
	static const enum format formats[] = {FORMAT_Q8_0, FORMAT_Q4_K_M, FORMAT_Q2_K,
					      FORMAT_IQ4_NL, FORMAT_IQ4_XS};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct workload workload = of("flux", TASK_INFERENCE);

		GIVE(workload, weight_format, (int)formats[i]);
		ck_assert(workload_complete(&workload, "", &error));
	}
}
END_TEST

START_TEST(frames_and_seconds_say_the_same)
{
	struct workload workload = of("Wan-AI/Wan2.1-T2V-14B", TASK_INFERENCE);

	GIVE(workload, frames, 81);
	GIVE(workload, seconds, 5.0);
	expect_fault(&workload, "/workload/seconds", "contradiction");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workload_media");
	TCase *tests = tcase_create("workload_media");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, a_pipeline_is_taken_as_published);
	tcase_add_test(tests, tiles_are_those_of_the_published_example);
	tcase_add_test(tests, seconds_are_whole_latents_of_frames);
	tcase_add_test(tests, training_defaults_follow_the_method);
	tcase_add_test(tests, sizes_between_latents_are_told_of);
	tcase_add_test(tests, sizes_between_latents_cost_as_what_is_made);
	tcase_add_test(tests, what_does_not_go_together_is_named);
	tcase_add_test(tests, formats_that_pipelines_read_are_taken);
	tcase_add_test(tests, frames_and_seconds_say_the_same);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
