/* Pasted configurations of diffusers: each gives the registry's pipeline, to the last parameter. */
#include "core/media_config.h"
#include "core/model.h"
#include "tests/core/pasted.h"
#include "tests/suite.h"

#include <stdio.h>

static struct media media;
static struct architecture architecture;

static bool read_media(const char *text)
{
	struct config_value *root = parse(text);

	ck_assert_msg(root != NULL, "%s", error.detail);
	ck_assert(media_config_is(root));
	return media_config_read(root, &media, &architecture, &error);
}

static const struct media *known(const char *id)
{
	const struct model *model = model_find(id);

	ck_assert_msg(model && model->architecture.media, "%s", id);
	return model->architecture.media;
}

/* What the repositories' transformer/config.json and unet/config.json hold of sizes. */
static const struct {
	const char *id, *config;
} denoisers[] = {
	{"stable-diffusion-v1-5/stable-diffusion-v1-5",
	 "{\"_class_name\":\"UNet2DConditionModel\",\"attention_head_dim\":8,\"block_out_"
	 "channels\":"
	 "[320,640,1280,1280],\"cross_attention_dim\":768,\"down_block_types\":["
	 "\"CrossAttnDownBlock2D\",\"CrossAttnDownBlock2D\",\"CrossAttnDownBlock2D\","
	 "\"DownBlock2D\"],\"in_channels\":4,\"layers_per_block\":2,\"out_channels\":4,"
	 "\"sample_size\":64}"},
	{"stabilityai/stable-diffusion-xl-base-1.0",
	 "{\"_class_name\":\"UNet2DConditionModel\",\"attention_head_dim\":[5,10,20],"
	 "\"block_out_channels\":[320,640,1280],\"cross_attention_dim\":2048,"
	 "\"down_block_types\":[\"DownBlock2D\",\"CrossAttnDownBlock2D\",\"CrossAttnDownBlock2D\"],"
	 "\"layers_per_block\":2,\"projection_class_embeddings_input_dim\":2816,"
	 "\"transformer_layers_per_block\":[1,2,10],\"use_linear_projection\":true}"},
	{"stabilityai/stable-video-diffusion-img2vid-xt",
	 "{\"_class_name\":\"UNetSpatioTemporalConditionModel\",\"block_out_channels\":[320,640,"
	 "1280,"
	 "1280],\"cross_attention_dim\":1024,\"in_channels\":8,\"layers_per_block\":2,"
	 "\"num_attention_heads\":[5,10,20,20],\"projection_class_embeddings_input_dim\":768,"
	 "\"transformer_layers_per_block\":1}"},
	{"black-forest-labs/FLUX.1-dev",
	 "{\"_class_name\":\"FluxTransformer2DModel\",\"attention_head_dim\":128,\"guidance_"
	 "embeds\":"
	 "true,\"in_channels\":64,\"joint_attention_dim\":4096,\"num_attention_heads\":24,"
	 "\"num_layers\":19,\"num_single_layers\":38,\"patch_size\":1,\"pooled_projection_dim\":"
	 "768}"},
	{"black-forest-labs/FLUX.1-schnell", "{\"_class_name\":\"FluxTransformer2DModel\"}"},
	{"black-forest-labs/FLUX.2-dev", "{\"_class_name\":\"Flux2Transformer2DModel\"}"},
	{"black-forest-labs/FLUX.2-klein-base-4B",
	 "{\"_class_name\":\"Flux2Transformer2DModel\",\"num_layers\":5,\"num_single_layers\":20,"
	 "\"num_attention_heads\":24,\"joint_attention_dim\":7680,\"guidance_embeds\":false}"},
	{"lodestones/Chroma1-HD", "{\"_class_name\":\"ChromaTransformer2DModel\"}"},
	{"stabilityai/stable-diffusion-3-medium-diffusers",
	 "{\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":24,\"num_attention_heads\":24,"
	 "\"joint_attention_dim\":4096,\"pooled_projection_dim\":2048}"},
	{"stabilityai/stable-diffusion-3.5-medium",
	 "{\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":24,\"num_attention_heads\":24,"
	 "\"qk_norm\":\"rms_norm\",\"dual_attention_layers\":[0,1,2,3,4,5,6,7,8,9,10,11,12]}"},
	{"stabilityai/stable-diffusion-3.5-large",
	 "{\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":38,\"num_attention_heads\":38,"
	 "\"qk_norm\":\"rms_norm\"}"},
	{"PixArt-alpha/PixArt-XL-2-1024-MS",
	 "{\"_class_name\":\"PixArtTransformer2DModel\",\"sample_size\":128}"},
	{"PixArt-alpha/PixArt-Sigma-XL-2-1024-MS",
	 "{\"_class_name\":\"PixArtTransformer2DModel\",\"sample_size\":128,"
	 "\"use_additional_conditions\":false}"},
	{"Qwen/Qwen-Image", "{\"_class_name\":\"QwenImageTransformer2DModel\"}"},
	{"fal/AuraFlow-v0.3", "{\"_class_name\":\"AuraFlowTransformer2DModel\"}"},
	{"hunyuanvideo-community/HunyuanVideo",
	 "{\"_class_name\":\"HunyuanVideoTransformer3DModel\",\"patch_size\":2,\"patch_size_t\":"
	 "1}"},
	{"Wan-AI/Wan2.1-T2V-1.3B-Diffusers",
	 "{\"_class_name\":\"WanTransformer3DModel\",\"num_attention_heads\":12,\"num_layers\":30,"
	 "\"ffn_dim\":8960,\"patch_size\":[1,2,2]}"},
	{"Wan-AI/Wan2.1-T2V-14B-Diffusers",
	 "{\"_class_name\":\"WanTransformer3DModel\",\"patch_size\":[1,2,2]}"},
	{"Wan-AI/Wan2.1-I2V-14B-720P-Diffusers",
	 "{\"_class_name\":\"WanTransformer3DModel\",\"in_channels\":36,\"image_dim\":1280,"
	 "\"added_kv_proj_dim\":5120,\"patch_size\":[1,2,2]}"},
	{"Lightricks/LTX-Video", "{\"_class_name\":\"LTXVideoTransformer3DModel\"}"},
	{"Lightricks/LTX-Video-0.9.7-dev",
	 "{\"_class_name\":\"LTXVideoTransformer3DModel\",\"num_layers\":48,\"attention_head_dim\":"
	 "128,\"cross_attention_dim\":4096}"},
	{"THUDM/CogVideoX-2b", "{\"_class_name\":\"CogVideoXTransformer3DModel\"}"},
	{"THUDM/CogVideoX-5b", "{\"_class_name\":\"CogVideoXTransformer3DModel\",\"num_attention_"
			       "heads\":48,\"num_layers\":"
			       "42,\"use_rotary_positional_embeddings\":true}"},
	{"Tongyi-MAI/Z-Image-Turbo",
	 "{\"_class_name\":\"ZImageTransformer2DModel\",\"dim\":3840,\"n_layers\":30}"},
	{"nvidia/Cosmos-1.0-Diffusion-7B-Text2World",
	 "{\"_class_name\":\"CosmosTransformer3DModel\",\"num_attention_heads\":32,"
	 "\"attention_head_dim\":128,\"num_layers\":28}"},
	{"Efficient-Large-Model/Sana_600M_1024px_diffusers",
	 "{\"_class_name\":\"SanaTransformer2DModel\",\"num_attention_heads\":36,"
	 "\"attention_head_dim\":32,\"num_layers\":28}"},
	{"genmo/mochi-1-preview", "{\"_class_name\":\"MochiTransformer3DModel\"}"},
};

START_TEST(a_denoiser_alone_is_that_of_the_registry)
{
	struct media_count read, published;
	struct media_grid grid;
	struct media_work one, other;
	struct media_size size = {.width = 512, .height = 512, .frames = 1};

	ck_assert_msg(read_media(denoisers[_i].config), "%s: %s %s", denoisers[_i].id, error.detail,
		      error.first ? error.first->detail : "");
	media_count(&media, &read);
	media_count(known(denoisers[_i].id), &published);
	ck_assert_msg(read.denoiser == published.denoiser, "%s: %lu, not %lu", denoisers[_i].id,
		      (unsigned long)read.denoiser, (unsigned long)published.denoiser);
	ck_assert_msg(read.denoiser_linear == published.denoiser_linear,
		      "%s: %lu in matrices, not %lu", denoisers[_i].id,
		      (unsigned long)read.denoiser_linear,
		      (unsigned long)published.denoiser_linear);
	media_grid(&media, &size, &grid);
	media_denoiser_work(&media, &grid, &one);
	media_denoiser_work(known(denoisers[_i].id), &grid, &other);
	ck_assert_double_eq_tol(one.attention_flops / other.attention_flops, 1, 1e-9);
	ck_assert_double_eq_tol(one.matrix_flops / other.matrix_flops, 1, 0.02);
	ck_assert_ptr_eq(architecture.media, &media);
}
END_TEST

/* FLUX.1-dev's model_index.json, each part's class replaced by the sizes of its config.json. */
START_TEST(a_pipeline_is_read_from_all_its_parts)
{
	static const char text[] =
		"{\"_class_name\":\"FluxPipeline\",\"_diffusers_version\":\"0.30.0\","
		"\"scheduler\":[\"diffusers\",\"FlowMatchEulerDiscreteScheduler\"],"
		"\"text_encoder\":{\"model_type\":\"clip_text_model\",\"hidden_size\":768,"
		"\"intermediate_size\":3072,\"num_attention_heads\":12,\"num_hidden_layers\":12,"
		"\"vocab_size\":49408,\"max_position_embeddings\":77},"
		"\"text_encoder_2\":{\"model_type\":\"t5\",\"d_model\":4096,\"d_ff\":10240,\"d_"
		"kv\":64,"
		"\"num_heads\":64,\"num_layers\":24,\"vocab_size\":32128,\"feed_forward_proj\":"
		"\"gated-gelu\",\"architectures\":[\"T5EncoderModel\"]},"
		"\"transformer\":{\"_class_name\":\"FluxTransformer2DModel\",\"guidance_embeds\":"
		"true},"
		"\"vae\":{\"_class_name\":\"AutoencoderKL\",\"block_out_channels\":[128,256,512,"
		"512],"
		"\"latent_channels\":16,\"layers_per_block\":2,\"use_quant_conv\":false,"
		"\"use_post_quant_conv\":false,\"scaling_factor\":0.3611,\"sample_size\":1024}}";
	const struct media *flux = known("black-forest-labs/FLUX.1-dev");
	struct media_count count;

	ck_assert_msg(read_media(text), "%s %s", error.detail,
		      error.first ? error.first->detail : "");
	media_count(&media, &count);
	ck_assert_uint_eq(count.total, 16870599139u); /* facts/diffusion.csv */
	ck_assert_uint_eq(count.text_encoders, 123060480u + 4762310656u);
	ck_assert_uint_eq(count.vae, 83819683u);
	ck_assert_int_eq(media.vae.spatial, flux->vae.spatial);
	ck_assert_int_eq(media.guidance_passes, 1);
	ck_assert_str_eq(architecture.family, "flux");
	ck_assert_int_eq((int)architecture.modality, MODALITY_IMAGE);
}
END_TEST

START_TEST(what_is_missing_or_unknown_is_named)
{
	ck_assert(!read_media("{\"_class_name\":\"FluxPipeline\",\"transformer\":[\"diffusers\","
			      "\"FluxTransformer2DModel\"]}"));
	ck_assert_str_eq(error.first->pointer, "/transformer");
	ck_assert_str_eq(error.first->code, "missing");
	error_init(&error, &arena);
	ck_assert(!read_media("{\"_class_name\":\"FluxPipeline\",\"transformer\":{\"_class_name\":"
			      "\"FluxTransformer2DModel\"}}"));
	ck_assert_str_eq(error.first->pointer, "/vae");
	error_init(&error, &arena);
	/* Whether its own file is there or its class alone. */
	ck_assert(!read_media("{\"_class_name\":\"FluxControlNetPipeline\",\"controlnet\":"
			      "[\"diffusers\",\"FluxControlNetModel\"],\"transformer\":"
			      "{\"_class_name\":\"FluxTransformer2DModel\"}}"));
	ck_assert_str_eq(error.first->pointer, "/controlnet");
	ck_assert_str_eq(error.first->code, "unsupported");
	error_init(&error, &arena);
	ck_assert(!read_media("{\"_class_name\":\"NeverSeenTransformer2DModel\"}"));
	ck_assert_int_eq(error.code, ERROR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.detail, "NeverSeenTransformer2DModel"));
	error_init(&error, &arena);
	/* A class whose layers the registry alone knows, in sizes that nobody has published. */
	ck_assert(!read_media(
		"{\"_class_name\":\"SanaTransformer2DModel\",\"num_attention_heads\":36,"
		"\"attention_head_dim\":32,\"num_layers\":77}"));
	ck_assert_int_eq(error.code, ERROR_UNSUPPORTED);
	error_init(&error, &arena);
	ck_assert(!read_media("{\"_class_name\":\"FluxTransformer2DModel\",\"num_layers\":-3}"));
	ck_assert_str_eq(error.first->pointer, "/num_layers");
	error_init(&error, &arena);
	ck_assert(!read_media("{\"_class_name\":\"FluxTransformer2DModel\","
			      "\"num_attention_heads\":200000,\"attention_head_dim\":200000}"));
	ck_assert_str_eq(error.first->pointer, "/num_attention_heads");
	error_init(&error, &arena);
	ck_assert(!read_media("{\"_class_name\":\"FluxTransformer2DModel\","
			      "\"num_attention_heads\":4096,\"attention_head_dim\":4096}"));
	ck_assert_ptr_nonnull(strstr(error.detail, "width"));
	error_init(&error, &arena);
	ck_assert(!read_media(
		"{\"_class_name\":\"UNet2DConditionModel\",\"block_out_channels\":[]}"));
	ck_assert_str_eq(error.first->pointer, "/block_out_channels");
}
END_TEST

/* What is not of its type is told, never taken for what is usual. */
START_TEST(other_types_are_refused_where_they_stand)
{
	static const struct {
		const char *text, *pointer, *code;
	} cases[] = {
		{"{\"_class_name\":\"UNet2DConditionModel\",\"block_out_channels\":\"x\"}",
		 "/block_out_channels", "invalid_type"},
		{"{\"_class_name\":\"UNet2DConditionModel\",\"down_block_types\":[1,2,3,4]}",
		 "/down_block_types", "invalid_type"},
		{"{\"_class_name\":\"UNet2DConditionModel\",\"down_block_types\":[]}",
		 "/down_block_types", "invalid_type"},
		{"{\"_class_name\":\"FluxPipeline\",\"transformer\":{\"_class_name\":"
		 "\"FluxTransformer2DModel\"},\"text_encoder\":{}}",
		 "/text_encoder/model_type", "missing"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		error_init(&error, &arena);
		ck_assert_msg(!read_media(cases[i].text), "%s", cases[i].text);
		ck_assert_ptr_nonnull(error.first);
		ck_assert_str_eq(error.first->pointer, cases[i].pointer);
		ck_assert_str_eq(error.first->code, cases[i].code);
	}
	error_init(&error, &arena);
	ck_assert(
		read_media("{\"_class_name\":\"UNet2DConditionModel\",\"block_out_channels\":null,"
			   "\"down_block_types\":null}"));
}
END_TEST

START_TEST(two_experts_of_noise_are_two_copies)
{
	struct media_count one, two;
	static const char text[] =
		"{\"_class_name\":\"WanPipeline\",\"text_encoder\":{\"model_type\":\"umt5\",\"d_"
		"model\":"
		"4096,\"d_ff\":10240,\"d_kv\":64,\"num_heads\":64,\"num_layers\":24,\"vocab_size\":"
		"256384,\"feed_forward_proj\":\"gated-gelu\"},"
		"\"transformer\":{\"_class_name\":\"WanTransformer3DModel\"},"
		"\"transformer_2\":{\"_class_name\":\"WanTransformer3DModel\"},"
		"\"vae\":{\"_class_name\":\"AutoencoderKLWan\",\"z_dim\":16}}";

	ck_assert_msg(read_media(text), "%s %s", error.detail,
		      error.first ? error.first->detail : "");
	media_count(&media, &one);
	media_count(known("Wan-AI/Wan2.2-T2V-A14B-Diffusers"), &two);
	ck_assert_uint_eq(one.total, two.total);
}
END_TEST

/* Strangers send anything: every number of every file in turn, replaced by what no model has, is
 * refused or read, and what is read can be counted and sized. */
START_TEST(absurd_numbers_are_refused_or_survived)
{
	static const char *const absurd[] = {"0",   "1",    "-1",  "65536", "200000",
					     "1e9", "1e30", "0.5", "[]",    "null"};
	const char *config = denoisers[_i].config;

	for (const char *at = strchr(config, ':'); at; at = strchr(at + 1, ':'))
		for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
			char text[2048];
			size_t skipped = strcspn(at + 1, ",}]");
			struct media_count count;

			if (at[1] != '[' && (at[1] < '0' || at[1] > '9'))
				continue;
			snprintf(text, sizeof(text), "%.*s:%s%s", (int)(at - config), config,
				 absurd[i],
				 at + 1 + (at[1] == '[' ? strcspn(at + 1, "]") + 1 : skipped));
			error_init(&error, &arena);
			if (!read_media(text)) {
				ck_assert(error.first || *error.detail);
				continue;
			}
			media_count(&media, &count);
			ck_assert_uint_lt(count.total, 1000000000000000000u);
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("media_config");
	TCase *tests = tcase_create("media_config");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, a_denoiser_alone_is_that_of_the_registry, 0,
			    sizeof(denoisers) / sizeof(denoisers[0]));
	tcase_add_loop_test(tests, absurd_numbers_are_refused_or_survived, 0,
			    sizeof(denoisers) / sizeof(denoisers[0]));
	tcase_add_test(tests, a_pipeline_is_read_from_all_its_parts);
	tcase_add_test(tests, what_is_missing_or_unknown_is_named);
	tcase_add_test(tests, other_types_are_refused_where_they_stand);
	tcase_add_test(tests, two_experts_of_noise_are_two_copies);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
