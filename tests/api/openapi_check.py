#!/usr/bin/python3
"""The contract, both ways: what openapi.yaml says the service does, and what it does is said there.

Real answers are validated with every object closed, so that a field that is not documented fails too.
"""
import copy
import json
import os
import random
import re
import subprocess
import unittest

import jsonschema
import yaml
from service import BINARY, ROOT, Service

METHODS = ("get", "post", "put", "patch", "delete")
OPS = ("/livez", "/readyz", "/startupz", "/metrics")
NEED_DATABASE = ("getPriceHistory",)  # their good answers are checked where there is one: test_history.py
resolvers = {}


def load():
    with open(os.path.join(ROOT, "openapi", "openapi.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def close(schema):
    """Additive evolution lets a client meet unknown fields; this service must document all it sends."""
    if isinstance(schema, list):
        for part in schema:
            close(part)
    elif isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        for part in schema.values():
            close(part)


def read_contract():
    global contract, closed, operations
    contract = load()
    closed = copy.deepcopy(contract)
    close(closed["components"])
    operations = {}
    for path, item in contract["paths"].items():
        for method in METHODS:
            if method in item:
                operations[item[method]["operationId"]] = (method, path, item[method])


def setUpModule():
    global service, tables
    service = Service()
    read_contract()
    tables = json.loads(subprocess.run([os.environ["GPUPICK_PRINT_CONTRACT"]], check=True,
                                       capture_output=True).stdout)


def tearDownModule():
    assert service.stop() == 0, service.log


def resolve(node):
    while "$ref" in node:
        target = contract
        for part in node["$ref"][2:].split("/"):
            target = target[part]
        node = target
    return node


def errors(schema, value, document=None):
    document = closed if document is None else document
    if id(document) not in resolvers:
        resolvers[id(document)] = jsonschema.RefResolver("", document)
    validator = jsonschema.Draft202012Validator(schema, resolver=resolvers[id(document)])
    found = []
    for error in validator.iter_errors(value):
        for inner in error.context or [error]: # of a oneOf: why each branch fails
            found.append("%s: %s" % (list(inner.absolute_path), inner.message[:300]))
    return found


class Document(unittest.TestCase):
    def test_it_is_what_the_service_serves(self):
        answer = service.get("/openapi.yaml")
        self.assertEqual(yaml.safe_load(answer.content), contract)
        self.assertEqual(answer.headers["Content-Type"], "application/yaml")

    def test_every_schema_is_a_schema(self):
        for name, schema in contract["components"]["schemas"].items():
            with self.subTest(name):
                jsonschema.Draft202012Validator.check_schema(schema)
                for required in schema.get("required", ()):
                    self.assertIn(required, schema["properties"])

    def test_it_can_be_turned_into_3_0(self):
        """No keyword that 3.0 lacks and cannot express: types are one, or one and null."""
        def walk(node, where):
            if isinstance(node, dict):
                kind = node.get("type")
                if isinstance(kind, list):
                    self.assertEqual((len(kind), kind[1]), (2, "null"), where)
                for keyword in ("const", "prefixItems", "patternProperties", "if", "then", "$defs",
                                "unevaluatedProperties", "contains", "dependentRequired"):
                    self.assertNotIn(keyword, node, where)
                for key, value in node.items():
                    walk(value, where + "/" + str(key))
            elif isinstance(node, list):
                for value in node:
                    walk(value, where)
        walk(contract["components"]["schemas"], "")


class Routes(unittest.TestCase):
    def test_both_ways(self):
        printed = subprocess.run([BINARY, "routes"], check=True, capture_output=True, text=True)
        routes = set()
        for line in printed.stdout.splitlines():
            method, pattern, operation = line.split("\t")
            routes.add((method, re.sub(r"\{\*?\}", "{}", pattern), operation))
        documented = {(method.upper(), re.sub(r"\{\w+\}", "{}", path), operation)
                      for operation, (method, path, _) in operations.items()}
        self.assertEqual(routes, documented)

    def test_ops_are_on_their_own_port(self):
        for operation, (_, path, _) in operations.items():
            self.assertEqual(path in OPS, "servers" in contract["paths"][path], operation)
            if path in OPS:
                self.assertEqual(service.get(path).status_code, 404)

    def test_other_methods_are_refused_with_allow(self):
        for operation, (method, path, _) in operations.items():
            if path in OPS:
                continue
            url = service.url(re.sub(r"\{\w+\}", "x", path))
            for other in METHODS:
                if other == method:
                    continue
                answer = service.session.request(other.upper(), url)
                self.assertEqual(answer.status_code, 405, (other, path))
                self.assertIn(method.upper(), answer.headers["Allow"])


class Tables(unittest.TestCase):
    def test_workload_fields(self):
        properties = contract["components"]["schemas"]["Workload"]["properties"]
        self.assertEqual(set(properties) - {"model"}, set(tables["workload"]))
        for name, field in tables["workload"].items():
            schema = resolve(properties[name])
            with self.subTest(name):
                if field["kind"] == "enum":
                    self.assertEqual(schema["enum"], field["values"])
                elif field["kind"] == "flag":
                    self.assertEqual(schema["type"], "boolean")
                else:
                    self.assertEqual(schema["type"],
                                     {"count": "integer", "number": "number"}[field["kind"]])
                    self.assertEqual(schema["minimum"], float(field["least"]))
                    self.assertEqual(schema["maximum"], float(field["most"]))
        answered = contract["components"]["schemas"]["NormalisedWorkload"]["properties"]
        self.assertEqual(set(answered) - {"tokens", "defaults", "model", "media_tokens",
                                          "media_share_of_context", "tower_patches", "windows"}, set(tables["workload"]))

    def test_assumptions(self):
        asked = contract["components"]["schemas"]["Assumptions"]["properties"]
        answered = contract["components"]["schemas"]["StatedAssumptions"]["properties"]
        self.assertEqual(set(asked), set(tables["assumptions"]))
        self.assertEqual(set(answered) - {"defaults"}, set(tables["assumptions"]))
        for name, field in tables["assumptions"].items():
            with self.subTest(name):
                self.assertEqual(asked[name]["minimum"], float(field["least"]))
                self.assertEqual(asked[name]["maximum"], float(field["most"]))
                self.assertEqual(str(float(asked[name].get("default", "nan"))), str(float(field["value"])))

    def test_other_enums(self):
        schemas = contract["components"]["schemas"]
        request = schemas["RecommendationRequest"]["properties"]
        filters = schemas["Filters"]["properties"]
        self.assertEqual(request["objective"]["enum"], tables["enums"]["objective"])
        self.assertEqual(request["group"]["enum"], tables["enums"]["group"])
        self.assertEqual(filters["features"]["items"]["enum"], tables["enums"]["feature"])
        self.assertEqual(filters["price_kinds"]["items"]["enum"], tables["enums"]["price_kind"])
        self.assertEqual(set(schemas["Accelerator"]["properties"]["prices"]["properties"]),
                         set(tables["enums"]["price_kind"]))

    def test_price_parameters(self):
        _, _, operation = operations["listPrices"]
        documented = {p["name"] for p in map(resolve, operation["parameters"]) if p["in"] == "query"}
        self.assertEqual(documented, set(tables["price_parameters"]))

    def test_documented_parameters_are_taken_and_their_examples_work(self):
        for name, (method, path, operation) in operations.items():
            if method != "get" or path in OPS:
                continue
            filled = path
            parameters = [resolve(p) for p in operation.get("parameters", ())]
            for parameter in parameters:
                if parameter["in"] == "path":
                    example = parameter.get("example") or service.get(
                        "/v1/prices?limit=1").json()["items"][0]["id"]
                    filled = filled.replace("{%s}" % parameter["name"], example)
            for parameter in parameters:
                if parameter["in"] == "query" and "example" in parameter:
                    answer = service.get(filled, params={parameter["name"]: parameter["example"]})
                    self.assertEqual(answer.status_code, 503 if name in NEED_DATABASE else 200,
                                     (name, parameter["name"], answer.text))


class Answers(unittest.TestCase):
    def check(self, operation, answer):
        _, _, documented = operations[operation]
        status = str(answer.status_code)
        self.assertIn(status, documented["responses"], (operation, answer.text[:300]))
        response = resolve(documented["responses"][status])
        for name in response.get("headers", {}):
            if name not in ("Link",):
                self.assertIn(name, answer.headers, (operation, status))
        for name, header in response.get("headers", {}).items():
            if name in answer.headers:
                value = answer.headers[name]
                schema = resolve(header)["schema"]
                if schema["type"] == "integer":
                    value = int(value)
                self.assertEqual(errors(schema, value), [], name)
        if "content" not in response:
            self.assertEqual(answer.content, b"")
            return
        kind = answer.headers["Content-Type"].split(";")[0]
        self.assertIn(kind, response["content"], operation)
        schema = response["content"][kind]["schema"]
        value = answer.json() if kind.endswith("json") else answer.text
        found = errors(schema, value)
        self.assertEqual(found[:5], [], "%s %s" % (operation, status))

    def test_good_answers(self):
        offer = service.get("/v1/prices?limit=1").json()["items"][0]["id"]
        cards = [c["name"] for c in service.get("/v1/accelerators").json()["items"]]
        self.check("listPrices", service.get("/v1/prices?limit=1000"))
        self.check("listPrices", service.get("/v1/prices?limit=2"))
        self.check("listPrices", service.get("/v1/prices?format=csv"))
        self.check("getPrice", service.get("/v1/prices/" + offer))
        self.check("listAccelerators", service.get("/v1/accelerators"))
        for card in cards[::7]:
            self.check("getAccelerator", service.get("/v1/accelerators/" + card))
        self.check("listModels", service.get("/v1/models"))
        self.check("getModel", service.get("/v1/models/meta-llama/Llama-3.1-70B"))
        self.check("listProviders", service.get("/v1/providers"))
        self.check("getProvider", service.get("/v1/providers/runpod"))
        self.check("getOpenapi", service.get("/openapi.yaml"))
        tag = service.get("/v1/prices?limit=1").headers["ETag"]
        self.check("listPrices", service.get("/v1/prices?limit=1", headers={"If-None-Match": tag}))

    def test_ops(self):
        empty = Service(with_prices=False)
        try:
            for source in (service, empty):
                for operation, (_, path, _) in operations.items():
                    if path in OPS:
                        self.check(operation, source.session.get(source.url(path, "ops")))
            self.check("listPrices", empty.get("/v1/prices"))
            self.check("createRecommendation", empty.post("/v1/recommendations", {}))
        finally:
            empty.stop()

    def test_decisions(self):
        models = ("meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-8B", {"parameters": "13B"})
        for model in models:
            for workload in (
                    {"task": "pretrain", "total_tokens": 1e9},
                    {"task": "finetune", "method": "full", "stack": "megatron"},
                    {"task": "finetune", "method": "lora", "stack": "unsloth", "examples": 1000},
                    {"task": "finetune", "method": "qlora", "fault_tolerant": True,
                     "tokens_per_epoch": 1e7, "epochs": 2},
                    {"task": "inference"}, {"task": "inference", "mode": "batch", "requests": 1e6},
                    {"task": "inference", "engine": "llama_cpp", "requests_per_second": 0.5}):
                body = {"workload": dict(workload, model=model)}
                self.assertEqual(errors({"$ref": "#/components/schemas/SizingRequest"}, body,
                                        contract), [])
                self.check("createSizing", service.post("/v1/sizing", body))
                for limits in ({}, {"max_nodes": 4}, {"deadline_hours": 0.01}):
                    self.check("createRecommendation", service.post(
                        "/v1/recommendations", dict(body, constraints=limits, limit=100,
                                                    launch=True)))
                variants = [{"name": "as it is"}, {"name": "small", "filters": {
                    "accelerators": ["T4 16GB"], "max_gpus": 1}, "constraints": None}]
                body.update(variants=variants, limit=2, constraints={"max_usd_per_hour": 40})
                self.assertEqual(errors({"$ref": "#/components/schemas/ComparisonRequest"}, body,
                                        contract), [])
                self.check("createComparison", service.post("/v1/comparisons", body))

    def test_problems(self):
        for path, name in (("/v1/sizing", "createSizing"),
                           ("/v1/recommendations", "createRecommendation"),
                           ("/v1/comparisons", "createComparison")):
            for body in ("{", {}, {"workload": {"task": "x", "model": "y", "z": 1}},
                         {"workload": {"task": "inference", "model": "no/such"}}, "x" * 300000,
                         {"workload": 1, **{"x%d" % i: 1 for i in range(150)}}):
                self.check(name, service.post(path, body))
            self.check(name, service.post(path, "{}", **{"Content-Type": "text/plain"}))
            self.check(name, service.post(path, "{}", Accept="image/png"))
        self.check("listPrices", service.get("/v1/prices?limit=0&x=1"))
        self.check("listPrices", service.get("/v1/prices", headers={"Accept": "image/png"}))
        self.check("getPrice", service.get("/v1/prices/0123456789abcdef"))
        self.check("getPriceHistory", service.get("/v1/prices/0123456789abcdef/history"))
        self.check("getPriceHistory", service.get("/v1/prices/x/history"))
        self.check("getPriceHistory", service.get("/v1/prices/x/history?step=year&from=now"))
        self.check("getModel", service.get("/v1/models/no/such"))
        self.check("getAccelerator", service.get("/v1/accelerators/no-such"))
        self.check("getProvider", service.get("/v1/providers/no-such"))

    def test_the_examples_of_answers_are_valid(self):
        seen = set()

        def walk(node):
            if isinstance(node, dict):
                if "schema" in node and "examples" in node:
                    for example in node["examples"].values():
                        self.assertEqual(errors(node["schema"], resolve(example)["value"]), [])
                        seen.add(example["$ref"])
                for value in node.values():
                    walk(value)
            elif isinstance(node, list):
                for value in node:
                    walk(value)
        walk(contract)
        self.assertEqual(len(seen), len(contract["components"]["examples"]))

    def test_the_examples_are_answered(self):
        for operation, (_, path, documented) in operations.items():
            if "requestBody" not in documented:
                continue
            content = documented["requestBody"]["content"]["application/json"]
            for example in content["examples"].values():
                body = resolve(example)["value"]
                self.assertEqual(errors(content["schema"], body, contract), [])
                answer = service.post(path, body)
                self.assertEqual(answer.status_code, 200, answer.text[:500])
                self.check(operation, answer)
                if "recommendations" in answer.json():
                    self.assertTrue(answer.json()["recommendations"])


class Agreement(unittest.TestCase):
    """What the schema forbids the service refuses; what it allows is refused for other reasons only."""

    def test_random_requests(self):
        source = random.Random(int(os.environ.get("GPUPICK_TEST_SEED", "7")))
        schema = {"$ref": "#/components/schemas/RecommendationRequest"}
        values = [None, True, False, 0, 1, -1, 1.5, 8, 1024, 10 ** 9, 10 ** 17, 1e-12, "", "auto",
                  "full", "bf16", "fp8", "spot", "US", "x", [], ["spot"], ["US"], ["x"], [1], {},
                  {"parameters": "7B"}, {"parameters": 1e9}, {"config": {}}, {"x": 1}]
        base = {"workload": {"task": "finetune", "method": "lora", "model": {"parameters": "7B"}},
                "constraints": {}, "filters": {}, "assumptions": {}}
        places = [("workload", n) for n in list(tables["workload"]) + ["model", "x"]]
        for part in ("Constraints", "Filters", "Assumptions"):
            properties = contract["components"]["schemas"][part]["properties"]
            places += [(part.lower(), n) for n in list(properties) + ["x"]]
        places += [(None, n) for n in ("objective", "group", "limit", "launch", "workload",
                                       "filters", "x")]
        refused = taken = 0
        for _ in range(2000):
            body = copy.deepcopy(base)
            for _ in range(source.choice((1, 1, 1, 2))):
                part, name = source.choice(places)
                target = body if part is None else body[part]
                if isinstance(target, dict):
                    target[name] = source.choice(values)
            answer = service.post("/v1/recommendations", body)
            if errors(schema, body, contract):
                self.assertEqual(answer.status_code, 422, body)
                refused += 1
            elif answer.status_code != 200:
                codes = {e["code"] for e in answer.json()["errors"]}
                self.assertFalse(codes & {"type", "out_of_range", "unknown_field", "syntax",
                                          "empty", "too_long", "too_many"}, (body, answer.text))
            else:
                taken += 1
        self.assertGreater(refused, 300)
        self.assertGreater(taken, 50)


if __name__ == "__main__":
    unittest.main()
