/* What is kept between requests: bounds, life and counts of the memo; plans that are found again.
 */
#include "core/model.h"

#include "server/kept.h"
#include "server/memo.h"
#include "tests/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int freed;
static struct memo_counts counts;

static void free_value(void *value)
{
	atomic_fetch_add(&freed, 1);
	free(value);
}

static void set_up(void)
{
	atomic_store(&freed, 0);
	memset(&counts, 0, sizeof(counts));
}

static struct memo_key key_of(int *number)
{
	return memo_key(number, sizeof(*number));
}

static struct memo_item *add(struct memo *memo, int number, size_t bytes)
{
	struct memo_key key = key_of(&number);
	int *value = malloc(sizeof(*value));

	*value = number;
	return memo_add(memo, &key, value, bytes);
}

/* The value under that number, or -1; gives the item back at once. */
static int find(struct memo *memo, int number)
{
	struct memo_key key = key_of(&number);
	struct memo_item *item = memo_find(memo, &key);
	int value = item ? *(int *)memo_value(item) : -1;

	if (item)
		memo_release(memo, item);
	return value;
}

START_TEST(what_was_used_longest_ago_gives_way)
{
	struct memo *memo = memo_new(100000, free_value, &counts);

	for (int i = 0; i < 4; i++)
		memo_release(memo, add(memo, i, 20000));
	ck_assert_int_eq(find(memo, 0), 0); /* now 1 is the oldest */
	memo_release(memo, add(memo, 4, 20000));
	ck_assert_int_eq(find(memo, 1), -1);
	for (int i = 2; i < 5; i++)
		ck_assert_int_eq(find(memo, i), i);
	ck_assert_int_eq(find(memo, 0), 0);
	ck_assert_uint_eq(counts.evictions, 1);
	ck_assert_int_eq(counts.items, 4);
	ck_assert_int_le(counts.bytes, 100000);
	ck_assert_int_eq(freed, 1);
	/* Larger than its share: freed at once, nothing else is pushed out. */
	ck_assert_ptr_null(add(memo, 9, 30000));
	ck_assert_int_eq(freed, 2);
	ck_assert_int_eq(counts.items, 4);
	memo_free(memo);
	ck_assert_int_eq(freed, 6);
	ck_assert_int_eq(counts.bytes, 0);
}
END_TEST

START_TEST(a_value_in_use_outlives_its_place)
{
	struct memo *memo = memo_new(100000, free_value, &counts);
	struct memo_item *held = add(memo, 7, 20000);

	memo_release(memo, add(memo, 7, 20000)); /* takes its place */
	ck_assert_int_eq(freed, 0);
	ck_assert_int_eq(*(int *)memo_value(held), 7);
	ck_assert_int_eq(counts.items, 1);
	memo_release(memo, held);
	ck_assert_int_eq(freed, 1);
	memo_free(memo);
	ck_assert_int_eq(freed, 2);
}
END_TEST

static void *work(void *argument)
{
	struct memo *memo = argument;
	unsigned state = (unsigned)(uintptr_t)&state;

	for (int i = 0; i < 20000; i++) {
		int number = (int)((state = state * 1103515245 + 12345) >> 16) % 40, found;

		found = find(memo, number);
		ck_assert(found == -1 || found == number);
		if (found == -1)
			memo_release(memo, add(memo, number, 4000));
	}
	return NULL;
}

START_TEST(threads_share_it)
{
	struct memo *memo = memo_new(100000, free_value, &counts);
	pthread_t threads[4];
	int made;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, memo);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_le(counts.bytes, 100000);
	ck_assert_uint_eq(counts.hits + counts.misses, 80000);
	made = (int)counts.misses;
	memo_free(memo);
	ck_assert_int_eq(freed, made); /* each once */
}
END_TEST

/* A workload of Llama-3.1-8B as a request would have it. */
static struct workload workload_of(int64_t concurrency)
{
	struct error error = {0};
	struct workload workload = {
		.architecture = &model_find("meta-llama/Llama-3.1-8B")->architecture,
		.task = TASK_INFERENCE,
		.concurrency = concurrency,
		.given = WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_concurrency),
	};

	ck_assert(workload_complete(&workload, "/workload", &error));
	return workload;
}

START_TEST(plans_are_made_once_a_workload)
{
	static struct kept_counts kept_counts;
	struct shape shapes[2] = {
		{.accelerator = accelerator_find("L4 24GB"), .count_milli = 1000},
		{.accelerator = accelerator_find("H100 SXM5 80GB"), .count_milli = 1000}};
	const struct catalogue catalogue = {.shapes = shapes, .shapes_count = 2};
	struct kept *kept = kept_new(&kept_counts, 10);
	struct workload workload = workload_of(4), other = workload_of(5), again;
	struct plan_search *search = malloc(sizeof(*search));
	const struct plan_set *first, *second;
	struct plan_set direct;

	/* One shape, then both: what is missing is added. */
	plan_search_begin(search, &kept->keeper, &workload, &catalogue, 8);
	first = plan_search_shape(search, 1);
	ck_assert_int_eq(first->count, 1);
	direct = (struct plan_set){.count = first->count};
	direct.plans[0] = first->plans[0];
	plan_search_end(search);
	ck_assert_uint_eq(kept_counts.plans.misses, 1);
	plan_search_begin(search, &kept->keeper, &workload, &catalogue, 8);
	plan_search_shape(search, 0);
	plan_search_end(search);
	ck_assert_uint_eq(kept_counts.plans.hits, 1);
	ck_assert_int_eq(kept_counts.plans.items, 1);
	/* Work that costs more is laid out the same. */
	again = workload;
	again.requests = 1e6;
	again.given |= WORKLOAD_BIT(WORKLOAD_requests);
	plan_search_begin(search, &kept->keeper, &again, &catalogue, 8);
	second = plan_search_shape(search, 1);
	ck_assert_ptr_null(search->fresh);
	ck_assert_ptr_nonnull(search->kept->sets[0]);
	ck_assert_mem_eq(&second->plans[0].layout, &direct.plans[0].layout,
			 sizeof(second->plans[0].layout));
	ck_assert_mem_eq(&second->plans[0].speed, &direct.plans[0].speed,
			 sizeof(second->plans[0].speed));
	plan_search_end(search);
	/* Another load or more nodes are not. */
	plan_search_begin(search, &kept->keeper, &other, &catalogue, 8);
	ck_assert_ptr_null(search->kept);
	plan_search_end(search);
	plan_search_begin(search, &kept->keeper, &workload, &catalogue, 1);
	ck_assert_ptr_null(search->kept);
	plan_search_end(search);
	free(search);
	kept_free(kept);
	ck_assert_int_eq(kept_counts.plans.bytes, 0);
}
END_TEST

/* Ages of what happened at 5 s, never, at 100 s and at 900 s. */
static void write_ages(struct writer *writer, int64_t now_us)
{
	writer_begin_object(writer);
	writer_key(writer, "ages");
	writer_begin_array(writer);
	writer_age(writer, 5000000, now_us);
	writer_age(writer, 0, now_us);
	writer_age(writer, 100000000, now_us);
	writer_end_array(writer);
	writer_key(writer, "last");
	writer_age(writer, 900000000, now_us);
	writer_end_object(writer);
}

static char *text_of(struct writer *writer, int64_t now_us, size_t *length)
{
	writer_init(writer, 10000);
	writer_note_ages(writer);
	write_ages(writer, now_us);
	return writer_take(writer, length);
}

/* Told again at any time, an answer is what would be written then: ages grow and shrink by digits,
 * and are never negative. */
START_TEST(an_answer_is_told_with_the_ages_of_now)
{
	static const int64_t times_us[] = {105999999, 106000000, 899999999, 910000000,
					   1000005000000};
	struct writer writer, other;
	size_t length, bytes;
	char *text = text_of(&writer, 105999999, &length);
	struct kept_answer *answer = kept_answer_new(&writer, text, length, 105999999, &bytes);

	ck_assert_str_eq(text, "{\"ages\":[100,null,5],\"last\":0}");
	ck_assert_uint_ge(bytes, length);
	free(text);
	writer_release(&writer);
	for (size_t i = 0; i < sizeof(times_us) / sizeof(times_us[0]); i++) {
		char *wanted = text_of(&other, times_us[i], &length), *told;
		size_t told_length;

		told = kept_answer_tell(answer, times_us[i], &told_length);
		ck_assert_str_eq(told, wanted);
		ck_assert_uint_eq(told_length, length);
		free(told);
		free(wanted);
		writer_release(&other);
	}
	free(answer);
}
END_TEST

#define OFFERS 200

/* An offer as JSON would be, with its age; odd ones have none. */
static void write_offer(struct writer *writer, size_t index, int64_t now_us)
{
	writer_begin_object(writer);
	writer_key(writer, "n");
	writer_integer(writer, (int64_t)index);
	writer_key(writer, "age_seconds");
	writer_age(writer, index % 2 ? 0 : (int64_t)index + 1, now_us);
	writer_end_object(writer);
}

static const struct fragment *add_offer(struct fragments *fragments, size_t index)
{
	const struct fragment *fragment;
	struct writer writer;
	size_t length;
	char *text;

	writer_init(&writer, 1000);
	writer_note_ages(&writer);
	write_offer(&writer, index, 5000000);
	text = writer_take(&writer, &length);
	fragment = fragments_add(fragments, index, &writer, text, length);
	free(text);
	writer_release(&writer);
	return fragment;
}

START_TEST(fragments_are_told_with_the_age_of_now)
{
	struct memo_counts fragment_counts = {0};
	struct fragments *fragments = fragments_new(OFFERS, 100000, &fragment_counts);
	struct writer told, wanted;
	char *texts[2];

	writer_init(&told, 100000);
	writer_init(&wanted, 100000);
	writer_begin_array(&told);
	writer_begin_array(&wanted);
	for (size_t i = 0; i < OFFERS; i++) {
		ck_assert_ptr_null(fragments_find(fragments, i));
		ck_assert_ptr_nonnull(add_offer(fragments, i));
		fragment_write(fragments_find(fragments, i), &told, INT64_C(123456000000));
		write_offer(&wanted, i, INT64_C(123456000000));
	}
	writer_end_array(&told);
	writer_end_array(&wanted);
	texts[0] = writer_take(&told, NULL);
	texts[1] = writer_take(&wanted, NULL);
	ck_assert_str_eq(texts[0], texts[1]);
	ck_assert_uint_eq(fragment_counts.misses, OFFERS);
	ck_assert_uint_eq(fragment_counts.hits, OFFERS);
	ck_assert_int_eq(fragment_counts.items, OFFERS);
	free(texts[0]);
	free(texts[1]);
	fragments_free(fragments);
	ck_assert_int_eq(fragment_counts.items, 0);
	ck_assert_int_eq(fragment_counts.bytes, 0);
}
END_TEST

START_TEST(fragments_are_bounded)
{
	struct memo_counts fragment_counts = {0};
	struct fragments *fragments = fragments_new(OFFERS, 1000, &fragment_counts);
	size_t held = 0;

	for (size_t i = 0; i < OFFERS; i++) {
		held += add_offer(fragments, i) != NULL;
		ck_assert_int_le(fragment_counts.bytes, 1000);
	}
	ck_assert_uint_gt(held, 2);
	ck_assert_uint_lt(held, 40);
	ck_assert_int_eq(fragment_counts.items, (int64_t)held);
	/* What is there stays as it is. */
	ck_assert_ptr_nonnull(fragments_find(fragments, 0));
	ck_assert_ptr_null(fragments_find(fragments, OFFERS - 1));
	fragments_free(fragments);
}
END_TEST

static void *render_all(void *fragments)
{
	for (int round = 0; round < 50; round++)
		for (size_t i = 0; i < OFFERS; i++) {
			const struct fragment *fragment = fragments_find(fragments, i);

			if (!fragment)
				fragment = add_offer(fragments, i);
			ck_assert_int_eq(fragment->text[0], '{');
		}
	return NULL;
}

START_TEST(fragments_are_shared_by_threads)
{
	struct memo_counts fragment_counts = {0};
	struct fragments *fragments = fragments_new(OFFERS, 1000000, &fragment_counts);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, render_all, fragments);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(fragment_counts.items, OFFERS);
	fragments_free(fragments);
	ck_assert_int_eq(fragment_counts.bytes, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kept");
	TCase *tests = tcase_create("kept");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, what_was_used_longest_ago_gives_way);
	tcase_add_test(tests, a_value_in_use_outlives_its_place);
	tcase_add_test(tests, threads_share_it);
	tcase_add_test(tests, plans_are_made_once_a_workload);
	tcase_add_test(tests, an_answer_is_told_with_the_ages_of_now);
	tcase_add_test(tests, fragments_are_told_with_the_age_of_now);
	tcase_add_test(tests, fragments_are_bounded);
	tcase_add_test(tests, fragments_are_shared_by_threads);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
