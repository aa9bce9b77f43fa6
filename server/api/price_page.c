/* Price page: see price_page.h. */
#include "server/api/price_page.h"

#include <stdlib.h>
#include <string.h>

struct collection {
	const struct price_filter *filter;
	const struct catalogue *catalogue;
	const struct cursor *after;
	struct offer **offers; /* a heap, the last in order on top */
	size_t count, room;    /* room: one more than the limit, which tells of a next page */
	struct cursor top;     /* sort keys of offers[0], once the heap is full */
};

static bool is_after(const struct price_filter *filter, const struct offer *a,
		     const struct offer *b)
{
	int order = price_filter_compare(filter, filter->order_count, a, b);

	return order ? order > 0 : a->id > b->id;
}

static bool goes_after(const struct collection *page, size_t a, size_t b)
{
	return is_after(page->filter, page->offers[a], page->offers[b]);
}

static void swap(struct collection *page, size_t a, size_t b)
{
	struct offer *kept = page->offers[a];

	page->offers[a] = page->offers[b];
	page->offers[b] = kept;
}

static void sift_down(struct collection *page, size_t at, size_t count)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			return;
		if (child + 1 < count && goes_after(page, child + 1, child))
			child++;
		if (!goes_after(page, child, at))
			return;
		swap(page, at, child);
		at = child;
	}
}

static bool is_behind_cursor(const struct collection *page, const struct offer *offer)
{
	int order;

	if (!page->after)
		return true;
	order = price_filter_compare_cursor(page->filter, page->filter->order_count, offer,
					    page->after);
	return order ? order > 0 : offer->id > page->after->id;
}

static void take(struct collection *page, const struct offer *offer)
{
	size_t at;

	if (!is_behind_cursor(page, offer))
		return;
	if (page->count == page->room) {
		if (!is_after(page->filter, page->offers[0], offer))
			return;
		*page->offers[0] = *offer;
		sift_down(page, 0, page->count);
	} else {
		at = page->count++;
		*page->offers[at] = *offer;
		for (; at && goes_after(page, at, (at - 1) / 2); at = (at - 1) / 2)
			swap(page, at, (at - 1) / 2);
	}
	if (page->count == page->room)
		price_filter_position(page->filter, page->offers[0], &page->top);
}

static void sort_heap(struct collection *page)
{
	size_t end;

	for (end = page->count; end > 1; end--) {
		swap(page, 0, end - 1);
		sift_down(page, 0, end - 1);
	}
}

/* Part of a list whose offers are in order of price. */
struct run {
	uint32_t first, count;
};

/* Where the n-th step through it is in by_price and the columns. */
static uint32_t step(const struct collection *page, const struct run *run, uint32_t n)
{
	return page->filter->walks_backwards ? run->first + run->count - 1 - n : run->first + n;
}

static void read_at(const struct collection *page, uint32_t at, struct offer *out)
{
	catalogue_read(page->catalogue, page->catalogue->by_price[at], out);
}

/* The first step that is not before the cursor. */
static uint32_t enter(const struct collection *page, const struct run *run)
{
	int keys = page->filter->walk_keys;
	uint32_t low = 0, high = run->count;

	while (page->after && keys && low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct offer offer;

		read_at(page, step(page, run, middle), &offer);
		if (price_filter_compare_cursor(page->filter, keys, &offer, page->after) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Judged by the columns alone: reading offers out of their order is what costs. */
static bool may_be_on_page(const struct collection *page, uint32_t at)
{
	const struct price_filter *filter = page->filter;

	if (!price_filter_matches_at(filter, page->catalogue, at))
		return false;
	if (filter->walk_keys)
		return true;
	if (page->after && price_filter_compare_at(filter, page->catalogue, at, page->after) < 0)
		return false;
	return page->count < page->room ||
	       price_filter_compare_at(filter, page->catalogue, at, &page->top) <= 0;
}

static void walk(struct collection *page, const struct run *run)
{
	int keys = page->filter->walk_keys;
	uint32_t n, at;

	for (n = enter(page, run); n < run->count; n++) {
		struct offer offer;

		at = step(page, run, n);
		if (!may_be_on_page(page, at))
			continue;
		read_at(page, at, &offer);
		/* What follows is no better by these keys. */
		if (keys && page->count == page->room &&
		    price_filter_compare_cursor(page->filter, keys, &offer, &page->top) > 0)
			return;
		if (price_filter_matches(page->filter, &offer))
			take(page, &offer);
	}
}

/* What is sold out comes after the rest, again from the cheapest on. */
static void walk_list(struct collection *page, const struct offer_list *list)
{
	const struct run on_sale = {list->first, list->launchable};
	const struct run sold_out = {list->first + list->launchable,
				     list->count - list->launchable};

	walk(page, &on_sale);
	walk(page, &sold_out);
}

/* How an offer without a shape is joined is not known. */
static void walk_unlisted(struct collection *page)
{
	const struct catalogue *catalogue = page->catalogue;
	unsigned links = page->filter->node_links;
	uint32_t i;

	if (links && !(links >> NODE_LINK_UNKNOWN & 1))
		return;
	for (i = 0; i < catalogue->unlisted_count; i++) {
		struct offer offer;

		catalogue_read(catalogue, catalogue->unlisted[i], &offer);
		if (price_filter_matches(page->filter, &offer))
			take(page, &offer);
	}
}

/* A place for each offer of the heap. */
static bool make_room(struct collection *page, struct arena *arena)
{
	struct offer *offers = arena_array(arena, page->room, sizeof(*offers));
	size_t i;

	page->offers = arena_array(arena, page->room, sizeof(*page->offers));
	for (i = 0; i < page->room && offers && page->offers; i++)
		page->offers[i] = &offers[i];
	return offers && page->offers;
}

static bool write_places(const struct collection *page, size_t limit, struct arena *arena,
			 struct price_page *out)
{
	uint32_t *places = arena_array(arena, page->count, sizeof(*places));
	size_t i;

	for (i = 0; i < page->count && places; i++)
		places[i] = page->offers[i]->place;
	out->places = places;
	out->has_more = page->count == page->room;
	out->count = out->has_more ? limit : page->count;
	return places;
}

bool price_page_read(const struct price_filter *filter, const struct catalogue *catalogue,
		     const struct cursor *after, size_t limit, struct arena *arena,
		     struct price_page *out)
{
	struct collection page = {
		.filter = filter, .catalogue = catalogue, .after = after, .room = limit + 1};
	uint32_t i;

	if (!make_room(&page, arena))
		return false;
	for (i = 0; i < catalogue->lists_count; i++)
		if (price_filter_matches_list(filter, catalogue, &catalogue->lists[i]))
			walk_list(&page, &catalogue->lists[i]);
	walk_unlisted(&page);
	sort_heap(&page);
	return write_places(&page, limit, arena, out);
}

struct kept_page {
	size_t count;
	bool has_more;
	uint32_t places[];
};

static bool copy_kept(const struct kept_page *kept, struct arena *arena, struct price_page *out)
{
	uint32_t *places = arena_array(arena, kept->count, sizeof(*places));

	if (!places)
		return false;
	memcpy(places, kept->places, kept->count * sizeof(*places));
	out->places = places;
	out->count = kept->count;
	out->has_more = kept->has_more;
	return true;
}

static void keep(struct memo *memo, const struct memo_key *key, const struct price_page *page)
{
	size_t bytes = sizeof(struct kept_page) + page->count * sizeof(*page->places);
	struct kept_page *kept = malloc(bytes);
	struct memo_item *item;

	if (!kept)
		return;
	kept->count = page->count;
	kept->has_more = page->has_more;
	memcpy(kept->places, page->places, page->count * sizeof(*page->places));
	item = memo_add(memo, key, kept, bytes);
	if (item)
		memo_release(memo, item);
}

bool price_page_find(const struct price_filter *filter, struct request *request,
		     const struct cursor *after, size_t limit, struct memo *memo,
		     struct price_page *out)
{
	struct memo_key key = memo_key(request->target, strlen(request->target));
	struct memo_item *item = memo ? memo_find(memo, &key) : NULL;
	bool is_found;

	if (item) {
		is_found = copy_kept(memo_value(item), &request->arena, out);
		memo_release(memo, item);
		return is_found;
	}
	is_found = price_page_read(filter, request->catalogue, after, limit, &request->arena, out);
	if (is_found && memo)
		keep(memo, &key, out);
	return is_found;
}
