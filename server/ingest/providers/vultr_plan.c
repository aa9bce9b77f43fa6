/* One plan of Vultr: which card, how much of it, and what it costs where. */
#include "core/accelerator.h"
#include "server/ingest/providers/vultr.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The card in the id of a bare-metal plan: "vbm-112c-2048gb-8-h100-gpu". An "l40" is an L40S. */
static const struct {
	const char *token, *card;
} metal_cards[] = {
	{"b200", "B200 SXM 180GB"}, {"gh200", "GH200 96GB"},	{"h100", "H100 SXM5 80GB"},
	{"l40", "L40S 48GB"},	    {"l40s", "L40S 48GB"},	{"mi300x", "MI300X 192GB"},
	{"mi325x", "MI325X 256GB"}, {"mi355x", "MI355X 288GB"},
};

/* A type that names two cards; plan ids show slices of 80 GB, and Vultr rents no 40 GB card. */
static const char *const ambiguous_type = "NVIDIA_A100";
static const char *const ambiguous_card = "A100 PCIe 80GB";

/* The number that the first `length` bytes are; -1 when they are none, or more than three digits.
 */
static int small_number(const char *text, size_t length)
{
	int number = 0;

	if (length > 3)
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -1;
		number = number * 10 + (text[i] - '0');
	}
	return length ? number : -1;
}

/* The parts of "vbm-112c-2048gb-8-h100-gpu": 8 and h100. Without a count there is one. */
static bool read_metal_id(const char *id, int *count, char *token, size_t token_size)
{
	const char *at = id;

	*count = 1;
	*token = '\0';
	while (at && *at) {
		size_t length = strcspn(at, "-");

		if (small_number(at, length) > 0)
			*count = small_number(at, length);
		if (strcmp(at, "gpu") == 0)
			return *token != '\0';
		if (length < token_size) {
			memcpy(token, at, length);
			token[length] = '\0';
		}
		at += length + (at[length] == '-');
	}
	return false;
}

static const char *metal_card(const char *id, const char *token)
{
	if (accelerator_resolve("vultr", id))
		return id;
	for (size_t i = 0; i < sizeof(metal_cards) / sizeof(metal_cards[0]); i++)
		if (strcmp(token, metal_cards[i].token) == 0)
			return metal_cards[i].card;
	return NULL;
}

/* "1/8", "8" or 8; 0 when absent or nonsense. */
static double gpu_count(const json_t *row)
{
	const char *text = payload_text(row, "gpu_count");
	double count;
	char *end;

	if (*text && isdigit((unsigned char)*text)) {
		count = strtod(text, &end);
		if (*end == '/') {
			double parts = strtod(end + 1, &end);

			count = parts > 0 ? count / parts : 0;
		}
		return *end || !(count > 0 && count < 1000) ? 0 : count;
	}
	return payload_number(row, "gpu_count", &count) && count > 0 && count < 1000 ? count : 0;
}

/* How many cards make up `vram_gb`: a slice of one, or a machine's usual number of them. The total
 * of 8 x B200 is told as 1440 and as 1536. */
static double count_from_vram(double vram_gb, double card_gb)
{
	static const double usual[] = {1, 2, 3, 4, 6, 8, 12, 16};
	double ratio = vram_gb / card_gb, best = ratio;

	if (ratio < 0.95)
		return ratio;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (fabs(ratio / usual[i] - 1) < 0.07 &&
		    (fabs(best - ratio) <= 0 || fabs(ratio - usual[i]) < fabs(ratio - best)))
			best = usual[i];
	return best;
}

static void read_gpus(struct feed *feed, const json_t *row, bool is_metal, struct offer *base)
{
	const char *id = payload_text(row, "id"), *type = payload_text(row, "gpu_type");
	const char *card_name = NULL;
	const struct accelerator *card;
	double count = gpu_count(row), vram_gb = 0;
	char token[24];
	int metal_count;

	payload_number(row, "gpu_vram_gb", &vram_gb);
	if (is_metal && read_metal_id(id, &metal_count, token, sizeof(token))) {
		card_name = metal_card(id, token);
		if (!(count > 0))
			count = metal_count;
	}
	if (!card_name)
		card_name = strcmp(type, ambiguous_type) == 0 ? ambiguous_card : *type ? type : id;
	card = accelerator_resolve("vultr", card_name);
	/* A slice may be told as one GPU: then its memory says how much of one. */
	if (card && vram_gb > 0 &&
	    (!(count > 0) || (count < 1.5 && vram_gb < count * card->memory_gb * 0.93)))
		count = count_from_vram(vram_gb, card->memory_gb);
	if (!(count > 0))
		count = 1;
	base->accelerator = feed_text(feed, card_name);
	base->count_milli = (int32_t)lround(fmin(count, 100000) * COUNT_MILLI_ONE);
	base->memory_gb = vram_gb > 0 ? vram_gb : 0;
}

static void read_prices(struct feed *feed, const json_t *object, struct vultr_price *prices)
{
	static const char *const names[] = {
		[PRICE_ON_DEMAND] = "hourly_cost", [PRICE_SPOT] = "hourly_cost_preemptible"};

	for (int kind = PRICE_ON_DEMAND; kind <= PRICE_SPOT; kind++) {
		const json_t *member = json_object_get(object, names[kind]);

		prices[kind] = (struct vultr_price){
			.is_told = member && !json_is_null(member),
		};
		prices[kind].micros =
			payload_price(feed, object, names[kind], &prices[kind].amount);
	}
}

static void read_places(struct feed *feed, const json_t *row, struct vultr_plan *plan)
{
	const json_t *locations = json_object_get(row, "locations");
	const json_t *costs = json_object_get(row, "location_cost");

	for (size_t i = 0; i < json_array_size(locations); i++) {
		const char *id = json_string_value(json_array_get(locations, i));
		struct vultr_place *place;

		if (!id || !*id)
			continue;
		place = arena_alloc(feed->arena, sizeof(*place));
		if (!place) {
			feed->is_exhausted = true;
			return;
		}
		place->region = vultr_region(feed, id);
		if (!place->region)
			return;
		read_prices(feed, json_object_get(costs, id), place->prices);
		place->next = plan->places;
		plan->places = place;
	}
}

static bool has_gpu(const json_t *row, bool is_metal)
{
	const char *id = payload_text(row, "id");
	size_t length = strlen(id);
	double vram_gb = 0;

	payload_number(row, "gpu_vram_gb", &vram_gb);
	return *payload_text(row, "gpu_type") || vram_gb > 0 || strncmp(id, "vcg-", 4) == 0 ||
	       (is_metal && length > 4 && strcmp(id + length - 4, "-gpu") == 0);
}

void vultr_take_plan(struct feed *feed, const json_t *row, bool is_metal)
{
	const char *id = payload_text(row, "id");
	struct vultr_state *state = vultr_state(feed);
	struct vultr_plan *plan;
	double ram_mb = 0, disks = 1;

	if (!has_gpu(row, is_metal))
		return;
	plan = arena_alloc(feed->arena, sizeof(*plan));
	if (!plan || !state) {
		feed->is_exhausted = true;
		return;
	}
	if (!*id) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "a plan with a GPU and without id");
		return;
	}
	plan->base = feed_offer(feed);
	plan->base.instance_type = feed_text(feed, id);
	plan->base.tier = is_metal ? "bare_metal" : "";
	read_gpus(feed, row, is_metal, &plan->base);
	if (!payload_number(row, "vcpu_count", &plan->base.vcpus))
		payload_number(row, "cpu_threads", &plan->base.vcpus);
	if (payload_number(row, "ram", &ram_mb))
		plan->base.ram_gib = ram_mb / 1024;
	payload_number(row, "disk_count", &disks);
	if (payload_number(row, "disk", &plan->base.disk_gb))
		plan->base.disk_gb *= disks;
	read_prices(feed, row, plan->prices);
	plan->is_sold[PRICE_SPOT] = plan->prices[PRICE_SPOT].micros != PRICE_UNKNOWN &&
				    payload_flag(row, "deploy_preemptible", true);
	/* Without any price the row is still listed, to be refused and counted. */
	plan->is_sold[PRICE_ON_DEMAND] = payload_flag(row, "deploy_ondemand", true) &&
					 (plan->prices[PRICE_ON_DEMAND].micros != PRICE_UNKNOWN ||
					  !plan->is_sold[PRICE_SPOT]);
	read_places(feed, row, plan);
	plan->next = state->plans;
	state->plans = plan;
}
