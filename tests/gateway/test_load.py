#!/usr/bin/python3
"""Many connections: ready at once, slow on purpose, over the limit, over the descriptors."""
import os
import re
import resource
import select
import signal
import socket
import time
import unittest

from gateway import SLOW, Closed, Reader, Server, get, post

LIVE = "/openapi.yaml"
SIZING = "/v1/sizing"


def connect_all(server, count):
    return [server.connect() for _ in range(count)]


def close_all(clients):
    for client in clients:
        client.close()


class ReadyAtOnce(unittest.TestCase):
    """With an internal thread, libmicrohttpd 0.9.75 forgets exactly 128 (256, ...) ready sockets."""

    def answered(self, server, count, send_while_stopped, connect_while_stopped):
        clients = []
        if not connect_while_stopped:
            clients = connect_all(server, count)
            for client in clients:  # each is known to its worker
                client.sendall(get(LIVE))
                self.assertEqual(Reader(client).answer().status, 200)
        server.send_signal(signal.SIGSTOP)
        if connect_while_stopped:
            clients = connect_all(server, count)
        for client in clients:
            client.sendall(send_while_stopped)
        server.send_signal(signal.SIGCONT)
        began = time.monotonic()
        for client in clients:
            client.settimeout(5 * SLOW)
            self.assertLess(Reader(client).answer().status, 500)
        took = time.monotonic() - began
        close_all(clients)
        return took

    def test_exact_multiples_of_128(self):
        with Server(threads=1) as server:
            for count in (1, 127, 128, 129, 255, 256, 257, 300, 384):
                for raw in (get(LIVE), post(SIZING, b"{}")):
                    for connect in (False, True):
                        with self.subTest(count=count, connect=connect):
                            self.assertLess(self.answered(server, count, raw, connect),
                                            3 * SLOW)

    def test_with_several_threads(self):
        with Server(threads=4) as server:
            for count in (128, 256, 512, 1024):
                with self.subTest(count=count):
                    self.assertLess(self.answered(server, count, get(LIVE), False), 5 * SLOW)

    def test_connections_are_spread_over_the_threads(self):
        """64 connections of a gateway, opened one by one, on 4 threads: 16 each."""
        with Server(threads=4) as server:
            clients = connect_all(server, 64)
            for client in clients:
                client.sendall(get(LIVE))
                Reader(client).answer()
            pid = server.process.pid
            counts = threads_epoll_counts(pid)
            close_all(clients)
            self.assertEqual(sorted(counts), [16, 16, 16, 16])


def threads_epoll_counts(pid):
    """Descriptors that each epoll set of the process watches, of sets that watch many."""
    counts = []
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            if "eventpoll" not in os.readlink("/proc/%d/fd/%s" % (pid, name)):
                continue
            with open("/proc/%d/fdinfo/%s" % (pid, name)) as info:
                text = info.read()
        except OSError:
            continue
        watched = len(re.findall("^tfd:", text, re.M))
        if watched > 4:
            counts.append(watched)
    # A worker has two sets: the library's, and its own, which watches three things more.
    return [count for count in counts if count + 3 in counts]


class Slow(unittest.TestCase):
    def dribble(self, clients, pieces, seconds, good):
        """Feeds each client a byte now and then; meanwhile good clients must be served quickly.
        Returns how many were cut, and the slowest good answer."""
        end = time.monotonic() + seconds * SLOW
        at, cut, slowest = 0, set(), 0.0
        while time.monotonic() < end and len(cut) < len(clients):
            for number, client in enumerate(clients):
                if number in cut:
                    continue
                try:
                    if select.select([client], [], [], 0)[0]:
                        raise OSError  # an answer or the end: either way it was cut
                    if pieces:
                        client.send(pieces[at % len(pieces):][:1])
                except OSError:
                    cut.add(number)
            at += 1
            began = time.monotonic()
            good()
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
        return len(cut), slowest

    def test_slow_heads_are_cut_while_others_are_served(self):
        with Server(threads=1, head_timeout_seconds=1) as server:
            clients = connect_all(server, 300)
            for client in clients:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
            cut, slowest = self.dribble(clients, b"X-Slow: 1\r\n", 10, lambda: self.assertEqual(
                server.ask(get(LIVE)).status, 200))
            self.assertEqual(cut, 300)
            self.assertLess(slowest, 0.5 * SLOW)
            for client in clients:  # they are told why
                self.assertEqual(Reader(client).answer().status, 408)
            close_all(clients)
            self.assertEqual(server.metric('gpupick_http_rejected_total{reason="head_timeout"'),
                             300)

    def test_slow_request_lines_are_cut(self):
        with Server(threads=1, head_timeout_seconds=1) as server:
            clients = connect_all(server, 20)
            cut, _ = self.dribble(clients, b"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                  5, lambda: None)
            close_all(clients)
            self.assertEqual(cut, 20)

    def test_slow_bodies_are_cut(self):
        with Server(threads=1, body_timeout_seconds=1) as server:
            clients = connect_all(server, 40)
            for client in clients:
                client.sendall(get(SIZING, "Content-Length: 5000",
                                   "Content-Type: application/json", method="POST"))
            cut, slowest = self.dribble(clients, b" ", 6, lambda: self.assertEqual(
                server.ask(get(LIVE)).status, 200))
            self.assertEqual(cut, 40)
            self.assertLess(slowest, 0.5 * SLOW)
            self.assertEqual(Reader(clients[0]).answer().status, 408)
            close_all(clients)
            self.assertEqual(server.metric('gpupick_http_rejected_total{reason="body_timeout"'),
                             40)

    def test_silent_connections_are_closed_without_a_word(self):
        with Server(threads=1, head_timeout_seconds=1) as server:
            with server.connect() as client:
                reader = Reader(client)
                self.assertTrue(reader.is_closed(4))
                self.assertEqual(reader.buffer, b"")

    def test_idle_connections_are_closed_even_when_they_dribble(self):
        with Server(threads=1, idle_timeout_seconds=1) as server:
            quiet, slow = connect_all(server, 2)
            for client in (quiet, slow):
                client.sendall(get(LIVE))
                Reader(client).answer()
            cut, _ = self.dribble([quiet], b"", 4, lambda: None)
            self.assertEqual(cut, 1)
            cut, _ = self.dribble([slow], b"GET /", 4, lambda: None)
            self.assertEqual(cut, 1)
            close_all((quiet, slow))

    def test_clients_that_do_not_read_are_cut(self):
        with Server(threads=1, send_timeout_seconds=1) as server:
            with server.connect() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.setblocking(False)
                asked = get("/v1/models")
                end = time.monotonic() + 8 * SLOW
                is_cut = False
                while time.monotonic() < end and not is_cut:
                    try:
                        client.send(asked)
                    except BlockingIOError:
                        time.sleep(0.05)
                    except OSError:
                        is_cut = True
                self.assertTrue(is_cut)
            self.assertEqual(server.ask(get(LIVE)).status, 200)


class Limits(unittest.TestCase):
    def test_connections_over_the_limit_are_told(self):
        with Server(threads=2, connections=20) as server:
            clients = connect_all(server, 20)
            for client in clients:
                client.sendall(b"GET / HTTP/1.1\r\n")  # under way, so none can make room
            time.sleep(0.2 * SLOW)
            with server.connect() as late:
                late.sendall(get(LIVE))
                reader = Reader(late)
                answer = reader.answer()
                self.assertEqual((answer.status, answer["Connection"], answer["Retry-After"]),
                                 (503, "close", "1"))
                answer.is_problem()
                self.assertTrue(reader.is_closed())
            for client in clients:
                client.sendall(b"Host: a\r\n\r\n")
                self.assertEqual(Reader(client).answer().status, 404)
            close_all(clients)
            time.sleep(0.2 * SLOW)
            self.assertEqual(server.ask(get(LIVE)).status, 200)

    def test_idle_connections_make_room(self):
        with Server(threads=1, connections=20) as server:
            clients = connect_all(server, 20)
            for client in clients:
                client.sendall(get(LIVE))
                Reader(client).answer()
            newcomers = connect_all(server, 5)
            for client in newcomers:
                client.sendall(get(LIVE))
                self.assertEqual(Reader(client).answer().status, 200)
            closed = [Reader(client).is_closed(0.5) for client in clients]
            self.assertEqual(closed, [True] * 5 + [False] * 15, "the longest idle go first")
            close_all(clients + newcomers)

    def test_running_out_of_descriptors_is_survived(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))

        with Server(threads=1, preexec_fn=few) as server:
            clients = []
            for _ in range(80):
                try:
                    clients.append(server.connect())
                except OSError:
                    pass
            time.sleep(0.5 * SLOW)
            used = cpu_seconds(server.process.pid)
            time.sleep(0.5)
            self.assertLess(cpu_seconds(server.process.pid) - used, 0.2, "it spins")
            close_all(clients)
            time.sleep(0.5 * SLOW)
            self.assertEqual(server.ask(get(LIVE)).status, 200)

    def test_descriptors_that_others_take_are_waited_for(self):
        """Not even the one that is kept to refuse with is left: nobody spins, and who waits is
        served once there are some again."""
        with Server(threads=2) as server:
            pid = server.process.pid
            limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
            clients = connect_all(server, 10)
            time.sleep(0.5 * SLOW)
            used = cpu_seconds(pid)
            time.sleep(0.5)
            used = cpu_seconds(pid) - used
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            self.assertLess(used, 0.2, "it spins")
            for client in clients:
                client.sendall(get(LIVE))
                self.assertEqual(Reader(client).answer().status, 200)
            close_all(clients)


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as status:
        fields = status.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Quiet(unittest.TestCase):
    def test_an_idle_server_uses_no_time(self):
        with Server(threads=2) as server:
            clients = connect_all(server, 50)
            for client in clients:
                client.sendall(get(LIVE))
                Reader(client).answer()
            used = cpu_seconds(server.process.pid)
            time.sleep(2)
            self.assertLess(cpu_seconds(server.process.pid) - used, 0.1 * SLOW)
            close_all(clients)

    def test_half_a_body_does_not_spin(self):
        with Server(threads=1) as server:
            with server.connect() as client:
                client.sendall(get(SIZING, "Content-Length: 5000",
                                   "Content-Type: application/json", method="POST") + b"{")
                time.sleep(0.2)
                used = cpu_seconds(server.process.pid)
                time.sleep(1)
                self.assertLess(cpu_seconds(server.process.pid) - used, 0.1 * SLOW)

    def test_clients_that_leave_are_forgotten(self):
        """Their last bytes and their farewell come together: the library alone would wait on."""
        with Server(threads=1) as server:
            for raw in (b"GET / HTTP/1.1\r\nHos", post(SIZING, b"x" * 9000)[:-1000], b"",
                        get(LIVE), get(LIVE) * 20, get(LIVE) + b"GET"):
                server.send_signal(signal.SIGSTOP)
                client = server.connect()
                client.sendall(raw)
                client.shutdown(socket.SHUT_WR)
                server.send_signal(signal.SIGCONT)
                reader = Reader(client)
                for _ in range(raw.count(get(LIVE))):  # asked before leaving: answered
                    self.assertEqual(reader.answer().status, 200)
                self.assertTrue(reader.is_closed(2), raw[:40])
                client.close()
            self.assertTrue(server.settles("gpupick_http_connections ", 1))
            self.assertTrue(server.settles("gpupick_http_requests_in_flight ", 1))


if __name__ == "__main__":
    unittest.main(verbosity=0)
