#!/usr/bin/python3
"""Requests that wait for the database: one that hangs, is away, comes back; too many of them; while stopping.

Run by tests/store/cluster.py, with the month that test_history.py replays.
"""
import contextlib
import itertools
import os
import select
import threading
import time
import unittest

import test_history as history
from cluster import Cluster
from gateway import SLOW, Reader, Server, get
from test_history import MONTH, PRICES, STEPS, Month, ask


def setUpModule():
    global database
    database = Cluster(folder=os.environ["GPUPICK_TEST_CLUSTER"])
    history.setUpModule()
    for number in range(MONTH):
        history.add_day(*history.month.day(number))
        history.keep_house(MONTH - 1 - number)


def tearDownModule():
    history.tearDownModule()


class Waiting(unittest.TestCase):
    """Nothing but the request itself waits for the database."""

    def prices_in(self):
        began = time.monotonic()
        self.assertEqual(ask("/v1/prices?limit=20").status, 200)
        return time.monotonic() - began

    def open(self, stack, count):
        clients = [stack.enter_context(history.server.connect(timeout=30)) for _ in range(count)]
        for client in clients:
            client.sendall(get(PRICES % Month.OFFERS[0] + "?limit=5"))
        return clients

    def test_a_database_that_hangs(self):
        with contextlib.ExitStack() as stack:
            ask(PRICES % Month.OFFERS[0])
            database.pause()
            stack.callback(database.resume)
            began = time.monotonic()
            clients = self.open(stack, 30)
            self.assertLess(max(self.prices_in() for _ in range(50)), 1 * SLOW)
            for client in clients[:10]:
                client.close()
            waiting = "gpupick_http_requests_waiting"
            self.assertTrue(history.server.settles(waiting, 20, 3), history.server.metric(waiting))
            self.assertLess(time.monotonic() - began, 4 * SLOW)
            for client in clients[10:]:
                answer = Reader(client).answer()
                self.assertEqual(answer.is_problem()["code"], "unavailable")
                self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
            self.assertLess(time.monotonic() - began, 8 * SLOW)
            self.assertEqual(history.server.metric(waiting), 0)
        self.assertEqual(ask(PRICES % Month.OFFERS[0]).status, 200)

    def test_requests_behind_it_on_the_same_connection_keep_their_order(self):
        path = PRICES % Month.OFFERS[0] + "?limit=1"
        with history.server.connect() as client:
            client.sendall(b"".join(map(get, ("/v1/models", path, "/v1/prices?limit=1", path, "/nothing", path))))
            reader = Reader(client)
            found = [reader.answer() for _ in range(6)]
        self.assertEqual([a.status for a in found], [200, 200, 200, 200, 404, 200])
        self.assertEqual([b'"complete_since"' in a.body for a in found], [False, True, False, True, False, True])

    def test_too_many_are_told_so_at_once(self):
        with contextlib.ExitStack() as stack:
            database.pause()
            stack.callback(database.resume)
            busy = 'gpupick_http_rejected_total{reason="busy"}'
            before = history.server.metric(busy)
            clients = self.open(stack, 300)  # four are being read, 256 wait
            self.assertTrue(history.server.settles(busy, before + 40, 3), history.server.metric(busy))
            told = select.select(clients, [], [], 1)[0]
            self.assertEqual(len(told), 40)
            for client in told:
                answer = Reader(client).answer()
                self.assertIn("too many", answer.is_problem()["detail"])
                self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
            self.assertLess(self.prices_in(), 1 * SLOW)

    def test_a_database_that_is_away_and_comes_back(self):
        self.assertEqual(ask(PRICES % Month.OFFERS[0]).status, 200)
        database.stop()
        try:
            answer = ask(PRICES % Month.OFFERS[0])
            self.assertEqual((answer.status, answer["Retry-After"]), (503, "1"))
            self.assertNotIn("connect", answer.is_problem()["detail"])
        finally:
            database.start()
        for _ in range(8):  # every connection of the pool was lost
            self.assertEqual(ask(PRICES % Month.OFFERS[0]).status, 200)

    def test_stopping_with_waiting_requests(self):
        own = Server(snapshot=False, database_url=os.environ["GPUPICK_DATABASE_URL"], threads=2, grace_seconds=1)
        with contextlib.ExitStack() as stack:
            while own.ask(get("/readyz"), "ops").status != 200:
                time.sleep(0.05)
            database.pause()
            stack.callback(database.resume)
            clients = [stack.enter_context(own.connect(timeout=30)) for _ in range(20)]
            for client in clients:
                client.sendall(get(PRICES % Month.OFFERS[0]))
            time.sleep(0.3 * SLOW)
            began = time.monotonic()
            own.send_signal(15)
            for client in clients:
                answer = Reader(client).answer()
                self.assertEqual((answer.status, answer["Connection"]), (503, "close"))
            self.assertLess(time.monotonic() - began, 4 * SLOW)
            threading.Timer(1, database.resume).start()  # the refresh thread may be in a connect
            self.assertEqual(own.stop(), 0)

    def test_without_a_database(self):
        with Server(threads=1) as own:
            self.assertEqual(own.ask(get(PRICES % 1)).is_problem()["status"], 503)
            self.assertEqual(own.ask(get("/v1/prices/x/history")).is_problem()["status"], 404)


class Soak(unittest.TestCase):
    def test_prices_are_served_beside_two_hundred_histories(self):
        stop, counts, clients = threading.Event(), [0, 0], []

        def histories(number):
            with contextlib.ExitStack() as stack:
                own = [stack.enter_context(history.server.connect(timeout=30)) for _ in range(50)]
                steps = itertools.cycle(STEPS)
                while not stop.is_set():
                    for client in own:
                        client.sendall(get(PRICES % Month.OFFERS[number] + "?limit=100&step=" + next(steps)))
                    for client in own:
                        counts[Reader(client).answer().status != 200] += 1

        def timings(seconds):
            found, until = [], time.monotonic() + seconds
            with history.server.connect() as client:
                while time.monotonic() < until:
                    began = time.monotonic()
                    self.assertEqual(ask("/v1/prices?limit=20", client).status, 200)
                    found.append(time.monotonic() - began)
                    time.sleep(0.002)
            return sorted(found)

        alone = timings(2)
        clients = [threading.Thread(target=histories, args=(n,)) for n in range(4)]
        for thread in clients:
            thread.start()
        beside = timings(5)
        stop.set()
        for thread in clients:
            thread.join()
        for name, found in (("alone", alone), ("beside", beside)):
            print("prices %s: median %.2f ms, p99 %.2f ms (%d requests)" % (
                name, found[len(found) // 2] * 1e3, found[len(found) * 99 // 100] * 1e3, len(found)))
        print("histories: %d, refused %d" % tuple(counts))
        self.assertGreater(counts[0], 400)
        self.assertEqual(counts[1], 0)
        self.assertLess(beside[len(beside) * 99 // 100], 0.25 * SLOW)


if __name__ == "__main__":
    unittest.main()
