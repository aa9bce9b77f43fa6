#!/usr/bin/python3
"""API keys in the database: made, revoked and expired without a restart, known while it is away; and prices of a
company's own over the whole path, with deltas and history. Run by tests/store/cluster.py."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import psycopg2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "store"), os.path.join(HERE, "..", "gateway")]
from cluster import Cluster  # noqa: E402
from gateway import BINARY, SLOW, Server, get  # noqa: E402

URL = os.environ["GPUPICK_DATABASE_URL"]
HEADER = "provider,region,instance_type,accelerator,count,price_usd_per_hour\n"


def setUpModule():
    global cluster, folder
    cluster = Cluster(folder=os.environ["GPUPICK_TEST_CLUSTER"])
    folder = tempfile.TemporaryDirectory()
    gpupick("migrate")
    ingest(9.60)


def tearDownModule():
    folder.cleanup()


def gpupick(*arguments, **settings):
    environment = {**os.environ, **{"GPUPICK_" + k.upper(): v for k, v in settings.items()}}
    done = subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True, timeout=120 * SLOW)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ingest(*prices):
    """The bundled prices and a list of the company's own."""
    path = os.path.join(folder.name, "pool.csv")
    with open(path, "w") as file:
        file.write(HEADER + "".join("pool,cellar,rack-%d,H100 SXM5 80GB,8,%.2f\n" % (n, p) for n, p in enumerate(prices)))
    gpupick("ingest", "--once", price_files=path, providers="lambda") # which has no key here


def make(name, *options):
    return gpupick("key", "new", name, *options).strip()


def sql(text):
    connection = psycopg2.connect(URL)
    with connection, connection.cursor() as cursor:
        cursor.execute(text)
    connection.close()


def bearer(key):
    return "Authorization: Bearer " + key


def served(**settings):
    settings = {"database_url": URL, **settings}
    return Server(snapshot=False, auth="keys", clock_seconds=0.1, threads=2, **settings)


def until(condition, what):
    end = time.monotonic() + 20 * SLOW
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class outage:
    """The database is away from begin() to end(), or to the end of the block."""

    def __init__(self, at_once=True):
        self.is_on, self.at_once = False, at_once

    def begin(self):
        cluster.stop()
        self.is_on = True

    def end(self):
        if self.is_on:
            cluster.start()
        self.is_on = False

    def __enter__(self):
        if self.at_once:
            self.begin()
        return self

    def __exit__(self, *_):
        self.end()


class Keys(unittest.TestCase):
    def status(self, server, key):
        return server.ask(get("/v1/models", bearer(key))).status

    def test_they_come_and_go_without_a_restart(self):
        first = make("first")
        with served() as server:
            until(lambda: self.status(server, first) == 200, "the first")
            second = make("second", "--scopes", "read", "--expires", "1d")
            until(lambda: self.status(server, second) == 200, "the second")
            self.assertEqual(gpupick("key", "list").count(" good "), 2)
            gpupick("key", "revoke", first[4:14])
            until(lambda: self.status(server, first) == 401, "revoked")
            answer = server.ask(get("/v1/models", bearer(first)))
            self.assertEqual(answer.json()["detail"], "the API key was revoked")
            sql("update api_key set expires_at = now() - interval '1 hour' where name = 'second'")
            until(lambda: self.status(server, second) == 401, "expired")
            sql("update api_key set scopes = '{}', expires_at = null where name = 'second'")
            until(lambda: self.status(server, second) == 403, "without scopes")
            listed = gpupick("key", "list")
            self.assertIn("revoked", listed)
            for key in (first, second):
                self.assertNotIn(key[15:], json.dumps(server.lines) + listed)
        sql("truncate api_key")

    def test_the_last_known_count_while_the_database_is_away(self):
        key = make("constant")
        data = os.path.join(folder.name, "data")
        settings = {"data": data}
        os.mkdir(data)
        with outage(at_once=False) as away, served(**settings) as server:
            until(lambda: self.status(server, key) == 200, "read")
            read = 'gpupick_api_keys_read_timestamp_seconds{from="database"}'
            away.begin()
            until(lambda: any(line["message"].startswith("API keys not read") for line in list(server.lines)), "noticed")
            self.assertEqual(self.status(server, key), 200)
            self.assertEqual(self.status(server, make_up()), 401)
            line = next(line for line in server.lines if line["message"].startswith("API keys not read"))
            self.assertRegex(line["last_read_at"], r"^20\d\d-")
            before = server.metric(read)
            time.sleep(0.3)
            self.assertEqual(server.metric(read), before)
            self.assertLess(abs(time.time() - before), 60 * SLOW)
        self.assertEqual(os.stat(os.path.join(data, "api_keys")).st_mode & 0o777, 0o600)
        with outage() as away, served(**settings) as server: # a restart meanwhile
            self.assertEqual(self.status(server, key), 200)
            self.assertEqual(self.status(server, make_up()), 401)
            away.end()
            gone = key
            gpupick("key", "revoke", gone)
            until(lambda: self.status(server, gone) == 401, "revoked")
        shutil.rmtree(data)
        sql("truncate api_key")

    def test_before_any_key_was_read_nobody_is_told_wrong(self):
        key = make("early")
        with outage() as away, served() as server:
            answer = server.ask(get("/v1/models", bearer(key)))
            self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
            self.assertEqual(server.ask(get("/v1/models")).status, 401)
            away.end()
            until(lambda: self.status(server, key) == 200, "read")
        sql("truncate api_key")

    def test_a_replica_is_not_ready_before_it_has_looked_for_keys(self):
        data = os.path.join(folder.name, "ready")
        os.mkdir(data)

        def ready(server):
            return server.ask(get("/readyz"), "ops")
        with served(data=data) as server: # leaves its prices behind, and no keys
            until(lambda: ready(server).status == 200, "ready")
            until(lambda: os.path.exists(os.path.join(data, "snapshot")), "saved")
        os.unlink(os.path.join(data, "api_keys"))
        cluster.pause()
        self.addCleanup(cluster.resume)
        with served(data=data, database_url=URL + " connect_timeout=600") as server:
            try:
                until(lambda: server.ask(get("/startupz"), "ops").status == 200, "prices of the file")
                answer = ready(server)
            finally:
                cluster.resume()
            self.assertEqual((answer.status, answer.is_problem()["detail"]), (503, "the API keys are not read yet"))
            until(lambda: ready(server).status == 200, "a look at the keys")
        os.unlink(os.path.join(data, "api_keys"))
        with outage(), served(data=data) as server:
            until(lambda: ready(server).status == 200, "a database that is away takes no replica away")
        shutil.rmtree(data)


def make_up():
    """A wellformed key that nobody knows."""
    with tempfile.TemporaryDirectory() as where:
        return gpupick("key", "new", "unknown", "--file", os.path.join(where, "keys")).strip()


class OwnPrices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.insider, cls.reader = make("insider", "--scopes", "read,private_prices"), make("reader")
        cls.server = served()
        until(lambda: cls.server.ask(get("/v1/prices?limit=1", bearer(cls.reader))).status == 200, "prices")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, path, key):
        return self.server.ask(get(path, bearer(key)))

    def own(self, key):
        return [o for o in self.ask("/v1/prices?limit=1000&sort=usd_per_hour&count=8", key).json()["items"]
                if o["provider"] == "pool"]

    def test_lists_histories_and_deltas(self):
        offer = self.own(self.insider)[0]
        self.assertEqual(self.own(self.reader), [])
        for path in ("/v1/prices/%s", "/v1/prices/%s/history", "/v1/prices/%s/history?format=csv"):
            self.assertEqual(self.ask(path % offer["id"], self.insider).status, 200)
            strange = self.ask(path % "0000000000000000", self.reader)
            hidden = self.ask(path % offer["id"], self.reader)
            self.assertEqual(hidden.status, 404)
            self.assertEqual(hidden.json()["detail"].replace(offer["id"], "0000000000000000"), strange.json()["detail"])
        page = {key: self.ask("/v1/prices?limit=1000", key).json() for key in (self.insider, self.reader)}
        if "delta" not in page[self.reader]:
            self.skipTest("this build has no deltas")
        tags = {key: self.ask("/v1/prices?limit=3", key)["ETag"] for key in page}
        ingest(8.40, 7.50)
        until(lambda: len(self.own(self.insider)) == 2, "the change")
        changes = {key: self.ask("/v1/prices" + page[key]["delta"], key).json() for key in page}
        self.assertEqual(sorted(o["usd_per_hour"] for o in changes[self.insider]["changes"]), [7.5, 8.4])
        self.assertEqual((changes[self.reader]["changes"], changes[self.reader]["removed"]), ([], []))
        same = self.server.ask(get("/v1/prices?limit=3", bearer(self.reader), "If-None-Match: " + tags[self.reader]))
        self.assertEqual(same.status, 304, "a change of what is hidden shows in the validator")
        ingest(8.40)
        until(lambda: len(self.own(self.insider)) == 1, "the withdrawal")
        gone = {key: self.ask("/v1/prices" + page[key]["delta"], key).json() for key in page}
        self.assertEqual(gone[self.reader]["removed"], [])
        self.assertEqual([o["usd_per_hour"] for o in gone[self.insider]["changes"]], [8.4])
        self.waiting_tells_of_what_is_seen_only({key: gone[key]["delta"] for key in page})

    def test_a_validator_of_who_sees_more_is_none_of_who_sees_less(self):
        offer = self.ask("/v1/prices?limit=1", self.reader).json()["items"][0]
        for path in ("/v1/accelerators", "/v1/prices/" + offer["id"]):
            tag = self.ask(path, self.insider)["ETag"]
            crossed = self.server.ask(get(path, bearer(self.reader), "If-None-Match: " + tag))
            self.assertEqual(crossed.status, 200, path)

    def waiting_tells_of_what_is_seen_only(self, links):
        """The last of them goes: who sees them is woken, the other one waits to the end."""
        found = {}

        def wait(key, seconds):
            began = time.monotonic()
            answer = self.ask("/v1/prices%s&wait=%d" % (links[key], seconds), key)
            found[key] = (time.monotonic() - began, answer.json())
        threads = [threading.Thread(target=wait, args=(self.insider, 20)), threading.Thread(target=wait, args=(self.reader, 4))]
        for thread in threads:
            thread.start()
        ingest()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found[self.insider][1]["removed"]), 1)
        self.assertEqual((found[self.reader][1]["changes"], found[self.reader][1]["removed"]), ([], []))
        self.assertGreater(found[self.reader][0], 3.5)


if __name__ == "__main__":
    unittest.main()
