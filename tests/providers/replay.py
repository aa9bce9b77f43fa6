#!/usr/bin/python3
"""Stands in for the providers' price APIs: the fixtures, re-paged by each provider's own rules.

    python3 tests/providers/replay.py [--fixtures committed|shared] [--port N] [--page-size N]

prints one line, its address (http://127.0.0.1:PORT), and serves until it is stopped. A feed's base URL
is that address and the provider: GPUPICK_RUNPOD_URL=http://127.0.0.1:PORT/runpod and so on. "committed"
are the small fixtures beside this file, "shared" those of ../shared (where that folder exists).

POST /admin with a JSON object changes what is served while it runs:
  {"op": "set", "provider": "runpod", "id": "NVIDIA L40S", "field": "securePrice", "value": 0.9}
  {"op": "scale", "provider": "vultr", "factor": 10}      every price
  {"op": "remove", "provider": "runpod", "id": "..."}     one row
  {"op": "keep", "provider": "linode", "count": 3}        the first rows only
  {"op": "reset", "provider": "azure"}                    everything as at the start, faults too
  {"op": "fault", "provider": "runpod", "kind": "429", "times": 2, "retry_after": "1",
   "path": "graphql"}                                     the next answers; path and times are optional
  {"op": "links", "style": "original"}                    Azure's next links: "own" or "original"
GET /admin lists the requests so far. GET /fault/KIND answers once with that fault, for tests of fetch.
As a module: `with Replay('committed') as replay: replay.url('runpod'); replay.admin(op=..., ...)`.
"""
import argparse
import base64
import contextlib
import copy
import functools
import glob
import gzip
import http.server
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, '..', '..', '..', 'shared', 'fixtures', 'providers')
PROVIDERS = ('runpod', 'vultr', 'linode', 'azure', 'lambda')
LAMBDA_KEY = 'replay-key'

# What RunPod's schema is known to have (facts: gpuTypes); anything else is a GraphQL error.
RUNPOD_FIELDS = set('''id displayName manufacturer memoryInGb cudaCores secureCloud communityCloud
    securePrice communityPrice secureSpotPrice communitySpotPrice oneWeekPrice oneMonthPrice
    threeMonthPrice sixMonthPrice clusterPrice maxGpuCount maxGpuCountSecureCloud
    maxGpuCountCommunityCloud minPodGpuCount nodeGroupDatacenters lowestPrice'''.split())


def read_json(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return json.load(file)


def pages_of(folder, provider, label, member):
    rows = []
    for path in sorted(glob.glob(os.path.join(folder, provider, label + '*.json'))):
        rows += read_json(path)[member]
    return rows


def load_committed():
    folder = os.path.join(HERE, 'fixtures')
    stock = {}
    for path in glob.glob(os.path.join(folder, 'vultr', 'availability-*.json')):
        region = os.path.basename(path)[len('availability-'):-len('.json')]
        stock[region] = read_json(path)['available_plans']
    return {
        'runpod': {'rows': read_json(folder, 'runpod', 'gputypes.json')['data']['gpuTypes']},
        'vultr': {'rows': pages_of(folder, 'vultr', 'plans-', 'plans'),
                  'metal': pages_of(folder, 'vultr', 'metal-', 'plans_metal'),
                  'regions': pages_of(folder, 'vultr', 'regions-', 'regions'), 'stock': stock},
        'linode': {'rows': pages_of(folder, 'linode', 'types-', 'data'),
                   'availability': pages_of(folder, 'linode', 'availability-', 'data'),
                   'regions': pages_of(folder, 'linode', 'regions-', 'data')},
        'azure': {'rows': pages_of(folder, 'azure', 'prices-', 'Items')},
        'lambda': {'rows': list(read_json(folder, 'lambda', 'instance-types.json')['data'].values())},
    }


def load_shared():
    plans = read_json(SHARED, 'vultr-plans.json')['plans']
    metal = read_json(SHARED, 'vultr-plans-metal.json')['plans_metal']
    stock = read_json(SHARED, 'vultr-regions-availability.json')['available_plans']
    places = sorted({place for plan in plans + metal for place in plan['locations']})
    types = read_json(SHARED, 'lambda-instance-types-full-shape.json')['data']
    return {
        'runpod': {'rows': read_json(SHARED, 'runpod-graphql-gputypes-full-constructed.json')
                   ['data']['gpuTypes']},
        'vultr': {'rows': plans, 'metal': metal, 'regions': [],
                  'stock': {place: stock for place in places}},
        'linode': {'rows': read_json(SHARED, 'linode-types.json')['data'],
                   'availability': read_json(SHARED, 'linode-regions-availability.json')['data'],
                   'regions': read_json(SHARED, 'linode-regions.json')['data']},
        'azure': {'rows': read_json(SHARED, 'azure-retail-prices-gpu-constructed.json')['Items']},
        'lambda': {'rows': list(types.values())},
    }


def has_shared():
    return os.path.isdir(SHARED)


def row_id(provider, row):
    if provider == 'azure':
        return row['armSkuName'] + '/' + row['skuName']
    return row['instance_type']['name'] if provider == 'lambda' else row.get('id')


def scale_prices(value, factor):
    """Every number whose name speaks of a price, in place."""
    if isinstance(value, list):
        for item in value:
            scale_prices(item, factor)
    elif isinstance(value, dict):
        for name, item in value.items():
            is_price = re.search(r'[pP]rice|_cost|^hourly', name)
            if is_price and isinstance(item, (int, float)) and not isinstance(item, bool):
                value[name] = round(item * factor, 6) if name != 'price_cents_per_hour' \
                    else round(item * factor)
            else:
                scale_prices(item, factor)


class Answer(Exception):
    """A status with a JSON body that ends the handling of a request."""

    def __init__(self, status, body, headers=()):
        super().__init__(status)
        self.status, self.body, self.headers = status, body, dict(headers)


def runpod_selection(query):
    """{alias: field} of gpuTypes' selection; arguments and inner selections are skipped."""
    match = re.search(r'gpuTypes\s*(\([^)]*\))?\s*\{', query)
    if not match:
        raise Answer(200, {'errors': [{'message': 'no gpuTypes in the query'}]})
    depth, word, words = 1, '', []
    for char in re.sub(r'\([^)]*\)', ' ', query[match.end():]) + ' ':
        if depth == 1 and (char.isalnum() or char in '_:'):
            word += char
            continue
        if word:
            words.append(word)
            word = ''
        depth += {'{': 1, '}': -1}.get(char, 0)
        if depth == 0:
            break
    selection, alias = {}, None
    for word in words:
        if word.endswith(':'):
            alias = word[:-1]
            continue
        left, _, right = word.rpartition(':')
        selection[alias or left or right] = right
        alias = None
    for field in selection.values():
        if field not in RUNPOD_FIELDS:
            raise Answer(200, {'errors': [{'message': f'Cannot query field "{field}" on type "GpuType".'}]})
    return selection


class Replay:
    def __init__(self, fixtures='committed', port=0, page_size=2):
        self.initial = load_shared() if fixtures == 'shared' else load_committed()
        self.data = copy.deepcopy(self.initial)
        self.page_size = page_size
        self.link_style = 'own'
        self.faults = []
        self.requests = []
        self.lock = threading.Lock()
        replay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            timeout = 60
            disable_nagle_algorithm = True

            def do_GET(self):
                replay.handle(self, None)

            def do_POST(self):
                length = int(self.headers.get('Content-Length') or 0)
                replay.handle(self, self.rfile.read(length))

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                if not isinstance(sys.exc_info()[1], ConnectionError):  # clients hang up on faults
                    super().handle_error(request, client_address)

        self.server = Server(('127.0.0.1', port), Handler)
        self.server.daemon_threads = True
        self.address = f'http://127.0.0.1:{self.server.server_address[1]}'

    def url(self, provider):
        return f'{self.address}/{provider}'

    def environment(self):
        """The settings that make the real worker ask this server."""
        names = {f'GPUPICK_{p.upper()}_URL': self.url(p) for p in PROVIDERS}
        return dict(names, GPUPICK_LAMBDA_KEY=LAMBDA_KEY)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    # --- what is served ---

    def admin(self, op, provider=None, **more):
        with self.lock:
            if op == 'links':
                self.link_style = more['style']
            elif op == 'fault':
                self.faults.append(dict(more, provider=provider, times=more.get('times', 1 << 30)))
            elif op == 'reset':
                self.faults = [f for f in self.faults if provider and f['provider'] != provider]
                for name in [provider] if provider else PROVIDERS:
                    self.data[name] = copy.deepcopy(self.initial[name])
            elif op == 'scale':
                scale_prices(self.data[provider], more['factor'])
            elif op == 'keep':
                self.data[provider]['rows'] = self.data[provider]['rows'][:more['count']]
                self.data[provider].pop('metal', None)
            elif op in ('remove', 'set'):
                self.change(op, provider, more)
            else:
                raise Answer(400, {'error': f'no op {op}'})

    def change(self, op, provider, more):
        rows = self.data[provider]['rows'] + self.data[provider].get('metal', [])
        found = [row for row in rows if row_id(provider, row) == more['id']]
        if not found:
            raise Answer(404, {'error': f"no row {more['id']}"})
        if op == 'set':
            target = found[0]
            *parents, last = more['field'].split('.')
            for name in parents:
                target = target[name]
            target[last] = more['value']
            return
        for name in ('rows', 'metal'):
            if name in self.data[provider]:
                self.data[provider][name] = [row for row in self.data[provider][name]
                                             if row_id(provider, row) != more['id']]

    def answer(self, provider, path, query, handler, body):
        if provider not in PROVIDERS:
            raise Answer(404, {'error': 'no such provider'})
        with self.lock:
            return getattr(self, 'answer_' + provider)(path, query, handler, body)

    def answer_runpod(self, path, _query, handler, body):
        if path != '/graphql' or body is None:
            raise Answer(404, {'error': 'POST /graphql'})
        if handler.headers.get('Content-Type') != 'application/json':
            raise Answer(415, {'error': 'not JSON'})
        selection = runpod_selection(json.loads(body)['query'])
        rows = []
        for row in self.data['runpod']['rows']:
            rows.append({alias: row[alias] if alias in row else copy.deepcopy(row.get(field))
                         for alias, field in selection.items()})
        return {'data': {'gpuTypes': rows}}

    def cursor_page(self, name, rows, query):
        size = min(int(query.get('per_page', 100)), self.page_size)
        start = 0
        if query.get('cursor'):
            try:
                start = int(base64.b64decode(query['cursor'], validate=True).decode().split('__')[1])
            except (ValueError, IndexError):
                raise Answer(400, {'error': 'bad cursor', 'status': 400})
        following = start + size
        cursor = base64.b64encode(f'next__{following}'.encode()).decode()
        return {name: rows[start:following], 'meta': {
            'total': len(rows), 'links': {'next': cursor if following < len(rows) else '', 'prev': ''}}}

    def answer_vultr(self, path, query, _handler, _body):
        data = self.data['vultr']
        if path == '/v2/plans':
            return self.cursor_page('plans', data['rows'], query)
        if path == '/v2/plans-metal':
            return self.cursor_page('plans_metal', data.get('metal', []), query)
        if path == '/v2/regions':
            return self.cursor_page('regions', data['regions'], query)
        match = re.fullmatch(r'/v2/regions/([a-z]+)/availability', path)
        if match and match[1] in data['stock']:
            return {'available_plans': data['stock'][match[1]]}
        raise Answer(404, {'error': 'Invalid region', 'status': 404})

    def numbered_page(self, rows, query):
        size = min(int(query.get('page_size', 100)), self.page_size)
        pages = max(1, -(-len(rows) // size))
        page = int(query.get('page', 1))
        if not 1 <= page <= pages:
            raise Answer(404, {'errors': [{'reason': 'Not found'}]})
        return {'data': rows[(page - 1) * size:page * size], 'page': page, 'pages': pages,
                'results': len(rows)}

    def answer_linode(self, path, query, _handler, _body):
        lists = {'/v4/linode/types': 'rows', '/v4/regions/availability': 'availability',
                 '/v4/regions': 'regions'}
        if path not in lists:
            raise Answer(404, {'errors': [{'reason': 'Not found'}]})
        return self.numbered_page(self.data['linode'][lists[path]], query)

    def answer_azure(self, path, query, _handler, _body):
        if path != '/api/retail/prices':
            raise Answer(404, {'error': 'no such path'})
        rows, skip = self.data['azure']['rows'], int(query.get('$skip', 0))
        following = skip + self.page_size
        link = None
        if following < len(rows):
            origin = self.url('azure') if self.link_style == 'own' else 'https://prices.azure.com:443'
            filters = urllib.parse.quote(query.get('$filter', ''))
            link = f"{origin}/api/retail/prices?api-version=2023-01-01-preview&$filter={filters}" \
                f"&$skip={following}"
        return {'BillingCurrency': 'USD', 'CustomerEntityId': 'Default', 'CustomerEntityType': 'Retail',
                'Items': rows[skip:following], 'NextPageLink': link, 'Count': len(rows[skip:following])}

    def answer_lambda(self, path, _query, handler, _body):
        if handler.headers.get('Authorization') != f'Bearer {LAMBDA_KEY}':
            raise Answer(401, {'error': {'code': 'global/invalid-api-key', 'message': 'API key was invalid'}})
        if path != '/api/v1/instance-types':
            raise Answer(404, {'error': {'code': 'global/object-does-not-exist'}})
        return {'data': {row['instance_type']['name']: row for row in self.data['lambda']['rows']}}

    # --- how it is served ---

    def take_fault(self, provider, path):
        with self.lock:
            for fault in self.faults:
                if fault['provider'] == provider and fault.get('path', '') in path and fault['times'] > 0:
                    fault['times'] -= 1
                    return fault
        return None

    def handle(self, handler, body):
        parts = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        _, provider, *rest = parts.path.split('/', 2)
        path = '/' + (rest[0] if rest else '')
        fault = None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            try:
                if provider == 'admin':
                    self.handle_admin(handler, body)
                    return
                with self.lock:
                    self.requests.append({'provider': provider, 'method': handler.command,
                                          'path': handler.path, 'at': time.time(),
                                          'encoding': handler.headers.get('Accept-Encoding', '')})
                if provider == 'fault':
                    fault = dict(query, kind=path[1:])
                    document = {'data': 'x' * int(query.get('bytes', 1000))}
                else:
                    fault = self.take_fault(provider, path)
                    document = self.answer(provider, path, query, handler, body)
                if fault:
                    serve_fault(handler, fault, document)
                else:
                    send(handler, 200, json.dumps(document).encode())
            except Answer as answer:
                send(handler, answer.status, json.dumps(answer.body).encode(), answer.headers)

    def handle_admin(self, handler, body):
        if body is None:
            with self.lock:
                send(handler, 200, json.dumps(self.requests).encode())
            return
        self.admin(**json.loads(body))
        send(handler, 200, b'{}')


def send(handler, status, payload, headers=(), content_type='application/json', length=None):
    handler.send_response(status)
    handler.send_header('Content-Type', content_type)
    handler.send_header('Content-Length', str(len(payload) if length is None else length))
    for name, value in dict(headers).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(payload)


def break_row(document):
    """One row with every value of a wrong type; the others stay."""
    rows = document
    while isinstance(rows, dict):
        rows = next((v for v in rows.values() if isinstance(v, (list, dict)) and v), None)
    if rows:
        rows[0] = {name: [] if isinstance(value, str) else 'broken' for name, value in rows[0].items()}
    return document


@functools.lru_cache
def gzip_bomb(decoded_bytes):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b' ' * (1 << 20)
    packed = b''.join(packer.compress(block) for _ in range(decoded_bytes >> 20))
    return packed + packer.flush()


def serve_fault(handler, fault, document):
    kind = fault['kind']
    good = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers = {}
    if 'retry_after' in fault:
        value = str(fault['retry_after'])
        if value.startswith('date+'):
            value = handler.date_time_string(time.time() + float(value[5:]))
        headers['Retry-After'] = value
    if kind.isdigit():
        send(handler, int(kind), b'{"error": "fault"}', headers)
    elif kind == 'truncated':
        handler.close_connection = True
        send(handler, 200, good[:len(good) // 2], length=len(good))
    elif kind == 'chunked':
        handler.send_response(200)
        handler.send_header('Content-Type', 'application/json')
        handler.send_header('Transfer-Encoding', 'chunked')
        handler.end_headers()
        handler.wfile.write(b'%x\r\n%s\r\n' % (len(good), good))  # and no last chunk
        handler.close_connection = True
    elif kind == 'silent':
        handler.close_connection = True
    elif kind == 'reset':
        handler.close_connection = True
        send(handler, 200, good[:len(good) // 2], length=len(good))
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    elif kind == 'slow':
        handler.send_response(200)
        handler.send_header('Content-Length', str(len(good)))
        handler.end_headers()
        for byte in range(len(good)):
            handler.wfile.write(good[byte:byte + 1])
            handler.wfile.flush()
            time.sleep(0.2)
    elif kind == 'stall':
        time.sleep(float(fault.get('seconds', 30)))
        send(handler, 200, good)
    elif kind == 'gzip':
        send(handler, 200, gzip.compress(good), {'Content-Encoding': 'gzip'})
    elif kind == 'gzip_cut':
        packed = gzip.compress(good)
        send(handler, 200, packed[:len(packed) // 2], {'Content-Encoding': 'gzip'})
    elif kind == 'gzip_bomb':
        send(handler, 200, gzip_bomb(int(fault.get('mib', 64)) << 20), {'Content-Encoding': 'gzip'})
    elif kind == 'huge':
        block = b'[' + b' ' * (1 << 20)
        handler.send_response(200)
        handler.end_headers()
        handler.close_connection = True
        for _ in range(int(fault.get('mib', 64))):
            handler.wfile.write(block)
    elif kind == 'wrong_type':
        send(handler, 200, b'[1, 2, 3]')
    elif kind == 'content_type':
        send(handler, 200, good, content_type='text/plain')
    elif kind == 'html':
        send(handler, 200, b'<!doctype html><title>Just a moment</title>', content_type='text/html')
    elif kind == 'broken_row':
        send(handler, 200, json.dumps(break_row(document)).encode())
    elif kind == 'redirect':
        send(handler, 302, b'', {'Location': fault.get('to', '/elsewhere')})
    elif kind == 'loop':
        send(handler, 302, b'', {'Location': handler.path})
    elif kind == 'link':
        send(handler, 200, good, {'Link': '<https://example.invalid/?page=2>; rel="next"'})
    elif kind == 'ok':
        send(handler, 200, good, headers)
    else:
        send(handler, 400, b'{"error": "no such fault"}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--fixtures', choices=('committed', 'shared'), default='committed')
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--page-size', type=int, default=2)
    options = parser.parse_args()
    if options.fixtures == 'shared' and not has_shared():
        sys.exit('replay.py: there is no ../shared beside this checkout')
    replay = Replay(options.fixtures, options.port, options.page_size)
    print(replay.address, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        replay.server.serve_forever()


if __name__ == '__main__':
    main()
