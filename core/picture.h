/*
 * Picture: how many tokens and patches a vision-language model makes of an image or of the frames
 * of a video. Each family cuts and scales by a rule of its own; the rules are those of the
 * processors in transformers and of the `preprocessor_config.json` beside the weights.
 */
#ifndef CORE_PICTURE_H
#define CORE_PICTURE_H

enum picture_rule {
	PICTURE_NONE,	/* sees nothing, or by a rule that is not known */
	PICTURE_WHOLE,	/* scaled to one size whatever its shape */
	PICTURE_NATIVE, /* scaled within bounds, so that its sides are whole tokens */
	PICTURE_TILES,	/* the grid of at most so many tiles whose shape is nearest */
	PICTURE_COVER,	/* scaled to a longest edge, then cut into tiles */
	PICTURE_SLICES, /* as many tiles as its area takes */
	PICTURE_FILL,	/* the largest grid of its shape within so many tiles */
	PICTURE_ANYRES, /* the grid that keeps most of it, padding left out; LLaVA-NeXT */
};

struct picture {
	enum picture_rule rule;
	int side;	 /* pixels of a tile, or of the whole */
	int factor;	 /* pixels a side of one token: patch x merge */
	int patch;	 /* pixels a side of what the tower attends over; 0 = tiles are whole */
	int tile_tokens; /* of a tile, or of the whole */
	int most_tiles, longest_tiles; /* in all (WHOLE: always so many); a side (ANYRES) */
	int longest;		       /* pixels of the longer edge at most; 0 = no bound */
	double least_pixels, most_pixels;
	double frame_pixels; /* at most, of one frame of a video; 0 = most_pixels */
	int frame_tokens;    /* of one frame; 0 = of a picture, or of one tile */
	int frames_merged;   /* frames that become one; 0 = 1 */
	int row_tokens;	     /* that end each row of tokens (of tiles: FILL) */
	int has_thumbnail;   /* the whole beside its tiles, if there are several */
	int is_crossed;	     /* attended to by cross-attention: takes no tokens of the prompt */
};

/* What one request brings: tokens in the prompt, patches in the tower, and of those how many attend
 * to each other. */
struct picture_need {
	double tokens, patches, span;
};

/* Of one image of so many pixels; of a video of so many frames. */
struct picture_need picture_of_image(const struct picture *picture, double width, double height);
struct picture_need picture_of_video(const struct picture *picture, double width, double height,
				     double frames);

/* By the model_type of the wrapper, or of the tower; NULL when no rule is known. */
const struct picture *picture_find(const char *type);

#endif
