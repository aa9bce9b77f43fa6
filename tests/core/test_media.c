/* Pipelines: their grids, the work of a pass, and weights by component. */
#include "core/media.h"
#include "core/model.h"
#include "core/units.h"
#include "tests/suite.h"

#include <math.h>

static const struct media *media_of(const char *id)
{
	const struct model *model = model_find(id);

	ck_assert_msg(model && model->architecture.media, "%s", id);
	return model->architecture.media;
}

static struct media_grid grid_of(const struct media *media, double width, double height,
				 double frames)
{
	struct media_size size = {.width = width, .height = height, .frames = frames};
	struct media_grid grid;

	media_grid(media, &size, &grid);
	return grid;
}

static struct media_work pass_of(const char *id, double width, double height, double frames)
{
	const struct media *media = media_of(id);
	struct media_grid grid = grid_of(media, width, height, frames);
	struct media_work work;

	media_denoiser_work(media, &grid, &work);
	return work;
}

/* facts/diffusion.csv, latent_tokens at the published size. */
START_TEST(latents_are_as_many_tokens_as_published)
{
	static const struct {
		const char *id;
		double tokens;
	} cases[] = {
		{"black-forest-labs/FLUX.1-dev", 4096},
		{"Qwen/Qwen-Image", 6889},
		{"Efficient-Large-Model/Sana_1600M_1024px_diffusers", 1024},
		{"THUDM/CogVideoX-5b", 17550},
		{"genmo/mochi-1-preview", 44520},
		{"hunyuanvideo-community/HunyuanVideo", 118800},
		{"Lightricks/LTX-Video", 7392},
		{"Wan-AI/Wan2.1-T2V-1.3B-Diffusers", 32760},
		{"Wan-AI/Wan2.1-T2V-14B-Diffusers", 75600},
		{"Wan-AI/Wan2.2-TI2V-5B-Diffusers", 27280},
		{"nvidia/Cosmos-1.0-Diffusion-7B-Text2World", 56320},
		{"maxin-cn/Latte-1", 16384},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct media *media = media_of(cases[i].id);
		struct media_grid grid = grid_of(media, media->width, media->height, media->frames);

		ck_assert_msg(fabs(grid.tokens - cases[i].tokens) < 1, "%s: %.0f, not %.0f",
			      cases[i].id, grid.tokens, cases[i].tokens);
	}
}
END_TEST

/* A pass of a diffusion transformer costs about 2 FLOPs a parameter and token, and attention: 4 x
 * width x tokens^2 a layer. FLUX.1: 11.9e9 x 2 x 4608, less what is passed once an item, and 57 x 4
 * x 3072 x 4608^2. */
START_TEST(a_pass_costs_what_its_matrices_do)
{
	struct media_work work = pass_of("black-forest-labs/FLUX.1-dev", 1024, 1024, 1);
	double streams =
		19 * (113246208.0 * 4096 + 113246208.0 * 512) + 38 * 113246208.0 * (4096 + 512);

	ck_assert_double_eq_tol(work.matrix_flops / (2 * streams), 1, 0.02);
	ck_assert_double_eq_tol(work.attention_flops, 57 * 4.0 * 3072 * 4608 * 4608, 1);
	ck_assert_double_eq_tol(work.scores, 57 * 24.0 * 4608 * 4608, 1);
}
END_TEST

/* SnapFusion (arXiv 2306.00980), table 1: the U-Net of Stable Diffusion 1.5 takes 339 G
 * multiplications and additions a pass at 512 x 512. */
START_TEST(a_pass_of_a_unet_costs_what_its_authors_count)
{
	struct media_work work =
		pass_of("stable-diffusion-v1-5/stable-diffusion-v1-5", 512, 512, 1);
	double flops = work.matrix_flops + work.convolution_flops + work.attention_flops;

	ck_assert_double_eq_tol(flops / (2 * 339e9), 1, 0.2);
}
END_TEST

START_TEST(work_grows_with_everything)
{
	static const char *const ids[] = {"stable-diffusion-v1-5/stable-diffusion-v1-5",
					  "stabilityai/stable-diffusion-xl-base-1.0",
					  "black-forest-labs/FLUX.1-dev",
					  "stabilityai/stable-diffusion-3.5-medium",
					  "Wan-AI/Wan2.1-T2V-14B-Diffusers",
					  "stabilityai/stable-video-diffusion-img2vid-xt",
					  "maxin-cn/Latte-1"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct media *media = media_of(ids[i]);
		struct media_grid small = grid_of(media, 512, 512, 17);
		struct media_grid large = grid_of(media, 1024, 512, 17);
		struct media_work less, more;

		media_denoiser_work(media, &small, &less);
		media_denoiser_work(media, &large, &more);
		ck_assert_double_gt(more.matrix_flops, less.matrix_flops);
		ck_assert_double_gt(more.attention_flops, less.attention_flops);
		ck_assert_double_gt(more.peak_elements, 1.5 * less.peak_elements);
		ck_assert_double_gt(more.saved_elements, 1.5 * less.saved_elements);
		media_vae_work(media, &small, false, false, &less);
		media_vae_work(media, &large, false, false, &more);
		ck_assert_double_eq_tol(more.convolution_flops / less.convolution_flops, 2, 0.01);
		media_vae_work(media, &large, false, true, &less);
		ck_assert_double_le(less.peak_elements, more.peak_elements);
	}
}
END_TEST

/* The VAE of FLUX.1 at 1024 x 1024: its widest maps are 256 channels of the whole picture. */
START_TEST(the_widest_map_of_a_vae_is_its_last_level)
{
	const struct media *media = media_of("black-forest-labs/FLUX.1-dev");
	struct media_grid grid = grid_of(media, 1024, 1024, 1);
	struct media_work work;

	media_vae_work(media, &grid, false, false, &work);
	ck_assert_double_eq_tol(work.peak_elements, 256.0 * 1024 * 1024, 1);
}
END_TEST

/* diffusers-torchao's README: memory of the pipeline after loading, of which only the denoiser is
 * quantised. */
/* Mochi's proj and HunyuanVideo-1.5's upsampler unfold channels into places: the finest maps have
 * 128 channels, where interpolation (HunyuanVideo) hands on the coarser level's 256. A tile of 256
 * pixels a side, with 28 latents of 6 frames and 31 of 4, and 5 of 4 at a time. */
START_TEST(what_is_unfolded_is_as_wide_as_its_level)
{
	static const struct {
		const char *model;
		double latents, frames, channels;
	} cases[] = {
		{"genmo/mochi-1-preview", 28, 168, 128},
		{"hunyuanvideo-community/HunyuanVideo-1.5", 31, 124, 128},
		{"hunyuanvideo-community/HunyuanVideo", 33, 16, 256},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct media *media = media_of(cases[i].model);
		struct media_size size = {
			.width = media->width, .height = media->height, .frames = media->frames};
		struct media_grid grid;
		struct media_work work;

		media_grid(media, &size, &grid);
		ck_assert_double_eq_tol(grid.latent_frames, cases[i].latents, 1e-9);
		media_vae_work(media, &grid, false, true, &work);
		ck_assert_double_eq_tol(work.peak_elements,
					256.0 * 256 * cases[i].frames * cases[i].channels, 1);
	}
}
END_TEST

START_TEST(weights_take_what_was_measured_after_loading)
{
	static const struct {
		enum format format;
		double gib;
	} cases[] = {{FORMAT_BF16, 31.438},
		     {FORMAT_TORCHAO_INT8, 20.386},
		     {FORMAT_TORCHAO_FP8, 20.363},
		     {FORMAT_TORCHAO_FP6, 17.591}};
	const struct media *media = media_of("black-forest-labs/FLUX.1-dev");
	struct media_count count;

	media_count(media, &count);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double bytes = media_denoiser_bytes(media, cases[i].format) +
			       media_encoder_bytes(media, FORMAT_BF16) + 2 * (double)count.vae;

		ck_assert_double_eq_tol(bytes / GIB, cases[i].gib, 0.05);
	}
}
END_TEST

START_TEST(copies_of_the_denoiser_are_all_counted)
{
	struct media_count one, two;

	media_count(media_of("Wan-AI/Wan2.1-T2V-14B-Diffusers"), &one);
	media_count(media_of("Wan-AI/Wan2.2-T2V-A14B-Diffusers"), &two);
	ck_assert_uint_eq(one.denoiser, two.denoiser);
	ck_assert_uint_eq(two.total - one.total, one.denoiser);
}
END_TEST

START_TEST(what_is_out_of_range_is_refused)
{
	struct media media = *media_of("black-forest-labs/FLUX.1-dev");
	const char *reason;

	ck_assert(media_check(&media, &reason));
	media.denoiser.blocks[0].width = 1 << 20;
	ck_assert(!media_check(&media, &reason));
	media = *media_of("stabilityai/stable-diffusion-xl-base-1.0");
	media.denoiser.unet.depth[1] = 100000;
	ck_assert(!media_check(&media, &reason));
	media = *media_of("black-forest-labs/FLUX.1-dev");
	media.vae.spatial = 0;
	ck_assert(!media_check(&media, &reason));
}
END_TEST

/* 720p of 129 frames: 160 x 90 x 33 latents in tiles of 32 x 32 that start every 24, and of 4
 * frames with the one before them that start every 3: diffusers' tiled_decode and
 * _temporal_tiled_decode. */
START_TEST(tiles_are_counted_one_by_one)
{
	const struct media *media =
		model_find("hunyuanvideo-community/HunyuanVideo")->architecture.media;
	struct media plain = *media;
	struct media_size size = {.width = 1280, .height = 720, .frames = 129};
	struct media_work whole, tiled, once;
	struct media_grid grid;

	plain.vae.slice_frames = plain.vae.tile_frames = 0;
	media_grid(media, &size, &grid);
	media_vae_work(media, &grid, false, false, &whole);
	media_vae_work(media, &grid, false, true, &tiled);
	media_vae_work(&plain, &grid, false, false, &once);
	/* 10 tiles of 5 frames and one of 3: also where pictures are whole. */
	ck_assert_double_eq_tol(whole.convolution_flops / once.convolution_flops, 53.0 / 33, 1e-9);
	/* 6 of 32 and one of 16 latents by 3 of 32 and one of 18. */
	ck_assert_double_eq_tol(tiled.convolution_flops / whole.convolution_flops,
				(6 * 32 + 16) / 160.0 * (3 * 32 + 18) / 90.0, 1e-9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("media");
	TCase *tests = tcase_create("media");

	tcase_add_test(tests, latents_are_as_many_tokens_as_published);
	tcase_add_test(tests, a_pass_costs_what_its_matrices_do);
	tcase_add_test(tests, a_pass_of_a_unet_costs_what_its_authors_count);
	tcase_add_test(tests, work_grows_with_everything);
	tcase_add_test(tests, the_widest_map_of_a_vae_is_its_last_level);
	tcase_add_test(tests, what_is_unfolded_is_as_wide_as_its_level);
	tcase_add_test(tests, weights_take_what_was_measured_after_loading);
	tcase_add_test(tests, copies_of_the_denoiser_are_all_counted);
	tcase_add_test(tests, what_is_out_of_range_is_refused);
	tcase_add_test(tests, tiles_are_counted_one_by_one);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
