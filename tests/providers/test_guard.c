/* The guard: which refreshes are held, which rows wait, and what brings them through. */
#include "server/ingest/guard.h"
#include "server/ingest/ingest.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct feed feed;
static struct error error;
static const struct provider fake = {.id = "fake", .source = "fake-api"};

static void setup(void)
{
	arena_init(&arena, (size_t)256 << 20);
	error_init(&error, NULL);
	feed = (struct feed){.arena = &arena, .now_us = 1000000};
}

static void teardown(void)
{
	arena_release(&arena);
}

static struct offer *add(const char *type, const char *accelerator, int count, int64_t micros)
{
	struct offer *offer = feed_add(&feed);

	ck_assert_ptr_nonnull(offer);
	offer->instance_type = type;
	offer->accelerator = accelerator;
	offer->count_milli = count * COUNT_MILLI_ONE;
	offer->price_micros = micros;
	return offer;
}

#define ROWS 20

/* A refresh of `count` rows: row i costs base + i, times `factor` for the first `moved`. */
static void refresh(size_t count, int64_t base, size_t moved, int64_t factor)
{
	struct normalise_report report;

	feed = (struct feed){.arena = &arena, .now_us = feed.now_us + 1000000};
	for (size_t i = 0; i < count; i++) {
		char *name = arena_printf(&arena, "row-%02zu", i);

		add(name, "H100 SXM5 80GB", 1, (base + (int64_t)i) * (i < moved ? factor : 1));
	}
	ck_assert(normalise(&fake, &feed, &report, &error));
	ck_assert_uint_eq(feed.count, count);
}

/* What ingest does with a verdict: the last good set and the state move on only as it says. */
static struct offer *last;
static size_t last_count;
static const char *state;

static struct guard_verdict judge(bool accept)
{
	struct guard_price *costs = arena_array(&arena, last_count + 1, sizeof(*costs));
	struct guard_verdict verdict;

	ck_assert_ptr_nonnull(costs);
	for (size_t i = 0; i < last_count; i++)
		costs[i] = (struct guard_price){last[i].id, last[i].price_micros};
	ck_assert(guard_check(state, costs, last_count, accept, &feed, &verdict, &error));
	for (size_t i = 0; i < verdict.waiting_count; i++)
		for (size_t r = 0; r < last_count; r++)
			if (last[r].id == feed.offers[verdict.waiting[i]].id)
				feed.offers[verdict.waiting[i]] = last[r];
	state = verdict.state;
	if (!verdict.is_held) {
		last = feed.offers;
		last_count = feed.count;
	}
	return verdict;
}

static void first_refresh(size_t count)
{
	last = NULL;
	last_count = 0;
	state = "";
	refresh(count, 2000000, 0, 1);
	ck_assert(!judge(false).is_held);
}

static int64_t price_of(const char *name)
{
	for (size_t i = 0; i < feed.count; i++)
		if (strcmp(feed.offers[i].instance_type, name) == 0)
			return feed.offers[i].price_micros;
	return 0;
}

START_TEST(a_refresh_like_the_last_passes)
{
	first_refresh(ROWS);
	refresh(ROWS + 5, 2100000, 0, 1);
	ck_assert(!judge(false).is_held);
	refresh(ROWS - 5, 2000000, 0, 1);
	ck_assert(!judge(false).is_held);
	ck_assert_str_eq(state, "");
}
END_TEST

START_TEST(a_row_that_moved_over_threefold_waits_for_a_second_refresh_that_agrees)
{
	struct guard_verdict verdict;
	int64_t observed;

	first_refresh(ROWS);
	observed = feed.offers[0].observed_at_us;
	refresh(ROWS, 2000000, 1, 4);
	verdict = judge(false);
	ck_assert(!verdict.is_held);
	ck_assert_uint_eq(verdict.waiting_count, 1);
	ck_assert_int_eq(price_of("row-00"), 2000000); /* the last good price, with its date */
	ck_assert_int_eq(price_of("row-01"), 2000001);
	for (size_t i = 0; i < feed.count; i++)
		ck_assert_int_eq(feed.offers[i].observed_at_us,
				 strcmp(feed.offers[i].instance_type, "row-00") ? feed.now_us
										: observed);
	ck_assert_int_eq(feed.rejected[REJECTED_JUMP], 1);
	refresh(ROWS, 2000000, 1, 4);
	verdict = judge(false);
	ck_assert_uint_eq(verdict.waiting_count, 0);
	ck_assert_int_eq(price_of("row-00"), 8000000);
	ck_assert_str_eq(state, "");
}
END_TEST

START_TEST(a_jump_that_the_next_refresh_does_not_repeat_is_forgotten)
{
	first_refresh(ROWS);
	refresh(ROWS, 2000000, 1, 4);
	judge(false);
	refresh(ROWS, 2000000, 0, 1);
	judge(false);
	ck_assert_str_eq(state, "");
	refresh(ROWS, 2000000, 1, 4); /* again a first time */
	ck_assert_uint_eq(judge(false).waiting_count, 1);
	refresh(ROWS, 2000000, 1, 6); /* and another price: does not agree */
	ck_assert_uint_eq(judge(false).waiting_count, 1);
	ck_assert_int_eq(price_of("row-00"), 2000000);
}
END_TEST

START_TEST(threefold_itself_is_no_jump)
{
	first_refresh(ROWS);
	refresh(ROWS, 2000000, 5, 3);
	ck_assert_uint_eq(judge(false).waiting_count, 0);
	refresh(ROWS, 2000000, 0, 1); /* back to a third */
	ck_assert_uint_eq(judge(false).waiting_count, 0);
}
END_TEST

static const struct {
	size_t count, moved;
	int64_t factor;
	bool is_held;
} refreshes[] = {
	{0, 0, 1, true},	{ROWS / 2, 0, 1, true}, {ROWS / 2 + 1, 0, 1, false},
	{ROWS, 3, 10, true},	{ROWS, 2, 10, false}, /* a tenth exactly */
	{ROWS, ROWS, 9, false},			      /* not tenfold: each row waits for itself */
};

START_TEST(a_suspicious_refresh_is_held_and_the_last_good_one_stays)
{
	struct guard_verdict verdict;

	first_refresh(ROWS);
	refresh(refreshes[_i].count, 2000000, refreshes[_i].moved, refreshes[_i].factor);
	verdict = judge(false);
	ck_assert_int_eq(verdict.is_held, refreshes[_i].is_held);
	ck_assert_int_eq(verdict.is_empty, refreshes[_i].count == 0);
	ck_assert_int_eq(verdict.reason[0] != '\0', refreshes[_i].is_held);
	ck_assert_uint_eq(last_count, verdict.is_held ? ROWS : refreshes[_i].count);
}
END_TEST

START_TEST(three_refreshes_that_agree_are_accepted)
{
	for (int half = 0; half < 2; half++) {
		size_t count = half ? ROWS / 2 - 1 : 0;
		struct guard_verdict verdict;

		first_refresh(ROWS);
		for (int times = 1; times <= 2; times++) {
			refresh(count, 2000000 + times, 0, 1); /* prices may move a little */
			ck_assert(judge(false).is_held);
		}
		refresh(count, 2000000, 0, 1);
		verdict = judge(false);
		ck_assert(!verdict.is_held);
		ck_assert_ptr_nonnull(strstr(verdict.reason, "agree"));
		ck_assert_uint_eq(last_count, count);
		ck_assert_str_eq(state, "");
	}
}
END_TEST

START_TEST(a_good_refresh_or_another_fault_between_starts_the_count_again)
{
	first_refresh(ROWS);
	for (int round = 0; round < 3; round++) {
		refresh(0, 0, 0, 1);
		ck_assert(judge(false).is_held);
		refresh(0, 0, 0, 1);
		ck_assert(judge(false).is_held);
		if (round == 0)
			refresh(ROWS, 2000000, 0, 1);
		else
			refresh(5, 2000000, 0, 1);
		ck_assert_int_eq(judge(false).is_held, round != 0);
	}
	ck_assert_uint_eq(last_count, ROWS);
}
END_TEST

START_TEST(an_operator_who_has_looked_is_obeyed)
{
	first_refresh(ROWS);
	refresh(1, 2000000, 1, 10);
	ck_assert(!judge(true).is_held);
	ck_assert_int_eq(price_of("row-00"), 20000000);
	ck_assert_uint_eq(last_count, 1);
}
END_TEST

START_TEST(a_small_feed_may_halve)
{
	first_refresh(3);
	refresh(1, 2000000, 0, 1);
	ck_assert(!judge(false).is_held);
	refresh(0, 2000000, 0, 1);
	ck_assert(judge(false).is_held);
}
END_TEST

START_TEST(a_state_that_is_nonsense_counts_as_none)
{
	static const char *const texts[] = {
		"held",	     "held x\n", "zz 1\n", "held 2\nnot a row\n", "0000000000000001 0\n",
		"held -3\n", "\n\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		first_refresh(ROWS);
		state = texts[i];
		refresh(0, 0, 0, 1);
		ck_assert_msg(judge(false).is_held, "%s", texts[i]);
		ck_assert_str_eq(state, "held 1\n");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guard");
	TCase *tcase = tcase_create("guard");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_refresh_like_the_last_passes);
	tcase_add_test(tcase,
		       a_row_that_moved_over_threefold_waits_for_a_second_refresh_that_agrees);
	tcase_add_test(tcase, a_jump_that_the_next_refresh_does_not_repeat_is_forgotten);
	tcase_add_test(tcase, threefold_itself_is_no_jump);
	tcase_add_loop_test(tcase, a_suspicious_refresh_is_held_and_the_last_good_one_stays, 0,
			    (int)(sizeof(refreshes) / sizeof(refreshes[0])));
	tcase_add_test(tcase, three_refreshes_that_agree_are_accepted);
	tcase_add_test(tcase, a_good_refresh_or_another_fault_between_starts_the_count_again);
	tcase_add_test(tcase, an_operator_who_has_looked_is_obeyed);
	tcase_add_test(tcase, a_small_feed_may_halve);
	tcase_add_test(tcase, a_state_that_is_nonsense_counts_as_none);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
