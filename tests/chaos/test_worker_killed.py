#!/usr/bin/python3
"""The worker dies in the middle of a refresh: the table holds the old set or the new one, never a mix."""
import random
import signal
import threading
import time
import unittest

import psycopg2

from deployment import Deployment, PROVIDER, wait_until

ROUNDS = 8


class WorkerKilled(unittest.TestCase):
    def setUp(self):
        self.deployment = Deployment()
        self.addCleanup(self.deployment.stop)
        self.deployment.start()
        self.deployment.spawn('ingest', 'ingest')
        wait_until(lambda: self.stored()[0], 20, 'the first prices')

    def stored(self):
        """Rows on sale, and the sum of their prices."""
        return self.deployment.sql("""select count(*), coalesce(sum(price_micros), 0) from offer
            where provider = %s and withdrawn_at is null""", PROVIDER)

    def versions(self):
        """How many different versions the rows on sale were last changed by; 1 when all moved together."""
        return self.deployment.sql("""select count(distinct version) from (
            select distinct on (offer_id) version from price_change
            order by offer_id, version desc) last""")[0]

    def test_killed_between_the_rows_and_the_commit(self):
        """The feed's row is a refresh's last write: while it is locked, all the rest is written."""
        before = self.stored()
        with psycopg2.connect(self.deployment.cluster.url) as blocker:
            blocker.cursor().execute('select from feed for update')
            self.deployment.replay.admin(op='scale', provider=PROVIDER, factor=1.1)
            wait_until(lambda: self.deployment.sql("""select count(*) > 0 from pg_stat_activity
                where wait_event_type = 'Lock' and query like 'insert into feed%%'""")[0], 20,
                       'a refresh is under way')
            self.assertEqual(self.stored(), before)  # not for others to see
            self.assertEqual(self.deployment.kill('ingest'), -signal.SIGKILL)
        self.assertEqual(self.stored(), before)
        self.assertEqual(self.versions(), 1)
        self.deployment.spawn('ingest', 'ingest')
        wait_until(lambda: self.stored() != before, 20, 'the next worker stores it')
        self.assertEqual(self.stored()[0], before[0])
        self.assertAlmostEqual(float(self.stored()[1]) / float(before[1]), 1.1, delta=0.001)
        self.assertEqual(self.versions(), 1)

    def test_killed_at_any_moment(self):
        stopping = threading.Event()

        def keep_moving():
            factor = 1.0
            while not stopping.is_set():
                factor = 1.01 if factor < 1 else 0.99
                self.deployment.replay.admin(op='scale', provider=PROVIDER, factor=factor)
                time.sleep(0.03)

        mover = threading.Thread(target=keep_moving)
        mover.start()
        try:
            for _ in range(ROUNDS):
                time.sleep(random.uniform(0.2, 1.3))
                self.deployment.kill('ingest')
                # Every refresh moves every price, so all rows have one refresh's version.
                self.assertEqual(self.versions(), 1)
                self.deployment.spawn('ingest', 'ingest')
        finally:
            stopping.set()
            mover.join()

    def test_the_spare_takes_over(self):
        self.deployment.spawn('spare', 'ingest')
        time.sleep(1)
        token = self.deployment.sql('select token from leader')[0]
        before = self.stored()
        self.deployment.kill('ingest')
        self.deployment.replay.admin(op='scale', provider=PROVIDER, factor=1.1)
        wait_until(lambda: self.stored()[1] > before[1], 30, 'the spare stores prices')
        self.assertEqual(self.deployment.sql('select token from leader')[0], token + 1)


if __name__ == '__main__':
    unittest.main(verbosity=2)
