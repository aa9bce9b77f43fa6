/*
 * Terms: how a provider bills and what renting there means. Data: data/terms.inc.
 *
 * A fact that no source gives is TERM_UNKNOWN (or NAN for amounts): core/cost then takes the
 * dearest quartile of the provider's class and names it in the answer. Unknown is never zero.
 */
#ifndef CORE_TERMS_H
#define CORE_TERMS_H

#include "core/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum term { TERM_UNKNOWN = -1, TERM_NO = 0, TERM_YES = 1 };

enum provider_class {
	PROVIDER_HYPERSCALER,
	PROVIDER_CLOUD,
	PROVIDER_MARKETPLACE,
	PROVIDER_CLASSES
};

struct terms {
	const char *provider; /* stable id: "aws" */
	const char *name;     /* for people: "Amazon Web Services" */
	enum provider_class class;
	double billing_granularity_seconds; /* NAN = unknown */
	double minimum_charge_seconds;	    /* NAN = unknown */
	enum term can_stop;
	enum term compute_billed_while_stopped;
	enum term storage_billed_while_stopped;
	enum term has_spot;
	double spot_notice_seconds;	    /* NAN = unknown */
	double spot_interruptions_per_hour; /* per instance, on the footing below; NAN = unknown */
	double egress_usd_per_gb;	 /* first paid tier; NAN = unknown; 0 = known to be free */
	double free_egress_gb_per_month; /* 0 when none is known */
	enum term persistent_volume;
	double volume_usd_per_gb_month; /* NAN = unknown */
	enum term shared_filesystem, docker_images, ssh, jupyter, bare_metal, multi_node_cluster;
	double setup_delay_seconds; /* NAN = unknown */
	enum term community_hosts;  /* machines of strangers: a warning */
	const char *page;	    /* where a person rents, or NULL */
	const char *as_of, *source;
	const char *notes; /* or NULL */
};

extern const struct terms terms_table[];
extern const size_t terms_count;
extern const struct names provider_class_names;

/* One type in one region of AWS, as its spot advisor bands it; data/spot_bands.inc. */
struct spot_band {
	const char *type, *region;
	int band; /* 0..4: under 5, 5-10, 10-15, 15-20, over 20 % a month */
};

extern const struct spot_band spot_bands[];
extern const size_t spot_bands_count;

/*
 * Reclaims an hour of one spot instance of the top band. AWS counts machines reclaimed in a month,
 * most of which never meant to run for one, so its frequency is no rate: it ranks types and places.
 * The level comes from traces of p3.2xlarge, which is of the top band everywhere: it was held for
 * 0.7-10.5 h in a row in nine zones, 2.7-4.1 h in four (skypilot-org/spot-traces,
 * facts/hardware-notes.md 9), of which one in four hours is the middle. The top band also is the
 * dearest quartile of all bands: what holds for a provider that publishes nothing.
 */
#define TERMS_SPOT_QUARTILE_PER_HOUR 0.25

/* Reclaims of one instance an hour: by the band that the feed told with the price, else by type and
 * region as AWS told them on the table's day, else the provider's figure; NAN when there is none.
 * `told_band` as in struct offer. */
double terms_spot_interruptions_per_hour(const char *provider, const char *instance_type,
					 const char *region, int told_band);

/* "5-10%", as AWS calls it; "" for a band that there is not. */
const char *terms_band_text(int told_band);
#define TERMS_BANDS 5

/* NULL when the provider is not in the table: every term is then unknown. */
const struct terms *terms_find(const char *provider);

/* The provider with the nearest id, for a suggestion; NULL if none is near. */
const char *terms_nearest(const char *provider);

#endif
