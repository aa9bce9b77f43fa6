#!/usr/bin/python3
"""Seeds of fuzz_providers: seed_providers.py PROGRAM|- FOLDER, from the feeds' fixtures.

One seed a feed (a byte for its place in providers/table.c, then its pages, each ended by a zero
byte) and one a page. With PROGRAM, runs it on them.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, '..', 'providers', 'fixtures')
SOURCES = os.path.join(HERE, '..', '..', 'server', 'ingest', 'providers')

# Whose files have this ending, where two feeds of a provider call a page alike.
BY_ENDING = {'.js': {'aws-spot-page'}, '.xml': {'aws-ec2-spot-history'}}
BINARY = {'nebius-calculator'}


def read(*path):
    with open(os.path.join(*path), 'rb') as file:
        return file.read()


def table():
    """(id, source, names of its pages) in the order of the table, from the variables' descriptors."""
    text = re.sub(r'//.*|/\*.*?\*/', '', read(SOURCES, 'table.c').decode(), flags=re.S)
    feeds = {}
    for name in os.listdir(SOURCES):
        source = read(SOURCES, name).decode()
        pages = {variable: re.findall(r'"([^"]+)"', names)
                 for variable, names in re.findall(r'(\w*pages)\[\w*\] = \{([^}]*)\}', source)}
        for variable, identity, feed, names in re.findall(
                r'struct provider (\w+) = \{\s*\.id = "([^"]+)",\s*\.source = "([^"]+)".*?\.pages = (\w+)',
                source, re.S):
            feeds[variable] = (identity, feed, pages[names])
    return [feeds[name] for name in re.findall(r'&(\w+)', text[text.index('providers[] = {'):])]


def fixtures(provider, source, pages):
    """Those of the feed, in the order in which it asks."""
    found = []
    for name in os.listdir(os.path.join(FIXTURES, provider)):
        stem, end = os.path.splitext(name)
        if end == '.link' or source not in BY_ENDING.get(end, {source}):
            continue
        for place, page in enumerate(pages):
            if re.fullmatch(re.escape(page) + '(-.*)?', stem):
                found.append((-1 if page == 'token' else place, name))  # signing in comes first
                break
    return [read(FIXTURES, provider, name) for _, name in sorted(found)]


def main():
    program, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for place, (provider, source, pages) in enumerate(table()):
        bodies = fixtures(provider, source, pages)
        assert bodies, f'{source} has no fixture'
        for number, seed in enumerate([b'\0'.join(bodies)] + bodies):
            with open(os.path.join(folder, f'{source}-{number}'), 'wb') as file:
                # A list of lines stays one; JSON and XML are shorter without what indents them.
                file.write(bytes([place | (number % 2) << 7]) +
                           (seed if source in BINARY else re.sub(rb'\n\s+', b' ', seed)))
    if program != '-':
        seeds = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        return subprocess.run([program, *seeds]).returncode
    return 0


if __name__ == '__main__':
    sys.exit(main())
