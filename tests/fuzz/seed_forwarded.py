#!/usr/bin/python3
"""Seeds of fuzz_forwarded: seed_forwarded.py PROGRAM|- FOLDER. With PROGRAM, runs it on them."""
import os
import subprocess
import sys

TEXTS = ['6.6.6.6, 10.0.0.2', '[2001:db8::7]:443', 'unknown,,', 'for=6.6.6.6;proto=https;host="a.example:8443";by=_x',
         'for="[2001:db8::1]:_p", for=unknown;x="a\\"b, for=6.6.6.6;y="', 'for="6.6.6.6', 'a' * 1500 + '=",for=6.6.6.6',
         '","', '\\', '";y=', 'a.example:80', '/a/b.c', '//evil/../x', 'https']


def main():
    program, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    seeds = []
    for number, text in enumerate(TEXTS):
        seeds.append(os.path.join(folder, str(number)))
        with open(seeds[-1], 'w', encoding='utf-8') as file:
            file.write(text)
    return 0 if program == '-' else subprocess.run([program, *seeds]).returncode


if __name__ == '__main__':
    sys.exit(main())
