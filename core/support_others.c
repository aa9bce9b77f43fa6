/*
 * Support on AMD's cards and on accelerators with stacks of their own: see support.h.
 *
 * Sources: vLLM's table of quantisation and hardware
 * (docs.vllm.ai/en/v0.15.1/features/quantization): on AMD fp8 and GGUF, neither AWQ, GPTQ nor int8;
 * Gaudi has moved to a plug-in of its own. bitsandbytes 0.50 (its installation guide) supports AMD,
 * Intel's GPUs and Gaudi; its ROCm builds target gfx908, gfx90a and gfx942 among others.
 * TensorRT-LLM's supported hardware is NVIDIA's alone. Megatron, torchtitan, DeepSpeed and Unsloth
 * have no port to TPUs or to Neuron cores; llama.cpp has none to those and to Gaudi.
 */
#include "core/support_parts.h"

#include <string.h>

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static struct support_verdict amd_serving(const struct workload *workload, enum format format,
					  const struct accelerator *accelerator)
{
	if (workload->engine == ENGINE_TENSORRT_LLM)
		return VERDICT(SUPPORT_NO, "engine_needs_nvidia",
			       "TensorRT-LLM runs on NVIDIA cards only.");
	if (workload->engine == ENGINE_CTRANSLATE2)
		return VERDICT(SUPPORT_NO, "engine_needs_nvidia",
			       "CTranslate2 runs on NVIDIA cards only.");
	if (format == FORMAT_AUTO)
		return RUNS;
	if (format == FORMAT_NVFP4)
		return VERDICT(SUPPORT_NO, "no_fp4_kernels", "nvfp4 needs Blackwell tensor cores.");
	if (format == FORMAT_MXFP4 && !has_prefix(accelerator->architecture, "CDNA4"))
		return VERDICT(SUPPORT_SLOW, "no_fp4_kernels",
			       "Before CDNA4 mxfp4 weights are unpacked to 16 bit.");
	if (workload->engine == ENGINE_VLLM &&
	    (format_is_packed_integer(format) || format_facts(format)->compute == COMPUTE_INT8))
		return VERDICT(
			SUPPORT_NO, "no_integer_kernels",
			"vLLM lists AWQ, GPTQ and int8 as not supported on AMD cards: fp8 is "
			"there instead.");
	return RUNS;
}

struct support_verdict support_amd(const struct workload *workload, enum format format,
				   const struct accelerator *accelerator)
{
	bool is_cdna3 = has_prefix(accelerator->architecture, "CDNA3") ||
			has_prefix(accelerator->architecture, "CDNA4");
	bool is_cdna2 = has_prefix(accelerator->architecture, "CDNA2");
	bool is_fp8 = format != FORMAT_AUTO && format_facts(format)->compute == COMPUTE_FP8;

	if (!is_cdna3 && !is_cdna2) {
		if (!is_training(workload) && workload->engine == ENGINE_LLAMA_CPP)
			return RUNS;
		return VERDICT(SUPPORT_UNKNOWN, "unproven_rocm",
			       "Nobody publishes this kind of work on this AMD card: ROCm's "
			       "frameworks target CDNA2 and newer.");
	}
	if (is_training(workload) && workload->stack == STACK_UNSLOTH)
		return VERDICT(
			SUPPORT_UNKNOWN, "unproven_rocm",
			"Unsloth's kernels are not shown to run on AMD cards of the data centre.");
	if (format_is_bitsandbytes(format))
		return VERDICT(SUPPORT_SLOW, "bitsandbytes_rocm",
			       "bitsandbytes runs on ROCm since 0.50, but its 4-bit kernels are "
			       "tuned for NVIDIA.");
	if (!is_cdna3 &&
	    (is_fp8 || (is_training(workload) && workload->precision == PRECISION_FP8)))
		return VERDICT(SUPPORT_NO, "no_fp8_kernels", "fp8 needs CDNA3 or newer.");
	return is_training(workload) ? RUNS : amd_serving(workload, format, accelerator);
}

static bool is_gaudi(const struct accelerator *accelerator)
{
	return has_prefix(accelerator->architecture, "Gaudi");
}

/* Software that was never ported to TPUs, Neuron cores, Gaudi and the like. */
static struct support_verdict never_ported(const struct workload *workload,
					   const struct accelerator *accelerator)
{
	bool is_intel_gpu = accelerator->vendor == VENDOR_INTEL && !is_gaudi(accelerator);

	if (is_training(workload)) {
		if (workload->stack == STACK_UNSLOTH && !is_intel_gpu)
			return VERDICT(SUPPORT_NO, "stack_needs_gpu",
				       "Unsloth's kernels run on GPUs only.");
		if ((workload->stack == STACK_MEGATRON || workload->stack == STACK_TORCHTITAN ||
		     workload->stack == STACK_DEEPSPEED) &&
		    (accelerator->vendor == VENDOR_GOOGLE || accelerator->vendor == VENDOR_AWS))
			return VERDICT(SUPPORT_NO, "stack_needs_gpu",
				       "This stack has no port to TPUs or Neuron cores: they train "
				       "with JAX, PyTorch/XLA or NeuronX Distributed.");
		return RUNS;
	}
	if (workload->engine == ENGINE_TENSORRT_LLM)
		return VERDICT(SUPPORT_NO, "engine_needs_nvidia",
			       "TensorRT-LLM runs on NVIDIA cards only.");
	if (workload->engine == ENGINE_CTRANSLATE2)
		return VERDICT(SUPPORT_NO, "engine_needs_nvidia",
			       "CTranslate2 runs on NVIDIA cards only.");
	if (workload->engine == ENGINE_LLAMA_CPP && !is_intel_gpu)
		return VERDICT(SUPPORT_NO, "engine_needs_gpu",
			       "llama.cpp has no backend for this accelerator.");
	return RUNS;
}

/* Gaudi, TPUs, Trainium and the rest: stacks of their own, none of which the workload names. */
struct support_verdict support_others(const struct workload *workload, enum format format,
				      const struct accelerator *accelerator)
{
	bool is_new_gaudi =
		is_gaudi(accelerator) && !has_prefix(accelerator->architecture, "Gaudi1");
	struct support_verdict verdict = never_ported(workload, accelerator);

	if (verdict.support != SUPPORT_RUNS)
		return verdict;
	if (format_is_bitsandbytes(format) && accelerator->vendor == VENDOR_INTEL)
		return VERDICT(SUPPORT_UNKNOWN, "bitsandbytes_intel",
			       "bitsandbytes runs on Intel's GPUs and on Gaudi, but no measurement "
			       "supports a prediction.");
	if (format_is_bitsandbytes(format))
		return VERDICT(SUPPORT_NO, "bitsandbytes_needs_gpu",
			       "bitsandbytes has no kernels for this accelerator: QLoRA does not "
			       "run there.");
	if (is_new_gaudi && !is_training(workload) && workload->engine == ENGINE_VLLM &&
	    (format == FORMAT_AUTO || format == FORMAT_BF16 || format == FORMAT_FP8))
		return RUNS;
	if (is_new_gaudi && is_training(workload) &&
	    (workload->stack == STACK_HUGGINGFACE || workload->stack == STACK_DEEPSPEED))
		return RUNS;
	return VERDICT(SUPPORT_UNKNOWN, "other_software_stack",
		       "This accelerator needs its vendor's own software stack, for which no "
		       "measurement supports a prediction.");
}
