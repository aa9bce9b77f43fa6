/*
 * AWS's spot advisor: how often machines of a type were reclaimed in a region during a month, in
 * five bands, as its web page tells it; no credential. It goes with the prices of both feeds of
 * spot prices. Bands are told by their place in a list that the answer brings along: it must be the
 * one that we know, or none of them counts.
 */
#include "core/terms.h"
#include "server/ingest/providers/aws.h"
#include "server/ingest/providers/payload.h"

#include <stdio.h>
#include <string.h>

#define ADVISOR_URL "https://spot-bid-advisor.s3.amazonaws.com"
#define US_PER_HOUR (INT64_C(3600) * 1000000)
#define ASK_HOURS 6
#define KEEP_HOURS (30 * 24)

/* Since the advisor was last heard, by the feed's memo; a long time when it never was. */
static int64_t hours_since(const struct feed *feed)
{
	const int64_t heard_us = feed_time(feed->memo);

	return heard_us > 0 && heard_us <= feed->now_us ? (feed->now_us - heard_us) / US_PER_HOUR
							: INT64_MAX;
}

bool aws_advisor_is_due(const struct feed *feed)
{
	return hours_since(feed) >= ASK_HOURS;
}

void aws_advisor_request(struct feed *feed, int page, struct fetch_request *out)
{
	*out = (struct fetch_request){
		.page = page,
		.method = "GET",
		.url = arena_printf(feed->arena, "%s/spot-advisor-data.json",
				    feed->base_url_is_override ? feed->base_url : ADVISOR_URL),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = "advisor",
		.is_dispensable = true,
	};
}

/* Is the list of bands the one that we know? */
static bool has_our_bands(const json_t *root)
{
	const json_t *ranges = json_object_get(root, "ranges");

	for (size_t i = 0; i < TERMS_BANDS; i++) {
		const json_t *range = json_array_get(ranges, i);
		int index;

		if (!payload_integer(range, "index", &index) || index != (int)i ||
		    strcmp(payload_text(range, "label"), terms_band_text((int)i + 1)) != 0)
			return false;
	}
	return json_array_size(ranges) == TERMS_BANDS;
}

static int band_of(const json_t *regions, const struct offer *offer)
{
	const json_t *region = json_object_get(regions, offer->region);
	const json_t *row = json_object_get(json_object_get(region, "Linux"), offer->instance_type);
	int index;

	return payload_integer(row, "r", &index) && index >= 0 && index < TERMS_BANDS ? index + 1
										      : 0;
}

void aws_advisor_take(struct feed *feed, const struct fetch_response *response)
{
	const json_t *regions;
	struct error error; /* prices are good without: it is remarked on, not failed for */
	json_t *root = NULL;

	error_init(&error, NULL);
	if (response->status == 200)
		root = payload_parse(response, &error);
	regions = json_object_get(root, "spot_advisor");
	if (has_our_bands(root) && json_object_size(regions)) {
		feed->memo_next = feed_time_text(feed, feed->now_us);
		for (size_t i = 0; i < feed->count; i++)
			feed->offers[i].interruption_band = band_of(regions, &feed->offers[i]);
	} else {
		snprintf(feed->note, sizeof(feed->note), "the spot advisor %s",
			 response->status == 200 ? "answers in another form" : "does not answer");
	}
	json_decref(root);
}

static int last_band(const struct feed *feed, const struct offer *offer)
{
	for (size_t i = 0; i < feed->last_count; i++)
		if (strcmp(feed->last[i].instance_type, offer->instance_type) == 0 &&
		    strcmp(feed->last[i].region, offer->region) == 0)
			return feed->last[i].interruption_band;
	return 0;
}

bool aws_advisor_finish(struct feed *feed, struct error *error)
{
	(void)error;
	if ((feed->memo_next && *feed->memo_next) || hours_since(feed) >= KEEP_HOURS)
		return true;
	feed->memo_next = feed->memo;
	for (size_t i = 0; i < feed->count; i++)
		feed->offers[i].interruption_band = last_band(feed, &feed->offers[i]);
	return true;
}
