/*
 * Support: see support.h. Rules come first to last; the first that applies decides: formats and
 * architectures that a stack or an engine does not take on any card, then what the card lacks
 * (support_nvidia.c, support_others.c).
 *
 * Sources: torchtitan trains decoders only (its README's models); vLLM's and SGLang's lists of
 * supported models have no text-to-text encoder-decoder; TensorRT-LLM has examples/enc_dec for T5,
 * BART, mBART, NLLB and their kin; llama.cpp converts T5 and no other of them.
 */
#include "core/support_parts.h"

#include <string.h>

static struct support_verdict formats_of_media(const struct workload *workload, enum format format)
{
	bool is_of_text = (format_is_packed_integer(format) && !format_is_torchao(format)) ||
			  format == FORMAT_GPTQ_INT8 || format == FORMAT_MXFP4_MOE;

	if (is_of_text)
		return VERDICT(SUPPORT_NO, "format_of_language_models",
			       "AWQ, GPTQ and groups of int4 are formats of language models: "
			       "pipelines take bitsandbytes', torchao's and GGUF.");
	if (workload->media_engine == MEDIA_ENGINE_TENSORRT &&
	    (format_is_gguf(format) || format_is_bitsandbytes(format) || format_is_torchao(format)))
		return VERDICT(SUPPORT_NO, "format_needs_pytorch",
			       "Formats of bitsandbytes, torchao and GGUF run in PyTorch only.");
	return RUNS;
}

static struct support_verdict formats(const struct workload *workload, enum format format)
{
	if (is_training(workload) || format == FORMAT_AUTO)
		return RUNS;
	if (workload->architecture->media)
		return formats_of_media(workload, format);
	if (format_is_gguf(format) && workload->engine != ENGINE_LLAMA_CPP)
		return VERDICT(SUPPORT_NO, "format_needs_llama_cpp",
			       "GGUF formats run in llama.cpp only.");
	if (format_is_torchao(format) && workload->engine == ENGINE_TENSORRT_LLM)
		return VERDICT(SUPPORT_NO, "format_needs_pytorch",
			       "torchao's formats run in PyTorch only.");
	return RUNS;
}

static struct support_verdict architectures(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	bool has_source = architecture_has_source(architecture);
	bool is_t5 = strstr(architecture->family, "t5") != NULL;

	if (architecture->media) /* PyTorch and what compiles for it */
		return RUNS;
	if (is_training(workload) && workload->stack == STACK_TORCHTITAN &&
	    (has_source || architecture->modality == MODALITY_EMBEDDING))
		return VERDICT(SUPPORT_NO, "stack_lacks_architecture",
			       "torchtitan trains decoders only: ask for huggingface, deepspeed or "
			       "megatron.");
	if (is_training(workload) && workload->stack == STACK_UNSLOTH && has_source)
		return VERDICT(SUPPORT_UNKNOWN, "stack_lacks_architecture",
			       "Unsloth is not shown to train encoder-decoders.");
	if (!is_training(workload) && workload->engine == ENGINE_CTRANSLATE2 && !has_source)
		return VERDICT(SUPPORT_UNKNOWN, "engine_lacks_architecture",
			       "CTranslate2 is taken here for encoder-decoders alone (Whisper, T5, "
			       "BART and their kin).");
	if (!is_training(workload) && workload->engine == ENGINE_SGLANG && has_source &&
	    workload_hears(workload))
		return VERDICT(SUPPORT_UNKNOWN, "engine_lacks_architecture",
			       "SGLang is not shown to serve this architecture.");
	if (is_training(workload) || !workload_needs_transformers(workload))
		return RUNS;
	if (workload_speaks(workload) && workload->engine != ENGINE_TRANSFORMERS)
		return VERDICT(SUPPORT_NO, "engine_lacks_architecture",
			       "No engine but transformers has code for this generator of sound.");
	if (workload->engine == ENGINE_VLLM || workload->engine == ENGINE_SGLANG)
		return VERDICT(
			SUPPORT_NO, "engine_lacks_architecture",
			"vLLM and SGLang have no code for this architecture (encoder-decoders "
			"of text, encoders of images, RWKV, RecurrentGemma): transformers has.");
	if (workload->engine == ENGINE_TENSORRT_LLM && !has_source)
		return VERDICT(SUPPORT_UNKNOWN, "engine_lacks_architecture",
			       "TensorRT-LLM is not shown to serve this architecture.");
	if (workload->engine == ENGINE_LLAMA_CPP && !is_t5)
		return VERDICT(SUPPORT_NO, "engine_lacks_architecture",
			       "Of encoder-decoders llama.cpp runs T5 only, of RWKV its later "
			       "versions, and no RecurrentGemma.");
	return RUNS;
}

struct support_verdict support_of(const struct workload *workload, enum format weight_format,
				  const struct accelerator *accelerator)
{
	struct support_verdict verdict = formats(workload, weight_format);

	if (verdict.support == SUPPORT_RUNS)
		verdict = architectures(workload);
	if (verdict.support != SUPPORT_RUNS)
		return verdict;
	switch (accelerator->vendor) {
	case VENDOR_NVIDIA:
		return support_nvidia(workload, weight_format, accelerator);
	case VENDOR_AMD:
		return support_amd(workload, weight_format, accelerator);
	case VENDOR_INTEL:
	case VENDOR_GOOGLE:
	case VENDOR_AWS:
	case VENDOR_OTHER:
	default:
		return support_others(workload, weight_format, accelerator);
	}
}
