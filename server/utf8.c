/* UTF-8: see utf8.h. */
#include "server/utf8.h"

size_t utf8_sequence(const char *bytes, size_t room)
{
	const unsigned char *at = (const unsigned char *)bytes;
	unsigned char lead = at[0];
	size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (length == 0 || length > room || lead > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] > 0x9f) ||
	    (lead == 0xf0 && at[1] < 0x90) || (lead == 0xf4 && at[1] > 0x8f))
		return 0;
	return length;
}

bool utf8_is_valid(const char *bytes, size_t length)
{
	while (length > 0) {
		size_t step = utf8_sequence(bytes, length);

		if (step == 0)
			return false;
		bytes += step;
		length -= step;
	}
	return true;
}
