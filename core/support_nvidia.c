/*
 * Support on NVIDIA's cards, by compute capability: see support.h.
 *
 * Sources: vLLM's table of quantisation and hardware
 * (docs.vllm.ai/en/v0.15.1/features/quantization): AWQ and int8 from Turing on, GPTQ from Volta,
 * Marlin from Ampere, fp8 arithmetic from Ada; its fp8 weights on Turing (docs.vllm.ai/en/v0.32.0,
 * quantization: FP8 W8A8), SGLang's on Ampere (vllm-project/vllm#5975)
 * and MXFP4 from 8.0 (#23203). TensorRT-LLM's supported hardware: Ampere, Ada, Hopper, Blackwell
 * (nvidia.github.io/TensorRT-LLM/supported-hardware.html). bitsandbytes 0.50 (its installation
 * guide): NF4 and FP4 from 6.0, LLM.int8 from 7.5. PyTorch's builds: CUDA 12.8 and 12.9 without
 * Maxwell and Pascal since 2.8, CUDA 13 without Volta; 12.6 keeps them until 2.15
 * (pytorch/pytorch#157517, #172352, #190385). facts/hardware-notes.md 11.13: Volta and Turing have
 * no bf16 and no FlashAttention-2, Pascal no tensor cores.
 */
#include "core/support_parts.h"

#define CC_PASCAL 60
#define CC_VOLTA 70
#define CC_TURING 75
#define CC_AMPERE 80
#define CC_ADA 89
#define CC_HOPPER 90
#define CC_BLACKWELL 100

/* Parts that current frameworks no longer run on. */
static struct support_verdict generation(const struct workload *workload,
					 const struct accelerator *accelerator)
{
	int cc = accelerator->compute_capability;
	bool is_serving = !is_training(workload);
	bool is_gguf_engine = is_serving && workload->engine == ENGINE_LLAMA_CPP;

	if (cc < CC_PASCAL)
		return VERDICT(SUPPORT_NO, "dropped_by_frameworks",
			       "Kepler and Maxwell cards are no longer supported by PyTorch or by "
			       "any serving engine.");
	if (cc < CC_VOLTA && !is_gguf_engine)
		return VERDICT(SUPPORT_NO, "no_tensor_cores",
			       "Pascal cards have no tensor cores and current training stacks and "
			       "engines dropped them; only llama.cpp still runs there.");
	if (cc < CC_AMPERE && is_serving && workload->engine == ENGINE_TENSORRT_LLM)
		return VERDICT(SUPPORT_NO, "dropped_by_frameworks",
			       "TensorRT-LLM supports Ampere cards and newer.");
	if (cc < CC_TURING && is_serving && workload->engine == ENGINE_SGLANG)
		return VERDICT(SUPPORT_NO, "dropped_by_frameworks",
			       "SGLang dropped Volta cards; vLLM, transformers and llama.cpp still "
			       "run there.");
	return RUNS;
}

static struct support_verdict training(const struct workload *workload, enum format format,
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
	if (format == FORMAT_INT8 && accelerator->compute_capability < CC_TURING)
		return VERDICT(SUPPORT_NO, "no_int8_kernels",
			       "An int8 base needs the integer tensor cores of compute capability "
			       "7.5 or newer.");
	if (format_is_bitsandbytes(format) && accelerator->compute_capability < CC_TURING)
		return VERDICT(
			SUPPORT_SLOW, "slow_4bit_kernels",
			"bitsandbytes' 4-bit kernels run on Volta without its faster paths.");
	return RUNS;
}

static struct support_verdict fp8_weights(const struct workload *workload, int cc)
{
	bool has_marlin = (workload->engine == ENGINE_VLLM && cc >= CC_TURING) ||
			  (workload->engine == ENGINE_SGLANG && cc >= CC_AMPERE);

	if (cc >= CC_ADA)
		return RUNS;
	if (has_marlin)
		return VERDICT(SUPPORT_SLOW, "no_fp8_kernels",
			       "Before compute capability 8.9 fp8 weights are unpacked to 16 bit: "
			       "memory is saved, arithmetic is not.");
	return VERDICT(SUPPORT_NO, "no_fp8_kernels",
		       "fp8 needs compute capability 8.9 or newer (Ada, Hopper, Blackwell), or "
		       "vLLM on Turing and SGLang on Ampere, which unpack it there.");
}

static struct support_verdict fp4_weights(const struct workload *workload, enum format format,
					  int cc)
{
	bool is_marlin = workload->engine == ENGINE_VLLM || workload->engine == ENGINE_SGLANG;

	if (cc >= CC_BLACKWELL)
		return RUNS;
	if (format == FORMAT_NVFP4) {
		if (cc >= CC_AMPERE && workload->engine == ENGINE_VLLM)
			return VERDICT(SUPPORT_SLOW, "no_fp4_kernels",
				       "Before Blackwell nvfp4 weights are unpacked to 16 bit: "
				       "memory is saved, arithmetic is not.");
		return VERDICT(SUPPORT_NO, "no_fp4_kernels", "nvfp4 needs Blackwell tensor cores.");
	}
	/* Triton's kernels read MXFP4 on Hopper as they multiply. */
	if (cc >= CC_HOPPER)
		return RUNS;
	if ((cc >= CC_AMPERE && is_marlin) ||
	    (cc >= CC_TURING && workload->engine == ENGINE_TRANSFORMERS))
		return VERDICT(SUPPORT_SLOW, "no_fp4_kernels",
			       "Before Hopper mxfp4 weights are unpacked to 16 bit: memory is "
			       "saved, arithmetic is not.");
	return VERDICT(SUPPORT_NO, "no_fp4_kernels",
		       workload->engine == ENGINE_TENSORRT_LLM
			       ? "TensorRT-LLM runs mxfp4 on Hopper and Blackwell cards."
			       : "mxfp4 kernels need compute capability 8.0 or newer.");
}

static struct support_verdict packed_weights(const struct workload *workload, enum format format,
					     int cc)
{
	bool is_gptq = format == FORMAT_GPTQ || format == FORMAT_GPTQ_G32 ||
		       format == FORMAT_GPTQ_G64 || format == FORMAT_GPTQ_CHANNEL;
	bool runs_gptq = workload->engine == ENGINE_VLLM || workload->engine == ENGINE_TRANSFORMERS;

	if (cc < CC_TURING && !(is_gptq && runs_gptq))
		return VERDICT(SUPPORT_NO, "no_4bit_kernels",
			       "4-bit kernels of serving engines need compute capability 7.5 or "
			       "newer; GPTQ alone runs on Volta, in vLLM and transformers.");
	if (cc < CC_AMPERE)
		return VERDICT(SUPPORT_SLOW, "slow_4bit_kernels",
			       "Volta and Turing run the older 4-bit kernels: Marlin needs compute "
			       "capability 8.0.");
	return RUNS;
}

static struct support_verdict int8_weights(const struct workload *workload, int cc)
{
	if (cc < CC_TURING)
		return VERDICT(SUPPORT_NO, "no_int8_kernels",
			       "int8 needs the integer tensor cores of compute capability 7.5 or "
			       "newer.");
	if (cc >= CC_BLACKWELL && workload->engine == ENGINE_VLLM)
		return VERDICT(SUPPORT_SLOW, "no_int8_kernels",
			       "vLLM has no int8 arithmetic for Blackwell: int8 weights are "
			       "unpacked to 16 bit. fp8 is faster there.");
	return RUNS;
}

static struct support_verdict weights(const struct workload *workload, enum format format, int cc)
{
	const struct format_facts *facts = format_facts(format);

	if (format_is_gguf(format))
		return RUNS;
	if (facts->compute == COMPUTE_FP8)
		return fp8_weights(workload, cc);
	if (facts->compute == COMPUTE_FP4)
		return fp4_weights(workload, format, cc);
	if (facts->compute == COMPUTE_INT8)
		return int8_weights(workload, cc);
	if (format_is_packed_integer(format))
		return packed_weights(workload, format, cc);
	if (format == FORMAT_BF16 && cc < CC_AMPERE)
		return VERDICT(
			SUPPORT_NO, "no_bf16",
			"Volta and Turing cards have no bf16 arithmetic: serve in fp16 there.");
	return RUNS;
}

static struct support_verdict serving(const struct workload *workload, enum format format,
				      const struct accelerator *accelerator)
{
	int cc = accelerator->compute_capability;
	struct support_verdict verdict;

	if (format == FORMAT_AUTO)
		return RUNS;
	verdict = weights(workload, format, cc);
	if (verdict.support != SUPPORT_RUNS)
		return verdict;
	if (cc < CC_TURING && workload->engine == ENGINE_VLLM)
		return VERDICT(
			SUPPORT_SLOW, "no_flash_attention",
			"Volta cards have no FlashAttention-2: attention runs on a slow path, "
			"and current builds of PyTorch leave them out.");
	return RUNS;
}

struct support_verdict support_nvidia(const struct workload *workload, enum format format,
				      const struct accelerator *accelerator)
{
	struct support_verdict verdict = generation(workload, accelerator);

	if (verdict.support != SUPPORT_RUNS)
		return verdict;
	return is_training(workload) ? training(workload, format, accelerator)
				     : serving(workload, format, accelerator);
}
