/*
 * Offer facts: what follows of an offer from its card, its provider's terms and its price: formats,
 * memory kind, how it is billed, and what a dollar buys. Unknown is 0 and never compared as such.
 */
#ifndef SERVER_API_OFFER_FACTS_H
#define SERVER_API_OFFER_FACTS_H

#include "core/accelerator.h"
#include "core/names.h"
#include "core/offer.h"

/* Number formats that a card may have peak rates for. */
enum card_format {
	CARD_FP32,
	CARD_TF32,
	CARD_FP16,
	CARD_BF16,
	CARD_FP8,
	CARD_INT8,
	CARD_FP4,
	CARD_FORMATS
};
extern const struct names card_format_names;

/* Bits of the formats that have a published peak. */
unsigned card_formats(const struct accelerator *card);

/* Dense, of 16-bit numbers: bf16, or fp16 where a card has no bf16; 0 = not known. */
double card_tflops_16_bit(const struct accelerator *card);

/* NULL when the offer's card is not known. */
const struct accelerator *offer_card(const struct offer *offer);

/* Of all GPUs, as advertised: by the card where it is known, else as the feed tells; 0 = not known.
 */
double offer_memory_gb(const struct offer *offer);

/* Micro-dollars a GPU-hour; PRICE_UNKNOWN when the price is. */
int64_t offer_per_gpu_micros(const struct offer *offer);

/* How many seconds are billed at least of those begun; 0 = not known. */
double offer_billing_seconds(const struct offer *offer);

/* What a dollar an hour buys, in thousandths of GB, GB/s and TFLOP/s; 0 = not known. */
int64_t offer_memory_per_usd(const struct offer *offer);
int64_t offer_bandwidth_per_usd(const struct offer *offer);
int64_t offer_tflops_per_usd(const struct offer *offer);

#endif
