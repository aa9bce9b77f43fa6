#!/usr/bin/python3
"""A private PostgreSQL cluster for as long as one command runs.

    python3 tests/store/cluster.py [--tcp] -- COMMAND...

COMMAND finds GPUPICK_DATABASE_URL (an empty database, "gpupick", as its superuser) and GPUPICK_TEST_CLUSTER
(the folder, for tests that stop and start the server: see Cluster). Nothing outside the temporary
folder is touched. PostgreSQL refuses to run as root, so root drops to `postgres` or `nobody` for it.
No password, no fsync: for tests only. Exit status is the command's; 77 (skipped) without PostgreSQL.

As a module: `with Cluster() as cluster: cluster.url`, and stop(), start(), pause(), resume().
"""
import argparse
import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile


def find_bindir():
    found = sorted(glob.glob('/usr/lib/postgresql/*/bin/initdb'))
    if found:
        return os.path.dirname(found[-1])
    initdb = shutil.which('initdb')
    return os.path.dirname(initdb) if initdb else None


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Cluster:
    """`folder`: one that another process made (GPUPICK_TEST_CLUSTER); this one then does not remove it."""

    def __init__(self, tcp=False, folder=None):
        self.bindir = find_bindir()
        if not self.bindir:
            raise FileNotFoundError('initdb')
        self.is_ours = folder is None
        # Short: a socket's path must stay under 108 bytes.
        self.folder = folder or tempfile.mkdtemp(prefix='gpg', dir='/tmp')
        self.port = free_port() if tcp else 5432
        if not self.is_ours:
            with open(os.path.join(self.folder, 'port')) as file:
                self.port, tcp = (int(word) for word in file.read().split())
        self.tcp = bool(tcp)
        self.data = os.path.join(self.folder, 'data')
        self.prefix = []
        if os.geteuid() == 0:
            for user in ('postgres', 'nobody'):
                with contextlib.suppress(KeyError):
                    entry = pwd.getpwnam(user)
                    self.prefix = ['setpriv', f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}',
                                   '--clear-groups']
                    if self.is_ours:
                        os.chown(self.folder, entry.pw_uid, entry.pw_gid)
                        os.chmod(self.folder, 0o755)
                    break

    @property
    def url(self):
        return self.url_of('gpupick')

    def url_of(self, database, user='gpupick'):
        host = '127.0.0.1' if self.tcp else self.folder
        return f'host={host} port={self.port} user={user} dbname={database}'

    def run(self, program, *arguments, **options):
        options.setdefault('check', True)
        return subprocess.run(self.prefix + [os.path.join(self.bindir, program), *arguments],
                              cwd=self.folder, stdin=subprocess.DEVNULL, **options)

    def create(self):
        self.run('initdb', '-D', self.data, '-U', 'gpupick', '-A', 'trust', '-N', '--no-locale',
                 '-E', 'UTF8', stdout=subprocess.DEVNULL)
        with open(os.path.join(self.data, 'postgresql.auto.conf'), 'a') as file:
            file.write(f"listen_addresses = '{'127.0.0.1' if self.tcp else ''}'\n"
                       f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n"
                       "fsync = off\nfull_page_writes = off\nshared_buffers = '256MB'\n"
                       "max_wal_size = '4GB'\n")
        with open(os.path.join(self.folder, 'port'), 'w') as file:
            file.write(f'{self.port} {int(self.tcp)}')
        self.start()
        self.run('createdb', '-h', self.folder, '-p', str(self.port), '-U', 'gpupick', 'gpupick')

    def start(self):
        log = os.path.join(self.folder, 'log')
        self.run('pg_ctl', '-D', self.data, '-w', '-t', '300', '-l', log, 'start', stdout=subprocess.DEVNULL)

    def stop(self, mode='immediate'):
        self.run('pg_ctl', '-D', self.data, '-m', mode, '-w', '-t', '300', 'stop', stdout=subprocess.DEVNULL,
                 check=False)

    def postmaster(self):
        with open(os.path.join(self.data, 'postmaster.pid')) as file:
            return int(file.readline())

    def backends(self):
        pid = self.postmaster()
        with open(f'/proc/{pid}/task/{pid}/children') as file:
            return [pid] + [int(word) for word in file.read().split()]

    def pause(self):
        """Stops the server in its tracks: connections stay open and nothing answers."""
        for pid in self.backends():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self):
        for pid in self.backends():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def __enter__(self):
        try:
            self.create()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if os.path.exists(os.path.join(self.data, 'postmaster.pid')):
            with contextlib.suppress(OSError, ValueError):
                self.resume()
            self.stop()
        if self.is_ours:
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(usage='%(prog)s [--tcp] -- COMMAND...')
    parser.add_argument('--tcp', action='store_true', help='listen on a free port of 127.0.0.1')
    parser.add_argument('command', nargs='+')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        cluster = Cluster(tcp=options.tcp)
    except FileNotFoundError:
        print('1..0 # SKIP PostgreSQL is not installed')
        return 77
    with cluster:
        environment = dict(os.environ, GPUPICK_DATABASE_URL=cluster.url,
                           GPUPICK_TEST_CLUSTER=cluster.folder)
        child = subprocess.Popen(options.command, env=environment)
        try:
            return child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()


if __name__ == '__main__':
    sys.exit(main())
