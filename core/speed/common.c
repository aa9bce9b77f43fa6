/*
 * Speed, the common part: what a card reaches of its datasheet, and how a phase is summed up.
 *
 * The ceiling of matrix multiplication is measured, not the datasheet's (facts/hardware-notes.md 3,
 * MAMF: A100 0.87, H100 0.80, B200 0.78, GB200 0.73, MI300X 0.51, MI325X 0.60, MI355X 0.68, Gaudi2
 * 0.97, Gaudi3 0.74 of the dense bf16 peak; fp8 H100 0.71, B200 0.76). Classes follow the
 * architecture of the chip, never the name of a card.
 */
#include "core/speed/internal.h"

#include "core/accuracy.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

static const char *const bottleneck_text[BOTTLENECKS] = {
	[BOTTLENECK_COMPUTE] = "compute",
	[BOTTLENECK_MEMORY_BANDWIDTH] = "memory_bandwidth",
	[BOTTLENECK_COMMUNICATION] = "communication",
	[BOTTLENECK_OVERHEAD] = "overhead",
	[BOTTLENECK_DATA_LOADING] = "data_loading",
};

const struct names bottleneck_names = {bottleneck_text, BOTTLENECKS};

/*
 * Reachable fraction of the dense peak in 16 and in 8 or 4 bit, of the 16-bit peak in attention,
 * and of the memory bandwidth; and the TFLOP/s that a watt sustains in 16 bit: cards with far more
 * tensor cores than power (L4, L40S, A10, H100 PCIe) stay below their datasheet in long matrix
 * multiplications.
 */
struct ceiling {
	const char *architecture;
	double matrix, low_precision, attention, bandwidth, tflops_a_watt;
};

static const struct ceiling ceilings[] = {
	{"Volta", 0.80, 0.70, 0.35, 0.80, 0.45},
	{"Turing", 0.65, 0.60, 0.35, 0.78, 0.60},
	{"Ampere", 0.87, 0.75, 0.60, 0.80, 0.95},
	{"Ada", 1.09, 0.98, 0.64, 0.88, 0.70},
	{"Hopper", 0.80, 0.71, 0.50, 0.75, 1.20},
	{"Blackwell Ultra", 0.78, 0.75, 0.45, 0.75, 1.75},
	{"Blackwell", 0.77, 0.75, 0.45, 0.75, 1.75},
	{"CDNA2", 0.60, 0.50, 0.30, 0.65, 0.50},
	{"CDNA3", 0.51, 0.45, 0.30, 0.65, 1.00},
	{"CDNA4", 0.68, 0.60, 0.35, 0.65, 1.50},
	{"Gaudi2", 0.97, 0.85, 0.50, 0.75, 1.00},
	{"Gaudi3", 0.74, 0.70, 0.45, 0.75, 1.50},
};

/* Chips of the same architecture for workstations and games: other processes, other memory. */
static const struct ceiling small_ampere = {"Ampere", 0.95, 0.85, 0.60, 0.88, 0.45};
static const struct ceiling small_blackwell = {"Blackwell", 1.10, 0.97, 0.63, 0.88, 0.82};

static const struct ceiling unknown_ceiling = {"", 0.60, 0.50, 0.35, 0.65, 1.00};

static const struct ceiling *ceiling_of(const struct accelerator *accelerator)
{
	if (accelerator->vendor == VENDOR_NVIDIA && accelerator->compute_capability >= 120)
		return &small_blackwell;
	if (accelerator->vendor == VENDOR_NVIDIA && accelerator->compute_capability >= 86 &&
	    accelerator->compute_capability < 89)
		return &small_ampere;
	for (size_t i = 0; i < sizeof(ceilings) / sizeof(ceilings[0]); i++)
		if (strcmp(ceilings[i].architecture, accelerator->architecture) == 0)
			return &ceilings[i];
	return &unknown_ceiling;
}

/* Peak in the arithmetic that runs, or the next one up where the card has none. */
static double peak_tflops(const struct accelerator *accelerator, enum compute_type type,
			  bool *is_low)
{
	*is_low = false;
	switch (type) {
	case COMPUTE_FP4:
		*is_low = true;
		if (accelerator->fp4_tflops > 0)
			return accelerator->fp4_tflops;
		break;
	case COMPUTE_FP8:
		*is_low = true;
		if (accelerator->fp8_tflops > 0)
			return accelerator->fp8_tflops;
		break;
	case COMPUTE_INT8:
		*is_low = true;
		if (accelerator->int8_tops > 0)
			return accelerator->int8_tops;
		break;
	case COMPUTE_FP32:
		return accelerator->tf32_tflops > 0 ? accelerator->tf32_tflops
						    : accelerator->fp32_tflops;
	case COMPUTE_FP16:
	case COMPUTE_BF16:
	default:
		break;
	}
	*is_low = false;
	if (accelerator->bf16_tflops > 0 && type != COMPUTE_FP16)
		return accelerator->bf16_tflops;
	if (accelerator->fp16_tflops > 0)
		return fmax(accelerator->fp16_tflops, accelerator->bf16_tflops);
	return fmax(accelerator->bf16_tflops, accelerator->fp32_tflops);
}

static enum compute_type compute_type_of(const struct workload *workload, enum format weight_format)
{
	if (workload->task == TASK_INFERENCE)
		return weight_format == FORMAT_AUTO ? COMPUTE_BF16
						    : format_facts(weight_format)->compute;
	switch ((enum precision)workload->precision) {
	case PRECISION_FP32:
		return COMPUTE_FP32;
	case PRECISION_AMP_FP16:
		return COMPUTE_FP16;
	case PRECISION_FP8:
		return COMPUTE_FP8;
	case PRECISION_AMP_BF16:
	case PRECISION_BF16_MASTER:
	case PRECISION_BF16:
	case PRECISIONS:
	default:
		return COMPUTE_BF16;
	}
}

/* A watt does about this much more in half the bits. */
#define LOW_PRECISION_WATT 1.5
#define FP4_WATT 2.5

static double sustained_flops(const struct accelerator *accelerator, const struct ceiling *ceiling,
			      double peak, bool is_low, double watt)
{
	double reachable = peak * (is_low ? ceiling->low_precision : ceiling->matrix);
	double powered = 1e12 * accelerator->tdp_w * ceiling->tflops_a_watt * watt;

	return powered > 0 ? fmin(reachable, powered) : reachable;
}

/* Bytes that norms, activations, rotations and routing of one token move forward, fused as well as
 * current kernels do: about twice what they would have to save. */
static void prepare_traffic(const struct architecture *architecture, struct speed_basis *basis)
{
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double hidden = architecture->hidden,
		       chosen = kind->experts ? kind->experts_active : 0;
		double heads = (double)kind->heads * kind->head_dim,
		       width = (double)kind->ffn + kind->shared_ffn;

		basis->routed_elements += kind->count * chosen * hidden;
		basis->traffic_bytes += 2 * kind->count *
					(10 * hidden + 4 * heads + (kind->gated ? 4 : 3) * width +
					 chosen * (6 * hidden + 4.0 * kind->moe_ffn));
	}
}

/* Experts that a token does not choose have adapters that it does not pass. */
static double adapter_sides(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	double sides;

	if (workload->task != TASK_FINETUNE || workload->lora_rank <= 0 ||
	    (workload->method != METHOD_LORA && workload->method != METHOD_QLORA))
		return 0;
	sides = memory_adapter_parameters(workload) / (double)workload->lora_rank;
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double idle = kind->experts ? kind->experts - kind->experts_active : 0;

		if (workload->lora_targets == LORA_ALL_LINEAR)
			sides -= kind->count * idle * (kind->gated ? 3 : 2) *
				 ((double)architecture->hidden + kind->moe_ffn);
	}
	return sides;
}

bool speed_prepare(const struct workload *workload, const struct accelerator *accelerator,
		   enum format weight_format, struct speed_basis *basis)
{
	const struct ceiling *ceiling = ceiling_of(accelerator);
	double attention;
	bool is_low;

	*basis = (struct speed_basis){.workload = workload, .accelerator = accelerator};
	architecture_count(workload->architecture, &basis->parameters);
	basis->linear_flops = architecture_forward_flops(workload->architecture, 0);
	prepare_traffic(workload->architecture, basis);
	basis->adapter_sides = adapter_sides(workload);
	attention = 1e12 * peak_tflops(accelerator, COMPUTE_BF16, &is_low);
	basis->attention_flops = fmin(attention * ceiling->attention,
				      sustained_flops(accelerator, ceiling, attention, false, 1));
	basis->peak_flops =
		1e12 * peak_tflops(accelerator, compute_type_of(workload, weight_format), &is_low);
	basis->compute_flops = sustained_flops(
		accelerator, ceiling, basis->peak_flops, is_low,
		!is_low							  ? 1
		: compute_type_of(workload, weight_format) == COMPUTE_FP4 ? FP4_WATT
									  : LOW_PRECISION_WATT);
	basis->memory_bytes_per_second = 1e9 * accelerator->bandwidth_gb_s * ceiling->bandwidth;
	return basis->peak_flops > 0 && basis->memory_bytes_per_second > 0;
}

/* Which resource takes longest. Overhead adds to the others, so it wins only by its own size. */
void speed_phase_close(struct speed_phase *phase)
{
	double most = phase->compute_seconds;

	phase->bottleneck = BOTTLENECK_COMPUTE;
	if (phase->memory_seconds > most) {
		most = phase->memory_seconds;
		phase->bottleneck = BOTTLENECK_MEMORY_BANDWIDTH;
	}
	if (phase->communication_seconds > most) {
		most = phase->communication_seconds;
		phase->bottleneck = BOTTLENECK_COMMUNICATION;
	}
	if (phase->overhead_seconds > most)
		phase->bottleneck = BOTTLENECK_OVERHEAD;
}

void speed_estimate(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out)
{
	bool serving = basis->workload->task == TASK_INFERENCE;
	const struct accuracy *accuracy = accuracy_of_speed(basis->workload);
	double spread = basis->workload->architecture->uncertainty;

	*out = (struct speed_estimate){0};
	/* A speed that measured high is a time that is short. */
	out->low_factor = 1 / (accuracy->high + spread);
	out->high_factor = 1 / fmax(0.05, accuracy->low - spread);
	if (serving)
		speed_serving(basis, layout, fabric, out);
	else
		speed_training(basis, layout, fabric, out);
}
