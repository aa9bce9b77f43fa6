#!/usr/bin/python3
"""A company's own price lists and discounts through the real worker: watched, replaced, withdrawn."""
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import test_worker  # noqa: E402
from test_worker import Worker, setUpModule, tearDownModule  # noqa: E402,F401

HEADER = 'provider,region,instance_type,accelerator,count,price_usd_per_hour\n'


class Files(Worker):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'pool.csv')
        self.other = os.path.join(folder.name, 'deals.json')
        self.environment['GPUPICK_PRICE_FILES'] = f'{self.path},runpod={self.other}'
        self.write(HEADER + 'pool,berlin,rack-1,H100 SXM5 80GB,8,9.60\npool,berlin,rack-2,L4 24GB,1,0.20\n')
        with open(self.other, 'w', encoding='utf-8') as file:
            json.dump([{'instance_type': 'NVIDIA H100 80GB HBM3', 'accelerator': 'H100 SXM5 80GB', 'count': 1,
                        'price_usd_per_hour': 1.5}], file)

    def write(self, text):
        with open(self.path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.replace(self.path + '.new', self.path)

    def pool(self):
        return dict(self.query("""select instance_type, price_micros from offer
            where provider = 'pool' and withdrawn_at is null"""))

    def test_they_stand_beside_live_prices(self):
        self.once()
        self.assertEqual(self.pool(), {'rack-1': 9600000, 'rack-2': 200000})
        self.assertEqual(self.query("""select source, tier, price_micros from offer where provider = 'runpod'
            and tier = 'file'"""), [('file:deals.json', 'file', 1500000)])
        self.assertGreater(self.value("""select count(*) from offer where provider = 'runpod'
            and source <> 'file:deals.json' and withdrawn_at is null"""), 3)
        self.assertIn('file:pool.csv, pool: ok, 2 rows, 2 taken', self.output)

    def test_a_file_that_changes_is_read_within_seconds(self):
        self.start()
        self.until(lambda: self.pool().get('rack-1') == 9600000, 15, 'the first reading')
        self.write(HEADER + 'pool,berlin,rack-1,H100 SXM5 80GB,8,8.00\n')
        self.until(lambda: self.pool() == {'rack-1': 8000000}, 15, 'the second')

    def outcome(self):
        return self.value("""select outcome from ingest_run where source = 'file:pool.csv'
            order by id desc limit 1""")

    def test_a_file_that_vanishes_is_told_at_once_and_so_is_its_return(self):
        self.start()
        self.until(lambda: self.pool().get('rack-1') == 9600000, 15, 'the first reading')
        self.assertEqual(self.outcome(), 'ok')
        os.rename(self.path, self.path + '.away')
        self.until(lambda: self.outcome() == 'file', 30, 'a run that says so')  # the next look is in 300 s else
        self.assertEqual(len(self.pool()), 2)
        os.rename(self.path + '.away', self.path)  # with its old time of change
        self.until(lambda: self.outcome() == 'ok', 30, 'that it is back')
        # One run each: what is told is not told again at every look.
        self.assertEqual(self.value("""select count(*) from ingest_run where source = 'file:pool.csv'
            and outcome in ('ok', 'file')"""), 3)

    def test_a_broken_file_leaves_the_last_good_rows_and_says_so(self):
        self.once()
        self.write(HEADER.replace('count', 'cuont') + 'pool,berlin,rack-1,H100 SXM5 80GB,8,1\n')
        self.once(check=1)
        self.assertIn('"cuont"', self.output)
        self.assertEqual(len(self.pool()), 2)
        os.unlink(self.path)
        self.once(check=1)
        self.assertIn('pool.csv', self.output)
        self.assertEqual(len(self.pool()), 2)
        self.assertGreater(len(self.on_sale('runpod')), 3)  # feeds go on

    def test_one_bad_row_costs_that_row(self):
        self.write(HEADER + 'pool,,a,H100 SXM5 80GB,8,9.60\npool,,b,H100 SXM5 80GB,eight,9.60\npool,,c,T4,1,-3\n')
        self.once()
        self.assertEqual(set(self.pool()), {'a'})
        self.assertEqual(self.query("""select rows_seen, rows_accepted, rows_rejected from ingest_run
            where source = 'file:pool.csv'"""), [(3, 1, 2)])

    def test_what_is_no_longer_named_is_withdrawn(self):
        self.once()
        self.once(GPUPICK_PRICE_FILES=f'runpod={self.other}')
        self.assertEqual(self.pool(), {})
        self.assertEqual(self.value("select outcome from feed where source = 'file:pool.csv'"), 'removed')
        self.once()
        self.assertEqual(len(self.pool()), 2)
        self.write(HEADER + 'rack,berlin,rack-1,H100 SXM5 80GB,8,9.60\n')
        self.once()
        self.assertEqual(self.pool(), {})
        self.assertEqual(self.value("select count(*) from offer where provider = 'rack'"), 1)

    def test_files_alone_are_enough(self):
        # A feed that lacks its key does not run.
        self.once(GPUPICK_PROVIDERS='hyperstack')
        self.assertEqual(len(self.pool()), 2)

    def test_a_setting_that_is_wrong_stops_the_start(self):
        self.once(check=None, GPUPICK_PRICE_FILES='pool=')
        self.assertIn('GPUPICK_PRICE_FILES', self.output)
        self.once(check=None, GPUPICK_VULTR_DISCOUNT='lots')
        self.assertIn('GPUPICK_VULTR_DISCOUNT', self.output)

    def test_a_discount_is_on_every_price_of_its_kind(self):
        self.once()
        before = dict(self.query("""select id, price_micros from offer where provider = 'vultr'
            and price_kind = 'on_demand' and withdrawn_at is null"""))
        self.once(GPUPICK_VULTR_DISCOUNT='12.5')
        after = self.query("""select id, price_micros, original_amount, price_basis from offer
            where provider = 'vultr' and price_kind = 'on_demand' and withdrawn_at is null""")
        self.assertEqual(len(after), len(before))
        for offer, price, original, basis in after:
            self.assertEqual(price, (before[offer] * 875 + 500) // 1000)
            self.assertAlmostEqual(float(original) * 1e6, before[offer], delta=1)
            self.assertIn('12.5 % off', basis)

    def test_a_discount_is_on_bundled_prices_too(self):
        self.environment['GPUPICK_BUNDLED'] = 'true'
        select = """select instance_type, region, price_kind, price_micros, original_amount from offer
            where provider = 'lambda' and source = 'bundled' and withdrawn_at is null order by 1, 2, 3"""
        self.once(GPUPICK_PROVIDERS='vultr')
        before = self.query(select)
        self.once(GPUPICK_PROVIDERS='vultr', GPUPICK_LAMBDA_DISCOUNT='20')
        after = self.query(select)
        self.assertGreater(len(before), 10)
        self.assertEqual([row[:3] for row in after], [row[:3] for row in before])
        for old, new in zip(before, after):
            self.assertAlmostEqual(new[3], old[3] * 0.8, delta=1)
            self.assertAlmostEqual(float(new[4]) * 1e6, old[3], delta=1)

    def test_settings_of_a_provider_that_there_is_not_are_warned_of(self):
        self.once(check=None, GPUPICK_PROVIDERS='vultr', GPUPICK_LAMDA_DISCOUNT='5', GPUPICK_NOBODY_KEY='x',
                  GPUPICK_NOBODY_KEY_FILE='/x', GPUPICK_VULTR_KEY='y', GPUPICK_FUZZY_URL='')
        warned = {row['name']: row for row in map(json.loads, filter(
            lambda line: '"unknown variable"' in line, self.output.splitlines()))}
        self.assertEqual(set(warned), {'GPUPICK_LAMDA_DISCOUNT', 'GPUPICK_NOBODY_KEY', 'GPUPICK_NOBODY_KEY_FILE',
                                       'GPUPICK_VULTR_KEY'})
        self.assertEqual(warned['GPUPICK_LAMDA_DISCOUNT']['nearest'], 'GPUPICK_LAMBDA_DISCOUNT')
        self.assertIn('takes a key', warned['GPUPICK_VULTR_KEY']['detail'])
        self.assertNotIn('"y"', self.output)


del Worker  # its own tests run in test_worker.py
if __name__ == '__main__':
    unittest.main(verbosity=2)
