#!/usr/bin/python3
"""What a caller may send: every fault named at once, at its place; nothing ever breaks the service."""
import json
import os
import random
import subprocess
import unittest

from service import Service

WORKLOAD = {"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-8B"}
CONTRACT = json.loads(subprocess.run([os.environ["GPUPICK_PRINT_CONTRACT"]], check=True,
                                     capture_output=True).stdout)


def setUpModule():
    global service
    service = Service()


def tearDownModule():
    assert service.stop() == 0, service.log


def faults(body, path="/v1/recommendations", status=422):
    answer = service.post(path, body)
    assert answer.status_code == status, (answer.status_code, answer.text[:500])
    problem = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert problem["status"] == status
    return {(e["pointer"], e["code"]): e.get("suggestion") for e in problem.get("errors", [])}


class Syntax(unittest.TestCase):
    def malformed(self, body, *words):
        answer = service.post("/v1/recommendations", body)
        self.assertEqual(answer.status_code, 400, answer.text)
        problem = answer.json()
        self.assertEqual(problem["code"], "malformed_request")
        for word in words:
            self.assertIn(word, problem["detail"])

    def test_the_place_is_told(self):
        self.malformed('{\n  "workload": {,}\n}', "line 2, column", "byte")
        self.malformed('{"a": 1', "line 1")
        self.malformed("", "empty")
        self.malformed("[]", "must be a JSON object, not an array")
        for body in ("null", "1", '"x"', "{}{}", "{'a': 1}", '{"a": 1,}', '{"a": NaN}',
                     '{"a": Infinity}', '{"a": 01}', '{"a": "\\ud800"}', '{"a\\u0000": 1}',
                     b'{"a": "\xff"}', b'\xef\xbb\xbf{}', '{"a": 1e999}', '{"a": "\t"}',
                     "// x\n{}", b'{"a": "\0"}', b'{"a": 1}\0', b'\0{"a": 1}'):
            self.malformed(body)
        for body in (b'{"limit": 1\0}', b'{"a": [1\0, 2\0]}', b'{"launch": true\0}'):
            self.malformed(body, "NUL at byte")  # which jansson passes over

    def test_duplicate_keys(self):
        self.malformed('{"workload": {}, "workload": {}}', "duplicate object key", "workload")
        self.malformed('{"workload": {"task": "finetune", "task": "inference"}}', "duplicate")

    def test_depth_is_bounded_before_parsing(self):
        for inner, status in ((29, 422), (30, 400)):
            deep = ('{"workload": {"model": {"config": ' + '{"a":' * inner + "1" + "}" * inner +
                    "}}}")
            self.assertEqual(service.post("/v1/sizing", deep).status_code, status)
        self.malformed(deep, "deeper than 32")
        for size in (100, 10000, 50000):
            self.malformed('{"a":' * size, "deeper than 32")
            self.malformed("[" * size, "deeper than 32")
        # Brackets inside a text are no nesting.
        self.assertIn(("/workload/model", "unknown_model"),
                      faults({"workload": dict(WORKLOAD, model="[" * 100 + '\\"{{{')}))

    def test_size_and_type(self):
        self.assertEqual(service.post("/v1/sizing", b" " * (256 * 1024 + 1)).status_code, 413)
        # One field of 256 KiB less the frame is read.
        self.assertIn(("/workload/model", "too_long"),
                      faults({"workload": dict(WORKLOAD, model="x" * 200000)}))
        for kind in ("text/plain", "application/xml", "application/x-www-form-urlencoded"):
            answer = service.post("/v1/sizing", {"workload": WORKLOAD}, **{"Content-Type": kind})
            self.assertEqual(answer.status_code, 415, kind)
        for kind in ("application/json; charset=utf-8", "APPLICATION/JSON"):
            answer = service.post("/v1/sizing", {"workload": WORKLOAD}, **{"Content-Type": kind})
            self.assertEqual(answer.status_code, 200, kind)


class Fields(unittest.TestCase):
    def test_everything_at_once(self):
        found = faults({
            "workload": {"task": "finetune", "method": "qlorra", "model": "no/such-model",
                         "precison": "bf16", "epochs": "3", "sequence_length": 1.5,
                         "global_batch": 0, "packing": "yes", "concurrency": 4,
                         "base_format": "nf5"},
            "constraints": {"deadline_hours": -1, "max_total_usd": "500", "budget": 1},
            "filters": {"providers": ["runpot", 7], "countries": ["usa"], "price_kinds": "spot",
                        "accelerators": ["H100 SXM5 80Gb", "B2000"], "features": ["sssh"],
                        "min_gpus": 8, "max_gpus": 2, "available_only": 1, "regions": []},
            "objective": "totl_cost", "group": None, "limit": 1000, "a/b~c": True})
        wanted = {
            ("/workload/method", "unknown_value"): "qlora",
            ("/workload/precison", "unknown_field"): "/workload/precision",
            ("/workload/epochs", "type"): None,
            ("/workload/sequence_length", "type"): None,
            ("/workload/global_batch", "out_of_range"): None,
            ("/workload/packing", "type"): None,
            ("/constraints/deadline_hours", "out_of_range"): None,
            ("/constraints/max_total_usd", "type"): None,
            ("/constraints/budget", "unknown_field"): None,
            ("/filters/providers/0", "unknown_value"): "runpod",
            ("/filters/providers/1", "type"): None,
            ("/filters/countries/0", "syntax"): None,
            ("/filters/price_kinds", "type"): None,
            ("/filters/features/0", "unknown_value"): "ssh",
            ("/filters/max_gpus", "conflict"): None,
            ("/filters/available_only", "type"): None,
            ("/filters/regions", "empty"): None,
            ("/objective", "unknown_value"): "total_cost",
            ("/group", "type"): None,
            ("/limit", "out_of_range"): None,
            ("/a~1b~0c", "unknown_field"): None,
        }
        for fault, suggestion in wanted.items():
            self.assertIn(fault, found)
            self.assertEqual(found[fault], suggestion, fault)
        self.assertIn(("/workload/model", "unknown_model"), found)
        self.assertIn(("/workload/base_format", "unknown_value"), found)
        self.assertIn(("/filters/accelerators/1", "unknown_value"), found)
        self.assertNotIn(("/filters/accelerators/0", "unknown_value"), found)

    def test_options_that_do_not_go_together_are_both_named(self):
        for fields in ({"optimizer_in_backward": True, "stack": "megatron"},
                       {"precision": "fp32", "gradient_precision": "half"},
                       {"optimizer": "paged_adamw", "offload": "optimizer"}):
            answer = service.post("/v1/sizing", {"workload": dict(
                fields, task="finetune", method="full", model=WORKLOAD["model"])})
            self.assertEqual(answer.status_code, 422, fields)
            self.assertEqual({(e["pointer"], e["code"]) for e in answer.json()["errors"]},
                             {("/workload/" + name, "contradiction") for name in fields})

    def test_each_field_of_the_table_is_checked(self):
        tokens = {"pretrain": {"task": "pretrain", "model": WORKLOAD["model"]},
                  "finetune": dict(WORKLOAD),
                  "inference": {"task": "inference", "model": WORKLOAD["model"]}}
        pictures = {task: dict(base, model="black-forest-labs/FLUX.1-dev")
                    for task, base in tokens.items()}
        pictures["finetune"] = dict(pictures["pretrain"], task="finetune", method="lora")
        for name, field in CONTRACT["workload"].items():
            if name == "task":
                continue
            self.assertTrue(field["tasks"] or field["media_tasks"], name)
            self.check_tasks(name, field, field["tasks"], tokens)
            self.check_tasks(name, field, field["media_tasks"], pictures)
            if field["tasks"]:
                self.check_values(name, field, tokens[field["tasks"][0]])
            if field["media_tasks"]:
                self.check_values(name, field, pictures[field["media_tasks"][0]])

    # Fields that only some methods or models of their task take.
    OF_SOME = {"method", "lora_rank", "lora_targets", "adapter_size", "prefix_tokens",
               "optimizer_in_backward", "target_length", "prior_preservation",
               "seconds", "fps", "audio_hours", "beams", "images_per_request", "width", "height", "frames"}

    def check_tasks(self, name, field, tasks, bases):
        pointer = "/workload/" + name
        value = {"enum": (field.get("values") or ["x"])[-1], "flag": True,
                 "count": int(float(field["most"])),
                 "number": float(field["most"])}[field["kind"]]
        for task, base in bases.items():
            found = set()
            answer = service.post("/v1/sizing", {"workload": dict(base, **{name: value})})
            if answer.status_code == 422:
                found = {(e["pointer"], e["code"]) for e in answer.json()["errors"]}
            if task not in tasks:
                self.assertIn((pointer, "not_applicable"), found, task)
                continue
            self.assertNotIn((pointer, "not_applicable"),
                             found if name not in self.OF_SOME else set(), task)
            self.assertNotIn((pointer, "out_of_range"), found)
            self.assertNotIn((pointer, "type"), found)

    def check_values(self, name, field, base):
        pointer = "/workload/" + name
        wrong = {"enum": ["no-such", "", 1, None, [], {}, "x" * 300],
                 "count": ["1", 1.5, None, True, [], 10 ** 30, -10 ** 30],
                 "number": ["1", None, True, {}, -1, 1e300],
                 "flag": ["true", 1, 0, None]}[field["kind"]]
        if field["kind"] in ("count", "number"):
            wrong.append(float(field["most"]) * 2)
            if float(field["least"]) > 0:
                wrong.append(float(field["least"]) / 2 if field["kind"] == "number" else 0)
        for value in wrong:
            found = faults({"workload": dict(base, **{name: value})}, "/v1/sizing")
            self.assertIn(pointer, {p for p, _ in found}, (name, value, found))

    def test_whole_numbers_may_be_written_as_reals(self):
        for value in (4096, 4096.0, 4.096e3):
            answer = service.post("/v1/sizing", json.dumps(
                {"workload": dict(WORKLOAD, sequence_length=0)}).replace(
                    '"sequence_length": 0', '"sequence_length": %r' % value))
            self.assertEqual(answer.status_code, 200, answer.text)
            self.assertEqual(answer.json()["workload"]["sequence_length"], 4096)

    def test_required(self):
        self.assertEqual(set(faults({})), {("/workload", "required")})
        self.assertEqual(set(faults({"workload": {}})),
                         {("/workload/task", "required"), ("/workload/model", "required")})
        self.assertEqual(set(faults({"workload": {"task": "finetune", "model": "gpt2"}})) -
                         {("/workload/model", "unknown_model")},
                         {("/workload/method", "required")})
        self.assertEqual(set(faults({"workload": 7})), {("/workload", "type")})

    def test_a_model_that_is_not_known_may_take_any_field(self):
        asked = {"task": "inference", "model": "nobody/draws", "steps": 20, "items": 5, "prompt_tokens": 7}
        self.assertEqual(set(faults({"workload": asked})), {("/workload/model", "unknown_model")})
        self.assertEqual(set(faults({"workload": dict(asked, steps=0)})),
                         {("/workload/model", "unknown_model"), ("/workload/steps", "out_of_range")})

    def test_a_limit_for_the_whole_of_no_amount_of_work_is_refused(self):
        limits = {"deadline_hours": 5, "max_total_usd": 100}
        self.assertEqual(set(faults({"workload": WORKLOAD, "constraints": limits})),
                         {("/constraints/deadline_hours", "needs_amount"),
                          ("/constraints/max_total_usd", "needs_amount")})
        serve = {"task": "inference", "model": "meta-llama/Llama-3.1-8B", "prompt_tokens": 100,
                 "output_tokens": 100, "concurrency": 4}
        self.assertEqual(set(faults({"workload": serve, "constraints": limits})),
                         {("/constraints/deadline_hours", "needs_amount")})  # a month has a total
        for workload in (dict(WORKLOAD, total_tokens=1e6), dict(serve, requests=1000)):
            answer = service.post("/v1/recommendations",
                                  {"workload": workload, "constraints": limits})
            self.assertEqual(answer.status_code, 200, answer.text[:500])

    def test_a_fault_in_a_list_stands_at_its_own_place(self):
        for field in ("providers", "countries", "accelerators"):
            found = faults({"workload": WORKLOAD, "filters": {field: ["", "nowhere"]}})
            self.assertIn(f"/filters/{field}/1", {p for p, _ in found}, found)

    def test_models_of_every_wrong_kind(self):
        for model, code in (({}, "required"), ({"config": {}, "parameters": "1B"}, "conflict"),
                            ({"parameters": {}}, "type"), (7, "type"), (None, "type"),
                            ([], "type"), ("", "empty"), ({"config": "x"}, None),
                            ({"config_text": 7}, "type"), ({"confg": {}}, "unknown_field")):
            found = faults({"workload": dict(WORKLOAD, model=model)})
            self.assertTrue(all(p.startswith("/workload/model") for p, _ in found), found)
            if code:
                self.assertIn(code, {c for _, c in found}, (model, found))

    def test_unknown_keys_in_a_config_are_no_faults_but_beside_it_they_are(self):
        found = faults({"workload": dict(WORKLOAD, model={"config": {"model_type": "no-such"},
                                                          "conf": 1})})
        self.assertIn(("/workload/model/conf", "unknown_field"), found)
        self.assertNotIn(("/workload/model/config/model_type", "unknown_field"), found)

    def test_more_faults_than_fit_are_counted(self):
        answer = service.post("/v1/sizing", {"workload": WORKLOAD,
                                             **{"x%d" % i: 1 for i in range(150)}})
        problem = answer.json()
        self.assertEqual(len(problem["errors"]), 100)
        self.assertEqual(problem["errors_omitted"], 50)
        self.assertIn("150", problem["detail"])

    def test_lenient(self):
        body = {"workload": dict(WORKLOAD, precison="bf16"), "extra": 1}
        self.assertEqual(len(faults(body, "/v1/sizing")), 2)
        for path in ("/v1/sizing", "/v1/recommendations"):
            answer = service.post(path, body, Prefer="handling=lenient")
            self.assertEqual(answer.status_code, 200)
            self.assertEqual({(w["pointer"], w["code"], w["suggestion"])
                              for w in answer.json()["warnings"]},
                             {("/workload/precison", "unknown_field", "/workload/precision"),
                              ("/extra", "unknown_field", None)})
        # Only what is unknown is forgiven.
        answer = service.post("/v1/sizing", dict(body, workload=dict(WORKLOAD, epochs="x")),
                              Prefer="handling=lenient")
        self.assertEqual(answer.status_code, 422)
        self.assertEqual(service.post("/v1/sizing?x=1", {"workload": WORKLOAD},
                                      Prefer="handling=lenient").json()["warnings"][0]["pointer"],
                         "x")
        self.assertEqual(service.post("/v1/sizing?x=1", {"workload": WORKLOAD}).status_code, 400)

    def test_text_comes_back_as_it_was(self):
        for name in ('a"b\\c', "é€😀", "</script>", "%s%n%d", "{{x}}", "\x7f"):
            answer = service.post("/v1/sizing", {"workload": dict(WORKLOAD, model=name)})
            self.assertEqual(answer.status_code, 422)
            self.assertIn(name, answer.json()["errors"][0]["detail"])


class Abuse(unittest.TestCase):
    """Random bodies: always an answer, never a server error, and the service lives on."""

    def setUp(self):
        self.seed = int(os.environ.get("GPUPICK_TEST_SEED", "20261130"))
        self.random = random.Random(self.seed)
        self.good = json.dumps({
            "workload": dict(WORKLOAD, sequence_length=2048, epochs=2, tokens_per_epoch=1e6),
            "constraints": {"deadline_hours": 24, "max_total_usd": 500},
            "filters": {"providers": ["lambda"], "price_kinds": ["on_demand"]}, "limit": 3}).encode()

    def check(self, body):
        for path in ("/v1/recommendations", "/v1/sizing"):
            answer = service.post(path, body)
            self.assertIn(answer.status_code, (200, 400, 413, 422), (self.seed, body))
            answer.json()

    def test_flipped_cut_and_repeated_bytes(self):
        for _ in range(400):
            body = bytearray(self.good)
            for _ in range(self.random.randrange(1, 6)):
                kind, at = self.random.randrange(4), self.random.randrange(len(body))
                if kind == 0:
                    body[at] = self.random.randrange(256)
                elif kind == 1:
                    del body[at:at + self.random.randrange(1, 30)]
                elif kind == 2:
                    body[at:at] = bytes(self.random.choices(b'{}[]",:\\0123456789eE+-.truefalsn',
                                                            k=self.random.randrange(1, 9)))
                else:
                    body += body[at:at + 40]
                if not body:
                    body = bytearray(b"x")
            self.check(bytes(body))

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 4 else 7)
        simple = (None, True, self.random.choice((0, -1, 2 ** 31, 2 ** 63, 10 ** 40, 7)),
                  self.random.choice((0.0, -0.0, 1e-300, 1e300, 0.1, -5.5)),
                  self.random.choice(("", "auto", "bf16", "lora", "x" * 300, "\u2028", "/~")),
                  self.random.choice(list(CONTRACT["workload"])), 3)
        if kind < 7:
            return simple[kind]
        if kind == 7:
            return [self.value(depth + 1) for _ in range(self.random.randrange(5))]
        return {self.random.choice(list(CONTRACT["workload"]) + ["model", "config", "a/b", ""]):
                self.value(depth + 1) for _ in range(self.random.randrange(5))}

    def test_random_values_in_every_place(self):
        names = list(CONTRACT["workload"])
        for _ in range(400):
            workload = dict(WORKLOAD)
            for _ in range(self.random.randrange(1, 5)):
                workload[self.random.choice(names + ["model"])] = self.value()
            body = {"workload": workload}
            for key in ("constraints", "filters", "objective", "group", "limit"):
                if self.random.randrange(4) == 0:
                    body[key] = self.value()
            self.check(json.dumps(body).encode())

    def test_extreme_but_valid_workloads(self):
        for _ in range(300):
            task = self.random.choice(("pretrain", "finetune", "inference"))
            workload = {"task": task, "model": self.random.choice(
                ("meta-llama/Llama-3.1-8B", {"parameters": "1e14"}, {"parameters": 1e6}))}
            if task == "finetune":
                workload["method"] = self.random.choice(CONTRACT["workload"]["method"]["values"])
            for name, field in CONTRACT["workload"].items():
                if task not in field["tasks"] or self.random.randrange(4) or name in workload:
                    continue
                low, high = float(field["least"]), float(field["most"])
                workload[name] = {"enum": self.random.choice(field.get("values") or [0]),
                                  "flag": self.random.random() < 0.5,
                                  "count": int(self.random.choice((low, high))),
                                  "number": self.random.choice((low, high))}[field["kind"]]
            self.check(json.dumps({"workload": workload}).encode())


if __name__ == "__main__":
    unittest.main()
