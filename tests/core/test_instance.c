/* The table of instance types, against the pages it is taken from. */
#include "core/accelerator.h"
#include "core/instance.h"
#include "core/names.h"
#include "core/terms.h"
#include "tests/suite.h"

#include <math.h>

START_TEST(the_table_is_sorted_and_whole)
{
	ck_assert_uint_ge(instances_count, 400);
	for (size_t i = 0; i < instances_count; i++) {
		const struct instance *row = &instances[i];

		ck_assert_msg(accelerator_find(row->accelerator) != NULL, "%s: %s", row->type,
			      row->accelerator);
		ck_assert_msg(terms_find(row->provider) != NULL, "%s has no terms", row->provider);
		ck_assert_msg(row->source && *row->source, "%s has no source", row->type);
		ck_assert_msg(row->count >= 0.04 && row->count <= 16, "%s", row->type);
		ck_assert_ptr_eq(instance_find(row->provider, row->type), row);
		if (i > 0)
			ck_assert_msg(names_compare(instances[i - 1].provider, row->provider) < 0 ||
					      names_compare(instances[i - 1].type, row->type) < 0,
				      "%s %s", row->provider, row->type);
	}
}
END_TEST

START_TEST(fabrics_fit_their_cards)
{
	for (size_t i = 0; i < instances_count; i++) {
		const struct instance *row = &instances[i];
		const struct fabric *fabric = &row->fabric;
		const struct accelerator *card = accelerator_find(row->accelerator);
		double own = card->nvlink_gb_s / 2 * 1e9;
		double vcpus = row->vcpus, memory = row->memory_gib;

		ck_assert_msg((row->count <= 1) == (fabric->node_link == NODE_LINK_SINGLE), "%s",
			      row->type);
		ck_assert_msg(fabric->node_bytes_per_second <= own + 64e9, "%s", row->type);
		ck_assert_msg(fabric->domain_gpus >= 1 &&
				      fabric->domain_gpus <= fmax(row->count, 1),
			      "%s", row->type);
		if (fabric->node_link == NODE_LINK_NVLINK_PAIR)
			ck_assert_int_eq(fabric->domain_gpus, 2);
		if (row->has_cluster)
			ck_assert_msg(fabric_has_rdma(fabric), "%s %s", row->provider, row->type);
		ck_assert_msg(vcpus >= 0 && vcpus <= 1024 && memory >= 0 && memory <= 8192, "%s",
			      row->type);
	}
}
END_TEST

static const struct instance *found(const char *provider, const char *type)
{
	const struct instance *row = instance_find(provider, type);

	ck_assert_msg(row != NULL, "%s %s", provider, type);
	return row;
}

/* facts/instances.csv and facts/hardware-notes.md 1, 2, 7. */
START_TEST(anchors_hold)
{
	const struct instance *p5 = found("aws", "p5.48xlarge");

	ck_assert_str_eq(p5->accelerator, "H100 SXM5 80GB");
	ck_assert_int_eq(p5->fabric.cluster_link, CLUSTER_LINK_EFA);
	ck_assert_double_eq_tol(p5->fabric.cluster_bytes_per_second, 400e9, 1); /* 3200 Gb/s */
	ck_assert_double_eq_tol(p5->fabric.node_bytes_per_second, 450e9, 1);
	ck_assert(p5->has_cluster);
	ck_assert_double_eq_tol(p5->vcpus, 192, 0.1);

	/* Half the lanes, and no peer-to-peer. */
	ck_assert_int_eq(found("aws", "g5.12xlarge")->fabric.node_link, NODE_LINK_PCIE_HOST);
	ck_assert_double_eq_tol(found("aws", "g5.12xlarge")->fabric.node_bytes_per_second, 15.75e9,
				1e8);
	ck_assert_int_eq(found("aws", "g7e.48xlarge")->fabric.node_link, NODE_LINK_PCIE_PEER);

	/* Only the "r" sizes have InfiniBand. */
	ck_assert(found("azure", "Standard_ND96isr_H100_v5")->has_cluster);
	ck_assert(!found("azure", "Standard_ND96is_H100_v5")->has_cluster);
	ck_assert_str_eq(found("azure", "Standard_NC40ads_H100_v5")->accelerator, "H100 NVL 94GB");
	ck_assert_double_eq_tol(found("azure", "Standard_NV6ads_A10_v5")->count, 1.0 / 6, 1e-6);

	/* Without the frontend NIC: 800 Gb/s. */
	ck_assert_double_eq_tol(found("gcp", "a3-highgpu-8g")->fabric.cluster_bytes_per_second,
				100e9, 1);
	ck_assert_int_eq(found("gcp", "a3-highgpu-8g")->fabric.cluster_link, CLUSTER_LINK_TCPX);
	ck_assert_int_eq(found("gcp", "a4x-highgpu-4g")->fabric.cluster_link, CLUSTER_LINK_NVL72);
	ck_assert_double_eq_tol(found("gcp", "a2-megagpu-16g")->count, 16, 1e-6);

	/* "NVLink" there means bridges. */
	ck_assert_int_eq(found("hyperstack", "n3-H100x8-NVLink")->fabric.node_link,
			 NODE_LINK_NVLINK_PAIR);
	ck_assert_int_eq(found("hyperstack", "n3-H100x8")->fabric.node_link, NODE_LINK_PCIE_PEER);
	ck_assert_str_eq(found("vultr", "vbm-64c-2048gb-8-l40-gpu")->accelerator, "L40S 48GB");
	ck_assert_str_eq(found("AWS", "P5.48XLARGE")->type, "p5.48xlarge");
}
END_TEST

START_TEST(unknown_types_are_not_guessed)
{
	ck_assert_ptr_null(instance_find("aws", "p5.48xlarg"));
	ck_assert_ptr_null(instance_find("azure", "p5.48xlarge"));
	ck_assert_ptr_null(instance_find("", ""));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("instance");
	TCase *tests = tcase_create("instance");

	tcase_add_test(tests, the_table_is_sorted_and_whole);
	tcase_add_test(tests, fabrics_fit_their_cards);
	tcase_add_test(tests, anchors_hold);
	tcase_add_test(tests, unknown_types_are_not_guessed);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
