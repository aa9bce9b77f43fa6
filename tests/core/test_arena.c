/* Arenas: zeroed, aligned, and bounded as a whole. */
#include "core/arena.h"
#include "tests/suite.h"

#include <stdint.h>
#include <string.h>

START_TEST(memory_is_zeroed_and_aligned)
{
	struct arena arena;

	arena_init(&arena, 1 << 20);
	for (size_t size = 0; size < 300; size += 7) {
		unsigned char *bytes = arena_alloc(&arena, size);

		ck_assert_ptr_nonnull(bytes);
		ck_assert_uint_eq((uintptr_t)bytes % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			ck_assert_uint_eq(bytes[i], 0);
		memset(bytes, 0xff, size);
	}
	arena_release(&arena);
}
END_TEST

START_TEST(the_limit_holds_for_all_allocations_together)
{
	struct arena arena;

	arena_init(&arena, 1024);
	ck_assert_ptr_nonnull(arena_alloc(&arena, 1000));
	ck_assert_ptr_null(arena_alloc(&arena, 32));
	ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
	ck_assert_ptr_null(arena_array(&arena, SIZE_MAX / 2, 4));
	arena_release(&arena);
	arena_release(&arena);
}
END_TEST

START_TEST(an_allocation_may_be_larger_than_a_chunk)
{
	struct arena arena;
	char *text;

	arena_init(&arena, 1 << 20);
	ck_assert_ptr_nonnull(arena_alloc(&arena, 100000));
	text = arena_printf(&arena, "%0*d", 40000, 7);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(strlen(text), 40000);
	ck_assert_str_eq(arena_strndup(&arena, "abcdef", 3), "abc");
	arena_release(&arena);
}
END_TEST

/* What is not zeroed is bounded and aligned all the same, and lies in nobody's way. */
START_TEST(raw_arrays_count_and_leave_small_allocations_where_they_were)
{
	struct arena arena;
	unsigned char *first, *raw, *second;

	arena_init(&arena, 1 << 20);
	first = arena_alloc(&arena, 16);
	raw = arena_array_raw(&arena, 100000, 2);
	second = arena_alloc(&arena, 16);
	ck_assert_ptr_nonnull(raw);
	ck_assert_uint_eq((uintptr_t)raw % _Alignof(max_align_t), 0);
	memset(raw, 0xff, 200000);
	ck_assert_ptr_eq(second, first + 16);
	for (size_t i = 0; i < 16; i++)
		ck_assert_uint_eq(second[i], 0);
	ck_assert_uint_eq(arena.used, 200032);
	ck_assert_ptr_null(arena_array_raw(&arena, (1 << 20) - 200000, 1));
	ck_assert_ptr_null(arena_array_raw(&arena, SIZE_MAX / 2, 4));
	ck_assert_ptr_nonnull(arena_array_raw(&arena, 8, 2));
	arena_release(&arena);
	arena_init(&arena, 1 << 20);
	ck_assert_ptr_nonnull(arena_array_raw(&arena, 100000, 2));
	ck_assert_ptr_nonnull(arena_alloc(&arena, 16));
	arena_release(&arena);
}
END_TEST

/* A text is tried in what is left of a chunk: what it leaves there must not show in what is zeroed,
 * and must come out whole where it does not fit. */
START_TEST(texts_come_whole_wherever_a_chunk_ends)
{
	struct arena arena;
	unsigned char *bytes;

	for (int left = 0; left < 200; left += 16) {
		char *text, *copy;

		arena_init(&arena, 1 << 20);
		ck_assert_ptr_nonnull(arena_alloc(&arena, 16 * 1024 - (size_t)left));
		text = arena_printf(&arena, "%0*d", 100, 7);
		ck_assert_ptr_nonnull(text);
		ck_assert_uint_eq(strlen(text), 100);
		ck_assert_int_eq(text[99], '7');
		copy = arena_copy(&arena, text, 101);
		ck_assert_str_eq(copy, text);
		bytes = arena_alloc(&arena, 64);
		for (size_t i = 0; i < 64; i++)
			ck_assert_uint_eq(bytes[i], 0);
		arena_release(&arena);
	}
	/* Past the limit there is none. */
	arena_init(&arena, 64);
	ck_assert_ptr_nonnull(arena_alloc(&arena, 32));
	ck_assert_ptr_null(arena_printf(&arena, "%0*d", 40, 7));
	ck_assert_ptr_nonnull(arena_printf(&arena, "%0*d", 31, 7));
	arena_release(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arena");
	TCase *tests = tcase_create("arena");

	tcase_add_test(tests, memory_is_zeroed_and_aligned);
	tcase_add_test(tests, the_limit_holds_for_all_allocations_together);
	tcase_add_test(tests, an_allocation_may_be_larger_than_a_chunk);
	tcase_add_test(tests, raw_arrays_count_and_leave_small_allocations_where_they_were);
	tcase_add_test(tests, texts_come_whole_wherever_a_chunk_ends);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
