"""Requests that are wrong for certain, as bytes on a socket: each must be answered 4xx with a problem document."""
import json

import openapi_check
from hypothesis import strategies as st
from strategies import ODD_TEXTS, Strategies

from gateway import chunked, get, post

BAD_ESCAPES = ["%", "%zz", "%0", "%00", "a%00b", "%c3", "%ff%fe"]
BAD_PIECES = [b"\\u12", b"\\x", b"\n\"", b"\xc0\x80", b"\xed\xa0\x80", b"//", b",", b"\0"]
UNKNOWN_METHODS = ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get", "BREW", "QUERY"]
BAD_HEADS = [
    ["Content-Length: 1", "Content-Length: 2"], ["Content-Length: 1, 2"], ["Content-Length: -1"], ["Content-Length: +3"],
    ["Content-Length: 0x10"], ["Content-Length: 99999999999999999999"], ["Host: two"],
    ["Transfer-Encoding: chunked", "Content-Length: 3"], ["Content-Length: 3", "Expect: 200-ok", "Content-Length: 4"],
]


def is_json(raw):
    """As strictly as the service reads: UTF-8, no names twice, no NaN, an object."""
    def once(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a name twice")
        return dict(pairs)

    def no_constant(text):
        raise ValueError(text)
    try:
        return isinstance(json.loads(raw.decode("utf-8"), object_pairs_hook=once, parse_constant=no_constant), dict)
    except (ValueError, RecursionError):
        return False


class Malformed:
    def __init__(self, strategies):
        self.strategies = strategies
        self.bodies, self.paths, self.pairs = [], [], []
        for operation, (method, path, documented) in openapi_check.operations.items():
            if path in openapi_check.OPS:
                continue
            filled = path.replace("{id}", "0123456789abcdef").replace("{name}", "x")
            self.pairs.append((method.upper(), filled))
            if method == "post":
                content = documented["requestBody"]["content"]["application/json"]
                self.bodies.append((filled, content))
            else:
                self.paths.append(filled)

    @st.composite
    def broken_body(draw, self):
        """A good text with a piece of it cut out, repeated or replaced, or in another shape altogether."""
        path, content = draw(st.sampled_from(self.bodies))
        example = next(iter(content["examples"].values()))
        raw = json.dumps(openapi_check.resolve(example)["value"]).encode()
        kind = draw(st.integers(0, 4))
        if kind == 0:
            raw = raw[:draw(st.integers(0, len(raw) - 1))]
        elif kind == 1:
            raw = draw(st.sampled_from([b"", b" ", b"[]", b"1", b'"x"', b"null", b"{}{}", b"{'a': 1}", b"\xef\xbb\xbf" + raw,
                                        raw.decode().encode("utf-16"), raw + b"\0", b"[" * 3000, b'{"a":' * 3000,
                                        b'{"workload": NaN}', b'{"workload": 1e}', b'{"workload": 01}', b'{"a": "\\ud800"}']))
        elif kind == 2:
            raw = b'{"workload": 1, ' + raw[1:]
        elif kind == 3:
            at = draw(st.integers(0, len(raw) - 1))
            raw = raw[:at] + draw(st.binary(min_size=1, max_size=4)) + raw[at + draw(st.integers(0, 3)):]
        else:
            at = draw(st.integers(0, len(raw) - 1))
            raw = raw[:at] + draw(st.sampled_from(BAD_PIECES)) + raw[at:]
        if is_json(raw) and not openapi_check.errors(content["schema"], json.loads(raw), openapi_check.contract):
            raw = raw[:-1]
        return chunked(path, [raw[:7], raw[7:]]) if len(raw) > 7 and draw(st.booleans()) else post(path, raw)

    @st.composite
    def wrong_body(draw, self):
        """JSON that the schema forbids."""
        path, content = draw(st.sampled_from(self.bodies))
        body = draw(Strategies.odd_body(self.strategies, content))
        if not openapi_check.errors(content["schema"], body, openapi_check.contract):
            body = dict(body, **{"no such field": 0})
        raw = json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
        return post(path, raw + b" " * (300000 if draw(st.integers(0, 50)) == 50 else 0))

    @st.composite
    def bad_type(draw, self):
        path, _ = draw(st.sampled_from(self.bodies))
        kind = draw(st.sampled_from([None, "text/plain", "application/xml", "json", "application/json/x", "multipart/form-data"]))
        if draw(st.booleans()):
            return post(path, b"{}", "Content-Encoding: gzip")
        return post(path, b"{}", content_type=kind)

    @st.composite
    def bad_query(draw, self):
        path = draw(st.sampled_from(self.paths))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            return get("%s?limit=%s" % (path, draw(st.sampled_from(BAD_ESCAPES))))
        if kind == 1:
            return get("%s?%s=1" % (path, draw(st.sampled_from(["x", "limitt", "%20", "a.b", "_", "provider[]"]))))
        if kind == 2:
            return get("%s?format=json&format=json" % path)
        text = draw(st.sampled_from([t for t in ODD_TEXTS if t.isascii() and t.isprintable() and " " not in t]))
        return get("%s?zz=%s" % (path, text.replace("%", "%25")))

    @st.composite
    def bad_path(draw, self):
        part = st.text("abcdefgXYZ019._~-%/", min_size=1, max_size=12)
        return get(draw(st.one_of(part.map(lambda p: "/v2/" + p), part.map(lambda p: "/v1/nothing/" + p),
                                  st.sampled_from(["/v1", "/v1/", "/v1/prices/", "//v1/prices", "/v1/prices/%00",
                                                   "/v1//prices", "/v1/prices/x/history/y", "/" + "a" * 9000,
                                                   "/v1/prices/../models", "/v1/models/%zz", "/openapi.yml"]))))

    @st.composite
    def bad_method(draw, self):
        taken, path = draw(st.sampled_from(self.pairs))
        method = draw(st.sampled_from([m for m in UNKNOWN_METHODS + ["POST", "GET"] if m != taken]))
        return get(path, "Content-Length: 0", method=method)

    @st.composite
    def bad_head(draw, self):
        path = draw(st.sampled_from(self.paths))
        lines = draw(st.sampled_from(BAD_HEADS))
        if draw(st.integers(0, 9)) == 0:
            return get(path, host=None)
        return get(path, *lines)

    @st.composite
    def bad_accept(draw, self):
        _, path = draw(st.sampled_from([p for p in self.pairs if p[0] == "GET"]))
        return get(path, "Accept: " + draw(st.sampled_from(["image/png", "application/xml;q=1", "text/x-none", "*/*;q=0",
                                                             "application/*;q=0, image/*"])))

    def any(self):
        """(bytes, may the library answer them itself?): of heads that it cannot parse it writes HTML."""
        text, body = Malformed.broken_body(self), Malformed.wrong_body(self)
        ours = st.one_of(text, text, body, body, body, Malformed.bad_query(self), Malformed.bad_path(self),
                         Malformed.bad_method(self), Malformed.bad_type(self), Malformed.bad_accept(self))
        return st.one_of(*[st.tuples(ours, st.just(False))] * 8, st.tuples(Malformed.bad_head(self), st.just(True)))
