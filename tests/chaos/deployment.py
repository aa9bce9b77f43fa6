"""What the chaos tests break: PostgreSQL, the replay server, a worker and a replica, all real, all ours.

GPUPICK_BINARY names the program (meson sets it).
"""
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'store'), os.path.join(HERE, '..', 'providers')]
from cluster import Cluster, free_port  # noqa: E402,F401
from replay import Replay  # noqa: E402

BINARY = os.environ.get('GPUPICK_BINARY', 'gpupick')
SLOWNESS = float(os.environ.get('GPUPICK_TEST_SLOWNESS', '1'))  # of a sanitizer's build
PATIENCE = 5  # times what an idle machine needs at most: who waits for something loses nothing by it
REFRESH_SECONDS = 1
PROVIDER = 'runpod'  # by requests alone, without a key

WORKLOAD = json.dumps({'workload': {'task': 'inference', 'model': 'meta-llama/Llama-3.1-8B',
                                    'prompt_tokens': 512, 'output_tokens': 128, 'concurrency': 4},
                       'limit': 3})


def wait_until(condition, seconds, what):
    """The first true value of condition(), polled; fails after `seconds`, with patience."""
    seconds *= SLOWNESS * PATIENCE
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f'not within {seconds:g} s: {what}')
        time.sleep(0.05)


class Deployment:
    """Start with start(); everything ends with stop(), in any state."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.processes = {}
        self.address = None

    def start(self):
        try:
            self.cluster = self.stack.enter_context(Cluster())
        except FileNotFoundError:
            raise unittest.SkipTest('PostgreSQL is not installed')
        self.replay = self.stack.enter_context(Replay('committed'))
        data = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.log = self.stack.enter_context(open(os.path.join(data, 'log'), 'w+'))
        self.environment = {'PATH': os.environ['PATH'], 'GPUPICK_DATABASE_URL': self.cluster.url,
                            'GPUPICK_DATA': data, 'GPUPICK_LISTEN': '127.0.0.1:0',
                            'GPUPICK_OPS_LISTEN': '127.0.0.1:0', 'GPUPICK_ACCESS_LOG': 'off',
                            'GPUPICK_PROVIDERS': PROVIDER, 'GPUPICK_BUNDLED': 'false',
                            'GPUPICK_REFRESH_SECONDS': str(REFRESH_SECONDS),
                            **self.replay.environment()}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        subprocess.run([BINARY, 'migrate'], env=self.environment, check=True, stdout=self.log,
                       stderr=self.log)

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.stack.close()

    def spawn(self, name, *arguments):
        self.processes[name] = subprocess.Popen([BINARY, *arguments], env=self.environment,
                                                stderr=self.log, stdout=self.log)
        return self.processes[name]

    def kill(self, name, number=signal.SIGKILL):
        process = self.processes.pop(name)
        process.send_signal(number)
        return process.wait(120 * SLOWNESS)

    def lines(self):
        with open(self.log.name) as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def serve(self):
        self.spawn('serve', 'serve')
        self.address = wait_until(
            lambda: next((line['address'] for line in self.lines()
                          if line.get('message') == 'listening' and line.get('port') == 'api'), None),
            20, 'the API listens')
        wait_until(lambda: self.get('/v1/prices?limit=1')[0] == 200, 20, 'prices are answered')

    def sql(self, query, *parameters):
        import psycopg2  # only what looks behind the service's back needs it
        with contextlib.closing(psycopg2.connect(self.cluster.url)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(query, parameters)
                return cursor.fetchone() if cursor.description else None

    def request(self, connection, method, path, body=None):
        headers = {'Content-Type': 'application/json'} if body else {}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def get(self, path):
        with contextlib.closing(http.client.HTTPConnection(self.address, timeout=60 * SLOWNESS)) as connection:
            status, body = self.request(connection, 'GET', path)
            return status, json.loads(body)

    def prices(self):
        """Every price of the provider, by offer."""
        found, path = {}, f'/v1/prices?provider={PROVIDER}&limit=200'
        while path:
            status, answer = self.get(path)
            assert status == 200, answer
            for item in answer['items']:
                found[item['id']] = item
            path = answer['next'] and '/v1/prices' + answer['next']
        return found


class Load:
    """Threads that never stop asking, over kept connections; every answer counts."""

    def __init__(self, deployment, threads=4):
        self.deployment = deployment
        self.stopping = threading.Event()
        self.answers, self.failures = 0, []
        self.slowest = 0.0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(threads)]

    def run(self, number):
        connection = http.client.HTTPConnection(self.deployment.address, timeout=60 * SLOWNESS)
        asked = 0
        while not self.stopping.is_set():
            asked += 1
            started = time.monotonic()
            try:
                if (number + asked) % 2:
                    status, body = self.deployment.request(connection, 'GET', '/v1/prices?limit=20')
                else:
                    status, body = self.deployment.request(connection, 'POST',
                                                           '/v1/recommendations', WORKLOAD)
                problem = None if status == 200 else f'{status} {body[:300]}'
            except (OSError, http.client.HTTPException) as error:
                problem = repr(error)
                connection.close()
            with self.lock:
                self.answers += 1
                self.slowest = max(self.slowest, time.monotonic() - started)
                if problem:
                    self.failures.append(problem)
        connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
