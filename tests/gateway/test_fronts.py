#!/usr/bin/python3
"""Behind nginx, HAProxy and Caddy, each run with the file in deploy/gateways/: test_fronts.py NAME."""
import os
import random
import socket
import sys
import tempfile
import threading
import time
import unittest

from front import CLIENT, Caller, Echo, Front, Replicas, skip_without
from gateway import SLOW, Reader, Server, get, post

NAME = sys.argv.pop(1)
SIZING = "/gpupick/v1/sizing"
BODY_MAX = 256 * 1024
PRICES = "/gpupick/v1/prices?limit=3"
FORGED = ("X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6", "X-Forwarded-Prefix: /evil",
          "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: gopher", "X-Forwarded-Port: 6",
          "X-Auth-Request-Email: root@example.com")
# Powers of two are where buffers of gateways end.
SIZES = sorted({n + d for n in (2, 1024, 4096, 8192, 16384, 32768, 65536, 131072, BODY_MAX)
                for d in (-1, 0, 1) if 2 <= n + d <= BODY_MAX})


def setUpModule():
    global replicas, front
    # Cleanups run even when what follows fails: a server left behind would hold the runner up.
    replicas = Replicas()
    unittest.addModuleCleanup(replicas.stop)
    front = Front(NAME, replicas.addresses(), replicas.ops)
    unittest.addModuleCleanup(front.stop)


def padded(size, target=SIZING):
    """A body of that size that is answered 422 quickly."""
    return post(target, b"{}" + b" " * (size - 2))


def line_of(servers, request_id):
    """The access line of one request: workers write theirs a moment after they answered."""
    end = time.monotonic() + 10 * SLOW
    while time.monotonic() < end:
        for server in servers:
            for line in server.lines:
                if line.get("request_id") == request_id:
                    return line
        time.sleep(0.01)
    raise AssertionError("no access line for " + request_id)


class Requests(unittest.TestCase):
    def test_the_prefix(self):
        for target in ("/gpupick/v1/none", "/v1/none"):
            answer = front.ask(get(target, *FORGED))
            self.assertEqual((answer.status, answer.is_problem()["instance"]), (404, target))
        for target, url in (("/gpupick/openapi.yaml", "/gpupick"), ("/openapi.yaml", "/")):
            lines = front.ask(get(target)).body.decode().split("\n")
            self.assertEqual(lines[lines.index("servers:") + 1].strip(), "- url: " + url)
        self.assertEqual(front.ask(get("/gpupickx/v1/models")).status, 404)

    def test_a_link_leads_on(self):
        link = front.ask(get(PRICES))["Link"]
        self.assertTrue(link.startswith("<?"), link)
        following = front.ask(get("/gpupick/v1/prices" + link[1:].split(">")[0]))
        self.assertEqual(following.status, 200)
        self.assertTrue(following.json()["items"])

    def test_a_model_id_with_a_slash(self):
        for target in ("meta-llama/Llama-3.1-8B", "meta-llama%2FLlama-3.1-8B"):
            plain = front.ask(get("/v1/models/" + target))
            under = front.ask(get("/gpupick/v1/models/" + target))
            self.assertEqual((plain.status, plain.body), (under.status, under.body))
            self.assertEqual(plain.status, 200)

    def test_conditional_requests(self):
        whole = front.ask(get(PRICES))
        self.assertEqual(whole.status, 200)
        known = "If-None-Match: " + whole["ETag"]
        for _ in range(4):  # both replicas
            answer = front.ask(get(PRICES, known))
            self.assertEqual((answer.status, answer.body, answer["ETag"]),
                             (304, b"", whole["ETag"]))
        head = front.ask(get(PRICES, method="HEAD"), head=True)
        self.assertEqual((head.status, head["ETag"]), (200, whole["ETag"]))
        self.assertEqual(head["Content-Length"], str(len(whole.body)))
        other = front.ask(get(PRICES, 'If-None-Match: W/"x"'))
        self.assertEqual((other.status, other.ageless()), (200, whole.ageless()))

    def test_a_long_poll(self):
        """Longer than what gateways give a head or a body; both kinds at once."""
        whole = front.ask(get(PRICES))
        link = "/gpupick/v1/prices" + whole.json()["delta"] + "&wait=11"
        began = time.monotonic()
        with front.connect(timeout=60) as since, front.connect(timeout=60) as tagged:
            since.sendall(get(link))
            tagged.sendall(get(PRICES + "&wait=11", "If-None-Match: " + whole["ETag"]))
            delta, same = Reader(since).answer(), Reader(tagged).answer()
        self.assertGreaterEqual(time.monotonic() - began, 10.9)
        self.assertEqual((delta.status, delta.json()["changes"], delta["Cache-Control"]), (200, [], "no-store"))
        self.assertEqual((same.status, same.body, same["ETag"]), (304, b"", whole["ETag"]))

    def test_the_client_s_address(self):
        for headers in ((), FORGED, FORGED + FORGED[:2]):
            answer = front.ask(get("/gpupick/v1/none", *headers, host="shop.example"))
            line = line_of(replicas.servers, answer["X-Request-Id"])
            self.assertEqual((line["client"], line.get("scheme"), line.get("host", "").split(":")[0]),
                             (CLIENT, "http", "shop.example"))

    def test_traces_pass(self):
        trace = "0af7651916cd43dd8448eb211c80319c"
        answer = front.ask(get("/v1/none", "traceparent: 00-%s-b7ad6b7169203331-01" % trace))
        self.assertEqual(line_of(replicas.servers, answer["X-Request-Id"])["trace_id"], trace)

    def test_what_a_client_says_of_itself_ends_at_the_gateway(self):
        echo = Echo()
        behind = Front(NAME, [echo.address])
        try:
            for target, prefixes in (("/gpupick/x", ["/gpupick"]), ("/x", [])):
                del echo.heads[:]
                self.assertEqual(behind.ask(get(target, *FORGED, "Accept: text/csv")).status, 200)
                head = [(k.lower(), v) for k, v in echo.heads[-1]]
                values = {k: [v for name, v in head if name == k] for k, _ in head}
                self.assertEqual([v for k, v in head if k == "x-forwarded-prefix" and v], prefixes)
                self.assertEqual(values["x-forwarded-for"], [CLIENT])
                self.assertEqual(values["x-forwarded-proto"], ["http"])
                self.assertEqual(values["accept"], ["text/csv"])
                for name in ("forwarded", "x-auth-request-email"):
                    self.assertNotIn(name, values)
                for value in ("6.6.6.6", "evil", "root@example.com", "gopher"):
                    self.assertNotIn(value, str(head))
                self.assertNotIn("6", values.get("x-forwarded-port", []))
        finally:
            behind.stop()
            echo.stop()

    def test_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = "unix:" + os.path.join(folder, "api.sock")
            with Server(threads=1, listen=path, trusted_proxies="unix:") as server:
                behind = Front(NAME, [path])
                try:
                    for raw, status in ((get("/gpupick/v1/none"), 404), (padded(BODY_MAX), 422)):
                        answer = behind.ask(raw)
                        self.assertEqual(answer.status, status)
                        self.assertTrue(answer.is_problem()["instance"].startswith("/gpupick/v1/"))
                        line = line_of([server], answer["X-Request-Id"])
                        self.assertEqual(line["client"], CLIENT)
                finally:
                    behind.stop()


class Checker(threading.Thread):
    """In oauth2-proxy's place: who shows the cookie is ann, of two groups."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, client.makefile("rb") as file:
                lines = list(iter(file.readline, b"\r\n"))
                known = any(line.lower().startswith(b"cookie:") and b"session=ann" in line for line in lines)
                client.sendall(b"HTTP/1.1 202 Accepted\r\nX-Auth-Request-Email: ann@example.com\r\n"
                               b"X-Auth-Request-Groups: staff,private_prices\r\nContent-Length: 0\r\n"
                               b"Connection: close\r\n\r\n" if known else
                               b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class Identity(unittest.TestCase):
    """The gateway says who calls; the service believes it and nobody else."""

    def test_who_calls(self):
        checker = Checker()
        own = Replicas(auth="header", auth_scopes_header="X-Auth-Request-Groups")
        forged = ("X-Auth-Request-Email: root@example.com", "X-Auth-Request-Groups: admin,private_prices")
        shown = {"haproxy": "Authorization: Basic YW5uQGV4YW1wbGUuY29tOmNoYW5nZS1tZQ=="}.get(NAME, "Cookie: session=ann")
        try:
            for edits in ((), (("#identity ", ""),)):
                if edits and NAME != "haproxy":
                    edits += (("oauth2-proxy:4180", checker.address),)
                behind = Front(NAME, own.addresses(), own.ops, edits=edits)
                try:
                    for target in ("/v1/models", "/gpupick/v1/models"):
                        answer = behind.ask(get(target, *forged))
                        self.assertEqual(answer.status, 401, (target, edits))
                        answer = behind.ask(get(target, *forged, shown))
                        self.assertEqual(answer.status, 200 if edits else 401, (target, edits))
                    if edits:
                        line = line_of(own.servers, answer["X-Request-Id"])
                        self.assertEqual(line["caller"], "identity:ann@example.com")
                        self.assertTrue(answer["Cache-Control"].startswith("private"))
                finally:
                    behind.stop()
            # Past the gateway: this machine is trusted as a whole, others are not.
            self.assertEqual(own.servers[0].ask(get("/v1/models")).status, 401)
        finally:
            own.stop()
            checker.listener.close()


class KeepAlive(unittest.TestCase):
    def finish(self, callers, least):
        for caller in callers:
            caller.join(120 * SLOW)
        self.assertEqual([c.failures for c in callers if c.failures], [])
        self.assertGreaterEqual(sum(c.answers for c in callers), least)

    def test_bodies_at_the_ends_of_buffers(self):
        requests = [(padded(size), 422) for size in SIZES] + [(get(PRICES), 200)]
        self.finish([Caller(front, requests, rounds=25 * len(requests)) for _ in range(4)],
                    100 * len(requests))

    def test_a_body_past_the_limit(self):
        """The service's limit, then the gateway's own: the client learns of both."""
        self.finish([Caller(front, [(post(SIZING, b" " * size), 413)
                                    for size in (BODY_MAX + 1, 1 << 20)], rounds=20)], 20)
        with front.connect() as client:
            client.sendall(get(SIZING, "Content-Length: %d" % ((1 << 20) + 1), method="POST"))
            self.assertEqual(Reader(client).answer().status, 413)

    def test_a_body_in_pieces(self):
        with front.connect() as client:
            reader = Reader(client)
            for cut in (1, 20, 150, 4096, 20000):
                raw = padded(20500)
                client.sendall(raw[:cut])
                time.sleep(0.02)
                client.sendall(raw[cut:])
                self.assertEqual(reader.answer().status, 422)

    def test_pipelined_requests(self):
        with front.connect() as client:
            reader = Reader(client)
            for _ in range(10):
                client.sendall((get(PRICES) + padded(500) + get("/v1/none")) * 10)
                self.assertEqual([reader.answer().status for _ in range(30)], [200, 422, 404] * 10)

    def test_connections_that_the_service_closes_when_idle(self):
        """The worst case, which the shipped settings avoid by far: the service closes what is idle
        just when the gateway would use it again. (The service reads once more before it closes.)"""

        slow = Replicas(idle_timeout_seconds=0.1, access_log="off")
        behind = Front(NAME, slow.addresses(), slow.ops, EDITS.get(NAME, ()))
        try:
            def pause():
                """To a common beat: else the connection used last would serve all, never idle."""
                return BEAT - time.monotonic() % BEAT + random.uniform(0, 0.005)
            self.finish([Caller(behind, [(padded(100), 422), (get(PRICES), 200)], rounds=30,
                                pause=pause) for _ in range(40)], 40 * 30)
        finally:
            behind.stop()
            slow.stop()


BEAT = 0.107  # seconds: answers take a few milliseconds, so idle times straddle 0.1
# HAProxy asks again as often as it may, and may meet another such connection. nginx asks each replica once, and Go's client sends a POST
# again only when nothing of it was written: there the gateway must let go first, as it does with the
# shipped 55 s against the service's 620 s.
EDITS = {"nginx": (("keepalive_timeout 55s", "keepalive_timeout 70ms"),),
         "haproxy": (("retries 3", "retries 20"),),
         "caddy": (("keepalive 55s", "keepalive 70ms"),)}


class Rolling(unittest.TestCase):
    def test_a_rolling_restart_loses_nothing(self):
        over = threading.Event()
        requests = [(get(PRICES), 200), (padded(200), 422), (padded(12000), 422),
                    (get("/gpupick/openapi.yaml"), 200)]
        whole = front.ask(get(PRICES))
        polls = [(get(PRICES + "&wait=3", "If-None-Match: " + whole["ETag"]), 304),
                 (get("/gpupick/v1/prices" + whole.json()["delta"] + "&wait=3"), 200)]
        callers = [Caller(front, requests, until=over, pause=lambda: 0.004) for _ in range(8)]
        pollers = [Caller(front, polls, until=over) for _ in range(16)]
        time.sleep(0.5)
        self.assertTrue(replicas.roll())
        over.set()
        for poller in pollers:
            poller.join(60 * SLOW)
        self.assertEqual([p.failures for p in pollers if p.failures], [])
        self.assertGreater(sum(p.answers for p in pollers), 16)
        for caller in callers:
            caller.join(60 * SLOW)
        self.assertEqual([c.failures for c in callers if c.failures], [])
        answers = sum(c.answers for c in callers)
        print("%s: %d requests during a rolling restart, none lost" % (NAME, answers))
        self.assertGreater(answers, 1000 / SLOW)


if __name__ == "__main__":
    skip_without(NAME)
    unittest.main(verbosity=0)
