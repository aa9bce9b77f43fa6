"""Cases from what users of comparable tools asked for or complained about (their trackers' numbers)."""
from expert.asking import (LLAMA_70B, LLAMA_8B, ask, card_gb, case, codes, gpus, post, pretrain, rate, serve,
                           size, text, total, tune)

WORK = {"tokens_per_epoch": 20e6, "epochs": 1}


@case("", "gpu_poor#5: LoRA counts rank and targets; by hand, 16 x (in + out) over all linear layers of 7B")
def _(t):
    hidden, wide, layers, rank = 4096, 11008, 32, 16
    trained = layers * rank * (4 * 2 * hidden + 3 * (hidden + wide))
    memory = size(tune("meta-llama/Llama-2-7b-hf", "lora", lora_rank=rank, lora_targets="all_linear"))
    t.assertAlmostEqual(memory["optimizer_bytes"], 8 * trained, delta=0.02 * 8 * trained)
    less = size(tune("meta-llama/Llama-2-7b-hf", "lora", lora_rank=rank, lora_targets="attention_qv"))
    wanted = 8 * layers * rank * 2 * 2 * hidden
    t.assertAlmostEqual(less["optimizer_bytes"], wanted, delta=0.02 * wanted)


@case("", "LLM-Viewer#12: grouped heads shrink the cache; by hand, 2 x layers x heads x width a token")
def _(t):
    workload = {"prompt_tokens": 4000, "output_tokens": 96, "concurrency": 4, "kv_format": "bf16"}
    for model, wanted in ((LLAMA_8B, 2 * 32 * 8 * 128), ("meta-llama/Llama-2-7b-hf", 2 * 32 * 32 * 128),
                          ("Qwen/Qwen3-0.6B", 2 * 28 * 8 * 128)):  # whose heads are wider than hidden / heads
        memory = size(serve(model, **workload))
        t.assertAlmostEqual(memory["kv_cache_bytes"], wanted * 2 * 4096 * 4,
                            delta=0.01 * wanted * 2 * 4096 * 4)


@case("", "unsloth#4757: latent and windowed attention are counted by layer")
def _(t):
    # DeepSeek-V2-Lite keeps 512 + 64 numbers a token and layer in 27 layers.
    memory = size(serve("deepseek-ai/DeepSeek-V2-Lite", prompt_tokens=8000, output_tokens=192,
                        concurrency=1, kv_format="bf16"))
    wanted = 27 * 576 * 2 * 8192
    t.assertAlmostEqual(memory["kv_cache_bytes"], wanted, delta=0.02 * wanted)
    # Gemma 3 27B: five of six layers see 1024 tokens, so 32 times the context is far from 32 times the cache.
    short, long = (size(serve("google/gemma-3-27b-it", prompt_tokens=n - 256, output_tokens=256,
                              concurrency=1))["kv_cache_bytes"] for n in (2048, 65536))
    t.assertLess(long, 16 * short)


@case("", "gguf-parser#2: an encoder has no cache")
def _(t):
    memory = size({"task": "inference", "model": "BAAI/bge-m3", "prompt_tokens": 512, "concurrency": 16})
    t.assertEqual(memory["kv_cache_bytes"], 0)
    t.assertLess(memory["total_bytes"], 6e9)


@case("", "llmfit#230: of a mixture of experts all weights take memory, the active ones set the speed")
def _(t):
    workload = {"weight_format": "bf16", "concurrency": 1}
    sparse = ask(serve("Qwen/Qwen3-30B-A3B", **workload), "cards")
    dense = ask(serve("Qwen/Qwen3-32B", **workload), "cards")
    t.assertAlmostEqual(sparse.memory["weights_bytes"], 2 * 30.53e9, delta=0.01 * 2 * 30.53e9)
    t.assertGreater(rate(sparse.one("A100 SXM4 80GB")), 3 * rate(dense.one("A100 SXM4 80GB")))


@case("", "vllm#14450: adapters served beside the model take memory")
def _(t):
    none, many = size(serve()), size(serve(lora_adapters=16, lora_rank=64))
    t.assertGreater(many["total_bytes"], none["total_bytes"] + 16 * 0.25e9)


@case("", "Automodel#1592: the logits of a large vocabulary are counted, and a chunked loss spares them")
def _(t):
    workload = tune(LLAMA_8B, "lora", sequence_length=8192, micro_batch=2)
    plain = size(dict(workload, cross_entropy="plain"))
    chunked = size(dict(workload, cross_entropy="chunked"))
    t.assertGreaterEqual(plain["logits_bytes"], 8192 * 2 * 128256 * 4)
    t.assertLess(chunked["logits_bytes"], plain["logits_bytes"] / 8)


@case("", "aiconfigurator#1159: tokens of cache and the most sequences that fit are part of the answer")
def _(t):
    plan = ask(serve(concurrency=4, weight_format="bf16", kv_format="bf16"), "cards").one("H100")["plan"]
    # 80 GB at 90 % less weights and overhead leave 50 to 58 GB at 131072 bytes a token.
    t.assertGreater(plan["kv_tokens_capacity"], 48e9 / 131072)
    t.assertLess(plan["kv_tokens_capacity"], 58e9 / 131072)
    t.assertAlmostEqual(plan["max_concurrency"], plan["kv_tokens_capacity"] / 1280, delta=2)


@case("", "modal-client#2797: the need is compared with what the driver shows, not with the advertised size")
def _(t):
    usable = {"L4 24GB": 23034, "L40S 48GB": 46068, "H100 SXM5 80GB": 81559, "A100 SXM4 80GB": 81920}
    answer = ask(serve(concurrency=1, weight_format="bf16"), "cards")
    for card, mib in usable.items():
        t.assertLessEqual(answer.one(card)["memory_per_gpu"]["usable_bytes"], mib * 2 ** 20)
        t.assertGreater(answer.one(card)["memory_per_gpu"]["usable_bytes"], 0.97 * mib * 2 ** 20)


@case("", "gpuhunt#91: a card's size is the one on its label, for every provider")
def _(t):
    sizes = {}
    for item in ask(serve("Qwen/Qwen2.5-0.5B", concurrency=1), group="offer").items:
        if item["offer"]["count"] >= 1:
            sizes.setdefault(item["offer"]["accelerator"], set()).add(card_gb(item))
    t.assertGreater(len(sizes), 5)
    for card, found in sizes.items():
        t.assertEqual(len(found), 1, card)
        t.assertIn("%gGB" % found.pop(), card)


@case("", "skypilot#2945: SXM, PCIe and NVL are kept apart, and the family finds them all")
def _(t):
    answer = ask(serve(concurrency=8), filters={"accelerators": ["H100"]}, group="offer")
    found = {i["offer"]["accelerator"] for i in answer.items}
    t.assertLessEqual({"H100 SXM5 80GB", "H100 PCIe 80GB", "H100 NVL 94GB"}, found)
    t.assertTrue(all(name.startswith("H100") for name in found))


@case("", "dstack#1975: a filter that empties the answer is named with what it took away")
def _(t):
    answer = ask(serve(concurrency=8), filters={"accelerators": ["H100"], "countries": ["BR"]})
    t.assertFalse(answer.items)
    counted = {e["reason"]: e["offers"] for e in answer.body["excluded"]}
    t.assertTrue([r for r in counted if r.startswith("filtered")], counted)
    t.assertEqual(sum(counted.values()), answer.body["catalogue"]["offers"])
    t.assertTrue(answer.remedy("relax_filters"))


@case("", "skypilot#3615: an offer of an unknown price never wins, nor does one of nothing")
def _(t):
    answer = ask(serve(concurrency=8), group="offer", objective="usd_per_hour")
    t.assertTrue(all(i["offer"]["usd_per_hour"] > 0 and total(i) > 0 for i in answer.items))


@case("", "dstack#3117: equal prices come in a steady order, more resources first")
def _(t):
    answers = [ask(tune(**WORK), "ties", group="offer") for _ in range(3)]
    order = [[i["offer"]["instance_type"] for i in a.items] for a in answers]
    t.assertEqual(order[0], ["a100-large-ram", "a100-small-ram"])
    t.assertEqual(order[1:], order[:1] * 2)


@case("", "dstack#1386: several ranked offers come back, with other places for the same machine")
def _(t):
    answer = ask(tune(**WORK))
    t.assertGreaterEqual(len(answer.items), 10)
    t.assertEqual([i["rank"] for i in answer.items], list(range(1, len(answer.items) + 1)))
    t.assertTrue([i for i in answer.items if i["alternatives"]])


@case("", "nccl#1161: NVLink bridges join pairs only, so eight bridged cards do not count as a switched node")
def _(t):
    answer = ask(tune("meta-llama/Llama-2-13b-hf", "full", **WORK), "bridges", group="offer")
    bridged, switched = answer.one(instance_type="n3-A100x8-NVLink"), answer.one(instance_type="8xa100")
    t.assertEqual((bridged["fabric"]["node_link"], bridged["fabric"]["domain_gpus"]), ("nvlink_pair", 2))
    t.assertIn("pcie_only", codes(bridged))
    t.assertLess(switched["rank"], bridged["rank"])
    t.assertGreater(rate(switched), rate(bridged))


@case("", "infracost#2359: how it is bought is stated in each answer and can be chosen")
def _(t):
    for kind in ("on_demand", "spot"):
        answer = ask(tune(fault_tolerant=True, **WORK), group="offer", filters={"price_kinds": [kind]})
        t.assertTrue(answer.items)
        t.assertEqual({i["offer"]["price_kind"] for i in answer.items}, {kind})


@case("", "llmfit#302: the context is an input; nothing assumes the model's longest")
def _(t):
    short = size(serve("Qwen/Qwen2.5-7B", prompt_tokens=1000, output_tokens=24, concurrency=1))
    long = size(serve("Qwen/Qwen2.5-7B", prompt_tokens=31744, output_tokens=1024, concurrency=1))
    t.assertGreater(long["kv_cache_bytes"], 30 * short["kv_cache_bytes"])


@case("", "llmfit#449: a speed comes with the range that measurements support")
def _(t):
    answer = ask(serve(concurrency=8), "cards")
    for item in answer.items:
        t.assertLess(item["speed"]["low_factor"], 1)
        t.assertGreater(item["speed"]["high_factor"], 1)
    t.assertGreater(answer.body["accuracy"]["speed"]["n"], 50)


@case("", "An expert reads on: no answer carries a heap of warnings, no sentence is empty or doubled")
def _(t):
    for workload in (tune(**WORK), tune(LLAMA_70B, "qlora", **WORK), serve(requests_per_second=2),
                     serve(LLAMA_70B, concurrency=16)):
        for item in ask(workload).items:
            notes = item["reasons"] + item["warnings"]
            t.assertEqual(len({n["code"] for n in notes}), len(notes))
            t.assertLessEqual(len(item["warnings"]), 8, [n["code"] for n in item["warnings"]])
            for note in notes:
                t.assertRegex(note["text"], r"^([A-Z$0-9]|bitsandbytes|vLLM).*[.]$")
                t.assertNotIn("nan", note["text"].lower().split())
                t.assertNotIn("inf ", note["text"])
                t.assertNotIn("(0 %", note["text"])
                t.assertNotIn(" 0.0 ms", note["text"])
            t.assertLessEqual(gpus(item), 64)


@case("", "A remedy is one: it beats the cheapest answer as asked, whatever the objective, and ends within a year")
def _(t):
    for objective in ("total_cost", "time", "value"):
        for workload in (serve(LLAMA_70B, requests_per_second=0.05), tune(LLAMA_8B, "full", **WORK)):
            cheapest = ask(workload).first
            for remedy in ask(workload, objective=objective).body["remedies"]:
                result = remedy["result"]
                t.assertTrue(total(result) < 0.8 * total(cheapest) or gpus(result) > gpus(cheapest) or
                             cheapest["fit"] == "tight", (objective, remedy["text"]))
    endless = ask(pretrain(LLAMA_70B, total_tokens=15e12), constraints={"max_nodes": 1024, "deadline_hours": 1440})
    t.assertTrue(endless.items)
    for remedy in endless.body["remedies"]:
        t.assertLess(remedy["result"]["time"]["elapsed_seconds"], 366 * 86400, remedy["text"])


@case("", "Copies of a served model need not lie in one zone, the machines of a training job must")
def _(t):
    several = [i for i in ask(serve(requests_per_second=100)).items if i["plan"]["nodes"] > 1]
    t.assertTrue(several)
    for item in several:
        t.assertNotIn("in one zone", text(item, "several_nodes"))
    job = ask(tune(LLAMA_70B, "full", **WORK), constraints={"max_nodes": 8})
    for item in job.items:
        if "several_nodes" in codes(item):
            t.assertIn("in one zone", text(item, "several_nodes"))


@case("", "A small job is never spread over many machines unless time is worth it")
def _(t):
    for workload in (tune(**WORK), serve(requests_per_second=1)):
        for item in ask(workload).items[:10]:
            t.assertEqual(item["plan"]["nodes"], 1)
    bad = post("/v1/recommendations", {"workload": dict(tune(**WORK), micro_batch=0)})
    t.assertEqual(bad.status_code, 422)
