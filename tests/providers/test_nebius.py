#!/usr/bin/python3
"""Nebius through the real worker: a gRPC server, PostgreSQL, the prices.

GPUPICK_BINARY names the program (meson sets it). Skipped where python3-grpcio or python3-protobuf is missing.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import replay  # noqa: E402
import test_feeds_worker  # noqa: E402
from test_feeds_worker import setUpModule, tearDownModule  # noqa: E402,F401

try:
    import grpc
    import nebius_api
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)

ESTIMATE = 'nebius.billing.v1.CalculatorService/EstimateBatch'
PRICES = """select region, instance_type, price_kind, price_micros, accelerator from offer
    where provider = 'nebius' and withdrawn_at is null order by 1, 2, 3"""
COMMITTED = [
    ('eu-north1', 'gpu-h100-sxm_1gpu-16vcpu-200gb', 'on_demand', 2950000, 'H100 SXM5 80GB'),
    ('eu-north1', 'gpu-h100-sxm_8gpu-128vcpu-1600gb', 'on_demand', 23600000, 'H100 SXM5 80GB'),
    ('eu-north1', 'gpu-h100-sxm_8gpu-128vcpu-1600gb', 'spot', 10000000, 'H100 SXM5 80GB'),
    ('eu-north1', 'gpu-x900-pcie_2gpu-8vcpu-64gb', 'on_demand', 3100000, 'gpu-x900-pcie')]


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
                (ESTIMATE, codes.UNIMPLEMENTED, 'http', 'HTTP 501'),
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

    def test_a_server_that_speaks_no_grpc_fails_with_a_reason(self):
        self.environment['GPUPICK_NEBIUS_URL'] = f'http://127.0.0.1:{self.server.server_port}/nebius'
        self.run_program('ingest', '--once', check=1)
        self.assertEqual(self.outcome()[0], 'http')

    @unittest.skipUnless(replay.has_shared(), 'no ../shared/fixtures/providers beside this checkout')
    def test_the_fixture_of_shared_becomes_its_price(self):
        fixture = replay.read_json(replay.SHARED, 'nebius-estimate-constructed.json')
        platform, cost = fixture['_platform'], fixture['hourly_cost']['general']['total']['cost']
        preset = platform['spec']['presets'][0]['name']
        self.nebius(nebius_api.Account(
            [{'metadata': {'id': 'project-a'}, 'status': {'region': 'eu-north1'}}], {'eu-north1': [platform]},
            {(platform['metadata']['name'], preset, is_spot): cost for is_spot in (False, True)}))
        self.run_program('ingest', '--once')
        self.assertEqual(self.query(PRICES), [
            ('eu-north1', 'gpu-h100-sxm_8gpu-128vcpu-1600gb', kind, 23600000, 'H100 SXM5 80GB')
            for kind in ('on_demand', 'spot')])


if __name__ == '__main__':
    unittest.main(verbosity=2)
