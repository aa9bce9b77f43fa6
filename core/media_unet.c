/*
 * Media U-Net: parameters and work of a convolutional denoiser (UNet2DConditionModel, and with time
 * UNetSpatioTemporalConditionModel), level by level.
 *
 *   resnet       two 3x3 convolutions, two norms, the time's projection, a shortcut where widths
 *                differ; over time the same with kernels of 3 frames
 *   transformer  norm, a matrix in and out; blocks of self-attention, cross-attention and a gated
 *                MLP of 4 widths
 *   way up       as many resnets as down and one more, each joined with what the way down left
 */
#include "core/media_parts.h"

#include <math.h>
#include <string.h>

struct walk {
	const struct media_unet *unet;
	double places; /* of the level at hand, all frames */
	double frames, text;
	uint64_t parameters, linear; /* linear: in matrices */
	uint64_t largest;	     /* parameters of the largest transformer block or resnet */
	double skipped;		     /* elements that the way down keeps for the way up */
	struct media_work work;
};

static uint64_t square(int a, int b)
{
	return (uint64_t)(unsigned)a * (unsigned)b;
}

static void note_largest(struct walk *walk, uint64_t parameters)
{
	if (parameters > walk->largest)
		walk->largest = parameters;
}

/* A convolution with its bias, of `volume` weights each way through. */
static void convolve(struct walk *walk, int in, int out, unsigned volume, double places)
{
	walk->parameters += square(in, out) * volume + (unsigned)out;
	walk->work.convolution_flops += 2 * places * (double)(square(in, out) * volume);
	walk->work.traffic_elements += places * (in + out);
	walk->work.kernels += 1;
}

#define RESNET_KERNELS 6
#define UNET_BLOCK_KERNELS 22

static void add_resnet(struct walk *walk, int in, int out)
{
	const struct media_unet *unet = walk->unet;
	uint64_t before = walk->parameters;
	double written = walk->places * (3.0 * in + 4.0 * out);

	convolve(walk, in, out, 9, walk->places);
	convolve(walk, out, out, 9, walk->places);
	if (in != out)
		convolve(walk, in, out, 1, walk->places);
	walk->parameters += 2 * (unsigned)in + 2 * (unsigned)out;
	walk->parameters += square(unet->time_width, out) + (unsigned)out;
	walk->linear += square(unet->time_width, out);
	if (unet->has_time) {
		convolve(walk, out, out, 3, walk->places);
		convolve(walk, out, out, 3, walk->places);
		walk->parameters += 4 * (unsigned)out + 1;
		walk->parameters += square(unet->time_width, out) + (unsigned)out;
		walk->linear += square(unet->time_width, out);
		written += walk->places * 5.0 * out;
	}
	walk->work.traffic_elements += written;
	walk->work.saved_elements += written;
	walk->work.boundary_elements += walk->places * in;
	walk->work.block_elements = fmax(walk->work.block_elements, written);
	walk->work.peak_elements =
		fmax(walk->work.peak_elements, walk->skipped + walk->places * (2.0 * in + out));
	walk->work.kernels += RESNET_KERNELS;
	note_largest(walk, walk->parameters - before);
}

/* Attention with queries of `width` and keys from `source` widths. */
static void add_attention(struct walk *walk, int width, int source, double pairs, double sources)
{
	uint64_t queries = 2 * square(width, width), keys = 2 * square(source, width);

	walk->linear += queries + keys;
	walk->parameters += queries + keys + (unsigned)width;
	walk->work.matrix_flops += 2 * (walk->places * (double)queries + sources * (double)keys);
	walk->work.attention_flops += 4 * pairs * width;
}

static void add_mlp(struct walk *walk, int width)
{
	uint64_t weights = 12 * square(width, width);

	walk->linear += weights;
	walk->parameters += weights + 9 * (uint64_t)(unsigned)width;
	walk->work.matrix_flops += 2 * walk->places * (double)weights;
}

/* One block of the transformer over the places of a frame, and one over the frames of a place. */
static void add_transformer_block(struct walk *walk, int width)
{
	const struct media_unet *unet = walk->unet;
	uint64_t before = walk->parameters;
	double frame = walk->places / walk->frames;
	double written = walk->places * 27.0 * width;

	add_attention(walk, width, width, walk->places * frame, walk->places);
	add_attention(walk, width, unet->cross_width, walk->places * walk->text, walk->text);
	add_mlp(walk, width);
	walk->parameters += 6 * (unsigned)width;
	if (unet->has_time) {
		add_mlp(walk, width);
		add_attention(walk, width, width, walk->places * walk->frames, walk->places);
		add_attention(walk, width, unet->cross_width, walk->places, walk->frames);
		add_mlp(walk, width);
		walk->parameters += 8 * (unsigned)width;
		written += walk->places * 40.0 * width;
	}
	walk->work.traffic_elements += 2 * written;
	walk->work.saved_elements += written;
	walk->work.boundary_elements += walk->places * width;
	walk->work.block_elements = fmax(walk->work.block_elements, written);
	/* Streams, and the MLP: both halves of its input, the product. */
	walk->work.peak_elements =
		fmax(walk->work.peak_elements, walk->skipped + walk->places * (3 + 12.0) * width);
	walk->work.kernels += UNET_BLOCK_KERNELS * (unet->has_time ? 2 : 1);
	note_largest(walk, walk->parameters - before);
}

static void add_transformer(struct walk *walk, int width, int depth, int heads)
{
	if (!depth)
		return;
	for (int i = 0; i < depth; i++)
		add_transformer_block(walk, width);
	walk->parameters += 2 * (unsigned)width + 2 * (square(width, width) + (unsigned)width);
	walk->linear += walk->unet->linear_projection ? 2 * square(width, width) : 0;
	walk->work.matrix_flops += 2 * walk->places * 2.0 * (double)square(width, width);
	if (walk->unet->has_time) /* where in time a frame stands, and how to mix */
		walk->parameters += 8 * square(width, width) + 5 * (unsigned)width + 1;
	walk->work.scores += (double)depth * (heads ? heads : 1) * walk->places *
			     (walk->places / walk->frames + walk->text +
			      (walk->unet->has_time ? walk->frames + 1 : 0));
	walk->work.head_elements =
		fmax(walk->work.head_elements, walk->places * walk->places / walk->frames);
	walk->work.score_elements =
		fmax(walk->work.score_elements,
		     walk->places * walk->places / walk->frames * (heads ? heads : 1));
}

static void keep(struct walk *walk, double elements)
{
	walk->skipped += elements;
}

static void go_down(struct walk *walk)
{
	const struct media_unet *unet = walk->unet;
	int before = unet->channels[0];

	keep(walk, walk->places * before);
	for (int level = 0; level < unet->levels; level++) {
		int width = unet->channels[level];

		for (int i = 0; i < unet->resnets; i++) {
			add_resnet(walk, i ? width : before, width);
			add_transformer(walk, width, unet->depth[level], unet->heads[level]);
			keep(walk, walk->places * width);
		}
		before = width;
		if (level + 1 == unet->levels)
			break;
		walk->places /= 4;
		convolve(walk, width, width, 9, walk->places);
		keep(walk, walk->places * width);
	}
}

/* Width of what the way down left at step `back` of the way up, counted from the bottom. */
static int skip_width(const struct media_unet *unet, int level, int step)
{
	/* A level leaves its resnets and, before them, what came from the level above. */
	return step < unet->resnets ? unet->channels[level]
				    : unet->channels[level > 0 ? level - 1 : 0];
}

static void go_up(struct walk *walk)
{
	const struct media_unet *unet = walk->unet;
	int before = unet->channels[unet->levels - 1];

	for (int level = unet->levels - 1; level >= 0; level--) {
		int width = unet->channels[level];

		for (int i = 0; i <= unet->resnets; i++) {
			int skip = skip_width(unet, level, i);

			add_resnet(walk, before + skip, width);
			add_transformer(walk, width, unet->depth[level], unet->heads[level]);
			walk->skipped = fmax(0, walk->skipped - walk->places * skip);
			before = width;
		}
		if (!level)
			break;
		walk->places *= 4;
		convolve(walk, width, width, 9, walk->places);
	}
}

static void walk_unet(const struct media_denoiser *denoiser, struct walk *walk)
{
	const struct media_unet *unet = &denoiser->unet;
	int first = unet->channels[0], last = unet->channels[unet->levels - 1];

	convolve(walk, denoiser->in_channels, first, 9, walk->places);
	walk->parameters +=
		square(first, unet->time_width) + square(unet->time_width, unet->time_width);
	walk->linear +=
		square(first, unet->time_width) + square(unet->time_width, unet->time_width);
	walk->parameters += 2 * (unsigned)unet->time_width + unet->extra_parameters;
	go_down(walk);
	add_resnet(walk, last, last);
	add_transformer(walk, last, unet->middle_depth, unet->heads[unet->levels - 1]);
	add_resnet(walk, last, last);
	go_up(walk);
	walk->parameters += 2 * (unsigned)first;
	convolve(walk, first, denoiser->out_channels, 9, walk->places);
}

void media_unet_count(const struct media_denoiser *denoiser, struct media_count *out)
{
	struct walk walk = {.unet = &denoiser->unet, .places = 1, .frames = 1};

	walk_unet(denoiser, &walk);
	out->denoiser = walk.parameters;
	out->denoiser_linear = walk.linear;
	out->denoiser_active = walk.parameters;
	out->largest_block = walk.largest;
}

void media_unet_work(const struct media_denoiser *denoiser, const struct media_grid *grid,
		     struct media_work *out)
{
	struct walk walk = {.unet = &denoiser->unet,
			    .places = grid->tokens,
			    .frames = fmax(1, grid->latent_frames),
			    .text = grid->text_tokens};

	walk_unet(denoiser, &walk);
	*out = walk.work;
}
