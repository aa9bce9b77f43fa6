/* What must hold of every pipeline of the registry, in any format, offload or method: finite, sums
 * that add up, and more of anything never for less. */
#include "core/memory.h"
#include "core/model.h"
#include "core/speed.h"
#include "tests/suite.h"

#include <math.h>

#define CARD "H100 SXM5 80GB"
/* Steps that take less wait for the host, shared or not. */
#define SHARED_SECONDS 0.1

struct request {
	struct workload workload;
	struct layout layout;
	struct memory_estimate memory;
	struct speed_estimate speed;
};

#define GIVE(request, field, value)                                                                \
	((request).workload.field = (value),                                                       \
	 (request).workload.given |= WORKLOAD_BIT(WORKLOAD_##field))

static struct request request_of(const struct model *model, enum task task)
{
	struct request request = {.layout = layout_single};

	request.workload.architecture = &model->architecture;
	GIVE(request, task, (int)task);
	return request;
}

static void ck_finite(const struct model *model, const char *what, double value)
{
	ck_assert_msg(isfinite(value) && value >= 0, "%s: %s is %g", model->id, what, value);
}

/* `more` for what asks for more: at least as much but for the last digits. */
static void ck_no_less(const struct model *model, const char *what, double more, double less)
{
	ck_assert_msg(more >= less * (1 - 1e-9), "%s: %s: %.9g after %.9g", model->id, what, more,
		      less);
}

static void ck_sums(const struct model *model, const struct request *request)
{
	const struct memory_estimate *memory = &request->memory;
	double sum = 0;

#define X(term)                                                                                    \
	ck_finite(model, #term, memory->term##_bytes);                                             \
	sum += memory->term##_bytes;
	MEMORY_TERMS(X)
#undef X
	sum -= memory->framework_bytes;
	ck_assert_msg(fabs(sum - memory->allocated_bytes) <= 1e-9 * sum + 1, "%s: %g of %g",
		      model->id, sum, memory->allocated_bytes);
	ck_assert_double_gt(memory->allocated_bytes, 0);
	ck_no_less(model, "reserved", memory->reserved_bytes, memory->allocated_bytes);
	ck_no_less(model, "device", memory->device_bytes, memory->reserved_bytes);
	ck_no_less(model, "high", memory->high_bytes, memory->low_bytes);
	ck_finite(model, "host", memory->host_bytes);
}

static void estimate(const struct model *model, struct request *request)
{
	const struct accelerator *card = accelerator_find(CARD);
	struct fabric fabric = fabric_of_accelerator(card, request->layout.gpus_per_node);
	struct memory_basis memory;
	struct speed_basis speed;
	struct error error = {0};

	ck_assert_msg(workload_complete(&request->workload, "", &error), "%s: %s", model->id,
		      error.detail);
	memory_prepare(&request->workload, &memory);
	memory_estimate(&memory, &request->layout, NULL, &request->memory);
	ck_sums(model, request);
	ck_assert(speed_prepare(&request->workload, card, request->layout.weight_format, &speed));
	speed_estimate(&speed, &request->layout, &fabric, &request->speed);
	ck_finite(model, "items a second", request->speed.items_per_second);
	ck_assert_double_gt(request->speed.items_per_second, 0);
	ck_finite(model, "step", request->speed.step.seconds);
	ck_finite(model, "utilisation", request->speed.mfu);
	ck_assert_msg(request->speed.mfu < 1, "%s: %g", model->id, request->speed.mfu);
}

/* Calls `check` for every pipeline. */
static void each(void (*check)(const struct model *model))
{
	size_t count = 0;

	for (size_t i = 0; i < models_count; i++) {
		if (!models[i].architecture.media)
			continue;
		check(&models[i]);
		count++;
	}
	ck_assert_uint_gt(count, 50);
}

/* Every format and offload; each offload takes no more than the one before. */
static void check_formats(const struct model *model)
{
	for (int format = FORMAT_AUTO + 1; format < FORMATS; format++) {
		double before = (double)INFINITY;

		for (int offload = 0; offload < MEDIA_OFFLOADS; offload++) {
			struct request request = request_of(model, TASK_INFERENCE);

			GIVE(request, media_offload, offload);
			request.layout.weight_format = (enum format)format;
			estimate(model, &request);
			ck_no_less(model, names_text(&media_offload_names, offload), before,
				   request.memory.allocated_bytes);
			before = request.memory.allocated_bytes;
		}
	}
}

START_TEST(every_format_and_offload_counts)
{
	each(check_formats);
}
END_TEST

/* Each copy on a node keeps what it offloads for itself. */
static void check_host(const struct model *model)
{
	struct request one = request_of(model, TASK_INFERENCE), eight;

	GIVE(one, media_offload, MEDIA_OFFLOAD_MODEL);
	eight = one;
	eight.layout.gpus_per_node = eight.layout.replicas = 8;
	estimate(model, &one);
	estimate(model, &eight);
	ck_assert_double_gt(one.memory.host_bytes, 0);
	ck_assert_double_eq_tol(eight.memory.host_bytes, 8 * one.memory.host_bytes, 1);
	one = request_of(model, TASK_INFERENCE);
	GIVE(one, text_encoders_on_cpu, true);
	estimate(model, &one);
	ck_assert((one.memory.host_bytes > 0) == (model->architecture.media->encoders_count > 0));
	one = request_of(model, TASK_FINETUNE);
	GIVE(one, method, METHOD_FULL);
	one.layout.offload = OFFLOAD_OPTIMIZER;
	eight = one;
	eight.layout.gpus_per_node = eight.layout.data_parallel = 8;
	estimate(model, &one);
	estimate(model, &eight);
	ck_assert_double_gt(one.memory.host_bytes, 0);
	ck_assert_double_eq_tol(eight.memory.host_bytes, 8 * one.memory.host_bytes, 1);
}

START_TEST(what_is_offloaded_is_held_for_every_copy)
{
	each(check_host);
}
END_TEST

/* Weights follow the bits of a format. */
static void check_bits(const struct model *model)
{
	static const enum format falling[] = {FORMAT_FP32, FORMAT_BF16, FORMAT_INT8,
					      FORMAT_FP8,  FORMAT_NF4,	FORMAT_INT4};
	double before = (double)INFINITY;

	for (size_t i = 0; i < sizeof(falling) / sizeof(falling[0]); i++) {
		struct request request = request_of(model, TASK_INFERENCE);

		request.layout.weight_format = falling[i];
		estimate(model, &request);
		ck_no_less(model, format_facts(falling[i])->name, before,
			   request.memory.weights_bytes);
		before = request.memory.weights_bytes;
	}
}

START_TEST(fewer_bits_never_weigh_more)
{
	each(check_bits);
}
END_TEST

static void ck_more(const struct model *model, const char *what, struct request *more,
		    struct request *less)
{
	estimate(model, more);
	estimate(model, less);
	for (int phase = 0; phase < MEDIA_PHASES; phase++)
		ck_no_less(model, what, more->memory.phase_bytes[phase],
			   less->memory.phase_bytes[phase]);
	ck_no_less(model, what, more->speed.batch_seconds, less->speed.batch_seconds);
}

/* Each by itself: more of it takes neither less memory in any phase nor less time. */
static void check_more(const struct model *model)
{
	const struct media *media = model->architecture.media;
	struct request plain = request_of(model, TASK_INFERENCE), more;

#define MORE(field, value)                                                                         \
	do {                                                                                       \
		more = plain;                                                                      \
		GIVE(more, field, value);                                                          \
		ck_more(model, #field, &more, &plain);                                             \
		plain = request_of(model, TASK_INFERENCE);                                         \
	} while (0)
	MORE(batch, 3);
	MORE(batch, 65536);
	MORE(steps, 10000);
	MORE(guidance_passes, 4);
	MORE(fused_attention, false);
	MORE(lora_adapters, 4);
	if (media->sample_rate > 0) {
		MORE(seconds, media->seconds * 1.01);
		MORE(seconds, 1e6);
		return;
	}
	MORE(width, media->width + 1);
	MORE(width, 65536);
	MORE(height, 65535);
	MORE(reference_images, 16);
	if (model->architecture.modality == MODALITY_VIDEO) {
		MORE(frames, media->frames + 1);
		MORE(frames, 100000);
	}
#undef MORE
}

START_TEST(more_never_takes_less)
{
	each(check_more);
}
END_TEST

/* What spares memory never takes more of it. */
static void check_sparing(const struct model *model)
{
	struct request plain = request_of(model, TASK_INFERENCE), sparing;

#define SPARES(field)                                                                              \
	do {                                                                                       \
		GIVE(plain, field, false);                                                         \
		sparing = plain;                                                                   \
		GIVE(sparing, field, true);                                                        \
		estimate(model, &plain);                                                           \
		estimate(model, &sparing);                                                         \
		for (int phase = 0; phase < MEDIA_PHASES; phase++)                                 \
			ck_no_less(model, #field, plain.memory.phase_bytes[phase],                 \
				   sparing.memory.phase_bytes[phase]);                             \
	} while (0)
	SPARES(text_encoders_on_cpu);
	GIVE(plain, batch, 4);
	SPARES(vae_slicing);
	if (!(model->architecture.media->sample_rate > 0)) {
		SPARES(vae_tiling);
		GIVE(plain, width, 4096);
		SPARES(vae_tiling);
	}
	GIVE(plain, fused_attention, false);
	SPARES(attention_slicing);
}

START_TEST(what_spares_memory_takes_no_more)
{
	each(check_sparing);
}
END_TEST

/* A sequence shared by two holds no more on a GPU and, where there is something to share beside
 * what the links cost, takes no longer. */
static void check_sharing(const struct model *model)
{
	const struct media_denoiser *denoiser = &model->architecture.media->denoiser;
	struct request one = request_of(model, TASK_INFERENCE), two = one;

	if (denoiser->unet.levels > 0 || denoiser->blocks[0].heads % 2)
		return;
	two.layout.context_parallel = two.layout.gpus_per_node = 2;
	estimate(model, &one);
	estimate(model, &two);
	ck_no_less(model, "shared", one.memory.allocated_bytes, two.memory.allocated_bytes);
	/* The host launches as many kernels for half the work. */
	if (one.speed.step.seconds > SHARED_SECONDS &&
	    two.speed.step.overhead_seconds < two.speed.step.seconds)
		ck_no_less(model, "shared", one.speed.batch_seconds, two.speed.batch_seconds);
	ck_no_less(model, "two GPUs", 2 * two.speed.batch_seconds, one.speed.batch_seconds);
}

START_TEST(sharing_a_sequence_helps)
{
	each(check_sharing);
}
END_TEST

/* Every method and precision; recomputation and caches never hold more, EMA and batches no less. */
static void check_training(const struct model *model)
{
	static const enum method methods[] = {METHOD_FULL, METHOD_LORA, METHOD_QLORA,
					      METHOD_DREAMBOOTH, METHOD_TEXTUAL_INVERSION};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]) * PRECISIONS; i++) {
		struct request plain = request_of(model, TASK_FINETUNE), again, batch, cached;

		GIVE(plain, method, (int)methods[i / PRECISIONS]);
		GIVE(plain, precision, (int)(i % PRECISIONS));
		plain.layout.recompute = RECOMPUTE_NONE;
		again = batch = cached = plain;
		again.layout.recompute = RECOMPUTE_FULL;
		batch.layout.micro_batch = 8;
		GIVE(cached, cached_latents, true);
		estimate(model, &plain);
		estimate(model, &again);
		estimate(model, &batch);
		estimate(model, &cached);
		ck_no_less(model, "recompute", plain.memory.allocated_bytes,
			   again.memory.allocated_bytes);
		ck_no_less(model, "recompute", again.speed.step.seconds, plain.speed.step.seconds);
		ck_no_less(model, "batch", batch.memory.allocated_bytes,
			   plain.memory.allocated_bytes);
		ck_no_less(model, "cached", plain.memory.allocated_bytes,
			   cached.memory.allocated_bytes);
		ck_no_less(model, "cached", plain.speed.step.seconds, cached.speed.step.seconds);
	}
}

START_TEST(every_method_trains)
{
	each(check_training);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("media_properties");
	TCase *tcase = tcase_create("properties");

	tcase_add_test(tcase, every_format_and_offload_counts);
	tcase_add_test(tcase, what_is_offloaded_is_held_for_every_copy);
	tcase_add_test(tcase, fewer_bits_never_weigh_more);
	tcase_add_test(tcase, more_never_takes_less);
	tcase_add_test(tcase, what_spares_memory_takes_no_more);
	tcase_add_test(tcase, sharing_a_sequence_helps);
	tcase_add_test(tcase, every_method_trains);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
