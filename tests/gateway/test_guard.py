#!/usr/bin/python3
"""What the HTTP library would answer by itself, in HTML or by hanging up: the guard in front of it answers with problems,
whole and without a reset, and good requests go through it unharmed however they are cut."""
import os
import random
import signal
import socket
import tempfile
import threading
import time
import unittest

from gateway import SLOW, Closed, Reader, Server, chunked, get, post

LIVE = "/openapi.yaml"
SIZING = "/v1/sizing"
HIDDEN = get("/smuggled")
ATTEMPTS = 20 # where the library may be faster by some microseconds; see server/http/guard.h

# kind: [(head, status, part of the detail)]
UNREADABLE = {
    "lengths": [(get(SIZING, "Content-Length: " + value, method="POST"), 400, "Content-Length is not a number") for value in (
        "", "x", "-1", "+1", "0x10", "1 2", "1,1", "1e3", "1.0", "2 ", "18446744073709551616", "9" * 40)] + [
            (get(SIZING, "Content-Length: 2", "Content-Length: x", method="POST"), 400, "Content-Length is not a number"),
            (get(SIZING, "content-length:\tx", "Transfer-Encoding: chunked", method="POST"), 400, "Content-Length is not")],
    "request lines": [(line + b"\r\nHost: a\r\n\r\n", 400, "request line") for line in (
        b"GET", b"GET ", b"GET /", b"GET  HTTP/1.1", b"GET HTTP/1.1", b" / HTTP/1.1", b"GET / HTTP/1.1 ", b"GET / http/1.1",
        b"GET / HTTP/1.10", b"GET / HTTP/1", b"GET / HTTP/x.1", b"GET\t/\tHTTP/1.1", b"nonsense", b"\r")],
    "versions": [(get(LIVE, version="HTTP/" + version), 400, "HTTP/1.1") for version in ("0.9", "2.0", "3.0", "9.9")],
    "fields": [(get(LIVE).replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n"), 400, why) for line, why in (
        (b"no colon", "colon"), (b"X", "colon"), (b" X: a", "folded"), (b"\tX: a", "folded"), (b"X: a\r\n b", "folded"),
        (b"X\0: a", "NUL"), (b"X: \0", "NUL"), (b"\0", "colon"), (b"X: a\nY: b", "CRLF"))],
    "folded at once": [(b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "folded"), (b"GET / HTTP/1.1\r\n\tx\r\n\r\n", 400, "folded")],
    "sizes": [(get("/" + "a" * 40000), 414, "8192"), (get("/?" + "a" * 40000), 414, "8192"),
              (get(LIVE, "X: " + "a" * 40000), 431, "16384"), (get(LIVE, *["X-%d: a" % i for i in range(3000)]), 431, "too many"),
              (get(LIVE, *["a:"] * 1000), 431, "too many"), (get("/?" + "a&" * 2000), 431, "too many"),
              (get(LIVE, "Cookie: " + "a=b;" * 600), 431, "too many"), (b"a" * 20000, 431, "16384"), (b"\r\n" * 20000, 431, "16384")],
    "other protocols": [(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 400, "NUL"), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, ""),
                        (b"SSH-2.0-OpenSSH_9.2\r\n", 400, "request line"), (b"\0" * 100, 400, "NUL")],
}
BAD = get(LIVE, "no colon")
BAD_CHUNKS = [(b"x\r\n", 400), (b"5 \r\nhello\r\n0\r\n\r\n", 400), (b"5\nhello\n0\n\n", 400), (b"5\r\nhelloX\r\n", 400), (b"\r\n", 400),
              (b"ffffffffffffffffff\r\n", 413), (b"0\r\nno colon\r\n\r\n", 400), (b"0\r\nX: a\r\n b\r\n\r\n", 400),
              (b"0" * 300, 431), (b"5;" + b"a" * 300, 431), (b"0\r\nX: " + b"a" * 2000 + b"\r\nno colon\r\n", 431)]


def chunked_head():
    return get(SIZING, "Transfer-Encoding: chunked", "Content-Type: application/json", method="POST")


def setUpModule():
    global server
    server = Server(threads=2)


def tearDownModule():
    assert server.settles("gpupick_http_connections ", 1), "a connection is leaked"
    assert server.settles("gpupick_http_requests_in_flight ", 1)
    server.__exit__()


class Guard(unittest.TestCase):
    def is_refused(self, reader, status, why="", head=False):
        answer = reader.answer(head)
        self.assertEqual(answer.status, status)
        self.assertEqual((answer["Connection"], answer["Cache-Control"]), ("close", "no-store"))
        self.assertTrue(answer["Date"])
        if not head:
            self.assertIn(why, answer.is_problem()["detail"])
        self.assertTrue(reader.is_closed(), "the connection must end")
        self.assertEqual(reader.buffer, b"", "what was hidden behind it was answered")
        return answer

    def is_refused_in_the_end(self, attempt, status):
        """Each time refused and nothing hidden served; by a problem unless the library was faster, which is seldom, and then
        answers in HTML or hangs up."""
        for _ in range(ATTEMPTS):
            with server.connect() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reader = Reader(client)
                attempt(client, reader)
                try:
                    answer = reader.answer()
                except Closed:
                    continue
                self.assertIn(answer.status, (400, 413, 414, 431))
                self.assertTrue(reader.is_closed())
                self.assertNotIn(b"smuggled", reader.buffer)
                if answer["Content-Type"] == "application/problem+json":
                    self.assertEqual(answer.status, status)
                    answer.is_problem()
                    return
        self.fail("the library answered every time")


class FirstHead(Guard):
    def test_every_kind(self):
        for kind, cases in UNREADABLE.items():
            for raw, status, why in cases:
                with self.subTest(kind, raw=raw[:80]), server.connect() as client:
                    client.sendall(raw + HIDDEN)
                    self.is_refused(Reader(client), status, why)

    def test_byte_by_byte(self):
        for kind, cases in UNREADABLE.items():
            for raw, status, _ in [c for c in cases if len(c[0]) < 200]:
                with self.subTest(kind, raw=raw), server.connect() as client:
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    try:
                        for at in range(len(raw)):
                            client.send(raw[at:at + 1])
                    except ConnectionError:
                        pass # it was answered after the first bytes, and closed
                    self.is_refused(Reader(client), status)

    def test_what_comes_behind_costs_nobody_the_answer(self):
        for size in (100000, 900000):
            with server.connect() as client:
                client.sendall(BAD + b"x" * size)
                client.shutdown(socket.SHUT_WR)
                self.is_refused(Reader(client), 400, "colon")

    def test_the_farewell_with_it(self):
        for raw in (BAD, BAD[:-4], get(LIVE)[:-2], get(LIVE)[:20], b"G"):
            with server.connect() as client:
                client.sendall(raw)
                client.shutdown(socket.SHUT_WR)
                self.is_refused(Reader(client), 400)

    def test_the_answer_to_head_has_no_body(self):
        with server.connect() as client:
            client.sendall(get(LIVE, "no colon", method="HEAD"))
            answer = self.is_refused(Reader(client), 400, head=True)
            self.assertGreater(int(answer["Content-Length"]), 50)

    def test_who_does_not_close_is_closed(self):
        with server.connect() as client:
            client.sendall(BAD)
            reader = Reader(client)
            self.assertEqual(reader.answer().status, 400)
            self.assertTrue(reader.is_closed())
            self.assertTrue(server.settles("gpupick_http_connections ", 1, within=10), "it lingers on")

    def test_the_ops_port_has_one_too(self):
        self.assertEqual(server.ask(BAD, "ops").is_problem()["status"], 400)

    def test_it_is_counted_and_logged(self):
        framing, large = (server.metric('gpupick_http_rejected_total{reason="%s"' % r) for r in ("framing", "too_large"))
        refused = server.metric('gpupick_http_request_duration_seconds_count{route="none",method="none",code="400"')
        answer = server.ask(BAD)
        server.ask(get(LIVE, *["a:"] * 1000))
        server.ask(get(LIVE, version="HTTP/2.0"))
        self.assertEqual([server.metric('gpupick_http_rejected_total{reason="%s"' % r) for r in ("framing", "too_large")],
                         [framing + 2, large + 1])
        self.assertEqual(server.metric('gpupick_http_request_duration_seconds_count{route="none",method="none",code="400"'),
                         refused + 2)
        line = None
        for _ in range(100):
            line = line or next((l for l in list(server.lines) if l.get("request_id") == answer["X-Request-Id"]), None)
            time.sleep(0.05 if not line else 0)
        self.assertEqual((line["status"], line["route"], line["client"]), (400, "-", "127.0.0.1"))

    def test_very_many_at_once(self):
        for count in (128, 256):
            clients = [server.connect() for _ in range(count // 2)]
            server.send_signal(signal.SIGSTOP)
            clients += [server.connect() for _ in range(count - len(clients))]
            for client in clients:
                client.sendall(BAD)
            server.send_signal(signal.SIGCONT)
            for client in clients:
                self.is_refused(Reader(client), 400, "colon")
                client.close()


    def test_the_largest_that_it_passes_the_library_can_read(self):
        """Each with a body behind it that fills the library's buffer at once."""
        whole = 16384 - len(get(SIZING, "Content-Length: 60000", "X: ", method="POST"))
        for lines in (["a:"] * 194, ["X: " + "a" * whole], ["Cookie: " + "a;" * 185], ["Cookie: " + "a" * 12200],
                      ["a:"] * 193 + ["X: " + "a" * (whole - 780)], ["X: " + "a" * (whole - 780)] + ["a:"] * 193):
            with self.subTest(lines[-1][:10], count=len(lines)), server.connect() as client:
                reader = Reader(client)
                for _ in range(3):
                    client.sendall(get(SIZING, "Content-Length: 60000", *lines, method="POST") + b" " * 60000)
                    answer = reader.answer()
                    self.assertEqual((answer.status, answer.is_problem()["code"]), (400, "malformed_request"))
                    self.assertIsNone(answer["Connection"])
        for raw in (get("/v1/models?" + "a&" * 190, "Content-Length: 60000") + b" " * 60000, get("/v1/models?" + "a&" * 450),
                    get("/v1/models?a", *["a:"] * 450), get("/v1/models?a", "Cookie: " + "a;" * 440),
                    get("/v1/models?a", "X: " + "a" * 16000, *["a:"] * 70), get("/v1/models?a", "Cookie: " + "a" * 14700)):
            answer = server.ask(raw)
            self.assertEqual((answer.status, answer.is_problem()["code"]), (400, "invalid_parameter"))


class LaterHead(Guard):
    """On a connection that is kept."""

    def after_a_good_one(self, pieces, status, first=get(LIVE)):
        def attempt(client, reader):
            client.sendall(first)
            self.assertLess(reader.answer().status, 500)
            try:
                for piece in pieces:
                    client.sendall(piece)
                    time.sleep(0.01 if len(pieces) < 5 else 0)
            except ConnectionError:
                pass
        self.is_refused_in_the_end(attempt, status)

    def test_every_kind(self):
        for kind, cases in UNREADABLE.items():
            for raw, status, _ in [c for c in cases if c[0].strip()]: # empty lines hide nothing from the library
                with self.subTest(kind, raw=raw[:80]):
                    self.after_a_good_one([raw + HIDDEN], status)

    def test_after_a_body(self):
        self.after_a_good_one([BAD + HIDDEN], 400, post(SIZING, b"{}" + b" " * 50000))
        self.after_a_good_one([BAD + HIDDEN], 400, chunked(SIZING, [b"{", b"}"]))

    def test_after_empty_lines(self):
        for good in (get(LIVE), post(SIZING, b"{}"), chunked(SIZING, [b"{", b"}"])):
            self.after_a_good_one([BAD + HIDDEN], 400, b"\r\n\r\n" + good)

    def test_in_pieces(self):
        self.after_a_good_one([BAD[:20], BAD[20:] + HIDDEN], 400)
        self.after_a_good_one([BAD[i:i + 1] for i in range(len(BAD))] + [HIDDEN], 400)

    def test_a_good_one_in_pieces(self):
        raw = post(SIZING, b'{"workload": {}}')
        for first in (get(LIVE), chunked(SIZING, [b"{}"])):
            with server.connect() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reader = Reader(client)
                client.sendall(first)
                reader.answer()
                for at in range(len(raw)):
                    client.send(raw[at:at + 1])
                self.assertEqual(reader.answer().status, 422)
                client.sendall(get(LIVE))
                self.assertEqual(reader.answer().status, 200)

    def test_in_one_piece_with_good_ones(self):
        for good in ([get(LIVE)], [get("/v1/models?q=llama"), post(SIZING, b"{}"), get("/nowhere")],
                     [chunked(SIZING, [b"{", b"}"]), get(LIVE)], [get(LIVE)] * 50):
            for bad, status in ((BAD, 400), (get(LIVE, version="HTTP/2.0"), 400), (chunked_head() + b"x\r\n", 400)):
                with self.subTest(len(good), bad=bad[-20:]), server.connect() as client:
                    client.sendall(b"".join(good) + bad + HIDDEN)
                    reader = Reader(client)
                    for _ in good:
                        self.assertIn(reader.answer().status, (200, 404, 422))
                    self.is_refused(reader, status)

    def test_behind_one_that_closes_it_is_not_answered(self):
        for last in (get(LIVE, "Connection: close"), get(LIVE, version="HTTP/1.0"), get(SIZING, "Host: b")):
            with server.connect() as client:
                client.sendall(last + BAD)
                reader = Reader(client)
                reader.answer()
                self.assertTrue(reader.is_closed())
                self.assertEqual(reader.buffer, b"")


class Chunks(Guard):
    def test_wrong_at_once(self):
        for body, status in BAD_CHUNKS:
            with self.subTest(body[:30]), server.connect() as client:
                client.sendall(chunked_head() + body + HIDDEN)
                self.is_refused(Reader(client), status)

    def test_wrong_later(self):
        for body, status in BAD_CHUNKS:
            def attempt(client, reader):
                client.sendall(chunked_head() + b"2\r\n{}\r\n")
                time.sleep(0.01)
                client.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
                time.sleep(0.01)
                client.sendall(body + HIDDEN)
            with self.subTest(body[:30]):
                self.is_refused_in_the_end(attempt, status)

    def test_a_large_body_goes_through(self):
        body = b'{"workload": {}' + b" " * 200000 + b"}"
        raw = chunked(SIZING, [body[i:i + 3000] for i in range(0, len(body), 3000)])
        with server.connect() as client:
            reader = Reader(client)
            for _ in range(3):
                client.sendall(raw)
                self.assertEqual(reader.answer().status, 422)

    def test_extensions_and_trailers_go_through(self):
        with server.connect() as client:
            reader = Reader(client)
            for _ in range(3):
                client.sendall(chunked_head() + b'2;a="b";c\r\n{}\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n')
                self.assertEqual(reader.answer().status, 422)


class Sound(unittest.TestCase):
    """Nothing good is refused, however it is cut, and whoever is faster."""

    def good_ones_in_any_pieces(self, server, seed):
        source = random.Random(seed)
        kinds = [(get(LIVE), 200), (post(SIZING, b"{}"), 422), (chunked(SIZING, [b"{", b"}"]), 422), (get("/nowhere"), 404),
                 (post(SIZING, b"{}" + b" " * 9000), 422), (b"\r\n" + get("/nowhere"), 404), (get(LIVE, method="OPTIONS"), 204)]
        with server.connect() as client:
            if client.family != socket.AF_UNIX:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            chosen = [source.choice(kinds) for _ in range(150)]
            raw = b"".join(one for one, _ in chosen)

            def send():
                at = 0
                while at < len(raw):
                    size = source.choice((1, 2, 5, 50, 200, 300, 5000))
                    client.sendall(raw[at:at + size])
                    at += size
                    if source.random() < 0.2:
                        time.sleep(0.0005)
            sender = threading.Thread(target=send)
            sender.start()
            reader = Reader(client)
            self.assertEqual([reader.answer().status for _ in chosen], [status for _, status in chosen])
            sender.join()

    def test_over_tcp(self):
        for seed in range(6):
            with self.subTest(seed):
                self.good_ones_in_any_pieces(server, seed)

    def test_over_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder, Server(listen="unix:" + os.path.join(folder, "api.sock")) as other:
            for seed in range(3):
                with self.subTest(seed):
                    self.good_ones_in_any_pieces(other, seed)
            for raw, status, _ in [case for cases in UNREADABLE.values() for case in cases]:
                with self.subTest(raw[:80]):
                    answer = other.ask(raw)
                    answer.is_problem()
                    self.assertEqual(answer.status, status)


class Deadlines(unittest.TestCase):
    def test_a_later_head_that_stops(self):
        with Server(threads=1, head_timeout_seconds=1) as other, other.connect() as client:
            reader = Reader(client)
            client.sendall(get(LIVE))
            self.assertEqual(reader.answer().status, 200)
            client.sendall(get(LIVE)[:-2])
            answer = reader.answer()
            self.assertEqual((answer.status, answer.is_problem()["code"]), (408, "request_timeout"))
            self.assertTrue(reader.is_closed())
            self.assertEqual(other.metric('gpupick_http_rejected_total{reason="head_timeout"'), 1)
            self.assertTrue(other.settles("gpupick_http_connections ", 1))

    def test_who_sends_on_after_a_refusal_is_cut(self):
        with Server(threads=1) as other, other.connect() as client:
            client.sendall(BAD)
            end = time.monotonic() + 10 * SLOW
            try:
                while time.monotonic() < end:
                    client.send(b"x")
                    time.sleep(0.02)
                self.fail("it was read for ever")
            except ConnectionError:
                pass
            self.assertTrue(other.settles("gpupick_http_connections ", 1))

    def test_a_stop_waits_for_a_head_that_has_begun(self):
        with Server(threads=1) as other, other.connect() as fresh, other.connect() as kept:
            kept.sendall(get(LIVE))
            reader = Reader(kept)
            self.assertEqual(reader.answer().status, 200)
            for client in (fresh, kept):
                client.sendall(get(LIVE)[:-2])
            time.sleep(0.2)
            other.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            for client in (fresh, kept):
                client.sendall(b"\r\n")
            for answer in (Reader(fresh).answer(), reader.answer()):
                self.assertEqual((answer.status, answer["Connection"]), (200, "close"))
            self.assertEqual(other.stop(), 0)

    def test_a_stop_ends_what_the_guard_has(self):
        with Server(threads=1, grace_seconds=1) as other:
            clients = [other.connect() for _ in range(4)]
            clients[0].sendall(get(LIVE)[:-2])
            clients[1].sendall(BAD)
            clients[2].sendall(get(LIVE))
            Reader(clients[2]).answer()
            clients[2].sendall(b"GET /")
            time.sleep(0.2)
            began = time.monotonic()
            self.assertEqual(other.stop(), 0)
            self.assertLess(time.monotonic() - began, 5 * SLOW)
            for client in clients:
                client.close()


if __name__ == "__main__":
    unittest.main(verbosity=0)
