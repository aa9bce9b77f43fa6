/* Offer value: see offer_value.h. */
#include "server/api/offer_value.h"

#include "core/terms.h"
#include "server/api/offer_facts.h"

static const struct offer_value none = {.kind = VALUE_NONE};

static struct offer_value text_value(const char *text)
{
	return text && *text ? (struct offer_value){.kind = VALUE_TEXT, .text = text} : none;
}

static struct offer_value flag_value(bool flag)
{
	return (struct offer_value){.kind = VALUE_FLAG, .integer = flag};
}

/* Not told when it is not positive. */
static struct offer_value number_value(double number)
{
	return number > 0 ? (struct offer_value){.kind = VALUE_NUMBER, .number = number} : none;
}

static struct offer_value whole_value(bool is_known, enum offer_value_kind kind, int64_t integer)
{
	return is_known ? (struct offer_value){.kind = kind, .integer = integer} : none;
}

static struct offer_value price_value(int64_t micros)
{
	return whole_value(micros != PRICE_UNKNOWN, VALUE_MICROS, micros);
}

static struct offer_value time_value(enum offer_value_kind kind, int64_t wall_us)
{
	return whole_value(wall_us != 0, kind, wall_us);
}

static struct offer_value card_value(const struct offer *offer, enum offer_field field)
{
	const struct accelerator *card = offer_card(offer);

	if (!card)
		return none;
	switch ((int)field) {
	case FIELD_OF_OFFER_memory_per_gpu_gb:
		return number_value(card->memory_gb);
	case FIELD_OF_OFFER_memory_type:
		return text_value(card->memory_type);
	case FIELD_OF_OFFER_bandwidth_gb_per_second:
		return number_value(card->bandwidth_gb_s);
	case FIELD_OF_OFFER_tflops_16_bit:
		return number_value(card_tflops_16_bit(card));
	default:
		return (struct offer_value){.kind = VALUE_FORMATS, .bits = card_formats(card)};
	}
}

static struct offer_value rate_value(int64_t thousandths)
{
	return whole_value(thousandths > 0, VALUE_THOUSANDTHS, thousandths);
}

/* What an offer says of its machine. */
static struct offer_value machine_value(const struct offer *offer, enum offer_field field)
{
	switch ((int)field) {
	case FIELD_OF_OFFER_id:
		return (struct offer_value){.kind = VALUE_ID, .bits = offer->id};
	case FIELD_OF_OFFER_provider:
		return text_value(offer->provider);
	case FIELD_OF_OFFER_region:
		return text_value(offer->region);
	case FIELD_OF_OFFER_zone:
		return text_value(offer->zone);
	case FIELD_OF_OFFER_country:
		return text_value(offer->country);
	case FIELD_OF_OFFER_instance_type:
		return text_value(offer->instance_type);
	case FIELD_OF_OFFER_accelerator:
		return text_value(offer->accelerator);
	case FIELD_OF_OFFER_accelerator_known:
		return flag_value(offer->is_mapped);
	case FIELD_OF_OFFER_count:
		return (struct offer_value){.kind = VALUE_NUMBER,
					    .number = offer->count_milli / (double)COUNT_MILLI_ONE};
	case FIELD_OF_OFFER_memory_gb:
		return number_value(offer_memory_gb(offer));
	case FIELD_OF_OFFER_vcpus:
		return number_value(offer->vcpus);
	case FIELD_OF_OFFER_ram_gib:
		return number_value(offer->ram_gib);
	case FIELD_OF_OFFER_disk_gb:
		return number_value(offer->disk_gb);
	case FIELD_OF_OFFER_interconnect:
		return text_value(offer->interconnect);
	case FIELD_OF_OFFER_tier:
		return text_value(offer->tier);
	default:
		return card_value(offer, field);
	}
}

/* What it says of its price, and since when. */
static struct offer_value sale_value(const struct offer *offer, enum offer_field field)
{
	switch ((int)field) {
	case FIELD_OF_OFFER_price_kind:
		return text_value(names_text(&price_kind_names, (int)offer->price_kind));
	case FIELD_OF_OFFER_term_months:
		return whole_value(offer->price_kind == PRICE_RESERVED && offer->term_months > 0,
				   VALUE_INTEGER, offer->term_months);
	case FIELD_OF_OFFER_usd_per_hour:
		return price_value(offer->price_micros);
	case FIELD_OF_OFFER_usd_per_gpu_hour:
		return price_value(offer_per_gpu_micros(offer));
	case FIELD_OF_OFFER_upfront_usd:
		return whole_value(offer->upfront_micros > 0, VALUE_MICROS, offer->upfront_micros);
	case FIELD_OF_OFFER_price_basis:
		return text_value(offer->price_basis);
	case FIELD_OF_OFFER_original_currency:
		return text_value(offer->original_currency);
	case FIELD_OF_OFFER_original_amount:
		return text_value(offer->original_amount);
	case FIELD_OF_OFFER_availability:
		return text_value(names_text(&availability_names, (int)offer->availability));
	case FIELD_OF_OFFER_quantity:
		return whole_value(offer->quantity >= 0, VALUE_INTEGER, offer->quantity);
	case FIELD_OF_OFFER_interruption_band:
		return text_value(terms_band_text(offer->interruption_band));
	case FIELD_OF_OFFER_source:
		return text_value(offer->source);
	case FIELD_OF_OFFER_observed_at:
		return time_value(VALUE_TIME, offer->observed_at_us);
	case FIELD_OF_OFFER_age_seconds:
		return time_value(VALUE_AGE, offer->observed_at_us);
	case FIELD_OF_OFFER_first_seen_at:
		return time_value(VALUE_TIME, offer->first_seen_us);
	case FIELD_OF_OFFER_last_seen_at:
		return time_value(VALUE_TIME, offer->last_seen_us);
	default:
		return machine_value(offer, field);
	}
}

struct offer_value offer_value_of(const struct offer *offer, enum offer_field field)
{
	switch ((int)field) {
	case FIELD_OF_OFFER_billing_granularity_seconds:
		return number_value(offer_billing_seconds(offer));
	case FIELD_OF_OFFER_memory_gb_per_usd:
		return rate_value(offer_memory_per_usd(offer));
	case FIELD_OF_OFFER_bandwidth_gb_per_second_per_usd:
		return rate_value(offer_bandwidth_per_usd(offer));
	case FIELD_OF_OFFER_tflops_per_usd:
		return rate_value(offer_tflops_per_usd(offer));
	default:
		return sale_value(offer, field);
	}
}
