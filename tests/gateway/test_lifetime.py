#!/usr/bin/python3
"""Starting and stopping: addresses, inherited sockets, draining under load."""
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from gateway import BINARY, SLOW, Closed, Reader, Server, get, post

LIVE = "/openapi.yaml"
SIZING = "/v1/sizing"


class Client(threading.Thread):
    """Asks one thing after the other until it is told to stop; reconnects when told to close, as a
    gateway's pool does, but not once the balancer has taken the server out."""

    def __init__(self, server, raw):
        super().__init__(daemon=True)
        self.server, self.raw = server, raw
        self.answers, self.lost, self.refused = 0, [], 0
        self.out_of_rotation = threading.Event()
        self.start()

    def run(self):
        while not self.out_of_rotation.is_set():
            try:
                client = self.server.connect()
            except OSError:
                self.refused += 1
                return
            with client:
                reader = Reader(client)
                while True:
                    try:
                        client.sendall(self.raw)
                        answer = reader.answer()
                    except (Closed, OSError) as failure:
                        self.lost.append(repr(failure))
                        return
                    if answer.status >= 500:
                        self.lost.append(answer.status)
                    self.answers += 1
                    if answer["Connection"] == "close":
                        break


class Hangup(unittest.TestCase):
    def test_a_terminal_that_is_gone_stops_it_as_politely(self):
        self.assertEqual(Server().stop(signal.SIGHUP), 0)


class Draining(unittest.TestCase):
    def test_no_request_is_lost_under_load(self):
        with Server(threads=2, drain_seconds=1, grace_seconds=10) as server:
            clients = [Client(server, get(LIVE) if i % 2 else post(SIZING, b"{}"))
                       for i in range(16)]
            time.sleep(0.5)
            server.send_signal(signal.SIGTERM)
            time.sleep(0.2 * SLOW)
            answer = server.ask(get("/readyz"), "ops")
            self.assertEqual(answer.status, 503)
            self.assertEqual(answer.is_problem()["detail"], "stopping")
            self.assertEqual(server.ask(get("/livez"), "ops").status, 200)
            late = server.ask(get(LIVE))  # still served, and told to close
            self.assertEqual((late.status, late["Connection"]), (200, "close"))
            for client in clients:
                client.out_of_rotation.set()
            for client in clients:
                client.join(20 * SLOW)
            self.assertEqual([c.lost for c in clients if c.lost], [])
            self.assertGreater(sum(c.answers for c in clients), 200)
            self.assertEqual(server.stop(), 0)

    def test_kept_connections_learn_that_they_close(self):
        """Without a drain period: who keeps asking on an open connection loses nothing."""
        with Server(threads=2) as server:
            clients = [Client(server, get(LIVE)) for _ in range(8)]
            time.sleep(0.3)
            for client in clients:
                client.out_of_rotation.set()  # no new connections from here on
            server.send_signal(signal.SIGTERM)
            for client in clients:
                client.join(20 * SLOW)
            self.assertEqual([c.lost for c in clients if c.lost], [])
            self.assertEqual(server.stop(), 0)

    def test_a_request_under_way_is_answered(self):
        with Server(threads=1) as server:
            with server.connect() as client:
                raw = post(SIZING, b"{}" + b" " * 2000)
                client.sendall(raw[:-1000])
                time.sleep(0.2)
                server.send_signal(signal.SIGTERM)
                time.sleep(1.5)
                client.sendall(raw[-1000:])
                reader = Reader(client)
                answer = reader.answer()
                self.assertEqual((answer.status, answer["Connection"]), (422, "close"))
                self.assertTrue(reader.is_closed())

    def test_newcomers_are_refused_and_idle_ones_closed(self):
        with Server(threads=2) as server:
            idle, silent, busy = server.connect(), server.connect(), server.connect()
            idle.sendall(get(LIVE))
            reader = Reader(idle)
            reader.answer()
            busy.sendall(post(SIZING, b"{}")[:-1])
            time.sleep(0.2)
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            self.assertTrue(reader.is_closed(3))
            self.assertTrue(Reader(silent).is_closed(3))
            self.assertLess(time.monotonic() - began, 3 * SLOW)
            with self.assertRaises(ConnectionRefusedError):
                server.connect()
            busy.sendall(b"}")
            self.assertEqual(Reader(busy).answer().status, 422)
            for client in (idle, silent, busy):
                client.close()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - began, 6 * SLOW)

    def test_the_grace_ends(self):
        with Server(threads=1, grace_seconds=1) as server:
            with server.connect() as client:
                client.sendall(post(SIZING, b"{}")[:-1])
                time.sleep(0.2)
                began = time.monotonic()
                self.assertEqual(server.stop(), 0)
                self.assertLess(time.monotonic() - began, 5 * SLOW)

    def test_a_second_signal_ends_the_wait(self):
        with Server(threads=1, drain_seconds=60) as server:
            server.send_signal(signal.SIGTERM)
            time.sleep(0.3 * SLOW)
            began = time.monotonic()
            self.assertEqual(server.stop(signal.SIGINT), 0)
            self.assertLess(time.monotonic() - began, 5 * SLOW)


class Addresses(unittest.TestCase):
    def test_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "api.sock")
            with Server(listen="unix:" + path) as server:
                self.assertEqual(server.ask(get(LIVE)).status, 200)
                line = next(l for l in server.lines if l["message"] == "listening" and
                            l["port"] == "api")
                self.assertEqual(line["address"], "unix:" + path)
                server.send_signal(signal.SIGKILL)
                server.process.wait()
                self.assertTrue(os.path.exists(path))
                server.process.returncode = 0
            with Server(listen="unix:" + path) as server:  # what was left over is replaced
                self.assertEqual(server.ask(get(LIVE)).status, 200)
            self.assertFalse(os.path.exists(path), "removed at the end")

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        with Server(listen="[::1]:0") as server:
            self.assertTrue(server.addresses["api"].startswith("[::1]:"))
            self.assertEqual(server.ask(get(LIVE)).status, 200)

    def test_an_address_in_use_stops_the_start(self):
        with Server() as server:
            done = subprocess.run([BINARY, "serve", "--listen", server.addresses["api"],
                                   "--ops-listen", "127.0.0.1:0", "--data", server.folder.name],
                                  capture_output=True, timeout=20)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"Address already in use", done.stderr)

    def test_a_shared_port_is_handed_over(self):
        with Server(reuse_port="true") as first:
            address = first.addresses["api"]
            with Server(reuse_port="true", listen=address) as second:
                self.assertEqual(second.addresses["api"], address)
                self.assertEqual(first.stop(), 0)
                for _ in range(20):
                    self.assertEqual(second.ask(get(LIVE)).status, 200)

    def test_a_shared_port_that_changes_hands_loses_no_connection(self):
        """None that was begun may lie in a queue that closes: the kernel would reset it."""
        ended, lost, answers = threading.Event(), [], []

        def ask(server):
            while not ended.is_set():
                try:
                    answers.append(server.ask(get(LIVE)).status)
                except (Closed, OSError) as failure:
                    lost.append(repr(failure))

        server = Server(reuse_port="true")
        address = server.addresses["api"]
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                following = Server(reuse_port="true", listen=address)
                old, server = server, following
                self.assertEqual(old.stop(), 0)
        finally:
            ended.set()
            for thread in threads:
                thread.join(10 * SLOW)
            self.assertEqual(server.stop(), 0)
        self.assertEqual(lost, [])
        self.assertEqual(set(answers), {200})

    def test_healthcheck(self):
        with Server(snapshot=False) as server:
            ops = ["--ops-listen", server.addresses["ops"]]
            alive = subprocess.run([BINARY, "healthcheck"] + ops, capture_output=True)
            ready = subprocess.run([BINARY, "healthcheck", "ready"] + ops, capture_output=True)
            self.assertEqual((alive.returncode, ready.returncode), (0, 1))
        gone = subprocess.run([BINARY, "healthcheck"] + ops, capture_output=True)
        self.assertEqual(gone.returncode, 1)


class Inherited(unittest.TestCase):
    """Sockets from a service manager: LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES."""

    def start(self, listener, names="api"):
        def adopt():
            os.dup2(listener.fileno(), 3, inheritable=True)

        wrap = ("/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=%s exec "$@"' % names,
                "sh")
        return Server(wrap=wrap, pass_fds=(3,) if listener.fileno() == 3 else (listener.fileno(), 3),
                      preexec_fn=adopt, threads=2)

    def test_a_hand_over_loses_nothing(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(512)
            address = "127.0.0.1:%d" % listener.getsockname()[1]
            first = self.start(listener)
            self.assertEqual(first.addresses["api"], address)
            clients = [Client(first, get(LIVE)) for _ in range(8)]
            time.sleep(0.4)
            with self.start(listener) as second:
                self.assertEqual(first.stop(), 0)
                time.sleep(0.4)
                for client in clients:
                    client.out_of_rotation.set()
                self.assertEqual(second.ask(get(LIVE)).status, 200)
                second.send_signal(signal.SIGTERM)
                for client in clients:
                    client.join(10 * SLOW)
                self.assertEqual([(c.lost, c.refused) for c in clients if c.lost or c.refused], [])

    def test_a_socket_under_another_name_is_left_alone(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            with self.start(listener, "other") as server:
                self.assertNotEqual(server.addresses["api"],
                                    "127.0.0.1:%d" % listener.getsockname()[1])


class Settings(unittest.TestCase):
    def run_with(self, *arguments, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
        environment.update({"GPUPICK_" + k.upper(): v for k, v in settings.items()})
        return subprocess.run([BINARY] + list(arguments), env=environment, capture_output=True,
                              text=True, timeout=20)

    def test_a_bad_value_stops_the_start_with_one_line_that_names_it(self):
        for name, value in (("listen", "8080"), ("listen", "::1:80"), ("listen", "unix:"),
                            ("listen", "127.0.0.1:99999"), ("ops_listen", "x"),
                            ("threads", "two"), ("threads", "-1"), ("connections", "0"),
                            ("drain_seconds", "-1"), ("drain_seconds", "nan"),
                            ("head_timeout_seconds", "0"), ("log_level", "infos"),
                            ("bundled", "perhaps"), ("access_log", "none"),
                            ("runpod_url", "ftp://x"), ("ecb_url", "gopher://x"),
                            ("providers", "runpod,nobody"), ("database_url_file", "/nonexistent"),
                            ("database_url", "postgres"), ("database_url", "http://h/d"),
                            ("database_url", "postgresql://u:hush@h/d?sslmod=x"),
                            ("database_url", "postgresql://u:hush@h:70000/d"),
                            ("database_url", "host=h password=hush port=5432x")):
            with self.subTest(name=name, value=value):
                done = self.run_with("check-config", **{name: value})
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("GPUPICK_" + name.upper(), done.stderr)
                self.assertNotIn("hush", done.stdout + done.stderr)

    def test_good_addresses_of_a_database(self):
        for value in ("postgresql://u:p@a:1,b:2/d?target_session_attrs=any", "host=/tmp dbname=d",
                      "postgresql:///d?host=/run/postgresql", "postgres://h/d", "host=a,b port=,5433"):
            with self.subTest(value):
                done = self.run_with("check-config", database_url=value)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_flags_win_over_the_environment(self):
        done = self.run_with("check-config", "--threads=3", "--listen", "127.0.0.1:1",
                             "--no-bundled", "--runpod-url", "http://127.0.0.1:9",
                             threads="7", grace_seconds="4", connections="")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = dict(line.split("\t")[0].split("=", 1) + [] for line in done.stdout.splitlines())
        sources = {line.split("=")[0]: line.rsplit("# ", 1)[1] for line in
                   done.stdout.splitlines()}
        self.assertEqual(lines["GPUPICK_THREADS"], "3")
        self.assertEqual(sources["GPUPICK_THREADS"], "flag")
        self.assertEqual(lines["GPUPICK_LISTEN"], "127.0.0.1:1")
        self.assertEqual(lines["GPUPICK_BUNDLED"], "false")
        self.assertEqual(lines["GPUPICK_RUNPOD_URL"], "http://127.0.0.1:9")
        self.assertEqual((lines["GPUPICK_GRACE_SECONDS"], sources["GPUPICK_GRACE_SECONDS"]),
                         ("4", "environment"))
        self.assertEqual(sources["GPUPICK_CONNECTIONS"], "default")

    def test_secrets_come_from_files_and_are_never_shown(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("postgresql://u:hush@h/d\n")
            file.flush()
            done = self.run_with("check-config", database_url_file=file.name,
                                 lambda_key="hush-2")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("GPUPICK_DATABASE_URL=***", done.stdout)
            self.assertIn("GPUPICK_LAMBDA_KEY=***", done.stdout)
            self.assertNotIn("hush", done.stdout + done.stderr)
            both = self.run_with("check-config", database_url_file=file.name, database_url="x")
            self.assertEqual(both.returncode, 2)
            self.assertIn("both set", both.stderr)

    def test_unknown_operands_and_verbs(self):
        for arguments in (("serve", "--with-ingst"), ("serve", "x"), ("nonsense",), (),
                          ("ingest", "--provider"), ("ingest", "--provider", "nobody"),
                          ("check-config", "--listen"), ("help", "nope"), ("help", "help", "x")):
            with self.subTest(arguments):
                done = self.run_with(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr)

    def test_help_names_every_setting(self):
        shown = self.run_with("help", "config").stdout
        for line in self.run_with("check-config").stdout.splitlines():
            self.assertIn(line.split("=")[0] + " ", shown)

    def test_a_misspelled_variable_is_pointed_out(self):
        with Server(thread="3") as server:
            warning = [l for l in server.lines if l.get("name") == "GPUPICK_THREAD"]
            self.assertEqual(warning[0]["nearest"], "GPUPICK_THREADS")

    def test_readiness_is_told_to_systemd(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "notify")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(path)
                manager.settimeout(10)
                os.environ["NOTIFY_SOCKET"] = path
                try:
                    with Server():
                        self.assertEqual(manager.recv(100), b"READY=1")
                finally:
                    del os.environ["NOTIFY_SOCKET"]
                self.assertEqual(manager.recv(100), b"STOPPING=1")


if __name__ == "__main__":
    unittest.main(verbosity=0)
