#!/usr/bin/python3
"""HTTP benchmark: what the service spends on a request beyond the least that libmicrohttpd can spend.

    bench_http.py [ROUNDS [SECONDS [CONNECTIONS]]]   default: 10 rounds of half a second, 64 connections
    bench_http.py repeated                           a workload that comes again and again, alone

In each round, one after the other, the real binary and a static server of the same mode (http_static.c)
answer the same load (http_load.c) with bodies of the same size, one thread each; a figure is the median
over the rounds. The generator runs on the same cores, so trust CPU and ratios, not throughput. CPU is
user and kernel time of the server's process by the scheduler's own count."""
import atexit
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../gateway"))
from gateway import Reader, Server, get, post  # noqa: E402

REPEATED = sys.argv[1:] == ["repeated"]
NUMBERS = [] if REPEATED else sys.argv[1:]
ROUNDS = int(NUMBERS[0]) if len(NUMBERS) > 0 else 10
SECONDS = float(NUMBERS[1]) if len(NUMBERS) > 1 else 0.5
CONNECTIONS = int(NUMBERS[2]) if len(NUMBERS) > 2 else 64
OFFERS = int(os.environ.get("GPUPICK_BENCH_OFFERS", "1000000"))
TOOLS = os.environ.get("GPUPICK_BENCH_TOOLS", "")

SERVE_8B = ('{"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B",'
            ' "prompt_tokens": 2000, "output_tokens": 500, "concurrency": 8}, "limit": 20}')
QLORA = ('{"workload": {"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-70B",'
         ' "sequence_length": 2048, "tokens_per_epoch": 10000000}, "limit": 20}')
# Ordinary ones, no two alike: each '#' is a digit of the request's number.
NEW_WORKLOADS = (
    '"task": "inference", "model": "meta-llama/Llama-3.1-8B", "prompt_tokens": 7###, "output_tokens": 2##,'
    ' "concurrency": 32',
    '"task": "inference", "model": "meta-llama/Llama-3.1-70B", "prompt_tokens": 1###, "output_tokens": 4##,'
    ' "requests_per_second": 2, "max_ttft_seconds": 2',
    '"task": "inference", "mode": "batch", "model": "Qwen/Qwen2.5-32B", "prompt_tokens": 1###,'
    ' "output_tokens": 5##, "requests": 1000000',
    '"task": "finetune", "method": "lora", "model": "meta-llama/Llama-3.1-8B", "sequence_length": 4###,'
    ' "lora_rank": 1#, "total_tokens": 50000000',
    '"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-70B", "sequence_length": 2###,'
    ' "lora_rank": 1#, "micro_batch": 1, "total_tokens": 50000000',
    '"task": "finetune", "method": "full", "model": "meta-llama/Llama-3.1-8B", "sequence_length": 4###,'
    ' "global_batch": 1#, "total_tokens": 100000000',
    '"task": "pretrain", "model": "meta-llama/Llama-3.2-1B", "sequence_length": 4###, "global_batch": 1##,'
    ' "total_tokens": 20000000000',
)


def cpu_us(pid):
    total = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path) as file:
            total += int(file.read().split()[0])
    return total / 1e3


class Static:
    """http_static with one status and size of body."""

    def __init__(self, status, length):
        self.process = subprocess.Popen([TOOLS + "/http_static", str(status), str(length)],
                                        stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.address = "127.0.0.1:" + self.process.stdout.readline().split()[1]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Case:
    """A request to the service, and the static server that stands for it."""

    def __init__(self, name, server, raws, target_us, is_304=False):
        self.name, self.server, self.target_us = name, server, target_us
        answers = [server.ask(raw.replace(b"#", b"0")) for raw in raws]
        for answer in answers:
            assert answer.status == (304 if is_304 else 200), answer.body[:300]
        self.bytes = round(statistics.mean(len(answer.body) for answer in answers))
        self.static = Static(answers[0].status, 0 if is_304 else self.bytes)
        self.files = [tempfile.NamedTemporaryFile("wb") for _ in raws]
        for raw, file in zip(raws, self.files):
            file.write(raw)
            file.flush()
        self.sent = len(raws)
        self.own, self.least = [], []

    def load(self, address, pid, seconds):
        began = cpu_us(pid)
        out = subprocess.run([TOOLS + "/http_load", address, str(CONNECTIONS), str(seconds), str(self.sent)] +
                             [file.name for file in self.files], check=True, capture_output=True, text=True).stdout
        used = cpu_us(pid) - began
        requests, taken, _, p99, failures, _ = out.split()
        assert failures == "0", (self.name, failures, requests)
        self.sent += int(requests) + CONNECTIONS
        return used / int(requests), int(requests) / float(taken), float(p99)

    def round(self, is_warm_up=False):
        seconds = 0.3 if is_warm_up else SECONDS
        least = self.load(self.static.address, self.static.process.pid, seconds)
        own = self.load(self.server.addresses["api"], self.server.process.pid, seconds)
        if not is_warm_up:
            self.least.append(least)
            self.own.append(own)

    def report(self):
        def median(rows, column):
            return statistics.median(row[column] for row in rows)
        above = statistics.median(own[0] - least[0] for own, least in zip(self.own, self.least))
        ratio = statistics.median(own[1] / least[1] for own, least in zip(self.own, self.least))
        print("%-38s %8d %9.1f %9.1f %9.1f %8s %8.2f %8.2f %8.2f" % (
            self.name, self.bytes, median(self.own, 0), median(self.least, 0), above,
            "%g" % self.target_us if self.target_us else "", ratio, median(self.own, 2) / 1e3,
            median(self.least, 2) / 1e3), flush=True)

    def stop(self):
        self.static.stop()
        for file in self.files:
            file.close()


def market(path):
    """A snapshot file of a large market."""
    told = subprocess.run([TOOLS + "/make_market", path, str(OFFERS)], check=True, capture_output=True,
                          text=True).stdout.split()
    print("%s offers over %s shapes; %s bytes of memory an offer without fragments (target 200)" % tuple(told),
          flush=True)
    return path


def page_query(server, query):
    """Of prices, as near to 20 KB as whole offers come."""
    one, many = (len(server.ask(get("/v1/prices?%slimit=%d" % (query, n))).body) for n in (1, 11))
    return "/v1/prices?%slimit=%d" % (query, 1 + round((20000 - one) / ((many - one) / 10)))


def cases_of(server, where):
    page = page_query(server, "")
    tag = server.ask(get(page))["ETag"]
    yield Case("page of prices, %s" % where, server, [get(page)], 15)
    few = page_query(server, "price_kind=on_demand&min_memory_per_gpu_gb=40&")
    yield Case("page of a filter, %s" % where, server, [get(few)], 15)
    yield Case("304, %s" % where, server, [get(page, "If-None-Match: " + tag)], 8, is_304=True)
    yield Case("page in gzip, %s" % where, server, [get(page, "Accept-Encoding: gzip")], None)
    for name, body in (("qlora 70B", QLORA), ("serve 8B", SERVE_8B)):
        yield Case("repeated %s, %s" % (name, where), server, [post("/v1/recommendations", body.encode())], 60)
    yield Case("new workloads, %s" % where, server,
               [post("/v1/recommendations", ('{"workload": {%s}, "limit": 20}' % workload).encode())
                for workload in NEW_WORKLOADS], 1000)


def compare(cases):
    print("%-38s %8s %9s %9s %9s %8s %8s %8s %8s" % (
        "%d x %g s, %d connections" % (ROUNDS, SECONDS, CONNECTIONS), "bytes", "CPU us", "static", "above",
        "target", "req/s", "p99 ms", "static"))
    for case in cases:
        case.round(is_warm_up=True)
    for _ in range(ROUNDS):
        for case in cases:
            case.round()
    for case in cases:
        case.report()
        case.stop()


def measure_repeated(server, name, body):
    """On one connection, sixteen at a time: over seconds, so that ages change."""
    raw = post("/v1/recommendations", body.encode())
    size = len(server.ask(raw).body)
    with server.connect() as client:
        reader, requests = Reader(client), 0
        began, end = cpu_us(server.process.pid), time.monotonic() + 4
        while time.monotonic() < end:
            client.sendall(raw * 16)
            for _ in range(16):
                assert reader.answer().status == 200
            requests += 16
        used = cpu_us(server.process.pid) - began
    print("%-34s %8d %9.1f" % (name, size, used / requests), flush=True)


def repeated():
    print("A workload that comes again and again for 4 s (target: 60 us of server CPU)")
    print("%-34s %8s %9s" % ("", "bytes", "CPU us"))
    with Server(threads=1, access_log="off") as server:
        server.keeps_lines = False
        for name, body in (("qlora 70B, 20 answers", QLORA), ("serve 8B, 20 answers", SERVE_8B)):
            measure_repeated(server, name, body)


def main():
    if REPEATED:
        repeated()
        return
    with tempfile.TemporaryDirectory() as folder, Server(threads=1, access_log="off") as bundled, \
            Server(threads=1, access_log="off", snapshot=market(os.path.join(folder, "market"))) as large:
        bundled.keeps_lines = large.keeps_lines = False
        compare(list(cases_of(bundled, "bundled")) + list(cases_of(large, "large")))
        for where, server in (("bundled", bundled), ("large", large)):
            print("kept, %s: %s" % (where, ", ".join("%s %d in %.1f MB" % (
                what, server.metric('gpupick_kept_items{what="%s"}' % what),
                server.metric('gpupick_kept_bytes{what="%s"}' % what) / 1e6)
                for what in ("fragments", "pages", "answers", "plans"))))


if __name__ == "__main__":
    main()
