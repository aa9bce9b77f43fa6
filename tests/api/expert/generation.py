"""Cases of the guide to generative AI."""
from expert.asking import (GIB, LLAMA_13B, LLAMA_70B, LLAMA_8B, QWEN_32B, ask, card_gb, case, codes,
                           gpus, hourly, post, rate, serve, size, spread, text, total, tune)

WEIGHTS_8B = 2 * 8030261248
CHAT = {"prompt_tokens": 1024, "output_tokens": 256}


def output_price(item):
    return item["cost"]["usd_per_million_output_tokens"]


@case("G1", "Language, text-to-text and models that see pictures are sized, each with its memory by term")
def _(t):
    for model in (LLAMA_8B, "google/flan-t5-xl", "Qwen/Qwen2-VL-7B-Instruct", "google/gemma-3-12b-it"):
        answer = ask(serve(model, prompt_tokens=256, output_tokens=128))
        t.assertGreater(answer.memory["weights_bytes"], 0, model)
        t.assertTrue(answer.items, model)
    large, small = (size(serve("Qwen/Qwen2-VL-%s-Instruct" % n))["weights_bytes"] for n in ("72B", "7B"))
    t.assertGreater(large, 8 * small)


@case("G2a", "Models of 7 to 13B in 4 bits fit one card of 24 GB, and 13B in 16 bits does not")
def _(t):
    for model in ("meta-llama/Llama-2-7b-hf", LLAMA_8B, LLAMA_13B):
        answer = ask(serve(model, weight_format="awq", concurrency=4, **CHAT))
        fits = [i for i in answer.items if gpus(i) == 1 and card_gb(i) == 24 and i["fit"] == "fits"]
        t.assertTrue(fits, model)
    full = ask(serve(LLAMA_13B, weight_format="fp16", concurrency=4, **CHAT))
    t.assertFalse([i for i in full.items if gpus(i) == 1 and card_gb(i) <= 24])


@case("G2b", "13B in full precision, and 32B in 8 bits, fit one card of 48 GB and none of 24")
def _(t):
    for model, form in ((LLAMA_13B, "fp16"), (QWEN_32B, "int8")):
        answer = ask(serve(model, weight_format=form, concurrency=4, **CHAT))
        single = [i for i in answer.items if gpus(i) == 1]
        t.assertTrue([i for i in single if card_gb(i) == 48 and i["fit"] == "fits"], model)
        t.assertFalse([i for i in single if card_gb(i) <= 24], model)


@case("G2c", "70B in 16 bits takes several 80 GB cards; in 4 bits one card of 48 GB or more")
def _(t):
    full = ask(serve(LLAMA_70B, weight_format="bf16", concurrency=4, **CHAT))
    for item in full.items:
        t.assertGreaterEqual(spread(item) * card_gb(item), 142, item["offer"]["accelerator"])
    t.assertTrue([i for i in full.items if card_gb(i) == 80 and spread(i) in (2, 4)])
    four = ask(serve(LLAMA_70B, weight_format="awq", concurrency=4, **CHAT))
    single = [card_gb(i) for i in four.items if gpus(i) == 1 and i["fit"] == "fits"]
    t.assertIn(80, single)
    t.assertGreaterEqual(min(single), 48)
    eight = ask(serve(LLAMA_70B, weight_format="fp8", concurrency=4, **CHAT))
    t.assertTrue(eight.items)
    for item in eight.items:
        if spread(item) == 1:
            t.assertGreater(card_gb(item), 80)


@case("G3a", "An HBM card far outruns a GDDR card of the same memory in tokens a second")
def _(t):
    # A30 933 GB/s against L4 300; A100-40 1555 against A40 696 and L40S 864.
    small = ask(serve(concurrency=1, weight_format="bf16", max_tpot_seconds=0), "cards")
    t.assertGreater(rate(small.one("A30")), 2 * rate(small.one("L4 24GB")))
    t.assertGreater(rate(small.one("A100 SXM4 40GB")), 1.5 * rate(small.one("A40")))
    t.assertGreater(rate(small.one("A100 SXM4 40GB")), 1.3 * rate(small.one("L40S")))


@case("G3a", "By hand: a token takes at least the weights over the bandwidth, and little more alone")
def _(t):
    item = ask(serve(concurrency=1, weight_format="bf16"), "cards").one("H100")
    least = (WEIGHTS_8B - 128256 * 4096 * 2) / 3.35e12  # the embedding is looked up, not read
    t.assertGreater(item["speed"]["tpot_seconds"], least)
    t.assertLess(item["speed"]["tpot_seconds"], 2 * least)


@case("G3b", "Slow while the GPU idles is diagnosed as memory-bound, and the three cures are named")
def _(t):
    item = ask(serve(concurrency=1, weight_format="bf16"), "cards").one("H100")
    t.assertEqual(item["speed"]["decode"]["bottleneck"], "memory_bandwidth")
    told = text(item, "memory_bound")
    for cure in ("faster memory", "fewer bits", "more sequences"):
        t.assertIn(cure, told)


@case("G3b", "Each of the three cures works: faster memory, fewer bits, more requests at once")
def _(t):
    workload = serve(concurrency=1, weight_format="bf16")
    answer = ask(workload, "cards")
    slow = answer.one("H100")
    t.assertGreater(rate(answer.one("H200")), 1.2 * rate(slow))
    t.assertGreater(rate(ask(dict(workload, weight_format="fp8"), "cards").one("H100")), 1.4 * rate(slow))
    more = ask(dict(workload, concurrency=32), "cards").one("H100")
    t.assertGreater(rate(more), 15 * rate(slow))
    t.assertLess(more["speed"]["tpot_seconds"], 2 * slow["speed"]["tpot_seconds"])


@case("G4a", "At long context the cache weighs as much as the weights")
def _(t):
    workload = serve(prompt_tokens=126000, output_tokens=5072, concurrency=1, weight_format="bf16",
                     kv_format="bf16")
    memory = size(workload)
    # 2 x 32 layers x 8 heads x 128 x 2 bytes are 131072 a token.
    t.assertAlmostEqual(memory["kv_cache_bytes"], 131072 * 131072, delta=0.01 * 131072 * 131072)
    t.assertGreaterEqual(memory["kv_cache_bytes"], memory["weights_bytes"])
    short = size(dict(workload, prompt_tokens=1024, output_tokens=256))
    t.assertAlmostEqual(short["kv_cache_bytes"] * 1024 / 10, memory["kv_cache_bytes"],
                        delta=0.02 * memory["kv_cache_bytes"])


@case("G4a", "A card that holds the weights but not the cache is left out")
def _(t):
    short = serve(weight_format="bf16", kv_format="bf16", concurrency=1)
    t.assertTrue(ask(short, "cards").on("L4 24GB"))
    answer = ask(dict(short, prompt_tokens=100000), "cards")
    t.assertFalse([i for i in answer.items if card_gb(i) <= 24])
    t.assertTrue(answer.on("A100 SXM4 40GB"))
    t.assertTrue(answer.excluded("memory"))


@case("G4b", "int8 and fp8 make room: more sequences are resident on the same card")
def _(t):
    workload = serve(concurrency=8, prompt_tokens=8000, output_tokens=500, weight_format="bf16",
                     kv_format="bf16")
    full = ask(workload, "cards").one("L40S")["plan"]
    eight = ask(dict(workload, weight_format="fp8"), "cards").one("L40S")["plan"]
    cache = ask(dict(workload, kv_format="fp8"), "cards").one("L40S")["plan"]
    # 48 GB less 16 leave some 27 GB of cache; less 8, some 34.
    t.assertGreater(eight["kv_tokens_capacity"], 1.2 * full["kv_tokens_capacity"])
    t.assertAlmostEqual(cache["kv_tokens_capacity"] / full["kv_tokens_capacity"], 2, delta=0.05)
    t.assertGreater(ask(dict(workload, weight_format="int8"), "cards").one("A100 SXM4 40GB")["plan"]
                    ["max_concurrency"], ask(workload, "cards").one("A100 SXM4 40GB")["plan"]["max_concurrency"])


@case("G4c", "For tokens one at a time the cheapest card is the one with most bandwidth per dollar")
def _(t):
    bandwidth = {"l4": 300, "a30": 933, "4090": 1008, "a40": 696, "l40s": 864, "a100-40": 1555,
                 "a100": 2039, "h100": 3350, "h200": 4800}
    items = ask(serve(concurrency=1, weight_format="bf16", output_tokens=1024, prompt_tokens=64),
                "cards", group="offer").items
    items = [i for i in items if i["offer"]["instance_type"] in bandwidth]
    t.assertGreaterEqual(len(items), 8)
    for a in items:
        for b in items:
            value = [bandwidth[i["offer"]["instance_type"]] / hourly(i) for i in (a, b)]
            if value[0] > 1.6 * value[1]:
                t.assertLess(output_price(a), output_price(b), (a["offer"]["instance_type"],
                                                                b["offer"]["instance_type"]))


@case("G4d", "An interactive 8B service is best on one GPU, and one fast card beats eight slow ones that share a copy")
def _(t):
    workload = serve(requests_per_second=0.5, mode="interactive", weight_format="bf16")
    answer = ask(workload, "nodes")
    for found in (ask(workload), ask(workload, "cards"), answer):
        t.assertEqual((gpus(found.first), spread(found.first)), (1, 1))
    fast, thin = answer.one("H100 SXM5", 1), answer.one("RTX 4090", 8)
    t.assertLess(abs(hourly(fast) - hourly(thin)), 0.2)
    t.assertLess(fast["rank"], thin["rank"])
    t.assertLess(fast["speed"]["tpot_seconds"], thin["speed"]["tpot_seconds"])


@case("G4d", "The first answer of an interactive service keeps up with reading, in as many bits as it can")
def _(t):
    for model in (LLAMA_8B, QWEN_32B, LLAMA_70B):
        first = ask(serve(model, requests_per_second=1, mode="interactive")).first
        t.assertLess(first["speed"]["tpot_seconds"], 0.2, model)
        t.assertLess(first["service"]["ttft_seconds"], 5, model)
        t.assertNotIn("slow_4bit_kernels", codes(first))
        t.assertNotIn("slow_tokens", codes(first), model)


@case("G5a", "Where fp8 is asked, the best card computes in fp8; older ones only unpack it, and it is said")
def _(t):
    workload = serve(weight_format="fp8", requests_per_second=8)
    answer = ask(workload, "cards")
    t.assertNotIn("no_fp8_kernels", codes(answer.first))
    for item in answer.items:
        old = item["offer"]["accelerator"].split()[0] in ("A100", "A30", "A40")
        t.assertEqual("no_fp8_kernels" in codes(item), old, item["offer"]["accelerator"])
    t.assertFalse(answer.on("V100") + answer.on("T4"))
    eight, sixteen = (ask(serve(weight_format=form, concurrency=64, prompt_tokens=2048, output_tokens=64,
                                max_tpot_seconds=0, max_ttft_seconds=0), "cards") for form in ("fp8", "bf16"))
    gains = [rate(eight.one(card)) / rate(sixteen.one(card)) for card in ("H100", "A100 SXM4 80GB")]
    t.assertGreater(gains[0], 1.15 * gains[1])
    t.assertGreater(gains[0], 1.3)


@case("G5a", "Left to choose, 8 bits are those that the card computes in: none is unpacked where another is not")
def _(t):
    # Blackwell has fp8 in every engine and int8 in none of vLLM's kernels; Ampere the other way round.
    for weight_format, kind in (("fp8", "RTX 5090"), ("int8", "RTX 3090")):
        answer = ask(serve(requests_per_second=50, max_tpot_seconds=0.2), filters={"accelerators": [kind]})
        eights = [i for i in answer.items if i["plan"]["weight_format"] in ("fp8", "int8")]
        t.assertTrue(eights, kind)
        t.assertEqual({i["plan"]["weight_format"] for i in eights}, {weight_format})
    both = [ask(serve(concurrency=64, weight_format=form), filters={"accelerators": ["RTX 5090"], "max_gpus": 1})
            for form in ("fp8", "int8")]
    t.assertGreater(rate(both[0].first), rate(both[1].first))


@case("G5b", "Copies of a model that fits one card need no link: a PCIe box is not held back nor warned about")
def _(t):
    item = ask(serve(weight_format="fp8", requests_per_second=20), "nodes").one("L40S", 8)
    t.assertEqual((item["plan"]["tensor_parallel"], spread(item)), (1, 1))
    t.assertNotIn("pcie_only", codes(item))


@case("G5b", "Tensor parallelism over PCIe is slower than over NVLink, ranks below it, and it is said")
def _(t):
    workload = serve(LLAMA_70B, weight_format="bf16", concurrency=32, mode="interactive")
    answer = ask(workload, "four")
    fast, slow = answer.one("A100 SXM4"), answer.one("A100 PCIe")
    t.assertGreater(spread(slow), 1)
    t.assertLess(fast["speed"]["tpot_seconds"], slow["speed"]["tpot_seconds"])
    t.assertLess(fast["rank"], slow["rank"])
    t.assertGreater(rate(fast), 1.1 * rate(slow))
    t.assertIn("pcie_only", codes(slow))
    t.assertIn("fast_links", codes(fast))


@case("G5c", "If one GPU holds the model, one card is cheaper than a box that stands half idle")
def _(t):
    answer = ask(serve(requests_per_second=0.5), "cards nodes")
    t.assertEqual(gpus(answer.first), 1)
    box = answer.one("H100 SXM5", 8)
    t.assertGreater(total(box), 5 * total(answer.first))
    t.assertTrue("idle_gpus" in codes(box) or box["service"]["utilisation"] < 0.2)


@case("G5c", "A service is given no more machines than its load asks for")
def _(t):
    for rps in (0.5, 5, 50):
        for item in ask(serve(requests_per_second=rps)).items[:10]:
            t.assertLessEqual(item["service"]["utilisation"], 0.801)
            if item["plan"]["replicas"] > 1 and item["plan"]["nodes"] > 1:
                fewer = 1 - 1 / item["plan"]["nodes"]
                t.assertGreater(item["service"]["utilisation"] / fewer, 0.79, (rps, item["offer"]))


@case("G5c", "What a service has to spare is what its machines can do, however few requests come")
def _(t):
    few, many = (ask(serve(requests_per_second=n, peak_requests_per_second=20), "nodes").one("H200", 8)
                 for n in (0.2, 5))
    spare = [i["service"]["spare_requests_per_second"] + r for i, r in ((few, 0.2), (many, 5))]
    t.assertGreater(spare[0], 0.5 * spare[1])
    t.assertLess(few["service"]["utilisation"], 0.02)
    # Eight H200 read and write far more than twenty such requests a second: no second box at the peak.
    t.assertEqual((few["service"]["peak"]["nodes"], many["service"]["peak"]["nodes"]), (1, 1))


@case("G3b", "Where prompts take most of the time the answer says so, and promises nothing of faster memory")
def _(t):
    workload = serve(prompt_tokens=60000, output_tokens=100, concurrency=4, weight_format="bf16",
                     max_ttft_seconds=0, max_tpot_seconds=0)
    item = ask(workload, "cards").one("H100")
    t.assertEqual(item["speed"]["bottleneck"], "compute")
    t.assertIn("Reading a prompt", text(item, "bottleneck"))
    t.assertNotIn("memory_bound", codes(item))


@case("G6a", "QLoRA brings 13B to 24 GB and 32B to 48 GB on one card")
def _(t):
    for model, gb in ((LLAMA_13B, 24), (QWEN_32B, 48)):
        answer = ask(tune(model, "qlora", micro_batch=1, sequence_length=1024, tokens_per_epoch=1e7, epochs=1))
        t.assertTrue([i for i in answer.items if gpus(i) == 1 and card_gb(i) == gb], (model, gb))


@case("G6b", "A full fine-tune of 8B runs on 80 GB cards in a node, and on no single smaller one")
def _(t):
    answer = ask(tune(LLAMA_8B, "full", tokens_per_epoch=1e7, epochs=1))
    for item in answer.items:
        t.assertGreaterEqual(gpus(item) * card_gb(item), 128, item["offer"])
    nodes = [i for i in answer.items if card_gb(i) == 80 and gpus(i) == 8 and i["fit"] == "fits"]
    t.assertTrue(nodes)
    t.assertGreater(size(tune(LLAMA_8B, "full"))["total_bytes"], 119 * GIB)
