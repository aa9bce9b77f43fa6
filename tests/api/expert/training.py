"""Cases of the guide to training."""
from expert.asking import (GIB, LLAMA_13B, LLAMA_70B, LLAMA_8B, QWEN_32B, ask, card_gb, case, codes,
                           gpus, hourly, pretrain, rate, serve, size, text, total, tune)

PARAMETERS_8B = 8030261248  # counted from the published architecture
WORK = {"tokens_per_epoch": 20e6, "epochs": 1}


@case("T1a", "Full training holds weights, gradients, optimiser states and activations, each told apart")
def _(t):
    # Long sequences, so that the peak is the backward pass and not the optimiser's step.
    memory = size(tune(method="full", micro_batch=4, sequence_length=8192))
    for term in ("weights", "gradients", "optimizer", "activations"):
        t.assertGreater(memory[term + "_bytes"], 0, term)
    held = sum(memory[k] for k in memory if k.endswith("_bytes") and k.split("_bytes")[0] not in (
        "allocated", "reserved", "total", "low", "high", "host", "framework"))
    # `allocated` is the sum of the tensors; what the framework keeps may be counted with them.
    t.assertIn(memory["allocated_bytes"] - held, (0, memory["framework_bytes"]))


@case("T1b", "Adam's momentum and variance weigh two to three times the weights")
def _(t):
    # Twice, where weights and states have the same bits; more, where the weights have fewer.
    for precision in ("fp32", "bf16"):
        memory = size(tune(method="full", precision=precision))
        t.assertAlmostEqual(memory["optimizer_bytes"] / memory["weights_bytes"], 2, delta=0.02)
    mixed = size(tune(method="full", precision="bf16_master"))
    t.assertGreaterEqual(mixed["optimizer_bytes"], 3 * mixed["weights_bytes"])
    without = size(tune(method="full", optimizer="sgd"))
    t.assertLess(without["optimizer_bytes"], 0.01 * memory["weights_bytes"])


@case("T1b", "By hand: mixed precision with Adam takes 16 bytes a parameter before activations")
def _(t):
    memory = size(tune(method="full", precision="bf16_master", gradient_precision="half"))
    states = sum(memory[k + "_bytes"] for k in ("weights", "master_weights", "gradients", "optimizer"))
    t.assertAlmostEqual(states / (16 * PARAMETERS_8B), 1, delta=0.02)


@case("T1c", "Full fine-tuning needs several times what serving the same model needs")
def _(t):
    serving = size(serve(concurrency=1, weight_format="bf16"))["total_bytes"]
    tuning = size(tune(method="full", micro_batch=1))["total_bytes"]
    t.assertGreater(tuning, 4 * serving)


@case("T1c", "An 80 GB card serves an 8B model with ease and cannot fine-tune it whole")
def _(t):
    serving = ask(serve(concurrency=8, weight_format="bf16"), "cards").one("A100 SXM4 80GB")
    t.assertEqual(serving["fit"], "fits")
    t.assertGreater(serving["plan"]["max_concurrency"], 5 * 8)
    tuning = ask(tune(method="full", **WORK), "cards")
    t.assertFalse(tuning.on("80GB"))
    t.assertGreaterEqual(tuning.excluded("memory")["shapes"], 5)


@case("T2a", "A card that is too small is not recommended, however cheap it is")
def _(t):
    answer = ask(tune(LLAMA_70B, "qlora", **WORK), "cards", objective="usd_per_hour")
    t.assertTrue(answer.items)
    t.assertFalse(answer.on("4090"))
    t.assertFalse([i for i in answer.items if card_gb(i) < 48])
    t.assertIn("GiB", answer.excluded("memory")["nearest"]["text"])


@case("T2b", "Short of memory, full sharding over the node is chosen, and less sharding where there is room")
def _(t):
    needs = ask(tune(LLAMA_13B, "full", **WORK), "nodes").one("H100 SXM5", 8)
    t.assertIn(needs["plan"]["sharding"], ("zero2", "zero3", "hybrid"))
    free = ask(tune("meta-llama/Llama-3.2-1B", "full", **WORK), "nodes").one("H100 SXM5", 8)
    t.assertIn(free["plan"]["sharding"], ("none", "zero1", "zero2"))


@case("T2b", "Offload to the host makes a full fine-tune fit one card, at a price in time that is told")
def _(t):
    workload = tune(method="full", **WORK)
    t.assertFalse(ask(workload, "nodes").on("H100 SXM5", 1))
    item = ask(dict(workload, offload="auto"), "nodes").one("H100 SXM5", 1)
    t.assertNotEqual(item["plan"]["offload"], "none")
    t.assertIn("offload", codes(item))
    node = ask(workload, "nodes").one("H100 SXM5", 8)
    t.assertLess(rate(item), rate(node) / 8, "offload costs speed a card")


@case("T2b", "Offload needs RAM in the machine: where that is too small it is no way out")
def _(t):
    answer = ask(tune(method="full", offload="auto", **WORK), "smallram")
    t.assertFalse(answer.items)
    t.assertIn("RAM", answer.excluded("memory")["nearest"]["text"])


@case("T2b", "Recomputing activations buys memory with time")
def _(t):
    kept = tune(QWEN_32B, "lora", sequence_length=4096, micro_batch=4, recompute="none")
    again = dict(kept, recompute="full")
    t.assertGreater(size(kept)["activations_bytes"], 4 * size(again)["activations_bytes"])
    small = dict(tune(LLAMA_8B, "lora", micro_batch=1), recompute="none")
    fast = ask(small, "cards").one("H100")
    slow = ask(dict(small, recompute="full"), "cards").one("H100")
    t.assertGreater(rate(fast), 1.1 * rate(slow))


@case("T2c", "What surely fits stands before what is only just enough, even where that is cheaper")
def _(t):
    # The length at which the 48 GB cards are just enough is the model's affair: the first that shows both.
    for length in range(1024, 16384, 256):
        answer = ask(tune(LLAMA_13B, "lora", micro_batch=1, recompute="none", sequence_length=length, **WORK),
                     "cards")
        if {i["fit"] for i in answer.items} == {"fits", "tight"}:
            break
    fits = [i["fit"] for i in answer.items]
    t.assertIn("tight", fits)
    t.assertEqual(fits, sorted(fits))  # "fits" < "tight"
    last_sure = answer.items[fits.index("tight") - 1]
    for item in answer.on():
        if item["fit"] == "tight":
            t.assertIn("tight", codes(item))
            t.assertLess(item["memory_per_gpu"]["total_bytes"], item["memory_per_gpu"]["usable_bytes"])
            t.assertGreater(item["memory_per_gpu"]["high_bytes"], item["memory_per_gpu"]["usable_bytes"])
    t.assertLess(min(total(i) for i in answer.items if i["fit"] == "tight"), total(last_sure))


@case("T2c", "Room that the next longer input would use up is told, ample room is not")
def _(t):
    told = {True: 0, False: 0}
    for length in range(1024, 8192, 128):
        workload = tune(LLAMA_13B, "lora", micro_batch=1, recompute="none", sequence_length=length, **WORK)
        for item in ask(workload, "cards").items:
            memory = item["memory_per_gpu"]
            left = 1 - memory["high_bytes"] / memory["usable_bytes"]
            if item["fit"] == "fits" and (left < 0.02 or left > 0.1):
                t.assertEqual("little_room" in codes(item), left < 0.02)
                told[left < 0.02] += 1
    t.assertTrue(told[True] and told[False], told)


@case("T3", "An HBM card with fewer teraflops tunes faster than a GDDR card with more")
def _(t):
    # A100: 312 TFLOP/s and 2.0 TB/s; L40S: 362 and 0.86.
    answer = ask(tune(LLAMA_8B, "lora", **WORK), "cards")
    t.assertGreater(rate(answer.one("A100 SXM4 80GB")), rate(answer.one("L40S")))


@case("T4a", "Training in 16 bits is faster than in 32, twice at most with TF32 and far more without it")
def _(t):
    workload = tune("meta-llama/Llama-3.2-1B", "full", **WORK)
    half = ask(workload, "cards")
    full = ask(dict(workload, precision="fp32"), "cards")
    # TF32 of an H100 has half the rate of its bf16; a V100 has 15.7 TFLOP/s for fp32 and 125 for fp16.
    t.assertGreater(rate(half.one("H100")), 1.5 * rate(full.one("H100")))
    t.assertGreater(rate(half.one("V100")), 2.5 * rate(full.one("V100")))


@case("T4a", "Pre-training in fp8 is faster on cards that have it, and impossible on those that do not")
def _(t):
    workload = pretrain(LLAMA_8B, stack="megatron", total_tokens=1e9, fused_attention=True)
    sixteen, eight = ask(workload, "nodes"), ask(dict(workload, precision="fp8"), "nodes")
    t.assertGreater(rate(eight.one("H100 SXM5", 8)), 1.15 * rate(sixteen.one("H100 SXM5", 8)))
    t.assertTrue(sixteen.on("A100 SXM4"))
    t.assertFalse(eight.on("A100"))
    t.assertIn("fp8", eight.excluded("unsupported")["nearest"]["text"])


@case("T4b", "Cards without bf16 are warned about, the others are not")
def _(t):
    answer = ask(tune("meta-llama/Llama-3.2-3B", "lora", **WORK), "cards")
    for item in answer.items:
        old = "V100" in item["offer"]["accelerator"] or "T4" in item["offer"]["accelerator"]
        t.assertEqual("no_bf16" in codes(item), old, item["offer"]["accelerator"])
    old = ask(tune("meta-llama/Llama-3.2-3B", "lora", **WORK), "cards", launch=True).one("V100")
    t.assertEqual(old["plan"]["weight_format"], "fp16")
    t.assertIn("--fp16 true", old["launch"]["dstack"]["task"])
    t.assertNotIn("bf16 true", old["launch"]["dstack"]["task"])


@case("T4b", "Who asks for bf16 by name is offered no card without it")
def _(t):
    answer = ask(tune("meta-llama/Llama-3.2-3B", "lora", precision="amp_bf16", **WORK), "cards")
    t.assertFalse(answer.on("V100") + answer.on("T4"))
    t.assertIn("bf16", answer.excluded("unsupported")["nearest"]["text"])


@case("T5a", "Of the same cards, a node on NVLink trains a sharded model clearly faster than a PCIe box")
def _(t):
    answer = ask(tune(LLAMA_13B, "full", **WORK), "nodes")
    fast, slow = answer.one("A100 SXM4", 8), answer.one("A100 PCIe", 8)
    t.assertGreater(rate(fast), 1.15 * rate(slow))
    share = [i["speed"]["step"]["communication_seconds"] / i["speed"]["step"]["seconds"]
             for i in (fast, slow)]
    t.assertGreater(share[1], 2 * share[0])
    t.assertIn("pcie_only", codes(slow))
    t.assertNotIn("pcie_only", codes(fast))


@case("T5a T8b", "The PCIe box ranks below the NVLink node for a full fine-tune although its hour is cheaper")
def _(t):
    answer = ask(tune(LLAMA_13B, "full", tokens_per_epoch=200e6, epochs=1), "nodes")
    fast, slow = answer.one("A100 SXM4", 8), answer.one("A100 PCIe", 8)
    t.assertGreater(hourly(fast), hourly(slow))
    t.assertLess(fast["rank"], slow["rank"])


@case("T5a", "Data-parallel adapters hardly need the link: the PCIe box keeps nearly all its speed")
def _(t):
    answer = ask(tune(LLAMA_8B, "lora", **WORK), "nodes")
    fast, slow = answer.one("A100 SXM4", 8), answer.one("A100 PCIe", 8)
    t.assertGreater(rate(slow), 0.8 * rate(fast))


@case("T6a", "One GPU is best for adapters on an 8B model and for a small model whole")
def _(t):
    for workload in (tune(LLAMA_8B, "lora", **WORK), tune(LLAMA_8B, "qlora", **WORK),
                     tune("meta-llama/Llama-3.2-1B", "full", **WORK)):
        first = ask(workload, "cards nodes").first
        t.assertEqual(gpus(first), 1)
        t.assertIn("one_gpu", codes(first))


@case("T6b F2b", "A full fine-tune of a middle size takes one NVLink node, data parallel and sharded")
def _(t):
    first = ask(tune(LLAMA_13B, "full", tokens_per_epoch=200e6, epochs=1), "cards nodes").first
    t.assertEqual((first["plan"]["nodes"], first["plan"]["gpus"]), (1, 8))
    t.assertEqual(first["fabric"]["node_link"], "nvswitch")
    t.assertIn(first["plan"]["sharding"], ("zero1", "zero2", "zero3", "hybrid"))
    t.assertGreaterEqual(first["plan"]["data_parallel"], 4)
    t.assertIn("fast_links", codes(first))


@case("T8b", "For a long full fine-tune the dearest node costs least in all and ends first")
def _(t):
    answer = ask(tune(LLAMA_13B, "full", tokens_per_epoch=1e9, epochs=1), "nodes")
    first, slow, box = answer.first, answer.one("A100 SXM4", 8), answer.one("L40S", 8)
    t.assertIn(first["offer"]["accelerator"].split()[0], ("H100", "H200"))
    t.assertGreater(hourly(first), 1.5 * hourly(slow))
    t.assertGreater(hourly(first), 3 * hourly(box))
    for other in (slow, box):
        t.assertLess(total(first), total(other))
        t.assertLess(first["time"]["elapsed_seconds"], other["time"]["elapsed_seconds"])
    t.assertIn("dearer_but_faster", codes(first))


@case("T8b", "By hand: the total of a run is tokens over speed times the price, with the start on top")
def _(t):
    tokens = 100e6
    item = ask(tune(LLAMA_8B, "lora", tokens_per_epoch=tokens, epochs=1), "cards").one("A100 SXM4 80GB")
    work = tokens / rate(item)
    t.assertAlmostEqual(item["time"]["run_seconds"], work, delta=0.01 * work)
    start = item["cost"]["start_seconds"]
    # 10 GB of image and 16 GB of weights at 0.25 GB/s, then read at 1 GB/s; a machine within half an hour.
    t.assertGreater(start, (10 + 16.06) / 0.25)
    t.assertLess(start, (10 + 16.06) / 0.25 + 16.06 + 1800)
    compute = (work + start) / 3600 * 1.19
    t.assertAlmostEqual(item["cost"]["compute_usd"], compute, delta=0.01 * compute)
    t.assertAlmostEqual(total(item), sum(item["cost"][k + "_usd"] for k in (
        "compute", "storage", "egress", "interruption")), delta=0.00001)
    # An 8B adapter run does about 4 FLOPs a parameter and token: 312 TFLOP/s at 25 to 65 %.
    t.assertGreater(rate(item), 0.25 * 312e12 / (4 * PARAMETERS_8B))
    t.assertLess(rate(item), 0.65 * 312e12 / (4 * PARAMETERS_8B))


@case("T8a", "Memory decides first, then what joins the machines; price orders only what is left")
def _(t):
    workload, limits = tune(LLAMA_70B, "full", **WORK), {"max_nodes": 4}
    answer = ask(workload, "cards nodes clusters", constraints=limits)
    counts = {e["reason"]: e["offers"] for e in answer.body["excluded"]}
    # Four single cards hold no 70B with Adam, joined or not; four nodes of 8 x 80 GB do, where a fabric joins them.
    t.assertGreaterEqual(counts["memory"], 11)
    t.assertIn("join several", answer.excluded("no_cluster")["text"])
    t.assertTrue(all(i["offer"]["provider"] == "coreweave" for i in answer.items))
    t.assertEqual(sum(counts.values()) + len(answer.items), answer.body["catalogue"]["offers"])
    for objective in ("time", "usd_per_hour", "value"):
        other = ask(workload, "cards nodes clusters", constraints=limits, objective=objective)
        t.assertEqual({e["reason"]: e["offers"] for e in other.body["excluded"]}, counts)
    t.assertGreater(size(workload)["total_bytes"], 1000 * GIB)
    t.assertIn("GiB", text(answer.first, "fits"))
