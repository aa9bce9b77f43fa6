/* The rule by which a model sees pictures: see architecture.h. */
#include "core/architecture.h"

#include <stddef.h>

/* Beside the family's rule a model has sizes of its own: the tokens of a tile are counted for it.
 */
bool architecture_picture(const struct architecture *architecture, struct picture *out)
{
	const struct picture *known = NULL;

	if (architecture->picture.rule != PICTURE_NONE) {
		*out = architecture->picture;
		return true;
	}
	if (architecture->modality == MODALITY_VISION_TEXT)
		known = picture_find(architecture->family);
	if (!known)
		return false;
	*out = *known;
	if (architecture->image_tokens > 0 && known->tile_tokens > 0)
		out->tile_tokens = architecture->image_tokens;
	return true;
}
