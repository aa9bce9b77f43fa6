"""Cases of large pre-training."""
from expert.asking import LLAMA_70B, LLAMA_8B, ask, case, codes, gpus, pretrain, rate, text, total

RDMA = ("infiniband", "roce", "efa", "tcpx", "nvl72")


@case("T6c", "A large pre-training takes a cluster that shards the model, kept within its nodes where it talks most")
def _(t):
    workload = pretrain(LLAMA_70B, total_tokens=200e9, stack="megatron")
    answer = ask(workload, "clusters", constraints={"max_nodes": 64, "deadline_hours": 24 * 120})
    first = answer.first
    plan = first["plan"]
    t.assertGreaterEqual(plan["nodes"], 8)
    t.assertIn(first["fabric"]["cluster_link"], RDMA)
    t.assertLessEqual(plan["tensor_parallel"], first["fabric"]["domain_gpus"])
    t.assertTrue(plan["tensor_parallel"] * plan["pipeline_parallel"] > 1 or plan["sharding"] != "none")
    t.assertEqual(plan["tensor_parallel"] * plan["pipeline_parallel"] * plan["context_parallel"] *
                  plan["data_parallel"] + plan["idle_gpus"], gpus(first))
    t.assertLessEqual(first["time"]["elapsed_seconds"], 24 * 120 * 3600)


@case("T6c", "By hand: 200 billion tokens of 70B take 6 FLOPs a parameter and token at 25 to 55 % of the peak")
def _(t):
    first = ask(pretrain(LLAMA_70B, total_tokens=200e9, stack="megatron"), "clusters",
                constraints={"max_nodes": 32}).first
    ideal = 6 * 70.55e9 * 200e9 / (gpus(first) * 989e12)
    t.assertGreater(first["time"]["run_seconds"], ideal / 0.55)
    t.assertLess(first["time"]["run_seconds"], ideal / 0.25)


@case("T6c", "More nodes end sooner but never for less than a fair share: scaling is not better than linear")
def _(t):
    workload = pretrain(LLAMA_70B, total_tokens=200e9, stack="megatron", global_batch=1024)
    rates = {}
    for nodes in (8, 32):
        answer = ask(workload, "clusters", constraints={"max_nodes": nodes}, objective="time")
        rates[answer.first["plan"]["nodes"]] = rate(answer.first)
    t.assertEqual(sorted(rates), [8, 32])
    t.assertGreater(rates[32], 2 * rates[8])
    t.assertLessEqual(rates[32], 4.1 * rates[8])


@case("T7e", "Eight cards in one machine are said to be scarce where nobody confirms them, single cards are not")
def _(t):
    answer = ask(pretrain("meta-llama/Llama-3.2-1B", total_tokens=1e9), "unsure")
    t.assertIn("scarce_multi_gpu", codes(answer.one("H100", 8)))
    t.assertNotIn("scarce_multi_gpu", codes(answer.one("H100", 1)))


@case("T7e", "Several nodes must be confirmed together")
def _(t):
    first = ask(pretrain(LLAMA_70B, total_tokens=10e9, stack="megatron"), "clusters",
                constraints={"max_nodes": 8}).first
    t.assertTrue({"several_nodes", "scarce"} & set(codes(first)))


@case("G6c", "Pre-training prefers fp8-class cards on real fabrics, and names shared storage where it lacks")
def _(t):
    workload, shown = pretrain(LLAMA_8B, total_tokens=100e9, stack="megatron"), set()
    first = ask(workload, constraints={"max_nodes": 16, "deadline_hours": 24 * 60}).first
    t.assertIn(first["offer"]["accelerator"].split()[0], ("H100", "H200", "B200", "B300"))
    if first["plan"]["nodes"] > 1:
        t.assertIn(first["fabric"]["cluster_link"], RDMA)
    # Hot Aisle joins machines by RoCE and has no file system for all of them; CoreWeave has both.
    large = pretrain(LLAMA_70B, total_tokens=10e9, stack="megatron")
    for market, lacks in (("unshared", True), ("clusters", False)):
        for item in ask(large, market, constraints={"max_nodes": 4, "deadline_hours": 24 * 20}).items:
            if item["plan"]["nodes"] > 1 and item["offer"]["provider"] != "massedcompute":
                t.assertEqual("no_shared_storage" in codes(item), lacks, item["offer"]["provider"])
                shown.add(market)
    t.assertEqual(shown, {"unshared", "clusters"})


@case("G6d", "Long pre-training is cheaper on a commitment, a short one is not: the whole term is paid")
def _(t):
    year = pretrain(LLAMA_8B, total_tokens=2.5e12, stack="megatron")
    rented = ask(year, "terms", group="offer")
    reserved, demand = rented.one(price_kind="reserved"), rented.one(price_kind="on_demand")
    t.assertGreater(reserved["time"]["elapsed_seconds"], 240 * 86400)
    t.assertLess(total(reserved), total(demand))
    t.assertLess(reserved["rank"], demand["rank"])
    t.assertGreaterEqual(reserved["cost"]["billed_seconds"], 364 * 86400)
    t.assertIn("12 months", text(reserved, "commitment"))
    week = ask(dict(year, total_tokens=10e9), "terms", group="offer")
    t.assertEqual([i["offer"]["price_kind"] for i in week.items], ["on_demand"])
    t.assertIn("365", week.excluded("term_too_long")["nearest"]["text"])
    t.assertLess(total(week.first), 365 * 24 * 22)


@case("T7a", "A data set that is read too slowly is the bottleneck, and faster storage cures it")
def _(t):
    workload = pretrain("meta-llama/Llama-3.2-1B", total_tokens=1e9, bytes_per_token=100000)
    slow = ask(workload, "nodes", assumptions={"storage_read_gb_per_second": 0.5}).one("H100 SXM5", 8)
    fast = ask(workload, "nodes", assumptions={"storage_read_gb_per_second": 500}).one("H100 SXM5", 8)
    # Half a GB a second are 5000 tokens a second, whatever the cards can do.
    t.assertAlmostEqual(rate(slow), 5000, delta=100)
    t.assertEqual(slow["speed"]["bottleneck"], "data_loading")
    t.assertIn("data_loading", codes(slow))
    t.assertGreater(rate(fast), 10 * rate(slow))
    t.assertNotIn("data_loading", codes(fast))
