"""What must hold of every answer, whatever was asked: nothing here knows a route by name."""
import json
import re

import openapi_check

FAULTS_OF_SHAPE = {"type", "out_of_range", "unknown_field", "syntax", "empty", "too_long", "too_many",
                   "unknown_parameter", "repeated", "missing"}
BY_ANY_ROUTE = (400, 404, 405, 414)  # for targets that no operation could document


def is_problem(answer):
    """A problem document that says the same as the head."""
    document = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json", answer.headers
    assert document["status"] == answer.status_code, document
    assert document["type"] == "/problems/" + document["code"].replace("_", "-"), document
    assert document["request_id"] == answer.headers["X-Request-Id"], document
    return openapi_problem(document)


def openapi_problem(document):
    found = openapi_check.errors({"$ref": "#/components/schemas/Problem"}, document)
    assert not found, found
    return document


def answer_of(operation, answer):
    """Documented status, type, schema and headers; no fault of the service's own."""
    status = answer.status_code
    assert status < 500 or (status == 503 and operation in openapi_check.NEED_DATABASE), (
        operation, status, answer.text[:500])
    assert "X-Request-Id" in answer.headers and "Cache-Control" in answer.headers, answer.headers
    openapi_check.Answers().check(operation, answer)
    return is_problem(answer) if status >= 400 else None


def parameters_refuse(parameters, query):
    """Does the contract forbid these parameters of a query? None: it cannot tell."""
    known = {p["name"]: openapi_check.resolve(p["schema"]) for p in parameters if p["in"] == "query"}
    names = [name for name, _ in query]
    if len(set(names)) < len(names) or set(names) - set(known):
        return True
    for name, text in query:
        if openapi_check.errors(known[name], value_of(known[name], text), openapi_check.contract):
            return True
    return False


def value_of(schema, text):
    """As the schema would have it, when that can be."""
    if schema.get("type") not in ("integer", "number", "boolean"):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (int, float)) else text


def told_by_schema(schema, node, pointer):
    """Would the schema of what `pointer` names have said that its shape is wrong?"""
    for part in pointer.split("/")[1:]:
        schema = openapi_check.resolve(schema)
        name = part.replace("~1", "/").replace("~0", "~")
        if "items" in schema and isinstance(node, list) and name.isdigit() and int(name) < len(node):
            schema, node = schema["items"], node[int(name)]
        elif name in schema.get("properties", {}) and isinstance(node, dict):
            schema, node = schema["properties"][name], node.get(name)
        else:
            return schema.get("additionalProperties") is False  # what is left open is told by prose
    return not isinstance(node, str)  # the range of a number in a text


def refused_for_what_no_schema_says(schema, body, document):
    """A body that is good by the schema may be refused, but not for its shape."""
    for fault in document.get("errors", ()):
        assert fault["code"] not in FAULTS_OF_SHAPE or not told_by_schema(schema, body, fault["pointer"]), document


def unknown_fields_are_all_named(schema, body, document):
    """Every field that no schema knows must be in the answer, not only the first."""
    wanted = unknown_pointers(openapi_check.resolve(schema), body, "")
    named = {re.sub("^/variants/[0-9]+(?=/(workload|constraints|filters|assumptions)/)", "", e["pointer"])
             for e in document.get("errors", ()) if e["code"] == "unknown_field"}  # laid over some of its variants
    if document["code"] == "invalid_request" and "errors_omitted" not in document:
        missing = {pointer for pointer in wanted - named if not is_removed(pointer.split("/")[1], body)}
        assert not missing, (missing, document)


def is_removed(name, body):
    """By every variant of a comparison: then what it holds is nobody's fault."""
    variants = body.get("variants")
    return isinstance(variants, list) and all(isinstance(v, dict) and v.get(name, 0) is None for v in variants)


def unknown_pointers(schema, node, at):
    """Of objects that are closed, where no alternative leaves it open which is meant."""
    schema = openapi_check.resolve(schema)
    found = set()
    if not isinstance(node, dict) or "properties" not in schema:
        return found
    for name, value in node.items():
        pointer = "%s/%s" % (at, name.replace("~", "~0").replace("/", "~1"))
        if name in schema["properties"]:
            found |= unknown_pointers(schema["properties"][name], value, pointer)
        elif schema.get("additionalProperties") is False:
            found.add(pointer)
    return found
