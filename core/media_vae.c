/*
 * Media VAE: work of an autoencoder of convolutions, level by level. A level of the decoder has
 * resnets of two convolutions and then doubles its grid; of the encoder the other way round.
 */
#include "core/media_parts.h"

#include <math.h>
#include <string.h>

/* Pixels a side and frames at one level, from the pixels on: level 0 is as fine as those. */
struct level {
	double places;
	int channels;
};

static double time_factor(const struct media_vae *vae, int level)
{
	int from_bottom = vae->levels - 1 - level;
	double halved = fmin(from_bottom, vae->time_levels), whole = vae->time_levels;

	/* The first `time_levels` steps up from the latents double the frames. */
	return pow(vae->temporal > 1 ? vae->temporal : 1, whole > 0 ? halved / whole : 1);
}

/* Places of one level for latents of that size. */
static struct level level_of(const struct media_vae *vae, const struct media_grid *grid, int level)
{
	double finest = vae->spatial / (double)(vae->patch > 0 ? vae->patch : 1);
	double side = finest / pow(2, level);
	double frames = grid->latent_frames;
	bool is_sound = vae->pixel_channels < 3;

	if (vae->slice_frames > 0)
		frames = fmin(frames, vae->slice_frames);
	frames *= time_factor(vae, level);
	if (is_sound)
		return (struct level){grid->latent_width * side, vae->channels[level]};
	return (struct level){grid->latent_width * side * grid->latent_height * side * frames,
			      vae->channels[level]};
}

#define VAE_KERNELS 5

static void add_resnets(const struct media_vae *vae, const struct level *level, int in, int resnets,
			double passes, struct media_work *out)
{
	double volume =
		(vae->pixel_channels < 3 ? 7 : 9.0) * (vae->kernel_time ? vae->kernel_time : 1);

	for (int i = 0; i < resnets; i++) {
		double from = i ? level->channels : in, to = level->channels;

		out->convolution_flops +=
			passes * 2 * level->places * volume * (from * to + to * to);
		out->traffic_elements += passes * level->places * (5 * from + 6 * to);
		out->kernels += passes * VAE_KERNELS;
		out->peak_elements = fmax(out->peak_elements, level->places * fmax(from, to));
		out->saved_elements += passes * level->places * (3 * from + 4 * to);
	}
}

static double tile_latent_frames(const struct media_vae *vae)
{
	return vae->tile_frames > 0 ? ceil(vae->tile_frames / fmax(1, vae->temporal)) : HUGE_VAL;
}

static void tile_of(const struct media_vae *vae, struct media_grid *grid)
{
	double tile = vae->tile > 0 ? ceil(vae->tile / (double)vae->spatial) : 0;

	if (tile > 0) {
		grid->latent_width = fmin(grid->latent_width, tile);
		grid->latent_height = fmin(grid->latent_height, tile);
	}
	grid->latent_frames = fmin(grid->latent_frames, tile_latent_frames(vae));
}

/* Of each side of a tile, what it has in common with the next: diffusers' tile_overlap_factor. */
#define TILE_OVERLAP 0.25

/* All tiles along a side, each with `more` latents before it, in times of the side: one starts
 * every three quarters of a tile, and the last ones are cut where the side ends. */
static double covered(double side, double tile, double more)
{
	double stride = fmax(1, floor(tile * (1 - TILE_OVERLAP))), sum = 0;

	if (tile >= side)
		return 1;
	for (double at = 0; at < side; at += stride)
		sum += fmin(tile + more, side - at);
	return sum / side;
}

/* A tile of frames also has the latent that its first frame hangs on. */
static double covered_frames(const struct media_grid *grid, double tile)
{
	return covered(grid->latent_frames, tile, 1);
}

/* Work on tiles of that size, in times of the work on the whole. */
static double overlapping(const struct media_grid *grid, const struct media_grid *part)
{
	return covered(grid->latent_width, part->latent_width, 0) *
	       covered(grid->latent_height, part->latent_height, 0) *
	       covered_frames(grid, part->latent_frames);
}

/* Slices of frames, one after the other; those that are tiles overlap, tiled otherwise or not. */
static double slices(const struct media_vae *vae, const struct media_grid *part)
{
	double tile = tile_latent_frames(vae);

	if (part->latent_frames > tile)
		return covered_frames(part, tile) * part->latent_frames / vae->slice_frames;
	return ceil(part->latent_frames / vae->slice_frames);
}

void media_vae_work(const struct media *media, const struct media_grid *grid, bool is_encoder,
		    bool is_tiled, struct media_work *out)
{
	const struct media_vae *vae = &media->vae;
	struct media_grid part = *grid;
	double passes, share, bottom;
	int resnets = is_encoder ? vae->encoder_resnets : vae->decoder_resnets;

	memset(out, 0, sizeof(*out));
	if (is_tiled)
		tile_of(vae, &part);
	share = part.latent_width * part.latent_height * part.latent_frames /
		(grid->latent_width * grid->latent_height * grid->latent_frames);
	passes = overlapping(grid, &part) / share;
	if (vae->slice_frames > 0)
		passes *= slices(vae, &part);
	for (int level = 0; level < vae->levels; level++) {
		struct level at = level_of(vae, &part, level);
		int coarser =
			level + 1 < vae->levels ? vae->channels[level + 1] : vae->channels[level];
		int below = vae->unfolds			      ? vae->channels[level]
			    : vae->narrows && level + 1 < vae->levels ? coarser / 2
								      : coarser;
		int above =
			level && !vae->unfolds ? vae->channels[level - 1] : vae->channels[level];
		double frames = fmax(1, vae->slice_frames) * time_factor(vae, level);

		/* Going up, a level begins with what the coarser one hands on. */
		add_resnets(vae, &at, is_encoder ? above : below, resnets, passes, out);
		/* Each convolution over time keeps the frames that its kernel reaches back to. */
		if (vae->slice_frames > 0 && vae->kernel_time > 1)
			out->kept_elements += (2.0 * resnets + 1) * (vae->kernel_time - 1) *
					      at.places / frames * at.channels;
	}
	if (vae->has_attention) {
		struct level last = level_of(vae, &part, vae->levels - 1);

		bottom = last.places / fmax(1, part.latent_frames);
		out->attention_flops += passes * 4 * bottom * last.places * last.channels;
		out->scores += passes * bottom * last.places;
		out->score_elements = bottom * bottom;
		add_resnets(vae, &last, last.channels, 2, passes, out);
	}
}
