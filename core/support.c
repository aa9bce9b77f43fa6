/*
 * Support: see support.h. Rules come first to last; the first that applies decides.
 *
 * Sources: facts/hardware-notes.md 11.13 (Volta and Turing have no bf16 tensor cores and no
 * FlashAttention-2; Pascal has no tensor cores; Kepler and Maxwell are gone from current PyTorch;
 * CUDA 13 dropped Pascal and Volta), NVIDIA's compute capabilities for fp8 (8.9) and fp4 (10.0),
 * the engines' own hardware tables.
 */
#include "core/support.h"

#include <string.h>

#define CC_PASCAL 60
#define CC_VOLTA 70
#define CC_TURING 75
#define CC_AMPERE 80
#define CC_ADA 89
#define CC_BLACKWELL 100

#define VERDICT(support_, code_, reason_)                                                          \
	((struct support_verdict){.support = (support_), .code = (code_), .reason = (reason_)})

static const struct support_verdict runs = {.support = SUPPORT_RUNS};

static bool is_training(const struct workload *workload)
{
	return workload->task != TASK_INFERENCE;
}

/* bitsandbytes formats: a base that is quantised while it is loaded. */
static bool is_bitsandbytes(enum format format)
{
	return format == FORMAT_NF4 || format == FORMAT_NF4_DQ || format == FORMAT_FP4;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Parts that current frameworks no longer run on. */
static struct support_verdict nvidia_generation(const struct workload *workload,
						const struct accelerator *accelerator)
{
	bool is_gguf_engine = !is_training(workload) && workload->engine == ENGINE_LLAMA_CPP;

	if (accelerator->compute_capability < CC_PASCAL)
		return VERDICT(SUPPORT_NO, "dropped_by_frameworks",
			       "Kepler and Maxwell cards are no longer supported by PyTorch or by "
			       "any serving engine.");
	if (accelerator->compute_capability < CC_VOLTA && !is_gguf_engine)
		return VERDICT(SUPPORT_NO, "no_tensor_cores",
			       "Pascal cards have no tensor cores and current training stacks and "
			       "engines dropped them; only llama.cpp still runs there.");
	if (accelerator->compute_capability < CC_TURING && !is_gguf_engine &&
	    !is_training(workload) && workload->engine != ENGINE_TRANSFORMERS &&
	    workload->engine != ENGINE_VLLM)
		return VERDICT(SUPPORT_NO, "dropped_by_frameworks",
			       "SGLang and TensorRT-LLM dropped Volta cards; vLLM, transformers "
			       "and llama.cpp still run there.");
	return runs;
}

static struct support_verdict nvidia_training(const struct workload *workload, enum format format,
					      const struct accelerator *accelerator)
{
	bool is_bf16 = workload->precision == PRECISION_AMP_BF16 ||
		       workload->precision == PRECISION_BF16 ||
		       workload->precision == PRECISION_BF16_MASTER;
	bool asked = workload_has(workload, WORKLOAD_precision);

	if (workload->precision == PRECISION_FP8 && accelerator->compute_capability < CC_ADA)
		return VERDICT(SUPPORT_NO, "no_fp8_kernels",
			       "Training in fp8 needs compute capability 8.9 or newer (Ada, "
			       "Hopper, Blackwell).");
	if (format == FORMAT_FP8 && accelerator->compute_capability < CC_ADA)
		return VERDICT(SUPPORT_NO, "no_fp8_kernels",
			       "An fp8 base needs compute capability 8.9 or newer (Ada, Hopper, "
			       "Blackwell).");
	if (is_bf16 && accelerator->compute_capability < CC_AMPERE) {
		if (workload->stack == STACK_MEGATRON || workload->stack == STACK_TORCHTITAN)
			return VERDICT(SUPPORT_NO, "no_bf16",
				       "Volta and Turing cards have no bf16 arithmetic and this "
				       "stack has no fp16 path for current models.");
		if (asked)
			return VERDICT(SUPPORT_NO, "no_bf16",
				       "Volta and Turing cards have no bf16 arithmetic: ask for "
				       "amp_fp16 to use them.");
		return VERDICT(SUPPORT_SLOW, "no_bf16",
			       "Volta and Turing cards have no bf16 arithmetic: training runs in "
			       "fp16 with loss scaling and without FlashAttention-2.");
	}
	if (is_bitsandbytes(format) && accelerator->compute_capability < CC_TURING)
		return VERDICT(
			SUPPORT_SLOW, "slow_4bit_kernels",
			"bitsandbytes' 4-bit kernels run on Volta without its faster paths.");
	return runs;
}

static struct support_verdict nvidia_serving(const struct workload *workload, enum format format,
					     const struct accelerator *accelerator)
{
	int cc = accelerator->compute_capability;
	const struct format_facts *facts = format == FORMAT_AUTO ? NULL : format_facts(format);

	if (!facts)
		return runs;
	if (facts->compute == COMPUTE_FP8 && cc < CC_ADA) {
		if (cc >= CC_TURING && workload->engine == ENGINE_VLLM)
			return VERDICT(SUPPORT_SLOW, "no_fp8_kernels",
				       "Before compute capability 8.9 fp8 weights are unpacked to "
				       "16 bit: memory is saved, arithmetic is not.");
		return VERDICT(
			SUPPORT_NO, "no_fp8_kernels",
			"fp8 needs compute capability 8.9 or newer (Ada, Hopper, Blackwell).");
	}
	if (format == FORMAT_NVFP4 && cc < CC_BLACKWELL) {
		if (cc >= CC_AMPERE && workload->engine == ENGINE_VLLM)
			return VERDICT(SUPPORT_SLOW, "no_fp4_kernels",
				       "Before Blackwell nvfp4 weights are unpacked to 16 bit: "
				       "memory is saved, arithmetic is not.");
		return VERDICT(SUPPORT_NO, "no_fp4_kernels", "nvfp4 needs Blackwell tensor cores.");
	}
	if (format == FORMAT_MXFP4 && cc < CC_AMPERE)
		return VERDICT(SUPPORT_NO, "no_fp4_kernels",
			       "mxfp4 kernels need compute capability 8.0 or newer.");
	if ((format == FORMAT_AWQ || format == FORMAT_GPTQ || format == FORMAT_INT4) &&
	    cc < CC_TURING)
		return VERDICT(
			SUPPORT_NO, "no_4bit_kernels",
			"4-bit kernels of serving engines need compute capability 7.5 or newer.");
	if ((format == FORMAT_AWQ || format == FORMAT_GPTQ || format == FORMAT_INT4) &&
	    cc < CC_AMPERE)
		return VERDICT(SUPPORT_SLOW, "slow_4bit_kernels",
			       "Turing runs the older 4-bit kernels: Marlin needs compute "
			       "capability 8.0.");
	if (format == FORMAT_BF16 && cc < CC_AMPERE)
		return VERDICT(
			SUPPORT_NO, "no_bf16",
			"Volta and Turing cards have no bf16 arithmetic: serve in fp16 there.");
	if (cc < CC_TURING && workload->engine == ENGINE_VLLM)
		return VERDICT(
			SUPPORT_SLOW, "no_flash_attention",
			"Volta cards have no FlashAttention-2: attention runs on a slow path.");
	return runs;
}

static struct support_verdict amd(const struct workload *workload, enum format format,
				  const struct accelerator *accelerator)
{
	bool is_cdna3 = has_prefix(accelerator->architecture, "CDNA3") ||
			has_prefix(accelerator->architecture, "CDNA4");
	bool is_cdna2 = has_prefix(accelerator->architecture, "CDNA2");

	if (!is_cdna3 && !is_cdna2) {
		if (!is_training(workload) && workload->engine == ENGINE_LLAMA_CPP)
			return runs;
		return VERDICT(SUPPORT_UNKNOWN, "unproven_rocm",
			       "Nobody publishes this kind of work on this AMD card: ROCm's "
			       "frameworks target CDNA2 and newer.");
	}
	if (!is_training(workload) && workload->engine == ENGINE_TENSORRT_LLM)
		return VERDICT(SUPPORT_NO, "engine_needs_nvidia",
			       "TensorRT-LLM runs on NVIDIA cards only.");
	if (is_training(workload) && workload->stack == STACK_UNSLOTH)
		return VERDICT(
			SUPPORT_UNKNOWN, "unproven_rocm",
			"Unsloth's kernels are not shown to run on AMD cards of the data centre.");
	if (is_bitsandbytes(format))
		return is_cdna3 ? VERDICT(SUPPORT_SLOW, "bitsandbytes_rocm",
					  "bitsandbytes on ROCm is a preview: its 4-bit kernels "
					  "are slower than on NVIDIA.")
				: VERDICT(SUPPORT_UNKNOWN, "bitsandbytes_rocm",
					  "bitsandbytes' 4-bit kernels are not shown to run on "
					  "CDNA2.");
	if (format != FORMAT_AUTO && format_facts(format)->compute == COMPUTE_FP8 && !is_cdna3)
		return VERDICT(SUPPORT_NO, "no_fp8_kernels", "fp8 needs CDNA3 or newer.");
	if (workload->precision == PRECISION_FP8 && is_training(workload) && !is_cdna3)
		return VERDICT(SUPPORT_NO, "no_fp8_kernels", "fp8 needs CDNA3 or newer.");
	if (format == FORMAT_NVFP4)
		return VERDICT(SUPPORT_NO, "no_fp4_kernels", "nvfp4 needs Blackwell tensor cores.");
	if (format == FORMAT_MXFP4 && !has_prefix(accelerator->architecture, "CDNA4"))
		return VERDICT(SUPPORT_SLOW, "no_fp4_kernels",
			       "Before CDNA4 mxfp4 weights are unpacked to 16 bit.");
	return runs;
}

/* Gaudi, TPUs, Trainium and the rest: stacks of their own, none of which the workload names. */
static struct support_verdict others(const struct workload *workload, enum format format,
				     const struct accelerator *accelerator)
{
	bool is_gaudi = has_prefix(accelerator->architecture, "Gaudi2") ||
			has_prefix(accelerator->architecture, "Gaudi3");

	if (is_bitsandbytes(format))
		return VERDICT(SUPPORT_NO, "bitsandbytes_needs_gpu",
			       "bitsandbytes has no kernels for this accelerator: QLoRA does not "
			       "run there.");
	if (is_gaudi && !is_training(workload) && workload->engine == ENGINE_VLLM &&
	    (format == FORMAT_AUTO || format == FORMAT_BF16 || format == FORMAT_FP8))
		return runs;
	if (is_gaudi && is_training(workload) &&
	    (workload->stack == STACK_HUGGINGFACE || workload->stack == STACK_DEEPSPEED))
		return runs;
	return VERDICT(SUPPORT_UNKNOWN, "other_software_stack",
		       "This accelerator needs its vendor's own software stack, for which no "
		       "measurement supports a prediction.");
}

struct support_verdict support_of(const struct workload *workload, enum format weight_format,
				  const struct accelerator *accelerator)
{
	struct support_verdict verdict;

	if (!is_training(workload) && weight_format != FORMAT_AUTO &&
	    format_is_gguf(weight_format) && workload->engine != ENGINE_LLAMA_CPP)
		return VERDICT(SUPPORT_NO, "format_needs_llama_cpp",
			       "GGUF formats run in llama.cpp only.");
	if (accelerator->vendor == VENDOR_AMD)
		return amd(workload, weight_format, accelerator);
	if (accelerator->vendor != VENDOR_NVIDIA)
		return others(workload, weight_format, accelerator);
	verdict = nvidia_generation(workload, accelerator);
	if (verdict.support != SUPPORT_RUNS)
		return verdict;
	return is_training(workload) ? nvidia_training(workload, weight_format, accelerator)
				     : nvidia_serving(workload, weight_format, accelerator);
}
