#!/usr/bin/python3
"""Faults at all feeds at once: in each round each feed meets another one, or none.

What a faulty feed had on sale stands exactly as it was and its outcome says what was wrong; the others
bring new prices; the worker stays small. Over the rounds each feed meets each fault.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import replay  # noqa: E402
import test_feeds_worker  # noqa: E402
from test_worker import BINARY, SLOWNESS, Worker, setUpModule, tearDownModule  # noqa: E402,F401

try:
    import grpc
    import h2_front
    import nebius_api
except ImportError as error:
    nebius_api = None
    print(f'without Nebius: {error}')

BOMB_MIB = 100  # decoded, more than any feed's limit
RSS_MIB_MAX = 512 * SLOWNESS  # of the worker, whatever all feeds send at the same time; seen: 210

# (what the run must be called, what its detail says)
FAULTS = {
    'stall': (('timeout',), 'timed? ?out'),
    'slow': (('timeout',), 'timed? ?out|too slow'),
    'reset': (('http',), 'truncated|reset'),
    'truncated': (('http',), 'truncated'),
    '429': (('rate_limited',), 'HTTP 429'),
    '500': (('http',), 'HTTP 500'),
    'html': (('parse',), 'no JSON|no answer of|no column|no gRPC|not '),
    'gzip_bomb': (('http',), 'larger than'),
    'schema': (('parse', 'empty'), '"|column|no usable |no answer of|rows|opens 0 tenants'),
    'cents': (('held', 'empty'), 'tenfold|no usable row|rows'),
    'loop': (('parse',), 'asked before|the page before|page is this one|with page 1$|over 60 pages'),
}

# What stands before a price, where it is not one of the names that JSON feeds give it.
NAMES = (rb'"(?:\w*[pP]rice\w*|\w*_cost\w*|cost_per_hour|hourly|onDemand|value|dph_\w+|min_bid|\w+_hr|'
         rb'defaultPrice)"\s*:\s*"?\$?')
BEFORE_PRICE = {
    'aws-price-list': rb'"(?:Hrs|Quantity)","', 'aws-spot-page': rb'"USD":"',
    'aws-ec2-spot-history': rb'<spotPrice>',
    'gcloud-compute-com': rb'(?m:,(?=(?:[\d.]+,){2,3}\d+$))',
    'thunder-api': rb'"\w+_x\d+"\s*:\s*',
    'runpod-rest': rb'"(?:secure|community)"\s*:\s*(?=\d+\.)',  # not how many GPUs a pod may have
}
WHOLE = {'lambda-api', 'cloudrift-api', 'hotaisle-api', 'shadeform-api', 'ovhcloud-order-catalog'}  # cents and the like

# Which page is asked, and how that is taken out: every page is then the first, and none the last.
LOOPS = {
    'vultr-api': (r'cursor=[^&]*', ''), 'linode-api': (r'\bpage=\d+', 'page=1'),
    'azure-retail-prices': (r'\$skip=\d+', '$skip=0'), 'gcp-billing-catalog': (r'&pageToken=.*', ''),
    'aws-ec2-spot-history': (r'&NextToken=[^&]*', ''), 'digitalocean-api': (r'page=2&', ''),
    'scaleway-api': (r'\bpage=\d+', 'page=1'), 'primeintellect-api': (r'\bpage=\d+', 'page=1'),
}
NEBIUS = 'nebius-calculator'  # gRPC: its pages and faults are made by nebius_api.py and h2_front.py
LARGE_MIB = 8  # a message of it, more than the feed's limit
KEYED = {'aws': 'aws-ec2-spot-history', 'gcp': 'gcp-billing-catalog', 'verda': 'verda-account',
         'runpod': 'runpod-rest'}


def scaled(source, data, factor):
    """Every price of an answer, times factor."""
    def whole_and_rest(match):
        nanos = round((int(match[2]) * 10**9 + int(match[4])) * factor)
        return match[1] + b'%d' % (nanos // 10**9) + match[3] + b'%d' % (nanos % 10**9)

    def number(match):
        value = float(match[2]) * factor
        return match[1] + (b'%d' % round(value) if source in WHOLE else b'%.6f' % value)

    if source == 'gcp-billing-catalog':
        return re.sub(rb'("units":")(\d+)(","nanos":)(\d+)', whole_and_rest, data)
    return re.sub(rb'(' + BEFORE_PRICE.get(source, NAMES) + rb')(\d+(?:\.\d+)?)', number, data)


def renamed(data):
    """The same answer after its provider gave every field another name."""
    if data.startswith((b'<', b'\xef')):
        return re.sub(rb'(</?)(\w+)', rb'\1\2V2', data)
    if data.lstrip()[:1] in (b'{', b'[', b'c'):
        return re.sub(rb'"(\w+)"(\s*:)', rb'"\1V2"\2', data)
    return data.replace(b'hour', b'cost').replace(b'PricePerUnit', b'Cost')


class Handler(test_feeds_worker.Handler):
    def source(self, provider, path):
        if provider == 'aws':
            return 'aws-ec2-spot-history' if 'Action=' in path else \
                'aws-spot-page' if path == 'spot.json' else \
                'aws-spot-advisor' if 'advisor' in path else 'aws-price-list'
        if provider == 'gcp':
            return 'gcp-billing-catalog' if path.startswith('v1/') else 'gcloud-compute-com'
        return self.server.sources.get(provider, provider)  # known after the first round

    def find(self, provider, path, body):
        if provider not in replay.PROVIDERS or path.startswith('v2/catalog'):
            return super().find(provider, path, body)
        parts = urllib.parse.urlsplit('/' + path)
        try:
            document = self.server.replay.answer(provider, parts.path, dict(urllib.parse.parse_qsl(parts.query)),
                                                 self, body.encode() or None)
            return 200, json.dumps(document).encode(), None
        except replay.Answer as answer:
            return answer.status, json.dumps(answer.body).encode(), None

    def answer(self, body):
        provider, _, path = self.path.lstrip('/').partition('/')
        if provider == 'ecb':
            return self.send(200, self.server.rate.encode())
        source = self.source(provider, path)
        asked = self.server.asked[source] = self.server.asked.get(source, 0) + 1
        fault, only, after = (*self.server.faults.get(source, (None, '')), 0)[:3]
        fault = fault if re.search(only, path) and asked > after else None
        if fault == 'loop':
            path = re.sub(*LOOPS[source], path)
        status, data, link = self.find(provider, path, body)
        if status == 200:
            data = scaled(source, data, self.server.factor * (100 if fault == 'cents' else 1))
            # Large lists are only fetched when their version is another.
            data = re.sub(rb'(/AmazonEC2/)\d+', rb'\g<1>%d' % (self.server.factor * 1000), data)
        if fault == 'schema':
            data = renamed(data)
        if fault in (None, 'schema', 'cents', 'loop'):
            return self.send(status, data, link)
        return replay.serve_fault(self, {'kind': fault, 'seconds': 6 * SLOWNESS, 'mib': BOMB_MIB}, data)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # clients hang up on faults
            super().handle_error(request, client_address)


class Everything(Worker):
    keyed, handler = True, Handler

    def setUp(self):
        super().setUp()
        self.server = Server(('127.0.0.1', 0), self.handler)
        self.server.replay, self.server.faults, self.server.factor = self.replay, {}, 1.0
        self.server.sources = {}
        day = self.value("select to_char(now() - interval '1 day', 'YYYY-MM-DD')")
        self.server.rate = test_feeds_worker.ECB.format(day)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        base = f'http://127.0.0.1:{self.server.server_port}'
        self.replay.address = base
        replay.gzip_bomb(BOMB_MIB << 20)  # made once, before it is waited for
        providers = [*test_feeds_worker.ACCEPTED, *replay.PROVIDERS] if self.keyed else list(KEYED)
        self.environment.update({
            'GPUPICK_FETCH_ATTEMPTS': '1', 'GPUPICK_FETCH_TIMEOUT_SECONDS': str(round(4 * SLOWNESS)),
            'GPUPICK_PROVIDERS': ','.join(providers), 'GPUPICK_ECB_URL': base + '/ecb'})
        for provider in providers:
            self.environment[f'GPUPICK_{provider.upper()}_URL'] = f'{base}/{provider}'
            needs_key = provider not in test_feeds_worker.WITHOUT_KEY | set(replay.PROVIDERS)
            if needs_key or self.keyed and provider in KEYED:
                self.environment[f'GPUPICK_{provider.upper()}_KEY'] = test_feeds_worker.KEY
        self.nebius = self.front = None
        if self.keyed and nebius_api:
            self.serve_nebius()

    def account(self):
        return nebius_api.committed()

    def serve_nebius(self):
        self.nebius = nebius_api.Server(self.account()).__enter__()
        self.addCleanup(self.nebius.__exit__)
        self.front = h2_front.Front(self.nebius.port, 6 * SLOWNESS).__enter__()
        self.addCleanup(self.front.__exit__)
        self.environment['GPUPICK_PROVIDERS'] += ',nebius'
        self.environment.update({'GPUPICK_NEBIUS_URL': self.front.url, 'GPUPICK_NEBIUS_KEY': nebius_api.TOKEN})

    def set_nebius(self, factor, kind=None, _only='', after=0):
        """The same faults, of gRPC's own kind."""
        codes, large = grpc.StatusCode, bytes(LARGE_MIB << 20)
        told = {'429': codes.RESOURCE_EXHAUSTED, '500': codes.INTERNAL, 'gzip_bomb': large}.get(kind)
        on_way = h2_front.html() if kind == 'html' else \
            kind if kind in ('stall', 'slow', 'reset', 'truncated') else None
        nebius, account = self.nebius, self.nebius.account
        account.factor, account.is_loop = factor * (100 if kind == 'cents' else 1), kind == 'loop'
        nebius.seen.clear()
        nebius.fault = lambda method: told if len(nebius.seen) > after else None
        nebius.change = nebius_api.other_schema if kind == 'schema' else lambda data: data
        self.front.calls = 0
        self.front.fault = lambda call: on_way if call > after else None

    def round(self, factor, faults, status=None):
        """One `ingest --once`; {source: (outcome, detail)}, {source: {row}} and the peak memory in MiB."""
        self.server.factor, self.server.faults, self.server.asked = factor, faults, {}
        if self.nebius:
            self.set_nebius(factor, *faults.get(NEBIUS, ()))
        with open(os.devnull, 'wb') as nowhere:
            child = subprocess.Popen([BINARY, 'ingest', '--once'], env=self.environment, stdout=nowhere,
                                     stderr=self.log)
        self.children.append(child)
        _, ended, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(ended)
        if self.nebius:
            self.server.asked[NEBIUS] = self.front.calls
        self.assertEqual(child.returncode, bool(faults) if status is None else status)
        self.server.sources = dict(self.query('select distinct provider, source from ingest_run'))
        runs = {source: rest for source, *rest in self.query(
            'select distinct on (source) source, outcome, detail from ingest_run order by source, id desc')}
        rows = {}
        for source, *row in self.query("""select source, id, price_micros, availability, quantity, observed_at
                from offer where withdrawn_at is null order by id"""):
            rows.setdefault(source, []).append(row)
        return runs, rows, usage.ru_maxrss / 1024


class Rotating(Everything):
    def check(self, source, fault, factor, run, now, before, first):
        if fault:
            outcomes, detail = FAULTS[fault]
            self.assertIn(run[0], outcomes, run)
            self.assertRegex(run[1], detail)
            self.assertEqual(now, before, 'rows on sale')
            return
        self.assertEqual(run[0], 'ok', run)
        self.assertEqual([row[0] for row in now], [row[0] for row in first], 'offers')
        for new, old in zip(now, first):
            self.assertAlmostEqual(new[1] / old[1], factor, delta=0.015)  # whole cents

    def test_each_fault_at_each_feed(self):
        runs, first, memory = self.round(1.0, {})
        self.assertEqual({run[0] for run in runs.values()}, {'ok'}, runs)
        self.assertEqual(NEBIUS in runs, bool(self.nebius))
        before, peak = first, memory
        kinds = [*FAULTS, None]
        for turn in range(len(kinds)):
            factor = 1 + (turn + 1) * 0.04
            faults = {source: kinds[(place + turn) % len(kinds)] for place, source in enumerate(sorted(runs))}
            faults = {source: fault for source, fault in faults.items()
                      if fault and (fault != 'loop' or source in {*LOOPS, NEBIUS})}
            runs, now, memory = self.round(factor, {source: (fault, '') for source, fault in faults.items()})
            peak = max(peak, memory)
            for source, run in runs.items():
                with self.subTest(source, fault=faults.get(source), turn=turn):
                    self.check(source, faults.get(source), factor, run, now[source], before[source], first[source])
            before = now
        runs, now, memory = self.round(1.6, {})
        for source, run in runs.items():
            with self.subTest(source, fault='recovery'):
                self.check(source, None, 1.6, run, now[source], before[source], first[source])
        self.assertLess(max(peak, memory), RSS_MIB_MAX)
        print(f'peak memory of the worker: {peak:.0f} MiB')


class WithoutKeys(Rotating):
    """The feeds that give way to another when there is a key."""
    keyed = False


class AtOnce(Everything):
    def test_all_feeds_at_once(self):
        runs, first, _ = self.round(1.0, {})
        for fault in ('gzip_bomb', 'stall', 'cents'):
            runs, now, memory = self.round(1.1, {source: (fault, '') for source in runs})
            outcomes, detail = FAULTS[fault]
            for source, run in runs.items():
                with self.subTest(source, fault=fault):
                    self.assertIn(run[0], outcomes, run)
                    self.assertRegex(run[1], detail)
            self.assertEqual(now, first)
            self.assertLess(memory, RSS_MIB_MAX)
            print(f'{fault} everywhere: the worker took {memory:.0f} MiB')

    def test_in_the_middle_of_a_walk(self):
        self.round(1.0, {})
        _, first, _ = self.round(1.0, {})
        # A region of AWS's list that breaks off is another matter: see below.
        walks = {source for source, asked in self.server.asked.items() if asked > 1} - {'aws-price-list'}
        self.assertGreater(len(walks), 10)
        for fault in ('500', 'truncated'):
            runs, now, _ = self.round(1.1, {source: (fault, '', 1) for source in walks})
            for source in walks:
                with self.subTest(source, fault=fault):
                    self.assertIn(runs[source][0], FAULTS[fault][0])
                    self.assertEqual(now[source], first[source])

    def test_one_region_of_a_large_list_keeps_its_prices(self):
        self.environment['GPUPICK_PROVIDERS'] = 'aws-price-list'
        _, first, _ = self.round(1.0, {})
        region = dict(self.query('select id, region from offer'))
        wanted = {name: 1.0 for name in region.values()}
        # What breaks off costs that region its news; what is no list costs the feed its.
        for turn, (fault, outcome) in enumerate((('500', 'ok'), ('429', 'ok'), ('reset', 'ok'), ('truncated', 'ok'),
                                                 ('html', 'parse'), ('schema', 'parse'))):
            factor = 1.04 + turn / 25
            with self.subTest(fault):
                runs, now, _ = self.round(factor, {'aws-price-list': (fault, r'us-east-1/index\.csv')},
                                          outcome != 'ok')
                self.assertEqual(runs['aws-price-list'][0], outcome, runs)
                if outcome == 'ok':
                    wanted.update({name: factor for name in wanted if name != 'us-east-1'})
                for new, old in zip(now['aws-price-list'], first['aws-price-list'], strict=True):
                    self.assertEqual(new[0], old[0])
                    self.assertAlmostEqual(new[1] / old[1], wanted[region[old[0]]], delta=0.001)
                    if region[old[0]] == 'us-east-1':
                        self.assertEqual(new, old, 'with its old date')


if __name__ == '__main__':
    unittest.main(verbosity=2)
