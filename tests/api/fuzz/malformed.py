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
    ["Content-Length: 0x10"], ["Content-Length: 99999999999999999999"], ["Content-Length: 18446744073709551616"],
    ["Content-Length: 5 "], ["Content-Length:"], ["Content-Length: x", "Transfer-Encoding: chunked"], ["Host: two"],
    ["Content-Length: 3", "Content-Length: x"], ["Content-Length : 3"], ["content-LENGTH: 1e3"],
    ["Transfer-Encoding: chunked", "Content-Length: 3"], ["Content-Length: 3", "Expect: 200-ok", "Content-Length: 4"],
]
BAD_FIELDS = [b"no colon", b"X", b" X: folded", b"\tfolded", b"X: a\r\n folded", b"X: a\r\n\t", b": no name", b"X\0: a", b"X: \0",
              b"\0", b"X: a\nY: b", b"\n", b"X: a\rb", b"X: \x07", b"X Y: a", b"\xff: a", b"X: a\r", b"(comment): a"]
BAD_LINES = [b"GET", b"GET ", b"GET /", b"GET  HTTP/1.1", b"GET HTTP/1.1", b" / HTTP/1.1", b"/ HTTP/1.1 GET", b"GET / HTTP/1.1 ",
             b"GET / http/1.1", b"GET / HTTP/1.10", b"GET / HTTP/11", b"GET / HTTP/1", b"GET / HTTP/1.x", b"GET / HTTP/a.1",
             b"GET /\0 HTTP/1.1", b"\0GET / HTTP/1.1", b"GET\t/\tHTTP/1.1", b"GET / HTTP/1.1\r", b"G(T / HTTP/1.1", b"GET / /1.1 HTTP"]
BAD_CHUNKS = [b"\r\n", b"x\r\n", b" 5\r\nhello\r\n", b"5 \r\nhello\r\n", b"5\nhello\n", b"-5\r\n", b"0x5\r\nhello\r\n", b";a\r\n",
              b"5\r\nhell\r\n", b"5\r\nhello!\r\n", b"5\r\nhello\r", b"ffffffffffffffffff\r\n", b"0\r\nX\r\n", b"0\r\n X: a\r\n",
              b"0" * 300, b"5;" + b"a" * 300, b"0\r\nX: " + b"a" * 2000 + b"\r\n", b"\0", b"0\r\n\0: a\r\n"]
BAD_VERSIONS = ["HTTP/0.9", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9", "HTTP/0.0"]


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
    def bad_field(draw, self):
        """A line that is no field, among good ones."""
        lines = get(draw(st.sampled_from(self.paths))).split(b"\r\n")
        lines.insert(draw(st.integers(1, len(lines) - 2)), draw(st.sampled_from(BAD_FIELDS)))
        return b"\r\n".join(lines)

    @st.composite
    def bad_line(draw, self):
        line = draw(st.one_of(st.sampled_from(BAD_LINES), st.binary(min_size=1, max_size=40).map(
            lambda raw: raw.replace(b"\n", b"").replace(b" ", b"") or b"x")))
        return line + b"\r\n" + draw(st.sampled_from([b"", b"Host: a\r\n", b"X: " + b"a" * 3000 + b"\r\n"])) + b"\r\n"

    @st.composite
    def bad_version(draw, self):
        return get(draw(st.sampled_from(self.paths)), version=draw(st.sampled_from(BAD_VERSIONS)))

    @st.composite
    def bad_chunks(draw, self):
        path, _ = draw(st.sampled_from(self.bodies))
        pieces = draw(st.lists(st.binary(min_size=1, max_size=300), max_size=4))
        body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
        return chunked(path, [])[:-5] + body + draw(st.sampled_from(BAD_CHUNKS)) + b"0\r\n\r\n"

    @st.composite
    def too_large(draw, self):
        path = draw(st.sampled_from(self.paths))
        bytes_over = draw(st.integers(17000, 200000))
        return draw(st.sampled_from([
            get("/" + "a" * bytes_over), get(path + "?" + "a" * bytes_over), get(path, "X: " + "a" * bytes_over),
            get(path, *["X-%d: a" % i for i in range(bytes_over // 10)]), get(path + "?" + "a&" * 2000, "X: a"),
            get(path, *["a:"] * 1000), get(path, "Cookie: " + "a=b;" * 600), b"a" * bytes_over, b"\r\n" * bytes_over]))

    @st.composite
    def bad_accept(draw, self):
        _, path = draw(st.sampled_from([p for p in self.pairs if p[0] == "GET"]))
        return get(path, "Accept: " + draw(st.sampled_from(["image/png", "application/xml;q=1", "text/x-none", "*/*;q=0",
                                                             "application/*;q=0, image/*"])))

    def any(self):
        """(kind, bytes)."""
        kinds = [("text", Malformed.broken_body(self), 2), ("body", Malformed.wrong_body(self), 3),
                 ("query", Malformed.bad_query(self), 1), ("path", Malformed.bad_path(self), 1),
                 ("method", Malformed.bad_method(self), 1), ("type", Malformed.bad_type(self), 1),
                 ("accept", Malformed.bad_accept(self), 1), ("head", Malformed.bad_head(self), 1),
                 ("field", Malformed.bad_field(self), 1), ("line", Malformed.bad_line(self), 1),
                 ("version", Malformed.bad_version(self), 1), ("chunks", Malformed.bad_chunks(self), 1),
                 ("large", Malformed.too_large(self), 1)]
        return st.one_of(*[st.tuples(st.just(kind), made) for kind, made, weight in kinds for _ in range(weight)])
