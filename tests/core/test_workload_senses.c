/* What models of tokens see, hear and say: tokens, windows, memory and time of it, by hand. */
#include "core/cost.h"
#include "core/memory.h"
#include "core/speed.h"
#include "tests/core/blank_workload.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>

#define WHISPER "openai/whisper-large-v3"
#define MUSICGEN "facebook/musicgen-large"
#define QWEN_VL "Qwen/Qwen2.5-VL-7B-Instruct"

static void ck_near(double value, double expected)
{
	ck_assert_double_eq_tol(value, expected, 1e-6 * fabs(expected) + 1e-9);
}

START_TEST(speech_is_read_in_windows_of_thirty_seconds)
{
	struct workload workload = market_workload(WHISPER, "task=inference");

	ck_near(workload.seconds, 30);
	ck_near(workload.prompt, 1500);
	ck_assert_int_eq(workload.output_tokens, 96);
	ck_near(workload.passes, 1);
	/* A short clip is padded, a long one cut. */
	workload = market_workload(WHISPER, "task=inference seconds=10");
	ck_near(workload.prompt, 1500);
	ck_assert_int_eq(workload.output_tokens, 32);
	ck_near(workload.passes, 1);
	workload = market_workload(WHISPER, "task=inference seconds=1810");
	ck_near(workload.passes, 61);
	ck_assert_int_eq(workload.output_tokens, 96);
	ck_near(workload.media_tokens, 0);
}
END_TEST

START_TEST(hours_of_sound_are_requests)
{
	struct workload workload =
		market_workload(WHISPER, "task=inference mode=batch seconds=90 audio_hours=10");

	ck_near(workload.requests, 400);
	workload = market_workload(WHISPER, "task=inference mode=batch audio_hours=10");
	ck_near(workload.requests, 1200);
}
END_TEST

START_TEST(a_language_model_that_hears_has_sound_in_its_prompt)
{
	struct workload workload =
		market_workload("mistralai/Voxtral-Mini-3B-2507", "task=inference seconds=31");

	/* 375 tokens a window, two of them. */
	ck_near(workload.media_tokens, 750);
	ck_near(workload.prompt, 750 + 64);
	ck_near(workload.tower_patches, 3000);
	ck_near(workload.tower_span, 1500);
	ck_near(workload.passes, 1);
	workload = market_workload("Qwen/Qwen2-Audio-7B-Instruct", "task=inference seconds=30");
	ck_near(workload.media_tokens, 750);
}
END_TEST

START_TEST(seconds_of_music_are_steps_and_the_other_way_round)
{
	struct workload workload = market_workload(MUSICGEN, "task=inference seconds=30");

	/* 50 frames a second, and four codebooks a step behind each other (its notes: 1503). */
	ck_assert_int_eq(workload.output_tokens, 1503);
	ck_near(workload.copies, 2);
	workload = market_workload(MUSICGEN, "task=inference output_tokens=503");
	ck_near(workload.seconds, 10);
	ck_near(workload.max_tpot_seconds, 0);
	workload = market_workload("canopylabs/orpheus-3b-0.1-ft", "task=inference seconds=2");
	ck_assert_int_eq(workload.output_tokens, 166);
	ck_near(workload.copies, 1);
	ck_assert_int_eq(workload.engine, ENGINE_VLLM);
	workload = market_workload("suno/bark", "task=inference");
	ck_assert_int_eq(workload.engine, ENGINE_TRANSFORMERS);
}
END_TEST

START_TEST(pictures_stand_in_the_prompt)
{
	struct workload workload = market_workload(
		QWEN_VL, "task=inference prompt_tokens=100 output_tokens=50 images_per_request=3 "
			 "width=1920 height=1080");

	ck_near(workload.media_tokens, 3 * 69 * 39);
	ck_near(workload.prompt, 100 + 3 * 69 * 39);
	ck_near(workload.context, 150 + 3 * 69 * 39);
	ck_near(workload.tower_patches, 4 * workload.media_tokens);
	/* A size is of one image, frames are of a video. */
	workload = market_workload(QWEN_VL, "task=inference width=280 height=280");
	ck_assert_int_eq(workload.images_per_request, 1);
	ck_near(workload.media_tokens, 100);
	workload = market_workload(QWEN_VL, "task=inference width=1920 height=1080 frames=60");
	ck_assert_int_eq(workload.images_per_request, 0);
	ck_near(workload.media_tokens, 30 * 36 * 20);
	/* Nothing is seen unless it is shown. */
	workload = market_workload(QWEN_VL, "task=inference prompt_tokens=100");
	ck_near(workload.media_tokens, 0);
	ck_near(workload.prompt, 100);
}
END_TEST

START_TEST(text_has_neither_windows_nor_copies)
{
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B", "task=inference prompt_tokens=700");

	ck_near(workload.prompt, 700);
	ck_near(workload.passes, 1);
	ck_near(workload.copies, 1);
	ck_near(workload.media_tokens, 0);
	ck_near(workload_sound_seconds(&workload), 0);
}
END_TEST

START_TEST(a_speech_model_is_trained_on_whole_windows)
{
	struct workload workload = market_workload(WHISPER, "task=finetune method=lora");

	ck_assert_int_eq(workload.sequence_length, 1500);
	ck_assert_int_eq(workload.target_length, 112);
	workload = market_workload(MUSICGEN, "task=finetune method=lora");
	ck_assert_int_eq(workload.target_length, 1500);
	workload = market_workload("google/flan-t5-xl", "task=finetune method=lora");
	ck_assert_int_eq(workload.target_length, workload.sequence_length / 4);
}
END_TEST

START_TEST(what_runs_on_one_gpu_is_not_split)
{
	static const struct {
		const char *model, *fields;
		bool may_split;
	} cases[] = {
		{WHISPER, "task=inference engine=ctranslate2", false},
		{WHISPER, "task=inference engine=llama_cpp", false},
		{WHISPER, "task=inference", true},
		{MUSICGEN, "task=inference", false},
		{"canopylabs/orpheus-3b-0.1-ft", "task=inference", true},
		{QWEN_VL, "task=inference engine=transformers", true},
		{WHISPER, "task=finetune method=full", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = market_workload(cases[i].model, cases[i].fields);

		ck_assert_msg(workload_may_split(&workload) == cases[i].may_split, "%s: %s",
			      cases[i].model, cases[i].fields);
	}
}
END_TEST

/* The pointer is the field that says so, or the one whose default does. */
START_TEST(a_clip_beyond_what_a_model_learned_is_warned_of)
{
	static const struct {
		const char *model, *fields, *pointer;
	} cases[] = {
		{MUSICGEN, "task=inference seconds=30", NULL},
		{MUSICGEN, "task=inference seconds=60", "/w/seconds"},
		{MUSICGEN, "task=inference output_tokens=3000", "/w/output_tokens"},
		{WHISPER, "task=inference seconds=3600", NULL},
		{WHISPER, "task=inference output_tokens=500", "/w/output_tokens"},
		/* 768 semantic tokens of 49.9 a second are 15.4 s, whatever the coarse ones are. */
		{"suno/bark", "task=inference", NULL},
		{"suno/bark", "task=inference seconds=15", NULL},
		{"suno/bark", "task=inference seconds=16", "/w/seconds"},
		{"suno/bark", "task=inference output_tokens=1600", "/w/output_tokens"},
		{QWEN_VL, "task=inference images_per_request=200", "/w/images_per_request"},
		{QWEN_VL, "task=inference output_tokens=200000", "/w/output_tokens"},
	};

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = market_workload(cases[i].model, cases[i].fields);

		error_init(&error, &arena);
		workload_warn(&workload, "/w", &error);
		ck_assert_msg(!error.first == !cases[i].pointer, "%s %s", cases[i].model,
			      cases[i].fields);
		if (cases[i].pointer)
			ck_assert_str_eq(error.first->pointer, cases[i].pointer);
	}
	end();
}
END_TEST

static struct workload of(const char *model)
{
	struct workload workload = blank(TASK_INFERENCE);

	workload.architecture = &model_find(model)->architecture;
	return workload;
}

START_TEST(what_a_model_cannot_take_is_refused)
{
	struct workload workload = of(WHISPER);

	begin();
	GIVE(workload, prompt_tokens, 100);
	expect_fault(&workload, "/workload/prompt_tokens", "not_applicable");
	error_init(&error, &arena);
	workload = blank(TASK_INFERENCE);
	GIVE(workload, seconds, 10);
	GIVE(workload, images_per_request, 1);
	GIVE(workload, beams, 4);
	GIVE(workload, audio_hours, 4);
	expect_fault(&workload, "/workload/seconds", "not_applicable");
	ck_assert_ptr_nonnull(item("/workload/images_per_request"));
	ck_assert_ptr_nonnull(item("/workload/beams"));
	ck_assert_ptr_nonnull(item("/workload/audio_hours"));
	error_init(&error, &arena);
	workload = of(MUSICGEN);
	GIVE(workload, seconds, 10);
	GIVE(workload, output_tokens, 10);
	expect_fault(&workload, "/workload/output_tokens", "contradiction");
	error_init(&error, &arena);
	workload = of(WHISPER);
	GIVE(workload, requests, 10);
	GIVE(workload, audio_hours, 4);
	expect_fault(&workload, "/workload/requests", "contradiction");
	end();
}
END_TEST

static struct memory_estimate memory_of(const struct workload *workload, double sequences)
{
	struct layout layout = layout_single;
	struct memory_basis basis;
	struct memory_estimate memory;

	layout.sequences = sequences;
	layout.weight_format = layout.kv_format = FORMAT_FP16;
	memory_prepare(workload, &basis);
	memory_estimate(&basis, &layout, NULL, &memory);
	return memory;
}

/* Keys and values of 1,280 in 16 bit, 32 layers: of 1,500 positions once, of 96 tokens a beam. */
START_TEST(beams_share_what_was_heard_but_in_transformers)
{
	struct workload workload =
		market_workload(WHISPER, "task=inference engine=ctranslate2 beams=5");
	double heard = 1500.0 * 32 * 2 * 1280 * 2, said = 96.0 * 32 * 2 * 1280 * 2;

	ck_near(memory_of(&workload, 1).kv_cache_bytes, heard + 5 * said);
	ck_near(memory_of(&workload, 8).kv_cache_bytes, 8 * (heard + 5 * said));
	workload = market_workload(WHISPER, "task=inference engine=transformers beams=5");
	ck_near(memory_of(&workload, 1).kv_cache_bytes, 5 * (heard + said));
	workload = market_workload(WHISPER, "task=inference engine=ctranslate2 seconds=600");
	ck_near(memory_of(&workload, 1).kv_cache_bytes, heard + said);
}
END_TEST

START_TEST(guidance_keeps_two_of_everything)
{
	struct workload workload = market_workload(MUSICGEN, "task=inference seconds=10");
	double token = 48.0 * 2 * 2048 * 2;

	ck_near(memory_of(&workload, 1).kv_cache_bytes,
		2 * token * (503 + (double)workload.prompt_tokens));
}
END_TEST

START_TEST(pictures_fill_the_cache)
{
	struct workload with = market_workload(
		QWEN_VL, "task=inference engine=tensorrt_llm prompt_tokens=100 output_tokens=50 "
			 "images_per_request=2 width=1932 height=1092");
	struct workload without = market_workload(
		QWEN_VL, "task=inference engine=tensorrt_llm prompt_tokens=100 output_tokens=50");

	ck_near(memory_of(&with, 4).kv_cache_bytes, 4 * 57344.0 * (150 + 2 * 69 * 39));
	ck_near(memory_of(&without, 4).kv_cache_bytes, 4 * 57344.0 * 150);
	ck_near(memory_of(&with, 4).weights_bytes, memory_of(&without, 4).weights_bytes);
}
END_TEST

static struct speed_estimate speed_of(const struct workload *workload, double sequences)
{
	const struct accelerator *card = accelerator_find("L40S 48GB");
	struct fabric fabric = fabric_of_accelerator(card, 1);
	struct layout layout = layout_single;
	struct speed_basis basis;
	struct speed_estimate speed;

	layout.sequences = sequences;
	layout.weight_format = layout.kv_format = FORMAT_FP16;
	ck_assert(speed_prepare(workload, card, FORMAT_FP16, &basis));
	speed_estimate(&basis, &layout, &fabric, &speed);
	return speed;
}

START_TEST(a_request_takes_as_long_as_its_windows)
{
	struct workload one = market_workload(WHISPER, "task=inference mode=batch seconds=30");
	struct workload many = market_workload(WHISPER, "task=inference mode=batch seconds=300");
	struct speed_estimate of_one = speed_of(&one, 8), of_many = speed_of(&many, 8);

	ck_near(of_one.requests_per_second, 10 * of_many.requests_per_second);
	ck_near(of_one.tokens_per_second, of_many.tokens_per_second);
	ck_near(10 * speed_request_seconds(&one, &of_one), speed_request_seconds(&many, &of_many));
	/* The batch decides. */
	ck_assert_double_gt(speed_of(&one, 32).requests_per_second,
			    3 * speed_of(&one, 1).requests_per_second);
}
END_TEST

START_TEST(beams_and_guidance_cost_time)
{
	struct workload one = market_workload(WHISPER, "task=inference mode=batch");
	struct workload five = market_workload(WHISPER, "task=inference mode=batch beams=5");

	ck_assert_double_gt(speed_of(&one, 16).requests_per_second,
			    1.5 * speed_of(&five, 16).requests_per_second);
	ck_near(speed_of(&one, 1).prefill.seconds, speed_of(&five, 1).prefill.seconds);
}
END_TEST

START_TEST(more_pixels_take_longer_to_see)
{
	struct workload small = market_workload(
		QWEN_VL, "task=inference images_per_request=1 width=560 height=560");
	struct workload large = market_workload(
		QWEN_VL, "task=inference images_per_request=1 width=2240 height=2240");
	struct workload none = market_workload(QWEN_VL, "task=inference");

	ck_near(speed_of(&none, 1).tower_seconds, 0);
	ck_assert_double_gt(speed_of(&small, 1).tower_seconds, 0);
	/* Sixteen times the patches, and attention over them all. */
	ck_assert_double_gt(speed_of(&large, 1).tower_seconds,
			    16 * speed_of(&small, 1).tower_seconds);
	ck_assert_double_gt(speed_of(&large, 1).ttft_seconds,
			    speed_of(&small, 1).ttft_seconds +
				    speed_of(&large, 1).tower_seconds / 2);
}
END_TEST

START_TEST(an_hour_of_sound_has_a_price)
{
	struct workload workload =
		market_workload(WHISPER, "task=inference mode=batch seconds=60 audio_hours=500");
	struct plan plan = {.layout = {.nodes = 1, .sequences = 8}};
	const struct cost_price price = {.kind = PRICE_ON_DEMAND, .micros = 3600000};
	struct cost_terms terms = {.granularity_seconds = 1};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	plan.speed.requests_per_second = 2;
	cost_work_prepare(&workload, NULL, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_near(job.run_seconds, 500 * 60 / 2.0);
	/* Two windows a request. */
	ck_near(job.tokens_per_second, 2 * 2 * 96);
	ck_assert(cost_of(&job, &terms, &price, &cost));
	ck_assert_int_eq(cost.unit, COST_AUDIO_HOUR);
	ck_assert_double_eq_tol((double)cost.per_unit_micros, (double)cost.total_micros / 500, 1);
	workload = market_workload("meta-llama/Llama-3.1-8B", "task=inference requests=10");
	cost_work_prepare(&workload, NULL, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert(cost_of(&job, &terms, &price, &cost));
	ck_assert_int_eq(cost.unit, COST_MILLION_TOKENS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workload_senses");
	TCase *tests = tcase_create("workload_senses");

	tcase_add_test(tests, speech_is_read_in_windows_of_thirty_seconds);
	tcase_add_test(tests, hours_of_sound_are_requests);
	tcase_add_test(tests, a_language_model_that_hears_has_sound_in_its_prompt);
	tcase_add_test(tests, seconds_of_music_are_steps_and_the_other_way_round);
	tcase_add_test(tests, pictures_stand_in_the_prompt);
	tcase_add_test(tests, text_has_neither_windows_nor_copies);
	tcase_add_test(tests, a_speech_model_is_trained_on_whole_windows);
	tcase_add_test(tests, what_runs_on_one_gpu_is_not_split);
	tcase_add_test(tests, a_clip_beyond_what_a_model_learned_is_warned_of);
	tcase_add_test(tests, what_a_model_cannot_take_is_refused);
	tcase_add_test(tests, beams_share_what_was_heard_but_in_transformers);
	tcase_add_test(tests, guidance_keeps_two_of_everything);
	tcase_add_test(tests, pictures_fill_the_cache);
	tcase_add_test(tests, a_request_takes_as_long_as_its_windows);
	tcase_add_test(tests, beams_and_guidance_cost_time);
	tcase_add_test(tests, more_pixels_take_longer_to_see);
	tcase_add_test(tests, an_hour_of_sound_has_a_price);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
