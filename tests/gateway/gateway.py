"""What the gateway tests share: the real binary on ports of its own, and raw HTTP over sockets."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time

BINARY = os.environ.get("GPUPICK_BINARY", "")
MAKE_SNAPSHOT = os.environ.get("GPUPICK_MAKE_SNAPSHOT", "")
SLOW = float(os.environ.get("GPUPICK_TEST_SLOWNESS", "1"))  # sanitizers take longer


class Server:
    """`gpupick serve` without a database; its addresses are read from its log."""

    def __init__(self, wrap=(), pass_fds=(), preexec_fn=None, snapshot=True, **settings):
        self.folder = tempfile.TemporaryDirectory()
        if snapshot is True:
            subprocess.run([MAKE_SNAPSHOT, os.path.join(self.folder.name, "snapshot")], check=True,
                           stdout=subprocess.DEVNULL)
        elif snapshot: # a file of prices that was made before
            os.symlink(snapshot, os.path.join(self.folder.name, "snapshot"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
        environment.update({"GPUPICK_DATA": self.folder.name, "GPUPICK_LISTEN": "127.0.0.1:0",
                            "GPUPICK_OPS_LISTEN": "127.0.0.1:0"})
        environment.update({"GPUPICK_" + k.upper(): str(v) for k, v in settings.items()})
        self.lines = []
        self.keeps_lines = True  # benchmarks have millions
        self.addresses = {}
        self.started = threading.Event()
        self.process = subprocess.Popen(list(wrap) + [BINARY, "serve"], env=environment,
                                        stderr=subprocess.PIPE, pass_fds=pass_fds,
                                        preexec_fn=preexec_fn)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not self.started.wait(20 * SLOW) or self.process.poll() is not None:
            self.process.kill()
            raise RuntimeError("the server did not start: %r" % self.lines)
        while snapshot and self.ask(get("/readyz"), "ops").status != 200:
            time.sleep(0.02)

    def _read(self):
        for raw in self.process.stderr:
            if not self.keeps_lines:
                continue
            try:
                line = json.loads(raw)
            except ValueError:
                self.lines.append({"raw": raw})
                continue
            self.lines.append(line)
            if line["message"] == "listening":
                self.addresses[line["port"]] = line["address"]
            if line["message"] == "started":
                self.started.set()
        self.started.set()

    def connect(self, port="api", timeout=10):
        address = self.addresses[port]
        if address.startswith("unix:"):
            client = socket.socket(socket.AF_UNIX)
            target = address[5:]
        else:
            host, number = address.rsplit(":", 1)
            family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
            client = socket.socket(family)
            target = (host.strip("[]"), int(number))
        client.settimeout(timeout * SLOW)
        try:
            client.connect(target)
        except OSError:
            client.close()
            raise
        return client

    def ask(self, raw, port="api", head=False):
        """One request on one connection; the answer."""
        with self.connect(port) as client:
            client.sendall(raw)
            return Reader(client).answer(head)

    def metric(self, line_start):
        body = self.ask(get("/metrics"), "ops").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in body.splitlines()
                   if line.startswith(line_start))

    def settles(self, line_start, value, within=5):
        """True once the metric has the value; connections that were just closed take a moment."""
        end = time.monotonic() + within * SLOW
        while self.metric(line_start) != value:
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def send_signal(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, timeout=40):
        """Returns the exit status; everything logged is in `lines` afterwards."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout * SLOW)
        self.reader.join(5)
        self.process.stderr.close()
        self.folder.cleanup()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        status = self.stop()
        unread = [line["raw"] for line in self.lines if "raw" in line]
        assert status == 0 and not unread, (status, unread)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __getitem__(self, name):
        values = [v for k, v in self.headers if k.lower() == name.lower()]
        assert len(values) <= 1, (name, values)
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)

    def ageless(self):
        """The body without what a second changes."""
        return re.sub(rb'"[a-z_]*age_seconds":[0-9]+', b"", self.body)

    def is_problem(self):
        document = self.json()
        assert self["Content-Type"] == "application/problem+json", self.headers
        assert document["status"] == self.status, document
        assert document["type"] == "/problems/" + document["code"].replace("_", "-"), document
        assert document["title"] and document["detail"], document
        assert document["request_id"] == self["X-Request-Id"], document
        return document


class Closed(Exception):
    """The server closed before a whole answer."""


class Reader:
    """Answers one after the other from one connection."""

    def __init__(self, client):
        self.client, self.buffer = client, b""

    def _more(self):
        try:
            data = self.client.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed(self.buffer)
        self.buffer += data

    def answer(self, head=False):
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        top, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = top.decode("latin-1").split("\r\n")
        version, status = lines[0].split(" ")[:2]
        assert version == "HTTP/1.1", lines[0]
        headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
        length = int(dict((k.lower(), v) for k, v in headers).get("content-length", 0))
        if head or status in ("204", "304"):
            length = 0
        while len(self.buffer) < length:
            self._more()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(int(status), headers, body)

    def is_closed(self, within=5):
        """True when the server hangs up; what came before that is in the buffer."""
        end = time.monotonic() + within * SLOW
        while time.monotonic() < end:
            ready, _, _ = select.select([self.client], [], [], max(0, end - time.monotonic()))
            if not ready:
                return False
            try:
                data = self.client.recv(65536)
            except ConnectionResetError:
                return True
            if not data:
                return True
            self.buffer += data
        return False


def get(target, *headers, method="GET", version="HTTP/1.1", host="gateway.test"):
    lines = ["%s %s %s" % (method, target, version)]
    if host is not None:
        lines.append("Host: " + host)
    return ("\r\n".join(lines + list(headers)) + "\r\n\r\n").encode("latin-1")


def post(target, body, *headers, content_type="application/json"):
    if content_type:
        headers += ("Content-Type: " + content_type,)
    return get(target, "Content-Length: %d" % len(body), *headers, method="POST") + body


def chunked(target, pieces, *headers):
    body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
    return get(target, "Transfer-Encoding: chunked", "Content-Type: application/json", *headers,
               method="POST") + body
