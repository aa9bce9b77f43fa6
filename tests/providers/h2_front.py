"""What happens to a gRPC call on its way: a front before a server, that breaks a connection as it is told.

The worker opens a connection a call where there is no TLS, so a fault of a connection is one of a call. What a
server of the real library would never send (a page of HTML, a compressed message that nobody asked for) is
written here, frame by frame (RFC 9113).
"""
import contextlib
import gzip
import select
import socket
import struct
import threading

CONNECT_SECONDS = 10
FRAME_BYTES_MOST = 16384
PREFACE_BYTES = 24
DATA, HEADERS, SETTINGS = 0, 1, 4
ACKNOWLEDGED, END_STREAM, END_HEADERS = 1, 1, 4


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload


def field(name, value):
    """A header without compression (RFC 7541, 6.2.2); neither part of 127 bytes or more."""
    return b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value


def answer(headers, body, trailers=b''):
    """A whole one of status 200 on the client's first stream."""
    parts = [body[at:at + FRAME_BYTES_MOST] for at in range(0, len(body), FRAME_BYTES_MOST)]
    return b''.join([
        frame(SETTINGS, 0, 0), frame(SETTINGS, ACKNOWLEDGED, 0), frame(HEADERS, END_HEADERS, 1, b'\x88' + headers),
        *[frame(DATA, 0 if trailers or part is not parts[-1] else END_STREAM, 1, part) for part in parts],
        frame(HEADERS, END_HEADERS | END_STREAM, 1, trailers) if trailers else b''])


def html():
    return answer(field(b'content-type', b'text/html'), b'<!doctype html><title>Just a moment</title>')


def compressed(message):
    packed = gzip.compress(message)
    return answer(field(b'content-type', b'application/grpc') + field(b'grpc-encoding', b'gzip'),
                  b'\1' + struct.pack('>I', len(packed)) + packed, field(b'grpc-status', b'0'))


def html_of_http1():
    page = b'<!doctype html><title>Just a moment</title>'
    return b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s' % (len(page), page)


class Front:
    """`fault(call)`, by the number of the connection, from 1: None, 'stall', 'slow', 'reset', 'truncated', or bytes
    that are the whole answer. `seconds` is how long a stall takes, `pause` how long a byte of a slow one."""

    def __init__(self, port, seconds=30.0, pause=0.2):
        self.port_behind, self.seconds, self.pause = port, seconds, pause
        self.fault, self.calls = lambda call: None, 0
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=64)
        self.url = f'http://127.0.0.1:{self.listener.getsockname()[1]}'
        self.is_over = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.calls += 1
                threading.Thread(target=self.serve, args=(client, self.fault(self.calls)), daemon=True).start()

    def serve(self, client, fault):
        with contextlib.suppress(OSError), client:
            if fault == 'stall':
                self.is_over.wait(self.seconds)
            elif isinstance(fault, bytes):
                await_request(client)
                client.sendall(fault)
                drain(client)
            else:
                with socket.create_connection(('127.0.0.1', self.port_behind), CONNECT_SECONDS) as server:
                    server.settimeout(None)
                    self.pass_on(client, server, fault)

    def pass_on(self, client, server, fault):
        """In one thread: a socket that another one reads is not closed by close()."""
        held = b''
        while not self.is_over.is_set():
            for source in select.select([client, server], [], [], 1)[0]:
                data = source.recv(1 if fault == 'slow' and source is server else 65536)
                if not data:
                    return
                if source is client:
                    server.sendall(data)
                elif fault in ('reset', 'truncated'):
                    held, is_cut = pass_half(held + data, client)
                    if is_cut and fault == 'reset':
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    elif is_cut:
                        client.shutdown(socket.SHUT_WR)
                        drain(client)
                    if is_cut:
                        return
                else:
                    client.sendall(data)
                    self.is_over.wait(self.pause if fault == 'slow' else 0)


def await_request(client):
    """All of the client's first request: to answer before it is asked breaks the protocol."""
    with client.makefile('rb') as frames:
        frames.read(PREFACE_BYTES)
        while len(head := frames.read(9)) == 9:
            frames.read(int.from_bytes(head[:3], 'big'))
            if head[3] in (DATA, HEADERS) and head[4] & END_STREAM:
                return


def drain(client):
    """Until the client has closed: with anything unread, closing is a reset; and what ends a call is lost to libcurl
    7.88 when the connection ends in the same breath."""
    while client.recv(65536):
        pass


def pass_half(frames, client):
    """All up to the middle of the first part of the body: (what is no whole frame yet, was it cut)."""
    while len(frames) >= 9:
        length = 9 + int.from_bytes(frames[:3], 'big')
        if len(frames) < length:
            break
        is_cut = frames[3] == DATA and length > 9
        client.sendall(frames[:9 + (length - 9) // 2] if is_cut else frames[:length])
        if is_cut:
            return b'', True
        frames = frames[length:]
    return frames, False
