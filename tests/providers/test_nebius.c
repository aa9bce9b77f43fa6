/* Nebius: its answers as messages of protocol buffers, those messages themselves, and its key. */
#include "server/ingest/providers/jwt.h"
#include "server/ingest/providers/protobuf.h"
#include "tests/providers/walk.h"

#include <string.h>

static const struct wanted wanted[] = {
	/* what the calculator says of an hour, not of a month */
	{"nebius", "eu-north1", "gpu-h100-sxm_8gpu-128vcpu-1600gb", 8000, "", OD, 0,
	 "H100 SXM5 80GB", 23600000, UNK, "FI", 0},
	{"nebius", "eu-north1", "gpu-h100-sxm_8gpu-128vcpu-1600gb", 8000, "", SPOT, 0,
	 "H100 SXM5 80GB", 10000000, UNK, "FI", 0},
	{"nebius", "eu-north1", "gpu-h100-sxm_1gpu-16vcpu-200gb", 1000, "", OD, 0, "H100 SXM5 80GB",
	 2950000, UNK, "FI", 0},
	/* of the list's second page; a card that no rule knows */
	{"nebius", "eu-north1", "gpu-x900-pcie_2gpu-8vcpu-64gb", 2000, "", OD, 0, "gpu-x900-pcie",
	 3100000, UNK, "FI", 0},
};

static const struct totals totals[] = {
	/* not sold as spot; priced in ILS */
	{"nebius", 6, 4, 1, 0, 2, 0, 0, 0},
};

static const struct broken broken[] = {
	{"nebius", "{\"error\":\"x\"}", "no protobuf"},
	{"nebius", "", "0 tenants"},
	{"nebius", "\x0a\x04\x0a\x02\x0a", "no protobuf"},
	{"nebius", "\x0a\x05\x0a\x03\x0a\x01x\x0a\x05\x0a\x03\x0a\x01y", "2 tenants"},
};

START_TEST(a_message_is_read_as_it_was_written)
{
	static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
	struct protobuf_writer inner, outer;
	struct protobuf message, part;
	struct arena arena;

	arena_init(&arena, (size_t)1 << 20);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		inner = (struct protobuf_writer){.arena = &arena};
		outer = (struct protobuf_writer){.arena = &arena};
		protobuf_put_text(&inner, 1000, "first");
		protobuf_put_text(&inner, 1000, "last");
		protobuf_put_number(&inner, 1, numbers[i]);
		protobuf_put_message(&outer, 7, &inner);
		message = (struct protobuf){.at = outer.bytes, .length = outer.length};
		ck_assert(!outer.is_exhausted && protobuf_is_whole(message));
		part = protobuf_message(message, 7);
		ck_assert(protobuf_number(part, 1) == numbers[i]);
		ck_assert_str_eq(protobuf_text(part, 1000, &arena), "last");
		ck_assert_str_eq(protobuf_text(part, 1, &arena), ""); /* a number is no text */
		ck_assert_uint_eq(protobuf_number(part, 1000), 0);
		ck_assert_uint_eq(protobuf_message(message, 8).length, 0);
		/* Cut anywhere it is not whole. */
		for (message.length = 1; message.length < outer.length; message.length++)
			ck_assert(!protobuf_is_whole(message));
	}
	arena_release(&arena);
}
END_TEST

START_TEST(bytes_that_are_no_message_are_said_to_be_none)
{
	static const struct {
		const char *bytes;
		size_t length;
	} bad[] = {
		{"\x0a\x7f", 2},     /* longer than what is there */
		{"\x0b", 1},	     /* a group */
		{"\x09\x01\x02", 3}, /* half a number of 64 bits */
		{"\x0d\x01", 2},     /* half one of 32 */
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* over 64 bits */
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
	};
	static const char skipped[] = "\x09\1\2\3\4\5\6\7\10\x0d\1\2\3\4\x10\x05";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert(!protobuf_is_whole(
			(struct protobuf){.at = bad[i].bytes, .length = bad[i].length}));
	ck_assert_uint_eq(
		protobuf_number((struct protobuf){.at = skipped, .length = sizeof(skipped) - 1}, 2),
		5);
}
END_TEST

/* test_nebius.py has one that is signed and verified. */
START_TEST(credentials_that_are_none_are_refused_without_telling_them)
{
	static const char no_key[] = "{\"subject-credentials\":{\"kid\":\"k\",\"sub\":\"s\","
				     "\"private-key\":\"sesame\"}}";
	static const char *const keys[] = {
		"{",
		"{}",
		no_key,
		"{\"subject-credentials\":{\"kid\":\"k\\\"\",\"sub\":\"s\",\"private-key\":\"x\"}}",
		" {\"subject-credentials\":[]}",
	};
	const struct provider *provider = provider_find("nebius");
	struct arena arena;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct fetch_request request = {0};

		walk_begin(provider);
		walk_feed.key = keys[i];
		ck_assert(!provider->request(&walk_feed, &request, &walk_error));
		ck_assert_ptr_nonnull(strstr(walk_error.detail, provider->key_variable));
		ck_assert_ptr_null(strstr(walk_error.detail, "sesame"));
		walk_release();
	}
	arena_init(&arena, (size_t)1 << 20);
	ck_assert_ptr_null(jwt_sign(&arena, "{}", "{}", ""));
	arena_release(&arena);
}
END_TEST

START_TEST(a_token_is_used_as_it_is)
{
	const struct provider *provider = provider_find("nebius");
	struct fetch_request request = {0};

	walk_begin(provider);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert_str_eq(request.url,
			 "https://cpl.iam.api.nebius.cloud/nebius.iam.v1.TenantService/List");
	ck_assert_str_eq(request.headers[2], "Authorization: Bearer team:secret-key");
	walk_feed.key = "a\nb";
	ck_assert(!provider->request(&walk_feed, &request, &walk_error));
	walk_release();
}
END_TEST

int main(void)
{
	static const struct group group = {
		"nebius", COUNTED(wanted), COUNTED(totals), COUNTED(broken), NULL, 0, NULL, 0};
	TCase *extra = tcase_create("messages and keys");

	tcase_add_test(extra, a_message_is_read_as_it_was_written);
	tcase_add_test(extra, bytes_that_are_no_message_are_said_to_be_none);
	tcase_add_test(extra, credentials_that_are_none_are_refused_without_telling_them);
	tcase_add_test(extra, a_token_is_used_as_it_is);
	return walk_run(&group, extra);
}
