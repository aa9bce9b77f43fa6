"""Cases about prices, billing and terms."""
from expert.asking import (LLAMA_13B, LLAMA_8B, ask, case, codes, gpus, hourly, post, rate, serve,
                           services, text, total, tune)

WORK = {"tokens_per_epoch": 20e6, "epochs": 1}


@case("T9", "Every price in an answer is an offer of the live table, with its source and its age")
def _(t):
    for item in ask(tune(**WORK)).items[:5]:
        offer = services["bundled"].get("/v1/prices/" + item["offer"]["id"]).json()["offer"]
        t.assertEqual(offer["usd_per_hour"], item["offer"]["usd_per_hour"])
        t.assertEqual(offer["source"], "bundled")
        t.assertGreater(item["price_age_seconds"], 0)
        t.assertIn("bundled_price", codes(item))
        t.assertAlmostEqual(hourly(item), offer["usd_per_hour"] * item["plan"]["nodes"], delta=1e-6)


@case("T9", "The same card differs by provider, and each provider's price is ranked on its own")
def _(t):
    answer = ask(tune(LLAMA_8B, "lora", **WORK), group="offer", filters={"accelerators": ["H100 SXM5 80GB"]})
    single = [i for i in answer.items if gpus(i) == 1]
    t.assertGreaterEqual(len({i["offer"]["provider"] for i in single}), 3)
    t.assertGreater(max(map(hourly, single)), 2 * min(map(hourly, single)))
    totals = [total(i) for i in answer.items if i["fit"] == "fits"]
    t.assertEqual(totals, sorted(totals))


@case("T9", "Old prices can be left out, and the answer says how many that were")
def _(t):
    answer = ask(tune(**WORK), filters={"max_price_age_seconds": 3600})
    t.assertFalse(answer.items)
    t.assertGreater(answer.excluded("stale")["offers"], 500)


@case("G7a", "A short burst is cheaper billed by the second, and every start is paid for")
def _(t):
    burst = serve(mode="batch", requests=2000, concurrency=64)
    answer = ask(burst, "billing")
    seconds, hours = answer.one(provider="runpod"), answer.one(provider="vultr")
    t.assertLess(seconds["time"]["wall_seconds"], 3600)
    t.assertLess(total(seconds), total(hours))
    t.assertGreater(seconds["cost"]["billed_seconds"], seconds["time"]["run_seconds"])


@case("G7a", "An endpoint that is not always on costs what it is up: nothing at idle if it may go to none")
def _(t):
    workload = serve(requests_per_second=5, peak_requests_per_second=40, min_replicas=0)
    service = ask(workload, "cards").first["service"]
    t.assertEqual(service["idle"]["usd_per_hour"], 0)
    t.assertGreater(service["mean"]["usd_per_hour"], 0)
    t.assertGreater(service["peak"]["usd_per_hour"], service["mean"]["usd_per_hour"])
    kept = ask(dict(workload, min_replicas=1), "cards").first["service"]
    t.assertGreater(kept["idle"]["usd_per_hour"], 0)


@case("G7b", "Spot serves tolerant batches and is never offered for an always-on endpoint")
def _(t):
    batch = ask(serve(mode="batch", requests=1e6, concurrency=64), group="offer")
    t.assertEqual(batch.first["offer"]["price_kind"], "spot")
    for tolerant in (False, True):
        online = ask(serve(mode="interactive", requests_per_second=2, fault_tolerant=tolerant), group="offer")
        t.assertTrue(online.items)
        t.assertFalse([i for i in online.items if i["offer"]["price_kind"] == "spot"], tolerant)
    t.assertTrue(online.excluded("spot_not_tolerated"))
    t.assertEqual([w["code"] for w in online.body["warnings"]], ["no_effect"])


@case("G7b", "A spot price already counts what interruptions cost, and still wins where it is low enough")
def _(t):
    workload = tune(LLAMA_13B, "lora", tokens_per_epoch=200e6, epochs=1, fault_tolerant=True)
    answer = ask(workload, "spot", group="offer")
    spot, demand = answer.one(price_kind="spot"), answer.one(price_kind="on_demand")
    t.assertLess(total(spot), total(demand))
    t.assertGreater(total(spot) / total(demand), hourly(spot) / hourly(demand))
    t.assertGreater(spot["time"]["wall_seconds"], demand["time"]["wall_seconds"])
    often = ask(workload, "spot", group="offer", assumptions={"spot_interruptions_per_hour": 20})
    t.assertLess(total(often.one(price_kind="on_demand")), total(often.one(price_kind="spot")))


@case("G7c", "Storage is counted beside GPU time, and decides where much is kept for long")
def _(t):
    workload = tune(LLAMA_13B, "qlora", tokens_per_epoch=50e6, epochs=1, hours_per_day=1, dataset_gb=2000)
    answer = ask(workload, "storage")
    dear, cheap = answer.one(provider="lambda"), answer.one(provider="runpod")
    t.assertLess(hourly(dear), hourly(cheap))
    t.assertGreater(dear["cost"]["storage_usd"], 2 * cheap["cost"]["storage_usd"])
    t.assertLess(cheap["rank"], dear["rank"])
    light = ask(tune(LLAMA_13B, "qlora", tokens_per_epoch=50e6, epochs=1), "storage")
    t.assertEqual(light.first["offer"]["provider"], "lambda")


@case("G7c", "Checkpoints pile up: keeping more of them costs more storage")
def _(t):
    workload = tune(LLAMA_13B, "full", tokens_per_epoch=200e6, epochs=1)
    few = ask(workload, "nodes").first
    many = ask(workload, "nodes", assumptions={"checkpoints_kept": 40}).one(
        instance_type=few["offer"]["instance_type"])
    # A checkpoint to resume from holds weights and Adam's states: at least 10 bytes a parameter.
    months = few["time"]["wall_seconds"] / (365.25 / 12 * 86400)
    t.assertGreater(many["cost"]["storage_usd"] - few["cost"]["storage_usd"],
                    0.9 * 38 * 10 * 13.0 * 0.07 * months)


@case("G7c", "Large weights take time to arrive, and the time is billed")
def _(t):
    small = ask(serve(LLAMA_8B, mode="batch", requests=1000, weight_format="bf16")).one("H200", 1)
    large = ask(serve("Qwen/Qwen2.5-32B", mode="batch", requests=1000, weight_format="bf16")).one("H200", 1)
    # 49 GB more at 0.25 GB/s.
    t.assertGreater(large["cost"]["start_seconds"] - small["cost"]["start_seconds"], 190)


@case("F4d", "By hand: twelve sessions billed by the hour are at least twelve hours, by the second their own time")
def _(t):
    workload = tune(LLAMA_8B, "qlora", tokens_per_epoch=1e6, epochs=1, sessions=12)
    answer = ask(workload, "billing")
    hours, seconds = answer.one(provider="vultr"), answer.one(provider="runpod")
    t.assertEqual(hours["cost"]["billed_seconds"], 12 * 3600)
    t.assertAlmostEqual(hours["cost"]["compute_usd"], 12 * 1.39, delta=1e-6)
    t.assertAlmostEqual(seconds["cost"]["compute_usd"], 1.49 * seconds["cost"]["billed_seconds"] / 3600,
                        delta=0.01)
    t.assertAlmostEqual(seconds["cost"]["billed_seconds"], seconds["time"]["wall_seconds"], delta=12)
    # Four sessions of an hour and a quarter, and their starts of some minutes, are eight hours.
    workload = dict(workload, tokens_per_epoch=rate(hours) * 4 * 1.25 * 3600, sessions=4)
    t.assertEqual(ask(workload, "billing").one(provider="vultr")["cost"]["billed_seconds"], 8 * 3600)


@case("T7b", "Without tolerance for interruptions the saving on spot is offered as a remedy, with checkpoints")
def _(t):
    answer = ask(tune(LLAMA_13B, "full", tokens_per_epoch=500e6, epochs=1))
    remedy = answer.remedy("spot")
    t.assertTrue(remedy, [r["code"] for r in answer.body["remedies"]])
    t.assertLess(total(remedy["result"]), total(answer.first))
    t.assertEqual(remedy["result"]["offer"]["price_kind"], "spot")
    t.assertIn("checkpoints", remedy["text"])
    t.assertRegex(remedy["text"], r"in all, after [0-9.]+ (min|h|days)")


@case("", "A deadline leaves out what ends too late, and names what missed it by least")
def _(t):
    workload = tune(LLAMA_13B, "full", tokens_per_epoch=500e6, epochs=1)
    free = ask(workload, "nodes")
    limit = min(i["time"]["elapsed_seconds"] for i in free.items) / 3600 * 1.05
    tight = ask(workload, "nodes", constraints={"deadline_hours": limit})
    t.assertTrue(tight.items)
    t.assertLess(len(tight.items), len(free.items))
    t.assertTrue(all(i["time"]["elapsed_seconds"] <= limit * 3600 for i in tight.items))
    missed = [e for e in tight.body["excluded"] if "deadline" in e["reason"] or "slow" in e["reason"]]
    t.assertTrue(missed and missed[0]["nearest"]["text"], [e["reason"] for e in tight.body["excluded"]])


@case("", "The Pareto front holds the cheapest and the soonest, and nothing that another beats in both")
def _(t):
    items = [i for i in ask(tune(LLAMA_13B, "lora", **WORK), group="offer").items if i["fit"] == "fits"]
    front = [i for i in items if i["pareto"]]
    t.assertIn(items[0], front)
    for item in front:
        for other in items:
            t.assertFalse(total(other) < total(item) and
                          other["time"]["elapsed_seconds"] < item["time"]["elapsed_seconds"])
    t.assertTrue(rate(front[0]) > 0 and text(front[0], "best"))


@case("", "An unknown provider or card in a filter is an error with the nearest name, not an empty answer")
def _(t):
    answer = post("/v1/recommendations", {"workload": tune(**WORK), "filters": {
        "providers": ["runpodd"], "accelerators": ["A100-8"]}}).json()
    faults = {f["pointer"]: f for f in answer["errors"]}
    t.assertEqual(sorted(faults), ["/filters/accelerators/0", "/filters/providers/0"])
    t.assertEqual(faults["/filters/providers/0"]["suggestion"], "runpod")
