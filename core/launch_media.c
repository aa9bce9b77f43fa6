/*
 * Launch: the commands of a pipeline for a plan: diffusers' own calls for items, one of its example
 * scripts for training. What only other software does (passes of guidance on GPUs of their own,
 * engines built ahead) is said in a comment.
 */
#include "core/launch_parts.h"

/* Components that a format is for. */
static const char *denoiser_of(const struct workload *workload)
{
	return workload->architecture->media->denoiser.unet.levels ? "unet" : "transformer";
}

static bool is_video(const struct workload *workload)
{
	return workload->architecture->media->sample_rate <= 0 && workload->frames > 1;
}

static bool is_sound(const struct workload *workload)
{
	return workload->architecture->media->sample_rate > 0;
}

static const char *setup_of(const struct workload *workload, enum format format)
{
	bool is_small = format == FORMAT_NF4 || format == FORMAT_NF4_DQ;

	if (is_sound(workload))
		return "pip install -U diffusers transformers accelerate soundfile torchsde\n";
	if (is_small)
		return "pip install -U diffusers transformers accelerate sentencepiece protobuf "
		       "ftfy bitsandbytes imageio imageio-ffmpeg\n";
	return "pip install -U diffusers transformers accelerate sentencepiece protobuf ftfy "
	       "torchao imageio imageio-ffmpeg\n";
}

/* Formats that are files of their own: nothing makes them while it loads. */
static bool is_made_of_files(enum format format)
{
	return format_is_gguf(format) || format_is_packed_integer(format);
}

/* How diffusers makes the denoiser's weights so while it loads them; "" for 16 bits. */
static void say_quantisation(struct text *run, const struct workload *workload, enum format format)
{
	const char *component = denoiser_of(workload);

	if (format == FORMAT_FP8 || format == FORMAT_TORCHAO_FP8 || format == FORMAT_INT8 ||
	    format == FORMAT_TORCHAO_INT8)
		text_add(run,
			 ",\n    quantization_config=PipelineQuantizationConfig(quant_backend="
			 "\"torchao\",\n        quant_kwargs={\"quant_type\": \"%s\"}, "
			 "components_to_quantize=[\"%s\"])",
			 format == FORMAT_FP8 || format == FORMAT_TORCHAO_FP8 ? "float8dq"
									      : "int8dq",
			 component);
	else if (format == FORMAT_NF4 || format == FORMAT_NF4_DQ)
		text_add(run,
			 ",\n    quantization_config=PipelineQuantizationConfig(quant_backend="
			 "\"bitsandbytes_4bit\",\n        quant_kwargs={\"load_in_4bit\": True, "
			 "\"bnb_4bit_quant_type\": \"nf4\", \"bnb_4bit_compute_dtype\": "
			 "torch.bfloat16},\n        components_to_quantize=[\"%s\"])",
			 component);
}

static void say_place(struct text *run, const struct workload *workload)
{
	switch ((enum media_offload)workload->media_offload) {
	case MEDIA_OFFLOAD_MODEL:
		text_add(run, "pipe.enable_model_cpu_offload()\n");
		break;
	case MEDIA_OFFLOAD_GROUP:
		text_add(run,
			 "pipe.%s.enable_group_offload(torch.device(\"cuda\"), "
			 "torch.device(\"cpu\"),\n    offload_type=\"block_level\", "
			 "num_blocks_per_group=1, use_stream=True)\n",
			 denoiser_of(workload));
		break;
	case MEDIA_OFFLOAD_SEQUENTIAL:
		text_add(run, "pipe.enable_sequential_cpu_offload()\n");
		break;
	case MEDIA_OFFLOAD_NONE:
	case MEDIA_OFFLOADS:
	default:
		text_add(run, "pipe.to(\"cuda\")\n");
		break;
	}
	if (workload->vae_tiling)
		text_add(run, "pipe.vae.enable_tiling()\n");
	if (workload->vae_slicing)
		text_add(run, "pipe.vae.enable_slicing()\n");
	if (workload->compile)
		text_add(run, "pipe.%s = torch.compile(pipe.%s)\n", denoiser_of(workload),
			 denoiser_of(workload));
}

/* One prompt after the other, each copy every so-manieth. */
static void say_loop(struct text *run, const struct workload *workload)
{
	struct media_size size;

	workload_media_size(workload, &size);
	text_add(run,
		 "copy, copies = int(os.environ.get(\"COPY\", 0)), int(os.environ.get(\"COPIES\", "
		 "1))\n"
		 "for number, prompt in enumerate(open(os.environ[\"PROMPTS\"])):\n"
		 "    if number %% copies != copy:\n        continue\n"
		 "    made = pipe(prompt.strip(), num_inference_steps=%lld",
		 (long long)workload->steps);
	if (is_sound(workload))
		text_add(run,
			 ", audio_end_in_s=%g).audios[0]\n"
			 "    soundfile.write(f\"{number}.wav\", made.T.float().cpu().numpy(), "
			 "pipe.vae.sampling_rate)\n",
			 workload->seconds);
	else if (is_video(workload))
		text_add(run,
			 ", width=%.0f, height=%.0f, num_frames=%.0f).frames[0]\n"
			 "    export_to_video(made, f\"{number}.mp4\", fps=%g)\n",
			 size.width, size.height, size.frames,
			 workload->fps > 0 ? workload->fps : 16);
	else
		text_add(run,
			 ", width=%.0f, height=%.0f, num_images_per_prompt=%lld).images\n"
			 "    for index, image in enumerate(made):\n"
			 "        image.save(f\"{number}-{index}.png\")\n",
			 size.width, size.height, (long long)workload->batch);
}

static void say_script(struct text *run, const struct workload *workload, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;

	text_add(run,
		 "cat > make.py <<'EOF'\nimport os, torch\n%s%sfrom diffusers import "
		 "ContextParallelConfig, DiffusionPipeline, PipelineQuantizationConfig\n",
		 is_sound(workload) ? "import soundfile\n" : "",
		 is_video(workload) ? "from diffusers.utils import export_to_video\n" : "");
	if (layout->context_parallel > 1)
		text_add(run, "torch.distributed.init_process_group(\"nccl\")\n"
			      "torch.cuda.set_device(torch.distributed.get_rank())\n");
	text_add(run,
		 "pipe = DiffusionPipeline.from_pretrained(os.environ[\"MODEL\"], "
		 "torch_dtype=torch.%s",
		 layout->weight_format == FORMAT_FP16 ? "float16" : "bfloat16");
	say_quantisation(run, workload, layout->weight_format);
	text_add(run, ")\n");
	say_place(run, workload);
	if (layout->context_parallel > 1)
		text_add(
			run,
			"pipe.%s.enable_parallelism(config=ContextParallelConfig(ulysses_degree=%d)"
			")\n",
			denoiser_of(workload), layout->context_parallel);
	say_loop(run, workload);
	text_add(run, "EOF\n");
}

void launch_media_serve(struct text *run, const struct workload *workload, const struct plan *plan,
			struct launch_run *out)
{
	const struct layout *layout = &plan->layout;
	int copies = layout->replicas / (layout->nodes > 0 ? layout->nodes : 1);

	out->setup = setup_of(workload, layout->weight_format);
	out->also = "PROMPTS";
	out->also_is = "a file of prompts, one a line";
	out->needs_files = true;
	if (layout->nodes > 1)
		text_add(run,
			 "# Every machine takes a part of the prompts: divide the file first.\n");
	if (layout->guidance_parallel > 1)
		text_add(run, "# The plan has the passes of guidance on GPUs of their own, as xDiT "
			      "has it (cfg_parallel): diffusers has not.\n");
	if (workload->media_engine == MEDIA_ENGINE_TENSORRT)
		text_add(run, "# The plan counts on engines built ahead (TensorRT's "
			      "demo/Diffusion): this runs PyTorch.\n");
	if (is_made_of_files(layout->weight_format))
		text_add(run,
			 "# The plan has weights in %s: MODEL must name a checkpoint of them.\n",
			 names_text(&format_names, (int)layout->weight_format));
	say_script(run, workload, plan);
	if (copies <= 1 && layout->context_parallel <= 1) {
		text_add(run, "python3 make.py\n");
		return;
	}
	text_add(run, "for copy in $(seq 0 %d); do\n", copies - 1);
	if (layout->context_parallel > 1)
		text_add(run,
			 "  CUDA_VISIBLE_DEVICES=$(seq -s, $((copy * %d)) $((copy * %d + %d))) "
			 "COPY=$copy COPIES=%d \\\n    torchrun --nproc-per-node %d --master-port "
			 "$((29500 + copy)) make.py &\n",
			 layout->context_parallel, layout->context_parallel,
			 layout->context_parallel - 1, copies, layout->context_parallel);
	else
		text_add(run,
			 "  CUDA_VISIBLE_DEVICES=$copy COPY=$copy COPIES=%d python3 make.py &\n",
			 copies);
	text_add(run, "done\nwait\n");
}

void launch_media_train(struct text *run, const struct workload *workload, const struct plan *plan,
			struct launch_run *out)
{
	const struct layout *layout = &plan->layout;
	double steps = workload->tokens / ((double)layout->micro_batch *
					   (double)layout->accumulation * layout->data_parallel);
	bool is_adapted = workload->method == METHOD_LORA || workload->method == METHOD_QLORA;

	out->setup = "pip install -U \"diffusers[training]\" peft bitsandbytes\n";
	out->needs_data = true;
	out->also = "SCRIPT";
	out->also_is = "the example script of diffusers for this model and method";
	out->needs_files = true;
	text_add(
		run,
		"accelerate launch --num_processes %d --num_machines %d --mixed_precision %s%s \\\n"
		"  \"$SCRIPT\" --pretrained_model_name_or_path \"$MODEL\" --instance_data_dir "
		"\"$DATASET\" --output_dir output",
		layout->gpus_per_node * layout->nodes, layout->nodes,
		workload->precision == PRECISION_FP32	    ? "no"
		: workload->precision == PRECISION_AMP_FP16 ? "fp16"
							    : "bf16",
		layout_shards_weights(layout) ? " --use_fsdp" : "");
	text_add(run,
		 " \\\n  --resolution %lld --train_batch_size %lld "
		 "--gradient_accumulation_steps %lld",
		 (long long)workload->width, (long long)layout->micro_batch,
		 (long long)layout->accumulation);
	if (is_adapted)
		text_add(run, " --rank %lld", (long long)workload->lora_rank);
	if (layout->recompute == RECOMPUTE_FULL)
		text_add(run, " --gradient_checkpointing");
	if (workload->cached_latents)
		text_add(run, " --cache_latents");
	if (workload->optimizer == OPTIMIZER_ADAMW_8BIT)
		text_add(run, " --use_8bit_adam");
	if (workload->train_text_encoder)
		text_add(run, " --train_text_encoder");
	if (steps >= 1)
		text_add(run, " --max_train_steps %.0f", steps);
	text_add(run, "\n");
}
