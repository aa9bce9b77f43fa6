#!/usr/bin/python3
"""Fair use: what a caller is told of the limit, what costs how much, who is counted as one caller."""
import contextlib
import json
import os
import re
import subprocess
import tempfile
import threading
import unittest

from gateway import BINARY, Reader, Server, get, post

JOB = json.dumps({"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B", "prompt_tokens": 500,
                               "output_tokens": 100, "concurrency": 4}, "limit": 1}).encode()
# A quota of a day: nothing comes back while a test runs.
DAY = {"limit_seconds": 86400}
STATE = re.compile(r'^"default";r=(\d+);t=(\d+)$')


def remaining(answer):
    return int(STATE.match(answer["RateLimit"]).group(1))


class Limit(unittest.TestCase):
    def test_the_headers_are_exact(self):
        with Server(limit_requests=10, limit_seconds=86400) as server:
            for used in range(1, 11):
                answer = server.ask(get("/v1/models/nothing"))
                self.assertEqual(answer.status, 404)
                self.assertEqual(answer["RateLimit-Policy"], '"default";q=10;w=86400')
                found = STATE.match(answer["RateLimit"])
                self.assertEqual(int(found.group(1)), 10 - used)
                self.assertTrue(8640 * used - 600 <= int(found.group(2)) <= 8640 * used, found.group(0))
                self.assertIsNone(answer["Retry-After"])
            for path in ("/v1/models", "/nothing", "/v1/recommendations"):
                answer = server.ask(get(path))
                self.assertEqual(answer.status, 429, path)
            problem = answer.is_problem()
            self.assertEqual((answer.status, problem["code"], problem["violated-policies"]),
                             (429, "quota_exceeded", ["default"]))
            self.assertEqual(answer["RateLimit-Policy"], '"default";q=10;w=86400')
            self.assertEqual(remaining(answer), 0)
            self.assertTrue(8640 - 600 <= int(answer["Retry-After"]) <= 8640, answer["Retry-After"])
            self.assertEqual(answer["Cache-Control"], "no-store")
            self.assertEqual(server.metric('gpupick_http_limit_total{outcome="passed"}'), 10)
            self.assertEqual(server.metric('gpupick_http_limit_total{outcome="refused"}'), 3)

    def test_costs_by_route(self):
        with Server(limit_requests=1000, **DAY) as server:
            before = 1000
            for raw, cost in ((get("/v1/prices?limit=1"), 1), (post("/v1/recommendations", JOB), 10),
                              (post("/v1/sizing", JOB), 2), (post("/v1/comparisons", b"{}"), 40),
                              (get("/v1/prices/0000000000000000/history"), 5),
                              (get("/v1/prices?limit=1", method="HEAD"), 1)):
                answer = server.ask(raw, head=raw.startswith(b"HEAD"))
                self.assertEqual(before - remaining(answer), cost, raw[:40])
                before = remaining(answer)

    def test_off_says_nothing(self):
        with Server() as server:
            answer = server.ask(get("/v1/models"))
            self.assertIsNone(answer["RateLimit"])
            self.assertIsNone(answer["RateLimit-Policy"])

    def test_probes_metrics_and_preflights_are_free(self):
        with Server(limit_requests=1, **DAY) as server:
            self.assertEqual(server.ask(get("/v1/models")).status, 200)
            self.assertEqual(server.ask(get("/v1/models")).status, 429)
            for path in ("/livez", "/readyz", "/startupz", "/metrics"):
                answer = server.ask(get(path), "ops")
                self.assertEqual((answer.status, answer["RateLimit"]), (200, None))
            self.assertEqual(server.ask(get("/v1/models", method="OPTIONS")).status, 204)

    def test_the_connection_goes_on_and_comes_back(self):
        with Server(limit_requests=10, limit_seconds=40) as server, server.connect() as client:
            reader = Reader(client)
            client.sendall(post("/v1/recommendations", JOB) * 2 + get("/openapi.yaml"))
            self.assertEqual([reader.answer().status for _ in range(3)], [200, 429, 429])
            answer, waited = None, threading.Event()
            for _ in range(150): # a unit in four seconds
                waited.wait(0.2)
                client.sendall(get("/v1/models"))
                answer = reader.answer()
                if answer.status == 200:
                    break
            self.assertEqual(answer.status, 200)

    def test_threads_share_one_quota(self):
        with Server(limit_requests=200, threads=4, **DAY) as server:
            found = []

            def ask():
                with server.connect() as client:
                    reader = Reader(client)
                    for _ in range(100):
                        client.sendall(get("/v1/models/nothing"))
                        found.append(reader.answer().status)
            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((found.count(404), found.count(429)), (200, 200))


class Callers(unittest.TestCase):
    def test_addresses_as_trusted_proxies_tell_them(self):
        with Server(limit_requests=3, trusted_proxies="127.0.0.1", **DAY) as server:
            def ask(client):
                return server.ask(get("/v1/models/nothing", "X-Forwarded-For: " + client))
            for _ in range(3):
                self.assertEqual(ask("198.51.100.1").status, 404)
            self.assertEqual(ask("198.51.100.1").status, 429)
            self.assertEqual(ask("203.0.113.9, 198.51.100.1").status, 429) # the left is anybody's word
            self.assertEqual(ask("198.51.100.2").status, 404)
            for host in range(3): # a customer of IPv6 has a /64
                self.assertEqual(ask("2001:db8:0:1::%d" % host).status, 404)
            self.assertEqual(ask("2001:db8:0:1:ffff::1").status, 429)
            self.assertEqual(ask("2001:db8:0:2::1").status, 404)

    def test_held_requests_are_counted_by_the_same_callers(self):
        with Server(long_polls_a_caller=2, trusted_proxies="127.0.0.1") as server, contextlib.ExitStack() as stack:
            delta = server.ask(get("/v1/prices?limit=1")).json()["delta"]

            def begin(client):
                connection = stack.enter_context(server.connect())
                connection.sendall(get("/v1/prices%s&wait=20" % delta, "X-Forwarded-For: " + client))
                return connection

            def held(count):
                self.assertTrue(server.settles("gpupick_http_long_polls ", count), count)
            first = begin("2001:db8:0:1::1")
            begin("2001:db8:0:1::2")
            held(2)
            answer = Reader(begin("2001:db8:0:1:ffff::3")).answer()  # a customer of IPv6 has a /64
            self.assertEqual((answer.status, answer.is_problem()["code"]), (429, "too_many_waiting"))
            begin("2001:db8:0:2::1")
            begin("198.51.100.1")
            begin("198.51.100.2")
            held(5)
            first.close()
            held(4)
            begin("2001:db8:0:1:ffff::3")
            held(5)

    def test_untrusted_words_make_no_new_caller(self):
        with Server(limit_requests=3, **DAY) as server:
            found = [server.ask(get("/v1/models/nothing", "X-Forwarded-For: 198.51.100.%d" % i)).status for i in range(5)]
            self.assertEqual(found, [404] * 3 + [429] * 2)

    def test_keys_have_their_own_and_strangers_pay_by_address(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "keys")
            keys = [subprocess.run([BINARY, "key", "new", name, "--file", file], capture_output=True, text=True,
                                   check=True).stdout.strip() for name in ("one", "two")]
            with Server(limit_requests=11, auth="keys", api_keys=file, **DAY) as server:
                def ask(*headers):
                    return server.ask(get("/v1/models/nothing", *headers))
                for _ in range(11):
                    self.assertEqual(ask("X-Api-Key: " + keys[0]).status, 404)
                self.assertEqual(ask("Authorization: Bearer " + keys[0]).status, 429)
                self.assertEqual(remaining(ask("X-Api-Key: " + keys[1])), 10)
                # A wrong key costs five, none costs one; what is left is the address's.
                self.assertEqual([remaining(ask("X-Api-Key: gpk_wrong")), remaining(ask())], [6, 5])
                answer = ask("X-Api-Key: gpk_wrong")
                self.assertEqual((answer.status, remaining(answer)), (401, 0))
                self.assertEqual(ask("X-Api-Key: gpk_wrong").status, 429)
                self.assertEqual(ask("X-Api-Key: " + keys[1]).status, 404)

    def test_a_foreign_page_may_read_the_headers(self):
        with Server(limit_requests=11, cors_origins="https://a.example", **DAY) as server:
            answer = server.ask(get("/v1/models/nothing", "Origin: https://a.example"))
            exposed = answer["Access-Control-Expose-Headers"].split(", ")
            self.assertTrue({"RateLimit", "RateLimit-Policy", "Retry-After"} <= set(exposed), exposed)


if __name__ == "__main__":
    unittest.main()
