#!/usr/bin/python3
"""The real worker, from end to end: `gpupick ingest` against replay.py and a private PostgreSQL.

GPUPICK_BINARY names the program (meson sets it).
"""
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import psycopg2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'store')]
from cluster import Cluster  # noqa: E402
from replay import LAMBDA_KEY, PROVIDERS, Replay, has_shared  # noqa: E402

BINARY = os.environ.get('GPUPICK_BINARY', 'gpupick')
SLOWNESS = float(os.environ.get('GPUPICK_TEST_SLOWNESS', '1'))  # of a sanitizer's build
PATIENCE = 5  # times what an idle machine needs at most: who waits for something loses nothing by it
H100 = 'NVIDIA H100 80GB HBM3'
H100_ROW = """accelerator = 'H100 SXM5 80GB' and provider = 'runpod' and tier = 'secure'
    and price_kind = 'on_demand' and count_milli = {}"""

ADA_ROW = "instance_type = 'g2-gpu-rtx4000a2-hs' and region = 'us-lax'"


def setUpModule():
    global cluster, number
    number = 0
    try:
        cluster = Cluster()
    except FileNotFoundError:
        raise unittest.SkipTest('PostgreSQL is not installed')
    cluster.__enter__()
    create_database('migrated', 'template0')
    subprocess.run([BINARY, 'migrate'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, GPUPICK_DATABASE_URL=cluster.url_of('migrated')))


def create_database(name, template):
    with contextlib.closing(psycopg2.connect(cluster.url)) as connection:
        connection.autocommit = True
        connection.cursor().execute(f'create database {name} template {template}')


def tearDownModule():
    cluster.__exit__()


class Worker(unittest.TestCase):
    fixtures, page_size, bundled = 'committed', 2, 'false'

    def setUp(self):
        global number
        number += 1
        self.url = cluster.url_of(f'test{number}')
        create_database(f'test{number}', 'migrated')
        self.replay = Replay(self.fixtures, page_size=self.page_size)
        self.replay.__enter__()
        self.addCleanup(self.replay.__exit__)
        self.children = []
        self.log = tempfile.TemporaryFile()  # a pipe that nobody reads would fill up
        self.addCleanup(self.log.close)
        self.environment = {'PATH': os.environ['PATH'], 'GPUPICK_DATABASE_URL': self.url,
                            'GPUPICK_FETCH_TIMEOUT_SECONDS': '10', 'GPUPICK_BUNDLED': self.bundled,
                            'GPUPICK_PROVIDERS': ','.join(PROVIDERS),  # and no other: nothing leaves
                            **self.replay.environment()}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.connection = psycopg2.connect(self.url)
        self.connection.autocommit = True
        self.addCleanup(self.connection.close)
        self.addCleanup(self.kill_children)

    def kill_children(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def run_program(self, *arguments, check=0, **settings):
        done = subprocess.run([BINARY, *arguments], env={**self.environment, **settings},
                              capture_output=True, text=True, timeout=120 * SLOWNESS)
        if check is not None:
            self.assertEqual(done.returncode, check, done.stdout + done.stderr)
        self.output = done.stdout + done.stderr
        return done

    def once(self, *arguments, check=0, **settings):
        return self.run_program('ingest', '--once', '--report', *arguments, check=check, **settings)

    def start(self, **settings):
        settings.setdefault('GPUPICK_REFRESH_SECONDS', '1')
        child = subprocess.Popen([BINARY, 'ingest'], env={
            **self.environment, 'GPUPICK_LISTEN': '127.0.0.1:0', 'GPUPICK_OPS_LISTEN': '127.0.0.1:0',
            **settings}, stdout=subprocess.DEVNULL, stderr=self.log)
        self.children.append(child)
        return child

    def query(self, sql, *parameters):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return cursor.fetchall()

    def value(self, sql, *parameters):
        return self.query(sql, *parameters)[0][0]

    def price(self, where):
        return self.value(f'select price_micros from offer where withdrawn_at is null and {where}')

    def outcome(self, provider):
        return self.value('select outcome from ingest_run where provider = %s order by id desc limit 1',
                          provider)

    def on_sale(self, provider):
        return dict(self.query("""select id, price_micros from offer where withdrawn_at is null
            and provider = %s and source <> 'bundled'""", provider))

    def requests(self, provider):
        return [r for r in self.replay.requests if r['provider'] == provider]

    def until(self, condition, seconds, what):
        """Polls; the seconds that it took."""
        start = time.monotonic()
        while time.monotonic() < start + seconds * SLOWNESS * PATIENCE:
            if condition():
                return time.monotonic() - start
            time.sleep(0.05)
        self.fail(f'not within {seconds * SLOWNESS * PATIENCE:g} s: {what}')


class Refresh(Worker):
    def test_all_feeds_land_in_the_table(self):
        self.once()
        # The same rows as in test_providers.c, which takes them apart.
        accepted = dict(self.query("""select provider, count(*) from offer where withdrawn_at is null
            and source <> 'bundled' group by 1"""))
        self.assertEqual(accepted, {'runpod': 56, 'vultr': 14, 'linode': 7, 'azure': 9, 'lambda': 6})
        self.assertEqual(self.price(H100_ROW.format(8000)), 21520000)
        self.assertEqual(self.price("provider = 'azure' and term_months = 12 and tier = ''"), 62926598)
        self.assertEqual(self.query("""select region, availability, country, price_micros from offer
            where instance_type = 'vcg-a100-1c-6g-4vram' order by region"""),
            [('ewr', 'yes', 'US', 123000), ('ord', 'no', 'US', 148000)])
        for provider in PROVIDERS:
            self.assertEqual(self.outcome(provider), 'ok')
            self.assertIn(provider, self.output)
        runs = self.query("select requests, bytes, rows_seen, rows_accepted, rows_rejected, rows_unmapped"
                          " from ingest_run where provider = 'runpod'")
        self.assertEqual(len(runs), 1)
        self.assertEqual(runs[0][0], 1)
        self.assertGreater(runs[0][1], 4000)
        self.assertEqual(runs[0][2:], (62, 56, 6, 1))

    def test_spellings_without_a_rule_are_kept_and_counted(self):
        self.once()
        self.assertEqual(self.query('select provider, spelling, rows from unmapped_accelerator'
                                    " where source <> 'bundled' order by 1, 2"), [
            ('azure', 'Standard_ND128isr_X999_v9', 1), ('lambda', 'Z9 (32 GB)', 1),
            ('linode', 'g3-gpu-rtx4000b1-s', 1), ('runpod', 'NVIDIA X900', 1),
            ('vultr', 'NVIDIA_Z900', 1), ('vultr', 'vbm-112c-2048gb-8-h999-gpu', 1)])
        self.assertEqual(self.query("""select is_mapped, accelerator, price_micros from offer
            where instance_type = 'NVIDIA X900'"""), [(False, 'NVIDIA X900', 1000000)])

    def test_the_same_prices_again_change_nothing(self):
        self.once()
        before = self.query('select version from clock'), self.query('select count(*) from price_change')
        self.once()
        self.assertEqual((self.query('select version from clock'),
                          self.query('select count(*) from price_change')), before)
        self.assertEqual(self.query("""select inserted, changed, unchanged, withdrawn from ingest_run
            where provider = 'runpod' order by id desc limit 1"""), [(0, 0, 56, 0)])

    def test_a_new_price_is_stored_with_its_history(self):
        self.once()
        version = self.value('select version from clock')
        self.replay.admin('set', 'runpod', id=H100, field='securePrice', value=2.99)
        self.once('--provider', 'runpod')
        self.assertEqual(self.price(H100_ROW.format(1000)), 2990000)
        self.assertEqual(self.price(H100_ROW.format(8000)), 23920000)
        changes = self.query(f"""select event, c.price_micros from price_change c join offer o
            on o.id = c.offer_id where {H100_ROW.format(8000)} order by c.version""")
        self.assertEqual(changes, [('listed', 21520000), ('changed', 23920000)])
        self.assertEqual(self.value('select count(*) from price_change where version > %s', version), 8)
        self.assertEqual(len({r['provider'] for r in self.replay.requests[-1:]}), 1)

    def test_what_left_the_market_is_marked_and_may_come_back(self):
        self.once()
        row = self.query("select id, first_seen_at from offer where instance_type = 'NVIDIA L40S'")
        self.replay.admin('remove', 'runpod', id='NVIDIA L40S')
        self.once()
        gone = self.query("""select id, first_seen_at from offer where instance_type = 'NVIDIA L40S'
            and withdrawn_at is not null""")
        self.assertEqual(gone, row)
        self.assertEqual(self.value('select event from price_change where offer_id = %s'
                                    ' order by version desc limit 1', row[0][0]), 'withdrawn')
        self.replay.admin('reset', 'runpod')
        self.once()
        self.assertEqual(self.query("""select id, first_seen_at from offer
            where instance_type = 'NVIDIA L40S' and withdrawn_at is null"""), row)

    def test_azure_links_may_name_its_own_host(self):
        self.replay.admin('links', style='original')
        self.once('--provider', 'azure')
        self.assertEqual(len(self.on_sale('azure')), 9)
        self.assertEqual(len(self.requests('azure')), 11)  # 21 rows by twos

    def test_compressed_answers_are_asked_for_and_read(self):
        self.replay.admin('fault', 'vultr', kind='gzip')
        self.once('--provider', 'vultr')
        self.assertEqual(len(self.on_sale('vultr')), 14)
        self.assertIn('gzip', self.requests('vultr')[0]['encoding'])

    def test_coverage_is_told_against_the_usual(self):
        for _ in range(3):
            self.once('--provider', 'vultr')
        rows = self.value("select rows_accepted from feed where provider = 'vultr'")
        self.assertEqual(self.value("select rows_usual from feed where provider = 'vultr'"), rows)
        self.assertEqual(self.value("select rejections from feed where provider = 'vultr'"),
                         self.value("""select rejections from ingest_run where provider = 'vultr'
                             order by id desc limit 1"""))
        self.replay.admin('keep', 'vultr', count=6)
        self.once('--provider', 'vultr', '--accept')
        self.assertIn('fewer rows than usual', self.output)

    def test_the_report_says_when_each_answer_was_last_seen_live(self):
        self.once()
        rows = {line.split()[0]: line for line in self.output.splitlines()
                if line and line.split()[0] in ('linode', 'runpod')}
        self.assertIn(' 2024-07 ', rows['linode'])
        self.assertIn(' - ', rows['runpod'])

    def test_a_feed_without_its_key_is_left_out(self):
        del self.environment['GPUPICK_LAMBDA_KEY']
        self.once()
        self.assertRegex(self.output, r'lambda +lambda-\S+ +skipped .*no key')
        self.assertEqual(self.requests('lambda'), [])
        self.once('--provider', 'lambda', check=1)
        self.assertIn('GPUPICK_LAMBDA_KEY', self.output)

    def test_a_wrong_key_is_an_outcome_of_its_own_and_no_key_is_ever_printed(self):
        self.once(check=1, GPUPICK_LAMBDA_KEY='wrong-key-of-mine', GPUPICK_LOG_LEVEL='debug')
        self.assertEqual(self.outcome('lambda'), 'auth')
        self.assertNotIn('wrong-key-of-mine', self.output)
        self.once(GPUPICK_LOG_LEVEL='debug')
        self.assertNotIn(LAMBDA_KEY, self.output)

    def test_settings_choose_the_feeds(self):
        self.once(GPUPICK_PROVIDERS='linode,vultr')
        self.assertEqual({r['provider'] for r in self.replay.requests}, {'linode', 'vultr'})
        self.assertNotEqual(self.once(check=None, GPUPICK_PROVIDERS='linode,nobody').returncode, 0)
        self.assertIn('nobody', self.output)

    def test_a_provider_that_stays_down_is_only_probed(self):
        self.replay.admin('fault', 'linode', kind='500')
        self.start(GPUPICK_PROVIDERS='linode', GPUPICK_FETCH_ATTEMPTS='2')
        runs = "select count(*) from ingest_run where provider = 'linode' and outcome = 'http'"
        self.until(lambda: self.value(runs) >= 6, 60, 'six failures')
        requests = self.query("select requests from ingest_run where provider = 'linode' order by id")
        self.assertEqual([r for r, in requests[:6]], [2, 2, 2, 2, 1, 1])
        self.replay.admin('reset', 'linode')
        self.until(lambda: len(self.on_sale('linode')) > 0, 20, 'its return')

    def test_without_a_database_the_worker_says_so(self):
        self.once(check=1, GPUPICK_DATABASE_URL='host=/nonexistent dbname=x')
        self.assertIn('nonexistent', self.output)
        self.once(check=1, GPUPICK_DATABASE_URL='')
        self.assertIn('GPUPICK_DATABASE_URL', self.output)


class Bundled(Worker):
    bundled = 'true'

    def count(self, provider):
        return self.value("""select count(*) from offer where provider = %s and source = 'bundled'
            and withdrawn_at is null""", provider)

    def test_it_stands_in_until_a_live_price_is_there(self):
        for provider in PROVIDERS:
            self.replay.admin('fault', provider, kind='404')
        self.once(check=1)
        self.assertGreater(self.count('azure'), 20)
        self.assertGreater(self.count('aws'), 20)
        oldest = self.value("select min(observed_at) from offer where source = 'bundled'")
        self.assertGreaterEqual(oldest.year, 2025)
        self.replay.admin('reset')
        self.once()
        self.assertEqual(self.count('azure'), 0)
        self.assertEqual(self.count('lambda'), 0)
        self.assertGreater(self.count('aws'), 20)
        self.once()
        self.assertEqual(self.count('azure'), 0)

    def test_it_can_be_left_out(self):
        self.once(GPUPICK_BUNDLED='false')
        self.assertEqual(self.value("select count(*) from offer where source = 'bundled'"), 0)


# What each fault must be called; all but the last keep the old rows.
FAULTS = [
    ('500', 'http'), ('404', 'http'), ('403', 'auth'), ('429', 'rate_limited'), ('html', 'parse'),
    ('wrong_type', 'parse'), ('truncated', 'http'), ('chunked', 'http'), ('silent', 'http'),
    ('gzip_bomb', 'http'), ('huge', 'http'), ('gzip_cut', ('parse', 'http')), ('stall', 'timeout'),
    ('redirect', 'http'),
]


class Faults(Worker):
    def test_each_fault_fails_its_feed_alone_and_leaves_its_prices(self):
        self.once()
        before = self.on_sale('runpod')
        cents = 2
        for kind, expected in FAULTS:
            cents += 1
            self.replay.admin('reset')
            self.replay.admin('fault', 'runpod', kind=kind)
            self.replay.admin('set', 'lambda', id='gpu_1x_a10', field='instance_type.price_cents_per_hour',
                              value=70 + cents)
            with self.subTest(kind):
                self.once(check=1, GPUPICK_FETCH_ATTEMPTS='1',
                          GPUPICK_FETCH_TIMEOUT_SECONDS='5' if kind == 'stall' else '20')
                self.assertIn(self.outcome('runpod'), expected if isinstance(expected, tuple) else (expected,))
                self.assertEqual(self.on_sale('runpod'), before)
                self.assertEqual(self.price("provider = 'lambda' and accelerator = 'A10 24GB'"),
                                 (70 + cents) * 10000)
        failed, succeeded = self.query("select last_attempt_at, last_success_at from feed"
                                       " where provider = 'runpod' and source <> 'bundled'")[0]
        self.assertGreater(failed, succeeded)

    def test_one_broken_row_does_not_sink_a_feed(self):
        for provider in PROVIDERS:
            self.replay.admin('fault', provider, kind='broken_row', times=1)
        self.once()
        for provider in PROVIDERS:
            self.assertEqual(self.outcome(provider), 'ok')
        # Its first row was the H100's, with 48 of the 56 offers.
        self.assertEqual(len(self.on_sale('runpod')), 8)
        self.assertEqual(self.value("select rows_rejected from ingest_run where provider = 'runpod'"), 7)

    def test_passing_faults_are_ridden_out(self):
        for provider, kind in (('runpod', '500'), ('vultr', '503'), ('linode', 'truncated'),
                               ('azure', 'silent'), ('lambda', '429')):
            self.replay.admin('fault', provider, kind=kind, times=2)
        self.once()
        for provider in PROVIDERS:
            self.assertEqual(self.outcome(provider), 'ok')
        times = [r['at'] for r in self.requests('runpod')]
        self.assertEqual(len(times), 3)
        # 0.5 and 1 s, less up to half
        self.assertGreater(times[1] - times[0], 0.2)
        self.assertGreater(times[2] - times[1], 0.45)

    def test_retry_after_is_honoured_as_seconds_and_as_a_date(self):
        self.replay.admin('fault', 'runpod', kind='429', times=1, retry_after='2')
        self.replay.admin('fault', 'lambda', kind='503', times=1, retry_after='date+3')
        self.once()
        first, second = [r['at'] for r in self.requests('runpod')]
        self.assertGreaterEqual(second - first, 2)
        first, second = [r['at'] for r in self.requests('lambda')]
        self.assertGreater(second - first, 1.9)  # dates have whole seconds

    def test_a_long_retry_after_is_not_waited_for(self):
        self.replay.admin('fault', 'runpod', kind='429', retry_after='3600')
        start = time.monotonic()
        self.once('--provider', 'runpod', check=1)
        self.assertLess(time.monotonic() - start, 5 * SLOWNESS)
        self.assertEqual(len(self.requests('runpod')), 1)
        self.assertEqual(self.outcome('runpod'), 'rate_limited')

    def test_a_refresh_is_all_or_nothing(self):
        self.once()
        before = self.on_sale('vultr')
        self.replay.admin('set', 'vultr', id='vcg-a16-2c-8g-2vram', field='hourly_cost', value=0.06)
        self.replay.admin('fault', 'vultr', kind='500', path='plans-metal')
        self.once(check=1, GPUPICK_FETCH_ATTEMPTS='1')
        self.assertEqual(self.on_sale('vultr'), before)

    def test_stock_that_cannot_be_asked_for_is_unknown(self):
        self.replay.admin('fault', 'vultr', kind='404', path='ewr')
        self.once('--provider', 'vultr')
        self.assertEqual(self.query("""select distinct region, availability from offer
            where provider = 'vultr' and region in ('ewr', 'ord') and price_kind = 'on_demand' and
            instance_type like 'vbm%%' and source = 'vultr-api'"""
                                    .replace('%%', '%')), [('ewr', 'unknown'), ('ord', 'yes')])


class Guard(Worker):
    def test_a_jump_waits_for_a_second_refresh(self):
        self.once()
        observed = f"""select observed_at from offer where {H100_ROW.format(8000)}"""
        first = self.value(observed)
        self.replay.admin('set', 'runpod', id='NVIDIA L40S', field='securePrice', value=8.6)
        self.once('--provider', 'runpod')
        self.assertEqual(self.price("instance_type = 'NVIDIA L40S' and provider = 'runpod'"), 860000)
        self.assertIn('moved over threefold', self.output)
        self.once('--provider', 'runpod')
        self.assertEqual(self.price("instance_type = 'NVIDIA L40S' and provider = 'runpod'"), 8600000)
        self.assertGreaterEqual(self.value(observed), first)

    def test_an_absurd_price_leaves_the_last_good_one_for_one_refresh(self):
        self.once()
        before = self.on_sale('linode')
        observed = f'select observed_at from offer where {ADA_ROW}'
        first = self.value(observed)
        self.replay.admin('set', 'linode', id='g2-gpu-rtx4000a2-hs', field='price.hourly', value=104)
        self.once('--provider', 'linode')
        self.assertEqual(self.on_sale('linode'), before)
        self.assertEqual(self.value(observed), first)
        self.assertIn('absurd_price', self.value("select rejections from feed where source = 'linode-api'"))
        self.once('--provider', 'linode')
        self.assertEqual(len(self.on_sale('linode')), len(before) - 1)
        self.replay.admin('reset', 'linode')
        self.once('--provider', 'linode')
        self.assertEqual(self.on_sale('linode'), before)

    def test_tenfold_prices_are_held_until_three_refreshes_agree(self):
        self.once()
        before = self.on_sale('linode')
        self.replay.admin('scale', 'linode', factor=10)
        for expected in ('held', 'held', 'ok'):
            self.once('--provider', 'linode', check=expected != 'ok')
            self.assertEqual(self.outcome('linode'), expected)
            if expected == 'held':
                self.assertEqual(self.on_sale('linode'), before)
                self.assertIn('moved tenfold', self.output)
        self.assertEqual(self.price(ADA_ROW), 10400000)

    def test_an_operator_may_accept_what_is_held(self):
        self.once()
        self.replay.admin('scale', 'linode', factor=10)
        self.once('--provider', 'linode', check=1)
        self.once('--provider', 'linode', '--accept')
        self.assertEqual(self.price(ADA_ROW), 10400000)
        self.assertEqual(self.value("select guard from feed where source = 'linode-api'"), '')

    def test_an_empty_refresh_is_no_news(self):
        self.once()
        before = self.on_sale('runpod')
        self.replay.admin('keep', 'runpod', count=0)
        self.once(check=1)
        self.assertEqual(self.outcome('runpod'), 'empty')
        self.assertEqual(self.on_sale('runpod'), before)
        self.assertEqual(self.outcome('vultr'), 'ok')

    def test_a_halved_refresh_is_held(self):
        self.once()
        before = self.on_sale('azure')
        self.replay.admin('keep', 'azure', count=2)
        self.once(check=1)
        self.assertEqual(self.outcome('azure'), 'held')
        self.assertEqual(self.on_sale('azure'), before)


class Recording(Worker):
    def test_a_recording_parses_to_the_rows_that_were_stored(self):
        with tempfile.TemporaryDirectory() as folder:
            self.once('--record', os.path.join(folder, 'raw'))
            folder = os.path.join(folder, 'raw')
            for provider in PROVIDERS:
                files = sorted(os.path.join(folder, name) for name in os.listdir(folder)
                               if name.startswith(provider + '-'))
                lines = self.run_program('parse', provider, *files).stdout.splitlines()
                parsed = {int(row['id'], 16): round(row['price_usd_per_hour'] * 1e6)
                          for row in map(json.loads, lines)}
                stored = {key % (1 << 64): price for key, price in self.on_sale(provider).items()}
                self.assertEqual(parsed, stored, provider)
            with open(os.path.join(folder, 'runpod-gputypes.json'), encoding='utf-8') as file:
                self.assertEqual(len(json.load(file)['data']['gpuTypes']), 11)

    def test_parse_reads_standard_input_and_names_what_is_wrong(self):
        with open(os.path.join(HERE, 'fixtures', 'lambda', 'instance-types.json'), 'rb') as file:
            done = subprocess.run([BINARY, 'parse', 'lambda'], stdin=file, capture_output=True, text=True,
                                  env=self.environment, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 6)
        self.assertIn('unmapped: "Z9 (32 GB)"', done.stderr)
        self.run_program('parse', 'nobody', check=2)
        self.assertIn('runpod', self.output)
        self.run_program('parse', 'runpod', '/nonexistent.json', check=1)
        self.run_program('parse', 'vultr', '--page', 'moon', check=1)
        self.assertIn('moon', self.output)

    def test_parse_takes_the_rate_of_the_euro(self):
        catalog = os.path.join(HERE, 'fixtures', 'ovhcloud', 'catalog.json')

        def prices(*options):
            lines = self.run_program('parse', 'ovhcloud', *options, catalog).stdout.splitlines()
            return {(row['original_amount'], row['price_usd_per_hour'], row['price_basis'])
                    for row in map(json.loads, lines) if row['instance_type'] == 'h100-380'}
        self.assertEqual(prices('--euro', '1.25'), {('2.799999', 3.499999, 'instance, EUR at 1.2500 USD (as given)')})
        self.assertIn('4 prices at 1.25 USD a euro', self.output)
        self.assertEqual(prices(), set())
        self.assertIn('--euro', self.output)
        for rate in ('0', '-1', 'much', ''):
            self.run_program('parse', 'ovhcloud', '--euro', rate, catalog, check=1)
            self.assertIn('dollars of a euro', self.output)


class Schedule(Worker):
    page_size = 500

    def settled(self, child):
        self.until(lambda: len(self.on_sale('runpod')) == 56, 15, 'first refresh')
        self.assertIsNone(child.poll())

    def test_a_new_price_appears_within_the_period_and_two_seconds(self):
        child = self.start()
        self.settled(child)
        took = []
        # Whatever else the machine does can only delay: the quickest tells what the worker needs.
        for dollars in (2.99, 3.01, 3.03, 3.05):
            self.replay.admin('set', 'runpod', id=H100, field='securePrice', value=dollars)
            took.append(self.until(lambda: self.price(H100_ROW.format(8000)) == round(dollars * 8e6), 20, 'new price'))
        self.assertLess(min(took), (1 + 2) * SLOWNESS)
        child.terminate()
        self.assertEqual(child.wait(5 * SLOWNESS), 0)

    def test_it_stops_promptly_while_a_provider_hangs(self):
        self.replay.admin('fault', 'vultr', kind='stall', seconds=300)
        child = self.start(GPUPICK_FETCH_TIMEOUT_SECONDS='300')
        self.settled(child)  # and the hanging feed holds up no other
        self.assertTrue(self.requests('vultr'))
        start = time.monotonic()
        child.terminate()
        self.assertEqual(child.wait(10 * SLOWNESS), 0)
        self.assertLess(time.monotonic() - start, 4 * SLOWNESS)

    def test_a_failing_feed_is_asked_no_more_than_others_and_they_go_on(self):
        self.replay.admin('fault', 'vultr', kind='404')
        child = self.start()
        self.settled(child)
        self.until(lambda: len(self.requests('runpod')) >= 5, 15, 'further refreshes')
        self.assertEqual(self.outcome('vultr'), 'http')
        # A request a refresh: one that failed for good is not tried again within it.
        self.assertLessEqual(len(self.requests('vultr')), 2 * len(self.requests('runpod')))

    def test_one_leads_and_the_spare_takes_over(self):
        leader = self.start()
        self.settled(leader)
        spare = self.start()
        self.until(lambda: self.value("""select count(*) from pg_stat_activity
            where application_name = 'gpupick ingest' and datname = current_database()""") == 2, 15, 'two workers')
        before = len(self.requests('runpod'))
        self.until(lambda: len(self.requests('runpod')) >= before + 9, 25, 'nine refreshes')
        asked = [r['at'] for r in self.requests('runpod')][before:]
        gaps = sorted(later - earlier for earlier, later in zip(asked, asked[1:]))
        # A period of 1 s, less a tenth: of two workers half of the gaps would be under half of that.
        self.assertGreater(gaps[len(gaps) // 2], 0.7)
        leader.send_signal(signal.SIGKILL)
        leader.wait()
        self.replay.admin('set', 'runpod', id=H100, field='securePrice', value=2.99)
        self.until(lambda: self.price(H100_ROW.format(8000)) == 23920000, 12, 'take-over')
        self.assertIsNone(spare.poll())

    def test_killed_at_any_moment_it_leaves_one_whole_set(self):
        self.once()
        ids = set(self.on_sale('runpod'))
        dice = random.Random(7)
        for turn in range(12):
            price = 2.0 + turn / 100
            self.replay.admin('set', 'runpod', id=H100, field='securePrice', value=price)
            child = self.start(GPUPICK_PROVIDERS='runpod', GPUPICK_BUNDLED='false')
            time.sleep(dice.uniform(0.02, 0.25) * SLOWNESS)
            child.send_signal(signal.SIGKILL)
            child.wait()
            rows = self.query(f"""select count_milli, price_micros from offer where {H100_ROW.format(1000)
                .replace('count_milli = 1000', 'true')} and withdrawn_at is null""")
            self.assertEqual(len(rows), 8)
            self.assertEqual(len({micros * 1000 // count for count, micros in rows}), 1, 'a mix of sets')
            self.assertEqual(set(self.on_sale('runpod')), ids)

    def test_it_outlives_its_database(self):
        child = self.start()
        self.settled(child)
        cluster.stop()
        time.sleep(2)
        self.assertIsNone(child.poll())
        self.replay.admin('set', 'runpod', id=H100, field='securePrice', value=2.99)
        cluster.start()
        self.connection = psycopg2.connect(self.url)
        self.connection.autocommit = True
        self.until(lambda: self.price(H100_ROW.format(8000)) == 23920000, 15, 'prices after a restart')


@unittest.skipUnless(has_shared(), 'no ../shared/fixtures/providers beside this checkout')
class Shared(Worker):
    fixtures, page_size = 'shared', 3

    def test_the_recorded_answers_become_the_right_prices(self):
        self.once()
        self.assertEqual(self.price(H100_ROW.format(8000)), 21520000)  # 8 x 2.69
        rows = self.query("""select instance_type, region, count_milli, accelerator, price_micros,
            availability from offer where withdrawn_at is null and source <> 'bundled'
            and price_kind = 'on_demand' and tier <> 'community'""")
        table = {(kind, region, count): rest for kind, region, count, *rest in rows}
        self.assertEqual(table['NVIDIA B200', '', 8000], ['B200 SXM 180GB', 47840000, 'no'])
        self.assertEqual(table['vcg-a100-6c-60g-40vram', 'ewr', 500][:2], ['A100 PCIe 80GB', 1397000])
        self.assertEqual(table['vbm-112c-2048gb-8-h100-gpu', 'sea', 8000][:2], ['H100 SXM5 80GB', 23920000])
        self.assertEqual(table['g1-gpu-rtx6000-4', 'us-lax', 4000],
                         ['Quadro RTX 6000 24GB', 6000000, 'no'])
        self.assertEqual(table['Standard_NC40ads_H100_v5', 'eastus', 1000],
                         ['H100 NVL 94GB', 6980000, 'unknown'])
        self.assertEqual(table['gpu_8x_h100_sxm5gdr', 'us-west-1', 8000],
                         ['H100 SXM5 80GB', 35920000, 'yes'])
        self.assertEqual(table['gpu_8x_v100', '', 8000], ['V100 SXM2 16GB', 4400000, 'no'])
        self.assertEqual(self.value("select count(*) from unmapped_accelerator where source <> 'bundled'"), 0)


if __name__ == '__main__':
    unittest.main(verbosity=2)
