#!/usr/bin/python3
"""Seeds of fuzz_providers: seed_providers.py PROGRAM|- FOLDER, from the feeds' fixtures.

One seed a provider (a byte for its place in providers/table.c, then its pages, each ended by a zero
byte) and one a page. With PROGRAM, runs it on them.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, '..', 'providers', 'fixtures')
SOURCES = os.path.join(HERE, '..', '..', 'server', 'ingest', 'providers')


def read(*path):
    with open(os.path.join(*path), 'rb') as file:
        return file.read()


def table():
    """Provider ids in the order of the table: the variables' descriptors say which id each has."""
    text = re.sub(r'//.*|/\*.*?\*/', '', read(SOURCES, 'table.c').decode(), flags=re.S)
    names = re.findall(r'&(\w+)', text[text.index('providers[] = {'):])
    ids = {}
    for name in os.listdir(SOURCES):
        for variable, identity in re.findall(r'struct provider (\w+) = \{\s*\.id = "([^"]+)"',
                                             read(SOURCES, name).decode()):
            ids[variable] = (identity, re.findall(r'"([^"]+)"', ''.join(
                re.findall(r'pages\[\] = \{([^}]*)\}', read(SOURCES, name).decode()))))
    return [ids[name] for name in names if name in ids]


def main():
    program, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for place, (provider, pages) in enumerate(table()):
        files = sorted(os.listdir(os.path.join(FIXTURES, provider)),
                       key=lambda name: (next((i for i, page in enumerate(pages)
                                               if name.startswith(page)), 0), name))
        bodies = [read(FIXTURES, provider, name) for name in files]
        seeds = [b'\0'.join(bodies)] + bodies
        for number, seed in enumerate(seeds):
            with open(os.path.join(folder, f'{provider}-{number}'), 'wb') as file:
                file.write(bytes([place | (number % 2) << 7]) + re.sub(rb'\n\s*', b' ', seed))
    if program != '-':
        seeds = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        return subprocess.run([program, *seeds]).returncode
    return 0


if __name__ == '__main__':
    sys.exit(main())
