#!/usr/bin/python3
"""Property-based requests over the whole contract: good ones, doubtful ones and ones that are wrong for certain.

In the suite a bounded search that is the same each time. GPUPICK_FUZZ_EXAMPLES sets how many requests an
operation gets, GPUPICK_FUZZ_SEED draws others: fuzz/run does both for as long as it is told to.
"""
import json
import os
import random
import sys
import tempfile
import unittest
import urllib.parse

import hypothesis
from hypothesis import strategies as st

# Hypothesis keeps tables of characters in a folder, which shall not be the one where it is run.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "gpupick-hypothesis"))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "fuzz"), os.path.join(HERE, "..", "gateway")]
import checks  # noqa: E402
import gateway  # noqa: E402
import openapi_check  # noqa: E402
from malformed import Malformed  # noqa: E402
from service import SLOW, Service  # noqa: E402
from strategies import Strategies  # noqa: E402

EXAMPLES = int(os.environ.get("GPUPICK_FUZZ_EXAMPLES", max(10, int(80 / SLOW))))
MALFORMED = int(os.environ.get("GPUPICK_FUZZ_MALFORMED", EXAMPLES * 10))
SEED = os.environ.get("GPUPICK_FUZZ_SEED")
FORGIVEN = {"Date", "X-Request-Id", "Server-Timing", "Content-Length", "traceparent"}  # what HEAD may say otherwise


def setUpModule():
    global service, strategies, known
    service = openapi_check.service = Service()
    openapi_check.read_contract()
    strategies = Strategies(openapi_check.contract, openapi_check.resolve)
    items = {path: service.get("/v1/" + path).json()["items"] for path in (
        "prices", "accelerators", "models", "providers")}
    known = {"prices": [i["id"] for i in items["prices"]], "accelerators": [i["name"] for i in items["accelerators"]],
             "models": [i["model"]["id"] for i in items["models"]], "providers": [i["provider"] for i in items["providers"]]}


def tearDownModule():
    assert service.stop() == 0, service.log


def search(examples, *given):
    """A decorator: many examples, the same each time unless a seed is set."""
    def wrap(function):
        settings = hypothesis.settings(max_examples=examples, database=None, deadline=None, derandomize=SEED is None,
                                       print_blob=False, report_multiple_bugs=False,
                                       suppress_health_check=list(hypothesis.HealthCheck))
        wrapped = settings(hypothesis.given(*given)(function))
        return wrapped if SEED is None else hypothesis.seed(int(SEED))(wrapped)
    return wrap


def asked():
    """Operations of the API's port."""
    for operation, (method, path, documented) in openapi_check.operations.items():
        if path not in openapi_check.OPS:
            yield operation, method, path, documented, [openapi_check.resolve(p) for p in documented.get("parameters", ())]


def known_values(path):
    return lambda parameter: st.sampled_from(known[path.split("/")[2]])


class Parameters(unittest.TestCase):
    def explore(self, operation, path, parameters):
        queries = st.one_of(Strategies.good_query(strategies, parameters), Strategies.odd_query(strategies, parameters))

        @search(EXAMPLES, strategies.path(path, parameters, known_values(path)), queries)
        def look(target, query):
            url = target + ("?" + urllib.parse.urlencode(query) if query else "")
            answer = service.get(url)
            if answer.status_code == 405 or (answer.status_code == 404 and "404" not in openapi_check.operations[
                    operation][2]["responses"]):
                return  # a parameter such as ".." made it another path
            document = checks.answer_of(operation, answer)
            if checks.parameters_refuse(parameters, query):
                assert 400 <= answer.status_code < 500, (url, answer.status_code)
            elif document and document["code"] == "invalid_parameter":
                faults = {e["code"] for e in document["errors"]}
                assert not faults & {"unknown_parameter", "repeated"}, (url, document)
        look()

    def test_every_operation(self):
        for operation, method, path, _, parameters in asked():
            if method == "get":
                with self.subTest(operation):
                    self.explore(operation, path, parameters)


class Bodies(unittest.TestCase):
    def explore(self, operation, path, content):
        bodies = st.one_of(Strategies.good_body(strategies, content), Strategies.odd_body(strategies, content))

        @search(EXAMPLES * 2, bodies)
        def look(body):
            answer = service.post(path, body)
            document = checks.answer_of(operation, answer)
            if openapi_check.errors(content["schema"], body, openapi_check.contract):
                assert answer.status_code in (400, 422), answer.status_code
                if isinstance(body, dict):
                    checks.unknown_fields_are_all_named(content["schema"], body, document)
            elif document:
                checks.refused_for_what_no_schema_says(content["schema"], body, document)
        look()

    def test_every_operation(self):
        for operation, _, path, documented, _ in asked():
            if "requestBody" in documented:
                with self.subTest(operation):
                    self.explore(operation, path, documented["requestBody"]["content"]["application/json"])


class Heads(unittest.TestCase):
    def test_head_says_what_get_says(self):
        for operation, method, path, _, parameters in asked():
            if method != "get" or operation in openapi_check.NEED_DATABASE:
                continue

            @search(max(5, EXAMPLES // 8), strategies.path(path, parameters, known_values(path)))
            def look(target):
                got = service.get(target)
                head = service.session.head(service.url(target), timeout=20 * SLOW)
                assert head.status_code == got.status_code and head.content == b"", target
                for name in set(got.headers) - FORGIVEN:
                    assert head.headers.get(name) == got.headers[name], (target, name)
            with self.subTest(operation):
                look()

    def test_odd_fields_change_nothing_but_what_they_say(self):
        texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
        names = st.sampled_from(["Accept", "Prefer", "If-None-Match", "X-Request-Id", "traceparent", "tracestate", "Range",
                                 "If-Modified-Since", "Accept-Encoding", "Forwarded", "X-Forwarded-For", "Origin", "Cookie",
                                 "Authorization", "Accept-Language", "X-" + "y" * 50, "Referer", "User-Agent"])

        @search(EXAMPLES, st.dictionaries(names, texts, max_size=4))
        def look(fields):
            answer = service.get("/v1/providers", headers=fields)
            assert answer.status_code < 500, (fields, answer.text)
            if answer.status_code >= 400:
                checks.is_problem(answer)
        look()


class Followed(unittest.TestCase):
    """From one answer to the next: what is told can be asked for."""

    def test_pages_recommendations_and_tags(self):
        @search(max(5, EXAMPLES // 8), st.integers(1, 1000), st.sampled_from(["", "&sort=-usd_per_hour", "&count=1,8"]))
        def look(limit, more):
            answer = service.get("/v1/prices?limit=%d%s" % (limit, more))
            tag = answer.headers["ETag"]
            assert service.get("/v1/prices?limit=%d%s" % (limit, more), headers={"If-None-Match": tag}).status_code == 304
            page = answer.json()
            if page["next"]:
                following = service.get("/v1/prices" + page["next"])
                checks.answer_of("listPrices", following)
                assert not {i["id"] for i in page["items"]} & {i["id"] for i in following.json()["items"]}
            offer = random.Random(limit).choice(page["items"])
            assert service.get("/v1/prices/" + offer["id"]).json()["offer"]["id"] == offer["id"]
        look()


class Wrong(unittest.TestCase):
    """Raw bytes, wrong by construction: problem documents, all of them 4xx, and a service that is as before."""

    def test_each_is_refused_with_a_problem(self):
        counts = {}
        host, port = service.addresses["api"].rsplit(":", 1)

        @search(MALFORMED, Malformed(strategies).any())
        def look(request):
            kind, raw = request
            with gateway.socket.create_connection((host, int(port)), timeout=20 * SLOW) as client:
                try:
                    client.sendall(raw)
                except ConnectionError:
                    pass  # refused before it was read; the answer is there all the same
                try:
                    answer = gateway.Reader(client).answer()
                except gateway.Closed as closed:
                    raise AssertionError("no whole answer: %r to %r" % (closed.args, raw[:500])) from None
            assert 400 <= answer.status < 500, (answer.status, raw[:500])
            checks.openapi_problem(answer.is_problem())
            by_status = counts.setdefault(kind, {})
            by_status[answer.status] = by_status.get(answer.status, 0) + 1
        look()
        print("malformed requests, by kind and status of the answer: %s" % json.dumps(counts, sort_keys=True), file=sys.stderr)
        self.assertGreaterEqual(sum(sum(found.values()) for found in counts.values()), MALFORMED // 2)
        statuses = {status for found in counts.values() for status in found}
        if MALFORMED >= 500:  # fewer, as under sanitizers, need not draw them all
            self.assertEqual({"text", "body", "query", "path", "method", "type", "accept", "head", "field", "line", "version",
                              "chunks", "large"}, set(counts))
            self.assertLessEqual({400, 404, 405, 406, 414, 415, 422, 431}, statuses)
        self.assertEqual(service.get("/v1/providers").status_code, 200)


if __name__ == "__main__":
    unittest.main()
