#!/usr/bin/python3
"""Pages of a synthetic price list for bench_ingest: serves them while it runs the program given.

    bench_ingest.py PROGRAM [ROWS]      (PROGRAM gets the address and ROWS)
"""
import http.server
import subprocess
import sys
import threading
import urllib.parse

ROWS = 5000


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_arguments):
        pass

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        data = self.server.pages[int(query['salt'][0])][int(query['at'][0])]
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def page(first, total, salt):
    return ('type,region,price,count\n' + ''.join(
        f'gpu-{i // 50}.large,region-{i % 50},{2 + (i % 997) / 1000 + salt / 100:.6f},8\n'
        for i in range(first, min(first + ROWS, total)))).encode()


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Pages)
total = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
# Made before the clock runs: the provider's own time is not the worker's.
server.pages = {salt: [page(first, total, salt) for first in range(0, total, ROWS)] for salt in (1, 2)}
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.exit(subprocess.call([sys.argv[1], f'http://127.0.0.1:{server.server_port}', str(total)]))
