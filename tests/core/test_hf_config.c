/* Pasted configurations: the shared set against its published counts, and what is refused. */
#include "tests/core/pasted.h"

#include "tests/suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHARED "../shared/fixtures/"

static char *slurp(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long size;

	if (!file)
		return NULL;
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	text = arena_alloc(&arena, (size_t)size + 1);
	ck_assert_ptr_nonnull(text);
	*length = fread(text, 1, (size_t)size, file);
	fclose(file);
	return text;
}

static double number(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	ck_assert_msg(value && value->type == CONFIG_NUMBER, "%s is missing", name);
	return value->number;
}

/*
 * MiniCPM-MoE-8x2B names num_experts 8 and num_experts_per_tok 2; the published expectation counts
 * it as the dense MiniCPM-2B (its counter did not read the key in this family), five times too
 * small.
 */
static bool is_miscounted(const char *file)
{
	return strcmp(file, "openbmb__MiniCPM-MoE-8x2B.json") == 0;
}

static bool matches(const char *file, const struct config_value *expected)
{
	struct architecture architecture;
	struct parameter_count count;
	struct config_value *root;
	char path[512], *text;
	size_t length;

	snprintf(path, sizeof(path), SHARED "model-configs/%s", file);
	text = slurp(path, &length);
	if (!text)
		return false;
	root = config_view_parse(text, length, &arena, &error);
	if (!root || !hf_config_read(root, &architecture, &error)) {
		printf("# %s: %s\n", file, error.detail);
		return false;
	}
	architecture_count(&architecture, &count);
	if ((double)(count.total - count.tower) >= number(expected, "total") &&
	    (double)(count.total - count.tower) <= number(expected, "total") &&
	    (double)(count.active - count.tower) >= number(expected, "active") &&
	    (double)(count.active - count.tower) <= number(expected, "active") &&
	    fabs(architecture_kv_elements_per_token(&architecture) - number(expected, "kv_elems")) <
		    0.5)
		return true;
	printf("# %s: %lu parameters, %lu active, %.0f KV elements\n", file,
	       (unsigned long)(count.total - count.tower),
	       (unsigned long)(count.active - count.tower),
	       architecture_kv_elements_per_token(&architecture));
	return false;
}

START_TEST(shared_configurations_match_their_counts)
{
	const struct config_value *all;
	unsigned matched = 0, files = 0;
	size_t length;
	char *text = slurp(SHARED "model-configs-expected.json", &length);

	if (!text) {
		printf("# SKIP: %s is not here\n", SHARED);
		return;
	}
	all = config_get(config_view_parse(text, length, &arena, &error), "expected");
	ck_assert_ptr_nonnull(all);
	for (size_t i = 0; i < all->count; i++) {
		const struct config_value *one = all->items[i];

		files++;
		if (matches(one->name, one))
			matched++;
		else
			ck_assert_msg(is_miscounted(one->name), "%s does not match", one->name);
	}
	printf("# %u of %u configurations match\n", matched, files);
	ck_assert_uint_gt(files, 100);
}
END_TEST

/* Whatever a shared file is, reading it ends in an architecture or in a reason. */
START_TEST(every_shared_file_is_read_or_refused_with_a_reason)
{
	DIR *folder = opendir(SHARED "model-configs");
	struct dirent *entry;

	if (!folder) {
		printf("# SKIP: %s is not here\n", SHARED);
		return;
	}
	while ((entry = readdir(folder))) {
		struct architecture architecture;
		struct config_value *root;
		char path[512], *text;
		size_t length;

		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), SHARED "model-configs/%.250s", entry->d_name);
		text = slurp(path, &length);
		error_init(&error, &arena);
		root = config_view_parse(text, length, &arena, &error);
		if (!root || !hf_config_read(root, &architecture, &error))
			ck_assert_msg(error_is_set(&error) && *error.detail, "%s", entry->d_name);
	}
	closedir(folder);
}
END_TEST

#define LLAMA                                                                                      \
	"\"model_type\":\"llama\",\"hidden_size\":4096,\"num_hidden_layers\":32,"                  \
	"\"num_attention_heads\":32,\"intermediate_size\":11008,\"vocab_size\":32000"

START_TEST(a_flat_decoder_is_read)
{
	struct architecture architecture;

	ck_assert(read_text("{" LLAMA ",\"torch_dtype\":\"bfloat16\"}", &architecture));
	ck_assert_uint_eq(total_of(&architecture), 6738415616); /* Llama-2-7B, Hub count */
	ck_assert_int_eq(architecture.native_format, FORMAT_BF16);
	ck_assert_int_eq(architecture.modality, MODALITY_TEXT);
}
END_TEST

START_TEST(null_kv_heads_mean_as_many_as_heads)
{
	struct architecture architecture;

	ck_assert(read_text(
		"{\"model_type\":\"mistral\",\"hidden_size\":4096,\"num_hidden_layers\":2,"
		"\"num_attention_heads\":32,\"intermediate_size\":14336,\"vocab_size\":32000}",
		&architecture));
	ck_assert_int_eq(architecture.kinds[0].kv_heads, 8); /* MistralConfig's default */
	ck_assert(read_text(
		"{\"model_type\":\"mistral\",\"hidden_size\":4096,\"num_hidden_layers\":2,"
		"\"num_attention_heads\":32,\"intermediate_size\":14336,\"vocab_size\":32000,"
		"\"num_key_value_heads\":null,\"sliding_window\":null}",
		&architecture));
	ck_assert_int_eq(architecture.kinds[0].kv_heads, 32);
	ck_assert_int_eq(architecture.kinds[0].window, 0);
}
END_TEST

START_TEST(defaults_of_the_class_fill_a_nested_part)
{
	struct architecture architecture;

	ck_assert(read_text("{\"model_type\":\"llava\",\"text_config\":{\"vocab_size\":32064}}",
			    &architecture));
	ck_assert_uint_eq(total_of(&architecture), 6738939904); /* LLaVA-1.5-7B's text model */
	/* A family without defaults names all that is missing at once. */
	ck_assert(!read_text("{\"model_type\":\"longcat_flash\"}", &architecture));
	ck_assert_str_eq(error.first->pointer, "/hidden_size");
	ck_assert_str_eq(error.first->code, "missing");
	ck_assert_uint_ge(error.count, 2);
}
END_TEST

START_TEST(errors_point_into_the_nested_part)
{
	struct architecture architecture;

	ck_assert(!read_text("{\"model_type\":\"llava\",\"text_config\":{\"hidden_size\":\"big\"}}",
			     &architecture));
	ck_assert_str_eq(error.first->pointer, "/text_config/hidden_size");
	ck_assert_str_eq(error.first->code, "invalid_type");
}
END_TEST

START_TEST(unknown_families_are_refused_by_name)
{
	struct architecture architecture;

	memset(&architecture, 0, sizeof(architecture));
	ck_assert(!read_text("{\"model_type\":\"rwkv7\",\"hidden_size\":2048}", &architecture));
	ck_assert_int_eq(error.code, ERROR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.detail, "rwkv7"));
	ck_assert_int_eq(architecture.kinds_count, 0); /* untouched */
}
END_TEST

START_TEST(other_files_are_refused_with_a_hint)
{
	struct architecture architecture;

	ck_assert(!read_text("{\"peft_type\":\"LORA\",\"r\":8}", &architecture));
	ck_assert_ptr_nonnull(strstr(error.detail, "PEFT adapter"));
	ck_assert(!read_text("{\"_class_name\":\"UNet2DConditionModel\"}", &architecture));
	ck_assert_ptr_nonnull(strstr(error.detail, "diffusers"));
	ck_assert(!read_text("{\"dim\":4096,\"n_layers\":32}", &architecture));
	ck_assert_ptr_nonnull(strstr(error.detail, "params.json"));
	ck_assert(!read_text("{}", &architecture));
}
END_TEST

START_TEST(absurd_sizes_are_refused)
{
	static const char *const texts[] = {
		"{" LLAMA ",\"num_key_value_heads\":64}",
		"{" LLAMA ",\"num_key_value_heads\":5}",
		"{" LLAMA ",\"num_attention_heads\":33,\"num_key_value_heads\":11}",
		"{" LLAMA ",\"head_dim\":1e12}",
		"{" LLAMA ",\"head_dim\":-1}",
		"{" LLAMA ",\"head_dim\":1.5}",
		"{" LLAMA ",\"head_dim\":[1]}",
		"{" LLAMA ",\"tie_word_embeddings\":\"yes\"}",
		"{\"model_type\":\"llama\",\"hidden_size\":2000000000,\"num_hidden_layers\":"
		"2000000000,"
		"\"num_attention_heads\":1,\"intermediate_size\":2000000000,\"vocab_size\":"
		"2000000000}",
		"{\"model_type\":\"llama\",\"hidden_size\":0,\"num_hidden_layers\":1,"
		"\"num_attention_heads\":0,\"intermediate_size\":1,\"vocab_size\":1}",
		"{\"model_type\":\"openelm\",\"model_dim\":1280,\"vocab_size\":32000,"
		"\"num_transformer_layers\":4,\"num_query_heads\":[1],\"num_kv_heads\":[1]}",
		"{\"model_type\":\"nemotron-nas\",\"hidden_size\":64,\"vocab_size\":10}",
		"{\"model_type\":\"nemotron_h\",\"hidden_size\":64,\"vocab_size\":10,"
		"\"num_attention_heads\":4,\"hybrid_override_pattern\":\"M?\"}",
		"{\"model_type\":\"mixtral\",\"hidden_size\":64,\"num_hidden_layers\":1,\"vocab_"
		"size\":10,"
		"\"num_attention_heads\":8,\"intermediate_size\":128,\"num_local_experts\":8,"
		"\"num_experts_per_tok\":9}",
		"{" LLAMA ",\"layer_types\":[\"linear_attention\"]}",
		"[]",
	};
	struct architecture architecture;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct config_value *root;

		error_init(&error, &arena);
		root = parse(texts[i]);
		ck_assert_msg(!root || !hf_config_read(root, &architecture, &error), "%s",
			      texts[i]);
		ck_assert_msg(error_is_set(&error), "%s", texts[i]);
	}
}
END_TEST

/* Every size that is there but senseless is named at its place. */
START_TEST(senseless_sizes_are_named_at_their_place)
{
	static const struct {
		const char *keys, *pointer;
	} cases[] = {
		{"\"hidden_size\":0", "/hidden_size"},
		{"\"hidden_size\":-4096", "/hidden_size"},
		{"\"num_hidden_layers\":0", "/num_hidden_layers"},
		{"\"num_hidden_layers\":1e9", "/num_hidden_layers"},
		{"\"num_attention_heads\":0", "/num_attention_heads"},
		{"\"num_attention_heads\":1e308", "/num_attention_heads"},
		{"\"num_key_value_heads\":0", "/num_key_value_heads"},
		{"\"vocab_size\":0", "/vocab_size"},
		{"\"vocab_size\":1.5", "/vocab_size"},
		{"\"intermediate_size\":0", "/intermediate_size"},
		{"\"head_dim\":0", "/head_dim"},
		{"\"intermediate_size\":\"big\"", "/intermediate_size"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct architecture architecture;
		char text[200];

		error_init(&error, &arena);
		snprintf(text, sizeof(text), "{\"model_type\":\"llama\",%s}", cases[i].keys);
		ck_assert_msg(!read_text(text, &architecture), "%s", text);
		ck_assert_msg(error.first != NULL, "%s: %s", text, error.detail);
		ck_assert_str_eq(error.first->pointer, cases[i].pointer);
	}
}
END_TEST

/* Qwen2.5-VL-7B: 8292166656 parameters on the Hub, 676550144 of them in the tower. */
START_TEST(a_vision_tower_is_counted)
{
	struct architecture architecture;
	struct parameter_count count;

	ck_assert(read_text(
		"{\"model_type\":\"qwen2_5_vl\",\"hidden_size\":3584,\"num_hidden_layers\":28,"
		"\"num_attention_heads\":28,\"num_key_value_heads\":4,\"intermediate_size\":18944,"
		"\"vocab_size\":152064,\"tie_word_embeddings\":false,\"vision_config\":{\"depth\":"
		"32,"
		"\"hidden_size\":1280,\"intermediate_size\":3420,\"num_heads\":16,\"patch_size\":"
		"14,"
		"\"spatial_merge_size\":2,\"temporal_patch_size\":2,\"out_hidden_size\":3584}}",
		&architecture));
	architecture_count(&architecture, &count);
	ck_assert_uint_eq(count.tower, 676550144);
	ck_assert_uint_eq(count.total, 8292166656);
	ck_assert_int_eq(architecture.modality, MODALITY_VISION_TEXT);
}
END_TEST

/* OpenELM-270M: 271527168 parameters on the Hub; every layer has its own heads and width. */
START_TEST(sizes_by_layer_are_read)
{
	struct architecture architecture;

	ck_assert(read_text(
		"{\"model_type\":\"openelm\",\"model_dim\":1280,\"num_transformer_layers\":16,"
		"\"vocab_size\":32000,\"max_context_length\":2048,\"head_dim\":64,\"ffn_dim_"
		"divisor\":256,"
		"\"ffn_with_glu\":true,\"normalize_qk_projections\":true,"
		"\"share_input_output_layers\":true,"
		"\"ffn_multipliers\":[0.5,0.73,0.97,1.2,1.43,1.67,1.9,2.13,2.37,2.6,2.83,3.07,3.3,"
		"3.53,3.77,"
		"4.0],\"num_kv_heads\":[3,3,3,3,3,4,4,4,4,4,4,4,5,5,5,5],"
		"\"num_query_heads\":[12,12,12,12,12,16,16,16,16,16,16,16,20,20,20,20]}",
		&architecture));
	ck_assert_uint_eq(total_of(&architecture), 271527168);
	ck_assert_int_eq(architecture_layers(&architecture), 16);
	ck_assert_int_eq(architecture_heads_divisor(&architecture), 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hf_config");
	TCase *tests = tcase_create("hf_config");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, shared_configurations_match_their_counts);
	tcase_add_test(tests, every_shared_file_is_read_or_refused_with_a_reason);
	tcase_add_test(tests, a_flat_decoder_is_read);
	tcase_add_test(tests, null_kv_heads_mean_as_many_as_heads);
	tcase_add_test(tests, defaults_of_the_class_fill_a_nested_part);
	tcase_add_test(tests, errors_point_into_the_nested_part);
	tcase_add_test(tests, unknown_families_are_refused_by_name);
	tcase_add_test(tests, other_files_are_refused_with_a_hint);
	tcase_add_test(tests, absurd_sizes_are_refused);
	tcase_add_test(tests, senseless_sizes_are_named_at_their_place);
	tcase_add_test(tests, a_vision_tower_is_counted);
	tcase_add_test(tests, sizes_by_layer_are_read);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
