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

bool format_is_bitsandbytes(enum format format)
{
	return format == FORMAT_NF4 || format == FORMAT_NF4_DQ || format == FORMAT_FP4;
}

bool format_is_packed_integer(enum format format)
{
	return format == FORMAT_TORCHAO_INT4 || format == FORMAT_TORCHAO_INT4_SPARSE ||
	       format == FORMAT_INT4 || format == FORMAT_AWQ || format == FORMAT_GPTQ ||
	       (format >= FORMAT_INT4_G32 && format <= FORMAT_GPTQ_G64) ||
	       format == FORMAT_GPTQ_CHANNEL;
}

bool format_is_torchao(enum format format)
{
	return format >= FORMAT_TORCHAO_FP8 && format <= FORMAT_TORCHAO_INT4_SPARSE;
}
