/* Number formats: see format.h. */
#include "core/format.h"

static const char *const texts[] = {[FORMAT_AUTO] = "auto",
#define X(id, name, linear_bits, other_bits, head_bits, compute) [FORMAT_##id] = name,
				    FORMAT_TABLE(X)
#undef X
};

static const struct format_facts facts[] = {[FORMAT_AUTO] = {"auto", 0, 0, 0, COMPUTE_BF16},
#define X(id, name, linear_bits, other_bits, head_bits, compute)                                   \
	[FORMAT_##id] = {name, linear_bits, other_bits, head_bits, compute},
					    FORMAT_TABLE(X)
#undef X
};

const struct names format_names = {texts, FORMATS};

const struct format_facts *format_facts(enum format format)
{
	return &facts[format];
}

bool format_is_gguf(enum format format)
{
	return format >= FORMAT_Q8_0 && format < FORMATS;
}
