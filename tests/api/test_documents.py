#!/usr/bin/python3
"""What is derived from openapi.yaml: its JSON, OpenAPI 3.0.3 for importers, and the page as text.

The importers' limits are those of AWS, Azure and Google API gateways and Kong's deck; none of them runs here.
"""
import os
import re
import sys
import unittest

import jsonschema
import yaml
from service import ROOT, Service

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "openapi"))
import derive  # noqa: E402

METHODS = ("get", "post", "put", "patch", "delete")
LEAST_LIMIT_BYTES = 512 * 1024
UNKNOWN_TO_3_0 = {"const", "prefixItems", "patternProperties", "if", "then", "else", "$defs", "contains",
                  "unevaluatedProperties", "dependentRequired", "dependentSchemas", "examples",
                  "contentMediaType", "contentEncoding", "$schema", "$id", "propertyNames"}


def setUpModule():
    global service, contract, older
    service = Service()
    with open(os.path.join(ROOT, "openapi", "openapi.yaml"), encoding="utf-8") as file:
        contract = yaml.safe_load(file)
    older = service.get("/openapi-3.0.json").json()


def tearDownModule():
    assert service.stop() == 0, service.log


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def resolve(document, node):
    while "$ref" in node:
        target = document
        for part in node["$ref"][2:].split("/"):
            target = target[part]
        node = target
    return node


def schemas_within(schema, where):
    """A schema and every one inside it."""
    yield schema, where
    for name, inner in schema.get("properties", {}).items():
        yield from schemas_within(inner, where + "/" + name)
    for word in ("oneOf", "anyOf", "allOf"):
        for inner in schema.get(word, ()):
            yield from schemas_within(inner, where + "/" + word)
    for word in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(word), dict):
            yield from schemas_within(schema[word], where + "/" + word)


def faults_of_schemas(document):
    """What an importer of 3.0.3 would stumble over in the schemas."""
    found = []
    for outer in derive.every_schema(document):
        for schema, where in schemas_within(outer, str(outer)[:60]):
            if not isinstance(schema.get("type", ""), str) or schema.get("type") == "null":
                found.append("types at " + where)
            if "$ref" in schema and len(schema) > 1:
                found.append("siblings of a $ref at " + where)
            if "$ref" in schema and not schema["$ref"].startswith("#/components/"):
                found.append("a reference to elsewhere at " + where)
            for word in ("exclusiveMinimum", "exclusiveMaximum"):
                if not isinstance(schema.get(word, False), bool):
                    found.append("a number in %s at %s" % (word, where))
            if schema.get("nullable") and "type" not in schema:
                found.append("nullable without a type at " + where)
            if schema.get("nullable") and "enum" in schema and None not in schema["enum"]:
                found.append("an enum without its null at " + where)
            found += ["%s at %s" % (word, where) for word in UNKNOWN_TO_3_0 & set(schema)]
    return found


def recursive(document):
    """Names of schemas that contain themselves, which Azure refuses."""
    inside = {name: {r.rsplit("/", 1)[1] for r in derive.references(schema)}
              for name, schema in document["components"]["schemas"].items()}
    for middle in inside:
        for name in inside:
            if middle in inside[name]:
                inside[name] |= inside[middle]
    return [name for name in inside if name in inside[name]]


def older_validator():
    """Draft 4, which 3.0 is near to, with `nullable`."""
    def or_null(check):
        return lambda validator, value, instance, schema: () if instance is None and schema.get(
            "nullable") else check(validator, value, instance, schema)
    checks = {word: or_null(check) for word, check in jsonschema.Draft4Validator.VALIDATORS.items()}
    return jsonschema.validators.extend(jsonschema.Draft4Validator, checks)


class Json(unittest.TestCase):
    def test_it_is_the_same_document(self):
        self.assertEqual(service.get("/openapi.json").json(), contract)


class Cached(unittest.TestCase):
    def test_a_copy_that_is_still_right_is_not_sent_again(self):
        for path in ("/openapi.yaml", "/openapi.json", "/openapi-3.0.json", "/docs"):
            tag = service.get(path).headers["ETag"]
            again = service.get(path, headers={"If-None-Match": tag})
            self.assertEqual((again.status_code, again.content, again.headers["ETag"]), (304, b"", tag), path)


class Importers(unittest.TestCase):
    def test_schemas(self):
        self.assertEqual(older["openapi"], "3.0.3")
        self.assertEqual(faults_of_schemas(older), [])
        self.assertEqual(recursive(older), [])
        self.assertNotEqual(faults_of_schemas(contract), [])  # so that the check is known to find some

    def test_size_and_names(self):
        self.assertLess(len(service.get("/openapi-3.0.json").content), LEAST_LIMIT_BYTES)
        ids = [operation["operationId"] for _, _, operation in operations(older)]
        self.assertEqual(len(ids), len(set(ids)))
        for name in ids + list(older["components"]["schemas"]):
            self.assertRegex(name, r"^[A-Za-z][A-Za-z0-9]*$")
        self.assertEqual(len(older["servers"]), 1)

    def test_operations(self):
        for path, method, operation in operations(older):
            with self.subTest(operation["operationId"]):
                names = [resolve(older, p) for p in operation.get("parameters", ())]
                places = [p["name"].lower() for p in names if p["in"] in ("path", "query")]
                self.assertEqual(len(places), len(set(places)))
                self.assertEqual({p["name"] for p in names if p["in"] == "path"},
                                 set(re.findall(r"{(\w+)}", path)))
                self.assertTrue({p["in"] for p in names} <= {"path", "query", "header"})
                self.assertFalse([p for p in names if p.get("style") == "deepObject" or "content" in p])
                self.assertTrue(method != "get" or "requestBody" not in operation)

    def test_only_what_a_gateway_may_offer(self):
        self.assertEqual(set(older["paths"]), {path for path, item in contract["paths"].items()
                                               if "servers" not in item})
        self.assertFalse({"/metrics", "/livez", "/readyz"} & set(older["paths"]))
        self.assertEqual([t["name"] for t in older["tags"]],
                         [t["name"] for t in contract["tags"] if t["name"] != "Operations"])

    def test_every_reference_leads_somewhere_and_nothing_is_left_over(self):
        used = set(derive.references(older))
        for reference in used:
            resolve(older, {"$ref": reference})
        for kind, parts in older["components"].items():
            if kind != "securitySchemes":
                self.assertEqual({"#/components/%s/%s" % (kind, name) for name in parts} - used, set())

    def test_real_answers_are_valid_by_it(self):
        validator = older_validator()
        resolver = jsonschema.RefResolver("", older)
        some = [service.get("/v1/prices?limit=1000"), service.get("/v1/providers"), service.get("/v1/models"),
                service.get("/v1/accelerators"), service.get("/v1/prices?limit=0")]
        paths = ["/v1/prices", "/v1/providers", "/v1/models", "/v1/accelerators", "/v1/prices"]
        for path, answer in zip(paths, some):
            response = resolve(older, older["paths"][path]["get"]["responses"][str(answer.status_code)])
            kind = answer.headers["Content-Type"]
            check = validator(response["content"][kind]["schema"], resolver=resolver)
            self.assertEqual([e.message[:200] for e in check.iter_errors(answer.json())][:3], [], path)
        body = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B"}, "limit": 100,
                "constraints": {"max_usd_per_hour": 0.001}}
        check = validator({"$ref": "#/components/schemas/RecommendationAnswer"}, resolver=resolver)
        answer = service.post("/v1/recommendations", body)
        self.assertEqual([e.message[:200] for e in check.iter_errors(answer.json())][:3], [])
        check = validator({"$ref": "#/components/schemas/RecommendationRequest"}, resolver=resolver)
        self.assertEqual(list(check.iter_errors(body)), [])
        self.assertTrue(list(check.iter_errors(dict(body, limit=0))))


class Requests(unittest.TestCase):
    def test_every_object_with_named_fields_is_closed(self):
        closed, waiting = 0, [c["schema"] for _, _, o in operations(contract) for c in o.get(
            "requestBody", {}).get("content", {}).values()]
        while waiting:
            for schema, where in schemas_within(resolve(contract, waiting.pop()), ""):
                if "properties" in schema:
                    self.assertIs(schema.get("additionalProperties"), False, (where, schema))
                    closed += 1
                waiting += [schema] if "$ref" in schema else []
        self.assertGreater(closed, 8)


class Guarded(unittest.TestCase):
    def test_what_is_under_v1_says_who_may_call_and_how_often(self):
        for path, method, operation in operations(contract):
            with self.subTest(operation["operationId"]):
                ways = operation.get("security", contract["security"])
                if path.startswith("/v1/"):
                    self.assertTrue([way for way in ways if way])
                    self.assertLessEqual({"401", "403", "429"}, set(operation["responses"]))
                elif path != "/metrics":
                    self.assertEqual(ways, [])


class Derivation(unittest.TestCase):
    def converted(self, schema):
        derive.schema_to_3_0(schema, {"components": {"schemas": {"x": {"type": "object"}}}})
        return schema

    def test_null(self):
        self.assertEqual(self.converted({"type": ["string", "null"], "enum": ["a", None]}),
                         {"type": "string", "nullable": True, "enum": ["a", None]})
        reference = {"$ref": "#/components/schemas/x"}
        self.assertEqual(self.converted({"oneOf": [{"type": "null"}, reference]}),
                         {"nullable": True, "type": "object", "allOf": [reference]})
        self.assertEqual(self.converted({"oneOf": [{"type": "null"}, {"type": ["integer", "null"]}]}),
                         {"nullable": True, "type": "integer"})
        for impossible in ({"type": ["string", "integer"]},
                           {"anyOf": [{"type": "null"}, {"type": "string"}, {"type": "number"}]}):
            with self.assertRaises(ValueError):
                self.converted(impossible)

    def test_words(self):
        self.assertEqual(self.converted({"$ref": "#/x", "description": "d"}),
                         {"allOf": [{"$ref": "#/x"}], "description": "d"})
        self.assertEqual(self.converted({"type": "number", "exclusiveMinimum": 0, "examples": [1, 2]}),
                         {"type": "number", "minimum": 0, "exclusiveMinimum": True, "example": 1})
        self.assertEqual(self.converted({"type": "array", "items": {"const": "x"}}),
                         {"type": "array", "items": {"enum": ["x"]}})
        self.assertEqual(self.converted({"properties": {"examples": {"type": ["number", "null"]}}}),
                         {"properties": {"examples": {"type": "number", "nullable": True}}})


class Prefix(unittest.TestCase):
    def test_the_server_is_where_it_was_fetched(self):
        behind = Service(settings={"GPUPICK_BASE_PATH": "/gpupick"})
        try:
            for name in ("openapi.yaml", "openapi.json", "openapi-3.0.json"):
                seen = yaml.safe_load(behind.get("/gpupick/" + name).content)
                self.assertEqual(seen["servers"][0]["url"], "/gpupick", name)
                self.assertEqual(seen["paths"].keys(), yaml.safe_load(service.get("/" + name).content)["paths"].keys())
            self.assertEqual(behind.get("/gpupick/docs").content, service.get("/docs").content)
        finally:
            behind.stop()


class Page(unittest.TestCase):
    def test_it_says_everything_and_loads_nothing(self):
        answer = service.get("/docs")
        policy = answer.headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotRegex(policy, r"unsafe|https?:|\*")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertNotRegex(answer.text, r"<(script|link|img|iframe)[^>]+(src|href)=\"(?!data:)")
        self.assertNotRegex(answer.text, r"\son\w+=|\sstyle=|javascript:")
        text = answer.text.split("<script>")[0]
        ids = re.findall(r' id="([^"]+)"', text)
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(set(re.findall(r'href="#([^"]+)"', text)) - set(ids), set())
        for _, _, operation in operations(contract):
            self.assertIn('id="%s"' % operation["operationId"], answer.text)
        for name, schema in contract["components"]["schemas"].items():
            for member in schema.get("properties", {}):
                self.assertIn("<code>%s</code>" % member, answer.text, name)


if __name__ == "__main__":
    unittest.main()
