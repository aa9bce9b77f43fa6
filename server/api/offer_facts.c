/* Offer facts: see offer_facts.h. */
#include "server/api/offer_facts.h"

#include "core/terms.h"

#include <math.h>

static const char *const format_text[CARD_FORMATS] = {
	[CARD_FP32] = "fp32", [CARD_TF32] = "tf32", [CARD_FP16] = "fp16", [CARD_BF16] = "bf16",
	[CARD_FP8] = "fp8",   [CARD_INT8] = "int8", [CARD_FP4] = "fp4",
};
const struct names card_format_names = {format_text, CARD_FORMATS};

unsigned card_formats(const struct accelerator *card)
{
	const double peaks[CARD_FORMATS] = {
		[CARD_FP32] = card->fp32_tflops, [CARD_TF32] = card->tf32_tflops,
		[CARD_FP16] = card->fp16_tflops, [CARD_BF16] = card->bf16_tflops,
		[CARD_FP8] = card->fp8_tflops,	 [CARD_INT8] = card->int8_tops,
		[CARD_FP4] = card->fp4_tflops,
	};
	unsigned bits = 0;

	for (int i = 0; i < CARD_FORMATS; i++)
		bits |= (unsigned)(peaks[i] > 0) << i;
	return bits;
}

double card_tflops_16_bit(const struct accelerator *card)
{
	return card->bf16_tflops > 0 ? card->bf16_tflops : card->fp16_tflops;
}

const struct accelerator *offer_card(const struct offer *offer)
{
	return offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;
}

static double gpus(const struct offer *offer)
{
	return offer->count_milli / (double)COUNT_MILLI_ONE;
}

double offer_memory_gb(const struct offer *offer)
{
	const struct accelerator *card = offer_card(offer);

	return card ? card->memory_gb * gpus(offer) : offer->memory_gb;
}

int64_t offer_per_gpu_micros(const struct offer *offer)
{
	int64_t scaled;

	if (offer->price_micros == PRICE_UNKNOWN || offer->count_milli <= 0 ||
	    !micros_multiply(offer->price_micros, COUNT_MILLI_ONE, &scaled))
		return PRICE_UNKNOWN;
	return (scaled + offer->count_milli / 2) / offer->count_milli;
}

double offer_billing_seconds(const struct offer *offer)
{
	const struct terms *terms = terms_find(offer->provider);

	return terms && terms->billing_granularity_seconds > 0 ? terms->billing_granularity_seconds
							       : 0;
}

static int64_t per_usd(const struct offer *offer, double amount)
{
	if (offer->price_micros == PRICE_UNKNOWN || offer->price_micros <= 0 || !(amount > 0))
		return 0;
	return llround(amount * 1e9 / (double)offer->price_micros);
}

int64_t offer_memory_per_usd(const struct offer *offer)
{
	return per_usd(offer, offer_memory_gb(offer));
}

int64_t offer_bandwidth_per_usd(const struct offer *offer)
{
	const struct accelerator *card = offer_card(offer);

	return per_usd(offer, card ? card->bandwidth_gb_s * gpus(offer) : 0);
}

int64_t offer_tflops_per_usd(const struct offer *offer)
{
	const struct accelerator *card = offer_card(offer);

	return per_usd(offer, card ? card_tflops_16_bit(card) * gpus(offer) : 0);
}
