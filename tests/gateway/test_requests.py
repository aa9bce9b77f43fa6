#!/usr/bin/python3
"""Requests one by one: what is refused, what is kept alive, what every answer carries."""
import json
import re
import time
import unittest

from gateway import Closed, Reader, Server, chunked, get, post

LIVE = "/openapi.yaml"  # needs neither a snapshot nor a database
SIZING = "/v1/sizing"
BODY_MAX = 256 * 1024
DRAINED_MAX = 1024 * 1024  # of a body that is refused


def setUpModule():
    global server, empty
    server = Server(threads=2)
    unittest.addModuleCleanup(server.__exit__)
    empty = Server(snapshot=False, threads=1)
    unittest.addModuleCleanup(empty.__exit__)


class Smuggling(unittest.TestCase):
    """Heads that a gateway may read differently: refused, and nothing behind them is served."""

    def refused(self, head, status, why):
        hidden = get("/smuggled")
        with server.connect() as client:
            client.sendall(head + hidden)
            reader = Reader(client)
            answer = reader.answer()
            self.assertEqual(answer.status, status)
            self.assertIn(why, answer.is_problem()["detail"])
            self.assertEqual(answer["Connection"], "close")
            self.assertTrue(reader.is_closed(), "the connection must end")
            self.assertEqual(reader.buffer, b"", "the hidden request was answered")

    def test_two_different_lengths(self):
        self.refused(get(SIZING, "Content-Length: 2", "Content-Length: 7", method="POST") + b"{}",
                     400, "more than one Content-Length")

    def test_two_equal_lengths(self):
        self.refused(get(SIZING, "Content-Length: 2", "Content-Length: 2", method="POST") + b"{}",
                     400, "more than one Content-Length")

    def test_length_and_chunks(self):
        self.refused(get(SIZING, "Content-Length: 2", "Transfer-Encoding: chunked",
                         method="POST") + b"0\r\n\r\n", 400, "together")

    def test_chunks_and_length(self):
        self.refused(get(SIZING, "Transfer-Encoding: chunked", "Content-Length: 2",
                         method="POST") + b"0\r\n\r\n", 400, "together")

    def test_transfer_codings_other_than_chunked(self):
        for coding in ("gzip", "gzip, chunked", "chunked, chunked", "xchunked", "identity", ""):
            with self.subTest(coding):
                self.refused(get(SIZING, "Transfer-Encoding: " + coding, method="POST"), 501,
                             "exactly 'chunked'")

    def test_two_codings(self):
        self.refused(get(SIZING, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked",
                         method="POST"), 400, "more than one Transfer-Encoding")

    def test_chunks_in_http_1_0(self):
        self.refused(get(SIZING, "Transfer-Encoding: chunked", method="POST",
                         version="HTTP/1.0"), 400, "HTTP/1.0")

    def test_lengths_that_are_no_numbers(self):
        for length in ("+2", "-2", "0x2", "2,2", "2 2", "", "1e3"):
            with self.subTest(length):
                with server.connect() as client:
                    client.sendall(get(SIZING, "Content-Length: " + length, method="POST") +
                                   b"{}" + get("/smuggled"))
                    reader = Reader(client)
                    self.assertEqual(reader.answer().status, 400)
                    self.assertTrue(reader.is_closed())
                    self.assertNotIn(b"smuggled", reader.buffer)

    def test_a_space_before_the_colon(self):
        self.refused(get(SIZING, "Content-Length : 2", method="POST") + b"{}", 400,
                     "header field name")

    def test_no_host_and_two_hosts(self):
        self.refused(get(LIVE, host=None), 400, "no Host")
        self.refused(get(LIVE, "Host: other.test"), 400, "more than one Host")

    def test_a_host_that_is_none(self):
        for host in ("a b", "a/b", "user@a", 'a"><script>', "a\\b", "a?b", "\xe9"):
            self.refused(get(LIVE, host=host), 400, "Host holds")
        for host in ("", "a.test:8080", "[::1]:80", "a_b.test", "xn--bcher-kva.example", "127.0.0.1"):
            self.assertEqual(server.ask(get(LIVE, host=host)).status, 200, host)

    def test_a_health_check_in_http_1_0_needs_no_host(self):
        self.assertEqual(server.ask(get(LIVE, version="HTTP/1.0", host=None)).status, 200)

    def test_nul_and_control_bytes_in_values(self):
        self.refused(get(LIVE, "X-Thing: a\0b"), 400, "NUL byte")
        self.refused(get(LIVE, "X-Thing: a\x07b"), 400, "control byte")

    def test_lines_that_the_library_s_parser_hides(self):
        self.refused(get(LIVE, "X-Thing: a\0\0Content-Length\0 5"), 400, "CRLF")
        self.refused(get(LIVE).replace(b"\r\n", b"\n", 1), 400, "CRLF")
        self.refused(get(LIVE, "X-Thing: a\nX-Other: b"), 400, "CRLF")
        self.refused(get(LIVE, "X-Thing: a\r\n folded"), 400, "folded")
        self.refused(get(LIVE, "X-Thing: a\r\n folded: b"), 400, "")
        self.refused(get(SIZING, "Transfer-Encoding: chunked\r\n x", method="POST"), 400,
                     "folded")

    def test_methods_that_are_no_tokens(self):
        for method in ("G\xc9T", "GE\x01T", "G\"T"):
            self.refused(get(LIVE, method=method), 400, "method")

    def test_a_nul_in_the_request_line(self):
        with server.connect() as client:
            client.sendall(get(LIVE + "\0/elsewhere"))
            reader = Reader(client)
            try:
                self.assertEqual(reader.answer().status, 400)
            except Closed:
                pass  # also right: nothing was served
            self.assertTrue(reader.is_closed())


class Targets(unittest.TestCase):
    def status(self, target):
        answer = server.ask(get(target))
        if answer.status >= 400:
            answer.is_problem()
        return answer.status

    def test_malformed_escapes_and_bytes(self):
        for target in ("/v1/models/%zz", "/v1/models/a%4", "/v1/models/a%", "/v1/models/a%00b",
                       "/v1/models/a%0ab", "/v1/models/%ff", "/v1/models/%c0%af", "/a b",
                       "/v1/models/\xe9", "/v1/models#x", "relative", "/v1/models/%7f"):
            with self.subTest(target):
                self.assertEqual(self.status(target), 400)

    def test_unknown_paths(self):
        for target in ("/", "/v1", "/v1/", "/v1/models/", "/v1/prices/", "/v1/prices/a/b/c",
                       "/v1//models", "//v1/models", "/livez", "/metrics", "/V1/models"):
            with self.subTest(target):
                self.assertEqual(self.status(target), 404)

    def test_ops_routes_are_on_the_ops_port_only(self):
        self.assertEqual(server.ask(get("/livez"), "ops").status, 200)
        self.assertEqual(server.ask(get(LIVE), "ops").status, 404)

    def test_an_absolute_target(self):
        self.assertEqual(self.status("http://gateway.test" + LIVE), 200)
        self.assertEqual(self.status("http://gateway.test"), 404)

    def test_a_model_id_with_a_slash_both_ways(self):
        known = json.loads(server.ask(get("/v1/models?q=llama-3.1-8b")).body)
        model = known["items"][0]["model"]["id"]
        self.assertIn("/", model)
        plain = server.ask(get("/v1/models/" + model))
        escaped = server.ask(get("/v1/models/" + model.replace("/", "%2F")))
        lower = server.ask(get("/v1/models/" + model.replace("/", "%2f")))
        self.assertEqual([plain.status, escaped.status, lower.status], [200, 200, 200])
        self.assertEqual(plain.body, escaped.body)

    def test_an_unknown_model_is_named_as_it_was_meant(self):
        answer = server.ask(get("/v1/models/no%2Fsuch%20model"))
        self.assertEqual(answer.status, 404)
        self.assertIn("no/such model", answer.is_problem()["detail"])

    def test_every_bad_query_parameter_is_named(self):
        answer = server.ask(get("/v1/models?q=1&q=2&a=%zz&%00=1&b=%ff"))
        self.assertEqual(answer.status, 400)
        problem = answer.is_problem()
        self.assertEqual(problem["code"], "invalid_parameter")
        self.assertEqual([e["parameter"] for e in problem["errors"]], ["q", "a", "%00", "b"])

    def test_an_unknown_query_parameter_gets_a_suggestion(self):
        problem = server.ask(get("/v1/models?modalty=1")).is_problem()
        self.assertEqual(problem["errors"][0]["parameter"], "modalty")
        self.assertEqual(problem["errors"][0]["suggestion"], "modality")

    def test_too_many_query_parameters(self):
        self.assertEqual(self.status("/v1/models?" + "&".join("a%d=1" % i for i in range(65))),
                         400)


class Methods(unittest.TestCase):
    def test_a_wrong_method_is_told_what_is_allowed(self):
        for method, target, allowed in (("POST", LIVE, "GET, HEAD, OPTIONS"),
                                        ("DELETE", "/v1/models/a/b", "GET, HEAD, OPTIONS"),
                                        ("GET", SIZING, "POST, OPTIONS"),
                                        ("FOO", SIZING, "POST, OPTIONS")):
            with self.subTest(method + " " + target):
                answer = server.ask(get(target, method=method))
                self.assertEqual(answer.status, 405)
                self.assertEqual(answer["Allow"], allowed)
                answer.is_problem()

    def test_options(self):
        answer = server.ask(get(LIVE, method="OPTIONS"))
        self.assertEqual((answer.status, answer["Allow"]), (204, "GET, HEAD, OPTIONS"))
        self.assertEqual(server.ask(get("*", method="OPTIONS")).status, 204)
        self.assertEqual(server.ask(get("/nowhere", method="OPTIONS")).status, 404)

    def test_head_is_get_without_the_body(self):
        whole = server.ask(get(LIVE))
        with server.connect() as client:
            client.sendall(get(LIVE, method="HEAD") + get(LIVE))
            reader = Reader(client)
            head = reader.answer(head=True)
            self.assertEqual(head.status, 200)
            self.assertEqual(int(head["Content-Length"]), len(whole.body))
            self.assertEqual(head["Content-Type"], whole["Content-Type"])
            self.assertEqual(reader.answer().body, whole.body, "the next answer follows at once")

    def test_head_of_an_error(self):
        answer = server.ask(get("/nowhere", method="HEAD"), head=True)
        self.assertEqual(answer.status, 404)
        self.assertGreater(int(answer["Content-Length"]), 0)


class Bodies(unittest.TestCase):
    def test_a_chunked_body_is_joined(self):
        """The parts of one JSON text, one byte a chunk: the handler saw it whole."""
        text = b'{"workload": {"nonsense": 1}}'
        whole = server.ask(post(SIZING, text))
        parts = server.ask(chunked(SIZING, [text[i:i + 1] for i in range(len(text))]))
        self.assertEqual(whole.status, parts.status)
        self.assertEqual(whole.json()["errors"], parts.json()["errors"])

    def test_trailers_and_chunk_extensions(self):
        raw = (get(SIZING, "Transfer-Encoding: chunked", "Content-Type: application/json",
                   method="POST") + b"2;a=b\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n")
        self.assertEqual(server.ask(raw).status, 422)

    def test_a_declared_length_too_long_is_refused_unread(self):
        with server.connect() as client:
            client.sendall(get(SIZING, "Content-Length: %d" % (DRAINED_MAX + 1),
                               "Content-Type: application/json", method="POST"))
            reader = Reader(client)
            answer = reader.answer()
            self.assertEqual(answer.status, 413)
            answer.is_problem()
            self.assertTrue(reader.is_closed())

    def test_a_body_too_long_that_a_gateway_lets_pass_keeps_the_connection(self):
        """A gateway that is still sending would lose the answer together with the connection."""
        with server.connect() as client:
            reader = Reader(client)
            for length in (BODY_MAX + 1, DRAINED_MAX):
                client.sendall(post(SIZING, b" " * length))
                self.assertEqual(reader.answer().status, 413)
            client.sendall(get(LIVE))
            self.assertEqual(reader.answer().status, 200)

    def test_expect_continue(self):
        with server.connect() as client:
            reader = Reader(client)
            client.sendall(get(SIZING, "Content-Length: 2", "Content-Type: application/json",
                               "Expect: 100-continue", method="POST"))
            while b"\r\n\r\n" not in reader.buffer:
                reader._more()
            self.assertTrue(reader.buffer.startswith(b"HTTP/1.1 100"))
            reader.buffer = reader.buffer.split(b"\r\n\r\n", 1)[1]
            client.sendall(b"{}")
            self.assertEqual(reader.answer().status, 422)
        with server.connect() as client:
            client.sendall(get(SIZING, "Content-Length: %d" % (BODY_MAX + 1),
                               "Content-Type: application/json", "Expect: 100-continue",
                               method="POST"))
            self.assertEqual(Reader(client).answer().status, 413, "without asking for the body")

    def test_a_chunked_body_too_long_is_drained_then_refused(self):
        answer = server.ask(chunked(SIZING, [b" " * 65536] * 5))
        self.assertEqual(answer.status, 413)
        answer.is_problem()

    def test_a_chunked_body_without_end_is_cut(self):
        with server.connect() as client:
            client.sendall(get(SIZING, "Transfer-Encoding: chunked",
                               "Content-Type: application/json", method="POST"))
            piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
            sent = 0
            try:
                for _ in range(400):
                    client.sendall(piece)
                    sent += len(piece)
            except OSError:
                pass
            self.assertLess(sent, 25 << 20, "the server went on reading")

    def test_a_body_at_the_limit_is_taken(self):
        text = b'{"workload": {}' + b" " * (BODY_MAX - 16) + b"}"
        self.assertEqual(len(text), BODY_MAX)
        self.assertEqual(server.ask(post(SIZING, text)).status, 422)

    def test_media_types(self):
        for content_type, status in (("text/plain", 415), ("application/xml", 415),
                                     ("application/x-www-form-urlencoded", 415),
                                     ("application/json; charset=iso-8859-1", 415),
                                     ("application/jsonx", 415),
                                     ("Application/JSON", 422),
                                     ("application/json; charset=utf-8", 422),
                                     ('application/json; charset="UTF-8"', 422), (None, 422)):
            with self.subTest(content_type):
                answer = server.ask(post(SIZING, b"{}", content_type=content_type))
                self.assertEqual(answer.status, status)
                answer.is_problem()

    def test_a_coded_body_is_refused(self):
        self.assertEqual(server.ask(post(SIZING, b"{}", "Content-Encoding: gzip")).status, 415)
        self.assertEqual(server.ask(post(SIZING, b"{}", "Content-Encoding: identity")).status,
                         422)

    def test_a_body_where_none_belongs(self):
        answer = server.ask(post(LIVE, b"{}").replace(b"POST", b"GET", 1))
        self.assertEqual(answer.status, 413)
        self.assertEqual(server.ask(get(LIVE, "Content-Length: 0")).status, 200)

    def test_a_small_refused_body_keeps_the_connection(self):
        with server.connect() as client:
            client.sendall(post("/nowhere", b"{}") + post(SIZING, b"{}", content_type="a/b") +
                           get(LIVE))
            reader = Reader(client)
            self.assertEqual([reader.answer().status for _ in range(3)], [404, 415, 200])

    def test_what_is_no_json(self):
        for text in (b"", b"{", b"\xff", b"null", b"[" * 5000):
            with self.subTest(text[:10]):
                answer = server.ask(post(SIZING, text))
                self.assertIn(answer.status, (400, 422))
                answer.is_problem()


class KeepAlive(unittest.TestCase):
    def test_get_keeps_the_connection(self):
        with server.connect() as client:
            reader = Reader(client)
            for _ in range(20):
                client.sendall(get(LIVE))
                answer = reader.answer()
                self.assertEqual(answer.status, 200)
                self.assertIsNone(answer["Connection"])

    def test_errors_keep_the_connection(self):
        with server.connect() as client:
            reader = Reader(client)
            for target in ("/nowhere", "/v1/models/%zz", "/v1/models?a=1", "/v1/prices", LIVE):
                client.sendall(get(target))
                self.assertIsNone(reader.answer()["Connection"])

    def test_post_keeps_the_connection(self):
        with server.connect() as client:
            reader = Reader(client)
            for _ in range(5):
                client.sendall(post(SIZING, b"{}"))
                self.assertEqual(reader.answer().status, 422)

    def test_pipelined_requests_are_answered_in_order(self):
        with server.connect() as client:
            client.sendall(b"".join(get(LIVE, "X-Request-Id: n%d" % i) for i in range(50)) +
                           post(SIZING, b"{}", "X-Request-Id: last"))
            reader = Reader(client)
            ids = [reader.answer()["X-Request-Id"] for _ in range(51)]
            self.assertEqual(ids, ["n%d" % i for i in range(50)] + ["last"])

    def test_close_is_honoured(self):
        with server.connect() as client:
            client.sendall(get(LIVE, "Connection: close"))
            reader = Reader(client)
            self.assertEqual(reader.answer()["Connection"], "close")
            self.assertTrue(reader.is_closed())

    def test_http_1_0(self):
        with server.connect() as client:
            client.sendall(get(LIVE, version="HTTP/1.0"))
            reader = Reader(client)
            self.assertEqual(reader.answer().status, 200)
            self.assertTrue(reader.is_closed())

    def test_a_request_in_pieces(self):
        raw = post(SIZING, b'{"workload": {}}')
        with server.connect() as client:
            for i in range(0, len(raw), 7):
                client.sendall(raw[i:i + 7])
            self.assertEqual(Reader(client).answer().status, 422)


class Conditions(unittest.TestCase):
    def tagged(self):
        answer = server.ask(get("/v1/prices?limit=3"))
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer["ETag"])
        return answer

    def test_not_modified_tells_the_length_of_the_answer(self):
        answer = self.tagged()
        for condition in (answer["ETag"], '"x", ' + answer["ETag"], "*"):
            with server.connect() as client:
                client.sendall(get("/v1/prices?limit=3", "If-None-Match: " + condition) +
                               get(LIVE))
                reader = Reader(client)
                known = reader.answer()
                self.assertEqual(known.status, 304)
                self.assertEqual(int(known["Content-Length"]), len(answer.body))
                self.assertEqual(known["ETag"], answer["ETag"])
                self.assertTrue(known["Cache-Control"])
                self.assertEqual(reader.answer().status, 200, "no body was sent in between")

    def test_another_tag_gets_the_answer(self):
        for condition in ('"x"', "x", '"', "W/", 'W/"x"'):
            answer = server.ask(get("/v1/prices?limit=3", "If-None-Match: " + condition))
            self.assertEqual(answer.status, 200)

    def test_the_tag_of_one_answer_is_not_that_of_another(self):
        answer = self.tagged()
        other = server.ask(get("/v1/prices?limit=4", "If-None-Match: " + answer["ETag"]))
        self.assertEqual(other.status, 200)

    def test_head_has_the_tag_too(self):
        answer = self.tagged()
        head = server.ask(get("/v1/prices?limit=3", method="HEAD"), head=True)
        self.assertEqual(head["ETag"], answer["ETag"])
        known = server.ask(get("/v1/prices?limit=3", "If-None-Match: " + answer["ETag"],
                               method="HEAD"), head=True)
        self.assertEqual(known.status, 304)


class Heads(unittest.TestCase):
    def test_accept(self):
        for accept, status in (("*/*", 200), ("application/yaml", 200), ("application/*", 200),
                               ("text/html, */*;q=0.1", 200), ("image/png", 406),
                               ("application/yaml;q=0, text/yaml;q=0, text/plain;q=0", 406),
                               ("", 200)):
            with self.subTest(accept):
                answer = server.ask(get(LIVE, "Accept: " + accept))
                self.assertEqual(answer.status, status)
                if status == 406:
                    answer.is_problem()

    def test_lists_may_stand_in_several_lines(self):
        whole = server.ask(get("/v1/accelerators"))
        lines = ["Accept: text/html", "Accept: application/json", "Accept-Encoding: br", "Accept-Encoding: gzip",
                 "Prefer: respond-async", "Prefer: handling=lenient"]
        answer = server.ask(get("/v1/accelerators?nonsense=1", *lines))
        self.assertEqual((answer.status, answer["Content-Encoding"], answer["Preference-Applied"]),
                         (200, "gzip", "handling=lenient"))
        known = server.ask(get("/v1/accelerators", 'If-None-Match: "x"', "If-None-Match: " + whole["ETag"], 'If-None-Match: "y"'))
        self.assertEqual(known.status, 304)
        many = server.ask(get("/v1/accelerators", *['If-None-Match: "%d"' % i for i in range(300)]))
        self.assertEqual(many.status, 200)

    def test_links_hold_no_name_as_it_was_sent(self):
        """A lenient request may have parameters of any name."""
        answer = server.ask(get("/v1/prices?limit=1&a%26limit%3D7%3E=%22&%C3%A9=1", "Prefer: handling=lenient"))
        page = answer.json()
        link = "?limit=1&a%26limit%3D7%3E=%22&%C3%A9=1&"
        self.assertTrue(page["next"].startswith(link + "cursor="), page["next"])
        self.assertTrue(page["delta"].startswith(link + "since="), page["delta"])
        self.assertEqual(answer["Link"], '<%s>; rel="next"' % page["next"])
        self.assertEqual(len(server.ask(get("/v1/prices" + page["next"], "Prefer: handling=lenient")).json()["items"]), 1)

    def test_request_ids(self):
        given = server.ask(get(LIVE, "X-Request-Id: abc-1.2_3"))
        self.assertEqual(given["X-Request-Id"], "abc-1.2_3")
        seen = set()
        for bad in ("", "a b", "a" * 65, 'a"b', "a<b"):
            made = server.ask(get(LIVE, "X-Request-Id: " + bad))["X-Request-Id"]
            self.assertRegex(made, "^[0-9a-f]{32}$")
            seen.add(made)
        self.assertEqual(len(seen), 5)

    def test_ids_are_logged(self):
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        server.ask(get("/v1/models?q=llama-3.1-8b", "X-Request-Id: logged-1",
                       "traceparent: 00-%s-00f067aa0ba902b7-01" % trace))
        server.ask(get("/nowhere", "X-Request-Id: logged-2", "traceparent: 00-bad-01"))
        for _ in range(100):  # each worker writes its lines in its own time
            lines = {l.get("request_id"): l for l in list(server.lines)}
            if {"logged-1", "logged-2"} <= lines.keys():
                break
            time.sleep(0.05)
        self.assertEqual(lines["logged-1"]["trace_id"], trace)
        self.assertEqual(lines["logged-1"]["route"], "listModels")
        self.assertEqual(lines["logged-1"]["status"], 200)
        self.assertNotIn("trace_id", lines["logged-2"])
        self.assertEqual(lines["logged-2"]["route"], "-")

    def test_a_long_method_is_logged(self):
        kinds = {"long-1": "x" * 9000, "long-2": "\x01" * 9000, "long-3": "\xff" * 9000}
        for name, method in kinds.items():
            server.ask(get("/nowhere", "X-Request-Id: " + name, method=method))
        lines = {}
        for _ in range(100):
            lines = {l.get("request_id"): l for l in list(server.lines)}
            if kinds.keys() <= lines.keys():
                break
            time.sleep(0.05)
        for name, status in (("long-1", 404), ("long-2", 400), ("long-3", 400)):
            self.assertEqual((lines[name]["status"], lines[name]["client"]), (status, "127.0.0.1"))
        self.assertEqual(lines["long-1"]["method"], "x" * 256)

    def test_a_long_target(self):
        self.assertEqual(server.ask(get("/" + "a" * 8000)).status, 404)
        answer = server.ask(get("/" + "a" * 9000))
        self.assertEqual(answer.status, 414)
        answer.is_problem()

    def test_a_large_head(self):
        fill = ["X-Fill-%d: %s" % (i, "a" * 1000) for i in range(20)]
        self.assertEqual(server.ask(get(LIVE, *fill[:14])).status, 200)
        answer = server.ask(get(LIVE, *fill))
        self.assertEqual(answer.status, 431)
        answer.is_problem()

    def test_a_head_past_the_library_s_memory(self):
        for raw in (get("/" + "a" * 40000), get(LIVE, "X-Fill: " + "a" * 40000),
                    get(LIVE, *["X-%d: a" % i for i in range(3000)])):
            with server.connect() as client:
                client.sendall(raw)
                reader = Reader(client)
                try:
                    self.assertIn(reader.answer().status, (414, 431))
                except Closed:
                    pass
                self.assertTrue(reader.is_closed())

    def test_cache_control(self):
        self.assertEqual(server.ask(get("/nowhere"))["Cache-Control"], "no-store")
        self.assertIn("max-age", server.ask(get(LIVE))["Cache-Control"])

    def test_several_media_types_vary(self):
        self.assertEqual(server.ask(get(LIVE))["Vary"], "Accept, Accept-Encoding")
        self.assertEqual(server.ask(get("/v1/models?q=llama-3.1-8b"))["Vary"], "Accept-Encoding")


class Garbage(unittest.TestCase):
    def test_bytes_that_are_no_request(self):
        for raw in (b"\0" * 100, b"\r\n" * 100, b"GET\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n",
                    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200,
                    b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    b"GET / HTTP/1.1\r\n: novalue\r\nHost: a\r\n\r\n",
                    b"GET / HTTP/1.1\r\nHost: a\r\nbroken\r\n\r\n"):
            with self.subTest(raw[:20]):
                with server.connect() as client:
                    client.sendall(raw)
                    client.shutdown(1)
                    reader = Reader(client)
                    try:
                        self.assertGreaterEqual(reader.answer().status, 400)
                    except Closed:
                        pass
        self.assertEqual(server.ask(get(LIVE)).status, 200)


class Ops(unittest.TestCase):
    def test_without_a_snapshot(self):
        self.assertEqual(empty.ask(get("/livez"), "ops").status, 200)
        for target in ("/readyz", "/startupz"):
            answer = empty.ask(get(target), "ops")
            self.assertEqual(answer.status, 503)
            answer.is_problem()
        answer = empty.ask(get("/v1/prices"))
        self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
        answer.is_problem()

    def test_with_a_snapshot(self):
        for target in ("/livez", "/readyz", "/startupz"):
            self.assertEqual(server.ask(get(target), "ops").status, 200)
        self.assertEqual(server.ask(get("/v1/prices")).status, 200)

    def test_metrics_have_the_text_format(self):
        server.ask(get(LIVE))
        server.ask(get("/nowhere"))
        answer = server.ask(get("/metrics"), "ops")
        self.assertEqual(answer["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        types = {}
        for line in answer.body.decode().splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertNotIn(name, types, "declared twice")
                types[name] = kind
            elif not line.startswith("#"):
                match = re.match(r'^([a-z_]+)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? '
                                 r'([0-9.e+-]+)$', line)
                self.assertTrue(match, line)
                base = re.sub("_(bucket|sum|count)$", "", match.group(1))
                name = base if types.get(base) == "histogram" else match.group(1)
                self.assertIn(name, types, line)
                float(match.group(4))
        self.assertGreater(server.metric('gpupick_http_request_duration_seconds_count'
                                         '{route="getOpenapi",method="GET",code="200"'), 0)
        self.assertGreater(server.metric('gpupick_http_request_duration_seconds_count'
                                         '{route="none"'), 0)

    def test_promtool_has_no_complaint(self):
        import shutil
        import subprocess
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (package prometheus)")
        body = server.ask(get("/metrics"), "ops").body
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main(verbosity=0)
