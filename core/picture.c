/* Picture: see picture.h. */
#include "core/picture.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Families as they are in config.json, and the rule of their processor. */
static const struct {
	const char *types; /* separated by '|' */
	struct picture picture;
} rules[] = {
#include "core/data/pictures.inc"
};

const struct picture *picture_find(const char *type)
{
	size_t length = strlen(type);

	for (size_t i = 0; length && i < sizeof(rules) / sizeof(rules[0]); i++)
		for (const char *at = rules[i].types; at; at = strchr(at, '|')) {
			at += *at == '|';
			if (strcspn(at, "|") == length && strncmp(at, type, length) == 0)
				return &rules[i].picture;
		}
	return NULL;
}

static double at_least_one(double value)
{
	return fmax(1, value);
}

/* Patches that attend to each other in one tile. */
static double tile_patches(const struct picture *picture)
{
	double side = picture->patch ? (double)picture->side / picture->patch : 1;

	return picture->patch ? floor(side) * floor(side) : picture->tile_tokens;
}

static struct picture_need need_of_tiles(const struct picture *picture, double tiles,
					 double extra_tokens)
{
	double whole = picture->has_thumbnail && tiles > 1 ? 1 : 0;

	return (struct picture_need){
		.tokens = (tiles + whole) * picture->tile_tokens + extra_tokens,
		.patches = (tiles + whole) * tile_patches(picture),
		.span = tile_patches(picture),
	};
}

/* Qwen's smart_resize: sides rounded to whole tokens, both shrunk (or grown) by one factor where
 * the area is out of bounds. Pixtral bounds the longer edge instead. */
static struct picture_need native(const struct picture *picture, double width, double height,
				  double most_pixels)
{
	double factor = picture->factor, longest = picture->longest, columns, rows, scale;

	if (longest > 0 && fmax(width, height) > longest) {
		scale = longest / fmax(width, height);
		width *= scale;
		height *= scale;
	}
	if (longest > 0) {
		columns = ceil(width / factor);
		rows = ceil(height / factor);
	} else {
		columns = round(width / factor);
		rows = round(height / factor);
	}
	if (most_pixels > 0 && columns * rows * factor * factor > most_pixels) {
		scale = sqrt(width * height / most_pixels);
		columns = floor(width / scale / factor);
		rows = floor(height / scale / factor);
	} else if (columns * rows * factor * factor < picture->least_pixels) {
		scale = sqrt(picture->least_pixels / (width * height));
		columns = ceil(width * scale / factor);
		rows = ceil(height * scale / factor);
	}
	columns = at_least_one(columns);
	rows = at_least_one(rows);
	scale = picture->patch ? factor / picture->patch : 1;
	return (struct picture_need){
		.tokens = columns * rows + rows * picture->row_tokens,
		.patches = columns * rows * scale * scale,
		.span = columns * rows * scale * scale,
	};
}

/* InternVL's dynamic_preprocess: of all grids the one whose shape is nearest; of equally near ones
 * the larger, where the image has more than half of its pixels. */
static double nearest_grid(const struct picture *picture, double width, double height)
{
	double shape = width / height, best = 1, nearest = HUGE_VAL;
	double tile = (double)picture->side * picture->side;

	for (int tiles = 1; tiles <= picture->most_tiles; tiles++)
		for (int columns = 1; columns <= tiles; columns++) {
			double off;

			if (tiles % columns)
				continue;
			off = fabs(shape - (double)columns / (tiles / columns));
			if (off < nearest - 1e-12 ||
			    (off < nearest + 1e-12 && width * height > 0.5 * tile * tiles)) {
				best = tiles;
				nearest = fmin(off, nearest);
			}
		}
	return best;
}

static struct picture_need fill(const struct picture *picture, double width, double height)
{
	double shape = fmax(width, height) / fmin(width, height), columns = 1, rows;

	while ((columns + 1) * ceil((columns + 1) / shape) <= picture->most_tiles)
		columns++;
	rows = ceil(columns / shape);
	if (height > width) {
		double other = rows;

		rows = columns;
		columns = other;
	}
	return need_of_tiles(picture, columns * rows, 1 + (rows + 1) * picture->row_tokens);
}

/* Pixels of the image that a grid keeps, and those of the grid that it leaves empty. */
struct kept {
	double pixels, waste;
};

static struct kept kept_by(double width, double height, double grid_width, double grid_height)
{
	double scale = fmin(grid_width / width, grid_height / height);
	double scaled = floor(width * scale) * floor(height * scale);
	double pixels = fmin(scaled, width * height);

	return (struct kept){pixels, grid_width * grid_height - pixels};
}

static struct picture_need anyres(const struct picture *picture, double width, double height)
{
	double side = picture->side, cells = sqrt((double)picture->tile_tokens);
	double columns = 1, rows = 1, wide, high, tokens;
	struct kept best = {-1, 0};
	struct picture_need need;

	for (int x = 1; x <= picture->longest_tiles; x++)
		for (int y = 1; y <= picture->longest_tiles; y++) {
			struct kept kept = kept_by(width, height, x * side, y * side);

			if (x * y > picture->most_tiles || (x * y == 1 && picture->has_thumbnail))
				continue;
			if (kept.pixels > best.pixels + 0.5 ||
			    (kept.pixels > best.pixels - 0.5 && kept.waste < best.waste)) {
				best = kept;
				columns = x;
				rows = y;
			}
		}
	/* Padding is cut off, then each row of tokens ends with one more. */
	wide = columns * cells;
	high = rows * cells;
	if (width / height > wide / high)
		high = round(height * wide / width);
	else
		wide = round(width * high / height);
	tokens = wide * high;
	/* LLaVA-OneVision keeps at most nine tiles' worth. */
	if (picture->most_pixels > 0 &&
	    tokens > picture->most_pixels / (side * side) * cells * cells) {
		double scale =
			sqrt(tokens / (picture->most_pixels / (side * side) * cells * cells));

		high = floor(high / scale);
		tokens = floor(wide / scale) * high;
	}
	need = need_of_tiles(picture, columns * rows, 0);
	need.patches = (columns * rows + 1) * tile_patches(picture);
	need.tokens = picture->tile_tokens + tokens + high;
	return need;
}

static struct picture_need covered(const struct picture *picture, double width, double height)
{
	double scale = picture->longest / fmax(width, height), side = picture->side;
	double columns = ceil(width * scale / side), rows = ceil(height * scale / side);

	return need_of_tiles(picture, at_least_one(columns) * at_least_one(rows), 0);
}

struct picture_need picture_of_image(const struct picture *picture, double width, double height)
{
	double area = width * height, tile = (double)picture->side * picture->side;
	struct picture_need need = {0, 0, 0};

	switch (picture->rule) {
	case PICTURE_WHOLE: /* or always in so many crops */
		need = need_of_tiles(picture, at_least_one(picture->most_tiles), 0);
		break;
	case PICTURE_NATIVE:
		need = native(picture, width, height, picture->most_pixels);
		break;
	case PICTURE_TILES:
		/* Small enough to be seen whole (LFM2-VL). */
		need = picture->factor && area <= picture->most_pixels
			       ? native(picture, width, height, tile)
			       : need_of_tiles(picture, nearest_grid(picture, width, height), 0);
		break;
	case PICTURE_COVER:
		need = covered(picture, width, height);
		break;
	case PICTURE_SLICES:
		need = need_of_tiles(picture, fmin(picture->most_tiles, ceil(area / tile)), 0);
		break;
	case PICTURE_FILL:
		need = fill(picture, width, height);
		break;
	case PICTURE_ANYRES:
		need = anyres(picture, width, height);
		break;
	case PICTURE_NONE:
	default:
		break;
	}
	if (picture->is_crossed)
		need.tokens = 0;
	return need;
}

/* Frames are never cut into tiles: each is one, or as large as it is within the bound for frames.
 */
struct picture_need picture_of_video(const struct picture *picture, double width, double height,
				     double frames)
{
	double merged = picture->frames_merged ? picture->frames_merged : 1;
	double steps = ceil(frames / merged);
	struct picture_need need;

	if (picture->rule == PICTURE_NATIVE)
		need = native(picture, width, height,
			      picture->frame_pixels > 0 ? picture->frame_pixels
							: picture->most_pixels);
	else
		need = need_of_tiles(picture, 1, 0);
	if (picture->frame_tokens)
		need.tokens = picture->frame_tokens;
	if (picture->is_crossed || picture->rule == PICTURE_NONE)
		need.tokens = 0;
	need.tokens *= steps;
	need.patches *= steps;
	return need;
}
