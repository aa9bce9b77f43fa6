/*
 * Speed of a component of a pipeline (media.h): encoders, denoiser, autoencoder.
 *
 * It takes as long as its matrices and convolutions at what the card reaches of them (or
 * as its weights take to read), and its attention, and what it reads and writes beside the weights,
 * and a gap between kernels; or as its kernels take to launch, where the host is slower. Attention
 * costs by the FLOP on the tensor cores and, besides, by the score in the units that exponentiate:
 * that is why 40 numbers a head take three times as long as 128, and why an H20 reaches more of its
 * peak than an H100. See core/README.md.
 */
#include "core/speed/internal.h"

#include "core/fitted.h"

#include <math.h>
#include <string.h>

/*
 * What runs a pipeline: PyTorch operator by operator; compiled by PyTorch; or an engine built ahead
 * for one shape (TensorRT, OneDiff, stable-fast), which lays out and fuses convolutions too; or
 * NeMo, which trains with kernels of its own, fused and laid out by hand, in captured graphs.
 * `traffic`: of the elements that media_work counts, those that move; `convolution`: the same again
 * of nets of convolutions, which read each input by taps and in another layout than they are given;
 * `rotation`: times that queries and keys move to be normalised and rotated.
 * `convolution_flops_a_cycle`: for which an SM finds the operands, beside the FLOPs of its tensor
 * cores (1024 a cycle in a V100 and an RTX 3090, 2048 in an A100, 4096 in an H100).
 */
struct runtime {
	double launch_seconds, gap_seconds; /* a kernel: of the host; on the card */
	double matrix;			    /* share of what matrices reach */
	double traffic, convolution, rotation;
	double convolution_flops_a_cycle; /* 0 = whatever matrices reach */
};

enum { RUNTIME_EAGER, RUNTIME_COMPILED, RUNTIME_ENGINE, RUNTIME_TRAINER, RUNTIMES };

FITTED_TABLE struct runtime runtimes[RUNTIMES] = {
	[RUNTIME_EAGER] = {58.1e-6, 8.08e-6, 1, 1.58, 0.988, 17.7, 879},
	[RUNTIME_COMPILED] = {17.5e-6, 1e-6, 0.954, 0.6, 3.78, 6, 2000},
	[RUNTIME_ENGINE] = {3e-6, 5.86e-6, 0.876, 0.427, 1.45, 4, 0},
	[RUNTIME_TRAINER] = {3e-6, 9.88e-6, 0.86, 0.459, 1.29, 11.9, 0},
};

FITTED_CELL(runtimes[RUNTIME_EAGER].launch_seconds, 15e-6, 150e-6);
FITTED_CELL(runtimes[RUNTIME_COMPILED].launch_seconds, 2e-6, 40e-6);
FITTED_CELL(runtimes[RUNTIME_ENGINE].launch_seconds, 1e-6, 10e-6);
FITTED_CELL(runtimes[RUNTIME_TRAINER].launch_seconds, 1e-6, 10e-6);
FITTED_COLUMN(runtimes, gap_seconds, 0.5e-6, 15e-6);
FITTED_COLUMN(runtimes, matrix, 0.6, 1.1);
/* Of a block's 36 widths a token that media_work counts, PyTorch's operators beside the matrices
 * move 30 to 40, norms twice as many in fp32; fused ones 10 to 18. On the way back: not counted. */
FITTED_CELL(runtimes[RUNTIME_EAGER].traffic, 0.8, 2.4);
FITTED_CELL(runtimes[RUNTIME_COMPILED].traffic, 0.25, 1);
FITTED_CELL(runtimes[RUNTIME_ENGINE].traffic, 0.25, 1);
FITTED_CELL(runtimes[RUNTIME_TRAINER].traffic, 0.3, 8);
FITTED_COLUMN(runtimes, convolution, 0.5, 5);
/* As operators of PyTorch, about 15 kernels that read and write 2 or 4 bytes each; fused, once. */
FITTED_CELL(runtimes[RUNTIME_EAGER].rotation, 8, 80);
FITTED_CELL(runtimes[RUNTIME_COMPILED].rotation, 2, 16);
FITTED_CELL(runtimes[RUNTIME_ENGINE].rotation, 2, 16);
FITTED_CELL(runtimes[RUNTIME_TRAINER].rotation, 2, 16);
FITTED_COLUMN(runtimes, convolution_flops_a_cycle, 400, 8000);

/* PyTorch of 2022 and its autocast, in launches of today's. */
FITTED(LEGACY_LAUNCH, 2.5, 1, 4);
/* Of those FLOPs a cycle, convolutions of an autoencoder, whose pictures are large; and those that
 * run over time as well. */
FITTED(VAE_CONVOLUTION, 2.4, 0.3, 4);
FITTED(TIME_CONVOLUTION, 0.194, 0.1, 1.0);
/* Inputs are quantised by kernels of their own where nothing fuses them: times their traffic. */
FITTED(QUANTISE_TRAFFIC, 1.5, 1, 4);
/* Read and written a score where attention is not fused. */
FITTED(UNFUSED_SCORE_BYTES, 21.6, 4, 24);
/* Scores that one SM exponentiates, scales and sums a cycle (16 exponentials at best); kernels made
 * for Hopper hide a part behind its tensor cores. */
FITTED(SCORES_A_CYCLE, 7.79, 3, 16);
FITTED(HOPPER_SCORES, 1.51, 1, 2.5);
/* The instructions of before Hopper: of the peak of its tensor cores what they reach, and the FLOPs
 * that they feed to an SM a cycle, about as many as an A100's do (2048) of 4096. What the one
 * allows the other may not: the tensor cores of an H20 are cut to less than it is fed. */
FITTED(OLD_INSTRUCTIONS, 0.701, 0.4, 0.75);
FITTED(OLD_FLOPS_A_CYCLE, 2000, 1600, 2800);
/* Datasheets of GeForce cards count fp32 accumulation, which halves the rate. Engines do without,
 * and PyTorch's products in fp8 (fast accumulation). */
#define HALF_ACCUMULATION 2
/* And a watt does this much more of it. */
FITTED(HALF_WATT, 1.25, 1, 1.6);

static bool is_engine(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE ? workload->media_engine == MEDIA_ENGINE_TENSORRT
						: workload->stack == STACK_MEGATRON;
}

/* What is compiled is the denoiser; engines are built for all. */
static const struct runtime *runtime_of(const struct workload *workload,
					const struct media_run *run)
{
	if (is_engine(workload))
		return &runtimes[workload->task == TASK_INFERENCE ? RUNTIME_ENGINE
								  : RUNTIME_TRAINER];
	return &runtimes[workload->compile && run->is_denoiser ? RUNTIME_COMPILED : RUNTIME_EAGER];
}

/* Cycles of all SMs a second: 64 lanes of fp32 each up to the A100, 128 from GA10x on. */
static double sm_cycles(const struct accelerator *accelerator)
{
	double lanes = accelerator->compute_capability > 80 ? 128 : 64;

	return 1e12 * accelerator->fp32_tflops / (2 * lanes);
}

/* Operands of convolutions come from shared memory: 128 bytes a cycle and SM, 64 on Turing
 * (NVIDIA's GA102 whitepaper). */
static double operand_share(const struct accelerator *accelerator)
{
	return strcmp(accelerator->architecture, "Turing") == 0 ? 0.5 : 1;
}

/* Kernels made for Hopper and later, instead of those that run on Ampere too. */
static bool has_own_attention(const struct speed_basis *basis)
{
	return is_engine(basis->workload) ||
	       basis->workload->attention_kernels == ATTENTION_KERNELS_FLASH3;
}

static double attention_seconds(const struct speed_basis *basis, const struct media_work *work)
{
	const struct accelerator *accelerator = basis->accelerator;
	bool is_hopper =
		accelerator->compute_capability >= 90 && accelerator->compute_capability < 120;
	double rate = basis->half_flops, scores = SCORES_A_CYCLE;

	/* Of others than NVIDIA's only the whole is known. */
	if (accelerator->vendor != VENDOR_NVIDIA)
		return work->attention_flops / basis->attention_flops;
	/* Before FlashAttention-2: kernels that spare memory, not time. */
	if (accelerator->compute_capability < 80)
		rate = basis->attention_flops;
	if (is_hopper && has_own_attention(basis))
		scores *= HOPPER_SCORES;
	else if (is_hopper)
		rate = fmin(rate, fmin(OLD_INSTRUCTIONS * 1e12 * accelerator->bf16_tflops,
				       OLD_FLOPS_A_CYCLE * sm_cycles(accelerator)));
	return work->attention_flops / rate + work->scores / (scores * sm_cycles(accelerator));
}

/* Rate of matrices, or of convolutions, which only an engine runs in few bits. */
static double matrix_rate(const struct speed_basis *basis, bool is_low, bool is_single)
{
	const struct accelerator *accelerator = basis->accelerator;
	double rate = is_low ? basis->compute_flops : fmin(basis->half_flops, basis->compute_flops);
	bool is_half =
		(is_low && basis->workload->task == TASK_INFERENCE) || is_engine(basis->workload);

	if (is_single)
		return basis->single_flops;
	if (is_half && strcmp(accelerator->form_factor, "consumer") == 0)
		rate = fmin(HALF_ACCUMULATION * rate, HALF_WATT * basis->powered_flops);
	return rate;
}

void speed_media_run(const struct speed_basis *basis, const struct layout *layout,
		     const struct media_work *work, const struct media_run *run,
		     struct speed_phase *out)
{
	const struct workload *workload = basis->workload;
	const struct runtime *runtime = runtime_of(workload, run);
	double share = run->items / run->ways, bytes = run->is_single ? 4 : 2;
	double matrices = matrix_rate(basis, run->is_low, run->is_single) * runtime->matrix;
	double convolutions =
		matrix_rate(basis, run->is_low && is_engine(workload), run->is_single) *
		runtime->matrix;
	double traffic = runtime->traffic * (run->has_convolutions ? runtime->convolution : 1);
	double weights = run->launches * run->weight_bytes / basis->memory_bytes_per_second;
	double kernels = (work->kernels + run->kernels) * run->launches;
	double launch = kernels * runtime->launch_seconds, gaps = kernels * runtime->gap_seconds;
	double compute, memory;

	if (runtime->convolution_flops_a_cycle > 0)
		convolutions = 1 / (1 / convolutions +
				    1 / (runtime->convolution_flops_a_cycle * run->convolution *
					 sm_cycles(basis->accelerator) *
					 operand_share(basis->accelerator)));
	if (run->is_low && runtime == &runtimes[RUNTIME_EAGER])
		traffic *= QUANTISE_TRAFFIC;
	if (layout->is_legacy_engine)
		launch *= LEGACY_LAUNCH;
	compute = share * (work->matrix_flops / matrices + work->convolution_flops / convolutions +
			   attention_seconds(basis, work));
	memory = share * bytes *
		 (work->traffic_elements * traffic + work->rotated_elements * runtime->rotation);
	if (!workload->fused_attention)
		memory += share * work->scores * UNFUSED_SCORE_BYTES;
	memory = (memory + run->launches * run->unpacked_bytes) / basis->memory_bytes_per_second;
	out->compute_seconds = compute;
	out->memory_seconds = fmax(memory, weights);
	out->communication_seconds = run->exchange_seconds;
	out->overhead_seconds = gaps;
	out->seconds = fmax(compute, weights) + memory + gaps + run->exchange_seconds;
	if (launch > out->seconds)
		out->overhead_seconds = out->seconds = launch;
}

/* Bytes that a weight without kernels of its own costs in every pass. */
static double unpacked_bytes(const struct speed_basis *basis, enum format format)
{
	double bits = format_facts(format)->linear_bits;

	if (bits >= 16 || basis->is_low)
		return 0;
	/* Of 8 bits: read once more, and cast. */
	return bits > 7 && !format_is_gguf(format) ? 3 : speed_unpack_bytes(format);
}

void speed_media_denoiser_run(const struct speed_basis *basis, enum format format,
			      struct media_run *run)
{
	const struct media_denoiser *denoiser = &basis->workload->architecture->media->denoiser;

	*run = (struct media_run){.items = basis->media.items,
				  .ways = 1,
				  .weight_bytes = basis->media.denoiser_bytes,
				  .convolution = denoiser->unet.has_time ? TIME_CONVOLUTION : 1,
				  .is_denoiser = true,
				  .is_low = basis->is_low,
				  .has_convolutions = denoiser->unet.levels > 0,
				  .launches = 1,
				  .unpacked_bytes = basis->media.linear_parameters *
						    unpacked_bytes(basis, format)};
}

void speed_media_vae_run(const struct speed_basis *basis, struct media_run *run)
{
	const struct media_vae *vae = &basis->workload->architecture->media->vae;

	*run = (struct media_run){.items = basis->media.items,
				  .ways = 1,
				  .weight_bytes = basis->media.vae_bytes,
				  .convolution = VAE_CONVOLUTION *
						 (vae->kernel_time > 1 ? TIME_CONVOLUTION : 1),
				  .is_single = vae->is_upcast,
				  .has_convolutions = true,
				  .launches = 1};
}

void speed_media_encoder_run(const struct speed_basis *basis, struct media_run *run)
{
	*run = (struct media_run){.items = basis->media.items,
				  .ways = 1,
				  .weight_bytes = basis->media.encoder_bytes,
				  .convolution = 1,
				  .launches = 1};
}

/* An item's passes at the highest rate of any arithmetic, with nothing around them. */
double speed_media_least(const struct speed_basis *basis)
{
	const struct workload *workload = basis->workload;
	const struct media_work *pass = &basis->media.pass;
	bool is_training = workload->task != TASK_INFERENCE;
	double passes = is_training ? 2 : (double)workload->steps * basis->media.passes;
	double rate = fmax(matrix_rate(basis, true, false), matrix_rate(basis, false, false));
	double most = 1;

	for (int i = 0; i < RUNTIMES; i++)
		most = fmax(most, runtimes[i].matrix);
	return passes * (pass->matrix_flops + pass->convolution_flops + pass->attention_flops) /
	       (most * HALF_ACCUMULATION * rate);
}
