#!/usr/bin/python3
"""HTTP benchmark: requests a second and server CPU a request, by wrk (Debian package wrk) against the real
binary. bench_http.py [SECONDS [THREADS [CONNECTIONS]]], or bench_http.py repeated: a workload that comes
again and again, alone. The generator runs on the same cores: trust the
CPU figures and ratios, not the throughput."""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../gateway"))
from gateway import Reader, Server, get, post  # noqa: E402

REPEATED = sys.argv[1:] == ["repeated"]
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 and not REPEATED else 4
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
CONNECTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 64

SIZING = ('{"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B",'
          ' "prompt_tokens": 2000, "output_tokens": 500, "concurrency": 8}}')
QLORA = ('{"workload": {"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-70B",'
         ' "sequence_length": 2048, "tokens_per_epoch": 10000000}}')


def cpu_us(pid):
    with open("/proc/%d/stat" % pid) as status:
        fields = status.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def measure(server, name, target, body=None, headers=(), port="api"):
    raw = post(target, body.encode(), *headers) if body else get(target, *headers)
    answer = server.ask(raw, port)
    script = ""
    if body:
        script = "wrk.method='POST' wrk.body=%s wrk.headers['Content-Type']='application/json'" % (
            "[==[" + body + "]==]")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        command = ["wrk", "-t1", "-c%d" % CONNECTIONS, "-d%ds" % SECONDS, "--latency"]
        command += [a for h in headers for a in ("-H", h)] + ["-s", file.name]
        began = cpu_us(server.process.pid)
        out = subprocess.run(command + ["http://%s%s" % (server.addresses[port], target)],
                             capture_output=True, text=True, check=True).stdout
        used = cpu_us(server.process.pid) - began
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    failed = re.search(r"Socket errors.*", out)
    p99 = re.search(r"^\s+99%\s+(\S+)", out, re.M).group(1)
    report(name, answer, requests, used, p99, failed.group(0) if failed else "")


def measure_304(server, name, target, tag):
    """wrk waits for the bytes that a 304's Content-Length names; here 64 requests at a time are
    sent on one connection."""
    raw = get(target, "If-None-Match: " + tag)
    answer = server.ask(raw)
    with server.connect() as client:
        reader, requests = Reader(client), 0
        began, end = cpu_us(server.process.pid), time.monotonic() + SECONDS
        while time.monotonic() < end:
            client.sendall(raw * 64)
            for _ in range(64):
                assert reader.answer().status == 304
            requests += 64
        used = cpu_us(server.process.pid) - began
    report(name, answer, requests, used, "", "(pipelined)")


def report(name, answer, requests, used, p99, note):
    print("%-34s %4d %8d %9.0f %9.1f %9s %s" % (name, answer.status, len(answer.body),
                                               requests / SECONDS, used / requests, p99, note),
          flush=True)


def measure_repeated(server, name, body):
    """On one connection, one after the other, without wrk: over seconds, so that ages change."""
    raw = post("/v1/recommendations", body.encode())
    answer = server.ask(raw)
    with server.connect() as client:
        reader, requests = Reader(client), 0
        began, end = cpu_us(server.process.pid), time.monotonic() + SECONDS
        while time.monotonic() < end:
            client.sendall(raw * 16)
            for _ in range(16):
                assert reader.answer().status == 200
            requests += 16
        used = cpu_us(server.process.pid) - began
    report(name, answer, requests, used, "", "(pipelined)")


def repeated():
    print("A workload that comes again and again for %d s (target: 60 us of server CPU)" % SECONDS)
    print("%-34s %4s %8s %9s %9s %9s" % ("", "", "bytes", "req/s", "CPU us", "p99"))
    with Server(threads=THREADS, access_log="off") as server:
        server.keeps_lines = False
        for name, body in (("qlora 70B, 20 answers", QLORA), ("serve 8B, 20 answers", SIZING)):
            measure_repeated(server, name, body[:-1] + ', "limit": 20}')


def main():
    if REPEATED:
        repeated()
        return
    print("%d s each, %d server thread%s, %d connections" %
          (SECONDS, THREADS, "" if THREADS == 1 else "s", CONNECTIONS))
    print("%-34s %4s %8s %9s %9s %9s" % ("", "", "bytes", "req/s", "CPU us", "p99"))
    for log in ("off", "all"):
        with Server(threads=THREADS, access_log=log) as server:
            server.keeps_lines = False
            tag = server.ask(get("/v1/prices?limit=20"))["ETag"]
            measure(server, "GET /openapi.yaml (log %s)" % log, "/openapi.yaml")
            measure(server, "GET /nowhere (log %s)" % log, "/nowhere")
            if log == "all":
                continue
            measure(server, "GET /livez", "/livez", port="ops")
            measure(server, "GET /v1/prices?limit=20", "/v1/prices?limit=20")
            measure_304(server, "GET /v1/prices?limit=20, 304", "/v1/prices?limit=20", tag)
            measure(server, "POST of an empty object, 422", "/v1/sizing", "{}")
            measure(server, "POST /v1/sizing", "/v1/sizing", SIZING)
            measure(server, "POST /v1/recommendations", "/v1/recommendations", QLORA)


if __name__ == "__main__":
    main()
