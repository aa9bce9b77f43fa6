/* GET /v1/accelerators and /v1/accelerators/{name}: facts of the cards, with live price ranges. */
#include "server/api/api.h"
#include "server/api/price_filter.h"
#include "server/api/render.h"

#include <string.h>

static const char *const vendor_text[] = {
	[VENDOR_NVIDIA] = "nvidia", [VENDOR_AMD] = "amd", [VENDOR_INTEL] = "intel",
	[VENDOR_GOOGLE] = "google", [VENDOR_AWS] = "aws", [VENDOR_OTHER] = "other",
};
static const struct names vendor_names = {vendor_text,
					  sizeof(vendor_text) / sizeof(vendor_text[0])};

/* What one price kind of a card costs a GPU-hour. */
struct price_range {
	int64_t offers, least_micros, most_micros;
};

/* The offers of one list from `first` on, in order of price: their ends are their range. */
static void add_run(const struct catalogue *catalogue, uint32_t first, uint32_t count,
		    struct price_range *range)
{
	const uint32_t *ids = catalogue->by_price + first;
	struct offer cheapest, dearest;
	int64_t least, most;

	if (!count)
		return;
	catalogue_read(catalogue, ids[0], &cheapest);
	catalogue_read(catalogue, ids[count - 1], &dearest);
	least = offer_per_gpu_micros(&cheapest);
	most = offer_per_gpu_micros(&dearest);
	if (range->offers == 0 || least < range->least_micros)
		range->least_micros = least;
	if (range->offers == 0 || most > range->most_micros)
		range->most_micros = most;
	range->offers += count;
}

static void read_ranges(const struct catalogue *catalogue, const struct accelerator *accelerator,
			struct price_range out[PRICE_KINDS])
{
	uint32_t l;
	int kind;

	for (kind = 0; kind < PRICE_KINDS; kind++)
		out[kind] = (struct price_range){0, PRICE_UNKNOWN, PRICE_UNKNOWN};
	for (l = 0; l < catalogue->lists_count; l++) {
		const struct offer_list *list = &catalogue->lists[l];
		struct price_range *range = &out[list->price_kind];

		if (catalogue->shapes[list->shape].accelerator != accelerator)
			continue;
		add_run(catalogue, list->first, list->launchable, range);
		add_run(catalogue, list->first + list->launchable, list->count - list->launchable,
			range);
	}
}

static void render_prices(struct writer *writer, const struct catalogue *catalogue,
			  const struct accelerator *accelerator)
{
	struct price_range ranges[PRICE_KINDS];
	int kind;

	read_ranges(catalogue, accelerator, ranges);
	writer_begin_object(writer);
	for (kind = 0; kind < PRICE_KINDS; kind++) {
		writer_key(writer, names_text(&price_kind_names, kind));
		writer_begin_object(writer);
		render_integer(writer, "offers", ranges[kind].offers);
		render_micros(writer, "min_usd_per_gpu_hour", ranges[kind].least_micros);
		render_micros(writer, "max_usd_per_gpu_hour", ranges[kind].most_micros);
		writer_end_object(writer);
	}
	writer_end_object(writer);
}

static void render_peaks(struct writer *writer, const struct accelerator *accelerator)
{
	render_known(writer, "fp32_tflops", accelerator->fp32_tflops, 3);
	render_known(writer, "tf32_tflops", accelerator->tf32_tflops, 3);
	render_known(writer, "fp16_tflops", accelerator->fp16_tflops, 3);
	render_known(writer, "bf16_tflops", accelerator->bf16_tflops, 3);
	render_known(writer, "fp8_tflops", accelerator->fp8_tflops, 3);
	render_known(writer, "int8_tops", accelerator->int8_tops, 3);
	render_known(writer, "fp4_tflops", accelerator->fp4_tflops, 3);
}

static void render_accelerator(struct writer *writer, const struct catalogue *catalogue,
			       const struct accelerator *accelerator)
{
	writer_begin_object(writer);
	render_text(writer, "name", accelerator->name);
	render_text(writer, "vendor", names_text(&vendor_names, (int)accelerator->vendor));
	render_text(writer, "architecture", accelerator->architecture);
	render_known(writer, "compute_capability", accelerator->compute_capability / 10.0, 1);
	render_text(writer, "form_factor", accelerator->form_factor);
	render_known(writer, "memory_gb", accelerator->memory_gb, 3);
	render_whole(writer, "usable_memory_bytes", accelerator_memory_bytes(accelerator));
	render_text(writer, "memory_type", accelerator->memory_type);
	render_known(writer, "bandwidth_gb_per_second", accelerator->bandwidth_gb_s, 3);
	render_peaks(writer, accelerator);
	render_known(writer, "nvlink_gb_per_second", accelerator->nvlink_gb_s, 3);
	render_known(writer, "pcie_generation", accelerator->pcie_generation, 0);
	render_known(writer, "pcie_lanes", accelerator->pcie_lanes, 0);
	render_known(writer, "tdp_watts", accelerator->tdp_w, 1);
	render_known(writer, "release_year", accelerator->release_year, 0);
	render_text(writer, "confidence", accelerator->confidence);
	render_text(writer, "source", accelerator->source);
	render_text(writer, "notes", accelerator->notes);
	writer_key(writer, "prices");
	render_prices(writer, catalogue, accelerator);
	writer_end_object(writer);
}

static void begin_answer(struct writer *writer, const struct request *request, const char *key)
{
	writer_init(writer, ANSWER_BYTES_MAX);
	writer_begin_object(writer);
	render_text(writer, "currency", "USD");
	writer_key(writer, "catalogue");
	render_catalogue(writer, request->catalogue, request->now_us);
	writer_key(writer, key);
}

struct search {
	const char *part; /* of name or architecture; NULL = any */
	unsigned vendors; /* bits; 0 = any */
	struct price_filter filter;
	size_t found; /* by `part` alone */
};

static bool is_wanted(struct search *search, const struct accelerator *card)
{
	if (!query_finds(search->part, card->name) &&
	    !query_finds(search->part, card->architecture))
		return false;
	search->found++;
	return (!search->vendors || search->vendors >> card->vendor & 1) &&
	       price_filter_matches_card(&search->filter, card);
}

bool api_accelerators(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {"q", "vendor", "memory_type", "formats", NULL};
	struct search search = {0};
	struct query_reader reader;
	struct writer writer;
	size_t i;

	query_begin(&reader, request, known, error);
	search.part = query_search(&reader);
	search.vendors = query_enum_bits(&reader, "vendor", &vendor_names);
	price_filter_read_cards(&reader, &search.filter);
	if (!query_end(&reader))
		return false;
	if (query_not_modified(request, reply))
		return true;
	begin_answer(&writer, request, "items");
	writer_begin_array(&writer);
	for (i = 0; i < accelerators_count; i++)
		if (is_wanted(&search, &accelerators[i]))
			render_accelerator(&writer, request->catalogue, &accelerators[i]);
	writer_end_array(&writer);
	if (!search.found)
		query_nothing_found(&reader, search.part, accelerator_nearest(search.part));
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader.warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}

bool api_accelerator(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	const char *name = request->parameter[0], *nearest;
	const struct accelerator *accelerator;
	struct query_reader reader;
	struct writer writer;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	accelerator = accelerator_resolve(NULL, name);
	if (!accelerator) {
		nearest = accelerator_nearest(name);
		return error_set(error, ERROR_NOT_FOUND, "no accelerator '%.60s'%s%s%s", name,
				 nearest ? "; the nearest is '" : "", nearest ? nearest : "",
				 nearest ? "'" : "");
	}
	if (query_not_modified(request, reply))
		return true;
	begin_answer(&writer, request, "accelerator");
	render_accelerator(&writer, request->catalogue, accelerator);
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader.warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}
