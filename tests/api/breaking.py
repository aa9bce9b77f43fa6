#!/usr/bin/python3
"""Does openapi.yaml still keep what the last release promised? breaking.py [--record]

Compares it with openapi/released.json, prints every breach and exits 1 when there is one. `--record` writes
that file from openapi.yaml: when a release is made, and never to silence a breach within a major version.

What openapi/accepted.yaml lists is let pass: what only a client that asks for it can meet.

A request that was good must stay good; an answer that was understood must stay so. New routes, optional
parameters and fields, wider bounds and further values of what a client itself sends are no breach.
"""
import json
import os
import re
import sys
import tempfile

import hypothesis
import yaml

# Hypothesis keeps tables of characters in a folder, which shall not be the one where it is run.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "gpupick-hypothesis"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONTRACT = os.path.join(ROOT, "openapi", "openapi.yaml")
ACCEPTED = os.path.join(ROOT, "openapi", "accepted.yaml")
RELEASED = os.path.join(ROOT, "openapi", "released.json")
METHODS = ("get", "post", "put", "patch", "delete")
LOWER = ("minimum", "minLength", "minItems")
UPPER = ("maximum", "maxLength", "maxItems")
PROSE = ("description", "summary", "example", "examples", "title", "tags", "externalDocs")


def normalised(node, is_map=False):
    """Without prose; in maps of names the names stay whatever they are."""
    if isinstance(node, dict):
        return {name: normalised(inner, not is_map and name in (
            "properties", "schemas", "parameters", "headers", "responses", "paths", "content"))
            for name, inner in node.items() if is_map or name not in PROSE}
    return [normalised(inner) for inner in node] if isinstance(node, list) else node


def as_lines(document):
    """One line a path and a component, so that a difference can be read."""
    lines = ['"openapi": %s' % json.dumps(document["openapi"]),
             '"info": {"version": %s}' % json.dumps(document["info"]["version"]),
             '"security": %s' % json.dumps(document.get("security", []))]

    def section(name, parts, indent):
        inner = (",\n" + indent + " ").join("%s: %s" % (json.dumps(k), json.dumps(v, sort_keys=True))
                                             for k, v in sorted(parts.items()))
        return '%s: {\n%s %s\n%s}' % (json.dumps(name), indent, inner, indent)
    lines.append(section("paths", document["paths"], " "))
    lines.append('"components": {\n  %s\n }' % ",\n  ".join(
        section(kind, parts, "  ") for kind, parts in sorted(document["components"].items())))
    return "{\n %s\n}\n" % ",\n ".join(lines)


def kinds(schema):
    kind = schema.get("type", [])
    found = set(kind if isinstance(kind, list) else [kind])
    return found | {"integer"} if "number" in found else found


def is_covered(pattern, by):
    """Does `by` take what `pattern` takes? By many examples: a good guess, and no proof."""
    taken = []

    @hypothesis.settings(max_examples=200, database=None, derandomize=True, deadline=None,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(hypothesis.strategies.from_regex(pattern))
    def look(text):
        taken.append(re.search(by, text) is not None)
    look()
    return all(taken)


class Comparison:
    def __init__(self, old, new):
        self.old, self.new, self.breaches, self.seen = old, new, [], set()
        self.sent = {}  # name of a property that clients send -> its values now
        for schema in self.inputs(new):
            for name, member in schema.get("properties", {}).items():
                self.sent.setdefault(name, set()).update(self.enum(new, member))

    def enum(self, document, schema):
        """Values of a schema or of its items."""
        schema = self.resolve(document, schema)
        values = schema.get("enum", [])
        return set(values) | (self.enum(document, schema["items"]) if "items" in schema else set())

    def inputs(self, document):
        """Schemas that a request body reaches."""
        waiting, seen = [], []
        for item in document["paths"].values():
            for method in METHODS:
                waiting += [c["schema"] for c in item.get(method, {}).get("requestBody", {}).get(
                    "content", {}).values()]
        while waiting:
            schema = self.resolve(document, waiting.pop())
            if schema in seen:
                continue
            seen.append(schema)
            waiting += list(schema.get("properties", {}).values()) + schema.get("oneOf", []) + (
                [schema["items"]] if "items" in schema else [])
        return seen

    @staticmethod
    def resolve(document, node):
        while "$ref" in node:
            target = document
            for part in node["$ref"][2:].split("/"):
                target = target[part]
            node = target
        return node

    def breach(self, where, text):
        self.breaches.append("%s: %s" % (where, text))

    # --- schemas: `is_sent` by the client, else by the service ---

    def schema(self, where, old, new, is_sent):
        key = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), is_sent)
        if key in self.seen:
            return
        self.seen.add(key)
        old, new = self.resolve(self.old, old), self.resolve(self.new, new)
        if "oneOf" in old or "oneOf" in new:
            self.alternatives(where, old, new, is_sent)
        else:
            self.plain(where, old, new, is_sent)

    def alternatives(self, where, old, new, is_sent):
        olds, news = old.get("oneOf", [old]), new.get("oneOf", [new])
        for one in olds if is_sent else news:
            found = None
            for other in news if is_sent else olds:
                trial = Comparison(self.old, self.new)
                trial.schema(where, *((one, other) if is_sent else (other, one)), is_sent)
                if found is None or len(trial.breaches) < len(found):
                    found = trial.breaches
            self.breaches += found or []

    def plain(self, where, old, new, is_sent):
        before, after = kinds(old), kinds(new)
        lost = (before - after) if is_sent else (after - before)
        if (is_sent and not before and after) or (not is_sent and before and not after) or (
                lost and before and after):
            self.breach(where, "its type was %s and is %s" % (old.get("type"), new.get("type")))
        if old.get("format") != new.get("format") and (new.get("format") if is_sent else old.get("format")):
            self.breach(where, "its format was %s and is %s" % (old.get("format"), new.get("format")))
        self.values(where, old, new, is_sent)
        if is_sent:
            self.bounds(where, old, new)
        if "pattern" in new and is_sent and old.get("pattern") != new["pattern"] and (
                "pattern" not in old or not is_covered(old["pattern"], new["pattern"])):
            self.breach(where, "it must match %s now" % new["pattern"])
        self.properties(where, old, new, is_sent)
        if "items" in old and "items" in new:
            self.schema(where + "[]", old["items"], new["items"], is_sent)

    def values(self, where, old, new, is_sent):
        if is_sent and "enum" in new:
            gone = set(old["enum"]) - set(new["enum"]) if "enum" in old else {"others than it lists"}
            if gone:
                self.breach(where, "no longer taken: %s" % ", ".join(sorted(map(str, gone))))
        elif not is_sent and "enum" in old:
            name = re.sub(r"\[\]$", "", where).rsplit(".", 1)[-1]
            come = set(new["enum"]) - set(old["enum"]) - self.sent.get(name, set()) \
                if "enum" in new else {"anything"}
            if come:
                self.breach(where, "values that no client knows: %s" % ", ".join(sorted(map(str, come))))

    def bounds(self, where, old, new):
        for words, is_tighter in ((LOWER, lambda a, b: b > a), (UPPER, lambda a, b: b < a)):
            for word in words:
                if word in new and (word not in old or is_tighter(old[word], new[word])):
                    self.breach(where, "%s was %s and is %s" % (word, old.get(word, "none"), new[word]))

    def properties(self, where, old, new, is_sent):
        before, after = old.get("properties", {}), new.get("properties", {})
        for name in sorted(set(before) - set(after)):
            if not is_sent or new.get("additionalProperties") is False:
                self.breach("%s.%s" % (where, name), "is gone")
        was, now = set(old.get("required", ())), set(new.get("required", ()))
        for name in sorted(now - was if is_sent else was - now):
            if is_sent or name in after:
                self.breach("%s.%s" % (where, name), "is required now" if is_sent else "may be missing now")
        if is_sent and old.get("additionalProperties") is not False and (
                new.get("additionalProperties") is False and kinds(old) & {"object"}):
            self.breach(where, "other fields are no longer taken")
        for name in before:
            if name in after:
                self.schema("%s.%s" % (where, name), before[name], after[name], is_sent)

    # --- operations ---

    def parameters(self, where, old, new):
        def named(document, operation):
            found = (self.resolve(document, p) for p in operation.get("parameters", ()))
            return {(p["in"], p["name"]): p for p in found}
        before, after = named(self.old, old), named(self.new, new)
        for key in sorted(set(before) - set(after)):
            self.breach("%s %s" % (where, key[1]), "the parameter is gone")
        for key, parameter in sorted(after.items()):
            is_new = key not in before
            if parameter.get("required") and (is_new or not before[key].get("required")):
                self.breach("%s %s" % (where, key[1]), "the parameter is required now")
            if not is_new:
                self.schema("%s %s" % (where, key[1]), before[key]["schema"], parameter["schema"], True)

    def content(self, where, old, new, is_sent):
        for kind, media in old.get("content", {}).items():
            if kind not in new.get("content", {}):
                self.breach(where, "%s is gone" % kind)
            else:
                self.schema(where, media["schema"], new["content"][kind]["schema"], is_sent)

    def body(self, where, old, new):
        before = self.resolve(self.old, old.get("requestBody", {}))
        after = self.resolve(self.new, new.get("requestBody", {}))
        if after.get("required") and not before.get("required"):
            self.breach(where, "a body is required now")
        self.content(where + " body", before, after, True)

    def responses(self, where, old, new):
        for status, response in old["responses"].items():
            here = "%s %s" % (where, status)
            response = self.resolve(self.old, response)
            if status not in new["responses"]:
                if status < "400":
                    self.breach(here, "the answer is gone")
                continue
            after = self.resolve(self.new, new["responses"][status])
            self.content(here, response, after, False)
            for name in sorted(set(response.get("headers", {})) - set(after.get("headers", {}))):
                self.breach(here, "the header %s is gone" % name)

    def security(self, where, old, new):
        def is_open(document, operation):
            ways = operation.get("security", document.get("security", []))
            return not ways or {} in ways
        if is_open(self.old, old) and not is_open(self.new, new):
            self.breach(where, "credentials are required now")

    def operation(self, where, old, new):
        if old["operationId"] != new["operationId"]:
            self.breach(where, "its operationId was %s and is %s" % (old["operationId"], new["operationId"]))
        self.security(where, old, new)
        self.parameters(where, old, new)
        self.body(where, old, new)
        self.responses(where, old, new)

    def run(self):
        for path, item in self.old["paths"].items():
            for method in METHODS:
                where = "%s %s" % (method.upper(), path)
                if method not in item:
                    continue
                if method not in self.new["paths"].get(path, {}):
                    self.breach(where, "the route is gone")
                else:
                    self.operation(where, item[method], self.new["paths"][path][method])
        return self.breaches


def version(document):
    return [int(part) for part in document["info"]["version"].split(".")]


def accepted():
    with open(ACCEPTED, encoding="utf-8") as file:
        return [entry["breach"] for entry in yaml.safe_load(file) or ()]


def unaccepted(breaches, patterns):
    """What no pattern lets pass, and patterns that let nothing pass any more."""
    left = [b for b in breaches if not any(re.fullmatch(p, b) for p in patterns)]
    return left + ["openapi/accepted.yaml: nothing is like %s" % p for p in patterns
                   if not any(re.fullmatch(p, b) for b in breaches)]


def compare(released, contract):
    """Every breach, and an addition that no version tells of."""
    now = normalised(contract)
    found = Comparison(released, now).run()
    same = all(released[part] == now[part] for part in ("paths", "components"))
    if not same and version(contract) <= version(released):
        found.append("info.version: %s was released; what came since needs a higher one" %
                     released["info"]["version"])
    return found


def main():
    with open(CONTRACT, encoding="utf-8") as file:
        contract = yaml.safe_load(file)
    if sys.argv[1:] == ["--record"]:
        with open(RELEASED, "w", encoding="utf-8") as file:
            file.write(as_lines(normalised(contract)))
        return 0
    with open(RELEASED, encoding="utf-8") as file:
        found = unaccepted(compare(json.load(file), contract), accepted())
    print("\n".join(found) or "openapi.yaml keeps every promise of the last release")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
