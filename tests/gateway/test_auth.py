#!/usr/bin/python3
"""Who may call: off, keys, a proxy's word; scopes; and that a company's own prices show to nobody else."""
import json
import os
import random
import re
import stat
import subprocess
import tempfile
import time
import unittest
from urllib.parse import quote

from gateway import BINARY, MAKE_SNAPSHOT, SLOW, Reader, Server, get, post

JOB = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B", "prompt_tokens": 500,
                    "output_tokens": 100, "concurrency": 4}, "limit": 50}
OWN = ("cellar", "rack-1", "rack-2", "negotiated", "discounted", "off the list", "file:")
KEY = re.compile(r"^gpk_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$")


def setUpModule():
    global folder, private, keys
    folder = tempfile.TemporaryDirectory()
    private = os.path.join(folder.name, "private")
    subprocess.run([MAKE_SNAPSHOT, private, "7", "private"], check=True, stdout=subprocess.DEVNULL)
    keys = os.path.join(folder.name, "keys")
    global reader, insider, nothing, admin
    reader, insider = make("reader"), make("insider", "--scopes", "read,private_prices")
    nothing, admin = make("nothing", "--scopes", ""), make("admin", "--scopes", "admin")


def tearDownModule():
    folder.cleanup()


def run(*arguments):
    return subprocess.run([BINARY, "key", *arguments], capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")})


def make(name, *options, file=None):
    done = run("new", name, *options, "--file", file or keys)
    assert done.returncode == 0 and KEY.match(done.stdout.strip()), done
    return done.stdout.strip()


def bearer(key):
    return "Authorization: Bearer " + key


def served(**settings):
    settings = {"auth": "keys", "api_keys": keys, "clock_seconds": 0.1, **settings}
    return Server(snapshot=private, **settings)


def without_ages(value):
    if isinstance(value, dict):
        return {k: without_ages(v) for k, v in value.items() if not k.endswith("age_seconds") and k != "request_id"}
    return [without_ages(v) for v in value] if isinstance(value, list) else value


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.file = os.path.join(folder.name, "own")
        self.addCleanup(lambda: os.path.exists(self.file) and os.unlink(self.file))

    def test_a_key_is_shown_once_and_kept_as_a_hash(self):
        key = make("one", file=self.file)
        with open(self.file) as file:
            kept = file.read()
        self.assertNotIn(key[15:], kept)
        self.assertIn(key[4:14], kept)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertNotIn(key[15:], run("list", "--file", self.file).stdout)

    def test_list_and_revoke(self):
        first, second = make("first", file=self.file), make("second", "--expires", "30d", file=self.file)
        listed = run("list", "--file", self.file).stdout.splitlines()
        self.assertEqual(len(listed), 3)
        self.assertEqual(sorted(line.split()[0] for line in listed[1:]), sorted([first[4:14], second[4:14]]))
        self.assertEqual(run("revoke", first[4:14], "--file", self.file).returncode, 0)
        self.assertNotIn(first[4:14], run("list", "--file", self.file).stdout)
        self.assertEqual(run("revoke", first[4:14], "--file", self.file).returncode, 1)
        self.assertEqual(run("revoke", second, "--file", self.file).returncode, 0)

    def test_a_replaced_file_keeps_its_mode(self):
        make("one", file=self.file)
        os.chmod(self.file, 0o640)
        make("two", file=self.file)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o640)

    def test_the_file_of_the_settings_is_taken_where_there_is_no_database(self):
        environment = {"PATH": os.environ["PATH"], "GPUPICK_API_KEYS": self.file}
        done = subprocess.run([BINARY, "key", "new", "one"], capture_output=True, text=True, env=environment, check=True)
        self.assertIn(done.stdout[4:14], run("list", "--file", self.file).stdout)

    def test_mistakes_are_named(self):
        for arguments, said in ((("new", "x", "--scopes", "reed"), "'reed' is no scope, did you mean 'read'?"),
                                (("new", "x", "--expires", "2001-01-01"), "--expires"), (("new",), "needs a name"),
                                (("new", "a\nb"), "control"), (("list", "x"), "order"), (("nonsense",), "order"),
                                (("revoke",), "order"), (("list", "--scopes", "read"), "for a new key")):
            done = run(*arguments, "--file", self.file)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)
        self.assertIn("GPUPICK_DATABASE_URL", run("list").stderr)


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = served()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        text = json.dumps(cls.server.lines)
        for key in (reader, insider, nothing, admin):
            assert key[15:] not in text, "a key in the log"

    def check(self, headers, status, code=None, challenge=None, path="/v1/prices?limit=1"):
        answer = self.server.ask(get(path, *headers))
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer["WWW-Authenticate"], challenge)
        if code:
            self.assertEqual(answer.is_problem()["code"], code)
            self.assertEqual(answer["Cache-Control"], "no-store")
        return answer

    def test_both_headers(self):
        self.check([bearer(reader)], 200)
        self.check(["authorization: bearer " + reader], 200)
        self.check(["X-Api-Key: " + reader], 200)
        self.check(["X-Api-Key: " + reader, "Authorization: Basic dXNlcjpwYXNz"], 200)

    def test_none(self):
        self.check([], 401, "unauthorized", 'Bearer realm="gpupick"')

    def test_wrong_ones(self):
        wrong = 'Bearer realm="gpupick", error="invalid_token"'
        stranger = make("stranger", file=os.path.join(folder.name, "elsewhere"))
        forged = reader[:15] + stranger[15:]
        details = set()
        for headers in ([bearer(stranger)], [bearer(reader[:-1] + "!")], [bearer(reader + "a")], [bearer("")],
                        [bearer(forged)], ["Authorization: Basic dXNlcjpwYXNz"], [bearer("eyJhbGciOiJub25lIn0.e30.")]):
            details.add(self.check(headers, 401, "unauthorized", wrong).json()["detail"])
        self.assertEqual(details, {"the API key is not known", "Authorization holds no API key of this service"})
        for headers in ([bearer(reader), bearer(insider)], [bearer(reader), "X-Api-Key: " + reader],
                        ["X-Api-Key: " + reader, "X-Api-Key: " + insider]):
            answer = self.check(headers, 401, "unauthorized", wrong)
            self.assertIn("more than one", answer.json()["detail"])

    def test_a_key_with_another_checksum_is_no_key(self):
        self.check([bearer(reader[:-1] + ("0" if reader[-1] != "0" else "1"))], 401, "unauthorized",
                   'Bearer realm="gpupick", error="invalid_token"')

    def test_nonsense_is_refused_and_nothing_else_happens(self):
        dice = random.Random(int(os.environ.get("GPUPICK_TEST_SEED", "7")))
        letters = [chr(c) for c in range(0x20, 0x7f)] + ["\t", "\xe9", "gpk_", "Bearer", reader[:20]]
        with self.server.connect() as client:
            answers = Reader(client)
            for _ in range(500):
                text = "".join(dice.choice(letters) for _ in range(dice.randrange(40)))
                if dice.random() < 0.5: # near the truth
                    place = dice.randrange(len(reader))
                    text = "Bearer " + reader[:place] + text.strip() + reader[place + dice.randrange(3):]
                field = dice.choice(("Authorization", "X-Api-Key"))
                client.sendall(get("/v1/models", "%s: %s" % (field, text)))
                answer = answers.answer()
                right = {"Authorization": "Bearer " + reader, "X-Api-Key": reader}[field]
                wanted = 200 if text.strip() == right else 401
                self.assertEqual(answer.status, wanted, (field, text))

    def test_a_missing_scope_is_named(self):
        for key in (nothing, admin):
            answer = self.check([bearer(key)], 403, "forbidden",
                                'Bearer realm="gpupick", error="insufficient_scope", scope="read"')
            self.assertEqual(answer.json()["required_scope"], "read")

    def test_every_route_of_the_api_is_guarded(self):
        listed = subprocess.run([BINARY, "routes"], capture_output=True, text=True, check=True).stdout
        open_ones = []
        for line in listed.splitlines():
            method, pattern, operation = line.split("\t")
            path = pattern.replace("{*}", "x").replace("{}", "x")
            raw = get(path) if method == "GET" else post(path, b"{}")
            status = self.server.ask(raw).status
            if status != 401:
                open_ones.append(pattern)
            if pattern.startswith("/v1/"):
                self.assertEqual(status, 401, pattern)
        self.assertIn("/openapi.yaml", open_ones)

    def test_nothing_is_told_of_a_request_before_its_caller_is_known(self):
        for raw in (get("/v1/prices?limit=x"), get("/v1/prices?nonsense=1"), post("/v1/recommendations", b"{"),
                    get("/v1/prices/ffffffffffffffff")):
            self.assertEqual(self.server.ask(raw).status, 401)
        self.assertEqual(self.server.ask(get("/nothing")).status, 404)

    def test_a_body_of_a_stranger_is_read_past_and_the_connection_goes_on(self):
        with self.server.connect() as client:
            client.sendall(post("/v1/recommendations", json.dumps(JOB).encode()) + get("/v1/prices?limit=1", bearer(reader)))
            answers = Reader(client)
            self.assertEqual([answers.answer().status for _ in range(2)], [401, 200])

    def test_probes_need_none(self):
        for path in ("/livez", "/readyz", "/startupz", "/metrics"):
            self.assertEqual(self.server.ask(get(path), "ops").status, 200, path)

    def test_a_preflight_needs_none(self):
        answer = self.server.ask(get("/v1/prices", "Origin: https://a.example", "Access-Control-Request-Method: GET",
                                     method="OPTIONS"))
        self.assertEqual(answer.status, 204)

    def test_answers_are_the_callers_own_for_caches(self):
        answer = self.check([bearer(reader)], 200)
        self.assertTrue(answer["Cache-Control"].startswith("private"), answer["Cache-Control"])
        for name in ("Authorization", "X-Api-Key"):
            self.assertIn(name, answer["Vary"])
        again = self.server.ask(get("/v1/prices?limit=1", bearer(reader), "If-None-Match: " + answer["ETag"]))
        self.assertEqual(again.status, 304)
        self.assertTrue(again["Cache-Control"].startswith("private"))
        self.assertNotIn("private", self.server.ask(get("/openapi.yaml"))["Cache-Control"])

    def test_a_validator_outlives_its_key(self):
        file = os.path.join(folder.name, "turn")
        first, second = make("first", file=file), make("second", file=file)
        with served(api_keys=file) as server:
            tag = server.ask(get("/v1/prices?limit=3", bearer(first)))["ETag"]
            self.assertEqual(server.ask(get("/v1/prices?limit=3", bearer(second), "If-None-Match: " + tag)).status, 304)

    def test_the_log_names_the_caller_by_the_id(self):
        self.check([bearer(reader)], 200)
        end = time.monotonic() + 5 * SLOW
        wanted = "key:" + reader[4:14]
        while not any(line.get("caller") == wanted for line in list(self.server.lines)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_counts_by_outcome(self):
        metric = 'gpupick_http_auth_total{outcome="%s"}'
        outcomes = ("key", "identity", "anonymous", "missing", "invalid", "expired", "untrusted", "forbidden", "unread")
        before = {o: self.server.metric(metric % o) for o in outcomes}
        self.check([bearer(reader)], 200)
        self.check([], 401, challenge='Bearer realm="gpupick"')
        self.check([bearer("x")], 401, challenge='Bearer realm="gpupick", error="invalid_token"')
        self.check([bearer(nothing)], 403, challenge='Bearer realm="gpupick", error="insufficient_scope", scope="read"')
        after = {o: self.server.metric(metric % o) for o in before}
        self.assertEqual({o: after[o] - before[o] for o in before},
                         {**dict.fromkeys(outcomes, 0), "key": 1, "missing": 1, "invalid": 1, "forbidden": 1})
        self.assertEqual(self.server.metric('gpupick_api_keys{from="file"}'), 4)


class Rotation(unittest.TestCase):
    def until(self, server, key, status):
        end = time.monotonic() + 10 * SLOW
        while server.ask(get("/v1/models", bearer(key))).status != status:
            self.assertLess(time.monotonic(), end, status)
            time.sleep(0.05)

    def test_keys_come_and_go_without_a_restart(self):
        file = os.path.join(folder.name, "rotated")
        old = make("old", file=file)
        with served(api_keys=file) as server:
            self.until(server, old, 200)
            new = make("new", file=file)
            self.until(server, new, 200)
            self.assertEqual(server.ask(get("/v1/models", bearer(old))).status, 200)
            run("revoke", old, "--file", file)
            self.until(server, old, 401)
            self.assertEqual(server.ask(get("/v1/models", bearer(new))).status, 200)
            with open(file, "a") as broken:
                broken.write("nonsense\n")
            end = time.monotonic() + 10 * SLOW
            while not any("line" in line.get("detail", "") for line in list(server.lines)):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            self.assertEqual(server.ask(get("/v1/models", bearer(new))).status, 200)
            self.assertNotIn(new[15:], json.dumps(server.lines))

    def test_a_key_revoked_while_its_request_is_held_is_told_nothing(self):
        file = os.path.join(folder.name, "held")
        key, other = make("held", file=file), make("other", file=file)
        with served(api_keys=file) as server, server.connect() as client:
            delta = server.ask(get("/v1/prices", bearer(key))).json()["delta"]
            client.sendall(get("/v1/prices%s&wait=%d" % (delta, 4 * SLOW), bearer(key)))
            self.assertTrue(server.settles("gpupick_http_long_polls ", 1))
            run("revoke", key, "--file", file)
            self.until(server, key, 401)
            answer = Reader(client).answer()
            self.assertEqual((answer.status, answer.is_problem()["detail"]), (401, "the API key is not known"))
            # Another's goes on, and counts once.
            counted = server.metric('gpupick_http_auth_total{outcome="key"}')
            self.assertEqual(server.ask(get("/v1/prices?wait=1&limit=1&since=" + delta.split("since=")[1],
                                            bearer(other))).status, 200)
            self.assertEqual(server.metric('gpupick_http_auth_total{outcome="key"}'), counted + 1)

    def test_an_expired_key_says_so(self):
        file = os.path.join(folder.name, "expiring")
        key = make("short", "--expires", "1d", file=file)
        with open(file) as kept:
            lines = re.sub(r"(\S+) (\S+) read (\S+) \S+ short", r"\1 \2 read \3 2020-01-02T03:04:05Z short", kept.read())
        with open(file, "w") as kept:
            kept.write(lines)
        with served(api_keys=file) as server:
            answer = server.ask(get("/v1/models", bearer(key)))
            self.assertEqual(answer.status, 401)
            self.assertEqual(answer.json()["detail"], "the API key expired at 2020-01-02T03:04:05Z")


class Identity(unittest.TestCase):
    """A trusted proxy's word; 127.0.0.1 is the proxy."""

    @classmethod
    def setUpClass(cls):
        cls.server = served(auth="header", api_keys="", trusted_proxies="127.0.0.1", auth_header="X-Forwarded-Email",
                            auth_scopes_header="X-Forwarded-Groups", clock_seconds=1)
        cls.stranger = served(auth="header,keys", trusted_proxies="192.0.2.1", auth_header="X-Forwarded-Email")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0 and cls.stranger.stop() == 0

    def test_named(self):
        answer = self.server.ask(get("/v1/prices?limit=1", "X-Forwarded-Email: ann@example.com"))
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer["Cache-Control"].startswith("private"))
        self.assertIn("X-Forwarded-Email", answer["Vary"])
        self.assertIn("X-Forwarded-Groups", answer["Vary"])

    def test_scopes_by_the_proxy(self):
        name = "X-Forwarded-Email: ann@example.com"
        path = "/v1/prices?provider=pool"
        self.assertEqual(self.server.ask(get("/v1/providers/pool", name)).status, 404)
        answer = self.server.ask(get(path, name, "X-Forwarded-Groups: staff, private_prices"))
        self.assertEqual(len(answer.json()["items"]), 2)

    def test_unnamed_twice_and_nonsense(self):
        self.assertEqual(self.server.ask(get("/v1/models")).status, 401)
        for headers in (["X-Forwarded-Email: a@b", "X-Forwarded-Email: c@d"], ["X-Forwarded-Email: "],
                        ["X-Forwarded-Email: a b"], ["X-Forwarded-Email: " + "a" * 129],
                        ["X-Forwarded-Email: a@b", "X-Forwarded-Groups: read", "X-Forwarded-Groups: private_prices"]):
            answer = self.server.ask(get("/v1/models", *headers))
            self.assertEqual(answer.status, 401, headers)
        self.assertEqual(self.server.ask(get("/v1/models", bearer(reader))).status, 401)

    def test_strangers_name_nobody(self):
        answer = self.stranger.ask(get("/v1/models", "X-Forwarded-Email: ann@example.com"))
        self.assertEqual(answer.status, 401)
        self.assertIn("trusted proxies", answer.is_problem()["detail"])
        answer = self.stranger.ask(get("/v1/models", "X-Forwarded-Email: ann@example.com", bearer(reader)))
        self.assertEqual(answer.status, 200)


class Settings(unittest.TestCase):
    def refused(self, said, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
        environment.update({"GPUPICK_DATA": folder.name, "GPUPICK_LISTEN": "127.0.0.1:0",
                            "GPUPICK_OPS_LISTEN": "127.0.0.1:0"})
        environment.update({"GPUPICK_" + k.upper(): v for k, v in settings.items()})
        done = subprocess.run([BINARY, "serve"], env=environment, capture_output=True, text=True, timeout=30 * SLOW)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(said, done.stderr)

    def test_contradictions_stop_the_start(self):
        self.refused("GPUPICK_AUTH: 'kyes' is none of", auth="kyes")
        self.refused("GPUPICK_AUTH: it is off, or", auth="off,keys")
        self.refused("GPUPICK_AUTH=keys needs", auth="keys")
        self.refused("GPUPICK_AUTH=header needs GPUPICK_TRUSTED_PROXIES", auth="header")
        self.refused("GPUPICK_OPS_AUTH needs GPUPICK_AUTH", ops_auth="true")
        self.refused("GPUPICK_AUTH_HEADER: 'Authorization' means", auth_header="Authorization")
        self.refused("GPUPICK_AUTH_HEADER: 'a b' is no name", auth_header="a b")
        self.refused("GPUPICK_ANONYMOUS_SCOPES: 'reed' is no scope", anonymous_scopes="reed")
        self.refused("No such file", auth="keys", api_keys=folder.name + "/none")

    def test_metrics_by_key(self):
        with Server(snapshot=False, auth="keys", api_keys=keys, ops_auth="true") as server:
            self.assertEqual(server.ask(get("/metrics"), "ops").status, 401)
            answer = server.ask(get("/metrics", bearer(reader)), "ops")
            self.assertEqual((answer.status, answer.json()["required_scope"]), (403, "admin"))
            self.assertEqual(server.ask(get("/metrics", bearer(admin)), "ops").status, 200)
            self.assertEqual(server.ask(get("/livez"), "ops").status, 200)

    def test_strangers_may_read_where_it_is_said(self):
        with served(anonymous_scopes="read") as server:
            answer = server.ask(get("/v1/prices?limit=1000"))
            self.assertTrue(answer["Cache-Control"].startswith("public"))
            self.assertIn("Authorization", answer["Vary"])
            self.assertNotIn("rack-1", answer.body.decode())
            self.assertIn("rack-1", server.ask(get("/v1/prices?limit=1000", bearer(insider))).body.decode())
            self.assertEqual(server.ask(get("/v1/models", bearer(reader + "x"))).status, 401)

    def test_off_shows_own_prices_on_this_machine_only(self):
        with Server(snapshot=private) as server:
            for host in ("localhost", "LOCALHOST:8080", "127.0.0.1:80", "127.1.2.3", "[::1]", "[::1]:80", ""):
                self.assertIn("rack-1", server.ask(get("/v1/prices?limit=1000", host=host)).body.decode(), host)
            # Not to a page whose own name leads here, nor to whom a gateway on this machine asks for.
            for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", "127.evil"):
                self.assertNotIn("rack-1", server.ask(get("/v1/prices?limit=1000", host=host)).body.decode(), host)
            for field in ("X-Forwarded-For: 127.0.0.1", "Forwarded: for=_x", "X-Forwarded-Host: localhost"):
                answer = server.ask(get("/v1/prices?limit=1000", field, host="localhost"))
                self.assertNotIn("rack-1", answer.body.decode(), field)
            self.assertIsNone(next((line for line in server.lines if line.get("setting") == "GPUPICK_AUTH"), None))
        with Server(snapshot=private, listen="0.0.0.0:0") as server:
            server.addresses["api"] = server.addresses["api"].replace("0.0.0.0", "127.0.0.1")
            self.assertNotIn("rack-1", server.ask(get("/v1/prices?limit=1000")).body.decode())
            self.assertTrue(any(line.get("setting") == "GPUPICK_AUTH" for line in server.lines))
        with Server(snapshot=private, listen="0.0.0.0:0", anonymous_scopes="read,private_prices") as server:
            server.addresses["api"] = server.addresses["api"].replace("0.0.0.0", "127.0.0.1")
            self.assertIn("rack-1", server.ask(get("/v1/prices?limit=1000")).body.decode())


class OwnPrices(unittest.TestCase):
    """What a caller without the scope is told is, to the byte, what a service without such prices tells."""

    @classmethod
    def setUpClass(cls):
        cls.server, cls.without = served(), Server(anonymous_scopes="read")
        text = cls.server.ask(get("/v1/prices?limit=1000", bearer(insider))).json()
        cls.own = [o for o in text["items"] if o["provider"] == "pool" or o["instance_type"] in OWN]

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0 and cls.without.stop() == 0

    def asked(self):
        variants = {"workload": JOB["workload"], "variants": [{"name": "a"}, {"name": "b", "workload": {"concurrency": 8}}]}
        for path in ("/v1/prices", "/v1/prices?limit=1000", "/v1/prices?limit=1000&format=csv", "/v1/prices?sort=usd_per_hour&limit=3",
                     "/v1/prices?sort=usd_per_gpu_hour&limit=3", "/v1/prices?sort=-observed_at&limit=3",
                     "/v1/prices?provider=aws&limit=1000", "/v1/prices?provider=pool", "/v1/prices?region=cellar",
                     "/v1/prices?accelerator=H901+Own", "/v1/prices?accelerator=" + quote("H100 SXM5 80GB") + "&limit=1000",
                     "/v1/prices?max_usd_per_hour=1.3&limit=1000", "/v1/accelerators", "/v1/accelerators/H100%20SXM5%2080GB",
                     "/v1/accelerators/H901%20Own", "/v1/providers", "/v1/providers/aws", "/v1/providers/runpod",
                     "/v1/providers/pool", "/v1/models?q=llama", "/v1/models/meta-llama/Llama-3.1-8B"):
            yield "GET", path, None
        for offer in self.own:
            yield "GET", "/v1/prices/" + offer["id"], None
        for body in (JOB, {**JOB, "group": "offer"}, {**JOB, "filters": {"providers": ["pool"]}},
                     {**JOB, "filters": {"providers": ["aws"]}}, {**JOB, "filters": {"regions": ["cellar"]}},
                     {**JOB, "objective": "usd_per_hour", "launch": True}):
            yield "POST", "/v1/recommendations", body
        yield "POST", "/v1/comparisons", variants
        yield "POST", "/v1/sizing", {"workload": JOB["workload"]}

    def ask(self, server, method, path, body, *headers):
        return server.ask(get(path, *headers) if method == "GET" else post(path, json.dumps(body).encode(), *headers))

    def test_there_are_four(self):
        self.assertEqual(len(self.own), 4)

    def test_every_route_is_asked(self):
        """A new one must be added here. Histories need the database: tests/api/test_keys.py has them."""
        listed = subprocess.run([BINARY, "routes"], capture_output=True, text=True, check=True).stdout
        asked = [(method, path.split("?")[0]) for method, path, _ in self.asked()]
        for line in listed.splitlines():
            method, pattern, operation = line.split("\t")
            path = re.compile(pattern.replace("{*}", ".+").replace("{}", "[^/]+") + "$")
            if pattern.startswith("/v1/") and operation != "getPriceHistory":
                self.assertTrue(any(m == method and path.match(p) for m, p in asked), (method, pattern))

    def test_no_answer_differs(self):
        for method, path, body in self.asked():
            with self.subTest(path=path, body=body):
                mine = self.ask(self.server, method, path, body, bearer(reader))
                plain = self.ask(self.without, method, path, body)
                self.assertEqual((mine.status, mine["ETag"]), (plain.status, plain["ETag"]))
                if mine["Content-Type"].startswith("text/csv"):
                    self.assertEqual(mine.body, plain.body)
                else:
                    self.assertEqual(without_ages(mine.json()), without_ages(plain.json()))
                for word in OWN:
                    if word not in path and word not in json.dumps(body):
                        self.assertNotIn(word, mine.body.decode() + str(mine.headers))

    def test_who_has_the_scope_sees_them(self):
        found = {path: self.server.ask(get(path, bearer(insider))) for path in (
            "/v1/prices?sort=usd_per_hour&limit=3&accelerator=H100%20SXM5%2080GB&count=8", "/v1/providers/pool", "/v1/prices?region=cellar",
            "/v1/prices/" + self.own[0]["id"])}
        self.assertEqual({path: answer.status for path, answer in found.items()}, dict.fromkeys(found, 200))
        cheap = found["/v1/prices?sort=usd_per_hour&limit=3&accelerator=H100%20SXM5%2080GB&count=8"].json()["items"]
        self.assertEqual([o["instance_type"] for o in cheap], ["rack-1", "negotiated", "discounted"])
        answer = self.server.ask(post("/v1/recommendations", json.dumps({**JOB, "filters": {"providers": ["pool"]}}).encode(),
                                      bearer(insider))).json()
        self.assertEqual([r["offer"]["instance_type"] for r in answer["recommendations"]], ["rack-1"])

    def test_validators_and_kept_answers_are_apart(self):
        for path in ("/v1/prices?limit=5", "/v1/accelerators"):
            inside = self.server.ask(get(path, bearer(insider)))
            outside = self.server.ask(get(path, bearer(reader)))
            self.assertNotEqual(inside["ETag"], outside["ETag"], path)
            crossed = self.server.ask(get(path, bearer(reader), "If-None-Match: " + inside["ETag"]))
            self.assertEqual(crossed.status, 200, path)
        body = json.dumps({**JOB, "filters": {"providers": ["aws"], "accelerators": ["H100 SXM5 80GB"]}}).encode()
        for _ in range(2): # the second time from what is kept
            inside = self.server.ask(post("/v1/recommendations", body, bearer(insider)))
            outside = self.server.ask(post("/v1/recommendations", body, bearer(reader)))
            self.assertIn(b"negotiated", inside.body)
            self.assertNotIn(b"negotiated", outside.body)


if __name__ == "__main__":
    unittest.main()
