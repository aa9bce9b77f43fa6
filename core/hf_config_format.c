/* Format of the published weights, from dtype and quantization_config: see hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <string.h>

static const char *text_of(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_STRING ? value->text : "";
}

static bool is_true(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_BOOL && value->boolean;
}

static int whole(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_NUMBER && value->number > 0 && value->number < 1e6
		       ? (int)value->number
		       : 0;
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* compressed-tensors and ModelOpt describe groups of layers; the first that has weights counts. */
static enum format by_groups(const struct config_value *quantisation)
{
	const struct config_value *groups = config_get(quantisation, "config_groups");
	const char *format = text_of(quantisation, "format");

	if (has(format, "nvfp4"))
		return FORMAT_NVFP4;
	if (has(format, "mxfp4"))
		return FORMAT_MXFP4;
	for (size_t i = 0; groups && groups->type == CONFIG_OBJECT && i < groups->count; i++) {
		const struct config_value *weights = config_get(groups->items[i], "weights");
		bool is_float = has(text_of(weights, "type"), "float");

		if (whole(weights, "num_bits") == 8)
			return is_float ? FORMAT_FP8 : FORMAT_INT8;
		if (whole(weights, "num_bits") == 4 && !is_float)
			return FORMAT_INT4;
		if (whole(weights, "num_bits") == 4)
			return whole(weights, "group_size") == 16 ? FORMAT_NVFP4 : FORMAT_MXFP4;
	}
	return FORMAT_AUTO;
}

/* Mixed precision names the algorithm of each layer: the widest tables, the experts, are in the
 * narrowest. */
static enum format by_layers(const struct config_value *quantisation)
{
	const struct config_value *layers = config_get(quantisation, "quantized_layers");
	enum format found = FORMAT_AUTO;

	if (!layers || layers->type != CONFIG_OBJECT)
		return FORMAT_AUTO;
	for (size_t i = 0; i < layers->count; i++) {
		const char *algorithm = text_of(layers->items[i], "quant_algo");

		if (has(algorithm, "NVFP4"))
			return FORMAT_NVFP4;
		if (has(algorithm, "FP8"))
			found = FORMAT_FP8;
	}
	return found;
}

static enum format of_quantisation(const struct config_value *quantisation)
{
	const char *method = text_of(quantisation, "quant_method");
	const char *algorithm = text_of(quantisation, "quant_algo");
	int bits = whole(quantisation, "bits") + whole(quantisation, "w_bit");

	/* quant_algo tells more than quant_method, which may say fp8 of a file that is not. */
	if (has(algorithm, "NVFP4"))
		return FORMAT_NVFP4;
	if (has(algorithm, "MIXED"))
		return by_layers(quantisation);
	if (has(algorithm, "FP8"))
		return FORMAT_FP8;
	if (has(method, "gptq") || has(method, "auto-round"))
		return bits == 4 ? FORMAT_GPTQ : bits == 8 ? FORMAT_INT8 : FORMAT_AUTO;
	if (has(method, "awq"))
		return FORMAT_AWQ;
	if (is_true(quantisation, "load_in_8bit"))
		return FORMAT_INT8;
	if (is_true(quantisation, "load_in_4bit") &&
	    has(text_of(quantisation, "bnb_4bit_quant_type"), "nf4"))
		return is_true(quantisation, "bnb_4bit_use_double_quant") ? FORMAT_NF4_DQ
									  : FORMAT_NF4;
	if (is_true(quantisation, "load_in_4bit"))
		return FORMAT_FP4;
	if (has(method, "fp8"))
		return FORMAT_FP8;
	if (has(method, "mxfp4"))
		return FORMAT_MXFP4;
	return by_groups(quantisation);
}

static enum format of_dtype(const char *dtype)
{
	if (has(dtype, "bfloat16"))
		return FORMAT_BF16;
	if (has(dtype, "float16"))
		return FORMAT_FP16;
	if (has(dtype, "float32"))
		return FORMAT_FP32;
	return has(dtype, "float8") ? FORMAT_FP8 : FORMAT_AUTO;
}

enum format hf_native_format(const struct config_value *root, const struct config_value *text)
{
	static const char *const keys[] = {"dtype", "torch_dtype", "params_dtype"};
	const struct config_value *quantisation = config_get(text, "quantization_config");
	const struct config_value *mlx = config_get(root, "quantization");
	enum format format = FORMAT_AUTO;

	if (!quantisation)
		quantisation = config_get(root, "quantization_config");
	if (quantisation)
		format = of_quantisation(quantisation);
	else if (whole(mlx, "bits"))
		format = whole(mlx, "bits") == 4   ? FORMAT_INT4
			 : whole(mlx, "bits") == 8 ? FORMAT_INT8
						   : FORMAT_AUTO;
	/* DeepSeek-V4 keeps its experts in 4 bits inside a file that calls itself fp8. */
	if (has(text_of(text, "expert_dtype"), "fp4") &&
	    !has(text_of(quantisation, "quant_algo"), "NVFP4"))
		return FORMAT_MXFP4;
	if (format != FORMAT_AUTO || quantisation)
		return format;
	for (size_t i = 0; format == FORMAT_AUTO && i < 3; i++)
		format = of_dtype(text_of(text, keys[i]));
	for (size_t i = 0; format == FORMAT_AUTO && i < 3; i++)
		format = of_dtype(text_of(root, keys[i]));
	return format;
}
