"""A gateway of Debian's in front of two replicas, run with the file that deploy/gateways/ ships."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from gateway import SLOW, Closed, Reader, Server

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/gateways")
CLIENT = "127.9.9.9"  # not one of the trusted: gateways reach the replicas from 127.0.0.1
HOSTS = ("127.0.0.2", "127.0.0.3")  # of the replicas, with the same two ports


def free_port(*hosts):
    """A port that is free on all of them."""
    while True:
        with socket.socket() as probe:
            probe.bind((hosts[0], 0))
            port = probe.getsockname()[1]
            try:
                for host in hosts[1:]:
                    with socket.socket() as other:
                        other.bind((host, port))
                return port
            except OSError:
                continue


def binary(name):
    return shutil.which(name, path="/usr/sbin:/usr/bin:" + os.environ.get("PATH", ""))


class Replicas:
    """Two of the service, which can be stopped and started again one by one."""

    def __init__(self, **settings):
        self.api, self.ops = free_port(*HOSTS), free_port(*HOSTS)
        self.settings = dict({"threads": 1, "trusted_proxies": "127.0.0.1", "drain_seconds": 1.5,
                              "grace_seconds": 10}, **settings)
        self.servers = [self.start(host) for host in HOSTS]

    def start(self, host):
        return Server(listen="%s:%d" % (host, self.api), ops_listen="%s:%d" % (host, self.ops),
                      **self.settings)

    def addresses(self):
        return ["%s:%d" % (host, self.api) for host in HOSTS]

    def roll(self):
        """Each in its turn: drained, stopped, started again, ready. True when all ended well."""
        statuses = []
        for i, host in enumerate(HOSTS):
            statuses.append(self.servers[i].stop())
            self.servers[i] = self.start(host)
            time.sleep(1.2)  # the gateway must have seen it before the other one goes
        return statuses == [0] * len(HOSTS)

    def stop(self):
        for server in self.servers:
            server.stop()

    def lines(self):
        return [line for server in self.servers for line in server.lines
                if line.get("message") == "request"]


class Front:
    """The gateway. `upstreams`: addresses of the replicas; `edits`: more to replace in its file."""

    def __init__(self, name, upstreams, ops_port=0, edits=()):
        # A port that was free may be another test's by now.
        for _ in range(5):
            self.folder = tempfile.TemporaryDirectory()
            self.port = free_port("127.0.0.1")
            self.start(name, upstreams, ops_port, edits)
            told = self.wait()
            if told is None:
                return
            self.stop()
            if "in use" not in told:
                break
        raise RuntimeError("%s did not start: %s" % (name, told))

    def start(self, name, upstreams, ops_port, edits):
        replace, self.command = KINDS[name](self, upstreams, ops_port)
        with open(os.path.join(SHIPPED, FILES[name])) as shipped:
            text = shipped.read()
        for old, new in list(replace) + list(edits):
            assert old in text, (FILES[name], old)
            text = text.replace(old, new)
        with open(self.path("config"), "w") as out:
            out.write(text)
        self.log = open(self.path("log"), "w+")
        environment = dict(os.environ, HOME=self.folder.name)
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log,
                                        env=environment)

    def wait(self):
        """None once it listens; what it said when it does not."""
        end = time.monotonic() + 20 * SLOW
        while True:
            if self.process.poll() is not None or time.monotonic() > end:
                return self.said()
            try:
                self.connect().close()
            except OSError:
                time.sleep(0.05)
                continue
            time.sleep(1)  # health checks have been made, and a port that was taken is complained of
            if self.process.poll() is None and "in use" not in self.said():
                return None

    def said(self):
        with open(self.path("log")) as log:
            return log.read()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def connect(self, port=None, timeout=30):
        client = socket.socket()
        client.settimeout(timeout * SLOW)
        client.bind((CLIENT, 0))
        try:
            client.connect(("127.0.0.1", self.port))
        except OSError:
            client.close()
            raise
        return client

    def ask(self, raw, head=False):
        with self.connect() as client:
            client.sendall(raw)
            return Reader(client).answer(head)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.folder.cleanup()


def nginx(front, upstreams, ops_port):
    own = "http {\n\taccess_log off;\n" + "".join(
        "\t%s_temp_path %s;\n" % (kind, front.path(kind))
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root; " if os.geteuid() == 0 else ""
    return [("http {\n", own), ("listen 8080;", "listen 127.0.0.1:%d;" % front.port),
            ("server api:8080 max_fails=0;",
             " ".join("server %s max_fails=0;" % upstream for upstream in upstreams))], \
        [binary("nginx"), "-c", front.path("config"), "-e", "stderr", "-g",
         user + "daemon off; pid %s;" % front.path("pid")]


def haproxy(front, upstreams, ops_port):
    names = ("api-1:8080 check port 9090", "api-2:8080 check port 9090")
    check = " check port %d" % ops_port if ops_port else ""
    addresses = [u.replace("unix:", "unix@") for u in upstreams]
    return [("bind :8080", "bind 127.0.0.1:%d" % front.port)] + \
        [(old, new + check) for old, new in zip(names, addresses * 2)], \
        [binary("haproxy"), "-db", "-f", front.path("config")]


def caddy(front, upstreams, ops_port):
    addresses = " ".join(u.replace("unix:", "unix/") for u in upstreams)
    replace = [("api-1:8080 api-2:8080", addresses), ("\n:8080 {", "\n:%d {" % front.port)]
    if ops_port:
        replace.append(("health_port 9090", "health_port %d" % ops_port))
    else:
        replace.append(("\t\t\thealth_uri /readyz\n\t\t\thealth_port 9090\n", ""))
    return replace, [binary("caddy"), "run", "--adapter", "caddyfile", "--config",
                     front.path("config")]


KINDS = {"nginx": nginx, "haproxy": haproxy, "caddy": caddy}
FILES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg", "caddy": "Caddyfile"}


class Caller(threading.Thread):
    """Asks one thing after the other on a kept connection and checks every answer. `pause`: seconds
    between two, or a function that gives them."""

    def __init__(self, front, requests, until=None, rounds=None, pause=lambda: 0):
        super().__init__(daemon=True)
        self.front, self.requests, self.until, self.rounds = front, requests, until, rounds
        self.pause, self.answers, self.failures = pause, 0, []
        self.start()

    def ended(self):
        return self.until.is_set() if self.until else self.answers >= self.rounds

    def run(self):
        while not self.ended() and len(self.failures) < 5:
            try:
                with self.front.connect() as client:
                    self.keep_asking(client)
            except (Closed, OSError) as failure:
                self.failures.append(repr(failure))
                if self.rounds:
                    self.answers += 1

    def keep_asking(self, client):
        reader = Reader(client)
        while not self.ended():
            raw, status = self.requests[self.answers % len(self.requests)]
            client.sendall(raw)
            answer = reader.answer()
            self.answers += 1
            if answer.status != status or answer["X-Request-Id"] is None:
                self.failures.append((answer.status, answer.body[:80]))
            if answer["Connection"] == "close":
                return
            time.sleep(self.pause())


class Echo:
    """An upstream that keeps the heads it was sent and answers 200."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.heads = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        buffer = b""
        with client:
            while True:
                data = client.recv(65536)
                if not data:
                    return
                buffer += data
                while b"\r\n\r\n" in buffer:
                    head, buffer = buffer.split(b"\r\n\r\n", 1)
                    self.heads.append([tuple(line.split(": ", 1)) for line in
                                       head.decode().split("\r\n")[1:]])
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def stop(self):
        self.listener.close()


def skip_without(name):
    if not binary(name):
        print("skipped: %s is not installed (deploy/packages.sh test)" % name)
        sys.exit(77)
