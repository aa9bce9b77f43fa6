#!/usr/bin/python3
"""The feeds of test_feeds_*.c through the real worker: their fixtures over HTTP into PostgreSQL.

Each feed is asked for by the URL that it makes up itself, so a path that no rule here knows is a 404.
GPUPICK_BINARY names the program (meson sets it).
"""
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import psycopg2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'store'))
from cluster import Cluster  # noqa: E402

BINARY = os.environ.get('GPUPICK_BINARY', 'gpupick')
SLOWNESS = float(os.environ.get('GPUPICK_TEST_SLOWNESS', '1'))  # of a sanitizer's build
FIXTURES = os.path.join(HERE, 'fixtures')
KEY = 'team:replay-key'

# provider: rows on sale, as in test_feeds_*.c, which takes them apart
ACCEPTED = {
    'scaleway': 6, 'ovhcloud': 4, 'cloudrift': 5, 'verda': 8, 'thunder': 4, 'gcp': 10, 'aws': 7 + 10, 'oci': 6,
    'vast': 10, 'digitalocean': 7, 'hyperstack': 6, 'tensordock': 4, 'cudo': 5, 'hotaisle': 3,
    'jarvislabs': 10, 'seeweb': 5, 'shadeform': 6, 'primeintellect': 5,
}
WITHOUT_KEY = {'scaleway', 'ovhcloud', 'cloudrift', 'verda', 'thunder', 'gcp', 'aws', 'oci'}

# (provider, method, path with query) -> fixture, with what the path's groups held
RULES = [
    ('scaleway', 'GET', r'/instance/v1/zones/([a-z0-9-]+)/products/servers\?per_page=100&page=(\d+)',
     'servers-{0}-{1}.json'),
    ('scaleway', 'GET', r'/instance/v1/zones/([a-z0-9-]+)/products/servers/availability\?per_page=100&page=(\d+)',
     'availability-{0}-{1}.json'),
    ('ovhcloud', 'GET', r'/v1/order/catalog/public/cloud\?ovhSubsidiary=FR', 'catalog.json'),
    ('cloudrift', 'POST', r'/api/v1/instance-types/list', 'instance-types.json'),
    ('verda', 'GET', r'/v1/instance-types\?currency=usd', 'instance-types.json'),
    ('verda', 'POST', r'/v1/oauth2/token', 'token.json'),
    ('verda', 'GET', r'/v1/instance-availability\?is_spot=false', 'stock.json'),
    ('verda', 'GET', r'/v1/instance-availability\?is_spot=true', 'spot-stock.json'),
    ('verda', 'GET', r'/v1/long-term/periods/instances', 'long-term.json'),
    ('runpod', 'GET', r'/v2/catalog/gpus\?include=AVAILABILITY&product=POD', 'gpus.json'),
    ('thunder', 'GET', r'/v2/(pricing|status)', '{0}.json'),
    ('gcp', 'GET', r'/machine-types-regions\.csv', 'machine-types.csv'),
    ('gcp', 'GET', r'/v1/services/6F81-5844-456A/skus\?pageSize=5000&currencyCode=USD', 'skus-1.json'),
    ('gcp', 'GET', r'/v1/services/6F81-5844-456A/skus\?.*&pageToken=a%2Fb%3D%3D', 'skus-2.json'),
    ('aws', 'GET', r'/spot\.json', 'spot.js'),
    ('aws', 'GET', r'/spot-advisor-data\.json', 'advisor.json'),
    ('aws', 'GET', r'/\?Action=DescribeRegions&Version=2016-11-15', 'regions.xml'),
    # A region is known by its signature; only us-east-1 has a second page.
    ('aws', 'GET', r'/\?Action=DescribeSpotPriceHistory&.*&NextToken=a%2Bb%2Fc%3D%26d&.*', 'spot-{region}-2.xml'),
    ('aws', 'GET', r'/\?Action=DescribeSpotPriceHistory&.*', 'spot-{region}-1.xml'),
    ('aws', 'GET', r'/offers/v1\.0/aws/AmazonEC2/current/region_index\.json', 'index.json'),
    ('aws', 'GET', r'/offers/v1\.0/aws/AmazonEC2/\d+/([a-z0-9-]+)/index\.csv', 'region-{0}.csv'),
    ('oci', 'GET', r'/pls/apex/cetools/api/v1/products/\?currencyCode=USD', 'products.json'),
    ('oci', 'GET', r'/a/ocom/docs/cloudestimator2/data/shapes\.json', 'shapes.json'),
    ('vast', 'POST', r'/api/v0/bundles/', None),
    ('digitalocean', 'GET', r'/v2/sizes\?per_page=200', 'sizes-1.json'),
    ('digitalocean', 'GET', r'/v2/sizes\?page=2&per_page=200', 'sizes-2.json'),
    ('hyperstack', 'GET', r'/(?:core/)?(pricebook|flavors|stocks)', '{0}.json'),
    ('tensordock', 'GET', r'/api/v2/locations', 'locations.json'),
    ('cudo', 'GET', r'/v1/vms/machine-types', 'machine-types.json'),
    ('hotaisle', 'GET', r'/api/teams/team/virtual_machines/available/', 'available.json'),
    ('jarvislabs', 'GET', r'/misc/server_meta', 'server-meta.json'),
    ('seeweb', 'GET', r'/ecs/v2/plans', 'plans.json'),
    ('shadeform', 'GET', r'/v1/instances/types\?sort=price', 'instances.json'),
    ('primeintellect', 'GET', r'/api/v1/availability/gpus\?page=(\d+)&page_size=100', 'gpus-{0}.json'),
]
VAST = {'"eq":1': 1, '"gte":2,': 2, '"gte":4,': 3, '"gte":8': 4}
ECB = ('KEY,FREQ,CURRENCY,TIME_PERIOD,OBS_VALUE,OBS_STATUS,TITLE\r\n'
       'EXR.D.USD.EUR.SP00.A,D,USD,{},1.14,A,"US dollar/Euro, daily"\r\n')


def is_signed(handler):
    """AWS's SigV4, computed anew from what came: https://docs.aws.amazon.com/IAM/latest/UserGuide/."""
    match = re.fullmatch(r'AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/ec2/aws4_request, '
                         r'SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})',
                         handler.headers.get('Authorization', ''))
    if not match:
        return False
    user, day, region, names, signature = match.groups()
    path, _, query = handler.path.partition('?')
    headers = ''.join(f'{name}:{handler.headers[name].strip()}\n' for name in names.split(';'))
    canonical = '\n'.join(['GET', path, query, headers, names, hashlib.sha256(b'').hexdigest()])
    text = '\n'.join(['AWS4-HMAC-SHA256', handler.headers['X-Amz-Date'], f'{day}/{region}/ec2/aws4_request',
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b'AWS4replay-key'
    for part in (day, region, 'ec2', 'aws4_request'):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return user == 'team' and hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(),
                                                  signature)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_arguments):
        pass

    def send(self, status, body, link=None):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        if link:
            self.send_header('Link', link)
        self.end_headers()
        self.wfile.write(body)

    def find(self, provider, path, body):
        """(status, body, Link header or None)"""
        for name, method, pattern, fixture in RULES:
            match = re.fullmatch(pattern, '/' + path)
            if name != provider or method != self.command or not match:
                continue
            if name not in WITHOUT_KEY and KEY.split(':')[-1] not in str(self.headers):
                return 404 if name == 'vast' else 401, b'{"error":"no key"}', None
            if 'Action=' in path and not is_signed(self):
                return 403, b'<Response><Errors/></Response>', None
            if not fixture:
                part = next(number for text, number in VAST.items() if text in body)
                fixture = f'gpus-{part}.json'
            region = self.headers.get('Authorization', '').split('/')[2:3]
            file = os.path.join(FIXTURES, name, fixture.format(*match.groups(), region=''.join(region)))
            if not os.path.exists(file):
                break
            link = os.path.splitext(file)[0] + '.link'
            with open(file, 'rb') as stream:
                data = stream.read()
            if os.path.exists(link):
                with open(link, encoding='utf-8') as stream:
                    return 200, data, stream.read().strip()
            return 200, data, None
        return 404, b'{"message":"not found"}', None

    def answer(self, body):
        provider, _, path = self.path.lstrip('/').partition('/')
        self.server.seen.append((provider, self.command, path))
        if provider == 'ecb':
            rate = self.server.rate
            return self.send(200 if rate else 500, (rate or '').encode())
        if self.server.broken and self.server.broken in path:
            return self.send(500, b'{}')
        return self.send(*self.find(provider, path, body))

    def do_GET(self):
        self.answer('')

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers['Content-Length'])).decode())


def setUpModule():
    global cluster, number
    number = 0
    try:
        cluster = Cluster()
    except FileNotFoundError:
        raise unittest.SkipTest('PostgreSQL is not installed')
    cluster.__enter__()


def tearDownModule():
    cluster.__exit__()


class Worker(unittest.TestCase):
    """A database, a server of the fixtures, and the settings that lead to both."""

    def setUp(self):
        global number
        number += 1
        url = cluster.url_of(f'feeds{number}')
        with contextlib.closing(psycopg2.connect(cluster.url)) as connection:
            connection.autocommit = True
            connection.cursor().execute(f'create database feeds{number}')
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.seen, self.server.rate, self.server.broken = [], None, None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        base = f'http://127.0.0.1:{self.server.server_port}'
        self.environment = {
            'PATH': os.environ['PATH'], 'GPUPICK_DATABASE_URL': url, 'GPUPICK_BUNDLED': 'false',
            'GPUPICK_FETCH_ATTEMPTS': '1', 'GPUPICK_PROVIDERS': ','.join(ACCEPTED),
            'GPUPICK_ECB_URL': base + '/ecb'}
        for provider in ACCEPTED:
            self.environment[f'GPUPICK_{provider.upper()}_URL'] = f'{base}/{provider}'
            if provider not in WITHOUT_KEY:
                self.environment[f'GPUPICK_{provider.upper()}_KEY'] = KEY
        self.run_program('migrate')
        self.connection = psycopg2.connect(url)
        self.connection.autocommit = True
        self.addCleanup(self.connection.close)

    def run_program(self, *arguments, check=0, **settings):
        done = subprocess.run([BINARY, *arguments], env={**self.environment, **settings}, text=True,
                              capture_output=True, timeout=120 * SLOWNESS)
        self.assertEqual(done.returncode, check, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def query(self, sql, *parameters):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return cursor.fetchall()


class Feeds(Worker):
    def test_every_feed_lands_in_the_table(self):
        self.server.rate = ECB.format(self.query("select to_char(now() - interval '1 day', 'YYYY-MM-DD')")[0][0])
        self.run_program('ingest', '--once')
        self.assertEqual(dict(self.query("""select provider, count(*) from offer
            where withdrawn_at is null group by 1""")), ACCEPTED)
        self.assertEqual(self.query("""select price_micros, original_currency, original_amount from offer
            where provider = 'scaleway' and instance_type = 'L4-1-24G'"""), [(855000, 'EUR', '0.75')])
        self.assertEqual(self.query("""select price_micros, count_milli from offer
            where provider = 'aws' and instance_type = 'g6f.xlarge'"""), [(71200, 125)])
        self.assertEqual(self.query("""select tier, price_micros from offer
            where provider = 'primeintellect' and instance_type = 'h100x3'"""),
            [('datacrunch/secure_cloud', 4990000)])
        self.assertEqual(self.query("""select interruption_band from offer where source = 'aws-spot-page'
            and instance_type = 'p5.48xlarge'"""), [(5,)])
        # One rate serves the three feeds that quote euros.
        self.assertEqual(sum(provider == 'ecb' for provider, *_ in self.server.seen), 1)
        before = self.query('select version from clock')
        self.server.seen.clear()
        self.run_program('ingest', '--once')
        self.assertEqual(self.query('select version from clock'), before)
        # Large lists whose versions are as they were are not fetched again.
        paths = [path for provider, _, path in self.server.seen if provider == 'aws']
        self.assertTrue(any('region_index' in path for path in paths))
        # What the advisor said an hour ago stands.
        self.assertFalse([path for path in paths if path.endswith('.csv') or 'advisor' in path])

    def test_what_was_recorded_parses_to_what_was_stored(self):
        self.server.rate = ECB.format(self.query("select to_char(now() - interval '1 day', 'YYYY-MM-DD')")[0][0])
        with tempfile.TemporaryDirectory() as folder:
            self.run_program('ingest', '--once', '--record', folder)
            for provider in ACCEPTED:
                names = sorted(name for name in os.listdir(folder) if name.startswith(provider + '-'))
                lists = [name for name in names if name.startswith(('aws-index', 'aws-region'))]
                for feed, files in (('aws-price-list', lists), (provider, [n for n in names if n not in lists])):
                    if not files:
                        continue
                    with self.subTest(feed):
                        done = subprocess.run([BINARY, 'parse', feed, '--euro', '1.14',
                                               *[os.path.join(folder, name) for name in files]],
                                              text=True, capture_output=True, timeout=60 * SLOWNESS)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        rows = list(map(json.loads, done.stdout.splitlines()))
                        self.assertEqual(len({row['source'] for row in rows}), 1)
                        stored = self.query("""select id, price_micros from offer where source = %s
                            and withdrawn_at is null""", rows[0]['source'])
                        self.assertEqual({(int(row['id'], 16), round(row['price_usd_per_hour'] * 1e6)) for row in rows},
                                         {(key % (1 << 64), price) for key, price in stored})

    def test_without_a_rate_feeds_in_euros_fail_and_no_other(self):
        self.run_program('ingest', '--once', check=1, GPUPICK_PROVIDERS='scaleway,verda')
        self.assertEqual(self.query('select provider, outcome from ingest_run order by 1'),
                         [('scaleway', 'http'), ('verda', 'ok')])
        self.assertIn('exchange rate', self.query(
            "select detail from ingest_run where provider = 'scaleway'")[0][0])
        self.assertEqual(self.query("select count(*) from offer where provider = 'scaleway'"), [(0,)])

    def test_spot_prices_do_not_wait_for_the_advisor(self):
        bands = """select distinct interruption_band from offer where source = 'aws-spot-page'
            and instance_type = 'p5.48xlarge'"""
        self.server.broken = 'spot-advisor'
        output = self.run_program('ingest', '--once', GPUPICK_PROVIDERS='aws-spot-page', GPUPICK_FETCH_ATTEMPTS='9')
        self.assertIn('the spot advisor does not answer', output)
        self.assertEqual(self.query(bands), [(None,)])
        self.assertEqual(len([path for _, _, path in self.server.seen if 'advisor' in path]), 1)
        self.server.broken = None
        self.run_program('ingest', '--once', GPUPICK_PROVIDERS='aws-spot-page')
        self.assertEqual(self.query(bands), [(5,)])

    def test_the_accounts_own_spot_prices_replace_those_of_the_page(self):
        spot = """select source, zone, price_micros from offer where provider = 'aws' and price_kind = 'spot'
            and withdrawn_at is null and instance_type = 'p5.48xlarge' order by zone"""
        self.run_program('ingest', '--once', GPUPICK_PROVIDERS='aws')
        self.assertEqual(self.query(spot), [('aws-spot-page', '', 13652400)])
        self.run_program('ingest', '--once', GPUPICK_PROVIDERS='aws', GPUPICK_AWS_KEY=KEY)
        self.assertEqual(self.query(spot), [('aws-ec2-spot-history', 'use1-az4', 25100000),
                                            ('aws-ec2-spot-history', 'use1-az6', 22750000)])
        self.run_program('ingest', '--once', check=1, GPUPICK_PROVIDERS='aws-ec2-spot-history',
                         GPUPICK_AWS_KEY='team:wrong')
        self.assertEqual(self.query("select outcome from ingest_run order by id desc limit 1"), [('auth',)])
        self.assertEqual(len(self.query(spot)), 2)

    def test_the_billing_catalog_replaces_the_mirror(self):
        rows = """select source, count(*) from offer where provider = 'gcp' and withdrawn_at is null group by 1"""
        self.run_program('ingest', '--once', GPUPICK_PROVIDERS='gcp')
        self.assertEqual(self.query(rows), [('gcloud-compute-com', 10)])
        self.run_program('ingest', '--once', GPUPICK_PROVIDERS='gcp', GPUPICK_GCP_KEY=KEY)
        self.assertEqual(self.query(rows), [('gcp-billing-catalog', 21)])
        self.assertNotIn(KEY, str([path for _, _, path in self.server.seen]))

    def test_an_account_tells_where_verda_has_stock_and_its_token_is_not_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_program('ingest', '--once', '--record', folder, GPUPICK_PROVIDERS='verda',
                             GPUPICK_VERDA_KEY='id:secret')
            self.assertEqual(sorted(os.listdir(folder)), [
                'verda-instance-types.json', 'verda-long-term.json', 'verda-spot-stock.json', 'verda-stock.json'])
        self.assertEqual(self.query("""select region, country from offer where availability = 'yes' and
            withdrawn_at is null and instance_type = '1H100.80S.30V' order by 1"""),
            [('FIN-01', 'FI'), ('FIN-03', 'FI')])

    def test_a_bad_key_is_told_as_one(self):
        self.server.rate = ECB.format(self.query("select to_char(now() - interval '1 day', 'YYYY-MM-DD')")[0][0])
        keyed = sorted(set(ACCEPTED) - WITHOUT_KEY)
        self.run_program('ingest', '--once', check=1, GPUPICK_PROVIDERS=','.join(keyed), **{
            f'GPUPICK_{provider.upper()}_KEY': 'team:wrong' for provider in keyed})
        self.assertEqual(self.query('select provider, outcome from ingest_run order by 1'),
                         [(provider, 'auth') for provider in keyed])
        self.assertEqual(self.query('select count(*) from offer'), [(0,)])

    def test_a_rate_of_long_ago_is_none(self):
        self.server.rate = ECB.format('2020-01-02')
        output = self.run_program('ingest', '--once', check=1, GPUPICK_PROVIDERS='ovhcloud')
        self.assertIn('2020-01-02', output)


if __name__ == '__main__':
    unittest.main(verbosity=2)
