"""Requests from the contract, for Hypothesis: what its schemas allow, and the same damaged.

Nothing here knows a route or a field by name but SLOW: whatever the contract gains is asked too.
"""
import json
import re
import urllib.parse

from hypothesis import strategies as st

ALWAYS = {"wait": st.sampled_from([0, "0"])}  # others hold the answer back, which is what they are for
ODD_TEXTS = ["", " ", "0", "-1", "1e999", "null", "true", "\u0000", "\ufeff", "a" * 300, "é", "𝔤𝔭𝔲", "%", "'", "../..",
             "<script>", "=1+1", "2147483648", "9223372036854775808", "1.5", "\n", "a,b", ",", "a,,b"]
ODD_VALUES = [None, True, False, 0, -1, 1, 1.5, 1e-320, 1e308, 10 ** 30, 2 ** 31, 2 ** 53 + 1, -2 ** 63, [], {}, [[]], [None],
              {"": 0}, {"x": {}}, [{}], *ODD_TEXTS]


class Strategies:
    def __init__(self, contract, resolve):
        self.contract, self.resolve = contract, resolve

    # --- what a schema allows ---

    def number(self, schema, whole):
        low, high = schema.get("minimum", -1e6), schema.get("maximum", 1e6)
        edges = st.sampled_from([low, high])
        if whole:
            return st.one_of(st.integers(int(low), int(high)), edges.map(int), st.integers(
                int(low), int(min(high, low + 10))))
        return st.one_of(st.floats(low, high, allow_nan=False), edges, st.integers(
            int(low) + 1, int(max(low + 1, min(high, low + 100)))))

    def text(self, schema):
        most = schema.get("maxLength", 100)
        if schema.get("pattern") in (None, "^.*$", "^.+$"):
            return st.text(st.characters(blacklist_categories=("Cs", "Cc")),
                           min_size=max(1, schema.get("minLength", 1)), max_size=min(most, 20))
        return st.from_regex(schema["pattern"], fullmatch=True).filter(
            lambda t: len(t) <= most and t[-1:] != "\n" and not re.search("[\ud800-\udfff]", t))

    @staticmethod
    @st.composite
    def object(draw, self, schema):
        members = schema.get("properties", {})
        required = [n for n in schema.get("required", ()) if n in members]
        others = sorted(set(members) - set(required))
        chosen = required + (draw(st.lists(st.sampled_from(others), max_size=4, unique=True)) if others else [])
        return {name: draw(self.value(members[name])) for name in chosen}

    def value(self, schema):
        schema = self.resolve(schema)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return st.one_of([self.value(inner) for inner in schema[word]])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        kinds = schema.get("type", "object")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return st.one_of([self.of_kind(kind, schema) for kind in kinds])

    def of_kind(self, kind, schema):
        if kind == "null":
            return st.none()
        if kind == "boolean":
            return st.booleans()
        if kind in ("integer", "number"):
            return self.number(schema, kind == "integer")
        if kind == "array":
            return st.lists(self.value(schema.get("items", {})), min_size=schema.get("minItems", 0),
                            max_size=min(schema.get("maxItems", 3), schema.get("minItems", 0) + 3))
        return self.text(schema) if kind == "string" else Strategies.object(self, schema)

    # --- requests of an operation ---

    def parameter(self, parameter):
        """A good value of it, as text."""
        schema = self.resolve(parameter["schema"])
        if parameter["name"] in ALWAYS:
            return ALWAYS[parameter["name"]].map(str)
        good = self.value(schema).map(lambda v: v if isinstance(v, str) else json.dumps(v))
        return st.one_of(st.just(str(parameter["example"])), good) if "example" in parameter else good

    @staticmethod
    @st.composite
    def good_query(draw, self, parameters):
        queries = [p for p in parameters if p["in"] == "query"]
        chosen = draw(st.lists(st.sampled_from(queries), max_size=3, unique_by=lambda p: p["name"])) if queries else []
        return [(p["name"], draw(self.parameter(p))) for p in chosen]

    @staticmethod
    @st.composite
    def odd_query(draw, self, parameters):
        """Mostly wrong, never certainly."""
        queries = [p["name"] for p in parameters if p["in"] == "query" and p["name"] not in ALWAYS]
        name = st.one_of(st.sampled_from(queries), st.sampled_from(["x", "", "limt", "provder"])) \
            if queries else st.sampled_from(["x", "", "limit"])
        return draw(st.lists(st.tuples(name, st.sampled_from(ODD_TEXTS)), min_size=1, max_size=3))

    @staticmethod
    @st.composite
    def good_body(draw, self, content):
        """What the schema allows; half of the time an example with a few members of its own."""
        drawn = draw(self.value(content["schema"]))
        examples = [self.resolve(e)["value"] for e in content.get("examples", {}).values()]
        if not examples or draw(st.booleans()):
            return drawn
        body = json.loads(json.dumps(draw(st.sampled_from(examples))))
        for name, value in drawn.items():
            if draw(st.booleans()):
                if isinstance(value, dict) and isinstance(body.get(name), dict):
                    value = dict(body[name], **value)
                body[name] = value
        return body

    @staticmethod
    @st.composite
    def odd_body(draw, self, content):
        """A good one, changed in one to three places to something that is mostly wrong there."""
        body = draw(Strategies.good_body(self, content))
        for _ in range(draw(st.integers(1, 3))):
            body = damage(draw, body)
        return body

    def path(self, path, parameters, known):
        """Filled in, with what the service is known to have (a strategy by name) or what the schema allows."""
        wanted = [p for p in parameters if p["in"] == "path"]
        values = [st.one_of(known(p), self.parameter(p), st.sampled_from(ODD_TEXTS[1:])) for p in wanted]

        def fill(texts):
            filled = path
            for parameter, text in zip(wanted, texts):
                filled = filled.replace("{%s}" % parameter["name"], urllib.parse.quote(text, safe=""))
            return filled
        return st.tuples(*values).map(fill)


def damage(draw, node):
    """`node` with one value inside it replaced, removed or added."""
    if isinstance(node, dict) and node and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(node)))
        return dict(node, **{name: damage(draw, node[name])})
    if isinstance(node, list) and node and draw(st.booleans()):
        at = draw(st.integers(0, len(node) - 1))
        return node[:at] + [damage(draw, node[at])] + node[at + 1:]
    if isinstance(node, dict):
        kind = draw(st.integers(0, 2))
        if kind == 0 and node:
            gone = draw(st.sampled_from(sorted(node)))
            return {name: value for name, value in node.items() if name != gone}
        if kind == 1:
            return dict(node, **{draw(st.sampled_from(["x", "", "workloads", "a/b~c", "é"])): draw(
                st.sampled_from(ODD_VALUES))})
    return draw(st.sampled_from(ODD_VALUES))
