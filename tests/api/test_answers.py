#!/usr/bin/python3
"""What holds for every answer: gzip, Vary, HEAD and OPTIONS, traces, request ids, Server-Timing, lenient reading."""
import gzip
import re
import subprocess
import time
import unittest

from service import BINARY, SLOW, Service

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00-%s-00f067aa0ba902b7-01" % TRACE
WORKLOAD = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B"}, "limit": 5}


def setUpModule():
    global service, routes
    service = Service()
    printed = subprocess.run([BINARY, "routes"], check=True, capture_output=True, text=True).stdout
    offer = plain("/v1/prices?limit=1").json()["items"][0]["id"]
    routes = []
    for line in printed.splitlines():
        method, pattern, _ = line.split("\t")
        if pattern.strip("/") in ("livez", "readyz", "startupz", "metrics"):
            continue
        name = {"/v1/models": "meta-llama/Llama-3.1-8B", "/v1/providers": "aws",
                "/v1/accelerators": "L4%2024GB", "/v1/prices": offer}.get(pattern.split("/{")[0], "x")
        routes.append((method, re.sub(r"\{\*?\}", name, pattern)))


def tearDownModule():
    assert service.stop() == 0, service.log


def ask(path, method="GET", **headers):
    """Without what the client library adds by itself, and with the body as it came."""
    named = {"Accept-Encoding": None}
    named.update({name.replace("_", "-"): value for name, value in headers.items()})
    answer = service.session.request(method, service.url(path), headers=named, stream=True, timeout=20 * SLOW)
    answer.raw_body = answer.raw.read(decode_content=False)
    answer._content = answer.raw_body
    return answer


def plain(path, **headers):
    return ask(path, **headers)


class Gzip(unittest.TestCase):
    PATHS = ("/v1/prices?limit=50", "/v1/prices?limit=200&format=csv", "/v1/accelerators", "/v1/models",
             "/v1/providers", "/openapi.yaml")

    def test_the_same_answer_in_less(self):
        for path in self.PATHS:
            whole, coded = plain(path), ask(path, Accept_Encoding="br, gzip")
            self.assertEqual((whole.status_code, coded.status_code), (200, 200), path)
            self.assertNotIn("Content-Encoding", whole.headers)
            self.assertEqual(coded.headers["Content-Encoding"], "gzip", path)
            self.assertEqual(coded.headers["Content-Length"], str(len(coded.raw_body)))
            text = gzip.decompress(coded.raw_body)
            without = [re.sub(rb'"[a-z_]*age_seconds":[0-9]+', b"", t) for t in (whole.raw_body, text)]
            self.assertEqual(without[0], without[1], path)
            self.assertLess(len(coded.raw_body), 0.45 * len(text), path)
            for name in ("Content-Type", "Cache-Control", "Vary", "ETag"):
                self.assertEqual(whole.headers.get(name), coded.headers.get(name), (path, name))
            self.assertIn("Accept-Encoding", coded.headers["Vary"].split(", "))

    def test_a_document_is_coded_once_and_stays_right(self):
        first, again = (ask("/openapi.yaml", Accept_Encoding="gzip").raw_body for _ in range(2))
        self.assertEqual(first, again)

    def test_what_is_asked_again_is_not_coded_again(self):
        def hits():
            text = service.session.get(service.url("/metrics", "ops")).text
            return float(re.search(r'^gpupick_kept_hits_total{what="gzip"} (\S+)$', text, re.M).group(1))
        path, before = "/v1/prices?limit=40&format=csv", hits()
        answers = {ask(path, Accept_Encoding="gzip").raw_body for _ in range(5)}
        self.assertEqual(len(answers), 1)
        self.assertEqual(gzip.decompress(answers.pop()), plain(path).raw_body)
        self.assertEqual(hits() - before, 4)

    def test_posts_too(self):
        whole = service.post("/v1/recommendations", WORKLOAD, **{"Accept-Encoding": "identity"})
        coded = service.post("/v1/recommendations", WORKLOAD, **{"Accept-Encoding": "gzip"})
        self.assertNotIn("Content-Encoding", whole.headers)
        self.assertEqual(coded.headers["Content-Encoding"], "gzip")
        self.assertEqual([r["offer"]["id"] for r in whole.json()["recommendations"]],
                         [r["offer"]["id"] for r in coded.json()["recommendations"]])

    def test_who_refuses_it_gets_it_whole(self):
        for header in ("identity", "gzip;q=0", "br", "*;q=0", ""):
            self.assertNotIn("Content-Encoding", ask(self.PATHS[0], Accept_Encoding=header).headers, header)

    def test_small_answers_errors_and_secrets_are_left_alone(self):
        for path, headers in (("/v1/prices?limit=1&fields=id", {}), ("/v1/prices?limit=0", {}),
                              ("/v1/nowhere", {}), (self.PATHS[0], {"Cookie": "session=1"})):
            answer = ask(path, Accept_Encoding="gzip", **headers)
            self.assertNotIn("Content-Encoding", answer.headers, path)
        metrics = service.session.get(service.url("/metrics", "ops"))
        self.assertGreater(len(metrics.content), 1024)
        self.assertNotIn("Content-Encoding", metrics.headers)

    def test_one_tag_for_all_codings(self):
        path = self.PATHS[0]
        tag = plain(path).headers["ETag"]
        for coding in (None, "gzip"):
            length = ask(path, Accept_Encoding=coding).headers["Content-Length"]
            again = ask(path, Accept_Encoding=coding, If_None_Match=tag)
            self.assertEqual((again.status_code, again.raw_body), (304, b""))
            self.assertEqual(again.headers["ETag"], tag)
            self.assertIn("Accept-Encoding", again.headers["Vary"])
            # What the 200 would have had, give or take digits of ages.
            self.assertAlmostEqual(int(again.headers["Content-Length"]), int(length), delta=60)

    def test_it_can_be_switched_off(self):
        other = Service(settings={"GPUPICK_COMPRESS_BYTES": "0"})
        try:
            answer = other.get("/v1/models", headers={"Accept-Encoding": "gzip"})
            self.assertNotIn("Content-Encoding", answer.headers)
            self.assertNotIn("Accept-Encoding", answer.headers.get("Vary", ""))
        finally:
            other.stop()


class Methods(unittest.TestCase):
    def test_head_is_get_without_the_body(self):
        for method, path in routes:
            if method != "GET":
                continue
            got, head = ask(path), ask(path, "HEAD")
            self.assertEqual(head.status_code, got.status_code, path)
            self.assertEqual(head.raw_body, b"", path)
            for name in ("Content-Type", "Cache-Control", "Vary", "ETag"):
                self.assertEqual(head.headers.get(name), got.headers.get(name), (path, name))

    def test_options_tells_what_is_allowed(self):
        for method, path in routes:
            answer = ask(path, "OPTIONS")
            self.assertEqual((answer.status_code, answer.raw_body), (204, b""), path)
            allowed = set(answer.headers["Allow"].split(", "))
            self.assertEqual(allowed, {"GET", "HEAD", "OPTIONS"} if method == "GET" else {"POST", "OPTIONS"})

    def test_another_method_is_405_with_the_same(self):
        for method, path in routes:
            answer = ask(path, "DELETE")
            self.assertEqual(answer.status_code, 405)
            self.assertIn(method, answer.headers["Allow"])


class Formats(unittest.TestCase):
    def test_what_no_route_makes_is_406(self):
        for method, path in routes:
            answer = ask(path, method, Accept="image/png")
            self.assertEqual(answer.status_code, 406, path)
            self.assertEqual(answer.json()["code"], "not_acceptable")

    def test_accept_chooses_and_format_wins(self):
        path = "/v1/prices?limit=2"
        for accept, query, kind in (("text/csv", "", "text/csv"), ("text/*", "", "text/csv"),
                                    ("application/json;q=0.5, text/csv", "", "text/csv"),
                                    ("text/csv;q=0.5, application/json", "", "application/json"),
                                    ("*/*", "", "application/json"), ("*/*", "&format=csv", "text/csv"),
                                    ("text/csv", "&format=json", "application/json")):
            answer = ask(path + query, Accept=accept)
            self.assertEqual(answer.headers["Content-Type"].split(";")[0], kind, (accept, query))
        self.assertEqual(ask(path + "&format=xml").status_code, 400)


class Traces(unittest.TestCase):
    def test_a_trace_goes_on(self):
        spans = set()
        for path in ("/v1/providers/aws", "/v1/nowhere", "/v1/prices?limit=0"):
            told = ask(path, traceparent=PARENT).headers["traceparent"]
            match = re.fullmatch("00-%s-([0-9a-f]{16})-01" % TRACE, told)
            self.assertTrue(match, told)
            spans.add(match.group(1))
        self.assertEqual(len(spans), 3)
        self.assertNotIn("00f067aa0ba902b7", spans)
        unsampled = ask("/v1/providers/aws", traceparent=PARENT[:-2] + "00").headers["traceparent"]
        self.assertTrue(unsampled.endswith("-00"))

    def test_what_is_no_trace_is_left_out(self):
        for value in (PARENT + "-x", PARENT.upper(), "00-" + "0" * 32 + PARENT[35:], "x", PARENT[:-1]):
            self.assertNotIn("traceparent", ask("/v1/providers/aws", traceparent=value).headers, value)
        self.assertNotIn("traceparent", ask("/v1/providers/aws").headers)

    def test_request_ids(self):
        self.assertEqual(ask("/v1/nowhere", X_Request_Id="abc-1.2:3").headers["X-Request-Id"], "abc-1.2:3")
        for bad in ("a b", "<script>", 'a"b', "x" * 65, "a,b", "ä".encode("utf-8")):
            answer = ask("/v1/nowhere", X_Request_Id=bad)
            self.assertRegex(answer.headers["X-Request-Id"], "^[0-9a-f]{32}$")
            self.assertEqual(answer.json()["request_id"], answer.headers["X-Request-Id"])


class Timing(unittest.TestCase):
    def test_only_when_asked(self):
        self.assertNotIn("Server-Timing", ask("/v1/models").headers)
        began = time.monotonic()
        told = ask("/v1/models", Prefer="server-timing", Accept_Encoding="gzip").headers["Server-Timing"]
        took_ms = (time.monotonic() - began) * 1000
        parts = dict(part.split(";dur=") for part in told.split(", "))
        self.assertEqual(set(parts), {"app", "gzip", "total"})
        self.assertLessEqual(float(parts["app"]) + float(parts["gzip"]), float(parts["total"]) + 0.01)
        self.assertLess(float(parts["total"]), took_ms)

    def test_settings(self):
        for setting, asked, unasked in (("off", False, False), ("all", True, True)):
            other = Service(settings={"GPUPICK_SERVER_TIMING": setting})
            try:
                self.assertEqual("Server-Timing" in other.get(
                    "/v1/models", headers={"Prefer": "server-timing"}).headers, asked)
                self.assertEqual("Server-Timing" in other.get("/v1/models").headers, unasked)
            finally:
                other.stop()


class Lenient(unittest.TestCase):
    PATHS = ("/v1/prices?limit=1&", "/v1/accelerators?", "/v1/accelerators/L4%2024GB?", "/v1/models?",
             "/v1/models/meta-llama/Llama-3.1-8B?", "/v1/providers?", "/v1/providers/aws?")

    def test_strict_unless_asked(self):
        for path in self.PATHS:
            self.assertEqual(ask(path + "no_such_one=1").status_code, 400, path)
            answer = ask(path + "no_such_one=1", Prefer="handling=lenient")
            self.assertEqual(answer.status_code, 200, path)
            self.assertEqual(answer.headers["Preference-Applied"], "handling=lenient")
            self.assertIn("Prefer", answer.headers["Vary"])
            self.assertEqual([w["pointer"] for w in answer.json()["warnings"]], ["no_such_one"], path)

    def test_values_are_not_guessed(self):
        for query in ("limit=0", "price_kind=spott", "sort=prize"):
            answer = ask("/v1/prices?" + query, Prefer="handling=lenient")
            self.assertEqual(answer.status_code, 400, query)


class Search(unittest.TestCase):
    def names(self, path, key):
        items = ask(path).json()["items"]
        return [item[key] for item in items]

    def test_providers(self):
        every = self.names("/v1/providers", "provider")
        self.assertEqual(self.names("/v1/providers?q=AMAZON", "provider"), ["aws"])
        self.assertEqual(set(self.names("/v1/providers?q=stack", "provider")),
                         {name for name in every if "stack" in name} |
                         {p["provider"] for p in ask("/v1/providers").json()["items"]
                          if "stack" in (p["name"] or "").lower()})
        marketplaces = self.names("/v1/providers?class=marketplace", "provider")
        self.assertIn("vast", marketplaces)
        self.assertLess(len(marketplaces), len(every))

    def test_accelerators(self):
        found = self.names("/v1/accelerators?q=h100", "name")
        self.assertTrue(found)
        self.assertTrue(all("H100" in name for name in found), found)
        self.assertEqual(set(found), {n for n in self.names("/v1/accelerators", "name") if "H100" in n})
        hopper = ask("/v1/accelerators?q=hopper").json()["items"]
        self.assertEqual({card["architecture"] for card in hopper}, {"Hopper"})
        self.assertEqual(self.names("/v1/accelerators?q=H100&vendor=amd", "name"), [])
        fp4 = ask("/v1/accelerators?formats=fp4&memory_type=HBM").json()["items"]
        self.assertTrue(fp4)
        self.assertTrue(all(c["fp4_tflops"] and c["memory_type"].startswith("HBM") for c in fp4))

    def test_nothing_found_tells_the_nearest(self):
        for path, nearest in (("/v1/providers?q=runpot", "runpod"), ("/v1/accelerators?q=H100+SXM5+80GBB", "H100 SXM5 80GB"),
                              ("/v1/models?q=meta-llama/Llama-3.1-71B", "meta-llama/Llama-3.1-70B")):
            answer = ask(path).json()
            self.assertEqual(answer["items"], [], path)
            warning, = answer["warnings"]
            self.assertEqual((warning["pointer"], warning["code"], warning["suggestion"]),
                             ("q", "nothing_found", nearest))

    def test_a_wrong_name_tells_the_nearest(self):
        for path, nearest in (("/v1/providers/runpot", "runpod"), ("/v1/accelerators/H100%20SXM5%2080GBB", "H100 SXM5 80GB"),
                              ("/v1/models/meta-llama/Llama-3.1-71B", "meta-llama/Llama-3.1-70B")):
            answer = ask(path)
            self.assertEqual(answer.status_code, 404)
            self.assertIn("'%s'" % nearest, answer.json()["detail"])


if __name__ == "__main__":
    unittest.main()
