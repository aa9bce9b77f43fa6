#!/usr/bin/python3
"""PostgreSQL goes away under load: no request fails, ages grow, prices catch up when it is back."""
import time
import unittest

from deployment import Deployment, Load, PROVIDER, REFRESH_SECONDS, SLOWNESS, wait_until

AWAY_SECONDS = 4
LONGEST_SECONDS = 30  # of one request, on a machine that also runs all the rest
# While it is away, at least. Did requests wait for it, the load's four threads would have one each, or two.
ANSWERS_WHILE_AWAY = 12


class Outage(unittest.TestCase):
    def setUp(self):
        self.deployment = Deployment()
        self.addCleanup(self.deployment.stop)
        self.deployment.start()
        self.deployment.spawn('ingest', 'ingest')
        self.deployment.serve()
        wait_until(self.deployment.prices, 20, 'the first prices')

    def age(self):
        return min(item['age_seconds'] for item in self.deployment.prices().values())

    def check_load(self, load):
        self.assertEqual(load.failures[:3], [])
        self.assertLess(load.slowest, LONGEST_SECONDS * SLOWNESS)

    def hourly(self):
        return {key: item['usd_per_hour'] for key, item in self.deployment.prices().items()}

    def raise_prices(self, before):
        """Every price a tenth up; until a replica shows it."""
        self.deployment.replay.admin(op='scale', provider=PROVIDER, factor=1.1)
        def is_raised():
            now = self.hourly()
            return all(now.get(key, 0) > price * 1.05 for key, price in before.items() if price)
        return is_raised

    def break_and_mend(self, break_it, mend_it):
        before = self.hourly()
        with Load(self.deployment) as load:
            time.sleep(0.5)
            break_it()
            broken, answers = time.monotonic(), load.answers
            age = self.age()
            is_raised = self.raise_prices(before)
            time.sleep(AWAY_SECONDS)
            self.assertEqual(self.hourly(), before)
            self.assertGreaterEqual(self.age(), age + AWAY_SECONDS - 1)
            while load.answers < answers + ANSWERS_WHILE_AWAY and time.monotonic() < broken + 9 * SLOWNESS:
                time.sleep(0.05)
            self.assertGreaterEqual(load.answers, answers + ANSWERS_WHILE_AWAY)
            mend_it()
            mended = time.monotonic()
            # The worker's retry and the replica's back-off are at most a few seconds each.
            wait_until(is_raised, 30, 'prices catch up')
            caught_up = time.monotonic()
            wait_until(lambda: self.age() < AWAY_SECONDS, 10, 'ages shrink')
        self.check_load(load)
        print(f'{load.answers} answers, none failed, slowest {load.slowest * 1000:.0f} ms; away for '
              f'{mended - broken:.1f} s, caught up {caught_up - mended:.1f} s later')

    def test_the_server_is_killed_and_started_again(self):
        self.break_and_mend(lambda: self.deployment.cluster.stop('immediate'),
                            self.deployment.cluster.start)

    def test_the_server_hangs_and_goes_on(self):
        """Connections stay open and nothing answers: only own deadlines help."""
        self.break_and_mend(self.deployment.cluster.pause, self.deployment.cluster.resume)

    def test_a_replica_starts_without_the_database_from_its_file(self):
        before = self.hourly()
        self.assertEqual(self.deployment.kill('serve', 15), 0)
        self.deployment.cluster.stop('immediate')
        self.deployment.address = None
        self.deployment.log.truncate(0)
        self.deployment.serve()
        self.assertEqual(self.hourly(), before)
        self.deployment.cluster.start()
        wait_until(self.raise_prices(before), 30, 'prices catch up')


if __name__ == '__main__':
    unittest.main(verbosity=2)
