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

static bool is_whole_row(const struct config_value *object)
{
	const struct config_value *size = config_get(object, "group_size");

	return size && size->type == CONFIG_NUMBER && size->number < 0;
}

/* 4-bit integers by the size of their groups: 128 unless the file says otherwise. */
static enum format packed(enum format usual, int group)
{
	if (group == 32)
		return usual == FORMAT_AWQ    ? FORMAT_AWQ_G32
		       : usual == FORMAT_GPTQ ? FORMAT_GPTQ_G32
					      : FORMAT_INT4_G32;
	if (group == 64)
		return usual == FORMAT_AWQ    ? FORMAT_AWQ_G64
		       : usual == FORMAT_GPTQ ? FORMAT_GPTQ_G64
					      : FORMAT_INT4_G64;
	return usual;
}

static enum format integers(int bits, int group)
{
	return bits == 4 ? packed(FORMAT_INT4, group) : bits == 8 ? FORMAT_INT8 : FORMAT_AUTO;
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
			return packed(FORMAT_INT4, whole(weights, "group_size"));
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

static enum format of_words(const char *weights)
{
	if (has(weights, "float8") || has(weights, "qfloat8"))
		return FORMAT_FP8;
	return has(weights, "int8")   ? FORMAT_INT8
	       : has(weights, "int4") ? FORMAT_INT4
				      : FORMAT_AUTO;
}

/* A name ("int4_weight_only"), or since 0.10 an object whose `_type` is a class of that name
 * (Int4WeightOnlyConfig). */
static enum format of_torchao(const struct config_value *quantisation)
{
	const struct config_value *type = config_get(quantisation, "quant_type");
	const struct config_value *inner = config_get(type, "default");
	const char *name =
		type && type->type == CONFIG_STRING ? type->text : text_of(inner, "_type");

	if (has(name, "float8") || has(name, "Float8"))
		return FORMAT_TORCHAO_FP8;
	if (has(name, "int8") || has(name, "Int8"))
		return has(name, "int4") || has(name, "Int4") ? FORMAT_TORCHAO_INT4
							      : FORMAT_TORCHAO_INT8;
	if (has(name, "int4") || has(name, "Int4"))
		return FORMAT_TORCHAO_INT4;
	return FORMAT_AUTO;
}

static enum format of_hqq(const struct config_value *quantisation)
{
	const struct config_value *inner =
		config_get(config_get(quantisation, "quant_config"), "weight_quant_params");
	int bits = whole(inner, "nbits"), group = whole(inner, "group_size");

	return integers(bits ? bits : whole(quantisation, "nbits"),
			group ? group : whole(quantisation, "group_size"));
}

static enum format of_quantisation(const struct config_value *quantisation)
{
	const char *method = text_of(quantisation, "quant_method");
	const char *algorithm = text_of(quantisation, "quant_algo");
	int bits = whole(quantisation, "bits") + whole(quantisation, "w_bit");
	int group = whole(quantisation, "group_size") + whole(quantisation, "q_group_size");

	/* quant_algo tells more than quant_method, which may say fp8 of a file that is not. */
	if (has(algorithm, "NVFP4"))
		return FORMAT_NVFP4;
	if (has(algorithm, "MIXED"))
		return by_layers(quantisation);
	if (has(algorithm, "FP8"))
		return FORMAT_FP8;
	if (has(method, "awq") || has(text_of(quantisation, "packing_format"), "awq"))
		return bits == 4 || bits == 0 ? packed(FORMAT_AWQ, group) : FORMAT_AUTO;
	if (has(method, "gptq") || has(method, "auto-round"))
		return bits == 4 && is_whole_row(quantisation) ? FORMAT_GPTQ_CHANNEL
		       : bits == 4			       ? packed(FORMAT_GPTQ, group)
		       : bits == 8			       ? FORMAT_GPTQ_INT8
							       : FORMAT_AUTO;
	if (is_true(quantisation, "load_in_8bit"))
		return FORMAT_INT8;
	if (is_true(quantisation, "load_in_4bit") &&
	    has(text_of(quantisation, "bnb_4bit_quant_type"), "nf4"))
		return is_true(quantisation, "bnb_4bit_use_double_quant") ? FORMAT_NF4_DQ
									  : FORMAT_NF4;
	if (is_true(quantisation, "load_in_4bit"))
		return FORMAT_FP4;
	if (has(method, "torchao"))
		return of_torchao(quantisation);
	if (has(method, "hqq"))
		return of_hqq(quantisation);
	if (has(method, "quanto"))
		return of_words(text_of(quantisation, "weights"));
	if (has(method, "eetq"))
		return FORMAT_INT8;
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

/* `kv_cache_scheme` is an object of compressed-tensors or a word of ModelOpt. */
enum format hf_native_kv_format(const struct config_value *root, const struct config_value *text)
{
	const struct config_value *quantisation = config_get(text, "quantization_config"), *scheme;

	if (!quantisation)
		quantisation = config_get(root, "quantization_config");
	scheme = config_get(quantisation, "kv_cache_scheme");
	if (!scheme)
		scheme = config_get(quantisation, "kv_cache_quant_algo");
	if (scheme && scheme->type == CONFIG_STRING)
		return has(scheme->text, "FP8") || has(scheme->text, "fp8") ? FORMAT_FP8
		       : has(scheme->text, "INT8")			    ? FORMAT_INT8
									    : FORMAT_AUTO;
	if (whole(scheme, "num_bits") == 8)
		return has(text_of(scheme, "type"), "int") ? FORMAT_INT8 : FORMAT_FP8;
	return FORMAT_AUTO;
}

bool hf_is_quantised(const struct config_value *root, const struct config_value *text)
{
	const struct config_value *quantisation = config_get(text, "quantization_config");

	if (!quantisation)
		quantisation = config_get(root, "quantization_config");
	if (!quantisation)
		quantisation = config_get(root, "quantization");
	return quantisation && (quantisation->type != CONFIG_OBJECT || quantisation->count > 0);
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
