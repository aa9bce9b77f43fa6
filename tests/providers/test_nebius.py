#!/usr/bin/python3
"""Nebius through the real worker: a gRPC server, PostgreSQL, the prices.

GPUPICK_BINARY names the program (meson sets it). Skipped where python3-grpcio or python3-protobuf is missing.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import test_feeds_worker  # noqa: E402
from test_feeds_worker import setUpModule, tearDownModule  # noqa: E402,F401

try:
    import grpc
    import h2_front
    import nebius_api
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)

ESTIMATE = 'nebius.billing.v1.CalculatorService/EstimateBatch'
GRPC, OK = h2_front.field(b'content-type', b'application/grpc'), h2_front.field(b'grpc-status', b'0')
MESSAGE = b'\0\0\0\0\2\x0a\0'  # a list of one tenant about which nothing is told
DETAILS, YEARS = (base64.b64encode(nebius_api.retry_details(grpc.StatusCode.RESOURCE_EXHAUSTED, seconds, False))
                  for seconds in (2.5, 1 << 62))
PRICES = """select region, instance_type, price_kind, price_micros, accelerator from offer
    where provider = 'nebius' and withdrawn_at is null order by 1, 2, 3"""
COMMITTED = [
    ('eu-north1', 'gpu-h100-sxm_1gpu-16vcpu-200gb', 'on_demand', 2950000, 'H100 SXM5 80GB'),
    ('eu-north1', 'gpu-h100-sxm_8gpu-128vcpu-1600gb', 'on_demand', 23600000, 'H100 SXM5 80GB'),
    ('eu-north1', 'gpu-h100-sxm_8gpu-128vcpu-1600gb', 'spot', 10000000, 'H100 SXM5 80GB'),
    ('eu-north1', 'gpu-x900-pcie_2gpu-8vcpu-64gb', 'on_demand', 3100000, 'gpu-x900-pcie')]


def refused(details):
    return h2_front.field(b'grpc-status', b'8') + h2_front.field(b'grpc-status-details-bin', details)


class Nebius(test_feeds_worker.Worker):
    def setUp(self):
        super().setUp()
        self.environment['GPUPICK_PROVIDERS'] = 'nebius'
        self.environment['GPUPICK_NEBIUS_KEY'] = nebius_api.TOKEN

    def nebius(self, account):
        server = nebius_api.Server(account).__enter__()
        self.addCleanup(server.__exit__)
        self.environment['GPUPICK_NEBIUS_URL'] = server.url
        return server

    def outcome(self):
        return self.query('select outcome, detail from ingest_run order by id desc limit 1')[0]

    def test_every_preset_lands_in_the_table(self):
        server = self.nebius(nebius_api.committed())
        self.run_program('ingest', '--once')
        self.assertEqual(self.query(PRICES), COMMITTED)
        calls = [method for method, _ in server.seen]
        # The tenant, two pages of projects, two of one region's platforms and one of the other's, six prices.
        self.assertEqual([len([1 for call in calls if call == method]) for method in nebius_api.METHODS],
                         [0, 1, 2, 3, 6])
        before = self.query('select version from clock')
        self.run_program('ingest', '--once')
        self.assertEqual(self.query('select version from clock'), before)

    def test_a_service_account_signs_for_its_token_which_is_not_recorded(self):
        account = nebius_api.committed()
        server = self.nebius(account)
        with tempfile.TemporaryDirectory() as folder:
            def openssl(*arguments):
                return subprocess.run(['openssl', *arguments], check=True, capture_output=True, cwd=folder).stdout
            openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', 'key.pem')
            account.public_key = openssl('pkey', '-in', 'key.pem', '-pubout')
            with open(os.path.join(folder, 'key.pem'), encoding='utf-8') as file:
                credentials = {'alg': 'RS256', 'private-key': file.read(), 'kid': 'publickey-1',
                               'iss': 'serviceaccount-1', 'sub': 'serviceaccount-1'}
            path, record = os.path.join(folder, 'credentials.json'), os.path.join(folder, 'record')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'subject-credentials': credentials}, file)
            del self.environment['GPUPICK_NEBIUS_KEY']
            self.run_program('ingest', '--once', '--record', record, GPUPICK_NEBIUS_KEY_FILE=path)
            self.assertEqual(self.query(PRICES), COMMITTED)
            names = sorted(os.listdir(record))
            self.assertIn('nebius-tenants.json', names)
            self.assertFalse([name for name in names if 'token' in name])
            # What was recorded parses again to the same.
            done = subprocess.run([test_feeds_worker.BINARY, 'parse', 'nebius',
                                   *[os.path.join(record, name) for name in names]],
                                  text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(row['price_usd_per_hour'] for row in map(json.loads, done.stdout.splitlines())),
                             sorted(price / 1e6 for *_, price, _ in COMMITTED))
            self.assertIn('2 refused: no_price', done.stderr)
            server.seen.clear()
            credentials['kid'] = 'publickey-2'
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'subject-credentials': credentials}, file)
            self.run_program('ingest', '--once', check=1, GPUPICK_NEBIUS_KEY_FILE=path)
            self.assertEqual(self.outcome()[0], 'auth')
            self.assertEqual(len(server.seen), 1)

    def test_what_a_call_ends_with_is_the_reason(self):
        server = self.nebius(nebius_api.committed())
        self.run_program('ingest', '--once')
        codes = grpc.StatusCode
        whole = nebius_api.message('Estimates', nebius_api.estimate('1')).SerializeToString()
        for method, answer, outcome, detail in [
                ('', codes.UNAUTHENTICATED, 'auth', 'gRPC status 16: as the test asked'),
                ('', codes.PERMISSION_DENIED, 'auth', 'gRPC status 7'),
                ('', codes.RESOURCE_EXHAUSTED, 'rate_limited', 'gRPC status 8'),
                ('', codes.UNAVAILABLE, 'http', 'HTTP 503'),
                ('', codes.DEADLINE_EXCEEDED, 'http', 'HTTP 504, gRPC status 4'),
                (ESTIMATE, codes.UNIMPLEMENTED, 'http', 'HTTP 501'),
                # Nobody's word on a price: a row must not go for it.
                (ESTIMATE, codes.ABORTED, 'http', 'HTTP 409, gRPC status 10'),
                (ESTIMATE, codes.CANCELLED, 'http', 'HTTP 499, gRPC status 1'),
                (ESTIMATE, (codes.RESOURCE_EXHAUSTED, 3600), 'rate_limited', 'HTTP 429, gRPC status 8'),
                (ESTIMATE, codes.PERMISSION_DENIED, 'parse', 'may not use the calculator'),
                (ESTIMATE, codes.NOT_FOUND, 'empty', '4 rows'),
                (ESTIMATE, whole[:-1], 'parse', 'no protobuf'),
                ('', b'<html>', 'parse', 'no protobuf'),
                (ESTIMATE, b'', 'empty', '4 rows')]:
            with self.subTest(f'{method} {answer}'):
                server.fault = lambda asked, m=method, a=answer: a if asked.endswith(m) else None
                self.run_program('ingest', '--once', check=1)
                self.assertEqual(self.outcome()[0], outcome, self.outcome())
                self.assertIn(detail, self.outcome()[1])
                self.assertEqual(self.query(PRICES), COMMITTED)
        server.fault = lambda method: None
        self.run_program('ingest', '--once')

    def test_a_region_that_nobody_knows_is_sold_without_a_country(self):
        account = nebius_api.committed()
        account.projects.append({'metadata': {'id': 'project-d'}, 'status': {'region': 'us-somewhere9'}})
        account.platforms['us-somewhere9'] = account.platforms['eu-north1'][:1]
        self.nebius(account)
        self.run_program('ingest', '--once')
        self.assertEqual(self.query("""select region, country, count(*) from offer where provider = 'nebius'
            group by 1, 2 order by 1"""), [('eu-north1', 'FI', 4), ('us-somewhere9', '', 3)])

    def test_the_servers_word_on_when_to_ask_again_is_kept(self):
        server, asked = self.nebius(nebius_api.committed()), []

        def refuse_once(_method):
            asked.append(time.monotonic())
            return (grpc.StatusCode.RESOURCE_EXHAUSTED, 2.5) if len(asked) == 1 else None
        server.fault = refuse_once
        self.run_program('ingest', '--once', GPUPICK_FETCH_ATTEMPTS='2')
        self.assertEqual(self.query(PRICES), COMMITTED)
        self.assertGreaterEqual(asked[1] - asked[0], 2.5)  # half a second where nothing is said
        # What is too long to wait for within a refresh is the next one's.
        server.seen.clear()
        server.fault = lambda method: (grpc.StatusCode.RESOURCE_EXHAUSTED, 3600)
        self.run_program('ingest', '--once', check=1, GPUPICK_FETCH_ATTEMPTS='9')
        self.assertEqual(len(server.seen), 1)

    def test_what_no_grpc_server_would_say_is_told_as_it_is(self):
        account = nebius_api.committed()
        server = self.nebius(account)
        self.run_program('ingest', '--once')
        front = h2_front.Front(server.port).__enter__()
        self.addCleanup(front.__exit__)
        self.environment['GPUPICK_NEBIUS_URL'] = front.url
        self.run_program('ingest', '--once')  # the front itself changes nothing
        bomb = bytes(100 << 20)
        for what, answer, outcome, detail in [
                ('a page', h2_front.html(), 'parse', '"text/html", no gRPC message'),
                ('a page without HTTP/2', h2_front.html_of_http1(), 'http', 'tenants: '),
                ('compressed', h2_front.compressed(b'x' * 1000), 'parse', 'compressed, unasked'),
                ('a bomb', h2_front.compressed(bomb), 'parse', 'compressed, unasked'),
                ('no status', h2_front.answer(GRPC, MESSAGE), 'http', 'ends without a status'),
                ('half a message', h2_front.answer(GRPC, MESSAGE[:-1], OK), 'http', 'not one whole message'),
                ('half a frame', h2_front.answer(GRPC, MESSAGE[:3], OK), 'http', 'not one whole message'),
                ('details that are none', h2_front.answer(GRPC, b'', refused(b'%%%')), 'rate_limited', 'status 8'),
                ('half of details', h2_front.answer(GRPC, b'', refused(DETAILS[:-9])), 'rate_limited', 'status 8'),
                ('a delay of years', h2_front.answer(GRPC, b'', refused(YEARS)), 'rate_limited', 'status 8'),
                ('a status that is none', h2_front.answer(GRPC, MESSAGE, h2_front.field(b'grpc-status', b'OK')),
                 'http', 'ends without a status'),
                ('a status that is not known', h2_front.answer(GRPC, MESSAGE, h2_front.field(b'grpc-status', b'99')),
                 'http', 'HTTP 500, gRPC status 99'),
                ('two messages', h2_front.answer(GRPC, MESSAGE * 2, OK), 'http', 'not one whole message')]:
            with self.subTest(what):
                front.fault = lambda call, answer=answer: answer
                self.run_program('ingest', '--once', check=1)
                self.assertEqual(self.outcome()[0], outcome, self.outcome())
                self.assertIn(detail, self.outcome()[1])
                self.assertEqual(self.query(PRICES), COMMITTED)
        # The server that this file's neighbours have: HTTP/1 alone.
        self.environment['GPUPICK_NEBIUS_URL'] = f'http://127.0.0.1:{self.server.server_port}/nebius'
        self.run_program('ingest', '--once', check=1)
        self.assertEqual(self.outcome()[0], 'http')

    def test_lists_without_an_end_and_other_schemas_cost_no_price(self):
        account = nebius_api.committed()
        server = self.nebius(account)
        self.run_program('ingest', '--once')
        for what, outcome, detail in [('is_loop', 'parse', 'asked before'), ('is_endless', 'parse', 'over 64 pages')]:
            with self.subTest(what):
                setattr(account, what, True)
                self.run_program('ingest', '--once', check=1)
                self.assertEqual(self.outcome()[0], outcome, self.outcome())
                self.assertIn(detail, self.outcome()[1])
                setattr(account, what, False)
        for method, outcome, detail in [('TenantService/List', 'parse', 'opens 0 tenants'),
                                        ('ProjectService/List', 'parse', 'no project with a region'),
                                        ('PlatformService/List', 'empty', '4 rows'),
                                        (ESTIMATE, 'empty', '4 rows')]:
            with self.subTest(method):
                server.change = lambda data, m=method: \
                    nebius_api.other_schema(data) if server.seen[-1][0].endswith(m) else data
                self.run_program('ingest', '--once', check=1)
                self.assertEqual(self.outcome()[0], outcome, self.outcome())
                self.assertIn(detail, self.outcome()[1])
        self.assertEqual(self.query(PRICES), COMMITTED)


if __name__ == '__main__':
    unittest.main(verbosity=2)
