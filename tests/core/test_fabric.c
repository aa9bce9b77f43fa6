/* Links between cards by form factor, and that no unknown one is thought fast. */
#include "core/accelerator.h"
#include "core/fabric.h"
#include "tests/suite.h"

static struct fabric fabric_of(const char *name, double count)
{
	const struct accelerator *accelerator = accelerator_find(name);

	ck_assert_ptr_nonnull(accelerator);
	return fabric_of_accelerator(accelerator, count);
}

static void has(const char *name, double count, enum node_link link, double bytes_per_second)
{
	struct fabric fabric = fabric_of(name, count);

	ck_assert_msg(fabric.node_link == link, "%s: %s", name,
		      names_text(&node_link_names, (int)fabric.node_link));
	ck_assert_double_eq_tol(fabric.node_bytes_per_second, bytes_per_second,
				0.01 * bytes_per_second + 1);
	ck_assert_int_eq(fabric.cluster_link, CLUSTER_LINK_NONE);
}

/* facts/hardware-notes.md 1 and 2. */
START_TEST(links_follow_the_form_factor)
{
	has("H100 SXM5 80GB", 8, NODE_LINK_NVSWITCH, 450e9);
	has("A100 SXM4 80GB", 4, NODE_LINK_NVSWITCH, 300e9);
	has("GB200 (per GPU) 186GB", 4, NODE_LINK_NVSWITCH, 900e9);
	has("V100 SXM2 16GB", 8, NODE_LINK_NVLINK_MESH, 150e9);
	has("V100 SXM3 32GB", 16, NODE_LINK_NVSWITCH, 150e9);
	has("MI300X 192GB", 8, NODE_LINK_XGMI, 64e9); /* a peer */
	has("MI355X 288GB", 8, NODE_LINK_XGMI, 76.5e9);
	has("Gaudi2 (HL-225) 96GB", 8, NODE_LINK_TORUS, 262.5e9); /* 21 of 24 ports */
	has("TPU v5e (per chip)", 8, NODE_LINK_TORUS, 100e9);
	has("L4 24GB", 4, NODE_LINK_PCIE_PEER, 31.5e9);
	has("RTX 4090 24GB", 4, NODE_LINK_PCIE_HOST, 31.5e9); /* no peer-to-peer */
	has("RTX PRO 6000 Blackwell Server 96GB", 2, NODE_LINK_PCIE_PEER, 63e9);
}
END_TEST

START_TEST(nothing_is_better_than_what_is_known)
{
	/* A bridge may be missing. */
	has("A100 PCIe 80GB", 2, NODE_LINK_PCIE_PEER, 31.5e9);
	has("H100 NVL 94GB", 2, NODE_LINK_PCIE_PEER, 63e9);
	has("RTX 3090 24GB", 2, NODE_LINK_PCIE_HOST, 31.5e9);
	has("RTX PRO 6000 Blackwell Server MIG 24GB", 2, NODE_LINK_PCIE_HOST, 63e9);
}
END_TEST

START_TEST(one_gpu_has_no_link)
{
	has("H100 SXM5 80GB", 1, NODE_LINK_SINGLE, 0);
	has("A10 24GB", 0.5, NODE_LINK_SINGLE, 0);
	ck_assert_int_eq(fabric_of("H100 SXM5 80GB", 1).domain_gpus, 1);
	ck_assert_int_eq(fabric_of("H100 SXM5 80GB", 8).domain_gpus, 8);
}
END_TEST

START_TEST(every_card_has_a_fabric)
{
	for (size_t i = 0; i < accelerators_count; i++) {
		struct fabric fabric = fabric_of_accelerator(&accelerators[i], 8);

		ck_assert_msg(fabric.node_link != NODE_LINK_SINGLE, "%s", accelerators[i].name);
		ck_assert_msg(fabric.node_bytes_per_second > 0 ||
				      fabric.node_link == NODE_LINK_UNKNOWN ||
				      accelerators[i].pcie_generation == 0,
			      "%s", accelerators[i].name);
	}
}
END_TEST

START_TEST(kinds_are_told_apart)
{
	struct fabric fabric = {.node_link = NODE_LINK_NVSWITCH};

	ck_assert(fabric_is_fast(&fabric));
	fabric.node_link = NODE_LINK_XGMI;
	ck_assert(fabric_is_fast(&fabric));
	fabric.node_link = NODE_LINK_NVLINK_PAIR; /* not between all */
	ck_assert(!fabric_is_fast(&fabric));
	fabric.node_link = NODE_LINK_PCIE_PEER;
	ck_assert(!fabric_is_fast(&fabric));
	fabric.cluster_link = CLUSTER_LINK_TCP;
	ck_assert(!fabric_has_rdma(&fabric));
	fabric.cluster_link = CLUSTER_LINK_NONE;
	ck_assert(!fabric_has_rdma(&fabric));
	for (int link = CLUSTER_LINK_EFA; link < CLUSTER_LINKS; link++) {
		fabric.cluster_link = (enum cluster_link)link;
		ck_assert(fabric_has_rdma(&fabric));
	}
}
END_TEST

START_TEST(every_kind_has_a_name)
{
	for (int link = 0; link < NODE_LINKS; link++)
		ck_assert_int_eq(names_find(&node_link_names, names_text(&node_link_names, link)),
				 link);
	for (int link = 0; link < CLUSTER_LINKS; link++)
		ck_assert_int_eq(
			names_find(&cluster_link_names, names_text(&cluster_link_names, link)),
			link);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fabric");
	TCase *tests = tcase_create("fabric");

	tcase_add_test(tests, links_follow_the_form_factor);
	tcase_add_test(tests, nothing_is_better_than_what_is_known);
	tcase_add_test(tests, one_gpu_has_no_link);
	tcase_add_test(tests, every_card_has_a_fabric);
	tcase_add_test(tests, kinds_are_told_apart);
	tcase_add_test(tests, every_kind_has_a_name);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
