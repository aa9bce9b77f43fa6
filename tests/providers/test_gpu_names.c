/*
 * Spellings of GPUs that providers were seen to use, as ../shared/facts/gpu-names.csv states them:
 * each is that card, or none where the words mean several and nothing else is told. Never another
 * card.
 */
#include "core/accelerator.h"
#include "server/ingest/providers/rows.h"
#include "tests/suite.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES SHARED "/facts/gpu-names.csv"

/* What the list says of a spelling. */
struct row {
	const char *provider, *spelling, *canonical;
};

/* Sources that sell nothing: what they write, anybody may write. */
static const struct {
	const char *name, *id;
} providers_of_list[] = {
	{"gpuhunt (canonical)", ""}, {"skypilot (canonical)", ""},  {"nvidia-smi", ""},
	{"dstack/llmfit/other", ""}, {"thundercompute", "thunder"},
};

/* Cards whose figures nobody gave: their rows stay unmapped, under their own spelling. */
static const char *const without_figures[] = {"Grayskull e150"};

static int checked, settled, open_to_several;

static const char *provider_of(const char *name)
{
	for (size_t i = 0; i < sizeof(providers_of_list) / sizeof(providers_of_list[0]); i++)
		if (strcmp(providers_of_list[i].name, name) == 0)
			return providers_of_list[i].id;
	return name;
}

/* "RTX PRO 6000 Blackwell" of "RTX PRO 6000 Blackwell 96GB", "A100" of "A100 SXM4 40GB or 80GB". */
static size_t family_length(const char *canonical)
{
	size_t end = 0;

	for (const char *word = canonical; *word;) {
		size_t length = strcspn(word, " ,");

		if ((isdigit((unsigned char)*word) && strncmp(word + length - 2, "GB", 2) == 0) ||
		    strncmp(word, "SXM", 3) == 0 || strncmp(word, "PCIe", 4) == 0)
			break;
		end = (size_t)(word - canonical) + length;
		word += length + strspn(word + length, " ,");
	}
	return end;
}

/* Is the card of the family, with a memory that is named, or is none named? */
static bool is_one_of(const struct accelerator *card, const char *canonical)
{
	size_t length = family_length(canonical);
	bool is_memory_told = false;

	if (strncmp(card->name, canonical, length) != 0 || card->name[length] != ' ')
		return false;
	for (const char *word = canonical + length; *word; word += strcspn(word, " ,")) {
		word += strspn(word, " ,");
		if (!isdigit((unsigned char)*word))
			continue;
		is_memory_told = true;
		if (!(strtod(word, NULL) < card->memory_gb) &&
		    !(strtod(word, NULL) > card->memory_gb))
			return true;
	}
	return !is_memory_told;
}

static void check_vague(const struct row *row, const char *provider)
{
	const struct accelerator *card = accelerator_resolve(provider, row->spelling);

	open_to_several++;
	ck_assert_msg(!card || is_one_of(card, row->canonical), "%s \"%s\" is %s, not %s",
		      row->provider, row->spelling, card ? card->name : "", row->canonical);
	for (const char *word = row->canonical + family_length(row->canonical); *word; word++) {
		if (!isdigit((unsigned char)*word) || word[-1] != ' ')
			continue;
		card = accelerator_resolve_memory(provider, row->spelling, strtod(word, NULL));
		ck_assert_msg(!card || is_one_of(card, row->canonical),
			      "%s \"%s\" of %.4s is %s, not %s", row->provider, row->spelling, word,
			      card ? card->name : "", row->canonical);
	}
}

/* "Standard_NC*ads_A100_v4": every type of the tables that is such a one. */
static void check_pattern(const struct row *row, const char *provider,
			  const struct accelerator *card)
{
	int types = 0;

	for (size_t i = 0; i < accelerator_names_count; i++)
		if (strcmp(accelerator_names[i].provider, provider) == 0 &&
		    fnmatch(row->spelling, accelerator_names[i].spelling, FNM_CASEFOLD) == 0) {
			types++;
			ck_assert_msg(strcmp(accelerator_names[i].canonical, card->name) == 0,
				      "%s is %s, not %s", accelerator_names[i].spelling,
				      accelerator_names[i].canonical, card->name);
		}
	ck_assert_msg(types > 0, "no type is \"%s\"", row->spelling);
}

static void check_card(const struct row *row, const char *provider, const struct accelerator *card)
{
	const struct accelerator *found = accelerator_resolve(provider, row->spelling);

	settled++;
	if (strchr(row->spelling, '*')) {
		check_pattern(row, provider, card);
		return;
	}
	if (!found)
		found = accelerator_resolve_memory(provider, row->spelling, card->memory_gb);
	ck_assert_msg(found == card, "%s \"%s\" is %s, not %s", row->provider, row->spelling,
		      found ? found->name : "unmapped", row->canonical);
}

static bool is_no_card(const char *canonical)
{
	for (size_t i = 0; i < sizeof(without_figures) / sizeof(without_figures[0]); i++)
		if (strcmp(canonical, without_figures[i]) == 0)
			return true;
	return strncmp(canonical, "mixed", 5) == 0 || strncmp(canonical, "FPGA", 4) == 0 ||
	       strcmp(canonical, "none") == 0;
}

static void check(const struct row *row)
{
	const char *provider = provider_of(row->provider);
	const struct accelerator *card = accelerator_find(row->canonical);
	char family[80];

	checked++;
	if (card) {
		check_card(row, provider, card);
	} else if (is_no_card(row->canonical)) {
		ck_assert_msg(!accelerator_resolve(provider, row->spelling), "%s \"%s\" is a card",
			      row->provider, row->spelling);
	} else {
		snprintf(family, sizeof(family), "%.*s", (int)family_length(row->canonical),
			 row->canonical);
		ck_assert_msg(accelerator_family(family, NULL, 0) > 0, "no card is a \"%s\"",
			      family);
		check_vague(row, provider);
	}
}

static bool take_row(void *closure, const char *const *names, const char *const *values,
		     size_t count, struct error *error)
{
	static const char *const columns[] = {"provider", "spelling", "canonical",
					      "spelling_seen_in"};
	const char *found[4] = {NULL};

	(void)closure;
	(void)error;
	for (size_t i = 0; values && i < count; i++)
		for (size_t column = 0; column < 4; column++)
			if (strcmp(names[i], columns[column]) == 0)
				found[column] = values[i];
	if (values && strncmp(found[3], "NOT SEEN", 8) != 0)
		check(&(struct row){found[0], found[1], found[2]});
	return true;
}

START_TEST(each_spelling_is_the_card_that_is_stated)
{
	static char text[1 << 20];
	FILE *file = fopen(NAMES, "re");
	struct arena arena;
	struct error error;
	size_t length;

	if (!file) {
		fprintf(stderr, "# skipped: there is no ../shared\n");
		return;
	}
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	arena_init(&arena, (size_t)16 << 20);
	error_init(&error, NULL);
	ck_assert_msg(rows_read(text, length, &arena, take_row, NULL, &error), "%s", error.detail);
	arena_release(&arena);
	ck_assert_int_gt(checked, 700);
	ck_assert_int_gt(settled, checked * 8 / 10);
	fprintf(stderr, "# %d spellings: %d mean one card, %d one of several\n", checked, settled,
		open_to_several);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu_names");
	TCase *tcase = tcase_create("spellings");

	tcase_add_test(tcase, each_spelling_is_the_card_that_is_stated);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
