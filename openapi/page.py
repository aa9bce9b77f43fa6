"""The reference page, docs.html: made from the contract, readable without JavaScript, one file.

Style and script stand in the page; its policy names them by their hashes, so that nothing else may run.
"""
import base64
import hashlib
import html
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
METHODS = ("get", "post", "put", "patch", "delete")
WITH_BODY = ("post", "put", "patch")
esc = html.escape


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def inline(text):
    """`code` and **bold** of a line of Markdown."""
    parts = re.split(r"`([^`]+)`", text)
    out = ""
    for at, part in enumerate(parts):
        out += "<code>%s</code>" % esc(part) if at % 2 else re.sub(
            r"\*\*(.+?)\*\*", r"<strong>\1</strong>", esc(part))
    return out


def prose(text):
    return "".join("<p>%s</p>" % inline(" ".join(block.split()))
                   for block in re.split(r"\n\s*\n", (text or "").strip()) if block)


def pretty(value):
    """JSON with what is short on one line."""
    def write(node, indent):
        line = json.dumps(node, ensure_ascii=False)
        if len(line) + indent <= 100 or not isinstance(node, (dict, list)):
            return line
        pad, end = "\n" + " " * (indent + 2), "\n" + " " * indent
        if isinstance(node, list):
            return "[%s%s]" % (",".join(pad + write(v, indent + 2) for v in node), end)
        return "{%s%s}" % (",".join("%s%s: %s" % (pad, json.dumps(k), write(v, indent + 2))
                                    for k, v in node.items()), end)
    return write(value, 0)


def number(value):
    return "%d" % value if abs(value) < 1e7 and value == int(value) else "%.10g" % value


def bounds(schema):
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return " from %s to %s" % (number(low), number(high))
    return " from %s" % number(low) if low is not None else " to %s" % number(high) if high is not None else ""


class Page:
    def __init__(self, contract):
        self.contract = contract

    def resolve(self, node):
        while "$ref" in node:
            target = self.contract
            for part in node["$ref"][2:].split("/"):
                target = target[part]
            node = target
        return node

    # --- schemas ---

    def is_small(self, schema):
        """Said in a line, where it is used, rather than linked."""
        return not ({"properties", "oneOf", "anyOf", "allOf"} & set(schema)) and len(schema.get("enum", ())) <= 20

    def kind(self, schema):
        """A schema in a line."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            target = self.resolve(schema)
            if self.is_small(target) and target.get("type") != "object" and target.get("type") != "array":
                return self.kind(target)
            return '<a href="#schema-%s">%s</a>' % (name, name)
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        end = ", or null" if "null" in kinds else ""
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return " or ".join(self.kind(s) for s in schema[word]) + end
        if "enum" in schema:
            values = [v for v in schema["enum"] if v is not None]
            return "one of " + " ".join("<code>%s</code>" % esc(str(v)) for v in values) + end
        kind = next((k for k in kinds if k != "null"), None)
        if kind is None:
            return "null" if end else "any value"
        if kind == "array":
            most = ", at most %d" % schema["maxItems"] if "maxItems" in schema else ""
            return "list of %s%s%s" % (self.kind(schema.get("items", {})), most, end)
        if kind in ("integer", "number"):
            return {"integer": "whole number", "number": "number"}[kind] + bounds(schema) + end
        if kind == "string":
            return {"date-time": "time (RFC 3339)", "date": "date", "uri": "URL"}.get(
                schema.get("format"), "text") + end
        return {"boolean": "true or false", "object": "object"}.get(kind, kind) + end

    def notes(self, schema):
        """What is said of a value beside its kind."""
        out = prose(self.described(schema))
        if schema.get("deprecated"):
            out = "<p><strong>Deprecated.</strong></p>" + out
        if "default" in schema:
            out += "<p>Default: <code>%s</code></p>" % esc(json.dumps(schema["default"]))
        return out

    def described(self, schema):
        if "description" in schema or "$ref" not in schema:
            return schema.get("description", "")
        target = self.resolve(schema)
        return target.get("description", "") if self.is_small(target) else ""

    def members(self, schema):
        """The table of an object's properties; inner objects have theirs inside."""
        required = schema.get("required", ())
        rows = ""
        for name, member in schema["properties"].items():
            inner = ""
            for part in [member, member.get("items", {})] + member.get("oneOf", []):
                if "properties" in part:
                    inner += self.members(part)
            rows += '<tr><th scope="row"><code>%s</code>%s</th><td>%s</td><td>%s%s</td></tr>' % (
                esc(name), ' <span class="must">required</span>' if name in required else "",
                self.kind(member), self.notes(member), inner)
        return ('<table><thead><tr><th scope="col">Field</th><th scope="col">Value</th>'
                '<th scope="col">Meaning</th></tr></thead><tbody>%s</tbody></table>' % rows)

    def schema(self, name, schema):
        body = ""
        for part in [schema, schema.get("items", {})] + schema.get("oneOf", []):
            if "properties" in part:
                body += '<div class="wide">%s</div>' % self.members(part)
        if not body:
            body = "<p>%s</p>" % self.kind(schema)
        elif "oneOf" in schema:
            body = "<p>%s</p>%s" % (self.kind(schema), body)
        return '<article id="schema-%s"><h3>%s</h3>%s%s</article>' % (
            name, name, prose(schema.get("description")), body)

    # --- operations ---

    def parameters(self, operation):
        return [self.resolve(p) for p in operation.get("parameters", ())]

    def parameter_table(self, operation):
        rows = ""
        for parameter in self.parameters(operation):
            example = parameter.get("example")
            rows += ('<tr><th scope="row"><code>%s</code>%s</th><td>%s</td><td>%s</td><td>%s%s</td></tr>' % (
                esc(parameter["name"]), ' <span class="must">required</span>' if parameter.get("required") else "",
                parameter["in"], self.kind(parameter["schema"]),
                prose(parameter.get("description")) + self.notes(parameter["schema"]),
                "" if example is None else "<p>Example: <code>%s</code></p>" % esc(str(example))))
        if not rows:
            return ""
        return ('<h4>Parameters</h4><div class="wide"><table><thead><tr><th scope="col">Name</th>'
                '<th scope="col">In</th><th scope="col">Value</th><th scope="col">Meaning</th></tr></thead>'
                "<tbody>%s</tbody></table></div>" % rows)

    def json_body(self, operation):
        return self.resolve(operation["requestBody"])["content"]["application/json"] \
            if "requestBody" in operation else None

    def first_example(self, content):
        example = next(iter(content.get("examples", {}).values()), None)
        return None if example is None else self.resolve(example)["value"]

    def curl(self, method, path, operation):
        for parameter in self.parameters(operation):
            if parameter["in"] == "path":
                path = path.replace("{%s}" % parameter["name"],
                                    str(parameter.get("example", parameter["name"].upper())).replace(" ", "%20"))
        line = 'curl -sS "$GPUPICK%s"' % path
        content = self.json_body(operation)
        if content:
            body = pretty(self.first_example(content)).replace("'", "'\\''")
            line += " -H 'Content-Type: application/json' -d '%s'" % body
        elif method != "get":
            line += " -X " + method.upper()
        return '<pre class="curl"><code>%s</code></pre>' % esc(line)

    def body(self, operation):
        content = self.json_body(operation)
        if not content:
            return ""
        out = "<h4>Body</h4><p>%s</p>" % self.kind(content["schema"])
        for example in content.get("examples", {}).values():
            example = self.resolve(example)
            out += "<details><summary>Example: %s</summary><pre><code>%s</code></pre></details>" % (
                esc(example["summary"]), esc(pretty(example["value"])))
        return out

    def responses(self, operation):
        rows, examples = "", ""
        for status, response in operation["responses"].items():
            response = self.resolve(response)
            kinds = ", ".join("<code>%s</code>: %s" % (esc(kind), self.kind(content["schema"]))
                              for kind, content in response.get("content", {}).items())
            headers = " ".join("<code>%s</code>" % esc(name) for name in response.get("headers", {}))
            rows += '<tr><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td></tr>' % (
                status, prose(response["description"]), kinds, headers)
            for content in response.get("content", {}).values():
                for example in content.get("examples", {}).values():
                    example = self.resolve(example)
                    examples += "<details><summary>Answer %s: %s</summary><pre><code>%s</code></pre></details>" % (
                        status, esc(example["summary"]), esc(pretty(example["value"])))
        return ('<h4>Answers</h4><div class="wide"><table><thead><tr><th scope="col">Status</th>'
                '<th scope="col">When</th><th scope="col">Body</th><th scope="col">Headers</th></tr></thead>'
                "<tbody>%s</tbody></table></div>%s" % (rows, examples))

    def form(self, method, path, operation):
        """Sends a request from the page; shown by the script, since it needs it."""
        fields, name = "", operation["operationId"]
        for parameter in self.parameters(operation):
            if parameter["in"] not in ("path", "query"):
                continue
            example = parameter.get("example", "") if parameter["in"] == "path" else ""
            fields += '<label>%s <input data-in="%s" name="%s" value="%s" placeholder="%s" autocomplete="off"%s></label>' % (
                esc(parameter["name"]), parameter["in"], esc(parameter["name"]), esc(str(example)),
                esc(str(parameter.get("example", ""))), " required" if parameter.get("required") else "")
        content = self.json_body(operation)
        if content:
            fields += '<label class="full">Body <textarea name="body" rows="12" spellcheck="false">%s</textarea></label>' % \
                esc(pretty(self.first_example(content)))
        return ('<form class="try" hidden data-method="%s" data-path="%s"><h4>Try it</h4><div class="fields">%s</div>'
                '<button>Send %s</button><div class="result" role="status" aria-live="polite"></div></form>' % (
                    method.upper(), esc(path), fields, esc(name)))

    def operation(self, method, path, operation, is_offered):
        return ('<article class="operation" id="%s"><h3><span class="method %s">%s</span> <code>%s</code></h3>'
                '<p class="summary">%s</p>%s%s%s%s%s%s</article>' % (
                    operation["operationId"], method, method.upper(), esc(path), inline(operation["summary"]),
                    prose(operation.get("description")),
                    self.curl(method, path, operation) if is_offered else "<p>On the operations port.</p>",
                    self.parameter_table(operation), self.body(operation), self.responses(operation),
                    self.form(method, path, operation) if is_offered else ""))

    # --- the whole ---

    def operations(self, tag):
        for path, item in self.contract["paths"].items():
            for method in METHODS:
                if method in item and tag in item[method]["tags"]:
                    yield method, path, item[method], "servers" not in item

    def navigation(self):
        out = ""
        for tag in self.contract["tags"]:
            links = "".join('<li><a href="#%s"><span class="method %s">%s</span> %s</a></li>' % (
                o["operationId"], method, method.upper(), esc(path).replace("/", "/<wbr>"))
                for method, path, o, _ in self.operations(tag["name"]))
            out += '<h2><a href="#tag-%s">%s</a></h2><ul>%s</ul>' % (tag["name"], tag["name"], links)
        return out + '<h2><a href="#schemas">Schemas</a></h2>'

    def keys(self):
        """How a caller says who it is."""
        schemes = self.contract["components"].get("securitySchemes", {})
        rows = "".join('<tr><th scope="row"><code>%s</code></th><td>%s</td></tr>' % (
            "Authorization: Bearer …" if scheme["type"] == "http" else esc(scheme["name"]) + ": …",
            prose(scheme.get("description"))) for scheme in schemes.values())
        return rows and ('<section><h2 id="keys">Who calls</h2><table><thead><tr><th scope="col">Field</th>'
                         '<th scope="col">Meaning</th></tr></thead><tbody>%s</tbody></table></section>' % rows)

    def content(self):
        info = self.contract["info"]
        out = ('<section id="about"><h1>%s <small>%s</small></h1><p class="summary">%s</p>%s<p>The contract: '
               '<a href="openapi.yaml">openapi.yaml</a>, <a href="openapi.json">openapi.json</a> (OpenAPI 3.1), '
               '<a href="openapi-3.0.json">openapi-3.0.json</a> (3.0.3, for importers).</p><p>In the commands, '
               "<code>GPUPICK</code> is the address of the service: <code>export "
               'GPUPICK=<span id="base">http://127.0.0.1:8080</span></code></p></section>' % (
                   esc(info["title"]), esc(info["version"]), esc(info["summary"]), prose(info["description"])))
        out += self.keys()
        for tag in self.contract["tags"]:
            out += '<section><h2 id="tag-%s">%s</h2>%s%s</section>' % (
                tag["name"], tag["name"], prose(tag.get("description")),
                "".join(self.operation(*found) for found in self.operations(tag["name"])))
        schemas = self.contract["components"]["schemas"]
        return out + '<section><h2 id="schemas">Schemas</h2>%s</section>' % "".join(
            self.schema(name, schema) for name, schema in schemas.items()
            if not self.is_small(schema) or schema.get("type") in ("object", "array"))


def source_hash(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def make(contract):
    """The page, and the policy that it is served under."""
    style, script = read("page.css"), read("page.js")
    page = Page(contract)
    key = ('<label class="key" hidden>API key, kept by this page only <input id="key" type="password" autocomplete="off">'
           "</label>" if contract["components"].get("securitySchemes") else "")
    text = ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><title>%s API %s</title>'
            '<link rel="icon" href="data:,"><style>%s</style></head><body><a class="skip" href="#content">Skip to the content</a>'
            '<nav aria-label="Contents"><label class="find" hidden>Find <input id="find" type="search" autocomplete="off">'
            '</label>%s%s</nav><main id="content" tabindex="-1">%s</main><script>%s</script></body></html>\n' % (
                esc(contract["info"]["title"]), esc(contract["info"]["version"]), style, key, page.navigation(),
                page.content(), script))
    policy = ("default-src 'none'; style-src %s; script-src %s; connect-src 'self'; img-src data:; base-uri 'none'; "
              "form-action 'none'; frame-ancestors 'none'" % (source_hash(style), source_hash(script)))
    return text, policy
