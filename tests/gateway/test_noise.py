#!/usr/bin/python3
"""Damaged requests, a few thousand by a fixed seed: each connection is answered or closed in time, nothing is a 500, every
refusal is a problem document and none of the library's own pages, no answer is lost by a reset, and the server lives. Under
the sanitizers this is a search for memory errors."""
import random
import re
import socket
import unittest

from gateway import SLOW, Server, chunked, get, post

SIZING = "/v1/sizing"
WORKLOAD = (b'{"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B",'
            b' "prompt_tokens": 100, "output_tokens": 10, "concurrency": 1}}')
SEEDS = [
    get("/openapi.yaml"),
    get("/v1/models/meta-llama%2FLlama-3.1-8B?a=%41&b=2"),
    get("/v1/prices?limit=1&provider=runpod", "Accept: text/csv;q=0.5, */*;q=0.1",
        'If-None-Match: W/"a", "b"', "Prefer: handling=lenient"),
    get("/v1/prices", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "X-Request-Id: abc"),
    post(SIZING, WORKLOAD),
    chunked(SIZING, [WORKLOAD[:40], WORKLOAD[40:]], "Expect: 100-continue"),
    get("*", method="OPTIONS"),
]
SPLICES = [b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"%", b"%00", b"%2f", b"\xff", b"?",
           b"&", b"=", b";", b",", b'"', b"/", b"A" * 3000, b"Content-Length: 3\r\n",
           b"Transfer-Encoding: chunked\r\n", b"Host: b\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n"]


def damaged(source):
    raw = bytearray(source.choice(SEEDS))
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(raw) + 1)
        kind = source.randrange(4)
        if kind == 0 and at < len(raw):
            raw[at] = source.randrange(256)
        elif kind == 1:
            del raw[at:at + source.randint(1, 20)]
        elif kind == 2:
            raw[at:at] = source.choice(SPLICES)
        else:
            end = min(len(raw), at + source.randint(1, 60))
            raw[at:at] = raw[at:end]
        if not raw:
            return b"\r\n"
    return bytes(raw)


class Noise(unittest.TestCase):
    def test_damaged_requests(self):
        source = random.Random(20261130)
        statuses = {}
        with Server(threads=2) as server:
            for _ in range(4000):
                raw = damaged(source)
                with server.connect(timeout=5) as client:
                    got = b""
                    try:
                        client.sendall(raw)
                        client.shutdown(socket.SHUT_WR)
                        while True:
                            data = client.recv(65536)
                            if not data:
                                break
                            got += data
                    except ConnectionError as failure:
                        self.fail("%r: %r to %r" % (failure, got, raw))
                    except socket.timeout:
                        self.fail("neither answered nor closed: %r" % raw)
                for head in re.findall(rb"HTTP/1\.1 \d+ .*?\r\n\r\n", got, re.S):
                    status = int(head[9:12])
                    statuses[status] = statuses.get(status, 0) + 1
                    self.assertNotIn(status, (500, 502, 504), raw)
                    if status >= 400:
                        self.assertIn(b"Content-Type: application/problem+json\r\n", head, raw)
            self.assertEqual(server.ask(get("/openapi.yaml")).status, 200)
            self.assertTrue(server.settles("gpupick_http_connections ", 1), "one is leaked")
            self.assertTrue(server.settles("gpupick_http_requests_in_flight ", 1))
        # The mixture reached the handlers as well as every guard in front of them.
        self.assertLessEqual({200, 400, 404, 405, 415, 422, 501}, set(statuses), statuses)


if __name__ == "__main__":
    unittest.main(verbosity=0)
