#!/usr/bin/python3
"""The gate against breaking changes: openapi.yaml passes it, and every kind of breach is found."""
import copy
import json
import unittest

import breaking
import yaml


def setUpModule():
    global contract
    with open(breaking.CONTRACT, encoding="utf-8") as file:
        contract = yaml.safe_load(file)


def schemas(document):
    return document["components"]["schemas"]


def properties(document, name):
    return schemas(document)[name]["properties"]


class Gate(unittest.TestCase):
    def found(self, change):
        """Breaches of the contract as it is, after `change` to it."""
        changed = copy.deepcopy(contract)
        change(changed)
        changed["info"]["version"] = "99.0.0"
        return breaking.compare(breaking.normalised(contract), changed)

    def test_the_contract_keeps_what_was_released(self):
        with open(breaking.RELEASED, encoding="utf-8") as file:
            found = breaking.compare(json.load(file), contract)
        self.assertEqual(breaking.unaccepted(found, breaking.accepted()), [])

    def test_what_is_accepted_is_no_more_than_is_there(self):
        self.assertEqual(breaking.unaccepted(["a.b: is gone", "a.c: is gone"], [r"a\.b: is gone"]), ["a.c: is gone"])
        self.assertEqual(len(breaking.unaccepted([], ["x"])), 1)

    def test_an_addition_needs_a_version(self):
        changed = copy.deepcopy(contract)
        properties(changed, "Offer")["colour"] = {"type": "string"}
        self.assertTrue(breaking.compare(breaking.normalised(contract), changed))

    def breaks(self, change, *words):
        found = self.found(change)
        self.assertTrue(found)
        for word in words:
            self.assertTrue(any(word in line for line in found), (word, found))

    def test_routes_and_operations(self):
        self.breaks(lambda d: d["paths"].pop("/v1/prices/{id}"), "GET /v1/prices/{id}", "gone")
        self.breaks(lambda d: d["paths"]["/v1/sizing"].pop("post"), "POST /v1/sizing")
        self.breaks(lambda d: d["paths"]["/v1/sizing"]["post"].update(operationId="size"), "operationId")
        self.breaks(lambda d: d["paths"]["/v1/sizing"]["post"].update(security=[{"key": []}]), "credentials")
        self.breaks(lambda d: d["paths"]["/v1/prices"]["get"]["responses"].pop("304"), "304")
        self.breaks(lambda d: d["paths"]["/v1/prices"]["get"]["responses"]["200"]["content"].pop("text/csv"),
                    "text/csv")
        self.breaks(lambda d: d["paths"]["/v1/prices"]["get"]["responses"]["200"]["headers"].pop("ETag"), "ETag")

    def test_parameters(self):
        def operation(document):
            return document["paths"]["/v1/prices"]["get"]["parameters"]

        def named(document, name):
            return next(p for p in operation(document) if p.get("name") == name)
        self.breaks(lambda d: operation(d).remove(named(d, "country")), "country", "gone")
        self.breaks(lambda d: named(d, "country").update(required=True), "required now")
        self.breaks(lambda d: operation(d).append({"name": "x", "in": "query", "required": True,
                                                   "schema": {"type": "string"}}), "x: the parameter is required")
        self.breaks(lambda d: named(d, "limit")["schema"].update(maximum=10), "maximum was")
        self.breaks(lambda d: named(d, "limit")["schema"].update(minimum=2), "minimum was")
        self.breaks(lambda d: named(d, "format")["schema"].update(enum=["json"]), "csv")
        self.breaks(lambda d: named(d, "country")["schema"].update(pattern="^[A-Z]{2}$"), "must match")

    def test_requests(self):
        self.breaks(lambda d: schemas(d)["Workload"]["required"].append("stack"), "stack", "is required now")
        self.breaks(lambda d: properties(d, "Workload").pop("epochs"), "epochs", "gone")
        self.breaks(lambda d: properties(d, "Workload")["task"]["enum"].remove("pretrain"), "pretrain")
        self.breaks(lambda d: properties(d, "Workload")["examples"].update(type="integer"), "type was")
        self.breaks(lambda d: properties(d, "Workload")["examples"].update(maximum=10), "maximum")
        self.breaks(lambda d: properties(d, "Constraints")["deadline_hours"].update(minimum=5), "minimum")
        self.breaks(lambda d: schemas(d)["Model"]["oneOf"].pop(0), "model")
        self.breaks(lambda d: properties(d, "Filters")["features"].update(maxItems=0), "maxItems")

    def test_answers(self):
        self.breaks(lambda d: properties(d, "Offer").pop("region"), "region", "gone")
        self.breaks(lambda d: schemas(d)["Offer"]["required"].remove("region"), "may be missing now")
        self.breaks(lambda d: properties(d, "Offer").update(count={"type": "string"}), "type was")
        self.breaks(lambda d: properties(d, "Offer").update(id={"type": ["string", "null"]}), "type was")
        self.breaks(lambda d: schemas(d)["Currency"]["enum"].append("EUR"), "EUR")

    def test_what_is_no_breach(self):
        def widen(document):
            properties(document, "Workload")["new"] = {"type": "string"}
            properties(document, "Workload")["examples"]["maximum"] = 1e20
            properties(document, "Workload")["task"]["enum"].append("dream")
            properties(document, "Offer")["new"] = {"type": "string"}
            document["paths"]["/v1/new"] = document["paths"]["/v1/providers"]
            document["paths"]["/v1/prices"]["get"]["parameters"].append(
                {"name": "new", "in": "query", "schema": {"type": "string"}})
            document["paths"]["/v1/prices"]["get"]["responses"]["451"] = {"description": "Not there."}
            document["paths"]["/v1/sizing"]["post"]["security"] = [{}, {"key": []}]
            for parameter in document["paths"]["/v1/prices"]["get"]["parameters"]:
                if parameter.get("name") == "country":
                    parameter["schema"]["pattern"] = "^[A-Za-z]{2,3}(,[A-Za-z]{2,3})*$"
        self.assertEqual(self.found(widen), [])
        self.assertEqual(self.found(lambda d: d["info"].update(description="other words")), [])

    def test_an_answer_may_repeat_what_was_sent(self):
        old = copy.deepcopy(contract)
        properties(old, "NormalisedWorkload")["task"] = {"type": "string", "enum": ["inference"]}
        new = copy.deepcopy(old)
        new["info"]["version"] = "99.0.0"
        properties(new, "NormalisedWorkload")["task"]["enum"].append("dream")
        self.assertTrue(breaking.compare(breaking.normalised(old), new))
        properties(new, "Workload")["task"]["enum"].append("dream")
        self.assertEqual(breaking.compare(breaking.normalised(old), new), [])

    def test_what_is_recorded_reads_back(self):
        plain = breaking.normalised(contract)
        recorded = json.loads(breaking.as_lines(plain))
        for part in ("paths", "components"):
            self.assertEqual(recorded[part], json.loads(json.dumps(plain[part])))


if __name__ == "__main__":
    unittest.main()
