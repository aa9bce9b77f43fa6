#!/usr/bin/python3
"""Pollers that follow the changes of prices, over real replicas of a real database.

Run by tests/store/cluster.py. random_market changes the prices as the ingest leader does.
"""
import contextlib
import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from urllib.parse import quote

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", folder) for folder in ("gateway", "store")]

from cluster import free_port  # noqa: E402
from gateway import SLOW, Reader, Server, get  # noqa: E402

DATABASE = os.environ["GPUPICK_DATABASE_URL"]
FILTERS = ("", "accelerator=H100+SXM5+80GB", "accelerator=%s" % quote("Odd Card 7"), "provider=vast,lambda",
           "max_usd_per_hour=5", "max_usd_per_gpu_hour=1.5", "country=US", "availability=yes,unknown",
           "price_kind=spot&region=region-1,region-2", "country=DE&max_usd_per_hour=4&sort=region",
           "interconnect=unknown", "min_memory_gb=300&availability=yes")
DATES = ("observed_at", "first_seen_at", "last_seen_at", "age_seconds")


def sql(statement):
    done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", DATABASE, "-c", statement],
                          check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Market:
    """The prices, and what changes them."""

    def __init__(self, seed):
        self.process = subprocess.Popen([os.environ["GPUPICK_RANDOM_MARKET"], str(seed)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        assert self.process.stdout.readline() == "ready\n"

    def change(self, count):
        """As many changes of one provider's offers, some of which may change nothing; the version."""
        self.process.stdin.write("%d\n" % count)
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30 * SLOW)
        self.process.stdout.close()


class Replica:
    def __init__(self, **settings):
        self.settings = dict({"threads": 2, "clock_seconds": 0.05, "long_polls": 4000,
                              "long_polls_a_caller": 0, "anonymous_scopes": "read,private_prices"}, **settings)
        self.start()

    def start(self):
        self.server = Server(snapshot=False, database_url=DATABASE, **self.settings)
        end = time.monotonic() + 30 * SLOW
        while self.server.ask(get("/readyz"), "ops").status != 200:
            assert time.monotonic() < end, self.server.lines
            time.sleep(0.02)

    def restart(self):
        assert self.server.stop() == 0
        self.start()

    def ask(self, target, *headers):
        return self.server.ask(get(target, *headers))

    def reaches(self, version):
        end = time.monotonic() + 20 * SLOW
        while self.server.metric("gpupick_snapshot_version") < version:
            assert time.monotonic() < end, "version %d is not reached" % version
            time.sleep(0.02)

    def whole(self, query):
        """The list as it is now, page by page."""
        items, link = {}, "?limit=1000&" + query
        while link:
            page = self.ask("/v1/prices" + link).json()
            items.update((item["id"], plain(item)) for item in page["items"])
            link = page["next"]
        return items


def plain(offer):
    """An offer less its dates, which move without a change."""
    return {key: value for key, value in offer.items() if key not in DATES}


class Poller:
    """What a client does that keeps a copy: a list, then deltas from any replica."""

    def __init__(self, query, dice):
        self.query, self.dice = query, dice
        self.copy, self.delta, self.version = {}, None, 0
        self.ever = set()
        self.expired = self.needless = self.removed = self.pages = self.behind = 0

    def start_over(self, replicas):
        """The list is read while it changes, each page from any replica."""
        self.copy = {}
        link = "?limit=%d&%s" % (self.dice.choice((7, 40, 300)), self.query)
        first = None
        while link:
            answer = self.dice.choice(replicas).ask("/v1/prices" + link)
            if answer.status == 410:
                return self.start_over(replicas)
            if answer.status == 503:  # a replica that lags further than a request may wait
                time.sleep(0.05)
                continue
            assert answer.status == 200, answer.body
            page = answer.json()
            first = first or page["delta"]
            self.copy.update((item["id"], plain(item)) for item in page["items"])
            last, link = page["delta"], page["next"]
        # Either is good: the last one knows more of what was seen.
        self.delta = self.dice.choice((first, last))
        self.version = page["catalogue"]["version"]
        return None

    def poll(self, replicas, wait=0):
        """One answer; true when it was the last page of what is known there."""
        if not self.delta:
            self.start_over(replicas)
        answer = self.dice.choice(replicas).ask("/v1/prices" + self.delta + ("&wait=%d" % wait if wait else ""))
        if answer.status == 410:
            problem = answer.is_problem()
            assert problem["code"] == "cursor_expired" and "since" not in problem["restart"], problem
            self.expired += 1
            self.delta = None
            return False
        assert answer.status == 200, (answer.status, answer.body)
        page = answer.json()
        self.pages += 1
        self.take(page)
        return not page["has_more"]

    def take(self, page):
        if page["catalogue"]["version"] < self.version:  # told nothing, and sent on with the same cursor
            assert not page["changes"] and not page["removed"] and page["delta"].split("since=")[1] == \
                self.delta.split("since=")[1], page
            self.behind += 1
        else:
            self.version = page["catalogue"]["version"]
        ids = [item["id"] for item in page["changes"]] + [item["id"] for item in page["removed"]]
        assert len(ids) == len(set(ids)), "an offer twice on a page"
        self.ever.update(ids)
        self.copy.update((item["id"], plain(item)) for item in page["changes"])
        for item in page["removed"]:
            assert item["reason"] in ("withdrawn", "filtered"), item
            self.removed += 1
            self.needless += self.copy.pop(item["id"], None) is None
        self.delta = page["delta"]


class Following(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("GPUPICK_TEST_SEED", "20261130"))
        self.dice = random.Random(self.seed)
        self.market = Market(self.seed)
        self.addCleanup(self.market.stop)

    def replica(self, **settings):
        replica = Replica(**settings)
        self.addCleanup(lambda: self.assertEqual(replica.server.stop(), 0))
        return replica

    def settle(self, pollers, replicas, version):
        for replica in replicas:
            replica.reaches(version)
        for poller in pollers:
            while not poller.poll(replicas):
                pass
            for replica in replicas:
                self.assertEqual(poller.copy, replica.whole(poller.query), (self.seed, poller.query))

    def test_a_thousand_changes_restarts_an_epoch_and_two_lags_end_with_the_list(self):
        near, far = self.replica(), self.replica(clock_seconds=0.6)
        replicas = [near, far]
        public = [self.replica(anonymous_scopes="read")]
        pollers = [Poller(query, random.Random(self.dice.random())) for query in FILTERS]
        for poller in pollers:
            poller.start_over(replicas)
        outside = Poller("", random.Random(5))
        outside.start_over(public)
        private = set(replicas[0].whole("")) - set(public[0].whole(""))
        changed = version = 0
        while changed < 1000:
            count = self.dice.choice((1, 1, 2, 5, 40))
            changed += count
            version = self.market.change(count)
            for poller in pollers:
                if self.dice.random() < 0.3:
                    poller.poll(replicas)
            if self.dice.random() < 0.3:
                outside.poll(public)
            private |= {k for k, v in pollers[0].copy.items() if v["provider"] == "own"}
            if self.dice.random() < 0.02:
                self.dice.choice(replicas).restart()
        near.restart()
        public[0].restart()
        self.settle(pollers, replicas, version)
        self.settle([outside], public, version)
        self.assertGreater(len(private), 50)
        self.assertEqual(private & outside.ever, set(), "ids of private offers were told")
        self.assertEqual([p.expired for p in pollers], [0] * len(pollers))

        sql("update clock set epoch = gen_random_uuid()")
        for _ in range(20):
            version = self.market.change(5)
            for poller in self.dice.sample(pollers, 3):
                poller.poll(replicas)
        for replica in replicas:
            replica.reaches(version)
        time.sleep(1)  # the epoch is read with the version
        self.settle(pollers, replicas, version)
        for poller in pollers:
            self.assertGreaterEqual(poller.expired, 1)
        print("# %d pages, %d behind, %d removals, of which %d were not held" % tuple(
            sum(getattr(p, name) for p in pollers) for name in ("pages", "behind", "removed", "needless")))

    def test_the_shipped_loop(self):
        if not shutil.which("jq"):
            self.skipTest("jq is not installed")
        replica = self.replica()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "prices.json")
            loop = subprocess.Popen([os.path.join(ROOT, "deploy", "follow.sh"),
                                     "http://%s/v1/prices" % replica.server.addresses["api"], "max_usd_per_hour=5",
                                     path], process_group=0)
            self.addCleanup(loop.wait)
            self.addCleanup(os.killpg, loop.pid, 15)
            for _ in range(6):
                replica.reaches(self.market.change(30))
                wanted, end = replica.whole("max_usd_per_hour=5"), time.monotonic() + 15 * SLOW
                while True:
                    with contextlib.suppress(FileNotFoundError):
                        with open(path) as file:
                            held = {key: plain(offer) for key, offer in json.load(file).items()}
                        if held == wanted:
                            break
                    self.assertLess(time.monotonic(), end, "the copy is not the list")
                    time.sleep(0.05)

    def test_a_replica_that_lags_never_takes_a_poller_back(self):
        near, far = self.replica(), self.replica(clock_seconds=600)
        near.reaches(self.market.change(40))
        poller = Poller("", random.Random(1))
        poller.start_over([near])
        version, copy, began = poller.version, dict(poller.copy), time.monotonic()
        self.assertTrue(poller.poll([far]))  # waits a moment, then says nothing
        self.assertGreater(time.monotonic() - began, 1)
        self.assertEqual((poller.behind, poller.copy, poller.version), (1, copy, version))
        # Nor is who holds a newer list told that of before.
        tag = near.ask("/v1/prices?limit=3")["ETag"]
        answer = far.ask("/v1/prices?limit=3", 'If-None-Match: W/"x", %s' % tag)
        self.assertEqual((answer.status, answer["ETag"], answer["Cache-Control"]), (304, tag, "no-store"))
        self.assertEqual(far.ask("/v1/prices?limit=4", "If-None-Match: " + tag).status, 200)
        # Nor does a page of a list that another replica began.
        page = near.ask("/v1/prices?limit=3").json()
        answer = far.ask("/v1/prices" + page["next"])
        self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
        # One that catches up in time answers in time.
        soon = self.replica(clock_seconds=0.5)
        near.reaches(self.market.change(40))
        poller.poll([near])
        poller.poll([soon])
        self.settle([poller], [near, soon], poller.version)

    def test_who_may_see_more_now_starts_again(self):
        replica, public = self.replica(), self.replica(anonymous_scopes="read")
        for one, other in ((replica, public), (public, replica)):
            delta = one.ask("/v1/prices?country=US").json()["delta"]
            self.assertEqual(one.ask("/v1/prices" + delta).status, 200)
            answer = other.ask("/v1/prices" + delta)
            self.assertEqual((answer.status, answer.is_problem()["restart"]), (410, "?country=US"))

    def test_cursors_that_are_none(self):
        replica = self.replica()
        page = replica.ask("/v1/prices?country=US&limit=3").json()
        since = page["delta"].split("since=")[1]
        cursor = page["next"].split("cursor=")[1]

        def fault(target):
            answer = replica.ask(target)
            self.assertEqual(answer.status, 400, target)
            return {(error["parameter"], error["code"]) for error in answer.is_problem()["errors"]}

        self.assertEqual(fault("/v1/prices?since=xyz"), {("since", "syntax")})
        self.assertEqual(fault("/v1/prices?country=US&since=" + since[:-4]), {("since", "syntax")})
        self.assertEqual(fault("/v1/prices?country=DE&since=" + since), {("since", "mismatch")})
        self.assertEqual(fault("/v1/prices?country=US&since=" + cursor), {("since", "mismatch")})
        self.assertEqual(fault("/v1/prices?country=US&cursor=" + since), {("cursor", "mismatch")})
        self.assertEqual(fault("/v1/prices?country=US&cursor=%s&since=%s" % (cursor, since)), {("since", "conflict")})
        self.assertEqual(fault("/v1/prices?country=US&format=csv&since=" + since), {("since", "conflict")})
        self.assertEqual(fault("/v1/prices?wait=26"), {("wait", "out_of_range")})
        self.assertEqual(fault("/v1/prices?wait=-1"), {("wait", "type")})

    def test_a_cursor_older_than_what_is_kept(self):
        replica = self.replica()
        delta = replica.ask("/v1/prices?country=US").json()["delta"]
        replica.reaches(self.market.change(20))
        sql("update clock set log_from = version, version = version + 1")
        replica.restart()
        answer = replica.ask("/v1/prices" + delta)
        self.assertEqual(answer.status, 410)
        problem = answer.is_problem()
        self.assertEqual((problem["code"], problem["restart"]), ("cursor_expired", "?country=US"))
        self.assertEqual(replica.ask("/v1/prices" + problem["restart"]).status, 200)
        self.assertEqual(replica.server.metric("gpupick_http_deltas_expired_total"), 1)

    def test_who_is_told_of_what_left_held_it(self):
        """A replica that saw every change tells nobody of offers that the filter never took."""
        replica = self.replica()
        pollers = [Poller(query, random.Random(3)) for query in FILTERS]
        for poller in pollers:
            poller.start_over([replica])
        version = self.market.change(1)
        replica.reaches(version)
        for poller in pollers:
            poller.poll([replica])
            poller.needless = poller.removed = 0
        for _ in range(60):
            version = self.market.change(3)
            replica.reaches(version)
            for poller in pollers:
                poller.poll([replica])
        self.assertGreater(sum(p.removed for p in pollers), 20)
        self.assertEqual([(p.query, p.needless) for p in pollers if p.needless], [])

    def test_an_unrelated_change_leaves_the_etag_alone(self):
        replica = self.replica()
        tags, lists = {}, {}
        kept = changed = 0
        for _ in range(40):
            replica.reaches(self.market.change(2))
            for query in FILTERS:
                answer = replica.ask("/v1/prices?limit=1000&" + query,
                                     *(["If-None-Match: " + tags[query]] if query in tags else []))
                now = replica.whole(query)
                if answer.status == 304:
                    self.assertEqual(now, lists[query], query)
                    kept += 1
                else:
                    self.assertEqual(answer.status, 200)
                    changed += query in lists and now == lists[query]
                tags[query], lists[query] = answer["ETag"], now
        self.assertGreater(kept, 100)
        # A change of something that a list does not show, or one undone by the next.
        self.assertLess(changed, 10, "lists that stayed the same but got another ETag")


def memory_bytes(server):
    with open("/proc/%d/statm" % server.process.pid) as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class LongPolls(unittest.TestCase):
    def setUp(self):
        self.market = Market(7)
        self.addCleanup(self.market.stop)

    def replica(self, **settings):
        replica = Replica(**settings)
        self.addCleanup(lambda: self.assertEqual(replica.server.stop(), 0))
        return replica

    def open(self, replica, count, query="limit=1", wait=25):
        """Connections with a request each that waits, every other one by its ETag."""
        first = replica.ask("/v1/prices?" + query)
        since = get("/v1/prices%s&wait=%d" % (first.json()["delta"], wait))
        tagged = get("/v1/prices?%s&wait=%d" % (query, wait), "If-None-Match: " + first["ETag"])
        clients = []
        for i in range(count):
            client = replica.server.connect(timeout=60)
            self.addCleanup(client.close)
            client.sendall(tagged if i % 2 else since)
            clients.append(client)
        return clients

    def waiting(self, replica, count, within=20):
        self.assertTrue(replica.server.settles("gpupick_http_long_polls ", count, within),
                        replica.server.metric("gpupick_http_long_polls "))

    def ends(self, replica):
        return {end: replica.server.metric('gpupick_http_long_polls_total{end="%s"}' % end)
                for end in ("news", "timeout", "left", "stop")}

    def test_three_thousand_are_told_at_once(self):
        count = 3000
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        os.environ.pop("MALLOC_PERTURB_", None)  # meson's: it touches memory that nobody uses
        replica = self.replica(clock_seconds=0.1, access_log="off")
        for client in self.open(replica, 200, wait=1):  # what the first connections need once
            self.assertIn(Reader(client).answer().status, (200, 304))
            client.close()
        before = memory_bytes(replica.server)
        clients = self.open(replica, count)
        self.waiting(replica, count, 60)
        each = (memory_bytes(replica.server) - before) / count
        poller = select.epoll()
        for client in clients:
            poller.register(client, select.EPOLLIN)
        by_fd = {client.fileno(): client for client in clients}
        version = self.market.change(40)
        began, delays = time.monotonic(), []
        while by_fd and time.monotonic() - began < 20 * SLOW:
            for fd, _ in poller.poll(1):
                delays.append(time.monotonic() - began)
                poller.unregister(fd)
                del by_fd[fd]
        self.assertEqual(len(by_fd), 0, "some were told nothing")
        for client in clients:
            answer = Reader(client).answer()
            self.assertEqual((answer.status, answer.json()["catalogue"]["version"]), (200, version))
        self.assertEqual(replica.server.metric("gpupick_http_long_polls "), 0)
        print("# %d long polls: %.1f KiB each, all told within %.2f s, half within %.2f s" %
              (count, each / 1024, max(delays), sorted(delays)[count // 2]))
        if SLOW <= 2:  # a sanitizer's own memory is another matter
            self.assertLess(each, 40 * 1024)
        self.assertLess(max(delays), 1.5 * SLOW)

    def test_one_is_told_of_its_own_filter_only(self):
        replica = self.replica()
        cards = [quote(card, safe="") for card in ("H100 SXM5 80GB", "L40S 48GB")]
        lists = {card: replica.whole("accelerator=" + card) for card in cards}
        clients = {card: self.open(replica, 2, "limit=1000&accelerator=" + card) for card in cards}
        self.waiting(replica, 4)
        for _ in range(200):
            replica.reaches(self.market.change(1))
            changed = {card for card in cards if replica.whole("accelerator=" + card) != lists[card]}
            if changed:
                break
        self.assertEqual(len(changed), 1)
        self.waiting(replica, 2)
        for client in clients[changed.pop()]:
            self.assertEqual(Reader(client).answer().status, 200)
        self.assertEqual(self.ends(replica), {"news": 2, "timeout": 0, "left": 0, "stop": 0})

    def test_nothing_new(self):
        replica = self.replica()
        began = time.monotonic()
        clients = self.open(replica, 2, wait=2)
        since, tagged = (Reader(client).answer() for client in clients)
        self.assertGreaterEqual(time.monotonic() - began, 1.9)
        self.assertEqual((since.status, since.json()["changes"], since.json()["removed"]), (200, [], []))
        self.assertEqual((tagged.status, tagged["Cache-Control"], since["Cache-Control"]),
                         (304, "no-store", "no-store"))
        self.assertEqual(self.ends(replica)["timeout"], 2)
        # What an answer took is not what it was held for.
        slow = replica.server.metric('gpupick_http_request_duration_seconds_sum{route="listPrices",method="GET"')
        self.assertLess(slow, 1)
        # "Prefer: wait" does the same; a first request has nothing to wait for.
        answer = replica.ask("/v1/prices?limit=1", "Prefer: wait=20")
        self.assertEqual(answer.status, 200)
        began = time.monotonic()
        answer = replica.ask("/v1/prices?limit=1", "Prefer: wait=1", "If-None-Match: " + answer["ETag"])
        self.assertEqual(answer.status, 304)
        self.assertGreaterEqual(time.monotonic() - began, 0.9)

    def test_clients_that_leave(self):
        replica = self.replica()
        for client in self.open(replica, 10):
            client.close()
        self.waiting(replica, 0)
        self.assertEqual(self.ends(replica)["left"], 10)
        self.assertEqual(replica.ask("/v1/prices?limit=1").status, 200)

    def test_limits(self):
        replica = self.replica(long_polls=5, long_polls_a_caller=3, trusted_proxies="127.0.0.1")
        delta = replica.ask("/v1/prices").json()["delta"]

        def begin(caller):
            client = replica.server.connect()
            self.addCleanup(client.close)
            client.sendall(get("/v1/prices%s&wait=20" % delta, "X-Forwarded-For: " + caller))
            return client

        held = [begin("192.0.2.1") for _ in range(3)]
        self.waiting(replica, 3)
        answer = Reader(begin("192.0.2.1")).answer()
        self.assertEqual((answer.status, answer["Retry-After"]), (429, "1"))
        self.assertEqual(answer.is_problem()["code"], "too_many_waiting")
        held += [begin("192.0.2.2"), begin("192.0.2.3")]
        self.waiting(replica, 5)
        answer = Reader(begin("192.0.2.4")).answer()
        self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
        self.assertIn("without 'wait'", answer.is_problem()["detail"])
        self.assertEqual(replica.server.metric('gpupick_http_rejected_total{reason="long_polls"}'), 2)
        # Who does not wait is served, and a place that is free again is given.
        self.assertEqual(replica.ask("/v1/prices" + delta, "X-Forwarded-For: 192.0.2.1").status, 200)
        held.pop(0).close()
        self.waiting(replica, 4)
        begin("192.0.2.1")
        self.waiting(replica, 5)

    def test_a_stop_answers_all(self):
        replica = Replica(grace_seconds=15)
        clients = self.open(replica, 60)
        self.waiting(replica, 60)
        began = time.monotonic()
        self.assertEqual(replica.server.stop(), 0)
        self.assertLess(time.monotonic() - began, 10 * SLOW)
        for i, client in enumerate(clients):
            answer = Reader(client).answer()
            self.assertEqual((answer.status, answer["Connection"]), (304 if i % 2 else 200, "close"))

    def test_a_rolling_restart_loses_none(self):
        port = free_port()
        settings = {"listen": "127.0.0.1:%d" % port, "reuse_port": "true", "drain_seconds": 0.3}
        replica = Replica(**settings)
        ended, failures, answers = threading.Event(), [], []

        def follow(i):
            poller = Poller(FILTERS[i % len(FILTERS)], random.Random(i))
            try:
                poller.start_over([replica])
                while not ended.is_set():
                    poller.poll([replica], wait=2)
                    answers.append(1)
            except Exception as failure:  # noqa: each is a lost poll
                failures.append(repr(failure))

        threads = [threading.Thread(target=follow, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            time.sleep(0.7)
            self.market.change(3)
            old = replica.server
            replica.server = Replica(**settings).server  # binds before the old one ends
            self.assertEqual(old.stop(), 0)
        ended.set()
        for thread in threads:
            thread.join(30 * SLOW)
        self.assertEqual(replica.server.stop(), 0)
        self.assertEqual(failures, [])
        self.assertGreater(len(answers), 48)


if __name__ == "__main__":
    unittest.main(verbosity=2)
