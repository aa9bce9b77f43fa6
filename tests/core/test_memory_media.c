/* Memory of pipelines: figures with a source, and what must hold for any of them. */
#include "tests/core/memory_request.h"

#include "core/units.h"
#include "tests/suite.h"

static double sum(const struct memory_estimate *memory)
{
	double sum = 0;

#define X(term) sum += memory->term##_bytes;
	MEMORY_TERMS(X)
#undef X
	return sum - memory->framework_bytes;
}

static struct request making(const char *model)
{
	struct request request = serving(model, 1, 1, 1);

	request.workload.given = SAID(task);
	return request;
}

#define GIVE(request, field, value)                                                                \
	((request).workload.field = (value), (request).workload.given |= SAID(field))

/* diffusers-torchao's README, H100, 1024 x 1024: allocated with 1, 4, 8 and 16 pictures at once. */
START_TEST(flux_takes_what_was_measured_by_batch)
{
	static const struct {
		int64_t batch;
		double gib;
	} cases[] = {{1, 33.851}, {4, 39.49}, {8, 47.509}, {16, 61.548}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request request = making("black-forest-labs/FLUX.1-dev");

		GIVE(request, batch, cases[i].batch);
		estimate(&request);
		ck_assert_double_eq_tol(request.memory.allocated_bytes / GIB / cases[i].gib, 1,
					0.05);
		ck_assert_double_eq_tol(request.memory.weights_bytes / GIB, 22.17, 0.01);
		ck_assert_double_eq_tol(request.memory.phase_bytes[MEDIA_DECODE],
					request.memory.allocated_bytes, 1);
	}
}
END_TEST

/* To the denoiser a picture to start from is as many tokens as the one that it makes. */
START_TEST(pictures_that_are_edited_stand_in_the_sequence)
{
	for (int references = 0; references < 4; references++) {
		struct request editor = making("black-forest-labs/FLUX.1-Kontext-dev");
		struct request tall = making("black-forest-labs/FLUX.1-dev"), plain = tall;

		if (references != 1) /* which is the default */
			GIVE(editor, reference_images, references);
		GIVE(tall, height, 1024 * (1 + references));
		estimate(&editor);
		estimate(&tall);
		estimate(&plain);
		ck_assert_double_eq_tol(editor.memory.phase_bytes[MEDIA_DENOISE],
					tall.memory.phase_bytes[MEDIA_DENOISE], 1e6);
		ck_assert_double_ge(editor.memory.phase_bytes[MEDIA_DENOISE],
				    plain.memory.phase_bytes[MEDIA_DENOISE] + 1e8 * references);
		/* What is decoded is one picture. */
		ck_assert_double_eq_tol(editor.memory.phase_bytes[MEDIA_DECODE],
					plain.memory.phase_bytes[MEDIA_DECODE], 1e6);
	}
}
END_TEST

START_TEST(terms_are_those_of_the_highest_phase)
{
	static const char *const ids[] = {
		"black-forest-labs/FLUX.1-dev", "stabilityai/stable-diffusion-xl-base-1.0",
		"Wan-AI/Wan2.2-T2V-A14B-Diffusers", "stabilityai/stable-audio-open-1.0",
		"THUDM/CogVideoX-5b"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (int offload = 0; offload < MEDIA_OFFLOADS; offload++) {
			struct request request = making(ids[i]);
			double most = 0;

			GIVE(request, media_offload, offload);
			estimate(&request);
			for (int phase = 0; phase < MEDIA_PHASES; phase++)
				most = fmax(most, request.memory.phase_bytes[phase]);
			ck_same(request.memory.allocated_bytes, most);
			ck_same(sum(&request.memory), most);
			ck_assert((offload == MEDIA_OFFLOAD_NONE) ==
				  !(request.memory.host_bytes > 0));
		}
}
END_TEST

/* Each takes less than the one before, never more. */
START_TEST(offload_takes_less_step_by_step)
{
	static const char *const ids[] = {"black-forest-labs/FLUX.1-dev",
					  "stabilityai/stable-diffusion-3.5-large",
					  "Wan-AI/Wan2.1-T2V-14B-Diffusers", "Qwen/Qwen-Image"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		double before = (double)INFINITY;

		for (int offload = 0; offload < MEDIA_OFFLOADS; offload++) {
			struct request request = making(ids[i]);

			GIVE(request, media_offload, offload);
			estimate(&request);
			ck_assert_double_le(request.memory.allocated_bytes, before);
			before = request.memory.allocated_bytes;
		}
	}
}
END_TEST

START_TEST(slicing_makes_the_decoder_forget_the_batch_and_tiling_the_size)
{
	struct request whole = making("stabilityai/stable-diffusion-xl-base-1.0");
	struct request sliced, tiled, one = whole;

	GIVE(whole, batch, 8);
	sliced = tiled = whole;
	GIVE(sliced, vae_slicing, true);
	GIVE(tiled, vae_tiling, true);
	GIVE(tiled, width, 4096);
	GIVE(tiled, height, 4096);
	GIVE(tiled, batch, 1);
	GIVE(one, width, 4096);
	GIVE(one, height, 4096);
	estimate(&whole);
	estimate(&sliced);
	estimate(&tiled);
	estimate(&one);
	ck_assert_double_lt(sliced.memory.phase_bytes[MEDIA_DECODE],
			    whole.memory.phase_bytes[MEDIA_DECODE] / 2);
	ck_assert_double_lt(tiled.memory.phase_bytes[MEDIA_DECODE],
			    one.memory.phase_bytes[MEDIA_DECODE] / 3);
	ck_same(sliced.memory.phase_bytes[MEDIA_DENOISE], whole.memory.phase_bytes[MEDIA_DENOISE]);
}
END_TEST

START_TEST(sizes_formats_and_guidance_count)
{
	struct request small = making("Wan-AI/Wan2.1-T2V-14B-Diffusers"), large = small;
	struct request plain = making("stabilityai/stable-diffusion-3.5-large"), at_once = plain;
	struct request bits = plain, cpu = plain;

	GIVE(small, frames, 33);
	GIVE(large, frames, 81);
	GIVE(plain, guidance_batched, false);
	GIVE(at_once, guidance_batched, true);
	bits.layout.weight_format = FORMAT_NF4;
	GIVE(cpu, text_encoders_on_cpu, true);
	estimate(&small);
	estimate(&large);
	estimate(&plain);
	estimate(&at_once);
	estimate(&bits);
	estimate(&cpu);
	ck_assert_double_gt(large.memory.phase_bytes[MEDIA_DENOISE],
			    small.memory.phase_bytes[MEDIA_DENOISE] + 5 * GIB);
	ck_assert_double_gt(at_once.memory.phase_bytes[MEDIA_DENOISE],
			    plain.memory.phase_bytes[MEDIA_DENOISE]);
	ck_assert_double_lt(bits.memory.weights_bytes, 0.3 * plain.memory.weights_bytes);
	ck_same(bits.memory.text_encoders_bytes, plain.memory.text_encoders_bytes);
	ck_same(cpu.memory.text_encoders_bytes, 0);
	/* The scores of all heads, in place of none. */
	GIVE(plain, fused_attention, false);
	estimate(&plain);
	ck_assert_double_gt(plain.memory.phase_bytes[MEDIA_DENOISE],
			    at_once.memory.phase_bytes[MEDIA_DENOISE]);
}
END_TEST

/* Wan's own figures: 720p of 81 frames, 14 B in fp32 over 2, 4 and 8 GPUs with FSDP: 53.9, 37.9 and
 * 29.9 GB. */
START_TEST(sharded_weights_and_sequences_are_divided)
{
	static const struct {
		int ways;
		double gb;
	} cases[] = {{2, 53.9}, {4, 37.9}, {8, 29.9}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request request = making("Wan-AI/Wan2.1-T2V-14B-Diffusers");

		request.layout.context_parallel = request.layout.gpus_per_node = cases[i].ways;
		request.layout.sharding = SHARDING_ZERO3;
		request.layout.weight_format = FORMAT_FP32;
		GIVE(request, text_encoder_format, FORMAT_BF16);
		estimate(&request);
		ck_assert_double_eq_tol(request.memory.device_bytes / GB / cases[i].gb, 1, 0.15);
	}
}
END_TEST

static struct request tuning(const char *model, enum method method)
{
	struct request request = training(model, method, STACK_HUGGINGFACE, 1);

	request.workload.given = SAID(task) | SAID(method);
	request.layout.recompute = RECOMPUTE_FULL;
	return request;
}

START_TEST(training_keeps_what_its_method_trains)
{
	struct request full = tuning("stabilityai/stable-diffusion-xl-base-1.0", METHOD_FULL);
	struct request lora = tuning("stabilityai/stable-diffusion-xl-base-1.0", METHOD_LORA);
	struct request qlora = tuning("black-forest-labs/FLUX.1-dev", METHOD_QLORA);
	struct request word =
		tuning("stabilityai/stable-diffusion-xl-base-1.0", METHOD_TEXTUAL_INVERSION);
	struct request average = full, cached = lora;

	qlora.layout.weight_format = FORMAT_NF4;
	GIVE(average, ema, true);
	GIVE(cached, cached_latents, true);
	GIVE(cached, cached_embeddings, true);
	estimate(&full);
	estimate(&lora);
	estimate(&qlora);
	estimate(&word);
	estimate(&average);
	estimate(&cached);
	/* fp32 weights, gradients and two states of 2567463684 parameters. */
	ck_same(full.memory.weights_bytes + full.memory.master_weights_bytes +
			full.memory.gradients_bytes + full.memory.optimizer_bytes,
		16 * 2567463684.0);
	ck_same(average.memory.master_weights_bytes - full.memory.master_weights_bytes,
		4 * 2567463684.0);
	ck_assert_double_eq_tol(lora.memory.weights_bytes / GIB, 4.78, 0.01);
	ck_assert_double_lt(lora.memory.gradients_bytes, 0.2 * GIB);
	ck_assert_double_gt(lora.memory.adapters_bytes, 0);
	ck_assert_double_eq_tol(qlora.memory.weights_bytes / GIB, 11.9e9 * 4.5 / 8 / GIB, 0.1);
	ck_assert_double_lt(word.memory.adapters_bytes, 1e6);
	ck_same(cached.memory.text_encoders_bytes + cached.memory.vae_bytes, 0);
	ck_assert_double_lt(cached.memory.device_bytes, lora.memory.device_bytes);
}
END_TEST

START_TEST(training_grows_with_the_batch_and_shrinks_with_recomputation)
{
	struct request one = tuning("THUDM/CogVideoX-5b", METHOD_LORA), four, kept;

	GIVE(one, cached_latents, true);
	GIVE(one, cached_embeddings, true);
	four = kept = one;
	four.layout.micro_batch = 4;
	kept.layout.recompute = RECOMPUTE_NONE;
	estimate(&one);
	estimate(&four);
	estimate(&kept);
	ck_assert_double_gt(four.memory.activations_bytes, 3.9 * one.memory.activations_bytes);
	ck_assert_double_gt(kept.memory.activations_bytes, 3 * one.memory.activations_bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_media");
	TCase *tests = tcase_create("memory_media");

	tcase_add_test(tests, flux_takes_what_was_measured_by_batch);
	tcase_add_test(tests, pictures_that_are_edited_stand_in_the_sequence);
	tcase_add_test(tests, terms_are_those_of_the_highest_phase);
	tcase_add_test(tests, offload_takes_less_step_by_step);
	tcase_add_test(tests, slicing_makes_the_decoder_forget_the_batch_and_tiling_the_size);
	tcase_add_test(tests, sizes_formats_and_guidance_count);
	tcase_add_test(tests, sharded_weights_and_sequences_are_divided);
	tcase_add_test(tests, training_keeps_what_its_method_trains);
	tcase_add_test(tests, training_grows_with_the_batch_and_shrinks_with_recomputation);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
