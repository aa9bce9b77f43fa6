#!/usr/bin/python3
"""Seeds of fuzz_guard: seed_guard.py PROGRAM|- FOLDER. With PROGRAM, runs it on them."""
import os
import subprocess
import sys

LINE = b'GET /v1/prices?limit=1&a HTTP/1.1\r\nHost: a\r\n'
SEEDS = [LINE + b'\r\n', LINE + b'Content-Length: 12\r\n\r\n{}', b'\r\n\n' + LINE + b'Cookie: a=b; c\r\n\r\n', LINE + b'\r\n' + LINE,
         b'HEAD  /a b HTTP/1.0\r\nX:\r\nConnection: close\r\n\r\n', b'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
         LINE + b'Content-Length: x\r\n\r\n', LINE + b'no colon\r\n', LINE + b' folded: a\r\n', LINE + b'X: a\nY: b\r\n\r\n',
         b'GET / HTTP/2.0\r\n\r\n', b'GET\r\n\r\n', b'\x16\x03\x01\x02\0\x01', LINE + b'X: ' + b'a' * 17000, b'GET /' + b'a' * 17000,
         LINE + b'a:\r\n' * 400 + b'\r\n', b'5\r\nhello\r\n0\r\n\r\n', b'00a;x="y"\r\n0123456789\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\nGET',
         b'5\nhello\n0\n\n', b'ffffffffffffffffff\r\n', b'0\r\nX\r\n\r\n', b'0' * 300]


def main():
    program, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    seeds = []
    for number, raw in enumerate(SEEDS):
        seeds.append(os.path.join(folder, str(number)))
        with open(seeds[-1], 'wb') as file:
            file.write(raw)
    return 0 if program == '-' else subprocess.run([program, *seeds]).returncode


if __name__ == '__main__':
    sys.exit(main())
