#!/usr/bin/python3
"""Derives from openapi.yaml what is served beside it: derive.py OPENAPI.YAML OUT_FOLDER

openapi.json      the same document, for tools that read no YAML
openapi-3.0.json  OpenAPI 3.0.3 of the API's port, for importers (gateways, generators) that know no 3.1
docs.html         the reference page, and docs.policy, the Content-Security-Policy that fits it
documents.tag     the ETag of them all
"""
import copy
import hashlib
import json
import os
import sys

import page
import yaml

ABSENT_IN_3_0 = ("webhooks", "jsonSchemaDialect")


def type_of(schema, document):
    while "$ref" in schema:
        _, kind, name = schema["$ref"][2:].split("/")
        schema = document["components"][kind][name]
    return schema["type"]


def nullable(schema, document):
    """3.1's null among the types or alternatives is 3.0's `nullable`, which needs a type beside it."""
    for word in ("oneOf", "anyOf"):
        rest = [s for s in schema.get(word, ()) if s.get("type") != "null"]
        if len(rest) == len(schema.get(word, ())):
            continue
        del schema[word]
        if len(rest) > 1:
            raise ValueError("3.0 has no null beside alternatives: %s" % rest)
        schema.update({"allOf": rest, "type": type_of(rest[0], document)} if "$ref" in rest[0] else rest[0])
        schema["nullable"] = True
    kind = schema.get("type")
    if isinstance(kind, list):
        if len(kind) != 2 or "null" not in kind:
            raise ValueError("3.0 has no such types: %s" % kind)
        schema["type"] = next(k for k in kind if k != "null")
        schema["nullable"] = True


def schema_to_3_0(schema, document):
    """One schema and all inside it, in place."""
    nullable(schema, document)
    if "$ref" in schema and len(schema) > 1:  # siblings of a $ref are ignored by 3.0
        schema["allOf"] = [{"$ref": schema.pop("$ref")}]
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if "examples" in schema:
        schema["example"] = schema.pop("examples")[0]
    for bound, word in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if word in schema:
            schema[bound], schema[word] = schema[word], True
    for inner in schema.get("properties", {}).values():
        schema_to_3_0(inner, document)
    for word in ("oneOf", "anyOf", "allOf"):
        for inner in schema.get(word, ()):
            schema_to_3_0(inner, document)
    for word in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(word), dict):
            schema_to_3_0(schema[word], document)


def every_schema(node):
    """The outermost schemas of a document's part."""
    if isinstance(node, list):
        for inner in node:
            yield from every_schema(inner)
    elif isinstance(node, dict):
        for name, inner in node.items():
            if name == "schema":
                yield inner
            elif name == "schemas":
                yield from inner.values()
            elif name not in ("example", "examples"):
                yield from every_schema(inner)


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def keep_what_is_used(document):
    """Components that nothing refers to any more are findings of every linter."""
    used, waiting = set(), list(references(document["paths"]))
    while waiting:
        reference = waiting.pop()
        if reference not in used:
            used.add(reference)
            _, kind, name = reference[2:].split("/")
            waiting += references(document["components"][kind][name])
    for kind, parts in document["components"].items():
        if kind != "securitySchemes":
            document["components"][kind] = {
                name: part for name, part in parts.items() if "#/components/%s/%s" % (kind, name) in used}
    document["components"] = {kind: parts for kind, parts in document["components"].items() if parts}


def to_3_0(contract):
    document = copy.deepcopy(contract)
    document["openapi"] = "3.0.3"
    summary = document["info"].pop("summary", None)
    if summary:
        document["info"]["description"] = "%s\n\n%s" % (summary, document["info"]["description"])
    licence = document["info"]["license"]
    if licence.pop("identifier", None) == "Apache-2.0":
        licence["url"] = "https://www.apache.org/licenses/LICENSE-2.0"
    for word in ABSENT_IN_3_0:
        document.pop(word, None)
    # What has a server of its own is the operations port, which no gateway shall offer.
    document["paths"] = {path: item for path, item in document["paths"].items() if "servers" not in item}
    tags = {tag for item in document["paths"].values() for operation in item.values()
            if isinstance(operation, dict) for tag in operation.get("tags", ())}
    document["tags"] = [tag for tag in document["tags"] if tag["name"] in tags]
    keep_what_is_used(document)
    for schema in every_schema(document):
        schema_to_3_0(schema, contract)
    return document


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def compact(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def main():
    source, folder = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        contract = yaml.safe_load(file)
    html, policy = page.make(contract)
    texts = {"openapi.json": compact(contract), "openapi-3.0.json": compact(to_3_0(contract)),
             "docs.html": html, "docs.policy": policy}
    texts["documents.tag"] = 'W/"%s"' % hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:16]
    for name, text in texts.items():
        write(folder, name, text)


if __name__ == "__main__":
    main()
