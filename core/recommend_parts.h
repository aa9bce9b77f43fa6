/*
 * What the files of recommend share; private to core/recommend*.c.
 *
 * One search: filters decide lists (recommend_filter.c), the planner decides shapes, heads of lists
 * are priced (recommend_price.c) and ranked (recommend_rank.c), what fell out is told
 * (recommend_exclude.c), the answers get reasons and warnings (recommend_reasons.c), and other ways
 * are tried (recommend_remedies.c).
 */
#ifndef CORE_RECOMMEND_PARTS_H
#define CORE_RECOMMEND_PARTS_H

#include "core/recommend.h"

/* Why something is not in the answer, in the order in which it is told. */
#define EXCLUSION_TABLE(X)                                                                         \
	X(UNSUPPORTED, "unsupported")                                                              \
	X(MEMORY, "memory")                                                                        \
	X(NO_CLUSTER, "no_cluster")                                                                \
	X(NO_LAYOUT, "no_layout")                                                                  \
	X(NO_FIGURES, "no_figures")                                                                \
	X(TOO_SLOW, "too_slow")                                                                    \
	X(DEADLINE, "deadline")                                                                    \
	X(OVER_BUDGET, "over_budget")                                                              \
	X(OVER_HOURLY_BUDGET, "over_hourly_budget")                                                \
	X(FILTERED_PROVIDER, "filtered_provider")                                                  \
	X(FILTERED_REGION, "filtered_region")                                                      \
	X(FILTERED_COUNTRY, "filtered_country")                                                    \
	X(FILTERED_ACCELERATOR, "filtered_accelerator")                                            \
	X(FILTERED_GPUS, "filtered_gpus")                                                          \
	X(FILTERED_PRICE_KIND, "filtered_price_kind")                                              \
	X(FILTERED_FEATURE, "filtered_feature")                                                    \
	X(FILTERED_AVAILABILITY, "filtered_availability")                                          \
	X(STALE, "stale")                                                                          \
	X(SOLD_OUT, "sold_out")                                                                    \
	X(SPOT_NOT_TOLERATED, "spot_not_tolerated")                                                \
	X(TERM_TOO_LONG, "term_too_long")                                                          \
	X(UNKNOWN_PRICE, "unknown_price")                                                          \
	X(UNMAPPED_ACCELERATOR, "unmapped_accelerator")                                            \
	X(UNCOUNTABLE, "uncountable")

enum exclusion_reason {
#define X(id, code) EXCLUSION_##id,
	EXCLUSION_TABLE(X)
#undef X
		EXCLUSION_REASONS,
	EXCLUSION_NONE = -1,
};

struct tally {
	uint32_t shapes, offers;
	uint32_t last_shape; /* 1 + the shape counted last, so that each counts once */
	const struct shape *nearest;
	double distance; /* of nearest; smaller is nearer */
	const char *nearest_text;
	struct candidate *near; /* what the text is made of in the end; NULL = it is made */
};

/* A shape with at least one plan. */
struct planned {
	const struct shape *shape;
	const struct plan *plans;
	struct cost_job *jobs; /* one a plan */
	double least_hours;    /* of a machine, that any of the plans takes for the work */
	int count;
};

/* One priced offer with its best plan. */
struct candidate {
	const struct planned *planned;
	const struct plan *plan;
	const struct cost_terms *terms;
	uint32_t list, position; /* position is into by_price */
	struct cost cost;
	double key, seconds; /* of the objective; of the time that Pareto and `time` compare */
};

/* Of all that can be rented for the work, over every plan and not only the best by the objective.
 */
struct extremes {
	bool is_set;
	int64_t cheapest_micros, lowest_hourly_micros;
	double cheapest_seconds;
};

/* Filters that look at single offers; after them, whether it is sold out. */
#define TAG_REASONS 4

/* Of one list, by each of those filters: 1 + the position of the first offer that fails it alone,
 * which is the cheapest; 0 = none. */
struct missed {
	uint32_t next[TAG_REASONS + 1];
};

/* What a trial has to beat: another fit by a better one, the same by a lower price. It rises with
 * each that does, where but the best is asked for. */
struct bar {
	enum fit fit;
	double micros;
	bool is_spread; /* machines that can be joined alone; all that beat it are told */
};

/* Of one list: the offers that pass every filter. */
struct passing {
	uint32_t first; /* position of the cheapest */
	uint32_t count; /* 0 = none, and the position says nothing */
	bool is_scanned;
};

/* The filters that look at single offers, as the columns of the catalogue are compared with. */
struct sieve {
	const bool *regions;	   /* by number: is it asked for? NULL = all are */
	const uint64_t *countries; /* a bit for each tag; NULL = all are */
	bool available_only, has_oldest;
	int64_t oldest_us; /* prices observed before it are too old */
};

/* What a search found, for trials of the same request with changes. */
struct screen {
	const struct recommend_request *request;
	struct passing *passing;  /* of each list */
	int64_t *cheapest_micros; /* of each shape: an hour of the cheapest of these; 0 = none */
	struct bar *best;	  /* of each shape: the best fit, and the least cost of it */
};

/* A shape in its turn, and the least that the work could cost on it. */
struct turn {
	double least_micros;
	uint32_t place;
};

#define SEARCH_TERMS 128

/* A provider's terms as its costs take them. */
struct resolved_terms {
	const struct terms *terms; /* NULL: of a provider that no table knows */
	struct cost_terms cost;
	struct resolved_terms *next;
};

struct search {
	const struct recommend_request *request;
	const struct catalogue *catalogue;
	int64_t now_us;
	bool is_trial;	 /* of a remedy: only what is recommended matters, not what misses */
	struct bar *bar; /* of a trial that needs but the cheapest: it rises; NULL = tells all */
	struct arena *arena;  /* the request's: whatever the answer points to */
	struct arena scratch; /* what the search alone needs: dropped at its end */
	struct cost_work work;
	struct resolved_terms *terms[SEARCH_TERMS]; /* of providers met so far, by a hash */
	unsigned *sellers;	     /* of each in the catalogue, what its lists fail */
	unsigned kinds[PRICE_KINDS]; /* the same of price kinds */
	struct sieve sieve;
	bool has_tag_filters; /* some filter looks at single offers */
	struct screen *screen;
	bool is_screened;	    /* by another search, with the same filters */
	const struct screen *known; /* of one with the same on single offers; NULL = none */
	struct missed *missed;	    /* of each list */
	struct tally tallies[EXCLUSION_REASONS];
	struct candidate *heads; /* best offer of each list, in shape order */
	uint32_t heads_count;
	struct extremes extremes[FIT_FITS + 1];
	uint32_t shapes_considered, offers_considered, searches_cut;
	uint32_t offers_held; /* of those considered, that are answers */
	bool is_out_of_memory;
};

/* recommend_filter.c: what decides on shapes and lists */
bool search_prepare_filters(struct search *search);
/* Do both leave out the same offers? */
bool search_filters_alike(const struct recommend_request *a, const struct recommend_request *b);
/* The same of lists that no other filter leaves out. */
bool search_sieves_alike(const struct recommend_request *a, const struct recommend_request *b);
/* What a shape or a list fails: bits of enum exclusion_reason, of which the lowest is told. */
bool search_wants_provider(const struct filters *filters, const char *provider);
unsigned search_filter_shape(const struct search *search, const struct shape *shape);
static inline unsigned search_filter_list(const struct search *search,
					  const struct offer_list *list)
{
	return search->sellers[list->seller] | search->kinds[list->price_kind];
}

/* recommend_scan.c: what decides on single offers */
bool search_prepare_sieve(struct search *search);
/* The reason behind a place in struct missed. */
enum exclusion_reason search_missed_reason(int place);
/* First passing position of the list from `from` on; the end of what is launchable when none is
 * left. */
uint32_t search_next(const struct search *search, const struct offer_list *list, uint32_t from);
/* How many of the positions [from, end) pass. */
uint32_t search_count_passing(const struct search *search, const struct offer_list *list,
			      uint32_t from, uint32_t end);
/* What passes of a list; counts what does not and notes what came nearest. */
void search_scan_list(struct search *search, const struct offer_list *list, struct passing *out);

/* recommend_price.c */
void candidate_read(const struct search *search, const struct candidate *candidate,
		    struct offer *out);

/* The same in the answer's memory; NULL when that is out. */
const struct offer *candidate_offer(const struct search *search, const struct candidate *candidate);
/* The best plan for that offer; false with the reason when none passes the constraints. */
bool search_price(struct search *search, const struct planned *planned,
		  const struct offer_list *list, uint32_t position, struct candidate *out,
		  enum exclusion_reason *why);
/* The same without telling what misses a constraint. */
bool search_price_quietly(struct search *search, const struct planned *planned,
			  const struct offer_list *list, uint32_t position, struct candidate *out);
int candidate_compare(const struct search *search, const struct candidate *a,
		      const struct candidate *b);

/* recommend_near.c: of the offers that one filter alone keeps out, the cheapest of each filter.
 * search_has_near(): may there be any, so that the shape is worth planning? */
bool search_has_near(const struct search *search, const struct shape *shape);
void search_near(struct search *search, const struct planned *planned);
/* What is told of the nearest of a filter; NULL when memory is out. */
const char *search_near_text(struct search *search, const struct candidate *candidate);

/* recommend_rank.c: ranks into `out`, at most request->limit; false when memory is out. */
bool search_rank(struct search *search, struct recommend_answer *out);

/* recommend_trial.c: the shapes that may beat the bar, the most promising first, into `turns` of as
 * many as there are; how many. */
uint32_t search_turns(const struct search *search, struct turn *turns);
/* Whether nothing that costs so much at least beats the bar. */
bool search_is_beaten(const struct search *search, double least_micros);
/* The better of what the bar says and the candidate. */
void search_raise_bar(struct bar *bar, const struct candidate *candidate);
/* What the best `count` shapes have in common: none is worse. */
struct bar search_bar_of_best(const struct screen *screen, uint32_t shapes, uint32_t count,
			      struct arena *arena);

/* recommend_exclude.c */
void search_tally(struct search *search, enum exclusion_reason reason, const struct shape *shape,
		  uint32_t offers);
/* Whether a miss at that distance would be the nearest so far: its text need not be made otherwise.
 */
bool search_is_nearer(const struct search *search, enum exclusion_reason reason, double distance);
void search_set_nearest(struct search *search, enum exclusion_reason reason,
			const struct shape *shape, double distance, const char *text);
void search_miss_plan(struct search *search, const struct shape *shape, uint32_t offers,
		      const struct plan_set *set);
bool search_exclusions(struct search *search, struct recommend_answer *out);

/* recommend_reasons.c: what the whole answer tells about one of its items. */
struct ranking_context {
	const struct search *search;
	enum fit fit;			 /* the best that any answer has */
	const struct extremes *extremes; /* of that fit */
	uint32_t answers;
};
void recommend_notes(const struct ranking_context *context, const struct candidate *candidate,
		     int rank, struct recommendation *out);

/* recommend_changes.c: other ways to do the same, least intrusive first; what the caller ruled out
 * comes last. */
struct change {
	const char *code;
	/* Changes the request; false where it does not apply or changes nothing. */
	bool (*apply)(struct recommend_request *request);
	const char *what; /* "With QLoRA" */
	/* Of those that spare memory, by how much longer the work takes with them, from 1; 0 = of
	 * others, which are not tried in pairs. */
	int delay;
	bool is_of_caller; /* undoes what the caller ruled out */
};
#define CHANGE_DELAY_MOST 5
extern const struct change recommend_changes[];
extern const size_t recommend_changes_count;
/* Changes the request as its caller might; false where that does not apply or is not valid. */
bool recommend_change(const struct change *change, struct recommend_request *request,
		      struct arena *arena);
/* Training of every weight keeps to one node unless told otherwise: it may be spread. */
bool recommend_may_spread(const struct recommend_request *request);

/* recommend_remedies.c */
bool recommend_remedies(const struct recommend_request *request, const struct catalogue *catalogue,
			int64_t now_us, const struct screen *screen, struct arena *arena,
			struct recommend_answer *out, struct error *error);

/* recommend.c: without remedies, which call it again on changed workloads. */
bool recommend_once(const struct recommend_request *request, const struct catalogue *catalogue,
		    int64_t now_us, struct arena *arena, struct recommend_answer *out,
		    struct error *error);
/* For a remedy: recommendations alone. `screen` is of another search at the same time, or NULL.
 * With a bar the cheapest alone is told, and none that does not beat it. */
bool recommend_trial(const struct recommend_request *request, const struct catalogue *catalogue,
		     int64_t now_us, const struct screen *screen, const struct bar *bar,
		     struct arena *arena, struct recommend_answer *out, struct error *error);

/* Nodes that a plan may take when the caller does not say. */
int recommend_max_nodes(const struct recommend_request *request);

/* "3 × H100 SXM 80GB", "0.5 × A10 24GB" into the arena; NULL when memory is out. */
const char *shape_text(struct arena *arena, const struct shape *shape);

#endif
