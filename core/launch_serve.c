/*
 * Launch: the command of an inference engine for a plan. Flags are those of the engines' own
 * documentation (vllm serve, sglang.launch_server, trtllm-serve, llama-server, whisper-server,
 * transformers serve); faster-whisper has no server of its own, and is started over a folder.
 */
#include "core/launch_parts.h"

#include <math.h>

/* Of each machine: a plan's copies are spread evenly, and each machine has a server of its own. */
static int copies_a_machine(const struct layout *layout)
{
	int copies = layout->replicas / (layout->nodes > 0 ? layout->nodes : 1);

	return copies > 0 ? copies : 1;
}

#define ENGINE_SEQUENCES 256 /* what engines take at once unless told */

/* At least what the plan counts on; more, up to the engine's habit, where the cache holds them. */
static long long most_sequences(const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	double held = layout->replicas > 0 ? plan->max_concurrency / layout->replicas : 0;

	return (long long)fmax(ceil(fmax(layout->sequences, 1)),
			       floor(fmin(held, ENGINE_SEQUENCES)));
}

/* Where the plan has other 16 bits than the checkpoint: cards without bf16 need the other. */
static const char *dtype_flag(const struct workload *workload, enum format format)
{
	if (format == workload->architecture->native_format)
		return "";
	return format == FORMAT_FP16   ? " --dtype half"
	       : format == FORMAT_BF16 ? " --dtype bfloat16"
				       : "";
}

/* What the engine makes of 16-bit weights while it loads them; other formats are files. */
static const char *vllm_quantisation(enum format format)
{
	if (format == FORMAT_FP8)
		return " --quantization fp8";
	if (format == FORMAT_NF4 || format == FORMAT_NF4_DQ)
		return " --quantization bitsandbytes";
	return "";
}

static void say_format(struct text *run, const struct workload *workload, enum format format)
{
	const struct architecture *architecture = workload->architecture;
	bool is_made = workload->engine == ENGINE_CTRANSLATE2 ||
		       (workload->engine != ENGINE_LLAMA_CPP &&
			(format == FORMAT_BF16 || format == FORMAT_FP16 || format == FORMAT_FP32 ||
			 format == FORMAT_FP8 || format == FORMAT_NF4 || format == FORMAT_NF4_DQ));

	if (format != architecture->native_format && !is_made)
		text_add(run,
			 "# The plan has weights in %s: MODEL must name a checkpoint of them.\n",
			 names_text(&format_names, (int)format));
}

static void vllm(struct text *run, const struct workload *workload, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	int copies = copies_a_machine(layout);

	text_add(run, "vllm serve \"$MODEL\" --host 0.0.0.0 --port %d --api-key \"$API_KEY\"",
		 LAUNCH_PORT);
	text_add(run, " \\\n  --tensor-parallel-size %d%s", layout->tensor_parallel,
		 workload_only_reads(workload) ? " --runner pooling" : "");
	if (layout->pipeline_parallel > 1)
		text_add(run, " --pipeline-parallel-size %d", layout->pipeline_parallel);
	if (copies > 1)
		text_add(run, " --data-parallel-size %d", copies);
	if (layout->expert_parallel > 1)
		text_add(run, " --enable-expert-parallel");
	/* What a model listens to has no part in the length of its decoder. */
	text_add(run, " \\\n  --max-model-len %.0f",
		 workload_listens(workload) ? workload->architecture->max_context
					    : workload->full_context);
	if (workload->images_per_request > 0 || workload->frames > 0)
		text_add(run, " --limit-mm-per-prompt '{\"image\": %lld, \"video\": %d}'",
			 (long long)workload->images_per_request, workload->frames > 0);
	if (!workload_only_reads(workload))
		text_add(run, " --max-num-seqs %lld", most_sequences(plan));
	text_add(run, " --gpu-memory-utilization %.2f%s", workload->gpu_memory_utilization,
		 dtype_flag(workload, layout->weight_format));
	if (layout->weight_format != workload->architecture->native_format)
		text_add(run, "%s", vllm_quantisation(layout->weight_format));
	if (layout->kv_format == FORMAT_FP8)
		text_add(run, " --kv-cache-dtype fp8");
	if (workload->lora_adapters > 0)
		text_add(run, " --enable-lora --max-loras %lld --max-lora-rank %lld",
			 (long long)workload->lora_adapters, (long long)workload->lora_rank);
	if (!workload->chunked_prefill)
		text_add(run, " --no-enable-chunked-prefill");
	if (!workload->cuda_graphs)
		text_add(run, " --enforce-eager");
	text_add(run, "\n");
}

static void sglang(struct text *run, const struct workload *workload, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	int copies = copies_a_machine(layout);

	text_add(run,
		 "python3 -m sglang.launch_server --model-path \"$MODEL\" --host 0.0.0.0 --port %d"
		 " --api-key \"$API_KEY\" \\\n  --tp-size %d",
		 LAUNCH_PORT, layout->tensor_parallel);
	if (layout->pipeline_parallel > 1)
		text_add(run, " --pp-size %d", layout->pipeline_parallel);
	if (copies > 1)
		text_add(run, " --dp-size %d", copies);
	text_add(run, " --context-length %.0f --max-running-requests %lld", workload->full_context,
		 most_sequences(plan));
	text_add(run, "%s", dtype_flag(workload, layout->weight_format));
	if (layout->weight_format == FORMAT_FP8 &&
	    workload->architecture->native_format != FORMAT_FP8)
		text_add(run, " --quantization fp8");
	if (layout->kv_format == FORMAT_FP8)
		text_add(run, " --kv-cache-dtype fp8_e5m2");
	if (!workload->chunked_prefill)
		text_add(run, " --chunked-prefill-size -1");
	if (!workload->cuda_graphs)
		text_add(run, " --disable-cuda-graph");
	text_add(run, "\n");
}

static void tensorrt(struct text *run, const struct workload *workload, const struct plan *plan)
{
	text_add(run,
		 "trtllm-serve \"$MODEL\" --host 0.0.0.0 --port %d --tp_size %d --pp_size %d"
		 " \\\n  --max_batch_size %lld --max_seq_len %.0f\n",
		 LAUNCH_PORT, plan->layout.tensor_parallel, plan->layout.pipeline_parallel,
		 most_sequences(plan), workload->full_context);
}

/* Its spelling of a cache's format; NULL for its default, fp16. */
static const char *llama_cpp_cache(enum format format)
{
	if (format == FORMAT_INT8)
		return "q8_0";
	if (format == FORMAT_INT4)
		return "q4_0";
	if (format == FORMAT_BF16)
		return "bf16";
	if (format == FORMAT_FP32)
		return "f32";
	return format_is_gguf(format) ? names_text(&format_names, (int)format) : NULL;
}

static void llama_cpp(struct text *run, const struct workload *workload, const struct plan *plan)
{
	long long sequences = most_sequences(plan);
	const char *cache = llama_cpp_cache(plan->layout.kv_format);

	/* Its context is shared by all slots. */
	text_add(run,
		 "llama-server --model \"$MODEL\" --host 0.0.0.0 --port %d --api-key \"$API_KEY\""
		 " \\\n  --n-gpu-layers 999 --parallel %lld --ctx-size %.0f",
		 LAUNCH_PORT, sequences, workload->full_context * (double)sequences);
	/* A quantised cache of values needs flash attention. */
	if (cache)
		text_add(run, " --flash-attn on --cache-type-k %s --cache-type-v %s", cache, cache);
	text_add(run, "\n");
}

static void whisper_cpp(struct text *run, const struct workload *workload)
{
	text_add(run,
		 "whisper-server --model \"$MODEL\" --host 0.0.0.0 --port %d --beam-size %lld\n",
		 LAUNCH_PORT, (long long)workload->beams);
}

/* Every file of the folder, so many windows at once. */
static void faster_whisper(struct text *run, const struct workload *workload,
			   const struct plan *plan, struct launch_run *out)
{
	text_add(run, "# MODEL must name a checkpoint in CTranslate2's own format, as "
		      "ct2-transformers-converter writes it.\n");
	text_add(run,
		 "python3 - <<'EOF'\n"
		 "import os, pathlib\n"
		 "from faster_whisper import BatchedInferencePipeline, WhisperModel\n"
		 "model = WhisperModel(os.environ[\"MODEL\"], device=\"cuda\", "
		 "compute_type=\"%s\")\n"
		 "for path in pathlib.Path(os.environ[\"AUDIO\"]).iterdir():\n"
		 "    segments, _ = BatchedInferencePipeline(model).transcribe("
		 "str(path), batch_size=%.0f, beam_size=%lld)\n"
		 "    print(path.name, \"\".join(s.text for s in segments), sep=\"\\t\")\n"
		 "EOF\n",
		 plan->layout.weight_format == FORMAT_INT8   ? "int8_float16"
		 : plan->layout.weight_format == FORMAT_BF16 ? "bfloat16"
							     : "float16",
		 fmax(1, plan->layout.sequences), (long long)workload->beams);
	out->serves = false;
	out->also = "AUDIO";
	out->also_is = "the folder of your recordings";
}

void launch_serve(struct text *run, const struct workload *workload, const struct plan *plan,
		  struct launch_run *out)
{
	out->serves = true;
	if (plan->layout.nodes > 1)
		text_add(run,
			 "# Every machine runs a server of its own; a balancer goes in front.\n");
	if (workload->engine != ENGINE_TRANSFORMERS)
		say_format(run, workload, plan->layout.weight_format);
	out->has_key = workload->engine != ENGINE_TENSORRT_LLM &&
		       workload->engine != ENGINE_TRANSFORMERS &&
		       workload->engine != ENGINE_CTRANSLATE2 &&
		       !(workload->engine == ENGINE_LLAMA_CPP && workload_listens(workload));
	if (workload->engine == ENGINE_VLLM) {
		out->setup = "pip install -U vllm\n";
		vllm(run, workload, plan);
	} else if (workload->engine == ENGINE_SGLANG) {
		out->setup = "pip install -U \"sglang[all]\"\n";
		sglang(run, workload, plan);
	} else if (workload->engine == ENGINE_TENSORRT_LLM) {
		out->setup = "pip install -U tensorrt_llm\n";
		tensorrt(run, workload, plan);
	} else if (workload->engine == ENGINE_CTRANSLATE2) {
		out->setup = "pip install -U faster-whisper\n";
		faster_whisper(run, workload, plan, out);
	} else if (workload->engine == ENGINE_LLAMA_CPP && workload_listens(workload)) {
		out->setup = "command -v whisper-server || { echo 'install whisper.cpp first: "
			     "github.com/ggml-org/whisper.cpp'; exit 1; }\n";
		whisper_cpp(run, workload);
	} else if (workload->engine == ENGINE_LLAMA_CPP) {
		out->setup = "command -v llama-server || { echo 'install llama.cpp first: "
			     "github.com/ggml-org/llama.cpp'; exit 1; }\n";
		llama_cpp(run, workload, plan);
	} else {
		out->setup = "pip install -U \"transformers[serving]\"\n";
		text_add(run, "transformers serve --host 0.0.0.0 --port %d\n", LAUNCH_PORT);
	}
}
