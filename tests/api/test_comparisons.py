#!/usr/bin/python3
"""POST /v1/comparisons: every variant is what it would be on its own, and the figures between them."""
import copy
import os
import random
import unittest

from service import Service, exact, without_ages

BASE = {"task": "finetune", "model": "meta-llama/Llama-3.1-8B", "sequence_length": 2048,
        "tokens_per_epoch": 1e7, "lora_rank": 16}
SERVING = {"task": "inference", "model": "meta-llama/Llama-3.1-8B", "prompt_tokens": 1000,
           "output_tokens": 200, "concurrency": 8}


def setUpModule():
    global service
    service = Service()


def tearDownModule():
    assert service.stop() == 0, service.log


def merge(base, patch):
    """RFC 7396, section 2, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def compare(workload, variants, **rest):
    answer = service.post("/v1/comparisons", {"workload": workload, "variants": variants, **rest})
    assert answer.status_code == 200, answer.text
    return exact(answer)


def faults(workload, variants, **rest):
    answer = service.post("/v1/comparisons", {"workload": workload, "variants": variants, **rest})
    assert answer.status_code == 422, answer.text
    return {(e["pointer"], e["code"]) for e in answer.json()["errors"]}


class Variants(unittest.TestCase):
    def test_each_is_what_it_would_be_on_its_own(self):
        base = {"workload": BASE, "constraints": {"max_total_usd": 500, "deadline_hours": 50},
                "filters": {"providers": ["aws", "verda", "vast"], "max_gpus": 8}}
        variants = [
            {"name": "lora", "workload": {"method": "lora"}},
            {"name": "full", "workload": {"method": "full", "lora_rank": None}},
            {"name": "one GPU", "workload": {"method": "qlora"}, "filters": {"max_gpus": 1}},
            {"name": "anywhere", "workload": {"method": "qlora"}, "filters": None,
             "constraints": {"deadline_hours": None}, "objective": "time"},
            {"name": "other model", "workload": {"method": "lora", "model": {"parameters": "3B"}}},
            {"name": "too small", "workload": {"method": "full", "lora_rank": None},
             "filters": {"accelerators": ["T4 16GB"], "max_gpus": 1}}]
        answer = compare(base["workload"], variants, limit=3, constraints=base["constraints"],
                         filters=base["filters"])
        self.assertEqual([v["name"] for v in answer["variants"]], [v["name"] for v in variants])
        for variant, given in zip(answer["variants"], variants):
            body = merge(base, {k: v for k, v in given.items() if k != "name"})
            alone = exact(service.post("/v1/recommendations", dict(body, limit=3)))
            for key in ("workload", "memory", "recommendations", "accuracy"):
                self.assertEqual(without_ages(variant[key]), without_ages(alone[key]), given)
            fits = bool(alone["recommendations"])
            self.assertEqual(variant["outcome"], "fits" if fits else "nothing_fits")
            for key in ("excluded", "remedies"):
                self.assertEqual(without_ages(variant[key]),
                                 [] if fits else without_ages(alone[key]))
        self.assertEqual(answer["variants"][-1]["outcome"], "nothing_fits")
        self.assertTrue(answer["variants"][-1]["excluded"])

    def test_figures_against_the_first(self):
        answer = compare(BASE, [{"name": m, "workload": {"method": m}} for m in ("lora", "qlora")])
        first = answer["variants"][0]
        for variant in answer["variants"]:
            best = variant["recommendations"][0]
            self.assertEqual(variant["cost_usd"], best["cost"]["total_usd"])
            self.assertEqual((variant["cost_basis"], variant["time_basis"]), ("run", "run"))
            self.assertAlmostEqual(float(variant["seconds"]), float(best["time"]["wall_seconds"]),
                                   delta=0.06)
            ratios = variant["against_first"]
            for ratio, value in (("cost_ratio", lambda v: float(v["cost_usd"])),
                                 ("time_ratio", lambda v: float(v["seconds"])),
                                 ("memory_ratio", lambda v: v["memory"]["total_bytes"])):
                self.assertAlmostEqual(float(ratios[ratio]), value(variant) / value(first),
                                       delta=1e-3)
        by_cost = sorted(answer["variants"], key=lambda v: float(v["cost_usd"]))
        by_time = sorted(answer["variants"], key=lambda v: float(v["seconds"]))
        self.assertEqual(answer["comparison"]["cheapest"], by_cost[0]["name"])
        self.assertEqual(answer["comparison"]["fastest"], by_time[0]["name"])
        self.assertEqual(answer["comparison"]["least_memory"], "qlora")
        text = answer["variants"][1]["against_first"]["text"]
        self.assertIn("instead of", text)

    def test_a_month_and_a_run_are_not_compared(self):
        answer = compare(SERVING, [{"name": "service"},
                                   {"name": "batch", "workload": {"mode": "batch",
                                                                  "requests": 1e5}}])
        service_, batch = answer["variants"]
        self.assertEqual((service_["cost_basis"], batch["cost_basis"]), ("month", "run"))
        self.assertIsNone(batch["against_first"]["cost_ratio"])
        self.assertIsNone(batch["against_first"]["time_ratio"])
        self.assertIsNone(answer["comparison"]["cheapest"])

    def test_a_request_takes_until_its_last_token(self):
        variant = compare(SERVING, [{"name": "a"}, {"name": "b"}])["variants"][0]
        speed = variant["recommendations"][0]["speed"]
        self.assertEqual(variant["time_basis"], "request")
        self.assertAlmostEqual(float(variant["seconds"]), float(speed["ttft_seconds"]) +
                               199 * float(speed["tpot_seconds"]), delta=2e-3)

    def test_sixteen_at_most(self):
        variants = [{"name": str(i), "workload": {"method": "qlora", "lora_rank": i + 1}}
                    for i in range(16)]
        self.assertEqual(len(compare(BASE, variants)["variants"]), 16)
        self.assertIn(("/variants", "too_many"), faults(BASE, variants + [{"name": "17"}]))
        self.assertIn(("/variants", "too_few"), faults(BASE, variants[:1]))
        self.assertIn(("/variants", "empty"), faults(BASE, []))

    def test_faults_of_the_base_are_told_when_nothing_can_be_laid_over_it(self):
        self.assertEqual(faults({"task": "x"}, None, filters={"q": 1}),
                         {("/variants", "type"), ("/workload/task", "unknown_value"), ("/filters/q", "unknown_field")})
        self.assertEqual(faults([], [{"name": "a"}, {"name": "b"}], filters={"q": 1}),
                         {("/workload", "type"), ("/filters/q", "unknown_field")})


class Faults(unittest.TestCase):
    def test_they_are_named_where_they_are(self):
        lora, full = {"name": "lora", "workload": {"method": "lora"}}, {"name": "full"}
        wrong = dict(BASE, model="meta-llama/Llama-3.1-8Bx", epoch=2)
        cases = (
            # What all variants share and none brought is the base's, once.
            (wrong, [lora, dict(lora, name="b")],
             {("/workload/model", "unknown_model"), ("/workload/epoch", "unknown_field")}),
            # The base is good for one variant and not for the other.
            (BASE, [lora, dict(full, workload={"method": "full"})],
             {("/variants/1/workload/lora_rank", "not_applicable")}),
            # The same mistake in each variant is each one's own.
            (BASE, [dict(lora, workload={"method": "x"}), dict(full, workload={"method": "x"})],
             {("/variants/0/workload/method", "unknown_value"),
              ("/variants/1/workload/method", "unknown_value")}),
            (BASE, [lora, dict(lora, limit=3, filters={"countries": ["USA", "FI"]},
                               workload={"method": "lora", "a/b~c": 1}), 7],
             {("/variants/1/limit", "unknown_field"), ("/variants/1/name", "conflict"),
              ("/variants/1/filters/countries/0", "syntax"),
              ("/variants/1/workload/a~1b~0c", "unknown_field"), ("/variants/2", "type")}),
            (BASE, [lora, {"workload": None, "name": "none"}],
             {("/variants/1/workload", "required")}),
            (BASE, [{"workload": {"method": "lora"}}, dict(lora, name="")],
             {("/variants/0/name", "required"), ("/variants/1/name", "empty")}),
            (5, [lora, full], {("/workload", "type")}))
        for workload, variants, wanted in cases:
            self.assertEqual(faults(workload, variants), wanted)

    def test_a_suggestion_points_to_where_the_fault_is(self):
        answer = service.post("/v1/comparisons", {
            "workload": dict(BASE, sequence_lenght=1),
            "variants": [{"name": "a", "workload": {"method": "lora"}},
                         {"name": "b", "workload": {"method": "lora", "epoch": 1}}]}).json()
        self.assertEqual({e["pointer"]: e.get("suggestion") for e in answer["errors"]},
                         {"/workload/sequence_lenght": "/workload/sequence_length",
                          "/variants/1/workload/epoch": "/variants/1/workload/epochs"})

    def test_lenient_ones_are_warnings(self):
        body = {"workload": dict(BASE, x=1),
                "variants": [{"name": "a", "workload": {"method": "lora"}},
                             {"name": "b", "workload": {"method": "lora", "y": 1}, "z": 1}]}
        answer = service.post("/v1/comparisons", body, Prefer="handling=lenient").json()
        self.assertEqual({w["pointer"] for w in answer["warnings"]},
                         {"/workload/x", "/variants/1/workload/y", "/variants/1/z"})

    def test_random_bodies_are_answered_and_pointers_lead_somewhere(self):
        source = random.Random(int(os.environ.get("GPUPICK_TEST_SEED", "11")))
        values = (None, True, 0, -1, 8, 1e300, "", "lora", "spot", [], ["x"], [1], {}, {"x": {}},
                  {"parameters": "7B"}, {"method": "lora"}, {"max_gpus": 1}, {"max_nodes": 0})
        names = ("workload", "constraints", "filters", "objective", "group", "limit", "launch",
                 "name", "variants", "model", "method", "task", "lora_rank", "max_gpus", "x~/y")
        seen = set()
        for _ in range(400):
            body = {"workload": dict(BASE), "variants": [
                {"name": "a", "workload": {"method": "lora"}},
                {"name": "b", "workload": {"method": "qlora"}}]}
            for _ in range(source.choice((1, 2, 4))):
                target = source.choice([body, body["workload"]] + [
                    part for v in body.get("variants") or () if isinstance(v, dict)
                    for part in (v, v.get("workload")) if isinstance(part, dict)])
                if isinstance(target, dict):
                    target[source.choice(names)] = copy.deepcopy(source.choice(values))
                if not isinstance(body["workload"], dict) or not isinstance(
                        body["variants"], list):
                    break
            answer = service.post("/v1/comparisons", body)
            self.assertIn(answer.status_code, (200, 422), (body, answer.text))
            seen.add(answer.status_code)
            for fault in answer.json().get("errors", ()):
                at = body
                for part in fault["pointer"].split("/")[1:-1]:
                    key = part.replace("~1", "/").replace("~0", "~")
                    at = at[int(key)] if isinstance(at, list) else at.get(key)
                    if at is None: # the base's part, that the variant does not repeat
                        break
                self.assertTrue(at is None or isinstance(at, (dict, list)), (body, fault))
        self.assertEqual(seen, {200, 422})

    def test_a_flood_of_faults_is_answered_soon(self):
        flood = dict(BASE, **{"x%d" % i: 1 for i in range(5000)})
        variants = [{"name": str(i), "workload": {"method": "lora"}} for i in range(16)]
        answer = service.post("/v1/comparisons", {"workload": flood, "variants": variants})
        self.assertEqual(answer.status_code, 422)
        self.assertEqual(len(answer.json()["errors"]), 100)
        self.assertLess(answer.elapsed.total_seconds(), 2)

    def test_a_large_config_is_not_copied_for_each(self):
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
                  "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                  "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
                  "padding": list(range(20000))}
        variants = [{"name": str(i), "workload": {"method": "lora", "lora_rank": i + 1}}
                    for i in range(16)]
        answer = compare(dict(BASE, model={"config": config}), variants)
        self.assertTrue(all(v["outcome"] == "fits" for v in answer["variants"]))


class Base(unittest.TestCase):
    def test_the_order_of_variants_changes_no_figure(self):
        variants = [{"name": m, "workload": {"method": m}} for m in ("lora", "qlora")]
        there = compare(BASE, variants)["variants"]
        back = compare(BASE, copy.deepcopy(variants)[::-1])["variants"]
        for key in ("cost_usd", "seconds", "recommendations"):
            self.assertEqual([without_ages({"x": v[key]}) for v in there],
                             [without_ages({"x": v[key]}) for v in back[::-1]])


if __name__ == "__main__":
    unittest.main()
