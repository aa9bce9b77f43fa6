"""What the API tests share: the real binary over HTTP, on prices from a snapshot file."""
import json
import os
import subprocess
import tempfile
import threading
import time

import requests

BINARY = os.environ["GPUPICK_BINARY"]
MAKE_SNAPSHOT = os.environ["GPUPICK_MAKE_SNAPSHOT"]
SLOW = float(os.environ.get("GPUPICK_TEST_SLOWNESS", "1"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def snapshot(folder, version=7, prices=None):
    """The bundled prices and one offer of each odd kind, or as `prices` has it: see make_snapshot.c."""
    subprocess.run([MAKE_SNAPSHOT, os.path.join(folder, "snapshot"), str(version)] +
                   ([prices] if prices else []), check=True, stdout=subprocess.DEVNULL)


class Service:
    """`gpupick serve` on its snapshot file, without a database."""

    def __init__(self, with_prices=True, version=7, prices=None, settings=None):
        self.folder = tempfile.TemporaryDirectory()
        if with_prices:
            snapshot(self.folder.name, version, prices)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
        environment.update({"GPUPICK_DATA": self.folder.name, "GPUPICK_LISTEN": "127.0.0.1:0",
                            "GPUPICK_OPS_LISTEN": "127.0.0.1:0", "GPUPICK_THREADS": "2"})
        environment.update(settings or {})
        self.addresses = {}
        self.log = []
        wanted = {"started"}
        self.ready = threading.Event()
        self.process = subprocess.Popen([BINARY, "serve"], env=environment,
                                        stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read, args=(wanted,), daemon=True)
        self.reader.start()
        if not self.ready.wait(30 * SLOW) or self.process.poll() is not None:
            self.process.kill()
            raise RuntimeError("the service did not start: %s" % self.log)
        self.session = requests.Session()
        until = time.monotonic() + 30 * SLOW
        while with_prices and self.session.get(self.url("/readyz", "ops")).status_code != 200:
            if time.monotonic() > until:
                self.process.kill()
                raise RuntimeError("no prices were loaded: %s" % self.log)
            time.sleep(0.02)

    def _read(self, wanted):
        for raw in self.process.stderr:
            try:
                line = json.loads(raw)
            except ValueError:
                self.log.append(raw)
                continue
            if line["message"] != "request":
                self.log.append(line)
            if line["message"] == "listening":
                self.addresses[line["port"]] = line["address"]
            wanted.discard(line["message"])
            if not wanted:
                self.ready.set()

    def url(self, path, port="api"):
        return "http://%s%s" % (self.addresses[port], path)

    def get(self, path, **keywords):
        return self.session.get(self.url(path), timeout=20 * SLOW, **keywords)

    def post(self, path, body, **headers):
        headers.setdefault("Content-Type", "application/json")
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        if isinstance(data, str):
            data = data.encode()
        return self.session.post(self.url(path), data=data, headers=headers, timeout=20 * SLOW)

    def stop(self):
        """Ends the service; its exit status."""
        self.session.close()
        self.process.terminate()
        status = self.process.wait(40 * SLOW)
        self.reader.join(10)
        self.process.stderr.close()
        self.folder.cleanup()
        return status


def without_ages(value):
    """An answer less what the clock alone changes."""
    if isinstance(value, dict):
        return {k: without_ages(v) for k, v in value.items() if not k.endswith("age_seconds")}
    return [without_ages(v) for v in value] if isinstance(value, list) else value


def exact(response):
    """The answer with every number as it was printed, so that rounding cannot hide a digit."""
    return json.loads(response.text, parse_float=str, parse_int=int)
