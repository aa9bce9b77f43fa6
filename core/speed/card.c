/*
 * Speed, the card: what it reaches of its datasheet.
 *
 * The ceiling of matrix multiplication is measured, not the datasheet's (facts/hardware-notes.md 3,
 * MAMF: A100 0.87, H100 0.80, B200 0.78, GB200 0.73, MI300X 0.51, MI325X 0.60, MI355X 0.68, Gaudi2
 * 0.97, Gaudi3 0.74 of the dense bf16 peak; fp8 H100 0.71, B200 0.76). Classes follow the
 * architecture of the chip, never the name of a card.
 */
#include "core/speed/internal.h"

#include "core/fitted.h"
#include "core/support.h"

#include <math.h>
#include <string.h>

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

FITTED_TABLE struct ceiling ceilings[] = {
	{"Volta", 0.80, 0.70, 0.35, 0.80, 0.45},
	{"Turing", 0.65, 0.60, 0.35, 0.78, 0.42},
	{"Ampere", 0.87, 0.75, 0.60, 0.80, 0.85},
	{"Ada", 1.09, 0.98, 0.64, 0.88, 0.70},
	{"Hopper", 0.80, 0.71, 0.50, 0.75, 1.25},
	{"Blackwell Ultra", 0.78, 0.75, 0.45, 0.75, 1.75},
	{"Blackwell", 0.77, 0.75, 0.45, 0.75, 1.75},
	{"CDNA2", 0.60, 0.50, 0.30, 0.65, 0.50},
	{"CDNA3", 0.51, 0.45, 0.40, 0.65, 1.00},
	{"CDNA4", 0.68, 0.60, 0.50, 0.65, 1.50},
	{"Gaudi2", 0.97, 0.85, 0.50, 0.75, 1.00},
	{"Gaudi3", 0.74, 0.70, 0.45, 0.75, 1.50},
};

/* Chips of the same architecture for workstations and games: other processes, other memory. */
FITTED_TABLE struct ceiling small_ampere = {"Ampere", 0.95, 0.85, 0.60, 0.88, 0.45};
FITTED_TABLE struct ceiling small_blackwell = {"Blackwell", 1.10, 0.97, 0.63, 0.88, 0.82};

/* Matrices and bandwidth of data-centre chips are measured elsewhere; the rest is fitted. */
FITTED_COLUMN(ceilings, attention, 0.25, 0.75);
/* FlashAttention-2 reaches about 0.7 of an A100; it and its successors 0.37 to 0.65 of an H100
 * (facts/throughput-notes.md 7). */
FITTED_CELL(ceilings[2].attention, 0.5, 0.75);
FITTED_CELL(ceilings[4].attention, 0.37, 0.65);
/* Cards whose datasheet counts half of what the tensor cores do in fp16: scores wait for less. */
FITTED_CELL(ceilings[3].attention, 0.45, 0.85);
/* Not less than was measured at full power (hardware-notes 3), where it was. */
FITTED_COLUMN(ceilings, tflops_a_watt, 0.4, 1.0);
FITTED_CELL(ceilings[2].tflops_a_watt, 0.84, 1.2);
/* L4 sustains 0.6 of its peak at 72 W, which is 1.0; larger chips run at higher clocks. */
FITTED_CELL(ceilings[3].tflops_a_watt, 0.6, 1.0);
FITTED_CELL(ceilings[4].tflops_a_watt, 1.13, 1.7);
FITTED_CELL(ceilings[5].tflops_a_watt, 1.26, 2.2);
FITTED_CELL(ceilings[6].tflops_a_watt, 1.74, 2.3);
FITTED_CELL(ceilings[8].tflops_a_watt, 0.89, 1.4);
FITTED_CELL(ceilings[9].tflops_a_watt, 1.21, 1.8);
FITTED_CELL(ceilings[10].tflops_a_watt, 0.7, 1.2);
FITTED_CELL(ceilings[11].tflops_a_watt, 1.5, 2.0);
FITTED_CELL(small_ampere.matrix, 0.7, 1.1);
FITTED_CELL(small_ampere.low_precision, 0.6, 1.0);
FITTED_CELL(small_ampere.attention, 0.45, 0.85);
FITTED_CELL(small_ampere.bandwidth, 0.65, 0.95);
FITTED_CELL(small_ampere.tflops_a_watt, 0.3, 1.0);
FITTED_CELL(small_blackwell.matrix, 0.7, 1.2);
FITTED_CELL(small_blackwell.low_precision, 0.6, 1.1);
FITTED_CELL(small_blackwell.attention, 0.45, 0.85);
FITTED_CELL(small_blackwell.bandwidth, 0.65, 0.95);
FITTED_CELL(small_blackwell.tflops_a_watt, 0.5, 1.5);

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

/* Few bits without kernels for them are unpacked to 16, whatever the card's sheet says of them. */
static bool is_unpacked(const struct workload *workload, enum format weight_format,
			const struct accelerator *accelerator)
{
	enum compute_type type = format_facts(weight_format)->compute;

	return (type == COMPUTE_FP8 || type == COMPUTE_INT8 || type == COMPUTE_FP4) &&
	       support_of(workload, weight_format, accelerator).support == SUPPORT_SLOW;
}

static enum compute_type compute_type_of(const struct workload *workload, enum format weight_format,
					 const struct accelerator *accelerator)
{
	if (workload->task == TASK_INFERENCE)
		return weight_format == FORMAT_AUTO ||
				       is_unpacked(workload, weight_format, accelerator)
			       ? COMPUTE_BF16
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
FITTED(LOW_PRECISION_WATT, 1.5, 1.2, 2.0);
FITTED(FP4_WATT, 2.5, 1.5, 4.0);

/* What the card's power allows; without a limit where it is not known. */
static double powered_flops(const struct accelerator *accelerator, const struct ceiling *ceiling,
			    double watt)
{
	return accelerator->tdp_w > 0 ? 1e12 * accelerator->tdp_w * ceiling->tflops_a_watt * watt
				      : (double)INFINITY;
}

/* Correction bits that share GDDR with the data take a sixteenth of it, which the driver hides, and
 * at least as much of the traffic. */
FITTED(INLINE_ECC_BANDWIDTH, 0.93, 0.85, 0.97);
#define INLINE_ECC_MEMORY 0.96

static bool has_inline_ecc(const struct accelerator *accelerator)
{
	return strncmp(accelerator->memory_type, "GDDR", 4) == 0 &&
	       accelerator->memory_usable_mib < INLINE_ECC_MEMORY * 1024 * accelerator->memory_gb;
}

bool speed_prepare_card(struct speed_basis *basis, const struct accelerator *accelerator,
			enum format weight_format, double weight_bytes)
{
	const struct ceiling *ceiling = ceiling_of(accelerator);
	enum compute_type type = compute_type_of(basis->workload, weight_format, accelerator);
	double attention;
	bool is_low;

	basis->accelerator = accelerator;
	basis->weight_format = weight_format;
	basis->weight_bytes = weight_bytes;
	if (basis->workload->architecture->media)
		basis->media.denoiser_bytes =
			media_denoiser_bytes(basis->workload->architecture->media,
					     weight_format ? weight_format : FORMAT_BF16);
	/* Attention stays in 16 bit but where all is in fp32. */
	attention = 1e12 * peak_tflops(accelerator,
				       type == COMPUTE_FP32 ? COMPUTE_FP32 : COMPUTE_BF16, &is_low);
	basis->attention_flops =
		fmin(attention * ceiling->attention,
		     fmin(attention * ceiling->matrix, powered_flops(accelerator, ceiling, 1)));
	basis->half_flops =
		fmin(1e12 * peak_tflops(accelerator, COMPUTE_BF16, &is_low) * ceiling->matrix,
		     powered_flops(accelerator, ceiling, 1));
	basis->single_flops =
		fmin(1e12 * peak_tflops(accelerator, COMPUTE_FP32, &is_low) * ceiling->matrix,
		     powered_flops(accelerator, ceiling, 1));
	basis->peak_flops = 1e12 * peak_tflops(accelerator, type, &is_low);
	basis->is_low = is_low;
	if (basis->workload->task != TASK_INFERENCE)
		basis->side_scale = speed_side_scale(basis->peak_flops);
	basis->highest_flops = fmax(basis->peak_flops, attention);
	basis->powered_flops = powered_flops(accelerator, ceiling,
					     !is_low		   ? 1
					     : type == COMPUTE_FP4 ? FP4_WATT
								   : LOW_PRECISION_WATT);
	basis->compute_flops =
		fmin(basis->peak_flops * (is_low ? ceiling->low_precision : ceiling->matrix),
		     basis->powered_flops);
	basis->memory_bytes_per_second = 1e9 * accelerator->bandwidth_gb_s * ceiling->bandwidth;
	if (has_inline_ecc(accelerator))
		basis->memory_bytes_per_second *= INLINE_ECC_BANDWIDTH;
	return basis->peak_flops > 0 && basis->memory_bytes_per_second > 0;
}
