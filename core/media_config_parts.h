/* What the files of media_config share; nobody else includes it. */
#ifndef CORE_MEDIA_CONFIG_PARTS_H
#define CORE_MEDIA_CONFIG_PARTS_H

#include "core/hf_config_parts.h"
#include "core/media_config.h"

/* Of a denoiser's class: how its keys become blocks, and what its pipeline takes by default. */
struct media_class {
	const char *name, *family;
	enum modality modality;
	void (*read)(struct hf_reader *reader, struct media_denoiser *out);
	int text_tokens;
	int width, height, frames;
	double fps;
	int steps, passes;
};

const struct media_class *media_class_find(const char *name);

/* Of a class of VAE that is no AutoencoderKL: the registry's, as all of its repositories have it.
 */
bool media_config_vae(struct hf_reader *reader, const char *name, struct media_vae *out);

/* A text or image encoder; `tokens` is what the denoiser attends to. */
bool media_config_encoder(struct hf_reader *reader, int tokens, struct media_encoder *out);

/* Readers of denoisers: media_config_unet.c, _pictures.c, _video.c. */
void media_read_unet(struct hf_reader *reader, struct media_denoiser *out);
void media_read_unet_video(struct hf_reader *reader, struct media_denoiser *out);
void media_read_flux(struct hf_reader *reader, struct media_denoiser *out);
void media_read_flux2(struct hf_reader *reader, struct media_denoiser *out);
void media_read_chroma(struct hf_reader *reader, struct media_denoiser *out);
void media_read_sd3(struct hf_reader *reader, struct media_denoiser *out);
void media_read_pixart(struct hf_reader *reader, struct media_denoiser *out);
void media_read_qwen_image(struct hf_reader *reader, struct media_denoiser *out);
void media_read_auraflow(struct hf_reader *reader, struct media_denoiser *out);
void media_read_hunyuan_video(struct hf_reader *reader, struct media_denoiser *out);
void media_read_wan(struct hf_reader *reader, struct media_denoiser *out);
void media_read_ltx(struct hf_reader *reader, struct media_denoiser *out);
void media_read_cogvideox(struct hf_reader *reader, struct media_denoiser *out);
void media_read_mochi(struct hf_reader *reader, struct media_denoiser *out);

/* As hf_int() and hf_layer_int(), with limits that keep products of three in range. */
#define MEDIA_HEADS_MOST 4096
#define MEDIA_CHANNELS_MOST 8192
#define MEDIA_PATCH_MOST 16
#define MEDIA_LEVEL_MOST 65536
int media_most(struct hf_reader *reader, const char *name, int fallback, int most);
int media_item_most(struct hf_reader *reader, const char *names, int index, int fallback, int most);

/* One more kind of block, as wide as its heads; room for none is told by media_check(). */
struct media_block *media_add_block(struct media_denoiser *out, int count, int heads, int head_dim);
/* a x b, neither negative, without overflow. */
uint64_t media_product(int a, int b);
/* Two matrices that embed the time (256 wide), and as many biases into extra_parameters. */
void media_add_time(struct media_denoiser *out, int width);

#endif
