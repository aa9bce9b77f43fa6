#!/usr/bin/python3
"""A replica and a migration work through pgbouncer in transaction mode. Skipped without pgbouncer."""
import contextlib
import os
import shutil
import socket
import subprocess
import unittest

from deployment import BINARY, Deployment, PROVIDER, free_port, wait_until

PGBOUNCER = shutil.which('pgbouncer', path=os.environ.get('PATH', '') + ':/usr/sbin')


@unittest.skipUnless(PGBOUNCER, 'pgbouncer is not installed')
class Pooler(unittest.TestCase):
    def setUp(self):
        self.deployment = Deployment()
        self.addCleanup(self.deployment.stop)
        self.deployment.start()
        cluster = self.deployment.cluster
        settings = os.path.join(cluster.folder, 'pgbouncer.ini')

        def start():
            port = free_port()
            with open(settings, 'w') as file:
                file.write(f'[databases]\n* = host={cluster.folder} port={cluster.port} user=gpupick\n[pgbouncer]\n'
                           f'listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n'
                           'auth_type = any\npool_mode = transaction\n')
            pooler = subprocess.Popen(cluster.prefix + [PGBOUNCER, '-q', settings], stderr=self.deployment.log)
            self.addCleanup(pooler.wait)
            self.addCleanup(pooler.terminate)
            self.url = f'host=127.0.0.1 port={port} user=gpupick dbname='

            def is_up():
                with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), 5):
                    return True
                return pooler.poll() is not None  # another process may have taken the port
            wait_until(is_up, 20, 'pgbouncer listens, or ends')
            return pooler.poll() is None
        self.assertTrue(any(start() for _ in range(5)), 'pgbouncer')

    def test_a_migration_and_replicas_work_through_it(self):
        environment = self.deployment.environment
        direct = environment['GPUPICK_DATABASE_URL']
        self.deployment.sql('create database second')
        environment['GPUPICK_DATABASE_URL'] = self.url + 'second'
        wait_until(lambda: subprocess.run([BINARY, 'migrate'], env=environment,
                                          stdout=self.deployment.log,
                                          stderr=self.deployment.log).returncode == 0,
                   10, 'a migration')
        environment['GPUPICK_DATABASE_URL'] = self.url + 'gpupick'
        self.deployment.serve()
        environment['GPUPICK_DATABASE_URL'] = direct  # the leader's lock needs its own session
        self.deployment.spawn('ingest', 'ingest')
        before = wait_until(self.deployment.prices, 20, 'the first prices')
        self.deployment.replay.admin(op='scale', provider=PROVIDER, factor=1.1)
        def has_moved():
            now = self.deployment.prices()
            return all(now[key]['usd_per_hour'] > item['usd_per_hour']
                       for key, item in before.items() if item['usd_per_hour'])
        wait_until(has_moved, 10, 'the delta')


if __name__ == '__main__':
    unittest.main(verbosity=2)
