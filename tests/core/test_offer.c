/* Ids of offers, which must never change, and their text. */
#include "core/offer.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static struct offer sample(void)
{
	return (struct offer){.provider = "aws",
			      .region = "us-east-1",
			      .zone = "a",
			      .instance_type = "p5.48xlarge",
			      .accelerator = "H100 SXM5 80GB",
			      .count_milli = 8000,
			      .tier = "",
			      .price_kind = PRICE_SPOT,
			      .term_months = 0};
}

/* FNV-1a and MurmurHash3's finalizer over the key, computed apart in Python:
 *   def f(h, bs):
 *       for b in bs: h = ((h ^ b) * 0x100000001b3) % 2**64
 *       return h
 *   h = 0xcbf29ce484222325
 *   for t in ["aws", "us-east-1", "a", "p5.48xlarge", "H100 SXM5 80GB"]:
 *       h = f(h, t.encode() + b"\x1f")
 *   h = f(h, (8000).to_bytes(4, "little")); h = f(h, b"\x1f")
 *   h = f(h, (1).to_bytes(4, "little")); h = f(h, (0).to_bytes(4, "little"))
 *   h ^= h >> 33; h = h * 0xff51afd7ed558ccd % 2**64; h ^= h >> 33
 *   h = h * 0xc4ceb9fe1a85ec53 % 2**64; h ^= h >> 33
 * Ids live in databases and bookmarks: a change of this figure breaks them. */
#define SAMPLE_ID UINT64_C(0xc98596ac5d8fe914)

START_TEST(the_id_is_the_same_everywhere_and_forever)
{
	struct offer offer = sample();

	ck_assert_uint_eq(offer_id(&offer), SAMPLE_ID);
}
END_TEST

START_TEST(the_id_follows_the_key_and_nothing_else)
{
	struct offer offer = sample(), other = sample();

	other.price_micros = 5;
	other.availability = AVAILABILITY_YES;
	other.source = "elsewhere";
	ck_assert_uint_eq(offer_id(&offer), offer_id(&other));
	ck_assert(offer_key_equal(&offer, &other));

#define DIFFERS(change)                                                                            \
	other = sample();                                                                          \
	other.change;                                                                              \
	ck_assert_uint_ne(offer_id(&offer), offer_id(&other));                                     \
	ck_assert(!offer_key_equal(&offer, &other))

	DIFFERS(provider = "gcp");
	DIFFERS(region = "us-east-2");
	DIFFERS(zone = "b");
	DIFFERS(instance_type = "p5.4xlarge");
	DIFFERS(accelerator = "H100 PCIe 80GB");
	DIFFERS(count_milli = 1000);
	DIFFERS(tier = "secure");
	DIFFERS(price_kind = PRICE_ON_DEMAND);
	DIFFERS(term_months = 12);
	/* Text that moves from one member to the next. */
	other = sample();
	other.region = "us-east-1a";
	other.zone = "";
	ck_assert_uint_ne(offer_id(&offer), offer_id(&other));
}
END_TEST

START_TEST(ids_print_as_sixteen_digits_and_parse_back)
{
	static const uint64_t ids[] = {0, 1, UINT64_C(0x0123456789abcdef), UINT64_MAX, SAMPLE_ID};
	char text[OFFER_ID_TEXT];
	uint64_t back;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		offer_id_format(ids[i], text);
		ck_assert_uint_eq(strlen(text), 16);
		ck_assert(offer_id_parse(text, &back));
		ck_assert_uint_eq(back, ids[i]);
	}
}
END_TEST

START_TEST(only_what_is_printed_parses)
{
	static const char *const wrong[] = {"",
					    "0",
					    "0123456789abcde",
					    "0123456789abcdef0",
					    "0123456789ABCDEF",
					    "0x23456789abcdef",
					    " 123456789abcdef",
					    "0123456789abcdeg"};
	uint64_t id = 7;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(!offer_id_parse(wrong[i], &id), "%s", wrong[i]);
	ck_assert_uint_eq(id, 7);
}
END_TEST

/* 200,000 different keys of a 64-bit hash: the chance of one collision is 1e-9. */
START_TEST(many_keys_do_not_collide)
{
	enum { KEYS = 200000 };
	uint64_t *seen = calloc(1 << 19, sizeof(*seen));
	char type[16];

	ck_assert_ptr_nonnull(seen);
	for (unsigned i = 0; i < KEYS; i++) {
		struct offer offer = sample();
		uint64_t id, at;

		snprintf(type, sizeof(type), "t%u", i / 8);
		offer.instance_type = type;
		offer.count_milli = (int32_t)(1 + i % 8) * 1000;
		id = offer_id(&offer);
		for (at = id % (1 << 19); seen[at]; at = (at + 1) % (1 << 19))
			ck_assert_uint_ne(seen[at], id);
		seen[at] = id;
	}
	free(seen);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("offer");
	TCase *tests = tcase_create("offer");

	tcase_add_test(tests, the_id_is_the_same_everywhere_and_forever);
	tcase_add_test(tests, the_id_follows_the_key_and_nothing_else);
	tcase_add_test(tests, ids_print_as_sixteen_digits_and_parse_back);
	tcase_add_test(tests, only_what_is_printed_parses);
	tcase_add_test(tests, many_keys_do_not_collide);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
