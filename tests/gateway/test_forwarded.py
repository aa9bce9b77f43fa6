#!/usr/bin/python3
"""Who is believed about the client and the path: trusted proxies, Forwarded, X-Forwarded-*, base path."""
import subprocess
import time
import unittest

from gateway import BINARY, Server, get

LIVE = "/openapi.yaml"
TRUSTED = "127.0.0.0/8, 10.0.0.0/8, 2001:db8:1::/48"
PEER = "127.0.0.1"
IGNORED = "gpupick_http_forwarded_ignored_total"

# header lines -> client, scheme, host, reason counted
X = "X-Forwarded-For: "
CASES = [
    ((), PEER, None, None, None),
    ((X + "192.0.2.7",), "192.0.2.7", None, None, None),
    ((X + "192.0.2.7:4711",), "192.0.2.7", None, None, None),
    ((X + "2001:db8::7",), "2001:db8::7", None, None, None),
    ((X + "[2001:db8::7]",), "2001:db8::7", None, None, None),
    ((X + "[2001:DB8::7]:443",), "2001:db8::7", None, None, None),
    ((X + "::ffff:192.0.2.7",), "192.0.2.7", None, None, None),
    # From the right, past trusted ones, over several lines and none further than needed.
    ((X + "6.6.6.6, 192.0.2.7",), "192.0.2.7", None, None, None),
    ((X + "6.6.6.6, 192.0.2.7, 10.1.2.3",), "192.0.2.7", None, None, None),
    ((X + "192.0.2.7, 10.1.2.3, 2001:db8:1::9",), "192.0.2.7", None, None, None),
    ((X + "6.6.6.6", X + "192.0.2.7"), "192.0.2.7", None, None, None),
    ((X + "6.6.6.6", X + "192.0.2.7", X + "10.0.0.1"), "192.0.2.7", None, None, None),
    (("x-forwarded-for: 6.6.6.6", "X-FORWARDED-FOR: 192.0.2.7"), "192.0.2.7", None, None, None),
    ((X + "garbage\", 192.0.2.7",), "192.0.2.7", None, None, None),
    ((X + "10.0.0.8, 10.0.0.9",), "10.0.0.8", None, None, None),
    ((X + " 192.0.2.7 ,\t, ",), "192.0.2.7", None, None, None),
    ((X + "6.6.6.6, unknown",), PEER, None, None, None),
    ((X + "unknown, 10.0.0.1",), "10.0.0.1", None, None, None),
    # Malformed where it is read: ignored whole.
    ((X + "192.0.2.7, 999.0.2.7",), PEER, None, None, "malformed"),
    ((X + "192.0.2.7, bad, 10.0.0.1",), PEER, None, None, "malformed"),
    ((X + "192.0.2.7:0",), PEER, None, None, "malformed"),
    ((X + "192.0.2.7:65536",), PEER, None, None, "malformed"),
    ((X + "192.0.2.7:",), PEER, None, None, "malformed"),
    ((X + "[192.0.2.7]",), PEER, None, None, "malformed"),
    ((X + "[2001:db8::7",), PEER, None, None, "malformed"),
    ((X + "fe80::1%eth0",), PEER, None, None, "malformed"),
    ((X + "192.0.2.07",), PEER, None, None, "malformed"),
    ((X + "_hidden",), PEER, None, None, "malformed"),
    ((X + ", ".join(["10.0.0.1"] * 33),), PEER, None, None, "malformed"),
    (tuple([X + "10.0.0.1"] * 17), PEER, None, None, "malformed"),
    # Scheme, host, port.
    ((X + "192.0.2.7", "X-Forwarded-Proto: https", "X-Forwarded-Host: a.example:8443"),
     "192.0.2.7", "https", "a.example:8443", None),
    (("X-Forwarded-Proto: http, https", "X-Forwarded-Host: evil, a.example",
      "X-Forwarded-Port: 443"), PEER, "https", "a.example", None),
    (("X-Forwarded-Proto: https", "X-Forwarded-Host: a.example", "X-Forwarded-Port: 8443"),
     PEER, "https", "a.example:8443", None),
    (("X-Forwarded-Host: [2001:db8::1]:80",), PEER, None, "[2001:db8::1]:80", None),
    ((X + "192.0.2.7", "X-Forwarded-Proto: javascript"), "192.0.2.7", None, None, "malformed"),
    ((X + "192.0.2.7", "X-Forwarded-Host: a/b"), "192.0.2.7", None, None, "malformed"),
    (("X-Forwarded-Host: a.example", "X-Forwarded-Port: 80x"), PEER, None, "a.example",
     "malformed"),
    # RFC 7239.
    (("Forwarded: for=192.0.2.7",), "192.0.2.7", None, None, None),
    (("forwarded: FOR=192.0.2.7;Proto=HTTPS;host=a.example;by=_x",), "192.0.2.7", "https",
     "a.example", None),
    (('Forwarded: for="[2001:db8::1]:47"',), "2001:db8::1", None, None, None),
    (('Forwarded: for="192.0.2.7:_port"',), "192.0.2.7", None, None, None),
    (('Forwarded: for="192.0.2.\\7"',), "192.0.2.7", None, None, None),
    (('Forwarded: for=6.6.6.6, for=192.0.2.7;proto=https, for=10.0.0.1;proto=http',),
     "192.0.2.7", "https", None, None),
    (("Forwarded: for=6.6.6.6", "Forwarded: for=192.0.2.7"), "192.0.2.7", None, None, None),
    (('Forwarded: for="6.6.6.6, for=192.0.2.7',), "192.0.2.7", None, None, None),
    (('Forwarded: for=192.0.2.7;ext="a, for=6.6.6.6"',), "192.0.2.7", None, None, None),
    (('Forwarded: for=192.0.2.7;ext="a, for=6.6.6.6;x=\\"";y="b"',), "192.0.2.7", None, None,
     None),
    (("Forwarded: for=192.0.2.7, for=unknown",), PEER, None, None, None),
    (("Forwarded: for=192.0.2.7, for=_gazonk",), PEER, None, None, None),
    (("Forwarded: for=192.0.2.7, proto=https",), PEER, "https", None, None),
    (("Forwarded: for=2001:db8::1",), PEER, None, None, "malformed"),
    (('Forwarded: for="2001:db8::1"',), PEER, None, None, "malformed"),
    (("Forwarded: for=192.0.2.7;for=192.0.2.8",), PEER, None, None, "malformed"),
    (("Forwarded: for = 192.0.2.7",), PEER, None, None, "malformed"),
    (("Forwarded: for=192.0.2.7;proto=gopher",), PEER, None, None, "malformed"),
    (("Forwarded: for=",), PEER, None, None, "malformed"),
    (('Forwarded: for="192.0.2.7',), PEER, None, None, "malformed"),
    (("Forwarded: " + "a," * 3000,), PEER, None, None, "malformed"),
    # Both kinds: one of them may be the client's own.
    (("Forwarded: for=192.0.2.7;host=b.example", X + "192.0.2.7"), "192.0.2.7", None, "b.example",
     None),
    (("Forwarded: for=6.6.6.6", X + "192.0.2.7"), PEER, None, None, "conflict"),
    # What is no header of proxies.
    (("X-Real-Ip: 6.6.6.6", "X-Forwarded-Server: x", "X-Client-Ip: 6.6.6.6"), PEER, None, None,
     None),
]


class Believing(unittest.TestCase):
    def line(self, server, headers, **more):
        """The access line of one request with these headers."""
        seen = len(server.lines)
        self.assertEqual(server.ask(get(LIVE, *headers), **more).status, 200)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for line in server.lines[seen:]:
                if line["message"] == "request":
                    return line
            time.sleep(0.002)
        self.fail("no access line")

    def counts(self, server):
        return {r: server.metric('%s{reason="%s"}' % (IGNORED, r))
                for r in ("untrusted", "malformed", "conflict")}

    def test_what_a_trusted_proxy_tells(self):
        with Server(threads=1, trusted_proxies=TRUSTED) as server:
            for headers, client, scheme, host, reason in CASES:
                with self.subTest(headers=headers):
                    before = self.counts(server)
                    line = self.line(server, headers)
                    self.assertEqual((line["client"], line.get("scheme"), line.get("host")),
                                     (client, scheme, host))
                    if reason:
                        before[reason] += 1
                    self.assertEqual(self.counts(server), before)

    def test_nobody_else_is_believed(self):
        for trusted in ("", "10.0.0.0/8, unix:", "127.0.0.2"):
            with self.subTest(trusted), Server(threads=1, trusted_proxies=trusted) as server:
                for headers in ((X + "192.0.2.7",), ("Forwarded: for=192.0.2.7;proto=https",),
                                ("X-Forwarded-Prefix: /evil",)):
                    line = self.line(server, headers)
                    self.assertEqual(line["client"], PEER)
                    self.assertNotIn("scheme", line)
                self.assertEqual(server.ask(get("/x", "X-Forwarded-Prefix: /evil"))
                                 .json()["instance"], "/x")
                self.assertEqual(self.counts(server),
                                 {"untrusted": 4, "malformed": 0, "conflict": 0})

    def test_one_kind_may_be_chosen(self):
        both = ("Forwarded: for=192.0.2.1", X + "192.0.2.2", "X-Forwarded-Proto: https")
        for style, client, scheme in (("x", "192.0.2.2", "https"), ("rfc7239", "192.0.2.1", None)):
            with Server(threads=1, trusted_proxies=TRUSTED, forwarded=style) as server:
                line = self.line(server, both)
                self.assertEqual((line["client"], line.get("scheme")), (client, scheme))

    def test_a_unix_socket_is_trusted_when_named(self):
        for trusted, client in (("unix:", "192.0.2.7"), ("0.0.0.0/0", "unix")):
            with self.subTest(trusted):
                folder = "/tmp/gpupick-test-%d.sock" % time.monotonic_ns()
                with Server(threads=1, trusted_proxies=trusted, listen="unix:" + folder) as server:
                    self.assertEqual(self.line(server, (X + "192.0.2.7",))["client"], client)

    def test_settings_that_are_no_networks_stop_the_start(self):
        for name, value in (("TRUSTED_PROXIES", "10.0.0.0/33"), ("TRUSTED_PROXIES", "10.0.0.1/8"),
                            ("TRUSTED_PROXIES", "example.com"), ("TRUSTED_PROXIES", "10.0.0.0/"),
                            ("TRUSTED_PROXIES", "::1/129"), ("BASE_PATH", "gpu"),
                            ("BASE_PATH", "/gpu/"), ("BASE_PATH", "/a/../b"), ("BASE_PATH", "/a b"),
                            ("BASE_PATH", "/" + "a" * 129), ("FORWARDED", "all"), ("CORS_ORIGINS", "shop.example"),
                            ("CORS_ORIGINS", "https://a.example/"), ("CORS_ORIGINS", "null")):
            with self.subTest(value):
                run = subprocess.run([BINARY, "check-config"], capture_output=True, text=True,
                                     env={"GPUPICK_" + name: value}, timeout=20)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn("GPUPICK_" + name, run.stderr)


class Paths(unittest.TestCase):
    def servers(self, answer):
        """The url under `servers` in a contract that was fetched."""
        lines = answer.body.decode().split("\n")
        return lines[lines.index("servers:") + 1].strip()

    def test_a_base_path_may_stand_before_every_route(self):
        with Server(threads=1, base_path="/gpupick", trusted_proxies=TRUSTED) as server:
            for asked, status, instance in (
                    ("/gpupick/v1/models/none", 404, "/gpupick/v1/models/none"),
                    ("/v1/models/none?x=1", 400, "/gpupick/v1/models/none"),
                    ("/gpupickx/v1/models", 404, "/gpupick/gpupickx/v1/models"),
                    ("/gpupick/gpupick/v1/models", 404, "/gpupick/gpupick/v1/models"),
                    ("/gpupick%2Fv1/models", 404, "/gpupick/gpupick%2Fv1/models"),
                    ("/gpupick", 404, "/gpupick")):
                with self.subTest(asked):
                    answer = server.ask(get(asked))
                    self.assertEqual(answer.status, status)
                    self.assertEqual(answer.is_problem()["instance"], instance)
            for target in ("/gpupick/v1/models", "/v1/models", "http://a/gpupick/v1/models"):
                self.assertEqual(server.ask(get(target)).status, 200)
            self.assertEqual(server.ask(get("/livez"), "ops").status, 200)
            self.assertEqual(server.ask(get("/gpupick/livez"), "ops").status, 404)
            self.assertEqual(self.servers(server.ask(get("/gpupick" + LIVE))), "- url: /gpupick")
            outer = server.ask(get("/gpupick/x", "X-Forwarded-Prefix: /tools"))
            self.assertEqual(outer.json()["instance"], "/tools/gpupick/x")

    def test_a_prefix_that_a_gateway_cut_off(self):
        with Server(threads=1, trusted_proxies=TRUSTED) as server:
            for prefix, told in (("/gpu", "/gpu"), ("/a/b.c_d~-", "/a/b.c_d~-"), ("/", ""),
                                 ("", ""), ("/x, /gpu", "/gpu"),
                                 # Ignored whole: they would lead a browser elsewhere.
                                 ("//evil.example", ""), ("/gpu/", ""), ("gpu", ""),
                                 ("/a/../b", ""), ("/a%2Fb", ""), ("/a b", ""), ("/<b>", ""),
                                 ("https://evil.example", ""), ("/" + "a" * 128, "")):
                with self.subTest(prefix):
                    header = "X-Forwarded-Prefix: " + prefix
                    answer = server.ask(get("/v1/none", header))
                    self.assertEqual(answer.is_problem()["instance"], told + "/v1/none")
                    contract = server.ask(get(LIVE, header))
                    self.assertEqual(self.servers(contract), "- url: " + (told or "/"))

    def test_links_are_relative(self):
        with Server(threads=1, base_path="/gpupick") as server:
            answer = server.ask(get("/gpupick/v1/prices?limit=1"))
            self.assertTrue(answer["Link"].startswith("<?"), answer["Link"])
            self.assertEqual(server.ask(get("/gpupick/v1/prices" + answer["Link"][1:].split(">")[0]))
                             .status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=0)
